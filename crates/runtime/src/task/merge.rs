//! Merges several inputs of a task: chooses the input to read next, and makes one stream of marks from the
//! marks of all inputs.
//!
//! The watermark of a task is the least of its inputs' watermarks, without the inputs that are idle or over.
//! It never goes back, not even when an idle input returns with a lower one. If an input's own watermark is
//! ahead of that, a [`Mark::InputWatermark`] before its records names the watermark by which they are late.
//! So lateness does not depend on the progress of the other inputs.
//!
//! A checkpoint contains this state beside the operators' state, because an operator assumes that the last watermark
//! named to it still holds.
//!
//! An input counts as idle when all inputs of its family are silent: those that come from the same place,
//! such as branches of one stream, or partitions of copies that receive the records of the same writers. A
//! watermark that has arrived on one of them is still to come on the others. If a silent one were left out,
//! its records would become late through no cause of its own.
//!
//! Every input with records is read, so no input waits for another, and streams that split and rejoin cannot
//! block each other. The policy sets the order ([`InputOrder`](thalweg_scheduling::InputOrder)). By progress, the input
//! with the lowest watermark goes first, because records of others would only wait in state for it; but after
//! [`TURNS_MAX`] runs the others are read, too. By arrival, the input goes first whose oldest record came first, and inputs
//! on which only marks wait go before all records.

use thalweg_model::{EventTime, LatencyMarker, Mark, ProcessingTime, StateError, StateReader, StateWriter};

use crate::limits;

/// Number of runs of records, or marks (such as watermarks), that one input may give in a row while other
/// inputs may have something to read.
const TURNS_MAX: u32 = 16;

/// Progress of one input of a task: its watermark, and whether it is idle, has ended or waits at a barrier.
#[derive(Clone, Copy, Debug)]
struct InputState {
    /// Number of the input's family: inputs with one number get their records from the same sources.
    family: usize,
    watermark: EventTime,
    /// The watermark by which records of this input are late: the input's own, or the one that an
    /// `InputWatermark` of a task upstream names.
    late_by: EventTime,
    is_idle: bool,
    is_over: bool,
    /// True if this input has seen a barrier that other inputs have not seen, so that it waits for them.
    is_at_barrier: bool,
    /// The last latency marker of this input; `None` if it has had none.
    marker: Option<LatencyMarker>,
}

/// Progress of all inputs of a task, with the marks (such as watermarks) that were passed on.
#[derive(Debug)]
pub(crate) struct Merge {
    inputs: Vec<InputState>,
    /// The least watermark of all inputs, as it was last passed on to the operators.
    watermark: EventTime,
    /// The watermark by which records are late, as the last mark with such a watermark has told the
    /// operators.
    late_by: EventTime,
    is_idle: bool,
    /// The barrier that some inputs have seen and others have not; `None` if no input waits at one.
    barrier: Option<Mark>,
    /// True after the state of the merge was loaded, until the watermark by which records are late is named to the operators
    /// again. Not every operator saves it.
    is_loaded: bool,
    /// Instant at which the record of the last latency marker that was passed on should have been sent.
    marked_at: ProcessingTime,
    /// Inputs that were found empty in this step of the task; bit `i` stands for input `i`.
    empty: u128,
    /// Inputs that were read [`TURNS_MAX`] times in a row in this step, so that other inputs with records
    /// come first; bit `i` stands for input `i`.
    tired: u128,
    /// Number of the input that was read last, and the number of times it was read in a row.
    turns: (usize, u32),
}

const _: () = assert!(limits::INPUTS_PER_TASK.max <= u128::BITS as u64, "an input is a bit of a word");

impl Merge {
    /// Makes the state of the merge for inputs of the given families; `families` has one number per input.
    /// Inputs of one family get their records from the same sources.
    pub(crate) fn new(families: &[usize]) -> Self {
        let start = |&family: &usize| InputState {
            family,
            watermark: EventTime::MIN,
            late_by: EventTime::MIN,
            is_idle: false,
            is_over: false,
            is_at_barrier: false,
            marker: None,
        };
        Merge {
            inputs: families.iter().map(start).collect(),
            watermark: EventTime::MIN,
            late_by: EventTime::MIN,
            is_idle: false,
            barrier: None,
            is_loaded: false,
            marked_at: ProcessingTime::ZERO,
            empty: 0,
            tired: 0,
            turns: (0, 0),
        }
    }

