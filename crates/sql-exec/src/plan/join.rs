//! Joins: the condition under which rows of two inputs match, and the bound on rows that wait for a match.

use thalweg_sql_functions::expression::Typed;

use super::TimeDomain;

/// Join of two inputs: its kind, its condition, and how long rows wait for a match.
#[derive(Clone, Debug)]
pub struct Join {
    /// Kind of the join, which says whether it emits pairs, rows without a match, or rows with a match.
    pub kind: JoinKind,
    /// Method of the join, which bounds how long rows wait for a match.
    pub method: JoinMethod,
    /// Pairs of expressions that must be equal for two rows to match; if there is no pair, any two rows may
    /// match.
    pub keys: Vec<JoinKey>,
    /// Further condition on a pair of rows, over the columns of the left input, then the columns of the right
    /// one.
    pub condition: Option<Typed>,
}

/// A pair of expressions, one of each input of a join, that must be equal. Both have the same Arrow type.
/// Floats are compared by their bits.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// Key expression over the columns of the left input.
    pub left: Typed,
    /// Key expression over the columns of the right input.
    pub right: Typed,
    /// Whether NULL equals NULL (IS NOT DISTINCT FROM); otherwise NULL equals no value.
    pub is_null_equal: bool,
}

/// Kind of a join, which says which rows the join emits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Emits matching pairs.
    Inner,
    /// Emits matching pairs, and left rows without a match, padded with NULL.
    Left,
    /// Emits matching pairs, and right rows without a match, padded with NULL.
    Right,
    /// Emits matching pairs, and rows of both inputs without a match, padded with NULL.
    Full,
    /// Emits each left row with at least one match once (EXISTS, IN).
    Semi,
    /// Emits each left row without a match (NOT EXISTS, NOT IN).
    Anti,
}

impl JoinKind {
    /// Returns whether a join of this kind emits left rows without a match.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Returns whether a join of this kind emits right rows without a match.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }

    /// Returns whether a join of this kind emits only the columns of the left input.
    pub fn is_half(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// Method of a join, which bounds how long rows wait for a match.
#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// Window join: rows of the same window match, and wait until their window ends.
    Window {
        /// Window columns of the left input.
        left: WindowPlaces,
        /// Window columns of the right input.
        right: WindowPlaces,
        /// Whether the windows are cut by local time of the session's zone; their time is then TIMESTAMP_LTZ.
        is_local: bool,
    },
    /// Interval join: rows wait until the watermark rules out a match in time. A left row at time `l` matches
    /// right rows from `l + lower_ms` to `l + upper_ms`, both included.
    Interval {
        /// Index of the time column of the left input.
        left_time: usize,
        /// Index of the time column of the right input.
        right_time: usize,
        /// Lower bound, in milliseconds, of the right row's time minus the left row's; below zero it is
        /// before the left row.
        lower_ms: i64,
        /// Upper bound, in milliseconds, of the right row's time minus the left row's; if it is less
        /// than the lower bound, no rows match.
        upper_ms: i64,
        /// The time of the columns. Processing time is that at which a row comes to the join.
        domain: TimeDomain,
    },
    /// Temporal join: a left row waits until the watermark has passed it. It then matches the last right row
    /// of its key that is not later, which is the version valid at that time.
    Temporal {
        /// Index of the event time column of the left input.
        left_time: usize,
        /// Index of the event time column of the right input.
        right_time: usize,
        /// Right rows of a temporal join that count as versions of their key.
        counts: Counted,
        /// How long, in milliseconds of processing time, a left row is kept with the version that it matched,
        /// so that the pair can be retracted. It is `Some` in every plan that may run if the left input may
        /// change.
        ttl_ms: Option<i64>,
    },
    /// Lookup join: left rows wait until the whole right input is read.
    Lookup,
    /// Regular join without a bound in time: rows are kept for a time to live after they were added or their
    /// number of matches last changed, and results that a later row proves wrong are retracted.
    Regular {
        /// Time to live of the rows of each input after their last change, in milliseconds of processing time. `None`
        /// keeps them until the inputs end.
        ttl_ms: [Option<i64>; 2],
    },
}

/// Right rows of a temporal join that count as versions of their key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// All right rows are versions of their key.
    All,
    /// A right row is a version unless its event time is below the event time of a row of its key that
    /// arrived before it.
    InOrder,
    /// Only the right row of a key with the least event time is a version.
    First,
}

/// Window columns of one input of a window join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowPlaces {
    /// Index of the column that holds the start of the row's window.
    pub start: usize,
    /// Index of the column that holds the end of the row's window.
    pub end: usize,
}
