//! The check of a hand-written loop over lines, which the tests of all these loops call.

use std::num::{NonZeroU64, NonZeroUsize};

use thalweg_model::{EventTime, Text};

use super::LoopOptions;
use crate::loops::{LoopKind, LoopReport, LoopStop};
use crate::prose::TextGenerator;
use crate::reference::lines::LineInput;
use crate::reference::{Row, compare};

/// The runs of a check: one worker with many lines, two workers with fewer in blocks of one line, and one
/// worker with a single line.
pub(crate) struct Runs {
    /// Lines per second of event time; a divisor of a million.
    pub(crate) rate_per_s: u64,
    /// Number of lines of the first run.
    pub(crate) long: u64,
    /// Number of lines of each worker of the second run.
    pub(crate) short: u64,
    /// Least number of result rows of each worker in the first two runs.
    pub(crate) rows_min: usize,
}

/// Checks that a loop has the results of the reference while windows fill up, slide on and close at the end,
/// for any number of workers and any block size. `expected` returns the results of the reference for
/// occurrences of the given lines.
#[track_caller]
pub(crate) fn check<T, R>(
    generator: &TextGenerator,
    Runs { rate_per_s, long, short, rows_min }: Runs,
    run: impl Fn(LoopOptions<'_>) -> LoopReport<T>,
    expected: impl Fn(&mut dyn Iterator<Item = LineInput>, &[Text]) -> Vec<R>,
) where
    R: Row + for<'r> From<&'r T>,
{
    for (workers, block_records, lines) in [(1, 384, long), (2, 1, short), (1, 7, 1)] {
        let [workers, block_records] = [workers, block_records].map(|n| NonZeroUsize::new(n).unwrap());
        let nominal_rate_per_s = NonZeroU64::new(rate_per_s).unwrap();
        let stop = LoopStop::Events(lines);
        let (kind, start) = (LoopKind::Blocks, EventTime::EPOCH);
        let report =
            run(LoopOptions { kind, workers, block_records, stop, nominal_rate_per_s, start, generator });
        for worker in report.workers {
            let mut inputs = (0..worker.events).map(|index| LineInput {
                event_time_us: (index * (1_000_000 / rate_per_s)) as i64,
                line: generator.place_of(worker.first_event as u64 + index),
            });
            let expected = expected(&mut inputs, generator.texts());
            let found: Vec<R> = worker.results.iter().map(Into::into).collect();
            compare(&expected, &found).unwrap();
            assert!(lines == 1 || rows_min <= expected.len(), "{} rows", expected.len());
        }
    }
}
