//! Joins: which rows of two inputs belong together, and by what the rows that wait for others are bounded.

use crate::expression::Typed;

/// Which rows of two inputs belong together, and what becomes of those that meet nobody.
#[derive(Clone, Debug)]
pub struct Join {
    /// What comes out.
    pub kind: JoinKind,
    /// How long rows wait for each other.
    pub method: JoinMethod,
    /// What must be equal; if there is nothing, every two rows may meet.
    pub keys: Vec<JoinKey>,
    /// What else must hold of two rows: over the columns of the left input, then those of the right one.
    pub condition: Option<Typed>,
}

/// Values of either side that must be equal, which are of one Arrow type. Floats are equal by their bits.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// Over the columns of the left input.
    pub left: Typed,
    /// Over the columns of the right input.
    pub right: Typed,
    /// Whether NULL equals NULL (IS NOT DISTINCT FROM); otherwise it equals nothing.
    pub is_null_equal: bool,
}

/// What comes out of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and rows of the left that met nobody, with NULL.
    Left,
    /// Pairs, and rows of the right that met nobody, with NULL.
    Right,
    /// Pairs, and rows of both sides that met nobody, with NULL.
    Full,
    /// Rows of the left that met somebody, once each.
    Semi,
    /// Rows of the left that met nobody.
    Anti,
}

impl JoinKind {
    /// Whether rows of the left come out that met nobody.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Whether rows of the right come out that met nobody.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }

    /// Whether only columns of the left come out.
    pub fn is_half(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// How long rows wait for each other.
#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// Until their window ends; rows of one window meet.
    Window {
        /// The columns of the left input.
        left: WindowPlaces,
        /// The columns of the right input.
        right: WindowPlaces,
        /// Whether windows are cut as the clocks of the session's zone show them: their time is TIMESTAMP_LTZ.
        is_local: bool,
    },
    /// As long as the watermark allows for somebody to come who is near enough: a left row at `l` meets right ones from
    /// `l + lower_ms` to `l + upper_ms`, both included.
    Interval {
        /// The place of event time in the left input.
        left_time: usize,
        /// The place of event time in the right input.
        right_time: usize,
        /// Below zero: before the left row.
        lower_ms: i64,
        /// Below the lower one if nobody meets anybody.
        upper_ms: i64,
    },
    /// A left row waits until the watermark has passed it, and meets the last right row of its key that is not later.
    Temporal {
        /// The place of event time in the left input.
        left_time: usize,
        /// The place of event time in the right input.
        right_time: usize,
        /// Which right rows are versions of their key.
        counts: Counted,
        /// Milliseconds of processing time for which a left row is remembered with the version that it met, so that the
        /// pair can be taken back. Settled plans have it if their left input changes.
        ttl_ms: Option<i64>,
    },
    /// Left rows wait until all of the right input is there.
    Lookup,
    /// So long after they were last touched; results that turn out wrong are taken back.
    Regular {
        /// In milliseconds of processing time.
        ttl_ms: i64,
    },
}

/// Which rows are versions of their key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// All.
    All,
    /// Those that do not come after a later one.
    InOrder,
    /// The earliest.
    First,
}

/// Where the window of a row stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowPlaces {
    /// The place of its start.
    pub start: usize,
    /// The place of its end.
    pub end: usize,
}
