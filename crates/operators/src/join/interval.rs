//! Interval join: a left record meets the right records of its key within a span of event time around it.
//!
//! Input      `Record<Either<L, R>>` in any order; one function per side gives the key of each
//! Output     `Record<U>`: one for each left record at `l` and right record at `r` with
//!            `l + lower <= r <= l + upper`, stamped with the later of `l` and `r`; an outer join
//!            ([`LeftOuter`](super::LeftOuter) and its like) also emits one for each record without a match, stamped
//!            with its own time
//! State      a left record until the watermark is above `l + upper`, a right one until it is above `r - lower`, and
//!            up to a quarter of the interval or a tenth of a second longer
//! Emits      pairs as soon as both are there; records without a match at the first watermark by which no match can
//!            come any more, in the order of time
//! Late       behind the watermark of its own input: counted in `late`, matches nothing
//! Watermark  held back by the time that a record without a match may wait: `upper` if left records are emitted,
//!            `-lower` if right ones are, never less than zero; the inner join forwards it unchanged. Watermarks of
//!            single inputs end here
//! Cost       two to six hash look-ups per record, and logarithmically many steps to its matches if a key has many;
//!            in an outer join, an entry in a radix heap for each record without a match when it came
//! Source     the semantics are those of Flink's interval join, except for outer joins, which only its SQL has:
//!            "Interval Joins" in the manual of its Table API. Buckets and heap are ours: see `interval_side` and
//!            `expiry`
//!
//! ```
//! # use thalweg::{Interval, IntervalError, Segment, Span, Stream};
//! # fn f<A: Segment<(u64, i64)>, B: Segment<(u64, i64)>>(orders: Stream<(u64, i64), A>, parcels: Stream<(u64, i64), B>) -> Result<Stream<(u64, bool), impl Segment<(u64, bool)>>, IntervalError> {
//! let hour = Interval::new(Span::ZERO, Span::from_secs(3_600))?;
//! let pair = orders.key_by(|(order, _)| *order).join(parcels.key_by(|(order, _)| *order));
//! Ok(pair.within(hour).left(|(order, _), parcel| (*order, parcel.is_some())))
//! # }
//! ```

mod ahead;
mod meeting;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Either, Entropy, EventTime, Flow, Input, Keys, Mark, Operator, Output, Record, Sharing, Span,
    State, StateError, StateReader, StateWriter,
};

use super::batch::{BATCH_RECORDS, Functions};
use super::combine::{Combine, Fate};
use super::dense_table::{NOWHERE, Tag};
use super::funds::Funds;
use super::interval_side::{Reach, Side};
use super::timeline::{Place, Row};
use crate::accounts::Accounts;
use crate::address::By;
use crate::key_table::KeyHash;
use crate::late::Lateness;
use ahead::Seen;
use meeting::{Fresh, Meeting, arrive_at, give_up, go_on_at};

/// The span of time, relative to a left record, in which right records match it: from `lower` to `upper`,
/// both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    lower: Span,
    upper: Span,
}

/// The reason why two bounds make no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IntervalError {
    /// The lower bound of the interval is above the upper bound.
    Order {
        /// The lower bound that was given for the interval.
        lower: Span,
        /// The upper bound that was given for the interval.
        upper: Span,
    },
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntervalError::Order { lower, upper } => {
                write!(f, "the interval begins at {lower} and ends at {upper}: give the lower bound first")
            }
        }
    }
}

impl std::error::Error for IntervalError {}

impl Interval {
    /// Creates the interval from `lower` to `upper` after a left record; a bound below zero lies before it.
    ///
    /// # Errors
    /// [`IntervalError::Order`] if `lower` is above `upper`.
    pub fn new(lower: Span, upper: Span) -> Result<Self, IntervalError> {
        if lower <= upper {
            Ok(Interval { lower, upper })
        } else {
            Err(IntervalError::Order { lower, upper })
        }
    }

    /// Returns the lower bound: the time from a left record to the first right record that matches it.
    pub fn lower(&self) -> Span {
        self.lower
    }

    /// Returns the upper bound: the time from a left record to the last right record that matches it.
    pub fn upper(&self) -> Span {
        self.upper
    }

