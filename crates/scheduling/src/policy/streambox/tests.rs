//! Tests of the order of operators under StreamBox, from snapshots written as text. `A>B` is an edge between
//! operators, `A!` watermark work, `A@7` blocks of an epoch that ends at 7 s, `A@7+3` the same with 3 open
//! containers, `A` input on an edge in order, `A*` a source on demand, `A-` no work.

use thalweg_model::SeededEntropy;

use super::*;
use crate::rank::Quantum;
use crate::snapshot::QueryState;
use crate::test_bed::{Bed, Task, run_of};

const BLOCK_RECORDS: u32 = 384;

fn id(letter: &str) -> OperatorId {
    OperatorId(u32::from(letter.as_bytes()[0] - b'A'))
}

fn state(act: &str) -> OperatorState {
    let (kind, rest) = act.split_at(act.len().min(1));
    let (rest, open) = rest.split_once('+').unwrap_or((rest, "0"));
    let epoch_work = match kind {
        "!" => EpochWork::Watermark,
        "@" => EpochWork::Blocks { due: EventTime::from_secs(rest.parse().unwrap()) },
        _ => EpochWork::Unknown,
    };
    let is_source = kind == "*";
    OperatorState {
        is_source,
        is_on_demand: is_source,
        pending: u64::from(kind != "-"),
        epoch_work,
        open_containers: open.parse().unwrap(),
        ..OperatorState::default()
    }
}

/// Parses operators and edges written as text, in the order of the letters, which is upstream first. All
/// operators belong to query 0.
fn snapshot(text: &str) -> Snapshot {
    let (edges, operators): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| word.contains('>'));
    let mut downstream = vec![Vec::new(); operators.len()];
    for edge in edges {
        let (from, to) = edge.split_once('>').unwrap();
        downstream[id(from).0 as usize].push(id(to));
    }
    Snapshot {
        block_records: BLOCK_RECORDS,
        operators: operators.iter().map(|operator| Some(state(&operator[1..]))).collect(),
        queries: vec![Some(QueryState::default())],
        downstream,
        order: (0..operators.len() as u32).map(OperatorId).collect(),
        ..Snapshot::default()
    }
}

/// Returns the operators in the order of their ranks, the most urgent first, with the class in front of each
/// group.
fn order(policy: &StreamBox, snapshot: &Snapshot) -> String {
    let ids = (0..snapshot.operators.len() as u32).map(OperatorId);
    let mut ranked: Vec<(u64, u32)> =
        ids.filter_map(|id| Some((policy.rank(snapshot, id)?.word(), id.0))).collect();
    ranked.sort_unstable();
    let mut shown = String::new();
    let mut last_class = None;
    for (word, id) in ranked {
        if last_class != Some(word >> 60) {
            shown += &format!(" {}:", word >> 60);
            last_class = Some(word >> 60);
        }
        shown.push(char::from(b'A' + id as u8));
    }
    shown.trim_start().to_owned()
}

/// Checks the order of operators if the next window of the query ends at `next` seconds.
fn check(next: Option<i64>, text: &str, expected: &str) {
    check_with(StreamBox::default(), next, text, expected);
}

fn check_with(mut policy: StreamBox, next: Option<i64>, text: &str, expected: &str) {
    let mut snapshot = snapshot(text);
    snapshot.queries[0].as_mut().unwrap().next_window_end = next.map(EventTime::from_secs);
    policy.prepare(&snapshot);
    assert_eq!(order(&policy, &snapshot), expected, "{text}");
    for place in 0..snapshot.operators.len() as u32 {
        let quantum = policy.quantum(&snapshot, OperatorId(place));
        assert_eq!(quantum, Quantum { records: BLOCK_RECORDS });
    }
}

/// Work of epochs up to the next externalization moment runs from upstream to downstream, later work from
/// downstream to upstream, and sources run last.
#[test]
fn the_first_pass_goes_down_and_the_second_up() {
    check(Some(10), "A>B B>C C>D A* B@10 C@10 D@10", "1:BCD 3:A");
    check(Some(9), "A>B B>C C>D A* B@10 C@10 D@10", "2:DCB 3:A");
    check(Some(10), "A>B B>C C>D A* B@20 C@10 D@30", "1:C 2:DB 3:A");
    check(Some(10), "A>B B>C C>D A* B- C@20 D-", "2:C 3:A");
}

