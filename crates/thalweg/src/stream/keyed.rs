//! Operations on values that are grouped by a key.
//!
//! ```text
//!   KeyedStream<K, T>  --tumbling, sliding-->   WindowedStream<K, T>  --aggregate, apply-->  Stream<Windowed<K, R>>
//!   KeyedStream<K, T>  --session-->   SessionStream<K, T>  --aggregate-->  Stream<Windowed<K, R>>
//!   KeyedStream<K, T>  --count_windows, process, distinct-->   Stream<U>
//!   KeyedStream<K, T>, KeyedStream<K, R>  --join-->  KeyedPair<K, T, R>
//! ```

use std::hash::Hash;
use std::marker::PhantomData;

use thalweg_model::{
    CountWindows, Counted, Fold, SessionGap, SlidingWindows, Span, State, TumblingWindows, Windowed,
};
use thalweg_operators::{
    CountAggregate, Distinct, DivertLate, DropLate, FlatMap, KeyedProcess, LateRule, Process,
    SessionAggregate, SlidingAggregate, Values,
};

use super::pair::KeyedPair;
use super::{Stream, stateful};
use crate::segment::{Chained, Erased, Segment, SidesOf, Stateful};

/// A stream of values of type `T` that are grouped by a key of type `K`.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct KeyedStream<K, T: Send + 'static, C = Erased<T>, KeyOf = fn(&T) -> K> {
    pub(super) stream: Stream<T, C>,
    pub(super) key_of: KeyOf,
    pub(super) key: PhantomData<fn() -> K>,
}

