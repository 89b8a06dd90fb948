//! Writes an input file that is small on disk and large in memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::StringArray;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// Writes a Parquet file of `rows` rows with one text column `x`. All rows refer to the same dictionary entry
/// of `bytes` bytes.
pub fn long_dictionary(path: &Path, rows: usize, bytes: usize) {
    let text = "x".repeat(bytes);
    let column = Arc::new(StringArray::from_iter_values((0..1).map(|_| &text)));
    let batch = RecordBatch::try_from_iter([("x", column as _)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Codec::ZSTD(ZstdLevel::try_new(3).unwrap()))
        .set_dictionary_page_size_limit(4 * bytes)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    // Rows are written one by one, because the writer itself must not need the memory that the reader is not
    // allowed to use.
    for _ in 0..rows {
        writer.write(&batch).unwrap();
    }
    writer.close().unwrap();
}
