//! A test bed for operators: input and output as text, with as little room as a test asks for.
//!
//! `7@3` is the value 7 at event time 3 (microseconds), `W4` a watermark, `I5` the watermark of the input that the
//! next records come from, `END` the end behind a watermark at the maximum. Where two streams come together, `L7@3`
//! is a record of the left one and `R7@3` one of the right one. Output has the same format; marks appear when they
//! are forwarded, as later operators see them. A result of a window is `key=value`, an update `key=value!`.

use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_model::{
    Allowance, Counted, Counts, Either, EventTime, Firing, Flow, Input, Mark, Operator, Output, Record,
    StateReader, StateWriter, Windowed,
};

use crate::bounded_grant::BoundedGrant;

/// A type of input record that tests write as text.
pub(crate) trait Parse: Sized {
    fn parse(text: &str) -> Self;
}

impl Parse for i64 {
    fn parse(text: &str) -> Self {
        text.parse().expect("a value")
    }
}

impl<L: Parse, R: Parse> Parse for Either<L, R> {
    fn parse(text: &str) -> Self {
        match text.split_at(1) {
            ("L", value) => Either::Left(L::parse(value)),
            ("R", value) => Either::Right(R::parse(value)),
            _ => panic!("{text} is of the left or of the right stream, L or R"),
        }
    }
}

/// A type of result that the test bed shows as text.
pub(crate) trait Show {
    fn show(&self) -> String;
}

impl Show for i64 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for String {
    fn show(&self) -> String {
        self.clone()
    }
}

impl<K: Display, V: Display> Show for Windowed<K, V> {
    fn show(&self) -> String {
        let update = if self.firing == Firing::Update { "!" } else { "" };
        format!("{}={}{update}", self.key, self.value)
    }
}

impl<K: Display, V: Display> Show for Counted<K, V> {
    fn show(&self) -> String {
        format!("{}={}", self.key, self.value)
    }
}

/// An operator's input, which serves records from a vector.
pub(crate) struct Given<T>(pub(crate) std::vec::IntoIter<Record<T>>);

impl Given<i64> {
    /// Creates an input of the given values with their event times in microseconds.
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
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        assert!(count <= self.remaining());
        self.0.by_ref().take(count)
    }
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        assert!(selection.is_sorted());
        let chosen = |place: usize| selection.binary_search(&(place as u16)).is_ok();
        self.taken(count).enumerate().filter_map(move |(place, record)| chosen(place).then_some(record))
    }
}

/// Returns a random input as text for the test bed: values with their times, and an end. Each of `records` is
/// a value, its time and a kind. Behind a record of kind 0 stands a watermark with the record's time, unless
/// the watermark would go back. Behind a record of kind 1 stands the watermark of an input, not below that of
/// the operator.
pub(crate) fn input_of(records: impl IntoIterator<Item = (i64, i64, u8)>) -> String {
    let (mut input, mut watermark) = (Vec::new(), i64::MIN);
    for (value, time, kind) in records {
        input.push(format!("{value}@{time}"));
        if kind == 0 && watermark <= time {
            watermark = time;
            input.push(format!("W{time}"));
        } else if kind == 1 {
            input.push(format!("I{}", watermark.max(time)));
        }
    }
    format!("{} END", input.join(" "))
}

/// An output that collects records up to a bound.
pub(crate) struct Collected<T> {
    records: Vec<Record<T>>,
    room: usize,
}

impl<T> Collected<T> {
    pub(crate) fn new(room: usize) -> Self {
        Collected { records: Vec::new(), room }
    }

