//! Tests of sliding windows: hand-made cases, comparison with a recomputation from the whole input, and
//! interleavings of two inputs. The key of a value is its last digit, and values are summed. `key=sum@stamp`
//! is a result, and `key=sum!@stamp` an update.

use std::collections::BTreeMap;

use proptest::prelude::*;
use thalweg_model::{Counts, EventTime, Then, TumblingWindows};

use super::*;
use crate::aggregate::Values;
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Event, Sum, sum, together};

/// A sum that can subtract the values which leave a window.
#[derive(Clone, Copy, Debug)]
struct Inverting;

impl Fold<i64> for Inverting {
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
    const INVERTS: bool = true;
    fn unmerge(&self, accumulator: &mut i64, other: &i64) {
        *accumulator -= other;
    }
    fn finish(&self, accumulator: i64) -> i64 {
        accumulator
    }
}

#[derive(Clone, Copy, Debug)]
struct Spans {
    size: i64,
    slide: i64,
    offset: i64,
    lateness: i64,
}

type Summed<F> = SlidingAggregate<i64, i64, fn(&i64) -> i64, F>;

fn sums<F: Fold<i64>>(spans: Spans, fold: F) -> Summed<F> {
    let Spans { size, slide, offset, lateness } = spans;
    let windows = SlidingWindows::of_size(Span::from_micros(size)).every(Span::from_micros(slide)).unwrap();
    let windows = windows.with_offset(Span::from_micros(offset));
    let aggregate: Summed<F> = SlidingAggregate::new("sums", windows, |value| value.rem_euclid(10), fold);
    aggregate.allow_lateness(Span::from_micros(lateness))
}

/// Sorts the results between two marks by stamp and key, since the order within one window is not promised.
fn sorted(shown: &str) -> String {
    let mut tokens: Vec<&str> = shown.split_whitespace().collect();
    let run_of =
        |token: &str| token.split_once('@').map(|(result, stamp)| (result.ends_with('!'), stamp.to_owned()));
    for run in tokens.chunk_by_mut(|a, b| run_of(a).is_some() && run_of(a) == run_of(b)) {
        run.sort_unstable();
    }
    tokens.join(" ")
}

/// Checks windows with sums that are made anew and sums that are continued, with different amounts of room,
/// and with the state saved and loaded wherever possible.
fn check(spans: Spans, input: &str, expected: &str) {
    for room in [1, 2, 100_000] {
        check_one(spans, Sum, room, input, expected);
        check_one(spans, Inverting, room, input, expected);
    }
}

fn check_one<F: Fold<i64, Result = i64> + Copy>(
    spans: Spans,
    fold: F,
    room: usize,
    input: &str,
    expected: &str,
) {
    let bed = || Bed::new(sums(spans, fold)).with_room(room);
    let copies = || Bed::new(Copies::of(sums(spans, fold), 3)).with_room(room);
    let restored = bed().with_restores(move || sums(spans, fold)).run(input);
    let shown = [bed().run(input), restored, copies().run(input)];
    assert_eq!(shown.map(|shown| sorted(&shown)), [expected; 3], "inverts: {}, room {room}", F::INVERTS);
}

const TEN_BY_FIVE: Spans = Spans { size: 10, slide: 5, offset: 0, lateness: 0 };

#[test]
fn a_record_counts_in_each_of_its_windows() {
    check(TEN_BY_FIVE, "1@0 W4 W5 W9 W10", "W4 1=1@4 W5 W9 1=1@9 W10");
    check(TEN_BY_FIVE, "1@0 11@5 2@9 W20", "1=1@4 1=12@9 2=2@9 1=11@14 2=2@14 W20");
    check(TEN_BY_FIVE, "1@-1 W0 W5", "1=1@-1 W0 1=1@4 W5");
    let uneven = Spans { size: 7, slide: 3, ..TEN_BY_FIVE };
    check(uneven, "1@6 W100", "1=1@6 1=1@9 1=1@12 W100");
    check(uneven, "1@7 W100", "1=1@9 1=1@12 W100");
}

