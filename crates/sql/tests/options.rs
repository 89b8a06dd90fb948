//! Tests with random table options: known keys and words that are nearly known, with values that are too
//! large, too long, below zero, or of another type. The result is a job that can be checked or an error with
//! a code, and never a panic.
//!
//! `THALWEG_FUZZ` is the number of declared tables, `THALWEG_SEED_BASE` the first seed; each table has its
//! own seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_model::{Entropy, SeededEntropy, VirtualClock};
use thalweg_sql::connect::World;
use thalweg_sql::job::check;
use thalweg_sql::session::{Action, Session};

const CONNECTORS: [&str; 12] = [
    "filesystem",
    "datagen",
    "print",
    "blackhole",
    "socket",
    "stdin",
    "stdout",
    "nexmark",
    "ysb",
    "kafka",
    "Filesystem",
    "",
];
const FORMATS: [&str; 8] = ["csv", "json", "debezium-json", "raw", "parquet", "avro", "CSV", ""];
const COLUMNS: [&str; 8] = [
    "a INT, b STRING",
    "a BIGINT NOT NULL, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "a STRING",
    "a DECIMAL(38, 38), b ARRAY<INT>, c MAP<STRING, INT>, d ROW<x INT>",
    "a TIMESTAMP_LTZ(9), b TIME, c BYTES, d BOOLEAN, e DATE, f CHAR(3)",
    "a INT, f STRING METADATA FROM 'file.path', p INT",
    "a INT, b AS a + 1, PRIMARY KEY (a) NOT ENFORCED",
    "auction BIGINT, bidder BIGINT, price BIGINT",
];
const KEYS: [&str; 66] = [
    "path",
    "format",
    "hostname",
    "port",
    "delimiter",
    "number-of-rows",
    "rows-per-second",
    "scan.parallelism",
    "sink.parallelism",
    "source.monitor-interval",
    "source.path.regex-pattern",
    "source.report-statistics",
    "sink.rolling-policy.file-size",
    "sink.rolling-policy.rollover-interval",
    "sink.rolling-policy.check-interval",
    "sink.rolling-policy.inactivity-interval",
    "sink.partition-commit.trigger",
    "sink.partition-commit.delay",
    "sink.partition-commit.policy.kind",
    "sink.partition-commit.success-file.name",
    "partition.default-name",
    "partition.time-extractor.kind",
    "partition.time-extractor.timestamp-pattern",
    "partition.time-extractor.timestamp-formatter",
    "sink.partition-commit.watermark-time-zone",
    "sink.shuffle-by-partition.enable",
    "auto-compaction",
    "compaction.file-size",
    "print-identifier",
    "standard-error",
    "csv.field-delimiter",
    "csv.quote-character",
    "csv.escape-character",
    "csv.null-literal",
    "csv.ignore-parse-errors",
    "csv.allow-comments",
    "csv.ignore-first-line",
    "csv.array-element-delimiter",
    "csv.disable-quote-character",
    "csv.write-bigdecimal-in-scientific-notation",
    "json.ignore-parse-errors",
    "json.fail-on-missing-field",
    "json.timestamp-format.standard",
    "json.map-null-key.mode",
    "json.map-null-key.literal",
    "json.encode.decimal-as-plain-number",
    "debezium-json.schema-include",
    "debezium-json.ignore-parse-errors",
    "raw.charset",
    "raw.endianness",
    "parquet.compression",
    "parquet.utc-timezone",
    "thalweg.on-bad",
    "thalweg.bad-share-max",
    "thalweg.single-file",
    "thalweg.rate",
    "thalweg.events",
    "thalweg.base-time",
    "fields.a.kind",
    "fields.a.min",
    "fields.a.max",
    "fields.a.start",
    "fields.a.end",
    "fields.a.length",
    "fields.a.null-rate",
    "events.num",
];
const VALUES: [&str; 56] = [
    "",
    " ",
    "true",
    "false",
    "TRUE",
    "yes",
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0.5",
    "-0.0",
    "NaN",
    "1e400",
    "1e-400",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999999999999999999999999",
    "10 s",
    "1 min",
    "0 ms",
    "-1 s",
    "1000000000000000000 d",
    "9223372036854775807 ms",
    "5 fortnights",
    "s",
    "128 mb",
    "1g",
    "0 b",
    "18446744073709551615 tb",
    "-5 kb",
    "mb",
    "in",
    "in/../..",
    "/nowhere/at/all",
    "file://",
    "file:///x",
    "hdfs://a/b",
    "s3://b",
    ".*",
    "(",
    "[",
    "\\",
    "\\n",
    ";",
    "é",
    "😀",
    "''''",
    "sequence",
    "random",
    "skip",
    "divert:",
    "divert:/nowhere/bad",
];

