//! IPQ1 to IPQ4, the queries of Cameo: what ads have earned, how many events jobs have logged, and which requests have failed.
//!
//! ```text
//! ipq1, ipq2   ads -> revenue per campaign and window -> revenue per window -> sink       tumbling; sliding
//! ipq3         logs -> events per job, level and window -> sink                           tumbling
//! ipq4         requests --+
//!                         +-> window join by request -> errors per job and window -> sink tumbling
//!              errors   --+
//! ```
//!
//! The paper says what they compute and in which kind of windows, in three sentences, and neither fields nor sizes. So these
//! are ours: "multiple stages of windowed aggregation" are two where a single number comes out; windows are those of its
//! latency-sensitive jobs, a second, and those that slide are ten seconds long and a second apart.
//!
//! 1. [`ad`]: ads and what they have earned, and the generator of IPQ1 and IPQ2.
//! 2. [`log`]: what jobs log, and the generators of IPQ3 and IPQ4.
//! 3. [`query`]: the queries in the typed interface.
//!
//! What comes out must equal [`crate::reference::ipq`]. [`crate::tenants`] runs many of IPQ1 at once.
//!
//! Source: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI 2021,
//! section 6.1.

pub mod ad;
pub mod log;
pub mod query;

pub use ad::{AdEvent, AdGenerator};
pub use log::{JobLevel, LogEvent, LogGenerator, Request, RequestGenerator, Side};

use thalweg_model::Span;

/// The windows of IPQ1, IPQ3 and IPQ4.
pub const WINDOW: Span = Span::from_secs(1);

/// The windows of IPQ2.
pub const SLIDING_WINDOW: Span = Span::from_secs(10);

/// From the start of one of IPQ2's windows to that of the next.
pub const SLIDE: Span = Span::from_secs(1);
