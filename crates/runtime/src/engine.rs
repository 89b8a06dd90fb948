//! The engine: it starts the worker threads around the executor, and accepts queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use thalweg_memory::sync::{AtomicU32, Mutex, Ordering};
use thalweg_memory::{Budget, Pool};
use thalweg_model::{Clock, Entropy, SeededEntropy};
use thalweg_scheduling::policy::enjima::Enjima;
use thalweg_scheduling::{InputOrder, Policy};

use crate::ablations::Ablations;
use crate::checkpoints::{self, Coordinator, Keeper};
use crate::clock::SystemClock;
use crate::cores;
use crate::cost_clock::CostClock;
use crate::driver::{Driver, DriverFigures};
use crate::error::{PlanError, QueryError};
use crate::executor::{Executor, Runs, discard};
use crate::graph::{EdgePlans, Graph};
use crate::limits::{self, EdgeLimits};
use crate::metrics::{EngineMetrics, WorkerMetrics};
use crate::modes::{EdgeMemory, Execution};
use crate::query::{QueryHandle, TaskOfQuery};
use crate::system::{self, ProcessMetrics, spawn};
use crate::threads::{TaskThreads, Threads};
use crate::worker::{Step, Worker};

/// Settings of an engine that has not been started yet.
pub struct EngineBuilder {
    execution: Execution,
    memory: EdgeMemory,
    workers: u64,
    memory_budget_bytes: u64,
    edges: EdgeLimits,
    ablations: Ablations,
    run_bytes: u64,
    source_grain_ns: u64,
    metrics_interval_ns: u64,
    measured_steps: u64,
    cost_clock: CostClock,
    policy: Box<dyn Policy>,
    clock: Arc<dyn Clock>,
    entropy: Box<dyn Entropy>,
    pins_workers: bool,
    is_steered: bool,
    /// Name of a thread that a test makes impossible to start: an impossibly large stack is requested for it.
    #[cfg(all(test, not(loom)))]
    refused_thread: Option<&'static str>,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        // Clients that choose keys must not be able to guess the seeds of hash tables, so the default seed
        // comes from the random hash state of std.
        let seed = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
        EngineBuilder {
            execution: Execution::default(),
            memory: EdgeMemory::default(),
            workers: limits::WORKERS.default,
            memory_budget_bytes: limits::MEMORY_BUDGET_BYTES.default,
            edges: EdgeLimits::default(),
            ablations: Ablations::default(),
            run_bytes: limits::RUN_BYTES.default,
            source_grain_ns: limits::SOURCE_GRAIN_NS.default,
            metrics_interval_ns: limits::METRICS_INTERVAL_NS.default,
            measured_steps: limits::MEASURED_STEPS.default,
            cost_clock: CostClock::default(),
            policy: Box::new(Enjima::default()),
            clock: Arc::new(SystemClock::default()),
            entropy: Box::new(SeededEntropy::new(seed)),
            pins_workers: true,
            is_steered: false,
            #[cfg(all(test, not(loom)))]
            refused_thread: None,
        }
    }
}

impl EngineBuilder {
    /// Sets whether workers or one thread per task run the tasks.
    pub fn execution(self, execution: Execution) -> Self {
        EngineBuilder { execution, ..self }
    }

    /// Sets whether edges are made of blocks or of queues.
    pub fn memory(self, memory: EdgeMemory) -> Self {
        EngineBuilder { memory, ..self }
    }

    /// Sets the number of threads that run tasks. If each task has a thread of its own, it is the number of
    /// cores that these threads may use.
    pub fn workers(self, workers: u64) -> Self {
        EngineBuilder { workers, ..self }
    }

    /// Sets the budget in bytes for the memory of edges, the state of operators and the buffers of
    /// connectors.
    pub fn memory_budget_bytes(self, memory_budget_bytes: u64) -> Self {
        EngineBuilder { memory_budget_bytes, ..self }
    }

    /// Sets the bounds of the memory of each edge, such as its records per block and its number of chunks.
    pub fn edges(self, edges: EdgeLimits) -> Self {
        EngineBuilder { edges, ..self }
    }

