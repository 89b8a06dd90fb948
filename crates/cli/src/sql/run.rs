//! `thalweg run`: runs a file of SQL until its streams end, its time is up or Ctrl-C is pressed. [`stop`]
//! describes what that means for each job.
//!
//! Rows of queries that name no table go to standard output; progress, and a summary of each job when it ends,
//! to standard error. Errors in the file are reported before anything of it runs: all jobs are assembled and
//! planned before the first of them is submitted. Only memory may be refused later: a job whose edges do not
//! fit beside those of earlier jobs ends the run and these jobs. Jobs share resources that exist only once: the
//! standard streams, and files to which several divert bad records.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read, Write, sink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use thalweg::scheduling::{Settings, policy};
use thalweg::{
    Chaining, Clock, CostClock, Engine, Graph, Layout, Parallel, PlanError, QueryError, QueryHandle,
    QueryState, SystemClock,
};
use thalweg_cli::cost_clock::CostClockOption;
use thalweg_cli::failure::{self, End, WrongOption};
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::options;
use thalweg_cli::policy_options::PolicyOptions;
use thalweg_memory::{Budget, Reservation};
use thalweg_runtime::limits;
use thalweg_sql::bind::NamesOnce;
use thalweg_sql::bind::changelog::Changes;
use thalweg_sql::cases::head::Sums;
use thalweg_sql::connect::job_end::JobEnd;
use thalweg_sql::connect::memory::Collected;
use thalweg_sql::connect::notes::Notes;
use thalweg_sql::connect::{Division, RowSink, World};
use thalweg_sql::deliver::Tally;
use thalweg_sql::error::{Code, SqlError};
use thalweg_sql::job::{self, Assembled, batch_edges};
use thalweg_sql::plan::{Column, JoinMethod, Node, Plan};
use thalweg_sql::session::{Action, CHECKPOINT_INTERVAL_MIN, Job};
use thalweg_sql::spill::Spill;

use super::ended::Ended;
use super::near_limit;
use super::script::{Script, ScriptArgs, for_each_table};
use super::state::{JobState, StartedJob};
use super::stdout::{Gone, shows_rows_on_terminal};
use super::stop::{self, Deadline};
use super::told::{Shape, Told};

/// Interval at which `thalweg run` checks whether all jobs have ended.
const LOOK: Duration = Duration::from_millis(5);

/// Interval at which the line of progress is drawn again.
const DRAW: Duration = Duration::from_millis(500);

/// Options of `thalweg run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    script: ScriptArgs,
    /// The scheduling policy [default: the policy that the file sets, or else enjima].
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Parameters of policies.
    #[command(flatten)]
    policy_options: PolicyOptions,
    /// Clock by which policies know the costs of operators.
    #[arg(long, value_enum, value_name = "CLOCK", default_value_t = CostClockOption::Wall)]
    cost_clock: CostClockOption,
    /// Threads that run operators [default: the number that the file sets, or else one per core].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::WORKERS))]
    workers: Option<u64>,
    /// End the run after this time, such as 30s or 5min, as Ctrl-C does.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    length: Option<Duration>,
    /// When the run is asked to end, publish what there is: rows and windows that wait for a later watermark
    /// come out early, and jobs whose input has not ended publish a part of their result.
    #[arg(long)]
    emit_partial: bool,
    /// Longest time that the run may take to end when it is asked to end. After this time the run ends at
    /// once, with an error.
    #[arg(long, value_name = "TIME", value_parser = drain_timeout, default_value = stop::DRAIN_TIMEOUT_DEFAULT)]
    drain_timeout: Duration,
    /// Take checkpoints in this directory, and go on from the newest one: after a crash or a stop, the jobs of the
    /// file go on where they were, and files that they write are as if nothing had happened.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Time from one checkpoint to the next [default: the time that the file sets, or else 10s].
    #[arg(long, value_name = "TIME", value_parser = interval)]
    checkpoint_every: Option<Duration>,
    /// Form of the rows and of the summary.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Shape,
    /// Memory for blocks and state, in bytes or with a unit such as MiB.
    #[arg(long, value_name = "BYTES", value_parser = options::bytes_within(&limits::MEMORY_BUDGET_BYTES))]
    memory_budget: Option<u64>,
}

