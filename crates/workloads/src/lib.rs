//! The papers' workloads, each defined once: its records, the generator that makes them, the rows of recorded
//! data that it reads, the ceiling that it is measured against, and the reference that its results must equal.
//!
//! Read the modules in this order:
//!
//! 1. [`ysb`], the Yahoo streaming benchmark: one filter, one map, one static join, one count per window. Its
//!    [`loops`](ysb::loops) are the same job without an engine; every figure of ours is shown beside theirs.
//! 2. [`nyt`], New York's taxis: trips per cell of the town, generated or recorded.
//! 3. [`lrb`], Linear Road: ten operators over the reports of cars, and the benchmark's full rules.
//! 4. [`grep`], [`wordcount`], [`distinct`] and [`tweets`]: StreamBox's four workloads over text; [`prose`] has
//!    the lines, and defines words.
//! 5. [`netmon`], StreamBox's network monitoring: mean latency of each pair of machines.
//! 6. [`join`], StreamBox's temporal join of two streams.
//! 7. [`ipq`], the queries of Cameo: sums, counts and a join in windows; [`tenants`], its two groups of jobs.
//! 8. [`riot`]: ETL and STATS of RIoTBench, over the messages of a city's sensors.
//! 9. [`loops`]: how hand-written loops are run and timed.
//! 10. [`reference`](mod@reference): the expected results, computed by programs that share no code with ours.
//!
//! A generator implements `Generate`, the data without its pace: value `index` is the same at every call, so
//! two runs with one seed see the same records. The connectors set the pace, and the queries are written in the
//! typed interface.
//!
//! Invariants of this package: every random number comes from a given seed; `reference` imports nothing of
//! ours, not even from its sister modules; nothing here opens a file or parses an option; only [`loops`] starts
//! threads and reads the clock, since there the loop is the engine.
#![forbid(unsafe_code)]

pub mod distinct;
pub mod grep;
pub mod ipq;
pub mod join;
pub mod loops;
pub mod lrb;
pub mod netmon;
pub mod nyt;
pub mod prose;
pub mod reference;
pub mod riot;
pub mod tenants;
pub mod tweets;
pub mod wordcount;
pub mod ysb;
