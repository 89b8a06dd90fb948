//! Files of rows: blocks in Arrow's stream format, each behind a head with its length, its number and a checksum.
//!
//! ```text
//! file   block 0 | block 1 | .. | end
//! block  "TWRB" | checksum, 4 bytes | number, 8 | length, 8 | rows as an Arrow stream, `length` bytes
//! end    "TWRE" | checksum, 4 bytes | number, 8 | length, 8 | number of rows of the file, 8 bytes
//! ```
//!
//! Numbers are little-endian. The checksum is the CRC-32 of all bytes of the block that follow it. The end has the number of
//! blocks as its number, so a file that lacks blocks, or has them in another order, is found.
//!
//! A writer holds one encoded block, and a reader one block and its rows. The caller bounds both by the rows that it writes at
//! a time.

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use flate2::Crc;
use thalweg_model::disk::WriteFile;
use thalweg_sql_functions::functions::EvaluationError;

use super::{Run, Spill, failed};

type Outcome<T> = Result<T, EvaluationError>;

const BLOCK: [u8; 4] = *b"TWRB";
const END: [u8; 4] = *b"TWRE";

/// Bytes of the head of a block.
const HEAD_BYTES: usize = 24;

/// Place of the checksum in the head, and of the first byte that it covers.
const CHECKSUM: std::ops::Range<usize> = 4..8;

impl Spill {
    /// Begins a file for rows of a schema.
    ///
    /// # Errors
    /// `SPILL_FAILED` if the file cannot be made.
    pub fn writer(&self, schema: &SchemaRef) -> Outcome<SpillWriter> {
        let directory = self.0.directory()?;
        let number = {
            let mut totals = self.0.totals();
            totals.files += 1;
            totals.files - 1
        };
        let path = directory.join(format!("{number}.rows"));
        let file = self.0.files.create(&path).map_err(|error| failed("cannot be made", &path, &error))?;
        let held = Held { run: Arc::clone(&self.0), path, bytes: 0 };
        Ok(SpillWriter { held, file, schema: Arc::clone(schema), blocks: 0, rows: 0, block_bytes_max: 0 })
    }
}

/// A file of a run, which is removed with its bytes when it is dropped.
struct Held {
    run: Arc<Run>,
    path: PathBuf,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.run.files.remove(&self.path);
        let mut totals = self.run.totals();
        totals.bytes = totals.bytes.saturating_sub(self.bytes);
    }
}

/// A file to which rows are written, batch by batch. It is removed if it is dropped before it is finished.
pub struct SpillWriter {
    held: Held,
    file: Box<dyn WriteFile>,
    schema: SchemaRef,
    blocks: u64,
    rows: u64,
    /// Bytes of the longest block, without its head.
    block_bytes_max: u64,
}

impl SpillWriter {
    /// Writes the rows of a batch as one block.
    ///
    /// # Errors
    /// `SPILL_LIMIT` if the files of the run would hold too many bytes, `SPILL_FAILED` if the block cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> Outcome<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let mut block = vec![0; HEAD_BYTES];
        let encoded = StreamWriter::try_new(&mut block, &self.schema)
            .and_then(|mut writer| writer.write(rows).and_then(|()| writer.finish()));
        encoded.map_err(|error| {
            let message = format!("rows have no form in which they can be written to disk: {error}");
            EvaluationError { code: "SPILL_FAILED", message }
        })?;
        self.put(BLOCK, &mut block)?;
        self.blocks += 1;
        self.rows += rows.num_rows() as u64;
        self.held.run.totals().rows_written += rows.num_rows() as u64;
        Ok(())
    }

    /// Ends the file. From now on it does not change.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn finish(mut self) -> Outcome<SpillFile> {
        let mut end = vec![0; HEAD_BYTES];
        end.extend_from_slice(&self.rows.to_le_bytes());
        self.put(END, &mut end)?;
        self.file.flush().map_err(|error| failed("cannot be written", &self.held.path, &error))?;
        let SpillWriter { held, schema, blocks, rows, block_bytes_max, .. } = self;
        Ok(SpillFile { held, schema, blocks, rows, block_bytes_max })
    }

    /// Fills the head of a block and writes the block.
    fn put(&mut self, kind: [u8; 4], block: &mut [u8]) -> Outcome<()> {
        let length = (block.len() - HEAD_BYTES) as u64;
        self.block_bytes_max = self.block_bytes_max.max(length);
        block[..4].copy_from_slice(&kind);
        block[8..16].copy_from_slice(&self.blocks.to_le_bytes());
        block[16..HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
        let checksum = checksum(&[&block[CHECKSUM.end..]]);
        block[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        let bytes = block.len() as u64;
        {
            let mut totals = self.held.run.totals();
            let limit = self.held.run.limit_bytes;
            if totals.bytes.saturating_add(bytes) > limit {
                let message = format!(
                    "{bytes} bytes of state beside {} bytes on disk go beyond the {limit} bytes of \
                     'thalweg.state.spill-size': raise it, or raise the memory budget",
                    totals.bytes
                );
                return Err(EvaluationError { code: "SPILL_LIMIT", message });
            }
            totals.bytes += bytes;
            totals.bytes_written += bytes;
        }
        self.held.bytes += bytes;
        self.file.write_all(block).map_err(|error| failed("cannot be written", &self.held.path, &error))
    }
}

/// A file of rows that does not change any more.
pub struct SpillFile {
    held: Held,
    schema: SchemaRef,
    blocks: u64,
    rows: u64,
    /// Bytes of the longest block, without its head.
    block_bytes_max: u64,
}

impl SpillFile {
    /// Returns the number of rows in the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.held.path
    }

    /// Opens the file to read its rows once. The file is removed when the reader is dropped.
    ///
    /// # Errors
    /// `SPILL_FAILED` if the file cannot be opened.
    pub fn read(self) -> Outcome<SpillReader> {
        let path = &self.held.path;
        let source =
            self.held.run.files.open(path).map_err(|error| failed("cannot be opened", path, &error))?;
        let left_bytes = self.held.bytes;
        Ok(SpillReader { file: self, source, left_bytes, blocks: 0, rows: 0, is_over: false })
    }
}

