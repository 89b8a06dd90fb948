//! Plans: a query as a tree of operators over streams of columns.
//!
//! Each node states its columns ([`Plan::columns`]): names, types, and which columns are times for windows
//! and watermarks. A plan is complete: it holds everything needed to run it, nothing is left to resolve, and
//! every operator with state has a bound for it (a window, an interval, a time to live).

mod arrival;
pub mod changes;
pub mod explain;
pub mod prune;
pub mod same;
pub mod sorted_over;
pub mod steady;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::aggregates::{AggregateFunction, BoundAggregate};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::UserFunction;
use thalweg_sql_tables::connect::check_source;
use thalweg_sql_tables::error::Place;
use thalweg_sql_tables::table::Table;

mod join;

pub use join::{Counted, Join, JoinKey, JoinKind, JoinMethod, WindowPlaces};
use sorted_over::SortedCall;

/// Greatest depth of an expression when consecutive projections are merged, for example views upon views.
/// Workers evaluate expressions on small stacks, and recurse once for each level, except in chains that are
/// deep on their left side, such as `a + b + c`.
const EXPRESSION_DEPTH_MAX: usize = 250;

/// A column of the rows that an operator of a plan emits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// SQL type of the column.
    pub of: SqlType,
    /// Whether the column may be NULL.
    pub is_nullable: bool,
    /// Whether the column is a time for windows and watermarks, a bound of a window, or a plain value.
    pub role: Role,
}

impl Column {
    /// Creates a column of a plan that has no role for windows and watermarks.
    pub fn plain(name: impl Into<String>, of: SqlType, is_nullable: bool) -> Self {
        Column { name: name.into(), of, is_nullable, role: Role::Plain }
    }
}

/// Role of a column for windows and watermarks. A renamed column keeps its role; the result of an expression
/// has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// The column is a plain value without a role for windows and watermarks.
    Plain,
    /// The column is the event time to which the watermarks of the stream refer.
    Rowtime,
    /// The column is the processing time.
    Proctime,
    /// The column is the time of the window of its row, cut by processing time. The watermarks of the stream refer to
    /// it. For windows, OVER and joins above it is the processing time.
    WindowProctime,
    /// The column is the start of the window of its row.
    WindowStart(Windows),
    /// The column is the end of the window of its row.
    WindowEnd(Windows),
}

impl Role {
    /// Returns whether windows, OVER and joins treat the column as the processing time.
    pub fn is_proctime(&self) -> bool {
        matches!(self, Role::Proctime | Role::WindowProctime)
    }

    /// Returns the role of a column when rows of several streams, in which it has this role, come together. Streams of
    /// windows over processing time have a clock each, and none tells the others that a window is over.
    #[must_use]
    pub fn merged(&self) -> Role {
        match self {
            Role::WindowStart(Windows { domain: TimeDomain::Processing, .. })
            | Role::WindowEnd(Windows { domain: TimeDomain::Processing, .. }) => Role::Plain,
            Role::WindowProctime => Role::Proctime,
            role => role.clone(),
        }
    }

    /// Returns whether the watermarks of the stream refer to the column.
    pub fn is_watermarked(&self) -> bool {
        matches!(self, Role::Rowtime | Role::WindowProctime)
    }
}

/// The time by which rows are put into windows, and by which the bounds of a join in time are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeDomain {
    /// Event time: the time in a column for which the table declares a watermark.
    Event,
    /// Processing time: the time at which a row comes to the operator.
    Processing,
}

/// The windows to which a window column of a stream refers: the rule that cuts them, and their time zone.
///
/// Starts and ends are always TIMESTAMP(3), so their type does not tell in which time zone they are read. The
/// zone is kept here because each comparison of a window's end with a watermark needs it, and the time column
/// may have been dropped by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Rule by which the windows are cut.
    pub spec: Arc<WindowSpec>,
    /// Whether the windows are cut by local time of the session's zone; the time column is then
    /// TIMESTAMP_LTZ.
    pub is_local: bool,
    /// Time by which rows are put into the windows.
    pub domain: TimeDomain,
}

