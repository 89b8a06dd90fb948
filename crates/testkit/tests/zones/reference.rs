//! Local times of instants, and the windows of rows, computed from the whole input in the plainest way.

use chrono::{DateTime, Offset, TimeZone, Utc};
use chrono_tz::Tz;

pub const MINUTE_MS: i64 = 60_000;

/// A row of one of the two input tables.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: i64,
    pub k: &'static str,
    pub p: i64,
    pub v: i64,
    pub ts_ms: i64,
}

/// A kind of SQL window function, with its sizes in minutes.
#[derive(Clone, Copy, Debug)]
pub enum Windows {
    Tumble { size: i64, offset: i64 },
    Hop { slide: i64, size: i64 },
    Cumulate { step: i64, size: i64 },
    Session { gap: i64, is_by_key: bool },
}

impl Windows {
    /// Returns the SQL of these windows over a table with a time column.
    pub fn of(self, table: &str, time: &str) -> String {
        let span = |minutes: i64| format!("INTERVAL '{minutes}' MINUTES");
        let time = format!("DESCRIPTOR({time})");
        let call = match self {
            Windows::Tumble { size, offset: 0 } => format!("TUMBLE(TABLE {table}, {time}, {})", span(size)),
            Windows::Tumble { size, offset } => {
                format!("TUMBLE(TABLE {table}, {time}, {}, {})", span(size), span(offset))
            }
            Windows::Hop { slide, size } => {
                format!("HOP(TABLE {table}, {time}, {}, {})", span(slide), span(size))
            }
            Windows::Cumulate { step, size } => {
                format!("CUMULATE(TABLE {table}, {time}, {}, {})", span(step), span(size))
            }
            Windows::Session { gap, is_by_key: true } => {
                format!("SESSION(TABLE {table} PARTITION BY k, {time}, {})", span(gap))
            }
            Windows::Session { gap, is_by_key: false } => {
                format!("SESSION(TABLE {table}, {time}, {})", span(gap))
            }
        };
        format!("TABLE({call})")
    }

    /// Assigns rows to windows, given each row's key and local time. Returns the index of the row, the start
    /// and the end for each pair of row and window.
    pub fn assign(self, rows: &[(&str, i64)]) -> Vec<(usize, i64, i64)> {
        let mut found = Vec::new();
        match self {
            Windows::Session { gap, is_by_key } => {
                let mut order: Vec<usize> = (0..rows.len()).collect();
                let key = |place: usize| if is_by_key { rows[place].0 } else { "" };
                order.sort_by_key(|place| (key(*place), rows[*place].1));
                let mut sessions: Vec<Vec<usize>> = Vec::new();
                for place in order {
                    match sessions.last_mut() {
                        Some(session)
                            if session.last().is_some_and(|last| {
                                key(*last) == key(place) && rows[place].1 <= rows[*last].1 + gap * MINUTE_MS
                            }) =>
                        {
                            session.push(place);
                        }
                        _ => sessions.push(vec![place]),
                    }
                }
                for session in sessions {
                    let start = rows[session[0]].1;
                    let end = rows[session[session.len() - 1]].1 + gap * MINUTE_MS;
                    found.extend(session.into_iter().map(|place| (place, start, end)));
                }
            }
            _ => {
                for (place, (_, reading)) in rows.iter().enumerate() {
                    found.extend(self.around(*reading).into_iter().map(|(start, end)| (place, start, end)));
                }
            }
        }
        found
    }

    /// Returns all windows that contain a local time; for kinds of windows that are not sessions.
    fn around(self, reading: i64) -> Vec<(i64, i64)> {
        let begins = |size: i64, offset: i64| {
            let (size, offset) = (size * MINUTE_MS, offset * MINUTE_MS);
            offset + (reading - offset).div_euclid(size) * size
        };
        match self {
            Windows::Tumble { size, offset } => {
                let start = begins(size, offset);
                vec![(start, start + size * MINUTE_MS)]
            }
            Windows::Hop { slide, size } => {
                let last = begins(slide, 0);
                let starts = (0..size / slide).map(|back| last - back * slide * MINUTE_MS);
                starts.map(|start| (start, start + size * MINUTE_MS)).collect()
            }
            Windows::Cumulate { step, size } => {
                let start = begins(size, 0);
                let ends = (1..=size / step).map(|steps| start + steps * step * MINUTE_MS);
                ends.filter(|end| *end > reading).map(|end| (start, end)).collect()
            }
            Windows::Session { .. } => Vec::new(),
        }
    }
}

/// The local times of a time zone, minute by minute.
pub struct Clocks {
    zone: Tz,
    /// The instants in milliseconds, each one minute after the previous one.
    minutes: Vec<i64>,
}

impl Clocks {
    /// Creates the local times of a zone for some days around an instant.
    pub fn new(zone: Tz, around_ms: i64) -> Self {
        let days = 5 * 24 * 60;
        Clocks { zone, minutes: (-days..days).map(|minute| around_ms + minute * MINUTE_MS).collect() }
    }

    /// Returns the local time of an instant, in milliseconds.
    pub fn reading(&self, instant_ms: i64) -> i64 {
        let instant = DateTime::<Utc>::from_timestamp_millis(instant_ms).expect("an instant of our days");
        let offset = self.zone.offset_from_utc_datetime(&instant.naive_utc()).fix().local_minus_utc();
        instant_ms + i64::from(offset) * 1_000
    }

    /// Returns `window_time` of a window that ends on a whole minute. It is the last millisecond whose local
    /// time is below the window's end.
    pub fn time_of(&self, end: i64) -> i64 {
        let last = self.minutes.iter().rev().find(|minute| self.reading(**minute) < end);
        last.expect("windows lie within some days") + MINUTE_MS - 1
    }

    /// Formats an instant as local time.
    pub fn shown(&self, instant_ms: i64) -> String {
        shown(self.reading(instant_ms))
    }
}

/// Formats a local time as text.
pub fn shown(reading: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_millis(reading).expect("a reading of our days");
    time.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}
