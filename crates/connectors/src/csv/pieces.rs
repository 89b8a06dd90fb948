//! The pieces of a file that is published with the last checkpoint of its query.
//!
//! ```text
//!   NAME.0.inprogress  NAME.1.inprogress ..   one for each checkpoint that has rows; synced when it is closed
//!   NAME.inprogress                           all of them, one after the other, while they are put together
//!   NAME                                      the file, after the last checkpoint
//! ```
//!
//! The lengths of the pieces are the state of the sink. After a restart it goes on with the next number, and its publisher removes
//! pieces with that number and higher ones, which belong to no checkpoint. They have no gaps, because a piece is begun when the one
//! before it is durable.
//!
//! Publishing can be done again at any time: pieces are removed when the file has its name, so if one of them is missing, the
//! file is published. It must then have the length of all pieces.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thalweg_model::disk::Disk;
use thalweg_model::{Fault, Publisher, StateError, StateReader, StateWriter};

use super::sink::failed;
use crate::in_progress::InProgressFile;
use crate::sink_error::SinkError;

/// Version of the state and of the description.
const VERSION: u8 = 1;

/// The pieces that a sink writes.
pub(super) struct Pieces {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The length in bytes of each piece that is closed.
    lengths: Vec<u64>,
    /// The piece that is being written; `None` until it has rows.
    open: Option<InProgressFile>,
    /// Number of pieces of the restored checkpoint, which stay when the publisher cleans up.
    restored: Arc<Mutex<usize>>,
}

impl Pieces {
    pub(super) fn new(disk: Arc<dyn Disk>, path: &Path) -> Self {
        Pieces { disk, path: path.to_owned(), lengths: Vec::new(), open: None, restored: Arc::default() }
    }

    /// Returns the publisher of the file.
    pub(super) fn publisher(&self) -> PiecesPublisher {
        let (disk, path) = (Arc::clone(&self.disk), self.path.clone());
        PiecesPublisher { disk, path, restored: Arc::clone(&self.restored) }
    }

    /// Appends bytes to the piece of the next checkpoint.
    ///
    /// # Errors
    /// The error of the disk.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.open.is_none() {
            let name = piece(&self.path, self.lengths.len());
            self.open = Some(InProgressFile::create_as(Arc::clone(&self.disk), &self.path, name)?);
        }
        self.open.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// Closes the piece that is being written, and makes it durable. From now on it stays when the sink is dropped.
    ///
    /// # Errors
    /// The error of the disk.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(file) = self.open.take() else { return Ok(()) };
        let sealed = file.seal()?;
        let name = sealed.in_progress_path();
        // A file that gets the name that it has is unchanged, and its name becomes durable.
        self.disk.publish(name, name)?;
        self.lengths.push(self.disk.identity(name)?.len_bytes);
        sealed.keep();
        Ok(())
    }

    /// Returns the description of the whole file.
    ///
    /// # Errors
    /// [`SinkError::Lost`] if it cannot be written.
    pub(super) fn describe(&self) -> Result<Vec<u8>, SinkError> {
        let mut out = StateWriter::default();
        self.save(&mut out).map_err(|error| lost(&self.path, error.to_string()))?;
        Ok(out.into_bytes())
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&VERSION)?;
        state.put(&self.lengths)
    }

    /// Reads the lengths of the pieces, and checks that they are there.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let lengths = take_lengths(state)?;
        for (number, bytes) in lengths.iter().enumerate() {
            let name = piece(&self.path, number);
            if self.disk.identity(&name).ok().map(|identity| identity.len_bytes) != Some(*bytes) {
                return Err(
                    state.wrong(format!("{} is missing or has not {bytes} bytes any more", name.display()))
                );
            }
        }
        *self.restored.lock().unwrap_or_else(PoisonError::into_inner) = lengths.len();
        self.lengths = lengths;
        Ok(())
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.lengths.capacity() * size_of::<u64>()
    }
}

/// Puts the pieces of a file together.
pub(super) struct PiecesPublisher {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    restored: Arc<Mutex<usize>>,
}

impl PiecesPublisher {
    /// Returns the length of a file; `None` if it is missing.
    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        match self.disk.identity(path) {
            Ok(identity) => Ok(Some(identity.len_bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Publishes the file, unless that was done; returns what is wrong with its pieces, if anything.
    fn join(&self, lengths: &[u64]) -> io::Result<Option<String>> {
        let mut missing = None;
        for (number, bytes) in lengths.iter().enumerate() {
            let name = piece(&self.path, number);
            match self.length(&name)? {
                Some(found) if found == *bytes => {}
                Some(found) => {
                    return Ok(Some(format!("its piece {} has {found} bytes, not {bytes}", name.display())));
                }
                None => missing = missing.or(Some(name)),
            }
        }
        if let Some(missing) = missing {
            let whole = lengths.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            if self.length(&self.path)? != Some(whole) {
                return Ok(Some(format!("its piece {} is missing", missing.display())));
            }
            // The process that has published the file may have died before its name was durable.
            self.disk.publish(&self.path, &self.path)?;
        } else {
            let mut whole = InProgressFile::create(Arc::clone(&self.disk), &self.path)?;
            for number in 0..lengths.len() {
                io::copy(&mut self.disk.open(&piece(&self.path, number))?, &mut whole)?;
            }
            whole.publish()?;
        }
        (0..lengths.len()).try_for_each(|number| self.remove(number).map(drop))?;
        Ok(None)
    }

    /// Removes a piece; returns false if it was gone.
    fn remove(&self, number: usize) -> io::Result<bool> {
        match self.disk.remove(&piece(&self.path, number)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Publisher for PiecesPublisher {
    fn publish(&mut self, prepared: &[u8]) -> Result<(), Fault> {
        if prepared.is_empty() {
            return Ok(());
        }
        let mut state = StateReader::new(prepared);
        let lengths = take_lengths(&mut state).and_then(|lengths| state.finish().map(|()| lengths));
        let lengths =
            lengths.map_err(|error| lost(&self.path, format!("its description is of no use: {error}")))?;
        match self.join(&lengths).map_err(|source| failed(&self.path, source))? {
            Some(reason) => Err(lost(&self.path, reason).into()),
            None => Ok(()),
        }
    }

    fn clean(&mut self) -> Result<(), Fault> {
        let mut number = *self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        while self.remove(number).map_err(|source| failed(&self.path, source))? {
            number += 1;
        }
        Ok(())
    }
}

fn take_lengths(state: &mut StateReader<'_>) -> Result<Vec<u64>, StateError> {
    match state.take::<u8>()? {
        VERSION => state.take(),
        other => Err(state.wrong(format!("the pieces are described in version {other}, not {VERSION}"))),
    }
}

/// Returns the path of a piece.
fn piece(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}.inprogress"));
    PathBuf::from(name)
}

fn lost(path: &Path, reason: String) -> SinkError {
    SinkError::Lost { target: path.display().to_string(), reason }
}
