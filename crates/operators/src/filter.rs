//! Filter: keeps the records whose value a predicate accepts.
//!
//! Input      `Record<T>` in any order
//! Output     the accepted records, in the same order
//! State      none
//! Emits      at once
//! Late       no record is late
//! Watermark  forwarded unchanged
//! Cost       one call per record; rejected records are not copied
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # fn f<C: Segment<i64>>(numbers: Stream<i64, C>) -> Stream<i64, impl Segment<i64>> {
//! numbers.filter(|number| *number > 0)
//! # }
//! ```
//!
//! Two passes over about a hundred records at a time: the first evaluates the predicate and collects the positions of
//! accepted records without a branch, the second emits those records. A branch per record would be mispredicted
//! whenever the data are random. Operators behind the filter never see a rejected record, which a branchless copy
//! would have to show them.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{
    Counts, Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;

/// Number of records per pass: the filter evaluates its predicate for all records of a pass, then emits the accepted
/// ones. It is small, because the evaluation waits for memory while later operators compute: with 128, the next records
/// are loaded meanwhile. At 512, the Yahoo Streaming Benchmark with default chains is 20 % slower.
const PASS_RECORDS: usize = 128;

/// Keeps the records whose value a predicate accepts.
#[derive(Debug)]
pub struct Filter<F> {
    accounts: Accounts,
    predicate: Arc<F>,
    /// Number of accepted records since the start, which is counted in place of the rejected ones.
    kept: u64,
}

impl<F> Filter<F> {
    /// Creates a filter called `name` that keeps the values for which `predicate` returns true.
    pub fn new(name: impl Into<String>, predicate: F) -> Self {
        Filter::sharing(name.into(), Arc::new(predicate))
    }
}

impl<F> Filter<F> {
    fn sharing(name: String, predicate: Arc<F>) -> Self {
        Filter { accounts: Accounts::new(name), predicate, kept: 0 }
    }
}