    /// Switches off parts of the epoch mechanism of parallel operators, to measure the effect of each part.
    pub fn ablations(self, ablations: Ablations) -> Self {
        EngineBuilder { ablations, ..self }
    }

    /// Sets the most bytes of records that a task may take in one run, whatever the policy allows. See
    /// [`limits::RUN_BYTES`].
    pub fn run_bytes(self, run_bytes: u64) -> Self {
        EngineBuilder { run_bytes, ..self }
    }

    /// Sets the number of nanoseconds for which a source that has caught up with its pace is not polled. See
    /// [`limits::SOURCE_GRAIN_NS`]. A smaller value costs more CPU time at high rates and gives a lower
    /// latency.
    pub fn source_grain_ns(self, source_grain_ns: u64) -> Self {
        EngineBuilder { source_grain_ns, ..self }
    }

    /// Sets the number of nanoseconds over which the costs and selectivities that the policy sees are
    /// averaged. They are measured in the first round of ranking after this time, so an interval that is
    /// shorter than the time between two rounds counts as that time. See [`limits::METRICS_INTERVAL_NS`].
    pub fn metrics_interval_ns(self, metrics_interval_ns: u64) -> Self {
        EngineBuilder { metrics_interval_ns, ..self }
    }

    /// Sets how often operators are measured: one step in this many runs operator by operator, and each
    /// operator is timed. See [`limits::MEASURED_STEPS`].
    pub fn measured_steps(self, measured_steps: u64) -> Self {
        EngineBuilder { measured_steps, ..self }
    }

    /// Sets the clock by which the costs of tasks are measured, which policies go by.
    pub fn cost_clock(self, cost_clock: CostClock) -> Self {
        EngineBuilder { cost_clock, ..self }
    }

    /// Sets the scheduling policy, which chooses the task that a worker runs next.
    pub fn policy(self, policy: Box<dyn Policy>) -> Self {
        EngineBuilder { policy, ..self }
    }

