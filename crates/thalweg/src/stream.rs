//! Streams: what can be done with the values that flow at a place of a query.
//!
//! Functions of users are `Fn + Send + Sync + 'static`, so that several workers can share them.

use std::cell::RefCell;
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

use thalweg_model::{Fold, Sink, State, TumblingWindows, Windowed};
use thalweg_operators::{Filter, Identity, Map, Named, StaticJoin, Table, TumblingAggregate};
use thalweg_runtime::SinkPlan;

use crate::query::Draft;
use crate::segment::{Chained, Chaining, Erased, Segment, Stateful};

/// Values of type `T` that flow at a place of a query. `C` says what the stream is made of up to there; with
/// [`boxed`](Stream::boxed) it is forgotten.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct Stream<T: Send + 'static, C = Erased<T>> {
    pub(crate) draft: Rc<RefCell<Draft>>,
    /// The source it comes from.
    pub(crate) origin: String,
    pub(crate) segment: C,
    pub(crate) value: PhantomData<fn() -> T>,
}

impl<T: Send + 'static, C: Segment<T>> Stream<T, C> {
    /// Keeps the values that `predicate` accepts.
    pub fn filter<F>(self, predicate: F) -> Stream<T, Chained<C, T, Filter<F>>>
    where
        F: Fn(&T) -> bool + Send + Sync + 'static,
    {
        let operator = Filter::new(self.unique("filter"), predicate);
        self.follow(|head| Chained { head, operator, input: PhantomData })
    }

    /// Makes each value into another.
    pub fn map<U, F>(self, function: F) -> Stream<U, Chained<C, T, Map<F>>>
    where
        U: Send + 'static,
        F: Fn(T) -> U + Send + Sync + 'static,
    {
        let operator = Map::new(self.unique("map"), function);
        self.follow(|head| Chained { head, operator, input: PhantomData })
    }

    /// Joins each value with the row of `table` that has its key; values without a row are dropped and counted.
    pub fn join_table<K, R, U, KeyOf, Combine>(
        self,
        table: Table<K, R>,
        key_of: KeyOf,
        combine: Combine,
    ) -> Stream<U, Stateful<C::BeforeState, T, StaticJoin<K, R, KeyOf, Combine>>>
    where
        K: Eq + Hash + Send + Sync + 'static,
        R: Send + Sync + 'static,
        U: Send + 'static,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
        Combine: Fn(T, &R) -> U + Send + Sync + 'static,
    {
        let operator = StaticJoin::new(self.unique("join"), table, key_of, combine);
        self.follow(|head| Stateful(Chained { head: head.before_state(), operator, input: PhantomData }))
    }

    /// Groups values by a key.
    pub fn key_by<K, KeyOf>(self, key_of: KeyOf) -> KeyedStream<K, T, C, KeyOf>
    where
        K: Eq + Hash + State,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
    {
        KeyedStream { stream: self, key_of, key: PhantomData }
    }

    /// Ends the stream: its values go to `sink`.
    pub fn sink<S: Sink<T> + 'static>(self, name: &str, sink: S) {
        let name = self.unique(name);
        let Stream { draft, origin, segment, .. } = self;
        let lower = move |planner: &mut crate::segment::Planner| match planner.chaining {
            Chaining::None => {
                let entry = segment.into_edge(planner);
                planner.graph.operator(name, entry, Identity, SinkPlan(sink));
            }
            Chaining::Default => segment.close(planner, SinkPlan(sink), &name),
        };
        draft.borrow_mut().finish(&origin, Box::new(lower));
    }

    /// Forgets what the stream is made of: it ends at an edge here, and goes on from there.
    pub fn boxed(self) -> Stream<T> {
        self.follow(Erased::new)
    }

    fn unique(&self, name: &str) -> String {
        self.draft.borrow_mut().unique(name)
    }

    fn follow<U: Send + 'static, D>(self, by: impl FnOnce(C) -> D) -> Stream<U, D> {
        Stream { draft: self.draft, origin: self.origin, segment: by(self.segment), value: PhantomData }
    }
}

impl<T: Send + 'static, H, In, P: Named> Stream<T, Chained<H, In, P>> {
    /// Names the last operator.
    pub fn name(mut self, name: &str) -> Self {
        let name = self.draft.borrow_mut().unique(name);
        self.segment.operator.rename(name);
        self
    }
}

impl<T: Send + 'static, H, In, P: Named> Stream<T, Stateful<H, In, P>> {
    /// Names the last operator.
    pub fn name(mut self, name: &str) -> Self {
        let name = self.draft.borrow_mut().unique(name);
        self.segment.0.operator.rename(name);
        self
    }
}

/// Values grouped by a key.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct KeyedStream<K, T: Send + 'static, C, KeyOf> {
    stream: Stream<T, C>,
    key_of: KeyOf,
    key: PhantomData<fn() -> K>,
}

impl<K, T, C, KeyOf> KeyedStream<K, T, C, KeyOf>
where
    K: Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Cuts event time into back-to-back windows.
    pub fn tumbling(self, windows: TumblingWindows) -> WindowedStream<K, T, C, KeyOf> {
        WindowedStream { keyed: self, windows }
    }
}

/// Values grouped by a key and a window.
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct WindowedStream<K, T: Send + 'static, C, KeyOf> {
    keyed: KeyedStream<K, T, C, KeyOf>,
    windows: TumblingWindows,
}

impl<K, T, C, KeyOf> WindowedStream<K, T, C, KeyOf>
where
    K: Eq + Hash + State,
    T: Send + 'static,
    C: Segment<T>,
    KeyOf: Fn(&T) -> K + Send + Sync + 'static,
{
    /// Folds the values of each key and window.
    pub fn aggregate<F: Fold<T>>(
        self,
        fold: F,
    ) -> Stream<Windowed<K, F::Result>, Stateful<C::BeforeState, T, TumblingAggregate<K, T, KeyOf, F>>> {
        let WindowedStream { keyed: KeyedStream { stream, key_of, .. }, windows } = self;
        let operator = TumblingAggregate::new(stream.unique("window"), windows, key_of, fold);
        stream.follow(|head| Stateful(Chained { head: head.before_state(), operator, input: PhantomData }))
    }
}
