//! IPQ1 to IPQ4, the queries of Cameo: the revenue of ads, the events that jobs have logged, and the requests
//! that have failed.
//!
//! ```text
//! ipq1, ipq2   ads -> revenue per campaign and window -> revenue per window -> sink       tumbling; sliding
//! ipq3         logs -> events per job, level and window -> sink                           tumbling
//! ipq4         requests --+
//!                         +-> window join by request -> errors per job and window -> sink tumbling
//!              errors   --+
//! ```
//!
//! The paper describes the results and the kind of windows in three sentences, and gives neither fields nor
//! sizes. Fields and sizes are ours. "Multiple stages of windowed aggregation" are two stages where a single
//! number is the result. Windows are those of the paper's latency-sensitive jobs, one second; sliding windows
//! are ten seconds long and start every second.
//!
//! 1. [`ad`]: ads and their revenue, and the generator of IPQ1 and IPQ2.
//! 2. [`log`]: events that jobs log, and the generators of IPQ3 and IPQ4.
//! 3. [`query`]: the queries in the typed interface.
//!
//! The results must equal [`crate::reference::ipq`]. [`crate::tenants`] runs many instances of IPQ1 at once.
//!
//! Source: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI 2021,
//! section 6.1.

pub mod ad;
pub mod log;
pub mod query;

pub use ad::{AdEvent, AdGenerator};
pub use log::{JobLevel, LogEvent, LogGenerator, Request, RequestGenerator, Side};

use thalweg_model::Span;

/// Window size of the queries IPQ1, IPQ3 and IPQ4 of Cameo.
pub const WINDOW: Span = Span::from_secs(1);

/// Window size of the query IPQ2 of Cameo.
pub const SLIDING_WINDOW: Span = Span::from_secs(10);

/// Distance between the starts of two windows of Cameo's query IPQ2.
pub const SLIDE: Span = Span::from_secs(1);
