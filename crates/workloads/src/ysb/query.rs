//! YSB in the typed interface: source → filter → map → static join → count per window → sink.

use thalweg::{Count, Query, Sink, SlidingWindows, Source, Table, WatermarkStrategy, Windowed};

use super::event::{AdInfo, CAMPAIGN_COUNT, VIEW, YsbEvent, campaign_of_ad};

/// Adds YSB to `query`: views per campaign and window go to `sink`.
///
/// # Panics
/// Never: the table of ads has unique keys.
pub fn views_per_campaign<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = YsbEvent> + 'static,
    K: Sink<Windowed<u64, u64>> + 'static,
{
    views_of_campaigns(query, splits, strategy, windows, CAMPAIGN_COUNT, sink);
}

/// Adds YSB to `query`, as [`views_per_campaign`] does, with another number of campaigns.
///
/// # Panics
/// Never: the table of ads has unique keys.
pub fn views_of_campaigns<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    campaigns: u64,
    sink: K,
) where
    S: Source<Item = YsbEvent> + 'static,
    K: Sink<Windowed<u64, u64>> + 'static,
{
    let windows = windows.into();
    let campaigns = Table::new(campaign_of_ad(campaigns)).expect("every ad belongs to one campaign");
    query
        .splits("source", splits, strategy)
        .filter(|event| event.event_type == VIEW)
        .map(|event| AdInfo { ad_id: event.ad_id })
        .join_table(campaigns, |ad| ad.ad_id, |_, campaign: &u64| *campaign)
        .key_by(|campaign| *campaign)
        .sliding(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