/// If two instances of one operator feed the same reader, the instance with the oldest epoch runs first.
#[test]
fn of_one_operator_the_oldest_epoch_is_first() {
    check(Some(30), "A>B A>C B>D C>D A* B@20 C@10 D-", "1:CB 3:A");
    check(Some(5), "A>B A>C B>D C>D A* B@20 C@10 D-", "2:CB 3:A");
    // In the first pass upstream operators run first, however young their epochs are.
    check(Some(90), "A>B B>C A* B@90 C@10", "1:BC 3:A");
    // The epochs are too far from the next externalization moment for distinct ranks, so the operator with
    // the lower number goes first.
    check(Some(100_000), "A>B A>C A* B@20 C@10", "1:BC 3:A");
}

/// Watermark tasks, and the operators that read their output, run before all other work.
#[test]
fn watermark_tasks_come_first() {
    check(Some(10), "A>B B>C C>D A* B@10 C! D", "0:DC 1:B 3:A");
    check(Some(10), "A>B B>C C>D A* B! C! D", "0:DCB 3:A");
    // An instance that claims blocks again is no watermark task, so its readers' input does not count as put
    // out by a watermark.
    check(Some(10), "A>B B>C A* B@10 C@10", "1:BC 3:A");
}

/// A serial query has no epochs, so operators near the sink run first.
#[test]
fn edges_in_order_are_left_to_the_second_pass() {
    check(Some(10), "A>B B>C C>D A* B C D", "2:DCB 3:A");
    check(None, "A>B B>C A* B@10 C", "2:CB 3:A");
}

/// StreamBox, section 4: work that the next result does not wait for starts at the operators with the most
/// open containers. The published program, and so the default, starts near the sink.
#[test]
fn most_open_containers_lead_the_second_pass() {
    let check_both = |next, text: &str, expected: &str, by_default: &str| {
        check_with(StreamBox::most_open(), next, text, expected);
        check(next, text, by_default);
    };
    let chain = "A>B B>C C>D A*";
    check_both(Some(9), &format!("{chain} B@20+3 C@20+1 D@30+2"), "2:BDC 3:A", "2:DCB 3:A");
    // Equal numbers are ordered from the sink up. Edges in order have no containers.
    check_both(Some(9), &format!("{chain} B@20+2 C@20+2 D"), "2:CBD 3:A", "2:DCB 3:A");
    check_both(None, &format!("{chain} B@20+1 C@20+2 D@20+1"), "2:CDB 3:A", "2:DCB 3:A");
    // The first pass and watermark tasks are as in the default.
    check_both(Some(20), &format!("{chain} B@20+1 C@20+3 D@30+2"), "1:BC 2:D 3:A", "1:BC 2:D 3:A");
    check_both(Some(9), &format!("{chain} B@20+9 C! D"), "0:DC 2:B 3:A", "0:DC 2:B 3:A");
    // If operators are equal, the oldest epoch comes first, also at the bounds of the score.
    let pair = "A>B A>C B>D C>D A*";
    check_both(Some(5), &format!("{pair} B@20+2 C@12+2 D-"), "2:CB 3:A", "2:CB 3:A");
    check_both(Some(5), &format!("{pair} B@7+64 C@6+64 D-"), "2:CB 3:A", "2:CB 3:A");
    check_both(Some(5), &format!("{pair} B@6+63 C@9000+64 D-"), "2:CB 3:A", "2:BC 3:A");
}

/// Checks the next externalization moment of a query after each watermark that its sinks have seen, in
/// seconds.
fn check_moments(seen: &[Option<i64>], next: &[Option<i64>], expected_us: &[Option<i64>]) {
    let mut moment = Moment::default();
    for ((&seen, &next), &expected) in seen.iter().zip(next).zip(expected_us) {
        let state = QueryState {
            sink_watermark: seen.map(EventTime::from_secs),
            next_window_end: next.map(EventTime::from_secs),
            ..QueryState::default()
        };
        moment.advance(&state);
        assert_eq!(moment.next_moment.map(EventTime::as_micros), expected, "{seen:?}");
    }
}

#[test]
fn the_next_moment_is_a_window_end_or_predicted() {
    // The moment is the end of the next window, before and after the sinks have seen a watermark.
    check_moments(
        &[None, None, Some(10)],
        &[None, Some(10), Some(20)],
        &[None, Some(10_000_000), Some(20_000_000)],
    );
    // Without ends of windows the moment is predicted from the past: first one microsecond later, then by the
    // mean advance.
    check_moments(
        &[None, Some(10), Some(12), Some(12)],
        &[None; 4],
        &[None, Some(10_000_001), Some(14_000_000), Some(14_000_000)],
    );
    check_moments(&[Some(0), Some(8), Some(24)], &[None; 3], &[Some(1), Some(16_000_000), Some(33_000_000)]);
    // Another query that gets the number of an ended query begins without history.
    check_moments(
        &[Some(10), Some(20), Some(3)],
        &[None; 3],
        &[Some(10_000_001), Some(30_000_000), Some(3_000_001)],
    );
    // The first and last instants of event time must not make the prediction overflow.
    let mut moment = Moment::default();
    for instant in [EventTime::MIN, EventTime::MAX] {
        moment.advance(&QueryState { sink_watermark: Some(instant), ..QueryState::default() });
        assert!(moment.next_moment > Some(EventTime::MIN));
    }
}

