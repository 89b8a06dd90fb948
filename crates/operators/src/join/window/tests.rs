//! Tests of window joins: hand-made cases, and comparison with nested loops over the whole input. The key of
//! a value is its last digit. `1+2@9` is the result at time 9 of the left value 1 and the right value 2, and
//! `1+-` the result of a left value without a match.

use std::collections::BTreeSet;

use proptest::prelude::*;
use thalweg_model::Span;

use super::super::combine::{FullOuter, Inner, LeftOuter, RightOuter};
use super::super::two_streams::{Judged, Run, TwoStreams, ends_of_time, key_of, pair, sorted, swapped_pair};
use super::*;
use crate::test_bed::Bed;

type Key = fn(&i64) -> i64;
type Join<C> = WindowJoin<i64, i64, i64, Key, Key, C>;

fn even(size: i64, slide: i64, offset: i64) -> EvenWindows {
    let [size, slide, offset] = [size, slide, offset].map(Span::from_micros);
    EvenWindows::new(size, slide, offset)
}

fn join<C: Combine<i64, i64>>(windows: EvenWindows, combine: C) -> Join<C> {
    WindowJoin::new("join", windows, key_of as Key, key_of as Key, combine)
}

fn inner(left: &i64, right: &i64) -> String {
    pair(Some(left), Some(right))
}

/// Checks the output of a join over tumbling windows of 10 µs, with plenty of room and with room for one
/// result.
fn check<C: Combine<i64, i64, Out = String> + Copy>(combine: C, input: &str, expected: &str) {
    check_windows(even(10, 10, 0), combine, input, expected);
}

fn check_windows<C>(windows: EvenWindows, combine: C, input: &str, expected: &str)
where
    C: Combine<i64, i64, Out = String> + Copy,
{
    assert_eq!(Bed::of_two(join(windows, combine)).run(input), expected);
    let one_by_one = Bed::of_two(join(windows, combine)).with_room(1).run(input);
    assert_eq!(one_by_one, expected, "with room for one result at a time");
}

#[test]
fn pairs_of_a_key_meet_in_their_window_as_soon_as_both_are_there() {
    check(Inner(inner), "L1@0 W5 R11@9 R2@8 L21@7 W10", "W5 1+11@9 21+11@9 W10");
    check(Inner(inner), "L1@9 R1@10 W30", "W30");
    check(Inner(inner), "L1@-1 R1@-10 END", "1+1@-1 END");
}

#[test]
fn every_pair_of_a_key_meets_once() {
    let shown = Bed::of_two(join(even(10, 10, 0), Inner(inner))).run("L1@0 L11@1 L21@2 R1@3 R11@4 L31@5");
    assert_eq!(shown, "1+1@9 21+1@9 11+1@9 1+11@9 21+11@9 11+11@9 31+1@9 31+11@9");
}

#[test]
fn whoever_met_nobody_is_emitted_when_the_window_closes() {
    let input = "L1@0 R2@1 L3@2 R3@3 L11@15 W9 W10 END";
    check(LeftOuter(|l: &i64, r: Option<&i64>| pair(Some(l), r)), input, "3+3@9 W9 1+-@9 W10 11+-@19 END");
    check(RightOuter(|l: Option<&i64>, r: &i64| pair(l, Some(r))), input, "3+3@9 W9 -+2@9 W10 END");
    check(FullOuter(pair), input, "3+3@9 W9 1+-@9 -+2@9 W10 11+-@19 END");
    check(Inner(inner), input, "3+3@9 W9 W10 END");
}

#[test]
fn one_side_may_be_empty() {
    check(Inner(inner), "L1@0 L1@1 END", "END");
    check(FullOuter(pair), "L1@0 L11@1 END", "1+-@9 11+-@9 END");
    check(FullOuter(pair), "R1@0 END", "-+1@9 END");
    check(FullOuter(pair), "END", "END");
}

