//! SQL functions of spans between points in time: TIMESTAMPADD, TIMESTAMPDIFF, OVERLAPS, and
//! intervals between two times.

use arrow::datatypes::{DurationMillisecondType, Int32Type, Int64Type, IntervalYearMonthType};

use super::calendar::add_months;
use super::moments::{self, Moment, Moments};
use super::unit::Unit;
use super::zone::Zone;
use crate::functions::each::{self, Input, Nulls, bound};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Binds TIMESTAMPADD: moves a time by a number of units, YEAR to SECOND. A DATE becomes a TIMESTAMP(6) for units
/// below a day. A TIME wraps within its day, so units from a day on do not change it. Months of instants are those of
/// UTC.
///
/// Source: Flink, `ScalarOperatorGens.generateTemporalPlusMinus`, and its `ScalarFunctionsTest`.
pub(super) fn add(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [unit, count, time] = given else { return Err(BindError::count(given.len())) };
    let unit = of_spans(unit)?;
    if !count.of.is_integer() && count.of != SqlType::Null {
        return Err(BindError::of_type(2, &count.of));
    }
    let of = match &time.of {
        SqlType::Null => SqlType::Timestamp(3),
        SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
            time.of.clone()
        }
        other => return Err(BindError::of_type(3, other)),
    };
    let is_within_day = unit.is_within_day();
    let is_time = matches!(of, SqlType::Time(_));
    let result = if of == SqlType::Date && is_within_day { SqlType::Timestamp(6) } else { of.clone() };
    let types = vec![SqlType::STRING, SqlType::BigInt, of];
    Ok(bound(types, given, result.clone(), Nulls::Anyway, move |arguments, rows| {
        let count = Input::<Int64Type>::of(&arguments[1])?;
        let moments = Moments::of(&arguments[2], Zone::UTC)?;
        moments::write(arguments, rows, &result, Zone::UTC, |row| {
            let (count, moment) = (count.at(row)?, moments.at(row)?);
            if is_time && !is_within_day { Some(moment) } else { later(moment, unit, count) }
        })
    }))
}

/// Returns a date and time moved by `count` units; `None` if the result is out of range.
fn later(moment: Moment, unit: Unit, count: i64) -> Option<Moment> {
    if let Some(months) = unit.months() {
        let day = add_months(moment.day(), count.checked_mul(months)?);
        return Some(Moment::on_day(day, moment.nanos_of_day()));
    }
    let seconds = count.checked_mul(unit.nanos()? / 1_000_000_000)?;
    Some(Moment { seconds: moment.seconds.checked_add(seconds)?, ..moment })
}

/// Binds TIMESTAMPDIFF: the number of whole units between two times, an INT, negative if the second is earlier. A
/// TIME counts as one of 1970-01-01. A TIMESTAMP_LTZ can be compared only with another one; its months are those of
/// UTC.
///
/// Source: Flink, `ScalarOperatorGens.generateTemporalPlusMinus`, `DateTimeUtils.subtractMonths`.
pub(super) fn diff(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [unit, first, second] = given else { return Err(BindError::count(given.len())) };
    let unit = of_spans(unit)?;
    let mut types = vec![SqlType::STRING];
    for (place, argument, other) in [(2, first, second), (3, second, first)] {
        types.push(match (&argument.of, &other.of) {
            (SqlType::Null, SqlType::Null) => SqlType::Timestamp(3),
            (SqlType::Null, other) => other.clone(),
            (SqlType::TimestampLtz(_), SqlType::TimestampLtz(_) | SqlType::Null) => argument.of.clone(),
            (SqlType::TimestampLtz(_), _) => {
                return Err(BindError::new(
                    "a TIMESTAMP_LTZ can be compared with another only: cast one of them",
                ));
            }
            (SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_), _) => argument.of.clone(),
            (other, _) => return Err(BindError::of_type(place, other)),
        });
    }
    Ok(bound(types, &given[1..], SqlType::Int, Nulls::OfArguments, move |arguments, rows| {
        let first = Moments::of(&arguments[1], Zone::UTC)?;
        let second = Moments::of(&arguments[2], Zone::UTC)?;
        each::primitive::<Int32Type, _>(arguments, rows, |row| {
            Some(units_between(first.at(row)?, second.at(row)?, unit) as i32)
        })
    }))
}

/// Binds the interval between two times of one type: the first argument is `MONTH` for whole months, else `SECOND` for the
/// milliseconds between them.
///
/// Source: Calcite, `SqlDatetimeSubtractionOperator`; Flink, `ScalarOperatorGens.generateTemporalPlusMinus`.
pub(super) fn between(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [kind, from, to] = given else { return Err(BindError::count(given.len())) };
    let is_of_months = kind.text() == Some("MONTH");
    let mut of = if from.of == SqlType::Null { &to.of } else { &from.of };
    if *of == SqlType::Null {
        of = &SqlType::Timestamp(3);
    }
    let is_time = of.is_timestamp() || matches!(of, SqlType::Date | SqlType::Time(_));
    for argument in [to, from] {
        let is_alike = std::mem::discriminant(of) == std::mem::discriminant(&argument.of);
        if !is_time || !(is_alike || argument.of == SqlType::Null) {
            let reason = format!(
                "an interval lies between two times of one type, and these are {} and {}",
                to.of, from.of
            );
            return Err(BindError::new(reason));
        }
    }
    let taken = |argument: &Argument| match argument.of {
        SqlType::Null => of.clone(),
        _ => argument.of.clone(),
    };
    let types = vec![SqlType::STRING, taken(from), taken(to)];
    let result = if is_of_months { SqlType::YearMonth } else { SqlType::DayTime };
    Ok(bound(types, &given[1..], result, Nulls::OfArguments, move |arguments, rows| {
        let (from, to) = (Moments::of(&arguments[1], Zone::UTC)?, Moments::of(&arguments[2], Zone::UTC)?);
        if is_of_months {
            return each::primitive::<IntervalYearMonthType, _>(arguments, rows, |row| {
                i32::try_from(months_between(to.at(row)?, from.at(row)?)).ok()
            });
        }
        each::primitive::<DurationMillisecondType, _>(arguments, rows, |row| {
            Some(to.at(row)?.millis().saturating_sub(from.at(row)?.millis()))
        })
    }))
}

