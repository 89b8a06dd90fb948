//! Notes: facts about a run which users should know and which do not fail it. Connectors add them, and the
//! runner of the jobs shows them.
//!
//! A note is kept until it is read to be shown. Equal notes are kept once, and a run keeps at most
//! [`NOTES_MAX`], so that a repeated fault fills neither the memory nor the screen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The greatest number of different notes that a run keeps.
pub const NOTES_MAX: usize = 100;

/// The notes of a run; clones share them.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// All notes of the run, in the order in which they were added.
    texts: Vec<String>,
    /// The number of notes that were already read to be shown.
    taken: usize,
}

impl Notes {
    /// Adds a note about the run for the user, unless the run has an equal note or [`NOTES_MAX`] notes
    /// already.
    pub fn add(&self, text: String) {
        let mut kept = self.kept();
        if kept.texts.len() < NOTES_MAX && !kept.texts.contains(&text) {
            kept.texts.push(text);
        }
    }

    /// Returns the notes that were added since the last call.
    pub fn take(&self) -> Vec<String> {
        let mut kept = self.kept();
        let new = kept.texts[kept.taken..].to_vec();
        kept.taken = kept.texts.len();
        new
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_told_once_and_not_without_end() {
        let notes = Notes::default();
        notes.add("a".to_owned());
        notes.clone().add("b".to_owned());
        notes.add("a".to_owned());
        assert_eq!(notes.take(), ["a", "b"]);
        notes.add("b".to_owned());
        assert!(notes.take().is_empty());
        (0..2 * NOTES_MAX).for_each(|number| notes.add(number.to_string()));
        assert_eq!(notes.take().len(), NOTES_MAX - 2);
    }
}
