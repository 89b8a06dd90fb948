//! Buffers that are filled, shared, and filled again.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Lines, TextBuffer};

/// Buffers that are looked at for each that is asked for, and more only until one is found: a nanosecond or two each,
/// which even with a thousand buffers out is little beside filling one.
pub(super) const LOOKS: usize = 16;

/// Of those that are looked at, so many may have come back and stay for later.
const SPARE_MAX: usize = 4;

/// Buffers of one source: each is drafted, filled and sealed, and comes back when its last text is gone.
///
/// It never waits and never refuses: how many are out depends on what is read of them and not yet dropped. So the bound is
/// the budget that [`held_bytes`](Self::held_bytes) is counted against.
///
/// ```
/// use thalweg_model::TextPool;
/// let mut pool = TextPool::new();
/// let mut draft = pool.draft();
/// let (first, second) = (draft.push("a line that is longer than a word"), draft.push("another"));
/// let buffer = pool.seal(draft);
/// let line = buffer.text(first);
/// drop(buffer);
/// assert!(pool.draft().is_new(), "a text of the first buffer is alive");
/// drop(line);
/// assert!(!pool.draft().is_new());
/// # let _ = second;
/// ```
#[derive(Default)]
pub struct TextPool {
    pub(super) sealed: Vec<TextBuffer>,
    /// The next of them to be looked at.
    next: usize,
    /// Bytes of all that are sealed.
    bytes: usize,
}

impl TextPool {
    /// A pool without buffers.
    pub fn new() -> Self {
        TextPool::default()
    }

    /// An empty draft: a buffer that has come back, or a new one. Where more have come back than a steady stream needs,
    /// some are dropped, so that a burst leaves nothing behind.
    pub fn draft(&mut self) -> TextDraft {
        let mut found: Option<TextBuffer> = None;
        let mut spare = 0;
        for look in 0..self.sealed.len() {
            if look >= LOOKS && found.is_some() {
                break;
            }
            if self.next >= self.sealed.len() {
                self.next = 0;
            }
            // Nobody can clone the handle meanwhile: this is the only one.
            let is_free = Arc::get_mut(&mut self.sealed[self.next].0).is_some();
            spare += usize::from(is_free && found.is_some());
            if !is_free || (found.is_some() && spare <= SPARE_MAX) {
                self.next += 1;
                continue;
            }
            let buffer = self.sealed.swap_remove(self.next);
            self.bytes -= buffer.held_bytes();
            if found.is_none() {
                found = Some(buffer);
            }
        }
        let Some(mut buffer) = found else { return TextDraft { shell: None, text: String::new() } };
        let lines = Arc::get_mut(&mut buffer.0).expect("a buffer that was found free has one handle");
        let mut text = std::mem::take(&mut lines.text);
        text.clear();
        TextDraft { shell: Some(buffer), text }
    }

    /// Makes a buffer of a draft; the pool keeps a handle of it.
    ///
    /// # Panics
    /// If it holds more than [`TextBuffer::BYTES_MAX`].
    pub fn seal(&mut self, draft: TextDraft) -> TextBuffer {
        let TextDraft { shell, text } = draft;
        let buffer = match shell {
            Some(mut shell) if text.len() <= TextBuffer::BYTES_MAX => {
                Arc::get_mut(&mut shell.0).expect("a draft holds the only handle of its buffer").text = text;
                shell
            }
            _ => TextBuffer::of(text),
        };
        self.bytes += buffer.held_bytes();
        self.sealed.push(buffer.clone());
        buffer
    }

    /// Bytes of all buffers, filled or free, and of what is kept of them here.
    pub fn held_bytes(&self) -> usize {
        self.bytes + self.sealed.capacity() * size_of::<TextBuffer>()
    }
}

impl fmt::Debug for TextPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buffers, bytes) = (self.sealed.len(), self.bytes);
        f.debug_struct("TextPool").field("buffers", &buffers).field("bytes", &bytes).finish_non_exhaustive()
    }
}

/// A buffer that is being filled.
pub struct TextDraft {
    /// What counts those who share it, if it was a buffer before; its text is taken out.
    shell: Option<TextBuffer>,
    text: String,
}

impl TextDraft {
    /// Takes in a line, or what is wanted of it; where it will lie in the buffer.
    #[inline]
    pub fn push(&mut self, line: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(line);
        start..self.text.len()
    }

    /// Bytes of text.
    #[inline]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Makes room for so many bytes in all.
    pub fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes.saturating_sub(self.text.len()));
    }

    /// Whether it was no buffer before.
    pub fn is_new(&self) -> bool {
        self.shell.is_none()
    }

    /// Bytes that it takes, whatever they are used for.
    pub fn held_bytes(&self) -> usize {
        size_of::<Lines>() + self.text.capacity()
    }
}

impl fmt::Debug for TextDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextDraft").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}
