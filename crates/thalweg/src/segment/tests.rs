//! Tests of how streams are cut into tasks: tasks are checked by name, since a task is called after its
//! operators, and results must be the same for every cut.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use thalweg_model::source::Given;
use thalweg_model::{
    CountWindows, Counts, Either, EventTime, Fault, Flow, Input, Mark, Output, Record, SessionGap, Sink,
    Span, StateError, StateReader, StateWriter, TumblingWindows,
};
use thalweg_operators::{Count, KeyedProcess, ProcessContext, Table};
use thalweg_runtime::{EdgeLimits, Engine, OperatorCounts};

use super::*;
use crate::query::Query;
use crate::stream::Stream;

const EVERY_CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];

/// A sink that collects the values of its records as text.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl<T: std::fmt::Debug> Sink<T> for Seen {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        self.0.lock().unwrap().push(format!("{:?}@{}", record.value, record.event_time.as_micros()));
        Ok(())
    }
}

/// Begins a stream of forty numbers, one a second. Every fourth is stamped five seconds earlier, so that it
/// is late for its window.
fn numbers(query: &Query) -> Stream<i64, FromSource<Given<i64>>> {
    let at = |number: i64| EventTime::from_secs(if number % 4 == 3 { number - 5 } else { number });
    let records = (0..40).map(|number| Record::new(at(number), number)).collect();
    query.source("source", Given::new(records), WatermarkStrategy::ascending())
}

/// Checks the names of the tasks of a query under each chaining. Results and counts of operators must be the
/// same under all of them, also with the smallest edges.
fn check(write: impl Fn(&Query, Seen), none: &str, default: &str, all: &str) {
    let tiny = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };
    let mut first: Option<(Vec<String>, Vec<(String, Counts)>)> = None;
    for (chaining, expected) in EVERY_CHAINING.into_iter().zip([none, default, all]) {
        for edges in [EdgeLimits::default(), tiny] {
            let (query, seen) = (Query::new("q"), Seen::default());
            write(&query, seen.clone());
            let graph = query.plan(chaining).unwrap();
            let mut names: Vec<&str> = graph.task_names().collect();
            names.sort_by_key(|name| expected.split(" | ").position(|task| task == *name));
            assert_eq!(names.join(" | "), expected, "{chaining:?}");

            let engine = Engine::builder().edges(edges).workers(2).build().unwrap();
            let report = engine.submit(graph).unwrap().wait().unwrap();
            assert_eq!((report.events_in, report.conservation_error()), (40, None), "{chaining:?}");
            let count =
                |OperatorCounts { operator, counts, .. }: &OperatorCounts| (operator.clone(), *counts);
            let mut counts: Vec<_> = report.operators.iter().map(count).collect();
            counts.sort_by(|(left, _), (right, _)| left.cmp(right));
            let mut results = seen.0.lock().unwrap().clone();
            results.sort();
            let found = (results, counts);
            let first = first.get_or_insert_with(|| found.clone());
            assert_eq!(&found, first, "{chaining:?} gives other results than {:?}", Chaining::None);
        }
    }
}

fn seconds(seconds: i64) -> TumblingWindows {
    TumblingWindows::new(Span::from_secs(seconds)).unwrap()
}

fn rows() -> Table<i64, i64> {
    Table::new((0..40).filter(|key| key % 7 != 0).map(|key| (key * 2, key))).unwrap()
}

#[test]
fn chains_break_before_the_first_operator_with_state() {
    check(
        |query, seen| {
            numbers(query)
                .filter(|value| *value > 2)
                .map(|value| value * 2)
                .join_table(rows(), |value| *value, |value, row| value + row)
                .key_by(|value| *value % 2)
                .tumbling(seconds(2))
                .aggregate(Count)
                .sink("sink", seen);
        },
        "source | filter | map | join | window | sink",
        "source-filter-map | join-window-sink",
        "source-filter-map-join-window-sink",
    );
    check(
        |query, seen| {
            numbers(query).key_by(|value| *value).tumbling(seconds(2)).aggregate(Count).sink("sink", seen);
        },
        "source | window | sink",
        "source | window-sink",
        "source-window-sink",
    );
    check(|query, seen| numbers(query).sink("sink", seen), "source | sink", "source-sink", "source-sink");
}

