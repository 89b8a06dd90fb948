//! Tests that the answers to the queries of `tests/queries` equal the answers of a real Flink, which lie in
//! `tests/flink`.
//!
//! `cargo xtask e2e flink` runs the queries in Flink and records the answers; `differences.txt` names the
//! cases that are not meant to agree. An answer whose question has changed since is not compared, and the
//! case must stand in `unasked.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use thalweg_sql::cases::{Cases, Manner};

/// Ending of the names of cases whose answer is meant to differ from Flink's.
const NOT_AS_FLINK: &str = "(not as Flink)";
/// Error code with which this engine may refuse a query that Flink runs.
const OURS_ALONE: &str = "UNSUPPORTED";

/// Error codes of faults of this engine; they never count as a refusal that agrees with Flink's.
const FAULTS: [&str; 4] = ["EVALUATION", "OPERATOR_PANICKED", "STUCK", "WORKER_DIED"];

/// Recorded answer of Flink to one query.
struct Recorded {
    digest: String,
    /// Rows of Flink's answer; `None` if Flink refused the query.
    rows: Option<Vec<String>>,
    is_ordered: bool,
}

/// Parses a file of recorded answers of Flink.
fn recorded(text: &str) -> BTreeMap<String, Recorded> {
    let mut answers = BTreeMap::new();
    for section in text.split("\n--- ").skip(1) {
        let mut lines = section.lines();
        let name = lines.next().expect("a section begins with a name").to_owned();
        let (digest, kind) = lines.next().and_then(|line| line.split_once(' ')).expect("a digest and a kind");
        let is_refused = kind.starts_with("refused: ");
        assert!(is_refused || matches!(kind, "rows" | "rows ordered"), "{name}: {kind}");
        let rows = lines.filter(|line| !line.is_empty()).map(unescaped).collect();
        let answer = Recorded {
            digest: digest.to_owned(),
            rows: (!is_refused).then_some(rows),
            is_ordered: kind == "rows ordered",
        };
        assert!(answers.insert(name.clone(), answer).is_none(), "{name} is there twice");
    }
    answers
}

fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut is_escaped = false;
    for character in line.chars() {
        match (is_escaped, character) {
            (false, '\\') => is_escaped = true,
            (false, _) => text.push(character),
            (true, _) => {
                is_escaped = false;
                text.push(match character {
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                });
            }
        }
    }
    text
}

