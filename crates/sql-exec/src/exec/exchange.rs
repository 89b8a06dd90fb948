//! Exchange of batches by key: divides the rows of each batch among the copies of a keyed operator.
//!
//! Each key belongs to one of [`KEY_GROUPS`](thalweg_model::KEY_GROUPS) key groups, by a hash that is the same in every run.
//! A copy of the operator has a range of key groups, so all rows of a key go to one copy, in their order. Watermarks go to
//! all copies.
//!
//! A batch whose rows all go to one copy is sent as it is; the rows of any other batch are copied once. A failure goes to
//! all copies: a copy that does not see it would emit results without the rows behind it. A batch that ends its source goes to
//! all copies, too.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use thalweg_model::{Addressed, Allowance, Blame, Either, EventTime, Keys, group_hash_of, hash_of_place};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::key_hashes;
use thalweg_sql_functions::user::Watch;
use thalweg_sql_tables::batch::Batch;

use super::join::Side;
use super::operator::Outcome;
use super::order::taken;
use crate::plan::Column;

#[cfg(test)]
mod tests;

/// Key of the rows of one input of an operator, as expressions over the columns of the input.
#[derive(Clone)]
pub struct RowKeys {
    /// Name of the operator, which an error in an expression names.
    name: Arc<str>,
    keys: Arc<[Typed]>,
    watch: Option<Arc<Watch>>,
}

impl RowKeys {
    /// Creates the key of an operator whose input has `columns`: the values of the columns with the indexes `places`.
    pub fn of_columns(name: &str, places: &[usize], columns: &[Column]) -> Self {
        let typed = |place: &usize| {
            let column = &columns[*place];
            Typed::column(*place, column.of.clone(), column.is_nullable)
        };
        RowKeys { name: name.into(), keys: places.iter().map(typed).collect(), watch: None }
    }

    /// Creates a key of the values of expressions. `watch` watches the calls of user functions in them.
    pub fn of_expressions(name: &str, keys: Vec<Typed>, watch: Option<&Arc<Watch>>) -> Self {
        RowKeys { name: name.into(), keys: keys.into(), watch: watch.cloned() }
    }
}

/// Divides batches among the copies of an operator.
struct Divider {
    by: RowKeys,
    hashes: Vec<u64>,
    /// Indexes of the rows of each copy, kept to reuse their memory.
    rows: Vec<Vec<u32>>,
    /// Parts that were not sent so far, each with the hash that addresses it to its copy.
    parts: VecDeque<(u64, Batch)>,
    allowance: Allowance,
    /// Tells whether an expression of the key has panicked.
    blame: Blame,
}

impl Divider {
    fn new(by: RowKeys) -> Self {
        Divider {
            by,
            hashes: Vec::new(),
            rows: Vec::new(),
            parts: VecDeque::new(),
            allowance: Allowance::default(),
            blame: Blame::default(),
        }
    }

    fn fork(&self) -> Self {
        Divider::new(self.by.clone())
    }

    /// Returns the name of the operator if an expression of its key has panicked.
    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(&*self.by.name)
    }

    /// Divides a batch, and appends its parts to `parts`.
    fn divide(&mut self, batch: Batch, copies: usize) {
        let failed = match batch.failure {
            Some(_) => Some(batch),
            None => self.divided(batch, copies).err().map(|error| Batch::failed(&self.by.name, error)),
        };
        if let Some(failed) = failed {
            (0..copies).for_each(|copy| self.put(copy, copies, failed.clone()));
        }
    }

    fn divided(&mut self, batch: Batch, copies: usize) -> Outcome<()> {
        if batch.is_empty() && !batch.is_last() {
            return Ok(());
        }
        let RowKeys { keys, watch, .. } = &self.by;
        let columns = self.blame.on(|| {
            Watch::within(watch.as_ref(), || {
                keys.iter().map(|key| key.evaluate_column(&batch.rows)).collect::<Outcome<Vec<ArrayRef>>>()
            })
        })?;
        key_hashes(&columns, batch.len(), &mut self.hashes);
        self.rows.resize_with(copies, Vec::new);
        self.rows.iter_mut().for_each(Vec::clear);
        for (row, hash) in (0..).zip(&self.hashes) {
            let of_group = Addressed { key_hash: group_hash_of(*hash), value: () };
            self.rows[of_group.place(copies)].push(row);
        }
        let whole = self.rows.iter().position(|rows| rows.len() == batch.len());
        if let (Some(copy), false) = (whole, batch.is_last()) {
            self.put(copy, copies, Batch { watermark: None, ..batch });
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let sent = (0..).zip(&rows).try_for_each(|(copy, rows)| {
            if !rows.is_empty() || batch.is_last() {
                let part = self.part(&batch, rows)?;
                self.put(copy, copies, part);
            }
            Ok(())
        });
        self.rows = rows;
        sent
    }

    /// Copies some rows of a batch.
    fn part(&self, batch: &Batch, rows: &[u32]) -> Result<Batch, EvaluationError> {
        let kinds = batch.kinds.as_ref().map(|kinds| rows.iter().map(|row| kinds[*row as usize]).collect());
        let watermark = batch.watermark.filter(|_| batch.is_last());
        let part =
            Batch { kinds, watermark, ..Batch::new(taken(&batch.rows, &UInt32Array::from(rows.to_vec()))?) };
        part.paid(&self.allowance, "STATE_LIMIT")
    }

    /// Appends a batch for a copy, cut to the size of batches on an edge. Long rows are followed by empty batches, which
    /// take the room of the bytes above that size.
    fn put(&mut self, copy: usize, copies: usize, batch: Batch) {
        let address = hash_of_place(copy, copies);
        let mut left = Some(batch);
        while let Some(batch) = left {
            let (first, rest) = batch.cut();
            let fillers = (0..first.fillers()).map(|_| (address, first.filler())).collect::<Vec<_>>();
            self.parts.push_back((address, first));
            self.parts.extend(fillers);
            left = rest;
        }
    }
}

