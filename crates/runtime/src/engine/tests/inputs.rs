//! The order in which a task reads its inputs, which the policy sets, on an engine that is stepped by hand.

use thalweg_scheduling::{Fields, InputOrder, OperatorId, Rank, Scale, Snapshot};

use super::*;
use crate::graph::Both;

/// A policy that runs the third task after the two others.
struct ThirdLast(InputOrder);

impl Policy for ThirdLast {
    fn name(&self) -> &'static str {
        "third_last"
    }

    fn reads(&self) -> Fields {
        Fields::default()
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn input_order(&self) -> InputOrder {
        self.0
    }

    fn rank(&self, _: &Snapshot, operator: OperatorId) -> Option<Rank> {
        Some(Rank { class: u8::from(operator.0 == 2), score: 0.0, tie: operator.0 })
    }
}

/// Returns the values of two sources in the order in which a task reads them. The first source emits 1,000 to 1,039,
/// and then the second emits 20 to 58. Values are event times, too, so the first source is ahead. The task runs when both
/// have ended.
fn read_in(order: InputOrder) -> Vec<i64> {
    let clock = Arc::new(VirtualClock::default());
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let builder = Engine::builder().clock(engine_clock).policy(Box::new(ThirdLast(order)));
    let mut stepped = builder.build_stepped().unwrap();
    let seen = Seen::default();
    let mut graph = Graph::new("two inputs");
    let (ahead, first) = graph.edge();
    let (behind, second) = graph.edge();
    graph.source("ahead", records(1_000..1_040), strategy(), Repeat::new(1), ahead);
    graph.source("behind", records(20..59), strategy(), Repeat::new(1), behind);
    graph.operator("meet", Both(first, second), Repeat::new(1), SinkPlan(seen.clone()));
    let query = stepped.engine.submit(graph).unwrap();
    for _ in 0..1_000 {
        clock.advance_to(clock.now().plus_nanos(1_000));
        while stepped.growth.step() {}
        if let Step::Idle(ProcessingTime::NEVER) = stepped.workers[0].step(&*clock) {
            break;
        }
    }
    query.wait().unwrap();
    let text = seen.text();
    // The test operators add a zero at each watermark.
    text.split_whitespace().filter_map(|word| word.parse().ok()).filter(|value| *value != 0).collect()
}

/// By arrival, everything that came first is read first. By progress, the input that is ahead waits as soon as its
/// first watermark has been read, until the other one has ended.
#[test]
fn inputs_are_read_as_the_policy_wants() {
    let by_arrival: Vec<i64> = (1_000..1_040).chain(20..59).collect();
    assert_eq!(read_in(InputOrder::Arrival), by_arrival);
    let by_progress = read_in(InputOrder::Progress);
    let began = by_progress.iter().position(|value| *value == 20).unwrap();
    assert!(began < 20, "{by_progress:?}");
    assert_eq!(by_progress[began..began + 39], by_arrival[40..], "{by_progress:?}");
    assert_eq!(by_progress.len(), by_arrival.len());
}
