//! The scores of words, in the format of AFINN's files: a word, a tab and a whole number on each line.
//!
//! The case of ASCII letters does not matter. An entry that is not a single word, such as `can't stand`, never
//! matches, since tweets are cut into words.

use std::fmt;

use thalweg_model::{Coded, Text};

use crate::prose::table::hash;
use crate::prose::words_of;

/// Length of the longest word that may have a score, in bytes.
pub const WORD_BYTES_MAX: usize = 64;

/// Largest absolute value of the score of a word.
pub const SCORE_MAX: i64 = 100;

/// The scores of words, in a hash table with open addressing. At most a quarter of the slots is in use, so
/// that for most words without a score one probe is enough.
#[derive(Clone, Debug)]
pub struct Lexicon {
    /// The slots of the table; their number is a power of two. A free slot has an empty word.
    slots: Vec<(Text, i64)>,
    word_count: usize,
}

/// Reason why the file of a lexicon is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LexiconError {
    /// The line of this number, counted from 1, does not have the form word, tab, score.
    Line(usize),
    /// The word occurs twice, with a score each time.
    Twice(String),
}

impl fmt::Display for LexiconError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LexiconError::Line(line) => write!(
                f,
                "line {line} is not a word of at most {WORD_BYTES_MAX} bytes, a tab and a whole number from -{SCORE_MAX} \
                 to {SCORE_MAX}, as AFINN's files have them"
            ),
            LexiconError::Twice(word) => write!(f, "there are two scores for {word:?}; leave one of them"),
        }
    }
}

impl std::error::Error for LexiconError {}

impl Coded for LexiconError {
    fn code(&self) -> &'static str {
        match self {
            LexiconError::Line(_) => "LEXICON_LINE",
            LexiconError::Twice(_) => "LEXICON_TWICE",
        }
    }
}

impl Lexicon {
    /// Creates a lexicon of the given words and scores.
    ///
    /// # Errors
    /// [`LexiconError::Twice`] if a word has two scores.
    pub fn of<'a>(words: impl IntoIterator<Item = (&'a str, i64)>) -> Result<Self, LexiconError> {
        let words: Vec<(&str, i64)> = words.into_iter().collect();
        let free = (Text::EMPTY, 0);
        let mut lexicon =
            Lexicon { slots: vec![free; (4 * words.len()).next_power_of_two()], word_count: words.len() };
        for (word, score) in words {
            let word = Text::from(word.to_ascii_lowercase());
            let place = lexicon.place_of(word.as_bytes());
            if !lexicon.slots[place].0.is_empty() {
                return Err(LexiconError::Twice(word.to_string()));
            }
            lexicon.slots[place] = (word, score);
        }
        Ok(lexicon)
    }

    /// Parses a lexicon from the text of a file. Empty lines are skipped.
    ///
    /// # Errors
    /// [`LexiconError`], if a line does not have the form, or a word occurs twice.
    pub fn parse(text: &str) -> Result<Self, LexiconError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
        let words: Result<Vec<(&str, i64)>, LexiconError> =
            lines.map(|(number, line)| scored(line).ok_or(LexiconError::Line(number))).collect();
        Lexicon::of(words?)
    }

    /// Returns the number of words that have a score.
    pub fn word_count(&self) -> usize {
        self.word_count
    }

    /// Returns the bytes of the lexicon's table and of the buffers of its words. A buffer that several words
    /// share is counted for each of them.
    pub fn held_bytes(&self) -> usize {
        self.slots.len() * size_of::<(Text, i64)>()
            + self
                .slots
                .iter()
                .filter_map(|(word, _)| word.buffer())
                .map(|buffer| buffer.held_bytes())
                .sum::<usize>()
    }

    /// Returns the sum of the scores of all words of a line.
    #[inline]
    pub fn score_of(&self, line: &str) -> i64 {
        words_of(line).map(|word| self.score_of_word(word.as_bytes())).sum()
    }

    #[inline(always)]
    fn score_of_word(&self, word: &[u8]) -> i64 {
        let mut lower = [0; WORD_BYTES_MAX];
        let Some(lower) = lower.get_mut(..word.len()) else { return 0 };
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        // For a word that is not in the lexicon, a free slot is found, whose score is 0.
        self.slots[self.place_of(lower)].1
    }

    /// Returns the index of the slot of a word, or of the free slot in which the word would be stored.
    #[inline(always)]
    fn place_of(&self, word: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = (hash(word) >> 20) as usize & mask;
        while !self.slots[place].0.as_bytes().is_empty() && self.slots[place].0.as_bytes() != word {
            place = (place + 1) & mask;
        }
        place
    }
}

fn scored(line: &str) -> Option<(&str, i64)> {
    let (word, score) = line.split_once('\t')?;
    let score: i64 = score.parse().ok()?;
    let is_right = !word.is_empty() && word.len() <= WORD_BYTES_MAX && score.abs() <= SCORE_MAX;
    is_right.then_some((word, score))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_scored_whatever_their_case() {
        let lexicon = Lexicon::parse("good\t3\r\nBad\t-3\n\ncan't stand\t-3\nna\u{ef}ve\t-2\n").unwrap();
        assert_eq!(lexicon.word_count(), 4);
        assert_eq!(lexicon.score_of("Good, GOOD and bad; goodness na\u{ef}ve"), 3 + 3 - 3 - 2);
        assert_eq!(lexicon.score_of("can't stand"), 0);
        assert_eq!(lexicon.score_of(&"x".repeat(100)), 0);
        assert_eq!(Lexicon::of([]).unwrap().score_of("good"), 0);
    }

    #[track_caller]
    fn check(text: &str, code: &str) {
        assert_eq!(Lexicon::parse(text).map(|_| ()).unwrap_err().code(), code, "{text:?}");
    }

    #[test]
    fn wrong_lexicons() {
        for text in
            ["good", "good 3", "good\t", "good\t1.5", "\t1", "good\t3\t4", "good\t101", "good\t3\nword"]
        {
            check(text, "LEXICON_LINE");
        }
        check(&format!("{}\t1", "x".repeat(65)), "LEXICON_LINE");
        check("good\t3\nGood\t2", "LEXICON_TWICE");
        assert_eq!(Lexicon::parse(&format!("{}\t1", "x".repeat(64))).unwrap().score_of(&"x".repeat(64)), 1);
    }
}
