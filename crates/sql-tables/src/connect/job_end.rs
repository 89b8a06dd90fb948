//! The end of a job, as its sources report it to its sinks.
//!
//! A job is bounded if all of its inputs end. A bounded job is complete when its inputs have been read to
//! their ends. If one of its sources was asked to end earlier, the job was cut short, and its sinks publish
//! only a part of the result. An unbounded job ends only by being stopped, so a stop does not make it
//! incomplete.
//!
//! A job also ends when no further row can change its result, because the LIMIT of each of its plans has passed all of its
//! rows. Then the sources end their streams as at the end of their inputs, and the job is complete.
//!
//! A source records the cut before it ends its stream. A sink checks for it after the end of that stream, so
//! the sink sees it.

use std::sync::{Arc, OnceLock};

/// Tells how one job ends: whether it is bounded, whether a source was asked to end early, and whether the job needs more
/// rows. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct JobEnd {
    is_bounded: bool,
    is_cut: Arc<OnceLock<()>>,
    /// Marks of the plans whose LIMIT is full, one for each plan of the job; empty if a plan has no LIMIT over all of its
    /// tables.
    limit_marks: Arc<[OnceLock<()>]>,
}

/// Mark by which the LIMIT of one plan of a job tells the sources of the job that it is full.
#[derive(Clone, Debug)]
pub struct LimitMark {
    limit_marks: Arc<[OnceLock<()>]>,
    plan: usize,
}

impl LimitMark {
    /// Records that the LIMIT of the plan has passed all of its rows.
    pub fn set(&self) {
        if let Some(mark) = self.limit_marks.get(self.plan) {
            mark.get_or_init(|| ());
        }
    }
}

impl JobEnd {
    /// Creates the state of a job that has not ended. `is_bounded` says whether all of its inputs end.
    pub fn new(is_bounded: bool) -> Self {
        JobEnd { is_bounded, ..JobEnd::default() }
    }

    /// Returns the state of a job with `plans` plans, each of which has a LIMIT over all of its tables. So the job ends when
    /// all of them are full.
    #[must_use]
    pub fn with_limits(self, plans: usize) -> Self {
        JobEnd { limit_marks: (0..plans).map(|_| OnceLock::new()).collect(), ..self }
    }

    /// Returns the mark of the LIMIT of the plan with this index, counted from 0.
    pub fn limit_mark(&self, plan: usize) -> LimitMark {
        LimitMark { limit_marks: Arc::clone(&self.limit_marks), plan }
    }

    /// Returns whether no further row of any table can change the result of the job.
    pub(crate) fn has_enough(&self) -> bool {
        !self.limit_marks.is_empty() && self.limit_marks.iter().all(|mark| mark.get().is_some())
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
