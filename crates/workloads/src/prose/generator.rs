//! Lines from a seed: made once into buffers of text, then handed out as places in them.
//!
//! Buffers have 64 KiB: a few hundred short lines share one reference count, and workers that run several queries on one
//! generator rarely meet at it.

use std::fmt;

use thalweg_model::{EventTime, Generate, SeededEntropy, Text, TextBuffer};

use super::vocabulary::Vocabulary;

/// Text of one buffer, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// An endless sequence of texts; it repeats after a power of two of them.
pub struct TextGenerator {
    texts: Box<[Text]>,
    /// In which order they come; none if each comes once, one after the other.
    order: Option<Box<[u32]>>,
    /// Of the buffers that they lie in.
    buffer_bytes: usize,
    /// How many texts in a row are taken in turn, and over how many records; none if all are.
    moods: Option<Moods>,
}

/// Texts of one kind after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moods {
    /// Texts of each kind: a power of two. There is a power of two of kinds.
    pub(crate) texts: usize,
    /// Records of one kind in a row.
    pub(crate) records: u64,
}

impl TextGenerator {
    /// Lines of exactly so many bytes, of words parted by blanks; those of equal seeds are equal.
    ///
    /// # Panics
    /// If `count` is no power of two.
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

    /// These texts, in turn.
    ///
    /// # Panics
    /// If there is no power of two of them.
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

    /// As many of these texts as `count` says, each where `draw` finds it among them; they lie in memory once.
    ///
    /// # Panics
    /// If `count` is no power of two, or `draw` finds one that is not there.
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

    /// Texts after which the sequence repeats.
    pub(crate) fn period(&self) -> usize {
        self.order.as_ref().map_or(self.texts.len(), |order| order.len())
    }

    /// The same texts, one kind after the other.
    pub(crate) fn with_moods(self, moods: Moods) -> Self {
        assert!(moods.texts.is_power_of_two() && moods.texts <= self.period(), "{moods:?}");
        TextGenerator { moods: Some(moods), ..self }
    }

    /// The texts, each once.
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Which of them is the one at an index of the sequence.
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
    /// Without the texts, which would fill a book.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextGenerator").field("texts", &self.texts.len()).finish_non_exhaustive()
    }
}

impl Generate for TextGenerator {
    type Item = Text;

    /// To clone a text from the cache is what it would cost to take it from where it is kept.
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
