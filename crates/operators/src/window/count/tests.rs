//! Tests of count windows: hand-made cases, and comparison with a recomputation from the whole input. The key
//! of a value is its last digit, and values are summed; `key=sum@stamp` is a result.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use proptest::prelude::*;
use thalweg_model::Then;

use super::*;
use crate::aggregate::{Count, Values};
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Sum};

fn windows(size: u64, slide: u64) -> CountWindows {
    let [size, slide] = [size, slide].map(|count| NonZeroU64::new(count).unwrap());
    CountWindows::of_size(size).every(slide)
}

fn over<F: Fold<i64>>(size: u64, slide: u64, fold: F) -> CountAggregate<i64, i64, fn(&i64) -> i64, F> {
    CountAggregate::new("counted", windows(size, slide), |value| value % 10, fold)
}

fn check(size: u64, slide: u64, input: &str, expected: &str) {
    for room in [1, 100_000] {
        let bed = || Bed::new(over(size, slide, Sum)).with_room(room);
        let shown = [bed().run(input), bed().with_restores(move || over(size, slide, Sum)).run(input)];
        assert_eq!(shown, [expected; 2], "room {room}");
    }
}

#[test]
fn a_window_has_so_many_records() {
    check(2, 2, "1@5 11@3 2@4 21@9 W9 31@1 2@2 END", "1=12@3 W9 1=52@1 2=4@2 END");
    check(1, 1, "1@5 11@3", "1=1@5 1=11@3");
}

#[test]
fn windows_that_slide_share_records() {
    check(3, 1, "1@0 1@1 1@2 11@3 11@4", "1=3@2 1=13@3 1=23@4");
    check(4, 2, "1@0 1@1 1@2 1@3 W3 11@4 11@5", "1=4@3 W3 1=24@5");
    check(3, 2, "1@0 1@1 1@2 11@3 11@4", "1=3@2 1=23@4");
}

#[test]
fn what_lies_between_two_windows_is_filtered() {
    check(1, 3, "1@0 11@1 21@2 31@3 41@4", "1=1@0 1=31@3");
    check(2, 3, "1@0 11@1 W1 21@2 31@3 2@3 W4 41@4", "1=12@1 W1 W4 1=72@4");
    let mut bed = Bed::new(over(2, 3, Sum));
    bed.run("1@0 1@1 1@2 1@3");
    assert_eq!(bed.counts(), "counted: 4 read, 3 folded, 1 filtered");
}

#[test]
fn what_is_not_complete_at_the_end_has_no_result() {
    check(3, 3, "1@0 1@1 END", "END");
    check(3, 1, "1@0 1@1 END", "END");
}

#[test]
fn where_records_came_in_is_told_to_nobody_behind() {
    assert_eq!(Bed::new(over(2, 2, Sum)).run("I3 W2 I4 END"), "W2 END");
}

#[test]
fn a_panic_is_blamed_on_it() {
    let broken = CountAggregate::new("broken", windows(2, 2), |value: &i64| 1 / value, Sum);
    assert_eq!(Bed::new(broken).panics("0@0"), "broken");
}

/// The values of a count window are in the order in which they came.
#[test]
fn values_keep_their_order() {
    let all = CountAggregate::new("all", windows(4, 2), |_: &i64| 0, Values);
    let digits =
        |result: Counted<i64, Vec<i64>>| result.value.iter().fold(0, |shown, digit| shown * 10 + digit);
    let mut bed = Bed::new(Then::new(all, Map::new("digits", digits)));
    assert_eq!(bed.run("1@0 2@9 3@8 4@1 5@2 6@3"), "1234@1 3456@3");
}

/// A key takes no slot of the table once its window is complete, and until the next window begins.
#[test]
fn state_is_that_of_windows_that_are_not_complete() {
    let all = CountAggregate::new("all", windows(2, 2), |value: &i64| *value, Values);
    let lengths = Map::new("lengths", |result: Counted<i64, Vec<i64>>| result.value.len() as i64);
    let mut bed = Bed::new(Then::new(all, lengths));
    let mut bytes = Vec::new();
    for round in 0..100i64 {
        let records: Vec<String> = (0..100).map(|n| format!("{0}@0 {0}@0", round * 100 + n)).collect();
        assert_eq!(bed.run(&records.join(" ")).split_whitespace().count(), 100);
        bytes.push(bed.state_bytes());
    }
    assert_eq!(bytes[0], bytes[99], "the table does not grow");
}

#[test]
fn what_panes_and_accumulators_hold_is_counted() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let all = CountAggregate::new("all", windows(1_000, 10), |_: &i64| 0, Values);
    let lengths = Map::new("lengths", |result: Counted<i64, Vec<i64>>| result.value.len() as i64);
    let mut bed = Bed::new(Then::new(all, lengths)).funded_by(&bounded_grant);
    let some = ["7@0"; 999].join(" ");
    assert_eq!(bed.run(&some), "");
    let bytes = bed.state_bytes();
    assert!(
        (999 * 8 + 100 * 24..=bounded_grant.granted()).contains(&bytes),
        "{bytes} bytes of {}",
        bounded_grant.granted()
    );
    for _ in 0..20 {
        bed.run(&some);
        assert!(bed.state_bytes() <= bytes + 1_000, "{} bytes after {bytes}", bed.state_bytes());
    }
}

