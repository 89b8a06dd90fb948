//! `thalweg steer`: a policy gives the threads of a running engine priorities.
//!
//! The room `thalweg_steer` does the work. Here are the options, and what is shown: [`table`] for people and lines of
//! JSON for programs, [`gauges`] for Prometheus.

mod gauges;
mod table;

use std::cell::RefCell;
use std::fs;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use thalweg::Span;
use thalweg::scheduling::policy::congestion;
use thalweg::scheduling::{Fields, Policy, policy};
use thalweg_cli::failure::WrongOption;
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::policy_options::PolicyOptions;
use thalweg_cli::{console, options, show, steering};
use thalweg_steer::apply::{Applied, Change};
use thalweg_steer::declared_first::DeclaredFirst;
use thalweg_steer::flink::{self, Flink, FlusherQueue};
use thalweg_steer::kernel::Linux;
use thalweg_steer::rest::Http;
use thalweg_steer::setting::{Class, CpuTime, Priority, Setting};
use thalweg_steer::state_file;
use thalweg_steer::steering::{Driver, Round, Row, Telling};
use thalweg_steer::storm::{self, Receiver, SendQueue, Storm};
use thalweg_steer::threads::Processes;
use thalweg_steer::tool::{CannotSteer, Ended, Plan, Tool};

use crate::sql;
use table::{Table, plain};

/// Largest size in bytes of the file that `--token-file` names.
const TOKEN_BYTES_MAX: u64 = 64 << 10;

const EXAMPLES: &str = "\
Examples:
  thalweg steer flink --rest http://localhost:8081
  thalweg steer flink --policy congestion --translator rt --period 1s -v
  thalweg steer flink --policy cameo_llf --sql queries.sql
  thalweg steer flink --dry-run --output json
  thalweg steer storm --graphite 127.0.0.1:2003 --source-gauge lag
  thalweg steer --restore

Priorities need root, or CAP_SYS_NICE. Ctrl-C and SIGTERM put everything back;
after kill -9 a watchdog does, or the next start, or --restore.";

const STORM: &str = "\
Storm sends its metrics to this program. Set in storm.yaml, and start the
workers anew:
  storm.metrics.reporters:
    - class: \"org.apache.storm.metrics2.reporters.GraphiteStormReporter\"
      daemons: [\"worker\"]
      report.period: 1
      report.period.units: \"SECONDS\"
      graphite.host: \"127.0.0.1\"
      graphite.port: 2003
Each program that reaches the address may send lengths of queues.

Examples:
  thalweg steer storm --graphite 127.0.0.1:2003 --translator rt -v
  thalweg steer storm --source-gauge totalSpoutLag --dry-run --output json";

/// Options of `thalweg steer`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct SteerArgs {
    #[command(subcommand)]
    engine: Option<EngineArgs>,
    /// Put back what tools that have ended left behind, and do nothing else.
    #[arg(long)]
    restore: bool,
}

/// An engine whose threads are steered.
#[derive(Subcommand)]
enum EngineArgs {
    /// Steer the threads of an unmodified Apache Flink whose task managers run on this machine.
    Flink(Box<FlinkArgs>),
    /// Steer the threads of an unmodified Apache Storm whose workers run on this machine.
    #[command(after_help = STORM)]
    Storm(Box<StormArgs>),
}

