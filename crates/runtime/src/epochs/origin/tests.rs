//! Tests of the ends of epochs, written as text. `a10` is split a at a watermark of 10 seconds, `a-` its
//! silence, `a+` its return, `a.` its end, `a^` the end of time before its end, and `a,` its end at its
//! present watermark. Windows are 10 seconds long.

use proptest::prelude::*;
use thalweg_memory::{BlockPool, BlockShape, Budget, EdgeOptions, Pool};
use thalweg_model::{Span, TumblingWindows};

use super::*;
use crate::epochs::Claiming;
use crate::epochs::Item;

fn bed(splits: usize) -> (Arc<Origin>, Arc<EpochTracker>) {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let block_pool = BlockPool::<u32>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    let tracker = EpochTracker::new(1, Vec::new(), block_pool, Claiming::default());
    let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
    let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
    (Origin::new(splits, horizon, vec![Arc::clone(&tracker)]), tracker)
}

/// Returns the steps that the task which closes epochs would take by now, and releases their epochs at once.
fn items(tracker: &EpochTracker) -> Vec<Item> {
    let next = || {
        let item = tracker.next_item()?;
        if let Item::End { epoch, .. } = item {
            tracker.release(epoch);
        }
        Some(item)
    };
    std::iter::from_fn(next).collect()
}

fn end_of(item: Item) -> Option<EventTime> {
    if let Item::End { watermark, .. } = item { Some(watermark) } else { None }
}

/// Returns the end watermarks of epochs that were assigned since the last call.
fn ends(tracker: &EpochTracker) -> Vec<EventTime> {
    items(tracker).into_iter().filter_map(end_of).collect()
}

fn show(item: Item) -> String {
    match item {
        Item::End { watermark: EventTime::MAX, .. } => "W".to_owned(),
        Item::End { watermark, .. } => format!("W{}", watermark.as_micros() / 1_000_000),
        Item::Marker(marker) => format!("L{}", marker.intended().as_nanos()),
        Item::Idle => "idle".to_owned(),
        Item::Over => "over".to_owned(),
    }
}

fn check(splits: usize, input: &str, expected: &str) {
    let (origin, tracker) = bed(splits);
    let mut shown = Vec::new();
    for word in input.split_whitespace() {
        let (split, act) = word.split_at(1);
        let index = usize::from(split.as_bytes()[0] - b'a');
        match act {
            "-" => assert!(origin.fall_idle(index), "there is room for one more epoch"),
            "+" => {
                let Standing { epoch, late_by, .. } = origin.rejoin(index);
                shown.push(format!("{split}:{epoch}/{}", late_by.as_micros() / 1_000_000));
            }
            "." => {
                origin.advance(index, EventTime::MAX);
                origin.end(index);
            }
            "^" => _ = origin.advance(index, EventTime::MAX),
            "," => origin.end(index),
            seconds => {
                let watermark = EventTime::from_secs(seconds.parse().unwrap());
                let Standing { epoch, late_by, due } = origin.advance(index, watermark);
                assert!(late_by >= watermark && due > watermark);
                shown.push(format!("{split}:{epoch}"));
            }
        }
        // An epoch without records ends at the same watermark as the epoch before it, so equal items are
        // shown once.
        for item in items(&tracker).into_iter().map(show) {
            if shown.last() != Some(&item) {
                shown.push(item);
            }
        }
    }
    assert_eq!(tracker.is_over(), shown.last().is_some_and(|last| last == "over"));
    assert_eq!(shown.join(" "), expected, "{input}");
}

/// The first watermark ends the first epoch, in which no watermark was known. After that, an epoch ends with
/// each window.
#[test]
fn one_split_ends_an_epoch_with_each_window() {
    check(1, "a3 a7 a10 a25 a.", "a:1 W3 a:1 a:2 W10 a:3 W25 W over");
}

/// The end of an epoch is the least watermark with which a split has left it, because all splits together
/// promise no more.
#[test]
fn all_splits_must_have_left() {
    check(2, "a3 b4 a4 a12 b9 b11", "a:0 b:1 a:1 W4 a:2 b:1 b:2 W11");
    check(2, "a12 b3 b11 b21 a12 a20", "a:0 b:1 b:2 b:3 a:2 W3 W11 a:3 W20");
}