/// The watermark of a record's own input decides whether the record is late, whatever state the join still
/// keeps.
#[test]
fn late_records_are_counted_and_meet_nobody() {
    let mut bed = Bed::of_two(join(even(10, 10, 0), FullOuter(pair)));
    assert_eq!(bed.run("I10 L1@9 L1@10 I0 R1@9 R11@10 W10 R2@9 END"), "1+11@19 -+1@9 W10 END");
    assert_eq!(bed.counts(), "join: 5 read, 3 folded, 2 late");
}

#[test]
fn many_windows_are_open_at_once_and_close_in_the_order_of_their_ends() {
    let input: Vec<String> = (0..1_000i64).rev().map(|n| format!("L{n}@{}", n * 10)).collect();
    let expected: Vec<String> = (0..1_000i64).map(|n| format!("{n}+-@{}", n * 10 + 9)).collect();
    check(FullOuter(pair), &format!("{} END", input.join(" ")), &format!("{} END", expected.join(" ")));
}

#[test]
fn the_last_window_of_time_closes_at_the_end() {
    let last = i64::MAX;
    check(Inner(inner), &format!("L1@{last} R1@{last} END"), &format!("1+1@{} END", last - 1));
    check_windows(
        even(1, 1, 0),
        FullOuter(pair),
        &format!("L1@{last} L2@{} END", i64::MIN),
        &format!("2+-@{} 1+-@{} END", i64::MIN, last - 1),
    );
}

/// With windows of 10 µs that begin every 5 µs, a pair is a result once for each window that both values fall
/// into.
#[test]
fn a_pair_meets_in_each_common_window() {
    check_windows(even(10, 5, 0), Inner(inner), "L1@5 R1@7 END", "1+1@9 1+1@14 END");
    check_windows(even(10, 5, 0), Inner(inner), "L1@4 R1@7 END", "1+1@9 END");
    check_windows(even(10, 5, 0), Inner(inner), "L1@4 R1@10 END", "END");
    check_windows(even(10, 5, 0), FullOuter(pair), "L1@4 R1@7 END", "1+1@9 1+-@4 -+1@14 END");
}

/// A record may be late for the first of its windows and on time for the second; it then has results in the
/// second only.
#[test]
fn a_record_may_be_late_for_some_of_its_windows() {
    let input = "L1@7 I10 R1@7 END";
    check_windows(even(10, 5, 0), Inner(inner), input, "1+1@14 END");
    check_windows(even(10, 5, 0), FullOuter(pair), input, "1+1@14 1+-@9 END");
    check_windows(even(10, 5, 0), FullOuter(pair), "L1@7 W10 R1@7 END", "1+-@9 W10 1+1@14 END");
}

/// Windows that begin at every microsecond are not visited one by one when they close. Each record here falls
/// into eighty-six billion windows.
#[test]
fn windows_that_begin_at_every_instant_close_at_once() {
    let day = 86_400_000_000;
    let input = format!("L1@0 W{day} L2@{} R2@{} W{} END", 5 * day, 6 * day - 1, 9 * day);
    check_windows(
        even(day, 1, 0),
        Inner(inner),
        &input,
        &format!("W{day} 2+2@{} W{} END", 6 * day - 1, 9 * day),
    );
}

#[test]
fn between_windows_nobody_meets() {
    let mut bed = Bed::of_two(join(even(2, 5, 0), FullOuter(pair)));
    assert_eq!(bed.run("L1@1 L2@2 R2@4 R1@0 END"), "1+1@1 END");
    assert_eq!(bed.counts(), "join: 4 read, 2 folded, 2 filtered");
}

#[test]
fn a_panic_is_blamed_on_it() {
    let windows = even(10, 10, 0);
    let divide = |left: &i64, right: &i64| left / right;
    let one = |_: &i64| 1i64;
    let mut bed = Bed::of_two(WindowJoin::new("broken", windows, one, one, Inner(divide)));
    assert_eq!(bed.panics("L1@0 R0@0"), "broken");
    let by = |value: &i64| 1 / value;
    let mut bed = Bed::of_two(WindowJoin::new("keys", windows, by, by, Inner(divide)));
    assert_eq!(bed.panics("L0@0"), "keys");
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    size: i64,
    slide: i64,
    offset: i64,
}

