//! `thalweg steer storm` on a real Storm, which runs ETL of `bench/steer`.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Engine;
use crate::services::fetch;
use crate::services::processes::{self, Lifetime, Running};
use crate::services::storm::{GRAPHITE_PORT, Release, Storm};
use crate::workspace::Workspace;

/// Longest time from the start of the client until a worker runs all operators.
const WORKER_MAX: Duration = Duration::from_secs(120);
/// Options of the query. The operator `annotate` needs 10 ms for a record and twice as many come, so its queue grows, while
/// the others keep up and one of two cores has time for the rest of the worker. The run is longer than all tries together.
const OPTIONS: &str = "--rate 200 --spin-us parse=1000,annotate=10000 --warmup 0 --seconds 3600";
/// Number of operators of the query.
const OPERATORS: usize = 10;
/// Beginning of the place of the operator in the name of a thread of Storm 1.2 that sends, as far as the kernel keeps it.
const DISRUPTOR: &str = "disr";
/// Name of the gauge by which the query's source tells how many records wait for it.
const GAUGE: &str = "source-queue";
/// Number of lines of the input, which is replayed in a cycle.
const LINES: u64 = 100;

/// Starts a Storm, runs the query on it, and steers the threads of its worker.
///
/// # Errors
///
/// A Storm that runs already or does not start, and as for the check of any engine: a priority that is not given, or
/// something that is not put back. The logs stay.
pub(in crate::e2e) fn run(release: Release) -> Result<()> {
    let workspace = Workspace::open()?;
    let program = super::program(&workspace)?;
    let jar = jar(&workspace)?;
    let storm = Storm::start(release)?;
    let directory = storm.directory().to_owned();
    let steered = check(&storm, release, &program, &jar);
    drop(storm);
    steered.with_context(|| format!("the logs of storm are in {}", directory.display()))?;
    fs::remove_dir_all(&directory).with_context(|| format!("could not remove {}", directory.display()))
}

fn check(storm: &Storm, release: Release, program: &Path, jar: &Path) -> Result<()> {
    let directory = storm.directory().join("e2e");
    fs::create_dir_all(&directory).with_context(|| format!("could not make {}", directory.display()))?;
    let (file, figures) = (directory.join("input.senml"), directory.join("figures.json"));
    fs::write(&file, input()).with_context(|| format!("could not write {}", file.display()))?;
    let mut arguments = storm.client(jar);
    arguments.extend(["thalweg.steer.Main", "etl"].map(str::to_owned));
    arguments.extend(["--input".to_owned(), file.display().to_string()]);
    arguments.extend(["--results".to_owned(), figures.display().to_string()]);
    arguments.extend(OPTIONS.split(' ').map(str::to_owned));
    let output = directory.join("client.out");
    let mut client = Running::start("the client", Lifetime::WithUs, "java", &arguments, &[], &output)?;
    let last = Cell::new(None);
    let runs =
        || Ok(storm.worker().is_some_and(|worker| last.get() != Some(worker) && has_operators(worker)));
    processes::wait_until("a worker", WORKER_MAX, slice::from_mut(&mut client), runs)?;
    let process = || {
        if let Some(worker) = last.get().filter(|_| release == Release::One) {
            // Its reporter does not connect again after the command has ended. The supervisor starts a new worker.
            processes::send("KILL", worker);
            processes::wait_until("a new worker", WORKER_MAX, &mut [], runs)?;
        }
        last.set(storm.worker());
        last.get().context("the worker has ended")
    };
    let address = format!("127.0.0.1:{GRAPHITE_PORT}");
    let words = ["storm", "--graphite", &address, "--source-gauge", GAUGE];
    super::check(&Engine { words: &words, process: &process, directory: &directory }, program)
}

/// Returns whether a worker has the threads of all operators of the query. Their names begin with `Thread-N-OPERATOR-`, of which
/// the kernel keeps 15 bytes; the names of Storm's own operators begin with two underscores.
fn has_operators(worker: u32) -> bool {
    let entries = fs::read_dir(format!("/proc/{worker}/task")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|name| is_of_operator(name)).count() >= OPERATORS
}

fn is_of_operator(name: &str) -> bool {
    let operator = name.strip_prefix("Thread-").and_then(|rest| rest.split_once('-'));
    operator.is_some_and(|(_, operator)| !operator.starts_with("__") && !operator.starts_with(DISRUPTOR))
}

/// Returns lines of SenML in the form of RIoTBench's Smart Cities data: a second between two lines, ten sensors in turn, and
/// values that change from line to line.
fn input() -> String {
    let mut lines = String::new();
    for line in 0..LINES {
        let time_ms = 1_422_748_800_000 + line * 1_000;
        let _ = write!(
            lines,
            "{time_ms},{{\"e\":[{{\"u\":\"string\",\"n\":\"source\",\"sv\":\"sensor{}\"}}",
            line % 10
        );
        let values = [
            ("lon", "longitude", 6),
            ("lat", "latitude", 46),
            ("far", "temperature", 5 + line % 7),
            ("per", "humidity", 40 + line % 11),
            ("per", "light", line % 3),
            ("per", "dust", 400 + line * 3),
            ("per", "airquality_raw", 20 + line % 13),
        ];
        for (unit, name, value) in values {
            let _ = write!(lines, ",{{\"v\":\"{value}\",\"u\":\"{unit}\",\"n\":\"{name}\"}}");
        }
        let _ = writeln!(lines, "],\"bt\":{time_ms}}}");
    }
    lines
}

/// Builds the jar of the queries, as far as its sources have changed, and returns its path.
fn jar(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join("bench/steer");
    let project = folder.join("pom.xml").display().to_string();
    let options = ["-q", "-B", "-f", &project, "package", "-DskipTests"];
    fetch::call("build the queries of bench/steer", "mvn", &options)?;
    Ok(folder.join("target/steer.jar"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_operators_are_told_by_their_names() {
        for name in ["Thread-16-join-\n", "Thread-7-range_\n", "Thread-22-annot\n"] {
            assert!(is_of_operator(name), "{name}");
        }
        for name in ["Thread-3\n", "Thread-13-__sys\n", "Thread-7-disrup\n", "main\n", "GC Thread#0\n", ""] {
            assert!(!is_of_operator(name), "{name}");
        }
    }

    #[test]
    fn input_has_the_form_of_senml_lines() {
        let text = input();
        assert_eq!(text.lines().count() as u64, LINES);
        for line in text.lines() {
            let (time, object) = line.split_once(',').unwrap();
            let object: serde_json::Value = serde_json::from_str(object).unwrap();
            assert_eq!(object["bt"].to_string(), time);
            assert_eq!(object["e"].as_array().unwrap().len(), 8, "{line}");
            assert!(!line.contains(' '), "{line}");
        }
    }
}
