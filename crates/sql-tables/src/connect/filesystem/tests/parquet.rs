//! Parquet files: written files are read back, types are cast, damaged files are named.

use std::sync::{Arc, Mutex};

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Int32Type, TimeUnit};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use thalweg_model::{Allowance, GrantSource, Payment, ProcessingTime, SourceStatus};
use thalweg_sql_formats::RowKind;

use super::of;
use crate::connect::bed::{Folder, batch, drain, restore, rows_of, saved, shown, sources, table, write};
use crate::connect::bind_sink;

/// Returns the bytes of a Parquet file with these columns.
fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    bytes
}

const PARQUET: &str = "'path' = 'in', 'format' = 'parquet'";

/// Values of every type are written to Parquet and read back unchanged.
#[test]
fn what_is_written_is_read() {
    let folder = Folder::new();
    let columns =
        "c TINYINT, d SMALLINT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(20, 3), i BOOLEAN, j DATE, k TIME(3),
                   l TIMESTAMP(3), m TIMESTAMP(6), n TIMESTAMP(9), o TIMESTAMP_LTZ(3), p BYTES, q ARRAY<INT>,
                   r MAP<STRING, INT>, s ROW<x INT, y STRING>, u CHAR(2)";
    let line = "{\"a\":1,\"b\":\"é\",\"c\":-1,\"d\":2,\"e\":3,\"f\":1.5,\"g\":-0.25,\"h\":\"12345.678\",\"i\":true,\"j\":\"2020-02-29\",\
        \"k\":\"12:34:56.789\",\"l\":\"1969-12-31 23:59:59.999\",\"m\":\"2020-01-01 00:00:00.000001\",\
        \"n\":\"2020-01-01 00:00:00.000000001\",\"o\":\"2020-01-01 00:00:00Z\",\"p\":\"AAE=\",\"q\":[1,null],\"r\":{\"k\":7},\
        \"s\":{\"x\":5,\"y\":null},\"u\":\"ab\"}\n{}\n";
    for compression in ["snappy", "zstd", "uncompressed"] {
        let of = table(&format!(
            "CREATE TABLE t (a INT, b STRING, {columns}) WITH ('connector' = 'filesystem', 'format' = 'parquet',
             'path' = '{compression}', 'parquet.compression' = '{compression}')"
        ));
        write(&of, &folder.world(), line, None).unwrap();
        let rows = rows_of(&of, &folder.world(), 10).unwrap();
        let expected = "1,é,-1,2,3,1.5,-0.25,12345.678,TRUE,2020-02-29,12:34:56.789,1969-12-31 23:59:59.999,\
            2020-01-01 00:00:00.000001,2020-01-01 00:00:00.000000001,2020-01-01 00:00:00.000,\0\u{1},[1, NULL],{k=7},(5, NULL),ab";
        assert_eq!(rows[0], expected);
        assert_eq!(rows[1], ["NULL"; 20].join(","));
    }
}

