//! The engine: threads around the executor, and the door through which queries come in.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use thalweg_memory::sync::{AtomicU32, Mutex, Ordering};
use thalweg_memory::{Budget, Pool};
use thalweg_model::{Clock, Entropy, SeededEntropy};
use thalweg_scheduling::{Policy, policy::enjima::Enjima};

use crate::ablations::Ablations;
use crate::clock::SystemClock;
use crate::cores;
use crate::error::{PlanError, QueryError};
use crate::executor::{Executor, Runs};
use crate::graph::Graph;
use crate::limits::{self, EdgeLimits};
use crate::metrics::{EngineMetrics, WorkerMetrics};
use crate::query::QueryHandle;
use crate::system::{self, ProcessMetrics};
use crate::worker::{Step, Worker};

/// How an engine is set up.
pub struct EngineBuilder {
    workers: u64,
    memory_budget_bytes: u64,
    edges: EdgeLimits,
    ablations: Ablations,
    run_bytes: u64,
    source_grain_ns: u64,
    measured_steps: u64,
    policy: Box<dyn Policy>,
    clock: Arc<dyn Clock>,
    entropy: Box<dyn Entropy>,
    pins_workers: bool,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        // Hash seeds must not be guessed by those who send keys: std's own hash seeds are random.
        let seed = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
        EngineBuilder {
            workers: limits::WORKERS.default,
            memory_budget_bytes: limits::MEMORY_BUDGET_BYTES.default,
            edges: EdgeLimits::default(),
            ablations: Ablations::default(),
            run_bytes: limits::RUN_BYTES.default,
            source_grain_ns: limits::SOURCE_GRAIN_NS.default,
            measured_steps: limits::MEASURED_STEPS.default,
            policy: Box::new(Enjima::default()),
            clock: Arc::new(SystemClock::default()),
            entropy: Box::new(SeededEntropy::new(seed)),
            pins_workers: true,
        }
    }
}

impl EngineBuilder {
    /// Threads that run tasks.
    pub fn workers(self, workers: u64) -> Self {
        EngineBuilder { workers, ..self }
    }

    /// Bytes that edges, state and buffers may hold.
    pub fn memory_budget_bytes(self, memory_budget_bytes: u64) -> Self {
        EngineBuilder { memory_budget_bytes, ..self }
    }

    /// The bounds of each edge.
    pub fn edges(self, edges: EdgeLimits) -> Self {
        EngineBuilder { edges, ..self }
    }

    /// What to switch off of epochs, to measure what it is worth.
    pub fn ablations(self, ablations: Ablations) -> Self {
        EngineBuilder { ablations, ..self }
    }

    /// Bytes of records that one run may take at most, whatever the policy allows: [`limits::RUN_BYTES`].
    pub fn run_bytes(self, run_bytes: u64) -> Self {
        EngineBuilder { run_bytes, ..self }
    }

    /// Nanoseconds for which a source that has caught up with its pace is left alone: the price of latency at high rates
    /// in CPU time. [`limits::SOURCE_GRAIN_NS`].
    pub fn source_grain_ns(self, source_grain_ns: u64) -> Self {
        EngineBuilder { source_grain_ns, ..self }
    }

    /// One step in so many is run operator by operator, and each of them measured: [`limits::MEASURED_STEPS`].
    pub fn measured_steps(self, measured_steps: u64) -> Self {
        EngineBuilder { measured_steps, ..self }
    }

    /// Who runs next.
    pub fn policy(self, policy: Box<dyn Policy>) -> Self {
        EngineBuilder { policy, ..self }
    }

