//! The pure parts of `peers`: command lines, answers and their comparison, medians and ratios, pinned versions.

use super::question::Format;
use super::side::Program;
use super::*;
use serde_json::json;

fn words(line: &str) -> Result<Plan, String> {
    planned(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn lines_name_peers_and_questions() {
    let plan = words("polars duckdb polars").unwrap();
    assert_eq!(plan.peers, [Peer::Polars, Peer::DuckDb]);
    assert_eq!((plan.rounds, plan.questions.len(), plan.installs), (ROUNDS, Question::ALL.len() - 1, false));
    let plan = words(
        "duckdb --only files --only ysb --rounds 7 --megabytes 1000 --percent 10 --json out.json --install",
    )
    .unwrap();
    assert_eq!((plan.rounds, plan.installs, plan.json), (7, true, Some("out.json".into())));
    assert_eq!(plan.sizes, Sizes { megabytes: 1_000, percent: 10 });
    let names: Vec<&str> = plan.questions.into_iter().map(Question::name).collect();
    assert_eq!(names, ["ysb", "csv", "json", "parquet"]);
    // A question that none of the peers is asked is left out.
    assert_eq!(words("timely renoir").unwrap().questions, [Question::Ysb]);
    assert_eq!(words("timely flink").unwrap().questions.len(), 4);
}

#[test]
fn wrong_words_are_refused_with_a_suggestion() {
    for (line, expected) in [
        ("", "peers needs a peer: duckdb, polars, timely, renoir, flink"),
        (
            "dukdb",
            "unknown peer `dukdb`: did you mean `duckdb`? choose from duckdb, polars, timely, renoir, flink",
        ),
        ("moon", "unknown peer `moon`: choose from duckdb, polars, timely, renoir, flink"),
        ("flink --round 2", "unknown option `--round`: did you mean `--rounds`? choose from"),
        ("duckdb --only group-1", "unknown question `group-1`: did you mean `group-1m`?"),
        ("duckdb --only", "--only needs a value"),
        ("duckdb --rounds 0", "--rounds takes a whole number from 1 to 100"),
        ("timely --only join", "none of these peers is asked one of these questions"),
    ] {
        let message = words(line).unwrap_err();
        assert!(message.contains(expected), "{line}: {message}");
    }
    assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")), (3, 2, 0));
}

#[test]
fn the_engine_is_asked_before_its_peers() {
    let titles =
        |question, peers: &[Peer]| side::of(question, peers).into_iter().map(Side::title).collect::<Vec<_>>();
    let ysb = titles(Question::Ysb, &[Peer::Timely, Peer::DuckDb]);
    assert_eq!(ysb[..3], ["Thalweg, SQL", "Thalweg, making the rows alone", "Thalweg, typed"]);
    assert_eq!(ysb[6..8], ["duckdb, join with campaigns", "duckdb, division in place of the join"]);
    assert_eq!(ysb.len(), 11);
    assert_eq!(
        titles(Question::Join, &Peer::ALL),
        ["Thalweg, SQL", "Thalweg, making the rows alone", "duckdb", "polars"]
    );
    assert_eq!(titles(Question::File(Format::Json), &[Peer::Flink]), ["Thalweg, SQL", "flink"]);
    let names = Question::names();
    assert!(Question::ALL.iter().all(|question| Question::named(question.name()) == [*question]));
    assert!(names.contains(&"files") && names.contains(&"group-10m"));
}

#[test]
fn answers_are_read_and_compared() {
    let ours = "{\"a\":1,\"b\":\"x\",\"c\":2}\n{\"a\":0,\"b\":\"y\",\"c\":7}\n";
    let summary = "note: a warning\n{\"job\":\"query-1\",\"rows_in\":2,\"seconds\":0.25}\n";
    let ours = Answer::of_run(ours, summary).unwrap();
    assert_eq!((ours.seconds, ours.rows.join(" ")), (0.25, "0,\"y\",7 1,\"x\",2".to_owned()));
    let peer = |rows: &str| Answer::of_peer(&format!("{{\"seconds\":0.5,\"rows\":[{rows}]}}"));
    let first = peer("\"0,1\",\"0,2\"").unwrap();
    first.check(&peer("\"0,2\",\"0,1\"").unwrap()).unwrap();
    for (rows, expected) in [
        ("\"0,1\",\"0,3\"", "sorted row 2 is `0,3`, and ours `0,2`; 2 rows, and ours 2"),
        ("\"0,1\"", "sorted row 2 is no more, and ours `0,2`; 1 rows, and ours 2"),
        ("\"0,1\",\"0,2\",\"0,2\"", "sorted row 3 is `0,2`, and ours no more; 3 rows, and ours 2"),
    ] {
        let message = first.check(&peer(rows).unwrap()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(peer("").unwrap_err().to_string().contains("0 rows are no answer"));
    assert!(Answer::of_peer("Traceback").is_err());
    assert!(Answer::of_run("", summary).is_err());
    assert_eq!(Answer::of_source(summary).unwrap().seconds, 0.25);
    assert!(Answer::of_source("note: nothing").is_err());
    assert!(Answer::of_rows(0.0, vec!["1".to_owned()]).is_err());
}

#[test]
fn a_run_of_bench_counts_if_its_results_were_checked() {
    let found = |check| json!({ "ok": true, "check": check, "seconds": 1.0, "throughput_per_s": 2e8 });
    assert_eq!(Answer::of_bench(&found("oracle-equal")).unwrap().per_s, Some(2e8));
    assert!(Answer::of_bench(&found("none")).unwrap_err().to_string().contains("not checked"));
}

#[test]
fn an_answer_is_compared_with_the_first_one_to_its_question() {
    let side = |question| Side { question, program: Program::Sql };
    let answer = |row: &str| Answer::of_rows(1.0, vec![row.to_owned()]).unwrap();
    let mut expected = Vec::new();
    check(side(Question::Join), &answer("1"), &mut expected).unwrap();
    check(side(Question::Ysb), &answer("2"), &mut expected).unwrap();
    check(side(Question::Ysb), &Answer::default(), &mut expected).unwrap();
    check(side(Question::Join), &answer("1"), &mut expected).unwrap();
    assert!(check(side(Question::Join), &answer("2"), &mut expected).is_err());
}

#[test]
fn versions_are_those_that_are_pinned() {
    let cargo =
        "[dependencies]\nrenoir = { version = \"=0.6.0\", default-features = false }\ntimely = \"=0.32.0\"\n";
    assert_eq!(install::pinned(cargo, "renoir"), Some("0.6.0"));
    assert_eq!(install::pinned(cargo, "timely"), Some("0.32.0"));
    let pip = "# versions\npolars-runtime-32==9.9\npolars==2.1.0\nduckdb==2.0.1rc1\n";
    assert_eq!(install::pinned(pip, "polars"), Some("2.1.0"));
    assert_eq!(install::pinned(pip, "duckdb"), Some("2.0.1rc1"));
    assert_eq!(install::pinned(pip, "flink"), None);
    assert_eq!(install::pinned("duckdb>=2\n", "duckdb"), None);
    assert!(
        install::pinned(include_str!("../../../bench/peers/python/requirements.txt"), "polars").is_some()
    );
    assert!(install::pinned(include_str!("../../../bench/peers/rust/Cargo.toml"), "timely").is_some());
}

#[test]
fn ratios_are_medians_of_those_within_a_round() {
    let plan = words("duckdb timely --only ysb --rounds 3").unwrap();
    let mut measured: Vec<Measured> =
        side::of(Question::Ysb, &plan.peers).into_iter().map(Measured::new).collect();
    measured.retain(|measured| !matches!(measured.side.program, Program::Bench(Some(_)) | Program::Source));
    // The machine was twice as fast in the last round, and each ratio is that of one round.
    let figures = [[8.0, 10.0, 20.0], [100.0, 100.0, 200.0], [40.0, 40.0, 80.0]];
    for (measured, figures) in measured.iter_mut().zip(figures) {
        measured.figures = [figures.to_vec(), Vec::new()];
    }
    measured.truncate(3);
    let table = Table { measured, versions: vec![("duckdb", "2.0.1".to_owned())], plan: &plan };
    let page = table.markdown();
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines[2], "| YSB in memory, 21.0 M events; M events/s | Thalweg, SQL | 10.0 | - | - | - |");
    assert_eq!(lines[3], "|  | Thalweg, typed | 100 | - | - | - |");
    assert_eq!(lines[4], "|  | duckdb, join with campaigns | 40.0 | - | 0.25 | - |");
    assert!(lines[6].starts_with("Medians of 3 interleaved rounds; duckdb 2.0.1."), "{page}");
    let figures = table.json();
    assert_eq!(figures["sides"][4]["engine_to_peer"], 0.25);
    assert_eq!(figures["sides"][4]["compared_with"], "Thalweg, SQL");
    assert_eq!(figures["sides"][0]["speeds"], json!([8.0, 10.0, 20.0]));
    assert_eq!(figures["sides"][1]["median"], json!(null));
}

#[test]
fn names_in_sql_become_values() {
    assert_eq!(data::filled("{rows} of {data}, {rows}", &[("{rows}", "5"), ("{data}", "d")]), "5 of d, 5");
    let sizes = Sizes { megabytes: 57, percent: 10 };
    assert_eq!(Question::File(Format::Csv).rows(sizes), 1_000_000);
    assert_eq!(Question::Join.key_max(sizes), 99_999);
    assert_eq!(Question::Group { keys: 10_000 }.key_max(sizes), 9_999);
    assert_eq!(
        Question::Group { keys: 10_000 }.title(sizes),
        "GROUP BY 10 K keys, 1.0 M rows in memory; M rows/s"
    );
    assert_eq!((Question::named("group").len(), Question::named("x").len()), (3, 0));
}
