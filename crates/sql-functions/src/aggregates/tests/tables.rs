//! Tests of aggregates over single groups, with results that were computed by hand.

use arrow::array::{
    BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, ListArray, NullArray, StringArray, TimestampMillisecondArray,
};
use arrow::datatypes::Int32Type;

use super::*;

fn tiny(values: &[Option<i8>]) -> (SqlType, ArrayRef) {
    (SqlType::TinyInt, Arc::new(Int8Array::from(values.to_vec())))
}

fn small(values: &[Option<i16>]) -> (SqlType, ArrayRef) {
    (SqlType::SmallInt, Arc::new(Int16Array::from(values.to_vec())))
}

fn int(values: &[Option<i32>]) -> (SqlType, ArrayRef) {
    (SqlType::Int, Arc::new(Int32Array::from(values.to_vec())))
}

fn big(values: &[Option<i64>]) -> (SqlType, ArrayRef) {
    (SqlType::BigInt, Arc::new(Int64Array::from(values.to_vec())))
}

fn float(values: &[f32]) -> (SqlType, ArrayRef) {
    (SqlType::Float, Arc::new(Float32Array::from(values.to_vec())))
}

fn double(values: &[f64]) -> (SqlType, ArrayRef) {
    (SqlType::Double, Arc::new(Float64Array::from(values.to_vec())))
}

fn decimal(precision: u8, scale: u8, values: &[Option<i128>]) -> (SqlType, ArrayRef) {
    let column =
        Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale as i8).unwrap();
    (SqlType::Decimal { precision, scale }, Arc::new(column))
}

fn text(values: &[Option<&str>]) -> (SqlType, ArrayRef) {
    (SqlType::STRING, Arc::new(StringArray::from(values.to_vec())))
}

fn boolean(values: &[Option<bool>]) -> (SqlType, ArrayRef) {
    (SqlType::Boolean, Arc::new(BooleanArray::from(values.to_vec())))
}

/// Returns the result of an aggregate over one group, from accumulators without and with retraction.
fn results(bound: &BoundAggregate, columns: &[ArrayRef]) -> Vec<String> {
    let one = |mut accumulator: Box<dyn Accumulator>| {
        accumulator.resize(1);
        let rows = columns.first().map_or(3, |column| column.len());
        accumulator.update(&vec![0; rows], columns, None);
        match accumulator.results(0..1) {
            Ok(column) => {
                assert!(
                    column.data_type().equals_datatype(&bound.result.arrow()),
                    "{:?}",
                    column.data_type()
                );
                shown(&column).remove(0)
            }
            Err(error) => error.code.to_owned(),
        }
    };
    kinds(bound).into_iter().map(one).collect()
}

/// Checks the result of an aggregate of one column over one group, and the type of the result.
#[track_caller]
fn check(name: &str, (of, column): (SqlType, ArrayRef), result: &str, expected: &str) {
    let bound = bind(name, &[column_of(&of)]).unwrap();
    assert_eq!(bound.result.to_string(), result);
    for shown in results(&bound, &[column]) {
        assert_eq!(shown, expected, "{name} of {of}");
    }
}

/// Checks the result of a DISTINCT aggregate over one group.
#[track_caller]
fn check_distinct(name: &str, (of, column): (SqlType, ArrayRef), expected: &str) {
    let bound = bind(name, &[column_of(&of)]).unwrap().distinct(5);
    for shown in results(&bound, &[column]) {
        assert_eq!(shown, expected, "{name} of distinct {of}");
    }
}

/// Checks the error with which an aggregate refuses its arguments.
#[track_caller]
fn check_refused(name: &str, arguments: &[Argument], expected: &str) {
    assert_eq!(bind(name, arguments).err().map(|error| error.to_string()), Some(expected.to_owned()));
}

