//! Bounds on the work of a round, which is one pass of the steering loop, and on how much of an engine a driver looks
//! at.

use std::time::Duration;

use crate::steering::Unobserved;
use crate::watchdog::{BEAT_EVERY, PATIENCE};

/// Longest time for which a driver asks its engine and reads `/proc` in one round. The steering loop gives its
/// watchdog no sign of life meanwhile.
pub const ROUND_MAX: Duration = Duration::from_secs(3);

/// Longest time for which a round makes control groups and moves threads. The rest is left to the next round. A move took 0.06 ms
/// in the median of 40 and 21 ms at most (two cores, Linux 6.18), so the first round of an engine with thousands of threads may not
/// move all of them.
pub const APPLY_MAX: Duration = Duration::from_millis(500);

const _: () = assert!(
    ROUND_MAX.as_millis() + APPLY_MAX.as_millis() + BEAT_EVERY.as_millis() < PATIENCE.as_millis(),
    "the watchdog waits for a round"
);

/// Longest time of one request to an engine over HTTP. An engine answers within 20 ms unless it is overloaded.
pub const REQUEST_MAX: Duration = Duration::from_secs(2);

/// Greatest number of edges of all jobs of an engine: pairs of operators of which one reads the output of the other.
pub const EDGES_MAX: usize = 1 << 20;

/// Greatest number of pairs of a thread to steer and an operator that it runs.
pub const STEERED_MAX: usize = 16_384;

/// Checks that something is not more than the driver looks at.
///
/// # Errors
/// If `count` is above `most`.
pub(crate) fn check(what: &str, count: usize, most: usize) -> Result<(), Unobserved> {
    if count <= most {
        Ok(())
    } else {
        Err(Unobserved(format!("there are {count} {what}; at most {most} are looked at")))
    }
}