fn time(text: &str) -> Result<Duration, String> {
    thalweg_sql::session::duration(text)
        .filter(|length| !length.is_zero())
        .ok_or_else(|| format!("`{text}` is no time: write 30s, 5min or 1h"))
}

fn interval(text: &str) -> Result<Duration, String> {
    time(text).and_then(|every| match every >= CHECKPOINT_INTERVAL_MIN {
        true => Ok(every),
        false => Err(format!("`{text}` is below {} ms", CHECKPOINT_INTERVAL_MIN.as_millis())),
    })
}

fn drain_timeout(text: &str) -> Result<Duration, String> {
    let max = stop::DRAIN_TIMEOUT_MAX;
    time(text).and_then(|length| match length <= max {
        true => Ok(length),
        false => Err(format!("`{text}` is above {} s", max.as_secs())),
    })
}

struct Running<'a> {
    handle: QueryHandle,
    job: &'a Job,
    tally: Tally,
    end: JobEnd,
    /// State of the job on disk, if it may put state there.
    spill: Option<Spill>,
    /// Whether the job was asked to end.
    is_asked: bool,
    /// Number of checkpoints of the job that have failed, as far as they were told.
    failures_told: u64,
    /// False if the job was asked to end and its last checkpoint has failed.
    has_kept_state: bool,
}

impl Running<'_> {
    fn is_running(&self) -> bool {
        matches!(self.handle.state(), QueryState::Running | QueryState::Paused)
    }

    fn takes_checkpoints(&self) -> bool {
        self.handle.checkpoints().is_some()
    }

    /// Asks the job to end; the module [`stop`] describes what follows.
    fn ask(&mut self, emits_partial: bool) {
        self.is_asked = true;
        if self.takes_checkpoints() && !emits_partial {
            // The next run goes on from the last checkpoint, so nothing is published that this run has not finished.
            let before = self.handle.checkpoints().map_or(0, |progress| progress.complete);
            let after = self.handle.checkpoint();
            self.has_kept_state = after.is_none_or(|progress| progress.complete > before);
            return self.handle.cancel();
        }
        match (emits_partial, self.end.is_bounded()) {
            (true, _) => self.handle.stop(),
            (false, false) => self.handle.stop_at_watermark(),
            (false, true) => self.handle.cancel(),
        }
    }
}

/// Runs the SQL of the command line, and returns how the command ended.
pub fn run(args: &RunArgs) -> Result<End> {
    let told = Told::new(args.output);
    run_and_tell(args, &told).or_else(|error| told.end(error))
}

fn run_and_tell(args: &RunArgs, told: &Told) -> Result<End> {
    let interrupt = Interrupt::listen()?;
    let deadline = Deadline::watch(&interrupt, args.drain_timeout, args.output)?;
    let script = args.script.read()?;
    let (_, actions) = script.plan()?;
    let mut jobs = Vec::new();
    for action in actions {
        if let Action::Run(job) | Action::Explain(job) = &action {
            job.warnings.iter().for_each(|warning| told.warned(&script, warning));
        }
        match action {
            Action::Run(job) => jobs.push(job),
            Action::Explain(job) => told.explained(&script, &job)?,
            Action::Show(text) => told.shown(&text)?,
        }
    }
    if jobs.is_empty() {
        told.note("nothing to run: the file has no INSERT and no query");
        return Ok(End::Complete);
    }
    let kept = JobState::of_jobs(jobs, &script.base, args.state.as_deref(), args.checkpoint_every, told)?;
    if kept.is_empty() {
        return Ok(End::Complete);
    }
    let (jobs, states): (Vec<Job>, Vec<NumberedState>) =
        kept.into_iter().map(|StartedJob { job, number, state }| (job, (number, state))).unzip();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let wanted = Wanted::of(args);
    let engine = engine(&wanted, &jobs, &clock)?;
    let idle = args.policy_options.idle(&[policy_name(&wanted, &jobs)]);
    idle.iter().for_each(|note| told.note(note));
    let _jobs_payment = pay_for_jobs(&engine, &jobs)?;
    let gone = Gone::default();
    let streams = Streams {
        stdin: (!script.is_from_stdin).then(|| Box::new(std::io::stdin()) as _),
        stdout: Box::new(gone.stdout()),
        stderr: Box::new(std::io::stderr()),
    };
    let world = world(&script, &clock, streams);
    let notes = world.notes.clone();
    let planned = prepare(args.output, &script, &jobs, states, world, &engine)?;
    let started = Instant::now();
    if let Some(up) = args.length.and_then(|length| started.checked_add(length)) {
        deadline.ask(up);
    }
    let running = start(&script, &jobs, planned, &engine)?;
    let budget = Arc::clone(engine.budget());
    Ok(Watch { args, told, started, interrupt, deadline, gone, notes, budget }.until_end(running))
}