    /// Returns the span of time, relative to a left record, in which right records match it.
    fn left_reach(self) -> Reach {
        Reach { first: symmetric(self.lower), last: symmetric(self.upper) }
    }

    /// Returns the span of time, relative to a right record, in which left records match it.
    fn right_reach(self) -> Reach {
        Reach { first: -symmetric(self.upper), last: -symmetric(self.lower) }
    }
}

/// Returns the microseconds of a span. The least value is replaced by the next one, so that every value can
/// be negated.
fn symmetric(span: Span) -> i64 {
    span.as_micros().max(-i64::MAX)
}

/// Interval join: joins two streams by key and time. A [`Combine`] says which records become results, and
/// how.
#[derive(Debug)]
pub struct IntervalJoin<K, L, R, KeyL, KeyR, C: Combine<L, R>> {
    accounts: Accounts,
    interval: Interval,
    functions: Arc<Functions<KeyL, KeyR, C>>,
    left: Side<K, L, C::LeftFate>,
    right: Side<K, R, C::RightFate>,
    lateness: Lateness,
    /// A record that is not yet compared with all its matches, because there was no room for results (rule O3
    /// of [`thalweg_model::operator`]).
    meeting: Option<Either<Meeting<K, L, C::LeftFate>, Meeting<K, R, C::RightFate>>>,
    /// The position among the rows without a match from which to continue emitting them, after the output ran
    /// out of room.
    giving_up: Option<Place>,
    /// The results of looking up records ahead of their turn, for as many records as a batch has at most.
    ahead: Vec<Seen>,
    /// The keys of the records that are looked up ahead; the vector is kept so that its memory is reused.
    keys: Vec<K>,
    hash: KeyHash,
    funds: Funds,
}

