//! `thalweg demo`: two queries live on one engine, then what they did.
//!
//! [`queries`] makes and starts them, [`screen`] shows them while they run, [`summary`] when they have ended. What
//! is shown is what the engine counts; nothing here takes part in the queries but their sinks, which remember
//! who leads.

mod queries;
mod screen;
mod summary;

use std::sync::Arc;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use thalweg::{Engine, QueryState, SystemClock};
use thalweg_runtime::limits;

use crate::interrupt::Interrupt;
use crate::{console, failure, options, usage};
use queries::Running;
use screen::{Frame, Screen};
use summary::{Cost, Ended};

/// How often a demo looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// When the first figures are shown: they need an interval to be a rate, and people should not wait.
const FIRST_FRAME: Duration = Duration::from_millis(500);

/// How long to show it, and on how many threads.
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

/// Runs the demo; `false` if a query failed or a record got lost.
pub fn run(args: &DemoArgs) -> Result<bool> {
    let interrupt = Interrupt::listen()?;
    let length = Duration::from_secs_f64(args.seconds);
    let workers = args.workers.unwrap_or_else(cores);
    console::out(&heading(workers, length))?;

    let clock = Arc::new(SystemClock::default());
    let builder = Engine::builder().workers(workers).clock(Arc::<SystemClock>::clone(&clock));
    let engine = builder.build().map_err(|error| failure::of_plan(&error))?;
    let generators = queries::Generators::new(&engine)?;
    let cpu_before = usage::cpu_seconds();
    let started = Instant::now();
    let running = generators.submit(&engine, &*clock)?;
    let mut screen = Screen::of_stdout();
    watch(&running, length, &mut screen, || interrupt.is_pressed(), console::out)?;
    let ended = drain(running);
    let seconds = started.elapsed().as_secs_f64();
    let cost =
        Cost { cpu_s: usage::cpu_seconds() - cpu_before, rss_peak_bytes: usage::rss_peak_bytes(), workers };
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
    format!(
        "Two queries on one engine with {workers}, for {} s.\n{}\n",
        length.as_secs_f64(),
        queries::DESCRIPTION
    )
}

/// Shows the queries until the time is up, somebody wants an end, or one of them has ended.
fn watch(
    running: &[Running],
    length: Duration,
    screen: &mut Screen,
    is_interrupted: impl Fn() -> bool,
    mut out: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let (started, interval) = (Instant::now(), screen.interval());
    let mut before: Vec<(Instant, u64)> = running.iter().map(|_| (started, 0)).collect();
    let mut frame = |last_line: &str| {
        let mut rows = Vec::new();
        for (query, before) in running.iter().zip(&mut before) {
            let (now, progress) = (Instant::now(), query.handle.progress());
            let rate_per_s =
                (progress.events_in - before.1) as f64 / now.duration_since(before.0).as_secs_f64();
            *before = (now, progress.events_in);
            rows.push(screen::Row { query: query.handle.name(), rate_per_s, progress });
        }
        let leaders = running.iter().map(|query| query.leader.words()).collect();
        out(&screen.draw(&Frame {
            elapsed: started.elapsed(),
            rows,
            leaders,
            last_line: last_line.to_owned(),
        }))
    };
    let mut next_frame = FIRST_FRAME;
    let why = loop {
        let elapsed = started.elapsed();
        if is_interrupted() {
            break "ending: Ctrl-C was pressed; once more ends it at once";
        }
        if running.iter().any(|query| query.handle.progress().state != QueryState::Running) {
            break "ending: a query has ended by itself";
        }
        if length <= elapsed {
            break "ending: the time is up";
        }
        if next_frame <= elapsed {
            let left = (length - elapsed).as_secs_f64().ceil();
            frame(&format!("{left} s left; Ctrl-C ends it now"))?;
            // From one round time to the next, whatever a frame took.
            next_frame = interval * (elapsed.div_duration_f64(interval) as u32 + 1);
        }
        sleep(LOOK.min(length - elapsed));
    };
    frame(why)
}

/// Asks the queries to end, and waits until what is on its way has arrived.
fn drain(running: Vec<Running>) -> Vec<Ended> {
    running.iter().for_each(|query| query.handle.stop());
    let ended =
        |query: Running| Ended { query: query.handle.name().to_owned(), outcome: query.handle.wait() };
    running.into_iter().map(ended).collect()
}

#[cfg(test)]
mod tests;