    /// Sets the engine's clock of processing time. Tests set a virtual clock.
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        EngineBuilder { clock, ..self }
    }

    /// Sets the source of randomness. Only hash seeds depend on it, never a result.
    pub fn entropy(self, entropy: Box<dyn Entropy>) -> Self {
        EngineBuilder { entropy, ..self }
    }

    /// Sets whether each worker stays on a core of its own, which is the default. With fewer cores than
    /// workers, or if the system refuses, the operating system places the workers.
    pub fn pin_workers(self, pins_workers: bool) -> Self {
        EngineBuilder { pins_workers, ..self }
    }

    /// Sets whether a policy outside the engine asks for its [task threads](Engine::task_threads), if each
    /// task has a thread. If not, which is the default, the costs of their tasks are measured by the wall
    /// clock, because reading the CPU time of a thread takes a system call in every run.
    pub fn steered(self, is_steered: bool) -> Self {
        EngineBuilder { is_steered, ..self }
    }

    /// Starts the engine and its threads.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] for a setting out of its range. [`PlanError::NoThread`] if the machine
    /// cannot start a thread for a worker or for the memory of edges. The threads that had been started have
    /// ended when this error is returned.
    pub fn build(self) -> Result<Engine, PlanError> {
        let (execution, pins, is_steered) = (self.execution, self.pins_workers, self.is_steered);
        #[cfg(all(test, not(loom)))]
        let refused = self.refused_thread;
        #[cfg(not(all(test, not(loom))))]
        let refused = None;
        // If a thread cannot be started, the engine is dropped, which ends the threads that run already.
        let parts = self.parts()?;
        let cores = if pins { cores::for_workers(parts.workers) } else { Vec::new() };
        match execution {
            Execution::Threads => {
                let (pool, clock) = (Arc::clone(&parts.pool), Arc::clone(&parts.clock));
                // If no policy asks for costs, the CPU times of the threads are not read.
                let cost_clock = if is_steered { parts.runs.cost_clock } else { CostClock::Wall };
                let runs = Runs { cost_clock, ..parts.runs };
                let threads = Threads::new(pool, clock, runs, parts.workers, cores, refused);
                let clock = Arc::clone(&parts.clock);
                let (mut engine, growth, keeper) = parts.engine(threads);
                engine.threads.push(spawn("thalweg-memory", refused, move || growth.run())?);
                engine.threads.push(spawn("thalweg-state", refused, move || keeper.run(&*clock))?);
                Ok(engine)
            }
            Execution::Workers => {
                let clock = Arc::clone(&parts.clock);
                let (executor, Stepped { mut engine, workers, growth, keeper }) = parts.stepped();
                for (index, worker) in workers.into_iter().enumerate() {
                    let (executor, clock) = (Arc::clone(&executor), Arc::clone(&clock));
                    let core = cores.get(index).copied();
                    let number = Arc::clone(&engine.worker_threads[index]);
                    let body = move || {
                        cores::pin(core.as_slice());
                        number.store(system::thread_number(), Ordering::Relaxed);
                        run_worker(worker, &executor, clock.as_ref());
                    };
                    engine.threads.push(spawn(&format!("thalweg-worker-{index}"), refused, body)?);
                }
                engine.threads.push(spawn("thalweg-memory", refused, move || growth.run())?);
                engine.threads.push(spawn("thalweg-state", refused, move || keeper.run(&*clock))?);
                Ok(engine)
            }
        }
    }

    /// Makes an engine without threads, for tests: the caller steps the workers and the part that allocates
    /// memory for edges, in any order.
    ///
    /// # Errors
    /// As for [`build`](Self::build), and [`PlanError::NotStepped`] if each task is to have a thread of its
    /// own.
    pub fn build_stepped(self) -> Result<Stepped, PlanError> {
        match self.execution {
            Execution::Workers => Ok(self.parts()?.stepped().1),
            Execution::Threads => Err(PlanError::NotStepped),
        }
    }

    /// Checks the settings of the engine, and makes the parts that are needed with workers, with a thread for
    /// each task, and in tests that step the engine by hand.
    fn parts(self) -> Result<Parts, PlanError> {
        let workers = limits::WORKERS.check(self.workers)?;
        let budget_bytes = limits::MEMORY_BUDGET_BYTES.check(self.memory_budget_bytes)?;
        self.edges.check()?;
        let bytes_max = limits::RUN_BYTES.check(self.run_bytes)?;
        let measured_steps = u32::try_from(limits::MEASURED_STEPS.check(self.measured_steps)?);
        let measured_steps = measured_steps.expect("the limit of measured steps fits 32 bits");
        let source_grain_ns = limits::SOURCE_GRAIN_NS.check(self.source_grain_ns)?;
        let metrics_interval_ns = limits::METRICS_INTERVAL_NS.check(self.metrics_interval_ns)?;
        let budget = Budget::new(usize::try_from(budget_bytes).unwrap_or(usize::MAX));
        Ok(Parts {
            pool: Pool::new(budget),
            workers: usize::try_from(workers).expect("the limit of workers fits usize"),
            runs: Runs {
                block_records: self.edges.block_records,
                bytes_max,
                source_grain_ns,
                metrics_interval_ns,
                measured_steps,
                cost_clock: self.cost_clock,
                input_order: InputOrder::default(),
            },
            edges: EdgePlans { memory: self.memory, limits: self.edges, ablations: self.ablations },
            policy: self.policy,
            clock: self.clock,
            entropy: self.entropy,
        })
    }
}

/// The parts of an engine whose settings were found valid and whose threads are not started yet.
struct Parts {
    pool: Arc<Pool>,
    workers: usize,
    runs: Runs,
    edges: EdgePlans,
    policy: Box<dyn Policy>,
    clock: Arc<dyn Clock>,
    entropy: Box<dyn Entropy>,
}

impl Parts {
    fn stepped(self) -> (Arc<Executor>, Stepped) {
        let Parts { pool, workers, runs, edges, policy, clock, entropy } = self;
        let executor = Executor::new(policy, Arc::clone(&pool), clock, runs, workers);
        let count = workers;
        let workers = (0..count).map(|index| Worker::new(Arc::clone(&executor), index)).collect();
        let driver: Arc<dyn Driver> = Arc::<Executor>::clone(&executor);
        let (mut engine, growth, keeper) = assemble(driver, pool, edges, entropy, count);
        engine.worker_threads = (0..count).map(|_| Arc::default()).collect();
        (executor, Stepped { engine, workers, growth, keeper })
    }

