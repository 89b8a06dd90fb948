//! Tests of interval joins: hand-made cases, and comparison with nested loops over the whole input. The key
//! of a value is its last digit. `1+2@9` is the result at time 9 of the left value 1 and the right value 2,
//! and `1+-` the result of a left value without a match.

use proptest::prelude::*;
use thalweg_model::staged::Held;

use super::super::combine::{FullOuter, Inner, LeftOuter, RightOuter};
use super::super::two_streams::{
    Judged, Run, Said, TwoStreams, ends_of_time, key_of, pair, sorted, swapped_pair,
};
use super::*;
use crate::bounded_grant::BoundedGrant;
use crate::test_bed::Bed;

type Key = fn(&i64) -> i64;
type Join<C> = IntervalJoin<i64, i64, i64, Key, Key, C>;

fn interval(lower: i64, upper: i64) -> Interval {
    Interval::new(Span::from_micros(lower), Span::from_micros(upper)).unwrap()
}

fn join<C: Combine<i64, i64>>(interval: Interval, combine: C) -> Join<C> {
    IntervalJoin::new("join", interval, key_of as Key, key_of as Key, combine)
}

fn inner(left: &i64, right: &i64) -> String {
    pair(Some(left), Some(right))
}

/// Checks the output of an interval join with plenty of room and with room for one result.
fn check<C>((lower, upper): (i64, i64), combine: C, input: &str, expected: &str)
where
    C: Combine<i64, i64, Out = String> + Copy,
{
    let join = || join(interval(lower, upper), combine);
    assert_eq!(Bed::of_two(join()).run(input), expected);
    assert_eq!(Bed::of_two(join()).with_room(1).run(input), expected, "with room for one result at a time");
}

#[test]
fn an_interval_ends_no_earlier_than_it_begins() {
    let [one, two] = [1, 2].map(Span::from_secs);
    let error = Interval::new(two, one).unwrap_err();
    assert_eq!(error, IntervalError::Order { lower: two, upper: one });
    assert_eq!(error.to_string(), "the interval begins at 2s and ends at 1s: give the lower bound first");
    let interval = Interval::new(one, one).unwrap();
    assert_eq!((interval.lower(), interval.upper()), (one, one));
}

#[test]
fn pairs_within_the_interval_meet_as_soon_as_both_are_there() {
    check((-2, 3), Inner(inner), "L1@10 R1@7 R11@8 R21@13 R31@14 W5 R41@9", "1+11@10 1+21@13 W5 1+41@10");
    check((-2, 3), Inner(inner), "R1@10 L1@6 L11@7 L21@12 L31@13", "11+1@10 21+1@12");
    check((0, 0), Inner(inner), "L1@-5 R1@-5 R11@-4 L11@-4 L2@-4", "1+1@-5 11+11@-4");
    check((4, 6), Inner(inner), "L1@0 R1@3 R11@4 R21@6 R31@7", "1+11@4 1+21@6");
    check((-6, -4), Inner(inner), "L1@0 R1@-7 R11@-6 R21@-4 R31@-3", "1+11@0 1+21@0");
}

/// A left record at time `l` without a match is emitted once the watermark is above `l + upper`. At the
/// watermark `l + upper` itself, a match may still come.
#[test]
fn whoever_met_nobody_is_emitted_when_nobody_can_come_any_more() {
    let left = LeftOuter(|l: &i64, r: Option<&i64>| pair(Some(l), r));
    check((-2, 3), left, "L1@10 W13 R2@13 R1@13 W14", "W10 1+1@13 W11");
    check((-2, 3), left, "L1@10 L11@10 W13 W14", "W10 1+-@10 11+-@10 W11");
    let right = RightOuter(|l: Option<&i64>, r: &i64| pair(l, Some(r)));
    check((-2, 3), right, "R1@10 W12 W13 L1@13", "W10 -+1@10 W11");
    check((-2, 3), FullOuter(pair), "R1@10 L1@14 L2@0 W100 END", "2+-@0 1+-@14 -+1@10 W97 END");
    check((-2, 3), FullOuter(pair), "END", "END");
}

