//! Tests of SQL functions that choose among values, mostly of NULL in three-valued logic.

use super::*;
use crate::functions::bed::called;

fn check(name: &str, written: &[&str], expected: &str) {
    assert_eq!(called(CONDITIONAL, name, written), expected, "{name}{written:?}");
}

#[test]
fn the_first_value_that_is_known() {
    check("COALESCE", &["INT: NULL", "INT: 2", "INT: 3"], "INT: 2");
    check("COALESCE", &["INT: 1", "INT: NULL"], "INT: 1");
    check("COALESCE", &["INT: NULL", "INT: NULL"], "INT: NULL");
    check("COALESCE", &["INT: NULL", "BIGINT: 2"], "BIGINT: 2");
    check("COALESCE", &["NULL", "DECIMAL(3, 1): 2.5", "INT: 1"], "DECIMAL(11, 1): 2.5");
    check("COALESCE", &["STRING: NULL", "CHAR(1): x"], "STRING: x");
    check("COALESCE", &["INT: 5"], "INT: 5");
    check("COALESCE", &["INT: NULL", "STRING: x"], "refused");
    check("COALESCE", &[], "refused");
    check("IFNULL", &["INT: NULL", "INT: 5"], "INT: 5");
    check("IFNULL", &["INT: 1", "INT: 5"], "INT: 1");
    check("IFNULL", &["INT: 1"], "refused");
}

#[test]
fn null_instead_of_a_value() {
    check("NULLIF", &["INT: 5", "INT: 5"], "INT: NULL");
    check("NULLIF", &["INT: 5", "INT: 0"], "INT: 5");
    check("NULLIF", &["INT: 5", "BIGINT: 5"], "INT: NULL");
    check("NULLIF", &["INT: 5", "DECIMAL(3, 1): 5.0"], "INT: NULL");
    check("NULLIF", &["INT: 5", "INT: NULL"], "INT: 5");
    check("NULLIF", &["INT: NULL", "INT: 5"], "INT: NULL");
    check("NULLIF", &["DOUBLE: NaN", "DOUBLE: NaN"], "DOUBLE: NaN");
    check("NULLIF", &["STRING: ", "STRING: "], "STRING: NULL");
    check("NULLIF", &["DATE: 2021-01-01", "STRING: 2021-01-01"], "DATE: NULL");
    check("NULLIF", &["INT: 5", "STRING: 5"], "refused");
}

#[test]
fn one_or_the_other() {
    check("IF", &["BOOLEAN: TRUE", "INT: 1", "INT: 2"], "INT: 1");
    check("IF", &["BOOLEAN: FALSE", "INT: 1", "INT: 2"], "INT: 2");
    check("IF", &["BOOLEAN: NULL", "INT: 1", "INT: 2"], "INT: 2");
    check("IF", &["BOOLEAN: TRUE", "INT: NULL", "INT: 2"], "INT: NULL");
    check("IF", &["BOOLEAN: TRUE", "INT: 1", "DOUBLE: 2.5"], "DOUBLE: 1.0");
    check("IF", &["BOOLEAN: TRUE", "STRING: a", "CHAR(2): bc"], "STRING: a");
    check("IF", &["INT: 1", "INT: 1", "INT: 2"], "refused");
    check("IF", &["BOOLEAN: TRUE", "INT: 1", "STRING: 2"], "refused");
    check("IF", &["BOOLEAN: TRUE", "INT: 1"], "refused");
}

#[test]
fn what_text_looks_like() {
    check("IS_ALPHA", &["STRING: abc"], "BOOLEAN: TRUE");
    check("IS_ALPHA", &["STRING: äß漢"], "BOOLEAN: TRUE");
    check("IS_ALPHA", &["STRING: asd-123"], "BOOLEAN: FALSE");
    check("IS_ALPHA", &["STRING: "], "BOOLEAN: FALSE");
    check("IS_ALPHA", &["STRING: NULL"], "BOOLEAN: FALSE");
    check("IS_ALPHA", &["INT: 1"], "BOOLEAN: FALSE");
    check("IS_DECIMAL", &["STRING: 12.5"], "BOOLEAN: TRUE");
    check("IS_DECIMAL", &["STRING: -1e5"], "BOOLEAN: TRUE");
    check("IS_DECIMAL", &["STRING: 1x"], "BOOLEAN: FALSE");
    check("IS_DECIMAL", &["STRING: "], "BOOLEAN: FALSE");
    check("IS_DECIMAL", &["DOUBLE: 1.5"], "BOOLEAN: TRUE");
    check("IS_DECIMAL", &["DOUBLE: NULL"], "BOOLEAN: FALSE");
    check("IS_DIGIT", &["STRING: 123"], "BOOLEAN: TRUE");
    check("IS_DIGIT", &["STRING: 12.3"], "BOOLEAN: FALSE");
    check("IS_DIGIT", &["STRING: -1"], "BOOLEAN: FALSE");
    check("IS_DIGIT", &["BIGINT: 1"], "BOOLEAN: TRUE");
    check("IS_DIGIT", &["DOUBLE: 1"], "BOOLEAN: FALSE");
    check("IS_DIGIT", &["DATE: 2021-01-01"], "refused");
    check("IS_DIGIT", &[], "refused");
}