/// Reads the rows of a file, block by block, in the order in which they were written.
pub struct SpillReader {
    file: SpillFile,
    source: Box<dyn Read + Send>,
    /// Bytes of the file behind the blocks that were read.
    left_bytes: u64,
    blocks: u64,
    rows: u64,
    is_over: bool,
}

impl SpillReader {
    /// Returns the rows of the next block; `None` behind the last.
    ///
    /// # Errors
    /// `SPILL_CORRUPT` if the bytes are not those that were written, `SPILL_FAILED` if they cannot be read.
    pub fn next_rows(&mut self) -> Outcome<Option<RecordBatch>> {
        if self.is_over {
            return Ok(None);
        }
        let is_last = self.blocks == self.file.blocks;
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head)?;
        if head[..4] != (if is_last { END } else { BLOCK }) {
            return Err(self.damaged("has no block where one should begin"));
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let length = number(16);
        if number(8) != self.blocks || length > self.left_bytes.min(self.file.block_bytes_max) {
            return Err(self.damaged("has another block where one should begin"));
        }
        // The length is at most that of the longest block that was written.
        let mut payload = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.fill(&mut payload)?;
        let stored = u32::from_le_bytes(std::array::from_fn(|byte| head[CHECKSUM.start + byte]));
        if checksum(&[&head[CHECKSUM.end..], &payload]) != stored {
            return Err(self.damaged("has bytes that do not fit their checksum"));
        }
        if is_last {
            self.is_over = true;
            if payload != self.rows.to_le_bytes() || self.rows != self.file.rows || self.left_bytes != 0 {
                return Err(self.damaged("ends with another number of rows"));
            }
            return Ok(None);
        }
        let rows = StreamReader::try_new(Cursor::new(payload), None)
            .and_then(|mut reader| reader.next().transpose())
            .map_err(|error| self.damaged(&format!("has a block that is no block of rows ({error})")))?;
        let rows = rows.filter(|rows| rows.schema() == self.file.schema);
        let Some(rows) = rows else { return Err(self.damaged("has rows of other columns")) };
        self.blocks += 1;
        self.rows += rows.num_rows() as u64;
        self.file.held.run.totals().rows_read += rows.num_rows() as u64;
        Ok(Some(rows))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Outcome<()> {
        let path = &self.file.held.path;
        match self.source.read_exact(bytes) {
            Ok(()) => {
                self.left_bytes = self.left_bytes.saturating_sub(bytes.len() as u64);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged("ends before its last row: it was cut"))
            }
            Err(error) => Err(failed("cannot be read", path, &error)),
        }
    }

    fn damaged(&self, fault: &str) -> EvaluationError {
        let path = self.file.held.path.display();
        let message =
            format!("{path} {fault}; its disk may be failing, or another program has written to the file");
        EvaluationError { code: "SPILL_CORRUPT", message }
    }
}

/// Returns the checksum of some bytes that follow each other.
fn checksum(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}
