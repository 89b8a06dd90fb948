//! The memory needed to read a file is computed from its headers, for files with different writer settings.

use arrow::array::{ArrayRef, StringArray};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as Kind, ZstdLevel};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{WriterProperties, WriterVersion};

use thalweg_model::GrantSource;

use super::*;

fn needs_of(texts: &[String], properties: WriterProperties) -> Needs {
    needs_within(texts, properties, &Allowance::default())
}

fn needs_within(texts: &[String], properties: WriterProperties, allowance: &Allowance) -> Needs {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let path = std::env::temp_dir().join(format!(
        "thalweg-pages-{}-{:?}.parquet",
        std::process::id(),
        std::thread::current().id()
    ));
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    needs(&file, &metadata, allowance, |_| true).unwrap()
}

fn zstd() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

#[test]
fn long_entries_of_a_dictionary_are_read_row_by_row() {
    let texts = vec!["x".repeat(6 << 20); 30];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let properties = zstd().set_writer_version(version).set_dictionary_page_size_limit(64 << 20).build();
        let needs = needs_of(&texts, properties);
        assert_eq!(needs.rows, 1);
        assert!((18 << 20..40 << 20).contains(&needs.bytes), "{needs:?}");
    }
}

/// A memory budget that grants nothing.
struct Empty;

impl GrantSource for Empty {
    fn lend(&self, _: usize) -> bool {
        false
    }
}

/// A file whose long dictionary has many short entries is read with many rows at a time, unless the budget
/// has no room to look at the entries.
#[test]
fn many_short_entries_of_a_dictionary_are_read_together() {
    let texts: Vec<String> = (0..200_000).map(|row| format!("{row:020}")).collect();
    let properties = || zstd().set_dictionary_page_size_limit(64 << 20).build();
    let needs = needs_of(&texts, properties());
    assert_eq!(needs.rows, BATCH_ROWS_MAX);
    let unlooked = needs_within(&texts, properties(), &Allowance::new(Arc::new(Empty)));
    assert_eq!(unlooked.rows, 1);
    assert!(needs.bytes <= unlooked.bytes, "{needs:?} {unlooked:?}");
}

#[test]
fn a_long_entry_among_short_ones_bounds_the_rows() {
    let mut texts: Vec<String> = (0..5_000).map(|row| format!("text {}", row % 100)).collect();
    texts.push("y".repeat(64 << 10));
    let needs = needs_of(&texts, zstd().build());
    assert_eq!(needs.rows, (4 << 20) / ((64 << 10) + 1));
}

#[test]
fn plain_pages_bound_the_rows_by_the_lengths_of_their_values() {
    let texts = vec!["z".repeat(100_000); 50];
    let properties = zstd().set_dictionary_enabled(false).set_encoding(Kind::PLAIN).build();
    let needs = needs_of(&texts, properties);
    assert!((30..42).contains(&needs.rows), "{needs:?}");
    let texts: Vec<String> = (0..10_000).map(|row| row.to_string()).collect();
    let needs = needs_of(&texts, zstd().build());
    assert_eq!(needs.rows, BATCH_ROWS_MAX);
    assert!(needs.bytes < 1 << 20, "{needs:?}");
}

/// A truncated page header is distinguished from a complete one, and no bytes cause a panic.
#[test]
fn headers_are_whole_or_refused() {
    // PageHeader { type: DATA_PAGE, uncompressed: 300, compressed: 20, crc: 7, DataPageHeader { 50 values, PLAIN, RLE, RLE,
    // Statistics { max: "zz", min: "aa", is_exact: true } } }
    let bytes = [
        0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x28, 0x15, 0x0e, 0x1c, 0x15, 0x64, 0x15, 0x00, 0x15, 0x06, 0x15,
        0x06, 0x1c, 0x18, 0x02, 0x7a, 0x7a, 0x18, 0x02, 0x61, 0x61, 0x51, 0x00, 0x00, 0x00,
    ];
    let mut reader = Compact { bytes: &bytes, at: 0 };
    let header = reader.page_header();
    let expected = Header { uncompressed_bytes: 300, compressed_bytes: 20, values: 50, ..Header::default() };
    assert_eq!((header, reader.at), (Some(expected), bytes.len()));
    for length in 0..bytes.len() {
        assert_eq!(Compact { bytes: &bytes[..length], at: 0 }.page_header(), None, "{length} bytes");
    }
    assert_eq!(Compact { bytes: &[0xff; 64], at: 0 }.page_header(), None);
    assert_eq!(Compact { bytes: &[0x1c; 64], at: 0 }.page_header(), None);
    // The bytes declare a field number beyond the greatest possible one.
    let bytes = [0x05, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x15, 0x00, 0x00];
    assert_eq!(Compact { bytes: &bytes, at: 0 }.page_header(), None);
}
