//! Rows, bad records and positions do not depend on the number of tasks that decode a file, or on the size of pieces.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use thalweg_model::{ProcessingTime, SourceStatus};
use thalweg_sql_formats::RECORD_BYTES_MAX;

use super::{GZIPPED, of};
use crate::connect::bed::{Folder, restore, saved, shown, sources};
use crate::connect::{Division, World};
use crate::table::Table;

/// Everything that a table gave: its rows or an error, and the number of its bad records.
type Found = (Result<Vec<String>, String>, u64);

fn world(folder: &Folder, workers: usize, piece_bytes: usize) -> World {
    World { division: Division { workers, piece_bytes, ..Division::default() }, ..folder.world() }
}

/// Polls the sources of a table in an order drawn from `seed`, until all have ended. The rows of the sources come one
/// source after the other. After `polls` polls of the first source, its position is saved, and all sources are opened
/// again from there.
fn read(of: &Table, world: &World, rows_max: usize, mut seed: u64, polls: usize) -> Found {
    let mut found = sources(of, world).unwrap();
    let mut rows: Vec<Vec<String>> = vec![Vec::new(); found.len()];
    let mut is_over = vec![false; found.len()];
    let mut left = polls;
    while is_over.contains(&false) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (seed >> 33) as usize % found.len();
        if is_over[place] {
            continue;
        }
        let polled = match found[place].poll(ProcessingTime::ZERO, rows_max) {
            Ok(polled) => polled,
            Err(fault) => return (Err(fault.to_string()), found.iter().map(|one| one.bad_count()).sum()),
        };
        assert!(!found[place].only_helps() || polled.rows.is_none(), "a helper gives no rows");
        rows[place].extend(polled.rows.iter().flat_map(shown));
        is_over[place] = polled.status == SourceStatus::Ended;
        if place == 0 && left > 0 {
            left -= 1;
            if left == 0 {
                let bytes = saved(found[0].as_ref());
                drop(found);
                found = sources(of, world).unwrap();
                restore(found[0].as_mut(), &bytes).unwrap();
                is_over = vec![false; found.len()];
            }
        }
    }
    found.iter_mut().for_each(|one| one.finish().unwrap());
    (Ok(rows.concat()), found.iter().map(|one| one.bad_count()).sum())
}

/// Compares reading with one worker with reading by several tasks, for several sizes of pieces, from the start and from
/// saved positions.
fn check(content: impl AsRef<[u8]>, name: &str, options: &str, sizes: &[usize]) {
    let folder = Folder::new();
    folder.put(&format!("in/{name}"), content);
    let of = of("", &format!("'path' = 'in/{name}', {options}"));
    let expected = read(&of, &world(&folder, 1, 1), 7, 1, 0);
    let diverted = || std::fs::read_to_string(folder.0.join("bad.jsonl")).ok();
    let expected_diverted = diverted();
    let is_fine = expected.0.is_ok();
    for &piece_bytes in sizes {
        for (workers, rows_max) in [(2, 1), (2, 4_096), (3, 5), (8, 4_096)] {
            let world = world(&folder, workers, piece_bytes);
            assert_eq!(sources(&of, &world).unwrap().len(), workers, "{name} {piece_bytes}");
            for seed in 0..3 {
                for polls in [0, 1, 2, 5, 17] {
                    let found = read(&of, &world, rows_max, seed, if is_fine { polls } else { 0 });
                    let about = format!("{name} {options} {piece_bytes} {workers} {rows_max} {seed} {polls}");
                    match (&found.0, &expected.0) {
                        (Err(found), Err(expected)) => assert_eq!(found, expected, "{about}"),
                        _ => assert_eq!(found, expected, "{about}"),
                    }
                    assert_eq!(diverted(), expected_diverted, "{about}");
                }
            }
        }
    }
}

const SIZES: &[usize] = &[1, 7, 64, 300];

