//! A query while it is being written: streams begin here and are planned when all have ended in sinks.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use thalweg_model::{Source, Watermarks};
use thalweg_runtime::{Engine, Graph, PlanError, QueryHandle};

use crate::draft::Draft;
use crate::segment::{Chaining, FromSource, FromSplits, Layout, Parallel};
use crate::stream::Stream;

/// A query that is being written: one or more streams, each from a source to a sink.
///
/// Writing runs nothing and allocates no memory of an engine. A query is written by one thread; the engine that it
/// is submitted to may be anybody's.
///
/// # Example
/// ```
/// use thalweg::{Engine, EventTime, Query, Record, WatermarkStrategy, source::Given};
/// use thalweg_connectors::Collect;
///
/// let readings = (0..10).map(|second| Record::new(EventTime::from_secs(second), second * 5));
/// let hot = Collect::new(10);
/// let records = hot.records();
///
/// let query = Query::new("too-hot");
/// query
///     .source("readings", Given::new(readings.collect()), WatermarkStrategy::ascending())
///     .filter(|celsius| *celsius > 40)
///     .sink("hot", hot);
///
/// let engine = Engine::builder().build()?;
/// let report = query.submit(&engine)?.wait()?;
/// assert_eq!((report.events_in, report.results_out), (10, 1));
/// assert_eq!(records.lock().unwrap()[0], Record::new(EventTime::from_secs(9), 45));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a query does nothing until it is submitted"]
pub struct Query {
    draft: Rc<RefCell<Draft>>,
}

impl Query {
    /// A query without streams. Reports, progress and errors call it `name`, which must not be empty; two queries of
    /// one engine may have the same, since each has its own handle.
    pub fn new(name: impl Into<String>) -> Self {
        Query { draft: Rc::new(RefCell::new(Draft::new(name.into()))) }
    }

    /// Says how long after its last contributing event was observed a result is to be out. Policies that go by deadlines, such
    /// as `cameo_llf`, run first what would miss it, and take a second where none is set; metrics count how many results
    /// were in time. From a microsecond to seven days, which is checked when the query is submitted.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use thalweg::Query;
    /// let query = Query::new("alarms").latency_target(Duration::from_millis(20));
    /// ```
    pub fn latency_target(self, target: Duration) -> Self {
        self.draft.borrow_mut().aim(|aims| aims.latency_target = Some(target));
        self
    }

    /// Says how many records its sources together may make in a second before those of queries that have spent theirs, or have
    /// none: so under the policy `cameo_token` queries share the machine in the proportion of their rates. At most 10^12,
    /// which is checked when the query is submitted.
    pub fn tokens_per_s(self, tokens_per_s: u64) -> Self {
        self.draft.borrow_mut().aim(|aims| aims.tokens_per_s = Some(tokens_per_s));
        self
    }

    /// Begins a stream: the records of `source`, in its order, whose watermarks follow `watermarks`: a
    /// [`WatermarkStrategy`](thalweg_model::WatermarkStrategy), or one that is
    /// [punctuated](thalweg_model::WatermarkStrategy::punctuated). When the source
    /// ends, a watermark at the end of time fires every window that is open.
    ///
    /// `name` is what errors and reports call the source; it must not be empty, and no other operator of the query
    /// may have it. Its spans must not be below zero. Both are checked by [`plan`](Self::plan).
    pub fn source<S: Source + 'static, W: Watermarks<S::Item>>(
        &self,
        name: &str,
        source: S,
        watermarks: W,
    ) -> Stream<S::Item, FromSource<S, W>> {
        let (index, label) = self.draft.borrow_mut().begin(name, watermarks.strategy());
        let segment = FromSource { label, source, watermarks };
        Stream { draft: Rc::clone(&self.draft), index, segment, value: PhantomData }
    }

    /// Begins a stream with a source of several splits, such as the partitions of a topic, each with its own watermarks:
    /// records keep their order within a split, and whether one is late is judged by its split. The splits are called
    /// `name-1` and so on; one alone is a [`source`](Self::source) of that name. One that may fall silent, and must not hold the others back, needs
    /// [`idle_after`](thalweg_model::WatermarkStrategy::idle_after).
    ///
    /// Several workers share what follows ([`Parallel::Epochs`](crate::Parallel)): windows whatever the number of splits, what
    /// works per key and what has no state up to 32 of them; behind more, these are run by one worker at a time.
    ///
    /// None at all are refused when the query is planned.
    ///
    /// ```
    /// # use thalweg::{EventTime, Query, Record, Segment, Stream, WatermarkStrategy, source::Given};
    /// # fn f(query: &Query) -> Stream<i64, impl Segment<i64>> {
    /// let partition = |first: i64| {
    ///     let record = |second| Record::new(EventTime::from_secs(second), first + second);
    ///     Given::new((0..100).map(record).collect())
    /// };
    /// query.splits("numbers", [partition(0), partition(1_000)], WatermarkStrategy::ascending())
    /// # }
    /// ```
    pub fn splits<S: Source + 'static, W: Watermarks<S::Item> + Clone>(
        &self,
        name: &str,
        splits: impl IntoIterator<Item = S>,
        watermarks: W,
    ) -> Stream<S::Item, FromSplits<S, W>> {
        let splits: Vec<S> = splits.into_iter().collect();
        let mut draft = self.draft.borrow_mut();
        if splits.is_empty() {
            draft.refuse(PlanError::NoSplit { source: name.to_owned() });
        }
        let (index, label, labels) = draft.begin_splits(name, splits.len(), watermarks.strategy());
        let each = splits.into_iter().zip(labels).zip(std::iter::repeat(watermarks));
        let splits = each.map(|((source, label), watermarks)| FromSource { label, source, watermarks });
        let segment = FromSplits { splits: splits.collect(), label };
        Stream { draft: Rc::clone(&self.draft), index, segment, value: PhantomData }
    }

    /// Checks what was written and cuts it into tasks, as `layout` says, or a [`Chaining`]; an engine takes it from there.
    /// A graph is submitted once, so a query that is to run twice is written twice.
    ///
    /// # Errors
    /// [`PlanError`] for the first thing that is wrong:
    /// - [`EmptyQueryName`](PlanError::EmptyQueryName), [`NoSource`](PlanError::NoSource): the query has no name, or
    ///   no stream;
    /// - [`EmptyName`](PlanError::EmptyName), [`DuplicateName`](PlanError::DuplicateName): a source, a sink or an
    ///   operator was given no name, or one that another was given, too;
    /// - [`NegativeSpan`](PlanError::NegativeSpan): the watermark strategy of a source makes no sense;
    /// - [`Unread`](PlanError::Unread): a stream does not end in a sink;
    /// - [`OutOfRange`](PlanError::OutOfRange): there are more tasks than a query may have.
    ///
    /// What only an engine knows, its memory above all, it checks when the graph is submitted.
    pub fn plan(self, layout: impl Into<Layout>) -> Result<Graph, PlanError> {
        self.draft.borrow_mut().plan(layout.into())
    }

    /// Plans the query with the default chaining, shared by all workers of `engine` if it has several, and lets it run.
    ///
    /// # Errors
    /// [`PlanError`] as for [`plan`](Self::plan), and as for [`Engine::submit`], such as
    /// [`BudgetTooSmall`](PlanError::BudgetTooSmall). Nothing runs then.
    pub fn submit(self, engine: &Engine) -> Result<QueryHandle, PlanError> {
        let workers = engine.workers();
        let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
        engine.submit(self.plan(Layout { chaining: Chaining::Default, parallel })?)
    }
}
