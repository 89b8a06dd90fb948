//! Tests of sessions with allowed lateness: hand-made cases, cases at the borders, and comparison with
//! sessions without allowed lateness. A result `key=sum!@stamp` is an update.

use super::*;

fn lenient(gap: i64, lateness: i64) -> Summed {
    sums(gap).allow_lateness(Span::from_micros(lateness))
}

/// Checks sessions with a gap of 10 µs, with different amounts of room, and with the state saved and loaded
/// wherever possible.
fn check(lateness: i64, input: &str, expected: &str) {
    for room in [1, 100_000] {
        let bed = || Bed::new(lenient(10, lateness)).with_room(room);
        let shown = [bed().run(input), bed().with_restores(move || lenient(10, lateness)).run(input)];
        assert_eq!(shown.map(|shown| sorted(&shown)), [expected; 2], "room {room}");
    }
}

#[test]
fn a_late_record_updates_its_session_at_the_next_watermark() {
    check(20, "1@0 W10 11@0 21@-1 W11 W40", "1=1@9 W10 1=33!@9 W11 W40");
    check(20, "1@0 W10 11@0 W11 21@1 31@0 W12", "1=1@9 W10 1=12!@9 W11 1=64!@10 W12");
    check(20, "1@0 2@0 W10 11@0 END", "1=1@9 2=2@9 W10 1=12!@9 END");
}

#[test]
fn a_late_record_may_make_a_session_of_its_own() {
    check(20, "W10 1@-5 W11", "W10 1=1!@4 W11");
    check(20, "1@0 W30 1@15 11@16 W31", "1=1@9 W30 1=12!@25 W31");
}

/// A late record merges two sessions that were emitted already: one update covers both, and the earlier
/// results are not retracted.
#[test]
fn a_late_record_between_two_sessions_makes_them_one() {
    check(20, "1@0 11@15 W25 21@8 W26", "1=1@9 1=11@24 W25 1=33!@24 W26");
    // A late record that overlaps only one of two sessions updates this one alone.
    check(20, "1@0 11@15 W25 21@5 W26", "1=1@9 1=11@24 W25 1=22!@14 W26");
}

#[test]
fn at_the_borders_of_what_is_allowed() {
    let counts = |lateness, input| {
        let mut bed = Bed::new(lenient(10, lateness));
        bed.run(input);
        bed.counts()
    };
    assert_eq!(counts(5, "1@0 W14 1@0"), "sums: 2 read, 2 folded");
    assert_eq!(counts(5, "1@0 W15 1@0"), "sums: 2 read, 1 folded, 1 late");
    assert_eq!(counts(0, "1@0 W10 1@0"), "sums: 2 read, 1 folded, 1 late");
    assert_eq!(counts(-5, "1@0 W9 1@0 W10 1@0"), "sums: 3 read, 2 folded, 1 late");
    // A session that ended longer ago than the allowed lateness takes no update, although the record's span
    // overlaps it.
    check(5, "1@0 W14 11@4 W15 21@1 W16", "1=1@9 W14 1=12!@13 W15 1=33!@13 W16");
    check(5, "1@0 W15 11@5 W16", "1=1@9 W15 1=11!@14 W16");
}

/// Results on time are the same as without allowed lateness. The update comes when all sessions that belong
/// together have ended.
#[test]
fn an_update_waits_for_an_open_session() {
    check(20, "1@0 W10 11@15 W18 21@8 W19 W25", "1=1@9 W10 W18 W19 1=11@24 1=33!@24 W25");
    check(20, "11@15 W18 21@8 W19 31@20 W25 W30", "W18 W19 W25 1=42@29 1=63!@29 W30");
    // An update that waits for an open session may come later than the allowed lateness of the session
    // itself.
    check(2, "1@0 W10 11@10 W11 21@1 W15 W20 W25", "1=1@9 W10 W11 W15 1=11@19 1=33!@19 W20 W25");
    check(
        2,
        "1@0 W10 11@10 W11 21@1 W20 W21 31@11 W22",
        "1=1@9 W10 W11 1=11@19 1=33!@19 W20 W21 1=64!@20 W22",
    );
}