/// Greatest time that one declaration of a table may take, in an unoptimised build on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(20);

fn number(key: &str, unless: u64) -> u64 {
    std::env::var(key).ok().and_then(|text| text.parse().ok()).unwrap_or(unless)
}

/// Returns the declaration of a table with up to eight random options, and a query or an INSERT that uses the
/// table.
fn statement(seed: u64) -> String {
    let mut entropy = SeededEntropy::new(seed);
    let mut below = |bound: usize| (entropy.next_u64() % bound as u64) as usize;
    let mut options = vec![("connector".to_owned(), CONNECTORS[below(CONNECTORS.len())].to_owned())];
    // Half of the random tables are valid except for the options that are added last.
    if below(2) == 0 {
        options.push(("path".to_owned(), "in".to_owned()));
        options.push(("format".to_owned(), FORMATS[below(5)].to_owned()));
    }
    for _ in 0..below(7) {
        let mut key = KEYS[below(KEYS.len())].to_owned();
        if below(10) == 0 {
            // A superfluous letter in an option's key imitates a typing error.
            key.insert(below(key.len()), 'x');
        }
        let value = match below(12) {
            0 => "x".repeat(1 + below(100_000)),
            1 => FORMATS[below(FORMATS.len())].to_owned(),
            2 => format!("{}{}", VALUES[below(VALUES.len())], VALUES[below(VALUES.len())]),
            _ => VALUES[below(VALUES.len())].to_owned(),
        };
        if options.iter().all(|(known, _)| *known != key) {
            options.push((key, value));
        }
    }
    let options: Vec<String> =
        options.iter().map(|(key, value)| format!("'{key}' = '{}'", value.replace('\'', "''"))).collect();
    let partitions = if below(6) == 0 { "PARTITIONED BY (a) " } else { "" };
    let usage = if below(3) == 0 { "INSERT INTO t SELECT * FROM t" } else { "SELECT * FROM t" };
    format!(
        "CREATE TABLE t ({}) {partitions}WITH ({}); {usage};",
        COLUMNS[below(COLUMNS.len())],
        options.join(", ")
    )
}

#[test]
fn formats_and_options_that_are_made_up() {
    let first = number("THALWEG_SEED_BASE", 0);
    let (mut right, mut wrong) = (0, 0);
    for seed in (0..number("THALWEG_FUZZ", 1_000)).map(|offset| first.wrapping_add(offset)) {
        let text = statement(seed);
        let shown: String = text.chars().take(2_000).collect();
        let begin = Instant::now();
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let mut session = Session::new(Arc::new(VirtualClock::default()));
            let actions = session.read(&text)?;
            let jobs = actions.iter().filter_map(|action| match action {
                Action::Run(job) => Some(job),
                _ => None,
            });
            for job in jobs {
                check(job, &World::default())?;
            }
            Ok::<(), thalweg_sql::error::SqlError>(())
        }));
        assert!(begin.elapsed() < TIME_MAX, "seed {seed} took {:?}: {shown}", begin.elapsed());
        match checked {
            Ok(Ok(())) => right += 1,
            Ok(Err(error)) => {
                wrong += 1;
                assert!(!error.message.contains("a reason of ours"), "seed {seed} panicked: {shown}");
            }
            Err(_) => panic!("seed {seed} panicked: {shown}"),
        }
    }
    assert!(right > 0 && wrong > 0, "{right} right, {wrong} wrong");
}