/// Operators behind a window are chained like any others, also a further window.
#[test]
fn a_chain_goes_on_behind_a_window() {
    check(
        |query, seen| {
            numbers(query)
                .map(|value| value + 1)
                .key_by(|value| *value % 4)
                .tumbling(seconds(2))
                .aggregate(Count)
                .filter(|count| count.key > 0)
                .key_by(|count| count.value)
                .tumbling(seconds(10))
                .aggregate(Count)
                .map(|count| count.value)
                .sink("sink", seen);
        },
        "source | map | window | filter | window-2 | map-2 | sink",
        "source-map | window-filter | window-2-map-2-sink",
        "source-map-window-filter-window-2-map-2-sink",
    );
    check(
        |query, seen| {
            numbers(query)
                .key_by(|value| *value % 4)
                .tumbling(seconds(2))
                .aggregate(Count)
                .key_by(|count| count.value)
                .tumbling(seconds(10))
                .aggregate(Count)
                .sink("sink", seen);
        },
        "source | window | window-2 | sink",
        "source | window-window-2-sink",
        "source-window-window-2-sink",
    );
}

#[test]
fn an_isolated_operator_is_a_task_of_its_own() {
    check(
        |query, seen| {
            numbers(query)
                .filter(|value| *value > 2)
                .map(|value| value * 2)
                .isolate()
                .join_table(rows(), |value| *value, |value, row| value + row)
                .map(|value| value - 1)
                .sink("sink", seen);
        },
        "source | filter | map | join | map-2 | sink",
        "source-filter | map | join-map-2-sink",
        "source-filter | map | join-map-2-sink",
    );
    check(
        |query, seen| {
            numbers(query)
                .isolate()
                .map(|value| value * 2)
                .join_table(rows(), |value| *value, |value, row| value + row)
                .isolate()
                .isolate()
                .key_by(|value| *value % 2)
                .tumbling(seconds(2))
                .aggregate(Count)
                .sink("sink", seen);
        },
        "source | map | join | window | sink",
        "source | map | join | window-sink",
        "source | map | join | window-sink",
    );
    check(
        |query, seen| {
            let counts = numbers(query).map(|v| v).key_by(|value| *value % 2).tumbling(seconds(2));
            counts.aggregate(Count).isolate().name("counts").sink("sink", seen);
        },
        "source | map | counts | sink",
        "source-map | counts | sink",
        "source-map | counts | sink",
    );
    check(
        |query, seen| numbers(query).isolate().sink("sink", seen),
        "source | sink",
        "source | sink",
        "source | sink",
    );
}

#[test]
fn names_can_be_given_everywhere_and_others_make_way() {
    check(
        |query, seen| {
            numbers(query)
                .name("numbers")
                .filter(|value| *value > 2)
                .map(|value| value * 2)
                .name("filter-2")
                .filter(|_| true)
                .join_table(rows(), |value| *value, |value, row| value + row)
                .name("rows")
                .key_by(|value| *value % 2)
                .tumbling(seconds(2))
                .aggregate(Count)
                .name("counts")
                .map(|count| count.value)
                .boxed()
                .name("values")
                .filter(|_| true)
                .name("filter")
                .name("last")
                .sink("sink", seen);
        },
        "numbers | filter | filter-2 | filter-3 | rows | counts | values | last | sink",
        "numbers-filter-filter-2-filter-3 | rows-counts-values | last-sink",
        "numbers-filter-filter-2-filter-3-rows-counts-values | last-sink",
    );
}

/// Tasks that would have the same name get numbers. A task's name consists of its operators' names, so equal
/// names are not an error of the user.
#[test]
fn tasks_that_would_be_called_the_same_are_numbered() {
    check(
        |query, seen| {
            let records = |count| (0..count).map(|value| Record::new(EventTime::EPOCH, value)).collect();
            let source =
                |name, count| query.source(name, Given::new(records(count)), WatermarkStrategy::ascending());
            source("a", 10).map(|value| value).name("b").sink("c", seen.clone());
            source("a-b", 30).sink("b-c", seen.clone());
            source("a-b-c", 0).isolate().sink("d", seen);
        },
        "a | b | c | a-b | b-c | a-b-c | d",
        "a-b-c | a-b-b-c | a-b-c-2 | d",
        "a-b-c | a-b-b-c | a-b-c-2 | d",
    );
}

