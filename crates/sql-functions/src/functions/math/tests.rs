//! Tests that each function of numbers has Flink's type and value, also for extreme arguments.

use std::collections::HashSet;

use arrow::array::{Array, AsArray};

use super::*;
use crate::functions::bed::{argument, called, context};

fn check(name: &str, written: &[&str], expected: &str) {
    assert_eq!(called(MATH, name, written), expected, "{name}{written:?}");
}

#[test]
fn reals() {
    check("POWER", &["INT: 2", "INT: 10"], "DOUBLE: 1024.0");
    check("POWER", &["DECIMAL(3, 1): 2.0", "DOUBLE: -1"], "DOUBLE: 0.5");
    check("POWER", &["DOUBLE: 1", "DOUBLE: NaN"], "DOUBLE: NaN");
    check("POWER", &["DOUBLE: -1", "DOUBLE: inf"], "DOUBLE: NaN");
    check("POWER", &["DOUBLE: NaN", "DOUBLE: 0"], "DOUBLE: 1.0");
    check("SQRT", &["INT: 16"], "DOUBLE: 4.0");
    check("SQRT", &["INT: -1"], "DOUBLE: NaN");
    check("LN", &["DOUBLE: 1"], "DOUBLE: 0.0");
    check("LN", &["INT: 0"], "DOUBLE: -inf");
    check("LOG10", &["INT: 1000"], "DOUBLE: 3.0");
    check("LOG2", &["INT: 8"], "DOUBLE: 3.0");
    check("LOG", &["DOUBLE: 1"], "DOUBLE: 0.0");
    check("LOG", &["INT: 2", "INT: 8"], "DOUBLE: 3.0");
    check("EXP", &["INT: 0"], "DOUBLE: 1.0");
    check("SIN", &["INT: 0"], "DOUBLE: 0.0");
    check("COS", &["INT: 0"], "DOUBLE: 1.0");
    check("TAN", &["INT: 0"], "DOUBLE: 0.0");
    check("COT", &["INT: 0"], "DOUBLE: inf");
    check("ASIN", &["INT: 2"], "DOUBLE: NaN");
    check("ACOS", &["INT: 1"], "DOUBLE: 0.0");
    check("ATAN", &["INT: 0"], "DOUBLE: 0.0");
    check("ATAN2", &["DOUBLE: 0.0", "DOUBLE: -1.0"], "DOUBLE: 3.141592653589793");
    check("SINH", &["INT: 0"], "DOUBLE: 0.0");
    check("COSH", &["INT: 0"], "DOUBLE: 1.0");
    check("TANH", &["DOUBLE: inf"], "DOUBLE: 1.0");
    check("DEGREES", &["DOUBLE: 3.141592653589793"], "DOUBLE: 180.0");
    check("RADIANS", &["INT: 180"], "DOUBLE: 3.141592653589793");
    check("PI", &[], "DOUBLE: 3.141592653589793");
    check("E", &[], "DOUBLE: 2.718281828459045");
    check("SIN", &["DOUBLE: NULL"], "DOUBLE: NULL");
    check("SIN", &["NULL"], "DOUBLE: NULL");
    check("SIN", &["STRING: 0"], "refused");
    check("SIN", &["INT: 0", "INT: 0"], "refused");
    check("LOG", &[], "refused");
    check("PI", &["INT: 1"], "refused");
}

#[test]
fn sizes_and_signs() {
    check("ABS", &["INT: -5"], "INT: 5");
    check("ABS", &["TINYINT: -128"], "TINYINT: -128");
    check("ABS", &["BIGINT: -9007199254740993"], "BIGINT: 9007199254740993");
    check("ABS", &["DECIMAL(3, 2): -3.14"], "DECIMAL(3, 2): 3.14");
    check("ABS", &["DOUBLE: -0.0"], "DOUBLE: 0.0");
    check("ABS", &["FLOAT: -1.5"], "FLOAT: 1.5");
    check("ABS", &["DATE: 2021-01-01"], "refused");
    check("SIGN", &["BIGINT: -7"], "BIGINT: -1");
    check("SIGN", &["INT: 0"], "INT: 0");
    check("SIGN", &["DECIMAL(3, 2): 3.14"], "DECIMAL(3, 2): 1.00");
    check("SIGN", &["DECIMAL(3, 2): -3.14"], "DECIMAL(3, 2): -1.00");
    check("SIGN", &["DECIMAL(3, 2): 0.00"], "DECIMAL(3, 2): 0.00");
    check("SIGN", &["DECIMAL(2, 2): 0.14"], "DECIMAL(2, 2): NULL");
    check("SIGN", &["DOUBLE: -0.0"], "DOUBLE: -0.0");
    check("SIGN", &["DOUBLE: NaN"], "DOUBLE: NaN");
    check("SIGN", &["FLOAT: 7"], "FLOAT: 1.0");
    check("MOD", &["INT: 7", "INT: 4"], "INT: 3");
    check("MOD", &["INT: 7", "INT: 0"], "error DIVISION_BY_ZERO");
    check("MOD", &["INT: 7"], "refused");
}

