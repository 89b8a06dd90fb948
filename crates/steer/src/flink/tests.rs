//! The driver with answers and a thread dump that were recorded from Flink 2.3 on OpenJDK 17, and with ones that were
//! changed.
//!
//! Two jobs ran: `tolls` with two subtasks of a source of the interface `SourceFunction` and two of a group, and `odd`
//! with a source of the interface `Source` and a sink whose name has quotes, brackets and letters beyond ASCII.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::managers::tests::{DUMP, start};
use super::*;
use crate::bounds::REQUEST_MAX;
use crate::fake::Machine;
use crate::jvm::fake::Jvm;

mod declared;

const TOLLS: &str = "/jobs/3442c53b7c77a4e32270525a0dea2063";
const ODD: &str = "/jobs/8e1510fe9985513c3be4a0ecbde9889c";
const NUMBERS: &str = "Source: numbers[1] -> Calc[2]";

/// A Flink that answers from a table.
#[derive(Clone)]
struct Recorded {
    answers: Rc<RefCell<Map<String, Value>>>,
    /// Answers by path that are no JSON.
    broken: Rc<RefCell<BTreeMap<String, Result<String, Unobserved>>>>,
    asked: Rc<RefCell<Vec<String>>>,
}

impl Transport for Recorded {
    fn get(&mut self, path: &str, longest: Duration) -> Result<String, Unobserved> {
        assert!(!longest.is_zero() && longest <= REQUEST_MAX);
        self.asked.borrow_mut().push(path.to_owned());
        let (base, wanted) = path.split_once("?get=").unwrap_or((path, ""));
        if let Some(broken) = self.broken.borrow().get(base) {
            return broken.clone();
        }
        let answers = self.answers.borrow();
        let answer = answers.get(base).ok_or_else(|| Unobserved(format!("{path} answers 404")))?;
        if wanted.is_empty() {
            return Ok(answer.to_string());
        }
        let wanted: BTreeSet<String> = wanted.split(',').map(decoded).collect();
        let is_wanted = |metric: &&Value| metric["id"].as_str().is_none_or(|id| wanted.contains(id));
        Ok(Value::from_iter(answer.as_array().unwrap().iter().filter(is_wanted).cloned()).to_string())
    }
}

/// Undoes what [`encoded`](crate::rest::encoded) does to ASCII.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let begin = parts.next().unwrap().to_owned();
    parts.fold(begin, |text, part| {
        text + &String::from(u8::from_str_radix(&part[..2], 16).unwrap() as char) + &part[2..]
    })
}

/// A machine with one TaskManager, and its Flink.
struct World {
    machine: Machine,
    jvm: Jvm,
    flink: Flink<Recorded>,
    recorded: Recorded,
    now: u64,
}

impl World {
    fn new() -> Self {
        World::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let machine = Machine::new();
        let jvm = start(&machine, 70, 34_861, DUMP);
        let answers = serde_json::from_str(include_str!("recorded/answers.json")).unwrap();
        let recorded =
            Recorded { answers: Rc::new(RefCell::new(answers)), broken: Rc::default(), asked: Rc::default() };
        let options = Options { processes: machine.processes.clone(), ..options };
        World { machine, jvm, flink: Flink::new(recorded.clone(), options), recorded, now: 0 }
    }

    /// Looks once, a second after the last time.
    fn look(&mut self) -> Result<Observation, Unobserved> {
        self.now += 1;
        self.flink.observe_at(Duration::from_secs(self.now), Instant::now() + ROUND_MAX)
    }

    /// Looks once, and returns the refusal.
    #[track_caller]
    fn refused(&mut self) -> String {
        self.look().unwrap_err().0
    }

    /// Changes the answer to a path.
    fn change(&self, path: &str, change: impl FnOnce(&mut Value)) {
        change(self.recorded.answers.borrow_mut().get_mut(path).unwrap());
    }

    /// Sets the value of a metric, which is added if it is not there, and in the list of those that are available.
    fn set(&self, vertex: &str, id: &str, value: &Value) {
        self.change(&format!("{vertex}/metrics"), |metrics| {
            let metrics = metrics.as_array_mut().unwrap();
            metrics.retain(|metric| metric["id"] != id);
            metrics.push(json!({ "id": id, "value": value }));
        });
        self.change(&format!("{vertex}/subtasks/0/metrics"), |list| {
            let name = id.split_once('.').unwrap().1;
            list.as_array_mut().unwrap().push(json!({ "id": name }));
        });
    }