#[test]
fn a_key_whose_panes_have_left_has_no_result() {
    // A key whose sum is zero has a result as long as the window contains its values, and none afterwards.
    check(TEN_BY_FIVE, "-4@0 6@3 1@7 W30", "6=2@4 1=1@9 6=2@9 1=1@14 W30");
    check(TEN_BY_FIVE, "-4@0 4@3 1@7 W30", "4=4@4 6=-4@4 1=1@9 4=4@9 6=-4@9 1=1@14 W30");
}

#[test]
fn spans_without_records_are_skipped_however_long() {
    let far = 1_000_000_000_000_000i64;
    let input = format!("1@0 2@{far} END");
    let expected = format!("1=1@4 1=1@9 2=2@{} 2=2@{} END", far + 4, far + 9);
    check(TEN_BY_FIVE, &input, &expected);
}

#[test]
fn windows_at_the_ends_of_time_fire() {
    let (first, last) = (i64::MIN, i64::MAX);
    // The least instant is the start of a window; the last instant, 2^63, is 3 above a multiple of 5.
    let input = format!("1@{first} 2@{last} END");
    let (end, stamp) = (first + 3, last - 1);
    let expected = format!("1=1@{} 1=1@{} 2=2@{stamp} 2=2@{stamp} END", end - 1, end + 4);
    check(TEN_BY_FIVE, &input, &expected);
}

/// If the slide is greater than the size, records between two windows are counted as filtered.
#[test]
fn samples() {
    let samples = Spans { size: 2, slide: 5, offset: 1, lateness: 0 };
    check(samples, "1@0 1@1 1@2 1@3 1@6 W20", "1=2@2 1=1@7 W20");
    let mut bed = Bed::new(sums(samples, Sum));
    bed.run("1@0 1@1 1@3 W3 1@2");
    assert_eq!(bed.counts(), "sums: 4 read, 1 folded, 2 filtered, 1 late");
}

#[test]
fn a_record_that_is_late_for_some_of_its_windows_counts_for_the_others() {
    check(TEN_BY_FIVE, "W5 1@3 W10 1@3 W20", "W5 1=1@9 W10 W20");
    // The record's own input is ahead of the other, so the record is late by its own watermark: the first
    // window does not contain it, although the window has not fired.
    check(TEN_BY_FIVE, "I5 1@3 I0 11@3 W20", "1=11@4 1=12@9 W20");
    let mut bed = Bed::new(sums(TEN_BY_FIVE, Sum));
    bed.run("I5 1@3 I10 1@3 I4 1@3");
    assert_eq!(bed.counts(), "sums: 3 read, 2 folded, 1 late");
}

#[test]
fn updates_replace_what_has_fired() {
    let spans = Spans { lateness: 10, ..TEN_BY_FIVE };
    check(spans, "1@3 W5 11@3 W6 W20", "1=1@4 W5 1=12!@4 W6 1=12@9 W20");
    // Both windows of a late record have fired, and both are updated; a key without an earlier result gets
    // its first one as an update.
    check(spans, "1@3 W10 11@3 2@3 W11", "1=1@4 1=1@9 W10 1=12!@4 2=2!@4 1=12!@9 2=2!@9 W11");
    // Only windows within the allowed lateness are updated; the first window takes no updates from the
    // watermark 15 on.
    check(spans, "1@3 W15 1@3 W16 1@3 W20 1@3 W21", "1=1@4 1=1@9 W15 1=2!@9 W16 1=3!@9 W20 W21");
    // Several late records before one watermark make one update, and a watermark without a late record makes
    // none.
    check(
        spans,
        "1@3 W10 1@4 1@4 W10 W11 1@2 END",
        "1=1@4 1=1@9 W10 1=3!@4 1=3!@9 W10 W11 1=4!@4 1=4!@9 END",
    );
    let mut bed = Bed::new(sums(spans, Sum));
    bed.run("1@3 W15 1@3 W20 1@3");
    assert_eq!(bed.counts(), "sums: 3 read, 2 folded, 1 late");
}

