//! The sections that one task adds to the checkpoints of its query.

use std::sync::Arc;

use thalweg_memory::Reservation;
use thalweg_model::{Section, StateError};

use super::Coordinator;

/// Adds the sections of one task to the checkpoints of its query, and tells when the task has ended. If this is dropped before the
/// task has ended, the query has failed or was cancelled.
pub(crate) struct TaskCheckpoints {
    coordinator: Arc<Coordinator>,
    task: usize,
    has_ended: bool,
}

/// State of a task that takes checkpoints, beside its operators and its output.
#[derive(Default)]
pub(crate) struct TailCheckpoints {
    /// Takes the sections of the task; `None` if the query takes no checkpoints.
    pub(crate) own: Option<TaskCheckpoints>,
    /// State of the task in front of its operators, such as the position of its source, saved when the barrier that is on
    /// its way through the operators was put.
    pub(crate) head: Vec<u8>,
    /// Error in saving that state.
    pub(crate) error: Option<StateError>,
}

impl TaskCheckpoints {
    pub(super) fn new(coordinator: Arc<Coordinator>, task: usize) -> Self {
        TaskCheckpoints { coordinator, task, has_ended: false }
    }

    /// Returns the number of the next checkpoint, with which output is published that is prepared now.
    pub(crate) fn next_number(&self) -> u64 {
        self.coordinator.gathered.lock().number + 1
    }

    /// Reserves memory for the copy of the state of this task.
    ///
    /// # Errors
    /// The reason why the checkpoint is given up, if the memory budget has no room for the copy.
    pub(crate) fn pay(&self, bytes: usize) -> Result<Reservation, String> {
        let paid = self.coordinator.pool.budget().reserve(bytes);
        paid.map_err(|exceeded| format!("a copy of its state does not fit: {exceeded}"))
    }

    /// Adds the section of this task to the checkpoint `number`, whose barrier has passed: the copy of its state with the
    /// memory that pays for it, or the reason why there is none. Then the checkpoint is given up, and what was prepared is
    /// published with the next one.
    pub(crate) fn add(&self, number: u64, state: Result<(Vec<u8>, Reservation), String>, prepared: Vec<u8>) {
        let Coordinator { gathered, .. } = &*self.coordinator;
        let (state, paid, given_up) = match state {
            Ok((state, mut paid)) => match paid.resize(state.len() + prepared.len()) {
                Ok(()) => (state, Some(paid), None),
                Err(exceeded) => {
                    (Vec::new(), None, Some(format!("a copy of its state does not fit: {exceeded}")))
                }
            },
            Err(why) => (Vec::new(), None, Some(why)),
        };
        let is_whole = {
            let mut gathered = gathered.lock();
            if gathered.is_lost {
                return;
            }
            assert_eq!(gathered.number, number, "one checkpoint is under way");
            gathered.paid.extend(paid);
            let section = Section { state, prepared, ..Section::default() };
            gathered.sections[self.task] = Some(section);
            let name = || &self.coordinator.tasks[self.task].name;
            gathered.given_up = gathered.given_up.take().or(given_up.map(|why| format!("{}: {why}", name())));
            gathered.is_whole()
        };
        if is_whole {
            self.coordinator.call();
        }
    }

    /// Tells that the stream of this task has ended, and what its sink has prepared since the last checkpoint.
    pub(crate) fn end(&mut self, prepared: Vec<u8>) {
        self.has_ended = true;
        self.coordinator.gathered.lock().ended[self.task] = Some(prepared);
        self.coordinator.call();
    }
}

impl Drop for TaskCheckpoints {
    fn drop(&mut self) {
        if !self.has_ended {
            self.coordinator.gathered.lock().is_lost = true;
            self.coordinator.call();
        }
    }
}
