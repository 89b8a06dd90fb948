//! Tests of the memory of window aggregates, and of the size of their output batches. `tests/queries`
//! compares the result rows with an oracle.

use std::sync::Mutex;

use thalweg_model::{Allowance, GrantSource};
use thalweg_sql_formats::RowKind;

use super::table::TABLE_BYTES;
use super::*;
use crate::exec::bed::{In, K, TS, batch, call, columns, with_results};

const ID: usize = 0;

fn windows(spec: &WindowSpec, calls: Vec<AggregateCall>) -> WindowAggregate {
    windows_of(spec, calls, false)
}

fn windows_of(spec: &WindowSpec, calls: Vec<AggregateCall>, is_retracting: bool) -> WindowAggregate {
    let time = |name: &str| Column::plain(name, SqlType::Timestamp(3), false);
    let mut columns_out = with_results(&[K], &calls);
    columns_out.extend([time("window_start"), time("window_end"), time("window_time")]);
    let asked =
        Asked { input: &columns(), keys: vec![K], calls, columns: &columns_out, is_retracting, hash_seed: 7 };
    WindowAggregate::cutting(spec, TS, None, asked).unwrap()
}

fn row(id: i32, ts: i64) -> In {
    In { id, k: Some("a"), v: None, ts }
}

/// Returns the lengths of all output batches of a window aggregate.
fn drained(operator: &mut WindowAggregate) -> Vec<usize> {
    std::iter::from_fn(|| operator.next().unwrap()).map(|batch| batch.len()).collect()
}

#[test]
fn windows_of_few_rows_come_out_together_and_leave_nothing() {
    let tumble = WindowSpec::Tumble { size_ms: 10, offset_ms: 0 };
    let mut operator = windows(&tumble, vec![call("COUNT", &[], false)]);
    let rows: Vec<In> = (0..5_000).map(|id| row(id, i64::from(id) * 10)).collect();
    for rows in rows.chunks(1_000) {
        operator.take(batch(rows, None), EventTime::MIN).unwrap();
    }
    assert!(operator.state_bytes() > 5_000 * TABLE_BYTES, "a window costs something before it has a key");
    operator.advance(EventTime::MAX).unwrap();
    let batches = drained(&mut operator);
    // The bound on the number of batches is not tighter, because a single row takes some hundred bytes of
    // buffers.
    assert!(batches.iter().sum::<usize>() == 5_000 && batches.len() < 20, "{batches:?}");
    assert_eq!(operator.state_bytes(), 0);
}

/// Results of several windows are not merged beyond the batch size that an edge should hold.
#[test]
fn windows_of_much_come_out_one_by_one() {
    let tumble = WindowSpec::Tumble { size_ms: 10, offset_ms: 0 };
    let long: &'static str = "x".repeat(BATCH_BYTES_MAX).leak();
    let mut operator = windows(&tumble, vec![call("COUNT", &[], false)]);
    let rows: Vec<In> = (0..5).map(|id| In { k: Some(long), ..row(id, i64::from(id) * 10) }).collect();
    operator.take(batch(&rows, None), EventTime::MIN).unwrap();
    operator.advance(EventTime::MAX).unwrap();
    assert_eq!(drained(&mut operator), [1; 5]);
}

#[derive(Default)]
struct BoundedGrant(Mutex<usize>);

impl GrantSource for BoundedGrant {
    fn lend(&self, bytes: usize) -> bool {
        *self.0.lock().unwrap() += bytes;
        true
    }
}

/// When many windows fire at once, only one is merged at a time, and the memory for merging is asked for
/// once.
#[test]
fn a_firing_asks_for_what_it_holds_at_once() {
    for spec in [
        WindowSpec::Hop { size_ms: 100, slide_ms: 1, offset_ms: 0 },
        WindowSpec::Cumulate { size_ms: 100, step_ms: 1, offset_ms: 0 },
    ] {
        let bounded_grant = Arc::new(BoundedGrant::default());
        let mut operator = windows(&spec, vec![call("COUNT", &[ID], true)]);
        operator.fund(&Allowance::new(Arc::clone(&bounded_grant) as _));
        let rows: Vec<In> = (0..4_000).map(|id| row(id, 0)).collect();
        operator.take(batch(&rows, None), EventTime::MIN).unwrap();
        let held = operator.state_bytes();
        assert!(*bounded_grant.0.lock().unwrap() >= held);
        *bounded_grant.0.lock().unwrap() = 0;
        operator.advance(EventTime::MAX).unwrap();
        assert_eq!(drained(&mut operator).iter().sum::<usize>(), 100, "{spec:?}");
        let asked = *bounded_grant.0.lock().unwrap();
        assert!(asked <= 3 * held, "{spec:?}: {asked} beside {held}");
        assert_eq!(operator.state_bytes(), 0, "{spec:?}");
    }
}

/// A source of memory grants that refuses every payment and notes the largest one asked for. It grants all
/// other requests.
#[derive(Default)]
struct NoRoom(Mutex<usize>);

impl GrantSource for NoRoom {
    fn lend(&self, _bytes: usize) -> bool {
        true
    }

    fn pay(&self, bytes: usize) -> Option<thalweg_model::Payment> {
        let mut largest = self.0.lock().unwrap();
        *largest = bytes.max(*largest);
        None
    }