/// A record that is late by its own input may come before its window has fired. It then counts in no result
/// on time, but in an update right after it.
#[test]
fn updates_wait_for_their_window() {
    let spans = Spans { lateness: 10, ..TEN_BY_FIVE };
    check(spans, "I5 1@3 I0 11@3 W5 W10", "1=11@4 1=12!@4 W5 1=12@9 W10");
    check(spans, "I10 1@3 W5 W10 W20", "1=1!@4 W5 1=1!@9 W10 W20");
    check(spans, "I15 1@3 I0 1@3 W20", "1=1@4 1=1@9 1=2!@9 W20");
}

/// Results are right when records alternate between two adjacent panes, between two that are not adjacent,
/// between three, and back to one whose neighbour has fired.
#[test]
fn records_go_to_and_fro() {
    let spans = Spans { slide: 10, ..TEN_BY_FIVE };
    let fro = |stamps: &[i64], rounds: usize| {
        let round: Vec<String> = stamps.iter().map(|stamp| format!("1@{stamp}")).collect();
        vec![round.join(" "); rounds].join(" ")
    };
    let two = fro(&[9, 10], 20);
    check(spans, &format!("{two} W10 {two} W20"), "1=20@9 W10 1=40@19 W20");
    let (before, apart) = (fro(&[-1, -20], 9), fro(&[-1, 30], 9));
    let (three, on) = (fro(&[-5, 5, 15], 9), fro(&[19, 20], 9));
    check(
        spans,
        &format!("{before} {three} {apart} W0 {three} {on} W20 {on} END"),
        "1=9@-11 1=27@-1 W0 1=18@9 1=27@19 W20 1=18@29 1=9@39 END",
    );
}

/// The watermark by which records are late may fall again when another input's records come: a pane that was
/// current by the former watermark then is not.
#[test]
fn inputs_take_turns() {
    let spans = Spans { size: 20, slide: 5, offset: 0, lateness: 2 };
    check(spans, "I12 1@3 I11 1@3 W5 W10 W15", "W5 1=1!@9 W10 1=2@14 W15");
    check(spans, "I12 1@3 I14 1@3 I15 1@3 I2 1@3 W5 W10 W15", "1=1@4 W5 1=1@9 W10 1=3@14 1=4!@14 W15");
}

/// Records of one pane that get later, one microsecond at a time, start a new part of the pane with each
/// window that is closed to them, on time or for updates. There are never more than two parts for each
/// window.
#[test]
fn a_pane_has_no_more_than_two_parts_for_each_window() {
    let spans = Spans { size: 30, slide: 5, offset: 0, lateness: 12 };
    let mut sums = sums(spans, Sum);
    let lost = &mut crate::test_bed::Collected::<Windowed<i64, i64>>::new(1_000);
    for late_by in 0..60 {
        let _ = sums.on_mark(Mark::InputWatermark(EventTime::from_micros(late_by)), lost);
        sums.process(&mut crate::test_bed::Given::of(&[(1, 2)]), lost);
    }
    let parts: Vec<usize> = sums.store.panes.values().map(|pane| pane.tables().count() - 1).collect();
    assert!(parts[..] == [11], "{parts:?} parts of a pane of six windows");
}

#[test]
fn tumbling_windows_are_updated_too() {
    let spans = Spans { size: 10, slide: 10, offset: 0, lateness: 5 };
    check(spans, "1@3 W10 1@4 W12 1@5 W14 1@6 W15 1@7 W30", "1=1@9 W10 1=2!@9 W12 1=3!@9 W14 1=4!@9 W15 W30");
}

