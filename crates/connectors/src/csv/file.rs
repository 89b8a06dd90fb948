//! Reading of one version of one file, gunzipped if its name ends in `.gz`.
//!
//! Promise: a reader gets either every byte of the version that stood at the path when it was opened, or an
//! error. To that end the file's identity (device, inode, length, time of change) is read before the file is
//! opened. It is compared at the end of the file, after a failed read, and every [`IDENTITY_CHECK_BYTES`] in
//! between. Because it is read before opening, a replacement between the two steps is found at the end of the
//! file at the latest.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use thalweg_model::disk::{Disk, FileIdentity};

use super::error::{CsvError, Position};

/// Bytes read, after gunzip, between two checks of the file's identity: often enough to stop soon, seldom enough to
/// cost little (one system call in some 100 ms of reading).
const IDENTITY_CHECK_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Bytes of a gzip stream that are decompressed and dropped at a time.
const PASS_BYTES: usize = 256 << 10;

/// Number of compressed bytes that one read of a gzip file returns at most.
const GZIP_READ_BYTES: usize = 64 << 10;

/// Bytes of memory of the gzip decoder: its window of 32 KiB and its tables, rounded up.
const GZIP_STATE_BYTES: usize = 64 << 10;

/// A CSV file that is being read, gunzipped if necessary.
pub struct SourceFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    identity: FileIdentity,
    bytes: Box<dyn Read + Send>,
    is_gzip: bool,
    read_bytes: u64,
    next_check_bytes: u64,
}

impl SourceFile {
    /// Opens the file that is at `path` now.
    ///
    /// # Errors
    /// `SourceMissing` or `SourceUnreadable`.
    pub fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, CsvError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => CsvError::SourceMissing { path: path.to_owned() },
            _ => CsvError::SourceUnreadable { place: Position::START.of(path), source },
        };
        let identity = disk.identity(path).map_err(refused)?;
        let plain = disk.open(path).map_err(refused)?;
        let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let bytes: Box<dyn Read + Send> = if is_gzip {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(GZIP_READ_BYTES, plain)))
        } else {
            plain
        };
        let next_check_bytes = IDENTITY_CHECK_BYTES;
        Ok(SourceFile {
            disk,
            path: path.to_owned(),
            identity,
            bytes,
            is_gzip,
            read_bytes: 0,
            next_check_bytes,
        })
    }

    /// Reads at most `into.len()` bytes; returns 0 only at the end of an unchanged file. `at` is the start of the
    /// line that is being read, for errors.
    ///
    /// # Errors
    /// `SourceChanged`, `SourceCorrupt` or `SourceUnreadable`.
    pub fn read(&mut self, into: &mut [u8], at: Position) -> Result<usize, CsvError> {
        let outcome = loop {
            match self.bytes.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        let count = *outcome.as_ref().unwrap_or(&0);
        self.read_bytes += count as u64;
        // A change of the file explains a failed read better than the failure itself, so the identity is checked first.
        if count == 0 || self.next_check_bytes <= self.read_bytes {
            self.check_identity(at)?;
            self.next_check_bytes = self.read_bytes + IDENTITY_CHECK_BYTES;
        }
        if let Err(source) = outcome {
            return Err(self.read_error(source, at));
        }
        if count == 0 && !self.is_gzip && self.read_bytes < self.identity.len_bytes {
            let change = format!("it ends after {} of {} bytes", self.read_bytes, self.identity.len_bytes);
            return Err(CsvError::SourceChanged { place: at.of(&self.path), change });
        }
        Ok(count)
    }

    /// Passes over the first `count` bytes of a file from which nothing was read yet, counted after gunzip. A plain file is
    /// not read for that. `at` is the place behind them, for errors.
    ///
    /// # Errors
    /// `SourceChanged` if the file has fewer bytes, and the errors of [`read`](Self::read).
    pub fn pass(&mut self, count: u64, at: Position) -> Result<(), CsvError> {
        if !self.is_gzip {
            if self.identity.len_bytes < count {
                return Err(self.ends_before(self.identity.len_bytes, at));
            }
            let opened = self.disk.open_at(&self.path, count);
            self.bytes = opened.map_err(|source| self.read_error(source, at))?;
            (self.read_bytes, self.next_check_bytes) = (count, count + IDENTITY_CHECK_BYTES);
            return Ok(());
        }
        let mut passed = vec![0; PASS_BYTES];
        let mut left = count;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(passed.len());
            match self.read(&mut passed[..most], at)? {
                0 => return Err(self.ends_before(count - left, at)),
                read => left -= read as u64,
            }
        }
        Ok(())
    }

    /// Returns the identity of the version of the file that is being read.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Returns the bytes that reading this file holds for buffers.
    pub fn held_bytes(&self) -> usize {
        if self.is_gzip { GZIP_READ_BYTES + GZIP_STATE_BYTES } else { 0 }
    }

    fn ends_before(&self, bytes: u64, at: Position) -> CsvError {
        let change = format!("it ends after {bytes} bytes, before the place from which it was to be read on");
        CsvError::SourceChanged { place: at.of(&self.path), change }
    }

    fn check_identity(&self, at: Position) -> Result<(), CsvError> {
        let (old, new) = match self.disk.identity(&self.path) {
            Ok(new) => (self.identity, new),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let change = "it was removed".to_owned();
                return Err(CsvError::SourceChanged { place: at.of(&self.path), change });
            }
            Err(source) => return Err(CsvError::SourceUnreadable { place: at.of(&self.path), source }),
        };
        let change = if new.file != old.file {
            "another file took its place".to_owned()
        } else if new.len_bytes != old.len_bytes {
            format!("its length went from {} to {} bytes", old.len_bytes, new.len_bytes)
        } else if new.modified_ns != old.modified_ns {
            "it was written to".to_owned()
        } else {
            return Ok(());
        };
        Err(CsvError::SourceChanged { place: at.of(&self.path), change })
    }

    fn read_error(&self, source: io::Error, at: Position) -> CsvError {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let place = at.of(&self.path);
        match source.kind() {
            InvalidData | InvalidInput | UnexpectedEof if self.is_gzip => {
                CsvError::SourceCorrupt { place, source }
            }
            _ => CsvError::SourceUnreadable { place, source },
        }
    }
}
