//! `thalweg run`: a file of SQL, run until its streams end, its time is up or somebody presses Ctrl-C.
//!
//! Rows of queries that name no table go to standard output; how it goes, and a summary, to standard error. Whatever is wrong
//! in the file is told before anything of it runs.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use thalweg::{Chaining, Clock, Engine, Layout, Parallel, QueryHandle, QueryState, SystemClock};
use thalweg_runtime::limits;
use thalweg_sql::bind::changelog::Changes;
use thalweg_sql::connect::{Output, RowSink, World};
use thalweg_sql::deliver::Tally;
use thalweg_sql::job::{self, Assembled, BATCH_EDGES};
use thalweg_sql::plan::Column;
use thalweg_sql::plan::explain::quoted;
use thalweg_sql::session::{Action, Job};

use super::explain;
use super::script::{Script, ScriptArgs};
use crate::failure::{self, WrongOption};
use crate::interrupt::Interrupt;
use crate::{console, options};

/// How often it is looked whether all has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How often the line of progress is drawn.
const DRAW: Duration = Duration::from_millis(500);

/// What to run, and how.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    script: ScriptArgs,
    /// The scheduling policy [default: that of the file, or else enjima].
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Threads that run operators [default: that of the file, or else one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::WORKERS))]
    workers: Option<u64>,
    /// Ends it after this time, as Ctrl-C does: 30s, 5min.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    length: Option<Duration>,
    /// How rows and the summary are shown.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Shape,
    /// Memory for blocks and state, in bytes or with a unit.
    #[arg(long, value_name = "BYTES", value_parser = options::bytes_within(&limits::MEMORY_BUDGET_BYTES))]
    memory_budget: Option<u64>,
}

/// How rows are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Shape {
    /// Comma-separated values behind a line of names.
    Text,
    /// An object a line.
    Json,
}

fn time(text: &str) -> Result<Duration, String> {
    thalweg_sql::session::duration(text)
        .filter(|length| !length.is_zero())
        .ok_or_else(|| format!("`{text}` is no time: write 30s, 5min or 1h"))
}

/// A job that runs.
struct Running {
    handle: QueryHandle,
    name: String,
    tally: Tally,
}