#[test]
fn late_records_are_diverted() {
    let mut bed = Bed::new(sums(TEN_BY_FIVE, Sum).divert_late()).with_room(1);
    assert_eq!(bed.run("1@3 W10 7@2 8@4 1@6 END"), "1=1@4 1=1@9 W10 right:7@2 right:8@4 1=1@14 END");
    assert_eq!(bed.counts(), "sums: 4 read, 2 folded, 2 late");
    let allowing = Spans { lateness: 5, ..TEN_BY_FIVE };
    let mut bed = Bed::new(sums(allowing, Sum).divert_late());
    assert_eq!(bed.run("1@3 W10 7@2 W15 8@2 W16"), "1=1@4 1=1@9 W10 7=7!@9 W15 right:8@2 W16");
}

/// After the end of the stream every record is late, since no window ends later than the end of time.
#[test]
fn after_the_end_all_is_late() {
    for lateness in [0, 10] {
        let mut bed = Bed::new(sums(Spans { lateness, ..TEN_BY_FIVE }, Sum));
        let last = i64::MAX;
        assert_eq!(bed.run(&format!("I{last} 1@{last} 1@0 I0 2@0 W20 END")), "2=2@4 2=2@9 W20 END");
        assert_eq!(bed.counts(), "sums: 3 read, 1 folded, 2 late");
    }
}

#[test]
fn where_records_came_in_is_told_to_nobody_behind() {
    assert_eq!(Bed::new(sums(TEN_BY_FIVE, Sum)).run("I3 W2 I4 END"), "W2 END");
}

#[test]
fn a_panic_is_blamed_on_it() {
    let windows = SlidingWindows::of_size(Span::from_micros(10)).every(Span::from_micros(5)).unwrap();
    let broken = || SlidingAggregate::new("broken", windows, |value: &i64| 1 / value, Sum);
    assert_eq!(Bed::new(broken()).panics("0@0"), "broken");
    // The accumulator overflows while panes are merged, and this panic is blamed on the aggregate.
    let most = i64::MAX;
    let overflowing = SlidingAggregate::new("broken", windows, |_: &i64| 0, Sum);
    assert_eq!(Bed::new(overflowing).panics(&format!("{most}@0 {most}@5 W20")), "broken");
}

/// The values of one pane are in the order of arrival, and the panes of a window are in the order of time.
#[test]
fn values_lie_in_order() {
    for lateness in [0, 7] {
        let digits =
            |result: Windowed<i64, Vec<i64>>| result.value.iter().fold(0, |shown, digit| shown * 10 + digit);
        let windows = SlidingWindows::of_size(Span::from_micros(10)).every(Span::from_micros(5)).unwrap();
        let all = SlidingAggregate::new("all", windows, |_: &i64| 0, Values);
        let all = all.allow_lateness(Span::from_micros(lateness));
        let mut bed = Bed::new(Then::new(all, Map::new("digits", digits)));
        assert_eq!(bed.run("1@7 2@3 3@8 4@1 W30"), "24@4 2413@9 13@14 W30");
    }
}

/// If stamps are scattered there may be as many panes as records: all are counted in the state's bytes, and
/// finding one takes no linear search.
#[test]
fn a_hundred_thousand_panes() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut bed = Bed::new(sums(TEN_BY_FIVE, Inverting)).funded_by(&bounded_grant);
    let records: Vec<String> =
        (0..100_000i64).map(|n| format!("1@{}", n * 7_919 % 100_000 * 1_000)).collect();
    let before = bed.state_bytes();
    bed.run(&records.join(" "));
    let bytes = bed.state_bytes();
    assert!(bytes >= before + 100_000 * 16 * 16, "{bytes} bytes in 100,000 panes");
    assert!(
        bytes <= bounded_grant.granted(),
        "{bytes} bytes, and {} were asked for",
        bounded_grant.granted()
    );
    assert_eq!(bed.run("END").matches("1=1@").count(), 200_000);
    assert!(bed.state_bytes() <= 4 * 1_024, "{} bytes when all is over", bed.state_bytes());
}

