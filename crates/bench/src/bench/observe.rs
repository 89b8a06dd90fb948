//! Observation of a run while it goes on: latency, throughput and pending records, every tenth of a second; and
//! for a few milliseconds in the middle, what each worker ran.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use thalweg::{Clock, ProcessingTime, QueryHandle, SystemClock};
use thalweg_runtime::Latencies;
use thalweg_scheduling::{Completion, Logged, Policy, RunLog};

use super::latency::Latency;

/// Time between two samples of a running benchmark.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Largest number of samples that are kept: those of 10 minutes.
const SAMPLES_MAX: usize = 6_000;

/// Largest number of entries (steps of tasks that workers ran) that are kept of a run's timeline.
const RUNS_MAX: usize = 10_000;

/// Length of the timeline that is kept of a run, in nanoseconds of processing time.
const TIMELINE_NS: u64 = 5_000_000;

/// Samples that were taken during a run, and a timeline of the tasks that its workers ran.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Series {
    /// Names of the tasks. Tasks of several queries with the same name count as one.
    pub tasks: Vec<String>,
    /// Mean number of pending records before each task, over all samples.
    pub mean_pending: Vec<f64>,
    pub samples: Vec<Sample>,
    pub timeline: Vec<Ran>,
}

/// One sample of the state of all queries.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Time of the sample, in seconds since the first sample.
    pub at_s: f64,
    /// Events per second of all queries since the previous sample.
    pub throughput_per_s: f64,
    /// Latency of all queries since the previous sample, in microseconds.
    pub latency_us: Option<Latency>,
    /// Number of pending records before each task.
    pub pending: Vec<u64>,
}

/// An entry of the timeline: one step of a task that a worker ran.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ran {
    pub worker: u32,
    /// Index of the task in the list of names, [`Series::tasks`].
    pub task: usize,
    pub query: usize,
    /// Milliseconds from the beginning of the timeline to the beginning of the step.
    pub from_ms: f64,
    pub to_ms: f64,
}

/// Takes samples of a run (throughput, latencies and pending records) and logs which tasks ran. Clones share
/// what they have recorded.
#[derive(Clone, Debug)]
pub struct Observer {
    log: RunLog,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default, Debug)]
struct Seen {
    series: Series,
    /// Time of the first sample.
    began: Option<ProcessingTime>,
    /// Time of the last sample, and the number of events of all queries up to then.
    last: Option<(ProcessingTime, u64)>,
    timeline_from: Option<ProcessingTime>,
    /// The query and the index of the task to which each operator belongs, by the number of the operator.
    places: Vec<Option<(usize, usize)>>,
}

impl Observer {
    /// Creates an observer that has no samples yet.
    pub fn new() -> Self {
        Observer { log: RunLog::new(RUNS_MAX), seen: Arc::default() }
    }

    /// Returns a policy that behaves like `policy` and also logs which tasks ran.
    pub fn watch(&self, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        Box::new(Logged::new(policy, &self.log))
    }

    /// Takes a sample of throughput and pending records of all queries. `latencies` has their latencies since
    /// the previous sample.
    pub fn look(&self, queries: &[QueryHandle], latencies: &Latencies) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemClock::default().now();
        let mut pending = vec![0; seen.series.tasks.len()];
        let mut events = 0;
        for (query, handle) in queries.iter().enumerate() {
            let metrics = handle.metrics();
            events += metrics.events_in;
            for task in metrics.tasks {
                let place = seen.place(&task.task);
                pending.resize(seen.series.tasks.len(), 0);
                pending[place] += task.pending;
                seen.note_operator(task.operator.0 as usize, (query, place));
            }
        }
        let began = *seen.began.get_or_insert(now);
        if let Some((before, events_before)) = seen.last.replace((now, events))
            && seen.series.samples.len() < SAMPLES_MAX
        {
            let span_s = (now.nanos_since(before) as f64 / 1e9).max(1e-9);
            let sample = Sample {
                at_s: now.nanos_since(began) as f64 / 1e9,
                throughput_per_s: events.saturating_sub(events_before) as f64 / span_s,
                latency_us: latencies.summary().map(Into::into),
                pending,
            };
            seen.series.samples.push(sample);
        }
    }

    /// Begins the timeline of the run now: steps of tasks are recorded from here on, for some milliseconds.
    pub fn begin_timeline(&self) {
        let now = SystemClock::default().now();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).timeline_from = Some(now);
        self.log.open(now);
    }

    /// Returns all samples of the run, and its timeline.
    pub fn finish(self) -> Series {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(from) = seen.timeline_from {
            let runs = self.log.take();
            let end = from.plus_nanos(TIMELINE_NS);
            let ran = runs.iter().filter(|run| run.started < end).filter_map(|run| seen.ran(run, from));
            seen.series.timeline = ran.collect();
        }
        seen.series.mean_pending = seen.series.means();
        std::mem::take(&mut seen.series)
    }
}

impl Series {
    /// Returns the mean number of pending records before each task. A task that a sample does not have yet had none.
    fn means(&self) -> Vec<f64> {
        let of_task = |task| {
            let pending = self.samples.iter().map(|sample| sample.pending.get(task).copied().unwrap_or(0));
            pending.map(|pending| pending as f64).sum::<f64>() / self.samples.len().max(1) as f64
        };
        (0..self.tasks.len()).map(of_task).collect()
    }
}

impl Seen {
    /// Returns the index of the task with the given name, after adding the name if it is not known.
    fn place(&mut self, name: &str) -> usize {
        let tasks = &mut self.series.tasks;
        tasks.iter().position(|known| known == name).unwrap_or_else(|| {
            tasks.push(name.to_owned());
            tasks.len() - 1
        })
    }

    fn note_operator(&mut self, operator: usize, place: (usize, usize)) {
        if self.places.len() <= operator {
            self.places.resize(operator + 1, None);
        }
        self.places[operator] = Some(place);
    }

    fn ran(&self, run: &Completion, from: ProcessingTime) -> Option<Ran> {
        let (query, task) = self.places.get(run.operator.0 as usize).copied().flatten()?;
        let since_ms = |instant: ProcessingTime| instant.nanos_since(from) as f64 / 1e6;
        Some(Ran {
            worker: run.worker,
            task,
            query,
            from_ms: since_ms(run.started),
            to_ms: since_ms(run.ended),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that appears later had nothing pending before.
    #[test]
    fn means_are_over_all_samples() {
        let sample = |pending: &[u64]| Sample {
            at_s: 0.0,
            throughput_per_s: 0.0,
            latency_us: None,
            pending: pending.to_vec(),
        };
        let tasks = ["a", "b"].map(str::to_owned).into();
        let series = Series { tasks, samples: vec![sample(&[3]), sample(&[5, 1])], ..Series::default() };
        assert_eq!(series.means(), [4.0, 0.5]);
        assert_eq!(Series { tasks: vec!["a".to_owned()], ..Series::default() }.means(), [0.0]);
    }
}
