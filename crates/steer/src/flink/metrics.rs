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

/// The metrics of the subtasks of a vertex that are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    input: &'static str,
    output: &'static str,
    /// Names of the backlogs of a source, which are added; empty if it tells none.
    backlogs: Vec<String>,
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
}

impl Chosen {
    /// Chooses among the metrics in an answer. `gauge` is the name of a backlog for sources that have no
    /// `pendingRecords`. `None` if the subtask tells no length of its input, which is so until Flink has collected its
    /// metrics.
    ///
    /// # Errors
    /// If the answer is not understood.
    pub(super) fn of(path: &str, body: &str, gauge: Option<&str>) -> Result<Option<Self>, Unobserved> {
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
        let ending = |wanted: &str| -> Vec<String> {
            let is_wanted =
                |id: &str| id.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            let mut ids: Vec<String> =
                available.iter().map(|metric| &metric.id).filter(|id| is_wanted(id)).cloned().collect();
            ids.sort_unstable();
            ids.truncate(BACKLOGS_MAX);
            ids
        };
        let mut backlogs = ending(BACKLOG);
        if let Some(gauge) = gauge.filter(|gauge| backlogs.is_empty() && !gauge.is_empty()) {
            backlogs = ending(gauge);
        }
        Ok(Some(Chosen { input, output, backlogs }))
    }

    /// Returns true if the vertex is a source that tells its backlog.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlogs.is_empty()
    }

    /// Returns the paths that ask for the metrics of some subtasks of a vertex, which has the path `vertex`.
    pub(super) fn paths(&self, vertex: &str, subtasks: &[u32]) -> Vec<String> {
        let begin = format!("{vertex}/metrics?get=");
        let backlogs = self.backlogs.iter().map(String::as_str);
        let names: Vec<&str> =
            [self.input, self.output, RECORDS_IN, RECORDS_OUT, BUSY].into_iter().chain(backlogs).collect();
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
        let backlog = || self.backlogs.iter().map(|name| value(name)).sum();
        let input = if is_source && !self.backlogs.is_empty() { backlog() } else { value(self.input) };
        Sample {
            input,
            output: value(self.output),
            records_in: value(RECORDS_IN),
            records_out: value(RECORDS_OUT),
            busy_ms: value(BUSY),
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
