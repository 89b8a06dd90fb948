//! What choosing tasks takes, of all sides of the engine that were run and did not idle. Measured beside the rest, so it is no section of its own.

use super::bench::Share;
use super::section::Workers;
use super::table::{Row, Table, Target, Unit};

/// At a quantum of one block. A worker that has a record now and then chooses once for each, which says nothing: what
/// counts there is how little it is awake.
const BUSY_PERCENT_MAX: f64 = 5.0;

/// Percentages of the time that workers did not sleep; none without a side that chose.
pub(super) fn table(shares: &[Share]) -> Option<Table> {
    let row = |Share { title, workers, percents }: &Share| {
        let row = Row::new(title.as_str(), percents, Unit::Percent);
        if *workers == Workers::Busy { row.aiming(Target::AtMost(BUSY_PERCENT_MAX)) } else { row }
    };
    let head = "choosing tasks, of the time that workers were awake".to_owned();
    (!shares.is_empty()).then(|| Table { head, rows: shares.iter().map(row).collect() })
}
