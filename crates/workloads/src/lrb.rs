//! Linear Road: cars on expressways report their positions, and pay tolls that depend on how crowded the road
//! is.
//!
//! Two queries read the same records: the papers' short form, whose results are those of
//! [`crate::reference::lrb`], and the benchmark's full rules, [`crate::reference::lrb_full`].
//!
//! 1. [`report`]: the records that cars send, and the keys they are grouped by.
//! 2. [`csv`]: recorded traffic and historical tolls, row by row.
//! 3. [`generator`]: traffic from a seed, with jams and accidents.
//! 4. [`toll`]: the short form's result for a segment and a minute.
//! 5. [`loops`]: the short form as a hand-written loop without an engine, the ceiling that it is measured
//!    against.
//! 6. [`query`]: the short form in the typed interface.
//! 7. [`full`]: the full rules in the typed interface.
//! 8. [`check`]: conversions for comparing its results with those of the reference.
//!
//! Source: Arasu et al., "Linear Road: A Stream Data Management Benchmark", VLDB 2004; the short form is that of
//! the Enjima paper, section 5.1.1.

pub mod check;
pub mod csv;
pub mod full;
pub mod generator;
pub mod loops;
pub mod query;
pub mod report;
pub mod toll;

pub use generator::{LrbGenerator, LrbOptions};
pub use query::{segment_tolls, segment_tolls_in};
pub use report::{Direction, LrbRecord, Place, PositionReport, Segment};
pub use toll::{LrbWindows, SegmentReport};
