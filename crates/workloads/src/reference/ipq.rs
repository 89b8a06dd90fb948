//! Reference results of IPQ1 to IPQ4: the revenue of ads, the events that jobs have logged, the requests that
//! have failed.
//!
//! The rules: windows start at multiples of their slide. A window has rows only if it has events. IPQ1 and IPQ2
//! have one row with the revenue of all its events, IPQ3 has one for each job and level. IPQ4 has one row for
//! each job with a request and an error of the same number in the same window; each request is counted with
//! each such error. The first and the last windows count even if the input begins or ends within them. No
//! record is late.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

use super::{Row, Windows};

/// One row of the results of IPQ1 or IPQ2; the fields are the columns of their files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RevenueRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Revenue of the window in millionths of a dollar.
    pub revenue_micros: u64,
}

/// One row of the results of IPQ3: events of a job at a log level in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventsRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number that identifies the job whose log events or errors are counted.
    pub job: u32,
    /// Log level of the counted events.
    pub level: u32,
    /// Number of events of the job at this level in the window.
    pub events: u64,
}

/// One row of the results of IPQ4: errors of a job in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorsRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number that identifies the job whose log events or errors are counted.
    pub job: u64,
    /// Number of pairs of a request and an error with the same number in the window.
    pub errors: u64,
}

impl Row for RevenueRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.window_start_ms
    }
}

impl Row for EventsRow {
    type Key = (i64, u32, u32);

    fn key(&self) -> (i64, u32, u32) {
        (self.window_start_ms, self.job, self.level)
    }
}

impl Row for ErrorsRow {
    type Key = (i64, u64);

    fn key(&self) -> (i64, u64) {
        (self.window_start_ms, self.job)
    }
}

/// Sums of the revenue per window. Events are added in any order, one by one or many at once.
#[derive(Clone, Debug)]
pub struct Revenues {
    windows: Windows,
    /// Number of events and sum of their revenue, by the start of the window.
    sums: BTreeMap<i64, (u64, u64)>,
}

/// A benchmark run over a generator's ads, which repeat and are stamped at a steady rate.
#[derive(Clone, Copy, Debug)]
pub struct RevenueDrain<'a> {
    /// Revenue of each ad of one period, which repeats. It must not be empty.
    pub period: &'a [u64],
    /// Number of ads of the run, which may exceed the period.
    pub events: u64,
    /// Event rate: event `index` is stamped `start_us + floor(index * 1,000,000 / rate_per_s)`. Above zero.
    pub rate_per_s: u64,
    /// Event time of the first ad, in microseconds since the Unix epoch.
    pub start_us: i64,
}

impl Revenues {
    /// Creates sums without events for these windows.
    ///
    /// # Panics
    /// If size and slide are not positive numbers of whole milliseconds.
    pub fn new(windows: impl Into<Windows>) -> Self {
        let windows = windows.into();
        windows.assert_whole(1_000, "milliseconds");
        Revenues { windows, sums: BTreeMap::new() }
    }

    /// Adds events, each with its time in microseconds since the Unix epoch and its revenue.
    pub fn add(&mut self, events: impl Iterator<Item = (i64, u64)>) {
        for (event_time_us, revenue_micros) in events {
            for start_us in self.windows.starts(event_time_us) {
                self.add_sum(start_us, (1, revenue_micros));
            }
        }
    }

    /// Adds all events of a run of the generator. The result is the same as with one event at a time, but the
    /// work grows only with the period and the number of windows. A window holds the events from one index to
    /// another, as stamps rise with the index.
    ///
    /// # Panics
    /// If a number of [`RevenueDrain`] is out of range.
    pub fn add_drain(&mut self, drain: RevenueDrain<'_>) {
        let RevenueDrain { period, events, rate_per_s, start_us } = drain;
        assert!(rate_per_s > 0 && !period.is_empty(), "a rate must be above zero, and a period have events");
        if events == 0 {
            return;
        }
        let before: Vec<u128> = std::iter::once(0)
            .chain(period.iter().scan(0, |sum, micros| {
                *sum += u128::from(*micros);
                Some(*sum)
            }))
            .collect();
        let (length, total) = (period.len() as u64, before[period.len()]);
        let sum_before = |index: u64| u128::from(index / length) * total + before[(index % length) as usize];
        let (start, rate) = (i128::from(start_us), i128::from(rate_per_s));
        let (size, slide) = (i128::from(self.windows.size_us), i128::from(self.windows.slide_us));
        // Returns the index of the first event at or after an instant `border` (the start or the end of a
        // window): the least index with `floor(index * 1e6 / rate) >= border - start`.
        let index_at = |border: i128| {
            let index = ((border - start).max(0) * rate + 999_999) / 1_000_000;
            index.min(i128::from(events)) as u64
        };
        let last_stamp = start + i128::from(events - 1) * 1_000_000 / rate;
        let mut window = ((start - size).div_euclid(slide) + 1) * slide;
        while window <= last_stamp {
            let (from, to) = (index_at(window), index_at(window + size));
            let revenue = u64::try_from(sum_before(to) - sum_before(from)).expect("revenues fit 64 bits");
            let start_us = i64::try_from(window).expect("the run lies in the range of times");
            if from < to {
                self.add_sum(start_us, (to - from, revenue));
            }
            window += slide;
        }
    }