#[test]
fn rounding_of_decimals() {
    check("ROUND", &["DECIMAL(10, 5): 12345.12345", "INT: 2"], "DECIMAL(8, 2): 12345.12");
    check("ROUND", &["DECIMAL(6, 3): 646.646"], "DECIMAL(4, 0): 647");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: 0"], "DECIMAL(4, 0): 647");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: 1"], "DECIMAL(5, 1): 646.6");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: 2"], "DECIMAL(6, 2): 646.65");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: 3"], "DECIMAL(6, 3): 646.646");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: 4"], "DECIMAL(6, 3): 646.646");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: -1"], "DECIMAL(4, 0): 650");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: -2"], "DECIMAL(4, 0): 600");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: -3"], "DECIMAL(4, 0): 1000");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: -4"], "DECIMAL(4, 0): 0");
    check("ROUND", &["DECIMAL(4, 2): 99.99", "INT: 1"], "DECIMAL(4, 1): 100.0");
    check("ROUND", &["DECIMAL(4, 2): -99.99", "INT: 1"], "DECIMAL(4, 1): -100.0");
    check("ROUND", &["DECIMAL(4, 2): -99.99", "INT: -1"], "DECIMAL(3, 0): -100");
    check(
        "ROUND",
        &["DECIMAL(38, 0): 99999999999999999999999999999999999999", "INT: -1"],
        "DECIMAL(38, 0): NULL",
    );
    check("ROUND", &["DECIMAL(38, 0): 9", "INT: -2147483648"], "DECIMAL(38, 0): 0");
    check("ROUND", &["DECIMAL(6, 3): NULL", "INT: 1"], "DECIMAL(5, 1): NULL");
    check("ROUND", &["DECIMAL(6, 3): 646.646", "INT: NULL"], "DECIMAL(6, 3): NULL");
    check("TRUNCATE", &["DECIMAL(6, 3): 123.456", "INT: 2"], "DECIMAL(6, 2): 123.45");
    check("TRUNCATE", &["DECIMAL(6, 3): -123.456"], "DECIMAL(4, 0): -123");
    check("TRUNCATE", &["DECIMAL(6, 3): 123.456", "INT: -1"], "DECIMAL(4, 0): 120");
    check("FLOOR", &["DECIMAL(3, 2): 3.14"], "DECIMAL(3, 0): 3");
    check("CEIL", &["DECIMAL(3, 2): 3.14"], "DECIMAL(3, 0): 4");
    check("FLOOR", &["DECIMAL(3, 2): -3.14"], "DECIMAL(3, 0): -4");
    check("CEILING", &["DECIMAL(3, 2): -3.14"], "DECIMAL(3, 0): -3");
    check("CEIL", &["DECIMAL(2, 2): 0.99"], "DECIMAL(2, 0): 1");
}

/// ROUND with a number of digits from a column leaves the type of the decimal unchanged.
#[test]
fn digits_from_a_column_keep_the_type() {
    let (value, mut digits) = (argument("DECIMAL(6, 3): 646.646"), argument("INT: 1"));
    digits.literal = None;
    let round = MATH.iter().find(|function| function.name == "ROUND").expect("a function");
    let bound =
        (round.bind)(&[value.clone(), digits], &context(chrono_tz::Tz::UTC)).expect("a bound function");
    assert_eq!(bound.result, value.of);
    let arguments = [value.literal.expect("a literal"), ScalarValue::Int32(Some(1))];
    let arguments = arguments.map(ColumnarValue::Scalar);
    let ColumnarValue::Scalar(result) = bound.kernel.evaluate(&arguments, 1).expect("a value") else {
        panic!("a scalar")
    };
    assert_eq!(result, ScalarValue::Decimal128(Some(646_600), 6, 3));
}

