//! Reference results of YSB: the number of views of each campaign in each window.
//!
//! The rules, as the benchmark's description states them: event type 0 is a view; ads are numbered 1 to 1,000,
//! ten consecutive ones belong to one campaign, campaigns are numbered from 0; windows start at multiples of
//! their slide. A window or campaign without a view has no row. The first and the last windows count even if
//! the input begins or ends within them. No event is late.

use std::collections::BTreeMap;

use super::{Row, Windows};

/// One event of YSB, with the fields that the query reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YsbInput {
    /// Event time, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// Type of the event; 0 is a view.
    pub event_type: u64,
    /// Number that identifies the ad, from 1 to 1,000. An ad with another number belongs to no campaign.
    pub ad_id: u64,
}

/// One row of the results of YSB; the fields are the columns of `ysb.csv`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct YsbCount {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number that identifies the campaign, from 0 to 99.
    pub campaign: u64,
    /// Number of views of the campaign's ads in the window.
    pub count: u64,
}

impl Row for YsbCount {
    type Key = (i64, u64);

    fn key(&self) -> (i64, u64) {
        (self.window_start_ms, self.campaign)
    }
}

/// Returns the results of YSB for `events`, which may be in any order; the rows are ordered by window and
/// campaign. The windows may be given as a plain number, the size in microseconds of back-to-back windows.
///
/// # Panics
/// If size and slide are not positive numbers of whole milliseconds.
pub fn ysb_counts(events: impl Iterator<Item = YsbInput>, windows: impl Into<Windows>) -> Vec<YsbCount> {
    ysb_counts_of_campaigns(events, windows, CAMPAIGNS)
}

/// Returns the results of YSB as [`ysb_counts`] does, for another number of campaigns. Each of them has ten
/// ads.
///
/// # Panics
/// As [`ysb_counts`].
pub fn ysb_counts_of_campaigns(
    events: impl Iterator<Item = YsbInput>,
    windows: impl Into<Windows>,
    campaigns: u64,
) -> Vec<YsbCount> {
    let windows = windows.into();
    windows.assert_whole(1_000, "milliseconds");
    // A list of the campaigns for each window is much faster than a map if there are a million of them.
    let mut counts: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for event in events {
        let Some(campaign) = campaign_of_view(event.event_type, event.ad_id, campaigns) else { continue };
        for start_us in windows.starts(event.event_time_us) {
            let counted = counts.entry(start_us).or_insert_with(|| vec![0; campaigns as usize]);
            counted[campaign as usize] += 1;
        }
    }
    let rows = |(start_us, counted): (i64, Vec<u64>)| {
        let seen = (0..).zip(counted).filter(|(_, count)| *count > 0);
        seen.map(move |(campaign, count)| row(start_us, campaign, count))
    };
    counts.into_iter().flat_map(rows).collect()
}

/// Number of campaigns of the benchmark's own data.
const CAMPAIGNS: u64 = 100;

/// A benchmark run over a generator's events in order, stamped at a steady rate.
#[derive(Clone, Copy, Debug)]
pub struct YsbDrain<'a> {
    /// Event type and ad of the events of one period, which repeats.
    pub period: &'a [(u64, u64)],
    /// Number of events of the run, which may exceed the period.
    pub events: u64,
    /// Event rate: event `index` is stamped `start_us + floor(index * 1,000,000 / rate_per_s)`. Above zero.
    pub rate_per_s: u64,
    /// Event time of the first event, in microseconds since the Unix epoch.
    pub start_us: i64,
    /// The windows of the results. Their size and slide are positive numbers of whole milliseconds.
    pub windows: Windows,
}

