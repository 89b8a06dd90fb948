//! Metrics of subtasks: their names in each version, and requests for many at a time.
//!
//! Flink's JobManager asks its TaskManagers for metrics at most once per `metrics.fetcher.update-interval`, which is 10
//! s unless it is configured. Answers in between repeat the last values.
//!
//! Source: Flink's documentation, "Metrics".
//!
//! Bounds: [`PATH_BYTES_MAX`] and [`BACKLOGS_MAX`].

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::rest::{encoded, read};
use crate::steering::Unobserved;
use crate::window::is_believed;

/// Largest number of bytes of the path of a request. Flink answers 404 to a first line of 4,096 bytes or more.
pub const PATH_BYTES_MAX: usize = 3_500;

/// Greatest number of sources in one subtask whose backlogs are added.
pub const BACKLOGS_MAX: usize = 16;

/// Names of the number of buffers in the input of a subtask: that of Flink 2.3, and that of old versions.
const INPUT: [&str; 2] = ["Shuffle.Netty.Input.Buffers.inputQueueLength", "buffers.inputQueueLength"];
/// Names of the number of buffers in the output of a subtask.
const OUTPUT: [&str; 2] = ["Shuffle.Netty.Output.Buffers.outputQueueLength", "buffers.outputQueueLength"];
/// Name of the number of records that a source has not fetched yet, behind the name of its operator.
const BACKLOG: &str = "pendingRecords";
/// Number of records that a subtask takes and puts out per second, and its time at work in ms per second.
const RECORDS_IN: &str = "numRecordsInPerSecond";
const RECORDS_OUT: &str = "numRecordsOutPerSecond";
const BUSY: &str = "busyTimeMsPerSecond";
/// Names of the numbers of buffers that a subtask takes per second from its own machine and from others.
const BUFFERS_IN: [&str; 2] = ["numBuffersInLocalPerSecond", "numBuffersInRemotePerSecond"];
/// Name of the watermark of the input of a subtask, in ms since 1970.
const WATERMARK_IN: &str = "currentInputWatermark";
/// Ending of the names of the watermarks that the operators of a source put out.
const WATERMARK_OUT: &str = "currentOutputWatermark";
/// Begin of the names of the metrics of the operator that reads in a source.
const READER: &str = "Source__";

/// The metrics of the subtasks of a vertex that are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    input: &'static str,
    output: &'static str,
    /// Names of the backlogs of a source, which are added; empty if it tells none.
    backlogs: Vec<String>,
    /// The metrics of event time, if they are asked for.
    times: Option<Times>,
}

/// The metrics of a vertex that tell its progress in event time. Each list has at most [`BACKLOGS_MAX`] names.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Times {
    /// Names of the numbers of records that the operators which read in a source put out per second, which are added.
    reads: Vec<String>,
    /// Names of watermarks, of which the latest counts. Operators of a source before the one that makes watermarks have
    /// none.
    watermarks: Vec<String>,
}

/// The metrics of a subtask at one moment. `None` stands for a value that is missing or cannot be.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Sample {
    /// Number of buffers in the input, or of records in the backlog of a source.
    pub(super) input: Option<f64>,
    /// Number of buffers in the output.
    pub(super) output: Option<f64>,
    pub(super) records_in: Option<f64>,
    pub(super) records_out: Option<f64>,
    pub(super) busy_ms: Option<f64>,
    /// Number of records that a source reads per second.
    pub(super) read: Option<f64>,
    /// Number of buffers that the subtask takes per second.
    pub(super) buffers_in: Option<f64>,
    /// Watermark of the input in ms since 1970; of a source, of its output.
    pub(super) watermark: Option<f64>,
}

