//! Two streams that are joined where their keys are equal.
//!
//! ```text
//!   KeyedPair<K, L, R>  --tumbling, sliding, within-->  MatchedPair<K, L, R>  --inner, left, right, full-->  Stream<U>
//!                                                                             --co_group (windows)------->  Stream<U>
//! ```
//!
//! Whatever comes in on either side is read, so neither waits for the other; what has met nobody yet is kept, and freed
//! when the watermark says that nobody will come. A side that is far ahead therefore takes memory, from the engine's
//! budget.

use std::hash::Hash;
use std::marker::PhantomData;

use thalweg_model::{Either, Operator, SlidingWindows, State, TumblingWindows, Window};
use thalweg_operators::{
    CoGroup, Combine, FullOuter, Inner, Interval, IntervalJoin, LeftOuter, Named, RightOuter, WindowJoin,
};

use super::{Stream, stateful};
use crate::segment::{FromEnds, Segment, SidesOf, Stateful};

/// What both streams are read as.
type Sides<L, R, C, D> = FromEnds<SidesOf<C, D, L, R>>;

/// Two streams, of values `L` and `R`, grouped by keys of one type.
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
    /// Values with equal keys meet if they fall into the same window, back-to-back windows of one size. What comes of it
    /// is stamped with the last instant of the window.
    ///
    /// A value none of whose windows is open by its own stream's watermark is late: it is counted and meets nobody.
    pub fn tumbling(self, windows: TumblingWindows) -> MatchedPair<K, L, R, C, D, KeyL, KeyR, InWindows> {
        self.sliding(windows.into())
    }

    /// Values with equal keys meet if they fall into the same window, windows of one size at even distances; two that
    /// share several windows meet in each.
    pub fn sliding(self, windows: SlidingWindows) -> MatchedPair<K, L, R, C, D, KeyL, KeyR, InWindows> {
        MatchedPair { pair: self, matching: InWindows(windows) }
    }

    /// Values with equal keys meet if the right one lies within `interval` of the left one. What comes of it is stamped
    /// with the later of their times.
    ///
    /// A value behind its own stream's watermark is late: it is counted and meets nobody.
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

/// Who meets whom, of values with equal keys.
pub trait Matching<K, L, R, KeyL, KeyR> {
    /// The operator that brings them together.
    type Join<M: Combine<L, R, Out: Send + 'static> + 'static>: Operator<Either<L, R>, Out = M::Out>
        + Named
        + 'static;

    /// Makes the operator.
    fn join<M>(self, left_key: KeyL, right_key: KeyR, combine: M) -> Self::Join<M>
    where
        M: Combine<L, R, Out: Send + 'static> + 'static;
}

/// Those that share a window.
#[derive(Clone, Copy, Debug)]
pub struct InWindows(SlidingWindows);

/// Those of which the right one lies within an interval of the left one.
#[derive(Clone, Copy, Debug)]
pub struct Within(Interval);

/// Says by which operator those meet who match.
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

/// Two streams, of which it is settled which values meet.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct MatchedPair<K, L: Clone + Send + 'static, R: Clone + Send + 'static, C, D, KeyL, KeyR, W> {
    pair: KeyedPair<K, L, R, C, D, KeyL, KeyR>,
    matching: W,
}

/// What a join is made of.
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
    /// Makes a result of each two that meet, as soon as both are there.
    pub fn inner<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, Inner<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, &R) -> U + Send + Sync + 'static,
    {
        self.by(Inner(combine))
    }

    /// The same, and a result of each left value that met nobody, when it is sure that nobody will come; in windows, of
    /// each window in which it met nobody.
    pub fn left<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, LeftOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.by(LeftOuter(combine))
    }

    /// As [`inner`](Self::inner), and a result of each right value that met nobody, when it is sure that nobody will
    /// come; in windows, of each window in which it met nobody.
    pub fn right<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, W, RightOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(Option<&L>, &R) -> U + Send + Sync + 'static,
    {
        self.by(RightOuter(combine))
    }

    /// As [`inner`](Self::inner), and a result of each value of either side that met nobody, when it is sure that nobody
    /// will come; in windows, of each window in which it met nobody. One of the two that `combine` is given is always
    /// there.
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

/// What a co-group is made of.
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
    /// Brings together, for each key and window, the values of both sides, when the window closes: `function` sees the
    /// window, the key and the values of each side in the order in which they came, of which one may be empty, and makes
    /// any number of results, stamped with the last instant of the window.
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
