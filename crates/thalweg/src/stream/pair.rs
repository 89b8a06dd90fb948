//! Two streams that are joined where their keys are equal.
//!
//! ```text
//!   KeyedPair<K, L, R>  --tumbling, sliding-->  WindowedPair<K, L, R>  --inner, left, right, full, co_group-->  Stream<U>
//! ```
//!
//! Whatever comes in on either side is read, so neither waits for the other; what has met nobody yet is kept, and freed
//! when the watermark says that nobody will come. A side that is far ahead therefore takes memory, from the engine's
//! budget.

use std::hash::Hash;
use std::marker::PhantomData;

use thalweg_model::{Either, SlidingWindows, State, TumblingWindows, Window};
use thalweg_operators::{CoGroup, Combine, FullOuter, Inner, LeftOuter, RightOuter, WindowJoin};

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
    /// Joins values that fall into the same window, back-to-back windows of one size.
    pub fn tumbling(self, windows: TumblingWindows) -> WindowedPair<K, L, R, C, D, KeyL, KeyR> {
        WindowedPair { pair: self, windows: windows.into() }
    }

    /// Joins values that fall into the same window, windows of one size at even distances; two that share several windows
    /// meet in each.
    pub fn sliding(self, windows: SlidingWindows) -> WindowedPair<K, L, R, C, D, KeyL, KeyR> {
        WindowedPair { pair: self, windows }
    }
}

/// Two streams, grouped by keys of one type and by windows.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct WindowedPair<K, L: Clone + Send + 'static, R: Clone + Send + 'static, C, D, KeyL, KeyR> {
    pair: KeyedPair<K, L, R, C, D, KeyL, KeyR>,
    windows: SlidingWindows,
}

/// What a window join is made of.
type Joined<K, L, R, C, D, KeyL, KeyR, M> =
    Stateful<Sides<L, R, C, D>, Either<L, R>, WindowJoin<K, L, R, KeyL, KeyR, M>>;

/// What a co-group is made of.
type CoGrouped<K, L, R, C, D, KeyL, KeyR, F, I> =
    Stateful<Sides<L, R, C, D>, Either<L, R>, CoGroup<K, L, R, KeyL, KeyR, F, I>>;

impl<K, L, R, C, D, KeyL, KeyR> WindowedPair<K, L, R, C, D, KeyL, KeyR>
where
    K: Eq + Hash + State,
    L: Clone + State,
    R: Clone + State,
    C: Segment<L>,
    D: Segment<R>,
    KeyL: Fn(&L) -> K + Send + Sync + 'static,
    KeyR: Fn(&R) -> K + Send + Sync + 'static,
{
    /// Makes a result of each pair with equal keys in each window that they share, as soon as both are there; stamped
    /// with the last instant of the window.
    ///
    /// A value none of whose windows is open by its own stream's watermark is late: it is counted and meets nobody.
    pub fn inner<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, Inner<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, &R) -> U + Send + Sync + 'static,
    {
        self.by(Inner(combine))
    }

    /// The same, and a result of each left value in each of its windows in which it met nobody, when the window closes.
    pub fn left<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, LeftOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(&L, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.by(LeftOuter(combine))
    }

    /// As [`inner`](Self::inner), and a result of each right value in each of its windows in which it met nobody, when
    /// the window closes.
    pub fn right<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, RightOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(Option<&L>, &R) -> U + Send + Sync + 'static,
    {
        self.by(RightOuter(combine))
    }

    /// As [`inner`](Self::inner), and a result of each value of either side in each of its windows in which it met
    /// nobody, when the window closes. One of the two that `combine` is given is always there.
    pub fn full<U, F>(self, combine: F) -> Stream<U, Joined<K, L, R, C, D, KeyL, KeyR, FullOuter<F>>>
    where
        U: Send + 'static,
        F: Fn(Option<&L>, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.by(FullOuter(combine))
    }

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
        let WindowedPair { pair: KeyedPair { stream, left_key, right_key, .. }, windows } = self;
        let operator = CoGroup::new("", windows, left_key, right_key, function);
        stream.follow("co_group", |head, label| stateful(head, operator, label))
    }

    fn by<M>(self, combine: M) -> Stream<M::Out, Joined<K, L, R, C, D, KeyL, KeyR, M>>
    where
        M: Combine<L, R, Out: Send + 'static> + 'static,
    {
        let WindowedPair { pair: KeyedPair { stream, left_key, right_key, .. }, windows } = self;
        let operator = WindowJoin::new("", windows, left_key, right_key, combine);
        stream.follow("join", |head, label| stateful(head, operator, label))
    }
}
