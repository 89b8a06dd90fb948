//! The driver with lines and thread dumps that were recorded from Storm 2.8.3 and 1.2.4 on OpenJDK 17, and with ones that
//! were changed.
//!
//! A topology `probe` ran with a spout `source`, bolts `parse.x` and `sink` of one executor each, and a bolt
//! `range_filter` of two. The spout told a gauge `source-queue`.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use thalweg_scheduling::OperatorState;

use super::*;
use crate::fake::Machine;
use crate::jvm::fake::Jvm;

const LINES: &str = include_str!("recorded/lines-2.8.txt");
const DUMP: &str = include_str!("recorded/threads-2.8.txt");
const TOPOLOGY: &str = "probe-1-1795836154";

/// Lines that a test gives, and how many connections there was no room for.
#[derive(Clone, Default)]
struct Given(Rc<RefCell<Vec<Vec<u8>>>>, Rc<Cell<Closed>>);

impl Lines for Given {
    fn take(&mut self, _: Duration, _: Instant, line: &mut dyn FnMut(&[u8])) -> Result<(), Unobserved> {
        self.0.take().iter().for_each(|given| line(given));
        Ok(())
    }

    fn address(&self) -> String {
        "127.0.0.1:2003".to_owned()
    }

    fn closed(&self) -> Closed {
        self.1.get()
    }
}

/// A machine with one worker, and its Storm.
struct World {
    machine: Machine,
    jvm: Jvm,
    storm: Storm<Given>,
    given: Given,
    now: u64,
}

impl World {
    fn new() -> Self {
        World::with(Options::default(), DUMP)
    }

    fn with(options: Options, dump: &str) -> Self {
        let machine = Machine::new();
        let class = "org.apache.storm.daemon.worker.Worker";
        let jvm =
            Jvm::start(&machine, 70, &["java", "-server", class, TOPOLOGY, "s", "16628", "16700", "w"], dump);
        let options = Options { processes: machine.processes.clone(), ..options };
        let given = Given::default();
        World { machine, jvm, storm: Storm::new(given.clone(), options), given, now: 0 }
    }

    fn give(&self, lines: &str) {
        self.given.0.borrow_mut().extend(lines.lines().map(|line| line.as_bytes().to_vec()));
    }

    /// Looks once, a second after the last time, without new lines.
    fn look(&mut self) -> Result<Observation, Unobserved> {
        self.now += 1;
        self.storm.observe_at(Duration::from_secs(self.now), Instant::now() + ROUND_MAX)
    }

    /// Looks once after the recorded lines and further ones.
    fn look_with(&mut self, lines: &str) -> Result<Observation, Unobserved> {
        self.give(LINES);
        self.give(lines);
        self.look()
    }
}

/// Returns the state of the operator of a thread.
#[track_caller]
fn state(observation: &Observation, name: &str) -> OperatorState {
    let thread = observation.threads.iter().find(|thread| thread.name == name).unwrap();
    *observation.snapshot.operator(thread.operator).unwrap()
}

/// Returns the threads by their names, each with its host number.
fn threads(observation: &Observation) -> BTreeMap<&str, u32> {
    observation.threads.iter().map(|thread| (&*thread.name, thread.key.thread)).collect()
}

/// Changes the value of a metric in the recorded lines.
fn with(metric: &str, value: &str) -> String {
    let change = |line: &str| {
        let mut fields = line.split(' ');
        match fields.next() {
            Some(name) if name.ends_with(metric) => format!("{name} {value} 1795836236\n"),
            _ => format!("{line}\n"),
        }
    };
    LINES.lines().map(change).collect()
}

