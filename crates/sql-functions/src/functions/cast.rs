//! CAST and TRY_CAST: the pairs of types, and how each is cast.
//!
//! Source: Flink's documentation, "Data Types", section "Casting" (the table of pairs), `LogicalTypeCasts` (implicit
//! casts) and the rules in `planner.functions.casting`. The module which implements a pair describes what the cast
//! does.
//!
//! | from | to | where |
//! |---|---|---|
//! | anything | text | `to_text` |
//! | text, bytes | anything | `from_text` |
//! | numbers, BOOLEAN | numbers, BOOLEAN | `numbers` |
//! | days, times, timestamps, intervals | each other | `times` |
//! | ARRAY, MAP, ROW | the same kind of type with other items | `nested` |
//!
//! Differs from Flink: nothing is cast to a CHAR or BINARY longer than [`PADDED_MAX`]. Timestamps of more than six
//! digits are held in 64 bits of nanoseconds, years 1677 to 2262; a timestamp beyond them cannot be cast to such a
//! type.

mod from_text;
mod nested;
mod numbers;
pub mod text;
mod times;
mod to_text;
pub mod zone;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use chrono_tz::Tz;

pub use to_text::Writer;

use super::over::{column_map, only};
use super::{BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Greatest length to which text or bytes are padded, in characters or bytes. CHAR(n) and BINARY(n) take their length
/// in every row, so a batch of 4,096 rows takes 256 MiB at this length.
pub const PADDED_MAX: u32 = 1 << 16;

/// Binds a cast. A value that cannot be cast makes CAST fail and gives NULL for TRY_CAST (`is_try`).
///
/// # Errors
/// [`BindError`] if Flink does not cast between these types.
pub fn bind_cast(
    from: &SqlType,
    from_nullable: bool,
    to: &SqlType,
    is_try: bool,
    context: &Context,
) -> Result<Bound, BindError> {
    let caster = caster(from, to, context.zone).ok_or_else(|| refusal(from, to))?;
    let kernel = move |arguments: &[ColumnarValue], _rows: usize| {
        column_map(only(arguments)?, |array| {
            let mut failures = Failures::new(is_try);
            let result = caster(array, &mut failures)?;
            failures.into_error().map_or(Ok(result), Err)
        })
    };
    Ok(Bound {
        arguments: vec![from.clone()],
        result: to.clone(),
        is_nullable: from_nullable || is_try || *from == SqlType::Null || may_overflow(from, to),
        kernel: Arc::new(kernel),
    })
}

/// Returns whether Flink casts from one type to the other at all.
pub fn is_castable(from: &SqlType, to: &SqlType) -> bool {
    caster(from, to, Tz::UTC).is_some()
}

/// Returns whether Flink casts from one type to the other without CAST: where a column is inserted, and where
/// a function takes another type.
///
/// Source: Flink, `LogicalTypeCasts.supportsImplicitCast`.
pub fn implicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::*;
    match (from, to) {
        (Null, _) => true,
        (from, to) if from == to => true,
        (Char(_), Char(_)) | (Char(_) | Varchar(_), Varchar(_)) => true,
        (Binary(_), Binary(_)) | (Binary(_) | Varbinary(_), Varbinary(_)) => true,
        (from, Double | Decimal { .. }) => from.is_numeric(),
        (from, Float) => from.is_numeric() && *from != Double,
        (TinyInt, SmallInt | Int | BigInt) | (SmallInt, Int | BigInt) | (Int, BigInt) => true,
        (Timestamp(_), Date | Time(_)) | (Time(_), Time(_)) => true,
        (Timestamp(_) | TimestampLtz(_), Timestamp(_) | TimestampLtz(_)) => true,
        (Array(from), Array(to)) => implicit(from, to),
        (Map(from_key, from_value), Map(to_key, to_value)) => {
            implicit(from_key, to_key) && implicit(from_value, to_value)
        }
        (Row(from), Row(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|((_, from), (_, to))| implicit(from, to))
        }
        _ => false,
    }
}