/// A sliding aggregate does not keep state for which memory was refused, and all state that it keeps was
/// granted.
#[test]
fn state_stays_within_its_allowance() {
    for limit in [0, 100, 1_000, 10_000, 100_000, usize::MAX] {
        let bounded_grant = BoundedGrant::of(limit);
        let spans = Spans { lateness: 100, ..TEN_BY_FIVE };
        let mut bed = Bed::new(sums(spans, Sum)).funded_by(&bounded_grant);
        for round in 0..50i64 {
            let records: Vec<String> = (0..20).map(|n| format!("{n}@{}", round * 3 - n)).collect();
            bed.run(&format!("I{} {} W{}", round * 4, records.join(" "), round * 2));
            let bytes = bed.state_bytes();
            assert!(
                bytes <= bounded_grant.granted(),
                "limit {limit}: {bytes} bytes of {}",
                bounded_grant.granted()
            );
        }
        bed.run("END");
        assert!(bed.state_bytes() <= 8 * 1_024, "{} bytes when all is over", bed.state_bytes());
    }
}

/// If windows are so close that their number is practically unlimited, an operator that is refused memory
/// still returns, so that the query can fail.
#[test]
fn more_windows_than_memory() {
    for lateness in [0, 1 << 50] {
        let spans = Spans { size: 1 << 50, slide: 1 << 37, offset: 0, lateness };
        for limit in [0, 1_000, 3_000, 10_000, 100_000] {
            let bounded_grant = BoundedGrant::of(limit);
            let mut bed = Bed::new(sums(spans, Inverting)).funded_by(&bounded_grant);
            bed.run("1@0");
            bed.run(&format!("I{} 2@5", 1i64 << 45));
            assert!(bed.state_bytes() <= bounded_grant.granted());
            let bounded_grant = BoundedGrant::of(limit);
            let mut bed = Bed::new(sums(spans, Sum)).with_room(1).funded_by(&bounded_grant);
            bed.run("1@0 2@0");
            assert!(bed.state_bytes() <= bounded_grant.granted());
        }
    }
    // The memory granted is enough for the pane, and not for the sum of panes.
    for limit in (0..6_000).step_by(100) {
        let mut operator = sums(Spans { size: 1 << 50, slide: 1 << 37, offset: 0, lateness: 0 }, Sum);
        operator.fund(&BoundedGrant::of(limit).allowance());
        let output = &mut crate::test_bed::Collected::new(3);
        operator.process(&mut crate::test_bed::Given::of(&[(1, 0)]), output);
        let flow = operator.on_mark(Mark::Watermark(EventTime::MAX), output);
        assert_eq!(flow == Flow::More, output.take().len() == 3, "limit {limit}");
    }
}

/// All bytes that accumulators hold are counted while they are held, and given back afterwards.
#[test]
fn what_accumulators_hold_is_counted() {
    for lateness in [0, 7] {
        let spans = Spans { lateness, ..TEN_BY_FIVE };
        let lengths = Map::new("lengths", |result: Windowed<i64, Vec<i64>>| result.value.len() as i64);
        let bounded_grant = BoundedGrant::of(usize::MAX);
        let mut bed = Bed::new(Then::new(sums(spans, Values), lengths)).funded_by(&bounded_grant);
        bed.run("1@0");
        let (little, long) = (bed.state_bytes(), vec!["1@1"; 1_000].join(" "));
        bed.run(&long);
        let much = bed.state_bytes();
        assert!(much >= little + 1_000 * 8, "{much} bytes after {little}");
        assert!(
            much <= bounded_grant.granted(),
            "{much} bytes, and {} were asked for",
            bounded_grant.granted()
        );
        bed.run("W5 1@1 W9 1@1 W10 W40");
        let rest = bed.state_bytes();
        assert!(rest < little + 2_000, "{rest} bytes after {much}");
    }
}