/// Runs a script until its jobs end. Rows without a table go to `stdout` as text.
///
/// # Errors
/// Errors of the script, the first failure of its jobs, or jobs that do not end within a time.
pub fn run_until_end(
    script: &Script,
    workers: u64,
    stdout: Box<dyn Write + Send>,
    within: Duration,
) -> Result<Sums> {
    let (_, actions) = script.plan()?;
    let jobs: Vec<Job> = actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Run(job) => Some(job),
            Action::Explain(_) | Action::Show(_) => None,
        })
        .collect();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let engine = engine(&Wanted { workers: Some(workers), ..Wanted::default() }, &jobs, &clock)?;
    let streams = Streams { stdin: Some(Box::new(std::io::empty())), stdout, stderr: Box::new(sink()) };
    let states = (0..).map(|number| (number, None)).take(jobs.len()).collect();
    let planned = prepare(Shape::Text, script, &jobs, states, world(script, &clock, streams), &engine)?;
    let running = start(script, &jobs, planned, &engine)?;
    let started = Instant::now();
    while running.iter().any(Running::is_running) {
        if within < started.elapsed() {
            running.iter().for_each(|job| job.handle.stop());
            return Err(anyhow!("it did not end within {} s", within.as_secs()));
        }
        sleep(LOOK);
    }
    let mut sums = Sums::default();
    for job in running {
        add(&mut sums, &job);
        job.handle.wait().map_err(|error| failure::of_query(&error))?;
    }
    Ok(sums)
}

/// The number of a job among those of the file, and its checkpoints, if it takes any.
type NumberedState = (u64, Option<JobState>);

/// Assembles and plans all jobs before any of them runs, so that a failure to open a table, or a directory for state, is
/// reported first.
fn prepare(
    shape: Shape,
    script: &Script,
    jobs: &[Job],
    states: Vec<NumberedState>,
    world: World,
    engine: &Engine,
) -> Result<Vec<Planned>> {
    let division = Division { workers: engine.workers(), ..Division::default() };
    let keys: Vec<(u64, Option<u64>)> =
        states.iter().map(|(number, state)| (*number, state.as_ref().map(JobState::key))).collect();
    let assembled = assemble(shape, script, jobs, &keys, World { division, ..world })?;
    let planned = jobs.iter().zip(assembled).zip(states);
    planned
        .map(|((job, assembled), (_, state))| {
            if let Some(spill) = &assembled.spill {
                let opened = spill.open();
                opened.map_err(|error| anyhow!("{}: {}: {}", error.code, job.name, error.message))?;
            }
            plan(assembled, state, engine).map_err(|error| too_large(script, job, &error))
        })
        .collect()
}

