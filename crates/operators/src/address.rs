//! Address: tells for each record to which copy of a keyed operator it goes.
//!
//! Input      `Record<T>` in any order
//! Output     the same records, or the part of each record for each copy, as `Addressed<T>`, with a hash of the key that the operator behind the edge gives
//!            them; records that the operator would ignore are left out, if its [`Keys`] can tell
//! State      the state of the keys, and the parts of one record that wait
//! Emits      at once
//! Late       no record is late
//! Watermark  forwarded unchanged
//! Cost       one call of the function for keys, and one hash, per record; a divided record is copied once
//!
//! A record may hold several keys, as a batch of rows does. It is then divided, and each copy gets its part.
//!
//! ```
//! # use thalweg::{Count, Segment, SessionGap, Span, Stream, WindowError, Windowed};
//! # fn f<C: Segment<u64>>(clicks: Stream<u64, C>) -> Result<Stream<Windowed<u64, u64>, impl Segment<Windowed<u64, u64>>>, WindowError> {
//! // If several workers share the sessions, it stands where `clicks` ends.
//! let half_an_hour = SessionGap::new(Span::from_secs(30 * 60))?;
//! Ok(clicks.key_by(|user| *user).session(half_an_hour).aggregate(Count))
//! # }
//! ```
//!
//! Each split of a source and each partition has an address operator of its own, which sees all records of that stream
//! in order. So the function for keys may remember earlier records. An address operator stands in front of exchange
//! edges only, where the key chooses the worker. It never stands where any worker may take any block of records.
//!
//! The user does not see this operator: it is part of the path to the keyed operator. Its counts, and a panic of the
//! function for keys here, are attributed to the keyed operator.

use std::marker::PhantomData;

use thalweg_model::{
    Addressed, Allowance, Blame, Counts, Either, EventTime, Flow, Horizon, Input, Keys, Mark, Operator,
    Output, Record, Sharing, StateError, StateReader, StateWriter,
};

/// Address operator: gives each record on one input of a keyed operator the hash of its key, by the [`Keys`] of that
/// operator. `W` says which input: the only one, the left one or the right one.
#[derive(Debug)]
pub struct Address<Y, W = Only> {
    keys: Y,
    /// Number of copies of the keyed operator.
    copies: usize,
    /// Event time of the record whose parts are being emitted.
    event_time: EventTime,
    input: PhantomData<fn() -> W>,
}

impl<Y, W> Address<Y, W> {
    /// Creates an address operator in front of `copies` copies of a keyed operator. `keys` gives each record the hash by
    /// which the copy is chosen.
    pub fn new(keys: Y, copies: usize) -> Self {
        Address { keys, copies, event_time: EventTime::MIN, input: PhantomData }
    }

    /// Emits the parts of a divided record while the output has room.
    fn drain<T, O>(&mut self, output: &mut O) -> Flow
    where
        W: InputOf<T>,
        Y: Keys<W::Whole>,
        O: Output<Addressed<T>>,
    {
        while self.keys.has_parts() {
            if output.room() == 0 {
                return Flow::More;
            }
            let Some((key_hash, whole)) = self.keys.next_part() else { break };
            output.push(Record::new(self.event_time, Addressed { key_hash, value: W::part(whole) }));
        }
        Flow::Done
    }
}

/// The [`Keys`] of a keyed operator without a filter: the function `hash` hashes each record, and `name` is
/// the name of the keyed operator, which a panic in the function is attributed to.
#[derive(Debug)]
pub(crate) struct By<G> {
    name: String,
    hash: G,
    blame: Blame,
}

impl<G> By<G> {
    pub(crate) fn new(name: &str, hash: G) -> Self {
        By { name: name.to_owned(), hash, blame: Blame::default() }
    }
}

impl<T, G: Fn(&T) -> u64 + Clone + Send> Keys<T> for By<G> {
    #[inline(always)]
    fn address(&mut self, _event_time: EventTime, value: &T) -> Option<u64> {
        Some(self.blame.on(|| (self.hash)(value)))
    }

    fn fork(&self) -> Self {
        By::new(&self.name, self.hash.clone())
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }
}

/// Relation between the values of one input and those that the operator takes: the value itself, or one side of
/// [`Either`].
pub trait InputOf<T>: Send + 'static {
    /// The type of value that the keyed operator takes, on any of its inputs.
    type Whole;

    /// Converts a value of this input to the type that the operator takes.
    fn whole(value: T) -> Self::Whole;

    /// Converts a value of the operator's type back to the type of this input.
    fn part(whole: Self::Whole) -> T;
}

/// Marks the input of an operator that has only one input.
#[derive(Clone, Copy, Debug)]
pub struct Only;

impl<T> InputOf<T> for Only {
    type Whole = T;

    #[inline(always)]
    fn whole(value: T) -> T {
        value
    }

    #[inline(always)]
    fn part(whole: T) -> T {
        whole
    }
}

/// The left input of an operator with two inputs. `R` is the type of the right input's values.
#[derive(Clone, Copy, Debug)]
pub struct LeftOf<R>(PhantomData<fn() -> R>);

