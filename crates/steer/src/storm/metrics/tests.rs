//! Metrics of tasks: which lines are kept, for how long, and what becomes of them.

use super::*;

const AT: Duration = Duration::from_secs(1);

/// Takes lines without their beginnings, such as `split.4.6700-receive-queue-population 7`.
fn metrics(gauge: Option<&str>, lines: &[&str]) -> Metrics {
    let mut metrics = Metrics::new(gauge.map(str::to_owned));
    lines.iter().for_each(|line| take(&mut metrics, line, AT));
    metrics
}

fn take(metrics: &mut Metrics, line: &str, now: Duration) {
    metrics.take(format!("storm.worker.t-1-1.h.{line} 1700000000").as_bytes(), now);
}

fn waiting(metrics: &Metrics, tasks: (u32, u32), entry_records: f64) -> Option<f64> {
    metrics.executor("t-1-1", tasks, entry_records).waiting
}

/// All tasks of an executor tell its one queue, an entry may be a batch, and the overflow is in records.
#[test]
fn a_queue_is_told_in_records() {
    let lines = [
        "split.4.6700-receive-queue-population 7",
        "split.5.6700-receive-queue-population 7",
        "split.4.6700-receive-queue-overflow 2",
        "__system.-1.6700-disruptor-receive-queue[6-6]-population 3",
        "__system.-1.6700-disruptor-receive-queue[9-9]-population 3",
        "split.6.6700-disruptor-executor[6-6]-send-queue-population 41",
    ];
    let metrics = metrics(None, &lines);
    assert_eq!(waiting(&metrics, (4, 5), 1.0), Some(9.0));
    assert_eq!(waiting(&metrics, (6, 6), 100.0), Some(300.0));
    assert_eq!(metrics.executor("t-1-1", (6, 6), 100.0).to_send, Some(41.0));
    assert_eq!((metrics.component("t-1-1", 6), metrics.component("t-1-1", 9)), (Some("split"), None));
    assert_eq!(metrics.tasks("t-1-1").collect::<Vec<_>>(), [4, 5, 6]);
    let unknown = Measured::default();
    assert_eq!(metrics.executor("t-1-1", (7, 8), 1.0), unknown);
    assert_eq!(metrics.executor("t-1-1", (5, 4), 1.0), unknown);
    assert_eq!(metrics.executor("other", (4, 5), 1.0), unknown);
}

/// The queue of a spout is what its gauges tell. One that is missing makes the sum unknown, and a spout without any has
/// an empty queue.
#[test]
fn a_spout_has_the_backlog_of_its_gauges() {
    let spout =
        ["spout.1.6700-__skipped-max-spout-ms.m1_rate 0.00", "spout.1.6700-receive-queue-population 5"];
    let gauges = ["spout.1.6700-a/lag 3", "spout.2.6700-a/lag 4", "spout.2.6700-b/lag 5"];
    let lines = [&spout[..], &gauges[..]].concat();
    assert_eq!(waiting(&metrics(None, &lines), (1, 2), 1.0), Some(0.0));
    assert_eq!(waiting(&metrics(Some("other"), &lines), (1, 2), 1.0), Some(0.0));
    let mut told = metrics(Some("lag"), &lines);
    assert_eq!(waiting(&told, (1, 2), 1.0), Some(12.0));
    assert!(told.executor("t-1-1", (2, 2), 1.0).is_spout, "a gauge makes a source");
    take(&mut told, "spout.1.6700-a/lag 3", AT * 20);
    told.forget(AT * 20);
    assert_eq!((waiting(&told, (1, 1), 1.0), waiting(&told, (1, 2), 1.0)), (Some(3.0), None));
}

