//! `--steer`: a policy gives the threads of a run's tasks priorities, as it would those of another engine.
//!
//! While the run goes on, another thread reads the lengths of queues every `--period` and sets priorities. All
//! priorities are restored when the run ends, or by the watchdog if this program is killed.
//!
//! Source: the Lachesis paper of 2023; our own threads take the place of Storm's.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use thalweg::{Engine, Span, TASK_THREAD_FIELDS, TaskThreads};
use thalweg_cli::{show, steering};
use thalweg_memory::sync::{AtomicBool, Ordering};

use thalweg_scheduling::policy::congestion;
use thalweg_scheduling::{Fields, OperatorId, Settings, policy};
use thalweg_steer::kernel::Linux;
use thalweg_steer::queue_means::QueueMeans;
use thalweg_steer::setting::Setting;
use thalweg_steer::steering::Steered as SteeredThread;
use thalweg_steer::steering::{Driver, Observation, Round, Row, Translator, Unobserved};
use thalweg_steer::threads::{Processes, ThreadKey};
use thalweg_steer::tool::{CannotSteer, Ended, Plan, Tool};

/// Name of the engine's thread that allocates the memory of edges. The operating system keeps only the first 15 bytes
/// of a thread's name.
const MEMORY_THREAD: &str = "thalweg-memory";

/// A value of `--steer`: a policy, and the form of priorities (such as nice values) to which its ranks are converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SteerOption {
    policy: String,
    form: String,
    translator: Translator,
}

impl SteerOption {
    /// Parses a policy and a form of priorities, such as `congestion:nice`.
    pub fn parsed(text: &str) -> Result<Self, String> {
        let (policy, form) =
            text.split_once(':').ok_or_else(|| format!("`{text}` has no form: write {text}:nice"))?;
        policy::by_name(policy).map_err(|error| error.to_string())?;
        let translator = steering::translator(form)?;
        Ok(SteerOption { policy: policy.to_owned(), form: form.to_owned(), translator })
    }

    /// Returns the name of the policy.
    pub fn policy(&self) -> &str {
        &self.policy
    }
}

/// How a run is steered.
#[derive(Clone, Debug)]
pub struct SteerPlan {
    /// The policy and the form of priorities.
    pub option: SteerOption,
    /// Time between two rounds.
    pub period: Span,
    /// True if the policy takes the mean length of a queue over the last 10 s for its length.
    pub takes_means: bool,
    /// Parameters of the policy.
    pub settings: Settings,
}

/// Outcome of the steering of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Steered {
    pub policy: String,
    /// The form of priorities, such as `nice`, `rt` or `shares`.
    pub form: String,
    /// Time between two rounds in seconds.
    pub period_s: f64,
    /// True if the policy took the mean length of a queue over the last 10 s for its length.
    pub takes_means: bool,
    /// Number of rounds in which priorities were set.
    pub rounds: u64,
    /// Number of rounds that were skipped, because threads or queues could not be read.
    pub skipped: u64,
    /// Number of changes of a thread's priority.
    pub changes: u64,
    /// Number of failed attempts to read or set the priority of a thread.
    pub failures: u64,
    /// CPU time of the steering thread, as a share of the time of the run.
    pub cpu_share: f64,
    /// The operators, each with its mean queue length and mean priority over the rounds.
    pub operators: Vec<SteeredOperator>,
}

/// An operator of a steered run, with means over the rounds in which its thread ran.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct SteeredOperator {
    pub name: String,
    /// Mean number of records that waited for the operator.
    pub pending: f64,
    /// Mean nice value of the thread; 0 if priorities have another form.
    pub nice: f64,
    /// Mean real-time priority of the thread; 0 if priorities have another form.
    pub priority: f64,
    /// Mean CPU shares of the operator's control group; 0 if priorities have another form.
    pub shares: f64,
    /// Mean CPU time in µs that the operator's control group may use in a period of 100 ms; 0 if priorities have
    /// another form.
    pub limit_us: f64,
}

impl Steered {
    /// Returns the figures of the steering (rounds, changes, CPU time) as a line of text.
    pub fn text(&self) -> String {
        let Steered { policy, form, period_s, rounds, skipped, changes, failures, cpu_share, .. } = self;
        let means = if self.takes_means { " by means of 10 s" } else { "" };
        let mut text = format!(
            "  steering    {policy}:{form} every {}{means}; {} rounds, {} changes, {:.1} % of a core\n",
            show::latency(period_s * 1e9),
            show::count(*rounds),
            show::count(*changes),
            cpu_share * 100.0
        );
        if skipped + failures > 0 {
            text += &format!("              {skipped} rounds skipped, {failures} changes failed\n");
        }
        text
    }
}