/// A record whose interval has already passed is emitted at once without a match, since no match can come.
#[test]
fn an_interval_that_has_passed_is_not_waited_for() {
    let left = LeftOuter(|l: &i64, r: Option<&i64>| pair(Some(l), r));
    check((-9, -3), left, "L1@4 W8 L2@12 R3@8 L3@11 R3@9 W9", "1+-@4 W8 3+3@11 W9");
    check((-9, -3), left, "W8 L1@10 L2@11 R2@8 W9", "W8 1+-@10 2+2@11 W9");
}

#[test]
fn the_watermark_is_held_back_by_what_may_be_emitted() {
    let left = LeftOuter(|l: &i64, r: Option<&i64>| pair(Some(l), r));
    let right = RightOuter(|l: Option<&i64>, r: &i64| pair(l, Some(r)));
    check((-2, 3), Inner(inner), "W10 I20 END", "W10 END");
    check((-2, 3), left, "W10 END", "W7 END");
    check((-2, 3), right, "W10 END", "W8 END");
    check((-2, 3), FullOuter(pair), "W10 END", "W7 END");
    check((-3, -2), left, "W10 END", "W10 END");
    check((2, 3), right, "W10 END", "W10 END");
}

/// The watermark of a record's own input decides whether the record is late.
#[test]
fn late_records_are_counted_and_meet_nobody() {
    let mut bed = Bed::of_two(join(interval(-5, 5), FullOuter(pair)));
    assert_eq!(bed.run("I10 L1@9 L1@10 I0 R1@9 W10 R2@9 END"), "1+1@10 W5 END");
    assert_eq!(bed.counts(), "join: 4 read, 2 folded, 2 late");
}

#[test]
fn the_ends_of_time() {
    let (first, last) = (i64::MIN, i64::MAX);
    let input = format!("L1@{last} R1@{last} R11@{first} L11@{first} L2@{last} R2@{first}");
    let expected = format!("1+1@{last} 11+11@{first} 2+-@{last} -+2@{first} END");
    let shown = Bed::of_two(join(interval(0, 0), FullOuter(pair))).run(&format!("{input} END"));
    assert_eq!(shown, expected);
    // In an interval as wide as possible all records match, except those at the two opposite ends of time.
    let all = Interval::new(Span::from_micros(first), Span::MAX).unwrap();
    let shown =
        Bed::of_two(join(all, Inner(inner))).run(&format!("R1@0 L1@{last} L11@{first} R11@{last} END"));
    assert_eq!(shown, format!("1+1@{last} 1+11@{last} END"));
    // Matches of a record at the end of time would lie one microsecond beyond the end, so there are none.
    check(
        (1, 2),
        FullOuter(pair),
        &format!("L1@{last} R1@{last} END"),
        &format!("1+-@{last} -+1@{last} END"),
    );
}

/// State that was saved under another interval is refused: buckets are a quarter of the interval wide, so
/// rows of one saved bucket would lie in two buckets of a narrower interval.
#[test]
fn state_of_another_interval_is_refused() {
    let mut wide = join(interval(0, 800_000), Inner(inner));
    let mut output = Held::new(1);
    for (value, micros) in [(1, 50_000), (11, 150_000)] {
        wide.process_one(Record::new(EventTime::from_micros(micros), Either::Left(value)), &mut output);
    }
    let mut state = StateWriter::default();
    wide.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let load = |upper| join(interval(0, upper), Inner(inner)).load(&mut StateReader::new(&bytes));
    assert_eq!(load(800_000), Ok(()));
    let error = load(300_000).unwrap_err().to_string();
    assert!(error.contains("was the interval changed?"), "{error}");
}

#[test]
fn a_panic_is_blamed_on_it() {
    let divide = |left: &i64, right: &i64| left / right;
    let one = |_: &i64| 1i64;
    let mut bed = Bed::of_two(IntervalJoin::new("broken", interval(0, 0), one, one, Inner(divide)));
    assert_eq!(bed.panics("L1@0 R0@0"), "broken");
    let by = |value: &i64| 1 / value;
    let mut bed = Bed::of_two(IntervalJoin::new("keys", interval(0, 0), by, by, Inner(divide)));
    assert_eq!(bed.panics("L0@0"), "keys");
}

