//! Joins: the condition under which rows of two inputs match, and the bound on rows that wait for a match.

use thalweg_sql_functions::expression::Typed;

/// The join of two inputs: its condition, and the treatment of rows without a match.
#[derive(Clone, Debug)]
pub struct Join {
    /// The rows that come out.
    pub kind: JoinKind,
    /// How long rows wait for a match.
    pub method: JoinMethod,
    /// Pairs of expressions that must be equal; if empty, any two rows may match.
    pub keys: Vec<JoinKey>,
    /// A further condition on a pair: over the columns of the left input, then the columns of the right one.
    pub condition: Option<Typed>,
}

/// Values of either side that must be equal; both have the same Arrow type. Floats are compared by their
/// bits.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// The expression over the columns of the left input.
    pub left: Typed,
    /// The expression over the columns of the right input.
    pub right: Typed,
    /// Whether NULL equals NULL (IS NOT DISTINCT FROM); otherwise NULL equals no value.
    pub is_null_equal: bool,
}

/// The rows that come out of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Pairs, and rows of the left without a match, padded with NULL.
    Left,
    /// Pairs, and rows of the right without a match, padded with NULL.
    Right,
    /// Pairs, and rows of both sides without a match, padded with NULL.
    Full,
    /// Rows of the left with at least one match, once each.
    Semi,
    /// Rows of the left without a match.
    Anti,
}

impl JoinKind {
    /// Returns whether rows of the left without a match come out.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Returns whether rows of the right without a match come out.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }

    /// Returns whether only columns of the left come out.
    pub fn is_half(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// How long rows wait for a match.
#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// Rows wait until their window ends; rows of the same window match.
    Window {
        /// The window columns of the left input.
        left: WindowPlaces,
        /// The window columns of the right input.
        right: WindowPlaces,
        /// Whether the windows are cut by local time of the session's zone; their time is then TIMESTAMP_LTZ.
        is_local: bool,
    },
    /// Rows wait until the watermark rules out a match in time. A left row at `l` matches right rows from
    /// `l + lower_ms` to `l + upper_ms`, both included.
    Interval {
        /// The place of event time in the left input.
        left_time: usize,
        /// The place of event time in the right input.
        right_time: usize,
        /// The lower bound; below zero it is before the left row.
        lower_ms: i64,
        /// The upper bound; if it is less than the lower bound, no rows match.
        upper_ms: i64,
    },
    /// A left row waits until the watermark has passed it, and matches the last right row of its key that is
    /// not later.
    Temporal {
        /// The place of event time in the left input.
        left_time: usize,
        /// The place of event time in the right input.
        right_time: usize,
        /// The right rows that count as versions of their key.
        counts: Counted,
        /// How long, in milliseconds of processing time, a left row is kept with the version that it matched,
        /// so that the pair can be retracted. Settled plans have it if their left input changes.
        ttl_ms: Option<i64>,
    },
    /// Left rows wait until the whole right input is read.
    Lookup,
    /// Rows wait for a time to live after they were last written; wrong results are retracted.
    Regular {
        /// The time to live in milliseconds of processing time.
        ttl_ms: i64,
    },
}

/// The right rows that count as versions of their key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// All rows.
    All,
    /// The rows which are not older than a row that came before them.
    InOrder,
    /// The earliest row.
    First,
}

/// The window columns of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowPlaces {
    /// The place of the window's start.
    pub start: usize,
    /// The place of the window's end.
    pub end: usize,
}
