//! What can be wrong with a plan, and what can end a query.

use std::fmt;

use thalweg_memory::BudgetExceeded;
use thalweg_model::{Fault, Span};

/// A plan that cannot run as it stands; found before anything runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// A setting lies out of its range.
    OutOfRange {
        /// Which.
        name: &'static str,
        /// What it is.
        value: u64,
        /// The least it may be.
        min: u64,
        /// The most it may be.
        max: u64,
        /// What it counts.
        unit: &'static str,
    },
    /// A source's watermark strategy has a span below zero.
    NegativeSpan {
        /// The source's task.
        operator: String,
        /// Which span of the strategy.
        name: &'static str,
        /// What it is.
        span: Span,
    },
    /// The plan has no source.
    NoSource {
        /// The query.
        query: String,
    },
    /// Two operators have the same name.
    DuplicateName {
        /// The name.
        name: String,
    },
    /// An operator has no name.
    EmptyName,
    /// The query has no name.
    EmptyQueryName,
    /// A stream ends nowhere: what it computes would be lost.
    Unread {
        /// The operator whose output nobody reads.
        operator: String,
    },
    /// An operator reads from nothing.
    Unfed {
        /// The operator.
        operator: String,
    },
    /// An edge's first two chunks do not fit into the memory budget.
    BudgetTooSmall {
        /// The edge, as `from -> to`.
        edge: String,
        /// What did not fit.
        exceeded: BudgetExceeded,
    },
    /// The queue that stands for an edge does not fit into the memory budget: all of it is reserved at once.
    QueueTooLarge {
        /// The edge, as `from -> to`.
        edge: String,
        /// What did not fit.
        exceeded: BudgetExceeded,
    },
    /// An edge cannot be made as its settings say.
    Edge {
        /// The edge, as `from -> to`.
        edge: String,
        /// Why not.
        reason: String,
    },
    /// A source has no split.
    NoSplit {
        /// The source.
        source: String,
    },
    /// Streams of two queries were to come together.
    OtherQuery {
        /// The query whose stream came into another's.
        other: String,
    },
    /// The engine is shutting down.
    EngineClosed,
    /// The machine has no thread for a worker, for the memory of edges, or for a task that is to have one of its own.
    NoThread {
        /// The task, or the name of the engine's thread.
        operator: String,
        /// What the system said.
        reason: String,
    },
    /// Edges are to be queues, and an operator is planned that these are not made for.
    QueueMemory {
        /// The operator.
        operator: String,
    },
    /// Where each task has a thread of its own, nobody can step them.
    NotStepped,
}

impl PlanError {
    /// The stable code.
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
                    "nobody reads what `{operator}` puts out: end the stream in a sink, if only one that drops"
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

/// What ended a query before its streams did.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// A user's function panicked.
    Panicked {
        /// The operator whose code it was.
        operator: String,
        /// What the panic said.
        message: String,
    },
    /// A source or a sink failed.
    Connector {
        /// The task it belongs to.
        operator: String,
        /// What happened.
        fault: Fault,
    },
    /// State would exceed the memory budget.
    StateLimit {
        /// The task whose state it is.
        operator: String,
        /// What did not fit.
        exceeded: BudgetExceeded,
    },
    /// A task ran for [`STUCK_AFTER_NS`](crate::limits::STUCK_AFTER_NS) and moved nothing.
    Stuck {
        /// The task.
        operator: String,
        /// Whom it waits for, and whom that waits for, and so on, joined by arrows; back to one that was named if they
        /// wait for each other.
        waits_for: String,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// A worker of the engine died, and with it the engine: a bug of ours, or a clock or a policy that panicked. The
    /// panic was reported where it happened.
    WorkerDied,
}

impl QueryError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            QueryError::Panicked { .. } => "OPERATOR_PANICKED",
            QueryError::Connector { fault, .. } => fault.code(),
            QueryError::StateLimit { .. } => "STATE_LIMIT",
            QueryError::Stuck { .. } => "STUCK",
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
                    "`{operator}` has something to do and does nothing; who waits for whom: {waits_for}; an operator that leaves an input unread must not read what parts from the same stream as the others"
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
