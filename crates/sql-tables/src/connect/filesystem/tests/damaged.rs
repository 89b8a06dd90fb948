//! Files with random damage: Parquet in every type and compression, timestamps of 96 bits, and text behind
//! gzip. A read gives at most the rows of the whole file, or an error that names the file. No read hangs or
//! ends the process.
//!
//! `THALWEG_FUZZ` is the number of damaged files, `THALWEG_SEED_BASE` the first seed; each file has its own
//! seed.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use thalweg_model::{Entropy, SeededEntropy};

use super::parquet::int96;
use crate::connect::bed::{Folder, rows_of, table, write};
use crate::table::Table;

/// The time limit for one file of a few kilobytes, in an unoptimised build on a busy machine.
const READ_MAX: Duration = Duration::from_secs(20);
/// Number of rows in each undamaged file.
const ROWS: usize = 120;

/// An undamaged file that the test damages, and the table that reads it.
struct Whole {
    name: &'static str,
    bytes: Vec<u8>,
    table: Table,
    /// Whether damage can never add rows to the file. In text it can, by adding line ends.
    is_counted: bool,
}

fn number(key: &str, unless: u64) -> u64 {
    std::env::var(key).ok().and_then(|text| text.parse().ok()).unwrap_or(unless)
}

/// Returns lines of JSON with values of every type, some of them NULL.
fn lines() -> String {
    let line = |row: usize| match row % 7 {
        6 => "{}\n".to_owned(),
        _ => format!(
            "{{\"a\":{row},\"b\":\"text {}\",\"c\":{}.5,\"d\":\"{row}.125\",\"e\":{},\"f\":\"2020-02-{:02}\",\
             \"g\":\"2020-01-01 00:00:{:02}.001\",\"h\":\"AAE=\",\"i\":[{row},null],\"j\":{{\"k\":{row}}},\
             \"k\":{{\"x\":{row},\"y\":null}}}}\n",
            row % 5,
            row,
            row.is_multiple_of(2),
            1 + row % 28,
            row % 60,
        ),
    };
    (0..ROWS).map(line).collect()
}

const COLUMNS: &str = "a INT, b STRING, c DOUBLE, d DECIMAL(20, 3), e BOOLEAN, f DATE, g TIMESTAMP(3), h BYTES, i ARRAY<INT>, \
                       j MAP<STRING, INT>, k ROW<x INT, y STRING>";

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn wholes(folder: &Folder) -> Vec<Whole> {
    let read = |name: &str, columns: &str, options: &str| {
        table(&format!(
            "CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '{name}', {options})"
        ))
    };
    let mut wholes = Vec::new();
    for compression in ["snappy", "zstd", "uncompressed"] {
        let options = format!("'format' = 'parquet', 'parquet.compression' = '{compression}'");
        let of = read(compression, COLUMNS, &options);
        write(&of, &folder.world(), &lines(), None).unwrap();
        let name = folder
            .names()
            .into_iter()
            .find(|name| name.starts_with(compression) && !name.ends_with("_SUCCESS"))
            .unwrap();
        let bytes = std::fs::read(folder.0.join(name)).unwrap();
        wholes.push((bytes, read("in/x", COLUMNS, "'format' = 'parquet'"), "in/x", true));
    }
    let stamps: Vec<(i64, u64)> =
        (0..ROWS as i64).map(|row| (row * 1_000, row as u64 * 7_000_000_000)).collect();
    let columns = "ts TIMESTAMP(6), r ROW<x TIMESTAMP(3)>";
    wholes.push((int96(&stamps), read("in/x", columns, "'format' = 'parquet'"), "in/x", true));
    let csv: String = (0..ROWS).map(|row| format!("{row},\"text, {row}\"\n")).collect();
    let changes: String = (0..ROWS)
        .map(|row| format!("{{\"before\":null,\"after\":{{\"a\":{row},\"b\":\"x\"}},\"op\":\"c\"}}\n"))
        .collect();
    for (format, text) in [
        ("'format' = 'csv'", csv.clone()),
        ("'format' = 'csv', 'csv.ignore-parse-errors' = 'true'", csv),
        ("'format' = 'json'", lines()),
        ("'format' = 'debezium-json'", changes),
    ] {
        wholes.push((zipped(&text), read("in/x.gz", "a INT, b STRING", format), "in/x.gz", false));
    }
    let raw = read("in/x.gz", "a STRING", "'format' = 'raw'");
    wholes.push((zipped(&lines()), raw, "in/x.gz", false));
    let whole = |(bytes, table, name, is_counted)| Whole { name, bytes, table, is_counted };
    wholes.into_iter().map(whole).collect()
}

/// Damages a file at one to four places: bytes are changed, lost, doubled or swapped. Half of the places are
/// near the end, where Parquet describes its columns.
fn damaged(whole: &[u8], entropy: &mut SeededEntropy) -> Vec<u8> {
    let mut below = |bound: usize| (entropy.next_u64() % bound.max(1) as u64) as usize;
    let mut bytes = whole.to_vec();
    let first = if below(2) == 0 { 0 } else { bytes.len().saturating_sub(600) };
    for _ in 0..=below(4) {
        if bytes.len() <= first {
            break;
        }
        let at = first + below(bytes.len() - first);
        let length = (1 + below(40)).min(bytes.len() - at);
        match below(8) {
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = [0, 0xff, 0x7f, 0x80][below(4)],
            2 => bytes[at] = below(256) as u8,
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + length)),
            5 => {
                let copy = bytes[at..at + length].to_vec();
                bytes.splice(at..at, copy);
            }
            6 => {
                let noise: Vec<u8> = (0..length).map(|_| below(256) as u8).collect();
                bytes.splice(at..at + length, noise);
            }
            _ => {
                let other = first + below(bytes.len() - first);
                bytes.swap(at, other);
            }
        }
    }
    bytes
}

#[test]
fn formats_of_damaged_files() {
    let folder = Folder::new();
    let wholes = wholes(&folder);
    for Whole { name, bytes, table, .. } in &wholes {
        folder.put(name, bytes);
        assert_eq!(rows_of(table, &folder.world(), 50).unwrap().len(), ROWS, "{name}");
    }
    let first = number("THALWEG_SEED_BASE", 0);
    let (mut read, mut refused) = (0, 0);
    for seed in (0..number("THALWEG_FUZZ", 300)).map(|offset| first.wrapping_add(offset)) {
        let mut entropy = SeededEntropy::new(seed);
        let Whole { name, bytes, table, is_counted } =
            &wholes[(entropy.next_u64() % wholes.len() as u64) as usize];
        folder.put(name, damaged(bytes, &mut entropy));
        let begin = Instant::now();
        let found = rows_of(table, &folder.world(), 1 + seed as usize % 64);
        assert!(begin.elapsed() < READ_MAX, "seed {seed}: {:?}", begin.elapsed());
        match found {
            Ok(rows) => {
                read += 1;
                assert!(!is_counted || rows.len() <= ROWS, "seed {seed}: {} rows", rows.len());
            }
            Err(error) => {
                refused += 1;
                assert!(error.contains(name), "seed {seed}: {error}");
            }
        }
    }
    // If all damaged files could be read, or none, the damage was too weak or too strong.
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
