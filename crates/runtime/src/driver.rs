//! Who runs tasks, as it is spoken to from outside: workers that a policy directs ([`executor`](crate::executor)), or a
//! thread for each task ([`threads`](crate::threads)).
//!
//! The engine, handles, wakers and whoever makes chunks know no more of it than this. All of it may be called from any
//! thread, also from a task's own.

use std::sync::Arc;

use thalweg_model::Clock;
use thalweg_scheduling::OperatorId;

use crate::error::{PlanError, QueryError};
use crate::graph::Built;
use crate::query::QueryShared;
use crate::ranker::Relief;
use crate::task::Stop;

/// Who runs the tasks of an engine.
pub(crate) trait Driver: Send + Sync {
    /// Adds the tasks of a query, which may run from now on.
    fn submit(self: Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError>;

    /// Looks again at tasks to which something has happened from outside.
    fn notify(&self, operators: &[OperatorId]);

    /// Ends a query with an error. Tasks that run now are dropped when their step ends.
    fn fail_query(&self, query: &QueryShared, error: QueryError);

    /// Fails every query, lets every thread end, and takes no more queries.
    fn close(&self, reason: &dyn Fn() -> QueryError);

    /// Where time comes from.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// The queries that run.
    fn queries(&self) -> Vec<Arc<QueryShared>>;

    /// What it has done up to now.
    fn figures(&self) -> DriverFigures;

    /// Behind [`close`](Self::close): waits for the threads that it has made itself.
    fn join(&self) {}

    /// Looks again at the task that writes an edge for which the pool has made a chunk.
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

    /// Lets the tasks of a query rest when their steps have ended, or run again.
    fn set_paused(&self, query: &QueryShared, is_paused: bool) {
        query.set_paused(is_paused);
        self.notify(query.tasks());
    }
}

/// What a driver has done.
#[derive(Default)]
pub(crate) struct DriverFigures {
    /// Queries that have come in since the start.
    pub(crate) submitted: u64,
    /// Nanoseconds that were spent choosing tasks.
    pub(crate) scheduling_ns: u64,
    /// How the policy has seen to memory.
    pub(crate) relief: Relief,
    /// Threads that sleep now.
    pub(crate) asleep: u64,
    /// The system's numbers of the threads that it has made itself.
    pub(crate) task_threads: Vec<u32>,
}
