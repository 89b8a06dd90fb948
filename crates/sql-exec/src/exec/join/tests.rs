//! Test harness of joins: input rows as data, watermarks of both inputs, and the output as pairs of rows.
//!
//! Each kind of join has an oracle in its test file, which compares all rows in nested loops. Every test runs
//! with batches of any length, and with the state saved and loaded at any point.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, TimestampMillisecondArray};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use proptest::prelude::*;
use thalweg_model::{EventTime, StateReader, StateWriter, VirtualClock};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::{Call, Expression, State, Typed};
use thalweg_sql_functions::functions::compare::{ComparisonOp, bind_comparison};
use thalweg_sql_functions::functions::{Argument, Context};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::{JoinOperator, Side, operator};
use crate::exec::calc::schema_of;
use crate::plan::{Column, Join, JoinKey, JoinKind, JoinMethod, TimeDomain};

mod interval;
mod lookup;
mod regular;
mod stage;
mod temporal;
mod window;

/// Length in milliseconds of the windows of the test rows.
const WINDOW: i64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Row {
    id: i64,
    key: Option<i32>,
    value: Option<i32>,
    time: i64,
}

impl Row {
    fn window(&self) -> (i64, i64) {
        let start = self.time.div_euclid(WINDOW) * WINDOW;
        (start, start + WINDOW)
    }
}

/// Output pair of a join in a test: a row of either input, or `None` for padding with NULL.
type Pair = (Option<Row>, Option<Row>);

/// Join condition of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    /// The join condition is that the keys are equal.
    Key,
    /// The join condition is that the keys are equal and the value of the left row is less.
    KeyAndLess,
    /// The join condition is that the keys are equal, where NULL equals NULL.
    KeyOrNull,
    /// The join condition is that the keys are not known to differ, as for NOT IN.
    NotFalse,
    /// There is no join condition: any two rows match.
    Anything,
}

impl On {
    fn holds(self, left: &Row, right: &Row) -> bool {
        let is_equal = left.key.is_some() && left.key == right.key;
        match self {
            On::Key => is_equal,
            On::KeyAndLess => {
                is_equal && left.value.is_some() && right.value.is_some() && left.value < right.value
            }
            On::KeyOrNull => left.key == right.key,
            On::NotFalse => is_equal || left.key.is_none() || right.key.is_none(),
            On::Anything => true,
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Row(Side, RowKind, Row),
    /// A watermark of one input of the join; the greatest so far counts.
    Watermark(Side, i64),
}

const KEY: usize = 1;
const VALUE: usize = 2;
const TIME: usize = 3;
const START: usize = 4;
const END: usize = 5;
const WIDTH: usize = 6;

fn columns() -> Vec<Column> {
    let time = || SqlType::Timestamp(3);
    let types = [SqlType::BigInt, SqlType::Int, SqlType::Int, time(), time(), time()];
    let names = ["id", "k", "v", "ts", "window_start", "window_end"];
    names.into_iter().zip(types).map(|(name, of)| Column::plain(name, of, true)).collect()
}

fn rows_of(rows: &[Row]) -> RecordBatch {
    let times = |time: fn(&Row) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(time(row))).collect::<TimestampMillisecondArray>())
    };
    let columns_: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.id)).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.key).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| row.value).collect::<Int32Array>()),
        times(|row| row.time),
        times(|row| row.window().0),
        times(|row| row.window().1),
    ];
    batch_of(&schema_of(&columns()), columns_, rows.len()).unwrap()
}

fn row_at(rows: &RecordBatch, first: usize, row: usize) -> Option<Row> {
    let ids = rows.column(first).as_primitive::<Int64Type>();
    let small = |column: usize| {
        let values = rows.column(first + column).as_primitive::<Int32Type>();
        values.is_valid(row).then(|| values.value(row))
    };
    let times = rows.column(first + TIME).as_primitive::<TimestampMillisecondType>();
    if ids.is_null(row) {
        assert!(
            times.is_null(row) && small(KEY).is_none() && small(VALUE).is_none(),
            "NULL is NULL all along"
        );
        return None;
    }
    let found = Row { id: ids.value(row), key: small(KEY), value: small(VALUE), time: times.value(row) };
    let starts = rows.column(first + START).as_primitive::<TimestampMillisecondType>();
    assert_eq!(starts.value(row), found.window().0, "columns of a row stay together");
    Some(found)
}

fn context() -> Context {
    Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) }
}

