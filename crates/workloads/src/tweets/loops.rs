//! The ceiling: the query of tweets as a hand-written single-threaded loop, without an engine. It is written in
//! one way, [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks. Work done once per
//! window is not divided into operators.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

use std::sync::mpsc;

use thalweg_model::{EventTime, Record, Text, Window, Windowed};

use super::lexicon::Lexicon;
use super::{Mood, Sentiment, TOP_WORDS, WINDOW, WordCount};
use crate::loops::{Fed, LoopReport};
use crate::prose::ceiling::{self, BLANK, LineSource, Panes};
use crate::prose::table::WordTable;
use crate::wordcount::loops::{Place, count_words, split};

pub use crate::loops::LoopKind;
pub use crate::prose::LoopOptions;

/// Runs the hand-written loop for tweets on new threads and waits for all of them. Results are ordered by
/// window.
pub fn run(options: LoopOptions<'_>, lexicon: &Lexicon) -> LoopReport<Windowed<(), Mood>> {
    ceiling::run(options, |source, block_records| Blocks::new(source, block_records, lexicon))
}

/// The stream of tweets, the blocks between the operators, and the windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lexicon: &'a Lexicon,
    tweets: Vec<Record<&'a str>>,
    scores: Vec<Record<i64>>,
    words: Vec<Record<&'a str>>,
    sentiments: Panes<Sentiment, Box<dyn FnMut(Window, &[&Sentiment])>>,
    counts: Panes<WordTable<'a>, Box<dyn FnMut(Window, &[&WordTable<'a>]) + 'a>>,
    changes: mpsc::Receiver<(Window, Sentiment)>,
    top_words: mpsc::Receiver<(Window, Vec<WordCount>)>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize, lexicon: &'a Lexicon) -> Self {
        let (changed, changes) = mpsc::channel();
        let mut before: Option<Sentiment> = None;
        let emit_change = move |window, panes: &[&Sentiment]| {
            for sentiment in panes {
                if before.replace(**sentiment).is_some_and(|before| before.differs_from(**sentiment)) {
                    let _ = changed.send((window, **sentiment));
                }
            }
        };
        let (counted, top_words) = mpsc::channel();
        let emit_words = move |window, panes: &[&WordTable<'a>]| {
            let counts = panes.iter().flat_map(|pane| pane.counts()).map(|(word, count)| (count, word));
            let mut counts: Vec<(u64, &str)> = counts.collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            counts.truncate(TOP_WORDS);
            let words = counts.into_iter().map(|(count, word)| (count, Text::from(word)));
            let _ = counted.send((window, words.collect()));
        };
        Blocks {
            source,
            lexicon,
            tweets: vec![BLANK; block_records],
            scores: vec![Record::new(EventTime::EPOCH, 0); block_records],
            words: vec![BLANK; block_records],
            sentiments: Panes::new(WINDOW, WINDOW, Box::new(emit_change)),
            counts: Panes::new(WINDOW, WINDOW, Box::new(emit_words)),
            changes,
            top_words,
        }
    }
}

impl Fed for Blocks<'_> {
    type Row = Windowed<(), Mood>;

    fn run_block(&mut self, limit: usize) -> usize {
        let Blocks { source, lexicon, tweets, scores, words, sentiments, counts, .. } = self;
        let count = limit.min(tweets.len());
        source.produce(&mut tweets[..count]);
        score(lexicon, &tweets[..count], scores);
        sentiments.each_run(&scores[..count], add_up);
        let mut at = Place::default();
        while at.line < count {
            let word_count = split(&tweets[..count], &mut at, words);
            counts.each_run(&words[..word_count], count_words);
        }
        count
    }

    fn finish(self) -> Vec<Windowed<(), Mood>> {
        self.sentiments.finish();
        self.counts.finish();
        let top_words: Vec<(Window, Vec<WordCount>)> = self.top_words.into_iter().collect();
        let meet = |(window, sentiment): (Window, Sentiment)| {
            let (_, words) = top_words.iter().find(|(of, _)| *of == window)?;
            Some(Windowed::on_time(window, (), Mood { sentiment, words: words.clone() }))
        };
        self.changes.into_iter().filter_map(meet).collect()
    }
}

/// Map: computes the score of each tweet of a block.
#[inline(never)]
fn score(lexicon: &Lexicon, tweets: &[Record<&str>], scores: &mut [Record<i64>]) {
    for (score, tweet) in scores.iter_mut().zip(tweets) {
        *score = Record::new(tweet.event_time, lexicon.score_of(tweet.value));
    }
}

/// Window: counts tweets and sums their scores in one pane.
#[inline(never)]
fn add_up(pane: &mut Sentiment, scores: &[Record<i64>]) {
    scores.iter().for_each(|score| pane.add(score.value));
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroUsize};

    use super::*;
    use crate::loops::LoopStop;
    use crate::prose::vocabulary::SCORED;
    use crate::reference::compare;
    use crate::reference::lines::LineInput;
    use crate::reference::tweets::{TweetsRow, tweets_rows};
    use crate::tweets;

    #[test]
    fn results_are_the_reference_s() {
        let generator = &tweets::generator(3);
        let lexicon = Lexicon::of(SCORED).unwrap();
        for (workers, block_records, events) in [(1, 384, 30_000), (2, 1, 3_000), (1, 7, 1)] {
            let [workers, block_records] = [workers, block_records].map(|n| NonZeroUsize::new(n).unwrap());
            let nominal_rate_per_s = NonZeroU64::new(100).unwrap();
            let stop = LoopStop::Events(events);
            let report =
                run(LoopOptions { workers, block_records, stop, nominal_rate_per_s, generator }, &lexicon);
            for worker in report.workers {
                let inputs = (0..worker.events).map(|index| LineInput {
                    event_time_us: index as i64 * 10_000,
                    line: generator.place_of(worker.first_event as u64 + index),
                });
                let expected = tweets_rows(inputs, generator.texts(), &SCORED, WINDOW.as_micros());
                let found: Vec<TweetsRow> = worker.results.iter().map(row_of).collect();
                compare(&expected, &found).unwrap();
                assert!(events < 3_000 || !expected.is_empty(), "moods change by chance");
            }
        }
    }

    fn row_of(result: &Windowed<(), Mood>) -> TweetsRow {
        let Mood { sentiment: Sentiment { tweets, score }, words } = &result.value;
        TweetsRow {
            window_start_ms: result.window.start.as_micros() / 1_000,
            tweets: *tweets,
            score: *score,
            words: words.iter().map(|(count, word)| (word.to_string(), *count)).collect(),
        }
    }
}
