//! Tests of the arithmetic of a steady rate against exact division in 128 bits, and against counting one by
//! one.

use proptest::prelude::*;

use super::*;

/// Oracle for the times of records: returns the instant of record `index` in units of `1 / unit` seconds
/// after the start.
fn exact(index: u64, rate: u64, unit: u64) -> u128 {
    u128::from(index) * u128::from(unit) / u128::from(rate)
}

fn drained(rate: u64, start: i64) -> EventTimes {
    EventTimes::new(Pace::Drain { nominal_rate_per_s: rate, start: EventTime::from_micros(start) })
}

const RATES: [u64; 10] = [1, 2, 3, 7, 1_000, 1_000_003, 10_000_000, 999_999_937, 999_999_999, 1_000_000_000];

/// Event times that are computed by multiplication equal exact division for every offset of a stretch, for
/// many rates, and for first records near the start and far from it.
#[test]
fn multiplying_is_dividing() {
    for rate in RATES {
        for first in [0, 1, rate - 1, rate, 1 << 20, (1 << 43) - 1, 6_148_914_691_236] {
            let stretch = drained(rate, -5).stretch(first);
            assert_eq!(drained(rate, -5).at(first), stretch.at(0), "{rate}/s, {first}");
            for offset in 0..=STRETCH_RECORDS_MAX {
                let expected = exact(first + offset as u64, rate, MICROS_PER_S) as i128 - 5;
                assert_eq!(
                    i128::from(stretch.at(offset).as_micros()),
                    expected,
                    "{rate}/s, {first} + {offset}"
                );
            }
        }
    }
}

/// Near the end of time, event times stay at the last instant: they neither wrap nor go back.
#[test]
fn the_end_of_time_is_the_last_instant() {
    let mut last = EventTime::MIN;
    for first in (0..20_000).step_by(STRETCH_RECORDS_MAX) {
        let stretch = drained(1, i64::MAX - 10_000_000_000).stretch(first);
        for offset in 0..STRETCH_RECORDS_MAX {
            assert!(last <= stretch.at(offset));
            last = stretch.at(offset);
        }
    }
    assert_eq!(last, EventTime::MAX);
    assert_eq!(drained(1, 0).stretch(u64::MAX).at(4_096), EventTime::MAX);
    assert_eq!(drained(1, 0).at(u64::MAX), EventTime::MAX);
    assert_eq!(drained(1, i64::MAX - 5).at(6), EventTime::MAX);
}

/// At rates above 10,000 records/s, the first record at or after every millisecond is followed by a latency marker.
/// The expected records are found by counting.
#[test]
fn markers_stand_behind_the_first_record_of_every_millisecond() {
    for rate in [10_001, 12_345, 20_000, 999_983] {
        let send_times = SendTimes::new(rate, ProcessingTime::ZERO);
        let tick = |index| send_times.intended(index).as_nanos() / 1_000_000;
        let is_marked = |index: u64| index > 0 && tick(index - 1) < tick(index);
        let mut next_marked = u64::MAX;
        for index in (0..rate / 4).rev() {
            if is_marked(index) {
                next_marked = index;
            }
            if next_marked != u64::MAX {
                assert_eq!(send_times.marked_index(index), next_marked, "{rate}/s, from {index}");
            }
        }
        assert_eq!(send_times.marked_index(0), rate.div_ceil(1_000));
    }
}

#[test]
fn at_low_rates_every_record_is_marked() {
    let send_times = SendTimes::new(10_000, ProcessingTime::ZERO);
    assert_eq!([0, 1, 2, 777].map(|index| send_times.marked_index(index)), [0, 1, 2, 777]);
}

/// With extreme arguments the results are instants or counts, and no arithmetic overflows.
#[test]
fn extremes() {
    for rate in RATES {
        let send_times = SendTimes::new(rate, ProcessingTime::from_nanos(u64::MAX - 1));
        assert_eq!(send_times.intended(u64::MAX), ProcessingTime::NEVER);
        assert_eq!(send_times.due_count(ProcessingTime::ZERO), 0);
        let since_the_epoch = SendTimes::new(rate, ProcessingTime::ZERO);
        assert!(since_the_epoch.due_count(ProcessingTime::NEVER) > 1 << 33);
        assert!(since_the_epoch.marked_index(u64::MAX) == u64::MAX);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn event_times_are_exact(
        rate in 1..=RATE_PER_S_MAX, first in 0..1u64 << 43, offset in 0..=STRETCH_RECORDS_MAX, start in -1i64 << 50..1 << 50,
    ) {
        let expected = exact(first + offset as u64, rate, MICROS_PER_S) as i128 + i128::from(start);
        let found = drained(rate, start).stretch(first).at(offset).as_micros();
        prop_assert_eq!(i128::from(found), expected.min(i128::from(i64::MAX)));
    }

    /// At a rate of processing time, the event time of a record is its intended time, truncated to
    /// microseconds.
    #[test]
    fn event_times_are_intended_times(
        rate in 1..=RATE_PER_S_MAX, first in 0..1u64 << 33, offset in 0..=STRETCH_RECORDS_MAX, start in 0..1u64 << 61,
    ) {
        let start = ProcessingTime::from_nanos(start);
        let intended = SendTimes::new(rate, start).intended(first + offset as u64);
        let found = EventTimes::new(Pace::Rate { rate_per_s: rate, start, time_scale: 1 }).stretch(first).at(offset);
        prop_assert_eq!(found.as_micros(), (intended.as_nanos() / 1_000) as i64);
    }

    /// With a time scale, event time begins at the same instant as without one, and its distance from there
    /// is multiplied by the scale.
    #[test]
    fn event_times_are_scaled(
        event_rate in 1..=1_000_000u64, time_scale in 1..=1_000u64, index in 0..1u64 << 33, start_us in 0..1u64 << 50,
    ) {
        let pace = Pace::Rate {
            rate_per_s: event_rate * time_scale,
            start: ProcessingTime::from_nanos(start_us * 1_000),
            time_scale,
        };
        let expected = exact(index, event_rate, MICROS_PER_S) as i128 + i128::from(start_us);
        prop_assert_eq!(i128::from(EventTimes::new(pace).at(index).as_micros()), expected);
    }

    /// The records counted as due are exactly those whose intended time has come.
    #[test]
    fn due_records_are_counted(rate in 1..=RATE_PER_S_MAX, start in 0..1u64 << 60, elapsed in 0..1u64 << 50) {
        let send_times = SendTimes::new(rate, ProcessingTime::from_nanos(start));
        let now = ProcessingTime::from_nanos(start + elapsed);
        let count = send_times.due_count(now);
        prop_assert!(count > 0 && send_times.intended(count - 1) <= now);
        prop_assert!(now < send_times.intended(count));
    }
}
