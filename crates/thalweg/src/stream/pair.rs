//! Joins of two streams where their keys are equal.
//!
//! ```text
//!   KeyedPair<K, L, R>  --tumbling, sliding, within-->  MatchedPair<K, L, R>  --inner, left, right, full-->  Stream<U>
//!                                                                             --co_group (windows)------->  Stream<U>
//! ```
//!
//! Input of both sides is read as it arrives, so neither side waits for the other. Values are kept while a match may
//! still come, and freed when the watermark rules it out. So a side that is far ahead takes memory, from the engine's
//! budget.

use std::hash::Hash;
use std::marker::PhantomData;

use thalweg_model::{Either, Operator, SlidingWindows, State, TumblingWindows, Window};
use thalweg_operators::{
    CoGroup, Combine, FullOuter, Inner, Interval, IntervalJoin, LeftOuter, Named, RightOuter, WindowJoin,
};

use super::{Stream, stateful};
use crate::segment::{FromEdges, Segment, SidesOf, Stateful};

/// Type of the segment of two streams that are joined, without the join itself.
type Sides<L, R, C, D> = FromEdges<SidesOf<C, D, L, R>>;

/// Two streams to be joined, with values of types `L` and `R` that are grouped by keys of the same type.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct KeyedPair<K, L: Clone + Send + 'static, R: Clone + Send + 'static, C, D, KeyL, KeyR> {
    pub(super) stream: Stream<Either<L, R>, Sides<L, R, C, D>>,
    pub(super) left_key: KeyL,
    pub(super) right_key: KeyR,
    pub(super) key: PhantomData<fn() -> K>,
}

impl<K, L, R, C, D, KeyL, KeyR> KeyedPair<K, L, R, C, D, KeyL, KeyR>
where
    K: Eq + Hash + State,
    L: Clone + State,
    R: Clone + State,
    C: Segment<L>,
    D: Segment<R>,
    KeyL: Fn(&L) -> K + Send + Sync + 'static,
    KeyR: Fn(&R) -> K + Send + Sync + 'static,
{
    /// Matches values with equal keys that fall into the same window, of back-to-back windows. Results are stamped
    /// with the last instant of the window.
    ///
    /// A value none of whose windows is open by its own stream's watermark is late: it is counted and matches nothing.
    pub fn tumbling(self, windows: TumblingWindows) -> MatchedPair<K, L, R, C, D, KeyL, KeyR, InWindows> {
        self.sliding(windows.into())
    }

    /// Matches values with equal keys that fall into the same window, of windows of one size at regular intervals.
    /// Two values that share several windows match in each.
    pub fn sliding(self, windows: SlidingWindows) -> MatchedPair<K, L, R, C, D, KeyL, KeyR, InWindows> {
        MatchedPair { pair: self, matching: InWindows(windows) }
    }

    /// Matches values with equal keys if the right one is within `interval` of the left one. Results are stamped
    /// with the later of their event times.
    ///
    /// A value behind its own stream's watermark is late: it is counted and matches nothing.
    ///
    /// ```
    /// # use thalweg::{Interval, IntervalError, Segment, Span, Stream};
    /// # fn f<A: Segment<(u64, i64)>, B: Segment<(u64, i64)>>(orders: Stream<(u64, i64), A>, parcels: Stream<(u64, i64), B>) -> Result<Stream<(u64, bool), impl Segment<(u64, bool)>>, IntervalError> {
    /// // Was the parcel sent within an hour?
    /// let hour = Interval::new(Span::ZERO, Span::from_secs(3_600))?;
    /// let pair = orders.key_by(|(order, _)| *order).join(parcels.key_by(|(order, _)| *order));
    /// Ok(pair.within(hour).left(|(order, _), parcel| (*order, parcel.is_some())))
    /// # }
    /// ```
    pub fn within(self, interval: Interval) -> MatchedPair<K, L, R, C, D, KeyL, KeyR, Within> {
        MatchedPair { pair: self, matching: Within(interval) }
    }
}

/// Rule by which two values with equal keys match, and the join operator that works by this rule.
pub trait Matching<K, L, R, KeyL, KeyR> {
    /// The join operator for this rule; `M` says which pairs and single values become results.
    type Join<M: Combine<L, R, Out: Send + 'static> + 'static>: Operator<Either<L, R>, Out = M::Out>
        + Named
        + 'static;

    /// Creates the join operator for this rule.
    fn join<M>(self, left_key: KeyL, right_key: KeyR, combine: M) -> Self::Join<M>
    where
        M: Combine<L, R, Out: Send + 'static> + 'static;
}

/// Rule that values with equal keys match if they fall into the same window.
#[derive(Clone, Copy, Debug)]
pub struct InWindows(SlidingWindows);

/// Rule that values with equal keys match if the event time of the right one is within an interval of the
/// left one's.
#[derive(Clone, Copy, Debug)]
pub struct Within(Interval);

