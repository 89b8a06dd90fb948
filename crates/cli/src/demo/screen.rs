//! The queries while they run: a frame of text that is drawn over the one before it, or, where that cannot be, a
//! line per query and second.
//!
//! In place means plain ANSI: the cursor goes up by as many lines as were drawn, and each line is cleared behind its
//! end. Nothing is hidden or switched, so that a process which ends at any moment leaves a sound terminal. Lines
//! are at most [`COLUMNS`] wide; a wrapped line would make the cursor go up too little.

use std::env;
use std::io::{IsTerminal, stdout};
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use thalweg::Progress;

use crate::show;

/// The widest line.
pub const COLUMNS: usize = 80;

/// Lines that a terminal must have to hold a frame and the prompt behind it.
const ROWS_MIN: u16 = 10;

/// What is shown at one moment.
pub struct Frame<'a> {
    pub elapsed: Duration,
    pub rows: Vec<Row<'a>>,
    /// The end of each query's latest window, and who led in it; none before its first window has ended.
    pub leaders: Vec<Option<(String, String)>>,
    pub last_line: String,
}

/// One query.
pub struct Row<'a> {
    pub query: &'a str,
    /// Over the last interval.
    pub rate_per_s: f64,
    pub progress: Progress,
}

/// Where frames are drawn.
pub enum Screen {
    /// In place.
    Live {
        /// Lines of the last frame, which the cursor stands below.
        drawn: usize,
    },
    /// Line by line.
    Lines {
        /// Whether the names of the columns have been written.
        has_head: bool,
    },
}

impl Screen {
    /// In place if standard output is a terminal that can and may be drawn on.
    pub fn of_stdout() -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let can_draw = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let is_large_enough = || {
            // A terminal that does not tell its size says 0.
            let fits = |size: u16, min: usize| size == 0 || min <= usize::from(size);
            tcgetwinsize(stdout())
                .is_ok_and(|size| fits(size.ws_col, COLUMNS) && fits(size.ws_row, ROWS_MIN.into()))
        };
        if stdout().is_terminal() && can_draw && !is_set("NO_COLOR") && is_large_enough() {
            Screen::Live { drawn: 0 }
        } else {
            Screen::Lines { has_head: false }
        }
    }

    /// The time from one frame to the next.
    pub fn interval(&self) -> Duration {
        match self {
            Screen::Live { .. } => Duration::from_millis(500),
            Screen::Lines { .. } => Duration::from_secs(1),
        }
    }

    /// What to write for `frame` to be seen.
    pub fn draw(&mut self, frame: &Frame<'_>) -> String {
        match self {
            Screen::Live { drawn } => {
                let lines = live_lines(frame);
                let up = if *drawn > 0 { format!("\x1b[{drawn}A") } else { String::new() };
                *drawn = lines.len();
                let clear_behind = |line: &String| format!("\r{line}\x1b[K\n");
                up + &lines.iter().map(clear_behind).collect::<String>()
            }
            Screen::Lines { has_head } => {
                let seconds = format!("{:.1} s", frame.elapsed.as_secs_f64());
                let mut text = String::new();
                if !*has_head {
                    *has_head = true;
                    text += &format!("{:>9} {}\n", "time", head());
                }
                text + &frame
                    .rows
                    .iter()
                    .map(|row| format!("{seconds:>9} {}\n", line(row)))
                    .collect::<String>()
            }
        }
    }
}

fn live_lines(frame: &Frame<'_>) -> Vec<String> {
    let mut lines = vec![head()];
    lines.extend(frame.rows.iter().map(line));
    lines.push(String::new());
    for (Row { query, .. }, leader) in frame.rows.iter().zip(&frame.leaders) {
        lines.push(match leader {
            Some((until, words)) => format!("{query}  until {until}  {words}"),
            None => format!("{query}  its first window has not ended yet"),
        });
    }
    lines.push(frame.last_line.clone());
    lines
}

fn head() -> String {
    columns(&["query", "rate", "events", "results", "pending", "p50", "p99"])
}

fn line(row: &Row<'_>) -> String {
    let Progress { events_in, results_out, pending, latency, .. } = &row.progress;
    let quantile = |nanos: Option<u64>| nanos.map_or("-".to_owned(), |nanos| show::latency(nanos as f64));
    columns(&[
        row.query,
        &show::rate(row.rate_per_s),
        &show::count(*events_in),
        &show::count(*results_out),
        &show::count(*pending),
        &quantile(latency.map(|latency| latency.p50_ns)),
        &quantile(latency.map(|latency| latency.p99_ns)),
    ])
}

/// Wide enough for a day at these rates.
fn columns([query, rate, events, results, pending, p50, p99]: &[&str; 7]) -> String {
    format!("{query:<5} {rate:>9} {events:>14} {results:>11} {pending:>9} {p50:>8} {p99:>8}")
}

#[cfg(test)]
mod tests;
