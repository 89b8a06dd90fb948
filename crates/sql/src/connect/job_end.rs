//! How a job ends, as its sources tell its sinks.
//!
//! A job is bounded if all that it reads has an end. A bounded job is complete when its input has been read to that end; if one of
//! its sources was asked to end before, the job was cut short, and what its sinks publish is a part of the result. An unbounded job
//! has no other end than being stopped, so being stopped makes nothing of it incomplete.
//!
//! A source takes note before it ends its stream, and a sink looks behind the end of that stream, so the sink sees the note.

use std::sync::{Arc, OnceLock};

/// How one job ends; clones share it.
#[derive(Clone, Debug, Default)]
pub struct JobEnd {
    is_bounded: bool,
    is_cut: Arc<OnceLock<()>>,
}

impl JobEnd {
    /// The end of a job which is bounded, or not.
    pub fn new(is_bounded: bool) -> Self {
        JobEnd { is_bounded, is_cut: Arc::default() }
    }

    /// Whether all that the job reads has an end.
    pub fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Takes note that a source was asked to end before its input has.
    pub(crate) fn note_cut(&self) {
        self.is_cut.get_or_init(|| ());
    }

    /// Whether a source was asked to end before its input has, be the job bounded or not.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get().is_some()
    }

    /// Whether the job has what it was to have, now that its streams have ended.
    pub fn is_complete(&self) -> bool {
        !self.is_bounded || !self.is_cut()
    }
}