fn many(from: i64, stamp: i64) -> String {
    (from..from + 300).map(|n| format!("L{}@{} R{}@{stamp} ", n % 50, stamp + n, n % 50)).collect()
}

/// The memory of expired buckets is given back, and their tables are reused.
#[test]
fn state_is_paid_before_it_grows_and_freed_as_time_goes_by() {
    let bounded_grant = BoundedGrant::of(1 << 30);
    let mut bed = Bed::of_two(join(interval(-1_000_000, 0), FullOuter(pair)));
    bed.fund(&bounded_grant.allowance());
    let mut held = Vec::new();
    for second in 1..40 {
        bed.run(&format!("{} W{}", many(0, second * 1_000_000), second * 1_000_000));
        held.push(bed.state_bytes());
        assert!(bed.state_bytes() <= bounded_grant.granted());
    }
    assert!(held[0] > 600 * 24, "{held:?}");
    // The join holds the bytes of two seconds of records and of their spare tables, however long the stream
    // goes on.
    assert!(held.iter().all(|&bytes| bytes <= 3 * held[0]), "{held:?}");
}

/// A join that is refused memory drops records without a panic until the query ends.
#[test]
fn refusals_lose_records_and_nothing_else() {
    for bytes in [0, 300, 1_000, 3_000, 10_000, 30_000] {
        let bounded_grant = BoundedGrant::of(bytes);
        let mut bed = Bed::of_two(join(interval(-100, 250_000), FullOuter(pair)));
        bed.fund(&bounded_grant.allowance());
        bed.run(&format!("{} {} W300000 {}", many(0, 0), many(0, 200_000), many(0, 400_000)));
        assert!(bed.state_bytes() <= bytes);
        bed.run("END");
        bed.counts();
    }
}

/// Recomputes an interval join by nested loops over the records that were on time, with times in 128 bits.
/// After the end of a stream no record matches.
fn recompute(
    streams: &TwoStreams,
    (lower, upper): (i64, i64),
    is_left_outer: bool,
    is_right_outer: bool,
) -> Vec<String> {
    let on_time = |side: usize| -> Vec<Judged> {
        let is_on_time = |record: &Judged| record.late_by <= record.time && record.late_by < i64::MAX;
        streams.judged(side).into_iter().filter(is_on_time).collect()
    };
    let (lefts, rights) = (on_time(0), on_time(1));
    let meet = |left: &Judged, right: &Judged| {
        let behind = i128::from(right.time) - i128::from(left.time);
        i128::from(lower) <= behind && behind <= i128::from(upper) && left.value % 10 == right.value % 10
    };
    let mut results = Vec::new();
    for left in &lefts {
        for right in rights.iter().filter(|right| meet(left, right)) {
            results.push((pair(Some(&left.value), Some(&right.value)), left.time.max(right.time)));
        }
        if is_left_outer && !rights.iter().any(|right| meet(left, right)) {
            results.push((pair(Some(&left.value), None), left.time));
        }
    }
    for right in &rights {
        if is_right_outer && !lefts.iter().any(|left| meet(left, right)) {
            results.push((pair(None, Some(&right.value)), right.time));
        }
    }
    sorted(results)
}

fn bounds() -> impl Strategy<Value = (i64, i64)> {
    (-20..20i64, prop_oneof![Just(0i64), 0..30i64]).prop_map(|(lower, length)| (lower, lower + length))
}

/// Draws a bound of an interval: a small one, or one nearly as large as the range of time.
fn bound() -> impl Strategy<Value = i64> {
    prop_oneof![
        -20..20i64,
        (0..40i64).prop_map(|less| i64::MAX - less),
        (0..40i64).prop_map(|less| less - i64::MAX)
    ]
}

