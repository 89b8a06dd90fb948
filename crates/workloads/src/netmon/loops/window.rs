//! The one open window of a hand-written loop for netmon. The event times of the input ascend, so
//! at most one window is open, and it closes when a record after it comes.

use thalweg_model::{EventTime, TumblingWindows, Window, Windowed};

use super::table::PairTable;
use crate::netmon::WINDOW;
use crate::netmon::probe::IpPair;

/// The window that is being filled, and the results of earlier windows.
pub(super) struct OpenWindow {
    windows: TumblingWindows,
    open: Window,
    /// Sums of the round-trip times of each pair in the open window.
    pub(super) pairs: PairTable,
    results: Vec<Windowed<IpPair, f64>>,
}

impl OpenWindow {
    /// Creates the state without an open window; the first record will open one.
    pub(super) fn new() -> Self {
        let nowhere = Window { start: EventTime::MIN, end: EventTime::MIN };
        let windows = TumblingWindows::new(WINDOW).expect("netmon's window has a size");
        OpenWindow { windows, open: nowhere, pairs: PairTable::new(), results: Vec::new() }
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

    /// Closes the last window and returns all results, ordered by window.
    pub(super) fn finish(mut self) -> Vec<Windowed<IpPair, f64>> {
        self.close();
        self.results
    }

    #[cold]
    fn close(&mut self) {
        let window = self.open;
        let mean = |(pair, mean)| Windowed::on_time(window, IpPair::of_number(pair), mean);
        self.results.extend(self.pairs.drain().map(mean));
    }
}
