//! Plans: what a query does, as a tree of operators over streams of columns.
//!
//! Each node says what its rows are ([`Plan::columns`]): names, types, and which columns are times that windows and
//! watermarks go by. A plan is finished: what it takes to run it is in it, nothing is to be resolved, and every operator
//! that remembers something has a bound for it (a window, an interval, a time to live).

pub mod changes;
pub mod explain;
pub mod prune;
pub mod steady;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;

use crate::aggregates::{BoundAggregate, aggregate};
use crate::catalog::Table;
use crate::expression::Typed;
use crate::text::plain::EXPRESSION_DEPTH_MAX;
use crate::types::SqlType;

mod join;

pub use join::{Counted, Join, JoinKey, JoinKind, JoinMethod, WindowPlaces};

/// A column of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: SqlType,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// What it is to windows and watermarks.
    pub role: Role,
}

impl Column {
    /// A column like any other.
    pub fn plain(name: impl Into<String>, of: SqlType, is_nullable: bool) -> Self {
        Column { name: name.into(), of, is_nullable, role: Role::Plain }
    }
}

/// What a column is to windows and watermarks. An expression loses it, a name for the column does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing.
    Plain,
    /// Event time: watermarks speak of it.
    Rowtime,
    /// Processing time.
    Proctime,
    /// Where the row's window begins.
    WindowStart(Windows),
    /// Where the row's window ends.
    WindowEnd(Windows),
}

/// The windows that a column of a stream speaks of.
///
/// Starts and ends are TIMESTAMP(3) in any case, so their type does not tell whose clocks they are read from. That is kept
/// here, because all that compares an end with a watermark has to know it, and the time column may be gone by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// How they are cut.
    pub spec: Arc<WindowSpec>,
    /// Whether they are cut as the clocks of the session's zone show them: their time is TIMESTAMP_LTZ.
    pub is_local: bool,
}

impl Windows {
    /// The type of `window_time`: that of the time that the windows are cut by.
    pub fn time_type(&self) -> SqlType {
        if self.is_local { SqlType::TimestampLtz(3) } else { SqlType::Timestamp(3) }
    }
}

/// How windows are cut. Spans are in milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WindowSpec {
    /// Back to back.
    Tumble {
        /// Above zero.
        size_ms: i64,
        /// Where one of them begins, from the epoch on.
        offset_ms: i64,
    },
    /// Of one size, one every slide.
    Hop {
        /// Above zero, and a multiple of the slide.
        size_ms: i64,
        /// Above zero.
        slide_ms: i64,
        /// Where one of them begins, from the epoch on.
        offset_ms: i64,
    },
    /// All that begin together, a step longer each, up to a size.
    Cumulate {
        /// Above zero, and a multiple of the step.
        size_ms: i64,
        /// Above zero.
        step_ms: i64,
        /// Where one of them begins, from the epoch on.
        offset_ms: i64,
    },
    /// As long as rows of a key follow each other within a gap.
    Session {
        /// Above zero.
        gap_ms: i64,
        /// The places of the keys in the input.
        keys: Vec<usize>,
    },
}

/// A query, or a part of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What its rows are.
    pub columns: Vec<Column>,
    /// What makes them.
    pub node: Node,
}

/// An operator and its inputs.
#[derive(Clone, Debug)]
pub enum Node {
    /// The rows of a table: its columns at the given places.
    Scan {
        /// The table.
        table: Arc<Table>,
        /// Which of its columns, and in which order.
        places: Vec<usize>,
    },
    /// Rows that stand in the query.
    Values(RecordBatch),
    /// Rows for which all conditions hold, made into others.
    Calc {
        /// Where rows come from.
        input: Box<Plan>,
        /// Over the columns of the input.
        conditions: Vec<Typed>,
        /// Over the columns of the input.
        outputs: Vec<Typed>,
    },
    /// Each row several times, in a different form each: grouping sets.
    Expand {
        /// Where rows come from.
        input: Box<Plan>,
        /// Over the columns of the input; each list makes one row.
        forms: Vec<Vec<Typed>>,
    },
    /// Each row once for each of its windows, with the window's start, end and time behind its columns.
    AssignWindows {
        /// Where rows come from.
        input: Box<Plan>,
        /// Which windows.
        spec: Arc<WindowSpec>,
        /// The place of the time column.
        time: usize,
    },
    /// Aggregates per key and window: keys, results, then the window's start, end and time.
    WindowAggregate {
        /// Where rows come from.
        input: Box<Plan>,
        /// Which windows rows are in.
        windows: Windowing,
        /// The places of the keys, without those of the window.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
    },
    /// The rows of several inputs.
    Union(Vec<Plan>),
    /// The first rows.
    Limit {
        /// Where rows come from.
        input: Box<Plan>,
        /// Rows that are left out first.
        skip: u64,
        /// Rows that come then.
        fetch: u64,
    },
    /// Rows in the order of event time, then of other columns.
    Sort {
        /// Where rows come from.
        input: Box<Plan>,
        /// The place of event time, which comes first, ascending.
        time: usize,
        /// What comes then.
        keys: Vec<SortKey>,
    },
    /// The first rows of each window and key, by an order, with their rank behind the columns.
    WindowTopN {
        /// Where rows come from.
        input: Box<Plan>,
        /// The place of the window's end.
        window_end: usize,
        /// Whether windows are cut as the clocks of the session's zone show them.
        is_local: bool,
        /// The places of the keys, the window's columns among them.
        keys: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// The first rank that comes out, from 1 on.
        from: u64,
        /// The last rank that comes out.
        to: u64,
    },
    /// Rows of two inputs that belong together: the columns of the left, then those of the right.
    Join {
        /// The left input.
        left: Box<Plan>,
        /// The right input.
        right: Box<Plan>,
        /// Which rows belong together.
        join: Join,
    },
    /// Each row with aggregates over the rows before it behind its columns.
    Over {
        /// Where rows come from; they are only ever added.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The place of event time, by which rows are ordered; none if it is by arrival.
        time: Option<usize>,
        /// Which rows are covered.
        frame: Frame,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// How long a key is remembered since its last row, in milliseconds; without it, for ever, unless the frame is a
        /// span of time.
        ttl_ms: Option<i64>,
    },
    /// Aggregates per key: keys, then results, which change with every row.
    Group {
        /// Where rows come from.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// Whether the input takes rows back.
        is_retracting: bool,
        /// How long a key is remembered since its last row, in milliseconds; settled plans have it.
        ttl_ms: Option<i64>,
    },
    /// The first rows of each key, by an order; they change with every row.
    Rank {
        /// Where rows come from.
        input: Box<Plan>,
        /// The places of the keys.
        keys: Vec<usize>,
        /// The order.
        order: Vec<SortKey>,
        /// How they are ranked. Settled plans have ROW_NUMBER only.
        function: RankFunction,
        /// The first rank that comes out, from 1 on.
        from: u64,
        /// The last rank that comes out. Settled plans have one.
        to: u64,
        /// Whether the rank stands behind the columns.
        has_rank: bool,
        /// Whether the input takes rows back.
        is_retracting: bool,
        /// How long a key is remembered since its last row, in milliseconds; settled plans have it.
        ttl_ms: Option<i64>,
    },
}

