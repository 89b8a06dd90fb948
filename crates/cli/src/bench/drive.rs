//! Runs one query on an engine of its own, for a while or to its end, and measures it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use thalweg::{Engine, Graph, LatencySummary, QueryReport, QueryState};

use crate::failure;
use crate::interrupt::Interrupt;
use crate::usage;

/// How often a run looks whether it is over.
const LOOK: Duration = Duration::from_millis(2);

/// A figure over less time than this is none; the figure of the whole run is taken instead.
const MEASURED_MIN: Duration = Duration::from_millis(1);

/// What a run did.
pub struct Driven {
    pub report: QueryReport,
    /// Events per second while it was measured.
    pub throughput_per_s: f64,
    /// How long it was measured.
    pub seconds: f64,
    /// CPU time of the process while it was measured.
    pub cpu_s: f64,
    /// Latencies while it was measured.
    pub latency: Option<LatencySummary>,
    pub rss_peak_bytes: u64,
    pub scheduling_share: f64,
    /// Whether Ctrl-C ended it.
    pub is_interrupted: bool,
}

/// How long to run.
pub enum Until {
    /// To the end of its input; everything is measured.
    End,
    /// For so long, after so long a warm-up; then the sources are asked to end.
    Measured {
        /// Not measured.
        warmup: Duration,
        /// Measured.
        measured: Duration,
    },
}

/// Runs `graph`. Ctrl-C lets it drain early; if that was before anything could be measured, the whole run is.
pub fn drive(engine: &Engine, graph: Graph, until: &Until, interrupt: Option<&Interrupt>) -> Result<Driven> {
    usage::forget_rss_peak();
    let cpu_before = usage::cpu_seconds();
    let started = Instant::now();
    let query = engine.submit(graph).map_err(|error| failure::of_plan(&error))?;
    let is_pressed = || interrupt.is_some_and(Interrupt::is_pressed);
    let is_over = || is_pressed() || query.state() != QueryState::Running;
    let wait_until = |deadline: Option<Instant>| {
        let left = || deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()));
        while !left().is_zero() && !is_over() {
            sleep(LOOK.min(left()));
        }
    };
    let measured = match *until {
        Until::End => {
            wait_until(None);
            None
        }
        Until::Measured { warmup, measured } => {
            wait_until(Some(started + warmup));
            drop(query.take_latencies());
            let (from, before) = (Instant::now(), query.progress());
            let cpu_before = usage::cpu_seconds();
            wait_until(Some(from + measured));
            let (after, measured) = (query.progress(), from.elapsed());
            let cpu_s = usage::cpu_seconds() - cpu_before;
            let events = after.events_in - before.events_in;
            (MEASURED_MIN <= measured).then_some((events, measured, cpu_s, after.latency))
        }
    };
    let is_interrupted = is_pressed();
    query.stop();
    let report = query.wait().map_err(|error| failure::of_query(&error))?;
    let whole = || (report.events_in, started.elapsed(), usage::cpu_seconds() - cpu_before, report.latency);
    let (events, measured, cpu_s, latency) = measured.unwrap_or_else(whole);
    // Time in steps contains the choice of the task.
    let (busy_ns, scheduling_ns) = (report.busy_ns as f64, engine.scheduling_ns() as f64);
    Ok(Driven {
        throughput_per_s: events as f64 / measured.as_secs_f64(),
        seconds: measured.as_secs_f64(),
        cpu_s,
        latency,
        rss_peak_bytes: usage::rss_peak_bytes(),
        scheduling_share: scheduling_ns / busy_ns.max(1.0),
        is_interrupted,
        report,
    })
}
