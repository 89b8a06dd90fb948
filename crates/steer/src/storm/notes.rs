//! Notes for users about a Storm: parts of it that are left alone although the round went on.
//!
//! Bounds: [`NOTES_MAX`] and [`TELL_EVERY`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Greatest number of notes that wait for the next round of steering. The oldest one is dropped for a further one.
pub const NOTES_MAX: usize = 64;

/// Least time between two notes about one number that rises, such as that of refused connections.
pub const TELL_EVERY: Duration = Duration::from_secs(60);

/// The notes that wait until a round of steering takes them.
#[derive(Debug, Default)]
pub(super) struct Notes {
    waiting: VecDeque<String>,
    /// The numbers that were told, by what they count: each as in its last note, with the time of that note.
    told: BTreeMap<&'static str, (u64, Duration)>,
}

impl Notes {
    /// Adds a note.
    pub(super) fn add(&mut self, note: String) {
        if self.waiting.len() >= NOTES_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(note);
    }

    /// Adds a note with a number and what it counts, if the number has risen and was not told for [`TELL_EVERY`]. `now` is
    /// the time since the driver began.
    pub(super) fn add_count(&mut self, count: u64, what: &'static str, now: Duration) {
        let is_due = match self.told.get(what) {
            Some((told, at)) => count > *told && now.saturating_sub(*at) >= TELL_EVERY,
            None => count > 0,
        };
        if is_due {
            self.told.insert(what, (count, now));
            self.add(format!("{count} {what}"));
        }
    }

    /// Takes all notes.
    pub(super) fn take(&mut self) -> Vec<String> {
        self.waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number is told when it rises, at most once a minute, and there are never more notes than the bound.
    #[test]
    fn notes_are_bounded() {
        let mut notes = Notes::default();
        for (second, count, expected) in
            [(1, 0, None), (2, 3, Some("3 x")), (5, 9, None), (62, 9, Some("9 x")), (200, 9, None)]
        {
            notes.add_count(count, "x", Duration::from_secs(second));
            assert_eq!(notes.take(), Vec::from_iter(expected), "{second}");
        }
        (0..=NOTES_MAX).for_each(|number| notes.add(number.to_string()));
        let found = notes.take();
        assert_eq!((found.len(), &*found[0]), (NOTES_MAX, "1"));
    }
}
