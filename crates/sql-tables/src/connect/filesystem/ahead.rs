//! Decoding ahead: the pieces of a file are decoded by several tasks, and one reader takes them in the order of the file.
//!
//! ```text
//!            cut in order, one at a time           decoded by any free task         taken in order
//!   file --> piece 0, piece 1, piece 2, .. ------> reader, helper 1, helper 2, .. --> reader --> rows
//! ```
//!
//! Promise: the rows of the reader, their order, its bad records and its positions are those of a reader without helpers,
//! for any number of helpers and any size of pieces. So watermarks and lateness are those of one reader, too.
//!
//! Positions: a helper claims, decodes and puts back a piece within one poll, so between two polls it holds nothing. The pieces
//! in [`Pieces`] all lie behind the last row that the reader has given, and that row is the reader's position. So the position
//! of the reader covers every row of its files, before or behind, at whatever moments the reader and its helpers are saved.
//! After a restart, the pieces behind the position are cut and decoded anew.
//!
//! Helpers are tasks of the engine ([`Helper`]) that give no rows. A reader that waits for a piece which a helper decodes
//! decodes a later piece meanwhile. So one worker is enough, and each further one adds its speed.
//!
//! `ahead/lines.rs` has the pieces of files of records, and `parquet/ahead.rs` those of Parquet files.
//!
//! Bounds: the pieces of a table that are cut and not taken are at most [`PIECES_PER_TASK`] for each task.

pub(super) mod lines;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_model::{Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};

use crate::connect::error::ConnectError;
use crate::scan::rows::{PolledRows, RowSource};

/// The most pieces of a table that are cut and not taken yet, for each task that decodes: one that is decoded, one that
/// waits to be taken, and one more, so that tasks of different speed do not wait for each other.
pub(super) const PIECES_PER_TASK: usize = 3;

/// How long a helper without work, or a reader whose piece is decoded by a helper, waits before it looks again: 50 us,
/// a small part of the time in which a piece is decoded.
const LOOK_AGAIN_NS: u64 = 50_000;

/// An open file that is cut into pieces.
pub(super) trait Cut: Send {
    /// A piece before it is decoded.
    type Raw: Send;
    /// A piece after it was decoded.
    type Decoded: Send;

    /// Cuts the next piece; `None` after the last one.
    ///
    /// # Errors
    /// [`ConnectError`] if the file cannot be read on.
    fn cut(&mut self) -> Result<Option<Self::Raw>, ConnectError>;

    /// Returns whether the last piece was cut.
    fn has_ended(&self) -> bool;

    /// Takes back the buffer of a piece, for another piece.
    fn reuse(&mut self, buffer: Vec<u8>) {
        drop(buffer);
    }

    /// Returns the bytes of memory of the buffers.
    fn held_bytes(&self) -> usize;

    /// Returns the bytes of memory of a decoded piece.
    fn bytes_of(decoded: &Self::Decoded) -> usize;
}

/// Counts the pieces of a table that are cut and not taken yet.
pub(super) struct Bound {
    tasks: usize,
    count: Mutex<usize>,
}

impl Bound {
    /// Creates the bound for `tasks` tasks that decode the files of a table.
    pub(super) fn of(tasks: usize) -> Arc<Self> {
        Arc::new(Bound { tasks, count: Mutex::default() })
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn takes_one_more(&self) -> bool {
        let mut count = self.count();
        let has_room = *count < self.tasks * PIECES_PER_TASK;
        *count += usize::from(has_room);
        has_room
    }
}

/// The pieces of the open file of one reader, which its helpers decode, too.
pub(super) struct Pieces<C: Cut> {
    state: Mutex<State<C>>,
    bound: Arc<Bound>,
}

struct State<C: Cut> {
    cutter: Option<C>,
    /// The pieces that are cut and not taken, in the order of the file.
    slots: VecDeque<Slot<C::Decoded>>,
    /// The number of the first of them, counted from the first piece of the first file on.
    first: u64,
    held_bytes: usize,
    /// Whether the reader opens no further file.
    is_over: bool,
    /// Whether the reader was restored from a saved position.
    is_restored: bool,
}

enum Slot<D> {
    /// A task decodes the piece.
    Claimed,
    Decoded(D),
    /// The file could not be read on.
    Failed(ConnectError),
}

/// The answer to a task that has time to decode a piece.
pub(super) enum Claim<R> {
    /// The piece has this number.
    Piece(u64, R),
    /// There is no piece at present.
    Nothing,
    /// There are no more pieces.
    Over,
}

/// The piece that a reader takes next.
pub(super) enum Next<R, D> {
    /// No task has decoded the piece.
    Raw(R),
    Decoded(D),
    /// Another task decodes the piece at present.
    Claimed,
    /// The file has ended.
    End,
}

impl<C: Cut> Pieces<C> {
    pub(super) fn new(bound: &Arc<Bound>) -> Arc<Self> {
        let state = State {
            cutter: None,
            slots: VecDeque::new(),
            first: 0,
            held_bytes: 0,
            is_over: false,
            is_restored: false,
        };
        Arc::new(Pieces { state: Mutex::new(state), bound: Arc::clone(bound) })
    }

    /// Returns the number of tasks that decode the files of the table.
    pub(super) fn tasks(&self) -> usize {
        self.bound.tasks
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an open file.
    pub(super) fn open(&self, cutter: C) {
        let mut state = self.state();
        state.drop_slots(&self.bound);
        state.cutter = Some(cutter);
    }

    /// Ends the open file.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.drop_slots(&self.bound);
        state.cutter = None;
    }