#[derive(Args)]
struct FlinkArgs {
    /// Address of the REST interface of the job manager.
    #[arg(long, value_name = "URL", default_value = "http://localhost:8081")]
    rest: String,
    /// File with the token that the REST interface asks for. It is sent as it is, without TLS.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Gauge that tells how many records wait for a source, if its connector has no `pendingRecords`.
    #[arg(long, value_name = "NAME")]
    source_gauge: Option<String>,
    /// SQL from which jobs were made. Flink drops its keys `thalweg.*` and tells no windows; with the file, policies know
    /// both, so `klink` and `cameo_llf` can rank. Jobs of other SQL come after all others, by their queues.
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
struct StormArgs {
    /// Address to which Storm's GraphiteStormReporter sends, by TCP.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:2003")]
    graphite: String,
    /// Gauge that tells how many records wait for a spout; a spout without it counts as empty.
    #[arg(long, value_name = "NAME")]
    source_gauge: Option<String>,
    /// Main class of a program that runs Storm within itself, by LocalCluster.
    #[arg(long, value_name = "CLASS")]
    main_class: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Options that do not depend on the engine.
#[derive(Args)]
struct CommonArgs {
    /// Policy that ranks the threads.
    #[arg(long, value_name = "POLICY", default_value = "congestion")]
    #[arg(value_parser = PossibleValuesParser::new(policy::names()))]
    policy: String,
    /// Form of the priorities: nice values, logarithmic as in the published Lachesis or linear as in its paper;
    /// real-time priorities under SCHED_RR (rt) or SCHED_FIFO (fifo); or a control group for each operator, with
    /// shares of CPU time, logarithmic or linear, or with a limit of it.
    #[arg(long, value_name = "FORM", default_value = "nice")]
    #[arg(value_parser = PossibleValuesParser::new(steering::TRANSLATORS.map(|(name, _)| name)))]
    translator: String,
    /// Time between two rounds.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, default_value = "1s")]
    #[arg(value_parser = options::span_within(steering::PERIODS))]
    period: Span,
    /// Parameters of policies.
    #[command(flatten)]
    policy_options: PolicyOptions,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// End after this time, such as 10s [default: at Ctrl-C].
    #[arg(long = "for", value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span)]
    length: Option<Span>,
    /// Format of what is shown: a table, or a JSON object for each round on a line of its own.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Write gauges in the text format of Prometheus into this file after each round.
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Write a line for each change of a thread.
    #[arg(long, short)]
    verbose: bool,
}

impl CommonArgs {
    /// Returns true if the policy is that of the earlier Lachesis, which ranked all threads of an operator by
    /// the length of its input queue.
    fn is_earlier(&self) -> bool {
        self.policy == congestion::V1_NAME
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A table for people, drawn in place on a terminal.
    Text,
    /// A JSON object for each round.
    Json,
}

/// Runs `thalweg steer`. Returns `false` if all rounds of steering were skipped, or if the priority of some
/// thread could not be restored.
pub fn run(args: &SteerArgs) -> Result<bool> {
    match &args.engine {
        Some(EngineArgs::Flink(flink)) => {
            let FlinkArgs { rest, token_file, source_gauge, sql, common } = &**flink;
            let token = token_file.as_deref().map(token).transpose()?;
            let http = Http::new(rest, token.as_deref());
            let http = http.map_err(|error| WrongOption(format!("--rest: {error}")))?;
            let flusher_queue = if common.is_earlier() { FlusherQueue::Input } else { FlusherQueue::Output };
            let source_gauge = source_gauge.clone();
            let policy = chosen(common)?;
            let mut declared = sql.as_deref().map(sql::declared).transpose()?.unwrap_or_default();
            // Fields that Flink tells without the file.
            let told = Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY;
            if policy.reads().missing_from(told).is_empty() && !declared.is_empty() {
                console::note("--sql changes nothing for a policy that needs no times");
                declared.clear();
            }
            let delay_epochs = policy.delay_epochs() as usize;
            let policy = if declared.is_empty() { policy } else { Box::new(DeclaredFirst::new(policy)?) };
            let processes = Processes::default();
            let options = flink::Options { source_gauge, flusher_queue, declared, delay_epochs, processes };
            steer(Flink::new(http, options), policy, common)
        }
        Some(EngineArgs::Storm(storm)) => {
            let StormArgs { graphite, source_gauge, main_class, common } = &**storm;
            let lines = Receiver::bind(graphite)
                .map_err(|error| WrongOption(format!("--graphite: cannot listen at {graphite}: {error}")))?;
            let send_queue = if common.is_earlier() { SendQueue::Receive } else { SendQueue::Send };
            let (source_gauge, main_class) = (source_gauge.clone(), main_class.clone());
            let processes = Processes::default();
            let options = storm::Options { source_gauge, send_queue, main_class, processes };
            steer(Storm::new(lines, options), chosen(common)?, common)
        }
        None => restore(),
    }
}

fn token(file: &Path) -> Result<String> {
    let refused = || format!("--token-file: {} cannot be read", file.display());
    let length = fs::metadata(file).with_context(refused)?.len();
    if length > TOKEN_BYTES_MAX {
        bail!(
            "--token-file: {} has {length} bytes, but a token has at most {TOKEN_BYTES_MAX}",
            file.display()
        );
    }
    Ok(fs::read_to_string(file).with_context(refused)?.trim().to_owned())
}

/// Restores the priorities of threads that tools which have ended had changed. Returns `false` if some could
/// not be restored.
fn restore() -> Result<bool> {
    let folder = steering::states_folder();
    let restored = state_file::restore_all(&folder, &Processes::default(), &Linux);
    let (restored, running) = restored.with_context(|| format!("{} cannot be used", folder.display()))?;
    console::out(&format!("{}\n", steering::told(&restored)))?;
    for process in running {
        console::note(&format!("process {process} is steering, and was left alone"));
    }
    Ok(restored.failures.is_empty())
}

/// Creates the policy that the options name, with the parameters that they give.
fn chosen(args: &CommonArgs) -> Result<Box<dyn Policy>> {
    args.policy_options.idle(&[&args.policy]).iter().for_each(|note| console::note(note));
    let policy = policy::configured(&args.policy, &args.policy_options.settings());
    policy.map_err(|error| WrongOption(format!("--policy: {error}")).into())
}

/// Steers the threads of an engine by `policy` until Ctrl-C, or for the time that `--for` gives. Returns `false` in
/// the same cases as [`run`].
fn steer(driver: impl Driver, policy: Box<dyn Policy>, args: &CommonArgs) -> Result<bool> {
    let translator = steering::translator(&args.translator).map_err(WrongOption)?;
    let interrupt = Interrupt::listen()?;
    let plan = Plan {
        translator,
        period: steering::duration(args.period),
        states: (!args.dry_run).then(steering::states_folder),
        urgent: Vec::new(),
    };
    let watchdog = steering::watchdog_command()?;
    let tool = Tool::begin(driver, policy, plan, watchdog, (Processes::default(), Linux));
    let mut tool = tool.map_err(|error| match error {
        CannotSteer::Unfit(_) => WrongOption(format!("--policy: {error}")).into(),
        _ => anyhow!("{error}"),
    })?;
    steering::note_begin(&tool);
    let until = args.length.map(|length| Instant::now() + steering::duration(length));
    // A round may fail to be shown: the reader of standard output may go away, or the disk of a file may be
    // full. The first such error ends the steering.
    let unshown = RefCell::new(None);
    let is_over = || {
        let is_late = || until.is_some_and(|until| until <= Instant::now());
        interrupt.is_pressed() || unshown.borrow().is_some() || is_late()
    };
    let mut shown = Shown::new(args);
    let ended = tool.run(is_over, |round| {
        if let Err(error) = shown.show(round) {
            *unshown.borrow_mut() = Some(error);
        }
    });
    let restored = tool.end().context("what was changed cannot be put back")?;
    if let Some(error) = unshown.into_inner() {
        return Err(error);
    }
    if args.output == Format::Text {
        console::out(&shown.summary())?;
        if !args.dry_run {
            console::out(&format!("{}\n", steering::told(&restored)))?;
        }
    }
    if let Ended::Unwatched(error) = ended {
        bail!("the watchdog is gone ({error}), so the tool has ended");
    }
    Ok(shown.rounds > 0 && restored.failures.is_empty())
}

/// Shows each round of steering, and adds up the numbers of all rounds.
struct Shown<'a> {
    args: &'a CommonArgs,
    table: Table,
    rounds: u64,
    skipped: u64,
    changes: u64,
    failures: u64,
    /// The reason for which the last round was skipped, if it was. A reason that repeats is shown once.
    last_reason: Option<String>,
    /// The last failure to change the priority of a thread. A failure that repeats is shown once.
    last_failure: Option<String>,
}

impl<'a> Shown<'a> {
    fn new(args: &'a CommonArgs) -> Self {
        let table = if stdout().is_terminal() { Table::in_place() } else { Table::once() };
        Shown {
            args,
            table,
            rounds: 0,
            skipped: 0,
            changes: 0,
            failures: 0,
            last_reason: None,
            last_failure: None,
        }
    }

