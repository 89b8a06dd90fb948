//! Tests that the bed finds each mistake of an operator, and no fault in a correct one. The operators here
//! are the plainest that keep the contract. Each has mistakes that can be switched on.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_model::{
    Allowance, Counts, Flow, Input, Operator, Output, Record, StateError, StateReader, StateWriter, Then,
};

use super::*;
use crate::hostile::{Reading, Sides};
use crate::oracle;
use crate::seed::entropy_for;

/// A mistake that a sorting operator can make on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    PushesWithoutRoom,
    AsksForRoomOnce,
    LeavesRecords,
    LosesCount,
    ForgetsState,
    ForgetsInputWatermark,
    SavesTooMuch,
    PromisesTooMuch,
    GoesBack,
    ChangesItsMind,
    HoldsTheEndBack,
    NeverDone,
    NeverAsks,
    EmitsEarly,
    EmitsLate,
}

/// Operator that sorts records: it holds each record back until the watermark has passed its event time.
struct Hold {
    mistake: Mistake,
    held: Vec<(EventTime, Reading)>,
    /// Records that a watermark has released, and that wait for room in the output.
    leaving: VecDeque<(EventTime, Reading)>,
    watermark: EventTime,
    input_watermark: EventTime,
    counts: Counts,
    allowance: Allowance,
    answers: Cell<u64>,
}

fn hold(mistake: Mistake) -> Hold {
    Hold {
        mistake,
        held: Vec::new(),
        leaving: VecDeque::new(),
        watermark: EventTime::MIN,
        input_watermark: EventTime::MIN,
        counts: Counts::default(),
        allowance: Allowance::default(),
        answers: Cell::new(0),
    }
}

const HELD_BYTES: usize = size_of::<(EventTime, Reading)>();

impl Hold {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    fn emit<O: Output<Reading>>(&mut self, output: &mut O) -> Flow {
        if self.makes(Mistake::NeverDone) {
            return Flow::More;
        }
        let room = output.room();
        for _ in 0..room {
            if output.room() == 0 && !self.makes(Mistake::AsksForRoomOnce) {
                break;
            }
            let Some((at, value)) = self.leaving.pop_front() else { break };
            output.push(Record::new(at, value));
        }
        if self.makes(Mistake::PushesWithoutRoom) && room == 0 && !self.leaving.is_empty() {
            let (at, value) = self.leaving[0];
            output.push(Record::new(at, value));
        }
        if self.leaving.is_empty() { Flow::Done } else { Flow::More }
    }
}

impl Operator<Reading> for Hold {
    type Out = Reading;

    fn process<I: Input<Reading>, O: Output<Reading>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining() - usize::from(self.makes(Mistake::LeavesRecords));
        for _ in 0..count {
            let record = input.take().expect("it is one of so many");
            self.process_one(record, output);
        }
        self.note_read(count as u64);
    }

    fn process_one<O: Output<Reading>>(&mut self, record: Record<Reading>, _output: &mut O) {
        let late_by = self.watermark.max(self.input_watermark);
        if record.event_time < late_by {
            self.counts.late += u64::from(!self.makes(Mistake::LosesCount));
            return;
        }
        self.counts.folded += 1;
        if self.makes(Mistake::NeverAsks) || self.allowance.ask(HELD_BYTES) {
            self.held.push((record.event_time, record.value));
        }
    }

    fn note_read(&mut self, count: u64) {
        self.counts.read += count;
    }

    fn on_mark<O: Output<Reading>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        match mark {
            Mark::Watermark(watermark) => {
                let passed = match self.mistake {
                    Mistake::EmitsEarly => watermark.plus(thalweg_model::Span::from_micros(1)),
                    Mistake::EmitsLate => self.watermark,
                    _ => watermark,
                };
                self.watermark = watermark;
                let is_over = watermark == EventTime::MAX;
                let (mut leaving, held): (Vec<_>, _) =
                    self.held.drain(..).partition(|(at, _)| *at < passed || is_over);
                leaving.sort_by_key(|(at, _)| *at);
                self.held = held;
                self.leaving.extend(leaving);
            }
            Mark::InputWatermark(own) if !self.makes(Mistake::ForgetsInputWatermark) => {
                self.input_watermark = own;
            }
            _ => {}
        }
        self.emit(output)
    }

    fn resume<O: Output<Reading>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        self.answers.set(self.answers.get() + 1);
        match mark {
            Mark::InputWatermark(_) => None,
            Mark::Watermark(EventTime::MAX) if self.makes(Mistake::HoldsTheEndBack) => {
                Some(Mark::Watermark(EventTime::from_micros(i64::MAX - 1)))
            }
            Mark::Watermark(EventTime::MAX) => Some(mark),
            Mark::Watermark(watermark) => {
                let promised = match self.mistake {
                    Mistake::PromisesTooMuch => watermark.as_micros() + 1,
                    Mistake::GoesBack => -watermark.as_micros().abs(),
                    Mistake::ChangesItsMind => watermark.as_micros() - self.answers.get() as i64,
                    _ => watermark.as_micros(),
                };
                Some(Mark::Watermark(EventTime::from_micros(promised)))
            }
            mark => Some(mark),
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("hold", self.counts);
    }

    fn state_bytes(&self) -> usize {
        (self.held.len() + self.leaving.len()) * HELD_BYTES
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.watermark)?;
        state.put(&self.held)?;
        if self.makes(Mistake::SavesTooMuch) { state.put(&7) } else { Ok(()) }
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.watermark = state.take()?;
        let held: Vec<(EventTime, Reading)> = state.take()?;
        self.allowance.ask(held.len() * HELD_BYTES);
        self.held = if self.makes(Mistake::ForgetsState) { Vec::new() } else { held };
        Ok(())
    }
}