impl<L, R: 'static> InputOf<L> for LeftOf<R> {
    type Whole = Either<L, R>;

    #[inline(always)]
    fn whole(value: L) -> Either<L, R> {
        Either::Left(value)
    }

    #[inline(always)]
    fn part(whole: Either<L, R>) -> L {
        match whole {
            Either::Left(value) => value,
            Either::Right(_) => unreachable!("a left value stays a left value"),
        }
    }
}

/// The right input of an operator with two inputs. `L` is the type of the left input's values.
#[derive(Clone, Copy, Debug)]
pub struct RightOf<L>(PhantomData<fn() -> L>);

impl<L: 'static, R> InputOf<R> for RightOf<L> {
    type Whole = Either<L, R>;

    #[inline(always)]
    fn whole(value: R) -> Either<L, R> {
        Either::Right(value)
    }

    #[inline(always)]
    fn part(whole: Either<L, R>) -> R {
        match whole {
            Either::Right(value) => value,
            Either::Left(_) => unreachable!("a right value stays a right value"),
        }
    }
}

impl<T, Y, W> Operator<T> for Address<Y, W>
where
    W: InputOf<T>,
    Y: Keys<W::Whole>,
{
    type Out = Addressed<T>;

    const EXPANDS: bool = Y::DIVIDES;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        Address::new(self.keys.fork(), self.copies)
    }

    fn horizon(&self) -> Horizon {
        self.keys.horizon()
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<Addressed<T>>>(&mut self, input: &mut I, output: &mut O) {
        if Y::DIVIDES {
            while self.drain(output) == Flow::Done && output.room() > 0 {
                let Some(record) = input.take() else { break };
                self.process_one(record, output);
            }
            return;
        }
        let count = input.remaining();
        input.take_each(count, |record| self.process_one(record, output));
    }

    #[inline(always)]
    fn process_one<O: Output<Addressed<T>>>(&mut self, record: Record<T>, output: &mut O) {
        let whole = W::whole(record.value);
        if Y::DIVIDES {
            self.event_time = record.event_time;
            self.keys.divide(whole, self.copies);
            // Parts for which there is no room stay here, and `is_stalled` returns true (O3).
            let _ = self.drain(output);
            return;
        }
        if let Some(key_hash) = self.keys.address(record.event_time, &whole) {
            output.push(Record::new(record.event_time, Addressed { key_hash, value: W::part(whole) }));
        }
    }

    fn note_read(&mut self, _count: u64) {}

    fn on_mark<O: Output<Addressed<T>>>(&mut self, mark: Mark, _output: &mut O) -> Flow {
        self.keys.on_mark(mark);
        Flow::Done
    }

    fn is_stalled(&self) -> bool {
        Y::DIVIDES && self.keys.has_parts()
    }

    fn resume<O: Output<Addressed<T>>>(&mut self, output: &mut O) -> Flow {
        self.drain(output)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.keys.fund(allowance);
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        if let Some((name, counts)) = self.keys.kept_back() {
            each(name, counts);
        }
    }

    fn state_bytes(&self) -> usize {
        self.keys.state_bytes()
    }

    fn faulted(&self) -> Option<&str> {
        self.keys.faulted()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(!self.keys.has_parts(), "state is saved when all that is emitted is through (O3, O4)");
        self.keys.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.keys.load(state)
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::CountWindows;

    use super::*;
    use crate::{Count, CountAggregate};

    struct Addresses(Vec<(u64, i64)>);

    impl Output<Addressed<i64>> for Addresses {
        fn room(&self) -> usize {
            usize::MAX
        }

        fn push(&mut self, record: Record<Addressed<i64>>) {
            self.0.push((record.value.key_hash, record.value.value));
        }
    }

    /// Every copy of a keyed operator gives the records of one key the same address, and different keys
    /// different addresses, before and after it is seeded. The calls for addresses change none of the
    /// operator's counts.
    #[test]
    fn values_of_a_key_have_one_address() {
        let windows = CountWindows::of_size(std::num::NonZeroU64::MIN);
        let operator = CountAggregate::new("counts", windows, |value: &i64| value % 10, Count);
        let mut seeded = Operator::<i64>::fork(&operator);
        Operator::<i64>::seed(&mut seeded, &mut thalweg_model::SeededEntropy::new(7));
        let mut found = Addresses(Vec::new());
        for operator in [&operator, &seeded] {
            let mut address = Address::<_, Only>::new(Operator::<i64>::keys(operator), 2);
            for value in 0..100 {
                address.process_one(Record::new(EventTime::EPOCH, value), &mut found);
            }
            address.visit_counts(&mut |name, _| panic!("{name} is counted"));
        }
        let by_key =
            |key: i64| found.0.iter().filter(move |(_, value)| value % 10 == key).map(|(hash, _)| *hash);
        let mut hashes: Vec<u64> = (0..10).filter_map(|key| by_key(key).next()).collect();
        assert!((0..10).all(|key| by_key(key).all(|hash| hash == hashes[key as usize])));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 10);
    }
}
