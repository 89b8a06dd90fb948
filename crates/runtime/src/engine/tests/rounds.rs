//! Rounds of ranking, and runs, on an engine that is stepped by hand: how often rounds come, which tasks each of
//! them ranks, what the policy is shown, and how many records a run takes.

use thalweg_scheduling::{Completion, Fields, OperatorId, OperatorState, Quantum, Rank, Scale, Snapshot};

use super::*;

/// Number of records that the policy of these tests lets each run take.
const QUANTUM_RECORDS: u32 = 100;

/// A call of the policy.
#[derive(Clone)]
enum Call {
    /// A round began at this instant. The states are those of all tasks, by their numbers.
    Round(ProcessingTime, Vec<Option<OperatorState>>),
    /// A task was ranked while so many records and marks waited for it.
    Ranked(OperatorId, u64),
    /// A run was reported.
    Ran(Completion),
}

/// A policy that runs the task with the lowest number, and notes how it is called.
struct Watching {
    calls: Arc<Mutex<Vec<Call>>>,
    clock: Arc<VirtualClock>,
    /// Nanoseconds that each round takes.
    round_takes_ns: u64,
}

impl Policy for Watching {
    fn name(&self) -> &'static str {
        "watching"
    }

    fn reads(&self) -> Fields {
        Fields::COST_AND_SELECTIVITY
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.calls.lock().push(Call::Round(snapshot.now, snapshot.operators.clone()));
        self.clock.advance_to(self.clock.now().plus_nanos(self.round_takes_ns));
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let pending = snapshot.operator(operator).map_or(0, |state| state.pending);
        self.calls.lock().push(Call::Ranked(operator, pending));
        Some(Rank { class: 0, score: 0.0, tie: operator.0 })
    }

    fn quantum(&self, _snapshot: &Snapshot, _operator: OperatorId) -> Quantum {
        Quantum { records: QUANTUM_RECORDS }
    }

    fn feedback(&mut self, done: &Completion) {
        self.calls.lock().push(Call::Ran(*done));
    }
}

/// Time and length of a test on a stepped engine.
#[derive(Clone, Copy)]
struct Course {
    /// Number of steps of the only worker.
    steps: u64,
    /// Nanoseconds from one step to the next, which are the length of each run.
    step_ns: u64,
    /// Nanoseconds that each round takes.
    round_takes_ns: u64,
}

/// Runs a query of a source on demand, an operator and a sink on an engine with these settings. Returns the calls
/// of its policy in their order.
fn calls(builder: EngineBuilder, course: Course) -> Vec<Call> {
    let Course { steps, step_ns, round_takes_ns } = course;
    let clock = Arc::new(VirtualClock::default());
    let calls = Arc::<Mutex<Vec<Call>>>::default();
    let policy = Watching { calls: Arc::clone(&calls), clock: Arc::clone(&clock), round_takes_ns };
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let builder = builder.clock(engine_clock).policy(Box::new(policy));
    let mut stepped = builder.build_stepped().unwrap();
    let query = stepped.engine.submit(graph(100..300_000, 1, &Seen::default())).unwrap();
    for _ in 0..steps {
        clock.advance_to(clock.now().plus_nanos(step_ns));
        stepped.workers[0].step(clock.as_ref());
        while stepped.growth.step() {}
    }
    assert_eq!(query.state(), QueryState::Running);
    drop(query);
    drop(stepped);
    let calls = calls.lock();
    calls.clone()
}

/// Returns the instants at which rounds began.
fn rounds(calls: &[Call]) -> Vec<ProcessingTime> {
    let round = |call: &Call| if let Call::Round(now, _) = call { Some(*now) } else { None };
    calls.iter().filter_map(round).collect()
}

/// Returns the nanoseconds from each round to the next.
fn gaps_ns(rounds: &[ProcessingTime]) -> Vec<u64> {
    rounds.windows(2).map(|pair| pair[1].nanos_since(pair[0])).collect()
}