/// Operator that emits each record as often as its amount says: zero to three times.
#[derive(Default)]
struct Repeat {
    mistake: Option<Slip>,
    rest: Option<(Record<Reading>, i64)>,
    counts: Counts,
}

/// A mistake that an operator which emits several records per record can make on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slip {
    HidesItsRest,
    TakesNothing,
    SaysDoneTooSoon,
}

fn times(reading: &Reading) -> i64 {
    reading.amount.rem_euclid(4)
}

impl Repeat {
    fn emit<O: Output<Reading>>(&mut self, output: &mut O) {
        while output.room() > 0
            && let Some((record, left)) = self.rest
        {
            if left > 0 {
                output.push(record);
            }
            self.rest = (left > 1).then_some((record, left - 1));
        }
    }
}

impl Operator<Reading> for Repeat {
    type Out = Reading;

    const EXPANDS: bool = true;

    fn process<I: Input<Reading>, O: Output<Reading>>(&mut self, input: &mut I, output: &mut O) {
        while self.rest.is_none() && output.room() > 0 && self.mistake != Some(Slip::TakesNothing) {
            let Some(record) = input.take() else { break };
            self.process_one(record, output);
            self.note_read(1);
        }
    }

    fn process_one<O: Output<Reading>>(&mut self, record: Record<Reading>, output: &mut O) {
        self.counts.forwarded += 1;
        self.rest = Some((record, times(&record.value))).filter(|(_, left)| *left > 0);
        self.emit(output);
    }

    fn note_read(&mut self, count: u64) {
        self.counts.read += count;
    }

    fn is_stalled(&self) -> bool {
        self.rest.is_some() && self.mistake != Some(Slip::HidesItsRest)
    }

