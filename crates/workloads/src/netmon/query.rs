//! Netmon in the typed interface: source → mean per pair and window → sink.

use thalweg::{Mean, Query, Segment, Sink, SlidingWindows, Source, Stream, WatermarkStrategy, Windowed, of};

use super::probe::{IpPair, Probe};
use crate::sources::Sources;

/// Adds netmon to `query`: the mean round-trip time per pair and window goes to `sink`.
pub fn mean_rtt_per_pair<S, K>(
    query: &Query,
    source: impl Into<Sources<S>>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Probe> + 'static,
    K: Sink<Windowed<IpPair, f64>> + 'static,
{
    let windows = windows.into();
    match source.into() {
        Sources::One(source) => mean_rtt(query.source("source", source, strategy), windows, sink),
        Sources::Splits(splits) => mean_rtt(query.splits("source", splits, strategy), windows, sink),
    }
}

fn mean_rtt<C, K>(probes: Stream<Probe, C>, windows: SlidingWindows, sink: K)
where
    C: Segment<Probe>,
    K: Sink<Windowed<IpPair, f64>> + 'static,
{
    probes
        .key_by(|probe| probe.pair)
        .sliding(windows)
        .aggregate(of(|probe: &Probe| probe.rtt, Mean))
        .sink("sink", sink);
}
