//! The saved position of a split: its files with their identities, and a place in the file that is open or opened next.
//!
//! A position is checked when it is loaded, and the file is opened at the first poll. So an error of the file is an error of
//! the source, such as SOURCE_CHANGED, and the memory for its pages is reserved as for any file. A plain file is read from the
//! place on, a gzip stream from its start. Earlier files are not read again. The exception is a table which diverts bad records:
//! then all files are read again up to the place, and their rows dropped, so that the diverted file gets the same content.
//!
//! Paths are saved relative to that of the table, so that a directory may be moved together with the SQL that names it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use thalweg_model::disk::FileIdentity;
use thalweg_model::{ProcessingTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::Position;

use super::{FileSplit, OpenContent, OpenFile, changed, fill, names_bytes, place_of};
use crate::batch::BATCH_ROWS_MAX;
use crate::connect::decoding::{More, Resume, Step};
use crate::connect::error::ConnectError;
use crate::connect::filesystem::listing::Found;

/// The saved form of a file that was found: its path from that of the table on, the parts of its identity, and whether it has
/// changed.
type SavedFile = (Vec<u8>, (u64, u64), u64, i128, bool);

impl FileSplit {
    /// Writes the position after the last row that was returned.
    pub(super) fn save_position(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let root = &self.reading.listing.root;
        let saved = |file: &Found| -> SavedFile {
            let FileIdentity { file: id, len_bytes, modified_ns } = file.identity;
            let path = file.path.strip_prefix(root).unwrap_or(&file.path);
            (path.as_os_str().as_bytes().to_vec(), id, len_bytes, modified_ns, file.has_changed)
        };
        state.put(&self.files.iter().map(saved).collect::<Vec<_>>())?;
        let resume = match (&self.open, &self.decoding) {
            (None, _) => self.resume,
            (Some(OpenFile { content: OpenContent::Columns(file), .. }), _) => {
                Some(Resume { rows: file.given(), ..Resume::default() })
            }
            (Some(OpenFile { content: OpenContent::Ahead(file), .. }), Some(decoding)) => {
                Some(file.resume(decoding, &self.bad))
            }
            (Some(_), Some(decoding)) => Some(decoding.resume(&self.bad)),
            (Some(_), None) => None,
        };
        state.put(&(self.next as u64, resume.is_some()))?;
        resume.unwrap_or_default().save(state)?;
        match &self.replay {
            // The bad records before the position are not counted again yet.
            Some(saved) => saved.save(state),
            None => self.bad.save(state),
        }
    }

    /// Takes over a position. The files are opened at the next poll.
    pub(super) fn load_position(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let files: Vec<SavedFile> = state.take()?;
        let (next, is_open): (u64, bool) = state.take()?;
        let resume = Resume::load(state)?;
        let saved = self.bad.load(state)?;
        let next = usize::try_from(next).unwrap_or(usize::MAX);
        if files.len() < next || (is_open && files.len() == next) {
            return Err(state.wrong(format!("file {next} of {} is to be read on", files.len())));
        }
        if self.bad.diverts() && self.bad.count() > 0 {
            return Err(state.wrong("bad records were diverted already"));
        }
        let root = &self.reading.listing.root;
        let found = |(path, file, len_bytes, modified_ns, has_changed): SavedFile| {
            let path = PathBuf::from(OsString::from_vec(path));
            let path = if path == Path::new("") { root.clone() } else { root.join(path) };
            Found { path, identity: FileIdentity { file, len_bytes, modified_ns }, has_changed }
        };
        self.files = files.into_iter().map(found).collect();
        self.names_bytes = names_bytes(&self.files);
        (self.next, self.open, self.looked_at) = (next, None, None);
        self.resume = is_open.then_some(resume);
        if let Some(decoding) = &mut self.decoding {
            decoding.start(Position::default());
        }
        match self.bad.diverts() {
            true => self.replay = Some(saved),
            false => self.bad.restore(saved),
        }
        self.helped.note_restored();
        Ok(())
    }

    /// Reads all files before the restored position again, and drops their rows, so that their bad records are diverted again.
    /// The file of diverted records does not get its final name if this fails.
    pub(super) fn divert_again(&mut self) -> Result<(), ConnectError> {
        let Some(saved) = self.replay.take() else { return Ok(()) };
        let (to, resume) = (self.next, self.resume.take());
        if let Some(file) = self.files[..to].iter().find(|file| file.has_changed) {
            let change = "it was replaced or written to after it was read, so its bad records cannot be diverted again";
            return Err(changed(&file.path, change));
        }
        self.next = 0;
        while self.next < to {
            self.open_next(ProcessingTime::ZERO)?;
            self.drain(None)?;
            self.close()?;
        }
        if let Some(resume) = resume {
            self.open_next(ProcessingTime::ZERO)?;
            // If the position is inside a record that is too long, one byte after the position is read, too:
            // it shows that the record is too long.
            let limit = resume.at.offset + u64::from(resume.at.is_inside);
            self.drain(Some(limit))?;
            self.open = None;
        }
        if self.bad.count() + resume.map_or(0, |resume| resume.bad) != saved.count {
            let change = "other bad records are found in it than before, so they cannot be diverted again";
            let file = self.files.get(to).or(self.files.last());
            return Err(changed(file.map_or(&self.reading.listing.root, |file| &file.path), change));
        }
        self.resume = resume;
        Ok(())
    }

    /// Reads the open file, or its next `limit` bytes, and drops the rows.
    fn drain(&mut self, limit: Option<u64>) -> Result<(), ConnectError> {
        let (Some(open), Some(decoding)) = (&mut self.open, &mut self.decoding) else { return Ok(()) };
        let OpenContent::Lines { file, .. } = &mut open.content else { return Ok(()) };
        let mut left = limit.unwrap_or(u64::MAX);
        let mut more = More::Now;
        loop {
            match decoding.step(BATCH_ROWS_MAX, more, &open.name, &mut self.bad)? {
                Step::Rows(..) => {}
                Step::WantsBytes if more != More::Now => return Ok(()),
                Step::WantsBytes if left == 0 => {
                    // The last record of the part that is read again may lack a line end. It is complete only
                    // if no byte follows in the file.
                    let follows = file.read(&mut [0], place_of(decoding.position()))?;
                    more = if follows == 0 { More::Never } else { More::Later };
                }
                Step::WantsBytes => {
                    let count = fill(file, decoding, usize::try_from(left).unwrap_or(usize::MAX))?;
                    left -= count as u64;
                    if count == 0 {
                        more = More::Never;
                    }
                }
            }
        }
    }
}
