//! The words of generated text, with their frequencies.
//!
//! The most frequent words are English ones; the others are made of syllables, each different. Frequencies
//! follow Zipf's law: the word of rank `rank` has a frequency proportional to `1 / rank`, to a good
//! approximation.
//!
//! Source: Zipf, "Human Behavior and the Principle of Least Effort", 1949, chapter 2. Words and scores are
//! ours: no foreign lexicon is embedded here.

use std::fmt::Write;

use thalweg_model::Entropy;

/// Largest number of different words in generated text. There may be fewer, because a few words made of
/// syllables may be English words.
pub const WORD_COUNT: usize = 10_000;

/// The first words of the vocabulary, the most frequent one first.
const COMMON: &str = "the of and to a in that he was it his is with as had i for at her on not be you she but have \
                      him from which all my by they so me this said were one there if or would when no what been an \
                      their who out up them more into then will we like just day time new now today about people \
                      know see get go home work night morning week city street game team play show watch read book \
                      film music phone food coffee train rain sun water road house school friend family world life";

/// Words that express a feeling, each with its score from -5 to 5: the lexicon of generated tweets. In the
/// vocabulary they follow the common words.
pub const SCORED: [(&str, i64); 48] = [
    ("good", 3),
    ("bad", -3),
    ("love", 3),
    ("hate", -3),
    ("happy", 3),
    ("sad", -2),
    ("great", 3),
    ("awful", -3),
    ("nice", 3),
    ("poor", -2),
    ("best", 3),
    ("worst", -3),
    ("fun", 4),
    ("boring", -3),
    ("win", 4),
    ("lost", -3),
    ("thanks", 2),
    ("sorry", -1),
    ("hope", 2),
    ("fear", -2),
    ("cool", 1),
    ("angry", -3),
    ("lovely", 3),
    ("ugly", -3),
    ("enjoy", 2),
    ("suffer", -2),
    ("bright", 1),
    ("gloomy", -2),
    ("calm", 2),
    ("panic", -3),
    ("amazing", 4),
    ("terrible", -3),
    ("superb", 5),
    ("horrible", -3),
    ("brave", 2),
    ("cruel", -3),
    ("clean", 2),
    ("dirty", -2),
    ("strong", 2),
    ("weak", -2),
    ("proud", 2),
    ("guilty", -3),
    ("rich", 2),
    ("broke", -1),
    ("safe", 1),
    ("danger", -2),
    ("cheerful", 2),
    ("hopeless", -2),
];

/// Words that the workload `grep` searches for. Each of them is about one in 10,000 words. The first one has
/// the rank `SOUGHT_RANK`.
pub const SOUGHT: [&str; 3] = ["excellent", "wonderful", "perfect"];
const SOUGHT_RANK: usize = 1_000;

/// The words of generated text, in the order of their ranks.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    words: Vec<String>,
    /// Index of the first word that has a score.
    scored: usize,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Vocabulary::new()
    }
}

impl Vocabulary {
    /// Creates the vocabulary of all words.
    pub fn new() -> Self {
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        let scored = words.len();
        words.extend(SCORED.iter().map(|(word, _)| (*word).to_owned()));
        for number in words.len()..WORD_COUNT {
            words.push(of_syllables(number));
        }
        for (rank, word) in (SOUGHT_RANK..).zip(SOUGHT) {
            word.clone_into(&mut words[rank]);
        }
        Vocabulary { words, scored }
    }

    /// Draws a word at random, by its frequency.
    pub fn draw(&self, entropy: &mut impl Entropy) -> &str {
        // For a uniform `u`, `ranks^u - 1` is below `rank` with a probability of `ln(rank + 1) / ln(ranks)`.
        let ranks = (self.words.len() + 1) as f64;
        let rank = ranks.powf(entropy.unit()) as usize - 1;
        &self.words[rank.min(self.words.len() - 1)]
    }

    /// Draws a word with a score above zero; if not `is_good`, one with a score below zero.
    pub fn draw_scored(&self, is_good: bool, entropy: &mut impl Entropy) -> &str {
        // In the list, words with a score above zero alternate with words with a score below zero.
        let pairs = SCORED.len() as u64 / 2;
        let place = 2 * entropy.below(pairs) as usize + usize::from(!is_good);
        &self.words[self.scored + place]
    }
}

/// Returns a word of 4 to 9 letters, which is different for each number below 10,000.
fn of_syllables(number: usize) -> String {
    let mut word = String::new();
    for digits in [number / 100, number % 100] {
        let (consonant, vowel) = (b"bcdfghjklmnprstvwxyz"[digits / 5 % 20], b"aeiou"[digits % 5]);
        write!(word, "{}{}", char::from(consonant), char::from(vowel))
            .expect("a string takes all that is written");
    }
    word + ["", "n", "ring", "st", "tion"][number % 5]
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use thalweg_model::SeededEntropy;

    use super::*;

    #[test]
    fn words_are_different_and_in_their_places() {
        let vocabulary = Vocabulary::new();
        let different: HashSet<&String> = vocabulary.words.iter().collect();
        assert!(different.len() > WORD_COUNT - 10 && vocabulary.words.len() == WORD_COUNT);
        assert!(vocabulary.scored + SCORED.len() < SOUGHT_RANK);
        let mut entropy = SeededEntropy::new(1);
        for (is_good, sign) in [(true, 1), (false, -1)] {
            let word = vocabulary.draw_scored(is_good, &mut entropy);
            let score = SCORED.iter().find(|(scored, _)| *scored == word).unwrap().1;
            assert_eq!(score.signum(), sign, "{word}");
        }
    }

    /// Words have frequencies by Zipf's law: the first word is about twice as frequent as the second, ten
    /// times as frequent as the tenth.
    #[test]
    fn frequencies_are_zipf_s() {
        let vocabulary = Vocabulary::new();
        let mut entropy = SeededEntropy::new(3);
        let mut counts: HashMap<&str, f64> = HashMap::new();
        (0..200_000).for_each(|_| *counts.entry(vocabulary.draw(&mut entropy)).or_default() += 1.0);
        let times = |rank: usize| counts["the"] / counts[&*vocabulary.words[rank - 1]];
        assert!((1.6..1.8).contains(&times(2)), "{}", times(2));
        assert!((6.5..8.0).contains(&times(10)), "{}", times(10));
        assert!(counts.len() > 8_000, "{} words", counts.len());
    }
}