impl Windows {
    /// Returns the role of the column `window_time`.
    pub fn time_role(&self) -> Role {
        match self.domain {
            TimeDomain::Event => Role::Rowtime,
            TimeDomain::Processing => Role::WindowProctime,
        }
    }

    /// Returns the type of the column `window_time`, which is the type of the time that cuts the windows.
    pub fn time_type(&self) -> SqlType {
        if self.is_local { SqlType::TimestampLtz(3) } else { SqlType::Timestamp(3) }
    }
}

/// Rule by which time is cut into windows. All spans are in milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WindowSpec {
    /// Tumbling windows, which lie back to back and do not overlap.
    Tumble {
        /// Size of each tumbling window in milliseconds, above zero.
        size_ms: i64,
        /// Distance in milliseconds from the start of 1970 to the start of any one of the windows.
        offset_ms: i64,
    },
    /// Sliding windows of one size, one of which starts at every slide.
    Hop {
        /// Size of each sliding window in milliseconds, above zero and a multiple of the slide.
        size_ms: i64,
        /// Distance in milliseconds between the starts of consecutive sliding windows (the slide), above
        /// zero.
        slide_ms: i64,
        /// Distance in milliseconds from the start of 1970 to the start of any one of the windows.
        offset_ms: i64,
    },
    /// Cumulative windows: they begin together, each is one step longer than the one before, up to a greatest
    /// size.
    Cumulate {
        /// Size of the longest cumulative window in milliseconds, above zero and a multiple of the step.
        size_ms: i64,
        /// Difference in size between consecutive cumulative windows in milliseconds, above zero.
        step_ms: i64,
        /// Distance in milliseconds from the start of 1970 to the start of any one of the windows.
        offset_ms: i64,
    },
    /// Session windows: rows of one key of which each comes at most `gap` after the row before, in event
    /// time.
    Session {
        /// Time without a row of the key after which a session ends, in milliseconds, above zero.
        gap_ms: i64,
        /// Indexes of the columns of the input whose values form the key of a session.
        keys: Vec<usize>,
    },
}

/// Plan of a query or of a part of it: one operator with its inputs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Columns of the rows that the operator emits.
    pub columns: Vec<Column>,
    /// The operator of the plan that makes the rows, with its inputs.
    pub node: Node,
    /// Place in the text to which errors about the operator point: the first column that its keys, its
    /// condition or its call name. `None` if it is not known.
    pub at: Option<Place>,
}