    fn add_sum(&mut self, start_us: i64, (events, revenue_micros): (u64, u64)) {
        let sum = self.sums.entry(start_us).or_default();
        *sum = (sum.0 + events, sum.1 + revenue_micros);
    }

    /// Returns the revenue of each window as result rows, ordered by window.
    pub fn rows(&self) -> Vec<RevenueRow> {
        let row = |(start_us, &(_, revenue_micros)): (&i64, &(u64, u64))| RevenueRow {
            window_start_ms: start_us / 1_000,
            revenue_micros,
        };
        self.sums.iter().map(row).collect()
    }
}

/// Number of jobs, numbered from 0.
const JOBS: usize = 1_000;

/// Number of log levels, numbered from 0.
const LEVELS: usize = 5;

/// Returns the results of IPQ3 for events in any order; the rows are ordered by window, job and level. An
/// event is given as its time in microseconds, its job and its level.
///
/// # Panics
/// If the windows' size is not a positive number of whole milliseconds, or a job or level is out of range.
pub fn events_rows(events: impl Iterator<Item = (i64, u32, u32)>, size_us: i64) -> Vec<EventsRow> {
    Windows::from(size_us).assert_whole(1_000, "milliseconds");
    let none = || vec![0_u64; JOBS * LEVELS];
    let mut windows: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    // The counts of the previous event's window are taken out of the map, because usually the next event
    // falls into the same window.
    let (mut open_window, mut open) = (0, none());
    for (event_time_us, job, level) in events {
        assert!(level < LEVELS as u32, "level {level} does not exist");
        let window = event_time_us.div_euclid(size_us);
        if window != open_window {
            windows.insert(open_window, open);
            (open_window, open) = (window, windows.remove(&window).unwrap_or_else(none));
        }
        open[job as usize * LEVELS + level as usize] += 1;
    }
    windows.insert(open_window, open);
    let of_window = |(window, counts): (i64, Vec<u64>)| {
        let counted = counts.into_iter().enumerate().filter(|(_, events)| *events > 0);
        counted.map(move |(place, events)| EventsRow {
            window_start_ms: window * size_us / 1_000,
            job: (place / LEVELS) as u32,
            level: (place % LEVELS) as u32,
            events,
        })
    };
    windows.into_iter().flat_map(of_window).collect()
}

/// A request of IPQ4, or an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestInput {
    /// Event time of the request or error, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// Number that identifies the request.
    pub request: u64,
    /// Number that identifies the job; it is not read for errors.
    pub job: u64,
}

/// Returns the results of IPQ4, ordered by window and job, for two streams that are each ordered by time.
/// Only the events of one window are kept in memory.
///
/// # Panics
/// If a stream goes back in time, or the windows' size is not a positive number of whole milliseconds.
pub fn errors_rows(
    requests: impl Iterator<Item = RequestInput>,
    errors: impl Iterator<Item = RequestInput>,
    size_us: i64,
) -> Vec<ErrorsRow> {
    Windows::from(size_us).assert_whole(1_000, "milliseconds");
    let window_of = |input: &RequestInput| input.event_time_us.div_euclid(size_us);
    let (mut requests, mut errors) = (requests.peekable(), errors.peekable());
    let mut rows = Vec::new();
    loop {
        let next = [requests.peek(), errors.peek()].into_iter().flatten().map(window_of);
        let Some(window) = next.min() else { break };
        let mut failed: HashMap<u64, u64> = HashMap::new();
        for error in of_window(&mut errors, window, window_of) {
            *failed.entry(error.request).or_default() += 1;
        }
        let mut of_job: BTreeMap<u64, u64> = BTreeMap::new();
        for request in of_window(&mut requests, window, window_of) {
            if let Some(errors) = failed.get(&request.request) {
                *of_job.entry(request.job).or_default() += errors;
            }
        }
        let window_start_ms = window * size_us / 1_000;
        rows.extend(of_job.into_iter().map(|(job, errors)| ErrorsRow { window_start_ms, job, errors }));
    }
    rows
}

/// Removes the next requests or errors of a stream, those of this window, and returns them.
fn of_window(
    stream: &mut Peekable<impl Iterator<Item = RequestInput>>,
    window: i64,
    window_of: impl Fn(&RequestInput) -> i64,
) -> Vec<RequestInput> {
    let mut inputs = Vec::new();
    while let Some(input) = stream.next_if(|input| window_of(input) <= window) {
        assert_eq!(window_of(&input), window, "streams come in the order of their times");
        inputs.push(input);
    }
    inputs
}

#[cfg(test)]
mod tests;
