//! A poll of a table ends, whatever its connector returns, so that other tasks may run.

use std::sync::Mutex;

use thalweg_model::VirtualClock;

use super::*;
use crate::catalog::Entry;
use crate::scan::rows::PolledRows;
use crate::session::Session;
use crate::types::SqlType;

/// A connector that is always ready and never gives a row, as with endless bad records.
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

struct Room;

impl Output<Batch> for Room {
    fn room(&self) -> usize {
        100
    }

    fn push(&mut self, _: Record<Batch>) {}
}

#[test]
fn a_poll_without_rows_comes_back() {
    let clock = Arc::new(VirtualClock::default());
    let mut session = Session::new(Arc::clone(&clock) as _);
    session.read("CREATE TABLE t (a INT)").unwrap();
    let Entry::Table(table) = session.catalog().get("t").unwrap() else { panic!("a view is no table") };
    let reading = Reading::new(table, &[0], &[Column::plain("a", SqlType::Int, true)]);
    let polls: Arc<Mutex<u64>> = Arc::default();
    let rows = Box::new(Nothing(Arc::clone(&polls)));
    let mut source = TableSource::new(Arc::new(reading), rows, clock, Tally::default(), JobEnd::default());
    for poll in 1..=3 {
        let polled = source.poll(ProcessingTime::ZERO, 1_000, &mut Room).unwrap();
        assert_eq!(polled.status, SourceStatus::Ready);
        assert_eq!(*polls.lock().unwrap(), poll);
    }
}
