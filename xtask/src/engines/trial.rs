//! One run: the query is started anew with the tool beside it, and measured after a warm-up.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Lengths;
use super::host::Host;
use super::process;
use super::query::Query;
use super::rounds::{self, Means, Round};
use super::system::System;
use super::tool::{Tool, end_of};

/// Longest time that a run may take beside its warm-up and its measured time: the program of the query waits three minutes for
/// its engine.
const BESIDE_MAX: Duration = Duration::from_secs(200);
/// Longest time that the program of a query may take to end the query.
const END_MAX: Duration = Duration::from_secs(90);
/// Pause between two looks at a run.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Time between two samples of CPU times, in seconds.
const SAMPLE_S: f64 = 1.0;

/// All that runs have in common.
pub(super) struct Bench {
    pub(super) host: Host,
    pub(super) query: Query,
    /// Path of the program `thalweg`.
    pub(super) program: PathBuf,
    /// Path of the jar with the queries.
    pub(super) jar: PathBuf,
    /// File of records, for queries that read one.
    pub(super) input: Option<PathBuf>,
    /// Directory of the files of runs.
    pub(super) runs: PathBuf,
}

/// A run to make.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Order {
    pub(super) system: System,
    /// Offered records per second.
    pub(super) rate: f64,
    pub(super) lengths: Lengths,
    /// True for a run that measures the capacity, whose threads do not look for work more often than needed.
    pub(super) is_probe: bool,
}

/// A run that was made.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Repetition to which the run belongs, counted from 1.
    pub(super) repetition: u32,
    pub(super) order: Order,
    pub(super) figures: Figures,
}

/// Figures of the measured time of a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Figures {
    /// Records per second that the source took.
    pub(super) taken_per_s: f64,
    /// Results per second that reached the sink.
    pub(super) results_per_s: f64,
    /// Mean end-to-end latency in seconds, with overdue records by their age where the query tells them; `None` without results.
    pub(super) latency_s: Option<f64>,
    /// The 99th percentile of the end-to-end latency, likewise.
    pub(super) latency_s_p99: Option<f64>,
    /// Mean time in seconds from the source to the sink, of results alone; `None` without results.
    pub(super) inside_s: Option<f64>,
    /// Records that were due and had no result at the end; `None` where the query does not tell.
    pub(super) overdue: Option<u64>,
    /// Records that waited in front of the source at the end.
    pub(super) waiting_end: f64,
    /// Mean coefficient of variation of the lengths of queues; `None` if nothing waited.
    pub(super) queue_cv: Option<f64>,
    /// Rounds that the tool could use.
    pub(super) rounds: u32,
    /// Rounds in which the tool saw other lengths of queues than in the round before.
    pub(super) renewed: u32,
    /// CPU time of the tool and its children, as a share of a core.
    pub(super) tool_share: Option<f64>,
    /// CPU time of the engine's process, as a share of a core.
    pub(super) engine_share: Option<f64>,
    /// Means of each operator.
    pub(super) operators: BTreeMap<String, Means>,
}

/// CPU times at a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample {
    at_s: f64,
    tool_s: Option<f64>,
    engine_s: Option<f64>,
}

