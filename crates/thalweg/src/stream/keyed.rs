//! What can be done with values once they are grouped by a key.
//!
//! ```text
//!   KeyedStream<K, T>  --tumbling-->  WindowedStream<K, T>  --aggregate-->  Stream<Windowed<K, R>>
//!   KeyedStream<K, T>  --process-->   Stream<U>
//! ```

use std::hash::Hash;
use std::marker::PhantomData;

use thalweg_model::{Fold, State, TumblingWindows, Windowed};
use thalweg_operators::{KeyedProcess, Process, TumblingAggregate};

use super::{Stream, stateful};
use crate::segment::{Erased, Segment, Stateful};

/// Values of type `T`, grouped by a key of type `K`.
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
    /// Hands each record to a function of yours, with state of its own per key and timers of event time.
    ///
    /// Records of a key come in the order of the stream, late ones, too; timers when the watermark reaches them. See
    /// [`KeyedProcess`]. Memory: the state of every key until the function clears it, and the timers, counted in the
    /// engine's budget.
    ///
    /// Tells of sensors that were silent for a minute:
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

    /// Cuts event time into back-to-back windows; each key has its own.
    pub fn tumbling(self, windows: TumblingWindows) -> WindowedStream<K, T, C, KeyOf> {
        WindowedStream { keyed: self, windows }
    }
}

/// Values of type `T`, grouped by a key of type `K` and a window.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct WindowedStream<K, T: Send + 'static, C = Erased<T>, KeyOf = fn(&T) -> K> {
    keyed: KeyedStream<K, T, C, KeyOf>,
    windows: TumblingWindows,
}

impl<K, T, C, KeyOf> WindowedStream<K, T, C, KeyOf>
where
    K: Clone + Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Folds the values of each key and window into one result, stamped with the last instant of the window.
    ///
    /// Results come when the watermark reaches the end of their window: windows in the order of their ends, the keys
    /// of one window in no promised order. A key without values in a window has no result there. A value whose
    /// window has closed is late: it is counted, in [`Counts::late`](thalweg_model::Counts::late) of this operator,
    /// and changes no result.
    ///
    /// Memory: one accumulator per key and open window, counted in the engine's budget; when there is none left, the
    /// query fails with [`StateLimit`](thalweg_runtime::QueryError::StateLimit). What keys and accumulators allocate
    /// for themselves is not counted.
    pub fn aggregate<F: Fold<T>>(
        self,
        fold: F,
    ) -> Stream<Windowed<K, F::Result>, Stateful<C::BeforeState, T, TumblingAggregate<K, T, KeyOf, F>>> {
        let WindowedStream { keyed: KeyedStream { stream, key_of, .. }, windows } = self;
        let operator = TumblingAggregate::new("", windows, key_of, fold);
        stream.follow("window", |head, label| stateful(head, operator, label))
    }
}
