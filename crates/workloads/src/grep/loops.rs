//! The ceiling: grep as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use regex::Regex;
use thalweg_model::{EventTime, Record, Windowed};

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

/// The hand-written loop for `grep`: its stream of lines, the blocks between its operators, and its windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lines: Vec<Record<&'a str>>,
    found: Vec<Record<u32>>,
    pattern: Regex,
    panes: Panes<'a, Found, Windowed<(), Found>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let emit = |window, panes: &[&Found], results: &mut Vec<_>| {
            let sum = panes.iter().fold(Found::default(), |sum, pane| Found {
                lines: sum.lines + pane.lines,
                occurrences: sum.occurrences + pane.occurrences,
            });
            if sum.lines > 0 {
                results.push(Windowed::on_time(window, (), sum));
            }
        };
        Blocks {
            source,
            lines: vec![BLANK; block_records],
            found: vec![Record::new(EventTime::EPOCH, 0); block_records],
            pattern: pattern(),
            panes: Panes::new(WINDOW, SLIDE, emit),
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
        self.panes.finish()
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

/// Window: adds lines and occurrences of the pattern to the open pane, a span as long as the slide of the
/// windows.
#[inline(never)]
fn add_up(pane: &mut Found, rows: &[Record<u32>]) {
    for row in rows {
        pane.lines += 1;
        pane.occurrences += u64::from(row.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grep;
    use crate::prose::ceiling::tests::{Runs, check};
    use crate::reference::Windows;
    use crate::reference::grep::grep_rows;

    #[test]
    fn results_are_the_reference_s() {
        let runs = Runs { rate_per_s: 1_000, long: 70_000, short: 10_000, rows_min: 39 };
        let windows = Windows { size_us: WINDOW.as_micros(), slide_us: SLIDE.as_micros() };
        check(&grep::generator(3), runs, run, |inputs, lines| grep_rows(inputs, lines, windows));
    }
}
