//! Tests of session windows: hand-made cases, comparison with the definition of records that belong together
//! and with the rule by which a record joins sessions, and interleavings of two inputs. The key of a value is
//! its last digit, and values are summed; `key=sum@stamp` is a result, stamped with the last instant of its
//! session.

mod allowed_lateness;

use std::collections::BTreeMap;

use proptest::prelude::*;
use thalweg_model::{Span, Then};

use super::*;
use crate::aggregate::Values;
use crate::bounded_grant::BoundedGrant;
use crate::map::Map;
use crate::test_bed::{Bed, Event, Sum, together};

type Summed = SessionAggregate<i64, i64, fn(&i64) -> i64, Sum>;

fn sums(gap: i64) -> Summed {
    let gap = SessionGap::new(Span::from_micros(gap)).unwrap();
    SessionAggregate::new("sums", gap, |value| value.rem_euclid(10), Sum)
}

/// Sorts results of sessions that end together by key, since their order is not promised.
fn sorted(shown: &str) -> String {
    let mut tokens: Vec<&str> = shown.split_whitespace().collect();
    let stamp = |token: &str| token.split_once('@').map(|(_, stamp)| stamp.to_owned());
    for run in tokens.chunk_by_mut(|a, b| stamp(a).is_some() && stamp(a) == stamp(b)) {
        run.sort_unstable();
    }
    tokens.join(" ")
}

/// Checks sessions with a gap of 10 µs, with different amounts of room, and with the state saved and loaded
/// wherever possible.
fn check(input: &str, expected: &str) {
    for room in [1, 100_000] {
        let bed = || Bed::new(sums(10)).with_room(room);
        let shown = [bed().run(input), bed().with_restores(|| sums(10)).run(input)];
        assert_eq!(shown.map(|shown| sorted(&shown)), [expected; 2], "room {room}");
    }
}

#[test]
fn a_session_ends_a_gap_behind_its_last_record() {
    check("1@0 11@9 W18 W19", "W18 1=12@18 W19");
    check("1@0 2@5 W10 11@10 W100", "1=1@9 W10 2=2@14 1=11@19 W100");
    check("1@-5 END", "1=1@4 END");
    check("END", "END");
}

/// Two records that are exactly the gap apart make two sessions, whether or not a watermark comes between
/// them.
#[test]
fn sessions_that_touch_stay_apart() {
    check("1@0 11@10 W30", "1=1@9 1=11@19 W30");
    check("11@10 1@0 W30", "1=1@9 1=11@19 W30");
}

#[test]
fn a_record_between_two_sessions_makes_them_one() {
    check("1@0 11@15 21@8 W30", "1=33@24 W30");
    check("11@15 1@0 21@30 31@8 41@23 W60", "1=105@39 W60");
    check("1@0 11@15 21@30 31@45 41@8 W60", "1=53@24 1=21@39 1=31@54 W60");
    // A record that overlaps only one of two sessions joins that session and does not merge the two.
    check("1@0 11@15 21@5 W30", "1=22@14 1=11@24 W30");
}

#[test]
fn sessions_end_in_order_whatever_was_extended() {
    // The timer of the first session goes off at 10, and finds that the session lasts until 27 by now.
    check("1@0 2@5 1@8 1@17 W40", "2=2@14 1=3@26 W40");
    check("1@0 2@5 1@8 1@17 W20 3@21 W40", "2=2@14 W20 1=3@26 3=3@30 W40");
}

#[test]
fn a_record_whose_own_session_would_be_over_is_late() {
    let mut bed = Bed::new(sums(10));
    assert_eq!(bed.run("1@0 1@9 W12 1@2 1@3 W40"), "W12 1=3@18 W40");
    assert_eq!(bed.counts(), "sums: 4 read, 3 folded, 1 late");
    // A record joins no session that has ended. It is not late and starts a new session, if its own session,
    // taken alone, has not ended.
    check("1@0 W10 11@5 W40", "1=1@9 W10 1=11@14 W40");
}

#[test]
fn lateness_is_that_of_its_own_edge() {
    // The record's own input is ahead of the other: the record is late by its own input's watermark, although
    // the session is open.
    check("1@9 I12 1@2 1@3 W40", "1=2@18 W40");
    // The first record's session has ended by the watermark of the second record's input, so the two records
    // make two sessions, in either order.
    check("1@0 I10 11@5 W40", "1=1@9 1=11@14 W40");
    check("I10 11@5 I0 1@0 W40", "1=1@9 1=11@14 W40");
    // A third record joins both sessions: neither had ended by its own input's watermark, nor had its session
    // by theirs.
    check("I10 11@5 I0 1@0 21@1 W40", "1=33@14 W40");
    check("21@1 1@0 I10 11@5 W40", "1=33@14 W40");
}