/// An operator of a plan and its inputs.
#[derive(Clone, Debug)]
pub enum Node {
    /// Rows of a table, with some of its columns.
    Scan {
        /// The table that is read.
        table: Arc<Table>,
        /// Indexes of the table's columns that are read, in the order of the output.
        places: Vec<usize>,
    },
    /// Literal rows that stand in the text of the query.
    Values(RecordBatch),
    /// Filter and projection: the rows for which all conditions hold, with one output column for each
    /// expression.
    Calc {
        /// Input whose rows are filtered and projected.
        input: Box<Plan>,
        /// Conditions over the columns of the input; a row passes if all of them hold.
        conditions: Vec<Typed>,
        /// Expressions over the columns of the input; each of them makes one output column.
        outputs: Vec<Typed>,
    },
    /// Emits each input row several times, each time with the values of another list of expressions, as
    /// grouping sets need it.
    Expand {
        /// Input whose rows are emitted several times.
        input: Box<Plan>,
        /// Lists of expressions over the columns of the input; each list makes one output row of an input
        /// row.
        forms: Vec<Vec<Typed>>,
    },
    /// Emits each input row once for each element of an array or each entry of a map. The output columns are those of
    /// the input, the parts of the element, and its position.
    Unnest {
        /// Input whose rows are emitted once for each element.
        input: Box<Plan>,
        /// Array or map, as an expression over the columns of the input.
        value: Typed,
        /// Fate of a row without elements, whose array or map is NULL or empty.
        kind: UnnestKind,
        /// Indexes of the columns of the input that the output has.
        kept: Vec<usize>,
        /// Indexes of the parts of an element that the output has. The parts of a row in an array are its fields; those
        /// of an entry of a map are its key and its value; any other element is its only part.
        parts: Vec<usize>,
        /// Whether the last output column is the position of the element, from 1 on (WITH ORDINALITY).
        has_ordinality: bool,
    },
    /// Sets a time column to the processing time at which a row comes. It is the event time of the stream from here on,
    /// and watermarks follow the clock.
    ByArrival {
        /// Input whose rows get the time at which they come.
        input: Box<Plan>,
        /// Index of the time column.
        time: usize,
        /// Rule of the windows above, at whose ends a watermark must come. The rule of sessions is without its keys.
        spec: Arc<WindowSpec>,
    },
    /// Emits each input row once for each of its windows; the window's start, end and time follow its
    /// columns.
    AssignWindows {
        /// Input whose rows get windows.
        input: Box<Plan>,
        /// Rule by which the windows are cut.
        spec: Arc<WindowSpec>,
        /// Index of the time column that decides to which windows a row belongs.
        time: usize,
    },
    /// Aggregates per key and window. The output columns are the keys, the results, and the window's start,
    /// end and time.
    WindowAggregate {
        /// Input whose rows are aggregated per key and window.
        input: Box<Plan>,
        /// The way in which the aggregate finds the windows of a row.
        windows: Windowing,
        /// Indexes of the key columns in the input, without the columns of the window.
        keys: Vec<usize>,
        /// Aggregate functions, each with its arguments.
        calls: Vec<AggregateCall>,
    },
    /// The rows of all inputs as one stream, as UNION ALL.
    Union(Vec<Plan>),
    /// Drops the first rows of the input and passes on a limited number of the rows after them, as OFFSET and
    /// LIMIT.
    Limit {
        /// Input of which a limited number of rows passes.
        input: Box<Plan>,
        /// Number of rows at the start of the input that are dropped (OFFSET).
        skip: u64,
        /// Greatest number of rows that are passed on after those dropped (LIMIT).
        fetch: u64,
    },
    /// The rows that are left of the input when it has ended, in an order, without the first ones (OFFSET), and at
    /// most a number of them (LIMIT). The rows that this operator emits are never changed.
    Final {
        /// Input that ends, and whose last state is wanted.
        input: Box<Plan>,
        /// Columns by which the rows are sorted. Rows that are equal in them are sorted by all columns, from left to
        /// right.
        order: Vec<SortKey>,
        /// Number of rows at the start of the order that are left out (OFFSET).
        skip: u64,
        /// Greatest number of rows that are emitted after them (LIMIT); [`u64::MAX`] for all.
        fetch: u64,
        /// Whether the input may retract rows.
        is_retracting: bool,
    },
    /// Rows in the order of event time, and rows of the same event time in the order of further columns.
    Sort {
        /// Input whose rows are sorted.
        input: Box<Plan>,
        /// Index of the event time column, by which rows are sorted first, in ascending order.
        time: usize,
        /// Further columns, by which rows of the same event time are sorted.
        keys: Vec<SortKey>,
    },
    /// Top-N per window: the first rows of each window and key by an order, each followed by its rank.
    WindowTopN {
        /// Input whose rows are ranked per window.
        input: Box<Plan>,
        /// Index of the column that holds the end of the row's window.
        window_end: usize,
        /// Whether the windows are cut by local time of the session's zone.
        is_local: bool,
        /// Indexes of the key columns, which include the columns of the window.
        keys: Vec<usize>,
        /// Columns by which the rows of one key and window are ranked.
        order: Vec<SortKey>,
        /// First rank that is emitted; ranks begin at 1.
        from: u64,
        /// Last rank that is emitted, included.
        to: u64,
    },
    /// Pairs of matching rows of two inputs: the columns of the left row, then the columns of the right row.
    Join {
        /// Left input of the join.
        left: Box<Plan>,
        /// Right input of the join.
        right: Box<Plan>,
        /// Condition, kind (inner, outer, semi or anti) and method of the join.
        join: Join,
    },
    /// OVER aggregation: each row, followed by aggregates over the row and the rows before it.
    Over {
        /// Input of the OVER aggregation; its rows are only added, never updated or deleted.
        input: Box<Plan>,
        /// Indexes of the PARTITION BY columns, whose values form the key.
        keys: Vec<usize>,
        /// Index of the event time column by which rows are ordered; `None` for the order of arrival.
        time: Option<usize>,
        /// Frame of the OVER window: the rows before the current row that the aggregates cover.
        frame: Frame,
        /// Aggregate functions that are computed over the frame of each row.
        calls: Vec<AggregateCall>,
        /// How long the state of a key is kept after its last row, in milliseconds of processing time. `None`
        /// keeps it forever, unless the frame is a span of time.
        ttl_ms: Option<i64>,
    },
    /// OVER aggregation in the order of any columns: each row, followed by the results of calls over the rows of its key.
    SortedOver {
        /// Input of the OVER aggregation.
        input: Box<Plan>,
        /// Indexes of the PARTITION BY columns, whose values form the key.
        keys: Vec<usize>,
        /// Columns by which the rows of a key are ordered. Without any, all rows of a key are equal by the order.
        order: Vec<SortKey>,
        /// Functions that are computed for each row, each over a frame of its own.
        calls: Vec<SortedCall>,
        /// Whether rows come out at the end of the input and are never changed. Else they come out at once, and change
        /// when other rows come before them.
        is_final: bool,
        /// How long the state of a key is kept after its last row, in milliseconds of processing time; `None` keeps it
        /// until the input ends.
        ttl_ms: Option<i64>,
    },
    /// Aggregates per key without a window. The output columns are the keys and the results. Results change with every
    /// row, or come out once, at the end of the input.
    Group {
        /// Input whose rows are aggregated per key.
        input: Box<Plan>,
        /// Indexes of the GROUP BY columns, whose values form the key.
        keys: Vec<usize>,
        /// Aggregate functions that are computed per key.
        calls: Vec<AggregateCall>,
        /// Whether the input may retract rows, so that the aggregates must be able to subtract.
        is_retracting: bool,
        /// Whether results come out at the end of the input and are never changed. Such an aggregate has no time to live,
        /// and its input retracts no rows.
        is_final: bool,
        /// How long the state of a key is kept after its last row, in milliseconds of processing time. `None`,
        /// which a plan may have whose input ends, keeps it until then.
        ttl_ms: Option<i64>,
    },
    /// EXCEPT ALL or INTERSECT ALL: each row as often as the numbers of equal rows on both sides say.
    Bag {
        /// Rows of both sides. The last column, a BOOLEAN that is never NULL, is TRUE for rows of the right side; the
        /// output has the columns before it.
        input: Box<Plan>,
        /// How often a row is there.
        kind: BagKind,
        /// How long a row is kept after its last change, in milliseconds of processing time. `None`, which a plan may
        /// have whose input ends, keeps it until then.
        ttl_ms: Option<i64>,
    },
    /// The last row of each key of a table whose changes may come twice or lack their `-U`. Each change that is emitted
    /// follows from the rows that were emitted before.
    Normalize {
        /// Input whose changes are put right.
        input: Box<Plan>,
        /// Indexes of the columns of the table's primary key, of whose values at most one row is kept.
        keys: Vec<usize>,
        /// How long the row of a key is kept after its last change, in milliseconds of processing time. `None`
        /// keeps it for ever.
        ttl_ms: Option<i64>,
    },
    /// Top-N without a window: the first rows of each key by an order; the result may change with every row.
    Rank {
        /// Input whose rows are ranked per key.
        input: Box<Plan>,
        /// Indexes of the PARTITION BY columns, whose values form the key.
        keys: Vec<usize>,
        /// Columns by which the rows of one key are ranked.
        order: Vec<SortKey>,
        /// The ranking function. Every plan that may run has ROW_NUMBER here, because planning refuses the
        /// others.
        function: RankFunction,
        /// First rank that is emitted; ranks begin at 1.
        from: u64,
        /// Last rank that is emitted, included. Planning refuses a top-N without an upper bound.
        to: u64,
        /// Whether the rank is emitted as a column after the columns of the input.
        has_rank: bool,
        /// Whether the input may retract rows.
        is_retracting: bool,
        /// How long the state of a key is kept after its last row, in milliseconds of processing time. `None`,
        /// which a plan may have whose input ends, or that ranks rows of one key that are only added, keeps it
        /// until the input ends.
        ttl_ms: Option<i64>,
    },
}