fn json_lines(rows: usize) -> String {
    let line = |row: usize| match row % 11 {
        4 => "\n".to_owned(),
        7 => format!("[{{\"a\":{row},\"b\":\"x\"}},{{\"b\":\"y\"}}]\r\n"),
        _ => format!("{{\"a\":{row},\"b\":\"é{row}\"}}\n"),
    };
    (0..rows).map(line).collect()
}

#[test]
fn lines_of_json() {
    check(json_lines(200), "x.json", "'format' = 'json'", SIZES);
    check(format!("\u{feff}{}", json_lines(200).trim_end()), "x.json", "'format' = 'json'", SIZES);
}

/// Bad records are counted, and diverted in the order of the file; the first one fails the query with its place.
#[test]
fn bad_records() {
    let lines: String = (0..200)
        .map(|row| if row % 9 == 5 { format!("no {row}\n") } else { format!("{{\"a\":{row}}}\n") })
        .collect();
    let skip = "'format' = 'json', 'thalweg.bad-share-max' = '1', 'thalweg.on-bad' = ";
    check(&lines, "x.json", &format!("{skip}'skip'"), SIZES);
    check(&lines, "x.json", &format!("{skip}'divert:bad.jsonl'"), SIZES);
    check(&lines, "x.json", "'format' = 'json'", SIZES);
    let few = "'format' = 'json', 'thalweg.bad-share-max' = '0.001', 'thalweg.on-bad' = 'skip'";
    check(&lines, "x.json", few, SIZES);
    // So many bad records in a piece are not kept.
    check("oh\n".repeat(2_000), "x.json", &format!("{skip}'divert:bad.jsonl'"), &[1_024, 65_536 / 64]);
}

/// Line ends within quotes belong to their field, wherever pieces end.
#[test]
fn quoted_line_ends() {
    let lines: String = (0..150)
        .map(|row| match row % 5 {
            1 => format!("{row},\"a\nb\n\nc,{row}\"\n"),
            2 => format!("{row},\"x\"\"\n\"\"{row}\"\r\n"),
            3 => format!("{row},it\"s {row}\n"),
            _ => format!("{row},plain\n"),
        })
        .collect();
    check(&lines, "x.csv", "'format' = 'csv'", SIZES);
    check(
        &lines,
        "x.csv",
        "'format' = 'csv', 'csv.disable-quote-character' = 'true', 'thalweg.on-bad' = 'skip', 'thalweg.bad-share-max' = '1'",
        SIZES,
    );
    let header = format!("\u{feff}a,\"b\nb\"\n{lines}");
    check(header, "x.csv", "'format' = 'csv', 'csv.ignore-first-line' = 'true'", SIZES);
    // A quote that is never closed makes one bad record. The bytes before a position behind it do not tell that, so a table
    // that diverts bad records refuses such a position.
    let open = format!("1,\"never\n{}", "2,x\n".repeat(300));
    check(open, "x.csv", "'format' = 'csv', 'thalweg.on-bad' = 'skip', 'thalweg.bad-share-max' = '1'", SIZES);
    check(
        lines.replace('\n', "\r"),
        "x.csv",
        "'format' = 'csv', 'thalweg.on-bad' = 'skip', 'thalweg.bad-share-max' = '1'",
        SIZES,
    );
}

/// A record longer than a piece is read, and one that is too long is one bad record with its whole length.
#[test]
fn long_records() {
    let long = |bytes: usize| format!("{{\"a\":1,\"b\":\"{}\"}}\n", "y".repeat(bytes));
    for extra in [0, 1, 3 << 20] {
        let lines = json_lines(20) + &long(RECORD_BYTES_MAX - 15 + extra) + &json_lines(30);
        let options = "'format' = 'json', 'thalweg.on-bad' = 'divert:bad.jsonl'";
        check(lines, "x.json", options, &[65_536]);
    }
    check(json_lines(20) + &long(3_000) + &json_lines(20), "x.json", "'format' = 'json'", SIZES);
}