impl<T, F> Operator<T> for Filter<F>
where
    F: Fn(&T) -> bool + Send + Sync,
{
    type Out = T;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        Filter::sharing(self.accounts.name.clone(), Arc::clone(&self.predicate))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<T>>(&mut self, input: &mut I, output: &mut O) {
        let mut places = [0u16; PASS_RECORDS];
        while input.remaining() > 0 {
            let count = input.remaining().min(PASS_RECORDS);
            let kept = {
                let Filter { predicate, accounts, .. } = &*self;
                let predicate = &**predicate;
                let mut kept = 0;
                for place in 0..count {
                    // The number of accepted records never exceeds the position of the record in the pass (of
                    // at most `PASS_RECORDS` records), so the index is in bounds. The mask lets the compiler
                    // drop the bounds check.
                    places[kept & (PASS_RECORDS - 1)] = place as u16;
                    let accepted =
                        input.inspect(place, |record| accounts.blame.on(|| predicate(&record.value)));
                    kept += usize::from(accepted);
                }
                kept
            };
            self.accounts.read += count as u64;
            self.kept += kept as u64;
            let mut selected = Selected { input, count, places: &mut places[..kept], value: PhantomData };
            output.push_all(&mut selected);
            selected.finish();
        }
    }

    #[inline(always)]
    fn process_one<O: Output<T>>(&mut self, record: Record<T>, output: &mut O) {
        let keep = self.accounts.blame.on(|| (self.predicate)(&record.value));
        self.kept += u64::from(keep);
        output.push_if(record, keep);
    }

    fn note_read(&mut self, count: u64) {
        self.accounts.read += count;
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let (read, kept) = (self.accounts.read, self.kept);
        each(
            &self.accounts.name,
            Counts { read, forwarded: kept, filtered: read - kept, ..Counts::default() },
        );
    }

    fn faulted(&self) -> Option<&str> {
        self.accounts.faulted()
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(Filter<F>);

/// The accepted records among the next `count` records of an input, presented as an input of their own.
struct Selected<'a, I: Input<T>, T> {
    input: &'a mut I,
    count: usize,
    /// Positions of the accepted records among the next `count` records, from 0 on, in rising order.
    places: &'a mut [u16],
    value: PhantomData<fn() -> T>,
}

impl<T, I: Input<T>> Input<T> for Selected<'_, I, T> {
    #[inline(always)]
    fn is_ascending(&self) -> bool {
        self.input.is_ascending()
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.places.len()
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        self.input.inspect(usize::from(self.places[offset]), look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        let (places, end) = self.pass(count);
        self.input.taken_selected(end, places)
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        let (places, end) = self.pass(count);
        // `selection` holds indexes of accepted records. Each is replaced by the position of that record in
        // the input, in place. Indexes rise, so no entry is overwritten before it is read.
        for (index, &selected) in selection.iter().enumerate() {
            places[index] = places[usize::from(selected)];
        }
        self.input.taken_selected(end, &places[..selection.len()])
    }
}

impl<'a, T, I: Input<T>> Selected<'a, I, T> {
    /// Removes the first `count` accepted records from the selection. Returns their positions, and the number of
    /// records to take off the input with them: the accepted ones, and the rejected ones before each of them.
    #[inline(always)]
    fn pass(&mut self, count: usize) -> (&'a mut [u16], usize) {
        let (passed, rest) = std::mem::take(&mut self.places).split_at_mut(count);
        let end = passed.last().map_or(0, |&last| usize::from(last) + 1);
        rest.iter_mut().for_each(|place| *place -= end as u16);
        self.places = rest;
        self.count -= end;
        (passed, end)
    }

    /// Takes the rejected records after the last accepted one off the input. This is a method and not `Drop`,
    /// because a value that a panic may drop is kept in memory. Loops would then reload everything reachable
    /// from that value for each record.
    #[inline(always)]
    fn finish(self) {
        debug_assert!(self.places.is_empty(), "what a filter accepts is taken whole (O2)");
        self.input.take_selected(self.count, &[], |_| ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::Bed;
    use thalweg_model::Then;

    #[test]
    fn accepted_records_pass_in_order() {
        let mut bed = Bed::new(Filter::new("odd", |value: &i64| value % 2 == 1));
        assert_eq!(bed.run("1@5 2@3 W4 3@4 4@4"), "1@5 W4 3@4");
        assert_eq!(bed.counts(), "odd: 4 read, 2 forwarded, 2 filtered");
    }

    #[test]
    fn all_none_and_more_than_a_pass() {
        let numbers: String = (0..1_000).map(|value| format!("{value}@{value} ")).collect();
        assert_eq!(Bed::new(Filter::new("none", |_: &i64| false)).run(&numbers), "");
        assert_eq!(Bed::new(Filter::new("all", |_: &i64| true)).run(&numbers), numbers.trim());
    }

    /// Two filters in a row select the records that both accept, and each keeps its own counts.
    #[test]
    fn filters_compose() {
        let even = Filter::new("even", |value: &i64| value % 2 == 0);
        let third = Filter::new("third", |value: &i64| value % 3 == 0);
        let mut bed = Bed::new(Then::new(even, third));
        let numbers: String = (0..1_000).map(|value| format!("{value}@0 ")).collect();
        let expected: Vec<String> = (0..1_000).step_by(6).map(|value| format!("{value}@0")).collect();
        assert_eq!(bed.run(&numbers), expected.join(" "));
        let counts =
            "even: 1000 read, 500 forwarded, 500 filtered; third: 500 read, 167 forwarded, 333 filtered";
        assert_eq!(bed.counts(), counts);
    }

    #[test]
    fn a_panic_is_blamed_on_it() {
        let mut bed = Bed::new(Filter::new("checked", |value: &i64| 1 / value == 1));
        assert_eq!(bed.panics("0@2"), "checked");
    }
}
