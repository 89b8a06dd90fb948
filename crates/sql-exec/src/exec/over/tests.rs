//! Tests that compare OVER with the results of Flink's own tests, and with an oracle that keeps all rows and
//! follows each key's timers one by one, as Flink's classes do.

use std::collections::BTreeSet;

use proptest::prelude::*;
use thalweg_sql_functions::types::SqlType;

use super::super::bed::{Bed, ID, In, K, TS, V, call, columns, text, with_results};
use super::*;
use crate::plan::{Aggregate, RankFunction};

/// Returns the aggregate calls that the OVER tests use with a frame.
fn calls(frame: Frame) -> Vec<AggregateCall> {
    let mut calls = vec![
        call("COUNT", &[], false),
        call("SUM", &[V], false),
        call("MIN", &[V], false),
        call("LAST_VALUE", &[ID], false),
        call("COUNT", &[V], true),
    ];
    let rank = |which, time: Option<usize>| AggregateCall {
        aggregate: Aggregate::Rank(which),
        is_distinct: false,
        arguments: time.into_iter().collect(),
        filter: None,
        function: standing(which, time.map(|_| SqlType::Timestamp(3))),
    };
    match frame {
        Frame::Rows(None) => calls.push(rank(RankFunction::RowNumber, None)),
        Frame::Range(None) => {
            calls.push(rank(RankFunction::Rank, Some(TS)));
            calls.push(rank(RankFunction::DenseRank, Some(TS)));
            let function = lag(&SqlType::Int, 1, true, true);
            let (aggregate, arguments) = (Aggregate::Lag { rows: 1 }, vec![V, ID]);
            calls.push(AggregateCall { aggregate, is_distinct: false, arguments, filter: None, function });
        }
        _ => {}
    }
    calls
}

fn over(
    frame: Frame,
    time: Option<usize>,
    calls: Vec<AggregateCall>,
    ttl_ms: Option<i64>,
) -> impl Fn(Now) -> Box<dyn BatchOperator> {
    of_readers(true, frame, time, calls, ttl_ms)
}

/// Creates an OVER operator behind one reader or several.
fn of_readers(
    is_single: bool,
    frame: Frame,
    time: Option<usize>,
    calls: Vec<AggregateCall>,
    ttl_ms: Option<i64>,
) -> impl Fn(Now) -> Box<dyn BatchOperator> {
    move |now| {
        let columns_out = with_results(&[ID, K, V, TS], &calls);
        let over = OverCalls { keys: vec![K], time, frame, calls: calls.clone(), ttl_ms };
        Box::new(Over::new(over, now, &columns(), &columns_out, 7).unwrap().of_one_reader(is_single))
    }
}

/// Input event of an OVER test: rows that come together, or a watermark.
#[derive(Clone, Debug)]
enum Event {
    Rows(Vec<In>),
    Watermark(i64),
}

/// State that Flink keeps for a key of an OVER window, as the oracle of the tests computes it.
#[derive(Default)]
struct Key {
    /// Times of the rows of the key, with their indexes among all rows.
    rows: Vec<(i64, usize)>,
    timers: BTreeSet<i64>,
    last: Option<i64>,
    cleanup: Option<i64>,
}

/// Oracle of OVER: returns the output at each watermark, in the order of time and arrival, and the number of
/// late rows.
fn oracle(frame: Frame, events: &[Event], is_single: bool) -> (Vec<Vec<String>>, u64) {
    let mut all: Vec<In> = Vec::new();
    let mut keys: Vec<(Option<&str>, Key)> = Vec::new();
    let mut watermark = i64::MIN;
    let mut late = 0;
    let mut shown = Vec::new();
    for event in events {
        let mut out: Vec<(i64, usize, String)> = Vec::new();
        match event {
            Event::Rows(rows) => {
                for row in rows {
                    all.push(*row);
                    let known = keys.iter().position(|(k, _)| *k == row.k).unwrap_or_else(|| {
                        keys.push((row.k, Key::default()));
                        keys.len() - 1
                    });
                    let key = &mut keys[known].1;
                    let is_late = match frame.is_bounded() && is_single {
                        true => key.last.is_some_and(|last| row.ts <= last),
                        false => row.ts < watermark,
                    };
                    if is_late {
                        late += 1;
                        continue;
                    }
                    key.rows.push((row.ts, all.len() - 1));
                    key.timers.insert(row.ts);
                    if let Frame::Range(Some(span)) = frame
                        && key.cleanup.is_none_or(|cleanup| cleanup < row.ts + span + 1)
                    {
                        let cleanup = row.ts + (span as f64 * 1.5) as i64 + 1;
                        key.timers.insert(cleanup);
                        key.cleanup = Some(cleanup);
                    }
                }
            }
            Event::Watermark(to) => {
                watermark = watermark.max(*to);
                for (_, key) in &mut keys {
                    while let Some(&timer) = key.timers.first().filter(|timer| **timer < watermark) {
                        key.timers.pop_first();
                        if key.cleanup.is_some_and(|cleanup| cleanup <= timer) {
                            (key.rows, key.last, key.cleanup) = (Vec::new(), None, None);
                            continue;
                        }
                        for &(ts, place) in key.rows.iter().filter(|(ts, _)| *ts == timer) {
                            let frame = frame_of(frame, &key.rows, ts, place);
                            out.push((ts, place, answer(&all, place, &frame, calls_of(frame_kind(&frame)))));
                        }
                        key.last = Some(timer);
                    }
                }
            }
        }
        out.sort();
        shown.push(out.into_iter().map(|(_, _, text)| text).collect());
    }
    (shown, late)
}

