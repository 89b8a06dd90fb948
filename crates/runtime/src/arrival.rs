//! Metadata of records when a step puts them out: the time of the output, and the scheduling context (Cameo)
//! that the records inherit.
//!
//! A step corresponds to the processing of a message in Cameo. All records that it makes of records have one
//! context, that of the first record which the step found waiting. Records that it makes of a watermark have
//! the context of the watermark. So a context is exact to within one step and one block, and it is the oldest
//! of those that it represents.

use thalweg_memory::Stamp;
use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::ProcessingTime;
use thalweg_scheduling::Context;

/// The number stored in a record's metadata in place of a token, if the record has no token.
const NO_TOKEN: u64 = u64::MAX;

/// Metadata that a step attaches to the records it puts out: the start of the step, and the scheduling
/// context (Cameo: the time at which the source event behind them fell due or was read, and a token).
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

/// Reads the scheduling context of a record (the time at which its source event fell due or was read, and a
/// token) from the numbers that an edge stores for the record.
pub(crate) fn context_of(stamp: Stamp) -> Context {
    let [observed, token] = stamp.notes;
    let token = (token != NO_TOKEN).then_some(ProcessingTime::from_nanos(token));
    Context { observed: ProcessingTime::from_nanos(observed), token }
}

/// A scheduling context (the time at which a source event fell due or was read, and a token) that other
/// threads may read at any time. A reader may see the time of one context and the token of another. Relaxed:
/// a hint for schedulers.
#[derive(Debug)]
pub(crate) struct ContextCell {
    observed_ns: AtomicU64,
    /// The token's time, or [`NO_TOKEN`].
    token_ns: AtomicU64,
}

impl ContextCell {
    /// Makes a cell with a context that is older than any record, without a token.
    pub(crate) fn new() -> Self {
        ContextCell { observed_ns: AtomicU64::new(0), token_ns: AtomicU64::new(NO_TOKEN) }
    }

    pub(crate) fn store(&self, context: Context) {
        self.observed_ns.store(context.observed.as_nanos(), Ordering::Relaxed);
        self.token_ns.store(context.token.map_or(NO_TOKEN, ProcessingTime::as_nanos), Ordering::Relaxed);
    }

    pub(crate) fn load(&self) -> Context {
        let notes = [self.observed_ns.load(Ordering::Relaxed), self.token_ns.load(Ordering::Relaxed)];
        context_of(Stamp { came: 0, notes })
    }

    /// Replaces the time of the context, and its token, each by the later of the old and the new value. The
    /// later token is the one that becomes valid later. Any number of threads may call this at once.
    pub(crate) fn raise(&self, context: Context) {
        let observed_ns = context.observed.as_nanos();
        self.observed_ns.fetch_max(observed_ns, Ordering::Relaxed);
        if let Some(token) = context.token {
            // `NO_TOKEN`, the greatest number, means that no token is stored. Any token replaces it.
            let is_later = |known: u64| known == NO_TOKEN || known < token.as_nanos();
            let raised = |known| is_later(known).then_some(token.as_nanos());
            // An error of `fetch_update` means that the same token or a later one is stored already, so
            // nothing is to be done.
            let _kept = self.token_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised);
        }
    }
}

/// Makes metadata of records for tests that do not depend on it: the source events behind the records were
/// read at `now`, and the records have no token.
#[cfg(all(test, not(loom)))]
pub(crate) fn at(now: ProcessingTime) -> Arrival {
    Arrival { now, context: Context { observed: now, token: None } }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cell_keeps_the_latest_context() {
        let at = ProcessingTime::from_nanos;
        let of = |observed, token: Option<u64>| Context { observed: at(observed), token: token.map(at) };
        let cell = ContextCell::new();
        assert_eq!(cell.load(), of(0, None));
        for (raised, expected) in [
            (of(3, None), of(3, None)),
            (of(2, Some(5)), of(3, Some(5))),
            (of(7, Some(4)), of(7, Some(5))),
            (of(7, None), of(7, Some(5))),
        ] {
            cell.raise(raised);
            assert_eq!(cell.load(), expected);
        }
        cell.store(of(1, None));
        assert_eq!(cell.load(), of(1, None));
    }

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