    /// Records that the reader opens no further file.
    pub(super) fn end(&self) {
        self.state().is_over = true;
    }

    /// Records that the reader was restored from a saved position.
    pub(super) fn note_restored(&self) {
        self.state().is_restored = true;
    }

    fn is_restored(&self) -> bool {
        self.state().is_restored
    }

    /// Cuts a piece for a task that has time to decode it.
    pub(super) fn claim(&self) -> Claim<C::Raw> {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(cutter) = &mut state.cutter else {
            return if state.is_over { Claim::Over } else { Claim::Nothing };
        };
        if cutter.has_ended() || !self.bound.takes_one_more() {
            return Claim::Nothing;
        }
        let number = state.first + state.slots.len() as u64;
        match cutter.cut() {
            Ok(Some(raw)) => {
                state.slots.push_back(Slot::Claimed);
                Claim::Piece(number, raw)
            }
            Ok(None) => {
                *self.bound.count() -= 1;
                Claim::Nothing
            }
            Err(error) => {
                state.slots.push_back(Slot::Failed(error));
                Claim::Nothing
            }
        }
    }

    /// Puts a decoded piece to its place. A piece of a file that was closed meanwhile is dropped.
    pub(super) fn put(&self, number: u64, decoded: C::Decoded) {
        let held_bytes = C::bytes_of(&decoded);
        let mut guard = self.state();
        let state = &mut *guard;
        let place = number.checked_sub(state.first).and_then(|place| usize::try_from(place).ok());
        if let Some(slot @ Slot::Claimed) = place.and_then(|place| state.slots.get_mut(place)) {
            *slot = Slot::Decoded(decoded);
            state.held_bytes += held_bytes;
        }
    }

    /// Takes the next piece of the file; one that no task has claimed is cut now.
    ///
    /// # Errors
    /// [`ConnectError`] if the file cannot be read on.
    pub(super) fn next(&self) -> Result<Next<C::Raw, C::Decoded>, ConnectError> {
        let mut guard = self.state();
        let state = &mut *guard;
        let taken = match state.slots.front() {
            None => {
                let raw = match &mut state.cutter {
                    Some(cutter) => cutter.cut()?,
                    None => None,
                };
                state.first += u64::from(raw.is_some());
                return Ok(raw.map_or(Next::End, Next::Raw));
            }
            Some(Slot::Claimed) => return Ok(Next::Claimed),
            Some(_) => state.slots.pop_front(),
        };
        state.first += 1;
        *self.bound.count() -= 1;
        match taken {
            Some(Slot::Decoded(decoded)) => {
                state.held_bytes = state.held_bytes.saturating_sub(C::bytes_of(&decoded));
                Ok(Next::Decoded(decoded))
            }
            Some(Slot::Failed(error)) => Err(error),
            _ => Ok(Next::Claimed),
        }
    }

    /// Takes back the buffer of a piece, for another piece.
    fn reuse(&self, buffer: Vec<u8>) {
        if let Some(cutter) = &mut self.state().cutter {
            cutter.reuse(buffer);
        }
    }

    /// Returns the bytes of memory of the open file and of the decoded pieces that were not taken.
    pub(super) fn held_bytes(&self) -> usize {
        let state = self.state();
        state.held_bytes + state.cutter.as_ref().map_or(0, C::held_bytes)
    }
}

impl<C: Cut> State<C> {
    /// Drops the pieces that were not taken. Tasks that decode some of them drop these when they are done.
    fn drop_slots(&mut self, bound: &Bound) {
        *bound.count() -= self.slots.len();
        self.first += self.slots.len() as u64;
        self.slots.clear();
        self.held_bytes = 0;
    }
}

/// The time at which a reader or helper that found nothing to do looks again.
pub(super) fn look_again(now: ProcessingTime) -> SourceStatus {
    SourceStatus::IdleUntil(now.plus_nanos(LOOK_AGAIN_NS))
}

/// Decodes a piece.
pub(super) type Decode<C> = Box<dyn FnMut(<C as Cut>::Raw) -> <C as Cut>::Decoded + Send>;

/// A task that decodes pieces for the readers of a table and gives no rows.
pub(super) struct Helper<C: Cut> {
    readers: Vec<Arc<Pieces<C>>>,
    decode: Decode<C>,
    /// Whether the helper was restored. Then all readers that have not ended are restored, too, before the first poll.
    is_restored: bool,
}

impl<C: Cut> Helper<C> {
    pub(super) fn new(readers: Vec<Arc<Pieces<C>>>, decode: Decode<C>) -> Self {
        Helper { readers, decode, is_restored: false }
    }
}

impl<C: Cut> RowSource for Helper<C> {
    /// Decodes one piece, if there is one.
    fn poll(&mut self, now: ProcessingTime, _rows_max: usize) -> Result<PolledRows, Fault> {
        let mut is_over = true;
        for pieces in &self.readers {
            match pieces.claim() {
                Claim::Piece(number, raw) => {
                    pieces.put(number, (self.decode)(raw));
                    return Ok(PolledRows { rows: None, status: SourceStatus::Ready });
                }
                // A reader that is not restored with its helpers had ended.
                Claim::Nothing => is_over &= self.is_restored && !pieces.is_restored(),
                Claim::Over => {}
            }
        }
        let status = if is_over { SourceStatus::Ended } else { look_again(now) };
        Ok(PolledRows { rows: None, status })
    }

    fn only_helps(&self) -> bool {
        true
    }

    /// Writes nothing: between two polls a helper holds no piece, see the module.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.is_restored = true;
        Ok(())
    }
}
