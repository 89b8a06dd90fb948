//! Points in time: SQL functions of times read them from columns of type DATE, TIME, TIMESTAMP or
//! TIMESTAMP_LTZ, and write them to such columns.
//!
//! A [`Moment`] is a local date and time. Instants are converted to local time in the given zone, and back.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Int32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};

use super::calendar::DAY_SECONDS;
use super::zone::{Overlap, Zone};
use crate::functions::EvaluationError;
use crate::functions::each::{self, Outcome, failure, one_or_many};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// A local date and time, as functions of times compute with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    /// Whole seconds since 1970-01-01 00:00:00 in local time.
    pub(super) seconds: i64,
    /// Nanoseconds since the beginning of the second.
    pub(super) nanos: i64,
}

impl Moment {
    /// Creates a local date and time from milliseconds since 1970-01-01 00:00:00 in the same local time.
    pub(super) fn of_millis(millis: i64) -> Moment {
        Moment { seconds: millis.div_euclid(1_000), nanos: millis.rem_euclid(1_000) * 1_000_000 }
    }

    /// Returns the local date and time as milliseconds since 1970-01-01 00:00:00 in the same local time,
    /// saturated to 64 bits.
    pub(super) fn millis(self) -> i64 {
        self.seconds.saturating_mul(1_000).saturating_add(self.nanos / 1_000_000)
    }

    /// Returns the day of a local date and time, as days since 1970-01-01.
    pub(super) fn day(self) -> i64 {
        self.seconds.div_euclid(DAY_SECONDS)
    }

    /// Returns the time of day of a local date and time, as nanoseconds since midnight.
    pub(super) fn nanos_of_day(self) -> i64 {
        self.seconds.rem_euclid(DAY_SECONDS) * 1_000_000_000 + self.nanos
    }

    /// Creates a local date and time from days since 1970-01-01 and nanoseconds since midnight. Nanoseconds
    /// below 0, or of a day and more, lead to an earlier or later day.
    pub(super) fn on_day(day: i64, nanos: i64) -> Moment {
        let seconds = day.saturating_mul(DAY_SECONDS).saturating_add(nanos.div_euclid(1_000_000_000));
        Moment { seconds, nanos: nanos.rem_euclid(1_000_000_000) }
    }
}

/// Argument of a function, of type DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ, which is read row by row.
pub(super) struct Moments {
    numbers: PrimitiveArray<Int64Type>,
    stride: usize,
    scale: Scale,
    /// Time zone in which a TIMESTAMP_LTZ is read as local time; `None` for other types.
    zone: Option<Zone>,
}

/// Unit of the numbers in a column of days, times or timestamps: days, or a number of units per second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Days,
    PerSecond(i64),
}

impl Moments {
    pub(super) fn of(argument: &ColumnarValue, zone: Zone) -> Result<Self, EvaluationError> {
        let (array, stride) = one_or_many(argument)?;
        let numbers = |scale: Scale, numbers: PrimitiveArray<Int64Type>, zone: Option<Zone>| {
            Ok(Moments { numbers, stride, scale, zone })
        };
        let zoned = matches!(array.data_type(), DataType::Timestamp(_, Some(_))).then_some(zone);
        match array.data_type() {
            DataType::Date32 => {
                numbers(Scale::Days, array.as_primitive::<Date32Type>().unary(i64::from), None)
            }
            DataType::Time32(TimeUnit::Millisecond) => {
                let millis = array.as_primitive::<Time32MillisecondType>().unary(i64::from);
                numbers(Scale::PerSecond(1_000), millis, None)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                let millis = array.as_primitive::<TimestampMillisecondType>().reinterpret_cast();
                numbers(Scale::PerSecond(1_000), millis, zoned)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast();
                numbers(Scale::PerSecond(1_000_000), micros, zoned)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                let nanos = array.as_primitive::<TimestampNanosecondType>().reinterpret_cast();
                numbers(Scale::PerSecond(1_000_000_000), nanos, zoned)
            }
            other => Err(failure(&format!("{other} is no type of time"))),
        }
    }

    /// Returns the date and time of a row; `None` if the argument is NULL there.
    pub(super) fn at(&self, row: usize) -> Option<Moment> {
        let row = row * self.stride;
        if self.numbers.is_null(row) {
            return None;
        }
        let number = self.numbers.value(row);
        let mut moment = match self.scale {
            Scale::Days => Moment { seconds: number.saturating_mul(DAY_SECONDS), nanos: 0 },
            Scale::PerSecond(count) => Moment {
                seconds: number.div_euclid(count),
                nanos: number.rem_euclid(count) * (1_000_000_000 / count),
            },
        };
        if let Some(zone) = &self.zone {
            moment.seconds = zone.local_of(moment.seconds);
        }
        Some(moment)
    }
}

/// Builds a column of a time type from local dates and times; one that does not fit the type becomes NULL.
/// For TIMESTAMP_LTZ, the local times are those of `zone` and are converted to instants.
pub(super) fn write<O: Outcome<Moment>>(
    arguments: &[ColumnarValue],
    rows: usize,
    of: &SqlType,
    zone: Zone,
    mut row: impl FnMut(usize) -> O,
) -> Result<ColumnarValue, EvaluationError> {
    let arrow = of.arrow();
    let is_instant = matches!(of, SqlType::TimestampLtz(_));
    let per_second = match &arrow {
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
        _ => 1_000,
    };
    let number = |moment: Moment| match of {
        // A DATE holds days of 32 bits; a day beyond them is NULL, and does not wrap to another day.
        SqlType::Date => i32::try_from(moment.day()).ok().map(i64::from),
        SqlType::Time(_) => Some(moment.nanos_of_day() / 1_000_000),
        _ => {
            let seconds =
                if is_instant { zone.instant_of(moment.seconds, Overlap::Earlier) } else { moment.seconds };
            seconds.checked_mul(per_second)?.checked_add(moment.nanos / (1_000_000_000 / per_second))
        }
    };
    let mut numbers = Vec::new();
    for place in 0..each::row_count(arguments, rows) {
        numbers.push(row(place).outcome()?.and_then(number));
    }
    let numbers = Int64Array::from(numbers);
    let narrow = |numbers: &Int64Array| numbers.unary::<_, Int32Type>(|number| number as i32);
    let array: ArrayRef = match &arrow {
        DataType::Date32 => std::sync::Arc::new(narrow(&numbers).reinterpret_cast::<Date32Type>()),
        DataType::Time32(_) => {
            std::sync::Arc::new(narrow(&numbers).reinterpret_cast::<Time32MillisecondType>())
        }
        _ => cast(&numbers, &arrow).map_err(|error| failure(&error))?,
    };
    each::shaped(array, arguments)
}
