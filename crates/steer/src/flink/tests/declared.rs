//! Jobs whose queries are declared: the query `tolls` of the recorded answers, with windows of 10 s and a target of 50 ms.

use thalweg_model::{EventTime, Horizon, SlidingWindows, Span};
use thalweg_scheduling::{OperatorState, by_name};

use super::*;

/// The time of the clock in s at which the driver begins: a multiple of 10 s.
const BEGAN_S: u64 = 1_800_000_000;

fn tolls(horizon: Option<Horizon>) -> Declared {
    Declared {
        name: "tolls".to_owned(),
        reads: BTreeSet::from(["numbers".to_owned()]),
        writes: BTreeSet::from(["out_t".to_owned()]),
        latency_target: Some(Span::from_millis(50)),
        horizon,
    }
}

fn windows_s(seconds: i64) -> Option<Horizon> {
    let size = Span::from_secs(seconds);
    Some(Horizon::of_windows(SlidingWindows::of_size(size).every(size).unwrap(), Span::ZERO))
}

fn world(declared: Vec<Declared>) -> World {
    let mut world = World::with(Options { declared, ..Options::default() });
    world.flink.began_at = ProcessingTime::from_nanos(BEGAN_S * 1_000_000_000);
    world
}

impl World {
    /// Sets the watermarks in s, counted from [`BEGAN_S`], that the sources of `tolls` put out and that its group has.
    fn pass(&self, source_s: f64, group_s: f64) {
        // Flink's watermarks are a millisecond below ours.
        let ms = |second: f64| json!(format!("{}", BEGAN_S as i64 * 1_000 + (second * 1e3) as i64 - 1));
        let (source, group) = (self.vertex(TOLLS, NUMBERS), self.vertex(TOLLS, "Group"));
        for subtask in 0..2 {
            self.set(&source, &format!("{subtask}.Source__numbers[1].currentOutputWatermark"), &ms(source_s));
            self.set(
                &source,
                &format!("{subtask}.Calc[2].currentOutputWatermark"),
                &json!("-9223372036854775808"),
            );
            self.set(
                &source,
                &format!("{subtask}.Source__numbers[1].numRecordsOutPerSecond"),
                &json!("1000.0"),
            );
            self.set(&group, &format!("{subtask}.currentInputWatermark"), &ms(group_s));
        }
    }

    fn state(&self, observation: &Observation, name: &str) -> OperatorState {
        let thread = observation.threads.iter().find(|thread| thread.name == name).unwrap();
        *observation.snapshot.operator(thread.operator).unwrap()
    }
}

/// Returns the seconds from [`BEGAN_S`] to a time of the clock.
fn seconds(time: ProcessingTime) -> f64 {
    (time.as_nanos() as f64 - BEGAN_S as f64 * 1e9) / 1e9
}

const GROUP: &str = "GroupAggregate[4] -> out_t[5]: Writer (1/2)#0";
const SOURCE: &str = "Source: numbers[1] -> Calc[2] (1/2)#0";

/// Each subtask of a source is a stream. Its deadline is the end of the window, its delay is that of the watermark which
/// reached the end, and the watermark is on its way until the sink has it.
#[test]
fn sources_are_streams_with_deadlines() {
    let mut world = world(vec![tolls(windows_s(10))]);
    // The watermarks are 2 s behind the clock; the sink is one look behind the sources.
    let mut last = None;
    for second in 1..=23_i32 {
        world.pass(f64::from(second) - 2.0, f64::from(second) - 3.0);
        last = Some(world.look().unwrap());
    }
    let Observation { snapshot, .. } = last.unwrap();
    assert_eq!((snapshot.streams.len(), seconds(snapshot.now)), (2, 23.0));
    let stream = snapshot.streams[0];
    assert_eq!(stream.deadline, Some(EventTime::from_secs(BEGAN_S as i64 + 30)));
    assert_eq!((stream.delays.epochs, stream.delays.mean_ns.round()), (3, 2e9));
    assert_eq!((stream.is_away, stream.swept), (false, None));
    let line = stream.progress.unwrap();
    assert!((seconds(line.observed_at(EventTime::from_secs(BEGAN_S as i64 + 30))) - 32.0).abs() < 1e-3);
    let target = snapshot.query(stream.query).unwrap().latency_target_ns;
    assert_eq!(target, Some(50_000_000));
    // The sink lags: the watermark that reached 30 s is on its way.
    world.now = 31;
    world.pass(30.0, 29.0);
    assert_eq!(world.look().unwrap().snapshot.streams[0].swept.map(seconds), Some(32.0));
    world.pass(31.0, 30.0);
    assert_eq!(world.look().unwrap().snapshot.streams[0].swept, None);
}

