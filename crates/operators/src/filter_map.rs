//! Filter map: each value becomes one other value, or none; its event time stays.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`, one for each record whose function returns a value, in the same order
//! State      none
//! Emits      at once
//! Late       no record is late
//! Watermark  forwarded unchanged
//! Cost       one call per record, and a branch: where few records are kept and nothing is changed, a filter is
//!            cheaper
//! Source     ours
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # fn f<C: Segment<String>>(lines: Stream<String, C>) -> Stream<i64, impl Segment<i64>> {
//! lines.filter_map(|line| line.parse().ok())
//! # }
//! ```
//!
//! A filter map gives at most one record for each record, so the operator before it in a chain gives it whole runs of
//! records.

use std::sync::Arc;

use thalweg_model::{
    Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;

/// Operator that applies a function to each value, and drops the values for which it returns `None`.
#[derive(Debug)]
pub struct FilterMap<F> {
    accounts: Accounts,
    function: Arc<F>,
}

impl<F> FilterMap<F> {
    /// Creates a filter map called `name` that applies `function` to each value.
    pub fn new(name: impl Into<String>, function: F) -> Self {
        FilterMap::sharing(name.into(), Arc::new(function))
    }
}

impl<F> FilterMap<F> {
    fn sharing(name: String, function: Arc<F>) -> Self {
        FilterMap { accounts: Accounts::new(name), function }
    }
}

impl<T, U, F> Operator<T> for FilterMap<F>
where
    F: Fn(T) -> Option<U> + Send + Sync,
{
    type Out = U;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        FilterMap::sharing(self.accounts.name.clone(), Arc::clone(&self.function))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<U>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        let FilterMap { function, accounts, .. } = &*self;
        let function = &**function;
        let mut filtered = 0;
        input.take_each(count, |record| match accounts.blame.on(|| function(record.value)) {
            Some(value) => output.push(Record::new(record.event_time, value)),
            None => filtered += 1,
        });
        self.accounts.read += count as u64;
        self.accounts.filtered += filtered;
    }

    #[inline(always)]
    fn process_one<O: Output<U>>(&mut self, record: Record<T>, output: &mut O) {
        match self.accounts.blame.on(|| (self.function)(record.value)) {
            Some(value) => output.push(Record::new(record.event_time, value)),
            None => self.accounts.filtered += 1,
        }
    }

    crate::accounts::accounted!(forwarding);

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(FilterMap<F>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Map;
    use crate::test_bed::Bed;
    use thalweg_model::{Either, Then};

    fn halves() -> FilterMap<fn(i64) -> Option<i64>> {
        FilterMap::new("halves", |value| (value % 2 == 0).then_some(value / 2))
    }

    #[test]
    fn values_are_changed_or_dropped() {
        for room in [1, 1_000] {
            let mut bed = Bed::new(halves()).with_room(room);
            assert_eq!(bed.run("4@5 3@3 W4 -6@-4 0@4"), "2@5 W4 -3@-4 0@4");
            assert_eq!(bed.counts(), "halves: 4 read, 3 forwarded, 1 filtered");
        }
    }

    /// A filter map takes the left or the right values out of a stream of [`Either`].
    #[test]
    fn one_side_of_two() {
        let left = |value: Either<i64, i64>| match value {
            Either::Left(value) => Some(value),
            Either::Right(_) => None,
        };
        let mut bed = Bed::of_two(FilterMap::new("left", left));
        assert_eq!(bed.run("L1@1 R2@2 L3@3 W3"), "1@1 3@3 W3");
    }

    #[test]
    fn in_a_chain_it_counts_what_it_is_handed() {
        let mut bed = Bed::new(Then::new(Map::new("next", |value: i64| value + 1), halves()));
        assert_eq!(bed.run("1@1 2@2 3@3"), "1@1 2@3");
        assert_eq!(bed.counts(), "next: 3 read, 3 forwarded; halves: 3 read, 2 forwarded, 1 filtered");
    }

    #[test]
    fn a_panic_is_blamed_on_it() {
        let mut bed = Bed::new(FilterMap::new("inverse", |value: i64| Some(100 / value)));
        assert_eq!(bed.run("5@1"), "20@1");
        assert_eq!(bed.panics("0@2"), "inverse");
    }
}