#[test]
fn at_the_ends_of_time() {
    let (first, last) = (i64::MIN, i64::MAX);
    let input = format!("1@{first} 2@{last} 12@{} 22@{last} END", last - 5);
    check(&input, &format!("1=1@{} 2=36@{} END", first + 9, last - 1));
    let mut bed = Bed::new(sums(10));
    assert_eq!(bed.run(&format!("W{last} 1@{last} END")), format!("W{last} END"));
    assert_eq!(bed.counts(), "sums: 1 read, 1 late");
}

#[test]
fn late_records_are_diverted() {
    let mut bed = Bed::new(sums(10).divert_late()).with_room(1);
    assert_eq!(bed.run("1@0 W10 7@0 8@-3 2@1 END"), "1=1@9 W10 right:7@0 right:8@-3 2=2@10 END");
    assert_eq!(bed.counts(), "sums: 4 read, 2 folded, 2 late");
}

#[test]
fn where_records_came_in_is_told_to_nobody_behind() {
    assert_eq!(Bed::new(sums(10)).run("I3 W2 I4 END"), "W2 END");
}

#[test]
fn a_panic_is_blamed_on_it() {
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let mut bed = Bed::new(SessionAggregate::new("broken", gap, |value: &i64| 1 / value, Sum));
    assert_eq!(bed.panics("0@0"), "broken");
}

/// The values of merged sessions are in the order of the sessions' times.
#[test]
fn values_of_merged_sessions_lie_one_behind_the_other() {
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let all = SessionAggregate::new("all", gap, |_: &i64| 0, Values);
    let digits =
        |result: Windowed<i64, Vec<i64>>| result.value.iter().fold(0, |shown, digit| shown * 10 + digit);
    let mut bed = Bed::new(Then::new(all, Map::new("digits", digits)));
    assert_eq!(bed.run("5@15 6@16 1@0 2@3 9@8 W50"), "12569@25 W50");
    assert_eq!(bed.run("1@100 2@103 5@115 6@116 9@108 W150"), "12569@125 W150");
}

/// One key may have as many sessions as records: all are counted in the state's bytes, and finding one takes
/// no linear search. When a record merges two sessions, the timer that is left over is removed in the end.
#[test]
fn a_hundred_thousand_sessions_of_one_key() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut bed = Bed::new(sums(10)).funded_by(&bounded_grant);
    let records: Vec<String> = (0..100_000i64).map(|n| format!("1@{}", n * 7_919 % 100_000 * 15)).collect();
    let before = bed.state_bytes();
    bed.run(&records.join(" "));
    let bytes = bed.state_bytes();
    assert!(bytes >= before + 100_000 * 64, "{bytes} bytes in 100,000 sessions");
    assert!(
        bytes <= bounded_grant.granted(),
        "{bytes} bytes, and {} were asked for",
        bounded_grant.granted()
    );
    let between: Vec<String> = (0..99_999i64).map(|n| format!("1@{}", n * 15 + 8)).collect();
    assert_eq!(bed.run(&between.join(" ")), "");
    assert_eq!(bed.run("END"), format!("1=199999@{} END", 99_999 * 15 + 9));
}

/// A key's second session takes a whole tree node, which has room for eleven sessions, and its bytes are
/// counted.
#[test]
fn second_sessions_of_many_keys_are_counted() {
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let mut bed = Bed::new(SessionAggregate::new("sums", gap, |value: &i64| *value, Sum));
    let at = |stamp: i64| (0..1_000).map(|key| format!("{key}@{stamp}")).collect::<Vec<_>>().join(" ");
    bed.run(&at(0));
    let one_each = bed.state_bytes();
    bed.run(&at(100));
    let two_each = bed.state_bytes();
    assert!(two_each >= one_each + 1_000 * 11 * 48, "{two_each} bytes after {one_each}");
    bed.run("W50");
    assert!(bed.state_bytes() <= two_each - 1_000 * 11 * 48, "{} bytes of {two_each}", bed.state_bytes());
}