#[test]
fn counts() {
    check("COUNT", int(&[Some(1), None, Some(1)]), "BIGINT", "2");
    check("COUNT", int(&[]), "BIGINT", "0");
    check("COUNT", (SqlType::Null, Arc::new(NullArray::new(2))), "BIGINT", "0");
    let bound = bind("COUNT", &[]).unwrap();
    assert_eq!(results(&bound, &[]), ["3", "3"]);
    assert!(!bound.is_nullable);
    let bound = bind("COUNT", &[column_of(&SqlType::Int), column_of(&SqlType::STRING)]).unwrap();
    let columns =
        [int(&[Some(1), None, Some(1), Some(1)]).1, text(&[Some("a"), Some("b"), None, Some("a")]).1];
    assert_eq!(results(&bound, &columns), ["2", "2"]);
    assert_eq!(results(&bound.distinct(1), &columns), ["1", "1"]);
}

/// SUM of integers keeps their type and wraps, as in Java.
#[test]
fn sums_of_integers_wrap() {
    check("SUM", tiny(&[Some(100), Some(100)]), "TINYINT", "-56");
    check("SUM", small(&[Some(i16::MAX), Some(1)]), "SMALLINT", "-32768");
    check("SUM", int(&[Some(i32::MAX), Some(1), None]), "INT", "-2147483648");
    check("SUM", big(&[Some(i64::MIN), Some(-1)]), "BIGINT", "9223372036854775807");
    check("SUM", int(&[None, None]), "INT", "NULL");
    check("SUM", int(&[]), "INT", "NULL");
    check("$SUM0", int(&[None]), "INT", "0");
    check("$SUM0", int(&[Some(2), Some(3)]), "INT", "5");
}

#[test]
fn sums_of_floats_lose_little() {
    check("SUM", double(&[1e100, 1.0, -1e100]), "DOUBLE", "1.0");
    check("SUM", double(&[0.1; 10]), "DOUBLE", "1.0");
    check("SUM", float(&[0.1; 10]), "FLOAT", "1.0");
    check("SUM", double(&[1.0, f64::INFINITY, 2.0]), "DOUBLE", "inf");
    check("SUM", double(&[f64::INFINITY, f64::NEG_INFINITY]), "DOUBLE", "NaN");
    check("SUM", double(&[f64::NAN, 1.0]), "DOUBLE", "NaN");
    check("SUM", double(&[f64::MAX, f64::MAX]), "DOUBLE", "inf");
    check("SUM", double(&[]), "DOUBLE", "NULL");
}

/// SUM of DECIMAL(p, s) is a DECIMAL(38, s), or NULL if the sum does not fit that type.
#[test]
fn sums_of_decimals_are_exact() {
    let most = 10i128.pow(38) - 1;
    check("SUM", decimal(5, 2, &[Some(99_999), Some(1), None]), "DECIMAL(38, 2)", "1000.00");
    check("SUM", decimal(38, 0, &[Some(most), Some(1)]), "DECIMAL(38, 0)", "NULL");
    check("SUM", decimal(38, 0, &[Some(-most), Some(-most), Some(-most)]), "DECIMAL(38, 0)", "NULL");
    check("SUM", decimal(38, 0, &[Some(most), Some(1), Some(-2)]), "DECIMAL(38, 0)", &(most - 1).to_string());
    check("SUM", decimal(10, 0, &[None]), "DECIMAL(38, 0)", "NULL");
}

