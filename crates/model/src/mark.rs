//! Marks: what travels beside the records of an edge, each at an exact position between two of them.

use crate::time::{EventTime, ProcessingTime};

/// A sign between two records of an edge. Operators see it after every record before it and before every
/// record behind it; blocks and slices never span one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Promise: no record behind this mark on this edge has an event time below it. (Flink's watermark `t`
    /// promises "> t"; connectors convert.) Never goes back on an edge.
    Watermark(EventTime),
    /// Where streams came together: the records behind this mark, up to the next of its kind, came in on an edge whose
    /// own watermark is this one, no earlier than that of this edge. Whether they are late is judged by it, so that
    /// it does not depend on how far the other inputs were. Ends at operators that emit results of their own.
    InputWatermark(EventTime),
    /// No record comes for a while, and no watermark: whoever waits for several inputs leaves this one out, until its
    /// next record or watermark.
    Idle,
    /// Measures latency: the instant at which the record before it should have been sent. It passes every
    /// operator and is timed at the sink.
    Latency(ProcessingTime),
    /// Everything behind this barrier belongs to the next checkpoint. Edges carry it;
    /// what operators do about it arrives with checkpoints.
    Barrier(u64),
    /// No record and no mark follows.
    End,
}