fn start<'a>(
    script: &Script,
    jobs: &'a [Job],
    planned: Vec<Planned>,
    engine: &Engine,
) -> Result<Vec<Running<'a>>> {
    let mut running = Vec::new();
    for (job, Planned { graph, tally, end, spill }) in jobs.iter().zip(planned) {
        let handle = engine.submit(graph).map_err(|error| too_large(script, job, &error))?;
        running.push(Running {
            handle,
            job,
            tally,
            end,
            spill,
            is_asked: false,
            failures_told: 0,
            has_kept_state: true,
        });
    }
    Ok(running)
}

struct Planned {
    graph: Graph,
    tally: Tally,
    end: JobEnd,
    spill: Option<Spill>,
}

/// Settings of the engine that the command line asks for.
#[derive(Default)]
struct Wanted<'a> {
    workers: Option<u64>,
    policy: Option<&'a str>,
    policy_settings: Settings,
    cost_clock: CostClock,
    memory_budget: Option<u64>,
}

impl<'a> Wanted<'a> {
    fn of(args: &'a RunArgs) -> Self {
        let RunArgs { workers, policy, policy_options, cost_clock, memory_budget, .. } = args;
        Wanted {
            workers: *workers,
            policy: policy.as_deref(),
            policy_settings: policy_options.settings(),
            cost_clock: cost_clock.cost_clock(),
            memory_budget: *memory_budget,
        }
    }
}

/// Returns the name of the policy that the command line or the file asks for, or else of the default.
fn policy_name<'a>(wanted: &Wanted<'a>, jobs: &'a [Job]) -> &'a str {
    let of_file = || jobs.iter().find_map(|job| job.settings.policy.as_deref());
    wanted.policy.or_else(of_file).unwrap_or(policy::enjima::NAME)
}

fn engine(wanted: &Wanted<'_>, jobs: &[Job], clock: &Arc<dyn Clock>) -> Result<Engine> {
    let cores = || available_parallelism().map_or(1, |cores| cores.get() as u64).min(limits::WORKERS.max);
    let of_file = jobs.iter().find_map(|job| job.settings.workers).map(|workers| workers as u64);
    let workers = wanted.workers.or(of_file).unwrap_or_else(cores);
    let budget_bytes = wanted.memory_budget.unwrap_or(limits::MEMORY_BUDGET_BYTES.default);
    let edges = batch_edges(jobs.len(), workers as usize, budget_bytes);
    let policy = policy::configured(policy_name(wanted, jobs), &wanted.policy_settings)
        .map_err(|error| WrongOption(error.to_string()))?;
    let builder = Engine::builder().workers(workers).clock(Arc::clone(clock)).edges(edges);
    let mut builder = builder.policy(policy).cost_clock(wanted.cost_clock);
    if let Some(bytes) = wanted.memory_budget {
        builder = builder.memory_budget_bytes(bytes);
    }
    builder.build().map_err(|error| failure::of_plan(&error))
}

/// Number of jobs without tables for which as much memory is reserved as for one job that reads a table.
const JOBS_WITHOUT_TABLES: u64 = 32;

/// Reserves, in the engine's memory budget, the memory that jobs hold besides their state. It is free again
/// when the returned reservation is dropped.
fn pay_for_jobs(engine: &Engine, jobs: &[Job]) -> Result<Reservation> {
    let reads = |job: &Job| {
        let reads = job.parts.iter().any(|part| for_each_table(&part.plan, &mut |_| Err(())).is_err());
        if reads { limits::JOB_BYTES.default } else { limits::JOB_BYTES.default / JOBS_WITHOUT_TABLES }
    };
    let bytes = usize::try_from(jobs.iter().skip(1).map(reads).sum::<u64>()).unwrap_or(usize::MAX);
    let paid = engine.budget().reserve(bytes);
    paid.with_context(|| format!("BUDGET_TOO_SMALL: {} jobs do not fit into --memory-budget", jobs.len()))
}

/// The standard streams that the tables of a run may use.
struct Streams {
    stdin: Option<Box<dyn Read + Send>>,
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
}

