//! Mean lengths of queues, for an engine that tells lengths as they are now: our own.
//!
//! Source: Frasca et al. (Computing Frontiers 2023), section 4.1.1: a round takes the mean of a metric over the last 10 s.
//! The drivers of Flink and Storm keep such values themselves, since one of their queues has several metrics.
//!
//! Bound: [`SAMPLES_MAX`](crate::window::SAMPLES_MAX) values for each steered thread.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thalweg_scheduling::OperatorId;

use crate::steering::Observation;
use crate::threads::ThreadKey;
use crate::window::Window;

/// The lengths of the queues of steered threads at the rounds of the last 10 s, for an engine that tells lengths as they are
/// now.
#[derive(Clone, Debug, Default)]
pub struct QueueMeans(BTreeMap<(ThreadKey, OperatorId), Window>);

impl QueueMeans {
    /// Adds the length of each operator's queue to its values, and replaces it in the snapshot by their mean. Means are
    /// rounded up: a queue in which a record waited at a round of the last 10 s is not empty. Threads that are not
    /// observed any more are forgotten. `now` is the time since the first observation.
    pub fn apply(&mut self, now: Duration, Observation { snapshot, threads, .. }: &mut Observation) {
        let mut averaged = BTreeSet::new();
        for thread in &*threads {
            let place = snapshot.operators.get_mut(thread.operator.0 as usize);
            // An operator with several threads is averaged once, by its first.
            if let Some(state) = place.and_then(Option::as_mut)
                && averaged.insert(thread.operator)
            {
                let window = self.0.entry((thread.key, thread.operator)).or_default();
                window.add(now, Some(state.pending as f64));
                state.pending = window.mean().map_or(state.pending, |mean| mean.ceil() as u64);
            }
        }
        let observed: BTreeSet<(ThreadKey, OperatorId)> =
            threads.iter().map(|thread| (thread.key, thread.operator)).collect();
        self.0.retain(|key, _| observed.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use thalweg_scheduling::{OperatorState, Snapshot};

    use super::*;
    use crate::steering::Steered;

    fn thread(number: u32, operator: u32) -> Steered {
        let key = ThreadKey { process: 1, thread: number, started: 1 };
        Steered { key, operator: OperatorId(operator), name: String::new() }
    }

    /// Returns the lengths of queues after a round at second `now`, in which operator 1 has two threads and operator 2
    /// has none.
    fn after(means: &mut QueueMeans, now: u64, pending: [u64; 3], third: Option<Steered>) -> [u64; 3] {
        let operator = |pending| Some(OperatorState { pending, ..OperatorState::default() });
        let snapshot = Snapshot { operators: pending.map(operator).into(), ..Snapshot::default() };
        let mut threads = vec![thread(10, 0), thread(11, 1), thread(12, 1)];
        threads.extend(third);
        let mut observation = Observation { snapshot, threads, ..Observation::default() };
        means.apply(Duration::from_secs(now), &mut observation);
        let pending: Vec<u64> =
            observation.snapshot.operators.iter().flatten().map(|state| state.pending).collect();
        pending.try_into().expect("there are three operators")
    }

    #[test]
    fn a_queue_has_its_mean_length_of_ten_seconds() {
        let mut means = QueueMeans::default();
        assert_eq!(after(&mut means, 0, [8, 100, 7], None), [8, 100, 7]);
        assert_eq!(after(&mut means, 1, [0, 200, 9], None), [4, 150, 9], "nobody steers the third");
        assert_eq!(after(&mut means, 9, [0, 0, 0], None), [3, 100, 0], "rounded up");
        assert_eq!(after(&mut means, 12, [0, 20, 0], None), [0, 10, 0], "the first two rounds are over");
    }

    #[test]
    fn two_operators_of_a_thread_have_a_mean_each() {
        let mut means = QueueMeans::default();
        assert_eq!(after(&mut means, 0, [8, 0, 20], Some(thread(10, 2))), [8, 0, 20]);
        assert_eq!(after(&mut means, 1, [0, 0, 40], Some(thread(10, 2))), [4, 0, 30]);
    }

    #[test]
    fn a_thread_that_ends_is_forgotten_with_its_values() {
        let mut means = QueueMeans::default();
        after(&mut means, 0, [0, 0, 50], Some(thread(13, 2)));
        after(&mut means, 1, [0, 0, 0], None);
        assert_eq!(after(&mut means, 2, [0, 0, 10], Some(thread(13, 2))), [0, 0, 10]);
    }
}
