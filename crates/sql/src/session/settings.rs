//! Settings of a session: SET and RESET.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use thalweg::scheduling::policy;
use thalweg_sql_exec::exec::run::Timing;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_tables::connect::options::parse_bytes;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::spill::SPILL_BYTES_DEFAULT;

use super::LATENCY_TARGETS;
use super::foreign::check_foreign;

/// Shortest time from one checkpoint to the next, as in Flink.
pub const CHECKPOINT_INTERVAL_MIN: Duration = Duration::from_millis(10);

/// Settings of a session that this crate knows, as they stand when a job is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Time zone of the session: the setting `table.local-time-zone`.
    pub zone: Tz,
    /// Processing time for which operators without a window keep the state of a key after its last row: the
    /// setting `table.exec.state.ttl`. `None` keeps state forever, and each such operator gives a warning.
    pub state_ttl: Option<Duration>,
    /// Whether answers come out while input comes or at its end: the setting `execution.runtime-mode`.
    pub mode: RuntimeMode,
    /// Processing time without rows after which a table does not hold back watermarks: the setting
    /// `table.exec.source.idle-timeout`. `None` for never. Tables may have an option that precedes it.
    pub idle_timeout: Option<Duration>,
    /// Whether one change for each key of a GROUP BY and batch of rows is enough: the setting
    /// `table.exec.mini-batch.enabled`.
    pub is_mini_batch: bool,
    /// Whether changes of tables may come twice: the setting `table.exec.source.cdc-events-duplicate`.
    pub are_changes_doubled: bool,
    /// Name of the scheduling policy: the setting `thalweg.policy`.
    pub policy: Option<String>,
    /// Number of worker threads: the setting `thalweg.workers`.
    pub workers: Option<usize>,
    /// Latency of records that the scheduler tries not to exceed: the setting `thalweg.latency-target`.
    /// `None` sets no target.
    pub latency_target: Option<Duration>,
    /// Directories whose files tables may read and write: the setting `thalweg.file-roots`. `None` if all
    /// files are allowed.
    pub file_roots: Option<Vec<PathBuf>>,
    /// Directory for state that does not fit into memory: the setting `thalweg.state.spill-dir`. `None` keeps all state in
    /// memory.
    pub spill_dir: Option<PathBuf>,
    /// Greatest number of bytes of the state of a job in that directory: the setting `thalweg.state.spill-size`.
    pub spill_bytes: u64,
    /// Directory for checkpoints of the job, from which it goes on when it is started again: the setting
    /// `execution.checkpointing.dir`. `None` takes none.
    pub checkpoint_dir: Option<PathBuf>,
    /// Time from one checkpoint to the next: the setting `execution.checkpointing.interval`.
    pub checkpoint_interval: Option<Duration>,
}

/// Whether the answers of a job come out while its input comes, or at the end of the input.
///
/// Source: Flink, "Execution Mode (Batch/Streaming)".
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RuntimeMode {
    /// A query whose tables all end shows its final rows, and each other job is streamed. This is the default; it is ours.
    #[default]
    Automatic,
    /// Rows and their changes come out as they are found.
    Streaming,
    /// All tables must end. No row is late, state has no time to live, and each job gives its final rows, also to tables.
    Batch,
}

impl RuntimeMode {
    /// Names of the modes as `execution.runtime-mode` takes them, in any case.
    const NAMES: [(&str, RuntimeMode); 3] = [
        ("automatic", RuntimeMode::Automatic),
        ("streaming", RuntimeMode::Streaming),
        ("batch", RuntimeMode::Batch),
    ];

    fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, mode)| *mode)
    }
}

/// Setting keys that have a meaning in this crate. Other keys of Flink are ignored silently, as Flink ignores
/// the keys that begin with `thalweg`.
pub(super) const KEYS: [&str; 16] = [
    "execution.runtime-mode",
    "execution.checkpointing.dir",
    "execution.checkpointing.interval",
    "table.local-time-zone",
    "table.exec.state.ttl",
    "table.exec.source.idle-timeout",
    "table.exec.mini-batch.enabled",
    "table.exec.source.cdc-events-duplicate",
    "table.exec.sink.upsert-materialize",
    "pipeline.name",
    "thalweg.policy",
    "thalweg.workers",
    "thalweg.latency-target",
    "thalweg.file-roots",
    "thalweg.state.spill-dir",
    "thalweg.state.spill-size",
];