    /// Returns the records pushed so far and forgets them, so that there is room again.
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

/// A test bed with the operator under test: runs input through it, with limited room for output.
pub(crate) struct Bed<P, In = i64> {
    operator: P,
    /// Number of records that the output has room for at every call. Input is given in batches of at most
    /// this size.
    room: usize,
    /// Makes another operator of the same kind. The state is restored into it whenever a mark is forwarded,
    /// or is stuck because there is no room.
    fresh: Option<Box<dyn Fn() -> P>>,
    /// Counts of the operators that were replaced when the state was restored.
    counted: Vec<Counts>,
    input: PhantomData<In>,
}

impl<P: Operator<i64>> Bed<P> {
    pub(crate) fn new(operator: P) -> Self {
        Bed { operator, room: 100_000, fresh: None, counted: Vec::new(), input: PhantomData }
    }
}

impl<P: Operator<Either<i64, i64>>> Bed<P, Either<i64, i64>> {
    /// Creates a test bed for an operator with two input streams.
    pub(crate) fn of_two(operator: P) -> Self {
        Bed { operator, room: 100_000, fresh: None, counted: Vec::new(), input: PhantomData }
    }
}

impl<P, In> Bed<P, In>
where
    In: Parse,
    P: Operator<In>,
    P::Out: Show,
{
    pub(crate) fn with_room(self, room: usize) -> Self {
        Bed { room, ..self }
    }

    /// Makes the bed save the state and load it into a new operator, which replaces the old one, at every
    /// mark and whenever a mark is stuck for want of room.
    pub(crate) fn with_restores(self, fresh: impl Fn() -> P + 'static) -> Self {
        Bed { fresh: Some(Box::new(fresh)), ..self }
    }

    /// Runs records and marks, given as text, through the operator, and returns its output as text.
    pub(crate) fn run(&mut self, input: &str) -> String {
        let mut shown: Vec<String> = Vec::new();
        let mut batch = Vec::new();
        for token in input.split_whitespace() {
            if let Some((value, stamp)) = token.split_once('@') {
                let event_time = EventTime::from_micros(stamp.parse().expect("a stamp"));
                batch.push(Record::new(event_time, In::parse(value)));
                continue;
            }
            self.process(std::mem::take(&mut batch), &mut shown);
            if token == "END" {
                let forwarded = self.mark(Mark::Watermark(EventTime::MAX), &mut shown);
                assert_eq!(
                    forwarded,
                    Some(Mark::Watermark(EventTime::MAX)),
                    "the end is held back by nobody"
                );
                self.mark(Mark::End, &mut shown);
                shown.push(token.to_owned());
                continue;
            }
            let (kind, instant) = token.split_at(1);
            let instant = EventTime::from_micros(instant.parse().expect("a watermark"));
            let forwarded = match kind {
                "W" => self.mark(Mark::Watermark(instant), &mut shown),
                "I" => self.mark(Mark::InputWatermark(instant), &mut shown),
                _ => panic!("{token} is a record, a mark or the end"),
            };
            shown.extend(forwarded.map(|mark| match mark {
                Mark::Watermark(watermark) => format!("W{}", watermark.as_micros()),
                Mark::InputWatermark(watermark) => format!("I{}", watermark.as_micros()),
                mark => panic!("a watermark becomes no {mark:?}"),
            }));
        }
        self.process(batch, &mut shown);
        shown.join(" ")
    }

    /// Returns the name of the operator blamed for the panic that this input causes.
    pub(crate) fn panics(&mut self, input: &str) -> String {
        assert!(self.operator.faulted().is_none());
        assert!(catch_unwind(AssertUnwindSafe(|| self.run(input))).is_err());
        self.operator.faulted().expect("somebody is to blame").to_owned()
    }

    /// Runs an input as [`run`](Self::run) does, but behind every mark the state is saved and loaded into
    /// another operator, which continues.
    pub(crate) fn run_restoring(mut self, input: &str, fresh: impl Fn() -> P) -> String {
        let mut shown = Vec::new();
        let mut tokens: Vec<&str> = Vec::new();
        for token in input.split_whitespace() {
            tokens.push(token);
            if !token.contains('@') {
                shown.push(self.run(&tokens.join(" ")));
                self = self.restore_into(fresh());
                tokens.clear();
            }
        }
        shown.push(self.run(&tokens.join(" ")));
        shown.retain(|part| !part.is_empty());
        shown.join(" ")
    }

    /// Returns all counts of the operator that are not zero, as text. Asserts that every record read is
    /// counted exactly once as forwarded, folded, filtered or late.
    pub(crate) fn counts(&self) -> String {
        let (mut shown, mut before) = (Vec::new(), self.counted.iter());
        self.operator.visit_counts(&mut |name, counts| {
            assert!(counts.is_conserved(), "{name}: {counts:?}");
            let Counts { read, forwarded, folded, filtered, late } =
                before.next().map_or(counts, |before| sum(*before, counts));
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

    /// Returns the operator under test, for reading.
    pub(crate) fn operator(&self) -> &P {
        &self.operator
    }

    /// Saves the operator's state and loads it into `fresh`, which replaces the operator in the bed.
    pub(crate) fn restore_into(mut self, fresh: P) -> Self {
        self.go_on_in(fresh);
        self
    }

    fn go_on_in(&mut self, mut fresh: P) {
        let mut state = StateWriter::default();
        self.operator.save(&mut state).expect("state can be saved");
        let bytes = state.into_bytes();
        let mut reader = StateReader::new(&bytes);
        fresh.load(&mut reader).expect("state can be loaded");
        reader.finish().expect("state is read whole");
        let (mut counted, mut before) = (Vec::new(), self.counted.iter());
        self.operator.visit_counts(&mut |_, counts| {
            counted.push(before.next().map_or(counts, |before| sum(*before, counts)));
        });
        (self.counted, self.operator) = (counted, fresh);
    }

    /// Makes the operator reserve the memory of its state from the bounded source of grants `bounded_grant`.
    pub(crate) fn funded_by(mut self, bounded_grant: &BoundedGrant) -> Self {
        self.operator.fund(&bounded_grant.allowance());
        self
    }

    /// Makes the operator reserve the memory of its state in `allowance` from now on.
    pub(crate) fn fund(&mut self, allowance: &Allowance) {
        self.operator.fund(allowance);
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.operator.state_bytes()
    }

    fn process(&mut self, batch: Vec<Record<In>>, shown: &mut Vec<String>) {
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

    /// Sends `mark` to the operator, and returns it as later operators see it; `None` if it is not forwarded.
    fn mark(&mut self, mark: Mark, shown: &mut Vec<String>) -> Option<Mark> {
        let mut flow = self.call(shown, |operator, output| operator.on_mark(mark, output));
        loop {
            if let Some(fresh) = self.fresh.as_ref().map(|fresh| fresh()) {
                self.go_on_in(fresh);
            }
            if flow == Flow::Done {
                return self.operator.forward(mark);
            }
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

impl<L: Show, R: Show> Show for Either<L, R> {
    fn show(&self) -> String {
        match self {
            Either::Left(left) => left.show(),
            Either::Right(right) => format!("right:{}", right.show()),
        }
    }
}

pub(crate) fn sum(before: Counts, counts: Counts) -> Counts {
    Counts {
        read: before.read + counts.read,
        forwarded: before.forwarded + counts.forwarded,
        folded: before.folded + counts.folded,
        filtered: before.filtered + counts.filtered,
        late: before.late + counts.late,
    }
}

/// Merges two inputs into one text, in the order that `turns` says. Each record follows the watermark of its
/// own input, and the least of both watermarks is the operator's watermark.
pub(crate) fn together(inputs: &[Vec<Event>; 2], turns: impl IntoIterator<Item = bool>) -> String {
    let (mut places, mut watermarks, mut least) = ([0; 2], [i64::MIN; 2], i64::MIN);
    let mut shown = Vec::new();
    let mut turns = turns.into_iter();
    while (0..2).any(|side| places[side] < inputs[side].len()) {
        let wanted = usize::from(turns.next().unwrap_or(false));
        let side = if places[wanted] < inputs[wanted].len() { wanted } else { 1 - wanted };
        match inputs[side][places[side]] {
            Event::Record { value, stamp } => shown.push(format!("I{} {value}@{stamp}", watermarks[side])),
            Event::Watermark(watermark) => {
                watermarks[side] = watermarks[side].max(watermark);
                let now_least = watermarks[0].min(watermarks[1]);
                if now_least > least {
                    shown.push(format!("W{now_least}"));
                    least = now_least;
                }
            }
        }
        places[side] += 1;
    }
    shown.join(" ") + " END"
}

/// An event on one of several inputs of a test: a record or a watermark.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Record { value: i64, stamp: i64 },
    Watermark(i64),
}

/// A fold that sums values, for tests of windows.
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
