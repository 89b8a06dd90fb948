//! Windows: spans of event time, each folded per key and emitted when the watermark has passed its end.
//!
//! [`sliding`] windows, of which [`tumbling`] ones are the plain case, lie at fixed spans of event time: `store.rs` tells
//! what they keep, and `firing.rs` how they fire. [`session`] windows lie where the records are, and [`count`] windows
//! have so many of them.

mod accumulators;
pub mod count;
mod firing;
mod held;
mod pane_sum;
pub mod session;
pub mod sliding;
mod store;
mod table_pool;
pub mod tumbling;

pub use count::CountAggregate;
pub use session::SessionAggregate;
pub use sliding::SlidingAggregate;
pub use tumbling::TumblingAggregate;