/// A child that is killed when this value is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bench {
    /// Makes a run whose files begin with `name`.
    ///
    /// # Errors
    ///
    /// An engine, a query or a tool that fails or gives nothing in time. What was started has ended then.
    pub(super) fn run(&mut self, name: &str, order: Order) -> Result<Figures> {
        let file = |ending: &str| self.runs.join(format!("{name}.{ending}"));
        let results = file("figures.json");
        let _ = fs::remove_file(&results);
        let mut options = self.host.tool_options();
        options.extend(order.system.options());
        let mut tool = Tool::start(&self.program, &options, &file("tool.jsonl"), file("tool.log"))?;
        let log = file("client.log");
        let mut client = self.client(name, order, &results, &log)?;
        let samples = self.watched(&mut tool, &mut client, order.lengths, (&results, &log))?;
        let written = fs::metadata(&results).and_then(|about| about.modified());
        let end_s = process::seconds_of(written.with_context(|| format!("{} is gone", results.display()))?);
        ended(&mut client, &log)?;
        let rounds = tool.end()?;
        self.host.settle()?;
        let text = fs::read_to_string(&results)?;
        let shown: Value = serde_json::from_str(&text).with_context(|| format!("not JSON: {text}"))?;
        let window = [end_s - f64::from(order.lengths.seconds), end_s];
        let mut figures =
            figures(&shown, self.query).with_context(|| format!("a figure is missing: {text}"))?;
        figures.measured(&rounds, &samples, window);
        Ok(figures)
    }

    /// Starts the program of the query.
    fn client(&self, name: &str, order: Order, results: &Path, log: &Path) -> Result<Ending> {
        let mut options = self.host.client_options(&self.jar);
        options.extend(self.query.options(self.input.as_deref()));
        options.extend(self.host.query_options(name));
        if order.is_probe {
            options.extend(self.query.probe_options());
        }
        let Lengths { warmup_s, seconds } = order.lengths;
        let numbers = format!("--rate {:.1} --warmup {warmup_s} --seconds {seconds}", order.rate);
        options.extend(numbers.split(' ').map(str::to_owned));
        let output = File::create(log).with_context(|| format!("could not write {}", log.display()))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "java"]).args(options).arg("--results").arg(results);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        Ok(Ending(command.spawn().context("could not start java by setpriv")?))
    }

    /// Watches a run until the query has written its figures. The engine gets its core as soon as it is there.
    fn watched(
        &self,
        tool: &mut Tool,
        client: &mut Ending,
        lengths: Lengths,
        (results, log): (&Path, &Path),
    ) -> Result<Vec<Sample>> {
        let begin = Instant::now();
        let limit = BESIDE_MAX + Duration::from_secs(u64::from(lengths.warmup_s + lengths.seconds));
        let mut samples: Vec<Sample> = Vec::new();
        while !results.is_file() {
            tool.check()?;
            if let Some(status) = client.0.try_wait()? {
                bail!("the program of the query has ended without figures: {status}: {}", end_of(log));
            }
            if limit < begin.elapsed() {
                bail!("no figures came within {} s; see {}", limit.as_secs(), log.display());
            }
            let at_s = process::now_s();
            if samples.last().is_none_or(|last| last.at_s + SAMPLE_S <= at_s) {
                let engine = self.host.process();
                if let Some(engine) = engine {
                    process::pin(engine, process::UNDER_TEST)?;
                }
                samples.push(Sample {
                    at_s,
                    tool_s: tool.cpu_s(),
                    engine_s: engine.and_then(process::cpu_s),
                });
            }
            thread::sleep(LOOK_AGAIN);
        }
        let engine = self.host.process();
        if engine.is_some_and(|engine| !process::is_pinned(engine, process::UNDER_TEST)) {
            bail!("threads of the engine were not on core {} alone", process::UNDER_TEST);
        }
        Ok(samples)
    }
}

