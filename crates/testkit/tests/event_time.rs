//! Promises of sources: idle splits, stamps in the far future, watermarks that records carry. On the released
//! engine, under a virtual clock, over the seeds of the simulation.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use thalweg::{
    Chaining, Count, EventTime, Query, QueryReport, Record, Segment, Span, Stream, TumblingWindows,
    WatermarkStrategy,
};
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::script::Script;
use thalweg_testkit::seed::entropy_for;
use thalweg_testkit::{Sabotage, Seeds, Setup, Simulation};

const PAUSE_NS: u64 = 1_000_000_000;

fn second(second: i64) -> Record<i64> {
    Record::new(EventTime::from_secs(second), second)
}

fn script(seconds: impl IntoIterator<Item = i64>) -> Script<i64> {
    Script::new(seconds.into_iter().map(second), &Arc::new(Sabotage::default()))
}

/// Counts the records of the stream of `begin` per window of ten seconds, over some seeds. `judge` gets the
/// starts of windows with their counts, and the report of the query.
fn check<C: Segment<i64>>(
    begin: impl Fn(&Query) -> Stream<i64, C>,
    judge: impl Fn(&[(i64, u64)], &QueryReport),
) {
    Seeds::from_env("event_time").one_in(10).each(|seed| {
        // The clock hardly moves while there is work. Otherwise a source might be polled for the first time
        // when its pause is long over.
        let setup = Setup { tick_ns_max: 2, ..Setup::draw(&mut entropy_for(seed, "setup")) };
        let mut simulation = Simulation::with_setup(seed, setup);
        let query = Query::new("counts");
        let sink = Gather::new(Expects::WindowResults, &Arc::new(Sabotage::default()));
        let gathered = sink.gathered();
        begin(&query)
            .key_by(|_| ())
            .tumbling(TumblingWindows::new(Span::from_secs(10)).unwrap())
            .aggregate(Count)
            .sink("counts", sink);
        let index = simulation.submit(query.plan(Chaining::Default).unwrap()).unwrap();
        simulation.run();
        let report = simulation.outcome(index).unwrap();
        assert_eq!(report.conservation_error(), None);
        let counts =
            gathered.each(|record| (record.value.window.start.as_micros() / 1_000_000, record.value.value));
        judge(&counts, &report);
    });
}

/// A split that is silent for a second holds the other one back, and its record with an old stamp is on time.
/// If a silent split may be left out of the watermark, its record is late.
#[test]
fn a_silent_split_holds_the_others_back_unless_it_may_be_left_out() {
    let begin = |watermarks: WatermarkStrategy| {
        move |query: &Query| {
            let silent = script([]).then_pause(PAUSE_NS).then_records([second(5)]);
            query.splits("numbers", [script(0..25).then_pause(2 * PAUSE_NS), silent], watermarks)
        }
    };
    check(begin(WatermarkStrategy::ascending()), |counts, report| {
        assert_eq!(counts, [(0, 11), (10, 10), (20, 5)]);
        assert_eq!((report.idled, report.total(|counts| counts.late)), (0, 0));
    });
    let patience = Duration::from_millis(50);
    check(begin(WatermarkStrategy::ascending().with_idle_after(patience)), |counts, report| {
        assert_eq!(counts, [(0, 10), (10, 10), (20, 5)]);
        // Both splits become idle once. The split that comes back becomes idle a second time only if it is
        // polled once more before it ends.
        assert!((2..=3).contains(&report.idled), "{}", report.idled);
        assert_eq!(report.total(|counts| counts.late), 1);
    });
}

/// A stamp that is ten days ahead makes all later records late, unless stamps are compared with the clock.
/// The clock is at one second here and advances little.
#[test]
fn a_stamp_in_the_far_future_moves_no_watermark() {
    let begin = |watermarks: WatermarkStrategy| {
        move |query: &Query| query.source("numbers", script([1, 2, 864_000, 3, 4, 12]), watermarks)
    };
    check(begin(WatermarkStrategy::ascending()), |counts, report| {
        assert_eq!(counts, [(0, 2), (864_000, 1)]);
        assert_eq!((report.ahead, report.total(|counts| counts.late)), (0, 3));
    });
    let guarded = WatermarkStrategy::ascending().with_ahead_max(Span::from_secs(60));
    check(begin(guarded), |counts, report| {
        assert_eq!(counts, [(0, 4), (10, 1), (864_000, 1)]);
        assert_eq!((report.ahead, report.total(|counts| counts.late)), (1, 0));
    });
}

/// Records can carry watermarks: here records whose value is divisible by five carry their own event time as
/// one.
#[test]
fn records_can_carry_watermarks() {
    let begin = |query: &Query| {
        let carried = |record: &Record<i64>| Some(record.event_time).filter(|_| record.value % 5 == 0);
        query.source(
            "numbers",
            script([3, 8, 4, 11, 10, 9, 12]),
            WatermarkStrategy::ascending().punctuated(carried),
        )
    };
    check(begin, |counts, report| {
        assert_eq!(counts, [(0, 3), (10, 3)]);
        assert_eq!(report.total(|counts| counts.late), 1);
    });
}
