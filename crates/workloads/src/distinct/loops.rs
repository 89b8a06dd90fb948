//! The ceiling: distinct as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use thalweg_model::{Record, Windowed};

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

/// The hand-written loop for `distinct`: its stream of requests, the blocks between its operators, and its
/// windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    requests: Vec<Record<&'a str>>,
    firsts: Vec<Record<&'a str>>,
    panes: Panes<'a, Seen<'a>, Windowed<(), u64>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let emit = |window, panes: &[&Seen<'a>], results: &mut Vec<_>| {
            let count: u64 = panes.iter().map(|seen| seen.count).sum();
            results.push(Windowed::on_time(window, (), count));
        };
        Blocks {
            source,
            requests: vec![BLANK; block_records],
            firsts: vec![BLANK; block_records],
            panes: Panes::new(WINDOW, WINDOW, emit),
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
        self.panes.finish()
    }
}

/// Distinct: keeps the first request for each URL in the open window, and drops all later ones. Returns the
/// number of requests kept.
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
    use super::*;
    use crate::distinct;
    use crate::prose::ceiling::tests::{Runs, check};
    use crate::reference::distinct::distinct_rows;

    #[test]
    fn results_are_the_reference_s() {
        let runs = Runs { rate_per_s: 10_000, long: 70_000, short: 10_000, rows_min: 1 };
        check(&distinct::generator(3), runs, run, |requests, urls| {
            distinct_rows(requests, urls, WINDOW.as_micros())
        });
    }
}
