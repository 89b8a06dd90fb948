//! Placement of workers on CPU cores: each worker thread stays on one core, so that no other worker replaces
//! the content of its caches.

use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, set_current_timer_slack};

/// Returns a core for each of `count` workers, from the cores that the process may use. The list begins with
/// the caller's core, so engines made on different cores begin on different cores. Returns an empty list if
/// there are fewer cores than workers.
pub(crate) fn for_workers(count: usize) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    if cores.len() < count {
        return Vec::new();
    }
    let here = cores.iter().position(|&core| core == sched_getcpu()).unwrap_or(0);
    cores.iter().cycle().skip(here).take(count).copied().collect()
}

/// Restricts the calling thread to the given cores, if there are any, and makes its sleeps end on time: by
/// default Linux may wake a sleeper 50 us late. If the system refuses, the thread still works, only slower.
pub(crate) fn pin(cores: &[usize]) {
    if !cores.is_empty() {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        let _refused = sched_setaffinity(None, &set);
    }
    let _refused = set_current_timer_slack(NonZeroU64::new(1));
}

/// Returns the position in the list `cores` of the core on which the calling thread runs now; 0 if this core
/// is not in the list.
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
