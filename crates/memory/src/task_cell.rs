//! A task cell: holds a value that one party at a time takes, and that is never left idle while there is work for
//! it.
//!
//! ```text
//!            fill              notify: Some(value)                 put(value, ready)
//!   EMPTY ----------> IDLE --------------------------> HELD ------------------------> READY
//!     ^                ^                               |  ^                             |
//!     |                +-------------------------------+  +-----------------------------+
//!     |                    put(value, not ready)       |           take: Some(value)
//!     +------------------------------------------------+
//!                          retire
//! ```
//!
//! The engine keeps each task in such a cell. A worker which runs, ranks or drops the task holds the value
//! meanwhile. A party that has made work for the task notifies the cell with [`TaskCell::notify`]. If the value is
//! held at that moment, the cell records the notification. The holder may have looked too early to see that work,
//! so it cannot put the value away as idle before it has looked again.
//!
//! * **B6** The word of a task cell holds the address of its value in IDLE and READY, and no address in EMPTY and
//!   HELD. The party which swaps an address out owns the value. So there are never two owners, however the calls
//!   are mixed.
//!
//! *Race closed:* work that is made between the holder's last look and its putting the value away.
//!
//! *Why it holds.* All steps are read-modify-writes of one word, so they have one order. Each sees the writes that
//! came before the steps that precede it (a chain of read-modify-writes passes Release on). If `notify` comes
//! before the holder's step out of HELD, that step fails, with Acquire, and the holder looks again: it sees the
//! work. If `notify` comes after, it finds the value idle and takes it, or ready: then the party that takes it sees
//! the work, for the same reason.

use std::fmt;
use std::ptr::null_mut;

use crate::sync::{AtomicPtr, Ordering};

/// Tag in the word of a task cell. Beside an address it means that there is work for the value. Without an
/// address it means that the value is held.
const READY_OR_HELD: usize = 1;
/// Tag in the word of a task cell: [`TaskCell::notify`] was called since the last change of the word that
/// removed this tag.
const NOTIFIED: usize = 2;
const TAGS: usize = READY_OR_HELD | NOTIFIED;

/// A task cell: a boxed value, such as a task, that one party at a time holds.
pub struct TaskCell<T> {
    /// The address of the value, unless the value is held, with tags such as `NOTIFIED` in the lowest bits.
    /// Every change is a read-modify-write with AcqRel, because it passes on the value and the notification.
    word: AtomicPtr<T>,
}

// SAFETY: by invariant B6 of this crate the value has one owner at a time, which has taken it with Acquire
// from the one before, which had left it with Release; it moves between threads, hence `T: Send`.
unsafe impl<T: Send> Sync for TaskCell<T> {}

// SAFETY: a cell that moves takes its value along.
unsafe impl<T: Send> Send for TaskCell<T> {}

/// The atomic word of a task cell (address and tags), as it was loaded at one moment.
struct Word<T>(*mut T);

impl<T> Clone for Word<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Word<T> {}

impl<T> Word<T> {
    fn tags(self) -> usize {
        self.0.addr() & TAGS
    }

    fn address(self) -> *mut T {
        self.0.map_addr(|address| address & !TAGS)
    }

    fn has_value(self) -> bool {
        !self.address().is_null()
    }

    fn is_ready(self) -> bool {
        self.has_value() && self.tags() & READY_OR_HELD != 0
    }

    fn is_held(self) -> bool {
        !self.has_value() && self.tags() & READY_OR_HELD != 0
    }

    fn is_empty(self) -> bool {
        !self.has_value() && self.tags() & READY_OR_HELD == 0
    }
}

/// Returns the address of a value with the bits `tags` set among its lowest bits.
fn tagged<T>(address: *mut T, tags: usize) -> *mut T {
    address.map_addr(|address| address | tags)
}

impl<T> Default for TaskCell<T> {
    fn default() -> Self {
        const { assert!(align_of::<T>() > TAGS, "the tags need the lowest bits of an address") };
        TaskCell { word: AtomicPtr::new(null_mut()) }
    }
}

impl<T> fmt::Debug for TaskCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Word(self.word.load(Ordering::Relaxed));
        let state = match (word.has_value(), word.is_ready(), word.is_held()) {
            (true, true, _) => "ready",
            (true, false, _) => "idle",
            (false, _, true) => "held",
            (false, _, false) => "empty",
        };
        f.debug_struct("TaskCell").field("state", &state).finish()
    }
}

impl<T> TaskCell<T> {
    /// Puts a value into an empty cell, where it is idle.
    ///
    /// # Errors
    /// Returns the value if the cell is not empty.
    pub fn fill(&self, value: Box<T>) -> Result<(), Box<T>> {
        let address = Box::into_raw(value);
        match self.step(|word| word.is_empty().then_some(address)) {
            Some(_) => Ok(()),
            // SAFETY: the address came from a box just now, and no other thread has seen it.
            None => Err(unsafe { Box::from_raw(address) }),
        }
    }

    /// Takes the value out of the task cell if there is work for it (the cell is ready).
    #[inline]
    pub fn take(&self) -> Option<Box<T>> {
        self.hold(Word::is_ready)
    }

    /// Takes the value out of the cell unless it is held, whether it is ready or idle.
    #[inline]
    pub fn take_any(&self) -> Option<Box<T>> {
        self.hold(Word::has_value)
    }

