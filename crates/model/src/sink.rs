//! The contract of sinks.

use crate::fault::Fault;
use crate::mark::Mark;
use crate::record::Record;
use crate::weighed::Weighed;

/// Where records leave a query. A sink that is dropped without [`finish`](Sink::finish) belongs to a query that
/// failed or was cancelled: it publishes nothing.
pub trait Sink<T>: Send {
    /// Takes one record; buffering is the sink's own business.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn write(&mut self, record: Record<T>) -> Result<(), Fault>;

    /// Sees a mark, after every record before it.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        let _ = mark;
        Ok(())
    }

    /// Publishes everything: the stream has ended.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// What it has taken and written so far, if its records count for several.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Bytes held for buffers, counted against the engine's budget.
    fn held_bytes(&self) -> usize {
        0
    }
}