/// In the variant without priority, operators run in network order, starting at the operator that ran last.
/// Sources run last.
#[test]
fn without_priority_whatever_is_next_runs() {
    let snapshot = snapshot("A>B B>C C>D A* B@10 C! D@90");
    let mut policy = StreamBox::without_priority();
    policy.prepare(&snapshot);
    assert_eq!(order(&policy, &snapshot), "0:BCD 3:A");
    policy.feedback(&run_of(id("C"), QueryId(0)));
    policy.prepare(&snapshot);
    assert_eq!(order(&policy, &snapshot), "0:CDB 3:A");
}

/// Returns the longest wait of any operator in 5,000 decisions. The sources make as many records as they are
/// asked for.
fn longest_wait_ns(policy: StreamBox, tasks: Vec<Task>) -> u64 {
    let mut bed = Bed::new(Box::new(policy), BLOCK_RECORDS, tasks);
    for _ in 0..5_000 {
        bed.step();
    }
    bed.tasks.iter().map(|live| live.longest_wait_ns).max().expect("there are tasks")
}

/// Graphs behind sources on demand, in which some operators cost 1,000 times what others do. Every operator
/// that can run does run. It waits at most twice the time to process once everything that the others hold:
/// the second part is for records that arrive meanwhile.
#[test]
fn nobody_starves_behind_sources_that_never_rest() {
    for seed in 0..100 {
        let tasks = || crate::policy::tests::random_behind_sources(&mut SeededEntropy::new(seed));
        let around_ns: u64 = tasks().iter().map(|task| task.room_records * task.cost_ns).sum();
        for policy in [StreamBox::default(), StreamBox::without_priority()] {
            let waited_ns = longest_wait_ns(policy, tasks());
            assert!(waited_ns <= 2 * around_ns, "{seed}: {waited_ns} ns of {around_ns}");
        }
    }
}

/// Returns the time in ns to process all that operators behind sources can hold at once, with everything that
/// they make of it. Sources make nothing meanwhile.
fn drained_ns(tasks: &[Task]) -> f64 {
    // Operators have room for so many records. The last run before an input is full may exceed that by what one
    // record becomes, which is at most three here.
    let mut records: Vec<f64> = tasks.iter().map(|task| task.room_records as f64 + 3.0).collect();
    for (place, task) in tasks.iter().enumerate().filter(|(_, task)| !task.is_on_demand) {
        for reader in &task.readers {
            // Fractions of a record that earlier runs have carried may become one more.
            records[*reader as usize] += records[place] * task.selectivity + 1.0;
        }
    }
    tasks.iter().zip(&records).map(|(task, records)| task.cost_ns as f64 * records).sum()
}

/// The operators with the most open containers run first, so one with few may be passed over again and again while
/// those upstream of the others refill them. But sources come last, so it waits no longer than it takes to drain
/// everything; and a source no longer than that for each of the sources that have waited longer, and once more.
#[test]
fn nobody_starves_behind_the_most_open_containers() {
    for seed in 0..100 {
        let tasks = crate::policy::tests::random_behind_sources(&mut SeededEntropy::new(seed));
        let sources = tasks.iter().filter(|task| task.is_on_demand).count() as f64;
        let bound_ns = (sources + 1.0) * drained_ns(&tasks);
        let waited_ns = longest_wait_ns(StreamBox::most_open(), tasks);
        assert!(waited_ns as f64 <= bound_ns, "{seed}: {waited_ns} ns of {bound_ns}");
    }
}

/// An operator with one open container waits while another has more, and runs as soon as the other has as few,
/// before the source makes more. By default the lower number goes first, whatever waits for the others.
#[test]
fn few_open_containers_wait_for_many() {
    let run = |policy: StreamBox| {
        let source = Task { is_on_demand: true, ..Task::new(1, 1.0, &[1]) };
        let other = Task { query: 1, ..Task::new(1, 1.0, &[]) };
        let mut bed = Bed::new(Box::new(policy), 4, vec![source, Task::new(1, 1.0, &[]), other]);
        bed.push(1, 3);
        bed.push(2, 20);
        bed.steps(8)
    };
    assert_eq!(run(StreamBox::most_open()), "CCCCBCAB");
    assert_eq!(run(StreamBox::default()), "BCCCCCAB");
}