/// AVG of integers is cut toward zero, after a sum in 64 bits.
#[test]
fn averages_are_of_the_type_of_the_argument() {
    check("AVG", int(&[Some(1), Some(2), None]), "INT", "1");
    check("AVG", int(&[Some(-1), Some(-2)]), "INT", "-1");
    check("AVG", tiny(&[Some(127), Some(127), Some(126)]), "TINYINT", "126");
    check("AVG", int(&[Some(i32::MAX), Some(i32::MAX)]), "INT", "2147483647");
    check("AVG", big(&[Some(i64::MAX), Some(i64::MAX)]), "BIGINT", "-1");
    check("AVG", big(&[None]), "BIGINT", "NULL");
    check("AVG", double(&[1.0, 2.0]), "DOUBLE", "1.5");
    check("AVG", float(&[1.0, 2.0, 2.0]), "FLOAT", "1.6666666");
    check("AVG", decimal(10, 2, &[Some(100), Some(200), Some(200)]), "DECIMAL(38, 6)", "1.666667");
    check("AVG", decimal(10, 2, &[Some(-100), Some(-200), Some(-200)]), "DECIMAL(38, 6)", "-1.666667");
    check("AVG", decimal(20, 10, &[Some(1), Some(2)]), "DECIMAL(38, 10)", "0.0000000002");
    check("AVG", decimal(38, 0, &[Some(10i128.pow(33))]), "DECIMAL(38, 6)", "NULL");
}

#[test]
fn extremes() {
    check("MIN", int(&[Some(3), None, Some(-7)]), "INT", "-7");
    check("MAX", int(&[Some(3), None, Some(-7)]), "INT", "3");
    check("MIN", big(&[Some(i64::MAX)]), "BIGINT", "9223372036854775807");
    check("MAX", big(&[Some(i64::MIN)]), "BIGINT", "-9223372036854775808");
    check("MAX", int(&[None]), "INT", "NULL");
    check("MIN", boolean(&[Some(true), Some(false), None]), "BOOLEAN", "false");
    check("MAX", boolean(&[Some(false), Some(true)]), "BOOLEAN", "true");
    check("MAX", text(&[Some("b"), Some("é"), None, Some("z"), Some("")]), "STRING", "é");
    check("MIN", text(&[Some("b"), Some("é"), None, Some("z"), Some("")]), "STRING", "");
    check(
        "MIN",
        decimal(38, 2, &[Some(1), Some(-(10i128.pow(37)))]),
        "DECIMAL(38, 2)",
        &format!("-1{}.00", "0".repeat(35)),
    );
    let dates = Date32Array::from(vec![Some(0), None, Some(-1)]);
    check("MIN", (SqlType::Date, Arc::new(dates)), "DATE", "1969-12-31");
    let stamps = TimestampMillisecondArray::from(vec![1_000, 2_000]).with_timezone("UTC");
    check("MAX", (SqlType::TimestampLtz(3), Arc::new(stamps)), "TIMESTAMP_LTZ(3)", "1970-01-01T00:00:02Z");
}

/// MIN and MAX without retraction: nothing is less or greater than NaN, and -0.0 equals 0.0; of equal values
/// the first one stays.
#[test]
fn the_first_float_stays_beside_its_equals() {
    let only_in = |name: &str, values: &[f64]| {
        let bound = bind(name, &[column_of(&SqlType::Double)]).unwrap();
        results(&bound, &[double(values).1]).remove(0)
    };
    assert_eq!(only_in("MIN", &[f64::NAN, 1.0]), "NaN");
    assert_eq!(only_in("MAX", &[f64::NAN, 1.0]), "NaN");
    assert_eq!(only_in("MIN", &[1.0, f64::NAN, 2.0]), "1.0");
    assert_eq!(only_in("MAX", &[1.0, f64::NAN, 2.0]), "2.0");
    assert_eq!(only_in("MIN", &[0.0, -0.0]), "0.0");
    assert_eq!(only_in("MAX", &[-0.0, 0.0]), "-0.0");
    assert_eq!(only_in("MIN", &[f64::INFINITY]), "inf");
    assert_eq!(only_in("MAX", &[f64::NEG_INFINITY]), "-inf");
}