    /// Returns the path of a vertex by the beginning of its name.
    fn vertex(&self, job: &str, name: &str) -> String {
        let answers = self.recorded.answers.borrow();
        let vertices = answers[job]["vertices"].as_array().unwrap();
        let vertex =
            vertices.iter().find(|vertex| vertex["name"].as_str().unwrap().starts_with(name)).unwrap();
        format!("{job}/vertices/{}", vertex["id"].as_str().unwrap())
    }

    /// Returns how many requests were made since this was called last.
    fn asked(&self) -> usize {
        self.recorded.asked.take().len()
    }
}

/// Returns the number and the pending work of the operators of a thread.
fn pending_of(observation: &Observation, name: &str) -> Vec<(u32, u64)> {
    let threads = observation.threads.iter().filter(|thread| thread.name == name);
    let found = threads
        .map(|thread| (thread.operator.0, observation.snapshot.operator(thread.operator).unwrap().pending));
    found.collect()
}

/// Returns the threads by their names, each with its host number.
fn threads(observation: &Observation) -> BTreeMap<&str, u32> {
    observation.threads.iter().map(|thread| (&*thread.name, thread.key.thread)).collect()
}

/// All threads of subtasks are found, by their host numbers, and no others. Flink's `nid` is that of the namespace.
#[test]
fn threads_of_subtasks_are_found_and_no_others() {
    let observation = World::new().look().unwrap();
    let expected = [
        ("GroupAggregate[4] -> out_t[5]: Writer (1/2)#0", 560),
        ("GroupAggregate[4] -> out_t[5]: Writer (2/2)#0", 561),
        ("GroupAggregate[8] -> o \"x\" [1] <&> наме😀[9]: Writer (1/1)#0", 1_768),
        ("Legacy Source Thread - Source: numbers[1] -> Calc[2] (1/2)#0", 569),
        ("Legacy Source Thread - Source: numbers[1] -> Calc[2] (2/2)#0", 570),
        ("OutputFlusher for Source: fs[6] (1/1)#0", 1_769),
        ("OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0", 564),
        ("OutputFlusher for Source: numbers[1] -> Calc[2] (2/2)#0", 563),
        ("Source Data Fetcher for Source: fs[6] (1/1)#0", 1_774),
        ("Source: fs[6] (1/1)#0", 1_767),
        ("Source: numbers[1] -> Calc[2] (1/2)#0", 557),
        ("Source: numbers[1] -> Calc[2] (2/2)#0", 559),
    ];
    let expected: BTreeMap<&str, u32> = expected.map(|(name, inner)| (name, inner + Jvm::OUTER)).into();
    assert_eq!(threads(&observation), expected);
    assert_eq!(observation.threads.len(), expected.len());
    let telling: Vec<u32> = observation.telling.iter().map(|thread| thread.key.thread).collect();
    assert_eq!(telling, [0x140 + Jvm::OUTER], "`flink-8` tells metrics");
}

/// The main thread has the input queue, the output flusher the output queue, and the fetcher is of the source.
#[test]
fn each_thread_has_its_own_queue() {
    let mut world = World::new();
    let source = world.vertex(TOLLS, NUMBERS);
    world.set(&source, "0.Shuffle.Netty.Output.Buffers.outputQueueLength", &json!("7"));
    let observation = world.look().unwrap();
    let of = |name: &str| pending_of(&observation, name);
    let [(main, 0)] = of("Source: numbers[1] -> Calc[2] (1/2)#0")[..] else { panic!() };
    assert_eq!(of("Legacy Source Thread - Source: numbers[1] -> Calc[2] (1/2)#0"), [(main, 0)]);
    let [(flusher, 7)] = of("OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0")[..] else { panic!() };
    let [(group, 2)] = of("GroupAggregate[4] -> out_t[5]: Writer (1/2)#0")[..] else { panic!() };
    assert_eq!(BTreeSet::from([main, flusher, group]).len(), 3);
    let state = |operator: u32| observation.snapshot.operators[operator as usize].unwrap();
    let kind = |operator: u32| (state(operator).is_source, state(operator).is_sink, state(operator).copies);
    assert_eq!(
        (kind(main), kind(flusher), kind(group)),
        ((true, false, 2), (false, false, 2), (false, true, 2))
    );
    // As Lachesis did it before: all threads of a subtask have its input queue.
    let mut earlier = World::with(Options { flusher_queue: FlusherQueue::Input, ..Options::default() });
    let observation = earlier.look().unwrap();
    let main = pending_of(&observation, "Source: numbers[1] -> Calc[2] (1/2)#0");
    assert_eq!(pending_of(&observation, "OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0"), main);
    assert_eq!(observation.snapshot.order.len(), 6);
}

