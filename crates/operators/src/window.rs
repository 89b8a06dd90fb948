//! Windows: spans of event time, each folded per key and emitted when the watermark has passed its end.
//!
//! [`sliding`] is the operator, of which [`tumbling`] is the plain case; `store` is what it keeps, `firing` how it
//! fires. `lateness` says which records are late.

mod accumulators;
mod firing;
mod lateness;
mod pane_sum;
pub mod sliding;
mod store;
mod table_pool;
pub mod tumbling;

pub use sliding::SlidingAggregate;
pub use tumbling::TumblingAggregate;
