//! Streams: operations on the values that flow at a place of a query.
//!
//! ```text
//!   Stream<T>  --key_by-->  KeyedStream<K, T>  --tumbling-->  WindowedStream  --aggregate-->  Stream<Windowed<K, R>>
//!   KeyedStream<K, T>  --process-->  Stream<U>
//!   Stream<T>  --map, filter, flat_map, in_order_by, join_table, process-->  Stream<U>
//!   Stream<T>  --share, split, union-->  several streams, or one of several: see [`SharedStream`]
//!   Stream<T>  --sink-->  the end
//! ```
//!
//! Functions of users are `Fn + Send + Sync + 'static`, so that several workers can share them: they own what they
//! use (`move`), and change nothing outside. State that changes from record to record is kept in an aggregate's
//! accumulator, or in an [operator of your own](Stream::process). A function that panics fails its query, with
//! [`QueryError::Panicked`](thalweg_runtime::QueryError::Panicked) and the operator's name, and no other query.
//!
//! # Compile errors
//!
//! Given `words: Stream<&'static str>` and `minutes: TumblingWindows`, each of these is tested to be refused. An
//! aggregate needs windows, and windows need a key:
//!
//! ```compile_fail,E0599
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let counts = words.tumbling(minutes).aggregate(thalweg::Count);
//! # }
//! ```
//! ```compile_fail,E0599
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let counts = words.key_by(|word| word.len()).aggregate(thalweg::Count);
//! # }
//! ```
//!
//! A key is compared, hashed and saved, which a floating-point number does not support:
//!
//! ```compile_fail,E0277
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let halves = words.key_by(|word| word.len() as f64 / 2.0);
//! # }
//! ```
//!
//! A sink takes the type of the stream's values, and so does an aggregate:
//!
//! ```compile_fail,E0277
//! # use thalweg_connectors::Collect;
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! words.map(|word| word.len()).sink("lengths", Collect::<String>::new(10));
//! # }
//! ```
//! ```compile_fail,E0277
//! # struct Sum;
//! # impl thalweg::Fold<u64> for Sum {
//! #     type Accumulator = u64;
//! #     type Result = u64;
//! #     fn create(&self) -> u64 { 0 }
//! #     fn fold(&self, accumulator: &mut u64, value: &u64) { *accumulator += value }
//! #     fn merge(&self, accumulator: &mut u64, other: u64) { *accumulator += other }
//! #     fn finish(&self, accumulator: u64) -> u64 { accumulator }
//! # }
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! // `Sum` implements `Fold<u64>`.
//! let sums = words.key_by(|word| word.len()).tumbling(minutes).aggregate(Sum);
//! # }
//! ```
//!
//! A function can be sent to another thread, owns what it uses, and changes nothing outside:
//!
//! ```compile_fail,E0277
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let shortest = std::rc::Rc::new(3);
//! let long = words.filter(move |word| word.len() >= *shortest);
//! # }
//! ```
//! ```compile_fail,E0373
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let shortest = 3;
//! let long = words.filter(|word| word.len() >= shortest);
//! # }
//! ```
//! ```compile_fail,E0594
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let mut count = 0;
//! let numbered = words.map(move |word| {
//!     count += 1;
//!     (count, word)
//! });
//! # }
//! ```
//!
//! A stream continues in one place, and a query is planned once:
//!
//! ```compile_fail,E0382
//! # fn f(words: thalweg::Stream<&'static str>, minutes: thalweg::TumblingWindows) {
//! let long = words.filter(|word| word.len() > 3);
//! let short = words.filter(|word| word.len() <= 3);
//! # }
//! ```
//! ```compile_fail,E0382
//! # use thalweg::{Chaining, Query};
//! # let query = Query::new("q");
//! let first = query.plan(Chaining::Default);
//! let second = query.plan(Chaining::All);
//! ```

mod keyed;
mod pair;
mod several;

use std::cell::RefCell;
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

use thalweg_model::{Either, EventTime, Fault, Operator, Sink, State};
use thalweg_operators::{
    ByArrival, DivertLate, Filter, FilterMap, FlatMap, Identity, Lookup, LookupJoin, LookupOptions, Map, Own,
    Sort, StaticJoin, StaticLeftJoin, Table, Timers,
};
use thalweg_runtime::SinkPlan;

