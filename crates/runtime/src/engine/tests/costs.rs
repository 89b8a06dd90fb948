//! Tests of the clock of costs: the cost that a policy sees of a task whose steps wait and compute.

use thalweg_scheduling::OperatorId;

use super::spy::Spy;
use super::*;

/// Time on the engine's clock that a record takes, in ns. The thread does nothing meanwhile.
const WAITED_NS: u64 = 20_000_000;

/// CPU time that a record takes, in ns. The engine's clock stands still meanwhile.
const COMPUTED_NS: u64 = 1_000_000;

/// Number of records that the source makes, in several steps.
const RECORDS: u64 = 8;

/// A test source whose records take [`WAITED_NS`] and [`COMPUTED_NS`] each.
struct Slowly {
    clock: Arc<VirtualClock>,
    left: u64,
}

impl Source for Slowly {
    type Item = i64;

    fn poll<O: Output<i64>>(&mut self, _: ProcessingTime, _: usize, output: &mut O) -> Result<Polled, Fault> {
        self.clock.advance_to(self.clock.now().plus_nanos(WAITED_NS));
        let began_ns = system::thread_cpu_ns();
        while system::thread_cpu_ns() - began_ns < COMPUTED_NS {
            std::hint::spin_loop();
        }
        output.push(Record::new(EventTime::from_secs(1), 1));
        self.left -= 1;
        Ok(Polled::new(if self.left == 0 { SourceStatus::Ended } else { SourceStatus::Ready }))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Returns the cost of a record of the source, in ns, as the policy sees it in the end.
fn cost_ns(cost_clock: CostClock) -> f64 {
    let clock = Arc::new(VirtualClock::default());
    let of_engine: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let costs = Arc::<Mutex<Vec<Option<f64>>>>::default();
    let spy = Spy {
        shown: Arc::clone(&costs),
        look: |snapshot| snapshot.operator(OperatorId(0)).map(|state| state.cost_ns_per_record),
    };
    let builder = Engine::builder().edges(tiny()).clock(of_engine).cost_clock(cost_clock);
    let mut stepped = builder.policy(Box::new(spy)).build_stepped().unwrap();
    let mut graph = Graph::new("slowly");
    let source = Slowly { clock: Arc::clone(&clock), left: RECORDS };
    graph.source("source", source, strategy(), Repeat::new(1), SinkPlan(Seen::default()));
    let query = stepped.engine.submit(graph).unwrap();
    assert_eq!(run(&mut stepped, &clock), ProcessingTime::NEVER);
    let report = query.wait().unwrap();
    assert_eq!(report.busy_ns, RECORDS * WAITED_NS, "busy times are by the engine's clock");
    let last = costs.lock().iter().rev().find_map(|cost| *cost);
    last.expect("a round shows the task")
}

/// Costs are by the engine's clock unless the CPU time of the thread is asked for. Time in which a step waits
/// is no CPU time, and time in which the engine's clock stands still is.
#[test]
fn the_clock_of_costs_is_a_setting() {
    assert_eq!(CostClock::default(), CostClock::Wall);
    assert_eq!(cost_ns(CostClock::Wall), WAITED_NS as f64);
    let cpu_ns = cost_ns(CostClock::Cpu);
    assert!(COMPUTED_NS as f64 <= cpu_ns && cpu_ns < WAITED_NS as f64 / 2.0, "{cpu_ns}");
}
