//! Aggregates that keep all values of each group in the order in which they came: ARRAY_AGG, LISTAGG,
//! JSON_ARRAYAGG, SINGLE_VALUE. Also FIRST_VALUE and LAST_VALUE with retraction.
//!
//! A retraction removes the oldest of the values that equal the retracted one. If no such value has arrived yet, as in
//! the state of one worker, the retraction is kept, and removes the value when states are merged.
//!
//! Source: Flink, `ArrayAggFunction`, `ListAggFunction`, `ListAggWsWithRetractAggFunction`, `SingleValueAggFunction`,
//! `FirstValueWithRetractAggFunction`, `LastValueWithRetractAggFunction`.
//!
//! Differs from Flink: SINGLE_VALUE of several rows fails when its result is read, not at the second row.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::arrivals::Sequence;
use super::selection::{counted, for_each, kept};
use super::values::{Bytes, Domain};
use super::{Accumulator, same_kind};
use crate::functions::EvaluationError;
use crate::keys::{bytes_column, offset};

/// An item in the list of a group: a value that may be NULL.
pub(super) type Item<D> = Option<<D as Domain>::Value>;

/// An aggregate that computes its result from the list of all values of a group.
pub(super) trait Rendering<D: Domain>: Send + Sync + 'static {
    /// Returns whether the aggregate leaves NULLs out of the lists.
    fn skips_nulls(&self) -> bool;

    /// Converts the argument column before its values are stored in lists.
    fn prepare(&self, argument: &ArrayRef) -> ArrayRef {
        argument.clone()
    }

    /// Returns the aggregate's results, one per list of a group.
    fn results<S: Sequence<Item<D>>>(&self, domain: &D, lists: &[S]) -> Result<ArrayRef, EvaluationError>;
}

/// LAST_VALUE if `is_last`, else FIRST_VALUE: the value at one end of the list.
pub(super) struct End {
    pub is_last: bool,
}

impl<D: Domain> Rendering<D> for End {
    fn skips_nulls(&self) -> bool {
        true
    }

    fn results<S: Sequence<Item<D>>>(&self, domain: &D, lists: &[S]) -> Result<ArrayRef, EvaluationError> {
        domain.write(lists.iter().map(|list| {
            let end = if self.is_last { list.iter().next_back() } else { list.iter().next() };
            end.and_then(Option::as_ref)
        }))
    }
}

/// SINGLE_VALUE: the value of a group's only row; fails if there are several rows.
pub(super) struct Single;

impl<D: Domain> Rendering<D> for Single {
    fn skips_nulls(&self) -> bool {
        false
    }

    fn results<S: Sequence<Item<D>>>(&self, domain: &D, lists: &[S]) -> Result<ArrayRef, EvaluationError> {
        if let Some(list) = lists.iter().find(|list| list.len() > 1) {
            let message =
                format!("{} rows where one value is needed: let the sub-query return one", list.len());
            return Err(EvaluationError { code: "NOT_ONE_ROW", message });
        }
        domain.write(lists.iter().map(|list| list.iter().next().and_then(Option::as_ref)))
    }
}

/// ARRAY_AGG: an ARRAY of all values of a group; NULL if there is none.
pub(super) struct Listed {
    /// Arrow type of the resulting array.
    pub of: DataType,
    pub skips_nulls: bool,
}

impl<D: Domain> Rendering<D> for Listed {
    fn skips_nulls(&self) -> bool {
        self.skips_nulls
    }

    fn results<S: Sequence<Item<D>>>(&self, domain: &D, lists: &[S]) -> Result<ArrayRef, EvaluationError> {
        let DataType::List(item) = &self.of else {
            unreachable!("binding gives a list aggregate the type of an ARRAY, which is a List")
        };
        offset(lists.iter().map(S::len).sum())?;
        let items = domain.write(lists.iter().flat_map(|list| list.iter().map(Option::as_ref)))?;
        let offsets = OffsetBuffer::from_lengths(lists.iter().map(S::len));
        let nulls = NullBuffer::from_iter(lists.iter().map(|list| list.len() > 0));
        match ListArray::try_new(item.clone(), offsets, items, Some(nulls)) {
            Ok(column) => Ok(Arc::new(column)),
            Err(error) => Err(EvaluationError { code: "EVALUATION", message: error.to_string() }),
        }
    }
}

/// LISTAGG: all values of a group as text with a separator between them; NULL if there is none.
pub(super) struct Joined {
    pub separator: String,
}

impl Rendering<Bytes> for Joined {
    fn skips_nulls(&self) -> bool {
        true
    }

    fn results<S: Sequence<Item<Bytes>>>(
        &self,
        _domain: &Bytes,
        lists: &[S],
    ) -> Result<ArrayRef, EvaluationError> {
        texts(lists.iter().map(|list| (list.len() > 0).then(|| joined(list, self.separator.as_bytes()))))
    }
}

/// Joins the texts of a list, with `between` between them; NULL becomes the `null` of JSON.
pub(super) fn joined<S: Sequence<Item<Bytes>>>(list: &S, between: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for (place, value) in list.iter().enumerate() {
        if place > 0 {
            text.extend_from_slice(between);
        }
        text.extend_from_slice(value.as_deref().unwrap_or(b"null"));
    }
    text
}