/// MIN and MAX with retraction: NaN is the greatest value, and -0.0 lies below 0.0.
#[test]
fn floats_that_can_be_taken_back_are_in_total_order() {
    let retractable = |name: &str, values: &[f64]| {
        let bound = bind(name, &[column_of(&SqlType::Double)]).unwrap();
        results(&bound, &[double(values).1]).remove(1)
    };
    assert_eq!(retractable("MIN", &[f64::NAN, 1.0, -f64::NAN]), "1.0");
    assert_eq!(retractable("MAX", &[1.0, -f64::NAN, 2.0]), "NaN");
    assert_eq!(retractable("MIN", &[0.0, -0.0]), "-0.0");
    assert_eq!(retractable("MAX", &[-0.0, 0.0]), "0.0");
}

#[test]
fn first_and_last_pass_over_null() {
    check("FIRST_VALUE", int(&[None, Some(2), Some(3), None]), "INT", "2");
    check("LAST_VALUE", int(&[None, Some(2), Some(3), None]), "INT", "3");
    check("LAST_VALUE", text(&[Some("long"), Some("é"), None]), "STRING", "é");
    check("FIRST_VALUE", int(&[None]), "INT", "NULL");
    check_distinct("LAST_VALUE", int(&[Some(1), Some(2), Some(1)]), "2");
    let bytes = BinaryArray::from(vec![Some(&[1u8, 255][..]), None]);
    check("LAST_VALUE", (SqlType::BYTES, Arc::new(bytes)), "BYTES", "01ff");
    let lists = [None, Some(vec![Some(1), None]), Some(vec![])];
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let of = SqlType::Array(Box::new(SqlType::Int));
    check("FIRST_VALUE", (of.clone(), Arc::new(lists.clone())), "ARRAY<INT>", "[1, ]");
    check("LAST_VALUE", (of, Arc::new(lists)), "ARRAY<INT>", "[]");
}

#[test]
fn text_is_joined() {
    check("LISTAGG", text(&[Some("a"), None, Some(""), Some("é")]), "STRING", "a,,é");
    check("LISTAGG", text(&[None]), "STRING", "NULL");
    check_distinct("LISTAGG", text(&[Some("b"), Some("a"), Some("b")]), "b,a");
    let bound = bind("LISTAGG", &[column_of(&SqlType::Varchar(5)), text_literal(" | ")]).unwrap();
    let columns = [text(&[Some("a"), Some("b")]).1, text(&[Some(" | "), Some(" | ")]).1];
    assert_eq!(results(&bound, &columns), ["a | b", "a | b"]);
    check_refused("LISTAGG", &[column_of(&SqlType::Int)], "argument 1 is INT: cast it to STRING");
    let no_literal = [column_of(&SqlType::STRING), column_of(&SqlType::STRING)];
    check_refused("LISTAGG", &no_literal, "the separator is no literal text: write one, such as ', '");
}

#[test]
fn arrays_keep_nulls_unless_told() {
    check("ARRAY_AGG", int(&[Some(2), None, Some(1), Some(2)]), "ARRAY<INT>", "[2, , 1, 2]");
    check("$ARRAY_AGG_IGNORE_NULLS", int(&[Some(2), None, Some(1)]), "ARRAY<INT>", "[2, 1]");
    check("ARRAY_AGG", int(&[]), "ARRAY<INT>", "NULL");
    check("$ARRAY_AGG_IGNORE_NULLS", int(&[None]), "ARRAY<INT>", "NULL");
    check_distinct("ARRAY_AGG", int(&[Some(2), None, Some(1), Some(2), None]), "[2, , 1]");
    check("ARRAY_AGG", text(&[Some("é"), None]), "ARRAY<STRING>", "[é, ]");
}

#[test]
fn multisets_are_maps_of_counts() {
    check("COLLECT", int(&[Some(2), None, Some(1), Some(2)]), "MAP<INT, INT>", "{1: 1, 2: 2}");
    check("COLLECT", text(&[None]), "MAP<STRING, INT>", "{}");
    check_distinct("COLLECT", int(&[Some(2), Some(1), Some(2)]), "{1: 1, 2: 1}");
}