impl Chosen {
    /// Chooses among the metrics in an answer. `gauge` is the name of a backlog for sources that have no
    /// `pendingRecords`. With `has_times`, progress in event time is asked for, too. `None` if the subtask tells no length
    /// of its input, which is so until Flink has collected its metrics.
    ///
    /// # Errors
    /// If the answer is not understood.
    pub(super) fn of(
        path: &str,
        body: &str,
        gauge: Option<&str>,
        has_times: bool,
    ) -> Result<Option<Self>, Unobserved> {
        #[derive(Deserialize)]
        struct Available {
            id: String,
        }
        let available: Vec<Available> = read(path, body)?;
        let first = |names: [&'static str; 2]| {
            let is_available = |name: &&'static str| available.iter().any(|metric| metric.id == *name);
            names.into_iter().find(is_available)
        };
        let Some(input) = first(INPUT) else { return Ok(None) };
        let output = first(OUTPUT).unwrap_or(OUTPUT[0]);
        let ending = |wanted: &str, begin: &str| -> Vec<String> {
            let is_wanted = |id: &str| {
                let rest = id.strip_suffix(wanted).filter(|_| id.starts_with(begin));
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            let mut ids: Vec<String> =
                available.iter().map(|metric| &metric.id).filter(|id| is_wanted(id)).cloned().collect();
            ids.sort_unstable();
            ids.dedup();
            // Operators are listed by their names, and those before the one that makes watermarks tell none, so that of the
            // latest names one most likely does.
            ids.drain(..ids.len().saturating_sub(BACKLOGS_MAX));
            ids
        };
        let mut backlogs = ending(BACKLOG, "");
        if let Some(gauge) = gauge.filter(|gauge| backlogs.is_empty() && !gauge.is_empty()) {
            backlogs = ending(gauge, "");
        }
        let times = has_times.then(|| {
            let reads = ending(RECORDS_OUT, READER);
            let mut watermarks = ending(WATERMARK_OUT, "");
            watermarks.retain(|_| !reads.is_empty());
            if watermarks.is_empty() {
                watermarks.push(WATERMARK_IN.to_owned());
            }
            Times { reads, watermarks }
        });
        Ok(Some(Chosen { input, output, backlogs, times }))
    }

    /// Returns true if the vertex is a source that tells its backlog.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlogs.is_empty()
    }

    /// Returns the paths that ask for the metrics of some subtasks of a vertex, which has the path `vertex`.
    pub(super) fn paths(&self, vertex: &str, subtasks: &[u32]) -> Vec<String> {
        let begin = format!("{vertex}/metrics?get=");
        let backlogs = self.backlogs.iter().map(String::as_str);
        let times = self.times.iter().flat_map(|Times { reads, watermarks }| {
            BUFFERS_IN.into_iter().chain(reads.iter().chain(watermarks).map(String::as_str))
        });
        let names = [self.input, self.output, RECORDS_IN, RECORDS_OUT, BUSY].into_iter();
        let names: Vec<&str> = names.chain(backlogs).chain(times).collect();
        let mut paths: Vec<String> = Vec::new();
        for subtask in subtasks {
            for name in &names {
                let name = encoded(&format!("{subtask}.{name}"));
                match paths.last_mut() {
                    Some(path) if path.len() + 1 + name.len() <= PATH_BYTES_MAX => {
                        path.push(',');
                        *path += &name;
                    }
                    _ => paths.push(format!("{begin}{name}")),
                }
            }
        }
        paths
    }

    /// Returns the metrics of a subtask.
    pub(super) fn sample(&self, values: &Values, subtask: u32, is_source: bool) -> Sample {
        let value = |name: &str| values.0.get(&format!("{subtask}.{name}")).copied();
        let sum = |names: &[String]| names.iter().map(|name| value(name)).sum();
        let backlog = || sum(&self.backlogs);
        let buffers = || BUFFERS_IN.iter().filter_map(|name| value(name)).reduce(|a, b| a + b);
        let latest = |names: &[String]| names.iter().filter_map(|name| value(name)).reduce(f64::max);
        let times = self.times.as_ref();
        let input = if is_source && !self.backlogs.is_empty() { backlog() } else { value(self.input) };
        Sample {
            input,
            output: value(self.output),
            records_in: value(RECORDS_IN),
            records_out: value(RECORDS_OUT),
            busy_ms: value(BUSY),
            read: times.filter(|times| !times.reads.is_empty()).and_then(|times| sum(&times.reads)),
            buffers_in: times.and_then(|_| buffers()),
            watermark: times.and_then(|times| latest(&times.watermarks)),
        }
    }
}

/// Values of the metrics of a vertex. Those that are no number, infinite, negative or huge are left out.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Values(HashMap<String, f64>);

impl Values {
    /// Adds the values in an answer.
    ///
    /// # Errors
    /// If the answer is not understood.
    pub(super) fn add(&mut self, path: &str, body: &str) -> Result<(), Unobserved> {
        #[derive(Deserialize)]
        struct Metric {
            id: String,
            #[serde(default)]
            value: Value,
        }
        for Metric { id, value } in read::<Vec<Metric>>(path, body)? {
            let value = match &value {
                Value::String(text) => text.parse().ok(),
                value => value.as_f64(),
            };
            self.0.extend(value.filter(is_believed).map(|value| (id, value)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
