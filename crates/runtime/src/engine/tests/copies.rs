//! Tests of the number of copies that a policy sees of each task: behind an exchange by key, of a shared operator, and
//! of tasks that are no copies.

use thalweg_model::{Addressed, Sharing};

use super::spy::Spy;
use super::*;
use crate::graph::{EdgeKind, InputPlan, OutputPlan, Several};

/// A test operator that addresses each value by a hash of the value.
#[derive(Default)]
struct ByValue {
    read: u64,
}

impl Operator<i64> for ByValue {
    type Out = Addressed<i64>;

    fn process<I: Input<i64>, O: Output<Addressed<i64>>>(&mut self, input: &mut I, output: &mut O) {
        while output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.process_one(record, output);
            self.read += 1;
        }
    }

    fn process_one<O: Output<Addressed<i64>>>(&mut self, record: Record<i64>, output: &mut O) {
        let Record { event_time, value } = record;
        let key_hash = value.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        output.push(Record::new(event_time, Addressed { key_hash, value }));
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("by value", Counts { read: self.read, forwarded: self.read, ..Counts::default() });
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// A test operator that several workers may share. It forwards each value; if it merges, it drops each value.
#[derive(Default)]
struct Shared<const MERGES: bool> {
    read: u64,
}

impl<const MERGES: bool> Operator<i64> for Shared<MERGES> {
    type Out = i64;
    const SHARING: Sharing = if MERGES { Sharing::Merging } else { Sharing::Stateless };

    fn fork(&self) -> Self {
        Shared::default()
    }

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.process_one(record, output);
            self.read += 1;
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        if !MERGES {
            output.push(record);
        }
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("shared", Counts { read: self.read, forwarded: self.read, ..Counts::default() });
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Returns the number of copies that the policy sees of each task of a query, in the order of the plan. The copies of
/// a shared operator come before the task that closes their epochs.
fn copies(graph: Graph) -> Vec<u32> {
    let clock = Arc::new(VirtualClock::default());
    let of_engine: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let shown = Arc::<Mutex<Vec<Vec<u32>>>>::default();
    let spy = Spy {
        shown: Arc::clone(&shown),
        look: |snapshot| snapshot.operators.iter().flatten().map(|state| state.copies).collect(),
    };
    let builder = Engine::builder().workers(2).clock(of_engine).policy(Box::new(spy));
    let mut stepped = builder.build_stepped().unwrap();
    let _query = stepped.engine.submit(graph).unwrap();
    // A round comes every millisecond.
    for _ in 0..4 {
        clock.advance_to(clock.now().plus_nanos(1_000_000));
        while stepped.growth.step() {}
        stepped.workers[0].step(clock.as_ref());
    }
    let shown = shown.lock();
    shown.iter().find(|copies| !copies.is_empty()).cloned().expect("a round shows the tasks")
}

#[test]
fn chains_and_branches_are_no_copies() {
    assert_eq!(copies(graph(0..40, 1, &Seen::default())), [1, 1, 1]);
    let mut branches = Graph::new("branches");
    let (output, shared) = branches.shared_edge(EdgeKind::Ordered);
    branches.source("source", records(0..40), strategy(), Repeat::new(1), output);
    for name in ["left", "right"] {
        let input = branches.reader(&shared);
        branches.operator(name, input, Repeat::new(1), SinkPlan(Seen::default()));
    }
    assert_eq!(copies(branches), [1, 1, 1]);
}

/// Two sources send each record to one of three copies, by key. Each copy feeds one task alone, which therefore takes
/// every record of its input, although the plan calls it a copy.
#[test]
fn readers_of_an_exchange_are_copies() {
    let mut graph = Graph::new("exchange");
    let (output, inputs) = graph.exchange::<i64>(3);
    for name in ["first", "second"] {
        let output = output.again(&mut graph).expect("partitions take any number of writers");
        graph.source(name, records(0..40), strategy(), ByValue::default(), output);
    }
    let (output, between) = graph.edge_of::<i64>(EdgeKind::Partitions);
    for (input, number) in inputs.into_iter().zip(0..) {
        let output = output.again(&mut graph).expect("partitions take any number of writers");
        graph.operator(format!("keyed#{number}"), Several(input.partitions()), Repeat::new(1), output);
        graph.note_copy(number, false);
    }
    for (partition, number) in between.partitions().into_iter().zip(0..) {
        graph.operator(format!("next#{number}"), partition, Repeat::new(1), SinkPlan(Seen::default()));
        graph.note_copy(number, false);
    }
    assert_eq!(copies(graph), [1, 1, 3, 3, 3, 1, 1, 1]);
}

/// Two workers share an operator without state and an operator whose state is merged. The task that closes the epochs
/// of the second operator stands behind its copies and is none of them.
#[test]
fn workers_that_share_an_operator_run_copies() {
    let mut graph = Graph::new("shared");
    let (first_output, first) = graph.edge_of::<i64>(EdgeKind::Containers);
    let (second_output, second) = graph.edge_of::<i64>(EdgeKind::Containers);
    graph.source("source", records(0..40), strategy(), Repeat::new(1), first_output);
    graph.shared("forward", first, Shared::<false>::default(), second_output, 2);
    graph.shared("merge", second, Shared::<true>::default(), SinkPlan(Seen::default()), 2);
    assert_eq!(copies(graph), [1, 2, 2, 2, 2, 1]);
}
