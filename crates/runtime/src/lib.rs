//! The engine: a graph of tasks that edges join, workers that run them, and queries that come and go.
//!
//! Read the modules in this order:
//!
//! 1. [`limits`]: everything that can grow, block or wait, with its bound.
//! 2. [`graph`]: what a query is before it runs, and the checks it passes.
//! 3. [`edge`]: the memory's edges, spoken to in the model's terms; `modes`: what they may be made of, and who runs tasks.
//! 4. [`output`]: where a task writes: an edge or a sink.
//!    `epochs`: the containers between tasks that several workers share; `firing_latency`: how long results take from the
//!    watermark that closes them on.
//! 5. [`task`]: a source or an operator chain with its ends, run a step at a time.
//! 6. `executor`: who runs next, and what happens when a run ends; [`worker`] drives it. Below it: `board`, where
//!    ranks and due times stand; `ranker`, which asks the policy; `idle`, where workers sleep; `meter` and `gradient`,
//!    what is measured. `threads`: the other way to run tasks, a thread for each; `driver`: what both are from outside.
//! 7. [`query`]: a query while it runs and what is left of it.
//! 8. [`metrics`]: what all of them have done, as figures and for Prometheus; [`system`] has those of the process.
//! 9. [`engine`]: threads around the executor, and the door through which queries come in.
//!
//! Invariants of this room: it knows no concrete operator, no file and no SQL. Nothing here runs user code while
//! it holds a lock of the executor. Every wait ends: with work, with time, or with the end of the engine.
#![forbid(unsafe_code)]

mod ablations;
mod aims;
mod arrival;
mod board;
pub mod clock;
mod cores;
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
pub use clock::SystemClock;
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
pub use worker::{Step, Worker};

/// Policies: what [`EngineBuilder::policy`] takes, and what a policy of one's own is made of.
pub use thalweg_scheduling as scheduling;