/// Runs it; `false` if a job failed.
pub fn run(args: &RunArgs) -> Result<bool> {
    let interrupt = Interrupt::listen()?;
    let script = args.script.read()?;
    let (_, actions) = script.plan()?;
    let mut jobs = Vec::new();
    for action in actions {
        match action {
            Action::Run(job) => jobs.push(job),
            Action::Explain(job) => console::out(&explain::text(&job))?,
            Action::Show(text) => console::out(&format!("{text}\n"))?,
        }
    }
    if jobs.is_empty() {
        console::note("nothing to run: the file has no INSERT and no query");
        return Ok(true);
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let engine = engine(args, &jobs, &clock)?;
    let started = Instant::now();
    let mut running = Vec::new();
    for job in &jobs {
        running.push(submit(args, &script, job, &engine, &clock)?);
    }
    watch(args, &running, started, &interrupt);
    let mut is_fine = true;
    for Running { handle, name, tally } in running {
        match handle.wait() {
            Ok(report) => {
                let seconds = started.elapsed().as_secs_f64();
                let count = |of: &dyn Fn(&thalweg::Counts) -> u64| report.total(of);
                let ended = Ended {
                    name: &name,
                    rows_in: tally.rows_in(),
                    rows_out: tally.rows_out(),
                    late: count(&|counts| counts.late),
                    filtered: count(&|counts| counts.filtered),
                    bad: report.bad,
                    seconds,
                };
                console::note(&match args.output {
                    Shape::Text => ended.text(),
                    Shape::Json => ended.json(),
                });
            }
            Err(error) => {
                is_fine = false;
                console::error(&format!("{name}: {:#}", failure::of_query(&error)));
            }
        }
    }
    Ok(is_fine)
}

fn engine(args: &RunArgs, jobs: &[Job], clock: &Arc<dyn Clock>) -> Result<Engine> {
    let cores = || available_parallelism().map_or(1, |cores| cores.get() as u64).min(limits::WORKERS.max);
    let of_file = jobs.iter().find_map(|job| job.settings.workers).map(|workers| workers as u64);
    let workers = args.workers.or(of_file).unwrap_or_else(cores);
    let mut builder = Engine::builder().workers(workers).clock(Arc::clone(clock)).edges(BATCH_EDGES);
    let policy = args.policy.clone().or_else(|| jobs.iter().find_map(|job| job.settings.policy.clone()));
    if let Some(name) = policy {
        let policy =
            thalweg::scheduling::policy::by_name(&name).map_err(|error| WrongOption(error.to_string()))?;
        builder = builder.policy(policy);
    }
    if let Some(bytes) = args.memory_budget {
        builder = builder.memory_budget_bytes(bytes);
    }
    builder.build().map_err(|error| failure::of_plan(&error))
}

fn submit(
    args: &RunArgs,
    script: &Script,
    job: &Job,
    engine: &Engine,
    clock: &Arc<dyn Clock>,
) -> Result<Running> {
    let stdout: Output = Arc::new(Mutex::new(Box::new(std::io::stdout())));
    let world = World {
        seed: 1,
        base: script.base.clone(),
        clock: Arc::clone(clock),
        zone: job.settings.zone,
        stdin: Arc::new(Mutex::new(Some(Box::new(std::io::stdin())))),
        stdout: Arc::clone(&stdout),
        stderr: Arc::new(Mutex::new(Box::new(std::io::stderr()))),
        ..World::default()
    };
    let shape = args.output;
    let zone = job.settings.zone;
    let mut shown = |columns: &[Column], changes: Changes| {
        let has_kinds = !changes.is_none();
        let shown = match shape {
            Shape::Text => job::Shown::text(columns, zone, has_kinds, Arc::clone(&stdout)),
            Shape::Json => job::Shown::json(columns, has_kinds, Arc::clone(&stdout))?,
        };
        Ok(Box::new(shown) as Box<dyn RowSink>)
    };
    let assembled =
        job::assemble(job, clock, &world, &mut shown).map_err(|error| script.wrong(&error.at(job.place)))?;
    let Assembled { query, tally } = assembled;
    let workers = engine.workers();
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    let graph = query
        .plan(Layout { chaining: Chaining::Default, parallel })
        .map_err(|error| failure::of_plan(&error))?;
    let handle = engine.submit(graph).map_err(|error| failure::of_plan(&error))?;
    Ok(Running { handle, name: job.name.clone(), tally })
}

/// Waits until all have ended, and tells how they are doing; asks them to end when the time is up or Ctrl-C is pressed.
fn watch(args: &RunArgs, running: &[Running], started: Instant, interrupt: &Interrupt) {
    let is_shown = std::io::stderr().is_terminal();
    let mut is_ending = false;
    let mut next_draw = DRAW;
    while running.iter().any(|job| matches!(job.handle.state(), QueryState::Running | QueryState::Paused)) {
        let elapsed = started.elapsed();
        let is_up = args.length.is_some_and(|length| length <= elapsed);
        if !is_ending && (is_up || interrupt.is_pressed()) {
            is_ending = true;
            running.iter().for_each(|job| job.handle.stop());
            if !is_up {
                console::note("Ctrl-C: what was read is finished; once more ends it at once");
            }
        }
        if is_shown && next_draw <= elapsed {
            next_draw += DRAW;
            let rows: u64 = running.iter().map(|job| job.tally.rows_out()).sum();
            let bad: u64 = running.iter().map(|job| job.handle.progress().bad).sum();
            eprint!("\r{:.1} s  {rows} rows out  {bad} bad ", elapsed.as_secs_f64());
        }
        sleep(LOOK);
    }
    if is_shown && next_draw > DRAW {
        eprintln!();
    }
}

/// What a job did.
struct Ended<'a> {
    name: &'a str,
    rows_in: u64,
    rows_out: u64,
    late: u64,
    filtered: u64,
    bad: u64,
    seconds: f64,
}

impl Ended<'_> {
    fn text(&self) -> String {
        let Ended { name, rows_in, rows_out, late, filtered, bad, seconds } = self;
        let rate = *rows_in as f64 / seconds.max(1e-9);
        let mut text =
            format!("{name}: {rows_in} rows in, {rows_out} out in {seconds:.3} s ({rate:.0} rows/s)");
        for (count, what) in [(late, "late"), (bad, "bad"), (filtered, "filtered")] {
            if *count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text
    }

    fn json(&self) -> String {
        let Ended { name, rows_in, rows_out, late, filtered, bad, seconds } = self;
        format!(
            "{{\"job\":{},\"rows_in\":{rows_in},\"rows_out\":{rows_out},\"late\":{late},\"filtered\":{filtered},\"bad\":{bad},\"seconds\":{seconds:.3}}}",
            quoted(name)
        )
    }
}
