//! A worker: runs the task that it was given, returns the task, and gets the next, one step at a time.
//!
//! In production a thread calls [`Worker::step`]. A simulation calls it from one thread for many workers, in
//! an order that a seed determines. A worker keeps its task between two steps, so that also in a simulation
//! other workers choose while it runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::BudgetExceeded;
use thalweg_model::{Clock, Fault, ProcessingTime};

use crate::cost_clock::Reading;
use crate::error::QueryError;
use crate::executor::{Bench, Claim, Done, Executor, Found, Outcome, Runs, TaskBody, discard};
use crate::task::{StepContext, StepReport};

/// Interval between measured choices: in one of so many steps of a worker, the time that it takes to choose a
/// task is measured.
const SCHEDULING_SAMPLE: u32 = 64;

/// Runs tasks, one step at a time, on one thread of the engine.
pub struct Worker {
    executor: Arc<Executor>,
    bench: Bench,
    /// The task that the worker will run next, and the moment at which the worker began to choose it.
    claim: Option<(Claim, Reading)>,
    steps: u32,
}

/// Result of one step of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The worker ran a task in this step, or took one that it will run in the next step.
    Busy,
    /// No task is ready, and none becomes ready by time before this instant. Other workers may make work
    /// earlier.
    Idle(ProcessingTime),
}

impl Worker {
    pub(crate) fn new(executor: Arc<Executor>, index: usize) -> Self {
        Worker { executor, bench: Bench::new(index), claim: None, steps: 0 }
    }

    /// Runs the worker's present task, if there is one, and gets the next.
    ///
    /// The clock is read once per step, and with it the [clock of costs](crate::CostClock). The time of a run
    /// counts from the request for its task, and so includes the choice of the task. In one step of 64 the time
    /// of the choice is measured separately.
    pub fn step(&mut self, clock: &dyn Clock) -> Step {
        let runs = self.executor.runs();
        let (done, now) = match self.claim.take() {
            Some((mut claim, mut started)) => {
                self.steps = self.steps.wrapping_add(1);
                if self.steps.is_multiple_of(SCHEDULING_SAMPLE) && !self.bench.has_buried {
                    let chosen = runs.cost_clock.read(clock);
                    let choice_ns = chosen.at.nanos_since(started.at);
                    self.executor.note_scheduling(choice_ns * u64::from(SCHEDULING_SAMPLE));
                    started = chosen;
                }
                let (outcome, ended) =
                    run(&mut claim.body, runs, clock, started, (self.bench.worker, self.steps));
                (Some(Done { claim, started: started.at, outcome }), ended)
            }
            None => (None, runs.cost_clock.read(clock)),
        };
        match self.executor.next(&mut self.bench, done, now.at) {
            Found::Task(claim) => {
                self.claim = Some((claim, now));
                Step::Busy
            }
            Found::Nothing(until) => Step::Idle(until),
        }
    }

    /// Puts the worker to sleep until there may be something to do.
    pub(crate) fn sleep(&mut self, clock: &dyn Clock) {
        self.executor.sleep(&mut self.bench, clock);
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.executor.is_closed()
    }

    /// Ends the tasks that lie in their cells. The engine was closed.
    pub(crate) fn end_tasks_left(&self) {
        self.executor.end_tasks_left();
    }
}

/// Runs a task for its quantum. A panic of user code is caught here, and becomes an error with the
/// operator's name.
pub(crate) fn run(
    body: &mut TaskBody,
    runs: Runs,
    clock: &dyn Clock,
    started: Reading,
    (worker, step): (usize, u32),
) -> (Outcome, Reading) {
    let meter = runs.is_measured(step).then(|| Arc::clone(&body.meter));
    let (quantum, source_grain_ns) = (body.quantum, runs.source_grain_ns);
    // Reading the counters after the step also runs code of users (sources, operators and sinks), so panics
    // are caught there, too.
    let stepped = catch_unwind(AssertUnwindSafe(|| {
        let TaskBody { task, state_grant, probe, .. } = &mut *body;
        let arrival = probe.arrival(started.at);
        let measured = meter.as_deref();
        let context = StepContext {
            clock,
            now: started.at,
            arrival,
            quantum,
            state_grant,
            worker,
            source_grain_ns,
            measured,
        };
        let report = task.step(&context)?;
        Ok::<_, Fault>((report, settle_accounts(body, report)))
    }));
    let ended = runs.cost_clock.read(clock);
    let report = if let Ok(Ok((report, _))) = &stepped { *report } else { StepReport::default() };
    body.meter.note_step(report, ended.since(started));
    body.probe.note_rows(report);
    let outcome = match stepped {
        Ok(Ok((report, Ok(())))) => Outcome::Ran(report),
        Ok(Ok((_, Err(exceeded)))) => {
            Outcome::Failed(Box::new(QueryError::StateLimit { operator: body.name.clone(), exceeded }))
        }
        Ok(Err(fault)) => Outcome::Failed(Box::new(body.connector_error(fault))),
        Err(payload) => {
            let faulted = catch_unwind(AssertUnwindSafe(|| body.task.faulted().map(str::to_owned)));
            let operator = faulted.ok().flatten().unwrap_or_else(|| body.name.clone());
            let message = panic_message(payload.as_ref());
            discard(payload);
            Outcome::Failed(Box::new(QueryError::Panicked { operator, message }))
        }
    };
    (outcome, ended)
}

/// Adds the work of a step to the task's counters, and reserves the bytes of state that the task holds after the step
/// in the memory budget.
fn settle_accounts(body: &mut TaskBody, report: StepReport) -> Result<(), BudgetExceeded> {
    if body.probe.is_source() {
        body.meter.note_oddities(body.task.oddities());
    }
    body.meter.note_counts(body.task.as_ref());
    if report.ended {
        // The sink has published its results. The remaining state of the task is dropped now.
        body.meter.note_no_state();
        body.query.add_ended(body.meter.operator_counts(&body.name));
        return Ok(());
    }
    let held_bytes = body.task.held_bytes();
    body.meter.note_held(held_bytes);
    body.meter.note_state_bytes(body.task.as_ref());
    body.state_grant.settle(&mut body.state, held_bytes)
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned())
}
