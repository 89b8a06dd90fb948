//! A bed to test operators on: input and output as text, with as little room as is asked for.
//!
//! `7@3` is the value 7 at event time 3 (microseconds), `W4` a watermark, `I4` an input's watermark, `IDLE` and `B4` a
//! barrier, `END` the end behind a watermark at the maximum. Output is written the same way; marks appear when they have
//! got through, as those behind the operator see them.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use thalweg_model::{
    Allowance, Counts, Either, EventTime, Flow, Input, Lender, Mark, Operator, Output, Record, StateReader,
    StateWriter, Windowed,
};

/// How a result is written.
pub(crate) trait Show {
    fn show(&self) -> String;
}

impl Show for i64 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl<K: Display, V: Display> Show for Windowed<K, V> {
    fn show(&self) -> String {
        format!("{}={}", self.key, self.value)
    }
}

impl<L: Show, R: Show> Show for Either<L, R> {
    fn show(&self) -> String {
        match self {
            Either::Left(left) => left.show(),
            Either::Right(right) => format!("right:{}", right.show()),
        }
    }
}

/// Records given as a vector.
pub(crate) struct Given<T>(pub(crate) std::vec::IntoIter<Record<T>>);

impl Given<i64> {
    /// Values with their stamps.
    pub(crate) fn of(records: &[(i64, i64)]) -> Self {
        let record = |&(value, stamp): &(i64, i64)| Record::new(EventTime::from_micros(stamp), value);
        Given(records.iter().map(record).collect::<Vec<_>>().into_iter())
    }
}

impl<T> Input<T> for Given<T> {
    fn remaining(&self) -> usize {
        self.0.len()
    }
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        look(&self.0.as_slice()[offset])
    }
    fn take_each(&mut self, count: usize, each: impl FnMut(Record<T>)) {
        assert!(count <= self.remaining());
        self.0.by_ref().take(count).for_each(each);
    }
    fn take_selected(&mut self, count: usize, selection: &[u16], mut each: impl FnMut(Record<T>)) {
        assert!(count <= self.remaining() && selection.is_sorted());
        let chosen = |place: usize| selection.binary_search(&(place as u16)).is_ok();
        for (place, record) in self.0.by_ref().take(count).enumerate() {
            if chosen(place) {
                each(record);
            }
        }
    }
}

/// Collects records, with a bound.
pub(crate) struct Collected<T> {
    records: Vec<Record<T>>,
    room: usize,
}

impl<T> Collected<T> {
    pub(crate) fn new(room: usize) -> Self {
        Collected { records: Vec::new(), room }
    }

    /// What was pushed; there is room again.
    pub(crate) fn take(&mut self) -> Vec<Record<T>> {
        std::mem::take(&mut self.records)
    }
}

impl<T> Output<T> for Collected<T> {
    fn room(&self) -> usize {
        self.room - self.records.len()
    }
    fn push(&mut self, record: Record<T>) {
        assert!(self.room() > 0, "O1: an operator pushes only while there is room");
        self.records.push(record);
    }
}

/// An operator under test.
pub(crate) struct Bed<P> {
    operator: P,
    /// Room of the output at every call; batches of input are no larger.
    room: usize,
}

