//! Windows: spans of event time, each folded per key and emitted when the watermark has passed its end.
//!
//! [`sliding`] windows, of which [`tumbling`] ones are a special case, lie at fixed spans of event time: `store.rs`
//! describes their state, and `firing.rs` how they fire. [`session`] windows follow the records, and [`count`]
//! windows have a fixed number of them.

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
