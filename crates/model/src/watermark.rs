//! When a source may promise that event time has passed.
//!
//! Promises depend on the sequence of records only, never on blocks or the clock: a mark stands behind the
//! record that moved the bound on by at least `step` since the last mark. So the same input gives the same
//! marks at the same positions, whatever the block size, the workers and the policy.

use crate::time::{EventTime, Span};

/// How a source derives watermarks from its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatermarkStrategy {
    /// How far a record may lie behind the latest one seen, as a span of event time; zero for ascending input.
    pub out_of_order: Span,
    /// The least advance between two watermarks, as a span of event time; zero marks every advance.
    pub step: Span,
}

impl WatermarkStrategy {
    /// The default [`step`](WatermarkStrategy::step): 1 ms of event time.
    pub const DEFAULT_STEP: Span = Span::from_millis(1);

    /// Records arrive in event-time order; equal stamps are fine.
    pub const fn ascending() -> Self {
        Self::bounded_out_of_order(Span::ZERO)
    }

    /// Records arrive at most `bound` behind the latest one before them.
    pub const fn bounded_out_of_order(bound: Span) -> Self {
        WatermarkStrategy { out_of_order: bound, step: Self::DEFAULT_STEP }
    }

    /// The same strategy with another step.
    pub const fn with_step(self, step: Span) -> Self {
        WatermarkStrategy { step, ..self }
    }
}

/// The state of a [`WatermarkStrategy`] on one split of a source.
#[derive(Clone, Debug)]
pub struct WatermarkTracker {
    out_of_order: Span,
    step: Span,
    /// The last watermark given out; `MIN` before the first.
    last: EventTime,
    /// A record at or after this instant makes the next watermark due.
    due_at: EventTime,
}

impl WatermarkTracker {
    /// Starts with no promise made.
    pub fn new(strategy: WatermarkStrategy) -> Self {
        WatermarkTracker {
            out_of_order: strategy.out_of_order.max(Span::ZERO),
            step: strategy.step.max(Span::from_micros(1)),
            last: EventTime::MIN,
            due_at: EventTime::MIN,
        }
    }

    /// Whether a record stamped `event_time` makes a watermark due behind it.
    #[inline]
    pub fn is_due(&self, event_time: EventTime) -> bool {
        event_time >= self.due_at
    }

    /// Takes note of a record for which [`is_due`](Self::is_due) held and returns the watermark to be set
    /// behind it: its stamp less the bound.
    pub fn advance(&mut self, event_time: EventTime) -> EventTime {
        let watermark = event_time.minus(self.out_of_order).max(self.last);
        self.last = watermark;
        // The next mark is due when `event_time - out_of_order >= last + step`.
        self.due_at = watermark.plus(self.step).plus(self.out_of_order);
        watermark
    }

    /// The last watermark given out, `EventTime::MIN` before the first.
    pub fn last(&self) -> EventTime {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds stamps in microseconds and prints `stamp` or `stamp>watermark` for each.
    fn check(out_of_order: i64, step: i64, stamps: &[i64], expected: &str) {
        let strategy = WatermarkStrategy {
            out_of_order: Span::from_micros(out_of_order),
            step: Span::from_micros(step),
        };
        let mut tracker = WatermarkTracker::new(strategy);
        let shown: Vec<String> = stamps
            .iter()
            .map(|&stamp| {
                let event_time = EventTime::from_micros(stamp);
                if tracker.is_due(event_time) {
                    format!("{stamp}>{}", tracker.advance(event_time).as_micros())
                } else {
                    stamp.to_string()
                }
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn ascending_marks_every_step() {
        check(0, 10, &[5, 6, 14, 15, 16, 40], "5>5 6 14 15>15 16 40>40");
    }

    /// A step of zero marks every advance, and never the same promise twice.
    #[test]
    fn step_zero_marks_every_advance_only() {
        check(0, 0, &[5, 5, 6, 6, 3, 7], "5>5 5 6>6 6 3 7>7");
    }

    #[test]
    fn bound_holds_the_promise_back() {
        check(10, 5, &[100, 95, 104, 105, 91, 120], "100>90 95 104 105>95 91 120>110");
    }

    /// Times below zero and at the end of the range neither wrap nor go back.
    #[test]
    fn hostile_stamps() {
        check(0, 1, &[-7, -8, i64::MAX, 3], &format!("-7>-7 -8 {0}>{0} 3", i64::MAX));
        check(
            5,
            1,
            &[i64::MIN, i64::MIN + 3, i64::MIN + 9],
            &format!("{0}>{0} {1} {2}>{3}", i64::MIN, i64::MIN + 3, i64::MIN + 9, i64::MIN + 4),
        );
    }
}
