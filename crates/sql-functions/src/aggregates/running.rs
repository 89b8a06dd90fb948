//! Running results: rows are applied to an accumulator one after the other, and each has the result of its group after it.
//!
//! Accumulators whose results are cheap to copy write down the state of the group after each row, and make all results at once.
//! For others [`by_rounds`] cuts the rows into rounds, each with at most one row of a group: the rows of a round are applied
//! together.

use std::cell::OnceCell;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::compute::{interleave, take};
use hashbrown::HashMap;

use super::Accumulator;
use crate::expression::arrow_error;
use crate::functions::EvaluationError;

/// Rows that are applied to accumulators one after the other.
pub struct Sequence<'a> {
    /// Group of each row.
    pub groups: &'a [u32],
    /// Whether each row is added, and not retracted; `None` if all are added.
    pub is_added: Option<&'a [bool]>,
    /// Whether the group of each row has no rows after it, so that its result has no meaning; `None` if none has.
    is_gone: Option<&'a [bool]>,
    rounds: OnceCell<Vec<Vec<u32>>>,
}

impl<'a> Sequence<'a> {
    /// Creates a sequence of rows with the given groups. A row is retracted where `is_added` is false, and its group has no rows
    /// after it where `is_gone` is true.
    pub fn new(groups: &'a [u32], is_added: &'a [bool], is_gone: &'a [bool]) -> Self {
        let are_all_added = is_added.iter().all(|is_added| *is_added);
        Sequence {
            groups,
            is_added: (!are_all_added).then_some(is_added),
            is_gone: is_gone.contains(&true).then_some(is_gone),
            rounds: OnceCell::new(),
        }
    }

    /// Returns whether the group of a row has no rows after it.
    fn is_gone(&self, row: usize) -> bool {
        self.is_gone.is_some_and(|is_gone| is_gone[row])
    }

    /// Returns whether a row is added, and not retracted.
    #[inline]
    pub fn is_added(&self, row: usize) -> bool {
        self.is_added.is_none_or(|is_added| is_added[row])
    }

    /// Returns the rows by rounds: the `n`-th row of a group is in round `n`. The rows of a round are in their order.
    fn rounds(&self) -> &[Vec<u32>] {
        self.rounds.get_or_init(|| {
            let mut rounds: Vec<Vec<u32>> = Vec::new();
            let mut turns: HashMap<u32, usize, foldhash::fast::RandomState> = HashMap::default();
            for (row, group) in (0..).zip(self.groups) {
                let turn = turns.entry(*group).or_default();
                if rounds.len() == *turn {
                    rounds.push(Vec::new());
                }
                rounds[*turn].push(row);
                *turn += 1;
            }
            rounds
        })
    }
}

/// Applies rows to an accumulator, round by round; returns the result of each row's group after it. A group without rows is not
/// asked for a result, which is NULL: an aggregate of a user may have none.
///
/// # Errors
/// [`EvaluationError`] if a group has no result.
pub(super) fn by_rounds<A: Accumulator + ?Sized>(
    accumulator: &mut A,
    rows: &Sequence<'_>,
    arguments: &[ArrayRef],
    keep: Option<&BooleanArray>,
) -> Result<ArrayRef, EvaluationError> {
    let mut results = Vec::with_capacity(rows.rounds().len());
    let mut places = vec![(0, 0); rows.groups.len()];
    for (number, round) in rows.rounds().iter().enumerate() {
        for is_added in [false, true] {
            let part: Vec<u32> =
                round.iter().copied().filter(|row| rows.is_added(*row as usize) == is_added).collect();
            if part.is_empty() {
                continue;
            }
            let groups: Vec<u32> = part.iter().map(|row| rows.groups[*row as usize]).collect();
            let part = UInt32Array::from(part);
            let of_part = |column: &dyn Array| take(column, &part, None).map_err(arrow_error);
            let arguments: Vec<ArrayRef> =
                arguments.iter().map(|column| of_part(&**column)).collect::<Result<_, _>>()?;
            let keep = keep.map(|keep| of_part(keep)).transpose()?;
            let keep = keep.as_ref().and_then(|keep| keep.as_any().downcast_ref());
            if is_added {
                accumulator.update(&groups, &arguments, keep);
            } else {
                accumulator.retract(&groups, &arguments, keep);
            }
        }
        let asked: Vec<u32> = round.iter().copied().filter(|row| !rows.is_gone(*row as usize)).collect();
        let groups: Vec<u32> = asked.iter().map(|row| rows.groups[*row as usize]).collect();
        results.push(accumulator.results_of(&groups)?);
        for (at, row) in asked.iter().enumerate() {
            places[*row as usize] = (number, at);
        }
    }
    if rows.is_gone.is_some()
        && let Some(of) = results.first().map(|column| column.data_type().clone())
    {
        let gone = (0..places.len()).filter(|row| rows.is_gone(*row));
        gone.for_each(|row| places[row] = (results.len(), 0));
        results.push(new_null_array(&of, 1));
    }
    match &results[..] {
        [] => accumulator.results(0..0),
        // The rows of the only round are all rows in their order.
        [one] => Ok(one.clone()),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(|column| &**column).collect();
            interleave(&several, &places).map_err(arrow_error)
        }
    }
}
