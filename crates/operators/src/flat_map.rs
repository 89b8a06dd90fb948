//! Flat map: each value becomes as many others as a function makes of it, or none; its event time stays.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`: the results of one record in the order of its iterator, records in their order
//! State      the rest of one record's iterator, while there is no room for its results; none at a mark (a
//!            signal between records, such as a watermark)
//! Emits      as the records come; takes the next record only when the last one is finished
//! Late       no record is late: lateness is decided by operators with windows
//! Watermark  forwarded unchanged
//! Cost       one call per record and one step of the iterator per result; nothing is collected in between
//! Source     ours
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # fn f<C: Segment<&'static str>>(lines: Stream<&'static str, C>) -> Stream<&'static str, impl Segment<&'static str>> {
//! lines.flat_map(|line| line.split_whitespace())
//! # }
//! ```
//! A record with results counts as forwarded, once, however many there are; one without results as filtered. An
//! iterator is asked only while there is room for its answer, so an endless one is allowed: it holds back the records
//! behind it, and takes no memory.

use std::sync::Arc;

use thalweg_model::{
    EventTime, Flow, Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;

/// Operator that applies a function to each value, and emits all values that the function gives.
#[derive(Debug)]
pub struct FlatMap<F, I> {
    accounts: Accounts,
    function: Arc<F>,
    /// The iterator of the record whose results are not all emitted yet, and the record's event time; `None`
    /// between two records.
    rest: Option<(EventTime, I)>,
}

impl<F, I: Iterator> FlatMap<F, I> {
    /// Creates a flat map called `name` that applies `function` to each value.
    pub fn new<T, V>(name: impl Into<String>, function: F) -> Self
    where
        V: IntoIterator<IntoIter = I>,
        F: Fn(T) -> V,
    {
        FlatMap::sharing(name.into(), Arc::new(function))
    }

    fn sharing(name: String, function: Arc<F>) -> Self {
        FlatMap { accounts: Accounts::new(name), function, rest: None }
    }

    /// Starts the iterator of a record and emits its first results; `output` must have room.
    #[inline(always)]
    fn begin<T, V, O>(&mut self, record: Record<T>, output: &mut O)
    where
        V: IntoIterator<IntoIter = I, Item = I::Item>,
        F: Fn(T) -> V,
        O: Output<I::Item>,
    {
        let Record { event_time, value } = record;
        let (mut values, first) = self.accounts.blame.on(|| {
            let mut values = (self.function)(value).into_iter();
            let first = values.next();
            (values, first)
        });
        let Some(first) = first else {
            self.accounts.filtered += 1;
            return;
        };
        output.push(Record::new(event_time, first));
        if self.hand_on(event_time, &mut values, output) == Flow::More {
            self.rest = Some((event_time, values));
        }
    }

    /// Emits values until the iterator ends or the output has no more room.
    #[inline(always)]
    fn hand_on<O: Output<I::Item>>(&self, event_time: EventTime, values: &mut I, output: &mut O) -> Flow {
        while output.room() > 0 {
            let Some(value) = self.accounts.blame.on(|| values.next()) else { return Flow::Done };
            output.push(Record::new(event_time, value));
        }
        Flow::More
    }
}

impl<T, V, F> Operator<T> for FlatMap<F, V::IntoIter>
where
    V: IntoIterator<IntoIter: Send>,
    F: Fn(T) -> V + Send + Sync,
{
    type Out = V::Item;

    const EXPANDS: bool = true;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        FlatMap::sharing(self.accounts.name.clone(), Arc::clone(&self.function))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<V::Item>>(&mut self, input: &mut I, output: &mut O) {
        while self.rest.is_none() && output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.accounts.read += 1;
            self.begin(record, output);
        }
    }

    #[inline(always)]
    fn process_one<O: Output<V::Item>>(&mut self, record: Record<T>, output: &mut O) {
        self.begin(record, output);
    }

    crate::accounts::accounted!(forwarding);

    fn is_stalled(&self) -> bool {
        self.rest.is_some()
    }

    fn resume<O: Output<V::Item>>(&mut self, output: &mut O) -> Flow {
        let Some((event_time, mut values)) = self.rest.take() else { return Flow::Done };
        let flow = self.hand_on(event_time, &mut values, output);
        if flow == Flow::More {
            self.rest = Some((event_time, values));
        }
        flow
    }

    /// Saves nothing, since a flat map has no state between records.
    ///
    /// # Panics
    /// If the results of a record are not all emitted: an iterator cannot be saved. This does not happen,
    /// because no mark (a signal between records, such as a watermark) reaches the operator before they are
    /// emitted.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        assert!(self.rest.is_none(), "state is saved at a mark, when all before it is through (O4)");
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(FlatMap<F, I>);

#[cfg(test)]
mod tests;