/// A source with a single split has the same tasks and names as a source without splits, however the query
/// continues. Several splits have numbered names.
#[test]
fn a_split_alone_is_a_source() {
    /// Returns the names of the tasks of a query over a source with this number of splits.
    fn tasks(write: &dyn Fn(&Query, Vec<Given<i64>>, Seen), splits: usize, layout: Layout) -> Vec<String> {
        let query = Query::new("q");
        let split = |first: i64| {
            let record = |n: i64| Record::new(EventTime::from_secs(n), first + n);
            Given::new((0..20).map(record).collect())
        };
        write(&query, (0..splits as i64).map(split).collect(), Seen::default());
        let graph = query.plan(layout).unwrap();
        let names = graph.task_names().map(str::to_owned).collect();
        let report = Engine::builder().build().unwrap().submit(graph).unwrap().wait().unwrap();
        assert_eq!((report.events_in, report.conservation_error()), (20 * splits as u64, None));
        names
    }
    macro_rules! goes_on {
        ($begin:ident: $($rest:tt)*) => {
            let ascending = WatermarkStrategy::ascending;
            let as_splits = |query: &Query, splits: Vec<Given<i64>>, seen: Seen| {
                let $begin = query.splits("source", splits, ascending());
                let _ = $begin$($rest)*.sink("sink", seen);
            };
            let as_source = |query: &Query, mut splits: Vec<Given<i64>>, seen: Seen| {
                let $begin = query.source("source", splits.pop().unwrap(), ascending());
                let _ = $begin$($rest)*.sink("sink", seen);
            };
            for chaining in EVERY_CHAINING {
                for parallel in [Parallel::Serial, Parallel::Epochs { workers: 2 }] {
                    let layout = Layout { chaining, parallel };
                    let (found, expected) = (tasks(&as_splits, 1, layout), tasks(&as_source, 1, layout));
                    assert_eq!(found, expected, "{layout:?}");
                    let several = tasks(&as_splits, 2, layout);
                    let begins = |name: &str| several.iter().any(|task| task.starts_with(name));
                    assert!(begins("source-1") && begins("source-2"), "{several:?}");
                }
            }
        };
    }
    goes_on!(numbers: );
    goes_on!(numbers: .isolate());
    goes_on!(numbers: .boxed());
    goes_on!(numbers: .name("numbers"));
    goes_on!(numbers: .filter(|value| *value > 2).map(|value| value * 2));
    goes_on!(numbers: .map(|value| value).isolate().map(|value| value));
    goes_on!(numbers: .join_table(rows(), |value| *value, |value, row| value + row));
    goes_on!(numbers: .key_by(|value| *value % 2).tumbling(seconds(2)).aggregate(Count));
    goes_on!(numbers: .filter(|_| true).key_by(|value| *value % 2).tumbling(seconds(2)).aggregate(Count));
    goes_on!(numbers: .process(Twice::default()).map(|value| value));
    goes_on!(numbers: .share().branch().map(|value| value));
}

/// Checks the names of the tasks of a query over two splits under each chaining, with operators that several
/// workers share.
fn check_spread(
    write: impl Fn(Stream<i64, FromSplits<Given<i64>>>, Seen),
    none: &str,
    default: &str,
    all: &str,
) {
    let tiny = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };
    let mut first: Option<(Vec<String>, u64)> = None;
    for (chaining, expected) in EVERY_CHAINING.into_iter().zip([none, default, all]) {
        for parallel in [Parallel::Serial, Parallel::Epochs { workers: 2 }] {
            for edges in [EdgeLimits::default(), tiny] {
                let (query, seen) = (Query::new("q"), Seen::default());
                let split = |first: i64| {
                    let record = |n: i64| Record::new(EventTime::from_secs(n), first + n);
                    Given::new((0..20).map(record).collect())
                };
                write(query.splits("s", [split(0), split(20)], WatermarkStrategy::ascending()), seen.clone());
                let graph = query.plan(Layout { chaining, parallel }).unwrap();
                if parallel != Parallel::Serial {
                    let mut names: Vec<&str> = graph.task_names().collect();
                    names.sort_by_key(|name| expected.split(" | ").position(|task| task == *name));
                    assert_eq!(names.join(" | "), expected, "{chaining:?}");
                }
                let engine = Engine::builder().edges(edges).workers(2).build().unwrap();
                let report = engine.submit(graph).unwrap().wait().unwrap();
                assert_eq!((report.events_in, report.conservation_error()), (40, None), "{chaining:?}");
                let mut results = seen.0.lock().unwrap().clone();
                results.sort();
                let found = (results, report.total(|counts| counts.read));
                assert_eq!(&found, first.get_or_insert_with(|| found.clone()), "{chaining:?} {parallel:?}");
            }
        }
    }
}

