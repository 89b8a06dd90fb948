//! Reference results of tweets: windows whose mean score has changed, with their most frequent words.
//!
//! The rules: words are those of [`super::wordcount`]. The score of a tweet is the sum of the scores of its
//! words, with the case of ASCII letters ignored. Windows lie back to back. A window has a row if its mean
//! score differs by 0.1 or more from that of the last window before it with a tweet; the first window has none.
//! Its words are the ten most frequent; among equally frequent ones, the words whose bytes compare greater. A
//! window without a word has no row. No record is late.

use std::collections::{BTreeMap, HashMap};

use super::lines::{LineInput, parts_per_window};
use super::wordcount::words;
use super::{Row, Windows};

/// One row of the results of tweets; the fields are the columns of `tweets.csv`, where words are written as
/// `word:count` with blanks between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TweetsRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number of tweets in the window.
    pub tweets: u64,
    /// Sum of the scores of the tweets in the window.
    pub score: i64,
    /// The most frequent words and their counts, the most frequent one first.
    pub words: Vec<(String, u64)>,
}

impl Row for TweetsRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.window_start_ms
    }
}

/// A part of a tweet that is counted in each window: the tweet itself, a score, or a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part<'a> {
    Tweet,
    /// The score of one word of the tweet.
    Score(i64),
    Word(&'a str),
}

/// Returns the results for the tweets `inputs`, ordered by window; each input refers to one of `tweets`, and
/// `lexicon` has the scores of words.
///
/// # Panics
/// If the windows overlap, or their size is not a positive number of whole milliseconds.
pub fn tweets_rows(
    inputs: impl Iterator<Item = LineInput>,
    tweets: &[impl AsRef<str>],
    lexicon: &[(&str, i64)],
    windows: impl Into<Windows>,
) -> Vec<TweetsRow> {
    let windows = windows.into();
    windows.assert_whole(1_000, "milliseconds");
    assert_eq!(windows.size_us, windows.slide_us, "windows lie back to back");
    let scores: HashMap<String, i64> =
        lexicon.iter().map(|(word, score)| (word.to_ascii_lowercase(), *score)).collect();
    let parts = parts_per_window(inputs, windows, |line| {
        let mut parts = vec![Part::Tweet];
        for word in words(tweets[line].as_ref()) {
            parts.push(Part::Word(word));
            parts.extend(scores.get(&word.to_ascii_lowercase()).map(|score| Part::Score(*score)));
        }
        parts
    });
    let mut by_window: BTreeMap<i64, (u64, i64, Vec<(u64, &str)>)> = BTreeMap::new();
    for ((start_us, part), times) in parts {
        let (tweets, score, words) = by_window.entry(start_us).or_default();
        match part {
            Part::Tweet => *tweets += times,
            Part::Score(of_word) => *score += of_word * times as i64,
            Part::Word(word) => words.push((times, word)),
        }
    }
    let mut rows = Vec::new();
    let mut before: Option<(u64, i64)> = None;
    for (start_us, (tweets, score, mut words)) in by_window {
        let last = before.replace((tweets, score));
        let has_changed = last.is_some_and(|(tweets_before, score_before)| {
            let [now, then] = [i128::from(tweets), i128::from(tweets_before)];
            // Compares mean scores: |score / now - score_before / then| >= 0.1, without a division. Here
            // `now` and `then` are numbers of tweets.
            10 * (i128::from(score) * then - i128::from(score_before) * now).abs() >= now * then
        });
        if has_changed && !words.is_empty() {
            words.sort_by(|one, other| other.cmp(one));
            words.truncate(10);
            let words = words.into_iter().map(|(count, word)| (word.to_owned(), count)).collect();
            rows.push(TweetsRow { window_start_ms: start_us / 1_000, tweets, score, words });
        }
    }
    rows
}

/// Returns the lexicon in the text of a file: a word, a tab and its score on each line. Other lines are
/// skipped.
pub fn lexicon_of_lines(text: &str) -> Vec<(&str, i64)> {
    let scored = |line| {
        let (word, score): (&str, &str) = str::split_once(line, '\t')?;
        Some((word, score.parse().ok()?))
    };
    text.lines().filter_map(scored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_with_their_words() {
        let tweets = ["good day", "Bad day, bad", "...", "a day"];
        let lexicon = lexicon_of_lines("good\t3\nbad\t-3\nwrong line\nday\tx\n");
        assert_eq!(lexicon, [("good", 3), ("bad", -3)]);
        let inputs =
            [(0, 0), (1_000, 1), (1_500, 0), (2_000, 2), (3_000, 1), (5_000, 1), (6_000, 3), (6_100, 3)];
        let inputs = inputs.into_iter().map(|(event_time_us, line)| LineInput { event_time_us, line });
        let rows = tweets_rows(inputs, &tweets, &lexicon, 1_000);
        let shown: Vec<String> = rows
            .iter()
            .map(|row| {
                let words = row.words.iter().map(|(word, count)| format!("{word}:{count}"));
                let words = words.collect::<Vec<_>>().join(" ");
                format!("{}: {} of {}, {words}", row.window_start_ms, row.score, row.tweets)
            })
            .collect();
        let expected =
            ["1: -3 of 2, day:2 good:1 bad:1 Bad:1", "3: -6 of 1, day:1 bad:1 Bad:1", "6: 0 of 2, day:2 a:2"];
        assert_eq!(shown, expected);
    }
}
