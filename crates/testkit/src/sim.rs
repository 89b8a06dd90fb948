//! Deterministic simulation of the real engine: its workers, its pool and its clock, driven from one seed.
//!
//! ```text
//!   seed --> setup     workers, policy, bounds of edges, budget  (drawn from hostile sets)
//!        --> schedule  which worker steps next, when the pool grows, when the clock moves
//!   test --> queries and events: pause, resume, stop, cancel, an exhausted budget, at given actions
//! ```
//!
//! The engine is the released one ([`EngineBuilder::build_stepped`](thalweg_runtime::EngineBuilder)). The
//! simulation replaces only threads, clock and entropy. A worker keeps its task between two steps, so other
//! workers choose, fail and stop while a task is held. When every worker is idle, the pool serves pending
//! requests, then the clock advances to the next due time. If there is none and a query still runs, the run
//! is stuck and fails. It also fails if for [`ACTIONS_WITHOUT_PROGRESS_MAX`] actions no query makes progress,
//! or if a paused query does.

mod setup;

use std::sync::Arc;

use thalweg_memory::{Budget, Reservation};
use thalweg_model::{Clock, Entropy, ProcessingTime, SeededEntropy, VirtualClock};
use thalweg_runtime::checkpoints::Keeper;
use thalweg_runtime::{
    Engine, Graph, Growth, PlanError, Progress, QueryError, QueryHandle, QueryReport, QueryState, Step,
    Stepped, Worker,
};
use thalweg_scheduling::Policy;
use thalweg_scheduling::policy::by_name;

pub use setup::{Setup, draw_layout};

use crate::seed::entropy_for;

/// Number of actions after which a run without progress counts as stuck. A record costs a few actions per
/// task, and so does a mark, such as a watermark. No input of these tests needs nearly so many actions
/// between two records.
pub const ACTIONS_WITHOUT_PROGRESS_MAX: u64 = 1 << 16;

/// Number of actions of the simulation between two checks of the progress of all queries.
const LOOK_EVERY_ACTIONS: u64 = 1 << 10;

/// Time at which the virtual clock starts. It is not zero, which a query could mistake for "never set".
const STARTS_AT: ProcessingTime = ProcessingTime::from_nanos(1_000_000_000);

/// Index of a query among those that were submitted to a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueryIndex(usize);

/// An external event that a test schedules in a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The query's sources are asked to end and to drain: all open windows fire.
    Stop(QueryIndex),
    /// The query's sources are asked to end at their last watermarks: open windows are dropped.
    StopAtWatermark(QueryIndex),
    /// The query is cancelled by its user.
    Cancel(QueryIndex),
    /// The query is paused: it makes no progress once the steps that run now have ended.
    Pause(QueryIndex),
    /// The query is resumed after a pause.
    Resume(QueryIndex),
    /// The query is asked to take a checkpoint.
    Checkpoint(QueryIndex),
    /// All free memory of the budget is reserved, so that the engine has none left.
    Exhaust,
    /// The memory that was reserved to exhaust the budget is released.
    Release,
}

/// Simulation of the engine under a schedule that follows from a seed.
pub struct Simulation {
    setup: Setup,
    schedule: SeededEntropy,
    clock: Arc<VirtualClock>,
    engine: Engine,
    workers: Vec<Worker>,
    growth: Growth,
    keeper: Keeper,
    /// True if a query of the simulation takes checkpoints, so that the keeper is stepped.
    takes_checkpoints: bool,
    /// For each worker, the time until which it has reported to be idle; `None` if something has happened
    /// since that may give it work.
    idle: Vec<Option<ProcessingTime>>,
    queries: Vec<Option<QueryHandle>>,
    /// Events that are still to come, each with the number of the action before which it happens.
    events: Vec<(u64, Event)>,
    withheld: Option<Reservation>,
    rests: Vec<Rest>,
    actions: u64,
}