/// The graph is that of the plan, subtask by subtask, and writers come first. Costs come from times at work.
#[test]
fn the_graph_and_the_costs_are_told() {
    let mut world = World::new();
    let group = world.vertex(TOLLS, "Group");
    for (id, value) in [("busyTimeMsPerSecond", "50.0"), ("numRecordsInPerSecond", "1000.0")] {
        world.set(&group, &format!("0.{id}"), &json!(value));
    }
    let fs = world.vertex(ODD, "Source");
    for (id, value) in
        [("busyTimeMsPerSecond", "8"), ("numRecordsInPerSecond", "4"), ("numRecordsOutPerSecond", "6")]
    {
        world.set(&fs, &format!("0.{id}"), &json!(value));
    }
    let Observation { snapshot, threads, .. } = world.look().unwrap();
    let operator = |name: &str| threads.iter().find(|thread| thread.name == name).unwrap().operator;
    let groups = [1, 2].map(|n| operator(&format!("GroupAggregate[4] -> out_t[5]: Writer ({n}/2)#0")));
    for prefix in ["", "OutputFlusher for "] {
        for n in [1, 2] {
            let source = operator(&format!("{prefix}{NUMBERS} ({n}/2)#0"));
            let readers: BTreeSet<_> = snapshot.readers(source).iter().copied().collect();
            assert_eq!(readers, BTreeSet::from(groups));
            let place = |id| snapshot.order.iter().position(|found| *found == id).unwrap();
            assert!(groups.iter().all(|group| place(source) < place(*group)));
        }
    }
    assert_eq!(snapshot.order.iter().collect::<BTreeSet<_>>().len(), 9);
    assert!(snapshot.readers(groups[0]).is_empty());
    assert_eq!(snapshot.operator(groups[0]).unwrap().cost_ns_per_record, 50_000.0);
    for name in ["Source: fs[6] (1/1)#0", "OutputFlusher for Source: fs[6] (1/1)#0"] {
        let state = snapshot.operator(operator(name)).unwrap();
        assert_eq!((state.cost_ns_per_record, state.selectivity), (2_000_000.0, 1.5), "{name}");
    }
    // Its time at work is NaN.
    let source = snapshot.operator(operator(&format!("{NUMBERS} (1/2)#0"))).unwrap();
    assert_eq!(source.cost_ns_per_record, thalweg_scheduling::OperatorState::ASSUMED_COST_NS_PER_RECORD);
    let queries: BTreeSet<u32> = snapshot.operators.iter().flatten().map(|state| state.query.0).collect();
    assert_eq!((queries, snapshot.queries.len()), (BTreeSet::from([0, 1]), 2));
}

/// A subtask of a `FORWARD` edge has one reader.
#[test]
fn a_forward_edge_joins_subtasks_of_one_number() {
    let mut world = World::new();
    world.change(TOLLS, |job| {
        for node in job["plan"]["nodes"].as_array_mut().unwrap() {
            if let Some(inputs) = node.get_mut("inputs").and_then(Value::as_array_mut) {
                inputs[0]["ship_strategy"] = json!("FORWARD");
            }
        }
    });
    let Observation { snapshot, threads, .. } = world.look().unwrap();
    let operator = |name: &str| threads.iter().find(|thread| thread.name == name).unwrap().operator;
    for n in [1, 2] {
        let reader = operator(&format!("GroupAggregate[4] -> out_t[5]: Writer ({n}/2)#0"));
        assert_eq!(snapshot.readers(operator(&format!("{NUMBERS} ({n}/2)#0"))), [reader]);
    }
}