/// How often a row is in the result of a set operation with ALL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BagKind {
    /// EXCEPT ALL: as often as the left side has the row more often than the right one.
    Except,
    /// INTERSECT ALL: as often as both sides have the row.
    Intersect,
}

impl BagKind {
    /// Returns the name of the operator for display.
    pub fn name(self) -> &'static str {
        match self {
            BagKind::Except => "except-all",
            BagKind::Intersect => "intersect-all",
        }
    }

    /// Returns how often a row is there, given how often the left side and the right side have it. A number below 0 counts
    /// as 0.
    pub fn times(self, [left, right]: [i64; 2]) -> i64 {
        let (left, right) = (left.max(0), right.max(0));
        match self {
            BagKind::Except => (left - right).max(0),
            BagKind::Intersect => left.min(right),
        }
    }
}

/// Fate of a row without elements at an UNNEST.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnnestKind {
    /// The row is not emitted, as by CROSS JOIN.
    Inner,
    /// The row is emitted once, padded with NULL, as by LEFT JOIN.
    Left,
}

/// Frame of an OVER window: the rows before the current row that its aggregates cover, beside that row
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The frame covers this many rows before the current row, or all rows before it if `None`.
    Rows(Option<u64>),
    /// The frame covers this many milliseconds before the current row and all rows of the same time. If
    /// `None`, it covers all rows up to that time.
    Range(Option<i64>),
}