    fn engine(self, driver: Arc<dyn Driver>) -> (Engine, Growth, Keeper) {
        assemble(driver, self.pool, self.edges, self.entropy, self.workers)
    }
}

/// Puts an engine together from its driver and settings. Returns the engine, the [`Growth`], which
/// allocates chunks of memory for the engine's edges, and the [`Keeper`], which takes checkpoints of queries.
fn assemble(
    driver: Arc<dyn Driver>,
    pool: Arc<Pool>,
    edges: EdgePlans,
    entropy: Box<dyn Entropy>,
    workers: usize,
) -> (Engine, Growth, Keeper) {
    let growth = Growth { pool: Arc::clone(&pool), driver: Arc::clone(&driver) };
    let keeper = Keeper::new(Arc::clone(&driver));
    let (entropy, threads, worker_threads) = (Mutex::new(entropy), Vec::new(), Vec::new());
    let shared = keeper.shared();
    (
        Engine { driver, pool, edges, entropy, workers, keeper: shared, threads, worker_threads },
        growth,
        keeper,
    )
}

/// Runs a worker until the engine is closed. If an assertion, a clock or a policy panics in the worker, the
/// engine closes and every query fails. So no caller waits for a worker that has died.
fn run_worker(worker: Worker, executor: &Executor, clock: &dyn Clock) {
    let body = AssertUnwindSafe(|| work(worker, clock));
    if catch_unwind(body).is_err() {
        executor.close(&|| QueryError::WorkerDied);
    }
}

fn work(mut worker: Worker, clock: &dyn Clock) {
    while !worker.is_closed() {
        if let Step::Idle(_) = worker.step(clock) {
            worker.sleep(clock);
        }
    }
    worker.end_tasks_left();
}

/// Allocates the chunks of memory that edges have requested from the pool. A thread apart from the workers
/// runs it, so no task waits for an allocation.
pub struct Growth {
    pool: Arc<Pool>,
    driver: Arc<dyn Driver>,
}

impl Growth {
    /// Allocates the chunk of memory for one request of an edge, if a request waits. Returns true if a
    /// request was served. The new chunk may end the backpressure of a task that writes an edge.
    pub fn step(&self) -> bool {
        let served = self.pool.grow_step();
        served.into_iter().for_each(|writer| self.driver.grown(writer));
        served.is_some()
    }

    /// Allocates the chunks of memory that edges request, until the pool is closed. If a clock or a policy
    /// panics while the writer of an edge is notified, the engine has closed by then. Requests are still
    /// served until all queries are gone.
    fn run(&self) {
        while self.pool.wait_for_request() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.step())) {
                discard(payload);
            }
        }
    }
}

/// An engine without threads, which a test steps by hand.
pub struct Stepped {
    /// The engine, to which queries are submitted.
    pub engine: Engine,
    /// The workers of the engine; the caller steps each of them.
    pub workers: Vec<Worker>,
    /// Allocates the chunks of memory that edges have requested; the caller steps it.
    pub growth: Growth,
    /// Takes the checkpoints of queries; the caller steps it.
    pub keeper: Keeper,
}

/// Runs queries. A dropped engine cancels the queries that still run, and waits for its threads to end.
pub struct Engine {
    driver: Arc<dyn Driver>,
    pool: Arc<Pool>,
    edges: EdgePlans,
    entropy: Mutex<Box<dyn Entropy>>,
    workers: usize,
    keeper: Arc<checkpoints::KeeperShared>,
    threads: Vec<JoinHandle<()>>,
    /// The number that the operating system gave to each worker's thread; 0 before the thread has started.
    /// Accesses are relaxed: the thread sets its number once, and reports read it.
    worker_threads: Vec<Arc<AtomicU32>>,
}