fn units_between(first: Moment, second: Moment, unit: Unit) -> i64 {
    if let Some(months) = unit.months() {
        return months_between(second, first) / months;
    }
    let millis = second.millis().saturating_sub(first.millis());
    millis / unit.nanos().map_or(1, |nanos| nanos / 1_000_000)
}

/// Returns the number of whole months from `from` to `to`, negative if `to` is the earlier one, counted from
/// their days. If adding these months to the day of `from` gives the day of `to`, and the time of day of `to`
/// lies before that of `from`, the result is one less, as in Flink even for a negative number.
fn months_between(to: Moment, from: Moment) -> i64 {
    let months = months_of_days(to.day(), from.day());
    let is_same_day = add_months(from.day(), months) == to.day();
    let is_earlier = to.nanos_of_day() / 1_000_000 < from.nanos_of_day() / 1_000_000;
    months - i64::from(is_same_day && is_earlier)
}

/// Returns the number of whole months between two days.
fn months_of_days(to: i64, from: i64) -> i64 {
    if to < from {
        return -months_of_days(from, to);
    }
    // The number of whole months is searched between two bounds. No month has more than 31 days, so `low` is
    // a lower bound. Months have more than 30 days on average, so the true number exceeds `low` by less than
    // one thirtieth.
    let mut low = (to - from) / 31;
    let mut high = low + low / 30 + 2;
    while low < high {
        let middle = low + (high - low + 1) / 2;
        if add_months(from, middle) <= to {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Reads the unit argument of TIMESTAMPADD and TIMESTAMPDIFF.
fn of_spans(unit: &Argument) -> Result<Unit, BindError> {
    match Unit::of(Some(unit))? {
        unit @ (Unit::Year | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day) => Ok(unit),
        unit @ (Unit::Hour | Unit::Minute | Unit::Second) => Ok(unit),
        _ => Err(BindError::new(
            "the unit is none of YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE and SECOND",
        )),
    }
}

/// Binds OVERLAPS: true if two spans have a point in common, their ends included. A span is two points in any order,
/// or a point and an interval.
///
/// Source: Flink documentation, "Temporal functions"; its `TimeFunctionsITCase`.
pub(super) fn overlaps(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [first, first_end, second, second_end] = given else { return Err(BindError::count(given.len())) };
    let is_point = |of: &SqlType| {
        matches!(of, SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::TimestampLtz(_))
    };
    for (place, argument) in [(1, first), (3, second)] {
        if !is_point(&argument.of) {
            return Err(BindError::of_type(place, &argument.of));
        }
    }
    let kind = std::mem::discriminant(&first.of);
    if kind != std::mem::discriminant(&second.of) {
        return Err(BindError::new(format!("{} and {} are different types of time", first.of, second.of)));
    }
    for (place, argument) in [(2, first_end), (4, second_end)] {
        let is_interval = matches!(argument.of, SqlType::DayTime | SqlType::YearMonth);
        if !is_interval && std::mem::discriminant(&argument.of) != kind {
            return Err(BindError::of_type(place, &argument.of));
        }
    }
    let types = given.iter().map(|argument| argument.of.clone()).collect::<Vec<_>>();
    let ends = [first_end.of.clone(), second_end.of.clone()];
    Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
        let first = Span::of(&arguments[0], &arguments[1], &ends[0])?;
        let second = Span::of(&arguments[2], &arguments[3], &ends[1])?;
        each::boolean(arguments, rows, |row| {
            let ((first, first_end), (second, second_end)) = (first.at(row)?, second.at(row)?);
            Some(first <= second_end && second <= first_end)
        })
    }))
}

/// A span of time given by two arguments of OVERLAPS.
struct Span {
    begin: Moments,
    end: End,
}

enum End {
    Point(Moments),
    Millis(Input<DurationMillisecondType>),
    Months(Input<IntervalYearMonthType>),
}

impl Span {
    fn of(begin: &ColumnarValue, end: &ColumnarValue, of_end: &SqlType) -> Result<Span, EvaluationError> {
        let end = match of_end {
            SqlType::DayTime => End::Millis(Input::of(end)?),
            SqlType::YearMonth => End::Months(Input::of(end)?),
            _ => End::Point(Moments::of(end, Zone::UTC)?),
        };
        Ok(Span { begin: Moments::of(begin, Zone::UTC)?, end })
    }

    /// Returns the earlier and the later end of the span of time in a row; `None` if an argument is NULL.
    fn at(&self, row: usize) -> Option<(Moment, Moment)> {
        let begin = self.begin.at(row)?;
        let end = match &self.end {
            End::Point(points) => points.at(row)?,
            End::Millis(millis) => {
                let more = Moment::of_millis(millis.at(row)?);
                let nanos = begin.nanos + more.nanos;
                let seconds =
                    begin.seconds.saturating_add(more.seconds).saturating_add(nanos / 1_000_000_000);
                Moment { seconds, nanos: nanos % 1_000_000_000 }
            }
            End::Months(months) => {
                Moment::on_day(add_months(begin.day(), i64::from(months.at(row)?)), begin.nanos_of_day())
            }
        };
        Some((begin.min(end), begin.max(end)))
    }
}
