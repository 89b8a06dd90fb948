//! The contract of sinks, which take the results of a query out of the engine.

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::record::Record;
use crate::weighed::Weighed;

/// A sink: the end of a query, which takes its results out of the engine. A sink that is dropped without
/// [`finish`](Sink::finish) belongs to a query that failed or was cancelled, and publishes nothing.
pub trait Sink<T>: Send {
    /// Writes one record. The sink decides whether it buffers the record.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn write(&mut self, record: Record<T>) -> Result<(), Fault>;

    /// Takes a mark (such as a watermark), after every record before the mark was written.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        let _ = mark;
        Ok(())
    }

    /// Publishes everything that was written. Called when the stream has ended.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Gives the sink the allowance of its task, which tells the size of the memory budget. Called before the
    /// first record.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Returns the numbers of rows taken and written so far, if a record stands for several rows; otherwise
    /// `None`.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the bytes that the sink holds for buffers, counted against the engine's budget.
    fn held_bytes(&self) -> usize {
        0
    }
}