/// A query that is paused in the simulation.
struct Rest {
    query: QueryIndex,
    /// Indexes of the workers that have made no step since the query was paused, and so may still run one of
    /// its tasks.
    running: Vec<usize>,
    /// Progress of the paused query at the moment from which on no worker ran a task of it; `None` before.
    still_at: Option<Signature>,
}

/// The keeper is stepped in one of this many actions of the simulation, if a query takes checkpoints.
const KEEP_ONE_IN: u64 = 8;

/// Values that change whenever a query makes progress: events in, results out, records pending.
type Signature = (u64, u64, u64);

impl Simulation {
    /// Creates an engine whose setup and schedule follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let setup = Setup::draw(&mut entropy_for(seed, "setup"));
        Self::with_setup(seed, setup)
    }

    /// Creates an engine with a given setup, whose schedule follows from `seed`.
    ///
    /// # Panics
    /// If the setup is out of range.
    pub fn with_setup(seed: u64, setup: Setup) -> Self {
        let policy = by_name(setup.policy).expect("a setup names a policy");
        Self::with_policy(seed, setup, policy)
    }

    /// Creates an engine with a given setup, which uses `policy` instead of the setup's.
    ///
    /// # Panics
    /// If the setup is out of range.
    pub fn with_policy(seed: u64, setup: Setup, policy: Box<dyn Policy>) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(STARTS_AT));
        let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
        let builder = Engine::builder()
            .workers(setup.workers)
            .memory_budget_bytes(setup.memory_budget_bytes)
            .edges(setup.edges)
            .policy(policy)
            .clock(engine_clock)
            .entropy(Box::new(entropy_for(seed, "engine")));
        let Stepped { engine, workers, growth, keeper } =
            builder.build_stepped().expect("a setup lies within its range");
        Simulation {
            schedule: entropy_for(seed, "schedule"),
            idle: vec![None; workers.len()],
            setup,
            clock,
            engine,
            workers,
            growth,
            keeper,
            takes_checkpoints: false,
            queries: Vec::new(),
            events: Vec::new(),
            withheld: None,
            rests: Vec::new(),
            actions: 0,
        }
    }

    /// Returns the setup of the simulated engine.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the simulated engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the time of the virtual clock, which advances while the simulation runs.
    pub fn now(&self) -> ProcessingTime {
        self.clock.now()
    }

    /// Returns the number of actions that the simulation has performed.
    pub fn actions(&self) -> u64 {
        self.actions
    }

    /// Submits a query to the simulated engine.
    ///
    /// # Errors
    /// The engine's errors; then nothing was submitted.
    pub fn submit(&mut self, graph: Graph) -> Result<QueryIndex, PlanError> {
        let handle = self.engine.submit(graph)?;
        self.takes_checkpoints |= handle.checkpoints().is_some();
        self.queries.push(Some(handle));
        self.idle.fill(None);
        Ok(QueryIndex(self.queries.len() - 1))
    }

    /// Marks all workers as awake after a change that no worker has made, such as an answer from outside.
    pub fn disturb(&mut self) {
        self.idle.fill(None);
    }

    /// Schedules an event before action number `action`, or as soon as nothing else is left to do.
    pub fn at_action(&mut self, action: u64, event: Event) {
        // The list is in descending order of actions, because events are removed from its end. If several
        // events are for one action, the one added first happens first.
        let place = self.events.partition_point(|(at, _)| action < *at);
        self.events.insert(place, (action, event));
    }

    /// Runs the simulation until every query has ended.
    ///
    /// # Panics
    /// If the queries are stuck.
    pub fn run(&mut self) {
        let mut last = (self.actions, self.signature());
        loop {
            self.happen_due();
            if !self.act() {
                let Some((_, event)) = self.events.pop() else { break };
                self.happen(event);
            }
            if self.actions.is_multiple_of(LOOK_EVERY_ACTIONS) {
                let signature = self.signature();
                if signature != last.1 {
                    last = (self.actions, signature);
                }
                if self.actions - last.0 > ACTIONS_WITHOUT_PROGRESS_MAX {
                    self.panic_stuck(&format!("no progress for {ACTIONS_WITHOUT_PROGRESS_MAX} actions"));
                }
            }
        }
        if !self.running().is_empty() {
            self.panic_stuck("every worker is idle and nothing is due");
        }
    }

    /// Performs `actions` random actions (steps of workers, of the memory pool and of the clock) and the
    /// events that are due, or fewer if nothing is left to do.
    pub fn run_for(&mut self, actions: u64) {
        let end = self.actions + actions;
        while self.actions < end {
            self.happen_due();
            if !self.act() {
                return;
            }
        }
    }

    /// Returns the progress of a query, such as its numbers of records.
    ///
    /// # Panics
    /// If its outcome was taken.
    pub fn progress(&self, query: QueryIndex) -> Progress {
        self.queries[query.0].as_ref().expect("the outcome of this query was taken").progress()
    }

    /// Takes the outcome of a query.
    ///
    /// # Errors
    /// The error that ended the query, if it did not end with its streams.
    ///
    /// # Panics
    /// If the query still runs, since the wait would never end, or if its outcome was taken before.
    pub fn outcome(&mut self, query: QueryIndex) -> Result<QueryReport, QueryError> {
        self.end_rest(query);
        let handle = self.queries[query.0].take().expect("the outcome of this query was taken");
        assert!(!is_alive(&handle), "`{}` still runs", handle.name());
        handle.wait()
    }

    /// Drops the engine and its parts, and returns the memory budget, so that a test can check it.
    pub fn close(self) -> Arc<Budget> {
        Arc::clone(self.engine.budget())
    }

    /// Performs one random action: a step of a worker, of the memory pool or of the clock. Returns `false` if
    /// nothing is left to do before the end of time.
    fn act(&mut self) -> bool {
        self.actions += 1;
        if self.schedule.below(self.setup.grow_one_in) == 0 && self.growth.step() {
            self.idle.fill(None);
        }
        if self.takes_checkpoints && self.schedule.below(KEEP_ONE_IN) == 0 && self.keeper.step().has_acted {
            self.idle.fill(None);
        }
        if self.schedule.below(self.setup.tick_one_in) == 0 {
            let tick_ns = self.schedule.below(self.setup.tick_ns_max);
            self.clock.advance_to(self.clock.now().plus_nanos(tick_ns));
            let now = self.clock.now();
            self.idle.iter_mut().for_each(|idle| *idle = idle.filter(|&until| now < until));
        }
        let Some(index) = self.next_worker() else { return self.wait() };
        match self.workers[index].step(self.clock.as_ref()) {
            Step::Busy => self.idle.fill(None),
            Step::Idle(until) => self.idle[index] = Some(until),
        }
        self.note_stepped(index);
        true
    }

    /// Records that a worker has made a step and so released its task. It may run another task now, but none
    /// of a paused query.
    fn note_stepped(&mut self, worker: usize) {
        for rest in &mut self.rests {
            rest.running.retain(|&index| index != worker);
        }
        self.look_at_rests();
    }

    /// Stores the progress of each paused query of which all workers have just released the tasks, for a
    /// later comparison.
    fn look_at_rests(&mut self) {
        for rest in 0..self.rests.len() {
            let Rest { query, ref running, still_at } = self.rests[rest];
            if running.is_empty() && still_at.is_none() {
                self.rests[rest].still_at = self.handle(query).map(signature);
            }
        }
    }

    /// Checks for the last time that a paused query has made no progress: before it is resumed or ended, or
    /// at the end of the run.
    ///
    /// # Panics
    /// If the query was paused and has made progress.
    fn end_rest(&mut self, query: QueryIndex) {
        for rest in self.rests.extract_if(.., |rest| rest.query == query) {
            let now_at = self.queries[query.0].as_ref().map(signature);
            assert!(
                rest.still_at.is_none() || rest.still_at == now_at,
                "a query ran while it was paused: at {:?}, then at {now_at:?}",
                rest.still_at
            );
        }
    }

    /// Returns a worker that may have something to do: often the favourite worker of the setup, otherwise
    /// any.
    fn next_worker(&mut self) -> Option<usize> {
        let favourite = self.setup.favourite;
        if self.schedule.below(8) < self.setup.favour && self.idle[favourite].is_none() {
            return Some(favourite);
        }
        let awake: Vec<usize> = (0..self.idle.len()).filter(|&index| self.idle[index].is_none()).collect();
        (!awake.is_empty()).then(|| awake[self.schedule.below(awake.len() as u64) as usize])
    }

    /// Called when every worker is idle: the pool serves pending requests, or the clock advances.
    fn wait(&mut self) -> bool {
        let due = self.idle.iter().flatten().min().copied().unwrap_or(ProcessingTime::NEVER);
        let kept = self.keeper.step();
        let due = due.min(kept.due);
        let has_changed = self.growth.step() || kept.has_acted;
        if !has_changed && due == ProcessingTime::NEVER {
            return false;
        }
        if !has_changed {
            self.clock.advance_to(due);
        }
        self.idle.fill(None);
        true
    }

    fn happen_due(&mut self) {
        while let Some((_, event)) = self.events.pop_if(|(action, _)| *action <= self.actions) {
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        if let Event::Stop(query)
        | Event::StopAtWatermark(query)
        | Event::Cancel(query)
        | Event::Resume(query)
        | Event::Pause(query) = event
        {
            self.end_rest(query);
        }
        let handle = |query: QueryIndex| self.queries[query.0].as_ref();
        match event {
            Event::Pause(query) => {
                handle(query).into_iter().for_each(QueryHandle::pause);
                let running = (0..self.workers.len()).filter(|&index| self.idle[index].is_none()).collect();
                self.rests.push(Rest { query, running, still_at: None });
                self.look_at_rests();
            }
            Event::Resume(query) => handle(query).into_iter().for_each(QueryHandle::resume),
            Event::Stop(query) => handle(query).into_iter().for_each(QueryHandle::stop),
            Event::StopAtWatermark(query) => {
                handle(query).into_iter().for_each(QueryHandle::stop_at_watermark);
            }
            Event::Cancel(query) => handle(query).into_iter().for_each(QueryHandle::cancel),
            Event::Checkpoint(query) => handle(query).into_iter().for_each(QueryHandle::ask_checkpoint),
            Event::Exhaust => {
                let budget = self.engine.budget();
                let free = budget.limit_bytes() - budget.used_bytes();
                self.withheld =
                    Some(budget.reserve(free).expect("what is free can be taken: nobody else is awake"));
            }
            Event::Release => self.withheld = None,
        }
        self.idle.fill(None);
    }

    fn handle(&self, query: QueryIndex) -> Option<&QueryHandle> {
        self.queries[query.0].as_ref()
    }

    fn handles(&self) -> impl Iterator<Item = &QueryHandle> {
        self.queries.iter().flatten()
    }

    fn running(&self) -> Vec<&str> {
        self.handles().filter(|handle| is_alive(handle)).map(QueryHandle::name).collect()
    }

    /// Returns values that change whenever a query makes progress.
    fn signature(&self) -> Vec<Signature> {
        self.handles().map(signature).collect()
    }

    fn panic_stuck(&self, why: &str) -> ! {
        let progress: Vec<(&str, Progress)> =
            self.handles().map(|handle| (handle.name(), handle.progress())).collect();
        panic!("stuck after {} actions: {why}\n{:?}\n{progress:#?}", self.actions, self.setup);
    }
}

fn signature(handle: &QueryHandle) -> Signature {
    let Progress { events_in, results_out, pending, .. } = handle.progress();
    (events_in, results_out, pending)
}

fn is_alive(handle: &QueryHandle) -> bool {
    matches!(handle.state(), QueryState::Running | QueryState::Paused)
}

#[cfg(test)]
mod tests;
