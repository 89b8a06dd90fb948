//! What the machine takes from a thread that does nothing but look at the clock: no engine's slowest record can be faster
//! than its core is given back.

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Section;
use super::bench::Bench;
use super::table::{Row, Table, Unit};

/// Looking at the clock takes a fraction of a microsecond; whoever takes longer was stopped.
const STOP_MIN: Duration = Duration::from_micros(20);

/// How long a thread looks.
const SECONDS: f64 = 10.0;

/// Of every round: the longest stop in microseconds, how many took above a millisecond in a second, and the percentage of time
/// that all of them took; the latter two of the core that had the most.
#[derive(Default)]
pub(super) struct Machine([Vec<f64>; 3]);

impl Section for Machine {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let length = Duration::from_secs_f64(bench.seconds(SECONDS));
        let stops: Vec<Vec<Duration>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(|| stops_within(length))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a loop does not panic")).collect()
        });
        let longest = stops.iter().flatten().max().copied().unwrap_or_default();
        let most =
            |figure: fn(&[Duration]) -> f64| stops.iter().map(|stops| figure(stops)).fold(0.0, f64::max);
        let long = most(|stops| stops.iter().filter(|stop| Duration::from_millis(1) < **stop).count() as f64);
        let taken = most(|stops| stops.iter().sum::<Duration>().as_secs_f64()) / length.as_secs_f64();
        let found = [longest.as_secs_f64() * 1e6, long / length.as_secs_f64(), 100.0 * taken];
        self.0.iter_mut().zip(found).for_each(|(measured, found)| measured.push(found));
        Ok(())
    }

    fn table(&self) -> Table {
        let [longest, long, taken] = &self.0;
        let rows = vec![
            Row::new("the longest", longest, Unit::Micros),
            Row::new("longer than 1 ms, in a second", long, Unit::Ratio),
            Row::new("all of them, of its time", taken, Unit::Percent),
        ];
        Table { head: "stops of a thread that only looks at the clock".to_owned(), rows }
    }
}

/// Each time that the clock was looked at too late.
fn stops_within(length: Duration) -> Vec<Duration> {
    let (begin, mut stops) = (Instant::now(), Vec::new());
    let mut last = begin;
    while last - begin < length {
        let now = Instant::now();
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

    /// A round is as long as it is asked to be; of how often a machine stops a thread nothing is known.
    #[test]
    fn a_round_has_a_figure_of_each_kind() {
        let length = Duration::from_millis(5);
        let stops = stops_within(length);
        assert!(stops.iter().all(|&stop| STOP_MIN < stop));
        let mut machine = Machine::default();
        machine.measure(&mut Bench::new(&mut |options| panic!("{options} is run"), Some(0.005))).unwrap();
        let [longest, long, taken] = &machine.0;
        assert_eq!([longest.len(), long.len(), taken.len()], [1; 3]);
        // The longest is one of all, on some core.
        assert!(longest[0] <= taken[0] / 100.0 * 5_000.0 + 1.0, "{longest:?} {taken:?}");
        assert_eq!(machine.table().rows.len(), 3);
    }
}