    /// Begins a step: every input may have something to read again.
    pub(crate) fn begin(&mut self) {
        (self.empty, self.tired) = (0, 0);
    }

    /// Returns the input to read next; `None` if all inputs were found empty in this step. If inputs are read in the
    /// order of arrival, `arrived_ns` returns the arrival of the oldest record of an input, or `u64::MAX` if nothing
    /// waits there; it is `None` if they are read in the order of their watermarks.
    pub(crate) fn next(&mut self, arrived_ns: Option<impl Fn(usize) -> u64>) -> Option<usize> {
        if let Some(arrived_ns) = arrived_ns {
            return self.least(self.empty, arrived_ns);
        }
        let place = self.lowest(self.empty | self.tired).or_else(|| {
            self.tired = 0;
            self.lowest(self.empty)
        })?;
        let (last, turns) = self.turns;
        self.turns = if place == last { (place, turns + 1) } else { (place, 1) };
        if self.turns.1 >= TURNS_MAX {
            self.turns.1 = 0;
            self.tired |= 1 << place;
        }
        Some(place)
    }

    /// Records that an input was found empty in this step.
    pub(crate) fn note_empty(&mut self, place: usize) {
        self.empty |= 1 << place;
    }

    /// Returns the watermark by which records of an input are late; `None` if no mark need name it to the
    /// operators before these records.
    pub(crate) fn announce(&mut self, place: usize) -> Option<EventTime> {
        let input = &mut self.inputs[place];
        input.is_idle = false;
        self.is_idle = false;
        let late_by = input.late_by.max(input.watermark).max(self.watermark);
        let is_news = late_by != self.late_by.max(self.watermark) || std::mem::take(&mut self.is_loaded);
        self.late_by = late_by;
        is_news.then_some(late_by)
    }

    /// Records a mark (such as a watermark) of an input. The marks that result for the task are passed to
    /// `emit`, in order. This is a plain call, not compiled for each caller: there are as many callers as
    /// kinds of task, and this function would be most of their code.
    pub(crate) fn note_mark(&mut self, place: usize, mark: Mark, emit: &mut dyn FnMut(Mark)) {
        match mark {
            Mark::Latency(marker) => {
                self.inputs[place].marker = Some(marker);
                self.pass_marker(emit);
            }
            Mark::InputWatermark(late_by) => self.inputs[place].late_by = late_by,
            Mark::Watermark(watermark) => {
                let input = &mut self.inputs[place];
                assert!(
                    watermark >= input.watermark,
                    "watermarks never go back on an edge: {watermark:?} after {:?}",
                    input.watermark
                );
                (input.watermark, input.is_idle) = (watermark, false);
                self.advance(emit);
            }
            Mark::Idle => {
                self.inputs[place].is_idle = true;
                self.advance(emit);
            }
            Mark::Barrier(_) => {
                self.inputs[place].is_at_barrier = true;
                self.barrier = Some(mark);
                self.pass_barrier(emit);
            }
            Mark::End => {
                self.inputs[place].is_over = true;
                self.advance(emit);
                if self.inputs.iter().all(|input| input.is_over) {
                    emit(Mark::End);
                } else {
                    // The barrier may have waited for this input only, which has ended without seeing it.
                    self.pass_barrier(emit);
                }
            }
        }
    }

    fn lowest(&self, passed_over: u128) -> Option<usize> {
        self.least(passed_over, |place| self.inputs[place].watermark)
    }

    /// Returns the input with the least key, of the inputs that have not ended, do not wait at a barrier, and
    /// whose bit in `passed_over` is 0.
    fn least<K: Ord>(&self, passed_over: u128, key: impl Fn(usize) -> K) -> Option<usize> {
        let can_be_read = |&place: &usize| {
            let InputState { is_over, is_at_barrier, .. } = self.inputs[place];
            !is_over && !is_at_barrier && passed_over & (1 << place) == 0
        };
        (0..self.inputs.len()).filter(can_be_read).min_by_key(|&place| key(place))
    }

