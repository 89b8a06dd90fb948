//! Netmon in the typed interface: source → mean per pair and window → sink.

use thalweg::{Mean, Query, Sink, SlidingWindows, Source, WatermarkStrategy, Windowed, of};

use super::probe::{IpPair, Probe};

/// Adds netmon to `query`: the mean round-trip time per pair and window goes to `sink`.
pub fn mean_rtt_per_pair<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Probe> + 'static,
    K: Sink<Windowed<IpPair, f64>> + 'static,
{
    let windows = windows.into();
    query
        .splits("source", splits, strategy)
        .key_by(|probe| probe.pair)
        .sliding(windows)
        .aggregate(of(|probe: &Probe| probe.rtt, Mean))
        .sink("sink", sink);
}
