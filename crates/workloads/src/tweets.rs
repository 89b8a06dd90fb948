//! Tweets: detects changes in the mood of a stream of tweets, and the words used at those times.
//!
//! ```text
//! source -+-> map(score) -> score per window, 1 s -> changes -----------------------+-> window join, 1 s -> sink
//!         +-> flat_map(words) -> count per word, 1 s -> most frequent of them, 1 s -+
//! ```
//!
//! 1. [`lexicon`]: the scores of words.
//! 2. [`generator()`]: tweets from a seed, with changing mood.
//! 3. [`query`]: the query in the typed interface, eight operators.
//! 4. [`loops`]: the same job without an engine.
//!
//! The results must equal [`crate::reference::tweets`].
//!
//! Source: the StreamBox paper, section 9, "Tweets Sentiment Analysis", which names the two pipelines and the
//! number of transforms, 8. Ours are the size of a significant change, the number of words and the join of the
//! two pipelines. Scores are those of AFINN (Nielsen, "A new ANEW: Evaluation of a word list for sentiment
//! analysis in microblogs", 2011), if a run names a file that has them.

pub mod lexicon;
pub mod loops;
pub mod query;

use serde::{Deserialize, Serialize};
use thalweg_model::{Entropy, SeededEntropy, Span, Text, Windowed};

use crate::prose::TextGenerator;
use crate::prose::generator::Moods;
use crate::prose::vocabulary::Vocabulary;
use crate::reference::tweets::TweetsRow;

pub use lexicon::{Lexicon, LexiconError};

/// Window size of the scores, the words and their join, unless a run asks for another.
pub const WINDOW: Span = Span::from_secs(1);

/// Number of most frequent words that are reported per window.
pub const TOP_WORDS: usize = 10;

/// Change of the mean score between two windows, in hundredths, from which on it is significant.
pub const CHANGE_HUNDREDTHS: i64 = 10;

/// Number of kinds of generated tweets, from sad to happy, and number of tweets of each kind.
const MOODS: usize = 8;
const TWEETS_OF_MOOD: usize = 1 << 13;

/// Number of consecutive tweets of one mood. It is less than the tweets of one second, so that a window has
/// several moods.
const MOOD_RECORDS: u64 = 700_000;

/// Share of the words of a generated tweet that are drawn for their score. Other words may have a score by
/// chance.
const SCORED_SHARE: f64 = 0.1;

/// Returns tweets that follow from a seed: 5 to 20 words each, 5 MB in all.
pub fn generator(seed: u64) -> TextGenerator {
    let vocabulary = Vocabulary::new();
    let mut entropy = SeededEntropy::new(seed);
    let texts = (0..MOODS * TWEETS_OF_MOOD).map(|number| {
        // Successive kinds of tweets differ in mood by several steps, so that the mood changes clearly.
        let mood = number / TWEETS_OF_MOOD * 5 % MOODS;
        let good_share = (mood as f64 + 0.5) / MOODS as f64;
        let mut tweet = String::new();
        for _ in 0..5 + entropy.below(16) {
            let is_scored = entropy.unit() < SCORED_SHARE;
            let is_good = entropy.unit() < good_share;
            let word = match is_scored {
                true => vocabulary.draw_scored(is_good, &mut entropy),
                false => vocabulary.draw(&mut entropy),
            };
            tweet.push_str(word);
            tweet.push(' ');
        }
        tweet.truncate(tweet.len() - 1);
        tweet
    });
    TextGenerator::of(texts).with_moods(Moods { texts: TWEETS_OF_MOOD, records: MOOD_RECORDS })
}

/// Number and total score of some tweets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Sentiment {
    /// Number of tweets whose scores are summed.
    pub tweets: u64,
    /// Sum of the scores of the tweets.
    pub score: i64,
}

impl Sentiment {
    /// Adds a tweet with the given score to the sum.
    #[inline]
    pub(crate) fn add(&mut self, score: i64) {
        self.tweets += 1;
        self.score += score;
    }

    /// Returns whether two mean scores differ by [`CHANGE_HUNDREDTHS`] or more. The comparison is exact,
    /// because it does not divide.
    pub fn differs_from(self, other: Sentiment) -> bool {
        let [ours, theirs] = [self.tweets, other.tweets].map(i128::from);
        let difference = i128::from(self.score) * theirs - i128::from(other.score) * ours;
        100 * difference.abs() >= i128::from(CHANGE_HUNDREDTHS) * ours * theirs
    }
}

/// Result of a window in which the mood of the tweets has changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mood {
    /// Number and total score of the tweets of the window.
    pub sentiment: Sentiment,
    /// The most frequent words with their counts, most frequent first. Among words with equal counts, the one
    /// whose bytes compare greater comes first.
    pub words: Vec<WordCount>,
}

/// The number of occurrences of a word, and the word.
pub type WordCount = (u64, Text);

impl From<&Windowed<(), Mood>> for TweetsRow {
    fn from(result: &Windowed<(), Mood>) -> Self {
        let Mood { sentiment: Sentiment { tweets, score }, words } = &result.value;
        TweetsRow {
            window_start_ms: result.window.start.as_micros().div_euclid(1_000),
            tweets: *tweets,
            score: *score,
            words: words.iter().map(|(count, word)| (word.to_string(), *count)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::vocabulary::SCORED;

    #[test]
    fn moods_differ_and_take_turns() {
        let generator = generator(1);
        let lexicon = Lexicon::of(SCORED).unwrap();
        let mean = |mood: usize| {
            let mut sentiment = Sentiment::default();
            let first = mood as u64 * MOOD_RECORDS;
            for index in first..first + TWEETS_OF_MOOD as u64 {
                sentiment.add(lexicon.score_of(&generator.texts()[generator.place_of(index)]));
            }
            sentiment.score as f64 / sentiment.tweets as f64
        };
        let means: Vec<f64> = (0..MOODS).map(mean).collect();
        assert!(means[0] < -1.0 && means[3] > 1.0, "{means:?}");
        assert!(means.windows(2).all(|two| (two[0] - two[1]).abs() > 0.5), "{means:?}");
    }

    #[test]
    fn a_change_is_significant_from_a_tenth_on() {
        let sentiment = |tweets, score| Sentiment { tweets, score };
        assert!(sentiment(10, 5).differs_from(sentiment(10, 4)));
        assert!(sentiment(10, 4).differs_from(sentiment(20, 10)));
        assert!(!sentiment(100, 50).differs_from(sentiment(100, 41)));
        assert!(!sentiment(1, i64::MAX).differs_from(sentiment(1, i64::MAX)));
        assert!(sentiment(1 << 50, -(1 << 50)).differs_from(sentiment(1 << 50, 1 << 50)));
    }
}
