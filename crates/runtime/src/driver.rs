//! The interface to the part of an engine that runs tasks: workers directed by a policy
//! ([`executor`](crate::executor)), or a thread for each task ([`threads`](crate::threads)).
//!
//! The engine, handles, wakers and the thread that allocates the chunks of edges use only this trait. All its
//! methods may be called from any thread, also from a task's own.

use std::sync::Arc;

use thalweg_model::Clock;
use thalweg_scheduling::OperatorId;

use crate::error::{PlanError, QueryError};
use crate::graph::Built;
use crate::query::QueryShared;
use crate::ranker::Relief;
use crate::task::Stop;
use crate::threads::TaskThreads;

/// The part of an engine that runs its tasks: workers directed by a policy, or a thread for each task.
pub(crate) trait Driver: Send + Sync {
    /// Adds the tasks of a newly built query, which may run from this call on.
    fn submit(self: Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError>;

    /// Makes the driver look again whether these tasks are ready to run, because something outside their own
    /// runs has changed, such as an answer from another system that arrived.
    fn notify(&self, operators: &[OperatorId]);

    /// Ends a query with an error. A task of the query that is running is dropped when its step ends.
    fn fail_query(&self, query: &QueryShared, error: QueryError);

    /// Fails every query, lets every thread end, and accepts no more queries.
    fn close(&self, reason: &dyn Fn() -> QueryError);

    fn clock(&self) -> &Arc<dyn Clock>;

    /// Returns the queries that have been submitted and have not ended.
    fn queries(&self) -> Vec<Arc<QueryShared>>;

    /// Returns the counters of the part of the engine that runs tasks, such as queries submitted and time
    /// spent on scheduling.
    fn figures(&self) -> DriverFigures;

    /// Returns the tasks as a policy outside the engine sees them, with their threads; `None` if workers run the
    /// tasks.
    fn task_threads(&self) -> Option<TaskThreads> {
        None
    }

    /// Waits until the threads that this driver (workers, or a thread per task) has started itself have
    /// ended. Call [`close`](Self::close) first.
    fn join(&self) {}

    /// Makes the driver look again whether the task that writes an edge can run, because the pool has
    /// allocated a chunk of memory for this edge. `writer` is the number of that task.
    fn grown(&self, writer: u64) {
        if let Ok(operator) = u32::try_from(writer) {
            self.notify(&[OperatorId(operator)]);
        }
    }

    fn stop_sources(&self, query: &QueryShared, stop: Stop) {
        query.probes().filter(|probe| probe.is_source()).for_each(|probe| probe.stop(stop));
        self.set_paused(query, false);
    }

    /// Pauses the tasks of a query when their present steps have ended, or lets paused tasks run again.
    fn set_paused(&self, query: &QueryShared, is_paused: bool) {
        query.set_paused(is_paused);
        self.notify(query.tasks());
    }
}

/// Counters of the part of an engine that runs tasks, for metrics.
#[derive(Default)]
pub(crate) struct DriverFigures {
    pub(crate) submitted: u64,
    /// Nanoseconds that workers have spent choosing the next task.
    pub(crate) scheduling_ns: u64,
    /// How often, and for how long, the policy chose tasks so as to free memory instead of by its usual
    /// rule.
    pub(crate) relief: Relief,
    pub(crate) asleep: u64,
    /// Numbers by which the operating system knows the threads that the driver itself has started.
    pub(crate) task_threads: Vec<u32>,
}