/// The cost is the time at work by the records taken, of all streams but those of Storm itself.
#[test]
fn costs_and_writers_are_told() {
    let lines = [
        "split.default.4.6700-__capacity 0.50",
        "split.default.4.6700-__execute-count-a.b:default.m1_rate 600.00",
        "split.late.4.6700-__execute-count-c:late.m1_rate 400.00",
        "split.__tick.4.6700-__execute-count-__system:__tick.m1_rate 9000.00",
        "split.default.4.6700-__execute-count-a.b:default.count 77",
        "split.default.4.6700-__emit-count-default.m1_rate 1500.00",
        "split.__ack_ack.4.6700-__emit-count-__ack_ack.m1_rate 9000.00",
    ];
    let measured = metrics(None, &lines).executor("t-1-1", (4, 4), 1.0);
    assert_eq!((measured.cost_ns_per_record, measured.selectivity), (Some(500_000.0), Some(1.5)));
    assert_eq!(measured.writers, BTreeSet::from(["a_b".to_owned(), "c".to_owned()]));
    assert_eq!((measured.component.as_str(), measured.waiting), ("split", None));
    let idle = [
        "split.default.4.6700-__capacity 0.00",
        "split.default.4.6700-__execute-count-a:default.m1_rate 10.00",
    ];
    let measured = metrics(None, &idle).executor("t-1-1", (4, 4), 1.0);
    assert_eq!((measured.cost_ns_per_record, measured.selectivity), (Some(500_000.0), None));
    let nothing = ["split.default.4.6700-__capacity 0.00", "split.d.4.6700-__execute-count-a:d.m1_rate 0.00"];
    assert_eq!(metrics(None, &nothing).executor("t-1-1", (4, 4), 1.0).cost_ns_per_record, None);
}

/// Lines that are none of Graphite are counted, values that cannot be are as good as missing, and other metrics are
/// left alone.
#[test]
fn bad_lines_are_counted() {
    let queue = "storm.worker.t-1-1.h.split.4.6700-receive-queue-population";
    let broken = [
        String::new(),
        "x".to_owned(),
        queue.to_owned(),
        format!("{queue} 1"),
        format!("{queue} x 1"),
        format!("{queue} 1 x"),
        format!("{queue} 1 2 3"),
        format!("{queue} 1,5 2"),
    ];
    let mut metrics = Metrics::default();
    broken.iter().for_each(|line| metrics.take(line.as_bytes(), AT));
    metrics.take(b"\xff\xfe 1 1", AT);
    assert_eq!(metrics.unused(), "9 lines were not understood, and 0 left out as too many");
    for line in [
        "carbon.agents.a 1 1",
        "storm.worker.t-1-1.h.__acker.1.6700-receive-queue-population 1 1",
        "storm.topology.t-1-1.h.__system.-1.6700-memory.heap.used 1 1",
        "storm.worker.t-1-1.h.split.4.6700-receive-queue-capacity 1 1",
        "storm.worker.t-1-1.h.split.99999999999.6700-receive-queue-population 1 1",
    ] {
        metrics.take(line.as_bytes(), AT);
    }
    assert_eq!(metrics.topologies().count(), 0);
    assert!(metrics.unused().starts_with("9 "));
    for value in ["NaN", "-1", "inf", "1e300"] {
        metrics.take(format!("{queue} {value} 1").as_bytes(), AT);
        assert_eq!((waiting(&metrics, (4, 4), 1.0), metrics.topologies().count()), (None, 1), "{value}");
    }
    metrics.take(format!("{queue} 3.0 1.5").as_bytes(), AT);
    assert_eq!(waiting(&metrics, (4, 4), 1.0), Some(3.0));
}

/// Tasks and metrics beyond the bounds are left out and counted. What is known goes on.
#[test]
fn too_much_is_left_out() {
    let mut metrics = Metrics::new(Some("lag".to_owned()));
    for task in 0..=TASKS_MAX {
        take(&mut metrics, &format!("split.{task}.6700-receive-queue-population 1"), AT);
    }
    assert_eq!(metrics.tasks("t-1-1").count(), TASKS_MAX);
    for number in 0..METRICS_MAX {
        take(&mut metrics, &format!("split.0.6700-{number}/lag 1"), AT);
    }
    assert_eq!(metrics.unused(), "0 lines were not understood, and 2 left out as too many");
    take(&mut metrics, "split.0.6700-receive-queue-population 1", AT);
    assert!(metrics.unused().ends_with("and 2 left out as too many"));
}