impl<K, T, C, KeyOf> KeyedStream<K, T, C, KeyOf>
where
    K: Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Passes each record to a function of yours, which has state per key and timers of event time.
    ///
    /// Records of a key come in the order of the stream, including late ones; timers fire when the watermark
    /// reaches them. See [`KeyedProcess`]. Memory: the state of every key until the function clears it, and the
    /// timers, counted in the engine's budget.
    ///
    /// This function reports sensors that were silent for a minute:
    ///
    /// ```
    /// use thalweg::{EventTime, KeyedProcess, ProcessContext, Record, Span};
    /// # use thalweg::{Segment, Stream};
    ///
    /// struct Silent;
    ///
    /// impl KeyedProcess<u32, f64> for Silent {
    ///     /// When a minute since the last reading is over.
    ///     type State = Option<EventTime>;
    ///     type Out = u32;
    ///
    ///     fn on_record(&self, _: &u32, reading: Record<f64>, context: &mut ProcessContext<'_, u32, Self::State, u32>) {
    ///         let over = reading.event_time.plus(Span::from_secs(60));
    ///         if let Some(before) = context.state().replace(over) {
    ///             context.delete_timer(before);
    ///         }
    ///         context.set_timer(over);
    ///     }
    ///
    ///     fn on_timer(&self, sensor: &u32, _: EventTime, context: &mut ProcessContext<'_, u32, Self::State, u32>) {
    ///         context.clear();
    ///         context.emit(*sensor);
    ///     }
    /// }
    ///
    /// # fn f<C: Segment<f64>>(readings: Stream<f64, C>) -> Stream<u32, impl Segment<u32>> {
    /// # let sensor_of = |_: &f64| 7;
    /// readings.key_by(sensor_of).process(Silent)
    /// # }
    /// ```
    pub fn process<P>(
        self,
        function: P,
    ) -> Stream<P::Out, Stateful<C::BeforeState, T, Process<K, T, KeyOf, P>>>
    where
        K: Clone,
        P: KeyedProcess<K, T>,
    {
        let KeyedStream { stream, key_of, .. } = self;
        stream.follow("process", |head, label| stateful(head, Process::new("", key_of, function), label))
    }

    /// Groups the values of each key by back-to-back windows of event time.
    pub fn tumbling(self, windows: TumblingWindows) -> WindowedStream<K, T, C, KeyOf> {
        self.windowed(windows.into())
    }

    /// Groups the values of each key by windows of one size that begin at regular intervals, so that a value may
    /// count in several.
    ///
    /// ```
    /// # use thalweg::{Count, Segment, SlidingWindows, Span, Stream, WindowError, Windowed};
    /// # fn f<C: Segment<&'static str>>(words: Stream<&'static str, C>) -> Result<Stream<Windowed<String, u64>, impl Segment<Windowed<String, u64>>>, WindowError> {
    /// let two_minutes = SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(30))?;
    /// Ok(words.key_by(|word| word.to_string()).sliding(two_minutes).aggregate(Count))
    /// # }
    /// ```
    pub fn sliding(self, windows: SlidingWindows) -> WindowedStream<K, T, C, KeyOf> {
        self.windowed(windows)
    }

    /// Groups the values of each key that are less than a gap apart into one window: a session, which ends one gap
    /// after its last value.
    ///
    /// A value is late if the session that it would form alone is over by its own stream's watermark, even if it
    /// could join a session that is still open. So sessions do not depend on how streams interleave.
    ///
    /// ```
    /// # use thalweg::{Count, Segment, SessionGap, Span, Stream, WindowError, Windowed};
    /// # fn f<C: Segment<u64>>(clicks: Stream<u64, C>) -> Result<Stream<Windowed<u64, u64>, impl Segment<Windowed<u64, u64>>>, WindowError> {
    /// let half_an_hour = SessionGap::new(Span::from_secs(30 * 60))?;
    /// Ok(clicks.key_by(|user| *user).session(half_an_hour).aggregate(Count))
    /// # }
    /// ```
    pub fn session(self, gap: SessionGap) -> SessionStream<K, T, C, KeyOf> {
        SessionStream { keyed: self, gap, allowed: Span::ZERO, late: PhantomData }
    }

    /// Groups the values of each key into windows of a number of values, in their order of arrival, whatever their
    /// event times. Windows may overlap, or leave out values in between.
    ///
    /// ```
    /// # use std::num::NonZeroU64;
    /// # use thalweg::{CountWindows, Counted, Mean, Segment, Stream, of};
    /// # fn f<C: Segment<(u32, f64)>>(readings: Stream<(u32, f64), C>) -> Stream<Counted<u32, f64>, impl Segment<Counted<u32, f64>>> {
    /// let ten = CountWindows::of_size(const { NonZeroU64::new(10).unwrap() });
    /// readings.key_by(|(sensor, _)| *sensor).count_windows(ten, of(|reading: &(u32, f64)| reading.1, Mean))
    /// # }
    /// ```
    ///
    /// Results are stamped with the event time of the value that completes their window; a window that is not
    /// complete when the stream ends has no result. Behind a union, the values that share a window depend on the
    /// interleaving.
    pub fn count_windows<F: Fold<T>>(
        self,
        windows: CountWindows,
        fold: F,
    ) -> Stream<Counted<K, F::Result>, Stateful<C::BeforeState, T, CountAggregate<K, T, KeyOf, F>>>
    where
        K: Clone,
    {
        let KeyedStream { stream, key_of, .. } = self;
        let operator = CountAggregate::new("", windows, key_of, fold);
        stream.follow("count_windows", |head, label| stateful(head, operator, label))
    }

    /// Emits one result for the first value of each key and window, at once and stamped with the last instant of the
    /// window; the others are counted as filtered.
    ///
    /// Memory: the keys of each open window, counted in the engine's budget.
    pub fn distinct(
        self,
        windows: TumblingWindows,
    ) -> Stream<Windowed<K, ()>, Stateful<C::BeforeState, T, Distinct<K, KeyOf>>>
    where
        K: Clone,
    {
        let KeyedStream { stream, key_of, .. } = self;
        stream.follow("distinct", |head, label| stateful(head, Distinct::new("", windows, key_of), label))
    }

    /// Pairs the stream with another, to be joined where their keys are equal.
    ///
    /// ```
    /// # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
    /// # type Order = (u64, char);
    /// # type Payment = (u64, u32);
    /// # fn f<A: Segment<Order>, B: Segment<Payment>>(orders: Stream<Order, A>, payments: Stream<Payment, B>) -> Result<Stream<(char, u32), impl Segment<(char, u32)>>, WindowError> {
    /// let hours = TumblingWindows::new(Span::from_secs(3_600))?;
    /// let pair = orders.key_by(|(order, _)| *order).join(payments.key_by(|(order, _)| *order));
    /// Ok(pair.tumbling(hours).inner(|(_, what), (_, paid)| (*what, *paid)))
    /// # }
    /// ```
    pub fn join<R, D, KeyOfR>(
        self,
        other: KeyedStream<K, R, D, KeyOfR>,
    ) -> KeyedPair<K, T, R, C, D, KeyOf, KeyOfR>
    where
        T: Clone,
        R: Clone + Send + 'static,
        D: Segment<R>,
    {
        KeyedPair {
            stream: self.stream.meet(other.stream, "join input", SidesOf::new),
            left_key: self.key_of,
            right_key: other.key_of,
            key: PhantomData,
        }
    }

    fn windowed(self, windows: SlidingWindows) -> WindowedStream<K, T, C, KeyOf> {
        WindowedStream { keyed: self, windows, allowed: Span::ZERO, late: PhantomData }
    }
}

