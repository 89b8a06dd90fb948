//! Data files: the bytes of sections in blocks, each behind a head with its length and a checksum.
//!
//! ```text
//! file   block | block | ..
//! block  "TWCB" | checksum, 4 bytes | length, 8 | `length` bytes
//! ```
//!
//! Numbers are little-endian. The checksum is the CRC-32 of all bytes of the block that follow it. The manifest has the place, the
//! length and the checksum of each block, and the length of the file, so blocks of another file or in another order are found.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Crc;
use thalweg_connectors::{Files, InProgressFile};
use thalweg_model::disk::Disk;

use crate::error::CheckpointError;
use crate::manifest::Block;
use crate::names::{self, Kind};

/// Bytes of the head of a block.
pub const HEAD_BYTES: usize = 16;

const BLOCK: [u8; 4] = *b"TWCB";

/// Bytes that are compared at a time.
const COMPARED_BYTES: usize = 64 << 10;

/// A data file that is being written. It is removed if it is dropped before it is published. The file is made when its first
/// block is written.
pub struct DataWriter {
    files: Arc<dyn Files>,
    directory: PathBuf,
    number: u64,
    file: Option<InProgressFile>,
    bytes: u64,
}

impl DataWriter {
    /// Creates the writer of the data file of a checkpoint.
    pub fn new(files: Arc<dyn Files>, directory: &Path, number: u64) -> Self {
        DataWriter { files, directory: directory.to_owned(), number, file: None, bytes: 0 }
    }

    /// Writes some bytes as one block, and returns its place.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn write(&mut self, payload: &[u8], crc32: u32) -> Result<Block, CheckpointError> {
        let path = self.path();
        let failed = |source| CheckpointError::Failed { access: "be written", path: path.clone(), source };
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                none.insert(create(&self.files, &self.directory, Kind::Data, self.number).map_err(failed)?)
            }
        };
        let length = payload.len() as u64;
        file.write_all(&head(length, crc32)).and_then(|()| file.write_all(payload)).map_err(failed)?;
        let block = Block { file: self.number, offset: self.bytes, length, crc32 };
        self.bytes += HEAD_BYTES as u64 + length;
        Ok(block)
    }

    /// Returns the length of the file; `None` if it has no block, and is not made.
    pub fn bytes(&self) -> Option<u64> {
        (self.bytes > 0).then_some(self.bytes)
    }

    /// Makes the file durable under its final name, if it has a block.
    ///
    /// # Errors
    /// The error of the operating system. The file may have its final name nevertheless.
    pub fn publish(self) -> Result<(), CheckpointError> {
        let path = self.path();
        let published = self.file.map_or(Ok(()), InProgressFile::publish);
        published.map_err(|source| CheckpointError::Failed { access: "be written", path, source })
    }

    fn path(&self) -> PathBuf {
        names::path(&self.directory, Kind::Data, self.number)
    }
}

/// Creates a file of a checkpoint under its hidden name.
pub(crate) fn create(
    files: &Arc<dyn Files>,
    directory: &Path,
    kind: Kind,
    number: u64,
) -> io::Result<InProgressFile> {
    let disk: Arc<dyn Disk> = Arc::clone(files) as _;
    let hidden = directory.join(names::in_progress_file(kind, number));
    InProgressFile::create_as(disk, &names::path(directory, kind, number), hidden)
}

/// Returns the path of the data file that has a block.
pub fn path(directory: &Path, block: &Block) -> PathBuf {
    names::path(directory, Kind::Data, block.file)
}

/// Returns the checksum of a block with these bytes.
pub fn block_checksum(payload: &[u8]) -> u32 {
    checksum(&[&(payload.len() as u64).to_le_bytes(), payload])
}

/// Returns the checksum of some bytes that follow each other.
pub(crate) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}

fn head(length: u64, crc32: u32) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&BLOCK);
    head[4..8].copy_from_slice(&crc32.to_le_bytes());
    head[8..].copy_from_slice(&length.to_le_bytes());
    head
}

/// Reads the bytes of a block. The length of the block must have been checked against the length of its file.
///
/// # Errors
/// The error of the operating system; `UnexpectedEof` if the file is too short, and `InvalidData` if its bytes are not those that
/// were written.
pub fn read(files: &dyn Files, directory: &Path, block: &Block) -> io::Result<Vec<u8>> {
    let mut source = open(files, directory, block)?;
    let mut payload = Vec::new();
    let length = usize::try_from(block.length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    payload.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    source.by_ref().take(block.length).read_to_end(&mut payload)?;
    if payload.len() != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if block_checksum(&payload) != block.crc32 {
        let fault = format!("has bytes that do not fit their checksum, in the block at {}", block.offset);
        return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
    }
    Ok(payload)
}

/// Returns whether a block has exactly these bytes.
///
/// # Errors
/// As [`read`].
pub fn is_same(files: &dyn Files, directory: &Path, block: &Block, payload: &[u8]) -> io::Result<bool> {
    if block.length != payload.len() as u64 {
        return Ok(false);
    }
    let mut source = open(files, directory, block)?;
    let mut read = vec![0; COMPARED_BYTES.min(payload.len())];
    for expected in payload.chunks(COMPARED_BYTES) {
        let read = &mut read[..expected.len()];
        source.read_exact(read)?;
        if *read != *expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Opens a data file behind the head of a block, which is checked.
fn open(files: &dyn Files, directory: &Path, block: &Block) -> io::Result<Box<dyn Read + Send>> {
    let mut source = files.open_at(&path(directory, block), block.offset)?;
    let mut found = [0; HEAD_BYTES];
    source.read_exact(&mut found)?;
    if found != head(block.length, block.crc32) {
        let fault = format!("has another block at {} than the manifest says", block.offset);
        return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
    }
    Ok(source)
}
