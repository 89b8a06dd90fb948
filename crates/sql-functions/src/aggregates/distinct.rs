//! DISTINCT: an aggregate that passes each value of a group to its inner aggregate once, however often the
//! value comes.
//!
//! If rows may be retracted, each pair of a group and a value has a count. A row is added to the inner aggregate when the
//! count of its pair rises above 0, and retracted from it when the count falls to 0 again. If rows are only added, it is enough
//! that a pair is there, which takes two thirds of the memory. NULL is a value here; the inner aggregate ignores it. All NaNs
//! are one value, and -0.0 and 0.0 are two, as in `java.lang.Double.equals`.
//!
//! ```text
//!  values ──► value numbers ──► counts of (group, value number) ──► rows that are first, or last ──► the aggregate inside
//! ```
//!
//! Whole numbers are their own value numbers. All other values are numbered by a [`KeyIndex`], which is rebuilt when
//! most of its values are gone.
//!
//! Source: Flink, `DistinctInfo` and `DistinctAggCodeGen`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::{Accumulator, Sequence, same_kind};
use crate::functions::EvaluationError;
use crate::keys::{KeyIndex, growth_bytes, hash_of, is_whole, whole_column, whole_numbers};
use crate::types::SqlType;

/// Number of pairs of a group and a value that a merge passes from one accumulator to another at a time.
const PAIRS_PER_STEP: usize = 1_024;

/// A value that is in no group any more keeps its number at first. Values are renumbered when the number of
/// numbered values reaches this constant plus twice the number of (group, value) pairs.
const GONE_VALUES_MIN: usize = 1_024;

/// A DISTINCT aggregate: the inner aggregate, and the values that each group has seen.
pub(super) struct Distinct {
    inner: Box<dyn Accumulator>,
    numbering: Numbering,
    pairs: Pairs,
    /// Types of the arguments that DISTINCT compares, to which the call was bound.
    over: Arc<[SqlType]>,
    hash_seed: u64,
    /// Error that made DISTINCT leave out values. Adding and retracting rows cannot return errors, so reading
    /// the results returns this error.
    failure: Option<EvaluationError>,
}

/// Values that each group has seen.
enum Pairs {
    /// Each with the count of its rows, since rows may be retracted.
    Counted(HashTable<Pair>),
    /// Without counts, since rows are only added.
    Seen(HashTable<Seen>),
}

/// A value of a group, of 16 bytes.
#[derive(Clone, Copy)]
struct Seen {
    value: i64,
    group: u32,
    is_null: bool,
}

impl From<Pair> for Seen {
    fn from(Pair { value, group, is_null, .. }: Pair) -> Self {
        Seen { value, group, is_null }
    }
}

impl From<Seen> for Pair {
    fn from(Seen { value, group, is_null }: Seen) -> Self {
        Pair { value, group, is_null, count: 1 }
    }
}

impl Pairs {
    fn new(retracts: bool) -> Self {
        if retracts { Pairs::Counted(HashTable::new()) } else { Pairs::Seen(HashTable::new()) }
    }

    fn len(&self) -> usize {
        match self {
            Pairs::Counted(pairs) => pairs.len(),
            Pairs::Seen(pairs) => pairs.len(),
        }
    }

