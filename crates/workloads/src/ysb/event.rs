//! The event of YSB, its ads and campaigns, and the window in which views are counted.

use thalweg_model::{Record, Span};

/// Number of advertising campaigns, which are numbered from 0.
pub const CAMPAIGN_COUNT: u64 = 100;
/// Number of ads of each campaign.
pub const ADS_PER_CAMPAIGN: u64 = 10;
/// Number of ads of all campaigns, numbered from 1.
pub const AD_COUNT: u64 = CAMPAIGN_COUNT * ADS_PER_CAMPAIGN;
/// Number of users, numbered from 1.
pub const USER_COUNT: u64 = 1_000_000;
/// Number of pages, numbered from 1.
pub const PAGE_COUNT: u64 = 1_000_000;
/// Number of kinds of ad, numbered from 0 (Yahoo's banner, modal, sponsored search, mail, mobile).
pub const AD_TYPE_COUNT: u64 = 5;
/// Number of kinds of event, numbered from 0: [`VIEW`], [`CLICK`], [`PURCHASE`].
pub const EVENT_TYPE_COUNT: u64 = 3;
/// The event type "view", which the query keeps.
pub const VIEW: u64 = 0;
/// The event type "click", which the query drops.
pub const CLICK: u64 = 1;
/// The event type "purchase", which the query drops.
pub const PURCHASE: u64 = 2;
/// Window in which the views of ads are counted.
pub const WINDOW: Span = Span::from_secs(10);

/// An event of YSB: a user views or clicks an ad, or buys something. With the record's event time
/// this is Yahoo's event of seven fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YsbEvent {
    /// Number that identifies the user, in `1..=USER_COUNT`.
    pub user_id: u64,
    /// Number that identifies the page, in `1..=PAGE_COUNT`.
    pub page_id: u64,
    /// Number that identifies the ad, in `1..=AD_COUNT` unless a run has another number of campaigns.
    pub ad_id: u64,
    /// Kind of the ad, below `AD_TYPE_COUNT`.
    pub ad_type: u64,
    /// Kind of the event, below `EVENT_TYPE_COUNT`.
    pub event_type: u64,
    /// Origin of the event: an IPv4 address as a number; always the same in Yahoo's program and
    /// here.
    pub ip: u64,
}

/// The fields of a YSB event that the query's map keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdInfo {
    /// Number that identifies the ad, in `1..=AD_COUNT`.
    pub ad_id: u64,
}

/// Records have the sizes that the papers give. Throughput in bytes and the number of records in a block
/// depend on these sizes.
const _: () = assert!(size_of::<Record<YsbEvent>>() == 56);
const _: () = assert!(size_of::<Record<AdInfo>>() == 16);

/// Returns the table that the query joins with: `(ad_id, campaign)` for every ad of so many campaigns, by
/// rising ad.
pub fn campaign_of_ad(campaigns: u64) -> Vec<(u64, u64)> {
    (1..=campaigns.saturating_mul(ADS_PER_CAMPAIGN))
        .map(|ad_id| (ad_id, (ad_id - 1) / ADS_PER_CAMPAIGN))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_campaign_has_its_ten_ads_and_no_ad_has_two() {
        let table = campaign_of_ad(CAMPAIGN_COUNT);
        assert_eq!((table.first(), table.last()), (Some(&(1, 0)), Some(&(1_000, 99))));
        for campaign in 0..CAMPAIGN_COUNT {
            let ads: Vec<u64> = table.iter().filter(|row| row.1 == campaign).map(|row| row.0).collect();
            let first = campaign * 10 + 1;
            assert_eq!(ads, (first..first + 10).collect::<Vec<u64>>());
        }
        assert!(table.is_sorted_by(|a, b| a.0 < b.0));
    }
}