fn joined(kind: JoinKind, on: On, method: JoinMethod, context: &Context) -> Box<dyn JoinOperator> {
    let key = || Typed::column(KEY, SqlType::Int, true);
    let compared = |op: ComparisonOp, place: usize| {
        let sides = [place, WIDTH + place].map(|place| Typed::column(place, SqlType::Int, true));
        let argument = || Argument { of: SqlType::Int, is_nullable: true, literal: None };
        let bound = bind_comparison(op, &argument(), &argument(), context).unwrap();
        let expression = Expression::Call {
            call: Call::Compare(op),
            kernel: bound.kernel,
            arguments: sides.into(),
            is_total: true,
            is_deterministic: true,
        };
        Typed { expression, of: SqlType::Boolean, is_nullable: true }
    };
    let keys = match on {
        On::Key | On::KeyAndLess | On::KeyOrNull => {
            vec![JoinKey { left: key(), right: key(), is_null_equal: on == On::KeyOrNull }]
        }
        On::NotFalse | On::Anything => Vec::new(),
    };
    let condition = match on {
        On::KeyAndLess => Some(compared(ComparisonOp::Lt, VALUE)),
        On::NotFalse => {
            let expression = Expression::Is(Box::new(compared(ComparisonOp::Eq, KEY)), State::NotFalse);
            Some(Typed { expression, of: SqlType::Boolean, is_nullable: false })
        }
        _ => None,
    };
    joined_of(1, &Join { kind, method, keys, condition }, context)
}

/// Creates a join for a test; its right input has `right_sources` sources.
fn joined_of(right_sources: usize, join: &Join, context: &Context) -> Box<dyn JoinOperator> {
    let mut output = columns();
    if !join.kind.is_half() {
        output.extend(columns());
    }
    operator(join, &columns(), &columns(), &output, right_sources, context).unwrap()
}

/// Settings of a test run: the greatest batch size, and the number of calls between saving and restoring the
/// state.
#[derive(Clone, Copy, Debug)]
struct Manner {
    batch_rows: usize,
    restore_every: usize,
}

fn manner() -> impl Strategy<Value = Manner> {
    (1..6usize, prop_oneof![Just(usize::MAX), 1..8usize])
        .prop_map(|(batch_rows, restore_every)| Manner { batch_rows, restore_every })
}

/// Runs a script of input events through a join to its end and returns the output. `after` is called with the
/// output of each call, and with the lesser watermark of both inputs before it.
fn run(
    make: &dyn Fn() -> Box<dyn JoinOperator>,
    script: &[Event],
    manner: Manner,
    after: &mut dyn FnMut(&[(RowKind, Pair)], i64),
) -> Vec<(RowKind, Pair)> {
    let mut operator = make();
    let mut own = [i64::MIN; 2];
    let mut all = Vec::new();
    let mut calls = 0;
    let mut passed = i64::MIN;
    let end = Side::BOTH.map(|side| Event::Watermark(side, i64::MAX));
    let script: Vec<Event> = script.iter().cloned().chain(end).collect();
    let mut at = 0;
    while at < script.len() {
        match &script[at] {
            Event::Row(side, _, _) => {
                let mut rows = Vec::new();
                let mut kinds = Vec::new();
                while let Some(Event::Row(of, kind, row)) = script.get(at)
                    && of == side
                    && rows.len() < manner.batch_rows
                {
                    rows.push(*row);
                    kinds.push(*kind);
                    at += 1;
                }
                let is_plain = kinds.iter().all(|kind| *kind == RowKind::Insert);
                let batch = Batch { kinds: (!is_plain).then(|| kinds.into()), ..Batch::new(rows_of(&rows)) };
                operator.take(*side, batch, event_time(own[side.index()])).unwrap();
            }
            Event::Watermark(side, time) => {
                at += 1;
                if *time == i64::MAX {
                    let last = Batch { watermark: Some(EventTime::MAX), ..Batch::new(rows_of(&[])) };
                    operator.take(*side, last, event_time(own[side.index()])).unwrap();
                }
                let before = own[0].min(own[1]);
                own[side.index()] = own[side.index()].max(*time);
                let both = own[0].min(own[1]);
                if both == before {
                    continue;
                }
                operator.advance(event_time(both)).unwrap();
            }
        }
        let out = drained(&mut *operator);
        after(&out, passed);
        passed = own[0].min(own[1]);
        all.extend(out);
        calls += 1;
        if calls % manner.restore_every == 0 {
            let mut state = StateWriter::default();
            operator.save(&mut state).unwrap();
            let bytes = state.into_bytes();
            let mut state = StateReader::new(&bytes);
            operator = make();
            operator.load(&mut state).unwrap();
            state.finish().unwrap();
        }
    }
    if manner.restore_every == usize::MAX {
        assert!(operator.accounts().counts.is_conserved(), "{:?}", operator.accounts().counts);
    }
    all
}

