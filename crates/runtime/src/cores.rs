//! Cores for workers: each worker stays on one, so that what it has in its caches is its own.

use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, set_current_timer_slack};

/// A core for each of `count` workers, from those that the process may use, beginning with the one that asks: engines
/// which are made on different cores begin on different cores. None if there are too few.
pub(crate) fn for_workers(count: usize) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    if cores.len() < count {
        return Vec::new();
    }
    let here = cores.iter().position(|&core| core == sched_getcpu()).unwrap_or(0);
    cores.iter().cycle().skip(here).take(count).copied().collect()
}

/// Settles the thread that calls on these cores, unless there are none, and lets its sleeps end on time: by default Linux
/// may wake a sleeper 50 us late. Where the system refuses, things work all the same, only slower.
pub(crate) fn pin(cores: &[usize]) {
    if !cores.is_empty() {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        let _refused = sched_setaffinity(None, &set);
    }
    let _refused = set_current_timer_slack(NonZeroU64::new(1));
}

/// Which of these cores the thread that calls runs on just now; the first if it is none of them.
pub(crate) fn place_among(cores: &[usize]) -> usize {
    if cores.len() < 2 {
        return 0;
    }
    let here = sched_getcpu();
    cores.iter().position(|&core| core == here).unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_a_core_of_its_own_or_none_has() {
        let mut cores = for_workers(1);
        assert_eq!(cores.len(), 1);
        cores.append(&mut for_workers(CpuSet::MAX_CPU + 1));
        assert_eq!(cores.len(), 1, "no machine has so many");
    }
}
