//! Runs one query on an engine of its own, for a while or to its end, and measures it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use thalweg::{Engine, Graph, QueryReport, QueryState};

use crate::interrupt::Interrupt;
use crate::usage;

/// How often a run looks whether it is over.
const LOOK: Duration = Duration::from_millis(2);

/// What a run did.
pub struct Driven {
    pub report: QueryReport,
    /// Events per second while it was measured.
    pub throughput_per_s: f64,
    /// How long it was measured.
    pub seconds: f64,
    pub cpu_s: f64,
    pub scheduling_share: f64,
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

/// Runs `graph`.
pub fn drive(engine: &Engine, graph: Graph, until: &Until) -> Result<Driven> {
    let interrupt = Interrupt::listen()?;
    let cpu_before = usage::cpu_seconds();
    let started = Instant::now();
    let query = engine.submit(graph).map_err(|error| anyhow!("{}: {error}", error.code()))?;
    let is_over = || interrupt.is_pressed() || query.progress().state != QueryState::Running;
    let wait_until = |deadline: Option<Instant>| {
        while !is_over() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            sleep(
                deadline
                    .map_or(LOOK, |deadline| LOOK.min(deadline.saturating_duration_since(Instant::now()))),
            );
        }
    };
    let measured = match *until {
        Until::End => {
            wait_until(None);
            None
        }
        Until::Measured { warmup, measured } => {
            wait_until(Some(started + warmup));
            let (from, events_before) = (Instant::now(), query.progress().events_in);
            wait_until(Some(from + measured));
            Some((query.progress().events_in - events_before, from.elapsed().as_secs_f64()))
        }
    };
    query.stop();
    let report =
        query.wait().map_err(|error| anyhow!("{}: {error}", error.code())).context("the query failed")?;
    let (events, seconds) = measured.unwrap_or((report.events_in, started.elapsed().as_secs_f64()));
    let (busy_ns, scheduling_ns) = (report.busy_ns as f64, engine.scheduling_ns() as f64);
    Ok(Driven {
        throughput_per_s: events as f64 / seconds,
        seconds,
        cpu_s: usage::cpu_seconds() - cpu_before,
        scheduling_share: scheduling_ns / (busy_ns + scheduling_ns).max(1.0),
        report,
    })
}
