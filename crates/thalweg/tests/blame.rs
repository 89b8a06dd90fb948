//! A panic is blamed on the operator whose code caused it, by its name in the query, whichever operators share its
//! task.

use std::panic;
use std::sync::Once;

use thalweg::source::Given;
use thalweg::{
    Chaining, Count, Counts, Engine, EventTime, Fault, Input, Operator, Output, Query, QueryError, Record,
    Sink, Span, StateError, StateReader, StateWriter, Stream, TumblingWindows, WatermarkStrategy,
};
use thalweg_connectors::Discard;

/// Operator that forwards values, and panics at one of them.
struct Refuses(i64);

impl Operator<i64> for Refuses {
    type Out = i64;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        assert!(record.value != self.0, "injected: {} is refused", self.0);
        output.push(record);
    }

    fn note_read(&mut self, _count: u64) {}

    fn visit_counts(&self, _each: &mut dyn FnMut(&str, Counts)) {}

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

/// A sink that panics, for which an operator before it must not be blamed.
struct Breaks;

impl Sink<i64> for Breaks {
    fn write(&mut self, _record: Record<i64>) -> Result<(), Fault> {
        panic!("injected: the sink breaks")
    }
}

/// Checks which operator a panic is blamed on, under each chaining. Panics that a test causes on purpose are
/// not printed.
fn check(write: impl Fn(Stream<i64>), blamed: [&str; 3], message: &str) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.starts_with("injected: ")) {
                before(info);
            }
        }));
    });
    for (chaining, blamed) in [Chaining::None, Chaining::Default, Chaining::All].into_iter().zip(blamed) {
        let query = Query::new("q");
        let records = (0..10).map(|value| Record::new(EventTime::from_secs(value), value));
        write(query.source("numbers", Given::new(records.collect()), WatermarkStrategy::ascending()).boxed());
        let engine = Engine::builder().build().unwrap();
        let error = engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap_err();
        let QueryError::Panicked { operator, message: told } = &error else { panic!("{error}") };
        assert_eq!((operator.as_str(), told.as_str()), (blamed, message), "{chaining:?}");
    }
}

#[test]
fn operators_of_users_are_blamed_by_the_name_that_the_query_gives_them() {
    check(
        |numbers| numbers.process(Refuses(3)).sink("sink", Discard::new()),
        ["process"; 3],
        "injected: 3 is refused",
    );
    let in_the_middle = |numbers: Stream<i64>| {
        let picked = numbers.filter(|value| *value > 1).process(Refuses(-1)).name("first");
        let last = picked.map(|value| value + 1).process(Refuses(5)).name("last").filter(|_| true);
        last.process(Refuses(-2)).sink("sink", Discard::new());
    };
    check(in_the_middle, ["last"; 3], "injected: 5 is refused");
}

#[test]
fn operators_of_users_are_not_blamed_for_their_neighbours() {
    let behind = |numbers: Stream<i64>| {
        let broken = numbers.process(Refuses(-1)).map(|value| {
            assert!(value < 3, "injected: too large");
            value
        });
        broken.name("broken").sink("sink", Discard::new());
    };
    check(behind, ["broken"; 3], "injected: too large");
    let behind_a_window = |numbers: Stream<i64>| {
        let windows = TumblingWindows::new(Span::from_secs(2)).unwrap();
        let counts = numbers.process(Refuses(-1)).key_by(|value| *value).tumbling(windows).aggregate(Count);
        counts.map(|_count| panic!("injected: no result")).name("broken").sink("sink", Breaks);
    };
    check(behind_a_window, ["broken"; 3], "injected: no result");
    check(
        |numbers| numbers.process(Refuses(-1)).sink("sink", Breaks),
        ["sink", "process-sink", "process-sink"],
        "injected: the sink breaks",
    );
}
