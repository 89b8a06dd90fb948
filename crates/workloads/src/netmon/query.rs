//! Netmon in the typed interface: source → mean per pair and window → sink.

use thalweg::{Mean, Query, Sink, SlidingWindows, Source, WatermarkStrategy, Windowed, of};

use super::probe::{IpPair, Probe};

/// Adds netmon to `query`: the mean round-trip time per pair and window goes to `sink`.
pub fn mean_rtt_per_pair<S, K>(
    query: &Query,
    source: S,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Probe> + 'static,
    K: Sink<Windowed<IpPair, f64>> + 'static,
{
    query
        .source("source", source, strategy)
        .key_by(|probe| probe.pair)
        .sliding(windows.into())
        .aggregate(of(|probe: &Probe| probe.rtt, Mean))
        .sink("sink", sink);
}
