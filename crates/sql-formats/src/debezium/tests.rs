//! Tests of the format `debezium-json`, with examples of Flink's documentation and the rows of its
//! `DebeziumJsonSerDeSchemaTest`.

use crate::tests::{bind, check as check_format, read, rewrite};

const TABLE: &str = "id INT NOT NULL, name STRING, description STRING, weight FLOAT";

fn check(line: &str, expected: &str) {
    check_format("debezium-json", TABLE, line, expected);
    // The same records are read again, each as the payload of an outer object with a schema.
    let lines: Vec<_> = line
        .lines()
        .map(|line| format!("{{\"schema\":{{\"type\":\"struct\",\"fields\":[{{}}]}},\"payload\":{line}}}"))
        .collect();
    let format = bind("debezium-json debezium-json.schema-include=true", TABLE).expect("it is bound");
    let rows: Vec<_> = read(&format, lines.join("\n").as_bytes()).rows;
    assert_eq!(rows, read(&bind("debezium-json", TABLE).expect("it is bound"), line.as_bytes()).rows);
}

/// Every operation of Debezium gives its rows. Unused parts of a record are ignored, and keys come in
/// any order.
#[test]
fn operations() {
    check(
        r#"{"before":null,"after":{"id":101,"name":"scooter","description":"Small 2-wheel scooter","weight":3.14},"source":{"version":"1.1.1.Final","ts_ms":0,"snapshot":"true"},"op":"c","ts_ms":1589355606100,"transaction":null}"#,
        "+I(101, scooter, Small 2-wheel scooter, 3.14)",
    );
    check(r#"{"op":"r","after":{"id":101,"weight":3.14}}"#, "+I(101, NULL, NULL, 3.14)");
    check(
        r#"{"before":{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.18},"after":{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.15},"source":{},"op":"u","ts_ms":1589362330904,"transaction":null}"#,
        "-U(111, scooter, Big 2-wheel scooter, 5.18) +U(111, scooter, Big 2-wheel scooter, 5.15)",
    );
    check(
        r#"{"before":{"id":111,"name":"scooter","description":"Big 2-wheel scooter ","weight":5.17},"after":null,"op":"\u0064"}"#,
        "-D(111, scooter, Big 2-wheel scooter , 5.17)",
    );
    check("\n \n", "");
}

/// A Debezium record that lacks a part which its operation needs is bad as a whole.
#[test]
fn bad_changes() {
    check(
        "{\"before\":null,\"after\":{\"id\":1},\"op\":\"u\"}\n{\"after\":{\"id\":1},\"op\":\"d\"}\n{\"after\":null,\"op\":\"c\"}",
        "!1 at 0: the record has no 'before', which its 'op' asks for: with PostgreSQL, set REPLICA IDENTITY of the table to FULL \
         !2 at 42: the record has no 'before', which its 'op' asks for: with PostgreSQL, set REPLICA IDENTITY of the table to FULL \
         !3 at 70: the record has no 'after', which its 'op' asks for",
    );
    check(
        "{\"after\":{\"id\":1},\"op\":\"t\"}\n{\"after\":{\"id\":1}}\n{\"after\":[],\"op\":\"c\"}\n{\"op\":null}\n[]",
        "!1 at 0: 'op' is t, which is none of \"c\", \"r\", \"u\" and \"d\" !2 at 28: the record has no 'op' \
         !3 at 47: 'after' is [], which is no object !4 at 69: 'op' is null, which is none of \"c\", \"r\", \"u\" and \"d\" \
         !5 at 81: '[' at byte 0 of the record, where '{' should be",
    );
    check(
        "{\"before\":{\"id\":1},\"after\":{\"id\":\"x\"},\"op\":\"u\"}\n{\"after\":{\"id\":2},\"op\":\"c\"}\n\
         {\"before\":{\"id\":3},\"after\":{\"name\":\"x\"},\"op\":\"u\"}",
        "+I(2, NULL, NULL, NULL) !1 at 0 id: 'x' does not fit INT !3 at 76 id: has no value, but is NOT NULL",
    );
    let format = bind("debezium-json debezium-json.ignore-parse-errors=true", TABLE).expect("it is bound");
    let found = read(
        &format,
        b"{\"op\":\"d\"}\n{\"op\":\"x\"}\n{\"after\":{\"id\":1,\"weight\":\"y\"},\"op\":\"c\"}\nx\n",
    );
    assert_eq!(found.rows, ["+I(1, NULL, NULL, NULL)"]);
    assert_eq!((found.ignored.values, found.ignored.records), (1, 3));
    check_format(
        "debezium-json debezium-json.schema-include=true",
        TABLE,
        "{\"op\":\"c\",\"after\":{\"id\":1}}",
        "!1 at 0: the record has no object 'payload': unset 'debezium-json.schema-include'",
    );
}

/// The two halves of an update are written as separate changes for Debezium: a deleted row and a created
/// row.
#[test]
fn changes_are_written() {
    let update = "{\"before\":{\"id\":106,\"name\":\"hammer\",\"description\":\"16oz carpenter's hammer\",\"weight\":1.0},\
                  \"after\":{\"id\":106,\"name\":\"hammer\",\"description\":null,\"weight\":5.1},\"op\":\"u\"}\n\
                  {\"before\":{\"id\":7},\"op\":\"d\"}\n{\"after\":{\"id\":8,\"weight\":22.2},\"op\":\"r\"}\n";
    assert_eq!(
        rewrite("debezium-json", TABLE, update).as_deref(),
        Ok(
            "{\"before\":{\"id\":106,\"name\":\"hammer\",\"description\":\"16oz carpenter's hammer\",\"weight\":1.0},\"after\":null,\"op\":\"d\"}\n\
            {\"before\":null,\"after\":{\"id\":106,\"name\":\"hammer\",\"description\":null,\"weight\":5.1},\"op\":\"c\"}\n\
            {\"before\":{\"id\":7,\"name\":null,\"description\":null,\"weight\":null},\"after\":null,\"op\":\"d\"}\n\
            {\"before\":null,\"after\":{\"id\":8,\"name\":null,\"description\":null,\"weight\":22.2},\"op\":\"c\"}\n"
        ),
    );
    assert_eq!(
        rewrite(
            "debezium-json debezium-json.encode.ignore-null-fields=true",
            TABLE,
            "{\"before\":{\"id\":7},\"op\":\"d\"}"
        )
        .as_deref(),
        Ok("{\"before\":{\"id\":7},\"op\":\"d\"}\n"),
    );
    let format = bind("debezium-json debezium-json.schema-include=true", TABLE).expect("it is bound");
    assert_eq!(
        format.encoder().map(|_| ()).map_err(|error| error.to_string()),
        Err("option 'debezium-json.schema-include': schemas are read, but not written: unset it for a table that is written to".to_owned()),
    );
}
