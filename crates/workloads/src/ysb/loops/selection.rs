//! `loop-selection`: one loop per operator as in [`super::blocks`], but the filter copies no rows: it lists the
//! positions of those it keeps, and the map reads them from there.

use thalweg_model::{EventTime, Record, Windowed};

use super::Loop;
use super::blocks::{BLANK_AD, BLANK_EVENT, count, join, stamp};
use super::window::{Campaigns, OpenWindow, campaigns};
use crate::loops::stamps::Stamps;
use crate::ysb::event::{AdInfo, VIEW, YsbEvent};

/// The hand-written loop for YSB: the blocks between its operators, and the state of its join and its window.
pub(super) struct Selection {
    events: Vec<Record<YsbEvent>>,
    views: Vec<u32>,
    ads: Vec<Record<AdInfo>>,
    joined: Vec<Record<u64>>,
    campaigns: Campaigns,
    open: OpenWindow,
}

impl Selection {
    pub(super) fn new(block_records: usize) -> Self {
        Selection {
            events: vec![BLANK_EVENT; block_records],
            views: vec![0; block_records],
            ads: vec![BLANK_AD; block_records],
            joined: vec![Record::new(EventTime::EPOCH, 0); block_records],
            campaigns: campaigns(),
            open: OpenWindow::new(),
        }
    }
}

impl Loop for Selection {
    fn block_records(&self) -> usize {
        self.events.len()
    }

    fn run_block(&mut self, events: &[YsbEvent], stamps: &mut Stamps) {
        let rows = &mut self.events[..events.len()];
        stamp(events, stamps, rows);
        let view_count = select_views(rows, &mut self.views);
        let ads = &mut self.ads[..view_count];
        take_ads(rows, &self.views[..view_count], ads);
        let joined_count = join(ads, &self.campaigns, &mut self.joined);
        count(&self.joined[..joined_count], &mut self.open);
    }

    fn finish(self) -> Vec<Windowed<u64, u64>> {
        self.open.finish()
    }
}

/// Filter: lists the positions of the rows that are views. Returns their number.
#[inline(never)]
fn select_views(rows: &[Record<YsbEvent>], views: &mut [u32]) -> usize {
    let mut count = 0;
    for (place, row) in (0..).zip(rows) {
        views[count] = place;
        count += usize::from(row.value.event_type == VIEW);
    }
    count
}

/// Map: takes the event time and the ad of the rows whose positions the filter has listed.
#[inline(never)]
fn take_ads(rows: &[Record<YsbEvent>], views: &[u32], ads: &mut [Record<AdInfo>]) {
    for (ad, &place) in ads.iter_mut().zip(views) {
        let row = &rows[place as usize];
        *ad = Record::new(row.event_time, AdInfo { ad_id: row.value.ad_id });
    }
}