    /// Adds `pair.count` to the row count of a pair, and returns the count that the pair had before.
    #[inline]
    fn add(&mut self, pair: Pair, seed: u64) -> i64 {
        match self {
            Pairs::Counted(pairs) => {
                match pairs.entry(pair.hash(seed), |other| other.is_of(&pair), |other| other.hash(seed)) {
                    Entry::Vacant(place) => {
                        if pair.count != 0 {
                            place.insert(pair);
                        }
                        0
                    }
                    Entry::Occupied(mut place) => {
                        let before = place.get().count;
                        if before + pair.count == 0 {
                            place.remove();
                        } else {
                            place.get_mut().count += pair.count;
                        }
                        before
                    }
                }
            }
            Pairs::Seen(pairs) => {
                let is_it = |other: &Seen| Pair::from(*other).is_of(&pair);
                match pairs.entry(pair.hash(seed), is_it, |other| Pair::from(*other).hash(seed)) {
                    Entry::Vacant(place) => {
                        place.insert(pair.into());
                        0
                    }
                    Entry::Occupied(_) => 1,
                }
            }
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        match self {
            Pairs::Counted(pairs) => pairs.retain(|pair| keep(pair.group)),
            Pairs::Seen(pairs) => pairs.retain(|seen| keep(seen.group)),
        }
    }

    /// Returns all pairs in no particular order; without counts, each has the count 1.
    fn all(&self) -> Vec<Pair> {
        match self {
            Pairs::Counted(pairs) => pairs.iter().copied().collect(),
            Pairs::Seen(pairs) => pairs.iter().map(|seen| (*seen).into()).collect(),
        }
    }

    /// Replaces all pairs.
    fn set(&mut self, all: Vec<Pair>, seed: u64) {
        match self {
            Pairs::Counted(pairs) => {
                *pairs = HashTable::with_capacity(all.len());
                for pair in all {
                    pairs.insert_unique(pair.hash(seed), pair, |other| other.hash(seed));
                }
            }
            Pairs::Seen(pairs) => {
                *pairs = HashTable::with_capacity(all.len());
                for pair in all {
                    pairs.insert_unique(pair.hash(seed), pair.into(), |other| Pair::from(*other).hash(seed));
                }
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Pairs::Counted(pairs) => pairs.clear(),
            Pairs::Seen(pairs) => pairs.clear(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Pairs::Counted(pairs) => pairs.allocation_size(),
            Pairs::Seen(pairs) => pairs.allocation_size(),
        }
    }

    fn growth_bytes(&self, more: usize) -> usize {
        match self {
            Pairs::Counted(pairs) => {
                let held = (pairs.len(), pairs.capacity(), pairs.allocation_size());
                growth_bytes(held, size_of::<Pair>(), more)
            }
            Pairs::Seen(pairs) => {
                let held = (pairs.len(), pairs.capacity(), pairs.allocation_size());
                growth_bytes(held, size_of::<Seen>(), more)
            }
        }
    }
}

/// Way in which DISTINCT represents values by numbers.
enum Numbering {
    /// Values are whole numbers, and each value is its own number.
    Itself(DataType),
    /// Values are numbered in order of arrival by an index of keys.
    Index(Box<KeyIndex>),
}

/// A value of a group with the count of its rows, which is never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
struct Pair {
    is_null: bool,
    /// The value itself if values are whole numbers, or else its number in the index of values; 0 for NULL.
    value: i64,
    group: u32,
    count: i64,
}

impl Pair {
    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        // The hash of the group is the seed of the hash of the value, so no choice of values makes the pairs
        // of two groups collide.
        hash_of(self.value, hash_of(i64::from(self.group), seed)) ^ u64::from(self.is_null)
    }

    #[inline]
    fn is_of(&self, other: &Pair) -> bool {
        self.value == other.value && self.group == other.group && self.is_null == other.is_null
    }
}

/// Values of the rows of a batch, represented by numbers.
struct Values {
    numbers: arrow::buffer::ScalarBuffer<i64>,
    nulls: Option<arrow::buffer::NullBuffer>,
}

impl Values {
    /// Returns the pair of a group and the value of a row, with a count.
    #[inline]
    fn pair(&self, row: usize, group: u32, count: i64) -> Pair {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        Pair { is_null, value: if is_null { 0 } else { self.numbers[row] }, group, count }
    }
}

/// Returns the rows of columns that are in a mask.
fn only(columns: &[ArrayRef], rows: &BooleanBuffer) -> Vec<ArrayRef> {
    let rows = BooleanArray::new(rows.clone(), None);
    let only = |column: &ArrayRef| {
        filter(column, &rows)
            .expect("a condition is a column of the batch and has a value for each of its rows")
    };
    columns.iter().map(only).collect()
}

impl Distinct {
    /// Creates the accumulators of a DISTINCT aggregate around those of `inner`. Rows can be retracted if `retracts` is true
    /// and the inner aggregate can retract.
    pub(super) fn new(
        inner: Box<dyn Accumulator>,
        over: &Arc<[SqlType]>,
        retracts: bool,
        hash_seed: u64,
    ) -> Self {
        let numbering = match &over[..] {
            [one] if is_whole(&one.arrow()) => Numbering::Itself(one.arrow()),
            _ => Numbering::Index(Box::new(KeyIndex::new(over, hash_seed))),
        };
        Distinct {
            inner,
            numbering,
            pairs: Pairs::new(retracts),
            over: over.clone(),
            hash_seed,
            failure: None,
        }
    }

    /// Represents the values of the rows of a batch by numbers. Returns `None` if all numbers of 32 bits are
    /// in use; all later results fail then.
    fn number(&mut self, arguments: &[ArrayRef], rows: usize) -> Option<Values> {
        Some(match &mut self.numbering {
            Numbering::Itself(_) => {
                let nulls = arguments[0].nulls().filter(|nulls| nulls.null_count() > 0).cloned();
                Values { numbers: whole_numbers(&arguments[0]), nulls }
            }
            Numbering::Index(index) => {
                if let Err(failure) = index.check_room(rows) {
                    self.failure.get_or_insert(failure);
                    return None;
                }
                let arguments: Vec<ArrayRef> = arguments.iter().map(one_nan).collect();
                let mut numbers = Vec::new();
                index.index(&arguments, rows, &mut numbers);
                Values { numbers: numbers.into_iter().map(i64::from).collect(), nulls: None }
            }
        })
    }

    /// Returns an error if DISTINCT had to leave out a value.
    fn check_whole(&self) -> Result<(), EvaluationError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Adds `numbers(row)`, which is negative for a retraction, to the row count of each row's value in its
    /// group. Rows whose value is new in its group are added to the inner aggregate; rows whose value has
    /// disappeared are retracted.
    fn add(&mut self, groups: &[u32], arguments: &[ArrayRef], numbers: impl Fn(usize) -> i64) {
        let rows = groups.len();
        let Some(values) = self.number(&arguments[..self.over.len()], rows) else { return };
        let (mut come, mut gone) = (BooleanBufferBuilder::new(rows), BooleanBufferBuilder::new(rows));
        let (mut has_come, mut has_gone) = (false, false);
        for (row, &group) in groups.iter().enumerate() {
            let number = numbers(row);
            let before = self.pairs.add(values.pair(row, group, number), self.hash_seed);
            let (comes, goes) = (before <= 0 && before + number > 0, before > 0 && before + number <= 0);
            come.append(comes);
            gone.append(goes);
            has_come |= comes;
            has_gone |= goes;
        }
        if has_come {
            self.inner.update(groups, arguments, Some(&BooleanArray::new(come.finish(), None)));
        }
        if has_gone {
            self.inner.retract(groups, arguments, Some(&BooleanArray::new(gone.finish(), None)));
        }
    }

    fn shift(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>, number: i64) {
        let Some(keep) = keep else { return self.add(groups, arguments, |_| number) };
        // Values of rows that FILTER leaves out get no value number, because no later retraction would remove
        // the number from the index of values.
        let rows = super::selection::kept(keep);
        let groups: Vec<u32> = rows.set_indices().map(|row| groups[row]).collect();
        self.add(&groups, &only(arguments, &rows), |_| number);
    }

    /// Returns all pairs of a group and a value, sorted with NULLs last, then by value number, then by group.
    /// Numbers of indexed values follow their order of arrival.
    fn sorted(&self) -> Vec<Pair> {
        let mut pairs = self.pairs.all();
        pairs.sort_unstable();
        pairs
    }

    /// Returns the values of pairs of a group and a value as columns.
    fn columns(&self, pairs: &[Pair]) -> Result<Vec<ArrayRef>, EvaluationError> {
        match &self.numbering {
            Numbering::Itself(of) => {
                let nulls = pairs.iter().map(|pair| !pair.is_null).collect();
                Ok(vec![whole_column(of, pairs.iter().map(|pair| pair.value).collect(), Some(nulls))])
            }
            Numbering::Index(index) => {
                let numbers: Vec<u32> = pairs.iter().map(|pair| pair.value as u32).collect();
                index.columns_of(&numbers)
            }
        }
    }

    /// Renumbers the values of DISTINCT if most numbered values are in no group any more.
    fn renumber(&mut self) {
        let Numbering::Index(index) = &self.numbering else { return };
        if index.len() < GONE_VALUES_MIN + 2 * self.pairs.len() {
            return;
        }
        let mut pairs = self.sorted();
        let mut fresh = KeyIndex::new(&self.over, self.hash_seed);
        let mut numbers = Vec::new();
        for pairs in pairs.chunks_mut(PAIRS_PER_STEP) {
            // If the remaining values have too much text for one column (2 GiB), all values keep their
            // numbers.
            let Ok(columns) = self.columns(pairs) else { return };
            fresh.index(&columns, pairs.len(), &mut numbers);
            pairs.iter_mut().zip(&numbers).for_each(|(pair, &number)| pair.value = i64::from(number));
        }
        self.numbering = Numbering::Index(Box::new(fresh));
        self.pairs.set(pairs, self.hash_seed);
    }
}

/// Returns the column with all NaNs replaced by the same NaN, because DISTINCT compares floats by their bits.
fn one_nan(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            let column = column.as_primitive::<Float32Type>();
            Arc::new(column.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }))
        }
        DataType::Float64 => {
            let column = column.as_primitive::<Float64Type>();
            Arc::new(column.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }))
        }
        _ => column.clone(),
    }
}

