//! Values of one key in the order of time: a span of time is found by binary search, and a value that comes
//! out of order is inserted at its place.
//!
//! One value lies in the entry of its key. A few lie in one sorted list; many in a list of such lists, none longer
//! than [`BLOCK_ROWS`]. So an insertion moves few values, in any order of arrival, and a hot key costs no more than
//! its own matches. Values are never removed one by one: whole tables of timelines are dropped as time goes by.

use thalweg_model::EventTime;

use super::combine::Fate;
use super::funds::Funds;

/// Largest number of rows in a block (a sorted list of rows of one key). An insertion moves half of them on
/// average, which takes a few hundred nanoseconds at most.
const BLOCK_ROWS: usize = 128;

/// A value, its event time, and the note whether it had a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<V, N> {
    pub(crate) time: EventTime,
    pub(crate) value: V,
    pub(crate) fate: N,
}

/// The rows of one key in the order of their times; rows of equal times are in the order of arrival.
#[derive(Debug, Default)]
pub(crate) enum Timeline<V, N> {
    #[default]
    Empty,
    One(Row<V, N>),
    /// The key's rows lie in one sorted list, which has at most [`BLOCK_ROWS`] rows.
    Few(Vec<Row<V, N>>),
    /// The key's rows lie in several sorted lists of rows (blocks), in the order of time. None of them is
    /// empty.
    Many(Vec<Vec<Row<V, N>>>),
}

/// A place between two rows of a key, valid as long as no row is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    block: usize,
    row: usize,
}

impl<V, N: Fate> Timeline<V, N> {
    /// Inserts `row` after the rows whose times are not later. Returns whether there was a row of the same
    /// time already. If there is no memory, drops the row and returns `None`.
    pub(crate) fn insert(&mut self, row: Row<V, N>, funds: &mut Funds) -> Option<bool> {
        match self {
            Timeline::Empty => {
                *self = Timeline::One(row);
                Some(false)
            }
            Timeline::One(_) => self.insert_second(row, funds),
            Timeline::Few(rows) if rows.len() < BLOCK_ROWS => insert_sorted(rows, row, funds),
            Timeline::Few(_) => {
                let mut blocks = Vec::new();
                if !funds.room_in(&mut blocks) {
                    return None;
                }
                if let Timeline::Few(rows) = std::mem::take(self) {
                    blocks.push(rows);
                }
                *self = Timeline::Many(blocks);
                self.insert(row, funds)
            }
            Timeline::Many(blocks) => insert_into_blocks(blocks, row, funds),
        }
    }

    fn insert_second(&mut self, row: Row<V, N>, funds: &mut Funds) -> Option<bool> {
        let mut rows = Vec::new();
        if !funds.room_for(&mut rows, 2) {
            return None;
        }
        if let Timeline::One(first) = std::mem::take(self) {
            rows.push(first);
        }
        let was_there = insert_sorted(&mut rows, row, funds);
        *self = Timeline::Few(rows);
        was_there
    }

    /// Returns the place before the first row whose time is `from` or later.
    #[inline(always)]
    pub(crate) fn seek(&self, from: EventTime) -> Place {
        let is_before = |row: &Row<V, N>| row.time < from;
        match self {
            Timeline::Empty => Place { block: 0, row: 0 },
            Timeline::One(row) => Place { block: 0, row: usize::from(is_before(row)) },
            Timeline::Few(rows) => Place { block: 0, row: rows.partition_point(is_before) },
            Timeline::Many(blocks) => {
                let block = blocks.partition_point(|rows| rows.last().is_some_and(is_before));
                Place { block, row: blocks.get(block).map_or(0, |rows| rows.partition_point(is_before)) }
            }
        }
    }

    /// Returns the row of the key after `place`, and moves `place` behind that row.
    #[inline(always)]
    pub(crate) fn next(&mut self, place: &mut Place) -> Option<&mut Row<V, N>> {
        let rows = match self {
            Timeline::Empty => return None,
            Timeline::One(row) => std::slice::from_mut(row),
            Timeline::Few(rows) => rows,
            Timeline::Many(blocks) => {
                if blocks.get(place.block).is_some_and(|rows| place.row == rows.len()) {
                    *place = Place { block: place.block + 1, row: 0 };
                }
                blocks.get_mut(place.block)?
            }
        };
        let row = rows.get_mut(place.row)?;
        place.row += 1;
        Some(row)
    }

    /// Loads the first row if the key has several rows, so that this row is in the cache when it is needed.
    #[inline(always)]
    pub(crate) fn touch(&self) -> bool {
        match self {
            Timeline::Few(rows) => rows.first().is_some_and(|row| row.time > EventTime::MIN),
            _ => false,
        }
    }

