//! Limit: the first rows of a stream, after skipping some.
//!
//! Input      batches
//! Output     the same rows, until `fetch` rows are out; none afterwards
//! State      two counts
//! End        tells the sources when all rows are out, if all tables of the plan stand below it
//! Emits      at once
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       none; columns are sliced, not copied

use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_tables::batch::Batch;
use thalweg_sql_tables::connect::job_end::LimitMark;

use super::accounts::{Accounts, accounted};
use super::operator::{BatchOperator, Outcome};

/// Operator that passes a limited number of rows.
pub struct Limit {
    skip: u64,
    fetch: u64,
    mark: Option<LimitMark>,
    accounts: Accounts,
    out: Option<Batch>,
}

impl Limit {
    /// Creates a limit that drops the first `skip` rows, then passes `fetch` rows. When they are out, it sets `mark`.
    pub fn new(skip: u64, fetch: u64, mark: Option<LimitMark>) -> Self {
        let limit = Limit { skip, fetch, mark, accounts: Accounts::default(), out: None };
        limit.set_mark_if_full();
        limit
    }

    fn set_mark_if_full(&self) {
        if let Some(mark) = self.mark.as_ref().filter(|_| self.fetch == 0) {
            mark.set();
        }
    }
}

impl BatchOperator for Limit {
    fn name(&self) -> &str {
        "limit"
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        let rows = batch.len() as u64;
        let skipped = self.skip.min(rows);
        let taken = self.fetch.min(rows - skipped);
        self.skip -= skipped;
        self.fetch -= taken;
        self.accounts.counts.read += rows;
        self.accounts.counts.forwarded += taken;
        self.accounts.counts.filtered += rows - taken;
        if taken > 0 {
            let (from, count) = (skipped as usize, taken as usize);
            let kinds = batch.kinds.as_ref().map(|kinds| kinds[from..from + count].into());
            self.out = Some(Batch { rows: batch.rows.slice(from, count), kinds, ..batch });
            self.set_mark_if_full();
        }
        Ok(())
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        Ok(self.out.take())
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.skip, self.fetch))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        (self.skip, self.fetch) = state.take()?;
        self.set_mark_if_full();
        Ok(())
    }
}
