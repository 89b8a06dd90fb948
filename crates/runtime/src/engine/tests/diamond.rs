//! Tests of a stream that splits into two branches and rejoins, on edges of the smallest size.

use super::*;
use crate::graph::{Both, InputPlan};
use crate::ports::{Came, Ports, Visit};

/// A badly written test operator: it reads the second of its two inputs only when the first has ended.
struct InTurn<P> {
    ports: P,
    is_first_over: bool,
}

impl<P> InputPlan<i64> for InTurn<P>
where
    P: InputPlan<i64>,
{
    type Ports = InTurn<P::Ports>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.ports.visit_edges(each);
    }

    type Carrier = crate::epochs::NoCarrier;

    fn open(self) -> Self::Ports {
        InTurn { ports: self.ports.open(), is_first_over: false }
    }

    type Queued = InTurn<P::Queued>;

    fn open_queued(self) -> Self::Queued {
        InTurn { ports: self.ports.open_queued(), is_first_over: false }
    }

    type Partition = Self;

    fn partitions(self) -> Vec<Self> {
        vec![self]
    }
}

impl<P: Ports<i64>> Ports<i64> for InTurn<P> {
    fn count(&self) -> usize {
        self.ports.count()
    }

    fn next<V: Visit<i64>>(&mut self, port: usize, max: usize, visitor: &mut V) -> Came {
        if port > 0 && !self.is_first_over {
            return Came::Nothing;
        }
        let came = self.ports.next(port, max, visitor);
        self.is_first_over |= came == Came::Mark(Mark::End);
        came
    }
}

/// Makes a source whose stream splits into the branches `left` and `right`. The caller adds the task that
/// reads both branches.
fn parted(graph: &mut Graph, count: i64) -> Both<crate::InputHandle<i64>, crate::InputHandle<i64>> {
    let (output, shared) = graph.shared_edge(crate::EdgeKind::Ordered);
    graph.source("source", records(0..count), strategy(), Repeat::new(1), output);
    let mut branch = |name: &str| {
        let entry = graph.reader(&shared);
        let (output, end) = graph.edge();
        graph.operator(name, entry, Repeat::new(1), output);
        end
    };
    let left = branch("left");
    Both(left, branch("right"))
}

/// Makes a query that deadlocks: its last task ignores one branch of a split stream until the other branch
/// has ended.
pub(super) fn stuck(seen: &Seen) -> Graph {
    let mut stuck = Graph::new("stuck");
    let ports = parted(&mut stuck, 12);
    stuck.operator("in turn", InTurn { ports, is_first_over: false }, Repeat::new(1), SinkPlan(seen.clone()));
    stuck
}

/// Steps the engine until no task has anything to do, and advances the clock by a millisecond before each
/// step.
fn run_slowly(stepped: &mut Stepped, clock: &VirtualClock) {
    for _ in 0..1_000_000 {
        clock.advance_to(clock.now().plus_nanos(1_000_000));
        while stepped.growth.step() {}
        if let Step::Idle(ProcessingTime::NEVER) = stepped.workers[0].step(clock) {
            return;
        }
    }
    panic!("a million steps and no end");
}

#[test]
fn branches_that_meet_again_are_read_whoever_has_something() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let seen = Seen::default();
    let mut graph = Graph::new("diamond");
    let entry = parted(&mut graph, 13);
    graph.operator("meet", entry, Repeat::new(1), SinkPlan(seen.clone()));
    let query = stepped.engine.submit(graph).unwrap();
    run_slowly(&mut stepped, &clock);
    // The source has 13 records. Each gives a watermark, and the test operator adds a zero at each watermark.
    assert!(query.wait().unwrap().results_out >= 26);
    assert!(seen.text().ends_with("[W max] [End] finished"), "{}", seen.text());
}

/// An operator leaves one input unread until the other has ended, and so waits for records that its own
/// backpressure holds up. The query fails, and the error names the tasks that wait for each other.
#[test]
fn a_cycle_of_tasks_that_wait_for_each_other_is_named() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let (seen, neighbour) = (Seen::default(), Seen::default());
    let stuck = stepped.engine.submit(stuck(&seen)).unwrap();
    let fine = stepped.engine.submit(graph(1..12, 1, &neighbour)).unwrap();
    run_slowly(&mut stepped, &clock);
    let error = stuck.wait().unwrap_err();
    assert_eq!(error.code(), "STUCK");
    let QueryError::Stuck { operator, waits_for } = error else { panic!("{error}") };
    assert_eq!((&*operator, &*waits_for), ("in turn", "in turn -> left -> source -> right -> in turn"));
    assert!(!seen.text().contains("finished") && neighbour.text().ends_with("finished"));
    assert_eq!(fine.wait().unwrap().events_in, 11);
}