/// Implements [`Matching`] for a rule by the join operator that works by this rule.
macro_rules! matching {
    ($way:ident, $join:ident) => {
        impl<K, L, R, KeyL, KeyR> Matching<K, L, R, KeyL, KeyR> for $way
        where
            K: Eq + Hash + State,
            L: Clone + State,
            R: Clone + State,
            KeyL: Fn(&L) -> K + Send + Sync + 'static,
            KeyR: Fn(&R) -> K + Send + Sync + 'static,
        {
            type Join<M: Combine<L, R, Out: Send + 'static> + 'static> = $join<K, L, R, KeyL, KeyR, M>;

            fn join<M>(self, left_key: KeyL, right_key: KeyR, combine: M) -> Self::Join<M>
            where
                M: Combine<L, R, Out: Send + 'static> + 'static,
            {
                $join::new("", self.0, left_key, right_key, combine)
            }
        }
    };
}

matching!(InWindows, WindowJoin);
matching!(Within, IntervalJoin);

/// Two keyed streams with a rule by which their values match.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct MatchedPair<K, L: Clone + Send + 'static, R: Clone + Send + 'static, C, D, KeyL, KeyR, W> {
    pair: KeyedPair<K, L, R, C, D, KeyL, KeyR>,
    matching: W,
}

/// Type of the segment that ends in a join.
type Joined<K, L, R, C, D, KeyL, KeyR, W, M> =
    Stateful<Sides<L, R, C, D>, Either<L, R>, <W as Matching<K, L, R, KeyL, KeyR>>::Join<M>>;

impl<K, L, R, C, D, KeyL, KeyR, W> MatchedPair<K, L, R, C, D, KeyL, KeyR, W>
where
    L: Clone + Send + 'static,
    R: Clone + Send + 'static,
    C: Segment<L>,
    D: Segment<R>,
    W: Matching<K, L, R, KeyL, KeyR>,
{
    /// Emits a result for every two values that match, as soon as both have arrived.
    pub fn inner<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, Inner<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, &R) -> U + Send + Sync + 'static,
    {
        self.by(Inner(combine))
    }

    /// Emits a result for each match as [`inner`](Self::inner) does, and for each left value without a match, when no
    /// match can come any more; in windows, for each window in which it has no match.
    pub fn left<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, LeftOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.by(LeftOuter(combine))
    }

    /// Emits a result for each match as [`inner`](Self::inner) does, and for each right value without a match, when
    /// no match can come any more; in windows, for each window in which it has no match.
    pub fn right<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, RightOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(Option<&L>, &R) -> U + Send + Sync + 'static,
    {
        self.by(RightOuter(combine))
    }

    /// Emits a result for each match as [`inner`](Self::inner) does, and for each value of either side without a
    /// match, when no match can come any more; in windows, for each window in which it has no match. At least one of
    /// the two arguments of `combine` is always `Some`.
    pub fn full<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, FullOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(Option<&L>, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.by(FullOuter(combine))
    }

    fn by<M>(self, combine: M) -> Stream<M::Out, Joined<K, L, R, C, D, KeyL, KeyR, W, M>>
    where
        M: Combine<L, R, Out: Send + 'static> + 'static,
    {
        let MatchedPair { pair: KeyedPair { stream, left_key, right_key, .. }, matching } = self;
        let operator = matching.join(left_key, right_key, combine);
        stream.follow("join", |head, label| stateful(head, operator, label))
    }
}

/// Type of the segment that ends in a co-group.
type CoGrouped<K, L, R, C, D, KeyL, KeyR, F, I> =
    Stateful<Sides<L, R, C, D>, Either<L, R>, CoGroup<K, L, R, KeyL, KeyR, F, I>>;

impl<K, L, R, C, D, KeyL, KeyR> MatchedPair<K, L, R, C, D, KeyL, KeyR, InWindows>
where
    K: Eq + Hash + State,
    L: Clone + State,
    R: Clone + State,
    C: Segment<L>,
    D: Segment<R>,
    KeyL: Fn(&L) -> K + Send + Sync + 'static,
    KeyR: Fn(&R) -> K + Send + Sync + 'static,
{
    /// Groups the values of both sides for each key and window, when the window closes. `function` gets the window,
    /// the key and the values of each side in their order of arrival; one side may be empty. It returns any number of
    /// results, which are stamped with the last instant of the window.
    ///
    /// ```
    /// # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
    /// # fn f<A: Segment<u32>, B: Segment<u32>>(ins: Stream<u32, A>, outs: Stream<u32, B>) -> Result<Stream<(u32, i64), impl Segment<(u32, i64)>>, WindowError> {
    /// let hours = TumblingWindows::new(Span::from_secs(3_600))?;
    /// let doors = ins.key_by(|door| *door).join(outs.key_by(|door| *door)).tumbling(hours);
    /// Ok(doors.co_group(|_hour, door, ins, outs| Some((*door, ins.len() as i64 - outs.len() as i64))))
    /// # }
    /// ```
    pub fn co_group<F, I>(self, function: F) -> Stream<I::Item, CoGrouped<K, L, R, C, D, KeyL, KeyR, F, I>>
    where
        F: Fn(Window, &K, &[L], &[R]) -> I + Send + Sync + 'static,
        I: IntoIterator<IntoIter: Send + 'static, Item: Send + 'static> + 'static,
    {
        let MatchedPair { pair: KeyedPair { stream, left_key, right_key, .. }, matching } = self;
        let operator = CoGroup::new("", matching.0, left_key, right_key, function);
        stream.follow("co_group", |head, label| stateful(head, operator, label))
    }
}