impl Engine {
    /// Returns settings for a new engine, each at its default value.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Checks a query, gives it memory, and starts it.
    ///
    /// # Errors
    /// [`PlanError`] if the query is refused; in that case no part of it runs.
    pub fn submit(&self, mut graph: Graph) -> Result<QueryHandle, PlanError> {
        let settings = graph.take_checkpoints();
        // Only the seed of the query is drawn under the lock of the engine's source of randomness. Building
        // the query runs user code, which must not run under a lock.
        let mut entropy = SeededEntropy::new(self.entropy.lock().next_u64());
        let mut built = graph.build(&self.pool, self.edges, &mut entropy)?;
        let mut kept = None;
        if let Some(settings) = settings {
            let (coordinator, work) =
                Coordinator::attach(settings, &built.name, &mut built.tasks, &self.pool)?;
            built.checkpoints = Some(Arc::clone(&coordinator));
            kept = Some((coordinator, work));
        }
        let query = Arc::clone(&self.driver).submit(built)?;
        if let Some((coordinator, work)) = kept {
            self.keeper.add(TaskOfQuery(Arc::clone(&query)), &coordinator, work);
        }
        Ok(QueryHandle::new(query, &self.driver))
    }

    /// Returns the number of worker threads that run tasks. If each task has a thread of its own, returns the
    /// number of cores that these threads may use.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Returns the tasks of an engine with [`Execution::Threads`] as a policy outside the engine sees them, with the
    /// threads that run them; `None` if workers run the tasks. See [`steered`](EngineBuilder::steered).
    ///
    /// Takes a lock for some microseconds, for which queries do not start or end; tasks run on.
    pub fn task_threads(&self) -> Option<TaskThreads> {
        self.driver.task_threads()
    }

    /// Returns the engine's memory budget, which also tells the bytes in use.
    pub fn budget(&self) -> &Arc<Budget> {
        self.pool.budget()
    }

    /// Returns metrics of the engine, of the process, and of the queries that have not ended. The metrics of
    /// an ended query come from its [handle](QueryHandle::metrics) and can be
    /// [included](EngineMetrics::include).
    ///
    /// Meant for a few calls per second, not for every step: the call copies names, waits for the policy as
    /// [`submit`](Self::submit) does, and reads some files of the system.
    pub fn metrics(&self) -> EngineMetrics {
        let mut queries: Vec<_> = self.driver.queries().iter().map(|query| query.metrics()).collect();
        queries.sort_by_key(|query| query.serial);
        let budget = self.budget();
        let DriverFigures { submitted, scheduling_ns, relief, asleep, task_threads } = self.driver.figures();
        let worker_threads = self.worker_threads.iter().map(|thread| thread.load(Ordering::Relaxed));
        EngineMetrics {
            at: self.driver.clock().now(),
            queries_submitted: submitted,
            scheduling_ns,
            memory_used_bytes: budget.used_bytes() as u64,
            memory_peak_bytes: budget.peak_bytes() as u64,
            memory_limit_bytes: budget.limit_bytes() as u64,
            is_relieving_memory: relief.is_on,
            memory_reliefs: relief.times,
            memory_relief_ns: relief.ns,
            workers_asleep: asleep,
            workers: worker_threads.chain(task_threads).map(worker_metrics).collect(),
            process: ProcessMetrics::now(),
            queries,
        }
    }

    /// Nanoseconds that workers have spent choosing tasks, without the time for which they slept.
    pub fn scheduling_ns(&self) -> u64 {
        self.driver.figures().scheduling_ns
    }
}

fn worker_metrics(thread: u32) -> WorkerMetrics {
    let times = match thread {
        0 => None,
        number => system::thread_times_ns(number),
    };
    WorkerMetrics { cpu_ns: times.map(|(cpu_ns, _)| cpu_ns), wait_ns: times.map(|(_, wait_ns)| wait_ns) }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.driver.close(&|| QueryError::Cancelled);
        self.pool.close();
        self.keeper.close();
        self.driver.join();
        for thread in self.threads.drain(..) {
            // A panic of user code is caught where the worker runs the task, so it ends no worker thread. If
            // one of the engine's own assertions failed, the panic was reported where it happened, and no
            // caller is left here to receive an error.
            let _ended = thread.join();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