fn world(script: &Script, clock: &Arc<dyn Clock>, streams: Streams) -> World {
    World {
        seed: 1,
        base: script.base.clone(),
        clock: Arc::clone(clock),
        stdin: Arc::new(Mutex::new(streams.stdin)),
        stdout: Arc::new(Mutex::new(streams.stdout)),
        stderr: Arc::new(Mutex::new(streams.stderr)),
        ..World::default()
    }
}

/// Assembles all jobs of a script. `keys` has the number of each job among those of the file and, if it takes checkpoints, the
/// key of its directory. The jobs share resources that exist only once, such as the standard streams.
fn assemble(
    shape: Shape,
    script: &Script,
    jobs: &[Job],
    keys: &[(u64, Option<u64>)],
    mut world: World,
) -> Result<Vec<Assembled>> {
    let clock = Arc::clone(&world.clock);
    let stdout = Arc::clone(&world.stdout);
    let mut assembled = Vec::new();
    for (job, (number, key)) in jobs.iter().zip(keys) {
        let zone = job.settings.zone;
        (world.zone, world.shared) = (zone, world.shared.for_job(*number));
        (world.takes_checkpoints, world.checkpoint_key) = (key.is_some(), key.unwrap_or_default());
        let mut shown = |columns: &[Column], changes: Changes| {
            let has_kinds = !changes.is_none();
            let shown = match shape {
                Shape::Text => job::Shown::text(columns, zone, has_kinds, Arc::clone(&stdout)),
                Shape::Json => {
                    job::Shown::json(&named_apart(columns, has_kinds), has_kinds, Arc::clone(&stdout))?
                }
            };
            Ok(Box::new(shown) as Box<dyn RowSink>)
        };
        let job = job::assemble(job, &clock, &world, &mut shown)
            .map_err(|error| script.wrong(&error.at(job.place)))?;
        assembled.push(job);
    }
    Ok(assembled)
}

/// Renames columns so that their names are distinct keys of a JSON object. The names also differ from `op`,
/// the key of the kind of change (such as insert or delete), if rows have one.
fn named_apart(columns: &[Column], has_kinds: bool) -> Vec<Column> {
    let mut names = NamesOnce::default();
    if has_kinds {
        names.take("op".to_owned());
    }
    columns.iter().map(|column| Column { name: names.take(column.name.clone()), ..column.clone() }).collect()
}

/// Converts the error of a job that the engine refuses. If a fixed bound of the engine is too low for the
/// job, the error is not reported as a wrong option.
fn too_large(script: &Script, job: &Job, error: &PlanError) -> anyhow::Error {
    match error {
        PlanError::OutOfRange { .. } => {
            script.wrong(&SqlError::new(Code::Unsupported, error.to_string()).at(job.place))
        }
        _ => failure::of_plan(error),
    }
}

fn plan(job: Assembled, state: Option<JobState>, engine: &Engine) -> Result<Planned, PlanError> {
    let Assembled { query, tally, end, spill } = job;
    let graph = match state {
        None => query.plan(layout(engine.workers()))?,
        Some(state) => {
            query.plan(layout_with_checkpoints(engine.workers()))?.with_checkpoints(state.checkpoints())
        }
    };
    Ok(Planned { graph, tally, end, spill })
}

/// Returns how a job is divided into tasks for a given number of workers.
fn layout(workers: usize) -> Layout {
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    Layout { chaining: Chaining::Default, parallel }
}

/// Returns how a job that takes checkpoints is divided into tasks for a given number of workers.
fn layout_with_checkpoints(workers: usize) -> Layout {
    let parallel = if workers > 1 { Parallel::Keyed { workers } } else { Parallel::Serial };
    Layout { chaining: Chaining::Default, parallel }
}

