//! The watchdog of progress: it finds a task that runs again and again without effect, and the cycle in which
//! it is stuck.
//!
//! A task runs when something waits on its inputs and all its outputs have room, so each run takes or emits
//! something. A task whose runs have no effect waits for one of several inputs and leaves the others unread.
//! On the awaited edge nothing may ever come, because its writer waits for room on an edge that the task
//! leaves unread. Then both wait forever. No operator of ours reads like that. With the watchdog, an operator
//! that does fails its query with its name, and does not keep a worker busy forever.

use std::sync::Arc;

use thalweg_memory::Cursors;
use thalweg_model::ProcessingTime;

use crate::limits;
use crate::task::{Inlet, Outlet, Probe};

/// Number of consecutive runs that moved no record and no mark (such as a watermark) after which a task may
/// count as stuck, if enough time has passed, too.
const BARREN_RUNS_MIN: u32 = 1 << 10;

/// Number of consecutive runs of a task that moved no record and no mark (such as a watermark), and the time
/// of the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Barren {
    runs: u32,
    since: ProcessingTime,
}

impl Barren {
    /// Records a run that ended at `now`. Returns true if the task has run without moving anything for too
    /// long.
    pub(crate) fn note_run(&mut self, had_effect: bool, now: ProcessingTime) -> bool {
        if had_effect {
            self.runs = 0;
            return false;
        }
        if self.runs == 0 {
            self.since = now;
        }
        self.runs = self.runs.saturating_add(1);
        self.runs >= BARREN_RUNS_MIN && now.nanos_since(self.since) >= limits::STUCK_AFTER_NS.default
    }
}

/// Returns the names of tasks from `start` on, joined by arrows: each task waits for the one after its arrow.
/// If they wait in a cycle, the last name stands in the result twice. `tasks` has all tasks of the query.
pub(crate) fn waits_for(tasks: &[(&str, &Probe)], start: &Probe) -> String {
    let place_of = |wanted: &Probe| tasks.iter().position(|(_, probe)| std::ptr::eq(*probe, wanted));
    let mut path: Vec<usize> = place_of(start).into_iter().collect();
    while let Some(next) = path.last().and_then(|&place| blocker(tasks, place)) {
        let is_cycle = path.contains(&next);
        path.push(next);
        if is_cycle {
            break;
        }
    }
    path.iter().map(|&place| tasks[place].0).collect::<Vec<_>>().join(" -> ")
}

/// Returns the task for which the given task waits: the reader of a full output edge, or the writer of an
/// empty input edge.
fn blocker(tasks: &[(&str, &Probe)], place: usize) -> Option<usize> {
    let probe = tasks[place].1;
    let is_same = Arc::<Cursors>::ptr_eq;
    let slowest_of = |full: &Arc<Cursors>| {
        let readers = tasks.iter().enumerate().flat_map(|(place, (_, reader))| {
            reader.inputs.iter().filter_map(Inlet::edge).map(move |(edge, index)| (place, edge, index))
        });
        let readers = readers.filter(|(_, edge, _)| is_same(edge, full));
        readers
            .max_by_key(|(_, edge, index)| edge.pending(*index) + edge.pending_marks(*index))
            .map(|(place, ..)| place)
    };
    if let Some(full) = probe.outputs.iter().filter_map(Outlet::edge).find(|edge| !edge.has_room()) {
        return slowest_of(full);
    }
    let is_empty =
        |(edge, index): &(&Arc<Cursors>, usize)| edge.pending(*index) + edge.pending_marks(*index) == 0;
    let (empty, _) = probe.inputs.iter().filter_map(Inlet::edge).find(is_empty)?;
    let writes =
        |writer: &Probe| writer.outputs.iter().filter_map(Outlet::edge).any(|edge| is_same(edge, empty));
    tasks.iter().position(|(_, writer)| writes(writer))
}
