//! Several inputs as one: which to look at next, and what their marks become.
//!
//! The watermark of a task is the least of its inputs', those that are idle or over left out; it never goes back, also
//! when an input that was idle comes back with less. Before records of an input whose own watermark is ahead of that,
//! a [`Mark::InputWatermark`] says by which one they are late, so that this does not depend on how far the others are.
//!
//! A checkpoint must hold this beside the operators' state, or say again by which watermark records are late: an operator
//! takes what it was told last to hold.
//!
//! An input counts as idle when all have fallen silent that come from the same place: branches of one stream, or partitions of
//! copies that receive the records of the same writers. What one of them has not told yet another may have, and then it
//! is still to come here: left out, it would be late for no fault of its own.
//!
//! Whoever has something is read, so no input waits for another, and streams that part and meet again cannot stop each
//! other. The one with the lowest watermark goes first: the other's records would only wait in state for it. But after
//! [`TURNS_MAX`] runs the others are looked at, too.

use thalweg_model::{EventTime, Mark, ProcessingTime};

use crate::limits;

/// Runs or marks of one input in a row while others may have something.
const TURNS_MAX: u32 = 16;

/// How far one input is.
#[derive(Clone, Copy, Debug)]
struct InputState {
    /// Those with the same number come from the same place.
    family: usize,
    watermark: EventTime,
    /// By which its records are late: its watermark, or what an input of an input says.
    late_by: EventTime,
    is_idle: bool,
    is_over: bool,
    /// It has seen a barrier that others have not, and waits for them.
    is_at_barrier: bool,
    /// The last latency marker; none if it has had none.
    marker: Option<ProcessingTime>,
}

/// How far the inputs of a task are.
#[derive(Debug)]
pub(crate) struct Merge {
    inputs: Vec<InputState>,
    /// The least of all, as handed on.
    watermark: EventTime,
    /// By which records are late, as last handed on.
    late_by: EventTime,
    is_idle: bool,
    /// The last latency marker that was handed on.
    marker: ProcessingTime,
    /// Inputs found empty in this step: a bit each.
    empty: u128,
    /// Inputs that had their turns.
    tired: u128,
    /// The input that was read last, and for how many turns in a row.
    turns: (usize, u32),
}

const _: () = assert!(limits::INPUTS_PER_TASK.max <= u128::BITS as u64, "an input is a bit of a word");

impl Merge {
    /// Of so many inputs as there are families given, one each.
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
            marker: ProcessingTime::ZERO,
            empty: 0,
            tired: 0,
            turns: (0, 0),
        }
    }

    /// Begins a step: nothing is known to be empty.
    pub(crate) fn begin(&mut self) {
        (self.empty, self.tired) = (0, 0);
    }

    /// The input to look at next; none if all were found empty.
    pub(crate) fn next(&mut self) -> Option<usize> {
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

    /// Takes note that an input has nothing.
    pub(crate) fn note_empty(&mut self, place: usize) {
        self.empty |= 1 << place;
    }

    /// What has to be said before records of an input: by which watermark they are late, if that is not known.
    pub(crate) fn announce(&mut self, place: usize) -> Option<EventTime> {
        let input = &mut self.inputs[place];
        input.is_idle = false;
        self.is_idle = false;
        let late_by = input.late_by.max(input.watermark).max(self.watermark);
        let is_news = late_by != self.late_by.max(self.watermark);
        self.late_by = late_by;
        is_news.then_some(late_by)
    }

    /// Takes note of a mark of an input; what it means for all of them is handed to `emit`, in order. Called by name and
    /// not compiled for each caller: there are as many as there are kinds of task, and this would be most of their code.
    pub(crate) fn note_mark(&mut self, place: usize, mark: Mark, emit: &mut dyn FnMut(Mark)) {
        match mark {
            Mark::Latency(intended) => {
                self.inputs[place].marker = Some(intended);
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
                self.pass_barrier(mark, emit);
            }
            Mark::End => {
                self.inputs[place].is_over = true;
                self.advance(emit);
                if self.inputs.iter().all(|input| input.is_over) {
                    emit(Mark::End);
                }
            }
        }
    }

    fn lowest(&self, passed_over: u128) -> Option<usize> {
        let can_be_read = |&place: &usize| {
            let InputState { is_over, is_at_barrier, .. } = self.inputs[place];
            !is_over && !is_at_barrier && passed_over & (1 << place) == 0
        };
        (0..self.inputs.len()).filter(can_be_read).min_by_key(|&place| self.inputs[place].watermark)
    }

    /// Hands the least watermark on, if it has advanced, and that all are idle, if that is new.
    fn advance(&mut self, emit: &mut dyn FnMut(Mark)) {
        // The last watermark of an input says that it is over: the others are still to come. An input that ends without it
        // was asked to end, and has promised nothing beyond the watermark that it had: that holds for all behind.
        let is_open = |input: &&InputState| input.watermark < EventTime::MAX;
        let open = || self.inputs.iter().filter(is_open);
        let moves = |input: &&InputState| {
            !input.is_idle || open().any(|other| other.family == input.family && !other.is_idle)
        };
        let of_moving = open().filter(moves).map(|input| input.watermark).min();
        let is_idle = of_moving.is_none() && open().next().is_some();
        // When the last one falls silent it must not matter which did so first: then the farthest of them counts, as it
        // would had it been the last (so does Flink). With none open, all has ended.
        // A family is as far as its last.
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

    /// Hands on the oldest of the inputs' last latency markers, if it is a newer one than before. Of a marker that has gone
    /// several ways since its source, the last copy goes on: so it counts once, and in full. Inputs that have had none, are
    /// idle or over, are left out.
    fn pass_marker(&mut self, emit: &mut dyn FnMut(Mark)) {
        let is_open =
            |input: &&InputState| !input.is_over && !input.is_idle && input.watermark < EventTime::MAX;
        let oldest = self.inputs.iter().filter(is_open).filter_map(|input| input.marker).min();
        if let Some(oldest) = oldest.filter(|&oldest| oldest > self.marker) {
            self.marker = oldest;
            emit(Mark::Latency(oldest));
        }
    }

    /// Inputs that have seen a barrier wait for the others, and then all go on. Those that are over wait for nobody.
    fn pass_barrier(&mut self, barrier: Mark, emit: &mut dyn FnMut(Mark)) {
        if self.inputs.iter().all(|input| input.is_at_barrier || input.is_over) {
            self.inputs.iter_mut().for_each(|input| input.is_at_barrier = false);
            emit(barrier);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
