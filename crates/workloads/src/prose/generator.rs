//! Lines from a seed: they are made once into buffers of text, and returned as slices of these buffers.
//!
//! Buffers have 64 KiB: a few hundred short lines share one reference count, and workers that run several
//! queries on one generator rarely contend for it.

use std::fmt;

use thalweg_model::{EventTime, Generate, SeededEntropy, Text, TextBuffer};

use super::vocabulary::Vocabulary;

/// Size of the text of one buffer, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// An endless sequence of generated texts, which repeats after a power of two of them.
pub struct TextGenerator {
    texts: Box<[Text]>,
    /// Indexes of the texts in the order of the sequence; `None` if the texts follow each other once per
    /// period.
    order: Option<Box<[u32]>>,
    /// Bytes of the buffers that hold the texts.
    buffer_bytes: usize,
    /// Division of the sequence into kinds of text that follow each other; `None` if there are no kinds.
    moods: Option<Moods>,
}

/// Division of a sequence of texts into kinds, such as moods of tweets, one kind after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moods {
    /// Number of texts of each kind, a power of two. The number of kinds is a power of two as well.
    pub(crate) texts: usize,
    /// Number of consecutive records that have texts of one kind.
    pub(crate) records: u64,
}

impl TextGenerator {
    /// Creates `count` lines of exactly `line_bytes` bytes, made of words separated by blanks; equal seeds give
    /// equal lines.
    ///
    /// # Panics
    /// If `count` is not a power of two.
    pub fn prose(seed: u64, line_bytes: usize, count: usize) -> Self {
        let vocabulary = Vocabulary::new();
        let mut entropy = SeededEntropy::new(seed);
        let mut line = String::with_capacity(line_bytes + 32);
        TextGenerator::of((0..count).map(|_| {
            line.clear();
            while line.len() < line_bytes {
                let word = vocabulary.draw(&mut entropy);
                if line_bytes < line.len() + word.len() {
                    line.extend(std::iter::repeat_n(' ', line_bytes - line.len()));
                    break;
                }
                line.push_str(word);
                line.push(' ');
            }
            line.truncate(line_bytes);
            line.clone()
        }))
    }

    /// Creates a generator that returns these texts in turn.
    ///
    /// # Panics
    /// If the number of texts is not a power of two.
    pub(crate) fn of(texts: impl Iterator<Item = String>) -> Self {
        let (mut made, mut buffer_bytes) = (Vec::new(), 0);
        let (mut lines, mut ends) = (String::new(), Vec::new());
        let mut seal = |lines: &mut String, ends: &mut Vec<usize>| {
            let buffer = TextBuffer::new(std::mem::take(lines));
            buffer_bytes += buffer.held_bytes();
            let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
            made.extend(starts.into_iter().zip(ends.drain(..)).map(|(start, end)| buffer.text(start..end)));
        };
        for text in texts {
            if BUFFER_BYTES < lines.len() + text.len() {
                seal(&mut lines, &mut ends);
            }
            lines.push_str(&text);
            ends.push(lines.len());
        }
        seal(&mut lines, &mut ends);
        TextGenerator::in_turn(made, buffer_bytes)
    }

    /// Returns a generator whose period is `count` of these texts, each chosen by the index that `draw`
    /// returns. Each text is in memory only once.
    ///
    /// # Panics
    /// If `count` is not a power of two, or `draw` returns an index out of range.
    pub(crate) fn drawn(self, count: usize, mut draw: impl FnMut() -> usize) -> Self {
        assert!(count.is_power_of_two(), "{count} texts are no power of two");
        let place = |at: usize| {
            assert!(at < self.texts.len(), "text {at} of {}", self.texts.len());
            u32::try_from(at).expect("there are fewer texts than bytes of them")
        };
        let order = (0..count).map(|_| place(draw())).collect();
        TextGenerator { order: Some(order), ..self }
    }

    fn in_turn(texts: Vec<Text>, buffer_bytes: usize) -> Self {
        assert!(texts.len().is_power_of_two(), "{} texts are no power of two", texts.len());
        TextGenerator { texts: texts.into(), order: None, buffer_bytes, moods: None }
    }

    /// Returns the number of texts after which the sequence repeats.
    pub(crate) fn period(&self) -> usize {
        self.order.as_ref().map_or(self.texts.len(), |order| order.len())
    }

    /// Returns a generator of the same texts in which one kind of text follows the other.
    pub(crate) fn with_moods(self, moods: Moods) -> Self {
        assert!(moods.texts.is_power_of_two() && moods.texts <= self.period(), "{moods:?}");
        TextGenerator { moods: Some(moods), ..self }
    }

    /// Returns the different texts of the generator, each once.
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Returns the index, in [`texts`](Self::texts), of the text that the sequence has at `index`.
    #[inline(always)]
    pub fn place_of(&self, index: u64) -> usize {
        let place = match self.moods {
            None => index as usize,
            Some(Moods { texts, records }) => {
                (index / records) as usize * texts + (index as usize & (texts - 1))
            }
        };
        match &self.order {
            None => place & (self.texts.len() - 1),
            Some(order) => order[place & (order.len() - 1)] as usize,
        }
    }
}

impl fmt::Debug for TextGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextGenerator").field("texts", &self.texts.len()).finish_non_exhaustive()
    }
}

impl Generate for TextGenerator {
    type Item = Text;

    /// Making a value is cheap: cloning a text from the cache costs as much as taking it from a buffer.
    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Text {
        self.texts[self.place_of(index)].clone()
    }

    fn cache_bytes(&self) -> usize {
        let order_bytes = self.order.as_ref().map_or(0, |order| size_of_val(&**order));
        size_of_val(&*self.texts) + order_bytes + self.buffer_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_length_and_follow_from_the_seed() {
        let generator = TextGenerator::prose(7, 100, 1 << 10);
        assert!(generator.texts().iter().all(|line| line.len() == 100));
        let words: usize = generator.texts().iter().map(|line| super::super::words_of(line).count()).sum();
        assert!((16_000..24_000).contains(&words), "{words} words");
        let texts = |seed| TextGenerator::prose(seed, 100, 1 << 10).texts;
        assert!(texts(7) == texts(7) && texts(7) != texts(8));
        assert_eq!(generator.value(1_024 + 5, EventTime::EPOCH), generator.texts()[5]);
        let text_bytes = 1_024 * 100;
        assert!((text_bytes..text_bytes + 200).contains(&generator.buffer_bytes));
    }

    #[test]
    fn moods_take_turns() {
        let generator =
            TextGenerator::of((0..8).map(|n| n.to_string())).with_moods(Moods { texts: 2, records: 5 });
        let drawn: String =
            (0..24).map(|index| generator.value(index, EventTime::EPOCH).to_string()).collect();
        assert_eq!(drawn, "010103232345454767670101");
    }
}