/// Stateless operators run in a task per split, up to the first operator that needs all splits.
#[test]
fn splits_have_partitions_up_to_what_is_serial() {
    check_spread(
        |numbers, seen| numbers.sink("sink", seen),
        "s-1 | s-2 | sink",
        "s-1 | s-2 | sink",
        "s-1 | s-2 | sink",
    );
    check_spread(
        |numbers, seen| numbers.filter(|value| *value > 2).map(|value| value * 2).sink("sink", seen),
        "s-1 | s-2 | filter#1 | filter#2 | map#1 | map#2 | sink",
        "s-1-filter-map | s-2-filter-map | sink",
        "s-1-filter-map | s-2-filter-map | sink",
    );
    check_spread(
        |numbers, seen| {
            let doubled = numbers.filter(|value| *value > 2).map(|value| value * 2).isolate();
            doubled.join_table(rows(), |value| *value, |value, row| value + row).sink("sink", seen);
        },
        "s-1 | s-2 | filter#1 | filter#2 | map#1 | map#2 | join#1 | join#2 | sink",
        "s-1-filter | s-2-filter | map#1 | map#2 | join#1 | join#2 | sink",
        "s-1-filter | s-2-filter | map#1 | map#2 | join#1 | join#2 | sink",
    );
    check_spread(
        |numbers, seen| {
            let doubled = numbers.map(|value| value * 2).in_order_by(|value| *value);
            doubled.map(|value| value + 1).sink("sink", seen);
        },
        "s-1 | s-2 | map#1 | map#2 | sort | map-2 | sink",
        "s-1-map | s-2-map | sort-map-2-sink",
        "s-1-map | s-2-map | sort-map-2-sink",
    );
}

/// Process function that adds up the values of each key, and emits the sum by a timer.
struct Sums;

impl KeyedProcess<i64, i64> for Sums {
    type State = i64;
    type Out = (i64, i64);

    fn on_record(&self, _: &i64, value: Record<i64>, context: &mut ProcessContext<'_, i64, i64, (i64, i64)>) {
        *context.state() += value.value;
        context.set_timer(EventTime::from_secs(100));
    }

    fn on_timer(&self, key: &i64, _: EventTime, context: &mut ProcessContext<'_, i64, i64, (i64, i64)>) {
        let sum = *context.state();
        context.emit((*key, sum));
    }
}

/// A keyed operator has an instance for each worker, and the tasks of all splits write to each instance.
#[test]
fn what_works_per_key_has_copies() {
    let gap = || SessionGap::new(Span::from_secs(3)).unwrap();
    check_spread(
        |numbers, seen| numbers.key_by(|value| *value % 7).session(gap()).aggregate(Count).sink("sink", seen),
        "s-1 | s-2 | key_by#1 | key_by#2 | sessions#1 | sessions#2 | sink",
        "s-1-key_by | s-2-key_by | sessions#1 | sessions#2 | sink",
        "s-1-key_by | s-2-key_by | sessions#1 | sessions#2 | sink",
    );
    check_spread(
        |numbers, seen| {
            let sums = numbers.map(|value| value + 1).key_by(|value| *value % 7).process(Sums);
            sums.map(|(key, sum)| key + sum).filter(|sum| sum % 2 == 0).sink("sink", seen);
        },
        "s-1 | s-2 | map#1 | map#2 | key_by#1 | key_by#2 | process#1 | process#2 | map-2#1 | map-2#2 | filter#1 | filter#2 | sink",
        "s-1-map-key_by | s-2-map-key_by | process-map-2-filter#1 | process-map-2-filter#2 | sink",
        "s-1-map-key_by | s-2-map-key_by | process-map-2-filter#1 | process-map-2-filter#2 | sink",
    );
    // A second exchange, by another key, follows a keyed operator that has several instances.
    check_spread(
        |numbers, seen| {
            let distinct = numbers.isolate().key_by(|value| *value % 7).distinct(seconds(4));
            let tens = CountWindows::of_size(NonZeroU64::MIN);
            distinct.key_by(|seen| seen.key % 2).count_windows(tens, Count).sink("sink", seen);
        },
        "s-1 | s-2 | key_by#1 | key_by#2 | distinct#1 | distinct#2 | key_by-2#1 | key_by-2#2 | count_windows#1 | count_windows#2 | sink",
        "s-1 | s-2 | key_by#1 | key_by#2 | distinct-key_by#1 | distinct-key_by#2 | count_windows#1 | count_windows#2 | sink",
        "s-1 | s-2 | key_by#1 | key_by#2 | distinct-key_by#1 | distinct-key_by#2 | count_windows#1 | count_windows#2 | sink",
    );
    // A serial or merging operator behind a keyed one reads the output of all its instances.
    check_spread(
        |numbers, seen| {
            let sessions = numbers.key_by(|value| *value % 7).session(gap()).aggregate(Count);
            sessions.in_order_by(|session| session.key).sink("sink", seen);
        },
        "s-1 | s-2 | key_by#1 | key_by#2 | sessions#1 | sessions#2 | sort | sink",
        "s-1-key_by | s-2-key_by | sessions#1 | sessions#2 | sort-sink",
        "s-1-key_by | s-2-key_by | sessions#1 | sessions#2 | sort-sink",
    );
    check_spread(
        |numbers, seen| {
            let distinct = numbers.key_by(|value| *value % 7).distinct(seconds(4));
            distinct.key_by(|_| ()).tumbling(seconds(4)).aggregate(Count).sink("sink", seen);
        },
        "s-1 | s-2 | key_by#1 | key_by#2 | distinct#1 | distinct#2 | window | sink",
        "s-1-key_by | s-2-key_by | distinct#1 | distinct#2 | window-sink",
        "s-1-key_by | s-2-key_by | distinct#1 | distinct#2 | window-sink",
    );
}