/// Columns of a Parquet file are found by name. A missing column is NULL, and another type is cast to the
/// declared one.
#[test]
fn columns_are_taken_by_name_and_cast() {
    let folder = Folder::new();
    let many = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    folder.put(
        "in/x",
        file(vec![
            ("z", many(vec![9, 9])),
            ("b", Arc::new(LargeStringArray::from(vec![Some("x"), None]))),
            ("a", many(vec![1, 2])),
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
            ("d", Arc::new(vec![Some("p"), Some("q")].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ]),
    );
    let declared = of(", u DECIMAL(20, 0), d STRING, `none` BIGINT", PARQUET);
    assert_eq!(
        rows_of(&declared, &folder.world(), 10).unwrap(),
        ["1,x,18446744073709551615,p,NULL", "2,NULL,0,q,NULL"]
    );
    // No column of the file is requested, so the rows are only counted.
    let mut found = crate::connect::bind_source(&declared, &[], &folder.world()).unwrap();
    assert_eq!(drain(found[0].as_mut(), 10).unwrap(), ["", ""]);
    let mut found = crate::connect::bind_source(&declared, &[4], &folder.world()).unwrap();
    assert_eq!(drain(found[0].as_mut(), 10).unwrap(), ["NULL", "NULL"]);
    // Text that is not a number fails, and the error names file and column.
    folder.put("in/x", file(vec![("a", Arc::new(StringArray::from(vec!["7", "x"])))]));
    let error = rows_of(&declared, &folder.world(), 10).unwrap_err();
    assert!(error.contains("in/x, column `a`: 'x' cannot be cast to INT"), "{error}");
    folder.put(
        "in/x",
        file(vec![("a", many(vec![1])), ("b", Arc::new(StringArray::from(vec![None::<&str>])))]),
    );
    let strict = table(
        "CREATE TABLE t (a INT, b STRING NOT NULL) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'parquet')",
    );
    let error = rows_of(&strict, &folder.world(), 10).unwrap_err();
    assert!(error.contains("column `b`: row 1 is NULL"), "{error}");
}

/// Timestamps of a Parquet file are taken unchanged, with or without a zone, in any unit.
#[test]
fn timestamps_stand_as_they_are() {
    let folder = Folder::new();
    let check = |column: ArrayRef, of_type: &str, expected: &str| {
        folder.put("in/x", file(vec![("ts", column)]));
        let of =
            table(&format!("CREATE TABLE t (ts {of_type}) WITH ('connector' = 'filesystem', {PARQUET})"));
        assert_eq!(rows_of(&of, &folder.world(), 10).unwrap(), [expected]);
    };
    let micros = |zone: Option<&str>| {
        Arc::new(TimestampMicrosecondArray::from(vec![1_500_000]).with_timezone_opt(zone)) as ArrayRef
    };
    for zone in [None, Some("UTC"), Some("+02:00"), Some("Asia/Tokyo")] {
        check(micros(zone), "TIMESTAMP(3)", "1970-01-01 00:00:01.500");
        check(micros(zone), "TIMESTAMP_LTZ(6)", "1970-01-01 00:00:01.500000");
        let row = StructArray::try_from(vec![("x", micros(zone))]).unwrap();
        check(Arc::new(row), "ROW<x TIMESTAMP(6)>", "(1970-01-01 00:00:01.500000)");
    }
    let nanos = Arc::new(TimestampNanosecondArray::from(vec![1_999_999])) as ArrayRef;
    assert_eq!(nanos.data_type(), &arrow::datatypes::DataType::Timestamp(TimeUnit::Nanosecond, None));
    check(nanos, "TIMESTAMP(3)", "1970-01-01 00:00:00.001");
}

/// Fields of rows in a Parquet file are found by name at any depth, as columns are; a missing field is an
/// error.
#[test]
fn fields_are_taken_by_name() {
    let folder = Folder::new();
    let int = |value: i32| Arc::new(Int32Array::from(vec![value])) as ArrayRef;
    let row = |fields: Vec<(&str, ArrayRef)>| Arc::new(StructArray::try_from(fields).unwrap()) as ArrayRef;
    let list = |items: ArrayRef| {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([items.len()]);
        Arc::new(ListArray::new(field, offsets, items, None)) as ArrayRef
    };
    let check = |column: ArrayRef, of_type: &str, expected: Result<&str, &str>| {
        folder.put("in/x", file(vec![("r", column)]));
        let of = table(&format!("CREATE TABLE t (r {of_type}) WITH ('connector' = 'filesystem', {PARQUET})"));
        match (rows_of(&of, &folder.world(), 10), expected) {
            (Ok(rows), Ok(expected)) => assert_eq!(rows, [expected]),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, _) => panic!("{of_type}: {found:?}"),
        }
    };
    let swapped = row(vec![("y", int(2)), ("x", int(1))]);
    check(Arc::clone(&swapped), "ROW<x INT, y INT>", Ok("(1, 2)"));
    check(Arc::clone(&swapped), "ROW<y INT, x INT>", Ok("(2, 1)"));
    check(Arc::clone(&swapped), "ROW<x STRING, y BIGINT>", Ok("(1, 2)"));
    check(Arc::clone(&swapped), "ROW<x BIGINT>", Ok("(1)"));
    check(Arc::clone(&swapped), "ROW<Y INT, X INT>", Ok("(2, 1)"));
    let lacking = "in/x, column `r`: the file has no field `z` in it; there are y, x";
    check(Arc::clone(&swapped), "ROW<x INT, z INT>", Err(lacking));
    check(list(Arc::clone(&swapped)), "ARRAY<ROW<x INT, y INT>>", Ok("[(1, 2)]"));
    let deep = row(vec![("z", int(3)), ("r", list(swapped)), ("R", int(4))]);
    check(deep, "ROW<r ARRAY<ROW<x BIGINT, y INT>>, z INT>", Ok("([(1, 2)], 3)"));
}

/// Returns a Parquet file of 96-bit timestamps, in a column and in a field of a row. Each value is given as
/// days since 1970 and nanoseconds of the day.
pub(super) fn int96(rows: &[(i64, u64)]) -> Vec<u8> {
    let schema = "message m { required int96 ts; optional group r { optional int96 x; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let value = |(day, nanos): &(i64, u64)| {
        let mut value = Int96::new();
        value.set_data(*nanos as u32, (*nanos >> 32) as u32, (2_440_588 + day) as u32);
        value
    };
    let values: Vec<Int96> = rows.iter().map(value).collect();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        let typed = column.typed::<Int96Type>();
        let levels = vec![typed.get_descriptor().max_def_level(); rows.len()];
        typed.write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

/// Timestamps of 96 bits can exceed the range of 64-bit nanoseconds. Each declared type accepts the values
/// that fit; any other value fails the query.
#[test]
fn timestamps_of_96_bits() {
    let folder = Folder::new();
    let check = |rows: &[(i64, u64)], columns: &str, expected: Result<&str, &str>| {
        folder.put("in/x", int96(rows));
        let of = table(&format!("CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', {PARQUET})"));
        match (rows_of(&of, &folder.world(), 4_096), expected) {
            (Ok(rows), Ok(expected)) => assert_eq!(rows.last().unwrap(), expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, _) => panic!("{columns}: {found:?}"),
        }
    };
    // The two values are noon of 9999-12-31 with a fraction, and the last nanosecond before 1970.
    let far = [(2_932_896, 43_200_123_456_789)];
    let before = [(-1, 86_399_999_999_999)];
    check(&far, "ts TIMESTAMP(3)", Ok("9999-12-31 12:00:00.123"));
    check(&far, "ts TIMESTAMP_LTZ(6)", Ok("9999-12-31 12:00:00.123456"));
    check(&far, "r ROW<x TIMESTAMP(3)>", Ok("(9999-12-31 12:00:00.123)"));
    check(&before, "ts TIMESTAMP(3)", Ok("1969-12-31 23:59:59.999"));
    check(
        &before,
        "r ROW<x TIMESTAMP(6)>, ts TIMESTAMP(9)",
        Ok("(1969-12-31 23:59:59.999999),1969-12-31 23:59:59.999999999"),
    );
    let beyond = "the timestamp 9999-12-31 12:00:00 is beyond the range of ";
    check(&far, "ts TIMESTAMP(9)", Err(&format!("in/x, column `ts`: {beyond}TIMESTAMP(9)")));
    check(&far, "r ROW<x TIMESTAMP(9)>", Err(&format!("in/x, column `r`: {beyond}ROW<")));
    check(&[(200_000_000, 0)], "ts TIMESTAMP(6)", Err("is beyond the range of TIMESTAMP(6)"));
    // A value that does not fit is found, too, if it lies in a later batch or behind a saved position.
    let rows = [vec![before[0]; 6_000], far.to_vec()].concat();
    check(&rows, "ts TIMESTAMP(9)", Err(beyond));
    let of = table(&format!("CREATE TABLE t (ts TIMESTAMP(9)) WITH ('connector' = 'filesystem', {PARQUET})"));
    let mut first = sources(&of, &folder.world()).unwrap();
    first[0].poll(ProcessingTime::ZERO, 4_000).unwrap();
    let mut second = sources(&of, &folder.world()).unwrap();
    restore(second[0].as_mut(), &saved(first[0].as_ref())).unwrap();
    assert!(drain(second[0].as_mut(), 4_096).unwrap_err().to_string().contains(beyond));
}

/// A Parquet file with long text and 96-bit timestamps is read without error. Its rows are read in smaller
/// batches, so the second reading, which checks the timestamps, must use batches of the same length. When
/// that reading used longer batches, good files were refused.
#[test]
fn timestamps_of_96_bits_beside_long_text() {
    let schema = "message m { required int96 ts; required binary b (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    const ROWS: u32 = 1_000;
    let stamp = |day: u32| {
        let mut value = Int96::new();
        value.set_data(0, 0, 2_440_588 + day);
        value
    };
    let stamps: Vec<Int96> = (0..ROWS).map(stamp).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&stamps, None, None).unwrap();
    column.close().unwrap();
    let texts = vec![ByteArray::from(vec![b'x'; 100_000]); ROWS as usize];
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let folder = Folder::new();
    folder.put("in/x", bytes);
    let of = table(&format!(
        "CREATE TABLE t (ts TIMESTAMP(6), b STRING) WITH ('connector' = 'filesystem', {PARQUET})"
    ));
    let rows = rows_of(&of, &folder.world(), 4_096).unwrap();
    assert_eq!(rows.len(), ROWS as usize);
    assert!(rows[31].starts_with("1970-02-01 00:00:00"), "{}", &rows[31][..30]);
}

