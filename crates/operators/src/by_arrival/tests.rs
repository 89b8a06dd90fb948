//! By arrival: scripts of steps with what is emitted. `@7` begins a step at 7 ms, a number is a record of that value whose
//! own event time is 1 s, and words are marks. What is emitted is written as `7:3`, the value 3 at 7 ms.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_model::LatencyMarker;

use super::*;
use crate::named::Named;
use crate::test_bed::Collected;

/// Timers that are due a number of milliseconds after each record.
#[derive(Default)]
struct After {
    millis: i64,
    due: Vec<EventTime>,
}

impl Timers for After {
    fn note(&mut self, now: EventTime) {
        self.due.push(now.plus(Span::from_millis(self.millis)));
    }

    fn next(&self) -> Option<EventTime> {
        self.due.iter().min().copied()
    }

    fn pass(&mut self, now: EventTime) {
        self.due.retain(|due| *due > now);
    }
}

fn ms(millis: i64) -> EventTime {
    EventTime::from_micros(1_000 * millis)
}

fn instant(millis: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(1_000_000 * millis)
}

fn mark_of(word: &str) -> Mark {
    match word.split_at(1) {
        ("W", "max") => Mark::Watermark(EventTime::MAX),
        ("W", at) => Mark::Watermark(ms(at.parse().unwrap())),
        ("I", "") => Mark::Idle,
        ("I", at) => Mark::InputWatermark(ms(at.parse().unwrap())),
        ("L", "") => Mark::Latency(LatencyMarker::new(instant(1), instant(2))),
        ("B", at) => Mark::Barrier(at.parse().unwrap()),
        ("E", "") => Mark::End,
        _ => panic!("no mark: {word}"),
    }
}

fn word_of(mark: Mark) -> String {
    match mark {
        Mark::Watermark(EventTime::MAX) => "Wmax".to_owned(),
        Mark::Watermark(at) => format!("W{}", at.as_micros() / 1_000),
        Mark::InputWatermark(at) => format!("I{}", at.as_micros() / 1_000),
        Mark::Idle => "I".to_owned(),
        Mark::Latency(_) => "L".to_owned(),
        Mark::Barrier(at) => format!("B{at}"),
        Mark::End => "E".to_owned(),
    }
}

/// Emits everything that is ready, into an output with room for `room` records at a time.
fn emitted<K: Timers>(
    operator: &mut ByArrival<i64, K, impl Fn(&mut i64, EventTime) + Send>,
    room: usize,
) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        let mut output = Collected::new(room);
        let emitted = operator.emit(&mut output).unwrap();
        let records = output.take();
        assert!(records.len() <= room);
        words.extend(
            records
                .iter()
                .map(|record| format!("{}:{}", record.event_time.as_micros() / 1_000, record.value)),
        );
        match emitted {
            Emitted::All => return words,
            Emitted::Mark(mark) => words.push(word_of(mark)),
            Emitted::NoRoom => assert_eq!(records.len(), room),
        }
    }
}

fn check<K: Timers>(timers: impl Fn() -> K, script: &str, expected: &str) {
    for room in [1, 2, 100] {
        let mut operator = ByArrival::new("clock", timers(), |_: &mut i64, _| {});
        let (mut words, mut now) = (Vec::new(), 0);
        for word in script.split_whitespace() {
            if let Some(at) = word.strip_prefix('@') {
                now = at.parse().unwrap();
                operator.begin(instant(now));
            } else if let Ok(value) = word.parse() {
                assert!(operator.room() > 0);
                operator.take(Record::new(EventTime::from_secs(1), value));
            } else {
                operator.mark(mark_of(word));
            }
            words.extend(emitted(&mut operator, room));
            assert!(operator.due() > instant(now), "{script}: it would be called again at once");
        }
        assert_eq!(words.join(" "), expected, "{script}, room {room}");
    }
}

#[test]
fn records_have_the_time_of_their_step() {
    let after = || After { millis: 10, ..After::default() };
    check(after, "@5 1 2 @5 3 @6 4", "W5 5:1 5:2 5:3 W6 6:4");
    // A clock that goes back is ignored.
    check(after, "@5 1 @4 2 @6 3", "W5 5:1 5:2 W6 6:3");
}