    fn show(&mut self, round: Round) -> Result<()> {
        let (rows, applied, telling, notes) = match round {
            Round::Applied { rows, applied, telling, notes } => (rows, applied, telling, notes),
            Round::Skipped(reason) => {
                self.skipped += 1;
                self.gauge(&[])?;
                if self.args.output == Format::Json {
                    return console::out(&format!("{}\n", json!({ "skipped": reason })));
                }
                if self.last_reason.as_ref() != Some(&reason) {
                    console::note(&format!("a round is skipped: {}", plain(&reason)));
                    self.last_reason = Some(reason);
                }
                return Ok(());
            }
        };
        self.last_reason = None;
        notes.iter().for_each(|note| console::note(&plain(note)));
        self.rounds += 1;
        self.changes += applied.changes.len() as u64;
        self.failures += applied.failures.len() as u64;
        self.gauge(&rows)?;
        match self.args.output {
            Format::Json => console::out(&format!("{}\n", as_json(&rows, &telling, &applied)))?,
            Format::Text if self.args.verbose => console::out(&changes(&rows, &telling, &applied))?,
            Format::Text => console::out(&self.table.draw(&rows))?,
        }
        if let Some((key, error)) = applied.failures.first() {
            let failure = error.to_string();
            if self.last_failure.as_ref() != Some(&failure) {
                let others = applied.failures.len() - 1;
                console::note(&format!("thread {} and {others} more: {failure}", key.thread));
                self.last_failure = Some(failure);
            }
        }
        Ok(())
    }

