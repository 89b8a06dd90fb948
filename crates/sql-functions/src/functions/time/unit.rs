//! Units of time, as SQL's functions EXTRACT, FLOOR, TIMESTAMPADD and others take them.

use crate::functions::{Argument, BindError};

/// A unit of time, such as YEAR or SECOND.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    DayOfYear,
    DayOfWeek,
    IsoDayOfWeek,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Epoch,
}

impl Unit {
    /// Reads a unit of time from an argument, which must be a literal.
    ///
    /// # Errors
    /// [`BindError`] if the argument does not name a unit.
    pub(super) fn of(argument: Option<&Argument>) -> Result<Unit, BindError> {
        let name =
            argument.and_then(Argument::text).ok_or_else(|| BindError::new("the unit is no literal"))?;
        let upper = name.to_ascii_uppercase();
        let plain = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        Ok(match plain {
            "MILLENNIUM" => Unit::Millennium,
            "CENTURY" => Unit::Century,
            "DECADE" => Unit::Decade,
            "YEAR" => Unit::Year,
            "ISOYEAR" => Unit::IsoYear,
            "QUARTER" => Unit::Quarter,
            "MONTH" => Unit::Month,
            "WEEK" => Unit::Week,
            "DAY" => Unit::Day,
            "DOY" => Unit::DayOfYear,
            "DOW" => Unit::DayOfWeek,
            "ISODOW" => Unit::IsoDayOfWeek,
            "HOUR" => Unit::Hour,
            "MINUTE" => Unit::Minute,
            "SECOND" => Unit::Second,
            "MILLISECOND" => Unit::Millisecond,
            "MICROSECOND" => Unit::Microsecond,
            "NANOSECOND" => Unit::Nanosecond,
            "EPOCH" => Unit::Epoch,
            _ => return Err(BindError::new(format!("there is no unit '{name}'"))),
        })
    }

    /// Returns whether the unit of time is an hour or shorter.
    pub(super) fn is_within_day(self) -> bool {
        self.nanos().is_some_and(|nanos| nanos <= 3_600_000_000_000)
    }

    /// Returns the nanoseconds of a unit of time of fixed length, up to a week; `None` for longer units.
    pub(super) fn nanos(self) -> Option<i64> {
        Some(match self {
            Unit::Nanosecond => 1,
            Unit::Microsecond => 1_000,
            Unit::Millisecond => 1_000_000,
            Unit::Second => 1_000_000_000,
            Unit::Minute => 60_000_000_000,
            Unit::Hour => 3_600_000_000_000,
            Unit::Day => 86_400_000_000_000,
            Unit::Week => 604_800_000_000_000,
            _ => return None,
        })
    }

    /// Returns the number of months of a unit of time that is made of months, such as QUARTER; `None` for
    /// other units.
    pub(super) fn months(self) -> Option<i64> {
        match self {
            Unit::Year => Some(12),
            Unit::Quarter => Some(3),
            Unit::Month => Some(1),
            _ => None,
        }
    }
}