/// Memory does not grow if sessions are opened and merged without end, far ahead of the watermark.
#[test]
fn timers_without_a_session_are_swept_out() {
    let mut bed = Bed::new(sums(1_000));
    let mut stamp = 0;
    let mut most = 0;
    for round in 0..5_000 {
        bed.run(&format!("1@{stamp} 1@{} 1@{}", stamp + 1_500, stamp + 800));
        stamp += 1_500;
        if round == 100 {
            most = bed.state_bytes();
        }
    }
    assert!(bed.state_bytes() <= most, "{} bytes after {most}", bed.state_bytes());
    assert_eq!(bed.run("END").matches("1=").count(), 1);
}

/// A session aggregate does not keep state for which memory was refused, and all state that it keeps was
/// granted.
#[test]
fn state_stays_within_its_allowance() {
    for limit in [0, 1_000, 10_000, 100_000, usize::MAX] {
        let bounded_grant = BoundedGrant::of(limit);
        let mut bed = Bed::new(sums(5)).funded_by(&bounded_grant);
        for round in 0..50i64 {
            let records: Vec<String> = (0..40).map(|n| format!("{n}@{}", round * 20 + n * 7 % 33)).collect();
            bed.run(&format!("{} W{}", records.join(" "), round * 20));
            let bytes = bed.state_bytes();
            assert!(
                bytes <= bounded_grant.granted(),
                "limit {limit}: {bytes} bytes of {}",
                bounded_grant.granted()
            );
        }
        bed.run("END");
    }
}

#[test]
fn what_accumulators_hold_is_counted() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let all = SessionAggregate::new("all", gap, |_: &i64| 0, Values);
    let lengths = Map::new("lengths", |result: Windowed<i64, Vec<i64>>| result.value.len() as i64);
    let mut bed = Bed::new(Then::new(all, lengths)).funded_by(&bounded_grant);
    bed.run("1@100");
    let little = bed.state_bytes();
    // Two sessions with a thousand values each are merged into one.
    bed.run(&format!("{} {} 1@8", ["1@0"; 1_000].join(" "), ["1@16"; 1_000].join(" ")));
    let much = bed.state_bytes();
    assert!((little + 2_001 * 8..=bounded_grant.granted()).contains(&much), "{much} bytes after {little}");
    assert_eq!(bed.run("W50"), "2001@25 W50");
    assert!(bed.state_bytes() < little + 1_000, "{} bytes after {little}", bed.state_bytes());
}

#[derive(Clone, Copy, Debug)]
struct Came {
    value: i64,
    stamp: i64,
    late_by: i64,
}

/// Sessions found by a test: the sum of each, by its key, start and end.
type Found = BTreeMap<(i64, i64, i64), i64>;

