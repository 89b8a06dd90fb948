//! A part: one file of a table that is being written. The file has a hidden name until it is complete.
//!
//! A part can take rows before it has a file: its output is kept in memory until [`Part::attach`] gives it
//! one. So a table can have more partitions than files may be open.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use thalweg_connectors::{InProgressFile, SealedFile};
use thalweg_model::disk::Disk;
use thalweg_model::{Fault, ProcessingTime};
use thalweg_sql_formats::{Encoder, RowKind};

use super::parquet::{ParquetOptions, ParquetPart};
use crate::connect::layout::batch_of;
use crate::connect::standard::failed;

/// Number of bytes of encoded records from which on they are written to the file of a part; fewer bytes wait
/// in memory.
const BUFFER_BYTES: usize = 64 << 10;

/// Upper estimate of the memory, in bytes, that a part, one file of a table that is being written, takes
/// beside its rows: its names and its entry in the map of parts.
const PART_BYTES: usize = 1 << 10;

/// The writer that turns rows into the bytes of a file.
pub(super) enum Writing {
    Lines(Box<dyn Encoder>),
    Columns(ParquetOptions, SchemaRef),
}

/// A file which does not have its final name yet. The file is removed if this value is dropped before the
/// file gets that name.
pub(super) struct Part {
    content: Content,
    /// The name of the part in errors: the path of its file or, while it has none, the directory of its
    /// partition.
    name: String,
    pub(super) opened_at: ProcessingTime,
    pub(super) written_at: ProcessingTime,
}

/// A file that is complete and on disk, but without its final name. The file is removed if this value is
/// dropped before the file gets that name.
pub(super) struct SealedPart {
    file: SealedFile,
    name: String,
}

impl SealedPart {
    /// Gives the completed file its final name.
    pub(super) fn publish(self) -> Result<(), Fault> {
        let SealedPart { file, name } = self;
        Ok(file.publish().map_err(|error| failed(&name, error))?)
    }

    /// Returns the hidden name of the file.
    pub(super) fn hidden_path(&self) -> &Path {
        self.file.in_progress_path()
    }

    /// Leaves the file under its hidden name when this value is dropped.
    pub(super) fn keep(self) {
        self.file.keep();
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.file.held_bytes() + self.name.capacity()
    }
}

enum Content {
    Lines { file: PartFile, text: Vec<u8>, bytes: u64 },
    Columns(Box<ParquetPart>),
}

impl Content {
    /// Writes the rows that are still in memory to the file of this part, and returns the file.
    fn whole(self) -> io::Result<InProgressFile> {
        match self {
            Content::Lines { mut file, text, .. } => {
                file.write_all(&text)?;
                file.whole()
            }
            Content::Columns(part) => part.finish()?.whole(),
        }
    }
}

/// The destination of the bytes of a part, one file of a table that is being written: this file, or memory
/// until the file is created.
#[derive(Default)]
pub(super) struct PartFile {
    file: Option<InProgressFile>,
    kept: Vec<u8>,
}

impl PartFile {
    fn attach(&mut self, file: InProgressFile) {
        self.file = Some(file);
    }

    fn has_file(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.capacity()
    }

    fn write_kept(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.as_mut().filter(|_| !self.kept.is_empty()) {
            file.write_all(&self.kept)?;
            self.kept = Vec::new();
        }
        Ok(())
    }

    /// Writes the bytes that are still in memory to the file, and returns the file.
    fn whole(mut self) -> io::Result<InProgressFile> {
        self.write_kept()?;
        self.file.ok_or_else(|| io::Error::other("it has no file"))
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_kept()?;
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => self.kept.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_kept()?;
        self.file.as_mut().map_or(Ok(()), InProgressFile::flush)
    }
}

impl Part {
    /// Begins a part, one file of a table that is being written, in `directory`. Its rows stay in memory
    /// until the file is created.
    pub(super) fn new(directory: &Path, writing: &Writing, now: ProcessingTime) -> Result<Part, Fault> {
        let name = directory.display().to_string();
        let content = match writing {
            Writing::Lines(_) => Content::Lines { file: PartFile::default(), text: Vec::new(), bytes: 0 },
            Writing::Columns(options, schema) => {
                let part = ParquetPart::new(PartFile::default(), Arc::clone(schema), options);
                Content::Columns(Box::new(part.map_err(|error| failed(&name, error))?))
            }
        };
        Ok(Part { content, name, opened_at: now, written_at: now })
    }

    /// Creates the file of the part, whose final name is `path`. The file has the name `hidden` until it is
    /// complete.
    pub(super) fn attach(&mut self, disk: Arc<dyn Disk>, path: &Path, hidden: PathBuf) -> Result<(), Fault> {
        self.name = path.display().to_string();
        let file =
            InProgressFile::create_as(disk, path, hidden).map_err(|error| failed(&self.name, error))?;
        self.file_mut().attach(file);
        Ok(())
    }

