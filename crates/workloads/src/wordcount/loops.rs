//! The ceiling: word count as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Words are borrowed from the lines, 16 bytes each. The hash table is the loops' own, and its hash has no
//! secret key.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use thalweg_model::{Record, Text, Windowed};

use super::{SLIDE, WINDOW};
use crate::loops::{Fed, LoopReport};
use crate::prose::ceiling::{self, BLANK, LineSource, Panes};
use crate::prose::table::WordTable;
use crate::prose::words::WordFinder;

pub use crate::loops::LoopKind;
pub use crate::prose::ceiling::LoopOptions;

/// Runs the hand-written loop for word count on new threads and waits for all of them. Results are ordered by
/// window, and in no order within a window.
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<Text, u64>> {
    ceiling::run(options, Blocks::new)
}

/// The hand-written loop for word count: its stream of lines, the blocks between its operators, and its
/// windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lines: Vec<Record<&'a str>>,
    words: Vec<Record<&'a str>>,
    panes: Panes<'a, WordTable<'a>, Windowed<Text, u64>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let mut sum = WordTable::default();
        let emit = move |window, panes: &[&WordTable<'a>], results: &mut Vec<Windowed<Text, u64>>| {
            sum.clear();
            for (word, count) in panes.iter().flat_map(|pane| pane.counts()) {
                sum.add(word, count);
            }
            let counts = sum.counts();
            results.extend(counts.map(|(word, count)| Windowed::on_time(window, Text::from(word), count)));
        };
        Blocks {
            source,
            lines: vec![BLANK; block_records],
            words: vec![BLANK; block_records],
            panes: Panes::new(WINDOW, SLIDE, emit),
        }
    }
}

impl Fed for Blocks<'_> {
    type Row = Windowed<Text, u64>;

    fn run_block(&mut self, limit: usize) -> usize {
        let Blocks { source, lines, words, panes, .. } = self;
        let count = limit.min(lines.len());
        source.produce(&mut lines[..count]);
        let mut at = Place::default();
        while at.line < count {
            let word_count = split(&lines[..count], &mut at, words);
            panes.each_run(&words[..word_count], count_words);
        }
        count
    }

    fn finish(self) -> Vec<Windowed<Text, u64>> {
        self.panes.finish()
    }
}

/// The position in a block of lines from which the next word is searched.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) line: usize,
    finder: WordFinder,
}

/// Flat map: writes the words of lines until the block of words is full. Returns the number of words written.
#[inline(never)]
pub(crate) fn split<'a>(lines: &[Record<&'a str>], at: &mut Place, words: &mut [Record<&'a str>]) -> usize {
    let mut count = 0;
    while let Some(Record { event_time, value: line }) = lines.get(at.line) {
        while count < words.len() {
            let Some((start, end)) = at.finder.next_word(line.as_bytes()) else { break };
            words[count] = Record::new(*event_time, &line[start..end]);
            count += 1;
        }
        if count == words.len() {
            return count;
        }
        *at = Place { line: at.line + 1, finder: WordFinder::default() };
    }
    count
}

/// Window: counts the occurrences of each word in the open pane, a span as long as the slide of the windows.
#[inline(never)]
pub(crate) fn count_words<'a>(pane: &mut WordTable<'a>, words: &[Record<&'a str>]) {
    for word in words {
        pane.add(word.value, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::ceiling::tests::{Runs, check};
    use crate::reference::Windows;
    use crate::reference::wordcount::word_rows;
    use crate::wordcount;

    #[test]
    fn results_are_the_reference_s() {
        let runs = Runs { rate_per_s: 100, long: 4_000, short: 200, rows_min: 1 };
        let windows = Windows { size_us: WINDOW.as_micros(), slide_us: SLIDE.as_micros() };
        check(&wordcount::generator(3), runs, run, |inputs, lines| word_rows(inputs, lines, windows));
    }
}
