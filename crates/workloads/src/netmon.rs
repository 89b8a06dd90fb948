//! Netmon, monitoring of a network's latency: the average round-trip time of packets between each pair of
//! machines.
//!
//! ```text
//! source -> tumbling mean per (source, destination), 1 s -> sink
//! ```
//!
//! 1. [`probe`]: a measurement, and the pair of machines that it counts for.
//! 2. [`generator`]: probes from a seed, distributed like recorded ones.
//! 3. [`query`]: the query in the typed interface.
//! 4. [`csv`]: recorded probes.
//! 5. [`loops`]: the same job as hand-written loops without an engine, the ceilings that it is measured against.
//!
//! The results must equal [`crate::reference::netmon`], means within a relative 1e-9.
//!
//! Source: Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine", ATC 2017, section 9, "Network
//! Latency Monitoring": 500,000 records an epoch, which is a second. Its data, Pingmesh, is not public. Our
//! data has the distribution of another recording of round-trip times.

pub mod csv;
pub mod generator;
pub mod loops;
pub mod probe;
pub mod query;

pub use generator::NetmonGenerator;
pub use probe::{IpPair, Probe};

use thalweg_model::Span;

/// Window over which round-trip times are averaged, unless a run asks for another.
pub const WINDOW: Span = Span::from_secs(1);

/// Probes per second of event time. An epoch of StreamBox is a second with 500,000 of them.
pub const PROBES_PER_S: u64 = 500_000;
