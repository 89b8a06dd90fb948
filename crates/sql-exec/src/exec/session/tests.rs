//! Tests that compare session windows over several readers with an oracle, which merges intervals when all
//! rows are known.

use proptest::prelude::*;
use thalweg_model::{EventTime, Mark, Operator};

use super::super::bed::{Bed, In, K, TS, batch, columns};
use super::super::operator::{InTurn, Stage};
use super::*;
use crate::plan::Role;

const GAP_MS: i64 = 10;

fn make(is_single: bool) -> Box<dyn BatchOperator> {
    let mut output = columns();
    for name in ["window_start", "window_end", "window_time"] {
        let role = if name == "window_time" { Role::Rowtime } else { Role::Plain };
        output.push(Column { name: name.into(), of: SqlType::Timestamp(3), is_nullable: false, role });
    }
    let sessions = AssignSessions::new(GAP_MS, vec![K], TS, None, &columns(), &output).unwrap();
    Box::new(sessions.of_one_reader(is_single))
}

/// A row of a session test, with the watermark of its reader before it.
type Step = (In, i64);

/// Returns the rows of a test reader whose watermark is its greatest time so far, less a bound.
fn steps(reader: i32, moves: &[(i64, bool)], bound_ms: i64) -> Vec<Step> {
    let (mut greatest, mut watermark) = (0, i64::MIN);
    let mut found = Vec::new();
    for (id, (by, is_other)) in (0..).zip(moves) {
        let ts = (greatest + by).max(0);
        let k = Some(if *is_other { "b" } else { "a" });
        found.push((In { id: 1_000 * reader + id, k, v: None, ts }, watermark));
        greatest = greatest.max(ts);
        watermark = watermark.max(greatest - bound_ms);
    }
    found
}

/// Runs session windows over two readers that interleave as `turns` says; returns the output and the number
/// of late rows.
fn run(readers: &[Vec<Step>; 2], turns: &[bool], reload_at: Option<usize>) -> (Vec<String>, u64) {
    let mut bed = Bed::new(|_| make(false));
    let (mut next, mut shown, mut late) = ([0, 0], Vec::new(), 0);
    let all = readers[0].len() + readers[1].len();
    for turn in 0..all {
        let wanted = usize::from(turns[turn % turns.len()]);
        let reader = if next[wanted] < readers[wanted].len() { wanted } else { 1 - wanted };
        let (row, late_by) = readers[reader][next[reader]];
        next[reader] += 1;
        let late_by = EventTime::from_micros(late_by.saturating_mul(1_000));
        bed.operator.take(batch(&[row], None), late_by).unwrap();
        if reload_at == Some(turn) {
            late += bed.operator.counts().late;
            bed.reload(|_| make(false));
        }
        // The watermark of both readers is the lesser of the watermarks that they have before their next
        // rows.
        let of =
            |reader: usize| readers[reader].get(next[reader]).map_or(i64::MAX, |(_, watermark)| *watermark);
        shown.extend(bed.advance(of(0).min(of(1))));
    }
    shown.extend(bed.advance(i64::MAX));
    shown.sort();
    (shown, late + bed.operator.counts().late)
}

/// Oracle of session windows: merges the time spans of all rows.
fn expected(readers: &[Vec<Step>; 2]) -> (Vec<String>, u64) {
    let (mut shown, mut late) = (Vec::new(), 0);
    for key in ["a", "b"] {
        // Spans of time of the rows of a key, in half milliseconds, each with its row.
        let mut spans: Vec<(i64, i64, In)> = Vec::new();
        for (row, late_by) in readers.iter().flatten().filter(|(row, _)| row.k == Some(key)) {
            let low = if *late_by <= row.ts { 2 * row.ts } else { 2 * late_by + 1 };
            let high = 2 * (row.ts + GAP_MS);
            if high < low { late += 1 } else { spans.push((low, high, *row)) }
        }
        spans.sort();
        let mut rest = &spans[..];
        while let Some(&(_, mut high, _)) = rest.first() {
            let mut count = 0;
            while let Some((_, to, _)) = rest.get(count).filter(|(low, _, _)| *low <= high) {
                (high, count) = (high.max(*to), count + 1);
            }
            let start = rest[..count].iter().map(|(_, _, row)| row.ts).min().unwrap();
            let end = high / 2;
            shown.extend(
                rest[..count].iter().map(|(_, _, row)| {
                    format!("+I {} {key} NULL {} {start} {end} {}", row.id, row.ts, end - 1)
                }),
            );
            rest = &rest[count..];
        }
    }
    shown.sort();
    (shown, late)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sessions_of_two_readers_do_not_depend_on_their_turns(
        moves in [prop::collection::vec((-25..15_i64, any::<bool>()), 1..25), prop::collection::vec((-25..15_i64, any::<bool>()), 1..25)],
        bound_ms in 0..20_i64,
        turns in prop::collection::vec(any::<bool>(), 1..50),
        reload_at in prop::option::of(0..50_usize),
    ) {
        let readers = [steps(0, &moves[0], bound_ms), steps(1, &moves[1], bound_ms)];
        prop_assert_eq!(run(&readers, &turns, reload_at), expected(&readers));
    }
}

