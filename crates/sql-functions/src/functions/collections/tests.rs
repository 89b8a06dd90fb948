//! Tests of SQL functions of arrays and maps. Expected results come from Flink's documentation and its
//! `CollectionFunctionsITCase`, `ArrayTypeTest` and `MapTypeTest`, or were computed by hand.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::datatypes::Int32Type;

use super::COLLECTIONS;
use crate::functions::each::bed;
use crate::functions::text::TEXT;
use crate::functions::{Argument, Function};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

fn check(call: &str, expected: &str) {
    bed::check(COLLECTIONS, call, expected);
}

fn refused(call: &str, part: &str) {
    let message = bed::refusal(COLLECTIONS, call);
    assert!(message.contains(part), "{call}: '{message}' does not contain '{part}'");
}

#[test]
fn elements_are_counted_and_found() {
    check("CARDINALITY(ARRAY[1, 2, NULL])", "3");
    check("CARDINALITY(ARRAY[])", "0");
    check("ELEMENT(ARRAY['a'])", "a");
    check("ELEMENT(ARRAY[])", "NULL");
    check(
        "ELEMENT(ARRAY[1, 2])",
        "error: NOT_ONE_ELEMENT: the array has 2 elements: ELEMENT takes arrays of one",
    );
    check("ITEM(ARRAY['a', 'b'], 2)", "b");
    check("ITEM(ARRAY['a', 'b'], 3)", "NULL");
    check("ITEM(ARRAY['a', NULL], 2)", "NULL");
    check("ITEM(ARRAY['a'], NULL)", "NULL");
    check("ITEM(ARRAY[ARRAY[1], ARRAY[2, 3]], 2)", "[2, 3]");
    refused("ITEM(ARRAY['a'], 0)", "the index 0 is none");
    refused("ITEM(ARRAY['a'], 'x')", "argument 2 is STRING");
    check("ARRAY_CONTAINS(ARRAY[1, 2, 3], 2)", "true");
    check("ARRAY_CONTAINS(ARRAY[1, 2, 3], 4)", "false");
    check("ARRAY_CONTAINS(ARRAY[1, NULL], NULL)", "true");
    check("ARRAY_CONTAINS(ARRAY[1], NULL)", "false");
    check("ARRAY_CONTAINS(ARRAY[ARRAY['a']], ARRAY['a'])", "true");
    refused("ARRAY_CONTAINS(ARRAY[1], 'x')", "argument 2 is STRING");
    check("ARRAY_POSITION(ARRAY[1, 2, 2], 2)", "2");
    check("ARRAY_POSITION(ARRAY[1, 2, 2], 3)", "0");
    check("ARRAY_POSITION(ARRAY[1, NULL], NULL)", "NULL");
    check("ARRAY_MAX(ARRAY[3, NULL, 7, -1])", "7");
    check("ARRAY_MIN(ARRAY[3, NULL, 7, -1])", "-1");
    check("ARRAY_MIN(ARRAY['ä', 'b'])", "b");
    check("ARRAY_MAX(ARRAY[])", "NULL");
    check("ARRAY_MAX(ARRAY[NULL])", "NULL");
    refused("ARRAY_MAX(ARRAY[TRUE])", "values of BOOLEAN have no order");
    refused("ARRAY_MIN(ARRAY[FALSE])", "have no order");
    check("ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-')", "a-b");
    check("ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-', '*')", "a-*-b");
    check("ARRAY_JOIN(ARRAY['a', 'b'], NULL)", "NULL");
    check("ARRAY_JOIN(ARRAY['a', NULL], '-', NULL)", "NULL");
    refused("ARRAY_JOIN(ARRAY[1], '-')", "argument 1 is ARRAY<INT>");
    refused("CARDINALITY('a')", "argument 1 is STRING");
}