    /// Iterates over every row of the key in the order of time.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row<V, N>> {
        let (few, many): (&[Row<V, N>], &[Vec<Row<V, N>>]) = match self {
            Timeline::Empty => (&[], &[]),
            Timeline::One(row) => (std::slice::from_ref(row), &[]),
            Timeline::Few(rows) => (rows, &[]),
            Timeline::Many(blocks) => (&[], blocks),
        };
        few.iter().chain(many.iter().flatten())
    }
}

/// Inserts a row into one sorted list of rows. Returns whether the list had a row of the same time; `None` if
/// there is no memory.
fn insert_sorted<V, N>(rows: &mut Vec<Row<V, N>>, row: Row<V, N>, funds: &mut Funds) -> Option<bool> {
    if !funds.room_in(rows) {
        return None;
    }
    let place = match rows.last() {
        Some(last) if row.time < last.time => rows.partition_point(|other| other.time <= row.time),
        _ => rows.len(),
    };
    let was_there = place > 0 && rows[place - 1].time == row.time;
    rows.insert(place, row);
    Some(was_there)
}

fn insert_into_blocks<V, N>(
    blocks: &mut Vec<Vec<Row<V, N>>>,
    row: Row<V, N>,
    funds: &mut Funds,
) -> Option<bool> {
    // The last block (sorted list of rows) that begins no later than the new row is chosen, so that the row
    // comes after all rows that are not later.
    let index = blocks.partition_point(|rows| rows.first().is_some_and(|first| first.time <= row.time));
    let mut index = index.saturating_sub(1);
    if blocks[index].len() == BLOCK_ROWS {
        let mut upper = Vec::new();
        if !(funds.room_in(blocks) && funds.room_for(&mut upper, BLOCK_ROWS)) {
            return None;
        }
        let rows = &mut blocks[index];
        // If rows come in order, their blocks (sorted lists of rows) become full. Only a row that goes into
        // the middle of a full block splits this block in two halves.
        let is_behind_all = rows.last().is_some_and(|last| last.time <= row.time);
        let was_there = is_behind_all && rows.last().is_some_and(|last| last.time == row.time);
        if is_behind_all {
            upper.push(row);
            blocks.insert(index + 1, upper);
            return Some(was_there);
        }
        upper.extend(rows.drain(BLOCK_ROWS / 2..));
        let is_in_upper = upper[0].time <= row.time;
        blocks.insert(index + 1, upper);
        index += usize::from(is_in_upper);
    }
    insert_sorted(&mut blocks[index], row, funds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use thalweg_model::Allowance;

    use super::*;

    fn at(micros: i64) -> EventTime {
        EventTime::from_micros(micros)
    }

    proptest! {
        /// Rows that arrive in any order are stored sorted, rows of equal times in the order of arrival.
        /// Spans of time contain the same rows as in a sorted vector, and the bytes held equal the bytes paid
        /// for.
        #[test]
        fn equals_a_stable_sort(
            times in prop_oneof![
                proptest::collection::vec(-20..20i64, 0..40),
                proptest::collection::vec(-300..300i64, 0..1_500),
                (0..1_500i64).prop_map(|count| (0..count).collect()),
                (0..1_500i64).prop_map(|count| (0..count).rev().collect()),
                (0..1_500usize).prop_map(|count| vec![7; count]),
            ],
            spans in proptest::collection::vec((-310..310i64, 0..100i64), 1..20),
        ) {
            let mut funds = Funds::new(&Allowance::default());
            let mut timeline = Timeline::Empty;
            for (value, time) in times.iter().enumerate() {
                let was_there = timeline.insert(Row { time: at(*time), value, fate: false }, &mut funds);
                prop_assert_eq!(was_there, Some(times[..value].contains(time)));
            }
            let mut sorted: Vec<(i64, usize)> = times.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            prop_assert!(timeline.rows().map(|row| (row.time.as_micros(), row.value)).eq(sorted.iter().copied()));
            for (from, length) in spans {
                let mut place = timeline.seek(at(from));
                let mut found = Vec::new();
                while let Some(row) = timeline.next(&mut place).filter(|row| row.time <= at(from + length)) {
                    found.push(row.value);
                }
                let within = sorted.iter().filter(|(time, _)| (from..=from + length).contains(time));
                prop_assert!(within.map(|(_, value)| *value).eq(found));
            }
            let held = match &timeline {
                Timeline::Empty | Timeline::One(_) => 0,
                Timeline::Few(rows) => super::super::funds::bytes_of(rows),
                Timeline::Many(blocks) => {
                    prop_assert!(blocks.iter().all(|rows| !rows.is_empty() && rows.len() <= BLOCK_ROWS));
                    let rows: usize = blocks.iter().map(super::super::funds::bytes_of).sum();
                    rows + super::super::funds::bytes_of(blocks)
                }
            };
            prop_assert_eq!(held, funds.held_bytes());
        }
    }
}
