//! Windows: spans of event time, each folded per key and emitted when the watermark has passed its end.
//!
//! [`tumbling`] is the operator, [`store`] what windows of every kind keep per key.

pub mod store;
pub mod tumbling;

pub use tumbling::TumblingAggregate;
