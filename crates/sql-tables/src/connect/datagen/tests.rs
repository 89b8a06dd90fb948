//! Generated rows follow their options, do not depend on batches, and come at their rate.

use thalweg_model::ProcessingTime;

use crate::connect::bed::{drain, restore, rows_of, saved, shown, sources, table};
use crate::connect::{World, check};
use crate::scan::rows::RowSource;
use thalweg_model::SourceStatus;

const SECOND: u64 = 1_000_000_000;

fn rows(columns: &str, options: &str) -> Vec<String> {
    let declaration = format!("CREATE TABLE t ({columns}) WITH ('connector' = 'datagen', {options})");
    rows_of(&table(&declaration), &World::default(), 4_096).unwrap()
}

fn wrong(columns: &str, options: &str) -> String {
    let declaration = format!("CREATE TABLE t ({columns}) WITH ('connector' = 'datagen', {options})");
    check(&table(&declaration)).unwrap_err().to_string()
}

/// A table of several sequences ends with the shortest of them.
#[test]
fn sequences() {
    let sequence = |column: &str, start: &str, end: &str| {
        format!(
            "'fields.{column}.kind' = 'sequence', 'fields.{column}.start' = '{start}', 'fields.{column}.end' = '{end}'"
        )
    };
    let two = format!("{}, {}", sequence("a", "1", "5"), sequence("b", "-1", "1"));
    assert_eq!(rows("a INT, b BIGINT", &two), ["1,-1", "2,0", "3,1"]);
    let of = |of: &str, start: &str, end: &str| rows(&format!("a {of}"), &sequence("a", start, end));
    assert_eq!(of("TINYINT", "126", "127"), ["126", "127"]);
    assert_eq!(of("DOUBLE", "1", "2"), ["1.0", "2.0"]);
    assert_eq!(of("FLOAT", "1", "2"), ["1.0", "2.0"]);
    assert_eq!(of("DECIMAL(5, 2)", "-1", "1"), ["-1.00", "0.00", "1.00"]);
    assert_eq!(of("STRING", "9", "10"), ["9", "10"]);
    assert_eq!(of("BIGINT", "9223372036854775807", "9223372036854775807"), ["9223372036854775807"]);
    assert_eq!(of("BYTES", "65", "65"), ["\0\0\0\0\0\0\0A"]);
    let bounded = format!("{}, 'number-of-rows' = '2'", sequence("a", "1", "5"));
    assert_eq!(rows("a INT", &bounded), ["1", "2"]);
}

#[test]
fn options_that_are_wrong() {
    let check = |columns: &str, options: &str, expected: &str| {
        let found = wrong(columns, options);
        assert!(found.contains(expected), "{options}: {found}");
    };
    check("a INT", "'rows-per-second' = '0'", "from 1 on");
    check("a INT", "'rows-per-second' = 'many'", "'many' is not a number of rows");
    check("a INT", "'number-of-rows' = '-1'", "from 0 on");
    check("a INT", "'fields.a.kind' = 'prime'", "'prime' is not among 'random', 'sequence'");
    check("a INT", "'fields.a.kind' = 'sequence', 'fields.a.start' = '1'", "needs the option 'fields.a.end'");
    check(
        "a INT",
        "'fields.a.kind' = 'sequence', 'fields.a.start' = '5', 'fields.a.end' = '1'",
        "is below the start",
    );
    check(
        "a TINYINT",
        "'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '128'",
        "from -128 to 127",
    );
    check(
        "a DATE",
        "'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '2'",
        "write 'random'",
    );
    check("a INT", "'fields.a.min' = '2', 'fields.a.max' = '1'", "'1' is below the minimum, '2'");
    check("a INT", "'fields.a.min' = '2147483648'", "is not a whole number from");
    check("a INT", "'fields.a.length' = '3'", "has no option 'fields.a.length'");
    check("a DOUBLE", "'fields.a.min' = 'NaN'", "is not a number of this type");
    check("a CHAR(3)", "'fields.a.length' = '2'", "fixed length");
    check("a VARCHAR(3)", "'fields.a.length' = '4'", "from 0 to 3");
    check("a STRING", "'fields.a.length' = '100000000'", "from 0 to 1048576");
    check("a STRING", "'fields.a.null-rate' = '1.5'", "from 0 to 1");
    check("a STRING NOT NULL", "'fields.a.null-rate' = '0.5'", "is NOT NULL");
    check("a TIMESTAMP(3)", "'fields.a.max-past' = 'long'", "is no duration");
    check(
        "a ARRAY<STRING>",
        "'fields.a.length' = '4096', 'fields.a.element.length' = '100000'",
        "are the most that is made",
    );
    check("a MAP<STRING, INT>", "'fields.a.key.null-rate' = '1'", "never NULL");
    check("a ROW<b INT>", "'fields.a.c.min' = '1'", "did you mean 'fields.a.b.min'?");
}