/// The head of a queue has waited since its event time was at the sources. That of a source has waited for as long as its
/// backlog takes to arrive.
#[test]
fn heads_of_queues_have_times() {
    let mut world = world(vec![tolls(windows_s(10))]);
    let source = world.vertex(TOLLS, NUMBERS);
    for second in 1..=15_i32 {
        world.pass(f64::from(second) - 2.0, f64::from(second) - 6.0);
        world.set(&source, "0.Source__numbers[1].pendingRecords", &json!("500"));
        world.set(&source, "1.Source__numbers[1].pendingRecords", &json!("0"));
        world.look().unwrap();
    }
    let observation = world.look().unwrap();
    let group = world.state(&observation, GROUP);
    // 16 s by the clock: the watermark of the group is 9 s, which the sources had at 11 s, less the half second for which
    // the backlog of one of them waits.
    assert!((seconds(group.head.observed) - 11.0).abs() < 0.01, "{}", seconds(group.head.observed));
    assert_eq!((group.oldest_pending, group.frontier), (group.head.observed, None));
    let first = world.state(&observation, SOURCE);
    assert_eq!((first.pending, seconds(first.head.observed)), (500, 15.5));
    let second = world.state(&observation, "Source: numbers[1] -> Calc[2] (2/2)#0");
    assert_eq!((second.pending, seconds(second.head.observed)), (1, 16.0));
    assert_eq!(seconds(second.last_run_ended), 16.0);
}

/// An operator with windows waits for the end of the next one after its own watermark. Its queue counts in records.
#[test]
fn windows_and_records_are_told() {
    let mut world = world(vec![tolls(windows_s(10))]);
    let group = world.vertex(TOLLS, "Group");
    let rename = |value: &mut Value| {
        let name = value["name"].as_str().unwrap().replace("GroupAggregate", "GlobalWindowAggregate");
        value["name"] = json!(name);
    };
    for (id, value) in [
        ("numRecordsInPerSecond", "3000.0"),
        ("numBuffersInLocalPerSecond", "20.0"),
        ("numBuffersInRemotePerSecond", "10.0"),
    ] {
        world.set(&group, &format!("0.{id}"), &json!(value));
    }
    world.pass(13.0, 12.0);
    world.change(TOLLS, |job| {
        job["vertices"].as_array_mut().unwrap().iter_mut().for_each(rename);
    });
    world.change(&group, rename);
    let observation = world.look().unwrap();
    // The dump has the old name, so the thread is not found; the operator is.
    let windowed = observation.snapshot.operators.iter().flatten().find(|state| state.frontier.is_some());
    let windowed = windowed.unwrap();
    assert_eq!(windowed.frontier, Some(EventTime::from_secs(BEGAN_S as i64 + 20)));
    // Two buffers of 100 records.
    assert_eq!(windowed.pending, 200);
}

/// Jobs without a query and queries without a job are told once, and again when that changes.
#[test]
fn what_does_not_match_is_told_once() {
    let other =
        Declared { name: "other".to_owned(), writes: BTreeSet::from(["x".to_owned()]), ..tolls(None) };
    let mut world = world(vec![tolls(windows_s(10)), other]);
    let observation = world.look().unwrap();
    let notes = world.flink.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("no job that runs is that of query `other`"), "{notes:?}");
    assert!(notes[1].contains("job `odd`") && notes[1].contains("Source: fs[6]"), "{notes:?}");
    let queries: BTreeSet<u32> = observation.snapshot.streams.iter().map(|stream| stream.query.0).collect();
    assert_eq!(queries.len(), 1);
    world.look().unwrap();
    assert!(world.flink.notes().is_empty());
    world.change("/jobs", |jobs| {
        jobs["jobs"].as_array_mut().unwrap().retain(|job| TOLLS.ends_with(job["id"].as_str().unwrap()));
    });
    world.look().unwrap();
    assert!(world.flink.notes().is_empty());
    // Two queries that fit as well belong to no job, unless one has its name.
    for (name, expected) in [("tolls", 0), ("tolls \"a\" [1]", 2)] {
        let twin = Declared { name: name.to_owned(), ..tolls(None) };
        world.flink.declared = vec![tolls(windows_s(10)), twin];
        assert_eq!(world.look().unwrap().snapshot.streams.len(), expected, "{name}");
    }
}

