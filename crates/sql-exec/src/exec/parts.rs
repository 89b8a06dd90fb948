//! Rows of a batch that an aggregate adds together, and those that it takes back together.

use thalweg_sql_tables::batch::Batch;

/// Rows of a batch that are added, or taken back, at once.
pub(super) struct Part {
    pub(super) is_added: bool,
    /// Indexes of the rows in the batch, in ascending order.
    pub(super) rows: Vec<u32>,
}

/// Divides the rows of a batch into parts, in the order in which they are to be applied. `is_in_order` tells whether results
/// depend on the order in which rows are added and taken back; else there are at most two parts, and rows are added first, since
/// a row may be taken back in the batch in which it is added.
pub(super) fn parts_of(batch: &Batch, is_in_order: bool) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for row in 0..batch.len() {
        let is_added = batch.kind(row).adds();
        let known = match is_in_order {
            true => parts.last_mut().filter(|part| part.is_added == is_added),
            false => parts.iter_mut().find(|part| part.is_added == is_added),
        };
        match known {
            Some(part) => part.rows.push(row as u32),
            None => parts.push(Part { is_added, rows: vec![row as u32] }),
        }
    }
    if !is_in_order {
        parts.sort_by_key(|part| !part.is_added);
    }
    parts
}