#[test]
fn a_source_has_the_backlog_of_its_connector_or_of_a_gauge() {
    for (options, metric) in [
        (Options::default(), "0.Source__fs[6].pendingRecords"),
        (
            Options { source_gauge: Some("myQueue".to_owned()), ..Options::default() },
            "0.Source__fs[6].KafkaSourceReader.myQueue",
        ),
    ] {
        let mut world = World::with(options);
        let source = world.vertex(ODD, "Source");
        assert_eq!(pending_of(&world.look().unwrap(), "Source: fs[6] (1/1)#0")[0].1, 0);
        // A connector may tell it only after a while.
        world.set(&source, metric, &json!("12345"));
        for _ in 0..20 {
            world.look().unwrap();
        }
        let observation = world.look().unwrap();
        let expected = pending_of(&observation, "Source: fs[6] (1/1)#0");
        assert_eq!(expected[0].1, 12_345);
        assert_eq!(pending_of(&observation, "Source Data Fetcher for Source: fs[6] (1/1)#0"), expected);
    }
}

/// The mean of the last 10 s counts, rounded up. A value that is missing or cannot be leaves the others; a round
/// without any is skipped.
#[test]
fn the_mean_of_ten_seconds_counts() {
    let mut world = World::new();
    let group = world.vertex(TOLLS, "Group");
    let name = "GroupAggregate[4] -> out_t[5]: Writer (1/2)#0";
    let values = [
        (json!("3"), Ok(3)),
        (json!("6"), Ok(5)),
        (json!("NaN"), Ok(5)),
        (json!("-1"), Ok(5)),
        (json!("Infinity"), Ok(5)),
        (json!("1e30"), Ok(5)),
        (json!(null), Ok(5)),
        (json!("x"), Ok(5)),
        (json!([]), Ok(5)),
        (json!(null), Ok(5)),
        (json!(null), Ok(6)),
        (json!(null), Err(())),
        (json!(0), Ok(0)),
        (json!(0.1), Ok(1)),
    ];
    for (place, (value, expected)) in values.iter().enumerate() {
        world.set(&group, "0.Shuffle.Netty.Input.Buffers.inputQueueLength", value);
        let found = world.look().map(|observation| pending_of(&observation, name)[0].1);
        match found {
            Ok(pending) => assert_eq!(Ok(pending), *expected, "{place}"),
            Err(error) => {
                assert!(
                    expected.is_err() && error.0.contains(&format!("what waits for `{name}`")),
                    "{place}: {error}"
                );
            }
        }
    }
}

/// An answer that cannot be understood skips the round, and the next round is as if nothing had been.
#[test]
fn broken_answers_skip_the_round() {
    let mut world = World::new();
    let before = threads(&world.look().unwrap()).len();
    let paths: Vec<String> = world.recorded.answers.borrow().keys().cloned().collect();
    let deep = "[".repeat(200_000);
    let bodies = [
        "",
        "x",
        "{",
        "null",
        "7",
        "{}",
        "[7]",
        "[{}]",
        "NaN",
        "\u{0}",
        "{\"jobs\":{}}",
        "<html></html>",
        &deep,
    ];
    let mut answers: Vec<Result<String, Unobserved>> = bodies.map(|body| Ok(body.to_owned())).into();
    answers.push(Err(Unobserved("no answer from http://127.0.0.1:8081: timeout".to_owned())));
    for path in &paths {
        for answer in &answers {
            // Nothing is known, so that everything is asked for.
            let options = Options { processes: world.machine.processes.clone(), ..Options::default() };
            world.flink = Flink::new(world.recorded.clone(), options);
            world.recorded.broken.borrow_mut().insert(path.clone(), answer.clone());
            let error = world.refused();
            assert!(!error.is_empty() && error.len() < 1_000, "{path}: {error}");
            if let Err(expected) = answer {
                assert_eq!(error, expected.0);
            }
            world.recorded.broken.borrow_mut().clear();
        }
        assert_eq!(threads(&world.look().unwrap()).len(), before);
    }
}