impl Shape {
    fn any() -> impl Strategy<Value = Shape> {
        let tumbling = (1..40i64, -20..20i64).prop_map(|(size, offset)| Shape { size, slide: size, offset });
        let any =
            (1..40i64, 1..20i64, -20..20i64).prop_map(|(size, slide, offset)| Shape { size, slide, offset });
        prop_oneof![tumbling, any]
    }

    fn windows(self) -> EvenWindows {
        even(self.size, self.slide, self.offset)
    }

    /// Returns the starts of the windows in which a record has results, in 128 bits: the record falls into
    /// them, and they end after its own stream's watermark. No window ends beyond the range of time.
    fn starts(self, record: Judged) -> Vec<i128> {
        let [size, slide, offset] = [self.size, self.slide, self.offset].map(i128::from);
        let (time, late_by) = (i128::from(record.time), i128::from(record.late_by));
        let last = (time - offset).div_euclid(slide) * slide + offset;
        let starts = std::iter::successors(Some(last), |start| Some(start - slide));
        let of_record = starts.take_while(|start| start + size > time);
        of_record.filter(|start| late_by < (start + size).min(i64::MAX.into())).collect()
    }

    /// Recomputes a window join by nested loops, window by window.
    fn recompute(self, streams: &TwoStreams, is_left_outer: bool, is_right_outer: bool) -> Vec<String> {
        let sides = [0, 1].map(|side| {
            let with_starts = |record: Judged| (record.value, self.starts(record));
            streams.judged(side).into_iter().map(with_starts).collect::<Vec<_>>()
        });
        let starts: BTreeSet<i128> = sides.iter().flatten().flat_map(|(_, starts)| starts.clone()).collect();
        let mut results = Vec::new();
        for start in starts {
            let end = (start + i128::from(self.size)).min(i64::MAX.into());
            let stamp = i64::try_from(end - 1).unwrap();
            let [lefts, rights] = sides.each_ref().map(|records| -> Vec<i64> {
                let counted = records.iter().filter(|(_, starts)| starts.contains(&start));
                counted.map(|(value, _)| *value).collect()
            });
            for left in &lefts {
                for right in rights.iter().filter(|right| *right % 10 == left % 10) {
                    results.push((pair(Some(left), Some(right)), stamp));
                }
                if is_left_outer && !rights.iter().any(|right| right % 10 == left % 10) {
                    results.push((pair(Some(left), None), stamp));
                }
            }
            for right in &rights {
                if is_right_outer && !lefts.iter().any(|left| left % 10 == right % 10) {
                    results.push((pair(None, Some(right)), stamp));
                }
            }
        }
        sorted(results)
    }
}

