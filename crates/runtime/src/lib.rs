//! The engine: a graph of tasks connected by edges, workers that run the tasks, and queries that start and
//! end.
//!
//! Read the modules in this order:
//!
//! 1. [`limits`]: everything that can grow, block or wait, with its bound.
//! 2. [`graph`]: a query before it runs, and the checks that it must pass.
//! 3. [`edge`]: the edges of the crate `thalweg_memory`, adapted to the interfaces of `thalweg_model`;
//!    `modes`: the kinds of edge memory, and whether workers or threads run the tasks; `cost_clock`: the
//!    clock by which costs are measured.
//! 4. [`output`]: the output of a task, which is an edge or a sink. `epochs`: the containers between tasks
//!    that several workers share. `firing_latency`: the time from the watermark that closes a result to the
//!    result at the sink.
//! 5. [`task`]: a source or an operator chain with its inputs and outputs, run one step at a time.
//! 6. `executor`: the choice of the next task, and the end of a run; [`worker`] drives it. Below it: `board`,
//!    which holds ranks and due times; `ranker`, which asks the policy; `observer`, which gathers what the policy
//!    sees; `idle`, where workers sleep; `meter` and `gradient`, which measure. `threads`: the other way to run
//!    tasks, a thread for each; `driver`: the trait of both.
//! 7. [`query`]: a query while it runs, and its report after it has ended.
//! 8. [`metrics`]: the work of all of them in figures, also for Prometheus; [`system`] has the figures of the
//!    process.
//! 9. [`engine`]: threads around the executor, and the call that submits a query.
//!
//! Invariants of this crate: it knows no concrete operator, no file and no SQL. No user code runs under a
//! lock of the executor. Every wait ends: with work, after a time, or with the end of the engine.
#![forbid(unsafe_code)]

mod ablations;
mod aims;
mod arrival;
mod board;
pub mod checkpoints;
pub mod clock;
mod cores;
mod cost_clock;
mod driver;
pub mod edge;
pub mod engine;
mod epochs;
pub mod error;
mod executor;
mod firing_latency;
mod gradient;
pub mod graph;
mod idle;
pub mod latency;
pub mod limits;
mod meter;
pub mod metrics;
#[cfg(all(test, loom))]
mod models;
mod modes;
mod observer;
pub mod output;
pub mod ports;
pub mod query;
mod ranker;
mod state_grant;
mod stuck;
pub mod system;
pub mod task;
mod threads;
pub mod worker;

pub use ablations::Ablations;
pub use aims::Aims;
pub use checkpoints::{CheckpointProgress, Checkpoints};
pub use clock::SystemClock;
pub use cost_clock::CostClock;
pub use engine::{Engine, EngineBuilder, Growth, Stepped};
pub use error::{PlanError, QueryError};
pub use graph::{
    EdgeKind, EitherOutputHandle, Graph, InputHandle, InputPlan, OutputHandle, OutputPlan, PhysicalPlan,
    SinkPlan,
};
pub use latency::{Latencies, LatencySummary};
pub use limits::{EdgeLimits, Limit};
pub use meter::TaskState;
pub use metrics::{EdgeMetrics, EngineMetrics, QueryMetrics, TaskMetrics, WorkerMetrics};
pub use modes::{EdgeMemory, Execution};
pub use output::{TaskOutput, ToSink};
pub use query::{EdgeCounts, OperatorCounts, Progress, QueryHandle, QueryReport, QueryState};
pub use system::ProcessMetrics;
pub use threads::{TASK_THREAD_FIELDS, TaskThread, TaskThreads};
pub use worker::{Step, Worker};

/// Scheduling policies: the types that [`EngineBuilder::policy`] takes, and the traits from which a custom
/// policy is written.
pub use thalweg_scheduling as scheduling;