/// The threads of executors are found, by their host numbers, and no others.
#[test]
fn threads_of_executors_are_found_and_no_others() {
    let mut world = World::new();
    let observation = world.look_with("").unwrap();
    let expected = [
        ("Thread-14-source-executor[5, 5]", 0x3df9),
        ("Thread-15-sink-executor[4, 4]", 0x3dfa),
        ("Thread-16-range_filter-executor[3, 3]", 0x3dfb),
        ("Thread-17-range_filter-executor[2, 2]", 0x3dfc),
        ("Thread-18-parse.x-executor[1, 1]", 0x3dfd),
    ];
    let expected: BTreeMap<&str, u32> = expected.map(|(name, inner)| (name, inner + Jvm::OUTER)).into();
    assert_eq!(threads(&observation), expected);
    assert_eq!((observation.threads.len(), world.jvm.dumps()), (5, 1));
    let telling: Vec<u32> = observation.telling.iter().map(|thread| thread.key.thread).collect();
    assert_eq!(telling, [0x3dcf + Jvm::OUTER], "its reporter tells metrics");
}

/// Each bolt has its receive queue, and the spout the gauge that the options name.
#[test]
fn each_thread_has_its_own_queue() {
    let pending = |gauge: Option<&str>| {
        let options = Options { source_gauge: gauge.map(str::to_owned), ..Options::default() };
        let observation = World::with(options, DUMP).look_with("").unwrap();
        let of = |name| state(&observation, name).pending;
        [
            of("Thread-18-parse.x-executor[1, 1]"),
            of("Thread-15-sink-executor[4, 4]"),
            of("Thread-17-range_filter-executor[2, 2]"),
            of("Thread-14-source-executor[5, 5]"),
        ]
    };
    assert_eq!(pending(None), [1_100, 13, 0, 0]);
    assert_eq!(pending(Some("source-queue")), [1_100, 13, 0, 7]);
    assert_eq!(pending(Some("nothing")), [1_100, 13, 0, 0]);
}

/// The graph comes from what executors have taken, and costs from the share of time at work.
#[test]
fn the_graph_and_the_costs_are_told() {
    let Observation { snapshot, threads, .. } = World::new().look_with("").unwrap();
    let operator = |name: &str| threads.iter().find(|thread| thread.name.contains(name)).unwrap().operator;
    let [source, parse, sink] = ["source", "parse.x", "sink"].map(operator);
    let filters = ["range_filter-executor[2, 2]", "range_filter-executor[3, 3]"].map(operator);
    let readers = |operator| snapshot.readers(operator).iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(readers(source), BTreeSet::from([parse]));
    assert_eq!(readers(parse), BTreeSet::from(filters));
    assert_eq!((readers(filters[0]), readers(filters[1])), (BTreeSet::from([sink]), BTreeSet::from([sink])));
    assert!(snapshot.readers(sink).is_empty());
    let place = |operator| snapshot.order.iter().position(|found| *found == operator).unwrap();
    assert!(
        place(source) < place(parse) && place(parse) < place(filters[0]) && place(filters[1]) < place(sink)
    );
    let state = |operator| snapshot.operator(operator).unwrap();
    let kind = |operator| (state(operator).is_source, state(operator).is_sink, state(operator).copies);
    assert_eq!((kind(source), kind(parse)), ((true, false, 1), (false, false, 1)));
    assert_eq!((kind(filters[0]), kind(sink)), ((false, false, 2), (false, true, 1)));
    let parse = state(parse);
    assert!((parse.cost_ns_per_record - 0.89e9 / 1_609.33).abs() < 1.0, "{}", parse.cost_ns_per_record);
    assert!((parse.selectivity - 4_828.33 / 1_609.33).abs() < 1e-9, "{}", parse.selectivity);
    assert_eq!(state(source).cost_ns_per_record, OperatorState::ASSUMED_COST_NS_PER_RECORD);
    assert_eq!((snapshot.queries.len(), snapshot.workers), (1, 5));
}

