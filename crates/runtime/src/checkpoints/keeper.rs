//! The keeper: begins the checkpoints of all queries, writes them when they are whole, and lets sinks publish.
//!
//! One thread of the engine runs it, apart from the workers, because writing and publishing wait for disks. In a simulation
//! the test steps it. The query counts as running until its last checkpoint is complete, because the keeper counts as one of
//! its tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use thalweg_memory::sync::{Condvar, Mutex};
use thalweg_model::{Checkpoint, CheckpointStore, Clock, ProcessingTime, Publisher, Section, StateWriter};

use super::{CheckpointProgress, Coordinator, Look, PLAN};
use crate::driver::Driver;
use crate::error::QueryError;
use crate::executor::discard;
use crate::query::{QueryShared, TaskOfQuery};

/// Takes the checkpoints of all queries of an engine.
pub struct Keeper {
    shared: Arc<KeeperShared>,
    driver: Arc<dyn Driver>,
    kept: Vec<KeptQuery>,
}

/// The part of the keeper that other threads use.
pub(crate) struct KeeperShared {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    added: Vec<KeptQuery>,
    is_called: bool,
    is_closed: bool,
}

/// Wakes the keeper from any thread.
#[derive(Clone)]
pub(crate) struct KeeperCall(Arc<KeeperShared>);

impl KeeperCall {
    pub(crate) fn call(&self) {
        self.0.state.lock().is_called = true;
        self.0.called.notify_one();
    }
}

/// A query whose checkpoints are taken.
struct KeptQuery {
    coordinator: Arc<Coordinator>,
    work: KeeperWork,
    /// Counts the keeper among the running tasks of the query, until the last checkpoint is complete. It is dropped last, so
    /// that a caller who waited for the query may open the store anew.
    query: Option<TaskOfQuery>,
}

/// Everything that only the keeper needs for the checkpoints of a query.
pub(crate) struct KeeperWork {
    query: String,
    plan: String,
    store: Box<dyn CheckpointStore>,
    /// The parts of sinks that publish, by task.
    publishers: Vec<Option<Box<dyn Publisher>>>,
    /// Descriptions of output that is prepared and not published, by task, in order.
    unpublished: Vec<Vec<Vec<u8>>>,
    every_ns: Option<u64>,
    /// Instant of the next checkpoint; set when the query is first looked at.
    due: Option<ProcessingTime>,
    began: ProcessingTime,
}

/// Whether the keeper goes on with a query.
enum Next {
    /// The keeper looks again at this instant, or when it is called.
    At(ProcessingTime),
    /// No further checkpoint comes.
    Over,
}

/// Result of one step of the keeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeeperStep {
    /// True if a checkpoint has begun or was settled, or a query takes no further one. Tasks may have work then.
    pub has_acted: bool,
    /// Instant at which the next step is due, unless a task or a handle calls earlier.
    pub due: ProcessingTime,
}

impl KeeperWork {
    pub(super) fn new(
        query: String,
        plan: String,
        store: Box<dyn CheckpointStore>,
        publishers: Vec<Option<Box<dyn Publisher>>>,
        every_ns: Option<u64>,
    ) -> Self {
        let unpublished = publishers.iter().map(|_| Vec::new()).collect();
        let (due, began) = (None, ProcessingTime::ZERO);
        KeeperWork { query, plan, store, publishers, unpublished, every_ns, due, began }
    }

    /// Makes the checkpoint of the sections that were gathered. Output that an earlier checkpoint should have published is
    /// added.
    fn checkpoint(&mut self, number: u64, mut sections: Vec<Section>, is_last: bool) -> Checkpoint {
        for (section, unpublished) in sections.iter_mut().zip(&mut self.unpublished) {
            if !section.prepared.is_empty() {
                unpublished.push(std::mem::take(&mut section.prepared));
            }
            if !unpublished.is_empty() {
                let mut all = StateWriter::default();
                all.put(unpublished).expect("bytes can be written");
                section.prepared = all.into_bytes();
            }
        }
        let plan =
            Section { task: PLAN.to_owned(), state: self.plan.clone().into_bytes(), ..Section::default() };
        sections.insert(0, plan);
        Checkpoint { query: self.query.clone(), number, is_last, sections }
    }

    /// Lets the sinks publish what they have prepared.
    fn publish(&mut self, coordinator: &Coordinator) -> Result<(), QueryError> {
        let all = self.publishers.iter_mut().zip(&mut self.unpublished).zip(&coordinator.tasks);
        for ((publisher, unpublished), task) in all {
            let Some(publisher) = publisher else { continue };
            for prepared in std::mem::take(unpublished) {
                publisher
                    .publish(&prepared)
                    .map_err(|fault| QueryError::Connector { operator: task.name.clone(), fault })?;
            }
        }
        Ok(())
    }
}

impl KeptQuery {
    /// Takes the steps that are due. If the store or a sink panics, the query fails, and no other query is affected.
    fn step_guarded(&mut self, driver: &dyn Driver, has_acted: &mut bool) -> Next {
        let stepped = catch_unwind(AssertUnwindSafe(|| self.step(driver, has_acted)));
        stepped.unwrap_or_else(|payload| {
            discard(payload);
            let reason = "the store of checkpoints or a sink panicked; the panic was reported".to_owned();
            if let Some(query) = &self.query {
                driver.fail_query(query, QueryError::CheckpointFailed { reason });
            }
            Next::Over
        })
    }

