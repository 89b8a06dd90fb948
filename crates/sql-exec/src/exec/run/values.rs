//! The literal rows of a query as a source.

use arrow::record_batch::RecordBatch;
use thalweg_model::{
    EventTime, Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus, StateError, StateReader,
    StateWriter,
};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch};

/// Source of the literal rows that stand in a query (VALUES).
pub(super) struct Values {
    /// The rows that were not emitted yet; `None` when the last batch was emitted.
    pub(super) batch: Option<RecordBatch>,
}

impl Source for Values {
    type Item = Batch;

    fn poll<O: Output<Batch>>(
        &mut self,
        _now: ProcessingTime,
        _limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        while output.room() > 0
            && let Some(batch) = self.batch.take()
        {
            let count = batch.num_rows().min(BATCH_ROWS_MAX);
            if count < batch.num_rows() {
                self.batch = Some(batch.slice(count, batch.num_rows() - count));
            }
            let watermark = self.batch.is_none().then_some(EventTime::MAX);
            output.push(Record::new(
                EventTime::EPOCH,
                Batch { watermark, ..Batch::new(batch.slice(0, count)) },
            ));
        }
        let is_over = self.batch.is_none();
        Ok(Polled::new(if is_over { SourceStatus::Ended } else { SourceStatus::Ready }))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.batch.as_ref().map(RecordBatch::num_rows))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let left: Option<usize> = state.take()?;
        self.batch = match (self.batch.take(), left) {
            (_, None) => None,
            (Some(batch), Some(left)) if left <= batch.num_rows() => {
                Some(batch.slice(batch.num_rows() - left, left))
            }
            (_, Some(left)) => return Err(state.wrong(format!("there are no {left} rows left"))),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    /// An output with room for one batch, which notes the rows and the watermark.
    struct One(Option<(Vec<i32>, bool)>);

    impl Output<Batch> for One {
        fn room(&self) -> usize {
            usize::from(self.0.is_none())
        }

        fn push(&mut self, record: Record<Batch>) {
            let rows = record.value.rows.column(0).as_primitive::<Int32Type>().values().to_vec();
            self.0 = Some((rows, record.value.watermark.is_some()));
        }
    }

    /// Literal rows go on after any batch; the last batch, which ends the stream, comes once, even if it has no rows.
    #[test]
    fn literal_rows_go_on_from_a_saved_position() {
        for count in [0, 7, BATCH_ROWS_MAX as i32 * 2 + 5] {
            let column = Arc::new(Int32Array::from_iter_values(0..count)) as _;
            let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
            let new = || Values { batch: Some(batch.clone()) };
            for cut in 0..5 {
                let (mut source, mut rows, mut ends) = (new(), Vec::new(), 0);
                for turn in 0..10 {
                    if turn == cut {
                        let mut state = StateWriter::default();
                        source.save(&mut state).unwrap();
                        let bytes = state.into_bytes();
                        source = new();
                        source.load(&mut StateReader::new(&bytes)).unwrap();
                    }
                    let mut one = One(None);
                    source.poll(ProcessingTime::ZERO, 100, &mut one).unwrap();
                    let (more, is_last) = one.0.unwrap_or_default();
                    rows.extend(more);
                    ends += u32::from(is_last);
                }
                assert!(rows.iter().copied().eq(0..count) && ends == 1, "{count} {cut}");
            }
        }
        let mut state = StateWriter::default();
        state.put(&Some(9_usize)).unwrap();
        let mut none = Values { batch: None };
        assert!(none.load(&mut StateReader::new(&state.into_bytes())).is_err());
    }
}