/// The memory of rows collected for all partitions together is bounded, and no row is lost.
#[test]
fn partitions_share_what_is_gathered() {
    let folder = Folder::new();
    let of = table(
        "CREATE TABLE t (a INT, b STRING, p INT) PARTITIONED BY (p)
         WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'parquet')",
    );
    let world = folder.world();
    let mut to = bind_sink(&of, &of.written_columns(), &world).unwrap();
    let mut lines = 0;
    // The bound is the limit for collected rows, and the memory that the writers of 100 Parquet files need by
    // themselves.
    let bound = (1 << 20) + 100 * (9 << 10);
    for _ in 0..20 {
        let rows: String = (lines..lines + 1_000)
            .map(|line| format!("{{\"a\":{line},\"b\":\"{line:0200}\",\"p\":{}}}\n", line % 100))
            .collect();
        lines += 1_000;
        to.write(&batch(&of, &rows), None).unwrap();
        assert!(to.held_bytes() <= bound, "{} bytes", to.held_bytes());
    }
    to.finish().unwrap();
    assert_eq!(rows_of(&of, &world, 4_096).unwrap().len(), lines);
}

/// A memory budget with a limit, from which tests pay.
struct Budget {
    limit: usize,
    left: Arc<Mutex<usize>>,
}

/// Bytes that were paid from a test budget and return to it on drop.
struct Paid(usize, Arc<Mutex<usize>>);