    /// Passes on the least watermark of all inputs, if it has advanced, and the fact that all inputs are
    /// idle, if that is new.
    fn advance(&mut self, emit: &mut dyn FnMut(Mark)) {
        // An input with the watermark of the end of time no longer counts; all others do. An input that ended
        // below the end of time was stopped. It has promised nothing beyond its watermark, so it holds back
        // everything downstream.
        let is_open = |input: &&InputState| input.watermark < EventTime::MAX;
        let open = || self.inputs.iter().filter(is_open);
        let moves = |input: &&InputState| {
            !input.is_idle || open().any(|other| other.family == input.family && !other.is_idle)
        };
        let of_moving = open().filter(moves).map(|input| input.watermark).min();
        let is_idle = of_moving.is_none() && open().next().is_some();
        // When the last input falls silent, the order in which the inputs fell silent must not matter. So the
        // farthest of them counts, as if it had been the last (Flink does the same). Inputs that get their
        // records from the same sources count together, with the least of their watermarks. If no input is
        // open, all have ended.
        let of_family = |of: &InputState| {
            open().filter(|input| input.family == of.family).map(|input| input.watermark).min()
        };
        let farthest = || open().filter_map(of_family).max();
        let least = of_moving.or_else(farthest).unwrap_or(EventTime::MAX);
        if least > self.watermark {
            self.watermark = least;
            emit(Mark::Watermark(least));
        }
        if is_idle && !self.is_idle {
            emit(Mark::Idle);
        }
        self.is_idle = is_idle;
    }

    /// Passes on the oldest of the inputs' last latency markers, if it is newer than the marker passed on
    /// before. If a marker has taken several paths since its source, its last copy is passed on, so it counts
    /// once and with its full latency. Markers are as old as their intended instants; of two equally old ones,
    /// the marker that was taken in first is passed on. Inputs without a marker, idle inputs and inputs that
    /// have ended do not count.
    fn pass_marker(&mut self, emit: &mut dyn FnMut(Mark)) {
        let is_open =
            |input: &&InputState| !input.is_over && !input.is_idle && input.watermark < EventTime::MAX;
        let markers = self.inputs.iter().filter(is_open).filter_map(|input| input.marker);
        let oldest = markers.min_by_key(|marker| (marker.intended(), marker.taken_in()));
        if let Some(oldest) = oldest.filter(|oldest| oldest.intended() > self.marked_at) {
            self.marked_at = oldest.intended();
            emit(Mark::Latency(oldest));
        }
    }

    /// Passes a barrier on when all inputs have seen it. Inputs that have seen the barrier wait for the
    /// others, but not for inputs that have ended.
    fn pass_barrier(&mut self, emit: &mut dyn FnMut(Mark)) {
        if self.inputs.iter().all(|input| input.is_at_barrier || input.is_over)
            && let Some(barrier) = self.barrier.take()
        {
            self.inputs.iter_mut().for_each(|input| input.is_at_barrier = false);
            emit(barrier);
        }
    }

    /// Writes the progress of all inputs, as it is when a barrier passes.
    pub(crate) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.inputs.len())?;
        for InputState { watermark, late_by, is_idle, .. } in &self.inputs {
            state.put(&(watermark, late_by, is_idle))?;
        }
        state.put(&(self.watermark, self.late_by, self.is_idle))
    }

    /// Reads what [`save`](Self::save) wrote. Inputs that had ended send their end again.
    pub(crate) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let count: usize = state.take()?;
        if count != self.inputs.len() {
            let reason = format!("it had {count} inputs, and has {} now", self.inputs.len());
            return Err(state.wrong(reason));
        }
        for input in &mut self.inputs {
            (input.watermark, input.late_by, input.is_idle) = state.take()?;
        }
        (self.watermark, self.late_by, self.is_idle) = state.take()?;
        self.is_loaded = true;
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
