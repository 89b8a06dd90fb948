//! Where the stream begins that a query of one stream is about: one source, or the splits of one.
//!
//! Streams of the two have different types, so a query is a function that takes either of these, and hands the stream to
//! the rest of it, which is generic over what the stream is made of.

use thalweg::Source;

/// Sources of one stream, all of one type. Whoever has one source need not mention it: it is one of these.
#[derive(Clone, Debug)]
pub enum Sources<S> {
    /// One, called `source`.
    One(S),
    /// The splits of one, each with its own watermarks, so that several workers read them at once: `source-1` and so on.
    Splits(Vec<S>),
}

// Bounded, so that sources are not taken for a source.
impl<S: Source> From<S> for Sources<S> {
    fn from(source: S) -> Self {
        Sources::One(source)
    }
}
