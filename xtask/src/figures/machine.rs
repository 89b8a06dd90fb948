//! Measures the stops of a thread that only reads the clock. The machine takes the core from the thread
//! during a stop, and no engine can process a record in that time.

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Least time between two readings of the clock that counts as a stop of the thread. A reading takes a
/// fraction of a microsecond.
const STOP_MIN: Duration = Duration::from_micros(20);

/// Reads the clock for `seconds` on every core, and returns the figures of the stops.
pub(super) fn stops(seconds: f64) -> Value {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let length = Duration::from_secs_f64(seconds);
    let look = || {
        let begin = Instant::now();
        stops_within(length, || begin.elapsed())
    };
    let stops: Vec<Vec<Duration>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(look)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|stops| stops.expect("a loop that reads the clock does not panic")).collect()
    });
    let [longest_us, long_per_s, stopped_percent] = figures(&stops, length);
    json!({ "longest_us": longest_us, "long_per_s": long_per_s, "stopped_percent": stopped_percent })
}

/// Returns three figures of the stops on all cores: the longest stop in microseconds, the number of stops
/// above 1 ms in a second, and the percentage of time that stops take. The last two are those of the core
/// where they are highest.
fn figures(stops: &[Vec<Duration>], length: Duration) -> [f64; 3] {
    let longest = stops.iter().flatten().max().copied().unwrap_or_default();
    let most = |figure: fn(&[Duration]) -> f64| stops.iter().map(|stops| figure(stops)).fold(0.0, f64::max);
    let long = most(|stops| stops.iter().filter(|stop| Duration::from_millis(1) < **stop).count() as f64);
    let taken_s = most(|stops| stops.iter().sum::<Duration>().as_secs_f64());
    let length_s = length.as_secs_f64();
    [longest.as_secs_f64() * 1e6, long / length_s, 100.0 * taken_s / length_s]
}

/// Calls `clock` until `length` has passed, and returns the stops of the thread meanwhile. The clock tells
/// the time since it was started.
fn stops_within(length: Duration, mut clock: impl FnMut() -> Duration) -> Vec<Duration> {
    let (mut stops, mut last) = (Vec::new(), clock());
    while last < length {
        let now = clock();
        if STOP_MIN < now - last {
            stops.push(now - last);
        }
        last = now;
    }
    stops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_clock_that_is_looked_at_too_late_tells_of_a_stop() {
        let mut times = [0, 1, 21, 42, 43, 1_544, 1_545, 2_000].into_iter();
        let stops = stops_within(micros(2_000), || micros(times.next().unwrap()));
        assert_eq!(stops, [21, 1_501, 455].map(micros));
    }

    #[test]
    fn what_counts_is_the_core_that_has_the_most() {
        let stops = [vec![micros(1_501), micros(21)], vec![micros(1_200), micros(1_100)], vec![]];
        let [longest, long, taken] = figures(&stops, Duration::from_secs(2));
        assert_eq!((longest.round(), long), (1_501.0, 1.0));
        assert!((taken - 0.115).abs() < 1e-9, "{taken} %");
        assert_eq!(figures(&[], Duration::from_secs(1)), [0.0; 3]);
    }
}