/// Which rows before a row its aggregate covers, beside the row itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// So many rows; all if none is said.
    Rows(Option<u64>),
    /// Those of so many milliseconds, and all of its own time; all before if none is said.
    Range(Option<i64>),
}

impl Frame {
    /// Whether rows leave it.
    pub fn is_bounded(self) -> bool {
        !matches!(self, Frame::Rows(None) | Frame::Range(None))
    }
}

/// How rows are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankFunction {
    /// By their place.
    RowNumber,
    /// By the place of the first row that is equal.
    Rank,
    /// By how many different ones there are up to it.
    DenseRank,
}

impl RankFunction {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            RankFunction::RowNumber => "ROW_NUMBER",
            RankFunction::Rank => "RANK",
            RankFunction::DenseRank => "DENSE_RANK",
        }
    }
}

/// How an aggregate tells the window of a row.
#[derive(Clone, Debug)]
pub enum Windowing {
    /// By its time: the windows are cut here.
    Cut {
        /// Which windows.
        spec: Arc<WindowSpec>,
        /// The place of the time column.
        time: usize,
    },
    /// By its columns: the windows were cut before.
    Given {
        /// Which windows they were.
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
    /// Its name, with DISTINCT if it is.
    pub name: String,
    /// The places of its arguments in the input.
    pub arguments: Vec<usize>,
    /// The place of the condition that rows must meet, if there is one.
    pub filter: Option<usize>,
    /// The function.
    pub function: BoundAggregate,
}

impl AggregateCall {
    /// Whether its result depends on the order in which rows come.
    pub fn is_ordered(&self) -> bool {
        let name = self.name.rsplit(' ').next().unwrap_or_default();
        // Of floats the first of equals stays, and NaNs and zeros of both signs are equal to some.
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
    /// Its place.
    pub place: usize,
    /// Whether the greatest comes first.
    pub is_descending: bool,
    /// Whether NULL comes first.
    pub is_null_first: bool,
}

impl Plan {
    /// The inputs.
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

    /// The place of event time, if it has exactly one column of it.
    pub fn rowtime(&self) -> Option<usize> {
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place].role == Role::Rowtime);
        let first = places.next()?;
        places.next().is_none().then_some(first)
    }

    /// The same rows with other columns: `outputs` over its columns, called `columns`. Two such steps become one.
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

    /// Only rows for which a condition over its columns holds.
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

    /// All its columns, as outputs of a step behind it.
    pub fn identity(&self) -> Vec<Typed> {
        let output =
            |(place, column): (usize, &Column)| Typed::column(place, column.of.clone(), column.is_nullable);
        self.columns.iter().enumerate().map(output).collect()
    }
}

/// Whether expressions over the results of others may be put in their place: each that computes something is used once at
/// most, and gives the same whenever it is computed, and what comes of it is no deeper than a query may say it: views upon views
/// would be one expression otherwise, on which every walk recurses.
fn can_merge(over: &[Typed], inner: &[Typed]) -> bool {
    let mut uses = vec![0; inner.len()];
    over.iter().for_each(|expression| expression.columns(&mut |place| uses[place] += 1));
    let deepest = |terms: &[Typed]| terms.iter().map(Typed::depth).max().unwrap_or_default();
    let of_inner = deepest(inner);
    // Most steps compute nothing, and need no look at those over them.
    if of_inner > 1 && of_inner + deepest(over) > EXPRESSION_DEPTH_MAX {
        return false;
    }
    inner.iter().zip(uses).all(|(inner, uses)| {
        inner.as_column().is_some() || inner.as_literal().is_some() || (uses <= 1 && inner.is_deterministic())
    })
}
