//! Marks: signals beside the records of an edge, each at an exact position between two of them.

use std::fmt;

use crate::time::{EventTime, ProcessingTime};

/// A mark: a signal between two records of an edge. Operators see it after every record before it and before
/// every record after it. A block or slice that an operator gets never spans a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A watermark, which is a promise: no record after this mark on this edge has an event time below it.
    /// (Flink's watermark `t` promises "> t"; connectors convert.) Watermarks never go back on an edge.
    Watermark(EventTime),
    /// The watermark of one input, set where streams are merged: the records after this mark, up to the next
    /// of its kind, come from an input edge with this watermark. It is not earlier than the watermark of the
    /// merged edge. Lateness is judged by it, and so does not depend on the progress of the other inputs.
    /// Operators that emit new records, such as results of windows, do not pass this mark on.
    InputWatermark(EventTime),
    /// The input is idle: its source has given no record for so long that none is expected soon. An operator
    /// with several inputs ignores this input until its next record or watermark.
    Idle,
    /// A latency marker: it tells when the record before it should have been sent, and when it was taken in.
    /// It passes every operator, and the sink measures the times since those two instants.
    Latency(LatencyMarker),
    /// A checkpoint barrier: everything after it belongs to the next checkpoint. Edges carry it; the reaction
    /// of operators will be defined together with checkpoints.
    Barrier(u64),
    /// The stream has ended: no record and no mark follows.
    End,
}

// A mark is kept small, because each edge has a ring with room for many marks.
const _: () = assert!(size_of::<Mark>() == 16, "a mark is a word and its kind");

/// The content of a latency marker: two instants of the record before it.
///
/// The second one is kept as a distance from the first, in whole microseconds rounded down, of at most 71
/// minutes. So it may be up to a microsecond too early, and earlier if the distance is longer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LatencyMarker {
    /// The upper and the lower half of the first instant, in nanoseconds since the Unix epoch: when the
    /// record should have been sent. With fields of 32 bits this type fits beside the kind of a mark; with
    /// one of 64 bits a mark would have 24 bytes.
    intended_ns: [u32; 2],
    /// Microseconds from the instant at which the record should have been sent to the one at which it was
    /// taken in.
    behind_us: u32,
}

impl LatencyMarker {
    /// Creates a latency marker for a record that should have been sent at `intended` and was taken in at
    /// `taken_in`. A record that was taken in before it should have been sent counts as taken in then.
    pub fn new(intended: ProcessingTime, taken_in: ProcessingTime) -> Self {
        let nanos = intended.as_nanos();
        let behind_us = taken_in.nanos_since(intended) / 1_000;
        LatencyMarker {
            intended_ns: [(nanos >> 32) as u32, nanos as u32],
            behind_us: u32::try_from(behind_us).unwrap_or(u32::MAX),
        }
    }

    /// Returns the instant at which the record before this marker should have been sent.
    pub fn intended(self) -> ProcessingTime {
        let [upper, lower] = self.intended_ns.map(u64::from);
        ProcessingTime::from_nanos(upper << 32 | lower)
    }

    /// Returns the instant at which the record before this marker was taken in: the start of the step (run of
    /// the source's task) in which the source made it.
    pub fn taken_in(self) -> ProcessingTime {
        self.intended().plus_nanos(u64::from(self.behind_us) * 1_000)
    }
}

impl fmt::Debug for LatencyMarker {
    /// Shows the two instants of the latency marker as times, and not the 32-bit fields in which they are
    /// stored.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LatencyMarker");
        shown.field("intended", &self.intended()).field("taken_in", &self.taken_in()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the instant of intake that a marker keeps. All instants are in ns.
    fn check(intended_ns: u64, taken_in_ns: u64, expected_ns: u64) {
        let [intended, taken_in] = [intended_ns, taken_in_ns].map(ProcessingTime::from_nanos);
        let marker = LatencyMarker::new(intended, taken_in);
        let kept = (marker.intended(), marker.taken_in().as_nanos());
        assert_eq!(kept, (intended, expected_ns), "{intended_ns} {taken_in_ns}");
    }

    #[test]
    fn a_latency_marker_keeps_both_instants() {
        check(0, 0, 0);
        check(7, 5_007, 5_007);
        check(7, 5_999, 5_007);
        check(9_000, 7_000, 9_000);
        let now_ns = 1_764_000_000_123_456_789;
        check(now_ns, now_ns + 40_000, now_ns + 40_000);
        check(u64::MAX, u64::MAX, u64::MAX);
        check(now_ns, u64::MAX, now_ns + u64::from(u32::MAX) * 1_000);
    }
}
