//! Tests of tumbling windows: hand-made cases, and comparison with a recomputation from the whole input. The
//! key of a value is its last digit, and values are summed; `key=sum@stamp` is a result.

use std::collections::BTreeMap;

use proptest::prelude::*;
use thalweg_model::{Span, Then, TumblingWindows, Windowed};

use super::*;
use crate::filter::Filter;
use crate::map::Map;
use crate::test_bed::{Bed, Sum};

type Summed = TumblingAggregate<i64, i64, fn(&i64) -> i64, Sum>;

fn sums(size: i64) -> Summed {
    let windows = TumblingWindows::new(Span::from_micros(size)).unwrap();
    TumblingAggregate::new("sums", windows, |value| value % 10, Sum)
}

/// Sorts the results between two marks by stamp and key, since the order within one window is not promised.
fn sorted(shown: &str) -> String {
    let mut tokens: Vec<&str> = shown.split_whitespace().collect();
    let stamp = |token: &str| token.split_once('@').map(|(_, stamp)| stamp.parse::<i64>().unwrap());
    // The results of one window are neighbours, so sorting runs of results with equal stamps leaves the order
    // of windows as it was.
    for run in tokens.chunk_by_mut(|a, b| stamp(a).is_some() && stamp(a) == stamp(b)) {
        run.sort_unstable();
    }
    tokens.join(" ")
}

fn check(input: &str, expected: &str) {
    assert_eq!(sorted(&Bed::new(sums(10)).run(input)), expected);
    let one_by_one = Bed::new(sums(10)).with_room(1).run(input);
    assert_eq!(sorted(&one_by_one), expected, "with room for one result at a time");
}

#[test]
fn a_window_fires_when_the_watermark_reaches_its_end() {
    check("1@0 2@5 11@9 W9 W10", "W9 1=12@9 2=2@9 W10");
    check("1@9 1@10 W10 1@11 W30", "1=1@9 W10 1=2@19 W30");
}

#[test]
fn windows_fire_in_the_order_of_their_ends() {
    check("1@35 2@5 3@15 1@3 W100", "1=1@9 2=2@9 3=3@19 1=1@39 W100");
    check("1@-15 2@-1 W0", "1=1@-11 2=2@-1 W0");
}

#[test]
fn the_end_fires_everything() {
    check("1@0 1@100 END", "1=1@9 1=1@109 END");
    check("END", "END");
}

/// A record is late if the watermark at its position has closed its window. A record that is behind the
/// watermark is not late if its window is still open.
#[test]
fn late_records_are_counted_and_merged_into_nothing() {
    let mut bed = Bed::new(sums(10));
    assert_eq!(bed.run("1@12 W12 1@9 1@11 W20 1@19 W40"), "W12 1=2@19 W20 W40");
    assert_eq!(bed.counts(), "sums: 4 read, 2 folded, 2 late");
}

#[test]
fn the_last_window_of_time_keeps_its_records_together() {
    let last = i64::MAX;
    check(&format!("1@{last} 11@{last} END"), &format!("1=12@{} END", last - 1));
}

#[test]
fn a_panic_is_blamed_on_it() {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    let mut bed = Bed::new(TumblingAggregate::new("broken", windows, |value: &i64| 1 / value, Sum));
    assert_eq!(bed.panics("0@0"), "broken");
}

/// A window aggregate works in the middle of a chain: the operator before it feeds it, and the operator
/// behind it gets its results.
#[test]
fn in_a_chain_it_emits_through_what_follows() {
    let before = Filter::new("positive", |value: &i64| *value > 0);
    let after = Map::new("negate", |result: Windowed<i64, i64>| -result.value);
    let mut bed = Bed::new(Then::new(before, Then::new(sums(10), after))).with_room(1);
    assert_eq!(sorted(&bed.run("1@1 -5@2 2@3 W10 END")), "-1@9 -2@9 W10 END");
    assert_eq!(
        bed.counts(),
        "positive: 3 read, 2 forwarded, 1 filtered; sums: 2 read, 2 folded; negate: 2 read, 2 forwarded"
    );
}

#[test]
fn state_grows_with_keys_and_tables_are_used_again() {
    let windows = TumblingWindows::new(Span::from_micros(10)).unwrap();
    let mut bed = Bed::new(TumblingAggregate::new("sums", windows, |value: &i64| *value, Sum));
    let mut fill = |window: i64| {
        let records: Vec<String> = (0..1_000).map(|key| format!("{key}@{}", window * 10)).collect();
        bed.run(&format!("W{} {}", window * 10, records.join(" ")));
        bed.state_bytes()
    };
    let full = fill(0);
    assert!(full >= 1_000 * 16, "{full} bytes for 1,000 keys");
    for window in 1..20 {
        let bytes = fill(window);
        assert!(bytes <= 2 * full, "tables of fired windows serve the next: {bytes} bytes after {full}");
    }
}

/// Recomputes the sums of windows in a map, by definition. The watermark before a record decides whether the
/// record is late.
fn recompute(events: &[(i64, i64)], watermarks: &[i64], size: i64) -> BTreeMap<(i64, i64), i64> {
    let mut sums = BTreeMap::new();
    for (place, &(value, stamp)) in events.iter().enumerate() {
        let start = stamp.div_euclid(size) * size;
        if start + size > watermarks[place] {
            *sums.entry((start, value % 10)).or_insert(0) += value;
        }
    }
    sums
}

proptest! {
    #[test]
    fn equals_recomputation_at_any_room_and_across_a_restore(
        size in 1..50i64,
        room in 1..40usize,
        restore_at in 0..60usize,
        events in proptest::collection::vec((0..1000i64, -100..100i64, 0..5u8), 0..60),
    ) {
        let mut bed = Bed::new(sums(size)).with_room(room);
        let (mut watermark, mut watermarks, mut plain) = (i64::MIN, Vec::new(), Vec::new());
        let mut shown = String::new();
        for (place, &(value, stamp, kind)) in events.iter().enumerate() {
            if place == restore_at {
                bed = bed.restore_into(sums(size));
            }
            watermarks.push(watermark);
            plain.push((value, stamp));
            shown += &bed.run(&format!("{value}@{stamp}"));
            if kind == 0 && stamp > watermark {
                watermark = stamp;
                shown += &format!(" {} ", bed.run(&format!("W{watermark}")));
            }
        }
        shown += &format!(" {}", bed.run("END"));
        let mut got = BTreeMap::new();
        for token in shown.split_whitespace().filter(|token| token.contains('=')) {
            let (key, rest) = token.split_once('=').unwrap();
            let (sum, stamp) = rest.split_once('@').unwrap();
            let start = stamp.parse::<i64>().unwrap() + 1 - size;
            let twice = got.insert((start, key.parse::<i64>().unwrap()), sum.parse::<i64>().unwrap());
            prop_assert!(twice.is_none(), "each key of a window fires once");
        }
        prop_assert_eq!(got, recompute(&plain, &watermarks, size));
    }
}
