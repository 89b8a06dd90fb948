//! Text of any length as a record's value: a short text is in the value itself, a long one in a shared buffer.
//!
//! ```text
//!   Text, 24 bytes | length, up to 22 bytes of text |            a word: copied, compared and dropped in place
//!   Text, 24 bytes | length | buffer | offset |                  a line, or a part of one
//!                                |
//!                                v
//!   TextBuffer | count | whole lines, one behind the other ... |  read, checked to be UTF-8 and kept once
//! ```
//!
//! A line is read once, into a buffer. After that only its parts of up to [`INLINE_BYTES_MAX`] bytes are copied:
//! they are in the [`Text`] itself. So a word or another key is cut out of a line without touching the reference
//! count of the buffer, which every core with one of its lines would write. And a short key that is kept for long
//! does not keep a buffer of long lines alive.
//!
//! A buffer is reused when its last text is dropped. A reader that fills buffers has a [`TextPool`], which keeps a
//! handle of each buffer and takes back those without other handles. The bytes of all its buffers are counted
//! ([`TextPool::held_bytes`]), also of those that texts downstream keep alive: they count against the source's
//! budget as long as it lives.
//!
//! Source: short texts in place are Neumann and Freitag, "Umbra: A Disk-Based System with In-Memory Performance",
//! CIDR 2020, section 3.1; theirs have 16 bytes, which safe code cannot have. Counted buffers are ours.

mod pool;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Deref, RangeBounds};
use std::sync::Arc;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use pool::{TextDraft, TextPool};

/// Maximum length in bytes of a text that is stored in the [`Text`] itself instead of a buffer.
pub const INLINE_BYTES_MAX: usize = 22;

/// Immutable text. It compares, orders, hashes and prints as its `str`. A clone of a short text is a plain copy; a
/// clone of a long one increments a reference count.
///
/// ```
/// use thalweg_model::{Text, TextBuffer};
/// let line = TextBuffer::new("the deepest line along a valley floor".to_owned()).all();
/// let word = line.slice(4..11);
/// assert_eq!(word, "deepest");
/// assert!(word < line && word.len() == 7);
/// ```
#[derive(Clone)]
pub struct Text(Form);

#[derive(Clone)]
enum Form {
    /// A short text in place: the first `length` of these bytes.
    Inline { length: u8, bytes: [u8; INLINE_BYTES_MAX] },
    /// A long text in a shared buffer: `length` bytes of the buffer, from byte `offset` on.
    Shared { length: u32, buffer: TextBuffer, offset: u32 },
}

const _: () = assert!(size_of::<Text>() == 24 && size_of::<Option<(Text, u64)>>() == 32);

impl Text {
    /// The empty text.
    pub const EMPTY: Text = Text(Form::Inline { length: 0, bytes: [0; INLINE_BYTES_MAX] });

    /// Returns the text as a `str`, without copying.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // The bytes are checked to be UTF-8 again at each call, because safe code cannot skip the check.
            // For texts this short it costs a few nanoseconds. Comparing and hashing use the bytes and need
            // no check.
            Form::Inline { .. } => {
                str::from_utf8(self.as_bytes()).expect("an inline text holds whole characters")
            }
            Form::Shared { length, buffer, offset } => &buffer.0.text[span(*offset, *length)],
        }
    }

    /// Returns the bytes of the text in UTF-8, without copying.
    #[inline(always)]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Form::Shared { length, buffer, offset } => &buffer.0.text.as_bytes()[span(*offset, *length)],
        }
    }

    /// Returns the length of the text in bytes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "str has it, to which it dereferences")]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Inline { length, .. } => usize::from(*length),
            Form::Shared { length, .. } => *length as usize,
        }
    }

    /// Returns a part of the text; the range is in bytes. A long part shares the buffer.
    ///
    /// # Panics
    /// If the range is not in the text, or begins or ends within a character.
    #[inline(always)]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Text {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last + 1,
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len(),
        };
        match &self.0 {
            Form::Inline { .. } => Text::inline(&self.as_str()[start..end]),
            Form::Shared { buffer, offset, length } => {
                assert!(end <= *length as usize, "part {start}..{end} of a text of {length} bytes");
                buffer.text(*offset as usize + start..*offset as usize + end)
            }
        }
    }

    /// Returns the same text without a shared buffer: a long text gets a buffer of its own. Meant for texts
    /// that are kept for long, so that they do not keep a whole buffer alive.
    pub fn detached(&self) -> Text {
        match &self.0 {
            Form::Inline { .. } => self.clone(),
            Form::Shared { .. } => Text::from(self.as_str()),
        }
    }

    /// Returns the buffer that contains the text; `None` if the text is stored in the value itself.
    pub fn buffer(&self) -> Option<&TextBuffer> {
        match &self.0 {
            Form::Inline { .. } => None,
            Form::Shared { buffer, .. } => Some(buffer),
        }
    }

    fn inline(text: &str) -> Text {
        let mut bytes = [0; INLINE_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Text(Form::Inline { length: text.len() as u8, bytes })
    }

    /// Returns the first `length` of the given bytes as a text. All bytes are copied, and those after the end
    /// are cleared. A copy whose length is unknown at compile time would be a call and a mispredicted branch.
    #[inline(always)]
    fn beginning(bytes: &[u8; INLINE_BYTES_MAX], length: usize) -> Text {
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of 8 bytes fills a word"))
        };
        // A mask of the lowest `8 * count` bits; `count` may be 0 and may be more than the 8 bytes of a word.
        let below = |count: usize| if count < 8 { (1u64 << (8 * count)) - 1 } else { u64::MAX };
        let words = [
            word(0) & below(length),
            word(8) & below(length.saturating_sub(8)),
            (word(INLINE_BYTES_MAX - 8) >> 16) & below(length.saturating_sub(16)),
        ];
        let mut beginning = [0; INLINE_BYTES_MAX];
        beginning[..8].copy_from_slice(&words[0].to_le_bytes());
        beginning[8..16].copy_from_slice(&words[1].to_le_bytes());
        beginning[16..].copy_from_slice(&words[2].to_le_bytes()[..6]);
        Text(Form::Inline { length: length as u8, bytes: beginning })
    }
}