    fn resume<O: Output<Reading>>(&mut self, output: &mut O) -> Flow {
        self.emit(output);
        let is_done = self.rest.is_none() || self.mistake == Some(Slip::SaysDoneTooSoon);
        if is_done { Flow::Done } else { Flow::More }
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("repeat", self.counts);
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Returns test beds with this number of inputs, for each way of saving and loading state.
fn beds(input_count: usize) -> impl Iterator<Item = Bed<Reading>> {
    (0..60).flat_map(move |seed| {
        let mut entropy = entropy_for(seed, "bed");
        let inputs = Sides::draw(input_count, &mut entropy).arrivals(120, &mut entropy);
        let bed = move |restore| Bed::new(inputs.clone(), Manner::draw(restore, &mut entropy), &mut entropy);
        Restore::ALL.map(bed)
    })
}

fn check_hold(mistake: Mistake, input_count: usize) {
    for bed in beds(input_count) {
        let ran = bed.drive(|| hold(mistake));
        ran.assert_results(oracle::sorted(&ran.arrived), |row| (row.at_us, row.value));
        ran.assert_late(oracle::late(&ran.arrived).len() as u64);
        ran.assert_keeps_its_promise();
        ran.assert_fires_at(|row| Some(row.at_us + 1));
    }
}

fn check_repeat(mistake: Option<Slip>, input_count: usize) {
    for bed in beds(input_count) {
        let ran = bed.drive(|| Repeat { mistake, ..Repeat::default() });
        let repeated = |reading: &Reading| vec![*reading; times(reading) as usize];
        ran.assert_rows(&oracle::flat_map(&ran.arrived, repeated));
        assert_eq!(ran.total(|counts| counts.forwarded), ran.arrived.len() as u64);
    }
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    for input_count in 1..=3 {
        check_hold(Mistake::None, input_count);
        check_repeat(None, input_count);
    }
}

/// The bed drives a chain as one operator. Records that the first operator emits are judged late by the marks
/// that it forwards.
#[test]
fn chains_are_driven_as_one() {
    for bed in beds(2) {
        let ran =
            bed.drive(|| Then::new(Then::new(Repeat::default(), Repeat::default()), hold(Mistake::None)));
        let repeated = |reading: &Reading| vec![*reading; (times(reading) * times(reading)) as usize];
        let rows = oracle::flat_map(&ran.arrived, repeated);
        ran.assert_results(oracle::sorted(&rows), |row| (row.at_us, row.value));
        ran.assert_late(oracle::late(&rows).len() as u64);
        let read: Vec<u64> = ran.counts.iter().map(|counts| counts.read).collect();
        assert_eq!(read[0], ran.arrived.len() as u64);
        assert_eq!(read.len(), 3);
    }
}

/// An operator that is refused memory is not called again, and has counted all records that it has read.
#[test]
fn memory_runs_out() {
    let starved = beds(2).map(|bed| bed.with_bounded_grant(10 * HELD_BYTES));
    let starved = starved.filter(|bed| bed.manner.restore == Restore::Never);
    let starved = starved.filter(|bed| bed.drive(|| hold(Mistake::None)).is_starved);
    assert!(starved.count() > 30);
}

/// Runs a check that must fail, and returns the message of its panic.
fn message(check: impl FnOnce()) -> String {
    let panicked = catch_unwind(AssertUnwindSafe(check)).expect_err("a mistake is found");
    match panicked.downcast::<String>() {
        Ok(message) => *message,
        Err(panicked) => (*panicked.downcast::<&str>().expect("panics have a message")).to_owned(),
    }
}

#[test]
fn every_mistake_is_found() {
    let mistakes = [
        (Mistake::PushesWithoutRoom, "only while output.room() is above zero (O1)"),
        (Mistake::AsksForRoomOnce, "only while output.room() is above zero (O1)"),
        (Mistake::LeavesRecords, "takes all that it is given (O2)"),
        (Mistake::LosesCount, "every record read by hold is accounted for"),
        (Mistake::ForgetsState, "rows expected"),
        (Mistake::SavesTooMuch, "state is read whole"),
        (Mistake::PromisesTooMuch, "is promised, but only"),
        (Mistake::GoesBack, "is promised behind"),
        (Mistake::ChangesItsMind, "the same mark gets the same answer"),
        (Mistake::HoldsTheEndBack, "at the end of time nothing is held back"),
        (Mistake::NeverDone, "with room pushes or is done (O4)"),
        (Mistake::NeverAsks, "but only 0 were asked for"),
        (Mistake::EmitsEarly, "came before its end"),
        (Mistake::EmitsLate, "came behind the watermark"),
    ];
    for (mistake, expected) in mistakes {
        let found = message(|| check_hold(mistake, 1));
        assert!(found.contains(expected), "{mistake:?}: {found}");
    }
    // With one input, the mistake of forgetting an input's watermark has no effect.
    check_hold(Mistake::ForgetsInputWatermark, 1);
    let found = message(|| check_hold(Mistake::ForgetsInputWatermark, 2));
    assert!(found.contains("rows expected"), "{found}");
}

#[test]
fn every_slip_of_who_expands_is_found() {
    let slips = [
        (Slip::HidesItsRest, "takes a record, or is stalled (O3)"),
        (Slip::TakesNothing, "takes a record, or is stalled (O3)"),
        (Slip::SaysDoneTooSoon, "when the operator is not stalled (O4)"),
    ];
    for (slip, expected) in slips {
        let found = message(|| check_repeat(Some(slip), 1));
        assert!(found.contains(expected), "{slip:?}: {found}");
    }
}