    /// Where time comes from.
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        EngineBuilder { clock, ..self }
    }

    /// Where randomness comes from; only what it is used for depends on it, never a result.
    pub fn entropy(self, entropy: Box<dyn Entropy>) -> Self {
        EngineBuilder { entropy, ..self }
    }

    /// Whether each worker stays on a core of its own; they do unless told otherwise. Where there are fewer cores than
    /// workers, or the system refuses, the operating system places them as it likes.
    pub fn pin_workers(self, pins_workers: bool) -> Self {
        EngineBuilder { pins_workers, ..self }
    }

    /// Starts the engine.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] for a setting out of its range.
    pub fn build(self) -> Result<Engine, PlanError> {
        let (clock, pins_workers) = (Arc::clone(&self.clock), self.pins_workers);
        let Stepped { mut engine, workers, growth } = self.build_stepped()?;
        let cores = if pins_workers { cores::for_workers(workers.len()) } else { Vec::new() };
        for (index, worker) in workers.into_iter().enumerate() {
            let (executor, clock) = (Arc::clone(&engine.executor), Arc::clone(&clock));
            let core = cores.get(index).copied();
            let number = Arc::clone(&engine.worker_threads[index]);
            let body = move || {
                cores::settle(core);
                number.store(system::thread_number(), Ordering::Relaxed);
                run_worker(worker, &executor, clock.as_ref());
            };
            engine.threads.push(spawn(format!("thalweg-worker-{index}"), body));
        }
        engine.threads.push(spawn("thalweg-memory".to_owned(), move || growth.run()));
        Ok(engine)
    }

    /// Makes the engine without threads: the caller steps the workers and the growth, in any order it likes.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn build_stepped(self) -> Result<Stepped, PlanError> {
        let workers = limits::WORKERS.check(self.workers)?;
        let budget_bytes = limits::MEMORY_BUDGET_BYTES.check(self.memory_budget_bytes)?;
        self.edges.check()?;
        let bytes_max = limits::RUN_BYTES.check(self.run_bytes)?;
        let measured_steps = u32::try_from(limits::MEASURED_STEPS.check(self.measured_steps)?);
        let measured_steps = measured_steps.expect("a bounded number of steps");
        let source_grain_ns = limits::SOURCE_GRAIN_NS.check(self.source_grain_ns)?;
        let budget = Budget::new(usize::try_from(budget_bytes).unwrap_or(usize::MAX));
        let pool = Pool::new(budget);
        let workers = usize::try_from(workers).expect("a bounded number of workers");
        let runs =
            Runs { block_records: self.edges.block_records, bytes_max, source_grain_ns, measured_steps };
        let executor = Executor::new(self.policy, Arc::clone(&pool), self.clock, runs, workers);
        let workers: Vec<Worker> =
            (0..workers).map(|index| Worker::new(Arc::clone(&executor), index)).collect();
        let growth = Growth { pool: Arc::clone(&pool), executor: Arc::clone(&executor) };
        let engine = Engine {
            executor,
            pool,
            edges: self.edges,
            ablations: self.ablations,
            entropy: Mutex::new(self.entropy),
            threads: Vec::new(),
            worker_threads: (0..workers.len()).map(|_| Arc::default()).collect(),
        };
        Ok(Stepped { engine, workers, growth })
    }
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    // The only way to fail is a machine that is out of threads, at start-up, before any query runs.
    std::thread::Builder::new().name(name).spawn(body).expect("the machine has no thread left for the engine")
}

/// Runs a worker until the engine is closed. If it dies, of an assertion of ours or of a clock or a policy that
/// panics, the engine closes and every query fails: nobody waits for a worker that is gone.
fn run_worker(worker: Worker, executor: &Executor, clock: &dyn Clock) {
    let body = AssertUnwindSafe(|| work(worker, clock));
    if catch_unwind(body).is_err() {
        executor.close(|| QueryError::WorkerDied);
    }
}

fn work(mut worker: Worker, clock: &dyn Clock) {
    while !worker.is_closed() {
        if let Step::Idle(_) = worker.step(clock) {
            worker.sleep(clock);
        }
    }
}

/// Serves requests for chunks, away from the data path.
pub struct Growth {
    pool: Arc<Pool>,
    executor: Arc<Executor>,
}