/// Both sides of a join are exchanged by key, and so are all streams of a union in front of a keyed operator.
#[test]
fn what_meets_per_key_has_copies() {
    check_spread(
        |numbers, seen| {
            let numbers = numbers.share();
            let odd = numbers.branch().filter(|value| *value % 2 == 1);
            let pair = numbers.branch().key_by(|value| *value % 7).join(odd.key_by(|value| *value % 7));
            pair.tumbling(seconds(4)).inner(|left, right| (*left, *right)).sink("sink", seen);
        },
        "s-1 | s-2 | key_by#1 | key_by#2 | filter#1 | filter#2 | key_by-2#1 | key_by-2#2 | join#1 | join#2 | sink",
        "s-1 | s-2 | key_by#1 | key_by#2 | filter-key_by#1 | filter-key_by#2 | join#1 | join#2 | sink",
        "s-1 | s-2 | key_by#1 | key_by#2 | filter-key_by#1 | filter-key_by#2 | join#1 | join#2 | sink",
    );
    check_spread(
        |numbers, seen| {
            let choose =
                |value| if value % 3 == 0 { Either::Left(value) } else { Either::Right(value as u64) };
            let (left, right) = numbers.split(choose);
            let united = left.union(right.map(|value| value as i64));
            united.key_by(|value| *value % 7).distinct(seconds(4)).sink("sink", seen);
        },
        "s-1 | s-2 | split#1 | split#2 | part#1 | part#2 | key_by#1 | key_by#2 | map#1 | map#2 | key_by-2#1 | key_by-2#2 | distinct#1 | distinct#2 | sink",
        "s-1-split | s-2-split | key_by#1 | key_by#2 | map-key_by#1 | map-key_by#2 | distinct#1 | distinct#2 | sink",
        "s-1-split | s-2-split | key_by#1 | key_by#2 | map-key_by#1 | map-key_by#2 | distinct#1 | distinct#2 | sink",
    );
}

/// Streams that are split, shared or united behind a source with several splits are partitioned as well.
#[test]
fn partitions_part_and_meet() {
    check_spread(
        |numbers, seen| {
            let numbers = numbers.map(|value| value * 2).share();
            numbers.branch().map(|value| value + 1).sink("sink", seen.clone());
            numbers.branch().filter(|value| *value > 2).in_order_by(|value| *value).sink("sink-2", seen);
        },
        "s-1 | s-2 | map#1 | map#2 | map-2#1 | map-2#2 | filter#1 | filter#2 | sort | sink | sink-2",
        "s-1-map | s-2-map | map-2#1 | map-2#2 | sink | filter#1 | filter#2 | sort-sink-2",
        "s-1-map | s-2-map | map-2#1 | map-2#2 | sink | filter#1 | filter#2 | sort-sink-2",
    );
    check_spread(
        |numbers, seen| {
            let choose =
                |value| if value % 3 == 0 { Either::Left(value) } else { Either::Right(value as u64) };
            let (left, right) = numbers.split(choose);
            left.union(right.map(|value| value as i64)).filter(|_| true).sink("sink", seen);
        },
        "s-1 | s-2 | split#1 | split#2 | part#1 | part#2 | map#1 | map#2 | filter | sink",
        "s-1-split | s-2-split | map#1 | map#2 | filter-sink",
        "s-1-split | s-2-split | map#1 | map#2 | filter-sink",
    );
}

