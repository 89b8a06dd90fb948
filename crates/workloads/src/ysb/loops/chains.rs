//! `loop-chains`: two fused loops with a block of 16-byte rows between them, like the engine's default chains:
//! source-filter-map, which reads two fields of an event, and join-window.

use thalweg_model::{Record, Windowed};

use super::Loop;
use super::blocks::BLANK_AD;
use super::window::{Campaigns, OpenWindow, campaigns};
use crate::loops::stamps::Stamps;
use crate::ysb::event::{AdInfo, VIEW, YsbEvent};

/// The hand-written loop for YSB: the block of rows between its two fused loops, and the state of the second
/// one.
pub(super) struct Chains {
    ads: Vec<Record<AdInfo>>,
    campaigns: Campaigns,
    open: OpenWindow,
}

impl Chains {
    pub(super) fn new(block_records: usize) -> Self {
        Chains { ads: vec![BLANK_AD; block_records], campaigns: campaigns(), open: OpenWindow::new() }
    }
}

impl Loop for Chains {
    fn block_records(&self) -> usize {
        self.ads.len()
    }

    fn run_block(&mut self, events: &[YsbEvent], stamps: &mut Stamps) {
        let ad_count = take_viewed_ads(events, stamps, &mut self.ads);
        join_and_count(&self.ads[..ad_count], &self.campaigns, &mut self.open);
    }

    fn finish(self) -> Vec<Windowed<u64, u64>> {
        self.open.finish()
    }
}

/// Source, filter and map in one loop: writes a row for every event, and advances the write position only
/// after a view, so there is no branch. Returns the number of views.
#[inline(never)]
fn take_viewed_ads(events: &[YsbEvent], stamps: &mut Stamps, ads: &mut [Record<AdInfo>]) -> usize {
    let mut local = *stamps;
    let mut count = 0;
    for event in events {
        ads[count] = Record::new(local.next_stamp(), AdInfo { ad_id: event.ad_id });
        count += usize::from(event.event_type == VIEW);
    }
    *stamps = local;
    count
}

/// Static join and window in one loop: counts the rows of each campaign to which an ad belongs.
#[inline(never)]
fn join_and_count(ads: &[Record<AdInfo>], campaigns: &Campaigns, open: &mut OpenWindow) {
    open.each_run(ads, |counts, run| {
        for ad in run {
            if let Some(campaign) = campaigns.get(ad.value.ad_id) {
                counts.add(campaign, 1);
            }
        }
    });
}
