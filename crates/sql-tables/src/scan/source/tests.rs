//! A poll of a table ends, whatever its connector returns, so that other tasks may run.

use std::sync::Mutex;

use arrow::datatypes::Schema;
use thalweg_model::VirtualClock;
use thalweg_sql_functions::types::SqlType;

use super::*;
use crate::connect::bed;
use crate::scan::rows::PolledRows;

/// A connector that is always ready and never gives a row, as if all its records were bad.
struct Nothing(Arc<Mutex<u64>>);

impl RowSource for Nothing {
    fn poll(&mut self, _: ProcessingTime, _: usize) -> Result<PolledRows, Fault> {
        let mut polls = self.0.lock().unwrap();
        *polls += 1;
        assert!(*polls < 100, "it is polled for ever");
        Ok(PolledRows { rows: None, status: SourceStatus::Ready })
    }

    fn save(&self, _: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// A connector without an end that gives three rows with each poll.
struct Threes;

impl RowSource for Threes {
    fn poll(&mut self, _: ProcessingTime, _: usize) -> Result<PolledRows, Fault> {
        let column = Arc::new(arrow::array::Int32Array::from(vec![1, 2, 3])) as ArrayRef;
        let columns = RecordBatch::try_from_iter([("a", column)]).unwrap();
        Ok(PolledRows { rows: Some(Rows { columns, kinds: None }), status: SourceStatus::Ready })
    }

    fn save(&self, _: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// An output with room for a fixed number of batches, which counts the rows that arrive.
struct Few {
    batches: usize,
    rows: usize,
}

impl Output<Batch> for Few {
    fn room(&self) -> usize {
        self.batches
    }

    fn push(&mut self, record: Record<Batch>) {
        self.batches -= 1;
        self.rows += record.value.len();
    }
}

/// Rows that were counted as read come out before a source ends, and a poll with the limit 0 reads no more.
#[test]
fn what_was_read_is_pending_until_it_is_out() {
    let (reading, clock) = one_column();
    let tally = Tally::default();
    let rows = Box::new(Threes);
    let mut source = TableSource::new(Arc::new(reading), rows, clock, tally.clone(), JobEnd::default());
    let mut out = Few { batches: 2, rows: 0 };
    source.poll(ProcessingTime::ZERO, 1_000, &mut out).unwrap();
    assert_eq!((out.rows, tally.rows_in()), (6, 6));
    // These rows are read, and the output has no room for them.
    source.unread.push(Threes.poll(ProcessingTime::ZERO, 3).unwrap().rows.unwrap());
    source.read_next().unwrap();
    source.unread.push(Threes.poll(ProcessingTime::ZERO, 3).unwrap().rows.unwrap());
    for rows in [9, 12, 12] {
        assert_eq!(source.has_pending(), out.rows < 12);
        out.batches = 1;
        let polled = source.poll(ProcessingTime::ZERO, 0, &mut out).unwrap();
        assert_eq!((out.rows, polled.status), (rows, SourceStatus::Ready));
    }
    assert_eq!(tally.rows_in(), 6, "nothing was read");
}

/// A source that works for others, for two polls.
struct Helps(u64);

impl RowSource for Helps {
    fn poll(&mut self, _: ProcessingTime, _: usize) -> Result<PolledRows, Fault> {
        self.0 += 1;
        let status = if self.0 < 3 { SourceStatus::Ready } else { SourceStatus::Ended };
        Ok(PolledRows { rows: None, status })
    }

    fn only_helps(&self) -> bool {
        true
    }

    fn save(&self, _: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// The stream of a source that only helps has its last batch at once, so that nobody waits for it, and its work goes on. If it
/// is stopped before, its job is as complete as its readers are.
#[test]
fn a_helper_ends_its_stream_at_once() {
    let (reading, clock) = one_column();
    let (rows, end) = (Box::new(Helps(0)), JobEnd::new(true));
    let mut source = TableSource::new(Arc::new(reading), rows, clock, Tally::default(), end.clone());
    source.finish().unwrap();
    assert!(end.is_complete());
    let mut out = Few { batches: 10, rows: 0 };
    for status in [SourceStatus::Ready, SourceStatus::Ready, SourceStatus::Ended] {
        assert_eq!(source.poll(ProcessingTime::ZERO, 1_000, &mut out).unwrap().status, status);
        assert_eq!((out.batches, out.rows), (9, 0), "one batch without rows");
    }
}

fn one_column() -> (Reading, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::default());
    let schema = Schema::new(vec![SqlType::Int.field("a", true)]);
    (Reading::new(&bed::table("CREATE TABLE t (a INT)"), &[0], Arc::new(schema)), clock)
}

struct Room;

impl Output<Batch> for Room {
    fn room(&self) -> usize {
        100
    }

    fn push(&mut self, _: Record<Batch>) {}
}

#[test]
fn a_poll_without_rows_comes_back() {
    let (reading, clock) = one_column();
    let polls: Arc<Mutex<u64>> = Arc::default();
    let rows = Box::new(Nothing(Arc::clone(&polls)));
    let mut source = TableSource::new(Arc::new(reading), rows, clock, Tally::default(), JobEnd::default());
    for poll in 1..=3 {
        let polled = source.poll(ProcessingTime::ZERO, 1_000, &mut Room).unwrap();
        assert_eq!(polled.status, SourceStatus::Ready);
        assert_eq!(*polls.lock().unwrap(), poll);
    }
}
