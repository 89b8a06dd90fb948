//! Runs of `thalweg bench`, and the figures that are read from them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::machine;
use super::section::{Figure, Side, Work, Workers};

/// The highest rate that `thalweg bench` accepts, in events per second.
const RATE_MAX: f64 = 1e9;

/// Function that runs `thalweg bench` with a workload and its options, and returns the JSON object of the
/// run.
pub(super) type Run<'a> = dyn FnMut(&str) -> Result<Value> + 'a;

/// Starts the program `binary` as `bench` with these options, and returns its JSON object.
///
/// # Errors
///
/// Fails when the program cannot be started, fails, or reports that its results are wrong.
pub(crate) fn run_binary(binary: &Path, options: &str) -> Result<Value> {
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

/// Share of time that the runs of one kind spent on choosing tasks.
pub(super) struct Share {
    pub(super) title: String,
    pub(super) workers: Workers,
    /// For each run, the percentage of the time in which workers did not sleep that was spent on choosing
    /// tasks.
    pub(super) percents: Vec<f64>,
}

/// Makes the runs of a round of measurements, each once. If two sections need a run with the same options,
/// both read the figures of that one run.
pub(super) struct Bench<'a> {
    run: &'a mut Run<'a>,
    seconds: Option<f64>,
    /// The runs of the current round, each with its options.
    round: Vec<(String, Value)>,
    shares: Vec<Share>,
}

impl<'a> Bench<'a> {
    /// Creates a bench that measures by the function `run`. `seconds`, if given, replaces the length that
    /// each section gives.
    pub(super) fn new(run: &'a mut Run<'a>, seconds: Option<f64>) -> Self {
        Bench { run, seconds, round: Vec::new(), shares: Vec::new() }
    }

    /// Forgets the runs of the last round of measurements.
    pub(super) fn begin_round(&mut self) {
        self.round.clear();
    }

    /// Returns the share of time for choosing tasks of every kind of run that chose tasks, in the order of
    /// their first runs.
    pub(super) fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Returns the figures of the current round for the table lines of `side`. Runs it if necessary.
    ///
    /// # Errors
    ///
    /// When the run fails or lacks a figure.
    pub(super) fn figures(&mut self, side: &Side) -> Result<Vec<f64>> {
        let (options, rate) = self.rated(side)?;
        let found = self.found(side, &options)?;
        side.lines.iter().map(|line| self.figure(line.figure, &found, rate)).collect()
    }

    /// Returns the options of `side` with its rate. If the rate follows from the speed of another run, also
    /// returns the rate of each query.
    fn rated(&self, side: &Side) -> Result<(String, Option<f64>)> {
        let options = &side.options;
        match side.work {
            Work::AtRate | Work::Clock => Ok((options.clone(), None)),
            Work::Drained => Ok((drained(options), None)),
            Work::AtShare(share) => {
                let drained = self.drained(options);
                let per_s = share * number(drained, "/throughput_per_s")? / number(drained, "/queries")?;
                let rate = per_s.clamp(1.0, RATE_MAX).round();
                Ok((format!("{options} --rate {rate}"), Some(rate)))
            }
        }
    }

    /// Returns the result of running `side` with these options. Runs it unless it has run in this round
    /// already.
    fn found(&mut self, side: &Side, options: &str) -> Result<Value> {
        if let Some((_, found)) = self.round.iter().find(|(other, _)| other == options) {
            return Ok(found.clone());
        }
        eprintln!("   {}", side.title);
        let seconds = self.seconds.unwrap_or(side.seconds);
        let found = match side.work {
            Work::Clock => machine::stops(seconds),
            _ => (self.run)(&format!("{options} --seconds {seconds}"))?,
        };
        self.round.push((options.to_owned(), found.clone()));
        // Hand-written loops have no share, since they choose no tasks.
        if let (true, Ok(share)) = (side.workers != Workers::Idle, number(&found, "/scheduling_share")) {
            match self.shares.iter_mut().find(|share| share.title == side.title) {
                Some(known) => known.percents.push(100.0 * share),
                None => {
                    let (title, workers) = (side.title.clone(), side.workers);
                    self.shares.push(Share { title, workers, percents: vec![100.0 * share] });
                }
            }
        }
        Ok(found)
    }

    fn figure(&self, figure: Figure, found: &Value, rate: Option<f64>) -> Result<f64> {
        let throughput = || number(found, "/throughput_per_s");
        let query_mean = || Ok::<_, anyhow::Error>(throughput()? / number(found, "/queries")?);
        Ok(match figure {
            Figure::Number(pointer, _) => number(found, pointer)?,
            Figure::Speed => throughput()? / 1e6,
            Figure::SpeedOf(options) => throughput()? / number(self.drained(options), "/throughput_per_s")?,
            Figure::Cpu => 100.0 * number(found, "/cpu_s")? / number(found, "/seconds")?,
            Figure::KeptUp => query_mean()? / rate.expect("a side that keeps up runs at a share of a speed"),
            Figure::QueryShare(place) => {
                number(found, &format!("/query_throughput_per_s/{place}"))? / query_mean()?
            }
        })
    }

    /// Returns the run of the current round that drained the workload with these options.
    fn drained(&self, options: &str) -> &Value {
        let run = self.round.iter().find(|(other, _)| *other == drained(options));
        &run.expect("a section drains a workload before it refers to its speed").1
    }
}

fn drained(options: &str) -> String {
    format!("{options} --rate max")
}

/// Returns the number in a JSON object at a pointer such as `/latency_us/p50`.
fn number(found: &Value, pointer: &str) -> Result<f64> {
    let number = found.pointer(pointer).and_then(Value::as_f64);
    number.with_context(|| format!("no number at {pointer} of {found}"))
}