/// Returns the tasks and links of a job on a given number of workers, as text. Sources are prepared, because
/// the number of files decides how many readers there are. Sinks are not prepared, so nothing is written.
///
/// # Errors
/// As for a run of the job.
pub fn tasks(script: &Script, job: &Job, workers: u64) -> Result<String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let streams = Streams { stdin: None, stdout: Box::new(sink()), stderr: Box::new(sink()) };
    let mut world = world(script, &clock, streams);
    let into = job.parts.iter().filter_map(|part| part.into.as_ref());
    world.collected = into.map(|table| (table.name.clone(), Collected::default())).collect();
    world.division.workers = usize::try_from(workers).unwrap_or(usize::MAX);
    let assembled = assemble(Shape::Text, script, std::slice::from_ref(job), &[(0, None)], world)?;
    let mut text = String::new();
    for job in assembled {
        let layout = layout(usize::try_from(workers).unwrap_or(usize::MAX));
        let graph = job.query.plan(layout).map_err(|error| failure::of_plan(&error))?;
        text += &graph.physical_plan().to_string();
    }
    Ok(text)
}

/// The data that the thread needs which watches the running jobs of a script.
struct Watch<'a> {
    args: &'a RunArgs,
    told: &'a Told,
    started: Instant,
    interrupt: Interrupt,
    deadline: Deadline,
    gone: Gone,
    notes: Notes,
    /// Memory budget of the engine that runs the jobs.
    budget: Arc<Budget>,
}

/// The reason why jobs were asked to end, if they were.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Request {
    None,
    /// The jobs were asked to end because the time given by `--for` was up.
    TimeIsUp,
    /// A signal asked the jobs to end: Ctrl-C or a similar one.
    Signal,
}

