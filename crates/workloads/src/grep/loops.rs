//! The ceiling: grep as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use std::sync::mpsc;

use regex::Regex;
use thalweg_model::{EventTime, Record, Window, Windowed};

use super::query::{occurrences, pattern};
use super::{Found, SLIDE, WINDOW};
use crate::loops::{Fed, LoopReport};
use crate::prose::ceiling::{self, BLANK, LineSource, Panes};

pub use crate::loops::LoopKind;
pub use crate::prose::ceiling::LoopOptions;

/// Runs the hand-written loop for `grep` on new threads and waits for all of them. Results are ordered by
/// window.
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<(), Found>> {
    ceiling::run(options, Blocks::new)
}

/// The stream of lines, the blocks between the operators, and the windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lines: Vec<Record<&'a str>>,
    found: Vec<Record<u32>>,
    pattern: Regex,
    panes: Panes<Found, Box<dyn FnMut(Window, &[&Found])>>,
    results: mpsc::Receiver<Windowed<(), Found>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let (emitted, results) = mpsc::channel();
        let emit = move |window, panes: &[&Found]| {
            let sum = panes.iter().fold(Found::default(), |sum, pane| Found {
                lines: sum.lines + pane.lines,
                occurrences: sum.occurrences + pane.occurrences,
            });
            if sum.lines > 0 {
                let _ = emitted.send(Windowed::on_time(window, (), sum));
            }
        };
        Blocks {
            source,
            lines: vec![BLANK; block_records],
            found: vec![Record::new(EventTime::EPOCH, 0); block_records],
            pattern: pattern(),
            panes: Panes::new(WINDOW, SLIDE, Box::new(emit)),
            results,
        }
    }
}

impl Fed for Blocks<'_> {
    type Row = Windowed<(), Found>;

    fn run_block(&mut self, limit: usize) -> usize {
        let Blocks { source, lines, found, pattern, panes, .. } = self;
        let count = limit.min(lines.len());
        source.produce(&mut lines[..count]);
        let found_count = search(pattern, &lines[..count], found);
        panes.each_run(&found[..found_count], add_up);
        count
    }

    fn finish(self) -> Vec<Windowed<(), Found>> {
        self.panes.finish();
        self.results.into_iter().collect()
    }
}

/// Filter and map: writes the number of occurrences of the pattern for each line that has any. Returns how
/// many such lines there are.
#[inline(never)]
fn search(pattern: &Regex, lines: &[Record<&str>], found: &mut [Record<u32>]) -> usize {
    let mut count = 0;
    for line in lines {
        if let Some(occurrences) = occurrences(pattern, line.value) {
            found[count] = Record::new(line.event_time, occurrences);
            count += 1;
        }
    }
    count
}

/// Window: adds up lines and occurrences of the pattern for one slide of the window.
#[inline(never)]
fn add_up(pane: &mut Found, rows: &[Record<u32>]) {
    for row in rows {
        pane.lines += 1;
        pane.occurrences += u64::from(row.value);
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroUsize};

    use super::*;
    use crate::grep;
    use crate::loops::LoopStop;
    use crate::reference::compare;
    use crate::reference::grep::{GrepRow, grep_rows};
    use crate::reference::lines::LineInput;

    /// The loop has the results of the reference while windows fill up, slide on and close at the end, for
    /// any number of workers and any block size.
    #[test]
    fn results_are_the_reference_s() {
        let generator = &grep::generator(3);
        for (workers, block_records, events) in [(1, 384, 70_000), (2, 1, 10_000), (1, 7, 1)] {
            let [workers, block_records] = [workers, block_records].map(|n| NonZeroUsize::new(n).unwrap());
            let nominal_rate_per_s = NonZeroU64::new(1_000).unwrap();
            let stop = LoopStop::Events(events);
            let report = run(LoopOptions { workers, block_records, stop, nominal_rate_per_s, generator });
            for worker in report.workers {
                let inputs = (0..worker.events).map(|index| LineInput {
                    event_time_us: index as i64 * 1_000,
                    line: generator.place_of(worker.first_event as u64 + index),
                });
                let (size_us, slide_us) = (WINDOW.as_micros(), SLIDE.as_micros());
                let windows = crate::reference::Windows { size_us, slide_us };
                let expected = grep_rows(inputs, generator.texts(), windows);
                let found: Vec<GrepRow> = worker.results.iter().map(row_of).collect();
                compare(&expected, &found).unwrap();
                assert!(events < 10_000 || expected.len() >= 39);
            }
        }
    }

    fn row_of(result: &Windowed<(), Found>) -> GrepRow {
        let Found { lines, occurrences } = result.value;
        GrepRow { window_start_ms: result.window.start.as_micros() / 1_000, lines, occurrences }
    }
}
