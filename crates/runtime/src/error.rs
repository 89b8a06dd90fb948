//! Errors in the plan of a query, which are found before it runs, and errors that end a running query.

use std::fmt;

use thalweg_memory::BudgetExceeded;
use thalweg_model::{Fault, Span};

/// An error in the plan of a query, found before any part of the query runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// A setting of the engine or of a query is out of its range.
    OutOfRange {
        /// Name of the setting that is out of its range.
        name: &'static str,
        /// The refused value of this setting.
        value: u64,
        /// The least value that the setting allows.
        min: u64,
        /// The greatest value that the setting allows.
        max: u64,
        /// The unit of the refused value and of its limits, such as bytes or nanoseconds.
        unit: &'static str,
    },
    /// The watermark strategy of a source has a negative span of time.
    NegativeSpan {
        /// Name of the source whose watermark strategy has the negative span.
        operator: String,
        /// Name of the negative span in the watermark strategy.
        name: &'static str,
        /// The negative span of time.
        span: Span,
    },
    /// The plan of the query has no source.
    NoSource {
        /// Name of the query without a source.
        query: String,
    },
    /// Two operators have the same name.
    DuplicateName {
        /// The name that two operators have.
        name: String,
    },
    /// The name of an operator is empty.
    EmptyName,
    /// The name of the query is empty.
    EmptyQueryName,
    /// A stream ends without a sink, so that its results would be lost.
    Unread {
        /// Name of the operator whose output no operator reads.
        operator: String,
    },
    /// An operator has no input.
    Unfed {
        /// Name of the operator without an input.
        operator: String,
    },
    /// The first two chunks of an edge, which are reserved when a query is submitted, do not fit into the
    /// memory budget.
    BudgetTooSmall {
        /// The edge whose chunks do not fit into the memory budget, written as `from -> to`.
        edge: String,
        /// The refused reservation: its bytes, and the bytes of the budget in all and in use.
        exceeded: BudgetExceeded,
    },
    /// The queue of an edge, in an engine that uses queues in place of blocks, does not fit into the memory
    /// budget. All of its memory is reserved at once.
    QueueTooLarge {
        /// The edge whose queue does not fit into the memory budget, written as `from -> to`.
        edge: String,
        /// The refused reservation: its bytes, and the bytes of the budget in all and in use.
        exceeded: BudgetExceeded,
    },
    /// The engine cannot make an edge with the given settings.
    Edge {
        /// The edge that cannot be made, written as `from -> to`.
        edge: String,
        /// Reason why the edge was refused.
        reason: String,
    },
    /// A source has no split. A split is a part of the source's input that one task reads.
    NoSplit {
        /// Name of the source without a split.
        source: String,
    },
    /// Streams of two queries were combined, for example in a join.
    OtherQuery {
        /// Name of the other query, from which one of the combined streams came.
        other: String,
    },
    /// The engine is shutting down and accepts no more queries.
    EngineClosed,
    /// The operating system refused a thread: for a worker, for the memory of edges, or for a task that
    /// runs on a thread of its own.
    NoThread {
        /// Name of the task, or of the engine's thread, that could not be started.
        operator: String,
        /// Reason why the operating system refused the thread.
        reason: String,
    },
    /// The engine is set to use queues as edges, and the plan has an operator that does not support queues.
    QueueMemory {
        /// Name of the operator that does not support queues.
        operator: String,
    },
    /// The query was to take checkpoints, and a task cannot take part in them.
    NotCheckpointed {
        /// Name of the task that cannot take part in checkpoints.
        operator: String,
        /// Reason why its state cannot be saved.
        reason: String,
    },
    /// The query cannot go on from a checkpoint, because the two do not fit.
    NotRestored {
        /// Name of the task whose state cannot be loaded.
        task: String,
        /// The difference between the task and the checkpoint.
        reason: String,
    },
    /// The query was changed since the checkpoint from which it should go on.
    Changed {
        /// The first line in which the plans differ.
        difference: String,
    },
    /// An engine that is stepped by hand was requested together with a thread per task, which is not
    /// possible.
    NotStepped,
}

