//! Marks: signals beside the records of an edge, each at an exact position between two of them.

use crate::time::{EventTime, ProcessingTime};

/// A signal between two records of an edge. Operators see it after every record before it and before every record
/// behind it; blocks and slices never span one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Promise: no record behind this mark on this edge has an event time below it. (Flink's watermark `t`
    /// promises "> t"; connectors convert.) Never goes back on an edge.
    Watermark(EventTime),
    /// Set where streams are merged: the records behind this mark, up to the next of its kind, come from an input
    /// edge whose own watermark is this one. It is not earlier than the watermark of the merged edge. Lateness is
    /// judged by it, so that it does not depend on the progress of the other inputs. Ends at operators that emit
    /// results of their own.
    InputWatermark(EventTime),
    /// No record and no watermark comes for a while. An operator with several inputs ignores this input until its
    /// next record or watermark.
    Idle,
    /// Measures latency: the instant at which the record before it should have been sent. It passes every operator,
    /// and the sink takes the time.
    Latency(ProcessingTime),
    /// Everything behind this barrier belongs to the next checkpoint. Edges carry it; the reaction of operators will
    /// be defined together with checkpoints.
    Barrier(u64),
    /// The stream has ended: no record and no mark follows.
    End,
}