/// Every number and text in an answer may be replaced by others without a panic.
#[test]
fn answers_that_lie_do_no_harm() {
    let lies = [
        json!(-1),
        json!(0),
        json!(u64::MAX),
        json!(1e308),
        json!(""),
        json!("é\u{0}\"%/?"),
        json!(null),
        json!([]),
    ];
    let mut world = World::new();
    world.look().unwrap();
    let original = world.recorded.answers.borrow().clone();
    for path in original.keys().filter(|path| !path.ends_with("metrics")) {
        for pointer in leaves(&original[path]) {
            for lie in &lies {
                world.change(path, |answer| *answer.pointer_mut(&pointer).unwrap() = lie.clone());
                let _outcome = world.look();
                *world.recorded.answers.borrow_mut() = original.clone();
            }
        }
    }
    // Subtasks that ran meanwhile may have lost their queues.
    let observation = world.look().unwrap();
    assert_eq!(observation.threads.len(), 12);
}

/// Returns the pointers to all values that are neither objects nor arrays with something in them.
fn leaves(value: &Value) -> Vec<String> {
    let below = |key: &str, value: &Value| -> Vec<String> {
        leaves(value)
            .into_iter()
            .map(|rest| format!("/{}{rest}", key.replace('~', "~0").replace('/', "~1")))
            .collect()
    };
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| below(key, value)).collect(),
        Value::Array(items) => {
            (0..).zip(items).flat_map(|(n, value): (usize, _)| below(&n.to_string(), value)).collect()
        }
        _ => vec![String::new()],
    }
}

/// Rounds in which nothing happens take no dump, and ask for no more than they need: TaskManagers, jobs, each job, and
/// the metrics of each vertex.
#[test]
fn quiet_rounds_ask_for_little() {
    let mut world = World::new();
    world.look().unwrap();
    assert_eq!((world.jvm.dumps(), world.asked()), (1, 2 + 2 + 4 * 3));
    for _ in 0..5 {
        world.look().unwrap();
        assert_eq!((world.jvm.dumps(), world.asked()), (1, 2 + 2 + 4));
    }
    // A thread that ends needs no dump, and one that begins does.
    world.machine.end(world.jvm.key(&world.machine, 564));
    let name = "OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0";
    assert!(!threads(&world.look().unwrap()).contains_key(name));
    assert_eq!(world.jvm.dumps(), 1);
    world.jvm.begin(&world.machine, 564, 99);
    assert!(threads(&world.look().unwrap()).contains_key(name));
    assert_eq!(world.jvm.dumps(), 2);
}

/// A job that restarts keeps the numbers of its operators, and its queues begin anew.
#[test]
fn a_restart_keeps_numbers() {
    let mut world = World::new();
    let first = world.look().unwrap();
    let name = |attempt: u32| format!("GroupAggregate[4] -> out_t[5]: Writer (1/2)#{attempt}");
    let before = pending_of(&first, &name(0));
    world.change("/jobs", |jobs| {
        let jobs = jobs["jobs"].as_array_mut().unwrap();
        jobs.iter_mut().find(|job| TOLLS.ends_with(job["id"].as_str().unwrap())).unwrap()["status"] =
            json!("RESTARTING");
    });
    let between = world.look().unwrap();
    assert!(pending_of(&between, &name(0)).is_empty());
    assert!(between.snapshot.operators[before[0].0 as usize].is_none());
    assert_eq!(between.snapshot.operators.len(), first.snapshot.operators.len());
    world.change("/jobs", |jobs| {
        jobs["jobs"].as_array_mut().unwrap().iter_mut().for_each(|job| job["status"] = json!("RUNNING"));
    });
    let group = world.vertex(TOLLS, "Group");
    world.change(&group, |vertex| vertex["subtasks"][0]["attempt"] = json!(1));
    world.set(&group, "0.Shuffle.Netty.Input.Buffers.inputQueueLength", &json!("8"));
    // Flink's answer may be older than the threads are.
    world.jvm.set_dump(&DUMP.replace(&name(0), &name(1)));
    world.jvm.begin(&world.machine, 4_000, 100);
    let after = world.look().unwrap();
    assert_eq!(pending_of(&after, &name(1)), [(before[0].0, 8)]);
    assert_eq!(world.jvm.dumps(), 2);
}