impl Settings {
    /// Returns how the tables of a job with these settings give watermarks.
    pub(crate) fn timing(&self) -> Timing {
        let Settings { mode, is_mini_batch, idle_timeout, .. } = *self;
        Timing { is_batch: mode == RuntimeMode::Batch, is_mini_batch, idle_timeout }
    }

    /// Reads the settings of a session from their texts; a key without a value has its default.
    pub(super) fn of<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Result<Self, SqlError> {
        check_foreign(&get)?;
        let wrong = |key: &str, value: &str, wanted: &str| {
            SqlError::new(Code::Invalid, format!("'{key}' is '{value}', and must be {wanted}"))
        };
        let span = |key: &str| {
            get(key)
                .map(|value| {
                    duration(value)
                        .ok_or_else(|| wrong(key, value, "a span such as '10 s', '5 min' or '1 h'"))
                })
                .transpose()
        };
        let zone = match get("table.local-time-zone") {
            None | Some("default") => Tz::UTC,
            Some(name) => zone_of(name).ok_or_else(|| {
                wrong("table.local-time-zone", name, "a zone such as 'Europe/Berlin', 'UTC' or 'GMT-03:00'")
            })?,
        };
        let workers = match get("thalweg.workers") {
            None => None,
            Some(text) => match text.parse() {
                Ok(number @ 1..=1_024) => Some(number),
                _ => return Err(wrong("thalweg.workers", text, "a number from 1 to 1024")),
            },
        };
        let mode = match get("execution.runtime-mode") {
            None => RuntimeMode::default(),
            Some(name) => RuntimeMode::of(name).ok_or_else(|| {
                let names = RuntimeMode::NAMES.map(|(name, _)| name).join(", ");
                wrong("execution.runtime-mode", name, &format!("one of {names}"))
            })?,
        };
        let latency_target = span("thalweg.latency-target")?;
        if latency_target.is_some_and(|target| !LATENCY_TARGETS.contains(&target)) {
            let text = get("thalweg.latency-target").unwrap_or_default();
            return Err(wrong("thalweg.latency-target", text, "from 1 us to 7 d"));
        }
        let is_set = |key| match get(key).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(wrong(key, text, "true or false")),
        };
        let are_changes_doubled = is_set("table.exec.source.cdc-events-duplicate")?;
        // No sink takes updates without their `-U`, so the value has no further effect.
        if let Some(text) = get("table.exec.sink.upsert-materialize")
            && !["none", "auto", "force"].contains(&text.to_ascii_lowercase().as_str())
        {
            return Err(wrong("table.exec.sink.upsert-materialize", text, "none, auto or force"));
        }
        let policy = get("thalweg.policy").map(str::to_owned);
        if let Some(name) = &policy
            && policy::by_name(name).is_err()
        {
            let wanted = format!("one of {}", policy::names().join(", "));
            return Err(wrong("thalweg.policy", name, &wanted));
        }
        Ok(Settings {
            zone,
            // A time to live of 0 ms keeps state forever, as in Flink.
            state_ttl: span("table.exec.state.ttl")?.filter(|ttl| !ttl.is_zero()),
            mode,
            // A time-out of 0 ms is none, as in Flink.
            idle_timeout: span("table.exec.source.idle-timeout")?.filter(|timeout| !timeout.is_zero()),
            is_mini_batch: is_set("table.exec.mini-batch.enabled")?,
            are_changes_doubled,
            policy,
            workers,
            latency_target,
            file_roots: get("thalweg.file-roots").map(file_roots).transpose()?,
            spill_dir: match get("thalweg.state.spill-dir") {
                Some("") => return Err(wrong("thalweg.state.spill-dir", "", "a directory")),
                directory => directory.map(PathBuf::from),
            },
            checkpoint_dir: match get("execution.checkpointing.dir") {
                Some("") => return Err(wrong("execution.checkpointing.dir", "", "a directory")),
                directory => directory.map(checkpoint_dir).transpose()?,
            },
            checkpoint_interval: match span("execution.checkpointing.interval")? {
                Some(interval) if interval < CHECKPOINT_INTERVAL_MIN => {
                    let text = get("execution.checkpointing.interval").unwrap_or_default();
                    return Err(wrong("execution.checkpointing.interval", text, "at least 10 ms"));
                }
                interval => interval,
            },
            spill_bytes: match get("thalweg.state.spill-size") {
                None => SPILL_BYTES_DEFAULT,
                Some(text) => parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| {
                    wrong("thalweg.state.spill-size", text, "a size above 0 such as '10 gb' or '512 mb'")
                })?,
            },
        })
    }
}