/// Reads the threads and queues of an engine in this process, so that it can be steered like another engine.
struct OwnThreads<'a> {
    engine: &'a Engine,
    processes: Processes,
    /// True if the queue of a source counts as never empty, as in the earlier Lachesis (section 5.2.1 of the paper).
    is_earlier: bool,
    /// The time of the first round and the mean lengths of queues, if the policy takes them.
    means: Option<(Instant, QueueMeans)>,
    /// The threads that the last round has found, by the query and the operator of each.
    keys: BTreeMap<(u64, OperatorId), ThreadKey>,
}

impl Driver for OwnThreads<'_> {
    fn name(&self) -> &'static str {
        "--execution threads"
    }

    fn supplies(&self) -> Fields {
        // With means an empty queue may count as one where something waits, of which nothing else is known.
        let of_means = Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY;
        if self.means.is_some() { of_means } else { TASK_THREAD_FIELDS }
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        let told = || Unobserved("the engine has no threads of tasks".to_owned());
        let TaskThreads { snapshot, threads } = self.engine.task_threads().ok_or_else(told)?;
        let mut known = std::mem::take(&mut self.keys);
        let mut steered = Vec::with_capacity(threads.len());
        for thread in threads {
            let task = (thread.query_serial, thread.operator);
            let key = match known.remove(&task) {
                Some(key) => Some(key),
                None => {
                    let key = self.processes.key(std::process::id(), thread.number);
                    key.map_err(|error| Unobserved(format!("thread {}: {error}", thread.number)))?
                }
            };
            // A thread that has ended in the meantime is no longer found, and left out from now on.
            if let Some(key) = key {
                self.keys.insert(task, key);
                steered.push(SteeredThread { key, operator: thread.operator, name: thread.name });
            }
        }
        let mut observation = Observation { snapshot, threads: steered, ..Observation::default() };
        if let Some((began, means)) = &mut self.means {
            means.apply(began.elapsed(), &mut observation);
        }
        if self.is_earlier {
            observation.let_no_source_be_empty();
        }
        Ok(observation)
    }
}

/// Sums over the rounds of a run, of which the means are computed.
#[derive(Default)]
struct Sums {
    rounds: u64,
    changes: u64,
    failures: u64,
    /// By the name of an operator: number of rounds that have found its thread, and over these rounds the sums of
    /// waiting records, nice values, real-time priorities, CPU shares and CPU limits in µs.
    operators: BTreeMap<String, (u64, [f64; 5])>,
}

impl Sums {
    fn add(&mut self, round: Round) {
        let Round::Applied { rows, applied, .. } = round else { return };
        self.rounds += 1;
        self.changes += applied.changes.len() as u64;
        self.failures += applied.failures.len() as u64;
        for Row { thread, pending, priority, .. } in rows {
            let (looks, sums) = self.operators.entry(thread.name).or_default();
            *looks += 1;
            let Setting { nice, priority: real_time, .. } = priority.setting().unwrap_or_default();
            let shares = f64::from(priority.shares().unwrap_or_default());
            let limit_us = priority.limit_us().unwrap_or_default() as f64;
            let seen = [pending as f64, f64::from(nice), f64::from(real_time), shares, limit_us];
            sums.iter_mut().zip(seen).for_each(|(sum, seen)| *sum += seen);
        }
    }

    fn operators(self) -> Vec<SteeredOperator> {
        let mean = |(name, (looks, sums)): (String, (u64, [f64; 5]))| {
            let [pending, nice, priority, shares, limit_us] = sums.map(|sum| sum / looks as f64);
            SteeredOperator { name, pending, nice, priority, shares, limit_us }
        };
        self.operators.into_iter().map(mean).collect()
    }
}

/// Sets a flag when it is dropped: the sign that the run is over.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        // Relaxed: the flag is polled, and no other memory access is ordered by it.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `run` while another thread steers the threads of the tasks of `engine`.
///
/// # Errors
/// If this program may not give priorities, if changed priorities cannot be restored, or if `run` fails.
pub fn beside<R: Send>(
    engine: &Engine,
    plan: &SteerPlan,
    run: impl FnOnce() -> Result<R>,
) -> Result<(R, Steered)> {
    let is_over = AtomicBool::new(false);
    let (told, begun) = channel();
    thread::scope(|scope| {
        let steering = thread::Builder::new().name("thalweg-steer".to_owned());
        // If the run panics, the steering must end, too, or the scope waits for ever.
        let over = Over(&is_over);
        let is_over = &is_over;
        let steering = steering.spawn_scoped(scope, move || steer(engine, plan, is_over, told));
        let steering = steering.context("the machine has no thread for the steering")?;
        let outcome = match begun.recv() {
            Ok(()) => Some(run()),
            // The steering thread has ended with an error before it steered anything.
            Err(_) => None,
        };
        drop(over);
        let steered = steering.join().unwrap_or_else(|_| Err(anyhow!("the steering panicked")));
        match outcome {
            Some(outcome) => Ok((outcome?, steered?)),
            None => Err(steered.err().unwrap_or_else(|| anyhow!("the steering has not begun"))),
        }
    })
}