/// However much is told, the memory of all metrics has a bound, which is never passed. What would need more is counted, and
/// metrics that have room go on.
#[test]
fn the_memory_of_all_metrics_is_bounded() {
    let mut metrics = Metrics::new(Some("lag".to_owned()));
    let queue = "split.0.6700-receive-queue-population";
    for second in 1..20 {
        take(&mut metrics, &format!("{queue} 5"), AT * second);
        metrics.forget(AT * second);
    }
    let (long, mut number) = ("x".repeat(3_000), 0);
    while metrics.left_out() == 0 {
        let task = number % 1_000 + 1;
        take(&mut metrics, &format!("split.{task}.6700-{long}{number}/lag 1"), AT * 20);
        number += 1;
    }
    assert!((KEPT_BYTES_MAX - 4_000..=KEPT_BYTES_MAX).contains(&metrics.bytes), "{}", metrics.bytes);
    assert_eq!(metrics.bytes, metrics.counted_bytes());
    for value in 0..1_000 {
        take(&mut metrics, &format!("split.{}.6700-receive-queue-population {value}", value + 1), AT * 20);
        let other = format!("storm.worker.u{value}.h.{long}.1.6700-receive-queue-population 1 1");
        metrics.take(other.as_bytes(), AT * 20);
        assert!(metrics.bytes <= KEPT_BYTES_MAX);
    }
    take(&mut metrics, &format!("{queue} 25"), AT * 20);
    assert_eq!(waiting(&metrics, (0, 0), 1.0), Some((9.0 * 5.0 + 25.0) / 10.0), "it had room");
    assert!(metrics.left_out() > 1_000, "{}", metrics.left_out());
    // Values in one round take room, too, up to the bound on samples.
    let mut metrics = Metrics::new(None);
    for value in 0..1_000 {
        take(&mut metrics, &format!("{queue} {value}"), AT);
        assert_eq!(metrics.bytes, metrics.counted_bytes());
    }
    take(&mut metrics, "other.0.6700-receive-queue-population 1", AT);
    take(&mut metrics, "__system.-1.6700-disruptor-receive-queue[7-7]-population 1", AT);
    take(&mut metrics, "late.7.6700-receive-queue-population 1", AT);
    assert_eq!(metrics.bytes, metrics.counted_bytes());
    metrics.forget(AT + FORGET_AFTER);
    assert_eq!((metrics.bytes, metrics.topologies().count()), (0, 0));
}

/// A value counts for ten seconds, and what is not told for long is forgotten.
#[test]
fn what_is_not_told_is_forgotten() {
    let mut metrics =
        metrics(None, &["split.4.6700-receive-queue-population 7", "sink.5.6700-receive-queue-population 1"]);
    metrics.forget(AT * 5);
    assert_eq!(waiting(&metrics, (4, 4), 1.0), Some(7.0));
    metrics.forget(AT * 11);
    assert_eq!((waiting(&metrics, (4, 4), 1.0), metrics.tasks("t-1-1").count()), (None, 2));
    take(&mut metrics, "split.4.6700-receive-queue-population 3", AT * 50);
    metrics.forget(AT + FORGET_AFTER);
    assert_eq!(metrics.tasks("t-1-1").collect::<Vec<_>>(), [4]);
    // A task that another component has is another task.
    take(&mut metrics, "other.4.6700-__capacity 0.10", AT + FORGET_AFTER);
    assert_eq!((metrics.component("t-1-1", 4), waiting(&metrics, (4, 4), 1.0)), (Some("other"), None));
    metrics.forget(AT + FORGET_AFTER * 2);
    assert_eq!(metrics.topologies().count(), 0);
}