/// A table that records currently go to is emptied as well, so it then has fewer bytes than were noted for
/// it. The count of bytes stays right.
#[test]
fn what_a_table_in_hand_gives_back_is_counted() {
    let lengths = Map::new("lengths", |result: Windowed<i64, Vec<i64>>| result.value.len() as i64);
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut bed = Bed::new(Then::new(sums(TEN_BY_FIVE, Values), lengths)).funded_by(&bounded_grant);
    bed.run("1@0 1@7 1@0 W10");
    let bytes = bed.state_bytes();
    assert!(
        bytes <= bounded_grant.granted(),
        "{bytes} bytes, and {} were asked for",
        bounded_grant.granted()
    );
}

/// An event that a test sends to the aggregate: a record or a watermark.
#[derive(Clone, Copy, Debug)]
enum Step {
    Record { value: i64, stamp: i64, late_by: i64 },
    Watermark(i64),
}

/// Expected results at each watermark, on time and as updates. They are computed by definition, window by
/// window and record by record.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    at_watermarks: Vec<[BTreeMap<(i64, i64), i64>; 2]>,
    late: u64,
    outside: u64,
}

fn recompute(spans: Spans, steps: &[Step]) -> Expected {
    let Spans { size, slide, offset, lateness } = spans;
    let mut expected = Expected::default();
    // For each window end and key: the sum on time, the whole sum, and whether the whole sum has changed
    // since it was emitted.
    let mut windows: BTreeMap<(i64, i64), (Option<i64>, i64, bool)> = BTreeMap::new();
    let mut last = i64::MIN;
    for step in steps {
        match *step {
            Step::Record { value, stamp, late_by } => {
                let (mut in_windows, mut counts) = (0, 0);
                for n in -400..400 {
                    let end = offset + n * slide + size;
                    if !(end - size..end).contains(&stamp) {
                        continue;
                    }
                    in_windows += 1;
                    let place = (end, value.rem_euclid(10));
                    if end > late_by {
                        let window = windows.entry(place).or_default();
                        *window.0.get_or_insert(0) += value;
                        window.1 += value;
                        counts += 1;
                    } else if end + lateness > late_by {
                        let window = windows.entry(place).or_default();
                        window.1 += value;
                        window.2 = true;
                        counts += 1;
                    }
                }
                expected.outside += u64::from(in_windows == 0);
                expected.late += u64::from(in_windows > 0 && counts == 0);
            }
            Step::Watermark(watermark) => {
                let (mut on_time, mut updates) = (BTreeMap::new(), BTreeMap::new());
                for (place, (sum, all, has_changed)) in &mut windows {
                    if place.0 > watermark {
                        continue;
                    }
                    if let (true, Some(sum)) = (place.0 > last, *sum) {
                        on_time.insert(*place, sum);
                    }
                    if std::mem::take(has_changed) {
                        updates.insert(*place, *all);
                    }
                }
                last = watermark;
                expected.at_watermarks.push([on_time, updates]);
            }
        }
    }
    expected
}

/// Runs the steps through an aggregate and parses its output. If asked for, the state is saved and loaded at
/// every watermark.
fn run<F: Fold<i64, Result = i64> + Copy>(
    spans: Spans,
    fold: F,
    steps: &[Step],
    room: usize,
    restores: bool,
) -> Expected {
    let mut bed = Bed::new(sums(spans, fold)).with_room(room);
    if restores {
        bed = bed.with_restores(move || sums(spans, fold));
    }
    let (mut got, mut watermark) = (Expected::default(), i64::MIN);
    for step in steps {
        match *step {
            Step::Record { value, stamp, late_by } => {
                assert_eq!(bed.run(&format!("I{} {value}@{stamp}", late_by.max(watermark))), "");
            }
            Step::Watermark(next) => {
                let shown = bed.run(&format!("W{next}"));
                let (mut maps, mut last_end) = ([BTreeMap::new(), BTreeMap::new()], (i64::MIN, false));
                for token in shown.split_whitespace().filter(|token| token.contains('=')) {
                    let (key, rest) = token.split_once('=').unwrap();
                    let (sum, stamp) = rest.split_once('@').unwrap();
                    let (sum, is_update) = (sum.trim_end_matches('!'), sum.ends_with('!'));
                    let end = stamp.parse::<i64>().unwrap() + 1;
                    assert!(last_end <= (end, is_update), "windows in order, and updates behind: {shown}");
                    last_end = (end, is_update);
                    let place = (end, key.parse().unwrap());
                    let twice = maps[usize::from(is_update)].insert(place, sum.parse().unwrap());
                    assert!(twice.is_none(), "each key of a window once: {shown}");
                }
                watermark = next;
                got.at_watermarks.push(maps);
            }
        }
    }
    let counts = bed.counts();
    let counted = |kind: &str| {
        let counted = counts.split([':', ',']).find_map(|part| part.strip_suffix(kind));
        counted.map_or(0, |number| number.trim().parse().unwrap())
    };
    Expected { late: counted("late"), outside: counted("filtered"), ..got }
}