/// With declared queries the policies that rank by deadlines fit, and without they do not.
#[test]
fn policies_of_deadlines_fit() {
    for name in ["klink", "klink_no_memory", "cameo_llf", "cameo_edf", "fcfs"] {
        let reads = by_name(name).unwrap().reads();
        let missing = |declared| reads.missing_from(world(declared).flink.supplies());
        assert!(missing(vec![tolls(None)]).is_empty(), "{name}");
        assert!(!missing(Vec::new()).is_empty(), "{name}");
    }
}

/// A query without deadlines, sources that have ended, watermarks that cannot be, and a restart cause no panic, and known
/// things stay.
#[test]
fn hostile_times_are_borne() {
    let mut world = world(vec![tolls(None)]);
    for second in [5.0, -3.0, 9e11, -1.7e9, 6.0] {
        world.pass(second, second + 1.0);
        let observation = world.look().unwrap();
        assert!(observation.snapshot.streams.iter().all(|stream| stream.deadline.is_none()));
        for operator in &observation.snapshot.order {
            let state = observation.snapshot.operator(*operator).unwrap();
            assert!(state.head.observed <= observation.snapshot.now);
        }
    }
    // A job that begins anew begins with earlier times, whatever its attempts are called.
    let mut world = self::world(vec![tolls(windows_s(10))]);
    let deadline = |observation: &Observation| observation.snapshot.streams[0].deadline;
    for (second, expected) in [(1_003.0, 1_010), (3.0, 10)] {
        world.pass(second, second);
        let expected = EventTime::from_secs(BEGAN_S as i64 + expected);
        assert_eq!(deadline(&world.look().unwrap()), Some(expected));
    }
    let source = world.vertex(TOLLS, NUMBERS);
    world.change(&source, |vertex| vertex["subtasks"][0]["status"] = json!("FINISHED"));
    world.change(TOLLS, |job| job["vertices"][0]["tasks"]["FINISHED"] = json!(1));
    let away: Vec<bool> =
        world.look().unwrap().snapshot.streams.iter().map(|stream| stream.is_away).collect();
    assert_eq!(away, [true, false]);
}

/// Between two looks several windows may end. The first of them is taken to have come in proportion, so delays of short
/// windows are not those of the looks. Sinks without a watermark hold nothing up.
#[test]
fn ends_between_two_looks_come_in_proportion() {
    let mut world = world(vec![tolls(windows_s(1))]);
    let sink = world.vertex(TOLLS, "Group");
    for look in 1..=6_u64 {
        // A look each 5 s, at watermarks half a second behind.
        world.now = look * 5 - 1;
        world.pass(look as f64 * 5.0 - 0.5, look as f64 * 5.0 - 0.5);
        world.set(&sink, "1.currentInputWatermark", &json!("-9223372036854775808"));
        let stream = world.look().unwrap().snapshot.streams[0];
        assert_eq!(stream.swept, None, "{look}");
        if look == 6 {
            assert!((stream.delays.mean_ns - 0.5e9).abs() < 1e3, "{}", stream.delays.mean_ns);
        }
    }
}

/// The cost of a run is that of a buffer, so policies that go by it tell operators apart. A query without windows learns its
/// progress from each watermark.
#[test]
fn costs_of_runs_and_progress_without_windows_are_told() {
    let mut world = world(vec![tolls(Some(Horizon::NONE))]);
    let group = world.vertex(TOLLS, "Group");
    for (id, value) in [
        ("busyTimeMsPerSecond", "300.0"),
        ("numRecordsInPerSecond", "3000.0"),
        ("numBuffersInLocalPerSecond", "30.0"),
    ] {
        world.set(&group, &format!("0.{id}"), &json!(value));
    }
    for (second, behind_s) in [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (5.0, 1.0)] {
        world.pass(second - behind_s, second - behind_s);
        world.look().unwrap();
    }
    world.now = 9;
    world.pass(9.0, 9.0);
    let observation = world.look().unwrap();
    let state = world.state(&observation, GROUP);
    assert_eq!((state.cost_ns_per_record, state.cost_ns_per_run), (100_000.0, 10_000_000.0));
    let stream = observation.snapshot.streams[0];
    assert_eq!((stream.deadline, stream.delays.epochs), (None, 6));
}
