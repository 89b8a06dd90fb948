//! SQL functions that return the current time: CURRENT_DATE, CURRENT_TIME, LOCALTIME, CURRENT_TIMESTAMP, NOW,
//! CURRENT_ROW_TIMESTAMP, PROCTIME, LOCALTIMESTAMP; and CURRENT_WATERMARK.
//!
//! The clock is read once for each batch of rows. Differs from Flink, where it is read for each row in
//! streaming mode.

use std::sync::Arc;

use thalweg_model::Clock;

use super::moments::{self, Moment};
use super::zone::Zone;
use crate::functions::each::{Nulls, bound};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Binds CURRENT_DATE: the present day in the time zone of the session.
pub(super) fn current_date(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    now(given, context, SqlType::Date)
}

/// Binds CURRENT_TIME: the time of day in the zone of the session, a TIME(0).
pub(super) fn current_time(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    now(given, context, SqlType::Time(0))
}

/// Binds CURRENT_TIMESTAMP: the present instant, a TIMESTAMP_LTZ(3).
pub(super) fn current_timestamp(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    now(given, context, SqlType::TimestampLtz(3))
}

/// Binds LOCALTIMESTAMP: the local time in the zone of the session, a TIMESTAMP(3).
pub(super) fn local_timestamp(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    now(given, context, SqlType::Timestamp(3))
}

/// Binds CURRENT_WATERMARK: the watermark of the input of a row, a TIMESTAMP(3) or TIMESTAMP_LTZ(3). The kernel knows no
/// watermark, so its result is NULL; planning puts a column of the table in the place of each call.
pub(super) fn current_watermark(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [time] = given else { return Err(BindError::count(given.len())) };
    let of = match time.of {
        SqlType::Timestamp(_) => SqlType::Timestamp(3),
        SqlType::TimestampLtz(_) => SqlType::TimestampLtz(3),
        _ => return Err(BindError::of_type(1, &time.of)),
    };
    let null = ScalarValue::try_from(&of.arrow()).map_err(|error| BindError::new(error.to_string()))?;
    Ok(bound(vec![time.of.clone()], given, of, Nulls::Anyway, move |_, _| {
        Ok(ColumnarValue::Scalar(null.clone()))
    }))
}

/// Returns the current date and time that a clock shows, in UTC.
pub(super) fn present(clock: &dyn Clock) -> Moment {
    let nanos = clock.now().as_nanos();
    Moment { seconds: (nanos / 1_000_000_000) as i64, nanos: (nanos % 1_000_000_000) as i64 }
}

fn now(given: &[Argument], context: &Context, of: SqlType) -> Result<Bound, BindError> {
    if !given.is_empty() {
        return Err(BindError::count(given.len()));
    }
    // A TIMESTAMP_LTZ is an instant, stored in UTC. So the time of the clock is not converted to the zone of
    // the session.
    let zone = if of == SqlType::TimestampLtz(3) { Zone::UTC } else { Zone::Named(context.zone) };
    let clock = Arc::clone(&context.clock);
    Ok(bound(Vec::new(), given, of.clone(), Nulls::Never, move |arguments, rows| {
        let instant = present(clock.as_ref());
        let mut local = Moment { seconds: zone.local_of(instant.seconds), ..instant };
        if matches!(of, SqlType::Time(0)) {
            local.nanos = 0;
        }
        moments::write(arguments, rows, &of, zone, |_| Some(local))
    }))
}