fn spans() -> impl Strategy<Value = Spans> {
    (1..30i64, 1..30i64, -20..20i64, prop_oneof![Just(0), 0..40i64])
        .prop_map(|(size, slide, offset, lateness)| Spans { size, slide, offset, lateness })
}

/// Draws records around a rising watermark; some records come from an input that is ahead of it.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..6u8, 0..30i64, -40..40i64, 0..40i64);
    proptest::collection::vec(step, 0..80).prop_map(|steps| {
        let mut watermark = -50;
        let mut made: Vec<Step> = steps
            .into_iter()
            .map(|(kind, value, near, ahead)| match kind {
                0 => {
                    watermark += near.max(0);
                    Step::Watermark(watermark)
                }
                1 => Step::Record { value, stamp: watermark + near, late_by: watermark + ahead },
                _ => Step::Record { value, stamp: watermark + near, late_by: watermark },
            })
            .collect();
        made.push(Step::Watermark(1_000));
        made
    })
}

proptest! {
    /// Results equal a recomputation with any room, with the state saved and loaded or not, with sums made
    /// anew or continued.
    #[test]
    fn equals_recomputation(spans in spans(), steps in steps(), room in 1..20usize, restores: bool) {
        let expected = recompute(spans, &steps);
        let got = run(spans, Sum, &steps, room, restores);
        prop_assert_eq!(&got, &expected);
        let got = run(spans, Inverting, &steps, room, restores);
        prop_assert_eq!(&got, &expected);
    }

    /// Tumbling windows have the same results as sliding windows whose slide is their size, also for late
    /// records.
    #[test]
    fn tumbling_equals_sliding_by_its_size(size in 1..30i64, lateness in 0..30i64, steps in steps()) {
        let spans = Spans { size, slide: size, offset: 0, lateness };
        let windows = TumblingWindows::new(Span::from_micros(size)).unwrap();
        let tumbling: Summed<Sum> = SlidingAggregate::new("sums", windows, |value| value.rem_euclid(10), Sum);
        let mut tumbling = Bed::new(tumbling.allow_lateness(Span::from_micros(lateness)));
        let mut sliding = Bed::new(sums(spans, Inverting));
        for step in steps {
            let text = match step {
                Step::Record { value, stamp, late_by } => format!("I{late_by} {value}@{stamp}"),
                Step::Watermark(watermark) => format!("W{watermark}"),
            };
            prop_assert_eq!(sorted(&tumbling.run(&text)), sorted(&sliding.run(&text)));
        }
    }

    /// Results on time, and the last update of each window, are the same however two inputs interleave.
    #[test]
    fn interleavings_make_no_difference(
        spans in spans(),
        sides in [inputs(), inputs()],
        turns in [proptest::collection::vec(any::<bool>(), 80), proptest::collection::vec(any::<bool>(), 80)],
    ) {
        let results = turns.map(|turns| {
            let mut bed = Bed::new(sums(spans, Inverting));
            let shown = bed.run(&together(&sides, turns));
            let (mut on_time, mut last) = (BTreeMap::new(), BTreeMap::new());
            for token in shown.split_whitespace().filter(|token| token.contains('=')) {
                let (key, rest) = token.split_once('=').unwrap();
                let (sum, stamp) = rest.split_once('@').unwrap();
                let place = (stamp.to_owned(), key.to_owned());
                if sum.ends_with('!') {
                    last.insert(place, sum.to_owned());
                } else {
                    assert!(on_time.insert(place, sum.to_owned()).is_none());
                }
            }
            (on_time, last, bed.counts())
        });
        let [one, other] = results;
        prop_assert_eq!(one, other);
    }
}