/// The record at 5 belongs to no session that had ended by 10; the late record at 1 belongs to both sessions.
#[test]
fn records_in_time_join_what_has_fired_only_by_way_of_late_ones() {
    check(20, "1@0 W10 11@5 W15", "1=1@9 W10 1=11@14 W15");
    check(20, "1@0 W10 11@5 W12 21@1 W15", "1=1@9 W10 W12 1=11@14 1=33!@14 W15");
}

#[test]
fn each_input_by_its_own_watermark() {
    // The record is late by its own input's watermark, although no session has ended by the operator's
    // watermark.
    check(25, "I30 1@0 W5 W10", "W5 1=1!@9 W10");
    check(25, "2@1 I30 1@0 12@1 W5 W11", "W5 2=2@10 1=1!@9 2=14!@10 W11");
}

#[test]
fn at_the_ends_of_time() {
    let (first, last) = (i64::MIN, i64::MAX);
    let shown = format!("W{} 1=1!@{} END", last - 5, last - 11);
    check(last, &format!("W{} 1@{} END", last - 5, last - 20), &shown);
    let input = format!("1@{first} W{} 11@{first} W{}", first + 10, first + 11);
    let shown = format!("1=1@{0} W{1} 1=12!@{0} W{2}", first + 9, first + 10, first + 11);
    check(last, &input, &shown);
    let mut bed = Bed::new(lenient(10, last));
    assert_eq!(bed.run(&format!("W{last} 1@{first} END")), format!("W{last} END"));
    assert_eq!(bed.counts(), "sums: 1 read, 1 late");
}

#[test]
fn records_that_are_too_late_are_diverted() {
    let mut bed = Bed::new(lenient(10, 5).divert_late()).with_room(1);
    assert_eq!(bed.run("1@0 W14 7@0 W15 8@0 END"), "1=1@9 W14 7=7!@9 W15 right:8@0 END");
    assert_eq!(bed.counts(), "sums: 3 read, 2 folded, 1 late");
}

/// The values of merged sessions are in the order of the sessions' times, and late values come after the
/// others.
#[test]
fn values_of_an_update_lie_one_behind_the_other() {
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let all = SessionAggregate::new("all", gap, |_: &i64| 0, Values).allow_lateness(Span::from_micros(50));
    let digits =
        |result: Windowed<i64, Vec<i64>>| result.value.iter().fold(0, |shown, digit| shown * 10 + digit);
    let mut bed = Bed::new(Then::new(all, Map::new("digits", digits)));
    assert_eq!(bed.run("5@15 6@16 1@0 2@3 W20 9@8 W50"), "12@12 W20 56@25 12956@25 W50");
}

/// Sessions that take no more updates are dropped with their contents.
#[test]
fn state_does_not_grow() {
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    let all = SessionAggregate::new("all", gap, |value: &i64| value % 10, Values);
    let lengths = Map::new("lengths", |result: Windowed<i64, Vec<i64>>| result.value.len() as i64);
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut bed =
        Bed::new(Then::new(all.allow_lateness(Span::from_micros(40)), lengths)).funded_by(&bounded_grant);
    let mut most = 0;
    for round in 0..2_000i64 {
        let stamp = round * 100;
        bed.run(&format!("1@{stamp} 2@{} 1@{} W{}", stamp + 3, stamp + 20, stamp + 40));
        bed.run(&format!("1@{} 3@{} 1@{} W{}", stamp + 9, stamp + 8, stamp + 25, stamp + 50));
        if round < 100 {
            most = most.max(bed.state_bytes());
        }
        assert!(bed.state_bytes() <= most, "{} bytes in round {round}, {most} before", bed.state_bytes());
    }
    assert!(most <= bounded_grant.granted(), "{most} bytes of {}", bounded_grant.granted());
}

