//! How streams are cut into tasks: by names, since a task is called after its operators.

use thalweg_model::source::Given;
use thalweg_model::{EventTime, Fault, Mark, Record, Sink, Span, TumblingWindows};
use thalweg_operators::{Count, Table};
use thalweg_runtime::{Engine, PlanError};

use super::*;
use crate::query::Query;
use crate::stream::Stream;

struct Drop;

impl<T> Sink<T> for Drop {
    fn write(&mut self, _record: Record<T>) -> Result<(), Fault> {
        Ok(())
    }
    fn on_mark(&mut self, _mark: Mark) -> Result<(), Fault> {
        Ok(())
    }
}

fn numbers(query: &Query) -> Stream<i64, FromSource<Given<i64>>> {
    let records = (0..9).map(|value| Record::new(EventTime::from_secs(value), value)).collect();
    query.source("source", Given::new(records), WatermarkStrategy::ascending())
}

/// The tasks of a query under both chainings; each must also run to its end and lose nothing.
fn check(write: impl Fn(&Query), default: &str, isolated: &str) {
    for (chaining, expected) in [(Chaining::Default, default), (Chaining::None, isolated)] {
        let query = Query::new("q");
        write(&query);
        let graph = query.plan(chaining).unwrap();
        let mut names: Vec<&str> = graph.task_names().collect();
        names.sort_by_key(|name| expected.split(" | ").position(|task| task == *name));
        assert_eq!(names.join(" | "), expected, "{chaining:?}");
        let report = Engine::builder().build().unwrap().submit(graph).unwrap().wait().unwrap();
        assert_eq!((report.events_in, report.conservation_error()), (9, None));
    }
}

fn seconds(seconds: i64) -> TumblingWindows {
    TumblingWindows::new(Span::from_secs(seconds)).unwrap()
}

#[test]
fn chains_break_before_the_first_operator_with_state() {
    let rows = || Table::new((0..9).map(|key| (key, key))).unwrap();
    check(
        |query| {
            numbers(query)
                .filter(|value| *value > 2)
                .map(|value| value * 2)
                .join_table(rows(), |value| *value, |value, row: &i64| value + row)
                .key_by(|value| *value)
                .tumbling(seconds(2))
                .aggregate(Count)
                .sink("sink", Drop);
        },
        "source-filter-map | join-window-sink",
        "source | filter | map | join | window | sink",
    );
    check(
        |query| {
            numbers(query).key_by(|value| *value).tumbling(seconds(2)).aggregate(Count).sink("sink", Drop);
        },
        "source | window-sink",
        "source | window | sink",
    );
    check(|query| numbers(query).sink("sink", Drop), "source-sink", "source | sink");
}

#[test]
fn names_can_be_given_and_are_never_there_twice() {
    check(
        |query| {
            numbers(query).map(|v| v).map(|v| v).name("twice").map(|v| v).name("twice").sink("sink", Drop);
        },
        "source-map-twice-twice-2-sink",
        "source | map | twice | twice-2 | sink",
    );
    check(
        |query| {
            numbers(query).filter(|_| true).name("map-2").map(|v| v).map(|v| v).sink("sink", Drop);
        },
        "source-map-2-map-map-3-sink",
        "source | map-2 | map | map-3 | sink",
    );
}

/// A boxed stream ends at an edge and goes on from there; functions can take and return it.
#[test]
fn boxes_forget_what_a_stream_is_made_of() {
    fn twice(stream: Stream<i64>) -> Stream<i64> {
        stream.map(|value| value * 2).boxed()
    }
    check(
        |query| {
            twice(twice(numbers(query).boxed())).sink("sink", Drop);
        },
        "source | map | map-2 | sink",
        "source | map | map-2 | sink",
    );
    check(
        |query| {
            twice(numbers(query).boxed()).sink("sink", Drop);
        },
        "source | map | sink",
        "source | map | sink",
    );
}

#[test]
fn a_stream_without_a_sink_is_refused() {
    let query = Query::new("q");
    let _stream = numbers(&query).map(|value| value);
    let error = query.plan(Chaining::Default).err().expect("refused");
    assert_eq!(error, PlanError::Unread { operator: "source".to_owned() });
}