/// Finds sessions by definition: first pairs of records that belong together, then groups of records that are
/// connected by such pairs.
fn by_definition(gap: i64, records: &[Came]) -> Found {
    let on_time: Vec<Came> = records.iter().copied().filter(|it| it.stamp + gap > it.late_by).collect();
    let mut groups: Vec<usize> = (0..on_time.len()).collect();
    for (i, one) in on_time.iter().enumerate() {
        for (j, other) in on_time.iter().enumerate() {
            let is_near = (one.stamp - other.stamp).abs() < gap;
            let was_open = one.stamp + gap > other.late_by && other.stamp + gap > one.late_by;
            if one.value.rem_euclid(10) == other.value.rem_euclid(10) && is_near && was_open {
                let (from, to) = (groups[i], groups[j]);
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
    }
    let mut found = Found::new();
    for group in 0..on_time.len() {
        let members: Vec<&Came> =
            on_time.iter().zip(&groups).filter(|(_, of)| **of == group).map(|(came, _)| came).collect();
        if let (Some(first), Some(last)) =
            (members.iter().map(|it| it.stamp).min(), members.iter().map(|it| it.stamp).max())
        {
            let sum = members.iter().map(|it| it.value).sum();
            let key = members[0].value.rem_euclid(10);
            assert!(found.insert((key, first, last + gap), sum).is_none());
        }
    }
    found
}

/// Finds sessions by the rule for one input: a record that is not late joins the sessions of its key that it
/// overlaps and that have not ended.
fn by_the_rule(gap: i64, records: &[Came]) -> Found {
    let mut sessions: Vec<((i64, i64, i64), i64)> = Vec::new();
    for came in records.iter().filter(|it| it.stamp + gap > it.late_by) {
        let key = came.value.rem_euclid(10);
        let (mut start, mut end, mut sum) = (came.stamp, came.stamp + gap, came.value);
        sessions.retain(|((of, other_start, other_end), other_sum)| {
            let joins = *of == key
                && *other_end > came.late_by
                && *other_start < came.stamp + gap
                && *other_end > came.stamp;
            if joins {
                (start, end) = (start.min(*other_start), end.max(*other_end));
                sum += other_sum;
            }
            !joins
        });
        sessions.push(((key, start, end), sum));
    }
    sessions.into_iter().collect()
}

/// Returns the sessions that were emitted. Asserts that each came at the first watermark that had reached its
/// end.
fn found(gap: i64, events: &[(Came, Option<i64>)], room: usize) -> Found {
    let fresh = move || sums(gap);
    let mut bed = Bed::new(fresh()).with_room(room).with_restores(fresh);
    let (mut found, mut last) = (Found::new(), i64::MIN);
    let mut read = |shown: &str, watermark: i64| {
        let mut last_end = last;
        for token in shown.split_whitespace().filter(|token| token.contains('=')) {
            let (key, rest) = token.split_once('=').unwrap();
            let (sum, stamp) = rest.split_once('@').unwrap();
            let end = stamp.parse::<i64>().unwrap() + 1;
            assert!(last_end <= end && end <= watermark && end > last, "{shown} at {watermark}");
            last_end = end;
            // Results do not show the start of a session, so the expected sessions are compared without
            // starts as well.
            *found.entry((key.parse().unwrap(), 0, end)).or_insert(0) += sum.parse::<i64>().unwrap();
        }
        last = watermark;
    };
    for (came, watermark) in events {
        bed.run(&format!("I{} {}@{}", came.late_by, came.value, came.stamp));
        if let Some(watermark) = watermark {
            read(&bed.run(&format!("W{watermark}")), *watermark);
        }
    }
    read(&bed.run("END"), i64::MAX);
    found
}

/// Returns the sessions without their starts. Two sessions of a key that end together are added up.
fn ends(found: Found) -> Found {
    let mut ends = Found::new();
    for ((key, _, end), sum) in found {
        *ends.entry((key, 0, end)).or_insert(0) += sum;
    }
    ends
}

/// Draws records around a rising watermark. Records of an input that is ahead are judged by a later
/// watermark.
fn events(ahead: impl Strategy<Value = i64>) -> impl Strategy<Value = Vec<(Came, Option<i64>)>> {
    let event = (0..50i64, -30..40i64, ahead, 0..12i64);
    proptest::collection::vec(event, 0..60).prop_map(|events| {
        let mut watermark = 0;
        let event = |(value, near, ahead, step): (i64, i64, i64, i64)| {
            let came = Came { value, stamp: watermark + near, late_by: watermark + ahead };
            watermark += (step - 8).max(0);
            (came, (step > 8).then_some(watermark))
        };
        events.into_iter().map(event).collect()
    })
}

/// Draws the events of one of two inputs: records and watermarks.
fn input() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec((0..4u8, 0..30i64, -30..30i64), 0..40).prop_map(|events| {
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

proptest! {
    #[test]
    fn equals_the_definition(gap in 1..25i64, events in events(0..30i64), room in 1..5usize) {
        let records: Vec<Came> = events.iter().map(|(came, _)| *came).collect();
        prop_assert_eq!(found(gap, &events, room), ends(by_definition(gap, &records)));
    }

    #[test]
    fn with_one_input_records_join_what_is_open(gap in 1..25i64, events in events(Just(0)), room in 1..5usize) {
        let records: Vec<Came> = events.iter().map(|(came, _)| *came).collect();
        let sessions = by_the_rule(gap, &records);
        prop_assert_eq!(&sessions, &by_definition(gap, &records));
        prop_assert_eq!(found(gap, &events, room), ends(sessions));
    }

    /// Sessions and the number of late records are the same however two inputs interleave.
    #[test]
    fn interleavings_make_no_difference(
        gap in 1..25i64,
        sides in [input(), input()],
        turns in [proptest::collection::vec(any::<bool>(), 80), proptest::collection::vec(any::<bool>(), 80)],
    ) {
        let [one, other] = turns.map(|turns| {
            let mut bed = Bed::new(sums(gap));
            let shown = bed.run(&together(&sides, turns));
            let mut sessions: Vec<String> =
                shown.split_whitespace().filter(|token| token.contains('=')).map(str::to_owned).collect();
            sessions.sort_unstable();
            (sessions, bed.counts())
        });
        prop_assert_eq!(one, other);
    }
}
