//! Tests that every query in `tests/queries` gives the rows that are written beside it.

use std::fs;
use std::path::{Path, PathBuf};

use thalweg::scheduling::policy::{enjima, names};
use thalweg_model::{Entropy, SeededEntropy};
use thalweg_sql::cases::{Cases, Manner, Verdict};
use thalweg_sql::plan::same::difference;
use thalweg_sql::session::Job;

/// Returns the files of test queries, sorted by name.
fn paths() -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(Path::new("tests/queries"))
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.to_string_lossy().ends_with(".test.sql"))
        .collect();
    paths.sort();
    paths
}

/// Runs all test queries with the given workers, batch size, seed and policy. Returns the number of queries,
/// and the failures by file.
fn run_all(manner: Manner) -> (usize, Vec<String>) {
    let only = std::env::var("THALWEG_CASE").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    for path in paths() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cases = Cases::parse(&fs::read_to_string(&path).expect("a file of cases"));
        let cases = match cases {
            Ok(cases) => cases,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        for case in &cases.cases {
            if !format!("{name}: {}", case.name).contains(&only) {
                continue;
            }
            count += 1;
            if let Verdict::Failed(why) = cases.run(case, manner) {
                failures.push(format!("{name}:{}: {}\n  {why}", case.line, case.name));
            }
        }
    }
    // Without this check, the test would pass if its files were not found.
    let least = if only.is_empty() { 500 } else { 0 };
    assert!(count > least, "{count} cases of `{only}` were found, and more than {least} were expected");
    (count, failures)
}

#[test]
fn queries_have_the_expected_rows() {
    let (count, failures) = run_all(Manner::default());
    assert!(failures.is_empty(), "{} of {count} cases failed\n{}", failures.len(), failures.join("\n"));
}

