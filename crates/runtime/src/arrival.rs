//! Metadata of records when a step puts them out: the time of the output, and the context that the records
//! inherit.
//!
//! A step corresponds to the processing of a message in Cameo. All records that it makes of records have one
//! context, that of the first record which the step found waiting. Records that it makes of a watermark have
//! the context of the watermark. So a context is exact to within one step and one block, and it is the oldest
//! of those that it represents.

use thalweg_memory::Stamp;
use thalweg_model::ProcessingTime;
use thalweg_scheduling::Context;

/// The number stored in a record's metadata in place of a token, if the record has no token.
const NO_TOKEN: u64 = u64::MAX;

/// Metadata that a step attaches to the records it puts out: the start of the step, and the scheduling
/// context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Processing time at which the step that put out these records started.
    pub(crate) now: ProcessingTime,
    /// Scheduling context (Cameo) that these records inherit from the record or watermark they derive from.
    pub(crate) context: Context,
}

impl Arrival {
    /// Returns this metadata in the form in which an edge stores it beside the records.
    #[inline]
    pub(crate) fn stamp(self) -> Stamp {
        let token = self.context.token.map_or(NO_TOKEN, ProcessingTime::as_nanos);
        Stamp { came: self.now.as_nanos(), notes: [self.context.observed.as_nanos(), token] }
    }
}

/// Reads the scheduling context of a record from the stamp that an edge stores for it.
pub(crate) fn context_of(stamp: Stamp) -> Context {
    let [observed, token] = stamp.notes;
    let token = (token != NO_TOKEN).then_some(ProcessingTime::from_nanos(token));
    Context { observed: ProcessingTime::from_nanos(observed), token }
}

/// Makes metadata of records for tests that do not depend on it: the context is observed at `now`, without a
/// token.
#[cfg(all(test, not(loom)))]
pub(crate) fn at(now: ProcessingTime) -> Arrival {
    Arrival { now, context: Context { observed: now, token: None } }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_the_context() {
        let at = ProcessingTime::from_nanos;
        for token in [None, Some(at(0)), Some(at(7))] {
            let context = Context { observed: at(3), token };
            let stamp = Arrival { now: at(5), context }.stamp();
            assert_eq!((stamp.came, context_of(stamp)), (5, context));
        }
    }
}