/// The mean of the last 10 s counts, rounded up. A value that is missing or cannot be leaves the others; a round without
/// any is skipped.
#[test]
fn the_mean_of_ten_seconds_counts() {
    let mut world = World::new();
    let (metric, name) = ("parse_x.1.16700-receive-queue-population", "Thread-18-parse.x-executor[1, 1]");
    let values = [
        ("3", Ok(3)),
        ("6", Ok(5)),
        ("NaN", Ok(5)),
        ("-1", Ok(5)),
        ("x", Ok(5)),
        ("", Ok(5)),
        ("1e30", Ok(5)),
        ("x", Ok(5)),
        ("x", Ok(5)),
        ("x", Ok(5)),
        ("x", Ok(6)),
        ("x", Err(())),
        ("0", Ok(0)),
        ("0.1", Ok(1)),
    ];
    for (place, (value, expected)) in values.iter().enumerate() {
        world.give(&with(metric, value));
        match world.look() {
            Ok(observation) => assert_eq!(Ok(state(&observation, name).pending), *expected, "{place}"),
            Err(error) => {
                assert!(
                    expected.is_err() && error.0.contains(&format!("what waits for `{name}`")),
                    "{error}"
                );
            }
        }
    }
}

/// Without reports there is no round, with a hint at what to set. When they stop, threads are left alone after a while.
#[test]
fn without_reports_there_is_no_round() {
    let mut world = World::new();
    let refused = world.look().unwrap_err().0;
    assert!(
        refused.starts_with("no queue of Storm is told at 127.0.0.1:2003: set a GraphiteStormReporter"),
        "{refused}"
    );
    world.give("nonsense\n\nstorm.worker.x y z\ncarbon.agents.a 1 1\n");
    let refused = world.look().unwrap_err().0;
    assert!(refused.ends_with("; 3 lines were not understood, and 0 left out as too many"), "{refused}");
    assert_eq!(world.jvm.dumps(), 0, "a worker without reports is left alone");
    assert_eq!(world.look_with("").unwrap().threads.len(), 5);
    for second in 4..63 {
        let outcome = world.look();
        assert_eq!(outcome.is_ok(), second < 13, "{second}");
        if let Err(error) = outcome {
            assert!(error.0.starts_with("Storm does not tell what waits for `Thread-"), "{error}");
        }
    }
    assert!(world.look().unwrap_err().0.starts_with("no queue of Storm is told"));
    assert_eq!(world.look_with("").unwrap().threads.len(), 5);
}

/// Broken lines and lines of others change nothing.
#[test]
fn broken_lines_change_nothing() {
    let expected = World::new().look_with("").unwrap();
    let mut lines = String::from("\n\u{0}\nstorm.worker\n");
    for line in LINES.lines() {
        for end in [0, 1, 12, 40, line.len() / 2, line.len() - 12, line.len() - 11] {
            lines += &format!("{}\n", &line[..end]);
        }
        lines += &format!("{}\n", line.replace('.', ".."));
        lines += &format!("{line} {line}\n");
        lines += &format!("x{line}\n");
        lines += &line.replace(TOPOLOGY, "other-2-2");
        lines.push('\n');
    }
    let found = World::new().look_with(&lines).unwrap();
    assert_eq!(found.threads, expected.threads);
    assert_eq!(found.snapshot.operators, expected.snapshot.operators);
    assert_eq!(found.snapshot.downstream, expected.snapshot.downstream);
}

/// A thread that ends is steered no more, and one that begins is found. Its executor is known when its metrics come.
#[test]
fn threads_come_and_go() {
    let mut world = World::new();
    assert_eq!(world.look_with("").unwrap().threads.len(), 5);
    world.machine.end(world.jvm.key(&world.machine, 0x3dfa));
    let observation = world.look_with("").unwrap();
    assert_eq!((observation.threads.len(), observation.snapshot.order.len()), (4, 5));
    assert!(!threads(&observation).contains_key("Thread-15-sink-executor[4, 4]"));
    world.jvm.set_dump(&format!("{DUMP}\"Thread-30-late-executor[6, 7]\" #50 prio=5 nid=0x4000 runnable\n"));
    world.jvm.begin(&world.machine, 0x4000, 99);
    let refused = world.look_with("").unwrap_err().0;
    assert!(refused.contains("`Thread-30-late-executor[6, 7]`"), "{refused}");
    let late = format!("storm.worker.{TOPOLOGY}.localhost.late.7.16700-receive-queue-population 9 1\n");
    let observation = world.look_with(&late).unwrap();
    assert_eq!(state(&observation, "Thread-30-late-executor[6, 7]").pending, 9);
    std::fs::remove_dir_all(world.machine.processes.root().join("70")).unwrap();
    let refused = world.look_with("").unwrap_err().0;
    assert!(refused.starts_with("no executor of probe-1-1795836154 is found on this machine; "), "{refused}");
}

