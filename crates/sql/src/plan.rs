//! Plans: a query as a tree of operators over streams of columns.
//!
//! Each node states its columns ([`Plan::columns`]): names, types, and which columns are times for windows
//! and watermarks. A plan is complete: it holds everything needed to run it, nothing is left to resolve, and
//! every operator with state has a bound for it (a window, an interval, a time to live).

pub mod changes;
pub mod explain;
pub mod prune;
pub mod steady;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::aggregates::{BoundAggregate, aggregate};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::table::Table;

use crate::text::plain::EXPRESSION_DEPTH_MAX;

mod join;

pub use join::{Counted, Join, JoinKey, JoinKind, JoinMethod, WindowPlaces};

/// A column of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The type of the column.
    pub of: SqlType,
    /// Whether the column may be NULL.
    pub is_nullable: bool,
    /// The role of the column for windows and watermarks.
    pub role: Role,
}

impl Column {
    /// Creates a column without a role for windows and watermarks.
    pub fn plain(name: impl Into<String>, of: SqlType, is_nullable: bool) -> Self {
        Column { name: name.into(), of, is_nullable, role: Role::Plain }
    }
}

/// The role of a column for windows and watermarks. An expression loses it, an alias keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// No role.
    Plain,
    /// Event time, to which watermarks refer.
    Rowtime,
    /// Processing time.
    Proctime,
    /// The start of the row's window.
    WindowStart(Windows),
    /// The end of the row's window.
    WindowEnd(Windows),
}

/// The windows to which a column of a stream refers.
///
/// Starts and ends are always TIMESTAMP(3), so their type does not tell in which time zone they are read. It
/// is kept here: each comparison of a window's end with a watermark needs it, and the time column may be gone
/// by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// How the windows are cut.
    pub spec: Arc<WindowSpec>,
    /// Whether the windows are cut by local time of the session's zone; their time is then TIMESTAMP_LTZ.
    pub is_local: bool,
}

impl Windows {
    /// Returns the type of `window_time`, which is the type of the time that cuts the windows.
    pub fn time_type(&self) -> SqlType {
        if self.is_local { SqlType::TimestampLtz(3) } else { SqlType::Timestamp(3) }
    }
}

/// The rule by which windows are cut. Spans are in milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WindowSpec {
    /// Tumbling windows, back to back.
    Tumble {
        /// The size of each window, above zero.
        size_ms: i64,
        /// Distance from the epoch to the start of one window.
        offset_ms: i64,
    },
    /// Sliding windows of one size, one every slide.
    Hop {
        /// The size of each window, above zero and a multiple of the slide.
        size_ms: i64,
        /// The distance between the starts of windows, above zero.
        slide_ms: i64,
        /// Distance from the epoch to the start of one window.
        offset_ms: i64,
    },
    /// Cumulative windows: they begin together, each is one step longer, up to a size.
    Cumulate {
        /// The size of the longest window, above zero and a multiple of the step.
        size_ms: i64,
        /// The difference in size between windows, above zero.
        step_ms: i64,
        /// Distance from the epoch to the start of one window.
        offset_ms: i64,
    },
    /// Session windows: the rows of a key which follow each other within a gap.
    Session {
        /// The gap which ends a session, above zero.
        gap_ms: i64,
        /// The places of the keys in the input.
        keys: Vec<usize>,
    },
}

/// A query, or a part of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The columns of its rows.
    pub columns: Vec<Column>,
    /// The operator which makes the rows.
    pub node: Node,
}

