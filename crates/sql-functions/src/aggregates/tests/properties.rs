//! Tests that run every aggregate over random groups, batches, filters, merged parts and retracted rows, and
//! compare its results with the oracle.

use proptest::prelude::*;

use super::oracle::{Value, canonical, column, expected, remaining, remaining_distinct};
use super::*;

const GROUPS: usize = 4;

/// A test row that is added to an aggregate or retracted from it.
#[derive(Clone, Copy, Debug)]
struct Event {
    comes: bool,
    group: usize,
    value: Value,
    /// Value of the FILTER condition for the row.
    keep: Option<bool>,
}

/// An aggregate under test and the type of its argument.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    of: SqlType,
    is_distinct: bool,
}

impl Call {
    fn bound(&self) -> BoundAggregate {
        let mut arguments = vec![column_of(&self.of)];
        if self.name == "PERCENTILE" {
            let literal = Some(ScalarValue::Float64(Some(0.3)));
            arguments.push(Argument { of: SqlType::Double, is_nullable: false, literal });
        }
        let bound = bind(self.name, &arguments).unwrap();
        if self.is_distinct { bound.distinct(3) } else { bound }
    }

    fn is_ordered(&self) -> bool {
        aggregate(self.name).unwrap().is_ordered
    }

    /// Returns the results of an aggregate, or the code of their error, as the oracle writes them.
    fn shown(&self, results: Result<ArrayRef, EvaluationError>) -> Vec<String> {
        match results {
            Ok(results) => shown(&results),
            Err(error) => vec![error.code.to_owned()],
        }
    }

    /// Compares results of an aggregate with the expected ones. Results with intermediate rounding are
    /// compared to nine digits.
    fn check(&self, results: &[String], expected: &[String], what: &str) {
        let number = |text: &String| text.parse::<f64>().unwrap_or(f64::NAN);
        let is_rounded = matches!(self.name, "VAR_POP" | "VAR_SAMP" | "PERCENTILE");
        let is_near = |(result, expected): (&String, &String)| {
            result == expected || is_rounded && (number(result) - number(expected)).abs() <= 1e-9
        };
        let all_are = results.len() == expected.len() && results.iter().zip(expected).all(is_near);
        assert!(all_are, "{self:?} {what}: {results:?} where {expected:?} is expected");
    }
}

/// Returns every aggregate with every argument type that it treats differently.
fn calls() -> Vec<Call> {
    use SqlType::*;
    let numbers = [TinyInt, SmallInt, Int, BigInt, Float, Double, Decimal { precision: 20, scale: 1 }];
    let scalars = [Boolean, SqlType::STRING, Date, Time(3), Timestamp(3), Timestamp(6), TimestampLtz(9)];
    let scalars: Vec<SqlType> = numbers.iter().chain(&scalars).cloned().collect();
    let any: Vec<SqlType> = scalars.iter().cloned().chain([Array(Box::new(Int))]).collect();
    let with = |names: &[&'static str], types: &[SqlType]| {
        let pairs = names.iter().flat_map(|&name| types.iter().map(move |of| (name, of.clone())));
        let both = pairs.flat_map(|(name, of)| {
            [false, true].map(|is_distinct| Call { name, of: of.clone(), is_distinct })
        });
        both.collect::<Vec<_>>()
    };
    let mut calls = with(&["SUM", "AVG", "$SUM0"], &numbers);
    calls.extend(with(&["MIN", "MAX"], &scalars));
    calls.extend(with(&["COUNT", "FIRST_VALUE", "LAST_VALUE", "ARRAY_AGG", "COLLECT", "SINGLE_VALUE"], &any));
    calls.extend(with(&["VAR_POP", "VAR_SAMP", "PERCENTILE"], &[Double]));
    calls.extend(with(&["LISTAGG"], &[SqlType::STRING]));
    calls.extend(with(&["JSON_ARRAYAGG"], &[Int, Boolean]));
    calls.push(Call { name: "APPROX_COUNT_DISTINCT", of: SqlType::STRING, is_distinct: true });
    calls
}