/// The rows of a query, and the number of late rows, do not depend on the batch size, on the number of
/// workers, on the order in which tasks run, on whether state goes to disk, or on whether operators are replaced by others
/// that load their state.
#[test]
fn rows_do_not_depend_on_how_they_are_run() {
    let mut all = Vec::new();
    for (workers, batch_rows, seed) in [(1, 1, 1), (1, 3, 2), (2, 1, 3), (2, 2, 4), (3, 4_096, 5)] {
        let (spills, renews) = (batch_rows == workers, seed % 2 == 1);
        let manner = Manner { workers, batch_rows, seed, policy: None, spills, renews };
        let (count, failures) = run_all(manner);
        if !failures.is_empty() {
            all.push(format!("with {manner:?}, of {count} cases failed\n{}", failures.join("\n")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A query that is planned twice has equal plans. Two queries of a file with equal plans give the same rows, so
/// the comparison of plans sees every difference that decides about rows.
#[test]
fn equal_plans_give_equal_rows() {
    let (mut twice, mut equal, mut different) = (0, 0, 0);
    for path in paths() {
        let cases =
            Cases::parse(&fs::read_to_string(&path).expect("a file of cases")).expect("the form of a file");
        let mut planned: Vec<(usize, Job)> = Vec::new();
        for (number, case) in cases.cases.iter().enumerate() {
            let plan = || cases.plan(case).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let (Ok(job), Ok(again)) = (plan(), plan()) else { continue };
            let place = format!("{}: {}", path.display(), case.name);
            assert_eq!(difference(&job.parts[0].plan, &again.parts[0].plan), None, "{place}");
            twice += 1;
            for (other, before) in &planned {
                if difference(&before.parts[0].plan, &job.parts[0].plan).is_some() {
                    different += 1;
                } else if before.settings == job.settings {
                    let other = &cases.cases[*other];
                    let rows = |case| cases.outcome(case, Manner::default());
                    assert_eq!(rows(other), rows(case), "{place}, and {}", other.name);
                    equal += 1;
                }
            }
            planned.push((number, job));
        }
    }
    assert!(
        twice > 400 && different > 2_000 && equal > 0,
        "{twice} planned, {equal} equal, {different} different"
    );
}

/// Changes the text of a file of test queries so that its times become instants, read as local time of a
/// zone.
fn with_instants(text: &str, zone: &str) -> String {
    let (declared, rest) = text.split_once("\n--- ").expect("declarations and sections");
    let times = regex::Regex::new(r"([A-Za-z_]+) TIMESTAMP\(3\)").expect("a pattern");
    let instants = "${1}_read TIMESTAMP(3), $1 AS CAST(${1}_read AS TIMESTAMP_LTZ(3))";
    let declared = times.replace_all(declared, instants);
    format!("SET 'table.local-time-zone' = '{zone}';\n{declared}\n--- {rest}")
}

/// Windows over instants are cut in local time of the session's zone, so the same local times make as many
/// rows, and as many late rows, as windows over times without a zone.
#[test]
fn windows_over_instants_hold_as_many_rows() {
    // Codes with which a query is refused that compares its times, which are now instants, with values of
    // another type.
    const REFUSALS: [&str; 3] = ["TYPE_MISMATCH", "UNSUPPORTED", "INVALID"];
    let is_of_windows = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let starts = ["tumble", "hop", "cumulate", "session", "window_", "cascaded"];
        starts.iter().any(|start| name.starts_with(start)) && !name.contains("time_zones")
    };
    let (mut compared, mut refused, mut failures) = (0, 0, Vec::new());
    for path in paths().into_iter().filter(is_of_windows) {
        let text = fs::read_to_string(&path).expect("a file of cases");
        let plain = Cases::parse(&text).expect("the form of a file");
        for zone in ["America/New_York", "Asia/Shanghai"] {
            let zoned = Cases::parse(&with_instants(&text, zone)).expect("the form of a file");
            for (case, of_zone) in plain.cases.iter().zip(&zoned.cases) {
                let place = format!("{}: {} in {zone}", path.display(), case.name);
                let Ok(Ok(rows)) = plain.outcome(case, Manner::default()) else { continue };
                let late = plain.run_counted(case, Manner::default()).1;
                match zoned.outcome(of_zone, Manner::default()) {
                    Ok(Ok(found)) => {
                        compared += 1;
                        let found = (found.len(), zoned.run_counted(of_zone, Manner::default()).1);
                        if found != (rows.len(), late) {
                            failures.push(format!("{place}: {found:?}, and not {:?}", (rows.len(), late)));
                        }
                    }
                    Ok(Err((code, _))) if REFUSALS.contains(&code.as_str()) => refused += 1,
                    other => failures.push(format!("{place}: {other:?}")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 4 * refused && compared > 150, "{compared} were compared, {refused} refused");
}

/// In batch mode, a query has the rows with which it ends in streaming mode, unless some of its rows are late.
#[test]
fn batch_has_the_rows_with_which_streaming_ends() {
    /// Cases with a row that is late for one of its windows or sessions only, and so is not counted as late.
    const PARTLY_LATE: [&str; 2] =
        ["windows before and across 1970", "a longer gap, with a row that joins two sessions"];
    /// An aggregate without keys over no rows has a row in batch mode only, as in Flink.
    const OF_NO_ROWS: &str = "of no rows nothing";
    let (mut compared, mut late, mut failures) = (0, 0, Vec::new());
    for path in paths() {
        let text = fs::read_to_string(&path).expect("a file of cases");
        let (declared, rest) = text.split_once("\n--- ").expect("declarations and sections");
        let in_batch = format!("{declared}\n--- set 'execution.runtime-mode' = 'batch'\n\n--- {rest}");
        let streamed = Cases::parse(&text).expect("the form of a file");
        let batched = Cases::parse(&in_batch).expect("the form of a file");
        for (case, of_batch) in streamed.cases.iter().zip(&batched.cases) {
            let Ok(Ok(mut rows)) = streamed.outcome(case, Manner::default()) else { continue };
            let is_late = |name: &str| name.contains("late") || PARTLY_LATE.contains(&name);
            if streamed.run_counted(case, Manner::default()).1 > 0 || is_late(&case.name) {
                late += 1;
                continue;
            }
            // Tables give no watermark before their end in batch mode.
            if path.ends_with("current_watermark.test.sql") {
                continue;
            }
            if case.name == OF_NO_ROWS {
                assert_eq!(batched.outcome(of_batch, Manner::default()), Ok(Ok(vec!["0".to_owned()])));
                continue;
            }
            compared += 1;
            let manner = Manner { workers: 2, batch_rows: 3, ..Manner::default() };
            match batched.outcome(of_batch, manner) {
                Ok(Ok(mut found)) => {
                    rows.sort();
                    found.sort();
                    if found != rows {
                        failures.push(format!(
                            "{}: {}: {found:?}, and not {rows:?}",
                            path.display(),
                            case.name
                        ));
                    }
                }
                other => failures.push(format!("{}: {}: {other:?}", path.display(), case.name)),
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared} differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 400 && late > 5, "{compared} were compared, {late} have late rows");
}

/// Returns the value of an environment variable as a number, if it is set.
fn number(key: &str) -> Option<u64> {
    let text = std::env::var(key).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{key} is no number: {text}")))
}

/// Random test queries give their rows under any policy, with any number of workers and any batch size.
/// `THALWEG_COMBINATIONS` is the number of cases drawn; `THALWEG_SEED_BASE` is the first seed, and each case
/// has its own.
#[test]
fn rows_do_not_depend_on_policies() {
    let files: Vec<(String, Cases)> = paths()
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a file of cases");
            (path.display().to_string(), Cases::parse(&text).expect("the form of a file"))
        })
        .collect();
    let all: Vec<_> =
        files.iter().flat_map(|(name, file)| file.cases.iter().map(move |case| (name, file, case))).collect();
    // The strict policy is left out, because its workers wait for real time, which stands still in these
    // tests.
    let policies: Vec<&'static str> =
        names().into_iter().filter(|name| *name != enjima::STRICT_NAME).collect();
    assert!(policies.len() > 5, "{policies:?}");
    let first = number("THALWEG_SEED_BASE").unwrap_or(0);
    let mut failures = Vec::new();
    for seed in (0..number("THALWEG_COMBINATIONS").unwrap_or(200)).map(|offset| first.wrapping_add(offset)) {
        let mut entropy = SeededEntropy::new(seed);
        let mut below = |bound: usize| (entropy.next_u64() % bound as u64) as usize;
        let (name, file, case) = all[below(all.len())];
        let policy = Some(policies[below(policies.len())]);
        let batch_rows = [1, 2, 3, 5, 17, 4_096][below(6)];
        let (workers, spills, renews) = (1 + below(8), below(3) == 0, below(2) == 0);
        let manner = Manner { workers, batch_rows, seed, policy, spills, renews };
        if let Verdict::Failed(why) = file.run(case, manner) {
            failures.push(format!("{name}:{}: {} with {manner:?}\n  {why}", case.line, case.name));
        }
    }
    assert!(failures.is_empty(), "{} combinations failed\n{}", failures.len(), failures.join("\n"));
}