impl Watch<'_> {
    /// Waits until all jobs have ended. Reports each job when it ends, and the progress of all jobs
    /// meanwhile. Asks them to end when the time is up or a signal comes. Returns the most severe end.
    fn until_end(self, mut running: Vec<Running<'_>>) -> End {
        let Watch { args, told, .. } = self;
        // A line of progress is not drawn if rows go to the same terminal, because it would stand among them.
        // With JSON output it is not drawn either, because it is no JSON object.
        let is_drawn = told.shape == Shape::Text
            && std::io::stderr().is_terminal()
            && !running.iter().any(|running| shows_rows_on_terminal(running.job));
        let mut request = Request::None;
        let mut next_draw = DRAW;
        let mut ended = Sums::default();
        let mut end = End::Complete;
        let mut has_warned = false;
        let note = || self.notes.take().iter().for_each(|note| told.note(note));
        loop {
            note();
            running.iter_mut().for_each(|job| self.tell_failures(job));
            for job in running.extract_if(.., |job| !job.is_running()) {
                // The job may have added notes just before it ended. They are shown before its summary.
                note();
                add(&mut ended, &job);
                end = end.max(self.tell(job));
            }
            if running.is_empty() {
                break;
            }
            if !has_warned && near_limit::is_near(&self.budget) {
                has_warned = self.warn_of_state(&running);
            }
            let elapsed = self.started.elapsed();
            let is_up = args.length.is_some_and(|length| length <= elapsed);
            let next = match (self.interrupt.is_pressed(), is_up) {
                (true, _) => Request::Signal,
                (false, true) => Request::TimeIsUp,
                (false, false) => Request::None,
            };
            if request < next {
                self.ask(&mut running, next, request);
                request = next;
            }
            if self.deadline.is_past(Duration::ZERO) {
                let Running { handle, job, .. } = &running[0];
                told.clear();
                self.deadline.end(told.shape, Some(&job.name), &stop::held_up_by(handle));
            }
            if is_drawn && next_draw <= elapsed {
                next_draw += DRAW;
                let mut sums = ended;
                running.iter().for_each(|job| add(&mut sums, job));
                told.draw(&progress(sums, elapsed));
            }
            sleep(LOOK);
        }
        told.clear();
        end
    }

    /// Tells the user that a checkpoint of a job has failed, once for each look.
    fn tell_failures(&self, running: &mut Running<'_>) {
        let Some(progress) = running.handle.checkpoints() else { return };
        if progress.failed > running.failures_told {
            running.failures_told = progress.failed;
            let why = progress.last_failure.as_deref().unwrap_or("no reason is known");
            self.told.note(&format!("{}: a checkpoint has failed: {why}", running.job.name));
        }
    }

    /// Warns that state has nearly filled the memory budget. Returns false if no operator holds state, so that something
    /// else has filled the budget.
    fn warn_of_state(&self, running: &[Running<'_>]) -> bool {
        let metrics = running.iter().map(|job| (job.job.name.as_str(), job.handle.metrics()));
        let Some(largest) = near_limit::largest(metrics) else { return false };
        let text = near_limit::text(&largest, self.budget.limit_bytes());
        self.told.warned_of_job(&largest.job, near_limit::CODE, &text);
        true
    }

    /// Asks jobs to end, unless they were asked before, and tells the user what they will publish.
    fn ask(&self, running: &mut [Running<'_>], request: Request, before: Request) {
        self.deadline.ask(Instant::now());
        let emits_partial = self.args.emit_partial;
        if before == Request::None {
            running.iter_mut().for_each(|job| job.ask(emits_partial));
        }
        let goes_on = |job: &Running<'_>| !emits_partial && job.takes_checkpoints();
        if running.iter().any(goes_on) {
            running.iter_mut().for_each(|job| self.tell_failures(job));
            let (kept, lost): (Vec<_>, Vec<_>) =
                running.iter().filter(|job| goes_on(job)).partition(|job| job.has_kept_state);
            if !kept.is_empty() {
                self.told.note("asked to end: a last checkpoint was taken, from which the next run goes on");
            }
            for job in lost {
                self.told.note(&format!("{}: the next run goes on from the checkpoint before", job.job.name));
            }
            if running.iter().all(goes_on) {
                return;
            }
        }
        let waits = |job: &Job| job.parts.iter().any(|part| waits_for_watermarks(&part.plan));
        let mut means = Vec::new();
        if running.iter().any(|job| emits_partial || !job.end.is_bounded()) {
            means.push("what was read is finished");
        }
        if running.iter().any(|job| (emits_partial || !job.end.is_bounded()) && waits(job.job)) {
            means.push(match emits_partial {
                true => "rows and windows that wait for a later watermark come out early",
                false => "rows and windows that wait for a later watermark are left out",
            });
        }
        if running.iter().any(|job| job.end.is_bounded()) {
            means.push(match emits_partial {
                true => "a part of a result is published",
                false => "jobs whose input has not ended publish nothing",
            });
        }
        let means = means.join(", ");
        match request {
            Request::Signal => {
                self.told.note(&format!("asked to end: {means}; asked once more, it ends at once"));
            }
            // The note "the time is up" is left out if all input is unbounded, because it would say nothing
            // new then.
            _ if means.contains(',') || running.iter().any(|job| job.end.is_bounded()) => {
                self.told.note(&format!("the time is up: {means}"));
            }
            _ => {}
        }
    }

    /// Reports how a job has ended, and returns what this means for the exit code.
    fn tell(&self, running: Running<'_>) -> End {
        let takes_checkpoints = running.takes_checkpoints();
        let Running { handle, job, tally, end, spill, is_asked, has_kept_state, .. } = running;
        let (metrics, bad) = (handle.metrics(), handle.progress().bad);
        let (is_stopped_early, is_published) = match handle.wait() {
            Ok(_) => (!end.is_complete(), true),
            // An unbounded job with checkpoints is complete up to its last one.
            Err(QueryError::Cancelled) if is_asked && takes_checkpoints && has_kept_state => {
                (end.is_bounded(), true)
            }
            Err(QueryError::Cancelled) if is_asked => (true, false),
            Err(error) if self.gone.is_all(job, error.code()) => return End::ReaderGone,
            Err(error) => {
                self.told.failed(&job.name, &error, near_limit::help(job, error.code()));
                return End::Failed;
            }
        };
        let counts = || metrics.tasks.iter().flat_map(|task| &task.operators).map(|operator| operator.counts);
        let ended = Ended {
            name: &job.name,
            rows_in: tally.rows_in(),
            rows_out: tally.rows_out(),
            late: counts().map(|counts| counts.late).sum(),
            filtered: counts().map(|counts| counts.filtered).sum(),
            bad,
            diverted_to: if bad > 0 && is_published { diverted_to(job) } else { Vec::new() },
            stopped_early: is_stopped_early,
            seconds: self.started.elapsed().as_secs_f64(),
        };
        if let Some(text) = spill.and_then(|spill| near_limit::on_disk(spill.totals())) {
            self.told.note(&format!("{}: {text}", job.name));
        }
        self.told.ended(&ended.text(), &ended);
        if is_stopped_early { End::StoppedEarly } else { End::Complete }
    }
}

fn add(sums: &mut Sums, job: &Running<'_>) {
    let tasks = job.handle.metrics().tasks;
    sums.rows_in += job.tally.rows_in();
    sums.rows_out += job.tally.rows_out();
    sums.late +=
        tasks.iter().flat_map(|task| &task.operators).map(|operator| operator.counts.late).sum::<u64>();
    sums.bad += job.handle.progress().bad;
}

fn progress(Sums { rows_in, rows_out, late, bad }: Sums, elapsed: Duration) -> String {
    format!("{:.1} s  {rows_in} rows in  {rows_out} out  {late} late  {bad} bad", elapsed.as_secs_f64())
}

/// Returns whether rows or windows of a plan wait for a watermark before they come out.
fn waits_for_watermarks(plan: &Plan) -> bool {
    plan.walk().any(|part| match &part.node {
        Node::AssignWindows { .. }
        | Node::WindowAggregate { .. }
        | Node::WindowTopN { .. }
        | Node::Final { .. }
        | Node::SortedOver { is_final: true, .. }
        | Node::Sort { .. } => true,
        // An OVER window in the order of arrival gives its rows at once; one in event time waits.
        Node::Over { time, .. } => time.is_some(),
        Node::Join { join, .. } => match join.method {
            JoinMethod::Window { .. } | JoinMethod::Temporal { .. } => true,
            // Matching pairs come out at once. In an outer join, a row without a match waits until no
            // matching row can arrive any more.
            JoinMethod::Interval { .. } => join.kind.keeps_left() || join.kind.keeps_right(),
            JoinMethod::Lookup | JoinMethod::Regular { .. } => false,
        },
        _ => false,
    })
}

/// Returns the files to which the tables of a job divert bad records.
fn diverted_to(job: &Job) -> Vec<String> {
    let mut files = BTreeSet::new();
    for part in &job.parts {
        let done: Result<(), ()> = for_each_table(&part.plan, &mut |table| {
            let option = table.options.get("thalweg.on-bad");
            files.extend(
                option
                    .and_then(|option| option.value.strip_prefix("divert:"))
                    .map(|file| file.trim().to_owned()),
            );
            Ok(())
        });
        debug_assert!(done.is_ok(), "nothing refuses a table");
    }
    files.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use thalweg_sql::plan::Role;
    use thalweg_sql::session::LATENCY_TARGETS;
    use thalweg_sql::types::SqlType;

    use super::*;

    #[test]
    fn columns_of_an_object_are_named_apart() {
        let check = |names: &str, has_kinds: bool, expected: &str| {
            let column = |name: &str| Column {
                name: name.to_owned(),
                of: SqlType::Int,
                is_nullable: true,
                role: Role::Plain,
            };
            let columns: Vec<Column> = names.split(' ').map(column).collect();
            let named: Vec<String> =
                named_apart(&columns, has_kinds).into_iter().map(|column| column.name).collect();
            assert_eq!(named.join(" "), expected);
        };
        check("a b", false, "a b");
        check("op a", true, "op0 a");
        check("op op0", true, "op0 op00");
        check("op a", false, "op a");
    }

    /// The command SET accepts the same range of latency targets as the engine.
    #[test]
    fn targets_are_those_of_the_engine() {
        let limit = limits::LATENCY_TARGET_NS;
        let bounds = [LATENCY_TARGETS.start(), LATENCY_TARGETS.end()].map(|bound| bound.as_nanos());
        assert_eq!(bounds, [limit.min, limit.max].map(u128::from));
    }
}
