//! The ceiling: distinct as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use std::sync::mpsc;

use thalweg_model::{Record, Window, Windowed};

use super::WINDOW;
use crate::loops::{Fed, LoopReport};
use crate::prose::ceiling::{self, BLANK, LineSource, Panes};
use crate::prose::table::WordTable;

pub use crate::loops::LoopKind;
pub use crate::prose::LoopOptions;

/// Runs the hand-written loop for `distinct` on new threads and waits for all of them. Results are ordered by
/// window.
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<(), u64>> {
    ceiling::run(options, Blocks::new)
}

/// The state of one window: the URLs that were requested in it, and the number of different URLs.
#[derive(Default)]
struct Seen<'a> {
    urls: WordTable<'a>,
    count: u64,
}

/// The stream of requests, the blocks between the operators, and the open window.
struct Blocks<'a> {
    source: LineSource<'a>,
    requests: Vec<Record<&'a str>>,
    firsts: Vec<Record<&'a str>>,
    panes: Panes<Seen<'a>, Box<dyn FnMut(Window, &[&Seen<'a>])>>,
    results: mpsc::Receiver<Windowed<(), u64>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let (emitted, results) = mpsc::channel();
        let emit = move |window, panes: &[&Seen<'a>]| {
            let count = panes.iter().map(|seen| seen.count).sum();
            let _ = emitted.send(Windowed::on_time(window, (), count));
        };
        Blocks {
            source,
            requests: vec![BLANK; block_records],
            firsts: vec![BLANK; block_records],
            panes: Panes::new(WINDOW, WINDOW, Box::new(emit)),
            results,
        }
    }
}

impl Fed for Blocks<'_> {
    type Row = Windowed<(), u64>;

    fn run_block(&mut self, limit: usize) -> usize {
        let Blocks { source, requests, firsts, panes, .. } = self;
        let count = limit.min(requests.len());
        source.produce(&mut requests[..count]);
        panes.each_run(&requests[..count], |seen, run| {
            let first_count = keep_first(&mut seen.urls, run, firsts);
            seen.count += firsts[..first_count].len() as u64;
        });
        count
    }

    fn finish(self) -> Vec<Windowed<(), u64>> {
        self.panes.finish();
        self.results.into_iter().collect()
    }
}

/// Distinct: keeps the requests for URLs that were not requested in the window before. Returns how many such
/// requests there are.
#[inline(never)]
fn keep_first<'a>(
    seen: &mut WordTable<'a>,
    requests: &[Record<&'a str>],
    firsts: &mut [Record<&'a str>],
) -> usize {
    let mut count = 0;
    for request in requests {
        firsts[count] = *request;
        count += usize::from(seen.add(request.value, 1));
    }
    count
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroUsize};

    use super::*;
    use crate::distinct;
    use crate::loops::LoopStop;
    use crate::reference::compare;
    use crate::reference::distinct::{DistinctRow, distinct_rows};
    use crate::reference::lines::LineInput;

    #[test]
    fn results_are_the_reference_s() {
        let generator = &distinct::generator(3);
        for (workers, block_records, events) in [(1, 384, 70_000), (2, 1, 10_000), (1, 7, 1)] {
            let [workers, block_records] = [workers, block_records].map(|n| NonZeroUsize::new(n).unwrap());
            let nominal_rate_per_s = NonZeroU64::new(10_000).unwrap();
            let stop = LoopStop::Events(events);
            let report = run(LoopOptions { workers, block_records, stop, nominal_rate_per_s, generator });
            for worker in report.workers {
                let inputs = (0..worker.events).map(|index| LineInput {
                    event_time_us: index as i64 * 100,
                    line: generator.place_of(worker.first_event as u64 + index),
                });
                let expected = distinct_rows(inputs, generator.texts(), WINDOW.as_micros());
                let found: Vec<DistinctRow> = worker.results.iter().map(row_of).collect();
                compare(&expected, &found).unwrap();
            }
        }
    }

    fn row_of(result: &Windowed<(), u64>) -> DistinctRow {
        let window_start_ms = result.window.start.as_micros() / 1_000;
        DistinctRow { window_start_ms, urls: result.value }
    }
}