impl Growth {
    /// Serves one request, if one waits; answers whether it did. The new chunk may end somebody's backpressure.
    pub fn step(&self) -> bool {
        let served = self.pool.grow_step();
        served.into_iter().for_each(|writer| self.executor.grown(writer));
        served.is_some()
    }

    fn run(&self) {
        while self.pool.wait_for_request() {
            self.step();
        }
    }
}

/// An engine without threads.
pub struct Stepped {
    /// The engine: queries are submitted to it.
    pub engine: Engine,
    /// Its workers.
    pub workers: Vec<Worker>,
    /// What makes chunks for edges that have asked for one.
    pub growth: Growth,
}

/// Runs queries. Dropping it cancels those that still run and waits for the threads to end.
pub struct Engine {
    executor: Arc<Executor>,
    pool: Arc<Pool>,
    edges: EdgeLimits,
    ablations: Ablations,
    entropy: Mutex<Box<dyn Entropy>>,
    threads: Vec<JoinHandle<()>>,
    /// The system's number of each worker's thread; 0 as long as there is none. Relaxed: set once by the thread, for
    /// reports.
    worker_threads: Vec<Arc<AtomicU32>>,
}

impl Engine {
    /// An engine to be set up.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Checks a query, gives it memory, and lets it run.
    ///
    /// # Errors
    /// [`PlanError`], and nothing runs.
    pub fn submit(&self, graph: Graph) -> Result<QueryHandle, PlanError> {
        let built = graph.build(&self.pool, self.edges, self.ablations, self.entropy.lock().as_mut())?;
        let query = self.executor.submit(built)?;
        Ok(QueryHandle::new(query, &self.executor))
    }

    /// Threads that run tasks.
    pub fn workers(&self) -> usize {
        self.worker_threads.len()
    }

    /// The memory budget, and how much of it is in use.
    pub fn budget(&self) -> &Arc<Budget> {
        self.pool.budget()
    }

    /// What the engine, its queries and the process have done up to now: those queries that have not ended. Of others
    /// their [handles](QueryHandle::metrics) tell, and can be [included](EngineMetrics::include).
    ///
    /// For a few looks a second, not for every step: it copies names, waits for the policy as
    /// [`submit`](Self::submit) does, and reads some files of the system.
    pub fn metrics(&self) -> EngineMetrics {
        let mut queries: Vec<_> = self.executor.queries().iter().map(|query| query.metrics()).collect();
        queries.sort_by_key(|query| query.serial);
        let budget = self.budget();
        EngineMetrics {
            at: self.executor.clock.now(),
            queries_submitted: self.executor.submitted(),
            scheduling_ns: self.scheduling_ns(),
            memory_used_bytes: budget.used_bytes() as u64,
            memory_peak_bytes: budget.peak_bytes() as u64,
            memory_limit_bytes: budget.limit_bytes() as u64,
            workers_asleep: self.executor.workers_asleep() as u64,
            workers: self.worker_threads.iter().map(|thread| worker_metrics(thread)).collect(),
            process: ProcessMetrics::now(),
            queries,
        }
    }

    /// Nanoseconds that workers have spent choosing tasks, sleep apart.
    pub fn scheduling_ns(&self) -> u64 {
        self.executor.scheduling_ns()
    }
}

fn worker_metrics(thread: &AtomicU32) -> WorkerMetrics {
    let times = match thread.load(Ordering::Relaxed) {
        0 => None,
        number => system::thread_times_ns(number),
    };
    WorkerMetrics { cpu_ns: times.map(|(cpu_ns, _)| cpu_ns), wait_ns: times.map(|(_, wait_ns)| wait_ns) }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.executor.close(|| QueryError::Cancelled);
        self.pool.close();
        for thread in self.threads.drain(..) {
            // User code is caught at the task's border, so a worker ends by itself. If one of our own assertions
            // failed, the panic was reported where it happened, and there is nobody here to tell.
            let _ended = thread.join();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