/// Function that casts a column. Rows that cannot be cast are NULL in the result and are added to the
/// [`Failures`] that it is given.
type Caster = Box<dyn Fn(&ArrayRef, &mut Failures) -> Result<ArrayRef, EvaluationError> + Send + Sync>;

/// Returns the function that casts one type to another; `None` if Flink has no such cast.
fn caster(from: &SqlType, to: &SqlType, zone: Tz) -> Option<Caster> {
    use SqlType::*;
    if from == to {
        return Some(Box::new(|array, _| Ok(Arc::clone(array))));
    }
    match (from, to) {
        (Null, _) => {
            let of = to.arrow();
            Some(Box::new(move |array, _| Ok(new_null_array(&of, array.len()))))
        }
        (_, Char(_) | Varchar(_)) => to_text::caster(from, to, zone),
        (Char(_) | Varchar(_), _) => from_text::caster(to, zone),
        (Binary(_) | Varbinary(_), Binary(_) | Varbinary(_)) => from_text::bytes_caster(to),
        (Array(_), Array(_)) | (Map(..), Map(..)) | (Row(_), Row(_)) => nested::caster(from, to, zone),
        _ => numbers::caster(from, to).or_else(|| times::caster(from, to, zone)),
    }
}

/// Rows of a column that could not be cast.
struct Failures {
    is_try: bool,
    /// Indexes of the rows that could not be cast. They ascend, unless failures of several columns, such as
    /// the fields of a ROW, follow each other.
    rows: Vec<usize>,
    /// Error of each row that could not be cast; empty for TRY_CAST, which does not report errors.
    errors: Vec<EvaluationError>,
}

impl Failures {
    fn new(is_try: bool) -> Self {
        Failures { is_try, rows: Vec::new(), errors: Vec::new() }
    }

    fn add(&mut self, row: usize, error: impl FnOnce() -> EvaluationError) {
        self.rows.push(row);
        if !self.is_try {
            self.errors.push(error());
        }
    }

    /// Adds a failure for each row of arrays, maps or rows in which an item could not be cast. `row_of`
    /// returns the row that an item belongs to, or `None` if the failure of the item is ignored because the
    /// row is NULL anyway.
    fn take(&mut self, items: Failures, row_of: impl Fn(usize) -> Option<usize>) {
        let mut errors = items.errors.into_iter();
        for item in items.rows {
            let error = errors.next();
            if let Some(row) = row_of(item) {
                self.rows.push(row);
                self.errors.extend(error);
            }
        }
    }

    /// Returns the error of the first row that could not be cast; `None` if there is none, and always for
    /// TRY_CAST.
    fn into_error(self) -> Option<EvaluationError> {
        self.rows.into_iter().zip(self.errors).min_by_key(|(row, _)| *row).map(|(_, error)| error)
    }
}

/// Returns whether a cast may turn a value into NULL, because a number may not fit the digits of a decimal.
fn may_overflow(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::*;
    match (from, to) {
        (_, &Decimal { precision, scale }) => match from.as_decimal() {
            // Rounding a decimal to fewer digits after the point may carry into one more digit before the
            // point, as 9.9 becomes 10.
            Some((from_precision, from_scale)) => {
                let carry = u8::from(scale < from_scale);
                precision - scale < from_precision - from_scale + carry
            }
            None if *from == Boolean => precision == scale,
            None if from.is_text() => false,
            None => true,
        },
        _ => false,
    }
}

fn refusal(from: &SqlType, to: &SqlType) -> BindError {
    let hint = if matches!(*to, SqlType::Char(length) | SqlType::Binary(length) if PADDED_MAX < length) {
        ": every row would be padded to it, write VARCHAR or VARBINARY"
    } else if from.is_numeric() && to.is_timestamp() {
        ": TO_TIMESTAMP_LTZ makes a timestamp of a number"
    } else if from.is_timestamp() && to.is_numeric() {
        ": UNIX_TIMESTAMP and EXTRACT make numbers of timestamps"
    } else {
        ""
    };
    BindError::new(format!("{from} cannot be cast to {to}{hint}"))
}

#[cfg(test)]
mod tests;