/// A watermark that jumps over many windows without records ends one epoch, not one per window.
#[test]
fn a_jump_is_one_epoch() {
    check(1, "a5 a1000000 a1000010", "a:1 W5 a:2 W1000000 a:3 W1000010");
}

/// No split waits for a split that has ended or is silent. When a silent split has records again, records
/// below the last end count as late.
#[test]
fn silence_holds_nobody_up() {
    check(2, "a3 b3 a15 b- a25 b+ b31 a31", "a:0 b:1 a:2 W3 W15 a:3 W25 b:3/25 b:4 a:4 W31");
    check(2, "a3 b3 a15 b.", "a:0 b:1 a:2 W3 W15");
    // When the last split falls silent, the highest watermark of all splits counts.
    check(2, "a3 b3 a15 a- b-", "a:0 b:1 a:2 W3 W15 idle");
    check(2, "a3 b3 a15 b5 b- a-", "a:0 b:1 a:2 W3 b:1 W15 idle");
}

/// When all splits are silent or have ended, the highest watermark counts. This holds even if its split was
/// held in its epoch because another split had not begun.
#[test]
fn who_is_held_goes_on_when_all_are_silent() {
    check(2, "a15 b- a-", "a:0 W15 idle");
    check(2, "a1000000 a- b-", "a:0 W1000000 idle");
    check(2, "a15 a- b,", "a:0");
    check(2, "a15 a- b- b+ b31 a+ a31", "a:0 W15 idle b:1/15 b:2 W31 a:2/31 a:2");
}

/// A split that ends has the watermark of the end of time, which does not advance the silent splits. A silent
/// split that has records again is judged by its own last watermark.
#[test]
fn a_split_at_the_end_of_time_ends_no_other() {
    check(2, "a15 a- b.", "a:0 W15 idle");
    check(2, "a15 a- b^ a+ a17 b.", "a:0 W15 idle a:1/15 a:1");
    check(2, "a3 b3 a15 a- b. a+ a25", "a:0 b:1 a:2 W3 W15 idle a:2/15 a:3 W25");
    check(2, "a- b.", "idle");
    check(2, "a- b. a+ a- a.", "idle a:0/-9223372036854 idle W over");
    check(3, "a15 a- b. c12 c-", "a:0 c:1 W12 idle");
}

/// A split whose watermark is the end of time may still have records of the last instant. They go into an
/// epoch that stays open until they are deposited.
#[test]
fn what_a_split_has_at_the_end_of_time_goes_into_an_open_epoch() {
    let (origin, tracker) = bed(2);
    let at = |second| EventTime::from_secs(second);
    origin.advance(1, at(1));
    origin.advance(0, EventTime::MAX);
    let told = |windows: std::ops::Range<i64>| -> Vec<EventTime> {
        let told_at = |window| {
            origin.advance(1, at(window * 10 + 1));
            ends(&tracker)
        };
        windows.flat_map(told_at).collect()
    };
    let before = told(0..200);
    assert_eq!((before.len(), before.last()), (200, Some(&at(1_991))), "it holds nobody up");
    let Standing { epoch, late_by, .. } = origin.rejoin(0);
    assert_eq!((epoch, late_by), (200, EventTime::MAX));
    assert_eq!(told(200..210), [], "its epoch is open");
    assert!(!origin.fall_idle(1), "what is owed is told when the other split says that it has deposited");
    assert_eq!(items(&tracker), []);
    origin.advance(0, EventTime::MAX);
    let items: Vec<String> = items(&tracker).into_iter().map(show).collect();
    assert_eq!(
        (&items[0][..], &items[items.len() - 2][..], &items[items.len() - 1][..]),
        ("W2001", "W2091", "idle")
    );
}

/// The announcement that all splits are silent comes before the end of the stream, even if a split was
/// stopped while it was silent.
#[test]
fn silence_comes_before_the_end_of_all() {
    check(2, "a5 b3 a- a, b.", "a:0 b:1 W3 idle W5 over");
    check(2, "a5 b3 a- b- a, b.", "a:0 b:1 W3 idle W5 over");
}

#[test]
fn when_all_are_over_everything_ends() {
    check(2, "a3 b3 a. b.", "a:0 b:1 W3 W over");
    check(2, "a. b.", "W over");
    check(3, "a5 a15 a. b3 b. c.", "a:0 a:0 b:0 W over");
}