impl Drop for Paid {
    fn drop(&mut self) {
        *self.1.lock().unwrap() += self.0;
    }
}

impl GrantSource for Budget {
    fn lend(&self, _: usize) -> bool {
        true
    }

    fn pay(&self, bytes: usize) -> Option<Payment> {
        let mut left = self.left.lock().unwrap();
        *left = left.checked_sub(bytes)?;
        Some(Payment::holding(Paid(bytes, Arc::clone(&self.left))))
    }

    fn limit_bytes(&self) -> usize {
        self.limit
    }
}

/// Returns an allowance of `limit` bytes, and the counter of the bytes that are left.
pub(super) fn budget(limit: usize) -> (Allowance, Arc<Mutex<usize>>) {
    let left = Arc::new(Mutex::new(limit));
    (Allowance::new(Arc::new(Budget { limit, left: Arc::clone(&left) })), left)
}

/// Open Parquet files of a table share half of the memory budget. Files that do not fit together are read one
/// after the other, also from a saved position.
#[test]
fn open_files_of_a_table_share_half_of_the_budget() {
    let folder = Folder::new();
    let rows = 5_000;
    let bytes = file(vec![("a", Arc::new(Int32Array::from_iter_values(0..rows)))]);
    (0..12).for_each(|at| folder.put(&format!("in/{at:02}"), &bytes));
    let of = of("", PARQUET);
    let (unbounded, left) = budget(usize::MAX);
    let mut one = sources(&of, &folder.world()).unwrap();
    one[0].fund(&unbounded);
    one[0].poll(ProcessingTime::ZERO, 1).unwrap();
    let needed = usize::MAX - *left.lock().unwrap();
    drop(one);
    assert_eq!(*left.lock().unwrap(), usize::MAX);

    let limit = 5 * needed;
    let (allowance, left) = budget(limit);
    let funded = || {
        let mut splits = sources(&of, &folder.world()).unwrap();
        splits.iter_mut().for_each(|split| split.fund(&allowance));
        splits
    };
    let mut splits = funded();
    assert_eq!(splits.len(), 12);
    let (mut given, mut open, mut now) = (0, 12, ProcessingTime::ZERO);
    for round in 0.. {
        if open == 0 {
            break;
        }
        if round == 5 {
            let positions: Vec<Vec<u8>> = splits.iter().map(|split| saved(split.as_ref())).collect();
            splits = funded();
            for (split, position) in splits.iter_mut().zip(&positions) {
                restore(split.as_mut(), position).unwrap();
            }
            // Splits that wait for memory save the same positions as before.
            let again: Vec<Vec<u8>> = splits.iter().map(|split| saved(split.as_ref())).collect();
            assert_eq!(again, positions);
        }
        open = 0;
        for split in &mut splits {
            let polled = split.poll(now, 1_000).unwrap();
            given += polled.rows.map_or(0, |rows| rows.columns.num_rows());
            open += usize::from(polled.status != SourceStatus::Ended);
            assert!(*left.lock().unwrap() >= limit - limit / 2);
        }
        now = now.plus_nanos(1_000_000);
    }
    assert_eq!(given, 12 * rows as usize);
    assert_eq!(*left.lock().unwrap(), limit);

    // A file that needs more than half of the budget is refused, even alone. So is a file that finds no free
    // memory while no other file of the table is open.
    for (limit, taken) in [(2 * needed - 1, 0), (2 * needed, needed + 1)] {
        let (allowance, _left) = budget(limit);
        let _taken = allowance.pay(taken);
        let mut splits = sources(&of, &folder.world()).unwrap();
        splits[0].fund(&allowance);
        assert_eq!(drain(splits[0].as_mut(), 10).unwrap_err().code(), "PAGE_TOO_LARGE");
    }
}

