//! Marks: signals beside the records of an edge, each at an exact position between two of them.

use crate::time::{EventTime, ProcessingTime};

/// A mark: a signal between two records of an edge. Operators see it after every record before it and before
/// every record behind it. A block or slice that an operator gets never spans a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A watermark, which is a promise: no record behind this mark on this edge has an event time below it.
    /// (Flink's watermark `t` promises "> t"; connectors convert.) Watermarks never go back on an edge.
    Watermark(EventTime),
    /// The watermark of one input, set where streams are merged: the records behind this mark, up to the next
    /// of its kind, come from an input edge with this watermark. It is not earlier than the watermark of the
    /// merged edge. Lateness is judged by it, and so does not depend on the progress of the other inputs.
    /// Operators that emit results of their own do not pass it on.
    InputWatermark(EventTime),
    /// The input is idle: no record and no watermark comes for a while. An operator with several inputs
    /// ignores this input until its next record or watermark.
    Idle,
    /// A latency marker: the instant at which the record before it should have been sent. It passes every
    /// operator, and the sink measures the time since that instant.
    Latency(ProcessingTime),
    /// A checkpoint barrier: everything behind it belongs to the next checkpoint. Edges carry it; the
    /// reaction of operators will be defined together with checkpoints.
    Barrier(u64),
    /// The stream has ended: no record and no mark follows.
    End,
}
