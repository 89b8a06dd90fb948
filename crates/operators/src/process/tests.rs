//! Tests of the process operator: hand-made cases, and comparison with an interpreter that keeps timers in a
//! plain list and searches it for the first one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use thalweg_model::{Span, Then};

use super::*;
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Collected, Given};

/// A process function made of two closures, one for records and one for timers. Its state is a number per
/// key, and the key of a value is its last digit.
struct By<R, T>(R, T);

type Context<'a> = ProcessContext<'a, i64, i64, i64>;

impl<R, T> KeyedProcess<i64, i64> for By<R, T>
where
    R: Fn(i64, i64, &mut Context<'_>) + Send + Sync + 'static,
    T: Fn(i64, i64, &mut Context<'_>) + Send + Sync + 'static,
{
    type State = i64;
    type Out = i64;

    fn on_record(&self, _key: &i64, record: Record<i64>, context: &mut Context<'_>) {
        (self.0)(record.value, record.event_time.as_micros(), context);
    }

    fn on_timer(&self, key: &i64, at: EventTime, context: &mut Context<'_>) {
        (self.1)(*key, at.as_micros(), context);
    }
}

type Digits<R, T> = Process<i64, i64, fn(&i64) -> i64, By<R, T>>;

fn by<R, T>(on_record: R, on_timer: T) -> Digits<R, T>
where
    R: Fn(i64, i64, &mut Context<'_>) + Send + Sync + 'static,
    T: Fn(i64, i64, &mut Context<'_>) + Send + Sync + 'static,
{
    Process::new("own", |value| value.rem_euclid(10), By(on_record, on_timer))
}

fn at(micros: i64) -> EventTime {
    EventTime::from_micros(micros)
}

/// Checks the output of a process operator with different amounts of room, and with the state saved and
/// loaded behind every mark.
fn check<P: Operator<i64, Out = i64>>(operator: impl Fn() -> P, input: &str, expected: &str) {
    for room in [1, 2, 1_000] {
        assert_eq!(Bed::new(operator()).with_room(room).run(input), expected, "with room for {room}");
    }
    assert_eq!(Bed::new(operator()).with_room(1).run_restoring(input, operator), expected, "restored");
}

/// Creates a process operator in which every record sets a timer 10 µs later, and a timer emits its key.
fn alarms() -> impl Operator<i64, Out = i64> {
    by(|_, time, context| context.set_timer(at(time + 10)), |key, _, context| context.emit(key))
}

#[test]
fn state_is_kept_per_key() {
    let running_sums = || {
        by(
            |value, _, context| {
                *context.state() += value;
                let sum = *context.state();
                context.emit(sum);
            },
            |_, _, _| (),
        )
    };
    check(running_sums, "1@5 2@3 11@4 W4 21@9 12@-3", "1@5 2@3 12@4 W4 33@9 14@-3");
    let mut bed = Bed::new(running_sums());
    bed.run("1@5 2@3 W9 1@4");
    assert_eq!(bed.counts(), "own: 3 read, 3 folded");
}

#[test]
fn timers_fire_when_the_watermark_reaches_them() {
    check(alarms, "1@0 W9 W10", "W9 1@10 W10");
    check(alarms, "1@0 2@5 W100", "1@10 2@15 W100");
    check(alarms, "1@-15 2@-20 W-5", "2@-10 1@-5 W-5");
}

#[test]
fn the_end_fires_every_timer() {
    check(alarms, "1@0 2@1000 END", "1@10 2@1010 END");
    check(alarms, "END", "END");
    let at_the_end = || {
        by(|_, _, context| context.set_timer(EventTime::MAX), |key, _, context| context.emit_at(at(1), key))
    };
    check(at_the_end, "1@0 W5 END", "W5 1@1 END");
}

/// Timers of one instant fire in the order in which they were set.
#[test]
fn timers_fire_in_order() {
    check(alarms, "3@7 1@7 2@7 1@7 4@2 W17", "4@12 3@17 1@17 2@17 W17");
}

/// A timer set for a time that has passed fires at the next watermark, as in Flink, even if that watermark is
/// no later than the one before.
#[test]
fn a_timer_in_the_past_fires_at_the_next_watermark() {
    check(alarms, "1@0 W50 2@20 3@45 W50", "1@10 W50 2@30 W50");
    check(alarms, "W50 2@20 I60 W51", "W50 2@30 W51");
}

#[test]
fn a_timer_is_set_once_and_can_be_taken_back() {
    let acts = || {
        by(
            |value, time, context| match value / 10 {
                0 => context.set_timer(at(time)),
                _ => context.delete_timer(at(time)),
            },
            |key, _, context| context.emit(key),
        )
    };
    check(acts, "1@5 1@5 2@5 11@6 W5", "1@5 2@5 W5");
    check(acts, "1@5 2@5 11@5 12@7 W9", "2@5 W9");
    check(acts, "1@5 2@5 11@5 1@5 W9 11@5 W10", "2@5 1@5 W9 W10");
}

/// Timers that a timer sets or deletes at or before the watermark take effect before that watermark is
/// forwarded.
#[test]
fn timers_set_timers() {
    let steps = || {
        by(
            |_, time, context| context.set_timer(at(time)),
            |key, time, context| {
                context.emit(key);
                if time % 5 != 0 {
                    context.set_timer(at(time + 1));
                }
            },
        )
    };
    check(steps, "1@2 2@3 W4 W9", "1@2 2@3 1@3 2@4 1@4 W4 2@5 1@5 W9");
    let cancels = || {
        by(
            |_, time, context| [time, time + 1].into_iter().for_each(|time| context.set_timer(at(time))),
            |key, time, context| {
                context.emit(key);
                context.delete_timer(at(time + 1));
                // Each timer sets one in the past and one for its own instant, until the state of the key has
                // counted three calls.
                *context.state() += 1;
                if *context.state() < 3 {
                    context.set_timer(at(time - 7));
                }
            },
        )
    };
    check(cancels, "1@2 W9", "1@2 1@-5 1@-12 W9");
}

#[test]
fn what_is_cleared_takes_no_memory() {
    let mut operator = by(
        |value, time, context| match value / 10 {
            0 => *context.state() = time,
            1 => context.clear(),
            2 => {
                context.clear();
                *context.state() += 1;
            }
            _ => assert!(context.state_if_any().is_none_or(|state| *state > 0)),
        },
        |_, _, _| (),
    );
    let mut output = Collected::new(1);
    let mut kept = |records: &[(i64, i64)]| {
        operator.process(&mut Given::of(records), &mut output);
        operator.keyed.states_count()
    };
    assert_eq!(kept(&[(1, 5), (2, 5), (1, 6)]), 2);
    assert_eq!(kept(&[(11, 7), (13, 7)]), 1, "what was there is dropped, what was not stays away");
    assert_eq!(kept(&[(22, 7), (21, 7)]), 2, "what is used after that is there again, from the default on");
    assert_eq!(kept(&[(31, 7), (39, 7)]), 2, "looking keeps nothing");
    assert_eq!(kept(&[(11, 7), (12, 7)]), 0);
}

/// A timer stays set after the state of its key is cleared, and then finds no state.
#[test]
fn a_timer_may_find_nothing() {
    let operator = || {
        by(
            |_, time, context| {
                *context.state() = 7;
                context.set_timer(at(time));
                context.clear();
            },
            |_, _, context| {
                let known = context.state_if_any().is_some();
                context.emit(i64::from(known));
            },
        )
    };
    check(operator, "1@2 W9", "0@2 W9");
}

#[test]
fn what_one_call_emits_waits_for_room() {
    let repeats = || {
        by(
            |value, time, context| {
                (0..value).for_each(|number| context.emit_at(at(time + number), number));
                context.set_timer(at(time));
            },
            |key, _, context| (0..key).for_each(|number| context.emit(-number)),
        )
    };
    check(repeats, "3@5 2@9 W20", "0@5 1@6 2@7 0@9 1@10 0@5 -1@5 -2@5 0@9 -1@9 W20");
    check(repeats, "3@5 W5 END", "0@5 1@6 2@7 0@5 -1@5 -2@5 W5 END");
    let chain = || Then::new(repeats(), Then::new(Map::new("next", |value: i64| value + 1), alarms()));
    check(chain, "2@5 W20 END", "1@15 0@15 2@16 W20 END");
}

#[test]
fn it_knows_watermark_and_lateness() {
    let tells = || {
        by(
            |_, _, context| {
                let (watermark, late_by) = (context.watermark(), context.late_by());
                context.emit_at(late_by, watermark.as_micros());
                context.set_timer(at(8));
            },
            |_, _, context| context.emit(context.watermark().as_micros()),
        )
    };
    let first = i64::MIN;
    check(tells, "0@1 W3 0@1 I7 0@1 W9 0@1", &format!("{first}@{first} W3 3@3 3@7 9@8 W9 9@9"));
}

/// The watermarks of single inputs are not forwarded, because a result of a timer belongs to no input.
#[test]
fn the_watermark_of_an_input_ends_here() {
    check(alarms, "I5 1@0 W5 I9 END", "W5 1@10 END");
    let operator = alarms();
    assert!(
        [Mark::Idle, Mark::Barrier(3), Mark::End]
            .into_iter()
            .all(|mark| operator.forward(mark) == Some(mark))
    );
}

/// When the stream ends, a timer that always sets the next one fires without end. The operator returns to its
/// caller in between, so that the query can be cancelled.
#[test]
fn a_timer_without_end_keeps_nobody_busy_for_ever() {
    let mut operator = by(
        |_, time, context| context.set_timer(at(time)),
        |_, time, context| context.set_timer(at(time).plus(Span::from_micros(1))),
    );
    let mut output = Collected::new(1);
    operator.process(&mut Given::of(&[(1, 0)]), &mut output);
    assert_eq!(operator.on_mark(Mark::Watermark(EventTime::MAX), &mut output), Flow::More);
    assert_eq!(operator.resume(&mut output), Flow::More);
    assert_eq!(operator.keyed.states_count(), 0);
}

#[test]
fn panics_are_blamed_on_it() {
    let inverse = || by(|value, _, context| context.emit(10 / value), |_, _, _| ());
    assert_eq!(Bed::new(inverse()).panics("5@1 0@2"), "own");
    let timers = || by(|_, time, context| context.set_timer(at(time)), |key, _, _| assert_ne!(key, 2));
    let mut bed = Bed::new(timers());
    assert_eq!(bed.run("1@1 W1"), "W1");
    assert_eq!(bed.panics("2@1 W2"), "own");
    let keys = |value: &i64| 10 / value;
    assert_eq!(
        Bed::new(Process::new(
            "keyed",
            keys,
            By(|_, _, _: &mut Context<'_>| (), |_, _, _: &mut Context<'_>| ())
        ))
        .panics("0@1"),
        "keyed"
    );
    let behind = || Then::new(inverse(), Map::new("behind", |value: i64| 1 / value));
    assert_eq!(Bed::new(behind()).panics("0@1"), "own");
    assert_eq!(Bed::new(behind()).panics("100@1"), "behind");
}

/// A process function that keeps every value and sets a timer for each; its state holds memory of its own.
struct Hoard;

impl KeyedProcess<(), i64> for Hoard {
    type State = Vec<i64>;
    type Out = i64;
    const HOLDS: bool = true;

    fn on_record(&self, (): &(), record: Record<i64>, context: &mut ProcessContext<'_, (), Vec<i64>, i64>) {
        context.state().push(record.value);
        context.set_timer(record.event_time);
        context.emit(record.value);
        context.emit(record.value);
    }

    fn on_timer(&self, (): &(), _at: EventTime, context: &mut ProcessContext<'_, (), Vec<i64>, i64>) {
        context.clear();
    }

    fn held_bytes(&self, state: &Vec<i64>) -> usize {
        state.capacity() * size_of::<i64>()
    }
}

fn hoard(bound: usize) -> (Process<(), i64, fn(&i64), Hoard>, BoundedGrant) {
    let bounded_grant = BoundedGrant::of(bound);
    let mut operator = Process::new("hoard", (|_| ()) as fn(&i64), Hoard);
    operator.fund(&bounded_grant.allowance());
    (operator, bounded_grant)
}

#[test]
fn memory_is_asked_for_and_counted() {
    let (mut operator, bounded_grant) = hoard(usize::MAX);
    let mut output = Collected::new(1_000_000);
    for number in 0..1_000 {
        operator.process(&mut Given::of(&[(number, number)]), &mut output);
        let (bytes, granted) = (operator.state_bytes(), bounded_grant.granted());
        assert!(bytes <= granted, "{bytes} bytes of {granted} that were granted");
    }
    let full = operator.state_bytes();
    assert!(full >= 1_000 * (8 + 2 * 16), "{full} bytes for 1,000 values and timers");
    assert_eq!(operator.on_mark(Mark::Watermark(at(1)), &mut output), Flow::Done);
    assert_eq!(full - operator.state_bytes(), 1_024 * 8, "what a cleared state held is given back");
}

#[test]
fn memory_of_loaded_state_is_asked_for_and_counted() {
    let (mut operator, _) = hoard(usize::MAX);
    for number in 0..1_000 {
        operator.process(&mut Given::of(&[(number, 7)]), &mut Collected::new(2));
    }
    let mut state = StateWriter::default();
    operator.save(&mut state).unwrap();
    let (mut loaded, bounded_grant) = hoard(usize::MAX);
    loaded.load(&mut StateReader::new(&state.into_bytes())).unwrap();
    let (bytes, granted) = (loaded.state_bytes(), bounded_grant.granted());
    assert!(1_000 * 8 <= bytes && bytes <= granted, "{bytes} bytes of {granted} that were granted");
}

#[test]
fn memory_of_a_burst_is_given_back() {
    let repeats = |value, _, context: &mut Context<'_>| (0..value).for_each(|number| context.emit(number));
    let mut operator = by(repeats, |_, _, _| ());
    operator.process(&mut Given::of(&[(10_000, 0)]), &mut Collected::new(100));
    assert!(operator.state_bytes() >= 9_900 * 16 && operator.is_stalled());
    assert_eq!(operator.resume(&mut Collected::new(9_900)), Flow::Done);
    operator.process(&mut Given::of(&[(1, 0)]), &mut Collected::new(2));
    assert!(operator.state_bytes() < 1_000, "{} bytes", operator.state_bytes());
}

/// A process operator that is refused memory drops records without a panic. Its results do not matter, since
/// the query is about to fail.
#[test]
fn a_refusal_breaks_nothing() {
    for bound in [0, 100, 1_000, 4_000] {
        let (mut operator, _) = hoard(bound);
        let mut output = Collected::new(1_000_000);
        for number in 0..100 {
            operator.process(&mut Given::of(&[(number, number)]), &mut output);
        }
        while operator.on_mark(Mark::Watermark(at(50)), &mut output) == Flow::More {}
    }
}

/// The actions of a process function as a trait, so that the operator and the interpreter of the test can run
/// the same function.
trait Acts {
    fn state(&mut self) -> &mut i64;
    fn state_if_any(&mut self) -> Option<&mut i64>;
    fn clear(&mut self);
    fn emit_at(&mut self, time: i64, value: i64);
    fn set_timer(&mut self, time: i64);
    fn delete_timer(&mut self, time: i64);
    /// Returns the operator's watermark, and the bound below which records are late.
    fn promised(&self) -> (i64, i64);
}

impl Acts for Context<'_> {
    fn state(&mut self) -> &mut i64 {
        self.state()
    }
    fn state_if_any(&mut self) -> Option<&mut i64> {
        self.state_if_any()
    }
    fn clear(&mut self) {
        self.clear();
    }
    fn emit_at(&mut self, time: i64, value: i64) {
        self.emit_at(at(time), value);
    }
    fn set_timer(&mut self, time: i64) {
        self.set_timer(at(time));
    }
    fn delete_timer(&mut self, time: i64) {
        self.delete_timer(at(time));
    }
    fn promised(&self) -> (i64, i64) {
        (self.watermark().as_micros(), self.late_by().as_micros())
    }
}

/// Acts as a process function on a record: does one of many actions, chosen by the record's value.
fn act(value: i64, time: i64, acts: &mut impl Acts) {
    let (kind, number) = (value / 10 % 8, value / 80 % 20 - 5);
    match kind {
        0 => {
            *acts.state() += number;
            let sum = *acts.state();
            acts.emit_at(time, sum);
        }
        1 | 2 => acts.set_timer(time + number),
        3 => acts.delete_timer(time + number),
        4 => acts.clear(),
        5 => (0..number).for_each(|count| acts.emit_at(time + count, count)),
        6 => {
            let (watermark, late_by) = acts.promised();
            acts.emit_at(late_by, watermark);
        }
        _ => {
            acts.set_timer(time);
            acts.clear();
            acts.set_timer(time + number);
            *acts.state() += 1;
        }
    }
}

/// Handles a timer: emits the state, and now and then sets timers, deletes them or clears the state.
fn ring(key: i64, time: i64, acts: &mut impl Acts) {
    let known = acts.state_if_any().map(|state| std::mem::replace(state, *state + 1));
    acts.emit_at(time, 1_000 * key + known.unwrap_or(-1));
    match known.map(|known| known.rem_euclid(7)) {
        Some(0) => acts.clear(),
        Some(1) => acts.set_timer(time + 3),
        Some(2) => acts.set_timer(time - 3),
        Some(3) => acts.delete_timer(time + 1),
        Some(4) => (0..4).for_each(|number| acts.emit_at(time + number, number)),
        _ => (),
    }
}

/// An interpreter of process functions with plain lists and maps, to compare the operator with.
struct Interpreter {
    states: BTreeMap<i64, i64>,
    /// The instants and keys of the timers, in the order in which they were set.
    timers: Vec<(i64, i64)>,
    watermark: i64,
    input_watermark: i64,
    shown: Vec<String>,
    key: i64,
}

impl Acts for Interpreter {
    fn state(&mut self) -> &mut i64 {
        self.states.entry(self.key).or_insert(0)
    }
    fn state_if_any(&mut self) -> Option<&mut i64> {
        self.states.get_mut(&self.key)
    }
    fn clear(&mut self) {
        self.states.remove(&self.key);
    }
    fn emit_at(&mut self, time: i64, value: i64) {
        self.shown.push(format!("{value}@{time}"));
    }
    fn set_timer(&mut self, time: i64) {
        if !self.timers.contains(&(time, self.key)) {
            self.timers.push((time, self.key));
        }
    }
    fn delete_timer(&mut self, time: i64) {
        let key = self.key;
        self.timers.retain(|timer| *timer != (time, key));
    }
    fn promised(&self) -> (i64, i64) {
        (self.watermark, self.watermark.max(self.input_watermark))
    }
}

fn interpret(input: &str) -> String {
    let (states, timers, shown) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut interpreter =
        Interpreter { states, timers, watermark: i64::MIN, input_watermark: i64::MIN, shown, key: 0 };
    for token in input.split_whitespace() {
        if let Some((value, time)) = token.split_once('@') {
            let value: i64 = value.parse().unwrap();
            interpreter.key = value % 10;
            act(value, time.parse().unwrap(), &mut interpreter);
        } else if let Some(watermark) = token.strip_prefix('I') {
            interpreter.input_watermark = watermark.parse().unwrap();
        } else {
            interpreter.watermark = token.strip_prefix('W').map_or(i64::MAX, |time| time.parse().unwrap());
            while let Some(first) = (0..interpreter.timers.len())
                .min_by_key(|&place| interpreter.timers[place].0)
                .filter(|&place| interpreter.timers[place].0 <= interpreter.watermark)
            {
                let (time, key) = interpreter.timers.remove(first);
                interpreter.key = key;
                ring(key, time, &mut interpreter);
            }
            interpreter.shown.push(token.to_owned());
        }
    }
    interpreter.shown.join(" ")
}

proptest! {
    #[test]
    fn equals_an_interpreter_at_any_room_and_across_restores(
        room in 1..12usize,
        restores: bool,
        records in proptest::collection::vec((0..1_600i64, 0..3i64, -60..60i64, 0..8u8), 0..60),
    ) {
        let (mut input, mut watermark) = (Vec::new(), i64::MIN);
        for &(act, key, time, kind) in &records {
            input.push(format!("{}@{time}", act * 10 + key));
            if kind < 2 && watermark <= time {
                watermark = time;
                input.push(format!("W{time}"));
            } else if kind == 2 {
                input.push(format!("I{}", watermark.max(time)));
            }
        }
        let input = format!("{} END", input.join(" "));
        let operator = || by(|value, time, context| act(value, time, context), |key, time, context| ring(key, time, context));
        let bed = || Bed::new(operator()).with_room(room);
        let got = if restores { bed().run_restoring(&input, operator) } else { bed().run(&input) };
        prop_assert_eq!(got, interpret(&input));
    }
}
