//! Frames of OVER windows: for each row of sorted rows, the range of rows that an aggregate covers.
//!
//! The bounds of the frames of one key never go back from row to row. So an aggregate follows them by adding rows at the
//! end and taking rows back at the start.
//!
//! Source: Flink, `RangeBoundComparatorCodeGenerator` for NULL in RANGE with a distance: the frame of such a row has the
//! rows with NULL alone, and has them only if a bound does not lie on the other side of the row.

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use thalweg_sql_functions::keys::whole_numbers;

use crate::plan::sorted_over::{Bound, Distance, RowFrame};

/// Rows sorted by key, then by an order: where keys begin, and which rows are equal by the order (peers).
#[derive(Default)]
pub(super) struct Sorted {
    /// Range of the rows of each key.
    pub(super) keys: Vec<Range<usize>>,
    /// Index of the first peer of each row.
    pub(super) first_peer: Vec<usize>,
    /// Index behind the last peer of each row.
    pub(super) behind_peers: Vec<usize>,
}

impl Sorted {
    /// Adds a row behind all others. A row of a new key is also new by the order.
    pub(super) fn push(&mut self, is_new_key: bool, is_new_by_order: bool) {
        let row = self.first_peer.len();
        match self.keys.last_mut() {
            Some(key) if !is_new_key => key.end = row + 1,
            _ => self.keys.push(row..row + 1),
        }
        let first = match self.first_peer.last() {
            Some(first) if !is_new_key && !is_new_by_order => *first,
            _ => row,
        };
        self.first_peer.push(first);
        self.behind_peers.push(row + 1);
    }