/// Tasks of a topology on other machines are operators without a thread, and keep the graph whole.
#[test]
fn tasks_elsewhere_are_operators_without_a_thread() {
    let elsewhere = format!(
        "storm.worker.{TOPOLOGY}.b.far.8.16700-receive-queue-population 4 1\n\
         storm.worker.{TOPOLOGY}.b.far.default.8.16700-__execute-count-range_filter:default.m1_rate 5.00 1\n\
         storm.worker.{TOPOLOGY}.b.sink.default.4.16700-__execute-count-far:default.m1_rate 5.00 1\n\
         storm.worker.{TOPOLOGY}.b.far.default.8.16700-__execute-count-gone:default.m1_rate 5.00 1\n"
    );
    let Observation { snapshot, threads, .. } = World::new().look_with(&elsewhere).unwrap();
    assert_eq!((snapshot.order.len(), threads.len()), (6, 5));
    let is_steered = |operator| threads.iter().any(|thread| thread.operator == operator);
    let far = *snapshot.order.iter().find(|operator| !is_steered(**operator)).unwrap();
    let sink = threads.iter().find(|thread| thread.name.contains("sink")).unwrap().operator;
    assert_eq!((snapshot.readers(far), snapshot.operator(far).unwrap().pending), (&[sink][..], 4));
}

/// Storm 1.2.4 as it was recorded: entries of the receive queue are batches, and a send thread has its own queue. Send
/// threads of executors of Storm itself are left alone.
#[test]
fn send_threads_of_storm_1_have_their_own_queue() {
    let lines = include_str!("recorded/lines-1.2.txt").replace("probe-1-1795836509", TOPOLOGY);
    let lines =
        &lines.replace("executor[1-1]-send-queue-population 0", "executor[1-1]-send-queue-population 41");
    let options = || Options { source_gauge: Some("source-queue".to_owned()), ..Options::default() };
    let look = |options, lines: &str| {
        let acker = "\"Thread-20-__acker-executor[6 6]\" nid=1\n\"Thread-21-disruptor-executor[6 6]-send-queue\" nid=2\n";
        let mut world = World::with(options, &format!("{}{acker}", include_str!("recorded/threads-1.2.txt")));
        world.give(lines);
        world.give(&format!(
            "storm.worker.{TOPOLOGY}.localhost.__system.-1.16700-disruptor-receive-queue[6-6]-population 9 1"
        ));
        world.look()
    };
    let pending = |observation: &Observation| {
        let of = |name| state(observation, name).pending;
        [
            of("Thread-7-parse.x-executor[1 1]"),
            of("Thread-6-disruptor-executor[1 1]-send-queue"),
            of("Thread-13-sink-executor[4 4]"),
            of("Thread-11-source-executor[5 5]"),
        ]
    };
    let observation = look(options(), lines).unwrap();
    assert_eq!(pending(&observation), [100_000, 41, 100, 7]);
    let expected = [
        ("Thread-10-disruptor-executor[5 5]-send-queue", 0x526b),
        ("Thread-11-source-executor[5 5]", 0x526c),
        ("Thread-12-disruptor-executor[4 4]-send-queue", 0x526d),
        ("Thread-13-sink-executor[4 4]", 0x526e),
        ("Thread-2-disruptor-executor[2 2]-send-queue", 0x5263),
        ("Thread-3-range_filter-executor[2 2]", 0x5264),
        ("Thread-4-disruptor-executor[3 3]-send-queue", 0x5265),
        ("Thread-5-range_filter-executor[3 3]", 0x5266),
        ("Thread-6-disruptor-executor[1 1]-send-queue", 0x5267),
        ("Thread-7-parse.x-executor[1 1]", 0x5268),
    ];
    let expected: BTreeMap<&str, u32> = expected.map(|(name, inner)| (name, inner + Jvm::OUTER)).into();
    assert_eq!(threads(&observation), expected);
    assert_eq!((observation.threads.len(), observation.snapshot.order.len()), (10, 10));
    let without = lines.replace("send-queue-population", "send-queue-capacity");
    let refused = look(options(), &without).unwrap_err().0;
    assert!(refused.contains("-send-queue`"), "{refused}");
    // As Lachesis did it before: all threads of an executor have its receive queue, and a source is never empty.
    let earlier = || Options { send_queue: SendQueue::Receive, ..options() };
    let observation = look(earlier(), &without).unwrap();
    assert_eq!((pending(&observation), observation.snapshot.order.len()), ([100_000, 100_000, 100, 7], 5));
    let observation = look(earlier(), &lines.replace("source-queue 7", "source-queue 0")).unwrap();
    assert_eq!(pending(&observation), [100_000, 100_000, 100, 1]);
}

