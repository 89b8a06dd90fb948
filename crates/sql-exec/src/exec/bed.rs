//! Test harness for operators with state per key: input rows of four columns, an operator that is driven by
//! rows and watermarks, and its output as text.

use std::sync::Arc;

use arrow::array::{Array, Int32Array, StringArray, TimestampMillisecondArray};
use arrow::util::display::array_value_to_string;
use chrono_tz::Tz;
use thalweg_model::{EventTime, ProcessingTime, StateReader, StateWriter, VirtualClock};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::functions::{Argument, Context};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, Batch, batch_of};

use super::Now;
use super::calc::schema_of;
use super::operator::BatchOperator;
use crate::plan::{Aggregate, AggregateCall, Column, Role};

/// An input row of the operator tests: its number, a key, a value, and an event time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct In {
    pub(super) id: i32,
    pub(super) k: Option<&'static str>,
    pub(super) v: Option<i32>,
    pub(super) ts: i64,
}

pub(super) const ID: usize = 0;
pub(super) const K: usize = 1;
pub(super) const V: usize = 2;
pub(super) const TS: usize = 3;

/// Returns the columns of the test rows [`In`]: number, key, value and time.
pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::plain("id", SqlType::Int, false),
        Column::plain("k", SqlType::STRING, true),
        Column::plain("v", SqlType::Int, true),
        Column { name: "ts".into(), of: SqlType::Timestamp(3), is_nullable: false, role: Role::Rowtime },
    ]
}

/// Creates a batch of test rows; all are inserts if `kinds` is `None`.
pub(super) fn batch(rows: &[In], kinds: Option<&[RowKind]>) -> Batch {
    let ids: Int32Array = rows.iter().map(|row| Some(row.id)).collect();
    let keys: StringArray = rows.iter().map(|row| row.k).collect();
    let values: Int32Array = rows.iter().map(|row| row.v).collect();
    let times: TimestampMillisecondArray = rows.iter().map(|row| Some(row.ts)).collect();
    let columns: Vec<Arc<dyn Array>> = vec![Arc::new(ids), Arc::new(keys), Arc::new(values), Arc::new(times)];
    let mut batch = Batch::new(batch_of(&schema_of(&self::columns()), columns, rows.len()).unwrap());
    batch.kinds = kinds.map(Into::into);
    batch
}

/// Creates a call of an aggregate function whose arguments are the columns of the test rows with the given
/// indexes.
pub(super) fn call(name: &str, arguments: &[usize], is_distinct: bool) -> AggregateCall {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    let given: Vec<Argument> = arguments
        .iter()
        .map(|place| Argument { of: columns()[*place].of.clone(), is_nullable: true, literal: None })
        .collect();
    let aggregate = aggregate(name).unwrap();
    let bound = (aggregate.bind)(&given, &context).unwrap();
    let function = if is_distinct { bound.distinct(7) } else { bound };
    let aggregate = Aggregate::Function(aggregate);
    AggregateCall { aggregate, is_distinct, arguments: arguments.to_vec(), filter: None, function }
}

/// Returns the columns of the test rows [`In`] with the indexes `kept`, followed by the result columns of
/// aggregate calls.
pub(super) fn with_results(kept: &[usize], calls: &[AggregateCall]) -> Vec<Column> {
    let kept = kept.iter().map(|place| columns()[*place].clone());
    let results = calls.iter().map(|call| Column::plain(call.name(), call.function.result.clone(), true));
    kept.chain(results).collect()
}

/// An operator under test, with a virtual clock and the last watermark that it was given.
pub(super) struct Bed {
    pub(super) operator: Box<dyn BatchOperator>,
    clock: Arc<VirtualClock>,
    watermark: EventTime,
}

impl Bed {
    pub(super) fn new(make: impl Fn(Now) -> Box<dyn BatchOperator>) -> Self {
        let clock = Arc::new(VirtualClock::default());
        Bed { operator: make(Now::new(clock.clone())), clock, watermark: EventTime::MIN }
    }

    /// Replaces the operator under test by a new one, which is loaded from the saved state of the old one.
    pub(super) fn reload(&mut self, make: impl Fn(Now) -> Box<dyn BatchOperator>) {
        let mut state = StateWriter::default();
        self.operator.save(&mut state).unwrap();
        let bytes = state.into_bytes();
        let mut operator = make(Now::new(self.clock.clone()));
        let mut reader = StateReader::new(&bytes);
        operator.load(&mut reader).unwrap();
        reader.finish().unwrap();
        self.operator = operator;
    }

    pub(super) fn set_clock(&self, now_ms: u64) {
        self.clock.advance_to(ProcessingTime::from_nanos(now_ms * 1_000_000));
    }

    /// Gives rows to the operator under test and returns its output as text.
    pub(super) fn take(&mut self, rows: &[In], kinds: Option<&[RowKind]>) -> Vec<String> {
        self.operator.take(batch(rows, kinds), self.watermark).unwrap();
        self.drain()
    }

    /// Gives a watermark, in milliseconds since the start of 1970, to the operator under test and returns its
    /// output as text.
    pub(super) fn advance(&mut self, watermark_ms: i64) -> Vec<String> {
        self.watermark = if watermark_ms == i64::MAX {
            EventTime::MAX
        } else {
            EventTime::from_micros(watermark_ms.saturating_mul(1_000))
        };
        self.operator.advance(self.watermark).unwrap();
        self.drain()
    }

    fn drain(&mut self) -> Vec<String> {
        let mut shown = Vec::new();
        while let Some(batch) = self.operator.next().unwrap() {
            assert!((1..=BATCH_ROWS_MAX).contains(&batch.len()), "a batch of {} rows", batch.len());
            shown.extend((0..batch.len()).map(|row| show(&batch, row)));
        }
        assert!(self.operator.counts().is_conserved(), "{:?}", self.operator.counts());
        shown
    }
}

/// Formats the changes of an output batch as text.
pub(super) fn shown(batch: &Batch) -> Vec<String> {
    (0..batch.len()).map(|row| show(batch, row)).collect()
}

/// Formats an output change of an operator under test as text: `+I 1 a 7 0`, with times in milliseconds.
fn show(batch: &Batch, row: usize) -> String {
    let mut shown = batch.kind(row).to_string();
    for column in batch.rows.columns() {
        shown.push(' ');
        shown += &match column.data_type() {
            _ if column.is_null(row) => "NULL".to_owned(),
            arrow::datatypes::DataType::Timestamp(..) => {
                let millis: &TimestampMillisecondArray = column.as_any().downcast_ref().unwrap();
                millis.value(row).to_string()
            }
            _ => array_value_to_string(column, row).unwrap(),
        };
    }
    shown
}

/// Formats a value of a test row as text; `None` becomes NULL.
pub(super) fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}
