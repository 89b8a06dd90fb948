//! The summary of a job when it has ended, as text and as JSON.

use serde::{Serialize, Serializer};

/// Counts of a job that has ended. As JSON it is one object of the output of `thalweg run`.
#[derive(Serialize)]
pub struct Ended<'a> {
    #[serde(rename = "job")]
    pub name: &'a str,
    pub rows_in: u64,
    pub rows_out: u64,
    pub late: u64,
    pub filtered: u64,
    pub bad: u64,
    /// Files to which bad records of the job were diverted.
    pub diverted_to: Vec<String>,
    /// Whether the job was stopped before its input had ended.
    pub stopped_early: bool,
    #[serde(serialize_with = "to_millis")]
    pub seconds: f64,
}

/// Serializes a number of seconds with three decimals.
fn to_millis<S: Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((seconds * 1e3).round() / 1e3)
}

impl Ended<'_> {
    /// Returns the counts as one line for people.
    pub fn text(&self) -> String {
        let Ended { name, rows_in, rows_out, late, filtered, bad, diverted_to, stopped_early, seconds } =
            self;
        let rate = *rows_in as f64 / seconds.max(1e-9);
        let mut text =
            format!("{name}: {rows_in} rows in, {rows_out} out in {seconds:.3} s ({rate:.0} rows/s)");
        let bad_in =
            if diverted_to.is_empty() { String::new() } else { format!(" (in {})", diverted_to.join(", ")) };
        for (count, what, place) in [(late, "late", ""), (bad, "bad", &*bad_in), (filtered, "filtered", "")] {
            if *count > 0 {
                text += &format!(", {count} {what}{place}");
            }
        }
        if *stopped_early {
            text += ", stopped early";
        }
        text
    }
}
