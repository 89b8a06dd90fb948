//! Frames of OVER windows as they are written.
//!
//! Source: Flink's documentation, "Over Aggregation"; the SQL standard, "window clause"; Calcite's checks of frames.

use sqlparser::ast::{Expr, Value, WindowFrame, WindowFrameBound, WindowFrameUnits};
use thalweg_sql_exec::plan::Frame;
use thalweg_sql_exec::plan::sorted_over::{Bound, Distance, RowFrame};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};

use super::super::syntax::{not_supported, said};

type Result<T> = std::result::Result<T, SqlError>;

const MS_PER_DAY: i64 = 86_400_000;

/// Reads a frame. `order` are the types of the columns in ORDER BY, by which RANGE measures distances.
///
/// # Errors
/// [`Code::Invalid`] for a frame that ends before it begins, and [`Code::TypeMismatch`] for a distance that does not fit
/// the column.
pub(super) fn read(frame: &WindowFrame, order: &[&SqlType]) -> Result<RowFrame> {
    let is_rows = match frame.units {
        WindowFrameUnits::Rows => true,
        WindowFrameUnits::Range => false,
        WindowFrameUnits::Groups => return Err(not_supported("GROUPS")),
    };
    let bound = |bound: &WindowFrameBound| -> Result<Bound> {
        Ok(match bound {
            WindowFrameBound::CurrentRow => Bound::Current,
            WindowFrameBound::Preceding(None) => Bound::First,
            WindowFrameBound::Following(None) => Bound::Last,
            WindowFrameBound::Preceding(Some(by)) => Bound::Offset(negative(distance(by, is_rows, order)?)),
            WindowFrameBound::Following(Some(by)) => Bound::Offset(distance(by, is_rows, order)?),
        })
    };
    let from = bound(&frame.start_bound)?;
    let to = frame.end_bound.as_ref().map_or(Ok(Bound::Current), bound)?;
    let side = |bound: Bound| match bound {
        Bound::First => -2,
        Bound::Current => 0,
        Bound::Last => 2,
        Bound::Offset(Distance::Whole(by)) => by.signum(),
        Bound::Offset(Distance::Float(by)) => by.partial_cmp(&0.0).map_or(0, |side| side as i128),
    };
    let is_backward = from == Bound::Last || to == Bound::First || side(from) > side(to);
    if is_backward {
        let message = format!("the frame {} ends before it begins", written(frame));
        return Err(SqlError::new(Code::Invalid, message).help("write the earlier bound first"));
    }
    Ok(RowFrame { is_rows, from, to })
}

fn negative(distance: Distance) -> Distance {
    match distance {
        Distance::Whole(by) => Distance::Whole(-by),
        // 0 stays 0, and does not become -0.
        Distance::Float(by) => Distance::Float(0.0 - by),
    }
}

fn distance(by: &Expr, is_rows: bool, order: &[&SqlType]) -> Result<Distance> {
    let mismatch = |message: String, help: &str| SqlError::new(Code::TypeMismatch, message).help(help);
    if is_rows {
        return match digits(by).and_then(|digits| digits.parse::<u32>().ok()) {
            Some(count) => Ok(Distance::Whole(i128::from(count))),
            None => {
                let message = format!("ROWS counts rows, and {} is no count", said(by));
                Err(mismatch(message, "write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW"))
            }
        };
    }
    let [of] = order else {
        let message = format!(
            "RANGE with a distance takes one column in ORDER BY, which {} is compared with, and there are {}",
            said(by),
            order.len()
        );
        return Err(SqlError::new(Code::Invalid, message).help("order by one column, or write ROWS"));
    };
    let of_time = || match super::super::windows::millis(by) {
        Some(ms) if ms >= 0 => Ok(ms),
        _ => {
            let message =
                format!("RANGE of {of} goes by a span of days to seconds, and {} is none", said(by));
            Err(mismatch(message, "write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"))
        }
    };
    let no_number = || {
        let message = format!("RANGE of {of} goes by a number of that type, and {} is none", said(by));
        Err(mismatch(message, "write RANGE BETWEEN 10 PRECEDING AND CURRENT ROW"))
    };
    match of {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            match digits(by).and_then(|digits| digits.parse().ok()) {
                Some(number) => Ok(Distance::Whole(number)),
                None => no_number(),
            }
        }
        SqlType::Decimal { scale, .. } => match digits(by).and_then(|digits| scaled(digits, *scale)) {
            Some(number) => Ok(Distance::Whole(number)),
            None => no_number(),
        },
        SqlType::Float | SqlType::Double => match digits(by).and_then(|digits| digits.parse::<f64>().ok()) {
            Some(number) if number.is_finite() => Ok(Distance::Float(number)),
            _ => no_number(),
        },
        SqlType::Date => Ok(Distance::Whole(i128::from(of_time()? / MS_PER_DAY))),
        SqlType::Time(_) => Ok(Distance::Whole(i128::from(of_time()?))),
        SqlType::Timestamp(places) | SqlType::TimestampLtz(places) => {
            // Times are kept in milliseconds, microseconds or nanoseconds.
            let units = match places {
                0..=3 => 1,
                4..=6 => 1_000,
                _ => 1_000_000,
            };
            Ok(Distance::Whole(i128::from(of_time()?) * units))
        }
        _ => {
            let message = format!("RANGE with a distance goes by a number or a time, and the column is {of}");
            Err(mismatch(message, "order by a number or a time, or write ROWS"))
        }
    }
}

fn digits(number: &Expr) -> Option<&str> {
    match number {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a number without a sign as a whole number of its last digit; `None` if it has more digits after its point than
/// `scale`.
fn scaled(digits: &str, scale: u8) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    format!("{whole}{fraction}{}", "0".repeat(missing)).parse().ok()
}

/// Returns a frame as one that ends at the current row and goes by time or by arrival; `None` for other frames.
pub(super) fn streamed(frame: Option<RowFrame>) -> Option<Frame> {
    let Some(RowFrame { is_rows, from, to: Bound::Current }) = frame.or(Some(RowFrame::DEFAULT)) else {
        return None;
    };
    let before = match from {
        Bound::First => None,
        Bound::Current => Some(0),
        Bound::Offset(Distance::Whole(by)) if by <= 0 => Some(by.unsigned_abs()),
        _ => return None,
    };
    Some(match (is_rows, before) {
        (true, before) => Frame::Rows(before.map(u64::try_from).transpose().ok()?),
        (false, before) => Frame::Range(before.map(i64::try_from).transpose().ok()?),
    })
}

/// Returns a frame as it is written.
pub(super) fn written(frame: &WindowFrame) -> String {
    match &frame.end_bound {
        Some(end) => format!("{} BETWEEN {} AND {end}", frame.units, frame.start_bound),
        None => format!("{} {}", frame.units, frame.start_bound),
    }
}
