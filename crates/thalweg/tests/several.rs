//! Tests of streams that are split, shared and united: every value arrives exactly once at its destination,
//! whatever the chaining and however small the edges.
#![forbid(unsafe_code)]

use thalweg::{
    Chaining, Count, EdgeLimits, Either, Engine, EventTime, Firing, PlanError, Query, QueryReport, Record,
    SessionGap, Span, TumblingWindows, WatermarkStrategy, Windowed, source::Given,
};
use thalweg_connectors::{Collect, Discard};

fn numbers(seconds: impl IntoIterator<Item = i64>) -> Given<i64> {
    let record = |second| Record::new(EventTime::from_secs(second), second);
    Given::new(seconds.into_iter().map(record).collect())
}

/// Runs the query that `write` writes with every chaining, on the smallest edges. The values at the sink must
/// be `expected`, in any order.
fn check<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    write: impl Fn(&Query, Collect<T>),
    expected: &[T],
) -> QueryReport {
    let mut last = None;
    for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
        for block_records in [1, 384] {
            let edges = EdgeLimits { block_records, chunk_blocks: 1, chunks_max: 2, ..EdgeLimits::default() };
            let engine = Engine::builder().edges(edges).build().unwrap();
            let (query, sink) = (Query::new("several"), Collect::new(10_000));
            let records = sink.records();
            write(&query, sink);
            let report = engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap();
            assert_eq!(report.conservation_error(), None);
            let mut found: Vec<T> =
                records.lock().unwrap().iter().map(|record| record.value.clone()).collect();
            found.sort();
            assert_eq!(found, expected, "{chaining:?}, {block_records} records per block");
            last = Some(report);
        }
    }
    last.expect("it was run")
}

#[test]
fn every_branch_sees_all_of_a_shared_stream() {
    let write = |query: &Query, sink: Collect<i64>| {
        let shared = query.source("n", numbers(0..1_000), WatermarkStrategy::ascending()).share();
        let even = shared.branch().filter(|n| n % 2 == 0);
        let large = shared.branch().filter(|n| *n >= 500).map(|n| -n);
        shared.branch().sink("all", Discard::default());
        even.union(large).sink("found", sink);
    };
    let evens = (0..1_000).filter(|n| n % 2 == 0);
    let mut expected: Vec<i64> = evens.chain((500..1_000).map(|n| -n)).collect();
    expected.sort();
    let report = check(write, &expected);
    assert_eq!(report.results_out, 2_000);
}

#[test]
fn what_is_split_goes_one_way_or_the_other() {
    let write = |query: &Query, sink: Collect<i64>| {
        let choose = |n: i64| if n % 3 == 0 { Either::Left(n) } else { Either::Right(n.to_string()) };
        let numbers = query.source("n", numbers(0..1_000), WatermarkStrategy::ascending());
        let (thirds, others) = numbers.split(choose);
        thirds.union(others.map(|text| -(text.len() as i64))).filter(|n| *n > -3).sink("found", sink);
    };
    let kept = |n: &i64| n % 3 == 0 || *n < 100;
    let shown = |n: i64| if n % 3 == 0 { n } else { -(n.to_string().len() as i64) };
    let mut expected: Vec<i64> = (0..1_000).filter(kept).map(shown).collect();
    expected.sort();
    check(write, &expected);
}

/// In a union, a record is judged by the watermark of its own stream. Records of the south, which is a minute
/// behind, are not late although they are behind the north's watermark. The south's own late record is late
/// although the north has no watermark yet.
#[test]
fn lateness_in_a_union_goes_by_the_own_watermark() {
    let minutes = TumblingWindows::new(Span::from_secs(60)).unwrap();
    let write = move |query: &Query, sink: Collect<(i64, u64)>| {
        let north = query.source("north", numbers(60..180), WatermarkStrategy::ascending());
        let south = query.source("south", numbers((0..120).chain([30])), WatermarkStrategy::ascending());
        north
            .union(south)
            .key_by(|_| ())
            .tumbling(minutes)
            .aggregate(Count)
            .map(|count| (count.window.start.as_micros() / 1_000_000, count.value))
            .sink("counts", sink);
    };
    let report = check(write, &[(0, 60), (60, 120), (120, 60)]);
    assert_eq!(report.total(|counts| counts.late), 1);
}

