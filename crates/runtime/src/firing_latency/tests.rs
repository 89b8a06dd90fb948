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
            sources[letter - usize::from(b'a')].note_away(now, None);
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
    delivered.firings.deliver(seen, now, |of| {
        assert_eq!(of.result_ns, None, "nobody knows what ends at any instant");
        delays.push(of.output_ns / 1_000_000);
    });
    // The first watermark ends no window, and the results of the watermark at 40 us have not reached the
    // sink.
    assert_eq!(delays, [4, 3, 2]);
}

/// The deadline that policies see is the latest of the query's next window ends, per source (Klink, section
/// 3). In Linear Road of section 6.1.1 the last windows are a third of the others, and do not sweep.
#[test]
fn a_third_of_a_window_is_no_deadline() {
    let horizon = |seconds| {
        let windows = TumblingWindows::new(Span::from_secs(seconds)).unwrap();
        Horizon::of_windows(windows.into(), Span::ZERO)
    };
    let delivered = Delivered::new(horizon(60).and(horizon(20)), None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    let mut check = |watermark_s: i64, firing_s: i64, deadline_s: i64, epochs: u32| {
        source.note_watermark(EventTime::from_secs(watermark_s), ProcessingTime::ZERO, || None);
        let mut streams = Vec::new();
        delivered.streams(QueryId(0), 400, &mut streams);
        let found = (streams[0].next_firing, streams[0].deadline, streams[0].delays.epochs);
        let [firing, deadline] = [firing_s, deadline_s].map(|at| Some(EventTime::from_secs(at)));
        assert_eq!(found, (firing, deadline, epochs), "at {watermark_s} s");
    };
    check(5, 20, 60, 0);
    check(20, 40, 60, 0);
    check(45, 60, 60, 0);
    check(60, 80, 120, 1);
    check(85, 100, 120, 1);
    check(130, 140, 180, 2);
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
    delivered.firings.deliver(|| Some(EventTime::MAX), ProcessingTime::ZERO, |_| count += 1);
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
        delivered.firings.deliver(seen, at_ms(now_ms), |of| {
            latencies.push(of.result_ns.map(|ns| ns / 1_000_000));
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
    delivered.firings.deliver(|| Some(EventTime::from_secs(21)), at_ms(1_000), |_| ());
    assert_eq!(ages_ms(1_500), Some((1, 800.0, 800.0)));
    delivered.firings.deliver(|| Some(EventTime::from_secs(39)), at_ms(2_000), |_| ());
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
    delivered.firings.streams(QueryId(0), Some(EventTime::from_secs(9)), 400, &mut streams);
    assert_eq!((streams[0].delays.epochs, streams[0].delays.mean_ns), (3, 200e6));
    assert_eq!(streams[0].delays.variance_ns2, 0.0);
    assert_eq!(streams[0].swept, Some(at_ms(10_200)));
    let line = streams[0].progress.unwrap();
    assert_eq!((line.slope, line.observed_at(EventTime::from_secs(40))), (1.0, at_ms(40_200)));
    let mut delays_ms = Vec::new();
    let seen = || Some(EventTime::from_secs(10));
    delivered.firings.deliver(seen, at_ms(13_500), |of| delays_ms.push(of.output_ns / 1_000_000));
    assert_eq!(delays_ms, [500]);
    let mut ahead = Ingestion::new(Arc::clone(&delivered));
    ahead.note_watermark(EventTime::from_secs(0), at_ms(100), || Some(at_ms(900)));
    streams.clear();
    delivered.firings.streams(QueryId(0), None, 400, &mut streams);
    assert_eq!(streams[1].progress.map(|line| line.observed), Some(at_ms(100)));
}

/// One instruction of a script with several sources, and with windows of 10 s.
#[derive(Clone, Copy)]
enum Act {
    /// The source of this number sets a watermark, in s. Its record has arrived and was read, in ms.
    Reads(usize, i64, [u64; 2]),
    /// The source of this number ends at a time. Its last record has arrived; both in ms.
    Ends(usize, u64, u64),
    /// All sinks see a watermark, in s, at a time in ms.
    Sees(i64, u64),
}

/// Follows a script with two sources and with one sink. Results are to be out within a second.
fn followed(script: &[Act]) -> Arc<Delivered> {
    let delivered = Delivered::new(windows(), Some(1_000_000_000));
    let mut sources = [(); 2].map(|()| Ingestion::new(Arc::clone(&delivered)));
    let mut sink = ToSink::new(Nowhere, Arc::clone(&delivered));
    for act in script {
        match *act {
            Act::Reads(source, watermark_s, [arrived_ms, read_ms]) => {
                let arrived = || Some(at_ms(arrived_ms));
                sources[source].note_watermark(EventTime::from_secs(watermark_s), at_ms(read_ms), arrived);
            }
            Act::Ends(source, arrived_ms, now_ms) => {
                sources[source].note_away(at_ms(now_ms), Some(at_ms(arrived_ms)));
            }
            Act::Sees(watermark_s, now_ms) => {
                let (now, clock) = (at_ms(now_ms), VirtualClock::starting_at(at_ms(now_ms)));
                let mark = Mark::Watermark(EventTime::from_secs(watermark_s));
                TaskOutput::<i64>::mark(&mut sink, mark, at(now), &clock).unwrap();
            }
        }
    }
    delivered
}

/// Event latency (Cameo, section 4.1) counts from the arrival of the last event that a result was made of,
/// however long it waited for a step. The latency target applies to it.
#[test]
fn results_are_as_old_as_their_last_event() {
    use Act::{Ends, Reads, Sees};
    let check = |script: &[Act], expected_ms: u64, met: u64| {
        let delivered = followed(script);
        let sums = delivered.event_latencies.sums();
        assert_eq!((sums.count, sums.sum_ns), (1, expected_ms * 1_000_000));
        let deadlines = delivered.deadlines().expect("there is a target");
        assert_eq!((deadlines.met, deadlines.all), (met, 1));
    };
    let first = [Reads(0, 3, [3_000, 3_000]), Reads(1, 3, [3_000, 3_000])];
    // Both sources are read late. The last record that the window waits for came at 10.25 s.
    let both = [Reads(0, 12, [10_250, 12_000]), Reads(1, 10, [10_200, 12_500]), Sees(10, 12_750)];
    check(&[&first[..], &both[..]].concat(), 2_500, 0);
    // The output delay is the same in both cases, and in this one the target is met.
    let soon = [Reads(0, 12, [11_900, 12_000]), Reads(1, 10, [12_400, 12_500]), Sees(10, 12_750)];
    check(&[&first[..], &soon[..]].concat(), 350, 1);
    // The first source is far ahead: its record behind the end of the window counts, not its last one.
    let ahead =
        [Reads(0, 12, [10_250, 12_000]), Reads(0, 21, [21_000, 21_000]), Reads(0, 33, [33_000, 33_000])];
    let behind = [Reads(1, 11, [10_500, 33_500]), Sees(11, 34_000)];
    check(&[&first[..], &ahead[..], &behind[..]].concat(), 23_500, 0);
    // The second source ends before the end of the window, and its last record came after those of the first.
    let ended = [Ends(1, 11_000, 11_500), Reads(0, 12, [10_250, 12_000]), Sees(12, 12_500)];
    check(&[&first[..], &ended[..]].concat(), 1_500, 0);
    // A source that does not know when records arrive receives them when it is run.
    let delivered = Delivered::new(windows(), None);
    let mut source = Ingestion::new(Arc::clone(&delivered));
    source.note_watermark(EventTime::from_secs(3), at_ms(3_000), || None);
    source.note_watermark(EventTime::from_secs(10), at_ms(10_500), || None);
    let mut found = Vec::new();
    delivered.firings.deliver(|| Some(EventTime::from_secs(10)), at_ms(11_000), |of| found.push(of));
    let [output_ns, event_ns] = [500_000_000; 2];
    assert_eq!(found, [FiringDelays { output_ns, result_ns: Some(1_000_000_000), event_ns }]);
}

/// Results that were not delivered count with their age since the last event arrived, whether they wait
/// inside the engine or in front of it.
#[test]
fn what_is_not_delivered_is_as_old_as_its_last_event() {
    use Act::{Ends, Reads, Sees};
    let check = |script: &[Act], now_ms: u64, expected: Option<(u64, u64)>| {
        let ages = followed(script).overdue_events(at_ms(0), at_ms(now_ms));
        // The histogram keeps three digits, so the greatest age is compared to the next 50 ms.
        let found = ages.summary().map(|all| (all.count, (all.max_ns + 25_000_000) / 50_000_000 * 50));
        assert_eq!(found, expected, "at {now_ms} ms");
    };
    let first = [Reads(0, 3, [3_000, 3_000]), Reads(1, 3, [3_000, 3_000])];
    // The window is closed and on its way.
    let both = [Reads(0, 11, [11_250, 12_000]), Reads(1, 10, [11_500, 12_500])];
    let mut script = [&first[..], &both[..]].concat();
    check(&script, 13_500, Some((1, 2_000)));
    script.push(Sees(10, 13_000));
    check(&script, 13_500, None);
    // The next window ends at 20 s. Its last event is expected 1.5 s later, as that of the window before.
    check(&script, 21_250, None);
    check(&script, 21_750, Some((1, 250)));
    check(&script, 42_000, Some((3, 20_500)));
    // The first source has reached the end at 20 s, and its record arrived after the second source's is
    // expected.
    let mut half = script.clone();
    half.push(Reads(0, 20, [21_800, 22_000]));
    check(&half, 22_000, Some((1, 200)));
    // Nothing comes any more, so no window is due.
    script.extend([Ends(0, 13_000, 13_000), Ends(1, 13_000, 13_000)]);
    check(&script, 42_000, None);
    // The sources have given no record yet. Then every window since the start is due.
    check(&[], 25_000, Some((2, 15_000)));
    let everywhere = Delivered::new(Horizon::EVERYWHERE, None);
    let _source = Ingestion::new(Arc::clone(&everywhere));
    assert_eq!(everywhere.overdue_events(at_ms(0), at_ms(55_000)).count(), 0);
    let many = followed(&[]).overdue_events(at_ms(0), at_ms(10_000_000_000));
    assert_eq!(many.count(), OVERDUE_MAX as u64);
}