#[test]
fn arrays_become_other_arrays() {
    for (call, expected) in [
        ("ARRAY_APPEND(ARRAY[1, 2], 3)", "[1, 2, 3]"),
        ("ARRAY_APPEND(ARRAY[1], NULL)", "[1, NULL]"),
        ("ARRAY_APPEND(ARRAY[1], L4)", "[1, 4]"),
        ("ARRAY_PREPEND(ARRAY['a'], 'b')", "[b, a]"),
        ("ARRAY_REMOVE(ARRAY[1, 2, NULL, 2], 2)", "[1, NULL]"),
        ("ARRAY_REMOVE(ARRAY[1, NULL], NULL)", "[1]"),
        ("ARRAY_DISTINCT(ARRAY[2, 1, 2, NULL, NULL])", "[2, 1, NULL]"),
        ("ARRAY_REVERSE(ARRAY[1, NULL, 3])", "[3, NULL, 1]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 2, 3)", "[2, 3]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 2)", "[2, 3, 4]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], -3, -2)", "[2, 3]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 0, 2)", "[1, 2]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 3, 2)", "[]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 20, 30)", "[]"),
        ("ARRAY_SLICE(ARRAY[1, 2, 3, 4], -20, 30)", "[1, 2, 3, 4]"),
        ("ARRAY_SLICE(ARRAY[1, 2], 1, 0)", "[1]"),
        ("ARRAY_SLICE(ARRAY[], 1, 0)", "[]"),
        ("ARRAY_SLICE(ARRAY[1], 1, NULL)", "NULL"),
        ("ARRAY_SORT(ARRAY[2, NULL, 1])", "[NULL, 1, 2]"),
        ("ARRAY_SORT(ARRAY[2, NULL, 1], FALSE)", "[2, 1, NULL]"),
        ("ARRAY_SORT(ARRAY[2, NULL, 1], TRUE, FALSE)", "[1, 2, NULL]"),
        ("ARRAY_SORT(ARRAY[2, NULL, 1], FALSE, TRUE)", "[NULL, 2, 1]"),
        ("ARRAY_SORT(ARRAY[2, 1], NULL)", "NULL"),
        ("ARRAY_CONCAT(ARRAY[1], ARRAY[NULL, 2], ARRAY[1])", "[1, NULL, 2, 1]"),
        ("ARRAY_CONCAT(ARRAY['a'])", "[a]"),
        ("ARRAY_UNION(ARRAY[1, 2, 2], ARRAY[3, 1, NULL])", "[1, 2, 3, NULL]"),
        ("ARRAY_EXCEPT(ARRAY[1, 2, 2, NULL], ARRAY[1])", "[2, NULL]"),
        ("ARRAY_EXCEPT(ARRAY[1, 1], ARRAY[1])", "[]"),
        ("ARRAY_INTERSECT(ARRAY[3, 1, 1, 2], ARRAY[1, 3])", "[3, 1]"),
    ] {
        check(call, expected);
    }
    refused("ARRAY_UNION(ARRAY[1], ARRAY['a'])", "argument 2 is ARRAY<STRING>");
    refused("ARRAY_CONCAT()", "0 arguments");
    refused("ARRAY_SORT(ARRAY[1], 1)", "argument 2 is INT");
    refused("ARRAY_SORT(ARRAY[TRUE])", "have no order");
}