fn event_time(millis: i64) -> EventTime {
    match millis {
        i64::MIN => EventTime::MIN,
        i64::MAX => EventTime::MAX,
        millis => EventTime::from_micros(millis * 1_000),
    }
}

/// Returns all output of the last call of a join.
fn drained(operator: &mut dyn JoinOperator) -> Vec<(RowKind, Pair)> {
    let mut out = Vec::new();
    while let Some(batch) = operator.next().unwrap() {
        assert!(!batch.is_empty() && batch.len() <= BATCH_ROWS_MAX, "{} rows in a batch", batch.len());
        for row in 0..batch.len() {
            let right = if batch.rows.num_columns() > WIDTH { row_at(&batch.rows, WIDTH, row) } else { None };
            out.push((batch.kind(row), (row_at(&batch.rows, 0, row), right)));
        }
    }
    out
}

fn pairs(out: &[(RowKind, Pair)]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = out.iter().map(|(_, pair)| *pair).collect();
    pairs.sort();
    pairs
}

/// Oracle of the join tests: compares each left row with each right row.
fn nested_loops(
    kind: JoinKind,
    left: &[Row],
    right: &[Row],
    meets: &dyn Fn(&Row, &Row) -> bool,
) -> Vec<Pair> {
    let mut out = Vec::new();
    for l in left {
        let met: Vec<&Row> = right.iter().filter(|r| meets(l, r)).collect();
        match kind {
            JoinKind::Semi if !met.is_empty() => out.push((Some(*l), None)),
            JoinKind::Anti if met.is_empty() => out.push((Some(*l), None)),
            JoinKind::Semi | JoinKind::Anti => {}
            _ => {
                out.extend(met.iter().map(|r| (Some(*l), Some(**r))));
                if met.is_empty() && matches!(kind, JoinKind::Left | JoinKind::Full) {
                    out.push((Some(*l), None));
                }
            }
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = right.iter().filter(|r| !left.iter().any(|l| meets(l, r)));
        out.extend(alone.map(|r| (None, Some(*r))));
    }
    out.sort();
    out
}

fn kinds() -> impl Strategy<Value = JoinKind> {
    use JoinKind::{Anti, Full, Inner, Left, Right, Semi};
    prop_oneof![Just(Inner), Just(Left), Just(Right), Just(Full), Just(Semi), Just(Anti)]
}

fn ons() -> impl Strategy<Value = On> {
    prop_oneof![
        Just(On::Key),
        Just(On::KeyAndLess),
        Just(On::KeyOrNull),
        Just(On::NotFalse),
        Just(On::Anything)
    ]
}

fn sides() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Left), Just(Side::Right)]
}

/// Generates rows of both inputs, many with equal times and keys and some without a key, and watermarks that
/// make some rows late.
fn scripts() -> impl Strategy<Value = Vec<Event>> {
    let row =
        (sides(), proptest::option::weighted(0.85, 0..3), proptest::option::weighted(0.9, 0..4), 0..60i64);
    let event = prop_oneof![
        5 => row.prop_map(|(side, key, value, time)| Event::Row(side, RowKind::Insert, Row { id: 0, key, value, time })),
        1 => (sides(), 0..60i64).prop_map(|(side, time)| Event::Watermark(side, time)),
    ];
    proptest::collection::vec(event, 0..50).prop_map(|mut script| {
        for (at, event) in script.iter_mut().enumerate() {
            if let Event::Row(_, _, row) = event {
                row.id = at as i64;
            }
        }
        script
    })
}

/// Returns the rows of a script, each with the watermark of its input and the lesser watermark of both when
/// it came.
fn arrivals(script: &[Event]) -> Vec<(Side, RowKind, Row, i64, i64)> {
    let mut own = [i64::MIN; 2];
    let mut found = Vec::new();
    for event in script {
        match event {
            Event::Row(side, kind, row) => {
                found.push((*side, *kind, *row, own[side.index()], own[0].min(own[1])));
            }
            Event::Watermark(side, time) => own[side.index()] = own[side.index()].max(*time),
        }
    }
    found
}

/// Applies output changes of a join to the set of present pairs; a retracted pair must be present.
fn apply(there: &mut BTreeMap<Pair, i64>, changes: &[(RowKind, Pair)]) {
    for (kind, pair) in changes {
        let count = there.entry(*pair).or_default();
        *count += if kind.adds() { 1 } else { -1 };
        assert!(*count >= 0, "{pair:?} was taken back and was not there");
        if *count == 0 {
            there.remove(pair);
        }
    }
}

fn expanded(there: &BTreeMap<Pair, i64>) -> Vec<Pair> {
    there.iter().flat_map(|(pair, count)| std::iter::repeat_n(*pair, *count as usize)).collect()
}
