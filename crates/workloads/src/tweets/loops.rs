//! The ceiling: the query of tweets as a hand-written single-threaded loop, without an engine. It is written in
//! one way, [`LoopKind::Blocks`]: one loop per operator, with rows copied through blocks. Work done once per
//! window is not divided into operators.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

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

/// The hand-written loop for tweets: its stream of tweets, the blocks between its operators, and its windows.
struct Blocks<'a> {
    source: LineSource<'a>,
    lexicon: &'a Lexicon,
    tweets: Vec<Record<&'a str>>,
    scores: Vec<Record<i64>>,
    words: Vec<Record<&'a str>>,
    sentiments: Panes<'a, Sentiment, (Window, Sentiment)>,
    counts: Panes<'a, WordTable<'a>, (Window, Vec<WordCount>)>,
}

impl<'a> Blocks<'a> {
    fn new(source: LineSource<'a>, block_records: usize, lexicon: &'a Lexicon) -> Self {
        let mut before: Option<Sentiment> = None;
        let emit_change = move |window, panes: &[&Sentiment], changes: &mut Vec<_>| {
            for sentiment in panes {
                if before.replace(**sentiment).is_some_and(|before| before.differs_from(**sentiment)) {
                    changes.push((window, **sentiment));
                }
            }
        };
        let emit_words = |window, panes: &[&WordTable<'a>], top_words: &mut Vec<_>| {
            let counts = panes.iter().flat_map(|pane| pane.counts()).map(|(word, count)| (count, word));
            let mut counts: Vec<(u64, &str)> = counts.collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            counts.truncate(TOP_WORDS);
            let words = counts.into_iter().map(|(count, word)| (count, Text::from(word)));
            top_words.push((window, words.collect()));
        };
        Blocks {
            source,
            lexicon,
            tweets: vec![BLANK; block_records],
            scores: vec![Record::new(EventTime::EPOCH, 0); block_records],
            words: vec![BLANK; block_records],
            sentiments: Panes::new(WINDOW, WINDOW, emit_change),
            counts: Panes::new(WINDOW, WINDOW, emit_words),
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
        let top_words = self.counts.finish();
        let meet = |(window, sentiment): (Window, Sentiment)| {
            let (_, words) = top_words.iter().find(|(of, _)| *of == window)?;
            Some(Windowed::on_time(window, (), Mood { sentiment, words: words.clone() }))
        };
        self.sentiments.finish().into_iter().filter_map(meet).collect()
    }
}

/// Map: computes the score of each tweet of a block.
#[inline(never)]
fn score(lexicon: &Lexicon, tweets: &[Record<&str>], scores: &mut [Record<i64>]) {
    for (score, tweet) in scores.iter_mut().zip(tweets) {
        *score = Record::new(tweet.event_time, lexicon.score_of(tweet.value));
    }
}

/// Window: counts tweets and sums their scores in the open pane, which is a whole window here.
#[inline(never)]
fn add_up(pane: &mut Sentiment, scores: &[Record<i64>]) {
    scores.iter().for_each(|score| pane.add(score.value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::ceiling::tests::{Runs, check};
    use crate::prose::vocabulary::SCORED;
    use crate::reference::tweets::tweets_rows;
    use crate::tweets;

    #[test]
    fn results_are_the_reference_s() {
        let lexicon = Lexicon::of(SCORED).unwrap();
        let run = |options: LoopOptions<'_>| run(options, &lexicon);
        // Moods change by chance, so there is a row.
        let runs = Runs { rate_per_s: 100, long: 30_000, short: 3_000, rows_min: 1 };
        check(&tweets::generator(3), runs, run, |inputs, tweets| {
            tweets_rows(inputs, tweets, &SCORED, WINDOW.as_micros())
        });
    }
}
