//! Event time in jobs whose queries are declared: how far each subtask and each source is, since when the head of a queue
//! has waited, and how many records wait.
//!
//! | value | source |
//! |---|---|
//! | watermark of a subtask | `currentInputWatermark`; of a source, the latest `currentOutputWatermark` of its operators |
//! | arrival of a source's watermark | now, less the time for which the head of its backlog has waited; of the end of a window between two watermarks, in proportion |
//! | wait of that head | the backlog, divided by the records that arrive per second: those that the source takes, and the growth of its backlog |
//! | arrival of the head of another queue | the source's arrival of the subtask's watermark, by the line of Cameo's PROGRESSMAP; without a watermark, now less the queue divided by the records that are taken per second |
//! | records that wait | buffers, times the records in a buffer of the input so far |
//!
//! All of these are estimates, as fine as Flink's interval between two collections of metrics.
//!
//! Bounds: [`WAITED_MAX`], and a [`Stream`] of 13 KiB for each subtask of a source, of which there are at most
//! [`SUBTASKS_MAX`](super::jobs::SUBTASKS_MAX).

use std::time::Duration;

use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::stream::Stream;
use thalweg_scheduling::{Context, OperatorState, ProgressMap};

use super::declared::{Declared, has_windows};
use super::jobs::Vertex;
use super::metrics::Sample;
use crate::window::Window;

/// Longest time for which the head of a queue is taken to have waited.
const WAITED_MAX: Duration = Duration::from_secs(3_600);

/// Progress of a subtask in event time.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The last watermark of the input; of a source, that of its output.
    pub(super) watermark: Option<EventTime>,
    /// The view of policies, if the subtask is that of a source.
    pub(super) stream: Option<Stream>,
    /// The last watermark of the stream and its arrival.
    last: Option<(EventTime, ProcessingTime)>,
    /// Number of records that the subtask takes per second; `None` if it takes none.
    rate: Option<f64>,
    /// The last look at which the subtask took records.
    took: ProcessingTime,
    /// Time for which the head of a source's backlog has waited.
    waited: Duration,
    /// Number of records in a buffer of the input; `None` until Flink tells both.
    records_per_buffer: Option<f64>,
}

impl Progress {
    /// Adds the metrics of a look at `now`. `queue` has the lengths of the input, this one included; `query` is that of
    /// the job, if it is declared.
    pub(super) fn add(
        &mut self,
        now: ProcessingTime,
        (sample, queue): (&Sample, &Window),
        (vertex, query): (&Vertex, Option<&Declared>),
    ) {
        let is_source = vertex.inputs.is_empty();
        let is_some = |rate: &f64| *rate > 0.0;
        self.rate = if is_source { sample.read } else { sample.records_in }.filter(is_some);
        if self.rate.is_some() {
            self.took = now;
        }
        let buffers = sample.buffers_in.filter(is_some);
        if let (Some(records), Some(buffers)) = (sample.records_in.filter(is_some), buffers) {
            self.records_per_buffer = Some((records / buffers).max(1.0));
        }
        if is_source && let Some(length) = queue.last() {
            let arriving = self.rate.unwrap_or(0.0) + queue.growth_per_s().unwrap_or(0.0);
            if length <= 0.0 {
                self.waited = Duration::ZERO;
            } else if arriving > 0.0 {
                self.waited = span(length / arriving);
            }
        }
        // Flink's watermark promises times above it, and ours times from it on.
        let watermark = sample.watermark.map(|ms| EventTime::from_micros(((ms + 1.0) * 1e3) as i64));
        self.watermark = watermark.or(self.watermark);
        let (Some(query), true) = (query, is_source) else { return };
        let stream = self.stream.get_or_insert_with(Stream::new);
        // A job that begins again begins with earlier times.
        if watermark.is_some_and(|watermark| watermark < stream.watermark()) {
            (*stream, self.last) = (Stream::new(), None);
        }
        if let Some(watermark) = watermark.filter(|watermark| stream.watermark() < *watermark) {
            let arrived = before(now, self.waited);
            let end = stream.next_firing().filter(|end| *end <= watermark);
            let reached =
                end.zip(self.last).map_or(arrived, |(end, last)| between(last, (watermark, arrived), end));
            stream.advance(watermark, query.ahead(watermark), reached);
            self.last = Some((watermark, arrived));
        }
    }

    /// Returns the number of records in a queue of so many buffers.
    pub(super) fn records(&self, buffers: f64) -> f64 {
        buffers * self.records_per_buffer.unwrap_or(1.0)
    }

    /// Fills the times of an operator of a job whose query is declared. `lines` map event time to the time at which
    /// each source of the job has it; they are empty while one is not known.
    ///
    /// A thread runs until the next round, so the rank of an operator for which nothing waits is that of a record which
    /// comes now.
    pub(super) fn fill(
        &self,
        state: &mut OperatorState,
        (vertex, query): (&Vertex, &Declared),
        (lines, now): (&[ProgressMap], ProcessingTime),
    ) {
        let observed = if state.pending == 0 {
            now
        } else if state.is_source {
            before(now, self.waited)
        } else {
            let last = |watermark| lines.iter().map(|line| line.observed_at(watermark)).max();
            let by_rate = || self.rate.map(|rate| before(now, span(state.pending as f64 / rate)));
            self.watermark.and_then(last).or_else(by_rate).unwrap_or(now).min(now)
        };
        state.pending = state.pending.max(1);
        state.oldest_pending = observed;
        state.head = Context { observed, token: None };
        state.last_run_ended = self.took;
        if !state.is_source && has_windows(&vertex.told.name) {
            let ahead = self.watermark.and_then(|watermark| query.ahead(watermark));
            state.frontier = ahead.map(|ahead| ahead.firing).filter(|end| *end < EventTime::MAX);
        }
    }
}

/// Returns when a source had the event time `end`, which lies between its watermarks of two looks: several windows may have
/// ended between them, so each is taken to have come in proportion.
fn between(
    (from, began): (EventTime, ProcessingTime),
    (to, arrived): (EventTime, ProcessingTime),
    end: EventTime,
) -> ProcessingTime {
    let share = end.since(from).as_micros() as f64 / to.since(from).as_micros().max(1) as f64;
    began.plus_nanos((arrived.nanos_since(began) as f64 * share.clamp(0.0, 1.0)) as u64)
}

/// Returns a time of so many seconds, from 0 to [`WAITED_MAX`].
fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).map_or(WAITED_MAX, |span| span.min(WAITED_MAX))
}

fn before(now: ProcessingTime, span: Duration) -> ProcessingTime {
    let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    ProcessingTime::from_nanos(now.as_nanos().saturating_sub(span_ns))
}
