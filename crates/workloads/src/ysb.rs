//! YSB, the Yahoo streaming benchmark: counts the views of each campaign's ads per 10 s.
//!
//! ```text
//! source -> filter(view) -> map(time, ad) -> static join (ad -> campaign) -> tumbling count, 10 s -> sink
//! ```
//!
//! 1. [`event`]: the event, the ads and their campaigns, the sizes of everything.
//! 2. [`generator`]: events from a seed; [`phases`]: the same, with a share of views that changes over event
//!    time.
//! 3. [`query`]: the query in the typed interface.
//! 4. [`loops`]: the same job as hand-written loops without an engine, the ceilings that it is measured
//!    against.
//!
//! The results must equal [`crate::reference::ysb`].
//!
//! Source: Chintapalli et al., "Benchmarking Streaming Computation Engines: Storm, Flink and Spark
//! Streaming", IPDPSW 2016, in the form of the Enjima paper: seven 64-bit numbers an event, no
//! outside store.

pub mod event;
pub mod generator;
pub mod keys;
pub mod loops;
pub mod phases;
pub mod query;

pub use event::{AdInfo, YsbEvent};
pub use generator::{ViewShare, YsbGenerator, YsbOptions};
pub use keys::YsbKeys;
pub use phases::{Phase, YsbPhases};