fn event() -> impl Strategy<Value = Event> {
    let keep = prop_oneof![6 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    (0..GROUPS, prop::option::weighted(0.85, -5i64..=5), keep).prop_map(|(group, value, keep)| Event {
        comes: true,
        group,
        value,
        keep,
    })
}

/// Generates rows in several parts; in each part some added rows are retracted later.
fn parts(of: SqlType, takes_back: bool, parts: usize) -> impl Strategy<Value = Vec<Vec<Event>>> {
    let back = if takes_back { 0.4 } else { 0.0 };
    let step = (event(), prop::bool::weighted(back), any::<prop::sample::Index>());
    let part = prop::collection::vec(step, 0..40).prop_map(move |steps| {
        let mut events: Vec<Event> = Vec::new();
        let mut there: Vec<Event> = Vec::new();
        for (mut event, goes, which) in steps {
            event.value = event.value.map(|value| canonical(&of, value));
            if goes && !there.is_empty() {
                let gone = there.remove(which.index(there.len()));
                events.push(Event { comes: false, ..gone });
            } else {
                events.push(event);
                if event.keep == Some(true) {
                    there.push(event);
                }
            }
        }
        events
    });
    prop::collection::vec(part, 1..=parts)
}

/// Adds and retracts rows in batches of a bounded size; the accumulator has other group numbers than the
/// events.
fn run(
    accumulator: &mut dyn Accumulator,
    call: &Call,
    events: &[Event],
    batch: usize,
    group: impl Fn(usize) -> u32,
) {
    accumulator.resize(GROUPS);
    for run in events.chunk_by(|left, right| left.comes == right.comes) {
        for rows in run.chunks(batch) {
            let groups: Vec<u32> = rows.iter().map(|event| group(event.group)).collect();
            let values: Vec<Value> = rows.iter().map(|event| event.value).collect();
            let arguments = [column(&call.of, &values)];
            let keep = rows.iter().any(|event| event.keep != Some(true));
            let keep = keep.then(|| mask(&rows.iter().map(|event| event.keep).collect::<Vec<_>>()));
            if run[0].comes {
                accumulator.update(&groups, &arguments, keep.as_ref());
            } else {
                accumulator.retract(&groups, &arguments, keep.as_ref());
            }
        }
    }
}

/// Applies rows one after the other, in batches of a bounded size, and compares the result after each row with that of an
/// accumulator that is given one row at a time.
fn check_running(call: &Call, create: &Create, events: &[Event], batch: usize) {
    let (mut running, mut by_one) = (create(), create());
    running.resize(GROUPS);
    by_one.resize(GROUPS);
    for rows in events.chunks(batch) {
        let mut expected = Vec::new();
        for event in rows {
            run(&mut *by_one, call, &[*event], 1, |group| group as u32);
            expected.extend(call.shown(by_one.results(event.group..event.group + 1)));
        }
        let groups: Vec<u32> = rows.iter().map(|event| event.group as u32).collect();
        let is_added: Vec<bool> = rows.iter().map(|event| event.comes).collect();
        let arguments = [column(&call.of, &rows.iter().map(|event| event.value).collect::<Vec<_>>())];
        let keep = rows.iter().any(|event| event.keep != Some(true));
        let keep = keep.then(|| mask(&rows.iter().map(|event| event.keep).collect::<Vec<_>>()));
        let found = running.running(&Sequence::new(&groups, &is_added, &[]), &arguments, keep.as_ref());
        if expected.contains(&"NOT_ONE_ROW".to_owned()) {
            assert_eq!(found.map_err(|error| error.code).err(), Some("NOT_ONE_ROW"));
            return;
        }
        call.check(&call.shown(found), &expected, "row by row");
    }
    check_results(call, &*running, &oracle(call, &[events.to_vec()]), "after all rows");
}

/// Returns the results that the oracle expects for all rows.
fn oracle(call: &Call, parts: &[Vec<Event>]) -> Vec<String> {
    let groups: Vec<Vec<Value>> = (0..GROUPS)
        .map(|group| {
            let of_group = |event: &&Event| event.group == group && event.keep == Some(true);
            let events: Vec<_> =
                parts.iter().flatten().filter(of_group).map(|event| (event.comes, event.value)).collect();
            if call.is_distinct { remaining_distinct(&events) } else { remaining(&events) }
        })
        .collect();
    expected(call.name, &call.of, &groups)
}

/// Compares an accumulator's results with the expected ones, read group by group and all at once.
fn check_results(call: &Call, accumulator: &dyn Accumulator, expected: &[String], what: &str) {
    let by_one: Vec<String> =
        (0..GROUPS).flat_map(|group| call.shown(accumulator.results(group..group + 1))).collect();
    call.check(&by_one, expected, what);
    if !expected.contains(&"NOT_ONE_ROW".to_owned()) {
        call.check(&call.shown(accumulator.results(0..GROUPS)), expected, what);
    }
}

fn check(call: &Call, create: &Create, parts: &[Vec<Event>], batch: usize) {
    let expected = oracle(call, parts);
    let all: Vec<Event> = parts.concat();
    let mut whole = create();
    run(&mut *whole, call, &all, batch, |group| group as u32);
    check_results(call, &*whole, &expected, "as a whole");
    check_results(call, &*reloaded(create, &*whole), &expected, "reloaded");
    check_running(call, create, &all, batch);

    // Parts of aggregates that depend on the order are merged only without retraction and without DISTINCT. A
    // part knows only its own oldest row, and distinct values are merged in another order.
    let takes_back = all.iter().any(|event| !event.comes);
    if !call.is_ordered() || !(takes_back || call.is_distinct) {
        let mut merged = create();
        merged.resize(GROUPS);
        let back: Vec<u32> = (0..GROUPS as u32).rev().collect();
        for part in parts {
            let mut accumulator = create();
            run(&mut *accumulator, call, part, batch, |group| back[group]);
            merged.merge(&*accumulator, &back).unwrap();
            merged = reloaded(create, &*merged);
        }
        check_results(call, &*merged, &expected, "merged");
    }

    // Reading the results of several groups in any order, and resetting groups so that others use their
    // numbers, gives right results.
    if !expected.contains(&"NOT_ONE_ROW".to_owned()) {
        let some: Vec<u32> = (0..GROUPS as u32).rev().chain([0, 0, 1]).collect();
        let of_some: Vec<String> = some.iter().map(|group| expected[*group as usize].clone()).collect();
        call.check(&call.shown(whole.results_of(&some)), &of_some, "of several groups");
    }
    whole.reset(&[0, 2]);
    let again: Vec<Event> =
        all.iter().filter(|event| event.group % 2 == 0 && event.group < 3).copied().collect();
    run(&mut *whole, call, &again, batch, |group| group as u32);
    check_results(call, &*whole, &expected, "after reset");

    whole.clear();
    run(&mut *whole, call, &all, batch, |group| group as u32);
    check_results(call, &*whole, &expected, "after clear");
}

#[test]
fn functions_are_those_of_the_oracle() {
    for call in calls() {
        let bound = call.bound();
        let config = ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(parts in parts(call.of.clone(), false, 3), batch in 1usize..50)| {
            check(&call, &bound.create, &parts, batch);
            if let Some(create) = &bound.create_retractable {
                check(&call, create, &parts, batch);
            }
        });
        let Some(create) = &bound.create_retractable else { continue };
        proptest!(config, |(parts in parts(call.of.clone(), true, 3), batch in 1usize..50)| {
            check(&call, create, &parts, batch);
        });
    }
}