/// Indexes of the rows in a frame, in order, and the frame.
struct Rows(Vec<usize>, Frame);

fn frame_kind(rows: &Rows) -> Frame {
    rows.1
}

fn calls_of(frame: Frame) -> usize {
    calls(frame).len() - 5
}

fn frame_of(frame: Frame, rows: &[(i64, usize)], ts: i64, place: usize) -> Rows {
    let peers = matches!(frame, Frame::Range(_));
    let mut before: Vec<(i64, usize)> = rows
        .iter()
        .copied()
        .filter(|&(other, at)| other < ts || (other == ts && (peers || at <= place)))
        .filter(|&(other, _)| !matches!(frame, Frame::Range(Some(span)) if other < ts - span))
        .collect();
    before.sort();
    let mut before: Vec<usize> = before.into_iter().map(|(_, at)| at).collect();
    if let Frame::Rows(Some(count)) = frame {
        before = before.split_off(before.len().saturating_sub(count as usize + 1));
    }
    Rows(before, frame)
}

fn answer(all: &[In], place: usize, rows: &Rows, ranks: usize) -> String {
    let row = all[place];
    let frame: Vec<In> = rows.0.iter().map(|at| all[*at]).collect();
    let values: Vec<i32> = frame.iter().filter_map(|row| row.v).collect();
    let distinct: BTreeSet<i32> = values.iter().copied().collect();
    let mut results = vec![
        frame.len().to_string(),
        text((!values.is_empty()).then(|| values.iter().sum::<i32>())),
        text(values.iter().min()),
        text(frame.last().map(|row| row.id)),
        distinct.len().to_string(),
    ];
    match ranks {
        1 => results.push(frame.len().to_string()),
        3 => {
            let before: Vec<i64> = frame.iter().map(|other| other.ts).filter(|ts| *ts < row.ts).collect();
            results.push((before.len() + 1).to_string());
            results.push((before.iter().collect::<BTreeSet<_>>().len() + 1).to_string());
            let last = frame[frame.len() - 1];
            let lag = if frame.len() > 1 { text(frame[frame.len() - 2].v) } else { last.id.to_string() };
            results.push(lag);
        }
        _ => {}
    }
    format!("+I {} {} {} {} {}", row.id, text(row.k), text(row.v), row.ts, results.join(" "))
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let row = (0usize..4, prop::option::weighted(0.8, -3i32..4), -5i64..30);
    let event = prop_oneof![
        3 => prop::collection::vec(row, 1..6).prop_map(Err),
        2 => (-6i64..40).prop_map(Ok),
    ];
    prop::collection::vec(event, 1..20).prop_map(|events| {
        let (mut watermark, mut id) = (i64::MIN, 0);
        let mut made: Vec<Event> = Vec::new();
        for event in events {
            made.push(match event {
                Ok(to) => {
                    watermark = watermark.max(to);
                    Event::Watermark(watermark)
                }
                Err(rows) => Event::Rows(
                    rows.into_iter()
                        .map(|(k, v, ts)| {
                            id += 1;
                            In { id, k: [None, Some("a"), Some("b"), Some("日")][k], v, ts }
                        })
                        .collect(),
                ),
            });
        }
        made.push(Event::Watermark(i64::MAX));
        made
    })
}