/// Steers the threads of the tasks of `engine` until `is_over`, from the calling thread. Sends to `begun` when the
/// steering is prepared, and drops `begun` without sending if that fails.
fn steer(engine: &Engine, plan: &SteerPlan, is_over: &AtomicBool, begun: Sender<()>) -> Result<Steered> {
    let SteerPlan { option, settings, .. } = plan;
    let processes = Processes::default();
    let policy =
        policy::configured(option.policy(), settings).map_err(|error| anyhow!("--steer: {error}"))?;
    let is_earlier = option.policy() == congestion::V1_NAME;
    let means = plan.takes_means.then(|| (Instant::now(), QueueMeans::default()));
    let driver =
        OwnThreads { engine, processes: processes.clone(), is_earlier, means, keys: BTreeMap::new() };
    let process = std::process::id();
    // The thread that makes memory for edges must not wait for the tasks that wait for it. The main thread stays as it is:
    // it reads counters that a task may be writing, and would wait for ever for a task that it keeps from its core.
    let mut urgent = Vec::new();
    for thread in processes.threads(process)? {
        if processes.name(process, thread).as_deref() == Some(MEMORY_THREAD) {
            urgent.extend(processes.key(process, thread)?);
        }
    }
    let own = processes.own_thread().context("the steering does not find its own thread")?;
    let states = Some(steering::states_folder());
    let asked =
        Plan { translator: option.translator, period: steering::duration(plan.period), states, urgent };
    let watchdog = steering::watchdog_command()?;
    let tool = Tool::begin(driver, policy, asked, watchdog, (processes.clone(), Linux));
    let mut tool = tool.map_err(|error| refused(&error))?;
    steering::note_begin(&tool);
    // The receiver waits for this message, so sending cannot fail.
    let _is_heard = begun.send(());
    drop(begun);
    let (began, mut sums) = (Instant::now(), Sums::default());
    let ended = tool.run(|| is_over.load(Ordering::Relaxed), |round| sums.add(round));
    let elapsed = began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    let cpu_ns = processes.cpu_ns(process, own.thread).unwrap_or(0);
    let skipped = tool.skipped();
    let restored = tool.end().context("what was changed cannot be put back")?;
    if !restored.failures.is_empty() {
        return Err(anyhow!("after the run: {}", steering::told(&restored)));
    }
    if let Ended::Unwatched(error) = ended {
        return Err(anyhow!("the watchdog is gone ({error}), so nothing was steered from then on"));
    }
    let Sums { rounds, changes, failures, .. } = sums;
    Ok(Steered {
        policy: option.policy.clone(),
        form: option.form.clone(),
        period_s: steering::duration(plan.period).as_secs_f64(),
        takes_means: plan.takes_means,
        rounds,
        skipped,
        changes,
        failures,
        cpu_share: cpu_ns as f64 / 1e9 / elapsed,
        operators: sums.operators(),
    })
}

fn refused(error: &CannotSteer) -> anyhow::Error {
    anyhow!("--steer: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_and_a_form_are_parsed() {
        let parsed = SteerOption::parsed("congestion:nice").unwrap();
        assert_eq!((parsed.policy(), parsed.form.as_str()), ("congestion", "nice"));
        for (text, expected) in [
            ("congestion", "`congestion` has no form: write congestion:nice"),
            (
                "congestion:fast",
                "`fast` is no form of priorities: take nice, nice-linear, rt, fifo, shares, shares-linear, limit",
            ),
        ] {
            assert_eq!(SteerOption::parsed(text), Err(expected.to_owned()));
        }
        assert!(SteerOption::parsed("best:nice").unwrap_err().contains("best"));
    }

    #[test]
    fn a_run_is_told_in_one_line_unless_something_failed() {
        let steered = Steered {
            policy: "congestion".to_owned(),
            form: "rt".to_owned(),
            period_s: 0.1,
            takes_means: false,
            rounds: 49,
            skipped: 0,
            changes: 1_312,
            failures: 0,
            cpu_share: 0.004,
            operators: Vec::new(),
        };
        let line = "  steering    congestion:rt every 100 ms; 49 rounds, 1,312 changes, 0.4 % of a core\n";
        assert_eq!(steered.text(), line);
        let failed = Steered { skipped: 2, ..steered };
        assert_eq!(failed.text(), format!("{line}              2 rounds skipped, 0 changes failed\n"));
    }
}