impl Frame {
    /// Returns whether the frame has a bounded start, which moves with the current row, so that old rows
    /// leave the frame.
    pub fn is_bounded(self) -> bool {
        !matches!(self, Frame::Rows(None) | Frame::Range(None))
    }
}

/// SQL function that ranks the rows of a top-N.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankFunction {
    /// ROW_NUMBER: numbers the rows from 1 on; rows that are equal in the sort columns get different numbers.
    RowNumber,
    /// RANK: gives rows that are equal in the sort columns the row number of the first of them.
    Rank,
    /// DENSE_RANK: counts the distinct values of the sort columns up to the row, the values of the row
    /// included.
    DenseRank,
}

impl RankFunction {
    /// Returns the SQL name of the ranking function.
    pub fn name(self) -> &'static str {
        match self {
            RankFunction::RowNumber => "ROW_NUMBER",
            RankFunction::Rank => "RANK",
            RankFunction::DenseRank => "DENSE_RANK",
        }
    }
}

/// The way in which a window aggregate finds the windows of a row.
#[derive(Clone, Debug)]
pub enum Windowing {
    /// The aggregate cuts the windows itself, from the time column of a row.
    Cut {
        /// Rule by which the aggregate cuts the windows.
        spec: Arc<WindowSpec>,
        /// Index of the time column from which the windows are cut.
        time: usize,
    },
    /// An operator before the aggregate has cut the windows, so each row has their start and end in columns.
    Given {
        /// Rule by which an earlier operator has cut the windows.
        windows: Windows,
        /// Index of the column that holds the start of the row's window.
        start: usize,
        /// Index of the column that holds the end of the row's window.
        end: usize,
    },
}

/// Function that an aggregate call computes.
#[derive(Clone, PartialEq, Debug)]
pub enum Aggregate {
    /// An aggregate function of SQL.
    Function(&'static AggregateFunction),
    /// An aggregate function that the program has registered.
    User(UserFunction),
    /// A ranking function over the rows of an OVER window.
    Rank(RankFunction),
    /// LAG: the value of an earlier row of an OVER window.
    Lag {
        /// Number of rows by which LAG goes back.
        rows: u32,
    },
}

impl Aggregate {
    /// Returns the SQL name of the aggregate function.
    pub fn name(&self) -> &str {
        match self {
            Aggregate::Function(function) => function.name,
            Aggregate::User(function) => function.name(),
            Aggregate::Rank(function) => function.name(),
            Aggregate::Lag { .. } => "LAG",
        }
    }
}

/// A call of an aggregate function in a plan.
#[derive(Clone)]
pub struct AggregateCall {
    /// The aggregate function that is called.
    pub aggregate: Aggregate,
    /// Whether the call is of distinct values only (DISTINCT).
    pub is_distinct: bool,
    /// Indexes of the input columns that are the arguments of the aggregate.
    pub arguments: Vec<usize>,
    /// Index of the boolean column of a FILTER clause; only rows for which it is TRUE are aggregated.
    pub filter: Option<usize>,
    /// The aggregate function, bound to the types of its arguments.
    pub function: BoundAggregate,
}

impl AggregateCall {
    /// Returns the call as messages and EXPLAIN name it: the function, followed by DISTINCT if the call is of
    /// distinct values.
    pub fn name(&self) -> String {
        format!("{}{}", self.aggregate.name(), if self.is_distinct { " DISTINCT" } else { "" })
    }

