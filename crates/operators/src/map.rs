//! Map: each value becomes one other value; its event time stays.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`, one for one, in the same order
//! State      none
//! Emits      at once
//! Late       no record is late: lateness is decided by operators with windows
//! Watermark  forwarded unchanged
//! Cost       one call per record
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # fn f<C: Segment<f64>>(fahrenheit: Stream<f64, C>) -> Stream<f64, impl Segment<f64>> {
//! fahrenheit.map(|degrees| (degrees - 32.0) / 1.8)
//! # }
//! ```

use std::sync::Arc;

use thalweg_model::{
    Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;

/// Operator that applies a function to each value of a stream.
#[derive(Debug)]
pub struct Map<F> {
    accounts: Accounts,
    function: Arc<F>,
}

impl<F> Map<F> {
    /// Creates a map called `name` that applies `function` to each value.
    pub fn new(name: impl Into<String>, function: F) -> Self {
        Map::sharing(name.into(), Arc::new(function))
    }
}

impl<F> Map<F> {
    fn sharing(name: String, function: Arc<F>) -> Self {
        Map { accounts: Accounts::new(name), function }
    }
}

impl<T, U, F> Operator<T> for Map<F>
where
    F: Fn(T) -> U + Send + Sync,
{
    type Out = U;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        Map::sharing(self.accounts.name.clone(), Arc::clone(&self.function))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<U>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        let Map { function, accounts, .. } = &*self;
        let function = &**function;
        input.take_each(count, |record| {
            let value = accounts.blame.on(|| function(record.value));
            output.push(Record::new(record.event_time, value));
        });
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<U>>(&mut self, record: Record<T>, output: &mut O) {
        let value = self.accounts.blame.on(|| (self.function)(record.value));
        output.push(Record::new(record.event_time, value));
    }

    crate::accounts::accounted!(forwarding);

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(Map<F>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::Bed;

    #[test]
    fn each_value_is_mapped_and_keeps_its_time() {
        let mut bed = Bed::new(Map::new("double", |value: i64| value * 2));
        assert_eq!(bed.run("1@5 2@3 W4 3@4"), "2@5 4@3 W4 6@4");
        assert_eq!(bed.counts(), "double: 3 read, 3 forwarded");
    }

    #[test]
    fn a_panic_is_blamed_on_it() {
        let mut bed = Bed::new(Map::new("inverse", |value: i64| 100 / value));
        assert_eq!(bed.run("5@1"), "20@1");
        assert_eq!(bed.panics("0@2"), "inverse");
    }
}
