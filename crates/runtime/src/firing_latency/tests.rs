//! Tests of output delays, written as text. `a10` means that source a sets a watermark of 10 seconds, `a-`
//! that it falls silent or ends, and `s10` that the sink sees a watermark of 10 seconds; `t10` is the
//! second sink, if there is one. Each word is 1 us later than the one before. Windows are 10 seconds long.

use thalweg_model::{Mark, Record, Sink, TumblingWindows, VirtualClock};

use super::*;
use crate::arrival::at;
use crate::output::{TaskOutput, ToSink};

struct Nowhere;

impl Sink<i64> for Nowhere {
    fn write(&mut self, _record: Record<i64>) -> Result<(), thalweg_model::Fault> {
        Ok(())
    }
}

fn windows() -> Horizon {
    Horizon::of_windows(TumblingWindows::new(Span::from_secs(10)).unwrap().into(), Span::ZERO)
}

/// Checks number, mean and maximum of the measured output delays; mean and maximum in microseconds.
fn check(horizon: Horizon, [sources, sinks]: [usize; 2], input: &str, expected: Option<(u64, f64, u64)>) {
    let delivered = Delivered::new(horizon, None);
    let mut sources: Vec<_> = (0..sources).map(|_| Ingestion::new(Arc::clone(&delivered))).collect();
    let mut sinks: Vec<_> = (0..sinks).map(|_| ToSink::new(Nowhere, Arc::clone(&delivered))).collect();
    for (word, micros) in input.split_whitespace().zip(1..) {
        let now = ProcessingTime::from_nanos(micros * 1_000);
        let (who, what) = word.split_at(1);
        let letter = usize::from(who.as_bytes()[0]);
        let watermark = || EventTime::from_secs(what.parse().unwrap());
        if who >= "s" {
            let clock = VirtualClock::starting_at(now);
            let sink = &mut sinks[letter - usize::from(b's')];
            TaskOutput::<i64>::mark(sink, Mark::Watermark(watermark()), at(now), &clock).unwrap();
        } else if what == "-" {
            sources[letter - usize::from(b'a')].note_away(now);
        } else {
            sources[letter - usize::from(b'a')].note_watermark(watermark(), now, || None);
        }
    }
    let summary = delivered.output_delays.all.lock().summary();
    // The histogram of delays keeps three digits, so the expected mean is compared with one decimal.
    let shown = summary.map(|all| {
        (all.count, (all.mean_ns / 100.0).round() / 10.0, (all.max_ns as f64 / 1e3).round() as u64)
    });
    assert_eq!(shown, expected, "{input}");
}

#[test]
fn a_closing_watermark_is_delayed_until_the_sink_sees_it() {
    check(windows(), [1, 1], "a3 a7 a12 s3 s7 s12", Some((1, 3.0, 3)));
    check(windows(), [1, 1], "a3 a12 s12 a19 s19 a20 a21 s20 s21", Some((2, 1.5, 2)));
    // A watermark that jumps over the ends of several windows counts as one firing.
    check(windows(), [1, 1], "a3 a42 s42 s43", Some((1, 1.0, 1)));
    // A firing whose results have not reached the sink is not counted. A watermark that ends no window is
    // no firing.
    check(windows(), [1, 1], "a3 a12 s3", None);
    check(windows(), [1, 1], "a13 s13 a14 s14", None);
}

#[test]
fn the_last_source_closes_and_the_last_sink_delivers() {
    check(windows(), [2, 1], "a3 b3 a12 b4 b10 s10", Some((1, 1.0, 1)));
    check(windows(), [1, 2], "a3 a12 s12 s13 t12", Some((1, 3.0, 3)));
    check(windows(), [2, 2], "a3 a12 s12 t12", None);
}

/// The output delay does not wait for a source that is silent or has ended. If all sources are silent or
/// have ended, this by itself ends no window.
#[test]
fn sources_that_are_away_are_left_out() {
    check(windows(), [2, 1], "a3 b3 a12 b- s12", Some((1, 1.0, 1)));
    check(windows(), [2, 1], "a3 b3 a12 b- b4 s12 a21 s21 b20 s21", Some((2, 1.5, 2)));
    check(windows(), [1, 1], "a3 a- s12 a12 s12", Some((1, 1.0, 1)));
}