use crate::draft::{Draft, Label, OperatorName, StreamIndex};
use crate::segment::{Awaited, Chained, Chaining, Erased, Planner, Segment, Stateful};

pub use keyed::{KeyedStream, SessionStream, WindowedStream};
pub use pair::{InWindows, KeyedPair, MatchedPair, Matching, Within};
pub use several::{Parts, SharedStream};

/// Values of type `T` that flow at a place of a query, each with its event time. `C` is the type of the stream's
/// segment up to there; [`boxed`](Stream::boxed) erases it.
///
/// Operators are called after their kind, `map`, `filter`, `join`, `window`, `process`, with a number if that name is
/// taken, unless they are given a [`name`](Stream::name).
#[must_use = "a stream that does not end in a sink is refused when the query is planned"]
pub struct Stream<T: Send + 'static, C = Erased<T>> {
    pub(crate) draft: Rc<RefCell<Draft>>,
    /// Index of the stream among the streams of its query.
    pub(crate) index: StreamIndex,
    pub(crate) segment: C,
    pub(crate) value: PhantomData<fn() -> T>,
}

impl<T: Send + 'static, C: Segment<T>> Stream<T, C> {
    /// Keeps the values that `predicate` accepts, in their order; the others are dropped and counted as filtered.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn positive<C: Segment<i64>>(numbers: Stream<i64, C>) -> Stream<i64, impl Segment<i64>> {
    /// numbers.filter(|number| *number > 0)
    /// # }
    /// ```
    pub fn filter<F>(self, predicate: F) -> Stream<T, Chained<C, T, Filter<F>>>
    where
        F: Fn(&T) -> bool + Send + Sync + 'static,
    {
        self.follow("filter", |head, label| chained(head, Filter::new("", predicate), label))
    }

    /// Maps each value to another, in order; event times stay.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn celsius<C: Segment<f64>>(fahrenheit: Stream<f64, C>) -> Stream<f64, impl Segment<f64>> {
    /// fahrenheit.map(|degrees| (degrees - 32.0) / 1.8)
    /// # }
    /// ```
    pub fn map<U, F>(self, function: F) -> Stream<U, Chained<C, T, Map<F>>>
    where
        U: Send + 'static,
        F: Fn(T) -> U + Send + Sync + 'static,
    {
        self.follow("map", |head, label| chained(head, Map::new("", function), label))
    }

    /// Joins each value with the row of `table` that has its key, or with `None`: a left join, which drops nothing.
    ///
    /// ```
    /// # use thalweg::{DuplicateKey, Segment, Stream, Table};
    /// # fn named<C: Segment<u32>>(numbers: Stream<u32, C>) -> Result<Stream<String, impl Segment<String>>, DuplicateKey> {
    /// let names = Table::new([(1, "one"), (2, "two")])?;
    /// Ok(numbers.left_join_table(names, |number| *number, |number, name| match name {
    ///     Some(name) => (*name).to_owned(),
    ///     None => number.to_string(),
    /// }))
    /// # }
    /// ```
    pub fn left_join_table<K, R, U, KeyOf, Combine>(
        self,
        table: Table<K, R>,
        key_of: KeyOf,
        combine: Combine,
    ) -> Stream<U, Stateful<C::BeforeState, T, StaticLeftJoin<K, R, KeyOf, Combine>>>
    where
        K: Eq + Hash + Send + Sync + 'static,
        R: Send + Sync + 'static,
        U: Send + 'static,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
        Combine: Fn(T, Option<&R>) -> U + Send + Sync + 'static,
    {
        self.follow("join", |head, label| {
            stateful(head, StaticLeftJoin::new("", table, key_of, combine), label)
        })
    }

    /// Maps each value to another or to nothing, in order; event times stay. Values that become nothing are counted
    /// as filtered.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn parsed<C: Segment<String>>(lines: Stream<String, C>) -> Stream<i64, impl Segment<i64>> {
    /// lines.filter_map(|line| line.parse().ok())
    /// # }
    /// ```
    pub fn filter_map<U, F>(self, function: F) -> Stream<U, Chained<C, T, FilterMap<F>>>
    where
        U: Send + 'static,
        F: Fn(T) -> Option<U> + Send + Sync + 'static,
    {
        self.follow("filter_map", |head, label| chained(head, FilterMap::new("", function), label))
    }

    /// Maps each value to any number of others, in order; they keep its event time. Values that become nothing are
    /// counted as filtered. Values that find no room wait in the iterator, so that may have any length.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn words<C: Segment<&'static str>>(lines: Stream<&'static str, C>) -> Stream<&'static str, impl Segment<&'static str>> {
    /// lines.flat_map(|line| line.split_whitespace())
    /// # }
    /// ```
    pub fn flat_map<V, F>(self, function: F) -> Stream<V::Item, Chained<C, T, FlatMap<F, V::IntoIter>>>
    where
        V: IntoIterator<IntoIter: Send + 'static, Item: Send + 'static>,
        F: Fn(T) -> V + Send + Sync + 'static,
    {
        self.follow("flat_map", |head, label| chained(head, FlatMap::new("", function), label))
    }

    /// Sorts the values by event time, and those with the same event time by a key, `()` if none is needed. A value
    /// is emitted when the watermark has passed it. A value behind its own source's watermark is late: it is counted
    /// and dropped.
    ///
    /// Memory: the values at or after the watermark, counted in the engine's budget.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn f<C: Segment<(u32, i64)>>(readings: Stream<(u32, i64), C>) -> Stream<(u32, i64), impl Segment<(u32, i64)>> {
    /// readings.in_order_by(|(sensor, _)| *sensor)
    /// # }
    /// ```
    pub fn in_order_by<K, KeyOf>(
        self,
        key_of: KeyOf,
    ) -> Stream<T, Stateful<C::BeforeState, T, Sort<K, T, KeyOf>>>
    where
        T: State,
        K: Ord + Send + 'static,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
    {
        self.follow("sort", |head, label| stateful(head, Sort::new("", key_of), label))
    }

    /// Sorts like [`in_order_by`](Stream::in_order_by), but passes late values on beside the others, as
    /// [`Either::Right`](thalweg_model::Either::Right): see [`part`](Stream::part).
    pub fn in_order_or_late<K, KeyOf>(
        self,
        key_of: KeyOf,
    ) -> Stream<Either<T, T>, Stateful<C::BeforeState, T, Sort<K, T, KeyOf, DivertLate>>>
    where
        T: State,
        K: Ord + Send + 'static,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
    {
        self.follow("sort", |head, label| stateful(head, Sort::new("", key_of).divert_late(), label))
    }

    /// Joins each value with the row of `table` that has its key: an inner join with a table that does not change.
    /// Values keep their order and event times; values without a row are dropped and counted as filtered.
    ///
    /// A table may be joined in many places, and is in memory once. Its memory is not counted in the engine's budget.
    ///
    /// ```
    /// # use thalweg::{DuplicateKey, Segment, Stream, Table};
    /// # fn named<C: Segment<u32>>(numbers: Stream<u32, C>) -> Result<Stream<&'static str, impl Segment<&'static str>>, DuplicateKey> {
    /// let names = Table::new([(1, "one"), (2, "two")])?;
    /// Ok(numbers.join_table(names, |number| *number, |_number, name| *name))
    /// # }
    /// ```
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
        self.follow("join", |head, label| stateful(head, StaticJoin::new("", table, key_of, combine), label))
    }

    /// Joins each value with the answer to an asynchronous request about it, which keeps no worker waiting: a
    /// [`Lookup`] asks a store or a service, and wakes the task when there are answers. `options` bounds the number
    /// of requests in flight; at the bound no more values are read.
    ///
    /// Results come in the order of their values, or as answers come; in either case none passes a watermark.
    /// `combine` makes the result of a value and its answer. An answer that is an error fails the query, unless
    /// `combine` turns it into a result. Memory: the values in flight, counted in the engine's budget.
    ///
    /// ```
    /// # use thalweg::{Lookup, LookupOptions, Segment, Stream};
    /// // A client that is asked for names by number.
    /// fn named<C: Segment<u32>, L: Lookup<Question = u32, Answer = String>>(
    ///     numbers: Stream<u32, C>,
    ///     names: L,
    /// ) -> Stream<String, impl Segment<String>> {
    ///     numbers.lookup(names, LookupOptions::default(), |number| *number, |_number, name| name)
    /// }
    /// ```
    pub fn lookup<U, L, QuestionOf, Combine>(
        self,
        lookup: L,
        options: LookupOptions,
        question_of: QuestionOf,
        combine: Combine,
    ) -> Stream<U, Awaited<C, T, LookupJoin<T, U, L, QuestionOf, Combine>>>
    where
        U: Send + 'static,
        L: Lookup,
        QuestionOf: Fn(&T) -> L::Question + Send + Sync + 'static,
        Combine: Fn(T, Result<L::Answer, Fault>) -> Result<U, Fault> + Send + Sync + 'static,
    {
        self.follow("lookup", |head, label| {
            let operator = LookupJoin::new("", lookup, options, question_of, combine);
            Awaited { head, operator, label, input: PhantomData }
        })
    }

    /// Makes the processing time at which values arrive here their event time: windows, joins and sorts behind it are
    /// over processing time. Watermarks follow the clock, and come without input when `timers` says so, such as every
    /// 100 ms ([`EveryTick`]). Event times and watermarks from before have no meaning behind it, and no value is late.
    ///
    /// Results depend on when values come, so they differ from run to run. `restamp` is given each value with the
    /// instant, in whole milliseconds, for values that contain their time.
    ///
    /// ```
    /// # use thalweg::{EveryTick, Segment, Span, Stream};
    /// fn now<C: Segment<u32>>(numbers: Stream<u32, C>) -> Stream<u32, impl Segment<u32>> {
    ///     numbers.by_arrival(EveryTick::new(Span::from_millis(100)), |_number, _now| {})
    /// }
    /// ```
    pub fn by_arrival<K, Restamp>(
        self,
        timers: K,
        restamp: Restamp,
    ) -> Stream<T, Awaited<C, T, ByArrival<T, K, Restamp>>>
    where
        K: Timers,
        Restamp: Fn(&mut T, EventTime) + Send + Sync + 'static,
    {
        self.follow("by_arrival", |head, label| {
            let operator = ByArrival::new("", timers, restamp);
            Awaited { head, operator, label, input: PhantomData }
        })
    }

    /// Passes records and marks to an operator of your own, and continues with its output. An operator can do more
    /// than a function: it keeps state, sees event times and watermarks, and may emit at any call. In return it
    /// must keep the rules O1 to O5 of [`thalweg_model::operator`].
    ///
    /// Reports and errors use the name that the operator has in the query, not the name that it gives itself: for
    /// its counts, and for a panic of its code. The state that it reports in [`state_bytes`](Operator::state_bytes)
    /// is counted in the engine's budget. For chaining it counts as stateful.
    ///
    /// An operator that passes on values which differ from the value before them:
    ///
    /// ```
    /// use thalweg::{Counts, Input, Operator, Output, Record, StateError, StateReader, StateWriter};
    /// # use thalweg::{Segment, Stream};
    ///
    /// #[derive(Default)]
    /// struct Changes {
    ///     last: Option<i64>,
    ///     counts: Counts,
    /// }
    ///
    /// impl Operator<i64> for Changes {
    ///     type Out = i64;
    ///
    ///     fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
    ///         while let Some(record) = input.take() {
    ///             self.process_one(record, output);
    ///             self.note_read(1);
    ///         }
    ///     }
    ///
    ///     fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
    ///         let is_change = self.last.replace(record.value) != Some(record.value);
    ///         self.counts.forwarded += u64::from(is_change);
    ///         self.counts.filtered += u64::from(!is_change);
    ///         output.push_if(record, is_change);
    ///     }
    ///
    ///     fn note_read(&mut self, count: u64) {
    ///         self.counts.read += count;
    ///     }
    ///
    ///     fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
    ///         each("changes", self.counts);
    ///     }
    ///
    ///     fn faulted(&self) -> Option<&str> {
    ///         None
    ///     }
    ///
    ///     fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
    ///         state.put(&self.last)
    ///     }
    ///
    ///     fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
    ///         self.last = state.take()?;
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn changes<C: Segment<i64>>(numbers: Stream<i64, C>) -> Stream<i64, impl Segment<i64>> {
    /// numbers.process(Changes::default()).name("changes")
    /// # }
    /// ```
    pub fn process<P>(self, operator: P) -> Stream<P::Out, Stateful<C::BeforeState, T, Own<P>>>
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
    {
        self.follow("process", |head, label| stateful(head, Own::new("", operator), label))
    }

    /// Groups values by a key. Every operation on a keyed stream works per key.
    ///
    /// Keys are hashed with a random seed, so they may come from untrusted input. `key_of` runs once per record,
    /// within the operator that needs the key. If several workers share that operator, it runs once more before the
    /// exchange, to find the worker that has the key.
    pub fn key_by<K, KeyOf>(self, key_of: KeyOf) -> KeyedStream<K, T, C, KeyOf>
    where
        K: Eq + Hash + State,
        KeyOf: Fn(&T) -> K + Send + Sync + 'static,
    {
        KeyedStream { stream: self, key_of, key: PhantomData }
    }

    /// Gives a name to the last operator, or to the source if no operator has followed yet; reports and errors use
    /// it. It must not be empty, and no other operator of the query may be given the same; both are checked when the
    /// query is planned. Operators without a given name never take a given name.
    pub fn name(self, name: &str) -> Self {
        self.draft.borrow_mut().name_last(self.index, name);
        self
    }

    /// Makes the last operator, or the source if no operator has followed yet, a task of its own, whatever the
    /// [`Chaining`]. An expensive operator can then run on a worker of its own, and appears by itself in reports.
    /// Records before and behind it go through edges.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn expensive(number: i64) -> i64 { number }
    /// # fn f<C: Segment<i64>>(numbers: Stream<i64, C>) -> Stream<i64, impl Segment<i64>> {
    /// numbers.filter(|number| *number > 0).map(expensive).isolate()
    /// # }
    /// ```
    pub fn isolate(self) -> Stream<T, C::Isolated> {
        self.with(C::isolate)
    }

    /// Erases the type of the stream's segment: the segment ends at an edge here, whatever the [`Chaining`], and
    /// the stream continues from there. So functions can take and return `Stream<T>`, and loops can build streams.
    ///
    /// ```
    /// # use thalweg::Stream;
    /// fn halved(mut numbers: Stream<i64>, times: u32) -> Stream<i64> {
    ///     for _ in 0..times {
    ///         numbers = numbers.map(|number| number / 2).boxed();
    ///     }
    ///     numbers
    /// }
    /// ```
    pub fn boxed(self) -> Stream<T> {
        self.draft.borrow_mut().add_box(self.index);
        self.with(Erased::new)
    }

    /// Ends the stream: its values go to `sink`, in order. With several workers the order is kept within each split
    /// of its sources, or, behind keyed operators, within each key. Errors and reports call the sink `name`; it must
    /// not be empty, and no other operator of the query may be given the same.
    ///
    /// The sink publishes when the stream has ended; if the query fails or is cancelled, it publishes nothing.
    pub fn sink<S: Sink<T> + 'static>(self, name: &str, sink: S) {
        let Stream { draft, index, segment, .. } = self;
        let mut draft = draft.borrow_mut();
        let label = draft.add(index, OperatorName::Given(name.to_owned()));
        let lower = move |planner: &mut Planner| {
            let name = planner.name(label);
            match planner.chaining {
                Chaining::Default | Chaining::All if !planner.spreads(segment.allowed(planner)) => {
                    segment.close(planner, SinkPlan(sink), &name);
                }
                // The sink runs in one task, whatever the number of tasks that write to it.
                _ => planner.follow(segment, Identity, &name, SinkPlan(sink)),
            }
        };
        draft.finish(index, C::GATHERS, Box::new(lower));
    }

    /// Adds an operator to the stream, named after its kind.
    fn follow<U: Send + 'static, D>(
        self,
        kind: &'static str,
        by: impl FnOnce(C, Label) -> D,
    ) -> Stream<U, D> {
        let label = self.draft.borrow_mut().add(self.index, OperatorName::Kind(kind));
        self.with(|head| by(head, label))
    }

    fn with<U: Send + 'static, D>(self, by: impl FnOnce(C) -> D) -> Stream<U, D> {
        Stream { draft: self.draft, index: self.index, segment: by(self.segment), value: PhantomData }
    }
}

fn chained<H, In, P>(head: H, operator: P, label: Label) -> Chained<H, In, P> {
    Chained { head, operator, label, input: PhantomData }
}

fn stateful<H, In, P>(head: H, operator: P, label: Label) -> Stateful<H::BeforeState, In, P>
where
    H: Segment<In>,
    In: Send + 'static,
{
    Stateful(chained(head.before_state(), operator, label))
}
