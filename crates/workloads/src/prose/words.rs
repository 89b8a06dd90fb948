//! What a word is: letters and apostrophes, as long a run of them as there is; every byte outside ASCII counts as part of
//! a letter. As Phoenix has it, whose word count StreamBox took over, but that case is kept.
//!
//! A line is cut where it lies: a short word is copied out of it, a long one shares its buffer. Nothing is allocated.
//!
//! Source: Ranger et al., "Evaluating MapReduce for Multi-core and Multiprocessor Systems", HPCA 2007, section 4.1; the
//! rule for other languages is ours.

use thalweg_model::Text;

/// Whether a byte is part of a word.
const IS_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        is_word[byte] = ascii.is_ascii_alphabetic() || ascii == b'\'' || 128 <= byte;
        byte += 1;
    }
    is_word
};

/// The next word of a line at or behind a place: where it begins, and where it ends.
#[inline(always)]
pub(crate) fn next_word(line: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = &line[from..];
    let blanks = rest.iter().position(|byte| IS_WORD[usize::from(*byte)])?;
    let word = &rest[blanks..];
    let length = word.iter().position(|byte| !IS_WORD[usize::from(*byte)]).unwrap_or(word.len());
    Some((from + blanks, from + blanks + length))
}

/// The words of a line that is only looked at.
///
/// ```
/// use thalweg_workloads::prose::words_of;
/// let words: Vec<&str> = words_of("Don't, she said: 2 cafés!").collect();
/// assert_eq!(words, ["Don't", "she", "said", "cafés"]);
/// ```
pub fn words_of(line: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (start, end) = next_word(line.as_bytes(), from)?;
        from = end;
        Some(&line[start..end])
    })
}

/// The words of a line that is taken: what a flat map makes of it.
#[derive(Clone, Debug)]
pub struct Words {
    line: Text,
    /// Where the rest begins.
    from: usize,
}

impl Words {
    /// The words of `line`.
    #[inline]
    pub fn of(line: Text) -> Self {
        Words { line, from: 0 }
    }
}

impl Iterator for Words {
    type Item = Text;

    #[inline(always)]
    fn next(&mut self) -> Option<Text> {
        let (start, end) = next_word(self.line.as_bytes(), self.from)?;
        self.from = end;
        Some(self.line.slice(start..end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the text, both ways find the same words, and those that a plain split finds.
        #[test]
        fn words_are_runs_of_letters(line in "([a-z'A-Zßé€]{0,30}[ ,.0-9_\t-]{0,3}){0,6}|.{0,40}") {
            let is_word = |c: char| c.is_ascii_alphabetic() || c == '\'' || !c.is_ascii();
            let expected: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words_of(&line).collect::<Vec<_>>(), expected.clone());
            let taken: Vec<Text> = Words::of(Text::from(&*line)).collect();
            prop_assert_eq!(taken.iter().map(Text::as_str).collect::<Vec<_>>(), expected);
        }
    }
}