    fn limit_bytes(&self) -> usize {
        5
    }
}

/// Tables of a window with many distinct texts in one group are merged only if the memory budget has room for
/// all the texts. The test merges the operator copies of two workers, and it merges the slices of a window.
#[test]
fn merging_many_distinct_values_is_paid_before() {
    const TEXTS: usize = 40_000;
    let texts: Vec<&'static str> = (0..TEXTS).map(|text| &*format!("text {text:>40}").leak()).collect();
    let hop = WindowSpec::Hop { size_ms: 100, slide_ms: 50, offset_ms: 0 };
    let filled = || {
        let time = |name: &str| Column::plain(name, SqlType::Timestamp(3), false);
        let calls = vec![call("COUNT", &[K], true)];
        let mut columns_out = with_results(&[], &calls);
        columns_out.extend([time("window_start"), time("window_end"), time("window_time")]);
        let asked = Asked {
            input: &columns(),
            keys: Vec::new(),
            calls,
            columns: &columns_out,
            is_retracting: false,
            hash_seed: 7,
        };
        let mut operator = WindowAggregate::cutting(&hop, TS, None, asked).unwrap();
        for texts in texts.chunks(BATCH_ROWS_MAX) {
            let rows: Vec<In> = texts.iter().map(|text| In { k: Some(*text), ..row(0, 0) }).collect();
            operator.take(batch(&rows, None), EventTime::MIN).unwrap();
        }
        operator
    };
    let check = |result: Outcome<()>, no_room: &NoRoom| {
        let error = result.unwrap_err();
        assert_eq!(error.code, "STATE_LIMIT");
        assert!(error.message.contains("memory budget of 5 bytes"), "{}", error.message);
        let least = TEXTS * (45 + size_of::<usize>() + size_of::<u64>());
        assert!(*no_room.0.lock().unwrap() >= least, "{:?} bytes are less than {least}", no_room.0);
    };
    let no_room = Arc::new(NoRoom::default());
    let (mut whole, mut copy) = (filled(), filled());
    whole.fund(&Allowance::new(Arc::clone(&no_room) as _));
    check(whole.absorb(&mut copy), &no_room);

    let no_room = Arc::new(NoRoom::default());
    let mut whole = filled();
    whole.fund(&Allowance::new(Arc::clone(&no_room) as _));
    whole.advance(EventTime::MAX).unwrap();
    check(whole.next().map(drop), &no_room);
}

/// A key whose rows were all taken back does not come out, also if the copy of another worker took them back and the state
/// was saved in between.
#[test]
fn keys_without_rows_do_not_come_out() {
    for (spec, count) in [
        (WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }, 1),
        (WindowSpec::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 }, 2),
        (WindowSpec::Cumulate { size_ms: 10, step_ms: 5, offset_ms: 0 }, 2),
    ] {
        let made = || windows_of(&spec, vec![call("MAX", &[ID], false)], true);
        let other = In { k: Some("b"), ..row(2, 1) };
        let mut operator = made();
        let mut copy = operator.fork();
        copy.take(batch(&[row(1, 1)], Some(&[RowKind::Delete])), EventTime::MIN).unwrap();
        operator.take(batch(&[row(1, 1), other], None), EventTime::MIN).unwrap();
        operator.absorb(&mut *copy).unwrap();
        let mut state = StateWriter::default();
        operator.save(&mut state).unwrap();
        let bytes = state.into_bytes();
        let mut operator = made();
        let mut reader = StateReader::new(&bytes);
        operator.load(&mut reader).unwrap();
        reader.finish().unwrap();
        operator.advance(EventTime::MAX).unwrap();
        assert_eq!(drained(&mut operator).iter().sum::<usize>(), count, "{spec:?}");
        assert_eq!(operator.state_bytes(), 0, "{spec:?}");
    }
}

/// A row that is late for the first of its windows by its own watermark never counts for this window, even if the window has
/// not fired because another input is behind.
#[test]
fn a_row_that_is_late_for_one_window_counts_for_the_others() {
    let hop = WindowSpec::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 };
    let cumulate = WindowSpec::Cumulate { size_ms: 10, step_ms: 5, offset_ms: 0 };
    for spec in [hop, cumulate] {
        let mut operator = windows(&spec, vec![call("COUNT", &[], false)]);
        let at = |ms: i64| EventTime::from_micros(ms * 1_000);
        operator.take(batch(&[row(1, 12)], None), EventTime::MIN).unwrap();
        // By the watermark 16 the window that ends at 15 is over for this row.
        operator.take(batch(&[row(2, 13), row(3, 17)], None), at(16)).unwrap();
        let mut found = BTreeMap::new();
        for watermark in [14, 15, 40] {
            operator.advance(at(watermark)).unwrap();
            while let Some(rows) = operator.next().unwrap() {
                let counts = rows.rows.column(1).as_primitive::<arrow::datatypes::Int64Type>();
                let ends = rows.rows.column(3).as_primitive::<TimestampMillisecondType>();
                (0..rows.len()).for_each(|row| _ = found.insert(ends.value(row), counts.value(row)));
            }
        }
        assert_eq!(found.get(&15), Some(&1), "{spec:?}: {found:?}");
        assert_eq!(found.get(&20), Some(&3), "{spec:?}: {found:?}");
        assert_eq!(operator.state_bytes(), 0, "{spec:?}");
    }
}
