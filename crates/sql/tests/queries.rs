//! Every query in `tests/queries` has the rows that are written beside it.

use std::fs;
use std::path::Path;

use thalweg_sql::cases::{Cases, Manner, Verdict};

/// Runs all cases of the folder in a manner; the failures, by file.
fn run_all(manner: Manner) -> (usize, Vec<String>) {
    let only = std::env::var("THALWEG_CASE").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    let mut paths: Vec<_> = fs::read_dir(Path::new("tests/queries"))
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.to_string_lossy().ends_with(".test.sql"))
        .collect();
    paths.sort();
    for path in paths {
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
    // Tests that are not run would pass for ever.
    let least = if only.is_empty() { 500 } else { 0 };
    assert!(count > least, "{count} cases of `{only}` were found, and more than {least} were expected");
    (count, failures)
}

#[test]
fn queries_have_the_expected_rows() {
    let (count, failures) = run_all(Manner::default());
    assert!(failures.is_empty(), "{} of {count} cases failed\n{}", failures.len(), failures.join("\n"));
}

/// Rows, and which of them are late, do not depend on how many rows are read at a time, on the workers, or on who runs first.
#[test]
fn rows_do_not_depend_on_how_they_are_run() {
    let mut all = Vec::new();
    for (workers, batch_rows, seed) in [(1, 1, 1), (1, 3, 2), (2, 1, 3), (2, 2, 4), (3, 4_096, 5)] {
        let manner = Manner { workers, batch_rows, seed };
        let (count, failures) = run_all(manner);
        if !failures.is_empty() {
            all.push(format!("with {manner:?}, of {count} cases failed\n{}", failures.join("\n")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