/// Enjima, section 5.2: a round every millisecond, in which priorities are computed once, and not at each
/// decision in between. Here a decision takes 100 us.
#[test]
fn priorities_are_computed_once_a_millisecond() {
    let course = Course { steps: 200, step_ns: 100_000, round_takes_ns: 0 };
    let rounds = rounds(&calls(Engine::builder(), course));
    assert_eq!(rounds.len(), 20, "in 20 ms");
    assert_eq!(gaps_ns(&rounds), [1_000_000; 19]);
}

/// Rounds take at most 0.5 % of the time: after a round that took 100 us the next one begins 20 ms after that
/// one began. Behind a round that took 5 us that is after 1 ms, which is the shortest time.
#[test]
fn rounds_take_half_a_per_cent_of_the_time() {
    for (round_takes_ns, gap_ns) in [(100_000, 20_000_000), (10_000, 2_000_000), (5_000, 1_000_000)] {
        // A round takes as long as a step, so that both the end of a round and the next round are at steps.
        let course = Course { steps: 1_000, step_ns: round_takes_ns, round_takes_ns };
        let rounds = rounds(&calls(Engine::builder(), course));
        let gaps_ns = gaps_ns(&rounds);
        assert!(gaps_ns.len() >= 4, "{} rounds of {round_takes_ns} ns", rounds.len());
        assert_eq!(gaps_ns, vec![gap_ns; gaps_ns.len()], "a round takes {round_takes_ns} ns");
    }
}

/// A round ranks each task that can run, and each of them once. A task that waits is not ranked again before
/// the next round.
#[test]
fn a_round_ranks_each_task_that_waits_once() {
    let course = Course { steps: 400, step_ns: 250_000, round_takes_ns: 0 };
    let calls = calls(Engine::builder(), course);
    let is_round = |call: &Call| matches!(call, Call::Round(..));
    let starts: Vec<usize> = (0..calls.len()).filter(|&place| is_round(&calls[place])).collect();
    let mut waited = 0;
    for pair in starts.windows(2) {
        let Call::Round(_, states) = &calls[pair[0]] else { unreachable!("a round starts here") };
        let between = &calls[pair[0] + 1..pair[1]];
        for (operator, state) in (0..).map(OperatorId).zip(states) {
            let can_run = state.is_some_and(|state| state.can_run() && !state.is_running);
            let has_run =
                between.iter().any(|call| matches!(call, Call::Ran(run) if run.operator == operator));
            let ranked =
                between.iter().filter(|call| matches!(call, Call::Ranked(of, _) if *of == operator)).count();
            if can_run && !has_run {
                waited += 1;
                assert_eq!(ranked, 1, "{operator:?} waits from one round to the next");
            }
            assert!(!can_run || ranked >= 1, "{operator:?} can run, so the round ranks it");
        }
    }
    assert!(starts.len() >= 50 && waited >= 10, "{} rounds, {waited} waits", starts.len());
}

