//! Word count in the typed interface: source → flat_map → count per word and window → sink.

use thalweg::{
    Count, Query, Segment, Sink, SlidingWindows, Source, Stream, Text, WatermarkStrategy, Windowed,
};

use crate::prose::Words;
use crate::sources::Sources;

/// Adds word count to `query`: words with their counts go to `sink`.
pub fn words_per_window<S, K>(
    query: &Query,
    source: impl Into<Sources<S>>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<Text, u64>> + 'static,
{
    let windows = windows.into();
    match source.into() {
        Sources::One(source) => words(query.source("source", source, strategy), windows, sink),
        Sources::Splits(splits) => words(query.splits("source", splits, strategy), windows, sink),
    }
}

fn words<C, K>(lines: Stream<Text, C>, windows: SlidingWindows, sink: K)
where
    C: Segment<Text>,
    K: Sink<Windowed<Text, u64>> + 'static,
{
    lines
        .flat_map(Words::of)
        .name("words")
        .key_by(Text::clone)
        .sliding(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
