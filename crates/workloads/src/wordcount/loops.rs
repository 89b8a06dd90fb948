//! The ceiling: word count as a hand-written single-threaded loop, without an engine. It is written in one way,
//! [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks.
//!
//! Words are borrowed from the lines, 16 bytes each. The hash table is the loops' own, and its hash has no
//! secret key.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use std::sync::mpsc;

use thalweg_model::{Record, Text, Window, Windowed};

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

/// The stream of lines, the blocks between the operators, and the windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lines: Vec<Record<&'a str>>,
    words: Vec<Record<&'a str>>,
    panes: Panes<WordTable<'a>, Box<dyn FnMut(Window, &[&WordTable<'a>]) + 'a>>,
    results: mpsc::Receiver<Windowed<Text, u64>>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize) -> Self {
        let (emitted, results) = mpsc::channel();
        let mut sum = WordTable::default();
        let emit = move |window, panes: &[&WordTable<'a>]| {
            sum.clear();
            for (word, count) in panes.iter().flat_map(|pane| pane.counts()) {
                sum.add(word, count);
            }
            for (word, count) in sum.counts() {
                let _ = emitted.send(Windowed::on_time(window, Text::from(word), count));
            }
        };
        Blocks {
            source,
            lines: vec![BLANK; block_records],
            words: vec![BLANK; block_records],
            panes: Panes::new(WINDOW, SLIDE, Box::new(emit)),
            results,
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
        self.panes.finish();
        self.results.into_iter().collect()
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

/// Window: counts the occurrences of each word in one pane.
#[inline(never)]
pub(crate) fn count_words<'a>(pane: &mut WordTable<'a>, words: &[Record<&'a str>]) {
    for word in words {
        pane.add(word.value, 1);
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroUsize};

    use super::*;
    use crate::loops::LoopStop;
    use crate::reference::compare;
    use crate::reference::lines::LineInput;
    use crate::reference::wordcount::{WordRow, word_rows};
    use crate::wordcount;

    /// The loop has the results of the reference while windows fill up, slide on and close at the end, for
    /// any number of workers and any block size.
    #[test]
    fn results_are_the_reference_s() {
        let generator = &wordcount::generator(3);
        for (workers, block_records, events) in [(1, 384, 4_000), (2, 1, 200), (1, 7, 1)] {
            let [workers, block_records] = [workers, block_records].map(|n| NonZeroUsize::new(n).unwrap());
            let nominal_rate_per_s = NonZeroU64::new(100).unwrap();
            let stop = LoopStop::Events(events);
            let report = run(LoopOptions { workers, block_records, stop, nominal_rate_per_s, generator });
            for worker in report.workers {
                let inputs = (0..worker.events).map(|index| LineInput {
                    event_time_us: index as i64 * 10_000,
                    line: generator.place_of(worker.first_event as u64 + index),
                });
                let (size_us, slide_us) = (WINDOW.as_micros(), SLIDE.as_micros());
                let windows = crate::reference::Windows { size_us, slide_us };
                let expected = word_rows(inputs, generator.texts(), windows);
                let found: Vec<WordRow> = worker.results.iter().map(row_of).collect();
                compare(&expected, &found).unwrap();
            }
        }
    }

    fn row_of(result: &Windowed<Text, u64>) -> WordRow {
        let window_start_ms = result.window.start.as_micros() / 1_000;
        WordRow { window_start_ms, word: result.key.to_string(), count: result.value }
    }
}