/// A fold whose accumulators hold a buffer that they do not need.
struct Roomy;

impl Fold<i64> for Roomy {
    type Accumulator = Vec<i64>;
    type Result = i64;
    fn create(&self) -> Vec<i64> {
        Vec::with_capacity(1_000)
    }
    fn fold(&self, accumulator: &mut Vec<i64>, _value: &i64) {
        accumulator.clear();
    }
    fn merge(&self, accumulator: &mut Vec<i64>, _other: Vec<i64>) {
        *accumulator = Vec::new();
    }
    const INVERTS: bool = true;
    fn unmerge(&self, accumulator: &mut Vec<i64>, _other: &Vec<i64>) {
        *accumulator = Vec::new();
    }
    const HOLDS: bool = true;
    fn held_bytes(&self, accumulator: &Vec<i64>) -> usize {
        accumulator.capacity() * size_of::<i64>()
    }
    fn finish(&self, _accumulator: Vec<i64>) -> i64 {
        0
    }
}

/// The bytes that the sum of panes holds are counted when the sum is made: in full, like those of the
/// complete pane and the open one.
#[test]
fn what_a_sum_of_panes_holds_at_first_is_counted() {
    let mut bed = Bed::new(over(3, 1, Roomy));
    bed.run("1@0");
    assert!(bed.state_bytes() >= 16_000, "{} bytes", bed.state_bytes());
}

#[test]
fn panes_are_counted() {
    let mut bed = Bed::new(over(1_000, 1, Sum));
    bed.run("1@0");
    let little = bed.state_bytes();
    bed.run(&["1@0"; 998].join(" "));
    assert!(bed.state_bytes() >= little + 998 * 8, "{} bytes after {little}", bed.state_bytes());
}

#[test]
fn state_stays_within_its_allowance() {
    for limit in [0, 1_000, 3_000, 100_000] {
        let bounded_grant = BoundedGrant::of(limit);
        let mut bed = Bed::new(over(100, 1, Sum)).funded_by(&bounded_grant);
        for round in 0..20i64 {
            let records: Vec<String> = (0..40).map(|n| format!("{}@0", n * round)).collect();
            bed.run(&records.join(" "));
            let bytes = bed.state_bytes();
            assert!(
                bytes <= bounded_grant.granted(),
                "limit {limit}: {bytes} bytes of {}",
                bounded_grant.granted()
            );
        }
    }
}

/// Recomputes the results by cutting each key's values into windows.
fn recompute(size: usize, slide: usize, values: &[i64]) -> Vec<String> {
    let mut of_key: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut results = Vec::new();
    for (stamp, value) in values.iter().enumerate() {
        let came = of_key.entry(value % 10).or_default();
        came.push(*value);
        if came.len() >= size && (came.len() - size).is_multiple_of(slide) {
            let sum: i64 = came[came.len() - size..].iter().sum();
            results.push(format!("{}={sum}@{stamp}", value % 10));
        }
    }
    results
}

proptest! {
    /// Results equal a recomputation, whether sums of panes are continued or made anew, and wherever the
    /// state is saved and loaded.
    #[test]
    fn equals_recomputation(
        size in 1..12u64,
        slide in 1..12u64,
        values in proptest::collection::vec(0..30i64, 0..200),
        restore_every in 1..50usize,
    ) {
        let mut merged = Bed::new(over(size, slide, Sum));
        let sum_and_count = move || {
            let both = over(size, slide, (crate::aggregate::Sum, Count));
            let sum = |result: Counted<i64, (i128, u64)>| {
                Counted { key: result.key, value: if result.value.1 > 0 { result.value.0 } else { -1 } }
            };
            Then::new(both, Map::new("sum", sum))
        };
        let mut inverted = Bed::new(sum_and_count());
        let (mut by_merging, mut by_inverting) = (Vec::new(), Vec::new());
        for (stamp, value) in values.iter().enumerate() {
            if stamp % restore_every == 0 {
                merged = merged.restore_into(over(size, slide, Sum));
                inverted = inverted.restore_into(sum_and_count());
            }
            by_merging.extend(Some(merged.run(&format!("{value}@{stamp}"))).filter(|shown| !shown.is_empty()));
            by_inverting.extend(Some(inverted.run(&format!("{value}@{stamp}"))).filter(|shown| !shown.is_empty()));
        }
        let expected = recompute(size as usize, slide as usize, &values);
        prop_assert_eq!(by_merging, expected.clone());
        prop_assert_eq!(by_inverting, expected);
    }
}
