//! Tests of the distinct operator: hand-made cases, and comparison with a set of all keys seen. Windows are
//! 10 µs long. The key of a value is its last digit, and only keys are shown in results.

use std::collections::BTreeSet;

use proptest::prelude::*;
use thalweg_model::{Addressed, Counts, Either, EventTime, Span, Then};

use super::*;
use crate::address::{Address, Only};
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Collected, Given, input_of};

type Digits<L = DropLate> = Distinct<i64, fn(&i64) -> i64, L>;

fn digits() -> Digits {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    Distinct::new("distinct", windows, |value: &i64| value.rem_euclid(10))
}

fn keys() -> Then<Digits, Map<fn(Windowed<i64, ()>) -> i64>> {
    let key = |result: Windowed<i64, ()>| {
        assert_eq!(result.firing, thalweg_model::Firing::OnTime);
        result.key
    };
    Then::new(digits(), Map::new("key", key))
}

fn check(input: &str, expected: &str) {
    for room in [1, 2, 1_000] {
        assert_eq!(Bed::new(keys()).with_room(room).run(input), expected, "with room for {room}");
    }
    assert_eq!(Bed::new(keys()).run_restoring(input, keys), expected, "restored");
}

#[test]
fn the_first_of_each_key_and_window_is_told_at_once() {
    check("1@0 11@5 2@9 1@9", "1@9 2@9");
    check("1@3 W3 1@4 W5 2@6 W9 1@9", "1@9 W3 W5 2@9 W9");
    check("1@9 1@10", "1@9 1@19");
    check("1@-1 1@0 11@-10 21@-11", "1@-1 1@9 1@-11");
}

#[test]
fn windows_take_turns() {
    check("1@5 1@25 2@5 1@15 1@24 1@4 2@14 W30", "1@9 1@29 2@9 1@19 2@19 W30");
    check("1@5 1@15 W10 1@16 W12 2@11 1@19", "1@9 1@19 W10 W12 2@19");
}

#[test]
fn the_end_comes_through() {
    check("1@5 END", "1@9 END");
    check("END", "END");
}

#[test]
fn late_records_are_counted_and_dropped() {
    check("1@15 W10 2@9 3@10 W20 4@19 5@20", "1@19 W10 3@19 W20 5@29");
    let mut bed = Bed::new(keys());
    bed.run("1@15 11@15 W20 1@15 1@20");
    assert_eq!(bed.counts(), "distinct: 4 read, 2 forwarded, 1 filtered, 1 late; key: 2 read, 2 forwarded");
}

/// The watermark of a record's own input decides whether the record is late, so a window may be closed for
/// one input and open for another.
#[test]
fn lateness_goes_by_input() {
    check("1@5 I10 2@5 1@15 I9 3@5 1@5 I0 1@5 W9 4@5 W10 5@5", "1@9 1@19 3@9 W9 4@9 W10");
}

#[test]
fn late_records_can_be_diverted() {
    let shown = |value: Either<Windowed<i64, ()>, i64>| match value {
        Either::Left(Windowed { key, .. }) => key,
        Either::Right(late) => -late,
    };
    let mut bed = Bed::new(Then::new(digits().divert_late(), Map::new("shown", shown))).with_room(1);
    assert_eq!(bed.run("1@5 W10 12@9 1@10"), "1@9 W10 -12@9 1@19");
}

#[test]
fn windows_at_the_ends_of_time_keep_their_keys_together() {
    let (first, last) = (i64::MIN, i64::MAX);
    for marks in ["", "I0", "I0 I0"] {
        let marks = marks.replace('0', &first.to_string());
        check(&format!("1@{first} {marks} 1@{first} 2@{first}"), &format!("1@{0} 2@{0}", first + 7));
    }
    check(&format!("1@{last} 11@{} 1@{last} 2@{last}", last - 1), &format!("1@{0} 2@{0}", last - 1));
}

#[test]
fn panics_are_blamed_on_it() {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    let key = |result: Windowed<i64, ()>| 1 / result.key;
    let chain =
        || Then::new(Distinct::new("inverse", windows, |value: &i64| 1 / value), Map::new("behind", key));
    assert_eq!(Bed::new(chain()).panics("0@1"), "inverse");
    assert_eq!(Bed::new(chain()).panics("2@1"), "behind");
}