const FRAMES: [Frame; 8] = [
    Frame::Rows(None),
    Frame::Range(None),
    Frame::Rows(Some(0)),
    Frame::Rows(Some(1)),
    Frame::Rows(Some(3)),
    Frame::Range(Some(0)),
    Frame::Range(Some(3)),
    Frame::Range(Some(10)),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn frames_are_those_of_the_oracle(frame in 0usize..FRAMES.len(), events in events(), cut in 1usize..6, reload in 0usize..20, is_single in any::<bool>()) {
        let frame = FRAMES[frame];
        let make = of_readers(is_single, frame, Some(TS), calls(frame), None);
        let mut bed = Bed::new(&make);
        let (expected, late) = oracle(frame, &events, is_single);
        for (place, (event, expected)) in events.iter().zip(&expected).enumerate() {
            let shown = match event {
                Event::Rows(rows) => rows.chunks(cut).flat_map(|rows| bed.take(rows, None)).collect(),
                Event::Watermark(to) => bed.advance(*to),
            };
            prop_assert_eq!(&shown, expected, "{:?} at {}", frame, place);
            if place == reload {
                let counts = bed.operator.counts();
                bed.reload(&make);
                prop_assert_eq!(bed.operator.counts().late, 0);
                let _ = counts;
            }
        }
        if reload >= events.len() {
            prop_assert_eq!(bed.operator.counts().late, late);
        }
    }

    /// In the order of arrival, OVER puts out each row at once, with the rows before it in its frame.
    #[test]
    fn rows_come_in_the_order_of_arrival(rows in 0usize..4, events in events(), cut in 1usize..6) {
        let frame = [Frame::Rows(None), Frame::Rows(Some(0)), Frame::Rows(Some(1)), Frame::Rows(Some(3))][rows];
        let calls: Vec<AggregateCall> = calls(frame).into_iter().take(5).collect();
        let mut bed = Bed::new(over(frame, None, calls, None));
        let mut seen: Vec<In> = Vec::new();
        for event in &events {
            let Event::Rows(rows) = event else {
                prop_assert_eq!(bed.advance(0), Vec::<String>::new());
                continue;
            };
            let shown: Vec<String> = rows.chunks(cut).flat_map(|rows| bed.take(rows, None)).collect();
            let mut expected = Vec::new();
            for row in rows {
                seen.push(*row);
                let own: Vec<(i64, usize)> = seen.iter().enumerate().filter(|(_, other)| other.k == row.k).map(|(at, _)| (0, at)).collect();
                let frame = frame_of(frame, &own, 0, seen.len() - 1);
                expected.push(answer(&seen, seen.len() - 1, &frame, 0));
            }
            prop_assert_eq!(shown, expected);
        }
    }
}

/// Checks the results of an OVER aggregate call by row number. In `events`, rows are written `id k v ts` and
/// watermarks `W ts`.
fn check(frame: Frame, call: AggregateCall, events: &str, expected: &[(i32, &str)]) {
    let mut bed = Bed::new(over(frame, Some(TS), vec![call], None));
    let mut shown = Vec::new();
    for event in events.split(" | ") {
        let parts: Vec<&str> = event.split(' ').collect();
        let number = |place: usize| parts[place].parse().unwrap();
        let made = if parts[0] == "W" {
            bed.advance(number(1))
        } else {
            let k = [None, Some("a"), Some("b")][usize::from(parts[1] != "-") + usize::from(parts[1] == "b")];
            bed.take(&[In { id: number(0) as i32, k, v: parts[2].parse().ok(), ts: number(3) }], None)
        };
        shown.extend(made);
    }
    let results: Vec<(i32, String)> = shown
        .iter()
        .map(|row| {
            let parts: Vec<&str> = row.split(' ').collect();
            (parts[1].parse().unwrap(), parts[5].to_owned())
        })
        .collect();
    let expected: Vec<(i32, String)> =
        expected.iter().map(|(id, result)| (*id, (*result).to_owned())).collect();
    assert_eq!(results, expected, "{events}");
}