    /// Completes the rows when all were added.
    pub(super) fn finish(&mut self) {
        for row in (1..self.first_peer.len()).rev() {
            if self.first_peer[row] == self.first_peer[row - 1] {
                self.behind_peers[row - 1] = self.behind_peers[row];
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.first_peer.len()
    }
}

/// Values of a sort column, as numbers whose differences are distances. `None` is NULL.
enum Values {
    Whole(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
}

impl Values {
    fn of(column: &ArrayRef) -> Self {
        let is_there = |row: &usize| column.is_valid(*row);
        let rows = || 0..column.len();
        match column.data_type() {
            DataType::Float64 => {
                let values = column.as_primitive::<Float64Type>().values();
                Values::Floats(rows().map(|row| Some(row).filter(is_there).map(|row| values[row])).collect())
            }
            DataType::Float32 => {
                let values = column.as_primitive::<Float32Type>().values();
                let value = |row: usize| f64::from(values[row]);
                Values::Floats(rows().map(|row| Some(row).filter(is_there).map(value)).collect())
            }
            DataType::Decimal128(..) => {
                let values = column.as_primitive::<Decimal128Type>().values();
                Values::Whole(rows().map(|row| Some(row).filter(is_there).map(|row| values[row])).collect())
            }
            _ => {
                let values = whole_numbers(column);
                let value = |row: usize| i128::from(values[row]);
                Values::Whole(rows().map(|row| Some(row).filter(is_there).map(value)).collect())
            }
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Values::Whole(values) => values[row].is_none(),
            Values::Floats(values) => values[row].is_none(),
        }
    }

    /// Compares how far `other` lies behind `row`, in the direction of the order, with a distance.
    fn compare(&self, other: usize, row: usize, is_descending: bool, by: Distance) -> Ordering {
        let (from, to) = if is_descending { (other, row) } else { (row, other) };
        match (self, by) {
            (Values::Whole(values), Distance::Whole(by)) => match (values[from], values[to]) {
                (Some(from), Some(to)) => to.saturating_sub(from).cmp(&by),
                _ => Ordering::Less,
            },
            (Values::Floats(values), Distance::Float(by)) => {
                match (values[from], values[to]) {
                    // The distance of an infinity, or of NaN, from itself is no number.
                    (Some(from), Some(to)) if from.total_cmp(&to).is_eq() => floats(0.0, by),
                    // NaN comes behind all numbers, or before them if the order is descending.
                    (Some(from), Some(to)) if from.is_nan() || to.is_nan() => {
                        if to.is_nan() {
                            Ordering::Greater
                        } else {
                            Ordering::Less
                        }
                    }
                    (Some(from), Some(to)) => floats(to - from, by),
                    _ => Ordering::Less,
                }
            }
            // Planning gives each column a distance of its own kind.
            _ => Ordering::Equal,
        }
    }
}

/// Returns the range of rows that a frame covers for each row. `column` is the sort column, which a frame of RANGE with a
/// distance reads, and whether it is descending.
pub(super) fn frames(frame: RowFrame, rows: &Sorted, column: Option<(&ArrayRef, bool)>) -> Vec<Range<usize>> {
    let has_distance = matches!(frame.from, Bound::Offset(_)) || matches!(frame.to, Bound::Offset(_));
    let values = column.filter(|_| has_distance && !frame.is_rows);
    let values = values.map(|(column, is_descending)| (Values::of(column), is_descending));
    let mut found = Vec::with_capacity(rows.len());
    for key in &rows.keys {
        let filled = values.as_ref().map(|(values, is_descending)| Filled::of(values, *is_descending, key));
        let (mut from, mut to) = (key.start, key.start);
        for row in key.clone() {
            from = match (frame.from, &filled) {
                (Bound::First, _) => key.start,
                (Bound::Last, _) => key.end,
                (Bound::Current, _) if frame.is_rows => row,
                (Bound::Current, _) => rows.first_peer[row],
                (Bound::Offset(by), Some(filled)) => filled.first(row, by, false, from),
                (Bound::Offset(by), None) => moved(row, by, key),
            };
            to = match (frame.to, &filled) {
                (Bound::First, _) => key.start,
                (Bound::Last, _) => key.end,
                (Bound::Current, _) if frame.is_rows => row + 1,
                (Bound::Current, _) => rows.behind_peers[row],
                (Bound::Offset(by), Some(filled)) => filled.first(row, by, true, to),
                (Bound::Offset(by), None) => moved(row + 1, by, key),
            };
            found.push(from..to.max(from));
        }
    }
    found
}

/// Returns the index that lies a number of rows from another one, within the rows of a key.
fn moved(row: usize, by: Distance, key: &Range<usize>) -> usize {
    let Distance::Whole(by) = by else { return row };
    let to = (row as i128).saturating_add(by).clamp(key.start as i128, key.end as i128);
    usize::try_from(to).unwrap_or(key.end)
}

/// Values of the sort column of one key: its NULLs come first or last.
struct Filled<'a> {
    values: &'a Values,
    is_descending: bool,
    nulls: Range<usize>,
    filled: Range<usize>,
}

impl<'a> Filled<'a> {
    fn of(values: &'a Values, is_descending: bool, key: &Range<usize>) -> Self {
        let count = key.clone().filter(|row| values.is_null(*row)).count();
        let (nulls, filled) = if values.is_null(key.start) {
            (key.start..key.start + count, key.start + count..key.end)
        } else {
            (key.end - count..key.end, key.start..key.end - count)
        };
        Filled { values, is_descending, nulls, filled }
    }

    /// Returns the first row that lies at least a distance behind `row`, or with `is_beyond` more than that. The search
    /// begins at `from`, the result for the row before.
    fn first(&self, row: usize, by: Distance, is_beyond: bool, from: usize) -> usize {
        if self.nulls.contains(&row) {
            let sign = match by {
                Distance::Whole(by) => by.cmp(&0),
                Distance::Float(by) => by.partial_cmp(&0.0).unwrap_or(Ordering::Equal),
            };
            let is_behind = if is_beyond { sign != Ordering::Less } else { sign == Ordering::Greater };
            return if is_behind { self.nulls.end } else { self.nulls.start };
        }
        let mut at = from.max(self.filled.start);
        while at < self.filled.end {
            let distance = self.values.compare(at, row, self.is_descending, by);
            if distance == Ordering::Greater || (distance == Ordering::Equal && !is_beyond) {
                break;
            }
            at += 1;
        }
        at
    }
}
/// Compares two distances. 0.0 equals -0.0.
fn floats(distance: f64, by: f64) -> Ordering {
    distance.partial_cmp(&by).unwrap_or_else(|| distance.total_cmp(&by))
}