    /// Tells the task cell that there may be work for its value. If the value is idle, the caller gets it, to
    /// check it and put it back. Otherwise the party that holds the value, or takes it next, will see
    /// everything that the caller did before.
    #[inline]
    pub fn notify(&self) -> Option<Box<T>> {
        let into = |word: Word<T>| {
            let is_idle = word.has_value() && !word.is_ready();
            Some(if is_idle { tagged(null_mut(), READY_OR_HELD) } else { tagged(word.0, NOTIFIED) })
        };
        let before = self.step(into)?;
        // SAFETY: only the step from IDLE has swapped an address out of the word, so `own` is called once for
        // it (invariant B6 of this crate).
        (before.has_value() && !before.is_ready()).then(|| unsafe { Self::own(before) })
    }

    /// Puts a held value back into the cell, as ready or as idle.
    ///
    /// # Errors
    /// Returns the value if it was to be idle and [`notify`](Self::notify) was called since it was taken. The
    /// caller must then look for work again.
    ///
    /// # Panics
    /// If the value is not held.
    #[inline]
    pub fn put(&self, value: Box<T>, is_ready: bool) -> Result<(), Box<T>> {
        let address = Box::into_raw(value);
        let mut is_notified = false;
        let before = self.step(|word| {
            is_notified = !is_ready && word.tags() & NOTIFIED != 0;
            match (word.is_held(), is_notified, is_ready) {
                (false, ..) => None,
                // The notification is removed from the word before the holder looks for work again.
                (true, true, _) => Some(tagged(null_mut(), READY_OR_HELD)),
                (true, false, true) => Some(tagged(address, READY_OR_HELD)),
                (true, false, false) => Some(address),
            }
        });
        if before.is_some() && !is_notified {
            return Ok(());
        }
        // SAFETY: the address came from a box in this function, and was not put into the word.
        let value = unsafe { Box::from_raw(address) };
        assert!(before.is_some(), "only a value that is held is put back (B6)");
        Err(value)
    }

    /// Leaves the cell empty for good, while the holder keeps the value.
    ///
    /// # Panics
    /// If the value is not held.
    pub fn retire(&self) {
        let held = self.step(|word| word.is_held().then_some(null_mut()));
        assert!(held.is_some(), "only a cell whose value is held is left empty (B6)");
    }

    /// Returns true if the value is in the cell and there is work for it. Other threads may change this at
    /// any time.
    #[inline]
    pub fn is_ready(&self) -> bool {
        Word(self.word.load(Ordering::Acquire)).is_ready()
    }

    /// Returns true if some party holds the value of this task cell. Other threads may change this at any
    /// time.
    pub fn is_held(&self) -> bool {
        Word(self.word.load(Ordering::Relaxed)).is_held()
    }

    #[inline]
    fn hold(&self, from: impl Fn(Word<T>) -> bool) -> Option<Box<T>> {
        let before = self.step(|word| from(word).then(|| tagged(null_mut(), READY_OR_HELD)))?;
        // SAFETY: the step has swapped out a word with a value, because `from` accepts no other word. So this
        // call is the value's only owner (invariant B6 of this crate).
        Some(unsafe { Self::own(before) })
    }

    /// Replaces the word of the cell by the word that `into` computes from it. Returns the word before the
    /// change; `None` if `into` returns `None`, which leaves the cell as it was.
    #[inline]
    fn step(&self, mut into: impl FnMut(Word<T>) -> Option<*mut T>) -> Option<Word<T>> {
        let stepped = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| into(Word(word)));
        stepped.ok().map(Word)
    }

    /// Returns the value of a word that the caller has swapped out of the cell.
    ///
    /// # Safety
    /// `word` holds the address of a value, and the caller's step has left no address in the cell (invariant
    /// B6 of this crate).
    #[inline]
    unsafe fn own(word: Word<T>) -> Box<T> {
        // SAFETY: addresses come from boxes, in `fill` and `put`, and each is swapped out once, by contract.
        unsafe { Box::from_raw(word.address()) }
    }
}

impl<T> Drop for TaskCell<T> {
    fn drop(&mut self) {
        drop(self.take_any());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Arc;

    fn seven() -> Box<u32> {
        Box::new(7)
    }

    #[test]
    fn one_party_at_a_time_holds_the_value() {
        let cell = TaskCell::default();
        assert_eq!((cell.take(), cell.take_any(), cell.notify()), (None, None, None), "nothing in it");
        cell.fill(seven()).unwrap();
        assert_eq!(cell.fill(Box::new(8)), Err(Box::new(8)));
        assert_eq!(cell.take(), None, "idle");
        assert_eq!(cell.notify(), Some(seven()), "idle: the caller is to look");
        assert_eq!((cell.notify(), cell.take_any()), (None, None), "held");
        assert_eq!(cell.put(seven(), false), Err(seven()), "somebody has notified meanwhile");
        assert_eq!(cell.put(seven(), false), Ok(()));
        assert_eq!(cell.take_any(), Some(seven()));
        cell.put(seven(), true).unwrap();
        assert_eq!(cell.notify(), None, "ready");
        assert!(cell.is_ready());
        assert_eq!(cell.take(), Some(seven()));
        cell.retire();
        assert_eq!(cell.take_any(), None);
        cell.fill(Box::new(9)).unwrap();
    }

    #[test]
    fn what_lies_in_it_is_dropped_with_it_and_what_is_held_is_not() {
        let value = Arc::new(());
        let cells: [TaskCell<Arc<()>>; 3] = Default::default();
        cells.iter().for_each(|cell| cell.fill(Box::new(Arc::clone(&value))).unwrap());
        let held = cells[0].notify();
        cells[1].put(cells[1].take_any().unwrap(), true).unwrap();
        assert_eq!(Arc::strong_count(&value), 4);
        drop(cells);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(held);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    #[should_panic(expected = "only a value that is held is put back")]
    fn a_value_that_nobody_took_is_not_put_back() {
        let cell = TaskCell::default();
        cell.fill(seven()).unwrap();
        let _refused = cell.put(seven(), true);
    }
}