impl<P> Bed<P>
where
    P: Operator<i64>,
    P::Out: Show,
{
    pub(crate) fn new(operator: P) -> Self {
        Bed { operator, room: 100_000 }
    }

    pub(crate) fn with_room(self, room: usize) -> Self {
        Bed { room, ..self }
    }

    /// Runs records and marks through the operator and writes down what comes out.
    pub(crate) fn run(&mut self, input: &str) -> String {
        let mut shown: Vec<String> = Vec::new();
        let mut batch = Vec::new();
        for token in input.split_whitespace() {
            if let Some((value, stamp)) = token.split_once('@') {
                let event_time = EventTime::from_micros(stamp.parse().expect("a stamp"));
                batch.push(Record::new(event_time, value.parse().expect("a value")));
                continue;
            }
            self.process(std::mem::take(&mut batch), &mut shown);
            if token == "END" {
                self.mark(Mark::Watermark(EventTime::MAX), &mut shown);
            }
            let mark = read_mark(token);
            self.mark(mark, &mut shown);
            shown.extend(self.operator.forward(mark).map(show_mark));
        }
        self.process(batch, &mut shown);
        shown.join(" ")
    }

    /// The same, but behind every mark the state is saved and loaded into another operator, which goes on.
    pub(crate) fn run_restoring(&mut self, input: &str, fresh: impl Fn() -> P) -> String {
        let mut shown = Vec::new();
        let mut rest = input.split_whitespace().peekable();
        while rest.peek().is_some() {
            let mut part = Vec::new();
            for token in rest.by_ref() {
                part.push(token);
                if !token.contains('@') {
                    break;
                }
            }
            shown.push(self.run(&part.join(" ")));
            self.operator = restored(&self.operator, fresh());
        }
        shown.retain(|part| !part.is_empty());
        shown.join(" ")
    }

    /// The name that is blamed for the panic that this input causes.
    pub(crate) fn panics(&mut self, input: &str) -> String {
        assert!(self.operator.faulted().is_none());
        assert!(catch_unwind(AssertUnwindSafe(|| self.run(input))).is_err());
        self.operator.faulted().expect("somebody is to blame").to_owned()
    }

    /// All counts that are not zero, as text; asserts that records are conserved.
    pub(crate) fn counts(&self) -> String {
        let mut shown = Vec::new();
        self.operator.visit_counts(&mut |name, counts| {
            assert!(counts.is_conserved(), "{name}: {counts:?}");
            let Counts { read, forwarded, folded, filtered, late } = counts;
            let kinds = [
                (read, "read"),
                (forwarded, "forwarded"),
                (folded, "folded"),
                (filtered, "filtered"),
                (late, "late"),
            ];
            let kinds: Vec<String> = kinds
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, kind)| format!("{count} {kind}"))
                .collect();
            shown.push(format!("{name}: {}", kinds.join(", ")));
        });
        shown.join("; ")
    }

    /// Saves the state and loads it into `fresh`, which goes on in this one's place.
    pub(crate) fn restore_into(self, fresh: P) -> Self {
        Bed { operator: restored(&self.operator, fresh), room: self.room }
    }

    fn process(&mut self, batch: Vec<Record<i64>>, shown: &mut Vec<String>) {
        let mut rest = batch.into_iter().peekable();
        while rest.peek().is_some() {
            let part: Vec<_> = rest.by_ref().take(self.room).collect();
            let mut input = Given(part.into_iter());
            loop {
                self.call(shown, |operator, output| operator.process(&mut input, output));
                while self.operator.is_stalled() {
                    let _flow = self.call(shown, |operator, output| operator.resume(output));
                }
                if input.remaining() == 0 {
                    break;
                }
            }
        }
    }

    fn mark(&mut self, mark: Mark, shown: &mut Vec<String>) {
        let mut flow = self.call(shown, |operator, output| operator.on_mark(mark, output));
        while flow == Flow::More {
            flow = self.call(shown, |operator, output| operator.resume(output));
        }
    }

    fn call<Q>(
        &mut self,
        shown: &mut Vec<String>,
        act: impl FnOnce(&mut P, &mut Collected<P::Out>) -> Q,
    ) -> Q {
        let mut output = Collected::new(self.room);
        let result = act(&mut self.operator, &mut output);
        let show =
            |record: &Record<P::Out>| format!("{}@{}", record.value.show(), record.event_time.as_micros());
        shown.extend(output.records.iter().map(show));
        result
    }
}

/// Grants whatever is asked for up to a bound, and remembers.
#[derive(Clone)]
pub(crate) struct Purse(Arc<Mutex<Granted>>);

struct Granted {
    bytes: usize,
    bound: usize,
}

impl Purse {
    /// Bytes that it can grant in all.
    pub(crate) fn of(bound: usize) -> Self {
        Purse(Arc::new(Mutex::new(Granted { bytes: 0, bound })))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::new(self.clone()))
    }

    /// Bytes that were granted.
    pub(crate) fn granted(&self) -> usize {
        self.0.lock().unwrap().bytes
    }
}

impl Lender for Purse {
    fn lend(&self, bytes: usize) -> bool {
        let mut granted = self.0.lock().unwrap();
        let is_granted = bytes <= granted.bound - granted.bytes;
        granted.bytes += if is_granted { bytes } else { 0 };
        is_granted
    }
}

/// `fresh` with the state of `operator`.
fn restored<P: Operator<i64>>(operator: &P, mut fresh: P) -> P {
    let mut state = StateWriter::default();
    operator.save(&mut state).expect("state can be saved");
    let bytes = state.into_bytes();
    let mut reader = StateReader::new(&bytes);
    fresh.load(&mut reader).expect("state can be loaded");
    reader.finish().expect("state is read whole");
    fresh
}

fn read_mark(token: &str) -> Mark {
    let instant = |micros: &str| EventTime::from_micros(micros.parse().expect("a watermark"));
    match (token, token.split_at(1)) {
        ("END", _) => Mark::End,
        ("IDLE", _) => Mark::Idle,
        (_, ("W", micros)) => Mark::Watermark(instant(micros)),
        (_, ("I", micros)) => Mark::InputWatermark(instant(micros)),
        (_, ("B", number)) => Mark::Barrier(number.parse().expect("a barrier")),
        _ => panic!("{token} is no mark"),
    }
}

fn show_mark(mark: Mark) -> String {
    match mark {
        Mark::End => "END".to_owned(),
        Mark::Idle => "IDLE".to_owned(),
        Mark::Watermark(watermark) => format!("W{}", watermark.as_micros()),
        Mark::InputWatermark(watermark) => format!("I{}", watermark.as_micros()),
        Mark::Barrier(number) => format!("B{number}"),
        Mark::Latency(intended) => format!("L{}", intended.as_nanos()),
    }
}

/// A fold that sums, for windows under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum;

impl thalweg_model::Fold<i64> for Sum {
    type Accumulator = i64;
    type Result = i64;
    fn create(&self) -> i64 {
        0
    }
    fn fold(&self, accumulator: &mut i64, value: &i64) {
        *accumulator += value;
    }
    fn merge(&self, accumulator: &mut i64, other: i64) {
        *accumulator += other;
    }
    fn finish(&self, accumulator: i64) -> i64 {
        accumulator
    }
}