/// COLLECT fails if a count does not fit into an INT, and never returns a wrong count.
#[test]
fn multisets_count_as_far_as_an_int() {
    let (of, column) = int(&[Some(7)]);
    let bound = bind("COLLECT", &[column_of(&of)]).unwrap();
    let of_one_row = || {
        let mut accumulator = (bound.create)();
        accumulator.resize(1);
        accumulator.update(&[0], std::slice::from_ref(&column), None);
        accumulator
    };
    // Two accumulators are merged into each other in turns, so counts grow as Fibonacci's numbers, to the
    // 45th and 46th of them.
    let (mut left, mut right) = (of_one_row(), of_one_row());
    for _ in 0..22 {
        left.merge(&*right, &[0]).unwrap();
        right.merge(&*left, &[0]).unwrap();
    }
    assert_eq!(shown(&right.results(0..1).unwrap()), ["{7: 1836311903}"]);
    left.merge(&*right, &[0]).unwrap();
    assert_eq!(left.results(0..1).unwrap_err().code, "RESULT_TOO_LARGE");
}

#[test]
fn json_arrays() {
    check("JSON_ARRAYAGG", int(&[Some(2), None, Some(-1)]), "STRING", "[2,-1]");
    check("$JSON_ARRAYAGG_NULL_ON_NULL", int(&[Some(2), None]), "STRING", "[2,null]");
    check("JSON_ARRAYAGG", int(&[None]), "STRING", "[]");
    check("JSON_ARRAYAGG", boolean(&[Some(true), Some(false)]), "STRING", "[true,false]");
    check("JSON_ARRAYAGG", decimal(5, 2, &[Some(-5), Some(1_230)]), "STRING", "[-0.05,12.30]");
    let texts = text(&[Some("Apple"), Some("q\"\\é\n\u{1}\u{1f}"), Some("")]);
    check("JSON_ARRAYAGG", texts, "STRING", "[\"Apple\",\"q\\\"\\\\é\\n\\u0001\\u001F\",\"\"]");
    let members = text(&[Some("\"b\":1"), Some("\"a\":[true]"), None]);
    check("JSON_OBJECTAGG", members, "STRING", "{\"a\":[true],\"b\":1}");
    check("JSON_OBJECTAGG", text(&[None]), "STRING", "{}");
    check_refused(
        "JSON_ARRAYAGG",
        &[column_of(&SqlType::Date)],
        "DATE has no form in JSON: cast it to STRING",
    );
}

/// The variance of the textbook example 2, 4, 4, 4, 5, 5, 7, 9 is 4.
#[test]
fn variances() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    check("VAR_POP", double(&values), "DOUBLE", "4.0");
    check("STDDEV_POP", double(&values), "DOUBLE", "2.0");
    check("VAR_SAMP", double(&[1.0, 2.0, 3.0]), "DOUBLE", "1.0");
    check("VARIANCE", double(&[1.0, 2.0, 3.0]), "DOUBLE", "1.0");
    check("STDDEV_SAMP", double(&[1.0, 3.0, 5.0]), "DOUBLE", "2.0");
    check("STDDEV", double(&[1.0, 3.0, 5.0]), "DOUBLE", "2.0");
    // The sample variance of a single value is NULL.
    check("VAR_SAMP", double(&[1.0]), "DOUBLE", "NULL");
    check("VAR_POP", double(&[1.0]), "DOUBLE", "0.0");
    check("VAR_POP", double(&[]), "DOUBLE", "NULL");
    check("VAR_POP", int(&[Some(1), Some(2), None, Some(4)]), "INT", "1");
    check("STDDEV_POP", int(&[Some(0), Some(9)]), "INT", "4");
    check("VAR_POP", tiny(&[Some(-128), Some(127)]), "TINYINT", "-128");
    check("VAR_POP", big(&[Some(1 << 52), Some((1 << 52) + 2)]), "BIGINT", "1");
    check("VAR_POP", double(&[1e15 + 1.0, 1e15 + 3.0]), "DOUBLE", "1.0");
    check("VAR_POP", decimal(10, 2, &[Some(100), Some(250)]), "DECIMAL(38, 6)", "0.562500");
    check("VAR_POP", decimal(38, 2, &[Some(100), Some(250)]), "DECIMAL(38, 6)", "0.562500");
    check("VAR_POP", double(&[f64::NAN, 1.0]), "DOUBLE", "NaN");
    check("VAR_POP", float(&[1.0, 2.0]), "FLOAT", "0.25");
}

