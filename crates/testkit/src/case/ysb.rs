//! Test case for YSB: it runs on a number of generated events and is compared with a reference.

use std::sync::{Arc, LazyLock};

use thalweg::{
    EventTime, Generate, Graph, Layout, Query, QueryReport, TumblingWindows, WatermarkStrategy, Windowed,
};
use thalweg_connectors::{Pace, Paced, SplitShares};
use thalweg_model::{ProcessingTime, Span};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::ysb::{YsbCount, YsbInput, ysb_counts};
use thalweg_workloads::ysb::query::views_per_campaign;
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions};

use super::Case;
use crate::gather::{AnyGathered, Expects, Gather, Gathered};

/// Test case of the YSB benchmark: the number of views per campaign and window.
pub struct Ysb {
    /// Number of events that the source generates.
    pub events: u64,
    /// Pace at which the source generates events.
    pub pace: YsbPace,
    /// Size of the windows in which views of campaigns are counted.
    pub window: Span,
    splits: usize,
    gathered: Gathered<Windowed<u64, u64>>,
}

/// Pace at which the source of a [`Ysb`] generates events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum YsbPace {
    /// The source generates events as fast as the query reads them. Event times begin at the epoch, with this
    /// number of events per second of event time.
    Drained(u64),
    /// The source generates this number of events per second of processing time, the first at this instant.
    AtRate(u64, ProcessingTime),
}

/// Returns the events of all YSB cases of a process: 48 MiB, and always the same.
pub fn shared_ysb_generator() -> Arc<YsbGenerator> {
    static GENERATOR: LazyLock<Arc<YsbGenerator>> =
        LazyLock::new(|| Arc::new(YsbGenerator::new(YsbOptions::default())));
    Arc::clone(&GENERATOR)
}

impl Ysb {
    /// Creates a test case of YSB with the first `events` events, counted in windows of `window`.
    pub fn new(events: u64, pace: YsbPace, window: Span) -> Self {
        Ysb { events, pace, window, splits: 1, gathered: Gathered::default() }
    }

    /// Returns the case with the same events, made by the given number of splits.
    ///
    /// # Panics
    /// If `splits` is zero.
    pub fn over_splits(self, splits: usize) -> Self {
        assert!(splits > 0, "somebody makes them");
        Ysb { splits, ..self }
    }

    fn pace(&self) -> Pace {
        match self.pace {
            YsbPace::Drained(nominal_rate_per_s) => {
                Pace::Drain { nominal_rate_per_s, start: EventTime::EPOCH }
            }
            YsbPace::AtRate(rate_per_s, start) => Pace::Rate { rate_per_s, start, time_scale: 1 },
        }
    }

    fn stamp_us(&self, index: u64) -> i64 {
        // The event time is computed in nanoseconds and then cut to microseconds, because an event that is
        // sent at a rate is stamped with its intended time, which is cut to nanoseconds first.
        let (rate_per_s, start_ns) = match self.pace {
            YsbPace::Drained(rate_per_s) => (rate_per_s, 0),
            YsbPace::AtRate(rate_per_s, start) => (rate_per_s, start.as_nanos()),
        };
        let stamp_ns = u128::from(start_ns) + u128::from(index) * 1_000_000_000 / u128::from(rate_per_s);
        i64::try_from(stamp_ns / 1_000).expect("tests end before the end of time")
    }
}

impl Case for Ysb {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let source = Paced::new(shared_ysb_generator(), self.pace()).expect("the rate is in range");
        let source = source.with_limit(self.events);
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let windows = TumblingWindows::new(self.window).expect("windows have a size");
        let strategy = WatermarkStrategy::ascending();
        views_per_campaign(&query, source.splits(self.splits), strategy, windows, sink);
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let generator = shared_ysb_generator();
        let input = |index: u64| {
            let event_time_us = self.stamp_us(index);
            let event = generator.value(index, EventTime::from_micros(event_time_us));
            YsbInput { event_time_us, event_type: event.event_type, ad_id: event.ad_id }
        };
        let made = SplitShares::to(self.splits, self.pace()).places(&report.made).into_iter().flatten();
        let expected = ysb_counts(made.map(input), self.window.as_micros());
        let found = self.gathered.each(|record| YsbCount {
            window_start_ms: record.value.window.start.as_micros() / 1_000,
            campaign: record.value.key,
            count: record.value.value,
        });
        compare(&expected, &found).err().map(|difference| difference.to_string())
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