proptest! {
    /// The results of a window join equal those of nested loops, with any room, with the streams interleaved
    /// in any way, and with the state saved and loaded at every watermark or not.
    #[test]
    fn equals_nested_loops(
        shape in Shape::any(), streams in TwoStreams::any(), run in Run::any(), kind in 0..4u8,
    ) {
        let windows = shape.windows();
        let (got, outer) = match kind {
            0 => (run.results(&streams, || join(windows, Inner(inner))), (false, false)),
            1 => {
                let left = |l: &i64, r: Option<&i64>| pair(Some(l), r);
                (run.results(&streams, || join(windows, LeftOuter(left))), (true, false))
            }
            2 => {
                let right = |l: Option<&i64>, r: &i64| pair(l, Some(r));
                (run.results(&streams, || join(windows, RightOuter(right))), (false, true))
            }
            _ => (run.results(&streams, || join(windows, FullOuter(pair))), (true, true)),
        };
        prop_assert_eq!(got, shape.recompute(&streams, outer.0, outer.1));
    }

    /// Results equal those of nested loops for records and watermarks at one end of the range of time, in
    /// windows that reach beyond the end or across the whole range.
    #[test]
    fn the_ends_of_time_equal_nested_loops(
        shape in Shape::any(), is_wide: bool, streams in TwoStreams::any(), end in ends_of_time(), run in Run::any(),
        is_outer: bool,
    ) {
        let Shape { size, slide, offset } = shape;
        // If windows begin every microsecond, those that begin before the range of time are left out.
        let wide = Shape { size: i64::MAX - size, slide: i64::MAX - slide, offset };
        let shape = if is_wide { wide } else { Shape { size, slide: slide.max(2), offset } };
        let streams = streams.moved_to(end);
        let got = match is_outer {
            true => run.results(&streams, || join(shape.windows(), FullOuter(pair))),
            false => run.results(&streams, || join(shape.windows(), Inner(inner))),
        };
        prop_assert_eq!(got, shape.recompute(&streams, is_outer, is_outer));
    }

    #[test]
    fn the_sides_may_be_swapped(
        shape in Shape::any(), streams in TwoStreams::any(), runs in [Run::any(), Run::any()],
    ) {
        let there = runs[0].results(&streams, || join(shape.windows(), FullOuter(pair)));
        let back = runs[1].results(&streams.swapped(), || join(shape.windows(), FullOuter(swapped_pair)));
        prop_assert_eq!(there, back);
    }
}

mod funding {
    use super::*;
    use crate::bounded_grant::BoundedGrant;

    fn many(from: i64, stamp: i64) -> String {
        let values = (from..from + 500).map(|n| format!("L{n}@{stamp} R{n}@{stamp} L{n}@{stamp} "));
        values.collect()
    }

    fn by_value(
        combine: Inner<fn(&i64, &i64) -> String>,
    ) -> WindowJoin<i64, i64, i64, Key, Key, Inner<fn(&i64, &i64) -> String>> {
        WindowJoin::new("join", even(10, 10, 0), |value: &i64| *value, |value: &i64| *value, combine)
    }

    /// The bytes that a window join holds never exceed the bytes granted to it, and tables of closed windows
    /// are reused.
    #[test]
    fn state_is_paid_before_it_grows_and_used_again() {
        let bounded_grant = BoundedGrant::of(1 << 30);
        let mut bed = Bed::of_two(by_value(Inner(inner)));
        bed.fund(&bounded_grant.allowance());
        assert_eq!(bed.state_bytes(), 0);
        bed.run(&many(0, 0));
        let (full, first) = (bed.state_bytes(), bounded_grant.granted());
        // 500 keys take at least the bytes of a key, of two values with their tags, and of a linked value.
        assert!(full >= 500 * (8 + 16 + 16 + 16), "{full} bytes");
        assert!(full <= first && first < 3 * full, "{full} bytes held, {first} lent");
        for window in 1..10 {
            bed.run(&format!("W{}", window * 10));
            bed.run(&many(0, window * 10));
            assert_eq!((bed.state_bytes(), bounded_grant.granted()), (full, first));
        }
    }

    /// A join that is refused memory drops records without a panic until the query ends.
    #[test]
    fn refusals_lose_records_and_nothing_else() {
        for bytes in [0, 200, 1_000, 3_000, 10_000, 30_000] {
            let bounded_grant = BoundedGrant::of(bytes);
            let mut bed = Bed::of_two(join(even(10, 5, 0), FullOuter(pair)));
            bed.fund(&bounded_grant.allowance());
            bed.run(&many(0, 0));
            bed.run("W7");
            bed.run(&many(0, 17));
            assert!(bed.state_bytes() <= bytes);
            bed.run("END");
            bed.counts();
        }
    }

    /// After a window with many keys, later windows cost no more than before: tables that are too large for
    /// them are given back.
    #[test]
    fn what_a_burst_needed_is_given_back() {
        let mut bed = Bed::of_two(by_value(Inner(inner)));
        bed.run(&format!("{} W10 L1@11 W20", many(0, 0)));
        bed.run("L1@21 W30");
        let after = bed.state_bytes();
        assert!(after < 5_000, "{after} bytes");
    }
}
