//! Distinct in the typed interface: source → distinct per window → count per window → sink.

use thalweg::{Count, Query, Sink, Source, Text, TumblingWindows, WatermarkStrategy, Windowed};

/// Adds distinct to `query`: the number of different texts per window goes to `sink`.
///
/// The first occurrence of a text in a window is emitted at once, stamped with the last instant of the window.
/// So the count falls into the same window, and its state is one number, not a set.
pub fn different_per_window<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<(), u64>> + 'static,
{
    query
        .splits("source", splits, strategy)
        .key_by(Text::clone)
        .distinct(windows)
        .key_by(|_| ())
        .tumbling(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