/// Functions from and to maps give the expected results; the maps come from STR_TO_MAP, which is tested
/// elsewhere.
#[test]
fn maps_are_taken_apart_and_put_together() {
    let map = |text: &str| {
        let of = SqlType::Map(Box::new(SqlType::STRING), Box::new(SqlType::STRING));
        (evaluate(TEXT, "STR_TO_MAP", &[(ScalarValue::from(text), SqlType::STRING)]), of)
    };
    let check = |name: &str, arguments: &[(ScalarValue, SqlType)], expected: &str| {
        let shown = evaluate(COLLECTIONS, name, arguments);
        let array = shown.to_array().expect("an array");
        let text = arrow::util::display::array_value_to_string(array.as_ref(), 0).expect("text");
        assert_eq!(text, expected, "{name}");
    };
    let key = |text: &str| (ScalarValue::from(text), SqlType::STRING);
    check("CARDINALITY", &[map("a=1,b=2")], "2");
    check("ITEM", &[map("a=1,b=2"), key("b")], "2");
    check("ITEM", &[map("a=1,b=2"), key("c")], "");
    check("MAP_KEYS", &[map("a=1,b=2")], "[a, b]");
    check("MAP_VALUES", &[map("a=1,b")], "[1, ]");
    check("MAP_ENTRIES", &[map("a=1,b=2")], "[{key: a, value: 1}, {key: b, value: 2}]");
    check("MAP_UNION", &[map("a=1,b=2"), map("b=3,c=4")], "{a: 1, b: 3, c: 4}");
    check("MAP_UNION", &[map("")], "{}");
    bed::check(COLLECTIONS, "MAP_FROM_ARRAYS(ARRAY['a', 'b', 'a'], ARRAY[1, NULL, 3])", "{a: 3, b: NULL}");
    bed::check(
        COLLECTIONS,
        "MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1, 2])",
        "error: BAD_ARGUMENT: 1 keys cannot be paired with 2 values",
    );
    bed::check(
        COLLECTIONS,
        "MAP_FROM_ARRAYS(ARRAY[NULL, 'a'], ARRAY[1, 2])",
        "error: BAD_ARGUMENT: a key is NULL",
    );
    refused("MAP_KEYS(ARRAY[1])", "argument 1 is ARRAY<INT>");
    refused("ITEM(1, 1)", "argument 1 is INT");
}

fn evaluate(functions: &[Function], name: &str, arguments: &[(ScalarValue, SqlType)]) -> ScalarValue {
    let function = functions.iter().find(|function| function.name == name).expect("a function");
    let given: Vec<Argument> = arguments
        .iter()
        .map(|(_, of)| Argument { of: of.clone(), is_nullable: false, literal: None })
        .collect();
    let bound = (function.bind)(&given, &bed::context("UTC")).expect("bound");
    let scalars: Vec<ColumnarValue> =
        arguments.iter().map(|(scalar, _)| ColumnarValue::Scalar(scalar.clone())).collect();
    match bound.kernel.evaluate(&scalars, 1).expect("a result") {
        ColumnarValue::Scalar(scalar) => scalar,
        ColumnarValue::Array(_) => panic!("scalars must give a scalar"),
    }
}

/// Array functions read the right elements of a sliced column, whose offsets do not begin at 0.
#[test]
fn sliced_columns_are_read_where_they_begin() {
    let call = |name: &str, list: &Arc<dyn Array>, of: SqlType| {
        let function = COLLECTIONS.iter().find(|function| function.name == name).expect("a function");
        let given = Argument { of, is_nullable: true, literal: None };
        let bound = (function.bind)(&[given], &bed::context("UTC")).expect("bound");
        let result =
            bound.kernel.evaluate(&[ColumnarValue::Array(list.clone())], list.len()).expect("a result");
        let ColumnarValue::Array(result) = result else { panic!("a column gives a column") };
        result
    };
    let of = SqlType::Array(Box::new(SqlType::Int));
    let rows = [vec![1, 2], vec![4, 3], vec![], vec![5]];
    let rows = rows.map(|row| Some(row.into_iter().map(Some)));
    let column: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows));
    let sliced = column.slice(1, 3);
    let lengths = call("CARDINALITY", &sliced, of.clone());
    assert_eq!(lengths.as_primitive::<Int32Type>().values(), &[2, 0, 1]);
    let reversed = call("ARRAY_REVERSE", &sliced, of.clone());
    let shown =
        |row: usize| arrow::util::display::array_value_to_string(reversed.as_ref(), row).expect("text");
    assert_eq!([shown(0), shown(1), shown(2)], ["[3, 4]", "[]", "[5]"]);
    let greatest = call("ARRAY_MAX", &sliced, of);
    assert_eq!(greatest.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(4), None, Some(5)]);
}

#[test]
fn collections_of_values_have_types() {
    refused("ARRAY(1, 'a')", "which have no common type");
    refused("MAP('a')", "a value for every key");
    refused("ROW(1, NULL)", "CAST(NULL AS ..)");
}