#[test]
fn rounding_of_other_numbers() {
    check("ROUND", &["DOUBLE: 2.675", "INT: 2"], "DOUBLE: 2.68");
    check("ROUND", &["DOUBLE: 1.005", "INT: 2"], "DOUBLE: 1.01");
    check("ROUND", &["DOUBLE: -0.5"], "DOUBLE: -1.0");
    check("ROUND", &["DOUBLE: 0.4"], "DOUBLE: 0.0");
    check("ROUND", &["DOUBLE: 125.315", "INT: -1"], "DOUBLE: 130.0");
    check("ROUND", &["DOUBLE: 1e300", "INT: 2"], "DOUBLE: 1e300");
    check("ROUND", &["DOUBLE: 5e-324", "INT: 2"], "DOUBLE: 0.0");
    check("ROUND", &["DOUBLE: 5e-324", "INT: 2147483647"], "DOUBLE: 5e-324");
    check("ROUND", &["DOUBLE: 1.5", "INT: -2147483648"], "DOUBLE: 0.0");
    check("ROUND", &["DOUBLE: NaN", "INT: 2"], "DOUBLE: NaN");
    check("ROUND", &["DOUBLE: -inf", "INT: 2"], "DOUBLE: -inf");
    check("ROUND", &["FLOAT: 1.25", "INT: 1"], "FLOAT: 1.3");
    check("ROUND", &["INT: 125", "INT: -1"], "INT: 130");
    check("ROUND", &["INT: -125", "INT: -1"], "INT: -130");
    check("ROUND", &["TINYINT: 127", "INT: -1"], "TINYINT: -126");
    check("ROUND", &["BIGINT: 9223372036854775807", "INT: -1"], "BIGINT: -9223372036854775806");
    check("ROUND", &["INT: 125", "INT: 3"], "INT: 125");
    check("ROUND", &["INT: 125", "DOUBLE: 3"], "refused");
    check("ROUND", &["STRING: 1"], "refused");
    check("TRUNCATE", &["FLOAT: 42.324", "INT: 2"], "FLOAT: 42.32");
    check("TRUNCATE", &["DOUBLE: 42.324"], "DOUBLE: 42.0");
    check("TRUNCATE", &["DOUBLE: -42.999", "INT: 2"], "DOUBLE: -42.99");
    check("TRUNCATE", &["INT: 123456", "INT: -2"], "INT: 123400");
    check("FLOOR", &["DOUBLE: -0.5"], "DOUBLE: -1.0");
    check("CEIL", &["DOUBLE: -0.5"], "DOUBLE: -0.0");
    check("FLOOR", &["FLOAT: 1.5"], "FLOAT: 1.0");
    check("CEIL", &["INT: 7"], "INT: 7");
    check("FLOOR", &["BIGINT: NULL"], "BIGINT: NULL");
    check("FLOOR", &["DATE: 2021-01-01"], "refused");
}

#[test]
fn numbers_in_other_digits() {
    check("BIN", &["INT: 4"], "STRING: 100");
    check("BIN", &["TINYINT: 12"], "STRING: 1100");
    check("BIN", &["INT: 0"], "STRING: 0");
    check("BIN", &["INT: -1"], &format!("STRING: {}", "1".repeat(64)));
    check("BIN", &["INT: NULL"], "STRING: NULL");
    check("BIN", &["DOUBLE: 1"], "refused");
    check("HEX", &["INT: 20"], "STRING: 14");
    check("HEX", &["INT: 100"], "STRING: 64");
    check("HEX", &["BIGINT: -1"], "STRING: FFFFFFFFFFFFFFFF");
    check("HEX", &["STRING: hello,world"], "STRING: 68656C6C6F2C776F726C64");
    check("HEX", &["CHAR(1): ä"], "STRING: C3A4");
    check("HEX", &["STRING: "], "STRING: ");
    check("HEX", &["STRING: NULL"], "STRING: NULL");
    check("HEX", &["DOUBLE: 1"], "refused");
}

#[test]
fn the_greatest_and_the_least() {
    check("GREATEST", &["INT: 1", "INT: 3", "INT: 2"], "INT: 3");
    check("LEAST", &["INT: 1", "INT: 3", "INT: 2"], "INT: 1");
    check("GREATEST", &["INT: 1", "BIGINT: 3"], "BIGINT: 3");
    check("GREATEST", &["INT: 1", "DECIMAL(2, 1): 1.5"], "DECIMAL(11, 1): 1.5");
    check("GREATEST", &["INT: 1", "INT: NULL"], "INT: NULL");
    check("LEAST", &["INT: NULL", "INT: 1"], "INT: NULL");
    check("GREATEST", &["INT: 1", "NULL"], "INT: NULL");
    check("GREATEST", &["STRING: a", "CHAR(2): bc"], "STRING: bc");
    check("LEAST", &["DATE: 2021-01-01", "DATE: 2020-01-01"], "DATE: 2020-01-01");
    check("GREATEST", &["DOUBLE: NaN", "DOUBLE: inf"], "DOUBLE: NaN");
    check("LEAST", &["DOUBLE: 0.0", "DOUBLE: -0.0"], "DOUBLE: -0.0");
    check("GREATEST", &["INT: 7"], "INT: 7");
    check("GREATEST", &["INT: 1", "STRING: 1"], "refused");
    check("GREATEST", &[], "refused");
}