/// Two topologies within one process that cannot be told apart share their threads. A component that only one of them has is
/// of that one.
#[test]
fn topologies_within_one_process_share_threads() {
    let machine = Machine::new();
    let dump = "\"Thread-7-split-executor[1, 1]\" nid=1\n\"Thread-8-sink-executor[2, 2]\" nid=2\n\
                \"Thread-9-split-executor[1, 1]\" nid=3\n\"Thread-10-out-executor[2, 2]\" nid=4\n";
    let _jvm = Jvm::start(&machine, 70, &["java", "org.example.Job"], dump);
    let main_class = Some("org.example.Job".to_owned());
    let options = Options { main_class, processes: machine.processes.clone(), ..Options::default() };
    let given = Given::default();
    let mut storm = Storm::new(given.clone(), options);
    for (task, topology, pending) in
        [("split.1", "a-1-1", 3), ("sink.2", "a-1-1", 5), ("split.1", "b-2-1", 4), ("out.2", "b-2-1", 6)]
    {
        let line = format!("storm.worker.{topology}.h.{task}.1024-receive-queue-population {pending} 1");
        given.0.borrow_mut().push(line.into_bytes());
    }
    let observation = storm.observe_at(Duration::ZERO, Instant::now() + ROUND_MAX).unwrap();
    let pending = |name: &str| -> Vec<u64> {
        let threads = observation.threads.iter().filter(|thread| thread.name == name);
        threads.map(|thread| observation.snapshot.operator(thread.operator).unwrap().pending).collect()
    };
    assert_eq!(pending("Thread-7-split-executor[1, 1]"), [3, 4]);
    assert_eq!(pending("Thread-9-split-executor[1, 1]"), [3, 4]);
    assert_eq!(
        (pending("Thread-8-sink-executor[2, 2]"), pending("Thread-10-out-executor[2, 2]")),
        (vec![5], vec![6])
    );
    assert_eq!(observation.snapshot.queries.len(), 2);
}

/// Components that read from each other, or from themselves, have a place in the order, too.
#[test]
fn cycles_have_an_order() {
    let cycle = format!(
        "storm.worker.{TOPOLOGY}.b.parse_x.late.1.16700-__execute-count-sink:late.m1_rate 5.00 1\n\
         storm.worker.{TOPOLOGY}.b.sink.late.4.16700-__execute-count-sink:late.m1_rate 5.00 1\n"
    );
    let Observation { snapshot, threads, .. } = World::new().look_with(&cycle).unwrap();
    assert_eq!(snapshot.order.iter().collect::<BTreeSet<_>>().len(), 5);
    let sink = threads.iter().find(|thread| thread.name.contains("sink")).unwrap().operator;
    assert!(snapshot.readers(sink).contains(&sink) && !snapshot.operator(sink).unwrap().is_sink);
}