/// A row whose own session would have ended joins an open session behind one reader, as in Flink, and is late
/// behind several readers.
#[test]
fn a_row_that_is_late_alone_joins_what_is_open_behind_one_reader() {
    let row = |id, ts| In { id, k: Some("a"), v: None, ts };
    for (is_single, late) in [(true, 0), (false, 1)] {
        let mut bed = Bed::new(|_| make(is_single));
        bed.take(&[row(1, 20)], None);
        bed.advance(29);
        // The session of row 2 alone would end at 25, which the watermark has passed, but the open session
        // goes on to 30.
        bed.take(&[row(2, 15)], None);
        assert_eq!(bed.advance(31).len(), 2 - late);
        assert_eq!(bed.operator.counts().late, late as u64);
    }
}

/// A row on time that lies exactly a gap behind another row joins its session, whether or not the watermark
/// reached the session's end between the two. Such a watermark may stand within a batch, where no operator
/// sees it.
#[test]
fn a_row_at_the_end_of_a_session_joins_it_wherever_batches_end() {
    let row = |id, k, ts| In { id, k: Some(k), v: None, ts };
    // The watermark of each row is its time: that of row 2 reaches the end of the session of row 1, and row 3
    // is on time.
    let rows = [row(1, "a", 0), row(2, "b", GAP_MS), row(3, "a", GAP_MS)];
    for is_single in [true, false] {
        for lengths in [vec![3], vec![2, 1], vec![1, 2], vec![1, 1, 1]] {
            let (mut bed, mut shown, mut from) = (Bed::new(|_| make(is_single)), Vec::new(), 0);
            for length in lengths {
                let part = &rows[from..from + length];
                shown.extend(bed.take(part, None));
                shown.extend(bed.advance(part[length - 1].ts));
                from += length;
            }
            assert!(shown.is_empty(), "a row on time may still touch it: {shown:?}");
            shown.extend(bed.advance(i64::MAX));
            shown.sort();
            assert_eq!(shown, ["+I 1 a NULL 0 0 20 19", "+I 2 b NULL 10 10 20 19", "+I 3 a NULL 10 0 20 19"]);
        }
    }
}

/// Behind session windows, the watermark has not reached the end of a session that ends exactly at it,
/// because the session may still come out. The last watermark is forwarded as it is.
#[test]
fn the_watermark_is_held_back_before_ends_that_may_come_out() {
    let stage = Stage::<InTurn>::new(make(true));
    let at = |millis: i64| Mark::Watermark(EventTime::from_micros(millis * 1_000));
    assert_eq!(stage.forward(at(10)), Some(at(9)));
    assert_eq!(stage.forward(Mark::Watermark(EventTime::MAX)), Some(Mark::Watermark(EventTime::MAX)));
    assert_eq!(stage.forward(Mark::End), Some(Mark::End));
}

/// Late rows leave no state in session windows, and open sessions are charged to the memory allowance.
#[test]
fn keys_of_late_rows_are_not_kept() {
    let mut sessions = AssignSessions::new(GAP_MS, vec![K], TS, None, &columns(), &columns()).unwrap();
    let late = EventTime::from_micros(1_000_000);
    sessions.take(batch(&[In { id: 1, k: Some("a"), v: None, ts: 0 }], None), late).unwrap();
    assert_eq!((sessions.open.len(), sessions.state_bytes(), sessions.accounts.counts.late), (0, 0, 1));
    sessions.take(batch(&[In { id: 1, k: Some("a"), v: None, ts: 5_000 }], None), late).unwrap();
    assert!(sessions.state_bytes() > SESSION_BYTES + ROW_BYTES);
}

/// Rows come out with their kinds of change, also if they were saved in between.
#[test]
fn kinds_of_change_come_out() {
    let row = |id, ts| In { id, k: Some("a"), v: None, ts };
    let mut bed = Bed::new(|_| make(true));
    let kinds = [RowKind::Insert, RowKind::Delete, RowKind::UpdateAfter];
    bed.take(&[row(1, 0), row(1, 0), row(2, 3)], Some(&kinds));
    bed.take(&[row(3, 5)], None);
    bed.reload(|_| make(true));
    let expected =
        ["+I 1 a NULL 0 0 15 14", "-D 1 a NULL 0 0 15 14", "+U 2 a NULL 3 0 15 14", "+I 3 a NULL 5 0 15 14"];
    assert_eq!(bed.advance(i64::MAX), expected);
}