/// A split that was stopped promises nothing beyond its last watermark. So no epoch ends above that watermark
/// until all splits have ended.
#[test]
fn a_split_that_is_stopped_holds_the_others_up() {
    check(2, "a3 b3 a15 b, a25 a35 a,", "a:0 b:1 a:2 W3 a:3 a:4 W3 over");
    check(2, "a3 b3 a12 b14 b,", "a:0 b:1 a:2 W3 b:2 W12");
    check(2, "a3 b3 b12 a, b.", "a:0 b:1 b:2 W3 over");
    // A split that was silent when it was stopped delays the end of no epoch.
    check(2, "a3 b3 b- b, a15 a,", "a:0 b:1 a:2 W3 W15 over");
    check(2, "a3 a- b. a,", "a:0 W3 idle W3 over");
    check(1, "a3 a17 a,", "a:1 W3 a:2 W17 over");
    check(2, "a, b,", "W-9223372036854 over");
}

/// A split that is ahead of the others by more epochs than may be open continues in the youngest epoch.
#[test]
fn who_is_far_ahead_goes_on_in_the_youngest_epoch() {
    let (origin, tracker) = bed(2);
    let at = |second| EventTime::from_secs(second);
    origin.advance(1, at(1));
    let epochs: Vec<u64> = (0..100).map(|window| origin.advance(0, at(window * 10 + 1)).epoch).collect();
    assert_eq!((epochs[0], epochs[99]), (1, EPOCHS_MAX - 1));
    assert_eq!(ends(&tracker), []);
    origin.advance(1, at(2));
    assert_eq!(ends(&tracker), [at(1)]);
    // One epoch has been closed, so one more may be opened without exceeding the bound.
    assert_eq!(origin.advance(0, at(1_001)).epoch, EPOCHS_MAX);
    assert_eq!(origin.advance(1, at(1_001)).epoch, EPOCHS_MAX);
    assert_eq!(ends(&tracker).last(), Some(&at(1_001)));
}

/// The maximum number of epochs is open when the splits fall silent. The silence is announced behind the end
/// of every epoch that the farthest split has reached, as soon as an epoch is closed. A split that has
/// records and falls silent again waits as well.
#[test]
fn silence_comes_behind_what_a_full_ring_held() {
    let (origin, tracker) = bed(1);
    let at = |second| EventTime::from_secs(second);
    (0..100).for_each(|window| _ = origin.advance(0, at(window * 10 + 1)));
    assert!(tracker.is_full());
    assert!(!origin.fall_idle(0), "the end of the youngest epoch comes first");
    let mut told = Vec::new();
    let oldest = tracker.oldest_here();
    while let Some(item) = tracker.next_item() {
        told.push(item);
        if let Item::End { epoch, .. } = item {
            assert!(!tracker.has_freed_epoch(oldest) && !origin.tell_silence() || 0 < epoch);
            tracker.release(epoch);
            assert!(tracker.has_freed_epoch(oldest));
            assert!(origin.tell_silence());
        }
    }
    let last = told.len() - 1;
    assert_eq!((end_of(told[last - 1]), told[last]), (Some(at(991)), Item::Idle), "{told:?}");
    assert!(!told[..last].contains(&Item::Idle), "{told:?}");
}

/// A silence that could not be announced yet is not announced at all if a split has records again first. If
/// another split ends meanwhile, the announcement is still made.
#[test]
fn a_silence_that_is_owed_is_over_when_a_split_speaks() {
    for ends in [false, true] {
        let (origin, tracker) = bed(3);
        let at = |second| EventTime::from_secs(second);
        [1, 2].into_iter().for_each(|index| _ = origin.advance(index, at(1)));
        (0..100).for_each(|window| _ = origin.advance(0, at(window * 10 + 1)));
        let mut told = vec![origin.fall_idle(0), origin.fall_idle(1)];
        if ends {
            origin.advance(2, EventTime::MAX);
            told.extend([origin.tell_silence(), origin.tell_silence()]);
            assert_eq!(told, [true, true, false, false]);
        } else {
            told.push(origin.fall_idle(2));
            origin.rejoin(0);
            told.push(origin.tell_silence());
            assert_eq!(told, [true, true, false, true]);
        }
        let items = items(&tracker);
        assert!(!items.contains(&Item::Idle) && !items.is_empty(), "{items:?}");
        assert!(origin.tell_silence());
        let items: Vec<String> = self::items(&tracker).into_iter().map(show).collect();
        assert_eq!(items, if ends { vec!["W991", "idle"] } else { Vec::new() });
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Advance(i64),
    Silence,
    Return,
    End,
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        10 => (0..40i64).prop_map(Act::Advance),
        1 => (0..100_000i64).prop_map(Act::Advance),
        2 => Just(Act::Silence),
        2 => Just(Act::Return),
        1 => Just(Act::End),
    ];
    proptest::collection::vec((0..4usize, act), 0..120)
}

