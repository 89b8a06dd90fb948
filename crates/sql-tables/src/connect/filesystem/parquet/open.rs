//! Memory of the pages of a table's open files.
//!
//! The splits of a table are read at the same time, and each has a file open. All of them together use half of the memory budget,
//! so that state, and other tables, have the rest. A file that does not fit beside the open ones waits until one of them is
//! closed: a file can always be opened when no other is open, unless it is too large by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_model::{Allowance, Payment};

/// The open files of a table may use at most the memory budget divided by this number.
const OPEN_PARTS: usize = 2;

/// Counts the open files of a table and the bytes of their pages.
#[derive(Default)]
pub(in crate::connect::filesystem) struct OpenPages(Mutex<Open>);

#[derive(Default)]
struct Open {
    files: usize,
    bytes: usize,
}

/// The answer to a request for the memory of the pages of a file that is to be opened.
pub(super) enum Room {
    /// The memory is reserved in the memory budget until the contained [`PaidPages`] is dropped.
    Paid(PaidPages),
    /// The file has to wait until another open file of the table is closed.
    Later,
    /// The file needs more memory than all open files of a table may use, even by itself.
    None,
}

/// The reservation of memory for the pages of one open file. Dropping it frees the memory for another file.
pub(super) struct PaidPages {
    pages: Arc<OpenPages>,
    bytes: usize,
    payment: Option<Payment>,
}

impl OpenPages {
    /// Reserves the memory of the pages of one more open file of the table.
    pub(super) fn pay(self: &Arc<Self>, bytes: usize, allowance: &Allowance) -> Room {
        let most = allowance.limit_bytes() / OPEN_PARTS;
        if bytes > most {
            return Room::None;
        }
        // The lock is held while memory is reserved from the budget, so that no file is closed between the
        // budget's answer and the check whether other files are open.
        let mut open = self.open();
        let fits = open.bytes.saturating_add(bytes) <= most;
        match fits.then(|| allowance.pay(bytes)).flatten() {
            Some(payment) => {
                open.files += 1;
                open.bytes += bytes;
                Room::Paid(PaidPages { pages: Arc::clone(self), bytes, payment: Some(payment) })
            }
            None if open.files > 0 => Room::Later,
            None => Room::None,
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PaidPages {
    fn drop(&mut self) {
        let mut open = self.pages.open();
        self.payment = None;
        open.files -= 1;
        open.bytes -= self.bytes;
    }
}
