//! Selection of the rows of a batch that count for an aggregate, because FILTER keeps them and no argument is
//! NULL, and loops over them. If all rows count, no mask is read.

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;

/// Returns a mask of the rows that count for an aggregate: FILTER keeps them, and none of the columns is
/// NULL. `None` means that all rows count.
pub(super) fn counted(columns: &[ArrayRef], keep: Option<&BooleanArray>) -> Option<BooleanBuffer> {
    let kept = keep.map(kept);
    let nulls = columns.iter().filter_map(|column| column.logical_nulls());
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.into_inner());
    kept.into_iter().chain(nulls).reduce(|left, right| &left & &right)
}

/// Returns a mask of the rows for which a FILTER condition is true and not NULL.
pub(super) fn kept(keep: &BooleanArray) -> BooleanBuffer {
    match keep.nulls() {
        None => keep.values().clone(),
        Some(nulls) => keep.values() & nulls.inner(),
    }
}

/// Folds the value of each row that counts into the state of its group. `counted` is the mask of these rows;
/// `None` stands for all rows.
#[inline(always)]
pub(super) fn fold_values<S, V: Copy>(
    states: &mut [S],
    groups: &[u32],
    values: &[V],
    counted: Option<&BooleanBuffer>,
    step: impl Fn(&mut S, V),
) {
    match counted {
        None => {
            for (&group, &value) in groups.iter().zip(values) {
                step(&mut states[group as usize], value);
            }
        }
        Some(counted) => {
            for row in counted.set_indices() {
                step(&mut states[groups[row] as usize], values[row]);
            }
        }
    }
}

/// Calls `visit` for each row in the mask `counted` (for all rows if it is `None`), in order, with its row
/// number and its group number.
#[inline(always)]
pub(super) fn for_each(groups: &[u32], counted: Option<&BooleanBuffer>, mut visit: impl FnMut(usize, usize)) {
    match counted {
        None => groups.iter().enumerate().for_each(|(row, &group)| visit(row, group as usize)),
        Some(counted) => counted.set_indices().for_each(|row| visit(row, groups[row] as usize)),
    }
}
