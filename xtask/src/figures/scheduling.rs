//! Time for choosing tasks, of all sides of the engine that did not idle. It is read from the runs of the other
//! sections, so it is no section itself.

use super::bench::Share;
use super::section::Workers;
use super::table::{Row, Table, Target, Unit};

/// Bound for workers that are always busy, at a quantum of one block. A worker that has a record now and then chooses
/// once for each record, so its percentage says nothing.
const BUSY_PERCENT_MAX: f64 = 5.0;

/// Returns the percentages of the time that workers did not sleep; `None` if no side chose tasks.
pub(super) fn table(shares: &[Share]) -> Option<Table> {
    let row = |Share { title, workers, percents }: &Share| {
        let row = Row::new(title.as_str(), percents, Unit::Percent);
        if *workers == Workers::Busy { row.aiming(Target::AtMost(BUSY_PERCENT_MAX)) } else { row }
    };
    let head = "choosing tasks, of the time that workers were awake".to_owned();
    (!shares.is_empty()).then(|| Table { head, rows: shares.iter().map(row).collect() })
}