/// A boxed stream ends at an edge and continues from there; functions can take and return such streams.
#[test]
fn boxes_forget_what_a_stream_is_made_of() {
    fn twice(stream: Stream<i64>) -> Stream<i64> {
        stream.map(|value| value * 2).boxed()
    }
    check(
        |query, seen| twice(twice(numbers(query).boxed())).sink("sink", seen),
        "source | map | map-2 | sink",
        "source | map | map-2 | sink",
        "source | map | map-2 | sink",
    );
    check(
        |query, seen| {
            let stream = numbers(query).filter(|_| true).map(|value| value).boxed().boxed();
            stream.join_table(rows(), |value| *value, |value, _| value).sink("sink", seen);
        },
        "source | filter | map | join | sink",
        "source-filter-map | join-sink",
        "source-filter-map | join-sink",
    );
    check(
        |query, seen| {
            let stream = numbers(query).filter(|_| true).map(|value| value).isolate().boxed();
            stream.sink("sink", seen);
        },
        "source | filter | map | sink",
        "source-filter | map | sink",
        "source-filter | map | sink",
    );
    check(
        |query, seen| {
            let stream = numbers(query).filter(|_| true).map(|value| value).boxed().isolate().boxed();
            stream.sink("sink", seen);
        },
        "source | filter | map | sink",
        "source-filter | map | sink",
        "source-filter | map | sink",
    );
    check(
        |query, seen| {
            let rows = |stream: Stream<i64>| stream.join_table(rows(), |value| *value, |value, _| value);
            let joined = rows(numbers(query).boxed().boxed().isolate()).map(|value| value);
            joined.boxed().boxed().isolate().sink("sink", seen);
        },
        "source | join | map | sink",
        "source | join | map | sink",
        "source | join | map | sink",
    );
}

/// Operator that emits each value twice, and at a watermark the number of values since the last one.
#[derive(Default)]
struct Twice {
    left: Vec<Record<i64>>,
    counts: Counts,
    since_mark: i64,
}

impl Twice {
    fn emit<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        while output.room() > 0
            && let Some(record) = self.left.pop()
        {
            output.push(record);
        }
        if self.left.is_empty() { Flow::Done } else { Flow::More }
    }
}

impl Operator<i64> for Twice {
    type Out = i64;
    const EXPANDS: bool = true;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while !Operator::<i64>::is_stalled(self)
            && output.room() > 0
            && let Some(record) = input.take()
        {
            self.process_one(record, output);
            self.counts.read += 1;
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        self.left.extend([record, record]);
        self.since_mark += 1;
        self.counts.forwarded += 1;
        let _stalled_or_done = self.emit(output);
    }

    fn note_read(&mut self, count: u64) {
        self.counts.read += count;
    }

    fn on_mark<O: Output<i64>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        if let Mark::Watermark(watermark) = mark {
            self.left.push(Record::new(watermark, std::mem::take(&mut self.since_mark)));
        }
        self.emit(output)
    }

    fn is_stalled(&self) -> bool {
        !self.left.is_empty()
    }

    fn resume<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("", self.counts);
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

/// Operators that emit several records per record may be anywhere in a chain, one behind the other, and
/// behind windows.
#[test]
fn operators_that_expand_chain_like_others() {
    check(
        |query, seen| {
            numbers(query)
                .filter(|value| *value % 5 > 0)
                .process(Twice::default())
                .process(Twice::default())
                .name("again")
                .map(|value| value + 1)
                .process(Twice::default())
                .key_by(|value| *value % 3)
                .tumbling(seconds(2))
                .aggregate(Count)
                .map(|count| count.value.cast_signed())
                .process(Twice::default())
                .sink("sink", seen);
        },
        "source | filter | process | again | map | process-2 | window | map-2 | process-3 | sink",
        "source-filter | process-again-map | process-2-window-map-2 | process-3-sink",
        "source-filter-process-again-map-process-2-window-map-2-process-3-sink",
    );
}
