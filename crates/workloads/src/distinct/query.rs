//! Distinct in the typed interface: source → distinct per window → count per window → sink.

use thalweg::{
    Count, Query, Segment, Sink, Source, Stream, Text, TumblingWindows, WatermarkStrategy, Windowed,
};

use crate::sources::Sources;

/// Adds distinct to `query`: the number of different texts per window goes to `sink`.
///
/// What is different comes as soon as it is seen first, stamped with the last instant of its window; so the count is of the
/// same windows, and holds one number, not a set.
pub fn different_per_window<S, K>(
    query: &Query,
    source: impl Into<Sources<S>>,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<(), u64>> + 'static,
{
    match source.into() {
        Sources::One(source) => different(query.source("source", source, strategy), windows, sink),
        Sources::Splits(splits) => different(query.splits("source", splits, strategy), windows, sink),
    }
}

fn different<C, K>(texts: Stream<Text, C>, windows: TumblingWindows, sink: K)
where
    C: Segment<Text>,
    K: Sink<Windowed<(), u64>> + 'static,
{
    texts
        .key_by(Text::clone)
        .distinct(windows)
        .key_by(|_| ())
        .tumbling(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
