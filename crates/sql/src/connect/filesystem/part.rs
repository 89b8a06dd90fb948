//! One file that is being written: hidden until it is whole.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use thalweg_connectors::InProgressFile;
use thalweg_model::disk::Disk;
use thalweg_model::{Fault, ProcessingTime};

use super::parquet::{ParquetOptions, ParquetPart};
use crate::connect::layout::batch_of;
use crate::connect::standard::failed;
use crate::formats::{Encoder, RowKind};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// What writes rows into files.
pub(super) enum Writing {
    Lines(Box<dyn Encoder>),
    Columns(ParquetOptions, SchemaRef),
}

/// A file on its way to its name. Dropped before it is published, it is removed.
pub(super) struct Part {
    content: Content,
    name: String,
    pub(super) opened_at: ProcessingTime,
    pub(super) written_at: ProcessingTime,
}

enum Content {
    Lines { file: InProgressFile, text: Vec<u8>, bytes: u64 },
    Columns(Box<ParquetPart>),
}

impl Part {
    /// Begins the file that is to be `path`; until then its name begins with a point.
    pub(super) fn create(
        disk: Arc<dyn Disk>,
        path: &Path,
        writing: &Writing,
        now: ProcessingTime,
    ) -> Result<Part, Fault> {
        let name = path.display().to_string();
        let refused = |error| failed(&name, error);
        let file = InProgressFile::create_as(disk, path, hidden(path)).map_err(refused)?;
        let content = match writing {
            Writing::Lines(_) => Content::Lines { file, text: Vec::new(), bytes: 0 },
            Writing::Columns(options, schema) => Content::Columns(Box::new(
                ParquetPart::new(file, Arc::clone(schema), options).map_err(refused)?,
            )),
        };
        Ok(Part { content, name, opened_at: now, written_at: now })
    }

    /// Appends rows.
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
                if BUFFER_BYTES <= text.len() {
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
                // A sink has one format.
                let error = io::Error::other("it was begun in another format than that of its rows");
                return Err(failed(&self.name, error).into());
            }
        }
        Ok(())
    }

    /// How long the file is so far.
    pub(super) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Lines { bytes, .. } => *bytes,
            Content::Columns(part) => part.bytes(),
        }
    }

    /// Bytes of rows that are gathered, to be written together.
    pub(super) fn gathered_bytes(&self) -> usize {
        match &self.content {
            Content::Lines { .. } => 0,
            Content::Columns(part) => part.held_bytes(),
        }
    }

    /// Writes out the rows that are gathered.
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        match &mut self.content {
            Content::Lines { .. } => Ok(()),
            Content::Columns(part) => Ok(part.flush().map_err(|error| failed(&self.name, error))?),
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        match &self.content {
            Content::Lines { text, .. } => text.capacity(),
            Content::Columns(part) => part.held_bytes(),
        }
    }

    /// Brings it onto the disk and gives it its name.
    pub(super) fn publish(self) -> Result<(), Fault> {
        let Part { content, name, .. } = self;
        let publish = || -> io::Result<()> {
            let file = match content {
                Content::Lines { mut file, text, .. } => {
                    file.write_all(&text)?;
                    file
                }
                Content::Columns(part) => part.finish()?,
            };
            file.publish()
        };
        Ok(publish().map_err(|error| failed(&name, error))?)
    }
}

/// Publishes an empty file, which other runs may publish at the same time: the word of this one keeps them apart until then.
pub(super) fn publish_empty(disk: Arc<dyn Disk>, path: &Path, unique_name: &str) -> Result<(), Fault> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-{unique_name}"));
    let until_then = hidden(Path::new(&name));
    let published = InProgressFile::create_as(disk, path, until_then).and_then(InProgressFile::publish);
    Ok(published.map_err(|error| failed(&path.display().to_string(), error))?)
}

/// The name of a file until it is whole, which readers of its directory pass over.
pub(super) fn hidden(path: &Path) -> std::path::PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".inprogress");
    path.with_file_name(name)
}
