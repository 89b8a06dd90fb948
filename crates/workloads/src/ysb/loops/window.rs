//! The one open window of a hand-written loop for YSB, and two tables: the campaigns to join with, and the
//! counts of views.
//!
//! The event times of the input ascend, so at most one window is open, and it closes when a record after it
//! comes.

use thalweg_model::{EventTime, Record, TumblingWindows, Window, Windowed};

use super::table::Table;
use crate::ysb::event::{self, AD_COUNT, CAMPAIGN_COUNT};

/// A table of the campaign of each ad: 1,000 keys, half full; 32 KiB.
pub(super) type Campaigns = Table<2_048>;

/// A table of the views of each campaign: 100 keys; 4 KiB.
pub(super) type Counts = Table<256>;

const _: () = assert!(AD_COUNT <= 1_024 && CAMPAIGN_COUNT <= 128);

/// Returns the table of campaigns with which the loops join.
pub(super) fn campaigns() -> Campaigns {
    event::campaign_of_ad(CAMPAIGN_COUNT).into_iter().collect()
}

/// The window that is being counted, and the results of earlier windows.
pub(super) struct OpenWindow {
    windows: TumblingWindows,
    open: Window,
    /// Number of views of each campaign in the open window.
    pub(super) counts: Counts,
    results: Vec<Windowed<u64, u64>>,
}

impl OpenWindow {
    /// Creates the state without an open window; the first record will open one.
    pub(super) fn new() -> Self {
        let nowhere = Window { start: EventTime::MIN, end: EventTime::MIN };
        let windows = TumblingWindows::new(event::WINDOW).expect("YSB's window has a size");
        OpenWindow { windows, open: nowhere, counts: Counts::new(), results: Vec::new() }
    }

    /// Returns the end of the open window, which is exclusive.
    #[inline(always)]
    pub(super) fn end(&self) -> EventTime {
        self.open.end
    }

    /// Makes the window of `event_time` the open one, and closes the previous one.
    #[inline(always)]
    pub(super) fn move_to(&mut self, event_time: EventTime) {
        debug_assert!(self.open.start <= event_time, "a loop's input ascends");
        if self.open.end <= event_time {
            self.close();
            self.open = self.windows.window_of(event_time);
        }
    }

    /// Splits `rows` into the longest runs that lie in one window, and calls `each` with each of these runs
    /// of rows while its window is open. So the window is looked up once per run: once per block, except for
    /// blocks in which a window ends.
    #[inline(always)]
    pub(super) fn each_run<T>(
        &mut self,
        rows: &[Record<T>],
        mut each: impl FnMut(&mut Counts, &[Record<T>]),
    ) {
        let mut rest = rows;
        while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            self.move_to(first.event_time);
            let end = self.end();
            let count = if last.event_time < end {
                rest.len()
            } else {
                // The run has at least the first row, which opened the window. The window with the maximum
                // event time ends at that time, so the search alone could find an empty run there.
                rest.partition_point(|row| row.event_time < end).max(1)
            };
            let (run, behind) = rest.split_at(count);
            each(&mut self.counts, run);
            rest = behind;
        }
    }

    /// Closes the last window and returns all results, ordered by window and campaign.
    pub(super) fn finish(mut self) -> Vec<Windowed<u64, u64>> {
        self.close();
        self.results
    }

    #[cold]
    fn close(&mut self) {
        let first = self.results.len();
        let window = self.open;
        let counted = self.counts.drain().filter(|&(_, count)| count > 0);
        self.results.extend(counted.map(|(key, value)| Windowed::on_time(window, key, value)));
        self.results[first..].sort_unstable_by_key(|result| result.key);
    }
}