impl Accumulator for Distinct {
    fn resize(&mut self, groups: usize) {
        self.inner.resize(groups);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.shift(groups, arguments, keep, 1);
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        assert!(
            self.can_retract(),
            "`Calls` takes rows back only from accumulators that were made to retract"
        );
        self.shift(groups, arguments, keep, -1);
        self.renumber();
    }

    fn running(
        &mut self,
        rows: &Sequence<'_>,
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
    ) -> Result<ArrayRef, EvaluationError> {
        let retracts = rows.is_added.is_some();
        assert!(
            self.can_retract() || !retracts,
            "`Calls` takes rows back only from accumulators that were made to retract"
        );
        let compared = &arguments[..self.over.len()];
        let (numbers, counted) = match keep {
            None => (self.number(compared, rows.groups.len()), None),
            Some(keep) => {
                let kept = super::selection::kept(keep);
                let compared = only(compared, &kept);
                (self.number(&compared, kept.count_set_bits()), Some(kept))
            }
        };
        let Some(values) = numbers else {
            self.check_whole()?;
            return self.inner.results(0..0);
        };
        let mut changes = BooleanBufferBuilder::new(rows.groups.len());
        changes.append_n(rows.groups.len(), false);
        let mut pass = |at: usize, row: usize| {
            let pair = values.pair(at, rows.groups[row], if rows.is_added(row) { 1 } else { -1 });
            let before = self.pairs.add(pair, self.hash_seed);
            // A row that is added makes a value appear, and one that is retracted makes it disappear.
            if (before > 0) != (before + pair.count > 0) {
                changes.set_bit(row, true);
            }
        };
        match &counted {
            None => (0..rows.groups.len()).for_each(|row| pass(row, row)),
            Some(counted) => counted.set_indices().enumerate().for_each(|(at, row)| pass(at, row)),
        }
        let changes = BooleanArray::new(changes.finish(), None);
        let results = self.inner.running(rows, arguments, Some(&changes));
        if retracts {
            self.renumber();
        }
        self.check_whole()?;
        results
    }

