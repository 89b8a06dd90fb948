//! A pool of text buffers, which are filled, shared, and filled again when no text needs them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Lines, TextBuffer};

/// Least number of buffers, if there are so many, that each call of [`TextPool::draft`] inspects. If none of
/// them is free, the call inspects more until it finds a free one. One inspection takes a nanosecond or two,
/// so even with 1,000 buffers in use it costs little beside filling one.
pub(super) const LOOKS: usize = 16;

/// Number of free buffers that stay in the pool for later, when more free buffers are found than are needed.
const SPARE_MAX: usize = 4;

/// Buffers of one source: each is drafted, filled and sealed, and comes back when its last text is dropped.
///
/// It never waits and never refuses: the number of buffers in use depends on the texts that are still alive. So their
/// bound is the budget that [`held_bytes`](Self::held_bytes) is counted against.
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
    /// Index of the text buffer that the next call of [`TextPool::draft`] inspects first, to see if it is
    /// free.
    next: usize,
    /// Number of bytes of all buffers that were filled, whether they are free again or not.
    bytes: usize,
}

impl TextPool {
    /// Creates a pool of text buffers that has no buffer yet.
    pub fn new() -> Self {
        TextPool::default()
    }

    /// Returns an empty buffer to be filled: one that is free again, or a new one. If more buffers are free
    /// than a steady stream needs, some are dropped, so that a burst leaves no memory behind.
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
            // The pool has the only handle of this buffer, so no other thread can clone the handle meanwhile.
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

    /// Ends the filling of a buffer; the pool keeps a handle of it.
    ///
    /// # Panics
    /// If the draft holds more than [`TextBuffer::BYTES_MAX`].
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

    /// Returns the bytes of all buffers of this pool, filled or free, and of the pool's own table.
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

/// A text buffer that is being filled.
pub struct TextDraft {
    /// The allocation of a reused buffer with its reference count; the buffer's text has been taken out.
    /// `None` for a new buffer.
    shell: Option<TextBuffer>,
    text: String,
}

impl TextDraft {
    /// Appends a line, or the wanted part of one, and returns its place in the buffer.
    #[inline]
    pub fn push(&mut self, line: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(line);
        start..self.text.len()
    }

    /// Returns the length in bytes of the text that was appended to this draft so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns true if nothing was appended to the draft yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Makes room in the draft for `bytes` bytes in all.
    pub fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes.saturating_sub(self.text.len()));
    }

    /// Returns true if the buffer being filled is new, not a reused one.
    pub fn is_new(&self) -> bool {
        self.shell.is_none()
    }

    /// Returns the bytes of memory that the buffer being filled takes, used or not.
    pub fn held_bytes(&self) -> usize {
        size_of::<Lines>() + self.text.capacity()
    }
}

impl fmt::Debug for TextDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextDraft").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}