/// More edges than the bound are an error, and the next round is as if nothing had been.
#[test]
fn edges_beyond_the_bound_are_an_error() {
    let mut many = String::new();
    for task in 100..1_300 {
        many += &format!("storm.worker.{TOPOLOGY}.b.many.{task}.16700-receive-queue-population 4 1\n");
        many +=
            &format!("storm.worker.{TOPOLOGY}.b.many.d.{task}.16700-__execute-count-many:d.m1_rate 4 1\n");
    }
    let refused = World::new().look_with(&many).unwrap_err().0;
    assert_eq!(refused, "there are 1440000 edges between executors; at most 1048576 are looked at");
}

/// Storm 1.x tells queues only. That is known from its first report, before a worker is found, so a policy that needs costs
/// is told what is missing.
#[test]
fn storm_1_supplies_no_costs() {
    let mut world = World::new();
    world.give(&include_str!("recorded/lines-1.2.txt").replace("probe-1-1795836509", "elsewhere-1-1"));
    assert!(world.look().is_err(), "none of its workers is here");
    assert_eq!(world.storm.name(), "Storm 1.x");
    let missing = |name| {
        let policy = thalweg_scheduling::by_name(name).unwrap();
        policy.reads().missing_from(world.storm.supplies()).join(", ")
    };
    for name in ["highest_rate", "min_latency", "chain"] {
        assert_eq!(missing(name), "costs and selectivities, topology", "{name}");
    }
    assert_eq!([missing("congestion"), missing("congestion_v1")], ["", ""]);
}

/// A worker whose dump fails is noted, and the others are steered. Connections and values without room are noted, too.
#[test]
fn what_is_left_alone_is_noted() {
    let mut world = World::new();
    let class = "org.apache.storm.daemon.worker.Worker";
    let silent = Jvm::start(&world.machine, 80, &["java", class, TOPOLOGY], DUMP);
    silent.refuse();
    world.given.1.set(Closed { refused: 3, quiet: 0 });
    assert_eq!(world.look_with("").unwrap().threads.len(), 5);
    let notes = world.storm.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("3 connections of reporters were refused"), "{notes:?}");
    assert!(notes[1].starts_with("1 of 2 workers on this machine do not tell their threads"), "{notes:?}");
    assert_eq!((world.look_with("").unwrap().threads.len(), world.storm.notes()), (5, vec![]));
    // If there is no other worker, the reason is that of the round.
    world.jvm.refuse();
    std::fs::remove_dir_all(world.machine.processes.root().join("70")).unwrap();
    let refused = world.look_with("").unwrap_err().0;
    assert!(refused.contains("no executor of ") && refused.contains("the JVM of process 80"), "{refused}");
    let mut unreported = World::new();
    unreported.given.1.set(Closed { refused: 3, quiet: 0 });
    let refused = unreported.look().unwrap_err().0;
    assert!(refused.ends_with("; 3 connections were refused as too many"), "{refused}");
}

/// The driver supplies what it tells, and names itself.
#[test]
fn what_is_supplied_is_told() {
    let world = World::new();
    assert_eq!(world.storm.name(), "Storm");
    let refused = |name| {
        let policy = thalweg_scheduling::by_name(name).unwrap();
        policy.reads().missing_from(world.storm.supplies())
    };
    for name in ["congestion", "congestion_v1", "highest_rate", "min_latency", "chain"] {
        assert!(refused(name).is_empty(), "{name}");
    }
    assert_eq!(refused("fcfs"), ["oldest pending records"]);
}
