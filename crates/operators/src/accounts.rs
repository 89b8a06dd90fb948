//! Bookkeeping of operators: the name, the numbers of records by what was done with them, and whether user code has
//! panicked.
//!
//! An operator holds its [`Accounts`] in a field `accounts`, and [`accounted!`] writes the methods that report them.
//! [`stored!`] writes the methods of an operator whose state is in a field `store`.

use thalweg_model::{Blame, Counts};

/// The name of an operator, its numbers of records by what was done with them, and whether its user code has
/// panicked.
#[derive(Debug)]
pub(crate) struct Accounts {
    /// Name of the operator, by which errors and reports call it.
    pub(crate) name: String,
    /// Number of records that the operator has taken off its input.
    pub(crate) read: u64,
    /// Number of records that were dropped because the query says so, for example by a filter; see
    /// [`Counts::filtered`].
    pub(crate) filtered: u64,
    /// Number of records that were late by the watermark; see [`Counts::late`].
    pub(crate) late: u64,
    /// Remembers whether user code has panicked. User code runs inside [`Blame::on`], which notices the
    /// panic.
    pub(crate) blame: Blame,
}

impl Accounts {
    /// Creates the accounts of an operator called `name` that has taken no records.
    pub(crate) fn new(name: String) -> Self {
        Accounts { name, read: 0, filtered: 0, late: 0, blame: Blame::default() }
    }

    /// Returns the counts of an operator that hands records on: each record that is neither filtered nor late
    /// counts as forwarded.
    pub(crate) fn forwarding(&self) -> Counts {
        Counts { forwarded: self.kept(), ..self.dropping() }
    }

    /// Returns the counts of an operator that adds records to its state: each record that is neither filtered
    /// nor late counts as folded.
    pub(crate) fn folding(&self) -> Counts {
        Counts { folded: self.kept(), ..self.dropping() }
    }

    /// Returns the name of the operator if its user code has panicked.
    pub(crate) fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }

    fn kept(&self) -> u64 {
        self.read - self.filtered - self.late
    }

    fn dropping(&self) -> Counts {
        Counts { read: self.read, filtered: self.filtered, late: self.late, ..Counts::default() }
    }
}

/// Implements the methods of [`Operator`](thalweg_model::Operator) that keep and report the accounts of an operator.
/// The argument names the method of [`Accounts`] that returns the counts: `forwarding` for an operator that hands
/// records on, `folding` for one that adds records to its state.
macro_rules! accounted {
    ($counts:ident) => {
        fn note_read(&mut self, count: u64) {
            self.accounts.read += count;
        }

        fn visit_counts(&self, each: &mut dyn FnMut(&str, thalweg_model::Counts)) {
            each(&self.accounts.name, self.accounts.$counts());
        }

        fn faulted(&self) -> Option<&str> {
            self.accounts.faulted()
        }
    };
}
pub(crate) use accounted;

/// Implements the methods of [`Operator`](thalweg_model::Operator) by which an operator with windows gives its state,
/// which is in the field `store`, an allowance (the part of the memory budget that it may use) and a seed for hashes,
/// and reports the bytes of the state.
macro_rules! stored {
    () => {
        fn fund(&mut self, allowance: &thalweg_model::Allowance) {
            self.store.fund(allowance);
        }

        fn seed(&mut self, entropy: &mut dyn thalweg_model::Entropy) {
            self.store.seed(entropy.next_u64());
        }

        fn state_bytes(&self) -> usize {
            self.store.bytes()
        }
    };
}
pub(crate) use stored;