/// A stream of values of type `T` that are grouped by a key of type `K` and a window. `Late` is the rule for
/// late values.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct WindowedStream<K, T: Send + 'static, C = Erased<T>, KeyOf = fn(&T) -> K, Late = DropLate> {
    keyed: KeyedStream<K, T, C, KeyOf>,
    windows: SlidingWindows,
    allowed: Span,
    late: PhantomData<fn() -> Late>,
}

/// Type of the segment that ends in an aggregate over tumbling or sliding windows.
type Aggregated<K, T, C, KeyOf, F, Late> =
    Stateful<<C as Segment<T>>::BeforeState, T, SlidingAggregate<K, T, KeyOf, F, Late>>;

impl<K, T, C, KeyOf> WindowedStream<K, T, C, KeyOf>
where
    K: Clone + Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Passes late values on instead of dropping them: the aggregate emits results and late values, which
    /// [`part`](Stream::part) separates. Late values are still counted as late.
    ///
    /// ```
    /// # use thalweg::{Count, Segment, Span, Stream, TumblingWindows, WindowError};
    /// # use thalweg_connectors::{Collect, LinesSink};
    /// # use thalweg::Windowed;
    /// # fn f<C: Segment<i64>>(readings: Stream<i64, C>, counts: Collect<Windowed<(), u64>>, too_late: Collect<i64>) -> Result<(), WindowError> {
    /// let minutes = TumblingWindows::new(Span::from_secs(60))?;
    /// let (results, late) = readings.key_by(|_| ()).tumbling(minutes).divert_late().aggregate(Count).part();
    /// results.sink("counts", counts);
    /// late.sink("too late", too_late);
    /// # Ok(())
    /// # }
    /// ```
    pub fn divert_late(self) -> WindowedStream<K, T, C, KeyOf, DivertLate> {
        let WindowedStream { keyed, windows, allowed, .. } = self;
        WindowedStream { keyed, windows, allowed, late: PhantomData }
    }

    /// Collects the values of each key and window, and emits the results that `function` makes of them: for results
    /// that need all values of a window at once, such as a median. Results are stamped with the last instant of the
    /// window.
    ///
    /// Values of one input stand in the order in which they came; in sliding windows this holds within each
    /// [pane](SlidingWindows::pane), and panes stand in the order of their time. Memory: all values of the open
    /// windows, counted in the engine's budget, except what they hold on the heap themselves. For results that can
    /// be computed value by value, [`aggregate`](Self::aggregate) is cheaper; for both at once, use a pair of
    /// aggregates, such as `(Count, Values)`.
    ///
    /// ```
    /// # use thalweg::{Segment, Span, Stream, TumblingWindows, WindowError};
    /// # fn f<C: Segment<(u32, i64)>>(readings: Stream<(u32, i64), C>) -> Result<Stream<(u32, i64), impl Segment<(u32, i64)>>, WindowError> {
    /// let minutes = TumblingWindows::new(Span::from_secs(60))?;
    /// Ok(readings.key_by(|(sensor, _)| *sensor).tumbling(minutes).apply(|window| {
    ///     let mut values: Vec<i64> = window.value.iter().map(|(_, value)| *value).collect();
    ///     values.sort_unstable();
    ///     let median = values[values.len() / 2];
    ///     Some((window.key, median))
    /// }))
    /// # }
    /// ```
    pub fn apply<V, F>(
        self,
        function: F,
    ) -> Stream<
        V::Item,
        Chained<Aggregated<K, T, C, KeyOf, Values, DropLate>, Windowed<K, Vec<T>>, FlatMap<F, V::IntoIter>>,
    >
    where
        T: Clone + State,
        V: IntoIterator<IntoIter: Send + 'static, Item: Send + 'static>,
        F: Fn(Windowed<K, Vec<T>>) -> V + Send + Sync + 'static,
    {
        self.aggregate(Values).flat_map(function)
    }
}