    fn can_retract(&self) -> bool {
        matches!(self.pairs, Pairs::Counted(_)) && self.inner.can_retract()
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        let other = same_kind::<Distinct>(other);
        other.check_whole()?;
        for pairs in other.sorted().chunks(PAIRS_PER_STEP) {
            let columns = other.columns(pairs)?;
            let groups: Vec<u32> = pairs.iter().map(|pair| into[pair.group as usize]).collect();
            self.add(&groups, &columns, |row| pairs[row].count);
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.check_whole()?;
        self.inner.results(range)
    }

    fn result_bytes(&self, range: Range<usize>) -> usize {
        self.inner.result_bytes(range)
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        self.check_whole()?;
        self.inner.results_of(groups)
    }

    fn reset(&mut self, groups: &[u32]) {
        let mut groups = groups.to_vec();
        groups.sort_unstable();
        self.pairs.retain(|group| groups.binary_search(&group).is_err());
        self.inner.reset(&groups);
        self.renumber();
    }

    fn clear(&mut self) {
        self.inner.clear();
        self.failure = None;
        self.pairs.clear();
        if let Numbering::Index(index) = &mut self.numbering {
            index.clear();
        }
    }

    fn bytes(&self) -> usize {
        let numbering = match &self.numbering {
            Numbering::Itself(_) => 0,
            Numbering::Index(index) => index.bytes(),
        };
        self.inner.bytes() + self.pairs.bytes() + numbering
    }

    fn growth_bytes(&self, rows: usize, value_bytes: usize) -> usize {
        let numbering = match &self.numbering {
            Numbering::Itself(_) => 0,
            Numbering::Index(index) => index.growth_bytes(rows, value_bytes),
        };
        self.inner.growth_bytes(rows, value_bytes) + numbering + self.pairs.growth_bytes(rows)
    }

    fn merge_bytes(&self, other: &dyn Accumulator) -> usize {
        let other = same_kind::<Distinct>(other);
        let numbering = match (&self.numbering, &other.numbering) {
            (Numbering::Index(own), Numbering::Index(other)) => own.merge_bytes(other),
            _ => 0,
        };
        // The pairs of group and distinct value in the other accumulator are copied into a vector of their
        // own to be sorted.
        let sorted = other.pairs.len() * size_of::<Pair>();
        self.inner.merge_bytes(&*other.inner)
            + numbering
            + sorted
            + self.pairs.growth_bytes(other.pairs.len())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.check_whole().map_err(|failure| StateError::Write(failure.message))?;
        self.inner.save(state)?;
        if let Numbering::Index(index) = &self.numbering {
            index.save(state)?;
        }
        state.put(&self.sorted())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.inner.load(state)?;
        if let Numbering::Index(index) = &mut self.numbering {
            index.load(state)?;
        }
        let pairs: Vec<Pair> = state.take()?;
        if let Numbering::Index(index) = &self.numbering {
            let is_known = |pair: &Pair| usize::try_from(pair.value).is_ok_and(|value| value < index.len());
            if !pairs.iter().all(is_known) {
                return Err(state.wrong("a distinct value has a number that no value has"));
            }
        }
        self.pairs.set(pairs, self.hash_seed);
        Ok(())
    }
}