/// An operator and its inputs.
#[derive(Clone, Debug)]
pub enum Node {
    /// The rows of a table: its columns at the given places.
    Scan {
        /// The table.
        table: Arc<Table>,
        /// The places of the columns read, in the order of the output.
        places: Vec<usize>,
    },
    /// Literal rows of the query.
    Values(RecordBatch),
    /// The rows for which all conditions hold, projected.
    Calc {
        /// The input.
        input: Box<Plan>,
        /// Conditions over the columns of the input.
        conditions: Vec<Typed>,
        /// Expressions over the columns of the input.
        outputs: Vec<Typed>,
    },
    /// Each row several times, each time in a different form: grouping sets.
    Expand {
        /// The input.
        input: Box<Plan>,
        /// Expressions over the columns of the input; each list makes one row.
        forms: Vec<Vec<Typed>>,
    },
    /// Each row once for each of its windows; the window's start, end and time follow its columns.
    AssignWindows {
        /// The input.
        input: Box<Plan>,
        /// The windows.
        spec: Arc<WindowSpec>,
        /// The place of the time column.
        time: usize,
    },
    /// Aggregates per key and window: keys, results, then the window's start, end and time.
    WindowAggregate {
        /// The input.
        input: Box<Plan>,
        /// The windows of the rows.
        windows: Windowing,
        /// The places of the keys, without the columns of the window.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
    },
    /// The union of the rows of several inputs.
    Union(Vec<Plan>),
    /// A limited number of rows, after skipping some.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// The number of rows dropped first.
        skip: u64,
        /// The number of rows passed on after that.
        fetch: u64,
    },
    /// Rows in the order of event time, then of other columns.
    Sort {
        /// The input.
        input: Box<Plan>,
        /// The place of event time, which comes first, ascending.
        time: usize,
        /// The further sort columns.
        keys: Vec<SortKey>,
    },
    /// The first rows of each window and key by an order, followed by their rank.
    WindowTopN {
        /// The input.
        input: Box<Plan>,
        /// The place of the window's end.
        window_end: usize,
        /// Whether the windows are cut by local time of the session's zone.
        is_local: bool,
        /// The places of the keys, the window's columns among them.
        keys: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The first rank in the output, from 1 on.
        from: u64,
        /// The last rank in the output.
        to: u64,
    },
    /// Pairs of matching rows of two inputs: the columns of the left, then the columns of the right.
    Join {
        /// The left input.
        left: Box<Plan>,
        /// The right input.
        right: Box<Plan>,
        /// The condition and the kind of the join.
        join: Join,
    },
    /// Each row, followed by aggregates over the rows before it.
    Over {
        /// The input, whose rows are only added.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The place of event time, by which rows are ordered; `None` for the order of arrival.
        time: Option<usize>,
        /// The rows that the aggregates cover.
        frame: Frame,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// How long a key is kept after its last row, in milliseconds. `None` keeps it forever, unless the
        /// frame is a span of time.
        ttl_ms: Option<i64>,
    },
    /// Aggregates per key: keys, then results, which change with every row.
    Group {
        /// The input.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// Whether the input retracts rows.
        is_retracting: bool,
        /// How long a key is kept after its last row, in milliseconds; settled plans have it.
        ttl_ms: Option<i64>,
    },
    /// The first rows of each key by an order; they change with every row.
    Rank {
        /// The input.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The ranking function. Settled plans have ROW_NUMBER only.
        function: RankFunction,
        /// The first rank in the output, from 1 on.
        from: u64,
        /// The last rank in the output. Settled plans have one.
        to: u64,
        /// Whether the rank follows the columns.
        has_rank: bool,
        /// Whether the input retracts rows.
        is_retracting: bool,
        /// How long a key is kept after its last row, in milliseconds; settled plans have it.
        ttl_ms: Option<i64>,
    },
}

/// The rows before a row which its aggregate covers, beside the row itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// This many rows; `None` for all rows before.
    Rows(Option<u64>),
    /// The rows of this many milliseconds before and all rows of the same time; `None` for all rows before.
    Range(Option<i64>),
}

impl Frame {
    /// Returns whether rows leave the frame.
    pub fn is_bounded(self) -> bool {
        !matches!(self, Frame::Rows(None) | Frame::Range(None))
    }
}

/// The function that ranks rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankFunction {
    /// Ranks by place.
    RowNumber,
    /// Ranks by the place of the first equal row.
    Rank,
    /// Ranks by the number of distinct values up to the row.
    DenseRank,
}

impl RankFunction {
    /// Returns its SQL name.
    pub fn name(self) -> &'static str {
        match self {
            RankFunction::RowNumber => "ROW_NUMBER",
            RankFunction::Rank => "RANK",
            RankFunction::DenseRank => "DENSE_RANK",
        }
    }
}

/// The way in which an aggregate knows the window of a row.
#[derive(Clone, Debug)]
pub enum Windowing {
    /// From the row's time: the aggregate cuts the windows itself.
    Cut {
        /// The windows.
        spec: Arc<WindowSpec>,
        /// The place of the time column.
        time: usize,
    },
    /// From the row's columns: the windows were cut before.
    Given {
        /// The windows that were cut.
        windows: Windows,
        /// The place of the window's start.
        start: usize,
        /// The place of the window's end.
        end: usize,
    },
}

/// A call of an aggregate function.
#[derive(Clone)]
pub struct AggregateCall {
    /// The name of the function, preceded by DISTINCT if the call is distinct.
    pub name: String,
    /// The places of its arguments in the input.
    pub arguments: Vec<usize>,
    /// The place of the condition that rows must meet, if there is one.
    pub filter: Option<usize>,
    /// The function.
    pub function: BoundAggregate,
}