#[test]
fn memory_is_asked_for_and_given_back() {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    let all = |value: &i64| *value;
    let chain = Then::new(
        Distinct::new("all", windows, all),
        Map::new("key", |result: Windowed<i64, ()>| result.key),
    );
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut bed = Bed::new(chain);
    bed.fund(&bounded_grant.allowance());
    let (mut sizes, mut grants) = (Vec::new(), Vec::new());
    for round in 0..40 {
        let input: Vec<String> = (0..300).map(|n| format!("{n}@{}", 10 * round + n % 20)).collect();
        bed.run(&input.join(" "));
        sizes.push(bed.state_bytes());
        bed.run(&format!("W{}", 10 * round));
        let granted = bounded_grant.granted();
        grants.push(granted);
        assert!(bed.state_bytes() <= granted, "{} bytes of {granted}", bed.state_bytes());
    }
    assert!(sizes[0] >= 300 * 16, "{} bytes for 300 keys", sizes[0]);
    assert!(
        *sizes.last().unwrap() <= 3 * sizes[0],
        "tables of windows that are over serve the next: {sizes:?}"
    );
    // When records switch between more and more windows, a new window takes no more memory than its own
    // entry.
    assert!(grants[39] - grants[10] < 30 * 300, "{grants:?}");
}

#[test]
fn nothing_is_kept_of_closed_windows() {
    let mut operator = digits();
    let mut output = Collected::new(100);
    let mut keys_after = |watermark| {
        let watermark = Mark::Watermark(EventTime::from_micros(watermark));
        assert_eq!(operator.on_mark(watermark, &mut output), Flow::Done);
        let kept = operator.seen.key_count();
        let time = operator.lateness.watermark().as_micros();
        operator.process(&mut Given::of(&[(1, time), (2, time + 10), (3, time)]), &mut output);
        kept
    };
    assert_eq!([0, 9, 10, 20, 40].map(&mut keys_after), [0, 3, 1, 1, 0]);
}

/// A distinct operator that is refused memory drops keys without a panic. Its results do not matter, since
/// the query is about to fail.
#[test]
fn a_refusal_breaks_nothing() {
    for bound in [0, 300, 1_000, 4_000] {
        let mut bed = Bed::new(keys());
        bed.fund(&BoundedGrant::of(bound).allowance());
        bed.run("1@5 2@15 3@25 4@5 5@6 6@15 1@1 2@2 3@3 7@7 8@8 9@9 0@0 I12 1@15 W20 1@25 END");
    }
}

/// Recomputes the results of distinct: the pairs of window and key that were on time, in the order in which
/// they were first seen.
fn recompute(input: &str, size: i64) -> String {
    let (mut shown, mut seen) = (Vec::new(), BTreeSet::new());
    let (mut watermark, mut late_by) = (i64::MIN, i64::MIN);
    for token in input.split_whitespace() {
        if let Some((value, time)) = token.split_once('@') {
            let (value, time): (i64, i64) = (value.parse().unwrap(), time.parse().unwrap());
            let last = time.div_euclid(size) * size + size - 1;
            if last >= late_by && seen.insert((last, value % 10)) {
                shown.push(format!("{}@{last}", value % 10));
            }
        } else if let Some(time) = token.strip_prefix('I') {
            late_by = watermark.max(time.parse().unwrap());
        } else {
            watermark = token.strip_prefix('W').map_or(i64::MAX, |time| time.parse().unwrap());
            late_by = late_by.max(watermark);
            shown.push(token.to_owned());
        }
    }
    shown.join(" ")
}

proptest! {
    #[test]
    fn equals_a_set_at_any_room_and_across_restores(
        room in 1..12usize,
        restores: bool,
        records in proptest::collection::vec((0..40i64, -60..60i64, 0..12u8), 0..150),
    ) {
        let input = input_of(records);
        let bed = || Bed::new(keys()).with_room(room);
        let got = if restores { bed().run_restoring(&input, keys) } else { bed().run(&input) };
        prop_assert_eq!(got, recompute(&input, 10));
    }
}

/// A restored distinct operator still knows the keys seen before its state was saved, whatever the seed of
/// its hash tables.
#[test]
fn state_survives_any_hash() {
    let mut bed = Bed::new(keys());
    assert_eq!(bed.run("1@5 2@15 3@5 W5"), "1@9 2@19 3@9 W5");
    let mut other = keys();
    other.seed(&mut thalweg_model::SeededEntropy::new(99));
    let mut bed = bed.restore_into(other);
    assert_eq!(bed.run("1@5 2@15 3@5 4@5 W100"), "4@9 W100");
}