fn percentage(literal: ScalarValue, of: SqlType) -> Argument {
    Argument { of, is_nullable: false, literal: Some(literal) }
}

#[test]
fn percentiles_lie_between_neighbours() {
    let check = |values: &[Option<i32>], at: f64, expected: &str| {
        let arguments =
            [column_of(&SqlType::Int), percentage(ScalarValue::Float64(Some(at)), SqlType::Double)];
        let bound = bind("PERCENTILE", &arguments).unwrap();
        assert_eq!(bound.arguments, [SqlType::Double, SqlType::Double]);
        let column: Float64Array = values.iter().map(|value| value.map(f64::from)).collect();
        let columns: [ArrayRef; 2] = [Arc::new(column), Arc::new(Float64Array::from(vec![at; values.len()]))];
        assert_eq!(results(&bound, &columns), [expected, expected], "{at} of {values:?}");
    };
    check(&[Some(1), Some(2), Some(3), Some(4)], 0.5, "2.5");
    check(&[Some(4), None, Some(2), Some(3), Some(1)], 0.25, "1.75");
    check(&[Some(1), Some(2)], 0.0, "1.0");
    check(&[Some(1), Some(2)], 1.0, "2.0");
    check(&[Some(7), Some(7), Some(9)], 0.25, "7.0");
    check(&[None], 0.5, "NULL");
}

#[test]
fn percentiles_take_frequencies_and_arrays() {
    let list = ListArray::from_iter_primitive::<arrow::datatypes::Float64Type, _, _>([Some(vec![
        Some(0.0),
        Some(0.5),
    ])]);
    let of = SqlType::Array(Box::new(SqlType::Double));
    let many = percentage(ScalarValue::List(Arc::new(list.clone())), of);
    let bound = bind("PERCENTILE", &[column_of(&SqlType::Double), many, column_of(&SqlType::Int)]).unwrap();
    assert_eq!(bound.result.to_string(), "ARRAY<DOUBLE>");
    let lists = concat(&[&list, &list, &list, &list]).unwrap();
    let frequencies = big(&[Some(1), Some(3), None, Some(0)]).1;
    let columns = [double(&[1.0, 3.0, 100.0, 200.0]).1, lists, frequencies];
    assert_eq!(results(&bound, &columns), ["[1.0, 3.0]", "[1.0, 3.0]"]);

    let arguments = |literal| [column_of(&SqlType::Int), percentage(literal, SqlType::Double)];
    let beyond = arguments(ScalarValue::Float64(Some(1.5)));
    check_refused("PERCENTILE", &beyond, "the percentage is 1.5: it must lie between 0 and 1");
    let none = arguments(ScalarValue::Float64(None));
    let reason = "the percentage is no literal: write a number such as 0.95, or an array of them";
    check_refused("PERCENTILE", &none, reason);
    let half = arguments(ScalarValue::Decimal128(Some(5), 2, 1));
    assert!(bind("PERCENTILE", &half).is_ok());
}

#[test]
fn a_single_value_is_of_one_row() {
    check("SINGLE_VALUE", int(&[Some(1)]), "INT", "1");
    check("SINGLE_VALUE", int(&[None]), "INT", "NULL");
    check("SINGLE_VALUE", int(&[]), "INT", "NULL");
    check("SINGLE_VALUE", int(&[Some(1), Some(1)]), "INT", "NOT_ONE_ROW");
}

