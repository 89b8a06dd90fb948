//! Tests that run every operator over every kind of input, and every aggregate in every form of grouping. The
//! result must be the right rows, or a refusal at planning.
//!
//! Queries are generated from two tables of cases. Their rows are compared with references that work on
//! complete lists of rows and share no code with the engine. Changes are materialised first: a retracted row
//! must be present.
//!
//! `THALWEG_SEEDS` is the number of runs of each pair, each time over other rows, as in
//! `cargo xtask deep crosses`. Unless it is set, only a sample of the pairs runs, which the seed selects.
//! `THALWEG_SEED_BASE` is the first seed, and `THALWEG_SEED` runs all pairs with one seed.

mod aggregates;
mod functions;
mod inputs;
mod joins;
mod operators;
mod over;
#[path = "../functions/registered.rs"]
mod registered;

use std::collections::BTreeMap;

use thalweg_model::{Entropy, SeededEntropy};
use thalweg_sql::cases::{Answer, Cases, Manner};
use thalweg_sql::plan::changes::Changes;
use thalweg_sql_formats::RowKind;

/// Draws pseudo-random numbers from a seed.
pub(crate) struct Draw(SeededEntropy);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(SeededEntropy::new(seed))
    }

    /// Draws a number from 0 up to but without `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> i64 {
        (self.0.next_u64() % bound) as i64
    }

    /// Draws the number of workers, the batch size, the seed, whether state goes to disk and whether operators are replaced, for a run of a query. No result may depend on
    /// them.
    pub(crate) fn manner(&mut self) -> Manner {
        let workers = [1, 1, 2, 3][self.below(4) as usize];
        let batch_rows = [1, 2, 3, 4_096][self.below(4) as usize];
        let (spills, renews) = (self.below(3) == 0, self.below(2) == 0);
        Manner { workers, batch_rows, seed: self.0.next_u64(), policy: None, spills, renews }
    }
}

/// Returns the seeds of this test run, which the environment may set.
pub(crate) fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("THALWEG_SEED") {
        return vec![seed];
    }
    let of_commit = || std::env::var_os("CI").and_then(|_| commit_seed());
    let first = number("THALWEG_SEED_BASE").or_else(of_commit).unwrap_or_default();
    (0..number("THALWEG_SEEDS").unwrap_or(1)).map(|count| first.wrapping_add(count)).collect()
}

/// Returns a seed from the first digits of the commit's hash, so that continuous integration runs other pairs
/// with each commit.
fn commit_seed() -> Option<u64> {
    let output = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
    let hash = String::from_utf8(output.stdout).ok()?;
    u64::from_str_radix(hash.get(..8)?, 16).ok()
}

/// Returns whether a pair belongs to the sample that runs without `THALWEG_SEEDS`: one pair in six.
pub(crate) fn is_sampled(at: usize, seed: u64) -> bool {
    const SAMPLE: u64 = 6;
    let is_whole = ["THALWEG_SEEDS", "THALWEG_SEED"].iter().any(|name| std::env::var_os(name).is_some());
    is_whole || (at as u64).wrapping_add(seed).is_multiple_of(SAMPLE)
}

/// A value of a test row: a whole number or NULL. Times are milliseconds from the start of the test data.
pub(crate) type Value = Option<i64>;

/// Formats the values of a test row as a query shows them.
pub(crate) fn text(values: &[Value]) -> String {
    let shown: Vec<String> =
        values.iter().map(|value| value.map_or("NULL".to_owned(), |number| number.to_string())).collect();
    shown.join(",")
}

/// Formats a time of the test data as a query shows it. All times lie within one day.
pub(crate) fn time(millis: i64) -> String {
    let (seconds, millis) = (millis.div_euclid(1_000), millis.rem_euclid(1_000));
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("2024-01-01 {:02}:{:02}:{seconds:02}.{millis:03}", minutes / 60, minutes % 60)
}

/// Returns the rows that remain after the changes that a query puts out, sorted.
///
/// # Errors
/// A change that the plan did not announce, or a retraction of a row that is not present.
pub(crate) fn materialised(rows: &[(RowKind, String)], planned: Changes) -> Result<Vec<String>, String> {
    let mut left: BTreeMap<&str, i64> = BTreeMap::new();
    for (kind, row) in rows {
        let is_planned = match kind {
            RowKind::Insert => true,
            RowKind::UpdateBefore | RowKind::UpdateAfter => planned.updates,
            RowKind::Delete => planned.deletes,
        };
        if !is_planned {
            return Err(format!("{kind},{row} came, and the plan says {planned:?}"));
        }
        let count = left.entry(row).or_default();
        *count += match kind {
            RowKind::Insert | RowKind::UpdateAfter => 1,
            RowKind::UpdateBefore | RowKind::Delete => -1,
        };
        if *count < 0 {
            return Err(format!("{kind},{row} takes back a row that is not there, in {rows:?}"));
        }
    }
    let all = left.into_iter().flat_map(|(row, count)| std::iter::repeat_n(row.to_owned(), count as usize));
    Ok(all.collect())
}

/// Codes with which planning may refuse an input: because it changes, or because a column is no event time.
const REFUSALS: [&str; 2] = ["UNSUPPORTED", "INVALID"];

/// Returns what is wrong with an answer; `None` if it is an expected refusal or the expected rows.
pub(crate) fn wrong(answer: &Answer, expected: Option<Vec<String>>) -> Option<String> {
    match (answer, expected) {
        (Answer::Refused { code, message }, None) => {
            // A refusal must say what to do: its help text stands behind a semicolon.
            let is_right = REFUSALS.contains(&code.as_str()) && message.contains(';');
            (!is_right).then(|| format!("the refusal is not of the kind, or helps nobody: {code} {message}"))
        }
        (Answer::Rows { rows, planned, .. }, Some(mut expected)) => {
            expected.sort();
            match materialised(rows, *planned) {
                Err(error) => Some(error),
                Ok(found) if found == expected => None,
                Ok(found) => Some(format!("expected {expected:?}, found {found:?}")),
            }
        }
        (Answer::Rows { rows, .. }, None) => Some(format!("expected a refusal, found {rows:?}")),
        (other, _) => Some(format!("{other:?}")),
    }
}

/// Parses the tables of the test data and their rows, written as a file of test cases.
pub(crate) fn tables(text: &str) -> Cases {
    let whole = format!("{text}\n--- query none\nSELECT 1;\n\n--- rows\n1\n");
    let cases = Cases::parse(&whole).unwrap_or_else(|error| panic!("{error}\n{whole}"));
    cases.with_functions_of(&registered::session())
}

/// Asserts that there are no failures; otherwise prints the first ones and how to repeat them.
pub(crate) fn assert_none(failures: &[String], count: usize) {
    let shown: Vec<&str> = failures.iter().take(30).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} of {count} failed\n{}", failures.len(), shown.join("\n\n"));
}
