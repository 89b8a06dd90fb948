//! The papers' workloads, each defined once: its records, the generator that makes them, the rows of recorded
//! data that it reads, the ceiling it is measured against, and the reference its results are held to.
//!
//! Read the modules in this order:
//!
//! 1. [`ysb`], the Yahoo streaming benchmark: one filter, one map, one static join, one count per window. Its
//!    [`loops`](ysb::loops) are the same job without an engine: no figure of ours is shown without them.
//! 2. [`nyt`], New York's taxis: trips per cell of the town, generated or recorded.
//! 3. [`lrb`], Linear Road: ten operators over the reports of cars, and the benchmark's full rules.
//! 4. [`grep`], [`wordcount`], [`distinct`] and [`tweets`]: StreamBox's four over text; [`prose`] has the lines, and what a word is.
//! 5. [`netmon`], StreamBox's network monitoring: mean latency of each pair of machines.
//! 6. [`join`], StreamBox's temporal join of two streams.
//! 7. [`ipq`], the queries of Cameo: sums, counts and a join in windows; [`tenants`], its two groups of jobs.
//! 8. [`loops`]: how hand-written loops are run and timed.
//! 9. [`reference`](mod@reference): the results as they must be, by programs that share nothing with ours.
//!
//! A generator implements `Generate`, the data without its pace: value `index` is the same at every call, so
//! two runs of one seed see the same records. The pace is the connectors' business, the query is written
//! in the typed interface.
//!
//! Invariants of this room: every random number comes from a given seed; `reference` imports nothing of ours,
//! not even from its sister modules; nothing here opens a file or parses an option; only [`loops`]
//! starts threads and reads the clock, for there the loop is the engine.
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
pub mod tenants;
pub mod tweets;
pub mod wordcount;
pub mod ysb;