impl<K, T, C, KeyOf, Late> WindowedStream<K, T, C, KeyOf, Late>
where
    K: Clone + Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Lets windows take late values until the watermark is `allowed` past their end, and update their results. At
    /// the next watermark, each changed key has one more result, marked as an
    /// [update](thalweg_model::Firing::Update), which replaces the one before.
    pub fn allow_lateness(self, allowed: Span) -> Self {
        WindowedStream { allowed, ..self }
    }

    /// Folds the values of each key and window into one result, stamped with the last instant of the window.
    ///
    /// Results come when the watermark reaches the end of their window: windows in the order of their ends, the keys
    /// of one window in no promised order. A key without values in a window has no result there. A value whose
    /// windows have all closed is late: it is counted, in [`Counts::late`](thalweg_model::Counts::late) of this
    /// operator, and changes no result.
    ///
    /// Memory: one accumulator per key and open window, or per key and pane for sliding windows, counted in the
    /// engine's budget. When the budget is used up, the query fails with
    /// [`StateLimit`](thalweg_runtime::QueryError::StateLimit). Memory that accumulators hold beyond themselves is
    /// counted if the aggregate reports it, by [`HOLDS`](Fold::HOLDS) and [`held_bytes`](Fold::held_bytes):
    /// [`Values`], [`TopN`](thalweg_operators::TopN) and [`DistinctCount`](thalweg_operators::DistinctCount) report
    /// the containers of their values. Memory that a value or a key holds on the heap itself, such as the letters of
    /// a `String`, is not counted.
    pub fn aggregate<F: Fold<T>>(
        self,
        fold: F,
    ) -> Stream<<Late as LateRule<Windowed<K, F::Result>, T>>::Out, Aggregated<K, T, C, KeyOf, F, Late>>
    where
        Late: LateRule<Windowed<K, F::Result>, T, Out: Send + 'static>,
    {
        let WindowedStream { keyed: KeyedStream { stream, key_of, .. }, windows, allowed, .. } = self;
        let operator = SlidingAggregate::with_rule("", windows, key_of, fold).allow_lateness(allowed);
        stream.follow("window", |head, label| stateful(head, operator, label))
    }
}

/// A stream of values of type `T` that are grouped by a key of type `K` and into sessions. `Late` is the rule
/// for late values.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct SessionStream<K, T: Send + 'static, C = Erased<T>, KeyOf = fn(&T) -> K, Late = DropLate> {
    keyed: KeyedStream<K, T, C, KeyOf>,
    gap: SessionGap,
    allowed: Span,
    late: PhantomData<fn() -> Late>,
}

/// Type of the segment that ends in an aggregate over sessions.
type SessionsOf<K, T, C, KeyOf, F, Late> =
    Stateful<<C as Segment<T>>::BeforeState, T, SessionAggregate<K, T, KeyOf, F, Late>>;

impl<K, T, C, KeyOf> SessionStream<K, T, C, KeyOf>
where
    T: Send + 'static,
{
    /// Passes late values on instead of dropping them: the aggregate emits results and late values, which
    /// [`part`](Stream::part) separates. Late values are still counted as late.
    pub fn divert_late(self) -> SessionStream<K, T, C, KeyOf, DivertLate> {
        let SessionStream { keyed, gap, allowed, .. } = self;
        SessionStream { keyed, gap, allowed, late: PhantomData }
    }
}

impl<K, T, C, KeyOf, Late> SessionStream<K, T, C, KeyOf, Late>
where
    K: Clone + Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Lets sessions take late values until the watermark is `allowed` past their end. At the next watermark, each
    /// changed session has one more result, marked as an [update](thalweg_model::Firing::Update). Results that fire
    /// on time are the same as without allowed lateness.
    ///
    /// A late value may merge sessions that have been emitted, or move the start or the end of one. The update then
    /// has the window of the merged session, and **the results that it replaces are not retracted**: all earlier
    /// results of its key whose windows are within its own.
    ///
    /// ```
    /// # use thalweg::{Count, Segment, SessionGap, Span, Stream, WindowError, Windowed};
    /// # fn f<C: Segment<u64>>(clicks: Stream<u64, C>) -> Result<Stream<Windowed<u64, u64>, impl Segment<Windowed<u64, u64>>>, WindowError> {
    /// let half_an_hour = SessionGap::new(Span::from_secs(30 * 60))?;
    /// Ok(clicks.key_by(|user| *user).session(half_an_hour).allow_lateness(Span::from_secs(60)).aggregate(Count))
    /// # }
    /// ```
    pub fn allow_lateness(self, allowed: Span) -> Self {
        SessionStream { allowed, ..self }
    }

    /// Folds the values of each session into one result, stamped with the last instant of the session, when the
    /// watermark reaches its end. Sessions come in the order of their ends; if several workers share the operator,
    /// this holds for the keys of each worker.
    ///
    /// Memory: an accumulator per open session and, with allowed lateness, per session that still takes updates,
    /// counted in the engine's budget as those of [windows](WindowedStream::aggregate) are.
    pub fn aggregate<F: Fold<T>>(
        self,
        fold: F,
    ) -> Stream<<Late as LateRule<Windowed<K, F::Result>, T>>::Out, SessionsOf<K, T, C, KeyOf, F, Late>>
    where
        Late: LateRule<Windowed<K, F::Result>, T, Out: Send + 'static>,
    {
        let SessionStream { keyed: KeyedStream { stream, key_of, .. }, gap, allowed, .. } = self;
        let operator = SessionAggregate::with_rule("", gap, key_of, fold).allow_lateness(allowed);
        stream.follow("sessions", |head, label| stateful(head, operator, label))
    }
}
