//! The contract of sinks.

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::record::Record;
use crate::weighed::Weighed;

/// End of a query, which takes its records out of the engine. A sink that is dropped without [`finish`](Sink::finish)
/// belongs to a query that failed or was cancelled: it publishes nothing.
pub trait Sink<T>: Send {
    /// Takes one record. Whether the sink buffers it is up to the sink.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn write(&mut self, record: Record<T>) -> Result<(), Fault>;

    /// Takes a mark, after every record before it.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        let _ = mark;
        Ok(())
    }

    /// Publishes everything. Called when the stream has ended.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Called before the first record: gives the allowance of its task, which tells how large the memory budget is.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Returns the rows taken and written so far, if its records count as several rows.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the bytes held for buffers, counted against the engine's budget.
    fn held_bytes(&self) -> usize {
        0
    }
}