/// Bytes of gzip are decompressed in their order and decoded by several tasks.
#[test]
fn compressed_files() {
    check(GZIPPED.repeat(20), "x.csv.gz", "'format' = 'csv'", &[1, 7, 64]);
}

/// Changes come with their kinds.
#[test]
fn changes() {
    let lines: String = (0..60)
        .map(|row| format!("{{\"before\":{{\"a\":{row}}},\"after\":{{\"a\":{}}},\"op\":\"u\"}}\n", row + 1))
        .collect();
    check(lines, "x.json", "'format' = 'debezium-json'", SIZES);
}

/// Readers of several files get helpers if one of them has much more to read than the others; short files get none.
#[test]
fn helpers_come_where_they_are_needed() {
    let folder = Folder::new();
    let count = |folder: &Folder, workers: usize| {
        let of = of("", "'path' = 'in', 'format' = 'json'");
        sources(&of, &world(folder, workers, 100)).unwrap().len()
    };
    folder.put("in/a.json", json_lines(10));
    assert_eq!((count(&folder, 1), count(&folder, 2)), (1, 1));
    folder.put("in/a.json", json_lines(100));
    assert_eq!((count(&folder, 1), count(&folder, 2), count(&folder, 100)), (1, 2, 16));
    folder.put("in/b.json", json_lines(100));
    assert_eq!((count(&folder, 1), count(&folder, 2), count(&folder, 4)), (2, 2, 5));
    folder.put("in/c.json", json_lines(1_000));
    assert_eq!((count(&folder, 1), count(&folder, 2)), (3, 4));
    let raw = of("", "'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '1 s'");
    assert_eq!(sources(&raw, &world(&folder, 8, 10)).unwrap().len(), 1);
}

/// The files of a directory that grow helpers are read by their own readers, in their order.
#[test]
fn several_files() {
    let folder = Folder::new();
    for file in 0..4 {
        folder.put(&format!("in/{file}.json"), json_lines(if file == 2 { 900 } else { 40 * file }));
    }
    let of = of("", "'path' = 'in', 'format' = 'json'");
    let expected = read(&of, &world(&folder, 1, 1), 100, 1, 0);
    for workers in [2, 3, 8] {
        for seed in 0..5 {
            assert_eq!(read(&of, &world(&folder, workers, 128), 100, seed, 0), expected, "{workers} {seed}");
        }
    }
}

/// Ranges of rows of a Parquet file are decoded by several tasks, over all of its row groups.
#[test]
fn parquet_files() {
    let folder = Folder::new();
    let rows = |from: i32, to: i32| {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(from..to));
        let texts = (from..to).map(|row| format!("é{}", row % 17));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        RecordBatch::try_from_iter([("a", numbers), ("b", texts)]).unwrap()
    };
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows(0, 0).schema(), None).unwrap();
    for (from, to) in [(0, 64), (64, 65), (65, 300), (300, 400)] {
        writer.write(&rows(from, to)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    folder.put("in/x.parquet", bytes);
    let options = "'path' = 'in', 'format' = 'parquet'";
    let of = of("", options);
    let expected = read(&of, &world(&folder, 1, 1), 7, 1, 0);
    assert_eq!(expected.0.as_ref().map(Vec::len), Ok(400));
    for (workers, rows_max) in [(2, 1), (2, 4_096), (3, 5), (8, 4_096)] {
        for piece_bytes in [4, 28, 400] {
            let world = world(&folder, workers, piece_bytes);
            assert_eq!(sources(&of, &world).unwrap().len(), workers);
            for seed in 0..3 {
                for polls in [0, 1, 2, 5, 17] {
                    let found = read(&of, &world, rows_max, seed, polls);
                    assert_eq!(found, expected, "{workers} {rows_max} {piece_bytes} {seed} {polls}");
                }
            }
        }
    }
}