/// Returns the same two streams with all times multiplied by `factor`, so that they span many buckets.
fn stretched(streams: &TwoStreams, factor: i64) -> TwoStreams {
    let stretch = |said: &Said| match *said {
        Said::Value { value, time } => Said::Value { value, time: time * factor },
        Said::Watermark(watermark) => Said::Watermark(watermark * factor),
    };
    TwoStreams { sides: streams.sides.each_ref().map(|side| side.iter().map(stretch).collect()) }
}

proptest! {
    /// The results of an interval join equal those of nested loops, with any room, with the streams
    /// interleaved in any way, with state saved and loaded at every watermark or not, in one bucket or in
    /// many.
    #[test]
    fn equals_nested_loops(
        (lower, upper) in bounds(), streams in TwoStreams::any(), run in Run::any(), kind in 0..4u8,
        factor in prop_oneof![Just(1i64), Just(30_000)],
    ) {
        let streams = stretched(&streams, factor);
        let (lower, upper) = (lower * factor, upper * factor);
        let interval = interval(lower, upper);
        let (got, outer) = match kind {
            0 => (run.results(&streams, || join(interval, Inner(inner))), (false, false)),
            1 => {
                let left = |l: &i64, r: Option<&i64>| pair(Some(l), r);
                (run.results(&streams, || join(interval, LeftOuter(left))), (true, false))
            }
            2 => {
                let right = |l: Option<&i64>, r: &i64| pair(l, Some(r));
                (run.results(&streams, || join(interval, RightOuter(right))), (false, true))
            }
            _ => (run.results(&streams, || join(interval, FullOuter(pair))), (true, true)),
        };
        prop_assert_eq!(got, recompute(&streams, (lower, upper), outer.0, outer.1));
    }

    /// Results equal those of nested loops for records and watermarks at both ends of the range of time, and
    /// for bounds that reach from one end to the other.
    #[test]
    fn the_ends_of_time_equal_nested_loops(
        bounds in [bound(), bound()], streams in TwoStreams::any(), ends in [ends_of_time(), ends_of_time()],
        run in Run::any(), is_outer: bool,
    ) {
        let (lower, upper) = (bounds[0].min(bounds[1]), bounds[0].max(bounds[1]));
        let [left, right] = [0, 1].map(|side| streams.moved_to(ends[side]).sides[side].clone());
        let streams = TwoStreams { sides: [left, right] };
        let got = match is_outer {
            true => run.results(&streams, || join(interval(lower, upper), FullOuter(pair))),
            false => run.results(&streams, || join(interval(lower, upper), Inner(inner))),
        };
        prop_assert_eq!(got, recompute(&streams, (lower, upper), is_outer, is_outer));
    }

    #[test]
    fn the_sides_may_be_swapped(
        (lower, upper) in bounds(), streams in TwoStreams::any(), runs in [Run::any(), Run::any()],
    ) {
        let there = runs[0].results(&streams, || join(interval(lower, upper), FullOuter(pair)));
        let back = || join(interval(-upper, -lower), FullOuter(swapped_pair));
        prop_assert_eq!(there, runs[1].results(&streams.swapped(), back));
    }

    /// Results equal those of nested loops when all records have one key, whose list of rows is then long.
    #[test]
    fn one_hot_key_equals_nested_loops(
        (lower, upper) in bounds(),
        times in proptest::collection::vec((any::<bool>(), -300..300i64), 0..800),
        room in prop_oneof![Just(1usize), Just(50)],
    ) {
        let of = |is_left: bool| {
            let side = times.iter().zip(0..).filter(|((left, _), _)| *left == is_left);
            side.map(|((_, time), serial)| Said::Value { value: serial * 10, time: *time }).collect()
        };
        let streams = TwoStreams { sides: [of(true), of(false)] };
        let turns = times.iter().map(|(is_left, _)| !is_left).collect();
        let run = Run { turns, room, restores: false };
        let got = run.results(&streams, || join(interval(lower, upper), FullOuter(pair)));
        prop_assert_eq!(got, recompute(&streams, (lower, upper), true, true));
    }
}
