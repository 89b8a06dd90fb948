//! A worker: runs the task it was given, hands it in and gets the next, one step at a time.
//!
//! Production calls [`Worker::step`] from a thread; a simulation calls it from one thread for many workers, in an
//! order that a seed picks. A worker keeps its task between two steps, so that in a simulation, too, others
//! choose while it runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::sync::Ordering;
use thalweg_model::{Clock, ProcessingTime};
use thalweg_scheduling::Completion;

use crate::error::QueryError;
use crate::executor::{Claim, Executor, Found, Outcome, TaskBody};
use crate::task::{StepContext, StepReport};

/// Runs tasks.
pub struct Worker {
    executor: Arc<Executor>,
    /// The task at hand, and when it was asked for.
    claim: Option<(Claim, ProcessingTime)>,
}

/// What a step of a worker did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It ran a task, or took one to run.
    Busy,
    /// There is nothing to do before this instant, unless others make work.
    Idle(ProcessingTime),
}

impl Worker {
    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        Worker { executor, claim: None }
    }

    /// Runs the task at hand, if there is one, and gets the next.
    pub fn step(&mut self, clock: &dyn Clock) -> Step {
        let (done, now) = match self.claim.take() {
            Some((claim, asked)) => {
                let started = clock.now();
                self.executor.note_scheduling(started.nanos_since(asked));
                let (outcome, ended) = run(&claim, clock, started);
                let (records_in, records_out) = match &outcome {
                    Outcome::Ran(report) => (report.records_in, report.records_out),
                    Outcome::Failed(_) => (0, 0),
                };
                let completion = Completion { operator: claim.operator, started, ended, records_in, records_out };
                (Some((claim, completion, outcome)), ended)
            }
            None => (None, clock.now()),
        };
        match self.executor.next(done, now) {
            Found::Task(claim) => {
                self.claim = Some((claim, now));
                Step::Busy
            }
            Found::Nothing(until) => Step::Idle(until),
        }
    }
}

/// Runs a task for its quantum. A panic of user code ends here, with the name of the operator it came from.
fn run(claim: &Claim, clock: &dyn Clock, started: ProcessingTime) -> (Outcome, ProcessingTime) {
    let slot = &claim.slot;
    let mut body = slot.body.lock();
    let context = StepContext { clock, now: started, quantum_records: claim.quantum_records };
    let stepped = catch_unwind(AssertUnwindSafe(|| body.task.step(&context)));
    let ended = clock.now();
    let outcome = match stepped {
        Ok(Ok(report)) => settle_accounts(claim, &mut body, report, ended.nanos_since(started)),
        Ok(Err(fault)) => Outcome::Failed(slot.connector_error(fault)),
        Err(payload) => {
            let operator = body.task.faulted().unwrap_or(&slot.name).to_owned();
            Outcome::Failed(QueryError::Panicked { operator, message: panic_message(payload.as_ref()) })
        }
    };
    (outcome, ended)
}

/// Counts what the step did, and pays for the state it left.
fn settle_accounts(claim: &Claim, body: &mut TaskBody, report: StepReport, busy_ns: u64) -> Outcome {
    let (slot, counters) = (&claim.slot, &claim.slot.query.counters);
    counters.busy_ns.fetch_add(busy_ns, Ordering::Relaxed);
    counters.steps.fetch_add(1, Ordering::Relaxed);
    if slot.probe.is_source() {
        counters.events_in.fetch_add(report.records_in, Ordering::Relaxed);
        counters.bad.store(body.task.bad_count(), Ordering::Relaxed);
    }
    let held_bytes = body.task.held_bytes();
    if held_bytes != body.state.bytes() {
        if let Err(exceeded) = body.state.resize(held_bytes) {
            return Outcome::Failed(QueryError::StateLimit { operator: slot.name.clone(), exceeded });
        }
    }
    if report.ended {
        slot.query.add_operators(slot.operator_counts(body.task.as_ref()));
    }
    Outcome::Ran(report)
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a value that is no text".to_owned())
}
