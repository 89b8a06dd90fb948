//! Identity: forwards every record unchanged; the chain of a source or an edge that has no operator.
//!
//! Input      any
//! Output     the same
//! State      none
//! Emits      at once
//! Late       no record is late
//! Watermark  forwarded unchanged
//! Cost       a move per record
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # use thalweg_connectors::Collect;
//! # fn f<C: Segment<i64>>(numbers: Stream<i64, C>, sink: Collect<i64>) {
//! // No operator stands between the edge that the stream ends at and the sink.
//! numbers.boxed().sink("numbers", sink);
//! # }
//! ```

use thalweg_model::{
    Counts, Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

/// Operator that forwards every record unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T> Operator<T> for Identity {
    type Out = T;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        Identity
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<T>>(&mut self, input: &mut I, output: &mut O) {
        output.push_all(input);
    }

    #[inline(always)]
    fn process_one<O: Output<T>>(&mut self, record: Record<T>, output: &mut O) {
        output.push(record);
    }

    fn note_read(&mut self, _count: u64) {}

    /// Passes no counts to the visitor: the user did not write this operator, so reports do not mention it.
    fn visit_counts(&self, _each: &mut dyn FnMut(&str, Counts)) {}

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}