#[inline]
fn span(offset: u32, length: u32) -> std::ops::Range<usize> {
    offset as usize..offset as usize + length as usize
}

impl Default for Text {
    fn default() -> Self {
        Text::EMPTY
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    #[inline]
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    #[inline]
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Text {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // The bytes after the end of a short text are all zero, so the whole arrays can be compared.
            (Form::Inline { length, bytes }, Form::Inline { length: other_length, bytes: other }) => {
                length == other_length && bytes == other
            }
            _ => self.as_bytes() == other.as_bytes(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Ord for Text {
    /// Compares two texts byte by byte, as `str` does.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Text {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Text {
    /// Hashes a text as `str` does, which [`Borrow`] requires: the bytes, then 0xff, which no text contains.
    /// A test checks this.
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(self.as_bytes());
        hasher.write_u8(0xff);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl From<&str> for Text {
    /// Stores a short text in the value itself, and a long one in a buffer of its own.
    fn from(text: &str) -> Self {
        if text.len() <= INLINE_BYTES_MAX {
            Text::inline(text)
        } else {
            TextBuffer::new(text.to_owned()).all()
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() <= INLINE_BYTES_MAX { Text::inline(&text) } else { TextBuffer::new(text).all() }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Text {
    /// Reads a text and stores it in the value itself if it is short. Each long text gets a buffer of its
    /// own.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        impl Visitor<'_> for AnyText {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
        }
        deserializer.deserialize_str(AnyText)
    }
}

/// A text buffer: consecutive lines, of which texts are parts. It lives as long as any of its texts or
/// handles.
#[derive(Clone)]
pub struct TextBuffer(Arc<Lines>);

struct Lines {
    text: String,
}

impl TextBuffer {
    /// Maximum size of a buffer in bytes, because offsets have 32 bits.
    pub const BYTES_MAX: usize = u32::MAX as usize;

    /// Creates a buffer of this text, without spare capacity.
    ///
    /// # Panics
    /// If the text is longer than [`BYTES_MAX`](Self::BYTES_MAX).
    pub fn new(mut text: String) -> Self {
        text.shrink_to_fit();
        TextBuffer::of(text)
    }

    fn of(text: String) -> Self {
        assert!(
            text.len() <= Self::BYTES_MAX,
            "a buffer of {} bytes is above what places can say",
            text.len()
        );
        TextBuffer(Arc::new(Lines { text }))
    }

    /// Returns a part of the buffer as a text; the range is in bytes.
    ///
    /// # Panics
    /// If the range is not in the buffer, or begins or ends within a character.
    #[inline(always)]
    pub fn text(&self, range: std::ops::Range<usize>) -> Text {
        let part = &self.0.text[range.clone()];
        if part.len() <= INLINE_BYTES_MAX {
            let behind = self.0.text.as_bytes()[range.start..].first_chunk();
            return behind.map_or_else(|| Text::inline(part), |bytes| Text::beginning(bytes, part.len()));
        }
        Text(Form::Shared { length: part.len() as u32, buffer: self.clone(), offset: range.start as u32 })
    }

    /// Returns the whole content of the buffer as one text.
    pub fn all(&self) -> Text {
        self.text(0..self.0.text.len())
    }

    /// Returns the whole content of the buffer as a `str`.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns the bytes of memory that the buffer takes, used or not.
    pub fn held_bytes(&self) -> usize {
        size_of::<Lines>() + self.0.text.capacity()
    }
}

impl fmt::Debug for TextBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextBuffer").field("bytes", &self.0.text.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