    /// Returns whether one worker must take all rows: the result depends on their order, or the call is of
    /// distinct values, of which each worker would keep a set of its own.
    pub fn is_ordered(&self) -> bool {
        self.is_distinct || self.depends_on_order()
    }

    /// Returns whether the result depends on the order in which rows are aggregated.
    pub fn depends_on_order(&self) -> bool {
        let function = match &self.aggregate {
            Aggregate::Function(function) => function,
            Aggregate::User(function) => return function.is_ordered(),
            Aggregate::Rank(_) | Aggregate::Lag { .. } => return true,
        };
        // MIN and MAX of floats depend on the order of rows: they keep the first of equal values, and NaNs
        // and zeros of both signs count as equal.
        let is_of_floats = matches!(function.name, "MIN" | "MAX")
            && self.function.arguments.iter().any(|of| matches!(of, SqlType::Float | SqlType::Double));
        is_of_floats || function.is_ordered
    }
}

impl std::fmt::Debug for AggregateCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name(), self.arguments)
    }
}

/// A column by which rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// Index of the column by which rows are sorted.
    pub place: usize,
    /// Whether the greatest value of the sort column comes first.
    pub is_descending: bool,
    /// Whether NULL in the sort column comes before all values.
    pub is_null_first: bool,
}

/// Lists the inputs of an operator, borrowed as the operator is. `$iterate` is the method that iterates over the inputs of
/// a union.
macro_rules! inputs_of {
    ($node:expr, $iterate:ident) => {
        match $node {
            Node::Scan { .. } | Node::Values(_) => Vec::new(),
            Node::Calc { input, .. }
            | Node::Expand { input, .. }
            | Node::Unnest { input, .. }
            | Node::ByArrival { input, .. }
            | Node::AssignWindows { input, .. }
            | Node::WindowAggregate { input, .. }
            | Node::Limit { input, .. }
            | Node::Final { input, .. }
            | Node::Sort { input, .. }
            | Node::WindowTopN { input, .. }
            | Node::Over { input, .. }
            | Node::SortedOver { input, .. }
            | Node::Group { input, .. }
            | Node::Bag { input, .. }
            | Node::Normalize { input, .. }
            | Node::Rank { input, .. } => vec![input],
            Node::Union(inputs) => inputs.$iterate().collect(),
            Node::Join { left, right, .. } => vec![left, right],
        }
    };
}

impl Plan {
    /// Creates a plan without a place in the text.
    pub fn new(columns: Vec<Column>, node: Node) -> Self {
        Plan { columns, node, at: None }
    }