/// [`Keys`] of an operator over batches with one input.
pub struct BatchKeys(Option<Divider>);

impl BatchKeys {
    /// Creates the keys of an operator; `None` for an operator that has no keys.
    pub(super) fn new(by: Option<&RowKeys>) -> Self {
        BatchKeys(by.cloned().map(Divider::new))
    }
}

impl Keys<Batch> for BatchKeys {
    const DIVIDES: bool = true;

    fn address(&mut self, _event_time: EventTime, _value: &Batch) -> Option<u64> {
        unreachable!("a batch has no key of its own: its rows are divided")
    }

    fn divide(&mut self, batch: Batch, copies: usize) {
        let Some(divider) = &mut self.0 else {
            unreachable!("only an operator with keys stands behind an exchange")
        };
        divider.divide(batch, copies);
    }

    fn next_part(&mut self) -> Option<(u64, Batch)> {
        self.0.as_mut()?.parts.pop_front()
    }

    fn has_parts(&self) -> bool {
        self.0.as_ref().is_some_and(|divider| !divider.parts.is_empty())
    }

    fn fork(&self) -> Self {
        BatchKeys(self.0.as_ref().map(Divider::fork))
    }

    fn fund(&mut self, allowance: &Allowance) {
        if let Some(divider) = &mut self.0 {
            divider.allowance = allowance.clone();
        }
    }

    fn faulted(&self) -> Option<&str> {
        self.0.as_ref().and_then(Divider::faulted)
    }
}

/// [`Keys`] of a join over batches, with the key of each of its inputs.
pub struct JoinKeys {
    sides: Option<[Divider; 2]>,
    /// The input whose batch was divided last.
    last: Side,
}

impl JoinKeys {
    /// Creates the keys of a join; `None` for a join that has no keys.
    pub(super) fn new(by: Option<&[RowKeys; 2]>) -> Self {
        JoinKeys { sides: by.map(|sides| sides.clone().map(Divider::new)), last: Side::Left }
    }
}

impl Keys<Either<Batch, Batch>> for JoinKeys {
    const DIVIDES: bool = true;

    fn address(&mut self, _event_time: EventTime, _value: &Either<Batch, Batch>) -> Option<u64> {
        unreachable!("a batch has no key of its own: its rows are divided")
    }

    fn divide(&mut self, value: Either<Batch, Batch>, copies: usize) {
        let (side, batch) = match value {
            Either::Left(batch) => (Side::Left, batch),
            Either::Right(batch) => (Side::Right, batch),
        };
        self.last = side;
        let Some(sides) = &mut self.sides else {
            unreachable!("only a join with keys stands behind an exchange")
        };
        sides[side.index()].divide(batch, copies);
    }

    fn next_part(&mut self) -> Option<(u64, Either<Batch, Batch>)> {
        let (address, batch) = self.sides.as_mut()?[self.last.index()].parts.pop_front()?;
        let batch = match self.last {
            Side::Left => Either::Left(batch),
            Side::Right => Either::Right(batch),
        };
        Some((address, batch))
    }

    fn has_parts(&self) -> bool {
        self.sides.as_ref().is_some_and(|sides| !sides[self.last.index()].parts.is_empty())
    }

    fn fork(&self) -> Self {
        JoinKeys {
            sides: self.sides.as_ref().map(|sides| [sides[0].fork(), sides[1].fork()]),
            last: Side::Left,
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        if let Some(sides) = &mut self.sides {
            sides.iter_mut().for_each(|side| side.allowance = allowance.clone());
        }
    }

    fn faulted(&self) -> Option<&str> {
        self.sides.iter().flatten().find_map(Divider::faulted)
    }
}
