//! `loop-blocks`: one loop per operator. Rows are copied from one operator to the next through reused blocks,
//! as in an engine without chains.
//!
//! ```text
//! cache -stamp-> 56-byte rows -keep-> 56-byte rows -take-> 16-byte rows -join-> 16-byte rows -count-> table
//! ```
//!
//! No operator is inlined. It must leave its rows in memory for the next one, as in an engine; otherwise the
//! compiler could fuse the two.

use thalweg_model::{EventTime, Record, Windowed};

use super::Loop;
use super::window::{Campaigns, OpenWindow, campaigns};
use crate::loops::stamps::Stamps;
use crate::ysb::event::{AdInfo, VIEW, YsbEvent};

/// The content of a row of events in a block before an event is written to it.
pub(super) const BLANK_EVENT: Record<YsbEvent> = Record::new(
    EventTime::EPOCH,
    YsbEvent { user_id: 0, page_id: 0, ad_id: 0, ad_type: 0, event_type: 0, ip: 0 },
);
/// The content of a row of ads in a block before an ad is written to it.
pub(super) const BLANK_AD: Record<AdInfo> = Record::new(EventTime::EPOCH, AdInfo { ad_id: 0 });

/// The hand-written loop for YSB: the blocks between its operators, and the state of its join and its window.
pub(super) struct Blocks {
    events: Vec<Record<YsbEvent>>,
    views: Vec<Record<YsbEvent>>,
    ads: Vec<Record<AdInfo>>,
    joined: Vec<Record<u64>>,
    campaigns: Campaigns,
    open: OpenWindow,
}

impl Blocks {
    pub(super) fn new(block_records: usize) -> Self {
        Blocks {
            events: vec![BLANK_EVENT; block_records],
            views: vec![BLANK_EVENT; block_records],
            ads: vec![BLANK_AD; block_records],
            joined: vec![Record::new(EventTime::EPOCH, 0); block_records],
            campaigns: campaigns(),
            open: OpenWindow::new(),
        }
    }
}

impl Loop for Blocks {
    fn block_records(&self) -> usize {
        self.events.len()
    }

    fn run_block(&mut self, events: &[YsbEvent], stamps: &mut Stamps) {
        let rows = &mut self.events[..events.len()];
        stamp(events, stamps, rows);
        let view_count = keep_views(rows, &mut self.views);
        let ads = &mut self.ads[..view_count];
        take_ads(&self.views[..view_count], ads);
        let joined_count = join(ads, &self.campaigns, &mut self.joined);
        count(&self.joined[..joined_count], &mut self.open);
    }

    fn finish(self) -> Vec<Windowed<u64, u64>> {
        self.open.finish()
    }
}

/// Source: copies events into a block and gives them their event times.
#[inline(never)]
pub(super) fn stamp(events: &[YsbEvent], stamps: &mut Stamps, rows: &mut [Record<YsbEvent>]) {
    // The position in the sequence of event times is copied into a local variable, which stays in registers.
    // It is written back once per block, not once per row.
    let mut local = *stamps;
    for (row, event) in rows.iter_mut().zip(events) {
        *row = Record::new(local.next_stamp(), *event);
    }
    *stamps = local;
}

/// Filter: copies every row, and advances the write position only after a view: a branch taken for a random
/// third of the rows cannot be predicted. Returns the number of views.
#[inline(never)]
fn keep_views(rows: &[Record<YsbEvent>], views: &mut [Record<YsbEvent>]) -> usize {
    let mut count = 0;
    for row in rows {
        views[count] = *row;
        count += usize::from(row.value.event_type == VIEW);
    }
    count
}

/// Map: takes the event time and the ad of each view.
#[inline(never)]
fn take_ads(views: &[Record<YsbEvent>], ads: &mut [Record<AdInfo>]) {
    for (ad, view) in ads.iter_mut().zip(views) {
        *ad = Record::new(view.event_time, AdInfo { ad_id: view.value.ad_id });
    }
}

/// Static join: writes the campaign of every ad; an ad without one is dropped. Returns the number of rows
/// written.
#[inline(never)]
pub(super) fn join(ads: &[Record<AdInfo>], campaigns: &Campaigns, joined: &mut [Record<u64>]) -> usize {
    let mut count = 0;
    for ad in ads {
        if let Some(campaign) = campaigns.get(ad.value.ad_id) {
            joined[count] = Record::new(ad.event_time, campaign);
            count += 1;
        }
    }
    count
}

/// Window: counts the rows of each campaign.
#[inline(never)]
pub(super) fn count(joined: &[Record<u64>], open: &mut OpenWindow) {
    open.each_run(joined, |counts, run| {
        for row in run {
            counts.add(row.value, 1);
        }
    });
}