    /// Takes the steps that are due in the checkpoints of the query.
    fn step(&mut self, driver: &dyn Driver, has_acted: &mut bool) -> Next {
        loop {
            let now = driver.clock().now();
            let Some(query) =
                self.query.as_ref().map(|query| Arc::clone(query)).filter(|query| query.is_running())
            else {
                return Next::Over;
            };
            match self.coordinator.look() {
                Look::Lost => return Next::Over,
                Look::Waits => return Next::At(ProcessingTime::NEVER),
                Look::Whole { number, sections, is_last, given_up } => {
                    *has_acted = true;
                    let is_over = self.keep(number, sections, (is_last, given_up), &query, driver);
                    if is_over {
                        return Next::Over;
                    }
                }
                Look::Rests { is_asked, have_ended } => {
                    let KeeperWork { every_ns, due, began, .. } = &mut self.work;
                    let next = |every_ns: &u64| now.plus_nanos(*every_ns);
                    let at = *due.get_or_insert(every_ns.as_ref().map_or(ProcessingTime::NEVER, next));
                    if !is_asked && !have_ended && now < at {
                        return Next::At(at);
                    }
                    (*due, *began) = (Some(every_ns.as_ref().map_or(ProcessingTime::NEVER, next)), now);
                    *has_acted = true;
                    let number = self.coordinator.begin();
                    query.put_barrier(number);
                    driver.notify(query.tasks());
                }
            }
        }
    }

    /// Writes a whole checkpoint, and lets sinks publish. Returns true if no further checkpoint comes.
    fn keep(
        &mut self,
        number: u64,
        sections: Vec<Section>,
        (is_last, given_up): (bool, Option<String>),
        query: &Arc<QueryShared>,
        driver: &dyn Driver,
    ) -> bool {
        let _paid = self.coordinator.take_payment();
        let checkpoint = self.work.checkpoint(number, sections, is_last);
        let written = match given_up {
            Some(why) => Err(why),
            None => {
                let written = self.work.store.write(&checkpoint);
                written.map_err(|fault| format!("{}: {fault}", fault.code()))
            }
        };
        if let Err(why) = written {
            if is_last {
                let why = QueryError::CheckpointFailed { reason: why.clone() };
                driver.fail_query(query, why);
            }
            self.coordinator.settle(number, |progress| {
                progress.failed += 1;
                progress.last_failure = Some(why);
            });
            return is_last;
        }
        if let Err(error) = self.work.publish(&self.coordinator) {
            driver.fail_query(query, error);
            return true;
        }
        let noted = self.work.store.complete(number);
        if is_last {
            // The query ends before anybody is told of its last checkpoint, so that it cannot be cancelled any more.
            self.query = None;
        }
        let (bytes, took_ns) = (checkpoint.bytes() as u64, driver.clock().now().nanos_since(self.work.began));
        self.coordinator.settle(number, |progress| {
            let (failed, last_failure) = match noted {
                Ok(()) => (progress.failed, progress.last_failure.take()),
                Err(fault) => (progress.failed + 1, Some(format!("{}: {fault}", fault.code()))),
            };
            *progress = CheckpointProgress { complete: number, failed, last_failure, bytes, took_ns };
        });
        is_last
    }
}

impl Drop for KeptQuery {
    /// A query whose last checkpoint is not complete has not finished, so it fails: the engine is being closed, or the query
    /// has failed before.
    fn drop(&mut self) {
        if let Some(query) = &self.query {
            query.fail(QueryError::Cancelled).into_iter().for_each(discard);
        }
        self.coordinator.end();
    }
}

impl Keeper {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        let shared = Arc::new(KeeperShared { state: Mutex::new(State::default()), called: Condvar::new() });
        Keeper { shared, driver, kept: Vec::new() }
    }

    pub(crate) fn shared(&self) -> Arc<KeeperShared> {
        Arc::clone(&self.shared)
    }

    /// Takes the steps that are due in the checkpoints of all queries: begins checkpoints, and writes those that are whole.
    pub fn step(&mut self) -> KeeperStep {
        {
            let mut state = self.shared.state.lock();
            state.is_called = false;
            self.kept.append(&mut state.added);
        }
        let (mut due, mut has_acted) = (ProcessingTime::NEVER, false);
        let Keeper { driver, kept, .. } = self;
        kept.retain_mut(|kept| match kept.step_guarded(&**driver, &mut has_acted) {
            Next::At(at) => {
                due = due.min(at);
                true
            }
            Next::Over => {
                has_acted = true;
                false
            }
        });
        KeeperStep { has_acted, due }
    }

    /// Takes the checkpoints of all queries until the engine is closed.
    pub(crate) fn run(mut self, clock: &dyn Clock) {
        loop {
            let KeeperStep { due, .. } = self.step();
            let mut state = self.shared.state.lock();
            while !state.is_called && !state.is_closed && clock.now() < due {
                if due == ProcessingTime::NEVER {
                    state = self.shared.called.wait(state);
                } else {
                    let left_ns = due.nanos_since(clock.now());
                    state = self.shared.called.wait_timeout(state, Duration::from_nanos(left_ns));
                }
            }
            if state.is_closed {
                return;
            }
        }
    }
}

impl KeeperShared {
    /// Adds a query whose tasks have been submitted.
    pub(crate) fn add(
        self: &Arc<Self>,
        query: TaskOfQuery,
        coordinator: &Arc<Coordinator>,
        work: KeeperWork,
    ) {
        let kept = KeptQuery { coordinator: Arc::clone(coordinator), work, query: Some(query) };
        coordinator.called_by(KeeperCall(Arc::clone(self)));
        let mut state = self.state.lock();
        if state.is_closed {
            drop(state);
            drop(kept);
            return;
        }
        state.added.push(kept);
        state.is_called = true;
        self.called.notify_one();
    }

    /// Lets the keeper's thread end. Queries that it has not looked at yet are given up.
    pub(crate) fn close(&self) {
        let added = {
            let mut state = self.state.lock();
            state.is_closed = true;
            self.called.notify_all();
            std::mem::take(&mut state.added)
        };
        drop(added);
    }
}
