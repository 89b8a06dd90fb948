//! The capacity of a query: how many records a second one core takes.
//!
//! It is the inverse of the CPU time that the engine's process takes for a record, at a load that the core can take. A run far
//! beyond the capacity does not tell it on Storm: its queues are so long that the source goes on while the sink gets little,
//! and how little depends on what is to be compared, the scheduling. Storm's bolts look for work for as long as a core has time
//! to spare, so they are told to sleep in these runs, and in no other.

use anyhow::{Result, bail};

use super::Lengths;
use super::system::System;
use super::trial::{Bench, Figures, Order};

/// Load of the first run, as a share of what a core would take if operators took nothing but their `--spin-us`.
const FIRST: f64 = 0.5;
/// Load of the second run, as a share of what the first one tells. At a low load the engine takes more CPU time for a record, as
/// threads look for work more often.
const SECOND: f64 = 0.9;
/// Most seconds that each run is measured.
const SECONDS: u32 = 15;

/// Returns the records per second that one core takes.
///
/// # Errors
///
/// A run that fails or takes no records.
pub(super) fn measured(bench: &mut Bench, lengths: Lengths) -> Result<f64> {
    let lengths = Lengths { seconds: lengths.seconds.min(SECONDS), ..lengths };
    let mut per_s = FIRST * bench.query.nominal_per_s();
    for (place, share) in [(1, 1.0), (2, SECOND)] {
        let rate = share * per_s;
        let name = format!("{}-capacity-{place}", bench.query.name());
        let found = bench.run(&name, Order { system: System::Os, rate, lengths, is_probe: true })?;
        per_s = taken_by_a_core(&found)?;
        eprintln!("capacity: {rate:.0} records/s offered, and a whole core would take {per_s:.0}");
    }
    Ok(per_s)
}

/// Returns the records per second that the engine would take if it had a core for all of the time.
fn taken_by_a_core(found: &Figures) -> Result<f64> {
    match found.engine_share {
        Some(share) if 0.0 < share && 0.0 < found.taken_per_s => Ok(found.taken_per_s / share),
        _ => bail!("the capacity cannot be told: the engine took {} records/s", found.taken_per_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_follows_from_the_time_of_a_record() {
        let found = |taken_per_s, engine_share| Figures { taken_per_s, engine_share, ..Figures::default() };
        assert_eq!(taken_by_a_core(&found(250.0, Some(0.5))).unwrap(), 500.0);
        assert!(taken_by_a_core(&found(0.0, Some(0.5))).is_err());
        assert!(taken_by_a_core(&found(250.0, None)).is_err());
    }
}
