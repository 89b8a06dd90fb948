//! Tweets in the typed interface, eight operators: a pipeline of scores and one of words share the source, and
//! their results are joined by window.

use std::num::NonZeroUsize;
use std::sync::Arc;

use thalweg::{
    Count, Fold, KeyedProcess, ProcessContext, Query, Record, Sink, Source, Text, TopN, TumblingWindows,
    WatermarkStrategy, Windowed, of,
};

use super::lexicon::Lexicon;
use super::{Mood, Sentiment, TOP_WORDS, WordCount};
use crate::prose::Words;

/// Adds the query of tweets to `query`: windows in which the mood has changed go to `sink`.
pub fn moods_and_words<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    lexicon: Arc<Lexicon>,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<(), Mood>> + 'static,
{
    let tweets = query.splits("source", splits, strategy).share();
    let changes = tweets
        .branch()
        .map(move |tweet| lexicon.score_of(&tweet))
        .name("score")
        .key_by(|_| ())
        .tumbling(windows)
        .aggregate(ScoreSum)
        .name("sentiment")
        .key_by(|_| ())
        .process(Changes)
        .name("changes");
    let top_words = tweets
        .branch()
        .flat_map(Words::of)
        .name("words")
        .key_by(Text::clone)
        .tumbling(windows)
        .aggregate(Count)
        .name("word counts")
        .key_by(|_| ())
        .tumbling(windows)
        .aggregate(of(
            |word: &Windowed<Text, u64>| (word.value, word.key.clone()),
            TopN::new(
                NonZeroUsize::new(TOP_WORDS).expect("a ranking has one place or more"),
                |(count, _): &WordCount| *count,
            ),
        ))
        .name("top words");
    changes
        .key_by(|sentiment| sentiment.window.start)
        .join(top_words.key_by(|words| words.window.start))
        .tumbling(windows)
        .inner(|sentiment, words| {
            let mood = Mood { sentiment: sentiment.value, words: words.value.clone() };
            Windowed::on_time(sentiment.window, (), mood)
        })
        .name("moods")
        .sink("sink", sink);
}

/// An aggregate that counts tweets and sums their scores.
#[derive(Clone, Copy, Debug)]
struct ScoreSum;

impl Fold<i64> for ScoreSum {
    type Accumulator = Sentiment;
    type Result = Sentiment;

    fn create(&self) -> Sentiment {
        Sentiment::default()
    }

    #[inline]
    fn fold(&self, accumulator: &mut Sentiment, score: &i64) {
        accumulator.add(*score);
    }

    fn merge(&self, accumulator: &mut Sentiment, other: Sentiment) {
        accumulator.tweets += other.tweets;
        accumulator.score += other.score;
    }

    fn finish(&self, accumulator: Sentiment) -> Sentiment {
        accumulator
    }
}

/// Forwards the score of a window if it differs significantly from the score of the previous window. Windows
/// of one key come in the order of their ends.
#[derive(Clone, Copy, Debug)]
struct Changes;

impl KeyedProcess<(), Windowed<(), Sentiment>> for Changes {
    /// Number and total score of the tweets of the previous window; `None` before the first.
    type State = Option<Sentiment>;
    type Out = Windowed<(), Sentiment>;

    fn on_record(
        &self,
        _key: &(),
        record: Record<Windowed<(), Sentiment>>,
        context: &mut ProcessContext<'_, (), Option<Sentiment>, Windowed<(), Sentiment>>,
    ) {
        let before = context.state().replace(record.value.value);
        if before.is_some_and(|before| before.differs_from(record.value.value)) {
            context.emit(record.value);
        }
    }
}