/// The interval of the metrics is a setting. Here each run takes 100 us, and the policy sees that from the first
/// round after the interval on. Until then it sees what is assumed.
#[test]
fn the_interval_of_the_metrics_is_a_setting() {
    let shown = |builder: EngineBuilder| -> Vec<(u64, Vec<f64>)> {
        // In one step of 64 the choice is measured apart, so there are fewer steps.
        let calls = calls(builder, Course { steps: 60, step_ns: 100_000, round_takes_ns: 0 });
        let costs = |call: &Call| {
            let Call::Round(now, states) = call else { return None };
            let costs = states.iter().flatten().map(|state| state.cost_ns_per_run);
            Some((now.as_nanos() / 100_000, costs.collect::<Vec<f64>>()))
        };
        calls.iter().filter_map(costs).collect()
    };
    let assumed = OperatorState::ASSUMED_COST_NS_PER_RUN;
    let often = shown(Engine::builder().metrics_interval_ns(2_000_000));
    let times: Vec<u64> = often.iter().map(|(tenths_ms, _)| *tenths_ms).collect();
    assert_eq!(times, [1, 11, 21, 31, 41, 51]);
    for (tenths_ms, costs) in &often {
        let source_cost = if *tenths_ms < 20 { assumed } else { 100_000.0 };
        assert_eq!(costs[0], source_cost, "at {tenths_ms} tenths of a millisecond");
        assert!(costs.iter().all(|cost| [assumed, source_cost].contains(cost)), "{costs:?}");
    }
    let seldom = shown(Engine::builder());
    assert!(seldom.iter().all(|(_, costs)| costs.iter().all(|cost| *cost == assumed)), "{seldom:?}");
    let refused = Engine::builder().metrics_interval_ns(60_000_000_001).build_stepped().err();
    assert_eq!(
        refused.map(|error| error.to_string()).as_deref(),
        Some("metrics_interval_ns is 60000000001 ns, but must be from 0 to 60000000000 ns")
    );
}

/// Returns the most records that a run of the operator takes behind its edge, with this bound of bytes, and the
/// most that have waited for it.
fn longest_run(run_bytes: u64) -> (u64, u64) {
    // The source comes first, until its edge is full of 256 records.
    let edges = EdgeLimits { block_records: 64, chunk_blocks: 2, chunks_max: 2, marks_max: 512 };
    let course = Course { steps: 600, step_ns: 1_000, round_takes_ns: 0 };
    let reader = OperatorId(1);
    let (mut longest, mut waiting) = (0, 0);
    for call in calls(Engine::builder().edges(edges).run_bytes(run_bytes), course) {
        match call {
            Call::Ran(run) if run.operator == reader => longest = longest.max(run.records_in),
            Call::Ranked(operator, pending) if operator == reader => waiting = waiting.max(pending),
            Call::Ran(_) | Call::Ranked(..) | Call::Round(..) => {}
        }
    }
    (longest, waiting)
}

/// A run of a task that reads an edge takes at most so many bytes of records, although the policy allows more and
/// more wait; but one record in any case. A record here has 16 bytes: its event time and its value.
#[test]
fn a_run_behind_an_edge_takes_so_many_bytes_at_most() {
    for (run_bytes, records) in [(160, 10), (175, 10), (1, 1), (800, 50)] {
        let (longest, waiting) = longest_run(run_bytes);
        assert_eq!(longest, records, "{run_bytes} bytes");
        assert!(waiting > records, "{waiting} waited");
    }
    // By default the bound is 49,152 of these records, so that the policy's quantum decides.
    assert_eq!(longest_run(limits::RUN_BYTES.default).0, u64::from(QUANTUM_RECORDS));
}

/// Enjima, section 4: a worker is never blocked when it chooses. While another thread holds the policy, a worker
/// takes tasks by their last ranks, and runs them with their last quanta.
#[test]
fn a_worker_chooses_while_the_policy_is_held() {
    let clock = Arc::new(VirtualClock::default());
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let mut stepped = Engine::builder().workers(2).clock(engine_clock).build_stepped().unwrap();
    let query = stepped.engine.submit(graph(100..300_000, 1, &Seen::default())).unwrap();
    let runs = || query.metrics().tasks.iter().map(|task| task.steps).sum::<u64>();
    let [first, second] = &mut stepped.workers[..] else { panic!("there are two workers") };
    for _ in 0..30 {
        clock.advance_to(clock.now().plus_nanos(10_000));
        second.step(clock.as_ref());
    }
    let before = runs();
    let held = first.executor().hold_ranker();
    for step in 0..50 {
        clock.advance_to(clock.now().plus_nanos(100_000));
        assert_eq!(second.step(clock.as_ref()), Step::Busy, "step {step}");
    }
    drop(held);
    assert_eq!(runs(), before + 50, "each step has run a task");
}