#[test]
fn watermarks_come_when_their_time_has_come() {
    let after = || After { millis: 10, ..After::default() };
    check(after, "@5 1 @14 @15 @16 @40", "W5 5:1 W15");
    check(after, "@5 1 @8 2 @14 @20 @40", "W5 5:1 W8 8:2 W20");
    check(|| EveryTick::new(Span::from_millis(4)), "@3 @5 1 @7 @8 @9 @13", "W5 5:1 W8 W13");
    // Timers between two milliseconds are due at the second one.
    check(|| EveryTick::new(Span::from_micros(1_500)), "@4 1 @5 @6 @7 @8", "W4 4:1 W5 W6 W8");
    check(|| EveryTick::new(Span::ZERO), "@5 1 @6 @6 @8", "W5 5:1 W6 W8");
}

#[test]
fn marks_of_event_time_end_here() {
    let after = || After { millis: 10, ..After::default() };
    check(after, "W3 I7 I @5 1 W9000 L I 2 B4 I8", "W5 5:1 L 5:2 B4");
    // The end of the stream comes at once, and no timer is due behind it.
    check(after, "@5 1 Wmax E @15", "W5 5:1 Wmax E");
    check(after, "@5 1 E @15", "W5 5:1 E");
}

#[test]
fn values_are_stamped_and_panics_are_blamed() {
    let restamp = |value: &mut i64, now: EventTime| {
        assert!(*value != 13, "an unlucky value");
        *value = now.as_micros();
    };
    let mut operator = ByArrival::new("clock", EveryTick::new(Span::from_millis(1)), restamp);
    operator.rename("renamed".to_owned());
    operator.begin(instant(7));
    operator.take(Record::new(EventTime::EPOCH, 1));
    assert_eq!(emitted(&mut operator, 10), ["W7", "7:7000"]);
    assert_eq!(operator.faulted(), None);
    let bad = AssertUnwindSafe(|| operator.take(Record::new(EventTime::EPOCH, 13)));
    assert!(catch_unwind(bad).is_err());
    assert_eq!(operator.faulted(), Some("renamed"));
}

#[test]
fn the_queue_is_bounded() {
    let mut operator = ByArrival::new("clock", EveryTick::new(Span::from_millis(1)), |_: &mut i64, _| {});
    let bytes = operator.state_bytes();
    operator.begin(instant(7));
    let mut taken = 0;
    while operator.room() > 0 {
        operator.take(Record::new(EventTime::EPOCH, taken));
        taken += 1;
    }
    assert_eq!(taken, RECORDS_MAX as i64 - 1, "a watermark is before them");
    assert_eq!(operator.state_bytes(), bytes);
    assert_eq!(emitted(&mut operator, 3).len(), RECORDS_MAX);
    assert_eq!(operator.room(), RECORDS_MAX);
}

/// An operator that has loaded the state behind a barrier has the time, the watermark and the timers of the saved one.
#[test]
fn times_and_timers_are_saved() {
    let made = || ByArrival::new("clock", EveryTick::new(Span::from_millis(10)), |_: &mut i64, _| {});
    let mut first = made();
    first.begin(instant(7));
    first.take(Record::new(EventTime::from_secs(1), 3));
    let mut state = StateWriter::default();
    let error = first.save(&mut state).unwrap_err();
    assert!(error.to_string().contains("`clock` has taken records behind the barrier"), "{error}");
    first.mark(Mark::Barrier(1));
    assert_eq!(emitted(&mut first, 9), ["W7", "7:3", "B1"]);
    first.save(&mut state).unwrap();
    let bytes = state.into_bytes();

    let mut second = made();
    let mut state = StateReader::new(&bytes);
    second.load(&mut state).unwrap();
    state.finish().unwrap();
    assert_eq!(second.due(), instant(10));
    // Times do not go back, also if the clock of the other process does.
    second.begin(instant(5));
    assert!(emitted(&mut second, 9).is_empty());
    second.begin(instant(25));
    assert_eq!(emitted(&mut second, 9), ["W25"]);
    for length in 0..bytes.len() {
        assert!(made().load(&mut StateReader::new(&bytes[..length])).is_err(), "{length}");
    }

    let mut other = ByArrival::new("mine", After::default(), |_: &mut i64, _| {});
    let error = other.save(&mut StateWriter::default()).unwrap_err();
    assert!(error.to_string().contains("cannot be saved"), "{error}");
    let error = other.load(&mut StateReader::new(&bytes)).unwrap_err();
    assert!(error.to_string().contains("cannot be loaded"), "{error}");
}
