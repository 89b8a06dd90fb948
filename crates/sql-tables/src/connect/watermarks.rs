//! Options of Flink that say how a table's watermarks are made, whatever its connector.
//!
//! | option | here |
//! |---|---|
//! | `scan.watermark.idle-timeout` | the time without rows after which the table does not hold back watermarks; before `table.exec.source.idle-timeout` |
//! | `scan.watermark.emit.strategy` | checked; watermarks follow every row, as with `on-event` |
//! | `scan.watermark.alignment.*` | checked; operators read the input with the lowest watermark first |
//!
//! Source: Flink, `FactoryUtil.checkWatermarkOptions`, `WatermarkPushDownSpec`; FLIP-296.

use std::time::Duration;

use crate::connect::options::{Given, parse_duration};
use crate::error::SqlError;
use crate::table::Table;

const IDLE_TIMEOUT: &str = "scan.watermark.idle-timeout";
const EMIT_STRATEGY: &str = "scan.watermark.emit.strategy";
const GROUP: &str = "scan.watermark.alignment.group";
const MAX_DRIFT: &str = "scan.watermark.alignment.max-drift";
const UPDATE_INTERVAL: &str = "scan.watermark.alignment.update-interval";

/// Reads and checks the options for the watermarks of a table. Tables that are only written may have them, too.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) for a wrong value, and for an alignment without a group or a drift.
pub(super) fn check(given: &mut Given<'_>) -> Result<(), SqlError> {
    given.duration(IDLE_TIMEOUT)?;
    given.choice(EMIT_STRATEGY, &[("on-event", ()), ("on-periodic", ())], ())?;
    let group = given.text(GROUP);
    let max_drift = given.duration(MAX_DRIFT)?;
    let interval = given.duration(UPDATE_INTERVAL)?;
    let first = match (group, max_drift, interval) {
        (None, None, None) | (Some(_), Some(_), _) => return Ok(()),
        (Some(_), _, _) => GROUP,
        (None, Some(_), _) => MAX_DRIFT,
        (None, None, Some(_)) => UPDATE_INTERVAL,
    };
    Err(given.wrong(first, format!("an alignment of watermarks needs both '{GROUP}' and '{MAX_DRIFT}'")))
}

/// Returns the time without rows after which a table with event time does not hold back watermarks, `None` for never.
/// The table's own option has precedence over `setting`, the value for all tables; 0 means never.
pub fn idle_timeout(table: &Table, setting: Option<Duration>) -> Option<Duration> {
    table.rowtime.as_ref()?;
    let own = table.options.get(IDLE_TIMEOUT).and_then(|option| parse_duration(&option.value));
    own.or(setting).filter(|timeout| !timeout.is_zero())
}