impl AggregateCall {
    /// Returns whether its result depends on the order of the rows.
    pub fn is_ordered(&self) -> bool {
        let name = self.name.rsplit(' ').next().unwrap_or_default();
        // For floats MIN and MAX keep the first of equal values, and NaNs and zeros of both signs count as
        // equal.
        let is_of_floats = matches!(name, "MIN" | "MAX")
            && self.function.arguments.iter().any(|of| matches!(of, SqlType::Float | SqlType::Double));
        is_of_floats || aggregate(name).is_none_or(|function| function.is_ordered)
    }
}

impl std::fmt::Debug for AggregateCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name, self.arguments)
    }
}

/// A column to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The place of the column.
    pub place: usize,
    /// Whether the greatest value comes first.
    pub is_descending: bool,
    /// Whether NULL comes first.
    pub is_null_first: bool,
}

impl Plan {
    /// Returns the inputs.
    pub fn inputs(&self) -> Vec<&Plan> {
        match &self.node {
            Node::Scan { .. } | Node::Values(_) => Vec::new(),
            Node::Calc { input, .. }
            | Node::Expand { input, .. }
            | Node::AssignWindows { input, .. }
            | Node::WindowAggregate { input, .. }
            | Node::Limit { input, .. }
            | Node::Sort { input, .. }
            | Node::WindowTopN { input, .. }
            | Node::Over { input, .. }
            | Node::Group { input, .. }
            | Node::Rank { input, .. } => vec![input],
            Node::Union(inputs) => inputs.iter().collect(),
            Node::Join { left, right, .. } => vec![left, right],
        }
    }

    /// Returns the place of event time, if exactly one column has that role.
    pub fn rowtime(&self) -> Option<usize> {
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place].role == Role::Rowtime);
        let first = places.next()?;
        places.next().is_none().then_some(first)
    }

    /// Projects the rows to `outputs`, which are expressions over its columns, named `columns`. Two adjacent
    /// projections become one where `can_merge` allows it.
    #[must_use]
    pub fn project(self, outputs: Vec<Typed>, columns: Vec<Column>) -> Plan {
        match self.node {
            Node::Calc { input, conditions, outputs: inner } if can_merge(&outputs, &inner) => {
                let outputs =
                    outputs.iter().map(|output| output.replaced(&|place| inner[place].clone())).collect();
                Plan { columns, node: Node::Calc { input, conditions, outputs } }
            }
            node => {
                let input = Box::new(Plan { columns: self.columns, node });
                Plan { columns, node: Node::Calc { input, conditions: Vec::new(), outputs } }
            }
        }
    }

    /// Keeps only the rows for which a condition over its columns holds.
    #[must_use]
    pub fn filter(self, condition: Typed) -> Plan {
        match self.node {
            Node::Calc { input, mut conditions, outputs }
                if can_merge(std::slice::from_ref(&condition), &outputs) =>
            {
                conditions.push(condition.replaced(&|place| outputs[place].clone()));
                Plan { columns: self.columns, node: Node::Calc { input, conditions, outputs } }
            }
            node => {
                let columns = self.columns.clone();
                let output = |(place, column): (usize, &Column)| {
                    Typed::column(place, column.of.clone(), column.is_nullable)
                };
                let outputs = columns.iter().enumerate().map(output).collect();
                let input = Box::new(Plan { columns: self.columns, node });
                Plan { columns, node: Node::Calc { input, conditions: vec![condition], outputs } }
            }
        }
    }

    /// Returns all its columns, as outputs of a step behind it.
    pub fn identity(&self) -> Vec<Typed> {
        let output =
            |(place, column): (usize, &Column)| Typed::column(place, column.of.clone(), column.is_nullable);
        self.columns.iter().enumerate().map(output).collect()
    }
}

/// Returns whether expressions may be inlined into others that use their results. Each that computes
/// something must be deterministic and used at most once, and the result must not be deeper than
/// [`EXPRESSION_DEPTH_MAX`]. Without the depth limit, views over views would become one expression, on which
/// every walk recurses.
fn can_merge(over: &[Typed], inner: &[Typed]) -> bool {
    let mut uses = vec![0; inner.len()];
    over.iter().for_each(|expression| expression.columns(&mut |place| uses[place] += 1));
    let deepest = |terms: &[Typed]| terms.iter().map(Typed::depth).max().unwrap_or_default();
    let of_inner = deepest(inner);
    // Most steps compute nothing, so the expressions over them need no walk.
    if of_inner > 1 && of_inner + deepest(over) > EXPRESSION_DEPTH_MAX {
        return false;
    }
    inner.iter().zip(uses).all(|(inner, uses)| {
        inner.as_column().is_some() || inner.as_literal().is_some() || (uses <= 1 && inner.is_deterministic())
    })
}
