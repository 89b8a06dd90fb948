//! Rows that are only added and are all wanted: kept end to end as they come, and sorted once.

use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::list_growth_bytes;

/// Rows as comparable bytes, in the order of arrival until they are sorted.
#[derive(Default)]
pub(super) struct Appended {
    /// All rows end to end.
    bytes: Vec<u8>,
    /// For each row, the position after its last byte.
    ends: Vec<usize>,
    /// For each row, its first eight bytes, which decide most comparisons, and its number: in the order of arrival, and in
    /// that of the output when the rows are sorted.
    index: Vec<(u64, u32)>,
    /// Number of sorted rows that were taken.
    taken: usize,
}

/// Greatest number of rows, which have numbers of 32 bits.
const ROWS_MAX: usize = u32::MAX as usize;

impl Appended {
    /// Adds a row.
    ///
    /// # Errors
    /// `STATE_LIMIT` if there are more than [`ROWS_MAX`] rows.
    pub(super) fn add(&mut self, row: &[u8]) -> Result<(), EvaluationError> {
        if self.ends.len() == ROWS_MAX {
            let message =
                format!("more than {ROWS_MAX} rows are too many to sort: add LIMIT, or aggregate first");
            return Err(EvaluationError { code: "STATE_LIMIT", message });
        }
        let mut first = [0; 8];
        let length = row.len().min(8);
        first[..length].copy_from_slice(&row[..length]);
        self.index.push((u64::from_be_bytes(first), self.ends.len() as u32));
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Returns the bytes that `more` rows with `more_bytes` bytes may take for a moment, beyond the bytes held.
    pub(super) fn growth_bytes(&self, more: usize, more_bytes: usize) -> usize {
        list_growth_bytes(self.bytes.len(), self.bytes.capacity(), 1, more_bytes)
            + list_growth_bytes(self.ends.len(), self.ends.capacity(), size_of::<usize>(), more)
            + list_growth_bytes(self.index.len(), self.index.capacity(), size_of::<(u64, u32)>(), more)
    }

    /// Sorts the rows by their bytes. If rows are added afterwards, they are sorted by another call, before which no row was
    /// taken.
    pub(super) fn sort(&mut self) {
        let mut index = std::mem::take(&mut self.index);
        index.sort_unstable_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| self.row(left.1 as usize).cmp(self.row(right.1 as usize)))
        });
        self.index = index;
    }

    /// Takes the next rows of the output: at most `rows_max`, and about `bytes_max` bytes.
    pub(super) fn take(&mut self, rows_max: usize, bytes_max: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        let (from, mut bytes) = (self.taken, 0);
        while self.taken < self.index.len() && self.taken - from < rows_max && bytes < bytes_max {
            bytes += self.row(self.index[self.taken].1 as usize).len();
            self.taken += 1;
        }
        self.index[from..self.taken].iter().map(|(_, number)| self.row(*number as usize))
    }

    /// Leaves out the next `count` rows of the output, or all that are left.
    pub(super) fn skip(&mut self, count: u64) {
        let left = self.index.len() - self.taken;
        self.taken += usize::try_from(count).unwrap_or(left).min(left);
    }

    /// Returns whether no row is left.
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.ends.len()
    }

    /// Returns the rows that are left.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.index[self.taken..].iter().map(|(_, number)| self.row(*number as usize))
    }

    /// Returns the bytes that the rows and their index hold.
    pub(super) fn held_bytes(&self) -> usize {
        let ends = self.ends.capacity() * size_of::<usize>();
        self.bytes.capacity() + ends + self.index.capacity() * size_of::<(u64, u32)>()
    }

    fn row(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}
