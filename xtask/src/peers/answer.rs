//! Answers of programs: rows as text, and the time that they took.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Most rows of an answer.
const ROWS_MAX: usize = 1 << 20;

/// The answer of a program to a question.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Answer {
    /// Seconds from the begin of the question to its last row.
    pub(super) seconds: f64,
    /// Events per second, if the program itself tells it, because it has run for a time and not for a number of events.
    pub(super) per_s: Option<f64>,
    /// Rows of values with commas between them, sorted; none if there is nothing to compare: the program has checked its
    /// results itself, or has only read rows.
    pub(super) rows: Vec<String>,
}

impl Answer {
    /// Reads the output of a peer: one JSON object with `seconds` and `rows`.
    ///
    /// # Errors
    ///
    /// An output of another form, and an answer without rows or with too many.
    pub(super) fn of_peer(output: &str) -> Result<Self> {
        let found: Value =
            serde_json::from_str(output.trim()).with_context(|| format!("not JSON: {output}"))?;
        let seconds = found["seconds"].as_f64().with_context(|| format!("no seconds in {output}"))?;
        let rows = found["rows"].as_array().with_context(|| format!("no rows in {output}"))?;
        let rows = rows.iter().map(|row| row.as_str().map(str::to_owned).context("a row is no text"));
        Answer::of_rows(seconds, rows.collect::<Result<_>>()?)
    }

    /// Reads the output of `thalweg run --output json`: a JSON object for each row, whose columns are `a`, `b` and so on, and the
    /// summary of the query on the standard error.
    ///
    /// # Errors
    ///
    /// An output of another form, and an answer without rows or with too many.
    pub(super) fn of_run(output: &str, error: &str) -> Result<Self> {
        let rows = output.lines().map(|line| {
            let row: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
            let values = ('a'..='z').map_while(|name| row.get(name.to_string())).map(Value::to_string);
            Ok(values.collect::<Vec<_>>().join(","))
        });
        Answer::of_rows(seconds(error)?, rows.collect::<Result<_>>()?)
    }

    /// Reads the standard error of a `thalweg run --output json` that has no result.
    ///
    /// # Errors
    ///
    /// An output without a summary.
    pub(super) fn of_source(error: &str) -> Result<Self> {
        Ok(Answer { seconds: seconds(error)?, ..Answer::default() })
    }

    /// Reads the JSON object of `thalweg bench`.
    ///
    /// # Errors
    ///
    /// A run whose results were not found equal to those of the oracle, or without a throughput.
    pub(super) fn of_bench(found: &Value) -> Result<Self> {
        if found["ok"] != true || found["check"] != "oracle-equal" {
            bail!("the results were not checked: {found}");
        }
        let field = |name| found[name].as_f64().with_context(|| format!("no {name} in {found}"));
        Ok(Answer { seconds: field("seconds")?, per_s: Some(field("throughput_per_s")?), rows: Vec::new() })
    }

    /// Makes an answer of rows in any order.
    ///
    /// # Errors
    ///
    /// An answer without rows or with too many, and a time that is not above 0.
    pub(super) fn of_rows(seconds: f64, mut rows: Vec<String>) -> Result<Self> {
        if seconds.is_nan() || seconds <= 0.0 {
            bail!("{seconds} s is no time");
        }
        if rows.is_empty() || ROWS_MAX < rows.len() {
            bail!("{} rows are no answer: from 1 to {ROWS_MAX} are expected", rows.len());
        }
        rows.sort();
        Ok(Answer { seconds, per_s: None, rows })
    }

    /// Compares the rows of `found` with those of this answer.
    ///
    /// # Errors
    ///
    /// The first row that only one of them has, and how many rows each has.
    pub(super) fn check(&self, found: &Answer) -> Result<()> {
        if self.rows == found.rows {
            return Ok(());
        }
        let pairs = self.rows.iter().zip(&found.rows);
        let place = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        let row =
            |answer: &Answer| answer.rows.get(place).map_or("no more".to_owned(), |row| format!("`{row}`"));
        bail!(
            "the answer differs from ours: sorted row {} is {}, and ours {}; {} rows, and ours {}",
            place + 1,
            row(found),
            row(self),
            found.rows.len(),
            self.rows.len()
        );
    }
}

/// Returns the seconds in the summary of a query.
fn seconds(error: &str) -> Result<f64> {
    let summary = error.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let seconds = summary.filter_map(|summary| summary["seconds"].as_f64()).next();
    seconds.with_context(|| format!("no summary with seconds in {error}"))
}