/// Parquet files are read correctly with any number of rows at a time, and from any saved position.
#[test]
fn positions_in_files_of_columns() {
    let folder = Folder::new();
    let count = 10_000;
    folder.put("in/x", file(vec![("a", Arc::new(Int32Array::from_iter_values(0..count)))]));
    let of = of("", PARQUET);
    let all: Vec<String> = (0..count).map(|row| format!("{row},NULL")).collect();
    assert_eq!(rows_of(&of, &folder.world(), 333).unwrap(), all);
    for polls in [0, 1, 4, 5] {
        let mut first = sources(&of, &folder.world()).unwrap();
        let mut rows = Vec::new();
        for _ in 0..polls {
            rows.extend(first[0].poll(ProcessingTime::ZERO, 1_500).unwrap().rows.iter().flat_map(shown));
        }
        let mut second = sources(&of, &folder.world()).unwrap();
        restore(second[0].as_mut(), &saved(first[0].as_ref())).unwrap();
        rows.extend(drain(second[0].as_mut(), 4_096).unwrap());
        assert_eq!(rows, all, "{polls}");
    }
}

/// A Parquet file with damage anywhere either fails with its name or gives other values, because page
/// checksums are not verified. It never gives more rows than it had, and never ends the process. A file that
/// was changed while it was read is reported as changed.
#[test]
fn damaged_files_are_named() {
    let folder = Folder::new();
    let texts = StringArray::from_iter_values((0..200).map(|row| format!("text {row}")));
    let whole = file(vec![("a", Arc::new(Int32Array::from_iter_values(0..200))), ("b", Arc::new(texts))]);
    let of = of("", PARQUET);
    let check = |bytes: &[u8]| {
        folder.put("in/x", bytes);
        match rows_of(&of, &folder.world(), 100) {
            Ok(rows) => assert!(rows.len() <= 200),
            Err(error) => assert!(error.contains("in/x"), "{error}"),
        }
    };
    check(b"");
    check(b"PAR1PAR1");
    check(&whole[..whole.len() / 2]);
    for place in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        check(&bytes);
    }
    folder.put("in/x", &whole);
    let mut found = sources(&of, &folder.world()).unwrap();
    found[0].poll(ProcessingTime::ZERO, 10).unwrap();
    folder.put("in/x", &whole);
    let fault = drain(found[0].as_mut(), 10).unwrap_err();
    assert_eq!(fault.code(), "SOURCE_CHANGED");
}

#[test]
fn changes_have_no_form() {
    let folder = Folder::new();
    let error = write(&of("", PARQUET), &folder.world(), "{\"a\":1}", Some(&[RowKind::Delete])).unwrap_err();
    assert!(error.contains("no form for changes"), "{error}");
    assert!(folder.names().is_empty());
}