impl<K, L, R, KeyL, KeyR, C> IntervalJoin<K, L, R, KeyL, KeyR, C>
where
    K: Eq + Hash + State,
    L: State,
    R: State,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    C: Combine<L, R>,
{
    /// Creates an interval join called `name`, of records within `interval` of each other. `left_key` and
    /// `right_key` give the keys of records, and `combine` makes the results.
    pub fn new(
        name: impl Into<String>,
        interval: Interval,
        left_key: KeyL,
        right_key: KeyR,
        combine: C,
    ) -> Self {
        let functions = Functions { left_key, right_key, made_by: combine };
        IntervalJoin::sharing(name.into(), interval, Arc::new(functions))
    }

    fn sharing(name: String, interval: Interval, functions: Arc<Functions<KeyL, KeyR, C>>) -> Self {
        IntervalJoin {
            accounts: Accounts::new(name),
            interval,
            functions,
            left: Side::new(interval.left_reach()),
            right: Side::new(interval.right_reach()),
            lateness: Lateness::new(),
            meeting: None,
            giving_up: None,
            ahead: std::iter::repeat_with(Seen::nothing).take(BATCH_RECORDS).collect(),
            keys: Vec::with_capacity(BATCH_RECORDS),
            hash: KeyHash::known(),
            funds: Funds::default(),
        }
    }

    /// Looks up the next `count` records of the input: first their keys and buckets, then the index words of
    /// all, then the entries of all, then the first rows that they match. So a batch waits for memory about
    /// as long as one record would.
    #[inline(always)]
    fn look_ahead<I: Input<Either<L, R>>>(&mut self, input: &I, count: usize) -> Vec<K> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        for offset in 0..count {
            let (time, is_left, key) = input.inspect(offset, |record| {
                let key = self.accounts.blame.on(|| self.functions.key_of(&record.value));
                (record.event_time, matches!(record.value, Either::Left(_)), key)
            });
            self.look_at(offset, time, is_left, &key);
            keys.push(key);
        }
        let IntervalJoin { left, right, ahead, .. } = self;
        let ahead = &mut ahead[..count];
        for seen in ahead.iter_mut() {
            if seen.is_left { seen.peek(left, right) } else { seen.peek(right, left) }
        }
        for (seen, key) in ahead.iter_mut().zip(&keys) {
            if seen.is_left { seen.find(key, left, right) } else { seen.find(key, right, left) }
        }
        for seen in ahead.iter_mut() {
            if seen.is_left { seen.touch(right) } else { seen.touch(left) }
        }
        keys
    }

    /// Looks up the bucket of time for the record at position `offset` of the input, and the buckets of the
    /// other side in which its matches may lie.
    #[inline(always)]
    fn look_at(&mut self, offset: usize, time: EventTime, is_left: bool, key: &K) {
        let IntervalJoin { left, right, lateness, ahead, hash, funds, .. } = self;
        let (late_by, watermark) = (lateness.late_by(), lateness.watermark());
        let seen = &mut ahead[offset];
        seen.is_left = is_left;
        // After the last watermark of a stream, no record has a match any more.
        seen.is_late = time < late_by || late_by == EventTime::MAX;
        seen.tag = Tag::of(hash, key);
        seen.own_place = NOWHERE;
        seen.near.count = 0;
        if !seen.is_late && is_left {
            seen.look(time, watermark, left, right, funds);
        } else if !seen.is_late {
            seen.look(time, watermark, right, left, funds);
        }
    }

    /// Joins a record with the rows of the other side that have arrived before it.
    #[inline(always)]
    fn arrive<O: Output<C::Out>>(
        &mut self,
        record: Record<Either<L, R>>,
        key: K,
        seen: &Seen,
        output: &mut O,
    ) {
        if seen.is_late {
            self.accounts.late += 1;
            return;
        }
        let IntervalJoin { functions, left, right, lateness, funds, accounts, .. } = self;
        let combine = &functions.made_by;
        let (time, fresh) = (record.event_time, Fresh { seen, key, watermark: lateness.watermark(), funds });
        let rest = match record.value {
            Either::Left(value) => {
                let row = Row { time, value, fate: C::LeftFate::default() };
                let pair = |left: &L, right: &R| accounts.blame.on(|| combine.both(left, right));
                let alone = |left: &L| accounts.blame.on(|| combine.left_alone(left));
                arrive_at(left, right, row, fresh, pair, alone, output).map(Either::Left)
            }
            Either::Right(value) => {
                let row = Row { time, value, fate: C::RightFate::default() };
                let pair = |right: &R, left: &L| accounts.blame.on(|| combine.both(left, right));
                let alone = |right: &R| accounts.blame.on(|| combine.right_alone(right));
                arrive_at(right, left, row, fresh, pair, alone, output).map(Either::Right)
            }
        };
        if rest.is_some() {
            self.meeting = rest;
        }
    }

    /// Continues with a record that is not yet compared with all its matches.
    #[cold]
    fn go_on<O: Output<C::Out>>(&mut self, output: &mut O) -> Flow {
        let IntervalJoin { functions, left, right, lateness, funds, accounts, .. } = self;
        let combine = &functions.made_by;
        let watermark = lateness.watermark();
        self.meeting = match self.meeting.take() {
            None => None,
            Some(Either::Left(meeting)) => {
                let pair = |left: &L, right: &R| accounts.blame.on(|| combine.both(left, right));
                let alone = |left: &L| accounts.blame.on(|| combine.left_alone(left));
                go_on_at(left, right, meeting, (watermark, funds), pair, alone, output).map(Either::Left)
            }
            Some(Either::Right(meeting)) => {
                let pair = |right: &R, left: &L| accounts.blame.on(|| combine.both(left, right));
                let alone = |right: &R| accounts.blame.on(|| combine.right_alone(right));
                go_on_at(right, left, meeting, (watermark, funds), pair, alone, output).map(Either::Right)
            }
        };
        if self.meeting.is_some() { Flow::More } else { Flow::Done }
    }

    /// Emits the rows without a match whose time has passed, and drops the buckets in which no later record
    /// can have a match.
    fn close<O: Output<C::Out>>(&mut self, output: &mut O) -> Flow {
        let IntervalJoin { functions, left, right, lateness, giving_up, funds, accounts, .. } = self;
        let combine = &functions.made_by;
        let watermark = lateness.watermark();
        let alone = |left: &L| accounts.blame.on(|| combine.left_alone(left));
        if give_up(left, watermark, giving_up, funds, alone, output) == Flow::More {
            return Flow::More;
        }
        let alone = |right: &R| accounts.blame.on(|| combine.right_alone(right));
        if give_up(right, watermark, giving_up, funds, alone, output) == Flow::More {
            return Flow::More;
        }
        left.drop_before(left.reach().horizon(watermark), funds);
        right.drop_before(right.reach().horizon(watermark), funds);
        Flow::Done
    }

    /// Returns how far behind the watermark the event time of a later result may lie. The join holds its
    /// output's watermark back by this span.
    fn hold(&self) -> Span {
        let left = if C::LeftFate::IS_NOTED { self.left.reach().last } else { 0 };
        let right = if C::RightFate::IS_NOTED { self.right.reach().last } else { 0 };
        Span::from_micros(left.max(right).max(0))
    }
}

