//! Tests of the flat map: hand-made cases, and comparison with flattening the whole input. A value `n`
//! becomes the values `0` to `n - 1`, unless a test says otherwise.

use proptest::prelude::*;
use thalweg_model::Then;

use super::*;
use crate::filter::Filter;
use crate::map::Map;
use crate::test_bed::Bed;

type Counting = FlatMap<fn(i64) -> std::ops::Range<i64>, std::ops::Range<i64>>;

fn counting(name: &str) -> Counting {
    FlatMap::new(name, |value| 0..value)
}

fn check(input: &str, expected: &str) {
    for room in [1, 2, 3, 1_000] {
        assert_eq!(Bed::new(counting("upto")).with_room(room).run(input), expected, "with room for {room}");
    }
}

#[test]
fn each_value_becomes_many_at_its_own_time() {
    check("3@5 1@2", "0@5 1@5 2@5 0@2");
    check("2@-7", "0@-7 1@-7");
}

#[test]
fn what_becomes_nothing_is_filtered() {
    check("0@5", "");
    check("0@5 0@6 W6 0@7", "W6");
    let mut bed = Bed::new(counting("upto"));
    bed.run("3@1 0@2 1@3 0@4");
    assert_eq!(bed.counts(), "upto: 4 read, 2 forwarded, 2 filtered");
}

/// The results of a record come before the mark behind the record, however little room the output has.
#[test]
fn a_mark_stays_behind_what_came_before_it() {
    check("3@1 W1 2@2 W2 END", "0@1 1@1 2@1 W1 0@2 1@2 W2 END");
}

/// The counts of a flat map are right even while some results of a record still wait for room.
#[test]
fn a_stalled_record_is_counted_once() {
    let mut bed = Bed::new(counting("upto")).with_room(2);
    bed.run("5@1 5@2");
    assert_eq!(bed.counts(), "upto: 2 read, 2 forwarded");
}

/// A chain may hold several flat maps, with maps and filters between them.
#[test]
fn in_a_chain_before_and_behind_others() {
    let positive = || Filter::new("positive", |value: &i64| *value > 0);
    let double = || Map::new("double", |value: i64| value * 2);
    let input = "3@1 -1@2 2@3 W3 1@4";
    // The value 3 becomes 0, 1 and 2. The doubled values are 0, 2 and 4, of which each becomes the values
    // below it.
    let expected = "0@1 1@1 0@1 1@1 2@1 3@1 0@3 1@3 W3";
    for room in [1, 2, 1_000] {
        let chain = Then::new(
            positive(),
            Then::new(counting("one"), Then::new(double(), Then::new(counting("two"), positive_or_zero()))),
        );
        let mut bed = Bed::new(chain).with_room(room);
        assert_eq!(bed.run(input), expected, "with room for {room}");
        let counts = "positive: 4 read, 3 forwarded, 1 filtered; one: 3 read, 3 forwarded; \
                      double: 6 read, 6 forwarded; two: 6 read, 3 forwarded, 3 filtered; \
                      natural: 8 read, 8 forwarded";
        assert_eq!(bed.counts(), counts);
    }
}

fn positive_or_zero() -> Filter<fn(&i64) -> bool> {
    Filter::new("natural", |value: &i64| *value >= 0)
}

#[test]
fn collections_and_options_will_do() {
    let pair = |value: i64| vec![value, -value];
    assert_eq!(Bed::new(FlatMap::new("pair", pair)).run("1@1 2@2"), "1@1 -1@1 2@2 -2@2");
    let odd = |value: i64| (value % 2 == 1).then_some(value);
    assert_eq!(Bed::new(FlatMap::new("odd", odd)).run("1@1 2@2 3@3"), "1@1 3@3");
}

/// A record whose iterator never ends gives as many results as the output has room for, and takes no more
/// memory.
#[test]
fn an_endless_record_takes_no_memory() {
    let mut operator = FlatMap::new("endless", |value: i64| std::iter::repeat(value));
    let mut output = crate::test_bed::Collected::new(7);
    let mut input = crate::test_bed::Given::of(&[(1, 5), (2, 6)]);
    operator.process(&mut input, &mut output);
    assert_eq!((output.take().len(), input.remaining(), operator.is_stalled()), (7, 1, true));
    assert_eq!((operator.resume(&mut output), output.take().len()), (Flow::More, 7));
}

#[test]
fn panics_of_function_and_iterator_are_blamed_on_it() {
    let mut bed = Bed::new(FlatMap::new("inverse", |value: i64| [100 / value]));
    assert_eq!(bed.run("5@1"), "20@1");
    assert_eq!(bed.panics("0@2"), "inverse");
    // The panic occurs in a later step, when the flat map continues with results for which there was no room.
    let inverses = |value: i64| (0..=value).rev().map(|divisor| 12 / divisor);
    let mut bed = Bed::new(FlatMap::new("inverses", inverses)).with_room(1);
    assert_eq!(bed.panics("3@2"), "inverses");
}

#[test]
fn a_panic_behind_it_is_not_its() {
    let chain = Then::new(counting("upto"), Map::new("inverse", |value: i64| 1 / value));
    assert_eq!(Bed::new(chain).panics("1@1"), "inverse");
}

#[test]
#[should_panic(expected = "all before it is through (O4)")]
fn half_a_record_cannot_be_saved() {
    let mut operator = counting("upto");
    operator.process(&mut crate::test_bed::Given::of(&[(2, 0)]), &mut crate::test_bed::Collected::new(1));
    let _ = operator.save(&mut StateWriter::default());
}

proptest! {
    #[test]
    fn equals_flattening(
        room in 1..10usize,
        records in proptest::collection::vec((0..6i64, -50..50i64, 0..4u8), 0..40),
    ) {
        let (mut input, mut expected, mut watermark) = (Vec::new(), Vec::new(), i64::MIN);
        for &(value, stamp, kind) in &records {
            input.push(format!("{value}@{stamp}"));
            expected.extend((0..value).map(|value| format!("{value}@{stamp}")));
            if kind == 0 && stamp > watermark {
                watermark = stamp;
                input.push(format!("W{stamp}"));
                expected.push(format!("W{stamp}"));
            }
        }
        let bed = Bed::new(counting("upto")).with_room(room);
        prop_assert_eq!(bed.run_restoring(&input.join(" "), || counting("upto")), expected.join(" "));
    }
}