/// Returns the results of a run of any length, from two passes over the period: the work grows with the
/// period and with the rows of results, not with the events. The results equal those of [`ysb_counts`] for
/// all events, ordered by window and campaign.
///
/// A window has the events between two indexes, because event times rise with the index. So its counts are
/// the difference of two sums, over all events before each of the two indexes.
///
/// # Panics
/// If a number of [`YsbDrain`] is out of range, or the period is empty.
pub fn ysb_counts_of_drain(run: YsbDrain<'_>) -> Vec<YsbCount> {
    let YsbDrain { period, events, rate_per_s, start_us, windows } = run;
    windows.assert_whole(1_000, "milliseconds");
    assert!(rate_per_s > 0, "a rate must be above zero");
    if events == 0 {
        return Vec::new();
    }
    let wide = |number: i64| i128::from(number);
    let (size, slide, start, rate) =
        (wide(windows.size_us), wide(windows.slide_us), wide(start_us), i128::from(rate_per_s));
    let last_stamp = start + i128::from(events - 1) * 1_000_000 / rate;
    // The first window with a row is the first one that ends after the first event.
    let first_window = ((start - size).div_euclid(slide) + 1) * slide;
    let window_starts: Vec<i128> =
        (0..).map(|n| first_window + n * slide).take_while(|window| *window <= last_stamp).collect();
    // Returns the index of the first event at or after an instant (the start or the end of a window): the
    // least `i` with `floor(i * 1e6 / rate) >= border - start`, which is the same as `i >= (border - start) *
    // rate / 1e6`.
    let index_at = |border: i128| {
        let index = ((border - start).max(0) * rate + 999_999) / 1_000_000;
        index.min(i128::from(events)) as u64
    };
    let sums_at = |offset: i128| {
        let indexes: Vec<u64> = window_starts.iter().map(|window| index_at(window + offset)).collect();
        sums_before(period, &indexes)
    };
    let mut rows = Vec::new();
    for (window, (before, behind)) in window_starts.iter().zip(sums_at(0).iter().zip(sums_at(size))) {
        let window_start_us = i64::try_from(*window).expect("the run lies in the range of times");
        let counts = before.iter().zip(behind).map(|(before, behind)| behind - before);
        let counted = (0..).zip(counts).filter(|&(_, count)| count > 0);
        rows.extend(counted.map(|(campaign, count)| row(window_start_us, campaign, count)));
    }
    rows
}

/// Returns, for each of the rising `indexes`, the views of every campaign among the events before it.
fn sums_before(period: &[(u64, u64)], indexes: &[u64]) -> Vec<Vec<u64>> {
    let length = period.len() as u64;
    assert!(length > 0, "a period must have events");
    // The indexes are visited in the order of their position in the period, and views are counted up to each
    // position on the way.
    let mut visits: Vec<usize> = (0..indexes.len()).collect();
    visits.sort_by_key(|&n| indexes[n] % length);
    let mut sums = vec![Vec::new(); indexes.len()];
    let mut counted = vec![0; CAMPAIGNS as usize];
    let mut place = 0;
    for n in visits {
        let until = (indexes[n] % length) as usize;
        count_views(&period[place..until], &mut counted);
        place = until;
        sums[n] = counted.clone();
    }
    count_views(&period[place..], &mut counted);
    for (sum, index) in sums.iter_mut().zip(indexes) {
        let whole_periods = index / length;
        sum.iter_mut().zip(&counted).for_each(|(sum, total)| *sum += whole_periods * total);
    }
    sums
}

fn count_views(events: &[(u64, u64)], counted: &mut [u64]) {
    let campaigns =
        events.iter().filter_map(|&(event_type, ad_id)| campaign_of_view(event_type, ad_id, CAMPAIGNS));
    campaigns.for_each(|campaign| counted[campaign as usize] += 1);
}

fn campaign_of_view(event_type: u64, ad_id: u64, campaigns: u64) -> Option<u64> {
    (event_type == 0 && (1..=10 * campaigns).contains(&ad_id)).then(|| (ad_id - 1) / 10)
}

fn row(window_start_us: i64, campaign: u64, count: u64) -> YsbCount {
    YsbCount { window_start_ms: window_start_us / 1_000, campaign, count }
}

#[cfg(test)]
mod tests;