/// A thread of a new attempt that Flink does not tell yet is looked for until it does.
#[test]
fn an_answer_that_is_late_is_asked_for_again() {
    let mut world = World::new();
    world.look().unwrap();
    let name = |attempt: u32| format!("GroupAggregate[4] -> out_t[5]: Writer (1/2)#{attempt}");
    world.jvm.set_dump(&DUMP.replace(&name(0), &name(1)));
    world.jvm.begin(&world.machine, 4_000, 100);
    for _ in 0..2 {
        let found = world.look().unwrap();
        assert!(pending_of(&found, &name(1)).is_empty() && pending_of(&found, &name(0)).is_empty());
    }
    let group = world.vertex(TOLLS, "Group");
    world.change(&group, |vertex| vertex["subtasks"][0]["attempt"] = json!(1));
    assert_eq!(pending_of(&world.look().unwrap(), &name(1)).len(), 1);
}

/// Numbers of a job that has ended are free for a round, and then used again.
#[test]
fn numbers_are_used_again_after_their_job_has_ended() {
    let mut world = World::new();
    let first = world.look().unwrap();
    let numbers = |observation: &Observation, of: &str| -> BTreeSet<u32> {
        let threads = observation.threads.iter().filter(|thread| thread.name.contains(of));
        threads.map(|thread| thread.operator.0).collect()
    };
    let (odd, tolls) = (numbers(&first, "[6]"), numbers(&first, "numbers[1]"));
    let jobs = world.recorded.answers.borrow()["/jobs"].clone();
    world.change("/jobs", |jobs| {
        jobs["jobs"].as_array_mut().unwrap().retain(|job| TOLLS.ends_with(job["id"].as_str().unwrap()));
    });
    let second = world.look().unwrap();
    assert_eq!(numbers(&second, "numbers[1]"), tolls);
    assert!(odd.iter().all(|number| second.snapshot.operators[*number as usize].is_none()));
    assert_eq!(second.snapshot.queries.iter().flatten().count(), 1);
    world.change("/jobs", |found| *found = jobs);
    let third = world.look().unwrap();
    assert_eq!((numbers(&third, "[6]"), numbers(&third, "numbers[1]")), (odd, tolls));
}

/// Two jobs of one name in one process: their main threads belong to them in the order of their starts, and a helper
/// thread to both.
#[test]
fn subtasks_of_one_name_are_told_apart_by_their_starts() {
    let mut world = World::new();
    let copy = "/jobs/00000000000000000000000000000000";
    let (source, group) = (world.vertex(ODD, "Source"), world.vertex(ODD, "Group"));
    {
        let mut answers = world.recorded.answers.borrow_mut();
        let paths: Vec<String> = answers.keys().filter(|path| path.starts_with(ODD)).cloned().collect();
        for path in paths {
            let mut answer = answers[&path].clone();
            if path == source || path == group {
                answer["subtasks"][0]["start-time"] = json!(9_999_999_999_999_i64);
            }
            answers.insert(path.replace(ODD, copy), answer);
        }
        let job = json!({ "id": copy.rsplit_once('/').unwrap().1, "status": "RUNNING" });
        answers["/jobs"]["jobs"].as_array_mut().unwrap().push(job);
    }
    world.set(&source.replace(ODD, copy), "0.Shuffle.Netty.Output.Buffers.outputQueueLength", &json!("9"));
    let line = |number: u32, name: &str| format!("\"{name}\" #1 prio=5 nid={number} runnable\n\n");
    let (main, flusher) = ("Source: fs[6] (1/1)#0", "OutputFlusher for Source: fs[6] (1/1)#0");
    world.jvm.set_dump(&format!("{DUMP}{}{}", line(9_001, main), line(9_002, flusher)));
    world.jvm.begin(&world.machine, 9_001, 5_000);
    world.jvm.begin(&world.machine, 9_002, 5_000);
    let observation = world.look().unwrap();
    let operators = |name: &str, inner: u32| -> Vec<(u32, u64)> {
        let threads = observation
            .threads
            .iter()
            .filter(|thread| thread.name == name && thread.key.thread == inner + Jvm::OUTER);
        threads
            .map(|thread| {
                observation
                    .snapshot
                    .operator(thread.operator)
                    .map(|state| (state.query.0, state.pending))
                    .unwrap()
            })
            .collect()
    };
    // The job of the copy comes first in the order of identities.
    assert_eq!((operators(main, 1_767), operators(main, 9_001)), (vec![(2, 0)], vec![(0, 0)]));
    assert_eq!(operators(flusher, 1_769).len(), 2);
    assert_eq!(operators(flusher, 9_002), operators(flusher, 1_769));
    // Without its thread, one thread may be of either subtask.
    world.machine.end(world.jvm.key(&world.machine, 9_001));
    assert_eq!(pending_of(&world.look().unwrap(), main).len(), 2);
}

