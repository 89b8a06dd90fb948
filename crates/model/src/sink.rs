//! The contract of sinks, which take the results of a query out of the engine.
//!
//! A query without checkpoints publishes at its end: [`Sink::finish`]. A query that takes checkpoints publishes with each
//! of them, in two steps, so that a crash neither loses nor repeats a result:
//!
//! ```text
//!   Sink::publisher         once, before the first record: gives the publisher to the engine
//!   Sink::write ..          results are written where no reader takes them for published
//!   Sink::prepare           at a barrier, and at the end of the stream: what was written is made durable and described
//!   (the checkpoint, with the description in it, is made durable)
//!   Publisher::publish      what the description names becomes visible; again after a crash, with the same effect
//! ```
//!
//! After a restart the engine calls, in this order: [`Sink::publisher`], [`Sink::load`], then
//! [`Publisher::publish`] with the description in the checkpoint, then [`Publisher::clean`].

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::record::Record;
use crate::state::{StateError, StateReader, StateWriter};
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

    /// Tells the sink that its query takes checkpoints, and returns the part of it that publishes. From now on the sink
    /// makes nothing visible to readers by itself, and [`finish`](Sink::finish) is not called. Called before the first
    /// record. A sink that cannot publish with checkpoints returns `None`, and goes on as without them: after a crash its
    /// readers may see results twice.
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        None
    }

    /// Makes everything that was written since the last call durable, and returns a description of it, from which the
    /// [`Publisher`] publishes it, in this process or in a later one. Empty if there is nothing to publish. Called at a
    /// barrier, with the number of the checkpoint, and at the end of the stream, where `is_last` is true; after that nothing
    /// is written any more. A sink whose [`publisher`](Sink::publisher) returned no publisher is called at barriers, too: it writes
    /// out what it has gathered, and its description is not used.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn prepare(&mut self, checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        let _ = (checkpoint, is_last);
        Ok(Vec::new())
    }

    /// Writes what the sink must know after a restart to go on behind the last [`prepare`](Sink::prepare).
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Reads what [`save`](Sink::save) wrote. Called before the first record.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let _ = state;
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

/// The part of a sink that makes prepared results visible. It works from descriptions alone, so that it can publish what a
/// sink of an earlier process has prepared. It is called by a thread of its own, not by the worker that runs the sink.
pub trait Publisher: Send {
    /// Makes the results visible that `prepared` describes, which [`Sink::prepare`] returned. If some or all of them are
    /// visible already, because the process died while it published, only the rest is published.
    ///
    /// # Errors
    /// A [`Fault`] if prepared results are missing or cannot be made visible. The query fails; a restart tries again.
    fn publish(&mut self, prepared: &[u8]) -> Result<(), Fault>;

    /// Removes what earlier processes of this query have written for checkpoints that were never completed. Called once,
    /// after a restart, when everything of the restored checkpoint is published and before a record is written; also if the
    /// query starts without a checkpoint.
    ///
    /// # Errors
    /// A [`Fault`] that fails the start of the query.
    fn clean(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