/// Random values of every type are within the bounds of their options.
#[test]
fn random_values_of_every_type() {
    let of = |of: &str, options: &str| {
        rows(
            &format!("a {of}"),
            &format!("'number-of-rows' = '500', 'rows-per-second' = '9223372036854775807'{options}"),
        )
    };
    let numbers = |of_type: &str, options: &str| -> Vec<f64> {
        of(of_type, options).iter().map(|text| text.parse().unwrap()).collect()
    };
    let between = |values: &[f64], least: f64, most: f64| {
        assert!(values.iter().all(|value| (least..=most).contains(value)), "{values:?}");
    };
    for kind in ["TINYINT", "SMALLINT", "INT", "BIGINT"] {
        let values = numbers(kind, ", 'fields.a.min' = '-3', 'fields.a.max' = '3'");
        between(&values, -3.0, 3.0);
        (-3..=3).for_each(|value| assert!(values.contains(&f64::from(value)), "{kind} {value}"));
        assert!(numbers(kind, "").iter().any(|value| *value < 0.0));
    }
    between(&numbers("DOUBLE", ", 'fields.a.min' = '0.5', 'fields.a.max' = '0.75'"), 0.5, 0.75);
    between(&numbers("FLOAT", ", 'fields.a.min' = '-1', 'fields.a.max' = '1'"), -1.0, 1.0);
    between(&numbers("DECIMAL(5, 2)", ""), -999.99, 999.99);
    between(&numbers("DECIMAL(38, 0)", ""), -1e38, 1e38);
    between(&numbers("DECIMAL(5, 2)", ", 'fields.a.min' = '1', 'fields.a.max' = '1e9'"), 1.0, 999.99);
    assert!(numbers("DOUBLE", "").iter().all(|value| value.is_finite()));
    let booleans = of("BOOLEAN", "");
    assert!(booleans.contains(&"TRUE".to_owned()) && booleans.contains(&"FALSE".to_owned()));
    let lengths = |rows: Vec<String>| {
        let mut lengths: Vec<usize> = rows.iter().map(|text| text.chars().count()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    };
    assert!(of("STRING", "").iter().all(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit())));
    assert_eq!(lengths(of("STRING", "")), [100]);
    assert_eq!(lengths(of("VARCHAR(7)", "")), [7]);
    assert_eq!(lengths(of("CHAR(3)", "")), [3]);
    assert_eq!(lengths(of("STRING", ", 'fields.a.length' = '0'")), [0]);
    assert_eq!(lengths(of("STRING", ", 'fields.a.length' = '3', 'fields.a.var-len' = 'true'")), [1, 2, 3]);
    assert_eq!(of("BYTES", "").len(), 500);
    assert!(of("DATE", "").iter().all(|day| day == "1970-01-01"));
    assert!(of("TIME(3)", "").iter().all(|time| time == "00:00:01.0"));
    assert!(of("TIMESTAMP(3)", "").iter().all(|time| time == "1970-01-01 00:00:01.000"));
    let past = of("TIMESTAMP_LTZ(6)", ", 'fields.a.max-past' = '500 ms'");
    assert!(
        past.iter().all(|time| "1970-01-01 00:00:00.500000" < time.as_str()
            && time.as_str() <= "1970-01-01 00:00:01.000000"),
        "{past:?}"
    );
    assert_eq!(
        of("ARRAY<INT>", ", 'fields.a.element.min' = '1', 'fields.a.element.max' = '1'")[0],
        "[1, 1, 1]"
    );
    assert_eq!(of("ROW<b INT, c BOOLEAN>", "").len(), 500);
    // A BOOLEAN has only two keys, so a map of three drawn entries keeps one or two.
    let maps = of("MAP<BOOLEAN, INT>", ", 'fields.a.value.min' = '7', 'fields.a.value.max' = '7'");
    assert!(maps.iter().all(|map| map.matches("=7").count() <= 2), "{maps:?}");
    assert!(maps.iter().any(|map| map.matches("=7").count() == 1));
    let nulls = of("INT", ", 'fields.a.null-rate' = '0.5'").iter().filter(|text| *text == "NULL").count();
    assert!((200..300).contains(&nulls), "{nulls}");
    assert!(of("STRING", ", 'fields.a.null-rate' = '1'").iter().all(|text| text == "NULL"));
}

