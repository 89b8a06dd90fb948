//! Runs of `thalweg bench`, and their figures.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Runs `bench` with this workload and its options; its one JSON object.
pub(super) type Run<'a> = dyn FnMut(&str) -> Result<Value> + 'a;

/// Starts the program.
///
/// # Errors
///
/// If it cannot be started, fails, or says that its results are wrong.
pub(super) fn run_binary(binary: &Path, options: &str) -> Result<Value> {
    let mut command = Command::new(binary);
    command.args(["bench", "--output", "json"]).args(options.split_whitespace());
    let output = command.output().with_context(|| format!("could not start {}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        bail!("{} from: bench {options}\n{text}{told}", output.status);
    }
    serde_json::from_str(text.trim()).with_context(|| format!("not JSON: {text}"))
}

/// One thing that is measured.
pub(super) struct Side {
    /// What it is, for people.
    pub(super) title: String,
    /// The workload and its options.
    pub(super) options: String,
    /// How long to measure, unless the command line says.
    pub(super) seconds: f64,
    /// How much its workers have to do.
    pub(super) workers: Workers,
}

/// How much there is to do, by which the time for choosing tasks is judged.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Workers {
    /// Always something.
    Busy,
    /// A record now and then.
    Waiting,
    /// So little that the sample of their choices, one in 64, says nothing.
    Idle,
}

/// The figures of one run.
#[derive(Clone)]
pub(super) struct Figures(Value);

impl Figures {
    /// The figure at this JSON pointer, such as `/latency_us/p50`.
    ///
    /// # Errors
    ///
    /// If it is not there or no number.
    pub(super) fn number(&self, pointer: &str) -> Result<f64> {
        let number = self.0.pointer(pointer).and_then(Value::as_f64);
        number.with_context(|| format!("no number at {pointer} of {}", self.0))
    }

    /// Million events per second.
    ///
    /// # Errors
    ///
    /// If there is no such figure.
    pub(super) fn speed(&self) -> Result<f64> {
        Ok(self.number("/throughput_per_s")? / 1e6)
    }

    /// CPU time as a percentage of one core.
    ///
    /// # Errors
    ///
    /// If there is no such figure.
    pub(super) fn cpu_percent(&self) -> Result<f64> {
        Ok(100.0 * self.number("/cpu_s")? / self.number("/seconds")?)
    }
}

/// Of the runs of one side, the time that went into choosing tasks.
pub(super) struct Share {
    pub(super) title: String,
    pub(super) workers: Workers,
    /// Percentage of the time that workers did not sleep, a run each.
    pub(super) percents: Vec<f64>,
}

/// Runs each side once a round, also if two sections want it: then both speak of the same run.
pub(super) struct Bench<'a> {
    run: &'a mut Run<'a>,
    seconds: Option<f64>,
    /// What has been run in this round, by its options.
    round: Vec<(String, Figures)>,
    shares: Vec<Share>,
}

impl<'a> Bench<'a> {
    /// Measures with `run`, for `seconds` in place of each side's own.
    pub(super) fn new(run: &'a mut Run<'a>, seconds: Option<f64>) -> Self {
        Bench { run, seconds, round: Vec::new(), shares: Vec::new() }
    }

    /// How long to measure what would take so many seconds.
    pub(super) fn seconds(&self, own: f64) -> f64 {
        self.seconds.unwrap_or(own)
    }

    /// From here on everything is measured anew.
    pub(super) fn begin_round(&mut self) {
        self.round.clear();
    }

    /// The figures of `side` in this round.
    ///
    /// # Errors
    ///
    /// A run that fails.
    pub(super) fn figures(&mut self, side: &Side) -> Result<Figures> {
        let Side { title, options, seconds, workers } = side;
        if let Some((_, figures)) = self.round.iter().find(|(other, _)| other == options) {
            return Ok(figures.clone());
        }
        eprintln!("   {title}");
        let seconds = self.seconds(*seconds);
        let figures = (self.run)(&format!("{options} --seconds {seconds}")).map(Figures)?;
        // The hand-written loops choose nothing.
        if let (true, Ok(share)) = (*workers != Workers::Idle, figures.number("/scheduling_share")) {
            let known = self.shares.iter().position(|share| share.title == *title);
            let place = known.unwrap_or_else(|| {
                self.shares.push(Share { title: title.clone(), workers: *workers, percents: Vec::new() });
                self.shares.len() - 1
            });
            self.shares[place].percents.push(100.0 * share);
        }
        self.round.push((options.clone(), figures.clone()));
        Ok(figures)
    }

    /// Of every side that chose tasks, in the order in which they were first run.
    pub(super) fn shares(&self) -> &[Share] {
        &self.shares
    }
}
