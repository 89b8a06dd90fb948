//! Errors of a plan, and errors that end a query.

use std::fmt;

use thalweg_memory::BudgetExceeded;
use thalweg_model::{Fault, Span};

/// An error of a plan, found before anything runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// A setting is out of its range.
    OutOfRange {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: u64,
        /// Least allowed value.
        min: u64,
        /// Greatest allowed value.
        max: u64,
        /// Unit of the value.
        unit: &'static str,
    },
    /// A source's watermark strategy has a span below zero.
    NegativeSpan {
        /// The source's task.
        operator: String,
        /// Name of the span in the strategy.
        name: &'static str,
        /// Its value.
        span: Span,
    },
    /// The plan has no source.
    NoSource {
        /// Name of the query.
        query: String,
    },
    /// Two operators have the same name.
    DuplicateName {
        /// The common name.
        name: String,
    },
    /// An operator has no name.
    EmptyName,
    /// The query has no name.
    EmptyQueryName,
    /// A stream has no sink: its results would be lost.
    Unread {
        /// The operator whose output no operator reads.
        operator: String,
    },
    /// An operator has no input.
    Unfed {
        /// Name of the operator.
        operator: String,
    },
    /// An edge's first two chunks do not fit into the memory budget.
    BudgetTooSmall {
        /// The edge, as `from -> to`.
        edge: String,
        /// The reservation that did not fit.
        exceeded: BudgetExceeded,
    },
    /// The queue that replaces the blocks of an edge does not fit into the memory budget; all of it is
    /// reserved at once.
    QueueTooLarge {
        /// The edge, as `from -> to`.
        edge: String,
        /// The reservation that did not fit.
        exceeded: BudgetExceeded,
    },
    /// An edge cannot be made with its settings.
    Edge {
        /// The edge, as `from -> to`.
        edge: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// A source has no split.
    NoSplit {
        /// Name of the source.
        source: String,
    },
    /// Streams of two queries were combined.
    OtherQuery {
        /// The query whose stream was combined with another's.
        other: String,
    },
    /// The engine is shutting down.
    EngineClosed,
    /// The machine has no thread for a worker, for the memory of edges, or for a task with a thread of its
    /// own.
    NoThread {
        /// The task, or the name of the engine's thread.
        operator: String,
        /// Reason given by the system.
        reason: String,
    },
    /// Queue memory is set, and the plan has an operator that does not support it.
    QueueMemory {
        /// Name of the operator.
        operator: String,
    },
    /// With a thread per task, the tasks cannot be stepped.
    NotStepped,
}

impl PlanError {
    /// Returns the stable code.
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

/// An error that ends a query before its streams end.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// A user's function panicked.
    Panicked {
        /// The operator whose code panicked.
        operator: String,
        /// Message of the panic.
        message: String,
    },
    /// A source or a sink failed.
    Connector {
        /// The task of the source or sink.
        operator: String,
        /// The failure.
        fault: Fault,
    },
    /// State would exceed the memory budget.
    StateLimit {
        /// The task with the state.
        operator: String,
        /// The reservation that did not fit.
        exceeded: BudgetExceeded,
    },
    /// A task ran for [`STUCK_AFTER_NS`](crate::limits::STUCK_AFTER_NS) and moved nothing.
    Stuck {
        /// Name of the task.
        operator: String,
        /// Names of the tasks, joined by arrows, each of which waits for the next. In a cycle the last name
        /// is one that came before.
        waits_for: String,
    },
    /// A caller cancelled the query.
    Cancelled,
    /// A worker of the engine died, and the engine closed: a defect of ours, or a clock or a policy that
    /// panicked. The panic was reported where it happened.
    WorkerDied,
}

impl QueryError {
    /// Returns the stable code.
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
