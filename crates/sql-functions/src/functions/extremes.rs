//! Tests of rule K3: no value makes a kernel panic, and results have the type announced by binding and one
//! value per row. The extreme values of each type go through every cast, operator and function that takes
//! them.

use chrono_tz::Tz;

use super::arithmetic::{ArithmeticOp, bind_arithmetic, bind_negate};
use super::bed::{argument, context, scalar};
use super::cast::bind_cast;
use super::compare::{ComparisonOp, bind_comparison};
use super::conditional::CONDITIONAL;
use super::math::MATH;
use super::{Argument, Bound};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Returns a test column for each SQL type: its extreme values, zero, NULL and other special values.
fn columns() -> Vec<(SqlType, ColumnarValue)> {
    let decimal = |precision, scale| SqlType::Decimal { precision, scale };
    let nines = 10_i128.pow(38) - 1;
    let decimals = |scale: i8| {
        [nines, -nines, 0, 1, -1].map(|value| ScalarValue::Decimal128(Some(value), 38, scale)).to_vec()
    };
    let texts = ["", " ", "-", "1", "-9223372036854775808", "1e400", "2021-02-31", "24:00:00", "ä😀", "\0"];
    let words: Vec<_> = texts.iter().map(|text| scalar(&SqlType::STRING, text)).collect();
    let ends = |of: fn(Option<i64>) -> ScalarValue| {
        [i64::MIN, i64::MAX, 0, -1].map(|value| of(Some(value))).to_vec()
    };
    let ends32 = |of: fn(Option<i32>) -> ScalarValue| {
        [i32::MIN, i32::MAX, 0, -1].map(|value| of(Some(value))).to_vec()
    };
    let floats = [f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, -0.0, 5e-324, 0.5];
    let kinds: Vec<(SqlType, Vec<ScalarValue>)> = vec![
        (SqlType::Boolean, vec![ScalarValue::Boolean(Some(true)), ScalarValue::Boolean(Some(false))]),
        (SqlType::TinyInt, [i8::MIN, i8::MAX, 0, -1].map(|value| ScalarValue::Int8(Some(value))).to_vec()),
        (
            SqlType::SmallInt,
            [i16::MIN, i16::MAX, 0, -1].map(|value| ScalarValue::Int16(Some(value))).to_vec(),
        ),
        (SqlType::Int, ends32(ScalarValue::Int32)),
        (SqlType::BigInt, ends(ScalarValue::Int64)),
        (SqlType::Float, floats.map(|value| ScalarValue::Float32(Some(value as f32))).to_vec()),
        (SqlType::Double, floats.map(|value| ScalarValue::Float64(Some(value))).to_vec()),
        (decimal(38, 0), decimals(0)),
        (decimal(38, 19), decimals(19)),
        (decimal(38, 38), decimals(38)),
        (SqlType::STRING, words.clone()),
        (SqlType::Char(3), words),
        (
            SqlType::BYTES,
            vec![ScalarValue::Binary(Some(vec![0xFF, 0, 0x80])), ScalarValue::Binary(Some(vec![]))],
        ),
        (SqlType::Date, ends32(ScalarValue::Date32)),
        (SqlType::Time(3), ends32(ScalarValue::Time32Millisecond)),
        (SqlType::Timestamp(0), ends(|value| ScalarValue::TimestampMillisecond(value, None))),
        (SqlType::Timestamp(6), ends(|value| ScalarValue::TimestampMicrosecond(value, None))),
        (SqlType::Timestamp(9), ends(|value| ScalarValue::TimestampNanosecond(value, None))),
        (
            SqlType::TimestampLtz(3),
            ends(|value| ScalarValue::TimestampMillisecond(value, Some("UTC".into()))),
        ),
        (SqlType::TimestampLtz(9), ends(|value| ScalarValue::TimestampNanosecond(value, Some("UTC".into())))),
        (SqlType::DayTime, ends(ScalarValue::DurationMillisecond)),
        (SqlType::YearMonth, ends32(ScalarValue::IntervalYearMonth)),
    ];
    kinds
        .into_iter()
        .map(|(of, mut values)| {
            values.push(ScalarValue::try_from(&of.arrow()).expect("NULL"));
            let column = ScalarValue::iter_to_array(values).expect("a column");
            (of, ColumnarValue::Array(column))
        })
        .collect()
}