/// Threads of older versions have names without attempts.
#[test]
fn names_without_attempts_are_found() {
    let mut world = World::new();
    let older = DUMP.replace(
        "OutputFlusher for Source: numbers[1] -> Calc[2] (1/2)#0",
        "OutputFlusher for Source: numbers[1] -> Calc[2]",
    );
    world.jvm.set_dump(&older.replace(")#0\"", ")\""));
    let observation = world.look().unwrap();
    assert_eq!(threads(&observation).len(), 12);
    assert_eq!(pending_of(&observation, "Source: numbers[1] -> Calc[2] (1/2)").len(), 1);
    // It may be of each subtask that has no flusher of a better name.
    assert_eq!(pending_of(&observation, "OutputFlusher for Source: numbers[1] -> Calc[2]").len(), 1);
}

/// A TaskManager that ends while it is looked at is forgotten, and a Flink without any here is an error.
#[test]
fn a_machine_without_taskmanagers_is_an_error() {
    let mut world = World::new();
    world.look().unwrap();
    fs::remove_dir_all(world.machine.processes.root().join("70")).unwrap();
    let expected = "of 1 TaskManagers none is found on this machine; this program must see their processes, and run as their \
                    user or as root";
    assert_eq!(world.refused(), expected);
    world
        .recorded
        .broken
        .borrow_mut()
        .insert("/taskmanagers".to_owned(), Ok("{\"taskmanagers\":[]}".to_owned()));
    assert!(world.refused().starts_with("of 0 TaskManagers"));
}

/// A graph with too many edges skips the round.
#[test]
fn a_graph_beyond_the_bound_is_an_error() {
    let mut world = World::new();
    const COUNT: u32 = 1_100;
    let list = |manager: &str| -> Vec<Value> {
        let subtask = |index: u32| json!({ "subtask": index, "status": "RUNNING", "attempt": 0, "taskmanager-id": manager });
        (0..COUNT).map(subtask).collect()
    };
    world.change(TOLLS, |job| {
        job["vertices"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|vertex| vertex["parallelism"] = json!(COUNT));
    });
    for vertex in [world.vertex(TOLLS, NUMBERS), world.vertex(TOLLS, "Group")] {
        world.change(&vertex, |vertex| vertex["subtasks"] = json!(list("on another machine")));
    }
    assert_eq!(world.refused(), "there are 1210000 edges between subtasks; at most 1048576 are looked at");
}

/// A round that takes too long is given up before the watchdog takes the priorities away.
#[test]
fn a_round_has_an_end() {
    let mut world = World::new();
    let over = Instant::now();
    let error = world.flink.observe_at(Duration::ZERO, over).unwrap_err();
    assert_eq!((error.0.as_str(), world.asked()), ("the engine took longer than 3 s to answer", 0));
}

/// The driver is one that the policies of the papers take.
#[test]
fn policies_of_queues_costs_and_graphs_fit() {
    let flink = World::new().flink;
    for (name, is_fit) in [("congestion", true), ("congestion_v1", true), ("fcfs", false), ("klink", false)] {
        let reads = thalweg_scheduling::by_name(name).unwrap().reads();
        assert_eq!(reads.missing_from(flink.supplies()).is_empty(), is_fit, "{name}");
    }
    assert_eq!(flink.name(), "Flink");
}