fn drawn(name: &str, written: &[&str], rows: usize) -> Result<Vec<ArrayRef>, String> {
    let function = MATH.iter().find(|function| function.name == name).expect("a function");
    assert!(!function.is_deterministic);
    let arguments: Vec<_> = written.iter().map(|written| argument(written)).collect();
    let bound = (function.bind)(&arguments, &context(chrono_tz::Tz::UTC)).map_err(|error| error.0)?;
    let literals: Vec<_> = arguments
        .iter()
        .map(|argument| ColumnarValue::Scalar(argument.literal.clone().expect("a literal")))
        .collect();
    (0..2)
        .map(|_| match bound.kernel.evaluate(&literals, rows) {
            Ok(ColumnarValue::Array(array)) => {
                assert_eq!(array.len(), rows);
                Ok(array)
            }
            Ok(ColumnarValue::Scalar(_)) => panic!("rows differ"),
            Err(error) => Err(error.message),
        })
        .collect()
}

/// RAND with a seed gives the numbers of `new java.util.Random(42)`, which are widely known.
#[test]
fn a_seed_gives_the_numbers_of_java() {
    let batches = drawn("RAND", &["INT: 42"], 2).expect("numbers");
    let numbers: Vec<_> =
        batches.iter().flat_map(|batch| batch.as_primitive::<Float64Type>().values().to_vec()).collect();
    assert_eq!(numbers[..2], [0.7275636800328681, 0.6832234717598454]);
    assert_ne!(numbers[2], numbers[0]);
    let batches = drawn("RAND_INTEGER", &["INT: 42", "INT: 10"], 3).expect("numbers");
    let numbers = batches[0].as_primitive::<Int32Type>().values().to_vec();
    assert_eq!(numbers, [0, 3, 8]);
}

#[test]
fn random_numbers_are_within_their_bounds() {
    let batches = drawn("RAND", &[], 1_000).expect("numbers");
    let numbers = batches[0].as_primitive::<Float64Type>();
    assert!(numbers.values().iter().all(|number| (0.0..1.0).contains(number)));
    let mean = numbers.values().iter().sum::<f64>() / 1_000.0;
    assert!((0.4..0.6).contains(&mean), "{mean}");
    assert_ne!(&batches[0], &batches[1]);
    let batches = drawn("RAND_INTEGER", &["INT: 3"], 1_000).expect("numbers");
    let seen: HashSet<_> = batches[0].as_primitive::<Int32Type>().values().iter().copied().collect();
    assert_eq!(seen, HashSet::from([0, 1, 2]));
    assert_eq!(drawn("RAND_INTEGER", &["INT: NULL"], 2).expect("NULL")[0].null_count(), 2);
    assert!(drawn("RAND_INTEGER", &["INT: 0"], 1).is_err());
    assert!(drawn("RAND", &["STRING: 1"], 1).is_err());
    let batches = drawn("UUID", &[], 500).expect("text");
    let texts: HashSet<_> =
        batches.iter().flat_map(|batch| batch.as_string::<i32>().iter().flatten()).collect();
    assert_eq!(texts.len(), 1_000);
    for text in texts {
        let groups: Vec<_> = text.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "{text}");
        assert!(text.as_bytes()[14] == b'4' && b"89ab".contains(&text.as_bytes()[19]), "{text}");
    }
}

/// RAND_INTEGER checks a bound in a column in each row.
#[test]
fn a_bound_from_a_column_is_checked() {
    let mut bound_of = argument("INT: 1");
    bound_of.literal = None;
    let bound = random::bind_rand_integer(&[bound_of]).expect("a bound function");
    let column = |values: Vec<Option<i32>>| {
        ColumnarValue::Array(Arc::new(arrow::array::Int32Array::from(values)) as ArrayRef)
    };
    let error = bound.kernel.evaluate(&[column(vec![Some(1), Some(-3)])], 2).expect_err("no such numbers");
    assert_eq!(error.code, "BAD_BOUND");
    assert!(bound.kernel.evaluate(&[column(vec![Some(1), None])], 2).is_ok());
}
