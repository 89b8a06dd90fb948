//! A bed to test operators on: input and output as text, with as little room as is asked for.
//!
//! `7@3` is the value 7 at event time 3 (microseconds), `W4` a watermark, `END` the end behind a watermark at the
//! maximum. Output is written the same way; marks appear when they have got through.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_model::{
    Counts, EventTime, Flow, Input, Mark, Operator, Output, Record, StateReader, StateWriter, Windowed,
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

/// Records given as a vector.
pub(crate) struct Given<T>(pub(crate) std::vec::IntoIter<Record<T>>);

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
struct Collected<T> {
    records: Vec<Record<T>>,
    room: usize,
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
                self.mark(Mark::End, &mut shown);
            } else {
                let watermark = token.strip_prefix('W').expect("a mark").parse().expect("a watermark");
                self.mark(Mark::Watermark(EventTime::from_micros(watermark)), &mut shown);
            }
            shown.push(token.to_owned());
        }
        self.process(batch, &mut shown);
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
    pub(crate) fn restore_into(self, mut fresh: P) -> Self {
        let mut state = StateWriter::default();
        self.operator.save(&mut state).expect("state can be saved");
        let bytes = state.into_bytes();
        let mut reader = StateReader::new(&bytes);
        fresh.load(&mut reader).expect("state can be loaded");
        reader.finish().expect("state is read whole");
        Bed { operator: fresh, room: self.room }
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
        let mut output = Collected { records: Vec::new(), room: self.room };
        let result = act(&mut self.operator, &mut output);
        let show =
            |record: &Record<P::Out>| format!("{}@{}", record.value.show(), record.event_time.as_micros());
        shown.extend(output.records.iter().map(show));
        result
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
