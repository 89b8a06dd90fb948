//! Word count in the typed interface: source → flat_map → count per word and window → sink.

use thalweg::{Count, Query, Sink, SlidingWindows, Source, Text, WatermarkStrategy, Windowed};

use crate::prose::Words;

/// Adds word count to `query`: words with their counts go to `sink`.
pub fn words_per_window<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<Text, u64>> + 'static,
{
    let windows = windows.into();
    query
        .splits("source", splits, strategy)
        .flat_map(Words::of)
        .name("words")
        .key_by(Text::clone)
        .sliding(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