/// Generated rows depend neither on the size of batches nor on where reading continues.
#[test]
fn rows_follow_from_the_seed_only() {
    let of = table(
        "CREATE TABLE t (a INT, b STRING, c ARRAY<DOUBLE>, d MAP<INT, STRING>, e DECIMAL(38, 3), f BYTES) WITH (
         'connector' = 'datagen', 'number-of-rows' = '100', 'fields.b.var-len' = 'true', 'fields.a.null-rate' = '0.3')",
    );
    let world = World { seed: 7, ..World::default() };
    let all = rows_of(&of, &world, 4_096).unwrap();
    assert_eq!(all.len(), 100);
    for rows_max in [1, 3, 99] {
        assert_eq!(rows_of(&of, &world, rows_max).unwrap(), all, "{rows_max}");
    }
    assert_ne!(rows_of(&of, &World { seed: 8, ..World::default() }, 4_096).unwrap(), all);
    let mut first = sources(&of, &world).unwrap();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let polled = first[0].poll(ProcessingTime::from_nanos(SECOND), 7).unwrap();
        seen.extend(polled.rows.iter().flat_map(shown));
    }
    let mut second = sources(&of, &world).unwrap();
    restore(second[0].as_mut(), &saved(first[0].as_ref())).unwrap();
    seen.extend(drain(second[0].as_mut(), 50).unwrap());
    assert_eq!(seen, all);
}

/// Two generated columns, and two tables, draw different values.
#[test]
fn columns_differ() {
    let found = rows("a BIGINT, b BIGINT", "'number-of-rows' = '50'");
    assert!(found.iter().all(|row| row.split_once(',').is_some_and(|(a, b)| a != b)));
}

/// Generated rows are due at even intervals from the first poll on, and overdue rows are generated
/// at once. Each has arrived when it was due.
#[test]
fn rows_come_at_their_pace() {
    let of = table("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')");
    let mut found = sources(&of, &World::default()).unwrap();
    let mut poll = |at_ms: u64, rows_max: usize| {
        let polled =
            found[0].poll(ProcessingTime::from_nanos(5 * SECOND + at_ms * 1_000_000), rows_max).unwrap();
        let ms = |at: ProcessingTime| at.as_nanos().wrapping_sub(5 * SECOND) / 1_000_000;
        let status = match polled.status {
            SourceStatus::IdleUntil(at) => format!("idle until {}", ms(at)),
            SourceStatus::DueSince(at) => format!("due since {}", ms(at)),
            other => format!("{other:?}"),
        };
        (polled.rows.map_or(0, |rows| rows.columns.num_rows()), status, found[0].arrived().map(ms))
    };
    assert_eq!(poll(0, 100), (1, "idle until 100".to_owned(), Some(0)));
    assert_eq!(poll(50, 100), (0, "idle until 100".to_owned(), Some(0)));
    assert_eq!(poll(100, 100), (1, "idle until 200".to_owned(), Some(100)));
    assert_eq!(poll(1_000, 4), (4, "due since 600".to_owned(), Some(500)));
    assert_eq!(poll(1_000, 100), (5, "idle until 1100".to_owned(), Some(1_000)));
}

/// A rate of the greatest BIGINT means that generated rows are not limited by a rate.
#[test]
fn without_a_pace_rows_are_always_ready() {
    let of = table(
        "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '9223372036854775807')",
    );
    let mut found = sources(&of, &World::default()).unwrap();
    for _ in 0..10 {
        let polled = found[0].poll(ProcessingTime::ZERO, 1_000).unwrap();
        assert_eq!(polled.rows.unwrap().columns.num_rows(), 1_000);
        assert_eq!((polled.status, found[0].arrived()), (SourceStatus::Ready, None));
    }
}

/// Measures the speed of generating numeric rows; run it by name in a release build.
#[test]
#[ignore = "measures"]
fn speed() {
    let of = table(
        "CREATE TABLE t (a INT, b BIGINT, c DOUBLE) WITH ('connector' = 'datagen', 'rows-per-second' = '9223372036854775807',
         'fields.a.min' = '0', 'fields.a.max' = '999', 'fields.c.min' = '0', 'fields.c.max' = '1')",
    );
    let mut found = sources(&of, &World::default()).unwrap();
    let source: &mut dyn RowSource = found[0].as_mut();
    let begin = std::time::Instant::now();
    let mut rows = 0;
    while rows < 20_000_000 {
        rows +=
            source.poll(ProcessingTime::ZERO, 4_096).unwrap().rows.map_or(0, |rows| rows.columns.num_rows());
    }
    println!("{:.1} M rows/s", rows as f64 / begin.elapsed().as_secs_f64() / 1e6);
}