/// Builds a column of text from the results of groups.
pub(super) fn texts(texts: impl Iterator<Item = Option<Vec<u8>>>) -> Result<ArrayRef, EvaluationError> {
    let texts: Vec<_> = texts.collect();
    bytes_column(&DataType::Utf8, texts.iter().map(Option::as_deref))
}

/// Lists of the values of all groups of an aggregate call.
pub(super) struct Lists<D: Domain, R, S> {
    domain: D,
    rendering: R,
    lists: Vec<S>,
    /// Bytes of the lists of all groups, and of all their items as [`item_bytes`] counts them.
    held_bytes: usize,
    kind: PhantomData<fn() -> D>,
}

impl<D: Domain, R: Rendering<D>, S: Sequence<Item<D>>> Lists<D, R, S> {
    pub(super) fn new(domain: D, rendering: R) -> Self {
        Lists { domain, rendering, lists: Vec::new(), held_bytes: 0, kind: PhantomData }
    }

    /// Calls `visit` for each row that FILTER keeps, except NULLs if the aggregate skips them. `visit` gets
    /// the list of the row's group, the row's value, and the counter of held bytes.
    fn visit(
        &mut self,
        groups: &[u32],
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
        mut visit: impl FnMut(&mut S, Item<D>, &mut usize),
    ) {
        let argument = self.rendering.prepare(&arguments[0]);
        let column = self.domain.read(&argument);
        let nulls = arrow::array::Array::logical_nulls(&argument).filter(|nulls| nulls.null_count() > 0);
        let counted = if self.rendering.skips_nulls() {
            counted(std::slice::from_ref(&argument), keep)
        } else {
            keep.map(kept)
        };
        for_each(groups, counted.as_ref(), |row, group| {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let item = (!is_null).then(|| D::value(&column, row));
            let list = &mut self.lists[group];
            let before = list.held_bytes();
            visit(list, item, &mut self.held_bytes);
            self.held_bytes = (self.held_bytes + list.held_bytes()).saturating_sub(before);
        });
    }
}

/// Returns the heap bytes of an item of a list. A sequence that can retract holds each item twice.
fn item_bytes<D: Domain, S: Sequence<Item<D>>>(item: &Item<D>) -> usize {
    let bytes = item.as_ref().map_or(0, D::held_bytes);
    if S::RETRACTS { 2 * bytes } else { bytes }
}

/// Returns the bytes that the list of a group and its items hold.
fn list_bytes<D: Domain, S: Sequence<Item<D>>>(list: &S) -> usize {
    list.held_bytes() + list.iter().map(item_bytes::<D, S>).sum::<usize>()
}

impl<D: Domain, R: Rendering<D>, S: Sequence<Item<D>>> Accumulator for Lists<D, R, S> {
    fn resize(&mut self, groups: usize) {
        self.lists.resize_with(groups.max(self.lists.len()), S::default);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.visit(groups, arguments, keep, |list, item, held_bytes| {
            *held_bytes += item_bytes::<D, S>(&item);
            list.push(item);
        });
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.visit(groups, arguments, keep, |list, item, held_bytes| {
            let bytes = item_bytes::<D, S>(&item);
            // If the retracted value is not in the list, it is remembered as retracted, which takes memory
            // instead of freeing it.
            *held_bytes =
                if list.take(item) { held_bytes.saturating_sub(bytes) } else { *held_bytes + bytes };
        });
    }

    fn can_retract(&self) -> bool {
        S::RETRACTS
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        let other = same_kind::<Self>(other);
        self.held_bytes += other.held_bytes;
        for (list, &group) in other.lists.iter().zip(into) {
            let own = &mut self.lists[group as usize];
            let before = own.held_bytes() + list.held_bytes();
            own.append(list);
            self.held_bytes = (self.held_bytes + own.held_bytes()).saturating_sub(before);
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.rendering.results(&self.domain, &self.lists[range])
    }

    fn result_bytes(&self, range: Range<usize>) -> usize {
        let item_bytes = |item: &Item<D>| size_of::<Item<D>>() + item.as_ref().map_or(0, D::held_bytes);
        self.lists[range].iter().flat_map(S::iter).map(item_bytes).sum()
    }

    fn reset(&mut self, groups: &[u32]) {
        for &group in groups {
            let list = std::mem::take(&mut self.lists[group as usize]);
            self.held_bytes = self.held_bytes.saturating_sub(list_bytes::<D, S>(&list));
        }
    }

    fn clear(&mut self) {
        self.lists.clear();
        self.held_bytes = 0;
    }

    fn bytes(&self) -> usize {
        self.lists.capacity() * size_of::<S>() + self.held_bytes
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        D::save_format(state)?;
        state.put(&self.lists)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        D::check_format(state)?;
        self.lists = state.take()?;
        self.held_bytes = self.lists.iter().map(list_bytes::<D, S>).sum();
        Ok(())
    }
}