proptest! {
    /// Splits take any steps. A record that is deposited behind an end is late for everything which that end
    /// closes, and all epochs that every split has left are closed.
    #[test]
    fn no_end_closes_what_is_on_time_behind_it(acts in acts(), splits in 1..4usize) {
        let (origin, tracker) = bed(splits);
        let mut at = vec![0i64; splits];
        let (mut is_over, mut is_idle) = (vec![false; splits], vec![false; splits]);
        let mut standing = vec![origin.start(); splits];
        let mut all_ends: Vec<EventTime> = Vec::new();
        for (split, act) in acts {
            let split = split % splits;
            if is_over[split] {
                continue;
            }
            let mut is_told = true;
            match act {
                Act::Advance(by) => {
                    at[split] += by;
                    is_idle[split] = false;
                    standing[split] = origin.advance(split, EventTime::from_secs(at[split]));
                }
                Act::Silence => {
                    is_idle[split] = true;
                    is_told = origin.fall_idle(split);
                }
                Act::Return => {
                    is_idle[split] = false;
                    standing[split] = origin.rejoin(split);
                }
                Act::End => {
                    is_over[split] = true;
                    origin.advance(split, EventTime::MAX);
                    is_told = origin.tell_silence();
                }
            }
            let mut told = items(&tracker);
            if !is_told {
                prop_assert!(!told.contains(&Item::Idle));
                prop_assert!(origin.tell_silence(), "with nothing left that is open there is room");
                told.extend(items(&tracker));
            }
            if is_over[split] {
                origin.end(split);
                told.extend(items(&tracker));
            }
            for item in told {
                all_ends.extend(end_of(item));
                // Before a silence is announced, every epoch that the farthest split has reached has ended.
                if item == Item::Idle {
                    let farthest = (0..splits).filter(|&split| !is_over[split]).map(|split| at[split]).max();
                    let due = farthest.unwrap_or(0).div_euclid(10) * 10;
                    let closed = all_ends.last().map_or(i64::MIN, |end| end.as_micros() / 1_000_000);
                    prop_assert!(due == 0 || closed >= due, "silent at {} seconds, {} closed", due, closed);
                }
            }
            prop_assert!(all_ends.is_sorted());
            for split in (0..splits).filter(|&split| !is_over[split] && !is_idle[split]) {
                let Standing { epoch, late_by, .. } = standing[split];
                prop_assert!(epoch >= all_ends.len() as u64, "split {} deposits into an epoch that has ended", split);
                let before = &all_ends[..(epoch as usize).min(all_ends.len())];
                prop_assert!(before.iter().all(|&end| end <= late_by), "{:?} behind {:?}", late_by, before);
            }
            // When each split that is not silent has advanced once more, all windows due by the least of
            // their watermarks are closed.
            let moving = (0..splits).filter(|&split| !is_over[split] && !is_idle[split] && at[split] > 0);
            for split in moving.clone().chain(moving) {
                standing[split] = origin.advance(split, EventTime::from_secs(at[split]));
                all_ends.extend(ends(&tracker));
            }
            let moving = (0..splits).filter(|&split| !is_over[split] && !is_idle[split]);
            if let Some(least) = moving.map(|split| at[split]).min() {
                let due = least.div_euclid(10) * 10;
                let closed = all_ends.last().map_or(i64::MIN, |end| end.as_micros() / 1_000_000);
                prop_assert!(due == 0 || closed >= due, "{} seconds are due, {} closed", due, closed);
            }
        }
    }
}
