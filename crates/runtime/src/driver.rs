//! The interface to the part of an engine that runs tasks: workers directed by a policy
//! ([`executor`](crate::executor)), or a thread for each task ([`threads`](crate::threads)).
//!
//! The engine, handles, wakers and the thread that makes chunks use only this trait. All its methods may be
//! called from any thread, also from a task's own.

use std::sync::Arc;

use thalweg_model::Clock;
use thalweg_scheduling::OperatorId;

use crate::error::{PlanError, QueryError};
use crate::graph::Built;
use crate::query::QueryShared;
use crate::ranker::Relief;
use crate::task::Stop;

/// Runs the tasks of an engine.
pub(crate) trait Driver: Send + Sync {
    /// Adds the tasks of a query, which may run from now on.
    fn submit(self: Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError>;

    /// Checks again the tasks that an event from outside concerns.
    fn notify(&self, operators: &[OperatorId]);

    /// Ends a query with an error. A task that is running is dropped when its step ends.
    fn fail_query(&self, query: &QueryShared, error: QueryError);

    /// Fails every query, lets every thread end, and accepts no more queries.
    fn close(&self, reason: &dyn Fn() -> QueryError);

    /// The clock of the engine.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Queries that run.
    fn queries(&self) -> Vec<Arc<QueryShared>>;

    /// Figures of the driver up to now.
    fn figures(&self) -> DriverFigures;

    /// Waits, after [`close`](Self::close), for the threads that the driver itself has made.
    fn join(&self) {}

    /// Checks again the task that writes an edge for which the pool has made a chunk.
    fn grown(&self, writer: u64) {
        if let Ok(operator) = u32::try_from(writer) {
            self.notify(&[OperatorId(operator)]);
        }
    }

    /// Asks the sources of a query to end.
    fn stop_sources(&self, query: &QueryShared, stop: Stop) {
        query.probes().filter(|probe| probe.is_source()).for_each(|probe| probe.stop(stop));
        self.set_paused(query, false);
    }

    /// Pauses the tasks of a query when their steps have ended, or lets them run again.
    fn set_paused(&self, query: &QueryShared, is_paused: bool) {
        query.set_paused(is_paused);
        self.notify(query.tasks());
    }
}

/// Figures of a driver.
#[derive(Default)]
pub(crate) struct DriverFigures {
    /// Queries submitted since the start.
    pub(crate) submitted: u64,
    /// Nanoseconds spent choosing tasks.
    pub(crate) scheduling_ns: u64,
    /// How often and how long the policy chose by memory.
    pub(crate) relief: Relief,
    /// Threads that sleep now.
    pub(crate) asleep: u64,
    /// The system's numbers of the threads that the driver itself has made.
    pub(crate) task_threads: Vec<u32>,
}