/// Returns the digest of a question that is stored beside its recorded answer: the 64-bit FNV-1a hash.
fn digest(question: &str) -> String {
    let hash = question.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Answer of this engine to a query: the remaining rows, or the code and the message of an error.
type Ours = Result<Vec<String>, (String, String)>;

/// Returns the difference between this engine's answer and Flink's, if any.
fn difference(ours: Ours, flink: &Recorded) -> Option<String> {
    match (ours, &flink.rows) {
        (Err((code, message)), None) => {
            FAULTS.contains(&code.as_str()).then(|| format!("{code}: {message}; flink refused it"))
        }
        (Err((code, _)), Some(_)) if code == OURS_ALONE => None,
        (Err((code, message)), Some(rows)) => Some(format!("{code}: {message}; flink: {rows:#?}")),
        (Ok(rows), None) => Some(format!("{rows:#?}; flink refused it")),
        (Ok(mut rows), Some(theirs)) => {
            let mut theirs = theirs.clone();
            if !flink.is_ordered {
                rows.sort();
                theirs.sort();
            }
            (rows != theirs).then(|| format!("{rows:#?}; flink: {theirs:#?}"))
        }
    }
}

#[test]
fn answers_are_those_of_flink() {
    let folder = Path::new("tests/flink");
    let list = fs::read_to_string(folder.join("differences.txt")).expect("the list of differences");
    let listed: Vec<&str> =
        list.lines().filter_map(|line| line.split_once(" | ")).map(|(place, _)| place).collect();
    let (mut compared, mut unasked, mut all) = (0, Vec::new(), 0);
    let mut failures = Vec::new();
    let mut paths: Vec<_> = fs::read_dir("tests/queries")
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(file) = name.strip_suffix(".test.sql") else { continue };
        let cases = Cases::parse(&fs::read_to_string(&path).expect("a file of cases")).expect("its form");
        let answers = fs::read_to_string(folder.join(format!("{file}.answers"))).unwrap_or_default();
        let answers = recorded(&answers);
        for case in &cases.cases {
            let place = format!("{file}: {}", case.name);
            all += 1;
            if case.name.ends_with(NOT_AS_FLINK) || listed.contains(&place.as_str()) {
                continue;
            }
            let question = digest(&cases.question(case));
            let Some(flink) = answers.get(&case.name).filter(|answer| answer.digest == question) else {
                unasked.push(place);
                continue;
            };
            compared += 1;
            match cases.outcome(case, Manner::default()) {
                Ok(ours) => failures.extend(difference(ours, flink).map(|how| format!("{place}: {how}"))),
                Err(why) => failures.push(format!("{place}: {why}")),
            }
        }
    }
    println!("{compared} of {all} answers were compared; not asked of flink yet: {}", unasked.join(", "));
    assert!(failures.is_empty(), "{} answers are not flink's\n{}", failures.len(), failures.join("\n"));
    // The cases without a recorded answer must be exactly those of the list. Otherwise a change of the
    // recorded form would silently end all comparisons.
    let known =
        fs::read_to_string(folder.join("unasked.txt")).expect("the list of cases that were not asked");
    let known: Vec<&str> = known.lines().filter(|line| !line.starts_with('#')).collect();
    let new: Vec<&String> = unasked.iter().filter(|place| !known.contains(&place.as_str())).collect();
    let gone: Vec<&str> =
        known.iter().copied().filter(|place| unasked.iter().all(|asked| asked != place)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "run `cargo xtask e2e flink`, or write these into unasked.txt: {new:#?}; take these off: {gone:#?}"
    );
}

/// The comparison with Flink's answers finds differences in rows, order and errors.
#[test]
fn other_answers_are_told() {
    let text =
        "Head.\n\n--- q\n00 rows\n1\n2\\n\\\\\n\n--- r\n01 rows ordered\n2\n1\n\n--- s\n02 refused: no\n";
    let answers = recorded(text);
    let rows = |rows: &[&str]| -> Ours { Ok(rows.iter().map(|row| (*row).to_owned()).collect()) };
    let differs = |name: &str, ours: Ours| difference(ours, &answers[name]).is_some();
    assert!(!differs("q", rows(&["2\n\\", "1"])));
    assert!(differs("q", rows(&["1"])) && differs("q", rows(&["1", "1", "2\n\\"])));
    assert!(!differs("r", rows(&["2", "1"])) && differs("r", rows(&["1", "2"])));
    assert!(differs("s", rows(&[])) && !differs("s", Err(("INVALID".to_owned(), String::new()))));
    assert!(differs("s", Err(("EVALUATION".to_owned(), String::new()))));
    assert!(differs("q", Err(("INVALID".to_owned(), String::new()))));
    assert!(!differs("q", Err(("UNSUPPORTED".to_owned(), String::new()))));
}

/// A note says that Flink refuses a form, so no query that Flink answered has one.
#[test]
fn answered_queries_have_no_notes() {
    let folder = Path::new("tests/flink");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of answers") {
        let path = entry.expect("an entry of the folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(file) = name.strip_suffix(".answers") else { continue };
        let answers = recorded(&fs::read_to_string(&path).expect("a file of answers"));
        let cases = fs::read_to_string(format!("tests/queries/{file}.test.sql")).unwrap_or_default();
        let cases = Cases::parse(&cases).expect("its form");
        for case in &cases.cases {
            let is_answered =
                |answer: &Recorded| answer.rows.is_some() && answer.digest == digest(&cases.question(case));
            if answers.get(&case.name).is_some_and(is_answered)
                && let Ok(notes) = cases.notes(case)
            {
                wrong.extend(notes.iter().map(|note| format!("{file}: {}: {note}", case.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "flink answered these\n{}", wrong.join("\n"));
}
