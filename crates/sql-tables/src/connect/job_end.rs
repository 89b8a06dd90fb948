//! The end of a job, as its sources report it to its sinks.
//!
//! A job is bounded if all of its inputs end. A bounded job is complete when its inputs have been read to
//! their ends. If one of its sources was asked to end earlier, the job was cut short, and its sinks publish
//! only a part of the result. An unbounded job ends only by being stopped, so a stop does not make it
//! incomplete.
//!
//! A source records the cut before it ends its stream. A sink checks for it after the end of that stream, so
//! the sink sees it.

use std::sync::{Arc, OnceLock};

/// Tells how one job ends: whether it is bounded, and whether a source was asked to end early. Clones share
/// the state.
#[derive(Clone, Debug, Default)]
pub struct JobEnd {
    is_bounded: bool,
    is_cut: Arc<OnceLock<()>>,
}

impl JobEnd {
    /// Creates the state of a job that has not ended. `is_bounded` says whether all of its inputs end.
    pub fn new(is_bounded: bool) -> Self {
        JobEnd { is_bounded, is_cut: Arc::default() }
    }

    /// Returns whether all inputs of the job end.
    pub fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Records that a source of the job was asked to end before its input had ended.
    pub(crate) fn note_cut(&self) {
        self.is_cut.get_or_init(|| ());
    }

    /// Returns whether a source of the job was asked to end before its input had ended, for bounded and
    /// unbounded jobs alike.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get().is_some()
    }

    /// Returns whether the job has its whole result. The answer is final only after the streams of the job
    /// have ended.
    pub fn is_complete(&self) -> bool {
        !self.is_bounded || !self.is_cut()
    }
}