/// Without windows there are no firings. If any watermark may be a firing, one per millisecond is sampled.
#[test]
fn what_closes_follows_from_the_horizon() {
    check(Horizon::NONE, [1, 1], "a3 a12 a40 s40", None);
    check(Horizon::EVERYWHERE, [1, 1], "a3 a12 a40 s40", None);
    let delivered = Delivered::new(Horizon::EVERYWHERE, None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    for millis in 0..5_u64 {
        for micros in 0..10 {
            let now = ProcessingTime::from_nanos(millis * 1_000_000 + micros * 1_000 + 1);
            source.note_watermark(EventTime::from_micros((millis * 10 + micros) as i64), now, || None);
        }
    }
    let mut delays = Vec::new();
    let seen = || Some(EventTime::from_micros(30));
    let now = ProcessingTime::from_nanos(5_000_001);
    delivered.firings.deliver(seen, now, |delay_ns, since_end| {
        assert_eq!(since_end, None, "nobody knows what ends at any instant");
        delays.push(delay_ns / 1_000_000);
    });
    // The first watermark ends no window, and the results of the watermark at 40 us have not reached the
    // sink.
    assert_eq!(delays, [4, 3, 2]);
}

#[test]
fn closings_on_their_way_are_bounded() {
    let delivered = Delivered::new(windows(), None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    for tens in 0..1_000 {
        source.note_watermark(EventTime::from_secs(10 * tens), ProcessingTime::ZERO, || None);
    }
    // The first watermark ends no window.
    let (on_their_way, all) = (delivered.firings.undelivered(ProcessingTime::ZERO).count(), 999);
    assert_eq!(on_their_way, WAITING_MAX as u64);
    assert_eq!(delivered.firings.unmeasured(), all - on_their_way, "none is dropped in silence");
    let mut count = 0;
    delivered.firings.deliver(|| Some(EventTime::MAX), ProcessingTime::ZERO, |_, _| count += 1);
    assert_eq!(count, WAITING_MAX);
    assert!(!delivered.firings.may_deliver(EventTime::MAX));
}

/// Result latency (Klink, section 6.1.2) is the time from the end of a window, by the stamps of records, to
/// the arrival at the sink. If one watermark ends several windows, the first end counts.
#[test]
fn results_are_as_old_as_what_they_close() {
    let latencies_ms = |horizon: Horizon, watermarks: &[(i64, u64)], seen_s: i64, now_ms: u64| {
        let delivered = Delivered::new(horizon, None);
        let mut source = Ingestion::new(Arc::clone(&delivered));
        for &(watermark_s, now_ms) in watermarks {
            source.note_watermark(EventTime::from_secs(watermark_s), at_ms(now_ms), || None);
        }
        let mut latencies = Vec::new();
        let seen = || Some(EventTime::from_secs(seen_s));
        delivered.firings.deliver(seen, at_ms(now_ms), |_, since_end_ns| {
            latencies.push(since_end_ns.map(|ns| ns / 1_000_000));
        });
        latencies
    };
    assert_eq!(latencies_ms(windows(), &[(3, 3_000), (11, 11_500)], 11, 12_250), [Some(2_250)]);
    assert_eq!(
        latencies_ms(windows(), &[(3, 3_000), (11, 11_500), (39, 39_000)], 39, 40_000),
        [Some(30_000), Some(20_000)]
    );
    // There is no result latency if stamps cannot be compared with the clock: before the Unix epoch, ahead
    // of the clock, or too large for nanoseconds.
    assert_eq!(latencies_ms(windows(), &[(-31, 1), (-3, 2)], 0, 3), [None]);
    assert_eq!(latencies_ms(windows(), &[(3, 1), (12, 2)], 12, 3), [None]);
    let far_s = i64::MAX / 1_000_000 - 100;
    assert_eq!(latencies_ms(windows(), &[(far_s, 1), (far_s + 20, 2)], far_s + 20, 3), [None]);
}

fn at_ms(ms: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(ms * 1_000_000)
}

/// Firings whose results have not reached the sink are as old as the intake of their watermarks. Firings that
/// were delivered are not among them.
#[test]
fn what_is_on_its_way_has_the_age_of_its_watermark() {
    let delivered = Delivered::new(windows(), None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    for (watermark_s, now_ms) in [(3, 1), (12, 100), (21, 400), (25, 500), (39, 700)] {
        source.note_watermark(EventTime::from_secs(watermark_s), at_ms(now_ms), || None);
    }
    let ages_ms = |now_ms| {
        let ages = delivered.firings.undelivered(at_ms(now_ms)).summary();
        ages.map(|ages| (ages.count, (ages.mean_ns / 1e6).round(), (ages.max_ns as f64 / 1e6).round()))
    };
    assert_eq!(ages_ms(1_000), Some((3, 600.0, 900.0)));
    delivered.firings.deliver(|| Some(EventTime::from_secs(21)), at_ms(1_000), |_, _| ());
    assert_eq!(ages_ms(1_500), Some((1, 800.0, 800.0)));
    delivered.firings.deliver(|| Some(EventTime::from_secs(39)), at_ms(2_000), |_, _| ());
    assert_eq!((ages_ms(2_500), delivered.firings.unmeasured()), (None, 0));
}

/// Checks how long ago windows of 10 s have ended by the clock, if sinks have not seen their ends; ages are
/// in seconds.
#[test]
fn what_is_not_delivered_is_counted_with_its_age() {
    let firings = FiringLatencies::new(windows());
    let at = |seconds: u64| ProcessingTime::from_nanos(seconds * 1_000_000_000);
    let check = |seen: Option<i64>, since: u64, now: u64, expected: Option<(u64, f64)>| {
        let ages = firings.overdue(seen.map(EventTime::from_secs), at(since), at(now));
        let found = ages.summary().map(|ages| (ages.count, (ages.mean_ns / 1e9 * 100.0).round() / 100.0));
        assert_eq!(found, expected, "{seen:?}, since {since}, now {now}");
    };
    // Windows end at 30, 40 and 50 seconds, and the sinks have seen 20.
    check(Some(20), 0, 55, Some((3, 15.0)));
    check(Some(29), 0, 30, Some((1, 0.0)));
    check(Some(50), 0, 55, None);
    // The stamps of records are ahead of the clock, so no window is overdue.
    check(Some(500), 0, 55, None);
    // The sinks have seen no watermark yet: the ends of windows since the start of the query count.
    check(None, 33, 55, Some((2, 10.0)));
    check(None, 33, 20, None);
    let everywhere = FiringLatencies::new(Horizon::EVERYWHERE);
    assert_eq!(everywhere.overdue(None, at(0), at(55)).count(), 0);
    assert_eq!(FiringLatencies::new(Horizon::NONE).overdue(None, at(0), at(55)).count(), 0);
    let many = FiringLatencies::new(windows()).overdue(None, at(0), at(10_000_000));
    assert_eq!(many.count(), OVERDUE_MAX as u64);
}

/// Policies see when a watermark arrived, and not how long the scheduler let its source wait. Output delays
/// count from the step that read it. A source that claims an arrival in the future is not believed.
#[test]
fn policies_see_arrivals_without_the_wait_for_a_step() {
    let delivered = Delivered::new(windows(), None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    // Watermarks arrive 200 ms behind the ends of windows. Under a growing backlog they are read later and later.
    for (tens, read_ms) in [(0, 300), (1, 13_000), (2, 29_000), (3, 45_000)] {
        let arrived_ms = tens * 10_000 + 200;
        let watermark = EventTime::from_secs(tens as i64 * 10);
        source.note_watermark(watermark, at_ms(read_ms), || Some(at_ms(arrived_ms)));
    }
    let mut streams = Vec::new();
    delivered.firings.streams(QueryId(0), Some(EventTime::from_secs(9)), &mut streams);
    assert_eq!((streams[0].delays.epochs, streams[0].delays.mean_ns), (3, 200e6));
    assert_eq!(streams[0].delays.variance_ns2, 0.0);
    assert_eq!(streams[0].swept, Some(at_ms(10_200)));
    let line = streams[0].progress.unwrap();
    assert_eq!((line.slope, line.observed_at(EventTime::from_secs(40))), (1.0, at_ms(40_200)));
    let mut delays_ms = Vec::new();
    let seen = || Some(EventTime::from_secs(10));
    delivered.firings.deliver(seen, at_ms(13_500), |delay_ns, _| delays_ms.push(delay_ns / 1_000_000));
    assert_eq!(delays_ms, [500]);
    let mut ahead = Ingestion::new(Arc::clone(&delivered));
    ahead.note_watermark(EventTime::from_secs(0), at_ms(100), || Some(at_ms(900)));
    streams.clear();
    delivered.firings.streams(QueryId(0), None, &mut streams);
    assert_eq!(streams[1].progress.map(|line| line.observed), Some(at_ms(100)));
}
