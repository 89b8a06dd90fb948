//! Tests of the sort operator: hand-made cases, and comparison with sorting the whole input. The key of a
//! value is its tens, so its last digit tells the order of arrival.

use proptest::prelude::*;
use thalweg_model::Then;

use super::*;
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Collected, Given, input_of};

type ByTens<L = DropLate> = Sort<i64, i64, fn(&i64) -> i64, L>;

fn by_tens() -> ByTens {
    Sort::new("sort", |value: &i64| value.div_euclid(10))
}

fn check(input: &str, expected: &str) {
    for room in [1, 2, 1_000] {
        assert_eq!(Bed::new(by_tens()).with_room(room).run(input), expected, "with room for {room}");
    }
    assert_eq!(Bed::new(by_tens()).run_restoring(input, by_tens), expected, "restored");
}

#[test]
fn records_come_out_in_the_order_of_their_times() {
    check("1@3 2@1 3@2 W4", "2@1 3@2 1@3 W4");
    check("1@-3 2@0 3@-7 W1", "3@-7 1@-3 2@0 W1");
    check("1@3 2@1 W2 3@2 W9", "2@1 W2 3@2 1@3 W9");
}

/// A record at the time of the watermark waits, since more records with the same time may still come.
#[test]
fn what_lies_at_the_watermark_waits() {
    check("2@5 W5 1@5 W6", "W5 2@5 1@5 W6");
    check("12@5 W5 1@5 W5 W6", "W5 W5 1@5 12@5 W6");
}

#[test]
fn one_time_is_sorted_by_key_and_then_as_it_came() {
    check("21@5 12@5 11@5 3@5 W6", "3@5 12@5 11@5 21@5 W6");
    check("2@5 1@4 3@5 1@6 4@5 W7", "1@4 2@5 3@5 4@5 1@6 W7");
    // Equal records that lie in different runs come out in the order of arrival, before and after a release.
    check("1@9 1@5 1@3 2@5 W4 3@5 W6 4@9 W10", "1@3 W4 1@5 2@5 3@5 W6 1@9 4@9 W10");
}

#[test]
fn the_end_releases_everything() {
    check("1@9 2@3 END", "2@3 1@9 END");
    check("END", "END");
    let (first, last) = (i64::MIN, i64::MAX);
    check(&format!("1@{last} 2@{first} END"), &format!("2@{first} 1@{last} END"));
    check(&format!("1@{first} W{first} W0"), &format!("W{first} 1@{first} W0"));
}

#[test]
fn late_records_are_counted_and_dropped() {
    check("1@5 W6 2@5 3@6 4@-9 W7", "1@5 W6 3@6 W7");
    let mut bed = Bed::new(by_tens());
    bed.run("1@5 W6 2@5 3@6 4@-9 W7");
    assert_eq!(bed.counts(), "sort: 4 read, 2 folded, 2 late");
}

/// The watermark of a record's own input decides whether it is late. The watermarks of single inputs are not
/// forwarded.
#[test]
fn lateness_goes_by_input() {
    check("W2 I5 1@4 2@5 I2 3@4 W6", "W2 3@4 2@5 W6");
}

#[test]
fn late_records_can_be_diverted() {
    let mut bed = Bed::new(by_tens().divert_late()).with_room(1);
    assert_eq!(bed.run("1@5 W6 2@5 3@7 4@-9 3@6 W9"), "1@5 W6 right:2@5 right:4@-9 3@6 3@7 W9");
    assert_eq!(bed.counts(), "sort: 5 read, 3 folded, 2 late");
}

#[test]
fn in_a_chain_it_emits_through_what_follows() {
    let next = |name: &str| Map::new(name, |value: i64| value + 1);
    let chain = Then::new(next("before"), Then::new(by_tens(), next("behind")));
    let mut bed = Bed::new(chain).with_room(1);
    assert_eq!(bed.run("1@3 2@1 3@2 W3 END"), "4@1 5@2 W3 3@3 END");
}

#[test]
fn panics_are_blamed_on_it() {
    let inverse = |value: &i64| 1 / value;
    assert_eq!(Bed::new(Sort::new("inverse", inverse)).panics("0@1"), "inverse");
    /// A value whose comparison panics, so that a panic occurs inside the sort.
    #[derive(PartialEq, Eq)]
    struct Shy(i64);
    impl PartialOrd for Shy {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Shy {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            assert_ne!(self.0, other.0);
            self.0.cmp(&other.0)
        }
    }
    let shy = || Bed::new(Sort::new("shy", |value: &i64| Shy(*value)));
    assert_eq!(shy().panics("1@1 1@1"), "shy");
    // Two sorted runs, whose first records are compared when the watermark releases them.
    assert_eq!(shy().panics("1@1 1@9 1@1 W10"), "shy");
    let behind = || Then::new(by_tens(), Map::new("behind", |value: i64| 1 / value));
    assert_eq!(Bed::new(behind()).panics("0@1 W2"), "behind");
}