    /// Returns the plan with a place in the text for its outermost operator. If the operator already has a
    /// place, this place is kept.
    #[must_use]
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.at = self.at.or(place);
        self
    }

    /// Returns the inputs of the outermost operator of the plan.
    pub fn inputs(&self) -> Vec<&Plan> {
        inputs_of!(&self.node, iter)
    }

    fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        inputs_of!(&mut self.node, iter_mut)
    }

    /// Iterates over the plan and all plans below it. Each plan comes before its inputs, and the inputs come
    /// from left to right, which is the order of the lines of EXPLAIN.
    pub fn walk(&self) -> impl Iterator<Item = &Plan> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let plan = open.pop()?;
            open.extend(plan.inputs().into_iter().rev());
            Some(plan)
        })
    }

    /// Returns whether all tables that the plan reads come to an end.
    pub fn ends(&self) -> bool {
        self.walk().all(|part| match &part.node {
            Node::Scan { table, .. } => check_source(table).is_ok_and(|abilities| abilities.is_bounded),
            _ => true,
        })
    }

    /// Returns the plan with each input of its outermost operator replaced by what `map` makes of it, from
    /// left to right. All else of the operator stays.
    ///
    /// # Errors
    /// The first error of `map`.
    pub fn map_inputs<E>(mut self, mut map: impl FnMut(Plan) -> Result<Plan, E>) -> Result<Plan, E> {
        for input in self.inputs_mut() {
            // A union of nothing stands in for the input while `map` owns it.
            let taken = std::mem::replace(input, Plan::new(Vec::new(), Node::Union(Vec::new())));
            *input = map(taken)?;
        }
        Ok(self)
    }

    /// Returns the index of the event time column, if exactly one column has that role.
    pub fn rowtime(&self) -> Option<usize> {
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place].role == Role::Rowtime);
        let first = places.next()?;
        places.next().is_none().then_some(first)
    }

    /// Adds a projection to a plan: `outputs` are expressions over the plan's columns, and `columns` names
    /// their results. Two adjacent projections become one where `can_merge` allows it.
    #[must_use]
    pub fn project(self, outputs: Vec<Typed>, columns: Vec<Column>) -> Plan {
        let at = self.at;
        match self.node {
            Node::Calc { input, conditions, outputs: inner } if can_merge(&outputs, &inner) => {
                let outputs =
                    outputs.iter().map(|output| output.replaced(&|place| inner[place].clone())).collect();
                Plan { columns, node: Node::Calc { input, conditions, outputs }, at }
            }
            node => {
                let input = Box::new(Plan { columns: self.columns, node, at });
                Plan::new(columns, Node::Calc { input, conditions: Vec::new(), outputs })
            }
        }
    }

    /// Adds a filter to a plan, which keeps only the rows for which `condition` over the plan's columns
    /// holds.
    #[must_use]
    pub fn filter(self, condition: Typed) -> Plan {
        let at = self.at;
        match self.node {
            Node::Calc { input, mut conditions, outputs }
                if can_merge(std::slice::from_ref(&condition), &outputs) =>
            {
                conditions.push(condition.replaced(&|place| outputs[place].clone()));
                Plan { columns: self.columns, node: Node::Calc { input, conditions, outputs }, at }
            }
            node => {
                let columns = self.columns.clone();
                let output = |(place, column): (usize, &Column)| {
                    Typed::column(place, column.of.clone(), column.is_nullable)
                };
                let outputs = columns.iter().enumerate().map(output).collect();
                let input = Box::new(Plan { columns: self.columns, node, at });
                Plan::new(columns, Node::Calc { input, conditions: vec![condition], outputs })
            }
        }
    }

    /// Returns one expression for each column of the plan, for a projection that changes nothing.
    pub fn identity(&self) -> Vec<Typed> {
        let output =
            |(place, column): (usize, &Column)| Typed::column(place, column.of.clone(), column.is_nullable);
        self.columns.iter().enumerate().map(output).collect()
    }
}

/// Returns whether `inner`, the outputs of a projection, may be inlined into the expressions `over` them. An
/// inner expression that computes something must be deterministic and used at most once. The result must not
/// be deeper than [`EXPRESSION_DEPTH_MAX`]: otherwise views over views would become one expression, on which
/// every walk recurses.
fn can_merge(over: &[Typed], inner: &[Typed]) -> bool {
    let mut uses = vec![0; inner.len()];
    over.iter().for_each(|expression| expression.columns(&mut |place| uses[place] += 1));
    let deepest = |terms: &[Typed]| terms.iter().map(Typed::depth).max().unwrap_or_default();
    let of_inner = deepest(inner);
    // Most projections compute nothing, so the depth of the expressions over them need not be computed.
    if of_inner > 1 && of_inner + deepest(over) > EXPRESSION_DEPTH_MAX {
        return false;
    }
    inner.iter().zip(uses).all(|(inner, uses)| {
        inner.as_column().is_some() || inner.as_literal().is_some() || (uses <= 1 && inner.is_deterministic())
    })
}