/// A distinct operator behind the operator that addresses records to copies, as where records are exchanged
/// between copies.
type Behind<P> = Then<Then<Address<P, Only>, Map<fn(Addressed<i64>) -> i64>>, Digits>;

fn behind_a_local_distinct()
-> Then<Behind<LocalDistinct<i64, fn(&i64) -> i64>>, Map<fn(Windowed<i64, ()>) -> i64>> {
    let Digits { windows, key_of, .. } = digits();
    let keys = LocalDistinct::new("distinct", windows, key_of, true);
    let part = Map::new("part", (|addressed| addressed.value) as fn(Addressed<i64>) -> i64);
    let behind = Then::new(Then::new(Address::new(keys, 2), part), digits());
    Then::new(behind, Map::new("key", (|result| result.key) as fn(Windowed<i64, ()>) -> i64))
}

/// Returns the counts of all operators of the chain that are called `distinct`, added up.
fn counted(operator: &impl Operator<i64>) -> Counts {
    let mut all = Counts::default();
    operator.visit_counts(&mut |name, counts| {
        if name == "distinct" {
            all = all.plus(counts);
        }
    });
    all
}

#[test]
fn repeated_records_stay_where_they_were_made() {
    let mut bed = Bed::new(behind_a_local_distinct());
    assert_eq!(bed.run("1@0 11@5 2@9 1@9 1@15 W10 1@16 1@9 1@9"), "1@9 2@9 1@19 W10");
    assert_eq!(
        bed.counts(),
        "distinct: 3 read, 3 filtered; part: 5 read, 5 forwarded; distinct: 5 read, 3 forwarded, 2 late; \
         key: 3 read, 3 forwarded",
    );
}

/// Where late records are diverted, the local filter lets all records pass: a late record that counted as
/// repeated would be lost.
#[test]
fn where_late_records_are_diverted_all_pass() {
    let mut keys = Operator::<i64>::keys(&digits().divert_late());
    assert!((0..10).all(|_| keys.address(EventTime::EPOCH, &1).is_some()));
    let mut keys = Operator::<i64>::keys(&digits());
    let (first, second) = [(); 2].map(|()| keys.address(EventTime::EPOCH, &1)).into();
    assert!(first.is_some() && second.is_none());
}

/// Creates a local distinct filter over windows of 10 µs, in which each value is its own key.
fn local_distinct() -> LocalDistinct<i64, fn(&i64) -> i64> {
    let Digits { windows, .. } = digits();
    LocalDistinct::new("distinct", windows, Arc::new((|value| *value) as fn(&i64) -> i64), true)
}

/// Runs records `value@time` and marks through a local distinct filter, and returns the records that pass.
/// `W10` is a watermark, and `IDLE` says that the split is idle.
fn passed(keys: &mut LocalDistinct<i64, fn(&i64) -> i64>, input: &str) -> String {
    let mut shown = Vec::new();
    for token in input.split_whitespace() {
        if let Some((value, time)) = token.split_once('@') {
            let time = EventTime::from_micros(time.parse().unwrap());
            if keys.address(time, &value.parse().unwrap()).is_some() {
                shown.push(token);
            }
        } else if let Some(time) = token.strip_prefix('W') {
            Keys::<i64>::on_mark(keys, Mark::Watermark(EventTime::from_micros(time.parse().unwrap())));
        } else {
            Keys::<i64>::on_mark(keys, Mark::Idle);
        }
    }
    shown.join(" ")
}

/// A watermark that ends a window makes the local filter forget the keys of that window only, also if it
/// comes after the first record of the next window.
#[test]
fn keys_are_held_no_longer_than_their_window_is_open() {
    let mut keys = local_distinct();
    assert_eq!(passed(&mut keys, "1@5 2@6 1@7 3@10 1@11"), "1@5 2@6 3@10 1@11");
    assert_eq!(keys.held_count(), 3);
    passed(&mut keys, "W9");
    assert_eq!(keys.held_count(), 3);
    assert_eq!(passed(&mut keys, "W10"), "");
    // Only two keys are held: key 1 has moved to the second window in the slot that it had in the first.
    assert_eq!(keys.held_count(), 2);
    assert_eq!(passed(&mut keys, "1@9 3@12 2@13 3@20 W20 3@21"), "1@9 2@13 3@20");
    assert_eq!(keys.held_count(), 1);
}