#[test]
fn distinct_values_count_once() {
    check_distinct("COUNT", int(&[Some(1), None, Some(2), Some(1), None]), "2");
    check_distinct("SUM", int(&[Some(1), None, Some(2), Some(1)]), "3");
    check_distinct("AVG", int(&[Some(1), Some(1), Some(3)]), "2");
    check_distinct("MAX", int(&[Some(1), Some(1)]), "1");
    check_distinct("COUNT", text(&[Some("a"), Some("b"), None, Some("a"), Some("")]), "3");
    check_distinct("COUNT", boolean(&[Some(true), Some(true), None]), "1");
    // For DISTINCT all NaNs are one value, and the two zeros are two values.
    let nan = f64::from_bits(0x7ff8_0000_0000_0001);
    check_distinct("COUNT", double(&[f64::NAN, nan, -f64::NAN, 0.0, -0.0]), "3");
    check_distinct("COUNT", float(&[f32::NAN, -f32::NAN]), "1");
    check("APPROX_COUNT_DISTINCT", double(&[f64::NAN, nan, 0.0, -0.0]), "BIGINT", "2");
    check("APPROX_COUNT_DISTINCT", text(&[Some("a"), Some("b"), None, Some("a"), Some("")]), "BIGINT", "3");
}

#[test]
fn what_does_not_fit_is_refused() {
    let one = |of: SqlType| [column_of(&of)];
    check_refused("SUM", &one(SqlType::STRING), "argument 1 is STRING");
    check_refused("AVG", &one(SqlType::Boolean), "argument 1 is BOOLEAN");
    check_refused("STDDEV", &one(SqlType::Date), "argument 1 is DATE");
    check_refused("SUM", &[], "0 arguments do not fit");
    check_refused("MIN", &[column_of(&SqlType::Int), column_of(&SqlType::Int)], "2 arguments do not fit");
    check_refused("MIN", &one(SqlType::BYTES), "argument 1 is BYTES");
    check_refused("MAX", &one(SqlType::DayTime), "argument 1 is INTERVAL DAY TO SECOND");
    check_refused("MIN", &one(SqlType::Array(Box::new(SqlType::Int))), "argument 1 is ARRAY<INT>");
    check_refused("FIRST_VALUE", &one(SqlType::Null), "argument 1 is NULL: cast it to a type");
    check_refused("APPROX_COUNT_DISTINCT", &one(SqlType::Boolean), "argument 1 is BOOLEAN");
    assert!(aggregate("count").is_none());
}

/// The field `can_retract` of each aggregate agrees with its accumulators.
#[test]
fn functions_say_what_they_can() {
    for function in aggregates() {
        let is_of_text = matches!(function.name, "LISTAGG" | "JSON_OBJECTAGG");
        let argument = if is_of_text { SqlType::STRING } else { SqlType::Int };
        let mut arguments = vec![column_of(&argument)];
        if function.name == "PERCENTILE" {
            arguments.push(percentage(ScalarValue::Float64(Some(0.5)), SqlType::Double));
        }
        let bound = bind(function.name, &arguments).unwrap();
        assert_eq!(bound.create_retractable.is_some(), function.can_retract, "{}", function.name);
        assert!(bound.create_retractable.is_none_or(|create| create().can_retract()), "{}", function.name);
    }
}

/// Aggregates never read values where a column is NULL, or where FILTER is not true.
#[test]
fn what_is_left_out_makes_no_difference() {
    let column = Int64Array::new(vec![1, 99, 2, 77].into(), Some(vec![true, false, true, true].into()));
    let keep = mask(&[Some(true), Some(true), None, Some(false)]);
    for name in ["SUM", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "AVG", "COUNT"] {
        for mut accumulator in kinds(&bind(name, &[column_of(&SqlType::BigInt)]).unwrap()) {
            accumulator.resize(1);
            accumulator.update(&[0; 4], &[Arc::new(column.clone())], Some(&keep));
            assert_eq!(shown(&accumulator.results(0..1).unwrap()), ["1"], "{name}");
        }
    }
}