impl PlanError {
    /// Returns the stable code of the error, which scripts may depend on.
    pub fn code(&self) -> &'static str {
        match self {
            PlanError::OutOfRange { .. } => "OUT_OF_RANGE",
            PlanError::NegativeSpan { .. } => "NEGATIVE_SPAN",
            PlanError::NoSource { .. } => "NO_SOURCE",
            PlanError::DuplicateName { .. } => "DUPLICATE_NAME",
            PlanError::EmptyName => "EMPTY_NAME",
            PlanError::EmptyQueryName => "EMPTY_QUERY_NAME",
            PlanError::Unread { .. } => "UNREAD_STREAM",
            PlanError::Unfed { .. } => "UNFED_OPERATOR",
            PlanError::BudgetTooSmall { .. } | PlanError::QueueTooLarge { .. } => "BUDGET_TOO_SMALL",
            PlanError::Edge { .. } => "EDGE_REFUSED",
            PlanError::NoSplit { .. } => "NO_SPLIT",
            PlanError::OtherQuery { .. } => "OTHER_QUERY",
            PlanError::EngineClosed => "ENGINE_CLOSED",
            PlanError::NoThread { .. } => "NO_THREAD",
            PlanError::QueueMemory { .. } => "QUEUE_MEMORY",
            PlanError::NotCheckpointed { .. } => "NO_CHECKPOINTS",
            PlanError::NotRestored { .. } | PlanError::Changed { .. } => "NOT_RESTORED",
            PlanError::NotStepped => "NOT_STEPPED",
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::OutOfRange { name, value, min, max, unit } => {
                write!(f, "{name} is {value} {unit}, but must be from {min} to {max} {unit}")
            }
            PlanError::NegativeSpan { operator, name, span } => {
                write!(f, "{name} of `{operator}` is {span}, but must be at least 0s")
            }
            PlanError::NoSource { query } => {
                write!(f, "query `{query}` has no source: add one and end its stream in a sink")
            }
            PlanError::DuplicateName { name } => {
                write!(f, "two operators are called `{name}`: give one of them another name")
            }
            PlanError::EmptyName => write!(f, "an operator has an empty name: give it one"),
            PlanError::EmptyQueryName => {
                write!(f, "the query has an empty name: give it one, for reports and errors to call it by")
            }
            PlanError::Unread { operator } => {
                write!(
                    f,
                    "no operator reads the output of `{operator}`: end the stream in a sink, for example one that drops its records"
                )
            }
            PlanError::Unfed { operator } => {
                write!(f, "nothing feeds `{operator}`: connect its input to an operator")
            }
            PlanError::BudgetTooSmall { edge, exceeded } => {
                write!(f, "the first two chunks of edge `{edge}` do not fit: {exceeded}")
            }
            PlanError::QueueTooLarge { edge, exceeded } => {
                write!(f, "the queue of edge `{edge}` does not fit: {exceeded}; or take smaller edges")
            }
            PlanError::Edge { edge, reason } => write!(f, "edge `{edge}` cannot be made: {reason}"),
            PlanError::NoSplit { source } => {
                write!(f, "source `{source}` has no split to read: give it at least one")
            }
            PlanError::OtherQuery { other } => {
                write!(
                    f,
                    "a stream of query `{other}` comes into another query: begin both streams with the same one"
                )
            }
            PlanError::EngineClosed => write!(f, "the engine is shutting down and takes no more queries"),
            PlanError::NoThread { operator, reason } => {
                write!(
                    f,
                    "the machine has no thread for `{operator}`: {reason}; run fewer workers or \
                     queries, or raise the limit of threads"
                )
            }
            PlanError::QueueMemory { operator } => {
                write!(
                    f,
                    "`{operator}` is shared by workers or runs several operators as one, but queue memory is for serial queries whose operators are a task each: plan it so, or take blocks"
                )
            }
            PlanError::NotCheckpointed { operator, reason } => {
                write!(f, "`{operator}` cannot take checkpoints: {reason}")
            }
            PlanError::NotRestored { task, reason } => {
                write!(f, "the query cannot go on from its checkpoint, because of `{task}`: {reason}")
            }
            PlanError::Changed { difference } => {
                write!(
                    f,
                    "the query was changed since its checkpoint: {difference}; run it as it was, or without the checkpoint"
                )
            }
            PlanError::NotStepped => {
                write!(
                    f,
                    "an engine with a thread for each task cannot be stepped: let workers run its tasks"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// An error that ends a query before its streams end.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// A function of the user, such as the body of a map, panicked.
    Panicked {
        /// Name of the operator whose code panicked.
        operator: String,
        /// Message of the panic in the user's function.
        message: String,
    },
    /// A source or a sink failed, for example because of an input or output error.
    Connector {
        /// Name of the task whose source or sink failed.
        operator: String,
        /// The failure as the source or sink described it.
        fault: Fault,
    },
    /// The state of an operator would exceed the memory budget.
    StateLimit {
        /// Name of the task whose state was to grow.
        operator: String,
        /// The refused reservation: its bytes, and the bytes of the budget in all and in use.
        exceeded: BudgetExceeded,
    },
    /// The runs of a task have moved no record and no mark (such as a watermark) for
    /// [`STUCK_AFTER_NS`](crate::limits::STUCK_AFTER_NS), because it waits for an input that cannot come.
    Stuck {
        /// Name of the task that moved nothing.
        operator: String,
        /// Names of the tasks that wait for each other, joined by arrows: each waits for the next. If they
        /// wait in a cycle, the last name occurs twice.
        waits_for: String,
    },
    /// The last checkpoint of the query, with which its last output is published, could not be written, or the store of its
    /// checkpoints panicked.
    CheckpointFailed {
        /// Reason why the checkpoint failed.
        reason: String,
    },
    /// A caller cancelled the query.
    Cancelled,
    /// A worker thread of the engine died, and the engine closed. The cause is a defect of the engine, or a
    /// clock or a policy that panicked. The panic was reported where it happened.
    WorkerDied,
}

impl QueryError {
    /// Returns the stable code of the error, which scripts may depend on.
    pub fn code(&self) -> &'static str {
        match self {
            QueryError::Panicked { .. } => "OPERATOR_PANICKED",
            QueryError::Connector { fault, .. } => fault.code(),
            QueryError::StateLimit { .. } => "STATE_LIMIT",
            QueryError::Stuck { .. } => "STUCK",
            QueryError::CheckpointFailed { .. } => "CHECKPOINT_FAILED",
            QueryError::Cancelled => "CANCELLED",
            QueryError::WorkerDied => "WORKER_DIED",
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::Panicked { operator, message } => {
                write!(f, "the function of operator `{operator}` panicked: {message}")
            }
            QueryError::Connector { operator, fault } => write!(f, "`{operator}` failed: {fault}"),
            QueryError::StateLimit { operator, exceeded } => {
                write!(f, "the state of `{operator}` outgrew the memory budget: {exceeded}")
            }
            QueryError::Stuck { operator, waits_for } => {
                write!(
                    f,
                    "`{operator}` has input and does nothing; the tasks wait for each other: {waits_for}; an operator that leaves an input unread must not read branches of one stream on several inputs"
                )
            }
            QueryError::CheckpointFailed { reason } => {
                write!(
                    f,
                    "a checkpoint has failed without which the query cannot go on: {reason}; start it again to go on from its newest checkpoint"
                )
            }
            QueryError::Cancelled => write!(f, "the query was cancelled"),
            QueryError::WorkerDied => {
                write!(
                    f,
                    "a worker of the engine died, and the engine with it: its panic was reported; start it anew"
                )
            }
        }
    }
}

impl std::error::Error for QueryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            QueryError::StateLimit { exceeded, .. } => Some(exceeded),
            _ => None,
        }
    }
}