/// Waits until the program of a query has ended the query.
fn ended(client: &mut Ending, log: &Path) -> Result<()> {
    let begin = Instant::now();
    loop {
        match client.0.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("the program of the query has failed: {status}: {}", end_of(log)),
            None if END_MAX < begin.elapsed() => {
                bail!("the query does not end within {} s; see {}", END_MAX.as_secs(), log.display())
            }
            None => thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Reads the figures that the program of a query has written; `None` if one is missing.
fn figures(shown: &Value, query: Query) -> Option<Figures> {
    let number = |pointer: &str| shown.pointer(pointer).and_then(Value::as_f64);
    let overdue = shown.pointer("/overdue/count").and_then(Value::as_u64);
    // ETL tells latencies with those of overdue records; in a run of too many records it does not.
    let latency = if overdue.is_some() { "/overdue/latency_us" } else { "/latency_us" };
    let is_there = |of: &str| number(&format!("{of}/count")).is_some_and(|count| 0.0 < count);
    let micros = |of: &str, field: &str| {
        is_there(of).then(|| number(&format!("{of}/{field}"))).flatten().map(|micros| micros / 1e6)
    };
    let is_right = shown["workload"].as_str() == Some(query.name());
    is_right.then_some(())?;
    Some(Figures {
        taken_per_s: number("/throughput_per_s")?,
        results_per_s: number("/results_per_s")?,
        latency_s: micros(latency, "mean"),
        latency_s_p99: micros(latency, "p99"),
        inside_s: micros("/inside_latency_us", "mean"),
        overdue,
        waiting_end: number("/source_queue_end")?,
        ..Figures::default()
    })
}

impl Figures {
    /// Adds the figures that follow from rounds and samples within the measured time, whose ends are given in seconds of the
    /// system's clock.
    fn measured(&mut self, rounds: &[Round], samples: &[Sample], [begin_s, end_s]: [f64; 2]) {
        let is_within = |at_s: f64| begin_s <= at_s && at_s <= end_s;
        let rounds: Vec<Round> =
            rounds.iter().filter(|round| round.is_used() && is_within(round.at_s)).cloned().collect();
        self.queue_cv = rounds::variation(&rounds);
        self.operators = rounds::means(&rounds);
        self.rounds = rounds.len() as u32;
        self.renewed = rounds::renewed(&rounds);
        let samples: Vec<&Sample> = samples.iter().filter(|sample| is_within(sample.at_s)).collect();
        let share = |of: fn(&Sample) -> Option<f64>| {
            let [first, .., last] = samples.as_slice() else { return None };
            Some((of(last)? - of(first)?) / (last.at_s - first.at_s))
        };
        self.tool_share = share(|sample| sample.tool_s);
        self.engine_share = share(|sample| sample.engine_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, query: Query) -> Option<Figures> {
        figures(&serde_json::from_str(text).unwrap(), query)
    }

    #[test]
    fn recorded_figures_are_read() {
        let text = include_str!("trial/etl.json");
        let etl = read(text, Query::Etl).unwrap();
        assert_eq!((etl.taken_per_s, etl.results_per_s), (450.0, 234.3));
        assert_eq!((etl.latency_s, etl.latency_s_p99), (Some(5.571_815), Some(9.533_333)));
        assert_eq!((etl.inside_s, etl.overdue, etl.waiting_end), (Some(7.042_529), Some(4_290), 0.0));
        assert_eq!(read(text, Query::Stats), None);
        // Other queries do not tell overdue records.
        let road = read(include_str!("trial/lrb.json"), Query::LinearRoad).unwrap();
        assert_eq!(road.overdue, None);
    }

    #[test]
    fn shares_are_those_of_the_measured_time() {
        let sample = |at_s: f64, tool_s, engine_s| Sample { at_s, tool_s: Some(tool_s), engine_s };
        let samples = [
            sample(8.0, 5.0, None),
            sample(10.0, 5.25, Some(3.0)),
            sample(11.0, 5.5, Some(3.75)),
            sample(14.0, 5.75, Some(7.0)),
            sample(16.0, 9.0, Some(9.0)),
        ];
        let mut figures = Figures::default();
        figures.measured(&[], &samples, [9.5, 15.0]);
        assert_eq!((figures.tool_share, figures.engine_share), (Some(0.125), Some(1.0)));
        figures.measured(&[], &samples, [15.5, 17.0]);
        assert_eq!((figures.tool_share, figures.engine_share), (None, None));
        figures.measured(&[], &samples, [7.0, 15.0]);
        assert_eq!((figures.tool_share, figures.engine_share, figures.rounds), (Some(0.125), None, 0));
    }
}