/// Timers that are left over from merged sessions are removed, even if no timer is ever due. One input is far
/// ahead of the other, and its late records open and merge sessions without end.
#[test]
fn timers_of_updates_are_swept_out() {
    let mut bed = Bed::new(lenient(1_000, 1 << 40));
    let (mut stamp, mut most) = (0, 0);
    for round in 0..5_000 {
        bed.run(&format!("I{} 1@{stamp} 1@{} 1@{}", 1i64 << 39, stamp + 1_500, stamp + 800));
        stamp += 1_500;
        if round == 100 {
            most = bed.state_bytes();
        }
    }
    assert!(bed.state_bytes() <= most, "{} bytes after {most}", bed.state_bytes());
    assert_eq!(bed.run("END").matches("!").count(), 1);
}

/// A session aggregate with allowed lateness does not keep state for which memory was refused, and all state
/// that it keeps was granted.
#[test]
fn state_stays_within_its_allowance() {
    for limit in [0, 1_000, 10_000, 100_000, usize::MAX] {
        let bounded_grant = BoundedGrant::of(limit);
        let mut bed = Bed::new(lenient(5, 50)).funded_by(&bounded_grant);
        for round in 0..50i64 {
            let records: Vec<String> = (0..40).map(|n| format!("{n}@{}", round * 20 - n * 7 % 60)).collect();
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

/// Returns the results on time, and for each key the last update of the session that ends last.
fn on_time_and_last(shown: &str) -> (Vec<String>, BTreeMap<String, (i64, String)>) {
    let (mut on_time, mut last) = (Vec::new(), BTreeMap::new());
    for token in shown.split_whitespace().filter(|token| token.contains('=')) {
        let Some((result, stamp)) = token.split_once("!@") else {
            on_time.push(token.to_owned());
            continue;
        };
        let (key, sum) = result.split_once('=').unwrap();
        let found = (stamp.parse().unwrap(), sum.to_owned());
        let known = last.entry(key.to_owned()).or_insert(found.clone());
        if known.0 <= found.0 {
            *known = found;
        }
    }
    on_time.sort();
    (on_time, last)
}

proptest! {
    /// Results on time are the same with allowed lateness and without, whenever late records come. Only the
    /// order among results that end together may differ.
    #[test]
    fn what_fires_on_time_is_the_same(
        gap in 1..25i64, lateness in 1..60i64, events in events(0..30i64), room in 1..5usize,
    ) {
        let [(strict, none), (on_time, _)] = [sums(gap), lenient(gap, lateness)].map(|sessions| {
            let mut bed = Bed::new(sessions).with_room(room);
            let mut shown = String::new();
            for (came, watermark) in &events {
                let mark = watermark.map_or(String::new(), |watermark| format!(" W{watermark}"));
                let input = format!("I{} {}@{}{mark} ", came.late_by, came.value, came.stamp);
                shown.push_str(&(bed.run(&input) + " "));
            }
            shown.push_str(&bed.run("END"));
            on_time_and_last(&shown)
        });
        prop_assert_eq!(none.len(), 0);
        prop_assert_eq!(strict, on_time);
    }

    /// Results on time, the number of late records, and the last update of records that belong together are
    /// the same however two inputs interleave.
    #[test]
    fn interleavings_make_no_difference(
        gap in 1..25i64,
        lateness in 0..60i64,
        sides in [input(), input()],
        turns in [proptest::collection::vec(any::<bool>(), 80), proptest::collection::vec(any::<bool>(), 80)],
    ) {
        let [one, other] = turns.map(|turns| {
            let mut bed = Bed::new(lenient(gap, lateness));
            (on_time_and_last(&bed.run(&together(&sides, turns))), bed.counts())
        });
        prop_assert_eq!(one, other);
    }
}
