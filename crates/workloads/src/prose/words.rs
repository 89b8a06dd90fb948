//! The definition of a word: a longest run of letters and apostrophes. Every byte outside ASCII counts as part
//! of a letter. This is the rule of Phoenix, whose word count StreamBox adopted, except that case is kept here.
//!
//! A line is cut in place: a short word is copied out of it, a long one shares its buffer. Nothing is
//! allocated.
//!
//! Source: Ranger et al., "Evaluating MapReduce for Multi-core and Multiprocessor Systems", HPCA 2007, section 4.1; the
//! rule for other languages is ours.

use thalweg_model::Text;

/// Number of bytes of a line that are examined together.
const CHUNK_BYTES: usize = 64;

/// Finds the words of a line, one after the other.
///
/// Words are short and vary in length: a loop that ends at each word is mispredicted at each. So 64 bytes at a
/// time are converted to a bit each, in one pass, and words are runs of bits.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WordFinder {
    /// Position of the first byte of the line that was not examined yet.
    next: usize,
    /// A bit for each of the 64 bytes before `next`: whether it is part of a word that was not found yet.
    bits: u64,
}

impl WordFinder {
    /// Returns the start and the end of the next word of the line. Every call must get the same line.
    #[inline(always)]
    pub(crate) fn next_word(&mut self, line: &[u8]) -> Option<(usize, usize)> {
        while self.bits == 0 {
            if line.len() <= self.next {
                return None;
            }
            self.look(line);
        }
        let first = self.bits.trailing_zeros();
        let count = (self.bits >> first).trailing_ones();
        let start = self.next - CHUNK_BYTES + first as usize;
        if first + count < u64::BITS {
            self.bits &= u64::MAX << (first + count);
            return Some((start, start + count as usize));
        }
        Some((start, self.end_of_word(line)))
    }

    /// Returns the end of a word that reaches the end of the bytes examined so far.
    #[cold]
    fn end_of_word(&mut self, line: &[u8]) -> usize {
        loop {
            let border = self.next;
            self.bits = 0;
            if line.len() <= border {
                return line.len();
            }
            self.look(line);
            let count = self.bits.trailing_ones();
            if count < u64::BITS {
                self.bits &= u64::MAX << count;
                return border + count as usize;
            }
        }
    }

    /// Examines the next 64 bytes of the line.
    #[inline(always)]
    fn look(&mut self, line: &[u8]) {
        let rest = &line[self.next..];
        let chunk: [u8; CHUNK_BYTES] = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut chunk = [b' '; CHUNK_BYTES];
            chunk[..rest.len()].copy_from_slice(rest);
            chunk
        });
        self.bits = word_bits(&chunk);
        self.next += CHUNK_BYTES;
    }
}

/// Returns one bit for each byte of a chunk, which tells whether the byte is part of a word. The first byte
/// has the lowest bit.
#[inline(always)]
fn word_bits(chunk: &[u8; CHUNK_BYTES]) -> u64 {
    let is_word = chunk.map(|byte| {
        let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        u8::from(is_letter | (byte == b'\'') | (128 <= byte))
    });
    let mut bits = 0;
    for (place, eight) in is_word.chunks_exact(8).enumerate() {
        let eight = u64::from_le_bytes(eight.try_into().expect("a chunk of 8 bytes fills a word"));
        // The multiplication gathers the lowest bits of eight bytes: bit `8 n` moves to bit `56 + n`, by the
        // summand 2^(56 - 7 n), and no other product reaches these bits.
        bits |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * place);
    }
    bits
}

/// Returns the words of a borrowed line.
///
/// ```
/// use thalweg_workloads::prose::words_of;
/// let words: Vec<&str> = words_of("Don't, she said: 2 cafés!").collect();
/// assert_eq!(words, ["Don't", "she", "said", "cafés"]);
/// ```
pub fn words_of(line: &str) -> impl Iterator<Item = &str> {
    let mut finder = WordFinder::default();
    std::iter::from_fn(move || {
        let (start, end) = finder.next_word(line.as_bytes())?;
        Some(&line[start..end])
    })
}

/// An iterator over the words of an owned line, the output of a flat map.
#[derive(Clone, Debug)]
pub struct Words {
    line: Text,
    finder: WordFinder,
}

impl Words {
    /// Creates the iterator over the words of `line`.
    #[inline]
    pub fn of(line: Text) -> Self {
        Words { line, finder: WordFinder::default() }
    }
}

impl Iterator for Words {
    type Item = Text;

    #[inline(always)]
    fn next(&mut self) -> Option<Text> {
        let (start, end) = self.finder.next_word(self.line.as_bytes())?;
        Some(self.line.slice(start..end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In any text both ways to find words, in borrowed and in owned lines, give the words of a plain
        /// split.
        #[test]
        fn words_are_runs_of_letters(line in "([a-z'A-Zßé€]{0,30}[ ,.0-9_\t-]{0,3}){0,6}|.{0,40}|[a-z]{50,150} [a-z]{0,80}[@`\\[{]") {
            let is_word = |c: char| c.is_ascii_alphabetic() || c == '\'' || !c.is_ascii();
            let expected: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words_of(&line).collect::<Vec<_>>(), expected.clone());
            let taken: Vec<Text> = Words::of(Text::from(&*line)).collect();
            prop_assert_eq!(taken.iter().map(Text::as_str).collect::<Vec<_>>(), expected);
        }
    }
}