    /// Writes the figures of a round to the file of `--prometheus`, if that option is given.
    fn gauge(&self, rows: &[Row]) -> Result<()> {
        let counts = [self.rounds, self.skipped, self.changes, self.failures];
        self.args.prometheus.as_ref().map_or(Ok(()), |file| gauges::write(file, rows, counts))
    }

    /// Returns the numbers of rounds, changes and failures as a line of text.
    fn summary(&self) -> String {
        let Shown { rounds, skipped, changes, failures, .. } = self;
        let would = if self.args.dry_run { " that a run would make" } else { "" };
        let [rounds, skipped, changes, failures] =
            [rounds, skipped, changes, failures].map(|n| show::count(*n));
        format!("{rounds} rounds, {skipped} skipped; {changes} changes{would}, {failures} failed\n")
    }
}

/// Returns the priority of a thread in a few letters, such as `nice -20`, `rr 98` or `shares 1024`.
fn short(priority: Priority) -> String {
    let Setting { class, nice, priority, .. } = match priority {
        Priority::Thread(setting) => setting,
        Priority::Group(CpuTime::Shares(shares)) => return format!("shares {shares}"),
        Priority::Group(CpuTime::LimitUs(limit_us)) => return format!("limit {limit_us} us"),
    };
    match class {
        Class::Other => format!("nice {nice}"),
        Class::Batch => format!("batch {nice}"),
        Class::Idle => "idle".to_owned(),
        Class::RoundRobin => format!("rr {priority}"),
        Class::Fifo => format!("fifo {priority}"),
    }
}

/// Returns a line of text for each thread whose priority a round has changed.
fn changes(rows: &[Row], telling: &[Telling], applied: &Applied) -> String {
    let line = |Change { key, from, to }: &Change| {
        let steered = rows.iter().map(|row| (row.thread.key, row.thread.name.as_str()));
        let told = telling.iter().map(|thread| (thread.key, thread.name.as_str()));
        let name = steered.chain(told).find(|(known, _)| known == key).map_or("", |(_, name)| name);
        let from = from.map_or("none".to_owned(), short);
        format!("{} {from} -> {} {}\n", key.thread, short(*to), plain(name))
    };
    applied.changes.iter().map(line).collect()
}

fn as_json(rows: &[Row], telling: &[Telling], applied: &Applied) -> serde_json::Value {
    let told = |Telling { key, name }: &Telling| json!({ "process": key.process, "thread": key.thread, "name": name });
    let thread = |Row { thread, pending, rank, priority }: &Row| {
        let setting = priority.setting();
        json!({
            "process": thread.key.process,
            "thread": thread.key.thread,
            "name": thread.name,
            "pending": pending,
            "score": rank.map(|rank| rank.score),
            "class": rank.map(|rank| rank.class),
            "nice": setting.map(|setting| setting.nice),
            "priority": setting.map(|setting| setting.priority),
            "shares": priority.shares(),
            "limit_us": priority.limit_us(),
        })
    };
    json!({
        "threads": rows.iter().map(thread).collect::<Vec<_>>(),
        "telling": telling.iter().map(told).collect::<Vec<_>>(),
        "changes": applied.changes.len(),
        "put_back": applied.put_back,
        "ended": applied.ended,
        "postponed": applied.postponed,
        "failures": applied.failures.len(),
    })
}

#[cfg(test)]
mod tests;
