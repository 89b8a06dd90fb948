//! LAG(x, n, default): the value of x in the n-th row before the current row, in the order of time.
//!
//! All rows of one time have the result of the last of them, as in Flink, because the frame is a RANGE.
//!
//! Source: Flink, `LagAggFunction`; `OverAggregateITCase.testLagFunction` for rows of one time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, new_empty_array, new_null_array};
use arrow::row::RowConverter;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::aggregates::{Accumulator, BoundAggregate};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format, row_converter, rows_of};
use thalweg_sql_functions::types::SqlType;

/// Creates LAG over values of type `of`, `offset` rows back. With `has_default` it takes a second argument:
/// its value is the result for rows that have fewer rows before them.
pub fn lag(of: &SqlType, offset: u32, has_default: bool, is_nullable: bool) -> BoundAggregate {
    let value = of.clone();
    BoundAggregate {
        arguments: vec![of.clone(); 1 + usize::from(has_default)],
        result: of.clone(),
        is_nullable,
        create: Arc::new(move || Box::new(Lag::new(&value, offset))),
        create_retractable: None,
        distinct_over: 0,
    }
}

type Bytes = Box<[u8]>;

struct Lag {
    of: SqlType,
    offset: usize,
    converter: RowConverter,
    null: Bytes,
    groups: Vec<Seen>,
    held_bytes: usize,
}

/// State of LAG per key: the values of the last rows, the oldest first, and the default value (third argument
/// of LAG) of the last row.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Seen {
    last: VecDeque<Bytes>,
    default: Option<Bytes>,
}

impl Seen {
    fn held_bytes(&self) -> usize {
        self.last.iter().chain(&self.default).map(kept_bytes).sum()
    }
}

/// Returns the bytes of memory that one value takes in the state of LAG.
fn kept_bytes(bytes: &Bytes) -> usize {
    bytes.len() + size_of::<Bytes>()
}

impl Lag {
    fn new(of: &SqlType, offset: u32) -> Self {
        let converter = row_converter([of.arrow()]);
        let null = rows_of(&converter, &[new_null_array(&of.arrow(), 1)]).row(0).data().into();
        Lag { of: of.clone(), offset: offset as usize, converter, null, groups: Vec::new(), held_bytes: 0 }
    }

    fn results<'a>(&'a self, groups: impl Iterator<Item = &'a Seen>) -> Result<ArrayRef, EvaluationError> {
        let parser = self.converter.parser();
        let rows = groups.map(|seen| {
            let value = if seen.last.len() > self.offset { seen.last.front() } else { seen.default.as_ref() };
            parser.parse(value.unwrap_or(&self.null))
        });
        let columns = self.converter.convert_rows(rows).map_err(arrow_error)?;
        Ok(columns.into_iter().next().unwrap_or_else(|| new_empty_array(&self.of.arrow())))
    }
}

impl Accumulator for Lag {
    fn resize(&mut self, groups: usize) {
        self.groups.resize(groups.max(self.groups.len()), Seen::default());
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], _keep: Option<&BooleanArray>) {
        let rows = |argument: &ArrayRef| rows_of(&self.converter, std::slice::from_ref(argument));
        let (values, defaults) = (rows(&arguments[0]), arguments.get(1).map(rows));
        for (row, group) in groups.iter().enumerate() {
            let seen = &mut self.groups[*group as usize];
            let default: Option<Bytes> = defaults.as_ref().map(|defaults| defaults.row(row).data().into());
            let value: Bytes = values.row(row).data().into();
            self.held_bytes += default.iter().chain([&value]).map(kept_bytes).sum::<usize>();
            let gone_default = std::mem::replace(&mut seen.default, default);
            seen.last.push_back(value);
            let gone_value = if seen.last.len() > self.offset + 1 { seen.last.pop_front() } else { None };
            self.held_bytes -= gone_default.iter().chain(&gone_value).map(kept_bytes).sum::<usize>();
        }
    }

    fn retract(&mut self, _groups: &[u32], _arguments: &[ArrayRef], _keep: Option<&BooleanArray>) {
        panic!("`Calls` takes rows back only from accumulators that were made to retract");
    }

    fn can_retract(&self) -> bool {
        false
    }

    fn merge(&mut self, _other: &dyn Accumulator, _into: &[u32]) -> Result<(), EvaluationError> {
        Err(EvaluationError {
            code: "EVALUATION",
            message: "LAG of several streams cannot be put together".to_owned(),
        })
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.results(self.groups[range].iter())
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        self.results(groups.iter().map(|group| &self.groups[*group as usize]))
    }

    fn reset(&mut self, groups: &[u32]) {
        for group in groups {
            self.held_bytes -= self.groups[*group as usize].held_bytes();
            self.groups[*group as usize] = Seen::default();
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.held_bytes = 0;
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Seen>() + self.held_bytes
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&ROW_FORMAT)?;
        state.put(&self.groups)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        self.groups = state.take()?;
        self.held_bytes = self.groups.iter().map(Seen::held_bytes).sum();
        Ok(())
    }
}