/// A nearly sorted stream lies in few runs, however many records wait; a sorted stream lies in one run.
#[test]
fn disorder_decides_on_the_number_of_runs() {
    let runs_of = |stamp: fn(i64) -> i64| {
        let mut operator = by_tens();
        let records: Vec<(i64, i64)> = (0..10_000).map(|number| (0, stamp(number))).collect();
        operator.process(&mut Given::of(&records), &mut Collected::<i64>::new(0));
        operator.runs.run_count()
    };
    assert_eq!(runs_of(|number| number), 1);
    assert_eq!(runs_of(|_| 7), 1);
    // Each record comes up to 99 places before its turn in the sorted order.
    assert!(runs_of(|number| number - number * 37 % 100) <= 20);
    assert_eq!(runs_of(|number| -number), 10_000);
}

#[test]
fn memory_is_asked_for_and_counted() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut operator = by_tens();
    operator.fund(&bounded_grant.allowance());
    let mut output = Collected::<i64>::new(1_000_000);
    let watermark = |time| Mark::Watermark(EventTime::from_micros(time));
    let mut bytes_max = 0;
    for round in 0..50i64 {
        let records: Vec<(i64, i64)> = (0..500).map(|n| (n, 500 * round + n * 7_919 % 500)).collect();
        operator.process(&mut Given::of(&records), &mut output);
        let (bytes, granted) = (operator.state_bytes(), bounded_grant.granted());
        assert!(500 * 24 <= bytes && bytes <= granted, "{bytes} bytes of {granted} that were granted");
        assert_eq!(operator.on_mark(watermark(500 * (round + 1)), &mut output), Flow::Done);
        bytes_max = if round < 5 { bytes_max.max(operator.state_bytes()) } else { bytes_max };
    }
    assert!(operator.state_bytes() <= 2 * bytes_max, "runs that are over serve the next");
    assert_eq!(output.take().len(), 50 * 500);
}

/// A sort of a nearly sorted stream soon needs no new memory.
#[test]
fn a_steady_stream_allocates_nothing() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut operator = by_tens();
    operator.fund(&bounded_grant.allowance());
    let mut granted = Vec::new();
    for round in 0..40i64 {
        let records: Vec<(i64, i64)> = (0..100).map(|n| (n, 100 * round + n - n % 7)).collect();
        operator.process(&mut Given::of(&records), &mut Collected::<i64>::new(0));
        let watermark = Mark::Watermark(EventTime::from_micros(100 * (round + 1)));
        assert_eq!(operator.on_mark(watermark, &mut Collected::new(100)), Flow::Done);
        assert_eq!(operator.runs.len(), 0);
        granted.push(bounded_grant.granted());
    }
    assert_eq!(granted[5], granted[39]);
}

/// A sort that is refused memory drops records without a panic. Its results do not matter, since the query is
/// about to fail.
#[test]
fn a_refusal_breaks_nothing() {
    for bound in [0, 100, 1_000, 4_000] {
        let mut operator = by_tens();
        operator.fund(&BoundedGrant::of(bound).allowance());
        let mut output = Collected::<i64>::new(1_000_000);
        let records: Vec<(i64, i64)> = (0..500).map(|n| (n, n * 7_919 % 500)).collect();
        for time in [100, 600] {
            operator.process(&mut Given::of(&records), &mut output);
            let watermark = Mark::Watermark(EventTime::from_micros(time));
            assert_eq!(operator.on_mark(watermark, &mut output), Flow::Done);
        }
    }
}

/// Recomputes the output of a sort: at every watermark it sorts all waiting records anew.
fn recompute(input: &str) -> String {
    let (mut shown, mut waiting, mut watermark, mut late_by) = (Vec::new(), Vec::new(), i64::MIN, i64::MIN);
    for token in input.split_whitespace() {
        if let Some((value, time)) = token.split_once('@') {
            let (value, time): (i64, i64) = (value.parse().unwrap(), time.parse().unwrap());
            if time >= late_by {
                waiting.push((time, value));
            }
        } else if let Some(time) = token.strip_prefix('I') {
            late_by = watermark.max(time.parse().unwrap());
        } else {
            watermark = token.strip_prefix('W').map_or(i64::MAX, |time| time.parse().unwrap());
            late_by = late_by.max(watermark);
            waiting.sort_by_key(|&(time, value): &(i64, i64)| (time, value.div_euclid(10)));
            let released = waiting.iter().take_while(|&&(time, _)| time < watermark).count();
            shown.extend(waiting.drain(..released).map(|(time, value)| format!("{value}@{time}")));
            shown.push(token.to_owned());
        }
    }
    shown.join(" ")
}

proptest! {
    #[test]
    fn equals_sorting_at_any_room_and_across_restores(
        room in 1..12usize,
        restores: bool,
        disorder in 1..100i64,
        records in proptest::collection::vec((0..40i64, 0..100i64, 0..12u8), 0..200),
    ) {
        let at = |(place, (value, jitter, kind)): (usize, (i64, i64, u8))| {
            (value, place as i64 / 2 - 40 - jitter % disorder, kind)
        };
        let input = input_of(records.into_iter().enumerate().map(at));
        let bed = || Bed::new(by_tens()).with_room(room);
        let got = if restores { bed().run_restoring(&input, by_tens) } else { bed().run(&input) };
        prop_assert_eq!(got, recompute(&input));
    }
}