/// The first record after idleness passes the local filter even if it is repeated, so that the copy behind
/// the filter sees that the split has resumed.
#[test]
fn the_first_record_after_idleness_passes() {
    assert_eq!(passed(&mut local_distinct(), "1@5 1@5 IDLE 1@5 1@5 IDLE IDLE 1@6 1@6"), "1@5 1@5 1@6");
}

/// A local filter that loads state forgets all keys that it sent, because the restored distinct operator may
/// not have seen them.
#[test]
fn what_was_sent_is_forgotten_when_state_is_loaded() {
    let mut keys = local_distinct();
    let mut state = StateWriter::default();
    Keys::<i64>::save(&keys, &mut state).unwrap();
    passed(&mut keys, "1@5");
    Keys::<i64>::load(&mut keys, &mut StateReader::new(&state.into_bytes())).unwrap();
    assert_eq!(passed(&mut keys, "1@5 1@5"), "1@5");
}

/// The slots of a local distinct filter are few at first and grow up to their limit; without memory all
/// records pass.
#[test]
fn a_local_distinct_grows_while_there_is_memory() {
    let many = |keys: &mut LocalDistinct<i64, fn(&i64) -> i64>, count| {
        (0..count).for_each(|value| _ = keys.address(EventTime::EPOCH, &(value % 40_000)));
        Keys::<i64>::state_bytes(keys)
    };
    let mut keys = local_distinct();
    let first_bytes = many(&mut keys, 1);
    assert!((1 << 13..1 << 15).contains(&first_bytes), "{first_bytes}");
    let bytes = many(&mut keys, 1_000_000);
    assert!((256 << 10..=576 << 10).contains(&bytes), "{bytes}");
    let mut keys = local_distinct();
    let bounded_grant = BoundedGrant::of(100 << 10);
    Keys::<i64>::fund(&mut keys, &bounded_grant.allowance());
    let bytes = many(&mut keys, 1_000_000);
    assert!((16 << 10..=100 << 10).contains(&bytes), "{bytes}");
    let mut keys = local_distinct();
    Keys::<i64>::fund(&mut keys, &BoundedGrant::of(0).allowance());
    assert_eq!((many(&mut keys, 100), passed(&mut keys, "1@5 1@5")), (0, "1@5 1@5".to_owned()));
}

/// A local distinct filter looks up few of the records of a stream in which nothing repeats, and notices when
/// records begin to repeat.
#[test]
fn a_local_distinct_of_no_use_is_rarely_asked() {
    let windows = TumblingWindows::new(Span::from_secs(1_000)).unwrap();
    let mut keys = LocalDistinct::new("all", windows, Arc::new(|value: &i64| *value), true);
    let mut passed = |values: std::ops::Range<i64>| {
        let passes = |value: &i64| keys.address(EventTime::EPOCH, &(*value).max(0)).is_some();
        values.filter(passes).count() as i64
    };
    assert_eq!(passed(1..100_000), 99_999);
    // All records now have one key. Records of the stretch without look-ups pass; in the next call, none
    // passes.
    let unasked = passed(-300_000..0);
    assert!((30_000..115_000).contains(&unasked), "{unasked} of 300,000");
    assert_eq!(passed(-300_000..0), 0);
}

#[test]
fn panics_before_a_copy_are_blamed_on_it() {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    let inverse = Distinct::<i64, _>::new("inverse", windows, |value: &i64| 1 / value);
    let part = Map::new("part", |addressed: Addressed<i64>| addressed.value);
    let chain = Then::new(Address::<_, Only>::new(Operator::<i64>::keys(&inverse), 2), part);
    assert_eq!(Bed::new(chain).panics("0@1"), "inverse");
}

proptest! {
    /// Results and counts of distinct are the same with a local filter in front and without one.
    #[test]
    fn a_local_distinct_makes_no_difference(
        seed: u64,
        restores: bool,
        records in proptest::collection::vec((0..40i64, -60..60i64, 0..12u8), 0..150),
    ) {
        let input = input_of(records);
        if restores {
            let got = Bed::new(behind_a_local_distinct()).run_restoring(&input, behind_a_local_distinct);
            prop_assert_eq!(got, recompute(&input, 10));
        } else {
            let mut sieved = behind_a_local_distinct();
            sieved.seed(&mut thalweg_model::SeededEntropy::new(seed));
            let (mut sieved, mut plain) = (Bed::new(sieved), Bed::new(keys()));
            prop_assert_eq!(sieved.run(&input), plain.run(&input));
            prop_assert_eq!(counted(sieved.operator()), counted(plain.operator()));
        }
    }
}
