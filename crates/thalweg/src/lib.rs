//! The typed front door: write a query as a chain of method calls, submit it to an engine.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use thalweg::{Chaining, Count, Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy};
//! # use thalweg::{Fault, Sink, Windowed};
//! # struct Collect(Arc<Mutex<Vec<(String, u64)>>>);
//! # impl Sink<Windowed<String, u64>> for Collect {
//! #     fn write(&mut self, record: Record<Windowed<String, u64>>) -> Result<(), Fault> {
//! #         self.0.lock().unwrap().push((record.value.key, record.value.value));
//! #         Ok(())
//! #     }
//! # }
//! let words = ["the", "line", "of", "the", "fastest", "flow"];
//! let records = words.iter().zip(0..).map(|(word, second)| Record::new(EventTime::from_secs(second), *word));
//!
//! let query = Query::new("word-count");
//! let counts = Arc::new(Mutex::new(Vec::new()));
//! query
//!     .source("words", thalweg::source::Given::new(records.collect()), WatermarkStrategy::ascending())
//!     .filter(|word| word.len() > 2)
//!     .key_by(|word: &&str| word.to_string())
//!     .tumbling(TumblingWindows::new(Span::from_secs(60))?)
//!     .aggregate(Count)
//!     .sink("counts", Collect(Arc::clone(&counts)));
//!
//! let engine = Engine::builder().build()?;
//! engine.submit(query.plan(Chaining::Default)?)?.wait()?;
//! assert!(counts.lock().unwrap().contains(&("the".to_owned(), 2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`query`] is where streams begin, [`stream`] what can be done with them, [`segment`] how a chain of calls
//! becomes tasks.
#![forbid(unsafe_code)]

/// The program in the README runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod draft;
pub mod query;
pub mod segment;
pub mod stream;

pub use query::Query;
pub use segment::{Chaining, Erased, Segment};
pub use stream::{KeyedStream, Stream, WindowedStream};

pub use thalweg_model::{
    Clock, Coded, Counts, Entropy, EventTime, Fault, Flow, Fold, Generate, Input, Mark, Operator, Output,
    Polled, ProcessingTime, Record, SeededEntropy, Sink, Source, SourceStatus, Span, State, StateError,
    StateReader, StateWriter, TumblingWindows, VirtualClock, WatermarkStrategy, Window, WindowError,
    Windowed, source,
};
pub use thalweg_operators::{Count, DuplicateKey, Table};
pub use thalweg_runtime::{
    EdgeCounts, EdgeLimits, Engine, EngineBuilder, Graph, LatencySummary, OperatorCounts, PlanError,
    Progress, QueryError, QueryHandle, QueryReport, QueryState, Step, Stepped, SystemClock,
};