/// A row may be retracted in one part and added in another: in whatever order the parts are merged, the row
/// leaves no trace. (Variances remember only the count of such rows.)
#[test]
fn what_is_owed_is_remembered() {
    let calls =
        calls().into_iter().filter(|call| !call.name.starts_with("VAR") && call.name != "SINGLE_VALUE");
    for call in calls {
        let Some(create) = call.bound().create_retractable else { continue };
        let config = ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(events in prop::collection::vec((event(), 0usize..3, 0usize..3, any::<bool>()), 0..30))| {
            let mut parts = vec![Vec::new(); 3];
            let mut there = Vec::new();
            for (mut event, comes_in, goes_in, goes) in events {
                event.value = event.value.map(|value| canonical(&call.of, value));
                parts[comes_in].push(event);
                if goes && event.keep == Some(true) {
                    parts[goes_in].push(Event { comes: false, ..event });
                } else {
                    there.push(event);
                }
            }
            // The first part retracts before it adds, so that it retracts rows that it has not seen.
            parts[0].sort_by_key(|event| event.comes);
            let back: Vec<u32> = (0..GROUPS as u32).collect();
            let mut merged = create();
            merged.resize(GROUPS);
            for part in &parts {
                let mut accumulator = create();
                run(&mut *accumulator, &call, part, 7, |group| group as u32);
                merged.merge(&*accumulator, &back).unwrap();
            }
            if !call.is_ordered() {
                check_results(&call, &*merged, &oracle(&call, &[there]), "merged");
            }
        });
    }
}

/// Aggregates do not grow without bound if values are added and retracted again and again.
#[test]
fn what_is_gone_is_forgotten() {
    for (name, is_distinct) in
        [("COUNT", true), ("MIN", false), ("COLLECT", false), ("FIRST_VALUE", false), ("ARRAY_AGG", true)]
    {
        let call = Call { name, of: SqlType::STRING, is_distinct };
        let mut accumulator = call.bound().create_retractable.unwrap()();
        accumulator.resize(1);
        for round in 0..40 {
            let texts: Vec<String> = (0..500).map(|place| format!("value {round} {place}")).collect();
            let column: ArrayRef = Arc::new(arrow::array::StringArray::from(texts));
            accumulator.update(&[0; 500], std::slice::from_ref(&column), None);
            if round % 2 == 0 {
                accumulator.retract(&[0; 500], &[column], None);
            } else {
                let sequence = Sequence::new(&[0; 500], &[false; 500], &[]);
                accumulator.running(&sequence, &[column], None).unwrap();
            }
        }
        let bytes = accumulator.bytes();
        assert!(bytes < 200_000, "{name} holds {bytes} bytes of nothing");
        let kept: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["b", "a", "b"]));
        accumulator.update(&[0; 3], &[kept], None);
        let expected = match name {
            "COUNT" => "2",
            "MIN" => "a",
            "COLLECT" => "{a: 1, b: 2}",
            "FIRST_VALUE" => "b",
            _ => "[b, a]",
        };
        assert_eq!(shown(&accumulator.results(0..1).unwrap()), [expected], "{name}");
    }
}
