//! Tests of projection: results that are too long for one batch come out in several, and a row whose result
//! does not fit is an error.

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type};
use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, GrantSource};
use thalweg_sql_functions::expression::{Call, Expression};
use thalweg_sql_functions::functions::{each, function};
use thalweg_sql_functions::scratch::EVALUATION_BYTES_MAX;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ColumnarValue;

use super::*;

struct Budget(usize);

impl GrantSource for Budget {
    fn lend(&self, bytes: usize) -> bool {
        bytes <= self.0
    }

    fn limit_bytes(&self) -> usize {
        self.0
    }
}

/// Returns an expression that repeats the text `x` as often as the first column says.
fn repeated() -> Typed {
    let kernel = |arguments: &[ColumnarValue], rows: usize| {
        let count = each::Input::<Int64Type>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let Some(count) = count.at(row) else { return Ok(None) };
            let bytes = each::made(usize::try_from(count).ok())?;
            out.reserve_exact(bytes);
            out.extend(std::iter::repeat_n('x', bytes));
            Ok(Some(()))
        })
    };
    Typed {
        expression: Expression::Call {
            call: Call::Function(function("REPEAT").unwrap()),
            kernel: Arc::new(kernel),
            arguments: vec![Typed::column(0, SqlType::BigInt, true)],
            is_total: false,
            is_deterministic: true,
        },
        of: SqlType::STRING,
        is_nullable: true,
    }
}

/// Returns the lengths of the texts that a projection puts out, batch by batch, or the code of its error.
fn lengths(counts: &[i64], budget_bytes: usize) -> Result<Vec<Vec<usize>>, &'static str> {
    let columns = [Column::plain("x", SqlType::STRING, true)];
    let mut calc = Calc::new("calc", Vec::new(), vec![vec![repeated()]], &columns);
    calc.fund(&Allowance::new(Arc::new(Budget(budget_bytes))));
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
    let rows = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(counts.to_vec()))]).unwrap();
    let batch = Batch { watermark: Some(EventTime::EPOCH), ..Batch::new(rows) };
    calc.take(batch, EventTime::MIN).unwrap();
    let (mut made, mut watermarks) = (Vec::new(), Vec::new());
    while let Some(batch) = calc.next().map_err(|error| error.code)? {
        let texts = batch.rows.column(0).as_string::<i32>();
        made.push((0..batch.len()).map(|row| texts.value(row).len()).collect());
        watermarks.push(batch.watermark.is_some());
    }
    assert_eq!(calc.counts().read, counts.len() as u64);
    assert_eq!(calc.counts().forwarded, counts.len() as u64);
    assert!(watermarks.iter().rev().skip(1).all(|is_there| !is_there) && watermarks.last() == Some(&true));
    Ok(made)
}

#[test]
fn long_results_come_out_in_several_batches() {
    let counts: Vec<i64> = (0..1_000).map(|row| 30_000 + row).collect();
    let made = lengths(&counts, 256 << 20).unwrap();
    assert!(made.len() > 4, "{} batches", made.len());
    assert!(made.iter().all(|texts| texts.iter().sum::<usize>() <= EVALUATION_BYTES_MAX));
    assert_eq!(made.concat(), counts.iter().map(|count| *count as usize).collect::<Vec<_>>());
}

#[test]
fn short_results_come_out_together() {
    assert_eq!(lengths(&[5; 4_000], 256 << 20).unwrap().len(), 1);
}

/// A row whose results need more than a quarter of the memory budget is an error; the text and its copy in
/// the column both count.
#[test]
fn a_row_that_does_not_fit_is_an_error() {
    let long = 20 << 20;
    assert_eq!(lengths(&[1, long, 1], 256 << 20), Ok(vec![vec![1], vec![20 << 20], vec![1]]));
    assert_eq!(lengths(&[1, long, 1], 64 << 20), Err(RESULT_TOO_LONG));
}
