//! `thalweg demo`: runs several queries live on one engine, then shows a summary.
//!
//! [`queries`] creates and starts them, [`screen`] shows them while they run, [`summary`] when they have ended.
//! The figures shown are the engine's counts. Only the queries' sinks are part of the demo; they remember the
//! leading result.

mod queries;
mod screen;
mod summary;

use std::sync::Arc;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use thalweg::{Clock, Engine, EventTime, QueryState, SystemClock};
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::{console, failure, options};
use thalweg_runtime::{limits, system};

use queries::Running;
use screen::{Frame, Screen};
use summary::{Cost, Ended};

/// Interval at which the demo checks whether its time is up or a query has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Time of the first frame of the demo. A rate can only be shown after some time, but users should not wait
/// long.
const FIRST_FRAME: Duration = Duration::from_millis(500);

/// Options of `thalweg demo`: how long it runs, and on how many threads.
#[derive(Args)]
pub struct DemoArgs {
    /// How long to run, in seconds.
    #[arg(long = "for", value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(value_parser = options::measured_seconds, default_value = "15")]
    seconds: f64,
    /// Threads that run operators [default: one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::WORKERS))]
    workers: Option<u64>,
}

/// Runs the demo; returns `false` if a query failed or a record was lost.
pub fn run(args: &DemoArgs) -> Result<bool> {
    let interrupt = Interrupt::listen()?;
    let length = Duration::from_secs_f64(args.seconds);
    let workers = args.workers.unwrap_or_else(cores);
    console::out(&heading(workers, length))?;

    let clock = Arc::new(SystemClock::default());
    let builder = Engine::builder().workers(workers).clock(Arc::<SystemClock>::clone(&clock));
    let engine = builder.build().map_err(|error| failure::of_plan(&error))?;
    let generators = queries::Generators::new(&engine)?;
    let cpu_before = system::cpu_seconds();
    let started = Instant::now();
    let mut running = generators.submit(&engine, &*clock)?;
    let show = Show { length, screen: Screen::of_stdout(), clock: &*clock };
    watch(&mut running, show, || interrupt.is_pressed(), console::out)?;
    let ended = drain(running);
    let seconds = started.elapsed().as_secs_f64();
    let cost =
        Cost { cpu_s: system::cpu_seconds() - cpu_before, rss_peak_bytes: system::rss_peak_bytes(), workers };
    console::out(&summary::text(&ended, seconds, &cost))?;

    let problems = summary::problems(&ended);
    problems.iter().for_each(|problem| console::error(problem));
    Ok(problems.is_empty())
}

fn cores() -> u64 {
    available_parallelism().map_or(1, |cores| cores.get() as u64).min(limits::WORKERS.max)
}

fn heading(workers: u64, length: Duration) -> String {
    let workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
    let (queries, seconds) = (queries::COUNT, length.as_secs_f64());
    let description = queries::description();
    format!("{queries} queries on one engine with {workers}, for {seconds} s.\n{description}\n")
}

/// Settings for showing the queries of the demo while they run.
struct Show<'a> {
    length: Duration,
    screen: Screen,
    /// The clock by which the records of the queries are stamped.
    clock: &'a dyn Clock,
}

/// Shows the running queries until the time is up, an interrupt comes, or one of the queries has ended.
fn watch(
    running: &mut [Running],
    show: Show<'_>,
    is_interrupted: impl Fn() -> bool,
    mut out: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let Show { length, mut screen, clock } = show;
    let (started, interval) = (Instant::now(), screen.interval());
    let mut before: Vec<(Instant, u64)> = running.iter().map(|_| (started, 0)).collect();
    let mut frame = |running: &mut [Running], last_line: String| {
        let rows = running.iter_mut().zip(&mut before).map(|(query, before)| look(query, before)).collect();
        let now = EventTime::from_micros((clock.now().as_nanos() / 1_000).cast_signed());
        out(&screen.draw(&Frame { elapsed: started.elapsed(), now, rows, last_line }))
    };
    let mut next_frame = FIRST_FRAME;
    let why = loop {
        let elapsed = started.elapsed();
        if is_interrupted() {
            break "ending: Ctrl-C was pressed; once more ends it at once";
        }
        if running.iter().any(|query| query.handle.state() != QueryState::Running) {
            break "ending: a query has ended by itself";
        }
        if length <= elapsed {
            break "ending: the time is up";
        }
        if next_frame <= elapsed {
            let left = (length - elapsed).as_secs_f64().ceil();
            frame(running, format!("{left} s left; Ctrl-C ends it now"))?;
            // Frames are drawn at multiples of the interval, however long a frame took.
            next_frame = interval * (elapsed.div_duration_f64(interval) as u32 + 1);
        }
        sleep(LOOK.min(length - elapsed));
    };
    frame(running, why.to_owned())
}

/// Returns the rate, latency and watermark of a query since the sample `before`, and replaces this sample by
/// the current one.
fn look<'a>(query: &'a mut Running, before: &mut (Instant, u64)) -> screen::Row<'a> {
    let Running { handle, leader, latencies } = query;
    let taken = handle.take_latencies();
    latencies.merge(&taken);
    let (now, progress) = (Instant::now(), handle.progress());
    let rate_per_s = (progress.events_in - before.1) as f64 / now.duration_since(before.0).as_secs_f64();
    *before = (now, progress.events_in);
    screen::Row {
        query: handle.name(),
        rate_per_s,
        pending: progress.pending,
        latency: taken.summary(),
        watermark: progress.watermark,
        leader: leader.words(),
    }
}

/// Asks the queries of the demo to end, and waits until their records in flight have arrived at the sinks.
fn drain(running: Vec<Running>) -> Vec<Ended> {
    running.iter().for_each(|query| query.handle.stop());
    running.into_iter().map(ended).collect()
}

fn ended(query: Running) -> Ended {
    let Running { handle, mut latencies, .. } = query;
    let (query, outcome) = (handle.name().to_owned(), handle.wait());
    outcome.iter().for_each(|report| latencies.merge(&report.latencies));
    Ended { query, outcome, latencies }
}

#[cfg(test)]
mod tests;