/// Returns the pairs of each value of one test column with each value of the other.
fn crossed(left: &ColumnarValue, right: &ColumnarValue) -> Vec<Vec<ColumnarValue>> {
    let ColumnarValue::Array(rights) = right else { panic!("a column") };
    (0..rights.len())
        .map(|row| {
            let scalar = ScalarValue::try_from_array(rights, row).expect("a scalar");
            vec![left.clone(), ColumnarValue::Scalar(scalar)]
        })
        .collect()
}

fn of_type(of: &SqlType) -> Argument {
    Argument { of: of.clone(), is_nullable: true, literal: None }
}

/// Evaluates a bound function with test columns; an error is a valid result, a panic is not.
fn run(bound: &Bound, given: &[(&SqlType, &ColumnarValue)]) {
    let mut values = Vec::new();
    let mut rows = 1;
    for ((from, value), to) in given.iter().zip(&bound.arguments) {
        if let ColumnarValue::Array(array) = value {
            rows = array.len();
        }
        let cast = bind_cast(from, true, to, true, &context(chrono_tz::Europe::Berlin)).expect("a cast");
        values
            .push(cast.kernel.evaluate(std::slice::from_ref(*value), rows).expect("TRY_CAST does not fail"));
    }
    match bound.kernel.evaluate(&values, rows) {
        Ok(ColumnarValue::Array(result)) => {
            assert_eq!((result.data_type(), result.len()), (&bound.result.arrow(), rows));
        }
        Ok(ColumnarValue::Scalar(result)) => assert_eq!(result.data_type(), bound.result.arrow()),
        Err(error) => assert!(error.code != "EVALUATION", "{error}"),
    }
}

#[test]
fn every_cast_of_every_end() {
    let columns = columns();
    let kinds = columns.iter().map(|(of, _)| of.clone());
    let others = [
        SqlType::Varchar(2),
        SqlType::Binary(3),
        SqlType::Time(0),
        SqlType::Decimal { precision: 1, scale: 1 },
    ];
    let targets: Vec<_> = kinds.chain(others).collect();
    let mut casts = 0;
    for zone in [Tz::UTC, chrono_tz::Europe::Berlin, chrono_tz::Pacific::Apia] {
        for (from, values) in &columns {
            for to in &targets {
                for is_try in [true, false] {
                    let Ok(bound) = bind_cast(from, true, to, is_try, &context(zone)) else { continue };
                    run(&bound, &[(from, values)]);
                    casts += 1;
                }
            }
        }
    }
    assert!(1_000 < casts, "{casts} casts");
}

#[test]
fn every_operator_of_every_pair() {
    use ArithmeticOp::*;
    use ComparisonOp::*;
    let columns = columns();
    let mut operations = 0;
    for (left, lefts) in &columns {
        if let Ok(bound) = bind_negate(&of_type(left)) {
            run(&bound, &[(left, lefts)]);
        }
        for (right, rights) in &columns {
            let pair = [of_type(left), of_type(right)];
            let sums =
                [Add, Subtract, Multiply, Divide, Modulo].map(|op| bind_arithmetic(op, &pair[0], &pair[1]));
            let orders = [Eq, NotEq, Lt, LtEq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom]
                .map(|op| bind_comparison(op, &pair[0], &pair[1], &context(Tz::UTC)));
            for bound in sums.iter().chain(&orders).flatten() {
                for values in crossed(lefts, rights) {
                    run(bound, &[(left, &values[0]), (right, &values[1])]);
                    operations += 1;
                }
            }
        }
    }
    assert!(5_000 < operations, "{operations} operations");
}

#[test]
fn every_function_of_every_end() {
    let columns = columns();
    let context = context(Tz::UTC);
    let digits = argument("INT: -1").literal.expect("a literal");
    let digits = ColumnarValue::Scalar(digits);
    for function in MATH.iter().chain(CONDITIONAL) {
        for (of, values) in &columns {
            if let Ok(bound) = (function.bind)(&[of_type(of)], &context) {
                run(&bound, &[(of, values)]);
            }
            if let Ok(bound) = (function.bind)(&[of_type(of), of_type(&SqlType::Int)], &context) {
                run(&bound, &[(of, values), (&SqlType::Int, &digits)]);
            }
            if let Ok(bound) = (function.bind)(&[of_type(of), of_type(of)], &context) {
                for pair in crossed(values, values) {
                    run(&bound, &[(of, &pair[0]), (of, &pair[1])]);
                }
            }
        }
    }
}