/// Draws the events of one of two inputs: records and watermarks.
fn inputs() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..4u8, 0..30i64, -30..30i64);
    proptest::collection::vec(event, 0..40).prop_map(|events| {
        let mut watermark = 0;
        let event = |(kind, value, near): (u8, i64, i64)| match kind {
            0 => {
                watermark += near.max(0);
                Event::Watermark(watermark)
            }
            _ => Event::Record { value, stamp: watermark + near },
        };
        events.into_iter().map(event).collect()
    })
}

#[test]
fn late_by_is_saved() {
    let mut bed = Bed::new(sums(TEN_BY_FIVE, Sum));
    bed.run("I10 W2");
    let mut bed = bed.restore_into(sums(TEN_BY_FIVE, Sum));
    assert_eq!(bed.run("1@3 END"), "END");
    assert_eq!(bed.counts(), "sums: 1 read, 1 late");
}

/// An operator and its copies: the operator sees only the watermarks, and the copies see the records.
struct Copies<P> {
    whole: P,
    copies: Vec<P>,
    next: usize,
    watermark: EventTime,
    late_by: EventTime,
}

impl<P> Copies<P> {
    fn of<T>(whole: P, count: usize) -> Self
    where
        P: Operator<T>,
    {
        assert_eq!(P::SHARING, Sharing::Merging);
        let copies = (0..count).map(|_| whole.fork()).collect();
        Copies { whole, copies, next: 0, watermark: EventTime::MIN, late_by: EventTime::MIN }
    }
}

impl<T, P: Operator<T>> Operator<T> for Copies<P> {
    type Out = P::Out;

    fn process<I: Input<T>, O: Output<P::Out>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
            self.note_read(1);
        }
    }

    fn process_one<O: Output<P::Out>>(&mut self, record: Record<T>, output: &mut O) {
        self.next = (self.next + 1) % self.copies.len();
        self.copies[self.next].process_one(record, output);
    }

    fn note_read(&mut self, count: u64) {
        self.copies[self.next].note_read(count);
    }

    fn on_mark<O: Output<P::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        match mark {
            Mark::Watermark(watermark) => self.watermark = watermark,
            Mark::InputWatermark(watermark) => self.late_by = watermark,
            _ => {}
        }
        let late_by = Mark::InputWatermark(self.late_by.max(self.watermark));
        for copy in &mut self.copies {
            if let Mark::Watermark(_) = mark {
                self.whole.absorb(copy);
            }
            assert_eq!(copy.on_mark(late_by, output), Flow::Done);
        }
        if let Mark::InputWatermark(_) = mark { Flow::Done } else { self.whole.on_mark(mark, output) }
    }

    fn resume<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        self.whole.resume(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        self.whole.forward(mark)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let mut all = Counts::default();
        for one in self.copies.iter().chain([&self.whole]) {
            one.visit_counts(&mut |_, counts| all = sum(all, counts));
        }
        self.whole.visit_counts(&mut |name, _| each(name, all));
    }

    fn state_bytes(&self) -> usize {
        self.copies.iter().chain([&self.whole]).map(P::state_bytes).sum()
    }

    fn faulted(&self) -> Option<&str> {
        self.copies.iter().chain([&self.whole]).find_map(P::faulted)
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        unreachable!("copies are put together before state is saved")
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        unreachable!("copies are put together before state is saved")
    }
}