    /// Returns the file of the part, to which no row was written.
    pub(super) fn into_file(self) -> Option<InProgressFile> {
        match self.content {
            Content::Lines { file, .. } => file.file,
            Content::Columns(_) => None,
        }
    }

    /// Returns whether the file of this part was created, so that rows no longer stay in memory.
    pub(super) fn has_file(&self) -> bool {
        match &self.content {
            Content::Lines { file, .. } => file.has_file(),
            Content::Columns(part) => part.file().has_file(),
        }
    }

    fn file_mut(&mut self) -> &mut PartFile {
        match &mut self.content {
            Content::Lines { file, .. } => file,
            Content::Columns(part) => part.file_mut(),
        }
    }

    /// Appends rows to the part: to its file, or to memory until the file is created.
    pub(super) fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        writing: &mut Writing,
        now: ProcessingTime,
    ) -> Result<(), Fault> {
        self.written_at = now;
        match (&mut self.content, writing) {
            (Content::Lines { file, text, bytes }, Writing::Lines(encoder)) => {
                let before = text.len();
                encoder.write(rows, kinds, text)?;
                *bytes += (text.len() - before) as u64;
                if BUFFER_BYTES <= text.len() && file.has_file() {
                    file.write_all(text).map_err(|error| failed(&self.name, error))?;
                    text.clear();
                }
            }
            (Content::Columns(part), Writing::Columns(_, schema)) => {
                let rows = batch_of(schema, rows.columns().to_vec(), rows.num_rows());
                let rows = rows.ok_or_else(|| {
                    failed(
                        &self.name,
                        io::Error::other("a row is not of the table's types, or NULL where it is not"),
                    )
                })?;
                part.write(&rows).map_err(|error| failed(&self.name, error))?;
            }
            (Content::Lines { .. }, Writing::Columns(..)) | (Content::Columns(_), Writing::Lines(_)) => {
                // Rows and part have different formats, which does not occur: all parts of a sink have one
                // format.
                let error = io::Error::other("it was begun in another format than that of its rows");
                return Err(failed(&self.name, error).into());
            }
        }
        Ok(())
    }

    /// Returns the number of bytes written to the part so far, to its file or to memory.
    pub(super) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Lines { bytes, .. } => *bytes,
            Content::Columns(part) => part.bytes(),
        }
    }

    /// Returns the bytes of the rows of the part that are kept in memory until they are written together.
    pub(super) fn gathered_bytes(&self) -> usize {
        match &self.content {
            // Text buffers of open files are not counted, because they have a bound of their own.
            Content::Lines { file, .. } if file.has_file() => 0,
            Content::Columns(part) if part.file().has_file() => part.gathered_bytes(),
            _ => self.held_bytes(),
        }
    }

    /// Writes the rows collected in the part to its file; without a file they stay in memory.
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        let flushed = match &mut self.content {
            Content::Lines { file, text, .. } => file.write_all(text).map(|()| *text = Vec::new()),
            Content::Columns(part) => part.flush(),
        };
        Ok(flushed.map_err(|error| failed(&self.name, error))?)
    }

    pub(super) fn held_bytes(&self) -> usize {
        PART_BYTES
            + match &self.content {
                Content::Lines { file, text, .. } => text.capacity() + file.kept_bytes(),
                Content::Columns(part) => part.held_bytes() + part.file().kept_bytes(),
            }
    }

    /// Syncs the file of the part to disk and closes it. The part must have a file.
    pub(super) fn seal(self) -> Result<SealedPart, Fault> {
        let Part { content, name, .. } = self;
        match content.whole().and_then(InProgressFile::seal) {
            Ok(file) => Ok(SealedPart { file, name }),
            Err(error) => Err(failed(&name, error).into()),
        }
    }

    /// Syncs the file of the part to disk and gives it its final name. The part must have a file, which
    /// keeps its lock until then.
    pub(super) fn publish(self) -> Result<(), Fault> {
        let Part { content, name, .. } = self;
        let published = content.whole().and_then(InProgressFile::publish);
        Ok(published.map_err(|error| failed(&name, error))?)
    }
}

/// Creates an empty file under a hidden name, then renames it to `path`. Other runs may create the same file
/// at the same time, so the hidden name contains `unique_name`.
pub(super) fn publish_empty(disk: Arc<dyn Disk>, path: &Path, unique_name: &str) -> Result<(), Fault> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-{unique_name}"));
    let until_then = hidden(Path::new(&name));
    let published = InProgressFile::create_as(disk, path, until_then).and_then(InProgressFile::publish);
    Ok(published.map_err(|error| failed(&path.display().to_string(), error))?)
}

/// Returns the hidden name that a file has until it is complete, `.NAME.inprogress`. Readers of its
/// directory ignore it.
pub(super) fn hidden(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".inprogress");
    path.with_file_name(name)
}
