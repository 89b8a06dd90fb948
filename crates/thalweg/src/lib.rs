//! The typed interface of the engine: write a query as a chain of method calls, submit it, read its report.
//!
//! ```
//! use thalweg::{Count, Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy, source::Given};
//! use thalweg_connectors::Collect;
//!
//! // Values with the time at which they happened, from a source that says how far out of order they may be.
//! let words = ["the", "line", "of", "the", "fastest", "flow"];
//! let records = words.iter().zip(0..).map(|(word, second)| Record::new(EventTime::from_secs(second), *word));
//! let counts = Collect::new(100);
//! let results = counts.records();
//!
//! // A query: streams, each from a source to a sink. Nothing runs while it is written.
//! let query = Query::new("word-count");
//! query
//!     .source("words", Given::new(records.collect()), WatermarkStrategy::ascending())
//!     .filter(|word| word.len() > 2)
//!     .key_by(|word| (*word).to_owned())
//!     .tumbling(TumblingWindows::new(Span::from_secs(60))?)
//!     .aggregate(Count)
//!     .sink("counts", counts);
//!
//! // An engine: a fixed number of threads, a budget of memory, and as many queries as fit.
//! let engine = Engine::builder().workers(2).build()?;
//! let report = query.submit(&engine)?.wait()?;
//!
//! assert_eq!((report.events_in, report.results_out), (6, 4));
//! let results = results.lock().unwrap();
//! let the = results.iter().find(|count| count.value.key == "the").unwrap();
//! assert_eq!(the.value.value, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A map
//!
//! | purpose | items |
//! |---|---|
//! | write a query | [`Query`], where streams begin; [`Stream`], [`KeyedStream`], [`WindowedStream`] with their operations; [`Table`] to join with |
//! | describe event time | [`Record`], [`EventTime`], [`Span`], [`TumblingWindows`]; [`WatermarkStrategy`], by which a source promises that no older record will come |
//! | compute | [`Count`], or a [`Fold`] of your own over windows; an [`Operator`] of your own for [`Stream::process`], with [`Input`], [`Output`], [`Flow`], [`Counts`] and the readers and writers of its state |
//! | bring records in and out | a [`Source`] and a [`Sink`]; [`source::Given`] is the simplest source, `thalweg-connectors` has files, generators and the like |
//! | choose which operators share a task | [`Chaining`], [`Stream::isolate`], [`Stream::boxed`] |
//! | run | [`Engine`] and its builder, with [`EdgeLimits`] for the memory of each edge; [`QueryHandle`] with [`Progress`]; [`QueryReport`] with counts of every operator and edge |
//! | run step by step, in tests | [`Stepped`] with [`VirtualClock`] and [`SeededEntropy`] |
//! | handle errors | [`PlanError`]: the query is wrong, and nothing runs; [`QueryError`]: a running query failed, and no other did; [`WindowError`], [`DuplicateKey`]: invalid windows or tables |
//!
//! Errors of queries have a stable `code()` for programs and a message for people, which says what to do. If a
//! function of yours panics, its query fails and the error names the operator.
//!
//! Read the modules in this order: [`query`], [`stream`], which also lists what the compiler refuses, and
//! [`segment`], which explains how a chain of calls becomes tasks. The programs in the folder `examples` lead from
//! the first stream to an operator of your own; the output of each is beside it.
//!
//! This crate names no file, no format and no option; it adds types to the runtime's graphs.
#![forbid(unsafe_code)]

/// Stands for the README, so that the program in the README runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod draft;
pub mod query;
pub mod segment;
pub mod stream;

pub use query::Query;
pub use segment::{Chaining, Erased, Layout, Parallel, Segment};
pub use stream::{
    KeyedPair, KeyedStream, MatchedPair, Parts, SessionStream, SharedStream, Stream, WindowedStream,
};

pub use thalweg_model::{
    Clock, Coded, CountWindows, Counted, Counts, Either, Entropy, EventTime, Fault, Firing, Flow, Fold,
    Generate, Input, LatencyMarker, Mark, Operator, Output, Polled, ProcessingTime, Record, SeededEntropy,
    SessionGap, Sink, SlidingWindows, Source, SourceStatus, Span, State, StateError, StateReader,
    StateWriter, Text, TextBuffer, TotalF64, TumblingWindows, VirtualClock, WatermarkStrategy, Watermarks,
    Window, WindowError, Windowed, source,
};
pub use thalweg_operators::{
    Count, DistinctCount, DuplicateKey, EveryTick, FloatSum, Interval, IntervalError, KeyedProcess, Lookup,
    LookupOptions, LookupOrder, Max, Mean, Min, Of, ProcessContext, Sum, Table, Ticket, Timers, TopN, Values,
    of,
};
pub use thalweg_runtime::scheduling;
pub use thalweg_runtime::{
    Aims, CheckpointProgress, Checkpoints, CostClock, EdgeCounts, EdgeLimits, EdgeMemory, EdgeMetrics,
    Engine, EngineBuilder, EngineMetrics, Execution, Graph, LatencySummary, OperatorCounts, PlanError,
    ProcessMetrics, Progress, QueryError, QueryHandle, QueryMetrics, QueryReport, QueryState, Step, Stepped,
    SystemClock, TASK_THREAD_FIELDS, TaskMetrics, TaskState, TaskThread, TaskThreads, WorkerMetrics,
};