/// LAG gives rows of one time the result of the last of them, as Flink's
/// `OverAggregateITCase.testLagFunction` does.
#[test]
fn lag_is_flinks() {
    let events = "1 a 1 1 | 2 a 2 5 | 3 a 3 2 | 4 a 4 3 | 5 a 5 3 | W 20 | 6 a 6 21 | 7 a 7 22 | W 30";
    let call = |offset, default: bool| AggregateCall {
        aggregate: Aggregate::Lag { rows: offset },
        is_distinct: false,
        arguments: if default { vec![V, ID] } else { vec![V] },
        filter: None,
        function: lag(&SqlType::Int, offset, default, true),
    };
    let one = [(1, "NULL"), (3, "1"), (4, "4"), (5, "4"), (2, "5"), (6, "2"), (7, "6")];
    check(Frame::Range(None), call(1, false), events, &one);
    let two = [(1, "1"), (3, "3"), (4, "3"), (5, "3"), (2, "4"), (6, "5"), (7, "2")];
    check(Frame::Range(None), call(2, true), events, &two);
    let none = [(1, "1"), (3, "3"), (4, "5"), (5, "5"), (2, "2"), (6, "6"), (7, "7")];
    check(Frame::Range(None), call(0, false), events, &none);
}

/// OVER accepts a row behind the watermark if its key has no state, and not if it has state (StreamFusion,
/// issue 74).
#[test]
fn late_rows_are_judged_by_key() {
    let count = || call("COUNT", &[], false);
    let events = "1 a 1 10 | W 11 | 2 b 1 5 | 3 a 1 10 | 4 a 1 11 | W 12";
    check(Frame::Rows(Some(1)), count(), events, &[(1, "1"), (2, "1"), (4, "2")]);
    check(Frame::Range(Some(100)), count(), events, &[(1, "1"), (2, "1"), (4, "2")]);
    check(Frame::Range(None), count(), events, &[(1, "1"), (4, "2")]);
    // With a RANGE of 2 milliseconds, a key is forgotten 3 milliseconds after its row, together with the row
    // that is due then.
    let events = "1 a 1 10 | W 14 | 2 a 1 10 | W 15 | 3 a 1 10 | W 16";
    check(Frame::Range(Some(2)), count(), events, &[(1, "1"), (3, "1")]);
}

/// A key of a ROWS frame is forgotten by its time to live, but not while it has waiting rows.
#[test]
fn keys_expire() {
    let mut bed = Bed::new(over(Frame::Rows(None), Some(TS), vec![call("COUNT", &[], false)], Some(100)));
    let row = |id, ts| In { id, k: Some("a"), v: None, ts };
    assert_eq!(bed.take(&[row(1, 1)], None), Vec::<String>::new());
    bed.set_clock(150);
    assert_eq!(bed.advance(2), ["+I 1 a NULL 1 1"]);
    bed.set_clock(249);
    bed.take(&[row(2, 3)], None);
    assert_eq!(bed.advance(4), ["+I 2 a NULL 3 2"]);
    bed.set_clock(349);
    bed.take(&[row(3, 5)], None);
    assert_eq!(bed.advance(6), ["+I 3 a NULL 5 1"]);
}

/// OVER drops rows that no later row needs from its frames, and keys without such rows.
#[test]
fn state_is_dropped() {
    let frame = Frame::Range(Some(50));
    let mut bed = Bed::new(over(frame, Some(TS), calls(frame), None));
    let keys: Vec<&'static str> =
        (0..2_000).map(|key| &*Box::leak(format!("key {key}").into_boxed_str())).collect();
    let mut most = 0;
    for ts in 0..2_000i64 {
        let rows = [
            In { id: ts as i32, k: Some(keys[ts as usize]), v: Some(1), ts },
            In { id: ts as i32, k: Some("a"), v: Some(1), ts },
        ];
        bed.take(&rows, None);
        bed.advance(ts);
        if ts == 300 {
            most = bed.operator.state_bytes();
        }
    }
    let bytes = bed.operator.state_bytes();
    assert!(bytes < 2 * most, "{bytes} bytes are held, and {most} were");
}

/// OVER puts out batches of bounded size for many rows of one time that see each other, and for many rows of
/// one key.
#[test]
fn pieces_are_small() {
    for frame in [Frame::Range(None), Frame::Rows(Some(1)), Frame::Range(Some(5))] {
        let mut bed = Bed::new(over(frame, Some(TS), vec![call("COUNT", &[], false)], None));
        for part in 0..3 {
            let rows: Vec<In> =
                (0..4_000).map(|id| In { id: part * 4_000 + id, k: Some("a"), v: None, ts: 7 }).collect();
            bed.take(&rows, None);
        }
        let shown = bed.advance(8);
        assert_eq!(shown.len(), 12_000);
        let last = if frame == Frame::Rows(Some(1)) { "2" } else { "12000" };
        assert_eq!(shown[11_999], format!("+I 11999 a NULL 7 {last}"));
    }
}
