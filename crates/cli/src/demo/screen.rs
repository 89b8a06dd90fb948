//! The display of running queries, with one line for each. Each frame is drawn over the previous one, or
//! written as new lines once a second if drawing is not possible.
//!
//! Drawing in place uses plain ANSI: the cursor goes up by the number of lines drawn, and each line is cleared
//! after its end. Nothing is hidden or switched, so a process which ends at any moment leaves a usable
//! terminal. Lines are at most [`COLUMNS`] wide; a wrapped line would make the cursor go up too little.

use std::env;
use std::io::{IsTerminal, stdout};
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use thalweg::{EventTime, LatencySummary};
use thalweg_cli::show;

/// Width of the widest line of the display, in characters.
pub const COLUMNS: usize = 80;

/// Number of lines that a terminal must have for a frame and the prompt after it.
const ROWS_MIN: u16 = 10;

/// The figures that the display shows at one moment.
pub struct Frame<'a> {
    pub elapsed: Duration,
    /// The time of the frame, on the clock by which records are stamped.
    pub now: EventTime,
    pub rows: Vec<Row<'a>>,
    pub last_line: String,
}

/// One line of the display: rate, latency and progress of one query. Rate and latency cover the time since
/// the previous frame.
pub struct Row<'a> {
    pub query: &'a str,
    pub rate_per_s: f64,
    pub pending: u64,
    pub latency: Option<LatencySummary>,
    /// Watermark that the sink of the query has seen; `None` before the first one.
    pub watermark: Option<EventTime>,
    /// The result with the highest count in the query's latest window, as text; `None` before the first
    /// window has ended.
    pub leader: Option<String>,
}

/// The way in which frames of the display are drawn.
pub enum Screen {
    /// Frames are drawn in place of the previous one on a terminal.
    Live {
        /// Number of lines of the last frame, which are above the cursor.
        drawn: usize,
    },
    /// Frames are written one below the other, as for a file.
    Lines {
        /// Whether the line of column names was written.
        has_head: bool,
    },
}

impl Screen {
    /// Returns a display that draws in place if standard output is a terminal that supports and allows this.
    pub fn of_stdout() -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let can_draw = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let is_large_enough = || {
            // A terminal that does not report its size gives 0, which counts as large enough.
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

    /// Returns the time between two frames of the display.
    pub fn interval(&self) -> Duration {
        match self {
            Screen::Live { .. } => Duration::from_millis(500),
            Screen::Lines { .. } => Duration::from_secs(1),
        }
    }

    /// Returns the text that draws a frame of the display on the terminal.
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
                    text += &format!("{:>9} {}\n", "time", columns(&HEAD));
                }
                let line = |row| format!("{seconds:>9} {}\n", line(row, frame.now));
                text + &frame.rows.iter().map(line).collect::<String>()
            }
        }
    }
}

/// Number of columns for the leading result behind the figures of a line. The last column stays free: after a
/// character there, clearing to the end of the line would erase that character, too.
const LEADER_COLUMNS: usize = 22;

fn live_lines(frame: &Frame<'_>) -> Vec<String> {
    let beside = |line: String, leader: &str| format!("{line}  {leader:.LEADER_COLUMNS$}");
    let mut lines = vec![beside(columns(&HEAD), "leader, latest window")];
    for row in &frame.rows {
        lines.push(beside(line(row, frame.now), row.leader.as_deref().unwrap_or("first window is open")));
    }
    lines.extend([String::new(), frame.last_line.clone()]);
    lines
}

const HEAD: [&str; 6] = ["query", "rate", "pending", "p50", "p99", "watermark"];

fn line(row: &Row<'_>, now: EventTime) -> String {
    let Row { query, rate_per_s, pending, latency, watermark, .. } = row;
    columns(&[
        query,
        &show::rate(*rate_per_s),
        &show::count(*pending),
        &show::latency_or_none(latency.map(|latency| latency.p50_ns)),
        &show::latency_or_none(latency.map(|latency| latency.p99_ns)),
        &watermark.map_or("-".to_owned(), |watermark| behind(watermark, now)),
    ])
}

/// Returns, as text, how far a watermark lies behind the clock. Records are stamped with the time at which
/// they should be sent. So this is the age of the latest record of which the sink knows that no older one
/// will come.
fn behind(watermark: EventTime, now: EventTime) -> String {
    if watermark == EventTime::MAX {
        return "at the end".to_owned();
    }
    let nanos = now.since(watermark).as_micros().max(0) as f64 * 1e3;
    format!("{} ago", show::latency(nanos))
}

/// Formats a line of the display. Its columns are wide enough for any realistic figure.
fn columns([query, rate, pending, p50, p99, watermark]: &[&str; 6]) -> String {
    format!("{query:<5} {rate:>9} {pending:>9} {p50:>8} {p99:>8} {watermark:>11}")
}

#[cfg(test)]
mod tests;
