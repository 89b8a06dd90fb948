//! Calls of an OVER window whose rows are in the order of any columns: their functions and frames.
//!
//! Source: Flink, `StreamExecOverAggregate` and `BatchExecOverAggregate`; the SQL standard for frames.

use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::Place;

use super::{AggregateCall, RankFunction};

/// A call of an OVER window that is ordered by any columns.
#[derive(Clone, Debug)]
pub struct SortedCall {
    /// The function that is computed for each row.
    pub function: SortedFunction,
    /// Type of the result.
    pub result: SqlType,
    /// Whether the result may be NULL.
    pub is_nullable: bool,
    /// Place of the call in the text, for errors; `None` if it is not known.
    pub at: Option<Place>,
}

/// Function of a call of an OVER window that is ordered by any columns.
#[derive(Clone, Debug)]
pub enum SortedFunction {
    /// An aggregate of the rows in the frame of each row.
    Aggregate {
        /// The aggregate function with its arguments.
        call: Box<AggregateCall>,
        /// Rows that the aggregate covers.
        frame: RowFrame,
    },
    /// ROW_NUMBER, RANK or DENSE_RANK.
    Rank(RankFunction),
    /// PERCENT_RANK: the rank less 1, divided by the number of rows of the key less 1; 0 for the only row.
    PercentRank,
    /// CUME_DIST: the part of the rows of the key that come before the row or are equal to it by the order.
    CumeDist,
    /// NTILE: the number of the row's bucket, of this many buckets of nearly equal size.
    Ntile(u64),
    /// LAG and LEAD: the value of another row of the key.
    Offset {
        /// Index of the column whose value is the result.
        value: usize,
        /// Index of the column whose value, of the row itself, is the result if there is no such row; `None` for NULL.
        default: Option<usize>,
        /// Number of rows from the row to the other row: below zero for LAG, above zero for LEAD.
        rows: i64,
        /// Whether the call is written as LEAD.
        is_lead: bool,
    },
}

/// Frame of an aggregate: the rows that it covers for each row, from one bound to the other, both included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RowFrame {
    /// Whether bounds count rows (ROWS), or compare values of the sort column (RANGE).
    pub is_rows: bool,
    /// First row of the frame.
    pub from: Bound,
    /// Last row of the frame.
    pub to: Bound,
}

/// Bound of a frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// The first row of the key (UNBOUNDED PRECEDING).
    First,
    /// A distance before the row (below zero) or behind it (above zero).
    Offset(Distance),
    /// The row itself; with RANGE, the rows that are equal to it by the order.
    Current,
    /// The last row of the key (UNBOUNDED FOLLOWING).
    Last,
}

/// Distance between rows: a number of rows, or a difference of the values of the sort column.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distance {
    /// A number of rows, or a difference in the units in which the column is kept: the last digit of a decimal, or the
    /// days, milliseconds, microseconds or nanoseconds of a time.
    Whole(i128),
    /// A difference of floats.
    Float(f64),
}

impl RowFrame {
    /// The frame of a call for which none is written: all rows up to the row and those that are equal to it by the order.
    pub const DEFAULT: RowFrame = RowFrame { is_rows: false, from: Bound::First, to: Bound::Current };

    /// Returns whether the frame begins with the first row and ends with the row itself, so that it needs no rows behind it.
    pub fn is_all_before(self) -> bool {
        (self.from, self.to) == (Bound::First, Bound::Current)
    }

    /// Returns whether the frame may have rows behind the row.
    pub fn looks_ahead(self) -> bool {
        let is_behind = |bound: Bound| match bound {
            Bound::Last => true,
            Bound::Offset(Distance::Whole(by)) => by > 0,
            Bound::Offset(Distance::Float(by)) => by > 0.0,
            Bound::First | Bound::Current => false,
        };
        is_behind(self.from) || is_behind(self.to)
    }
}

impl SortedFunction {
    /// Returns the SQL name of the function, followed by DISTINCT if the call is of distinct values.
    pub fn name(&self) -> String {
        match self {
            SortedFunction::Aggregate { call, .. } => call.name(),
            SortedFunction::Rank(function) => function.name().to_owned(),
            SortedFunction::PercentRank => "PERCENT_RANK".to_owned(),
            SortedFunction::CumeDist => "CUME_DIST".to_owned(),
            SortedFunction::Ntile(_) => "NTILE".to_owned(),
            SortedFunction::Offset { is_lead: true, .. } => "LEAD".to_owned(),
            SortedFunction::Offset { is_lead: false, .. } => "LAG".to_owned(),
        }
    }

    /// Returns the indexes of the columns that the function reads.
    pub fn arguments(&self) -> Vec<usize> {
        match self {
            SortedFunction::Aggregate { call, .. } => {
                call.arguments.iter().chain(&call.filter).copied().collect()
            }
            SortedFunction::Offset { value, default, .. } => [*value].into_iter().chain(*default).collect(),
            SortedFunction::Rank(_)
            | SortedFunction::PercentRank
            | SortedFunction::CumeDist
            | SortedFunction::Ntile(_) => Vec::new(),
        }
    }

    /// Returns the function with other indexes for the columns that it reads.
    #[must_use]
    pub fn with_columns(self, to: &impl Fn(usize) -> usize) -> Self {
        match self {
            SortedFunction::Aggregate { call, frame } => SortedFunction::Aggregate {
                call: Box::new(AggregateCall {
                    arguments: call.arguments.iter().map(|place| to(*place)).collect(),
                    filter: call.filter.map(to),
                    ..*call
                }),
                frame,
            },
            SortedFunction::Offset { value, default, rows, is_lead } => {
                SortedFunction::Offset { value: to(value), default: default.map(to), rows, is_lead }
            }
            function => function,
        }
    }

    /// Returns whether rows that are equal by the order may have different results.
    pub fn tells_equals_apart(&self) -> bool {
        match self {
            SortedFunction::Aggregate { call, frame } => frame.is_rows || call.is_ordered(),
            SortedFunction::Rank(function) => *function == RankFunction::RowNumber,
            SortedFunction::PercentRank | SortedFunction::CumeDist => false,
            SortedFunction::Ntile(_) | SortedFunction::Offset { .. } => true,
        }
    }

    /// Returns whether the result of a row depends on rows before it alone, on the row, and on rows that are equal to it by
    /// the order.
    pub fn is_of_rows_before(&self) -> bool {
        match self {
            SortedFunction::Aggregate { frame, .. } => frame.is_all_before(),
            SortedFunction::Rank(_) => true,
            SortedFunction::Offset { rows, .. } => *rows <= 0,
            SortedFunction::PercentRank | SortedFunction::CumeDist | SortedFunction::Ntile(_) => false,
        }
    }
}
