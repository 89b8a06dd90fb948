//! Event times: at one rate, or at alternating rates.
//!
//! Event time and emission follow the same schedule: the processing time from the first event to an event
//! equals the event time between the two.

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The way in which the rates that two options give alternate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// The first rate holds for one half of a period, the next rate for the other half.
    Square,
    /// The rate goes from the first to the next and back, in ten steps of a cosine.
    Sine,
}

/// Computes the time of each event from its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    /// The steps, each with a constant rate, that make up one cycle; there is at least one. After the last
    /// step the cycle begins again.
    steps: Vec<Step>,
    /// Number of events, and number of nanoseconds, in all steps of the cycle together.
    cycle: (u64, u64),
}

/// A span of time with a constant rate of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Events per second during the step.
    rate: u64,
    /// Number of events, and number of nanoseconds, in all steps of the cycle before this step.
    before: (u64, u64),
}

impl Schedule {
    /// Creates a schedule. Rates are events per second. Steps are whole seconds, so that each has a whole
    /// number of events. A rate of 0 counts as 1, and a period is at most a day.
    pub(super) fn new(shape: Shape, first: u32, next: u32, period_seconds: u64) -> Self {
        let (first, next) = (u64::from(first.max(1)), u64::from(next.max(1)));
        let rates: Vec<u64> = match shape {
            _ if first == next => vec![first],
            Shape::Square => vec![first, next],
            Shape::Sine => {
                let (middle, swing) = ((first + next) as f64 / 2.0, (first as f64 - next as f64) / 2.0);
                let rate = |step: u32| {
                    let turn = std::f64::consts::TAU * f64::from(step) / 10.0;
                    ((middle + swing * turn.cos()).round() as u64).max(1)
                };
                (0..10).map(rate).collect()
            }
        };
        let step_seconds = period_seconds.clamp(1, 86_400).div_ceil(rates.len() as u64);
        let mut cycle = (0, 0);
        let steps = rates.into_iter().map(|rate| {
            let step = Step { rate, before: cycle };
            cycle = (cycle.0 + rate * step_seconds, cycle.1 + step_seconds * NANOS_PER_SECOND);
            step
        });
        let steps = steps.collect();
        Schedule { steps, cycle }
    }

    /// Returns the nanoseconds from the first event to this one, rounded down; saturates after centuries.
    pub(super) fn nanos_at(&self, event: u64) -> u64 {
        let (cycles, event) = match self.steps.len() {
            1 => (0, event),
            _ => (event / self.cycle.0, event % self.cycle.0),
        };
        let is_past = |step: &&Step| step.before.0 <= event;
        let step = self.steps.iter().rev().find(is_past).unwrap_or(&self.steps[0]);
        let (rate, event) = (step.rate, event - step.before.0);
        // Whole seconds are computed first: the remaining events are fewer than the rate, which is below
        // 2^32.
        let within = (event / rate)
            .saturating_mul(NANOS_PER_SECOND)
            .saturating_add(event % rate * NANOS_PER_SECOND / rate);
        cycles.saturating_mul(self.cycle.1).saturating_add(step.before.1).saturating_add(within)
    }

    /// Returns the milliseconds from the first event to this one, rounded down.
    pub(super) fn millis_at(&self, event: u64) -> i64 {
        (self.nanos_at(event) / 1_000_000) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduled times of events equal times computed by hand.
    #[test]
    fn events_are_spread_evenly_over_the_seconds_of_their_rate() {
        let check = |schedule: &Schedule, event: u64, nanos: u64| {
            assert_eq!(schedule.nanos_at(event), nanos, "event {event} of {schedule:?}");
        };
        let steady = Schedule::new(Shape::Square, 10_000, 10_000, 600);
        check(&steady, 0, 0);
        check(&steady, 1, 100_000);
        check(&steady, 10_000, NANOS_PER_SECOND);
        check(&steady, 36_000_000_000_000, 3_600_000_000 * NANOS_PER_SECOND);
        check(&steady, u64::MAX, u64::MAX);
        let thirds = Schedule::new(Shape::Sine, 3, 3, 1);
        check(&thirds, 1, 333_333_333);
        check(&thirds, 3, NANOS_PER_SECOND);
        // The rates are 2 per second for two seconds, 4 per second for two seconds, and again.
        let square = Schedule::new(Shape::Square, 2, 4, 4);
        check(&square, 3, 1_500_000_000);
        check(&square, 4, 2_000_000_000);
        check(&square, 5, 2_250_000_000);
        check(&square, 11, 3_750_000_000);
        check(&square, 12, 4_000_000_000);
        check(&square, 13, 4_500_000_000);
        check(&square, 29, 10_250_000_000);
    }

    /// A sine schedule goes from the first rate to the next and back, and no event is before the previous
    /// one.
    #[test]
    fn a_sine_rises_and_falls_and_time_never_goes_back() {
        let sine = Schedule::new(Shape::Sine, 10, 110, 10);
        let rates: Vec<u64> = sine.steps.iter().map(|step| step.rate).collect();
        assert_eq!(rates, [10, 20, 45, 75, 100, 110, 100, 75, 45, 20]);
        assert_eq!(sine.cycle, (600, 10 * NANOS_PER_SECOND));
        assert!((0..2_000).is_sorted_by_key(|event| sine.nanos_at(event)));
        assert_eq!(sine.nanos_at(600), 10 * NANOS_PER_SECOND);
        assert_eq!(sine.nanos_at(610), 11 * NANOS_PER_SECOND);
    }
}