impl<K, L, R, KeyL, KeyR, C> Operator<Either<L, R>> for IntervalJoin<K, L, R, KeyL, KeyR, C>
where
    K: Eq + Hash + State,
    L: State,
    R: State,
    KeyL: Fn(&L) -> K + Send + Sync,
    KeyR: Fn(&R) -> K + Send + Sync,
    C: Combine<L, R>,
{
    type Out = C::Out;

    const EXPANDS: bool = true;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        IntervalJoin::sharing(self.accounts.name.clone(), self.interval, Arc::clone(&self.functions))
    }

    fn keys(&self) -> impl Keys<Either<L, R>> + use<K, L, R, KeyL, KeyR, C> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.accounts.name, move |value: &Either<L, R>| functions.key_hash(value))
    }

    #[inline(always)]
    fn process<I: Input<Either<L, R>>, O: Output<C::Out>>(&mut self, input: &mut I, output: &mut O) {
        while input.remaining() > 0 && self.meeting.is_none() && output.room() > 0 {
            let mut keys = self.look_ahead(input, input.remaining().min(BATCH_RECORDS));
            let ahead = std::mem::take(&mut self.ahead);
            for (seen, key) in ahead.iter().zip(keys.drain(..)) {
                let Some(record) = input.take() else { break };
                self.accounts.read += 1;
                self.arrive(record, key, seen, output);
                if self.meeting.is_some() || output.room() == 0 {
                    break;
                }
            }
            (self.ahead, self.keys) = (ahead, keys);
        }
    }

    fn process_one<O: Output<C::Out>>(&mut self, record: Record<Either<L, R>>, output: &mut O) {
        let key = self.accounts.blame.on(|| self.functions.key_of(&record.value));
        let is_left = matches!(record.value, Either::Left(_));
        self.look_at(0, record.event_time, is_left, &key);
        let mut seen = Seen::nothing();
        std::mem::swap(&mut seen, &mut self.ahead[0]);
        seen.forget_entries();
        self.arrive(record, key, &seen, output);
        self.ahead[0] = seen;
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<C::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.lateness.see(mark);
        match mark {
            Mark::Watermark(_) => self.close(output),
            _ => Flow::Done,
        }
    }

    fn is_stalled(&self) -> bool {
        self.meeting.is_some()
    }

    fn resume<O: Output<C::Out>>(&mut self, output: &mut O) -> Flow {
        if self.meeting.is_some() { self.go_on(output) } else { self.close(output) }
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        match mark {
            Mark::Watermark(EventTime::MAX) => Some(mark),
            Mark::Watermark(watermark) => Some(Mark::Watermark(watermark.minus(self.hold()))),
            Mark::InputWatermark(_) => None,
            mark => Some(mark),
        }
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.funds = Funds::new(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.hash = KeyHash::new(entropy.next_u64());
    }

    fn state_bytes(&self) -> usize {
        self.funds.held_bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(
            self.meeting.is_none() && self.giving_up.is_none(),
            "state is saved when all that is emitted is through (O3, O4)"
        );
        state.frame(KIND, VERSION, |state| {
            self.lateness.save(state)?;
            self.left.save(state)?;
            self.right.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.lateness.load(state)?;
            self.left.load(&self.hash, state, &mut self.funds)?;
            self.right.load(&self.hash, state, &mut self.funds)
        })
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "interval join";
const VERSION: u32 = 1;

crate::named::named!(IntervalJoin<K, L, R, KeyL, KeyR, C: Combine<L, R>>);

#[cfg(test)]
mod tests;
