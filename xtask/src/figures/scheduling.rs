//! Table of the time for choosing tasks, over all runs in which the engine was not idle. It is read from the
//! runs of the other sections, so it is no section itself.

use super::bench::Share;
use super::section::Workers;
use super::table::{Row, Table, Target, Unit};

/// Greatest percentage of time for choosing tasks, for workers that are always busy, at a quantum of one
/// block. It does not apply to a worker that has a record now and then: that worker chooses once for each
/// record.
const BUSY_PERCENT_MAX: f64 = 5.0;

/// Returns the table of the time for choosing tasks; `None` if no run chose tasks.
pub(super) fn table(shares: &[Share]) -> Option<Table> {
    let row = |Share { title, workers, percents }: &Share| {
        let row = Row::new(title.as_str(), percents, Unit::Percent);
        if *workers == Workers::Busy { row.aiming(Target::AtMost(BUSY_PERCENT_MAX)) } else { row }
    };
    let head = "choosing tasks, of the time that workers were awake".to_owned();
    (!shares.is_empty()).then(|| Table { head, rows: shares.iter().map(row).collect() })
}