/// Parses the setting `execution.checkpointing.dir`: a path, also as the URI of a local file.
fn checkpoint_dir(text: &str) -> Result<PathBuf, SqlError> {
    let bare = text.strip_prefix("file:").map_or(text, |rest| rest.strip_prefix("//").unwrap_or(rest));
    if bare.contains("://") {
        let message = format!(
            "'execution.checkpointing.dir' is '{text}', and must be a directory on this machine, as a path or as file:///path"
        );
        return Err(SqlError::new(Code::Invalid, message));
    }
    Ok(PathBuf::from(bare))
}

/// Parses the setting `thalweg.file-roots`: directories separated by `;`.
fn file_roots(text: &str) -> Result<Vec<PathBuf>, SqlError> {
    let roots: Vec<&str> = text.split(';').map(str::trim).collect();
    if roots.contains(&"") {
        let message = format!(
            "'thalweg.file-roots' is '{text}', and must be a directory, or several with ; between them"
        );
        return Err(SqlError::new(Code::Invalid, message));
    }
    Ok(roots.into_iter().map(PathBuf::from).collect())
}

/// Refuses a setting key that begins with `thalweg.` and is unknown.
pub(super) fn check_key(key: &str) -> Result<(), SqlError> {
    if !key.starts_with("thalweg.") || KEYS.contains(&key) {
        return Ok(());
    }
    let error = SqlError::new(Code::UnknownOption, format!("there is no setting '{key}'"));
    Err(match nearest(key, KEYS) {
        Some(near) => error.help(format!("did you mean '{near}'?")),
        None => error.help(format!("there are {}", KEYS.join(", "))),
    })
}

/// Changes a setting of the session; an invalid value is rejected and the previous value stays.
pub(super) fn set_if_known(
    settings: &mut BTreeMap<String, String>,
    key: &str,
    value: &str,
) -> Result<(), SqlError> {
    let before = settings.insert(key.to_owned(), value.to_owned());
    Settings::of(|key| settings.get(key).map(String::as_str)).map(drop).inspect_err(|_| {
        match before {
            Some(before) => settings.insert(key.to_owned(), before),
            None => settings.remove(key),
        };
    })
}

/// Parses a time zone: its name, or an offset of whole hours from Greenwich such as `GMT-03:00`.
fn zone_of(name: &str) -> Option<Tz> {
    if let Ok(zone) = name.parse() {
        return Some(zone);
    }
    let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC"))?;
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "00"));
    let hours: i8 = hours.parse().ok().filter(|hours| (-14..=14).contains(hours) && minutes == "00")?;
    // The offset in the name of a zone such as `Etc/GMT+3` counts westward, so `GMT-03:00` is that zone.
    format!("Etc/GMT{:+}", -hours).parse().ok()
}

/// Parses a span of time as Flink's settings write it: a number and a unit; without a unit, milliseconds.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let nanos: u64 = match text[digits..].trim().to_lowercase().as_str() {
        "ns" | "nano" | "nanosecond" | "nanoseconds" | "nanos" => 1,
        "µs" | "us" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return None,
    };
    Some(Duration::from_nanos(number.checked_mul(nanos)?))
}