/// A late value within the allowed lateness joins a session that has fired and extends it. A value that comes
/// later still is diverted.
#[test]
fn late_values_update_sessions_or_part_from_them() {
    let (gap, allowed) = (SessionGap::new(Span::from_secs(5)).unwrap(), Span::from_secs(10));
    let write = move |query: &Query, sink: Collect<(i64, u64, bool)>| {
        let numbers = query.source("n", numbers([0, 12, 3, 30, 1]), WatermarkStrategy::ascending());
        let sessions = numbers.key_by(|_| ()).session(gap).allow_lateness(allowed).divert_late();
        let (results, late) = sessions.aggregate(Count).part();
        let shown = results.map(|Windowed { window, value, firing, .. }| {
            (window.end.as_micros() / 1_000_000, value, firing == Firing::Update)
        });
        shown.union(late.map(|second| (second, 0, false))).sink("found", sink);
    };
    let found = [(1, 0, false), (5, 1, false), (8, 2, true), (17, 1, false), (35, 1, false)];
    let report = check(write, &found);
    let counts = report.operators.iter().find(|it| it.counts.late > 0).expect("a value is late").counts;
    assert_eq!((counts.read, counts.folded, counts.late), (5, 4, 1));
}

#[test]
fn any_number_of_streams_are_united() {
    let write = |query: &Query, sink: Collect<i64>| {
        let part = |n: i64| {
            query.source(
                &format!("n{n}"),
                numbers((0..50).map(|second| second * 10 + n)),
                WatermarkStrategy::ascending(),
            )
        };
        part(0).union_all((1..10).map(part)).sink("found", sink);
    };
    check(write, &(0..500).collect::<Vec<_>>());
}

#[test]
fn wrong_plans_are_refused() {
    let refused = |write: &dyn Fn(&Query)| {
        let query = Query::new("wrong");
        write(&query);
        query.plan(Chaining::Default).unwrap_err()
    };
    let source = |query: &Query| query.source("n", numbers(0..1), WatermarkStrategy::ascending());
    assert_eq!(refused(&|query| drop(source(query).share())), PlanError::Unread { operator: "n".to_owned() });
    assert_eq!(
        refused(&|query| drop(source(query).share().branch())),
        PlanError::Unread { operator: "branch".to_owned() }
    );
    let half = |query: &Query| {
        let (left, _right) = source(query).split(Either::<i64, i64>::Left);
        left.sink("left", Discard::default());
    };
    assert_eq!(refused(&half), PlanError::Unread { operator: "right part".to_owned() });
    let foreign = |query: &Query| {
        let other = Query::new("other");
        // Names and indexes of the other query mean nothing in this one, so the union of streams of two
        // queries is refused.
        source(&other).name("first").sink("first sink", Discard::default());
        source(query).union(source(&other)).sink("found", Discard::default());
    };
    assert_eq!(refused(&foreign), PlanError::OtherQuery { other: "other".to_owned() });
    let many = |query: &Query| {
        let part = |n: i64| query.source(&format!("n{n}"), numbers(0..1), WatermarkStrategy::ascending());
        // A union with one more stream than a task can read is refused.
        part(0).union_all((1..129).map(part)).sink("found", Discard::default());
    };
    assert_eq!(refused(&many).code(), "OUT_OF_RANGE");
}

/// A stream of two kinds of values can be separated whatever operator made it, also where the two edges to
/// one reader need different names.
#[test]
fn streams_part_wherever_they_come_from() {
    let either = |n: i64| if n % 2 == 0 { Either::Left(n) } else { Either::Right(-n) };
    let write = move |query: &Query, sink: Collect<i64>| {
        let shared = query.source("n", numbers(0..100), WatermarkStrategy::ascending()).map(either).share();
        let united = shared.branch().union(shared.branch()).isolate().boxed();
        let (even, odd) = united.part();
        let (more, none) = shared.branch().part();
        none.sink("none", Discard::default());
        even.union(odd).union(more).name("all").filter(|_| true).sink("found", sink);
    };
    let mut expected: Vec<i64> = (0..100).map(|n| if n % 2 == 0 { n } else { -n }).collect();
    expected.extend(expected.clone());
    expected.extend((0..100).filter(|n| n % 2 == 0));
    expected.sort();
    let report = check(write, &expected);
    let mut names: Vec<&str> = report.edges.iter().map(|edge| &*edge.edge).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
}

/// A loop may unite and box streams as often as a query may have tasks.
#[test]
fn a_loop_may_unite_many_streams() {
    let write = |query: &Query, sink: Collect<i64>| {
        let part =
            |n: i64| query.source(&format!("n{n}"), numbers([n]), WatermarkStrategy::ascending()).boxed();
        let all = (1..40).fold(part(0), |all, n| all.union(part(n)).boxed());
        all.sink("found", sink);
    };
    check(write, &(0..40).collect::<Vec<_>>());
}
