//! Queries that are being written: streams begin here, and the query is planned when all of them have ended
//! in sinks.

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
/// Writing a query runs nothing and takes no memory of an engine. A query is written by one thread, and may then be
/// submitted to an engine that other threads use too.
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
    /// Creates a query without streams. Reports, progress and errors call it `name`, which must not be empty. Two
    /// queries of one engine may have the same name, since each has its own handle.
    pub fn new(name: impl Into<String>) -> Self {
        Query { draft: Rc::new(RefCell::new(Draft::new(name.into()))) }
    }

    /// Sets the latency target: the time from the moment at which a source reads (or, at a given rate, should send) a
    /// result's last contributing event until the result is put out. Policies with deadlines, such as `cameo_llf`,
    /// first run the operators whose results would otherwise miss it, and assume one second if none is set. Metrics
    /// count the results that were in time. From a microsecond to seven days, which is checked when the query is
    /// submitted.
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

    /// Sets a token rate: the number of records per second that get a token, which gives them priority over records
    /// without one, counted over all sources of the query together. So under the policy `cameo_token` queries share the
    /// machine in proportion to their rates. At most 10^12, which is checked when the query is submitted.
    pub fn tokens_per_s(self, tokens_per_s: u64) -> Self {
        self.draft.borrow_mut().aim(|aims| aims.tokens_per_s = Some(tokens_per_s));
        self
    }

    /// Begins a stream with the records of `source`, in its order. Its watermarks follow `watermarks`: a
    /// [`WatermarkStrategy`](thalweg_model::WatermarkStrategy), or one that is
    /// [punctuated](thalweg_model::WatermarkStrategy::punctuated). When the source ends, a watermark at the end of
    /// time fires every open window.
    ///
    /// Errors and reports call the source `name`; it must not be empty, and no other operator of the query may have
    /// it. Spans of the watermark strategy must not be below zero. Both are checked by [`plan`](Self::plan).
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

    /// Begins a stream with a source of several splits, such as the partitions of a topic, each with its own
    /// watermarks. Records keep their order within a split, and lateness is judged by the split's watermark. The
    /// splits are called `name-1` and so on; a single one is a [`source`](Self::source) of that name. A split that
    /// may fall silent, and must not hold the others back, needs
    /// [`idle_after`](thalweg_model::WatermarkStrategy::idle_after).
    ///
    /// Several workers share the operators that follow ([`Parallel::Epochs`](crate::Parallel)). Windows are shared
    /// whatever the number of splits. Keyed and stateless operators are shared up to 32 splits; behind more splits,
    /// one worker at a time runs them.
    ///
    /// A source without splits is refused when the query is planned.
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

    /// Checks the query and cuts it into tasks by `layout`, which may be a [`Chaining`]. The graph is then submitted
    /// to an engine. A graph is submitted once, so to run a query twice, write it twice.
    ///
    /// # Errors
    /// [`PlanError`] for the first error found:
    /// - [`EmptyQueryName`](PlanError::EmptyQueryName), [`NoSource`](PlanError::NoSource): the query has no name, or
    ///   no stream;
    /// - [`EmptyName`](PlanError::EmptyName), [`DuplicateName`](PlanError::DuplicateName): a source, a sink or an
    ///   operator was given an empty name, or the name of another one;
    /// - [`NegativeSpan`](PlanError::NegativeSpan): the watermark strategy of a source has a span below zero;
    /// - [`Unread`](PlanError::Unread): a stream does not end in a sink;
    /// - [`OutOfRange`](PlanError::OutOfRange): there are more tasks than a query may have.
    ///
    /// Conditions that only an engine knows, above all its memory, are checked when the graph is submitted.
    pub fn plan(self, layout: impl Into<Layout>) -> Result<Graph, PlanError> {
        self.draft.borrow_mut().plan(layout.into())
    }

    /// Plans the query with the default chaining, shared by all workers of `engine` if it has several, and runs it.
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
