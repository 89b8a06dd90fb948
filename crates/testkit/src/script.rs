//! A source that follows a script: records, pauses in processing time, and polls that return nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use thalweg_model::{
    Entropy, Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus, StateError, StateReader,
    StateWriter,
};

use crate::sabotage::{Place, Sabotage};

/// Number of records between two latency markers of the source.
const MARKER_EVERY_RECORDS: u64 = 5;

/// Longest pause of a script, in nanoseconds: far longer than any step of a simulation.
const PAUSE_NS_MAX: u64 = 5_000_000;

/// One entry of the script of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beat<T> {
    /// The source emits this record.
    Record(Record<T>),
    /// The source is idle for this number of nanoseconds of processing time.
    Pause(u64),
    /// The source is ready, but emits nothing when it is polled.
    Nothing,
}

/// Source that emits the records of its script, with a latency marker in each poll that makes the fifth,
/// tenth or any later fifth record.
pub struct Script<T> {
    beats: VecDeque<Beat<T>>,
    /// Processing time at which the current pause of the script ends; `None` outside of pauses.
    resume_at: Option<ProcessingTime>,
    made: u64,
    sabotage: Arc<Sabotage>,
}

impl<T> Script<T> {
    /// Creates a source of `records` without pauses. Before each record it calls `sabotage` with
    /// [`Place::Source`], where a failure may be injected.
    pub fn new(records: impl IntoIterator<Item = Record<T>>, sabotage: &Arc<Sabotage>) -> Self {
        let beats = records.into_iter().map(Beat::Record).collect();
        Script { beats, resume_at: None, made: 0, sabotage: Arc::clone(sabotage) }
    }

    /// Appends an endless pause to the script, which ends only when the query is stopped.
    pub fn then_silence(self) -> Self {
        self.then_pause(u64::MAX)
    }

    /// Appends a pause of this number of nanoseconds of processing time to the script.
    pub fn then_pause(mut self, pause_ns: u64) -> Self {
        self.beats.push_back(Beat::Pause(pause_ns));
        self
    }

    /// Appends these records to the script.
    pub fn then_records(mut self, records: impl IntoIterator<Item = Record<T>>) -> Self {
        self.beats.extend(records.into_iter().map(Beat::Record));
        self
    }

    /// Inserts pauses and empty polls before about one in thirty of the records.
    pub fn with_pauses(mut self, entropy: &mut dyn Entropy) -> Self {
        let mut beats = VecDeque::with_capacity(self.beats.len());
        for beat in self.beats.drain(..) {
            match entropy.below(60) {
                0 => beats.push_back(Beat::Pause(entropy.below(PAUSE_NS_MAX))),
                1 => beats.push_back(Beat::Nothing),
                _ => {}
            }
            beats.push_back(beat);
        }
        Script { beats, ..self }
    }
}

impl<T: Send + 'static> Source for Script<T> {
    type Item = T;

    fn poll<O: Output<T>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let made_before = self.made;
        let mut status = SourceStatus::Ready;
        while self.made - made_before < limit as u64 && output.room() > 0 {
            match self.beats.pop_front() {
                None => {
                    status = SourceStatus::Ended;
                    break;
                }
                Some(Beat::Record(record)) => {
                    self.sabotage.check(Place::Source)?;
                    output.push(record);
                    self.made += 1;
                }
                Some(Beat::Nothing) => break,
                Some(Beat::Pause(pause_ns)) => {
                    let resume_at = *self.resume_at.get_or_insert(now.plus_nanos(pause_ns));
                    if now < resume_at {
                        self.beats.push_front(Beat::Pause(pause_ns));
                        status = SourceStatus::IdleUntil(resume_at);
                        break;
                    }
                    self.resume_at = None;
                }
            }
        }
        let passes_marker = self.made / MARKER_EVERY_RECORDS > made_before / MARKER_EVERY_RECORDS;
        Ok(Polled { status, latency: passes_marker.then_some(now) })
    }

    /// The position is the number of records and pauses that are left, and the number of records made. A pause begins again.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.beats.len(), self.made))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (left, made): (usize, u64) = state.take()?;
        let done = self.beats.len().checked_sub(left);
        let done = done.ok_or_else(|| state.wrong("the script is shorter than it was"))?;
        self.beats.drain(..done);
        self.made = made;
        Ok(())
    }
}
