//! One run of one program: starts it, and reads its answer.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::answer::Answer;
use super::data::{Data, execute, run};
use super::flink::Host;
use super::install;
use super::side::{Peer, Program, Side};
use crate::figures::bench::run_binary;

/// Seconds for which `thalweg bench` runs.
const BENCH_S: &str = "1";
/// Memory of a run of the engine: the largest question has the state of 10 M keys.
const BUDGET: &str = "4GiB";

/// Asks programs.
pub(super) struct Asker {
    folder: PathBuf,
    program: PathBuf,
    script: PathBuf,
    data: Data,
    flink: Option<Host>,
}

impl Asker {
    /// Creates what asks the programs: the engine at `program`, and peers in `folder`.
    ///
    /// # Errors
    ///
    /// A folder that is not there.
    pub(super) fn new(root: &Path, folder: &Path, program: PathBuf, data: Data) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("could not find {}", folder.display()))?;
        Ok(Asker { folder, program, script: root.join("bench/peers/python/ask.py"), data, flink: None })
    }

    /// Starts Flink, which ends with this value.
    ///
    /// # Errors
    ///
    /// A Flink that does not start.
    pub(super) fn start_flink(&mut self) -> Result<()> {
        self.flink = Some(Host::start()?);
        Ok(())
    }

    /// Lets the logs of Flink be removed when it ends: all runs have succeeded.
    pub(super) fn note_success(&mut self) {
        if let Some(flink) = &mut self.flink {
            flink.note_success();
        }
    }

    /// Asks a side its question, and returns the answer.
    ///
    /// # Errors
    ///
    /// A program that fails, or whose output is no answer.
    pub(super) fn asked(&self, side: Side, threads: u32) -> Result<Answer> {
        let Side { question, program } = side;
        let threads = threads.to_string();
        let path = self.data.path(question);
        let rows = self.data.rows(question).to_string();
        match program {
            Program::Sql | Program::Source => {
                let is_source = program == Program::Source;
                let text =
                    if is_source { self.data.source(question)? } else { self.data.question(question)? };
                let options = ["--workers", &threads, "--memory-budget", BUDGET, "--output", "json"];
                let (output, error) =
                    run(&self.program, &[&["run", &execute(&text)], &options[..]].concat())?;
                if is_source { Answer::of_source(&error) } else { Answer::of_run(&output, &error) }
            }
            Program::Bench(api) => {
                let api = api.map_or(String::new(), |api| format!(" --api {api}"));
                let options = format!("ysb --workers {threads} --rate max --seconds {BENCH_S}{api}");
                Answer::of_bench(&run_binary(&self.program, &options)?)
            }
            Program::Peer(peer @ (Peer::DuckDb | Peer::Polars), form) => {
                let (script, data) = (self.script.display().to_string(), path.display().to_string());
                let words = [&script, peer.name(), form, question.kind(), &threads, &data, &rows];
                Answer::of_peer(&run(&install::python(&self.folder), &words)?.0)
            }
            Program::Peer(peer @ (Peer::Timely | Peer::Renoir), form) => {
                let form = format!("{}-{form}", peer.name());
                let events = path.join("events.csv").display().to_string();
                Answer::of_peer(&run(&install::rust(&self.folder), &[&form, &threads, &events, &rows])?.0)
            }
            Program::Peer(Peer::Flink, _) => match &self.flink {
                Some(flink) => flink.asked(&self.data.question(question)?, &threads),
                None => bail!("flink was not started"),
            },
        }
    }

    /// Returns the speed of an answer, in the unit of its question.
    ///
    /// # Errors
    ///
    /// A file that is not there.
    pub(super) fn speed(&self, side: Side, answer: &Answer) -> Result<f64> {
        match answer.per_s {
            Some(per_s) => Ok(per_s / 1e6),
            None => Ok(self.data.amount(side.question)? / answer.seconds),
        }
    }
}
