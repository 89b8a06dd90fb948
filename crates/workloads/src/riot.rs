//! ETL and STATS, two dataflows of RIoTBench over the messages of a city's sensors, as the Lachesis paper runs them.
//!
//! A message is a line of SenML: the sensor, its place, and five observations. Both dataflows parse it into one
//! record per observation:
//!
//! ```text
//! etl     source -> parse -> range filter -> bloom filter -> interpolation -> join -> annotate -> csv to senml -> publish -> sink
//!
//! stats                    +-> average -----------------+
//!         source -> parse -+-> kalman -> regression ----+-> accumulate -> plot -> upload -> sink
//!                          +-> distinct ----------------+
//! ```
//!
//! 1. [`sensor`]: the identifier of a sensor, and the five kinds of observations with their ranges.
//! 2. [`senml`]: the format of messages and of recorded lines.
//! 3. [`registry`]: the known sensors, with the location and type of each.
//! 4. [`generator`]: messages and a registry from a seed, distributed like recorded ones.
//! 5. [`parse`]: the first operator of both dataflows.
//! 6. [`etl`] and [`stats`]: their other operators, and the queries in the typed interface.
//! 7. [`bloom`] and [`hash`]: the filter of known sensors, and the hash function.
//! 8. [`work`]: additional work of operators, so that they cost as much as those of the paper.
//!
//! The results must equal [`crate::reference::etl`] and [`crate::reference::stats`].
//!
//! Messages are numbered in their order of arrival, and series are averaged in that order. So the queries are for one
//! split of a source, and for one worker at a time in each operator; then results do not depend on the policy, on the
//! sizes of blocks, or on the number of workers. State is kept per sensor and kind, and is counted in the engine's
//! memory budget. At most one message is open in the join, since all observations of a message take the same path.
//!
//! Source: Shukla, Chaturvedi and Simmhan, "RIoTBench: An IoT benchmark for distributed stream processing systems",
//! Concurrency and Computation: Practice and Experience 29(21), 2017, for the operators and their order, with the
//! constants of its CITY data; section 5.1 of the Lachesis paper for the two queries. Differences: the join waits for
//! the five observations of a message, and in `stats`, plots are made of the points of one statistic and kind, since
//! a mixture would depend on how the three branches interleave.

pub mod bloom;
pub mod etl;
pub mod generator;
pub mod hash;
pub mod parse;
pub mod registry;
pub mod senml;
pub mod sensor;
pub mod stats;
pub mod work;

pub use bloom::BloomFilter;
pub use registry::{Place, Registry, RegistryError};
pub use senml::{Message, SenmlError};
pub use sensor::{Kind, SensorId};
pub use work::Work;

/// Largest rate, in messages per second, at which the queues between tasks have room for [`QUEUED_S`] seconds of input.
pub const QUEUED_RATE_PER_S: u64 = 2_500;

/// Seconds of input for which the queues between tasks have room. Steering threads by the lengths of queues has an
/// effect only if queues may grow so long.
pub const QUEUED_S: u64 = 10;
