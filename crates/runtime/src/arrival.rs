//! What is said of records when a step puts them out: when that was, and the context that they inherit.
//!
//! A step is what Cameo calls the processing of a message: what it makes of records has one context, that of the first record
//! which it found waiting, and what it makes of a watermark has that of the watermark. So a context is right to within one
//! step and one block, and the oldest of what it stands for counts.

use thalweg_memory::Stamp;
use thalweg_model::ProcessingTime;
use thalweg_scheduling::Context;

/// In the place of the tag of a token where there is none.
const NO_TOKEN: u64 = u64::MAX;

/// What is said of records when a step puts them out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When the step began.
    pub(crate) now: ProcessingTime,
    /// What they inherit.
    pub(crate) context: Context,
}

impl Arrival {
    /// The same as an edge keeps it.
    #[inline]
    pub(crate) fn stamp(self) -> Stamp {
        let token = self.context.token.map_or(NO_TOKEN, ProcessingTime::as_nanos);
        Stamp { came: self.now.as_nanos(), notes: [self.context.observed.as_nanos(), token] }
    }
}

/// The context in a stamp.
pub(crate) fn context_of(stamp: Stamp) -> Context {
    let [observed, token] = stamp.notes;
    let token = (token != NO_TOKEN).then_some(ProcessingTime::from_nanos(token));
    Context { observed: ProcessingTime::from_nanos(observed), token }
}

/// What tests say who do not care.
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
