//! The checkpoints of one query: writes them, finds the newest whole one, and removes old ones.
//!
//! A checkpoint is two files, each of which is written under a hidden name, synced, renamed, and made durable by a sync of the
//! directory. The manifest comes last, so a manifest exists only if everything that it names is durable:
//!
//! ```text
//! write     data: write, sync, rename, sync directory | manifest: write, sync, rename, sync directory | return
//! complete  remove old manifests | remove data files that no manifest names
//! ```
//!
//! Bytes of a task that equal those in the checkpoint before are not written again: the manifest names the older data file. Bytes
//! are equal only if they were compared on disk, not by their checksum.
//!
//! After an error the files of the checkpoint are removed. The rename of a manifest may be durable although the sync of the
//! directory failed; then its removal becomes durable with the next checkpoint.
//!
//! Bounds: [`KEPT`] checkpoints stay, and at most [`CHECKPOINTS_MAX`] exist while output is not published.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_connectors::Files;
use thalweg_model::{Checkpoint, CheckpointStore, Fault, Section};

use crate::data::{self, DataWriter};
use crate::error::CheckpointError;
use crate::manifest::{
    Block, DATA_FILES_MAX, DataFile, FORMAT, MANIFEST_BYTES_MAX, Manifest, Refusal, SECTIONS_MAX,
    SectionEntry,
};
use crate::names::{self, Kind, Named};
use crate::state_directory::Using;

/// Number of checkpoints that are kept: the newest, and two for the case that its files are damaged.
pub const KEPT: usize = 3;

/// Greatest number of checkpoints of a query. Old ones are removed when the output of a newer one is published; a query that
/// does not publish for this long gets no more checkpoints.
pub const CHECKPOINTS_MAX: usize = 64;

type Outcome<T> = Result<T, CheckpointError>;

/// The checkpoints of one query, in a directory of their own.
pub struct QueryDirectory {
    files: Arc<dyn Files>,
    directory: PathBuf,
    using: Using,
    /// The checkpoints by their numbers; `None` if a checkpoint is damaged.
    manifests: BTreeMap<u64, Option<Manifest>>,
    /// Numbers of the data files.
    data: BTreeSet<u64>,
    /// Number of a checkpoint that was given up, and whose manifest could not be removed.
    uncertain: Option<u64>,
}

/// A checkpoint to which a query goes back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The newest whole checkpoint.
    pub checkpoint: Checkpoint,
    /// Newer checkpoints that were passed over, each with its file and what is wrong with it; the newest first.
    pub passed_over: Vec<String>,
    /// True if the output of the checkpoint was published, so that it need not be published again.
    pub is_published: bool,
}

impl QueryDirectory {
    /// Opens the directory of a query, and removes files that a killed process has left unfinished.
    pub(crate) fn open(files: Arc<dyn Files>, directory: PathBuf, using: Using) -> Outcome<Self> {
        let listing = Listing::read(&*files, &directory)?;
        let mut manifests = BTreeMap::new();
        for number in listing.manifests {
            let found = read_manifest(&*files, &directory, number, using.query())?;
            let Some(manifest) = found else { continue };
            let whole = match manifest {
                Ok(manifest) => check_files(&*files, &directory, &manifest)?.is_ok().then_some(manifest),
                Err(_) => None,
            };
            manifests.insert(number, whole);
        }
        let mut opened =
            QueryDirectory { files, directory, using, manifests, data: listing.data, uncertain: None };
        // Leftovers that cannot be removed do no harm but for their bytes.
        for path in listing.in_progress {
            let _ = opened.remove(&path);
        }
        let _ = opened.remove_data();
        Ok(opened)
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns the greatest number of a checkpoint in the directory, whole or not; the next one needs a greater number.
    pub fn last_number(&self) -> Option<u64> {
        self.manifests.last_key_value().map(|(number, _)| *number)
    }

    /// Reads the newest whole checkpoint; `None` if there are no checkpoints. If newer ones are damaged, it tells which.
    ///
    /// # Errors
    /// `CHECKPOINT_DAMAGED` if there are checkpoints and none is whole, `CHECKPOINT_FAILED` if a file cannot be read,
    /// `CHECKPOINT_VERSION` and `CHECKPOINT_OF_OTHER_QUERY` if a checkpoint is not for this program or query.
    pub fn newest(&self) -> Outcome<Option<Restored>> {
        newest(&*self.files, &self.directory, self.using.query())
    }

    /// Writes the files of a checkpoint. Returns its manifest.
    fn write_files(&self, checkpoint: &Checkpoint, progress: &mut Progress) -> Outcome<Manifest> {
        let number = checkpoint.number;
        let mut data = DataWriter::new(Arc::clone(&self.files), &self.directory, number);
        // A file that was changed meanwhile by others is not shared.
        let is_there =
            |manifest: &&Manifest| matches!(check_files(&*self.files, &self.directory, manifest), Ok(Ok(())));
        let before = self.manifests.values().rev().flatten().next().filter(is_there);
        let shared = Shared::new(&*self.files, &self.directory, before);
        let mut sections = Vec::with_capacity(checkpoint.sections.len());
        for section in &checkpoint.sections {
            sections.push(entry(section, &shared, &mut data)?);
        }
        let (query, is_last) = (checkpoint.query.clone(), checkpoint.is_last);
        let mut manifest = Manifest { format: FORMAT, query, number, is_last, files: Vec::new(), sections };
        let named: BTreeSet<u64> = manifest.blocks().map(|block| block.file).collect();
        let older = before.map_or(&[][..], |before| &before.files);
        manifest.files = older.iter().filter(|file| named.contains(&file.number)).copied().collect();
        if let Some(bytes) = data.bytes() {
            manifest.files.push(DataFile { number, bytes });
        }
        let path = names::path(&self.directory, Kind::Manifest, number);
        let failed = |source| CheckpointError::Failed { access: "be written", path: path.clone(), source };
        let text = manifest.to_text().map_err(|error| failed(io::Error::other(error)))?;
        within("bytes of its manifest", text.len() as u64, MANIFEST_BYTES_MAX)?;

        progress.has_data = true;
        data.publish()?;
        let mut file = data::create(&self.files, &self.directory, Kind::Manifest, number).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        progress.has_manifest = true;
        file.publish().map_err(failed)?;
        Ok(manifest)
    }

    fn write_checkpoint(&mut self, checkpoint: &Checkpoint) -> Outcome<()> {
        if let Some(number) = self.uncertain {
            self.give_up(number)?;
        }
        if checkpoint.query != self.using.query() {
            let (found, expected) = (checkpoint.query.clone(), self.using.query().to_owned());
            return Err(CheckpointError::OtherQuery { path: self.directory.clone(), found, expected });
        }
        let number = checkpoint.number;
        if let Some(newest) = self.last_number().filter(|newest| number <= *newest) {
            return Err(CheckpointError::Number { number, newest });
        }
        within("sections", checkpoint.sections.len() as u64, SECTIONS_MAX as u64)?;
        within(
            "checkpoints before it, whose output is not published,",
            self.manifests.len() as u64 + 1,
            CHECKPOINTS_MAX as u64,
        )?;
        let mut progress = Progress::default();
        match self.write_files(checkpoint, &mut progress) {
            Ok(manifest) => {
                self.data.extend(manifest.files.last().map(|file| file.number));
                self.manifests.insert(number, Some(manifest));
                Ok(())
            }
            Err(error) => {
                if progress.has_manifest {
                    self.give_up(number)?;
                }
                if progress.has_data
                    && self.remove(&names::path(&self.directory, Kind::Data, number)).is_err()
                {
                    self.data.insert(number);
                }
                Err(error)
            }
        }
    }

    /// Removes the manifest of a checkpoint that was not written to its end.
    fn give_up(&mut self, number: u64) -> Outcome<()> {
        let path = names::path(&self.directory, Kind::Manifest, number);
        match self.files.remove(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                self.uncertain = Some(number);
                self.data.insert(number);
                Err(CheckpointError::Uncertain { path, source })
            }
            _ => {
                self.uncertain = None;
                Ok(())
            }
        }
    }

    /// Writes the mark of a checkpoint whose output is published.
    fn mark_published(&self, number: u64) -> Outcome<()> {
        let path = names::path(&self.directory, Kind::Published, number);
        let failed = |source| CheckpointError::Failed { access: "be written", path: path.clone(), source };
        data::create(&self.files, &self.directory, Kind::Published, number)
            .and_then(|file| file.publish())
            .map_err(failed)
    }

    /// Removes all but the newest checkpoints up to a number.
    fn remove_old(&mut self, number: u64) -> Outcome<()> {
        let whole = self.manifests.range(..=number).rev().filter(|(_, manifest)| manifest.is_some());
        let Some(oldest) = whole.map(|(number, _)| *number).nth(KEPT - 1) else { return self.remove_data() };
        let old: Vec<u64> = self.manifests.range(..oldest).map(|(number, _)| *number).collect();
        for number in old {
            self.remove(&names::path(&self.directory, Kind::Published, number))?;
            self.remove(&names::path(&self.directory, Kind::Manifest, number))?;
            self.manifests.remove(&number);
        }
        self.remove_data()
    }

    /// Removes the data files that no manifest names. A damaged manifest may name any of them.
    fn remove_data(&mut self) -> Outcome<()> {
        if self.uncertain.is_some() || self.manifests.values().any(Option::is_none) {
            return Ok(());
        }
        let named = self.manifests.values().flatten().flat_map(|manifest| &manifest.files);
        let named: BTreeSet<u64> = named.map(|file| file.number).collect();
        let old: Vec<u64> = self.data.difference(&named).copied().collect();
        for number in old {
            self.remove(&names::path(&self.directory, Kind::Data, number))?;
            self.data.remove(&number);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Outcome<()> {
        match self.files.remove(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(CheckpointError::Failed { access: "be removed", path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }
}

impl CheckpointStore for QueryDirectory {
    fn write(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        Ok(self.write_checkpoint(checkpoint)?)
    }

    fn complete(&mut self, number: u64) -> Result<(), Fault> {
        self.mark_published(number)?;
        Ok(self.remove_old(number)?)
    }
}

/// The files of a checkpoint that may have their final names.
#[derive(Default)]
struct Progress {
    has_data: bool,
    has_manifest: bool,
}

/// Returns an error if a size goes beyond its bound.
fn within(subject: &'static str, found: u64, max: u64) -> Outcome<()> {
    if found <= max { Ok(()) } else { Err(CheckpointError::Limit { subject, found, max }) }
}

/// The bytes of the checkpoint before, which need not be written again.
struct Shared<'a> {
    files: &'a dyn Files,
    directory: &'a Path,
    /// The sections by the names of their tasks.
    sections: HashMap<&'a str, &'a SectionEntry>,
    /// Number of the oldest data file that a new manifest may name.
    oldest: u64,
}

impl<'a> Shared<'a> {
    fn new(files: &'a dyn Files, directory: &'a Path, before: Option<&'a Manifest>) -> Self {
        let sections = before.map_or(&[][..], |before| &before.sections);
        let sections = sections.iter().map(|section| (section.task.as_str(), section)).collect();
        // The new data file is one of them.
        let newest = before.and_then(|before| before.files.iter().rev().nth(DATA_FILES_MAX - 2));
        Shared { files, directory, sections, oldest: newest.map_or(0, |file| file.number) }
    }

    /// Returns the place of some bytes, if a block of the checkpoint before has exactly these bytes on disk.
    fn find(&self, block: Option<Block>, payload: &[u8], crc32: u32) -> Option<Block> {
        let block = block.filter(|block| block.crc32 == crc32 && block.file >= self.oldest)?;
        // A block that cannot be read or is damaged is written anew.
        data::is_same(self.files, self.directory, &block, payload)
            .is_ok_and(|is_same| is_same)
            .then_some(block)
    }
}

/// Writes the bytes of a section that are new, and returns its description.
fn entry(section: &Section, shared: &Shared<'_>, data: &mut DataWriter) -> Outcome<SectionEntry> {
    let before = shared.sections.get(section.task.as_str());
    let mut place = |payload: &[u8], block: Option<Block>| {
        if payload.is_empty() {
            return Ok(None);
        }
        let crc32 = data::block_checksum(payload);
        match shared.find(block, payload, crc32) {
            Some(block) => Ok(Some(block)),
            None => data.write(payload, crc32).map(Some),
        }
    };
    Ok(SectionEntry {
        task: section.task.clone(),
        operators: section.operators.clone(),
        has_ended: section.has_ended,
        state: place(&section.state, before.and_then(|before| before.state))?,
        prepared: place(&section.prepared, before.and_then(|before| before.prepared))?,
    })
}

/// The files of checkpoints in the directory of a query.
pub(crate) struct Listing {
    /// Numbers of the manifests.
    pub(crate) manifests: BTreeSet<u64>,
    /// Numbers of the marks of checkpoints whose output is published.
    published: BTreeSet<u64>,
    data: BTreeSet<u64>,
    in_progress: Vec<PathBuf>,
}

impl Listing {
    pub(crate) fn read(files: &dyn Files, directory: &Path) -> Outcome<Self> {
        let entries = files.list(directory).map_err(|source| {
            let path = directory.to_owned();
            CheckpointError::Failed { access: "be listed", path, source }
        })?;
        let (mut manifests, mut published, mut data) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut in_progress = Vec::new();
        for entry in entries {
            match names::named(&entry.path) {
                Named::Whole(Kind::Manifest, number) => drop(manifests.insert(number)),
                Named::Whole(Kind::Published, number) => drop(published.insert(number)),
                Named::Whole(Kind::Data, number) => drop(data.insert(number)),
                Named::InProgress => in_progress.push(entry.path),
                Named::Other => {}
            }
        }
        within("checkpoints beside it", manifests.len() as u64, MANIFESTS_MAX)?;
        Ok(Listing { manifests, published, data, in_progress })
    }
}

/// Greatest number of manifests that are read in one directory. This program leaves far fewer.
const MANIFESTS_MAX: u64 = 1_000;

/// Reads the newest whole checkpoint in a directory.
pub(crate) fn newest(files: &dyn Files, directory: &Path, query: &str) -> Outcome<Option<Restored>> {
    let mut passed_over = Vec::new();
    let Listing { manifests, published, .. } = Listing::read(files, directory)?;
    for number in manifests.into_iter().rev() {
        let is_published = published.contains(&number);
        let fault = match read_manifest(files, directory, number, query)? {
            // Another process has removed it meanwhile.
            None => continue,
            Some(Err(fault)) => fault,
            Some(Ok(manifest)) => match load(files, directory, manifest)? {
                Ok(checkpoint) => return Ok(Some(Restored { checkpoint, passed_over, is_published })),
                Err(fault) => fault,
            },
        };
        passed_over.push(fault);
        if is_published {
            // An older checkpoint would give again what this one has published.
            break;
        }
    }
    match passed_over.is_empty() {
        true => Ok(None),
        false => Err(CheckpointError::Damaged { directory: directory.to_owned(), faults: passed_over }),
    }
}

/// Something that was read, or what is wrong with the file that it should come from.
pub(crate) type Checked<T> = Result<T, String>;

/// Reads a manifest; `None` if it is gone.
pub(crate) fn read_manifest(
    files: &dyn Files,
    directory: &Path,
    number: u64,
    query: &str,
) -> Outcome<Option<Checked<Manifest>>> {
    let path = names::path(directory, Kind::Manifest, number);
    let mut bytes = Vec::new();
    let read =
        files.open(&path).and_then(|source| source.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return damaged_or_failed(&path, error).map(|fault| Some(Err(fault))),
    }
    let damaged = |fault: &str| Ok(Some(Err(format!("{} {fault}", path.display()))));
    if bytes.len() as u64 > MANIFEST_BYTES_MAX {
        return damaged(&format!("is longer than the {MANIFEST_BYTES_MAX} bytes that a manifest may have"));
    }
    let manifest = match Manifest::from_bytes(&bytes) {
        Ok(manifest) => manifest,
        Err(Refusal::Damaged(fault)) => return damaged(&fault),
        Err(Refusal::Version(found)) => return Err(CheckpointError::Version { path, found, known: FORMAT }),
    };
    if manifest.query != query {
        let expected = query.to_owned();
        return Err(CheckpointError::OtherQuery { path, found: manifest.query, expected });
    }
    if manifest.number != number {
        return damaged(&format!("is the manifest of checkpoint {}", manifest.number));
    }
    Ok(Some(Ok(manifest)))
}

/// Checks that the data files of a checkpoint have the lengths that its manifest says.
pub(crate) fn check_files(files: &dyn Files, directory: &Path, manifest: &Manifest) -> Outcome<Checked<()>> {
    for file in &manifest.files {
        let path = names::path(directory, Kind::Data, file.number);
        match files.identity(&path) {
            Ok(found) if found.len_bytes == file.bytes => {}
            Ok(found) => {
                let (found, expected) = (found.len_bytes, file.bytes);
                return Ok(Err(format!("{} has {found} bytes instead of {expected}", path.display())));
            }
            Err(error) => return damaged_or_failed(&path, error).map(Err),
        }
    }
    Ok(Ok(()))
}

/// Reads the sections of a checkpoint.
fn load(files: &dyn Files, directory: &Path, manifest: Manifest) -> Outcome<Checked<Checkpoint>> {
    if let Err(fault) = check_files(files, directory, &manifest)? {
        return Ok(Err(fault));
    }
    let read = |block: Option<Block>| {
        let Some(block) = block else { return Ok(Ok(Vec::new())) };
        match data::read(files, directory, &block) {
            Ok(payload) => Ok(Ok(payload)),
            Err(error) => damaged_or_failed(&data::path(directory, &block), error).map(Err),
        }
    };
    let mut sections = Vec::with_capacity(manifest.sections.len());
    for SectionEntry { task, operators, has_ended, state, prepared } in manifest.sections {
        match (read(state)?, read(prepared)?) {
            (Ok(state), Ok(prepared)) => {
                sections.push(Section { task, operators, has_ended, state, prepared });
            }
            (Err(fault), _) | (_, Err(fault)) => return Ok(Err(fault)),
        }
    }
    let Manifest { query, number, is_last, .. } = manifest;
    Ok(Ok(Checkpoint { query, number, is_last, sections }))
}

/// Tells what is wrong with a file that could not be read, if the file is to blame. Other errors may pass, such as too many open
/// files, so an older checkpoint is no answer to them.
pub(crate) fn damaged_or_failed(path: &Path, error: io::Error) -> Outcome<String> {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Ok(format!("{shown} is missing")),
        io::ErrorKind::UnexpectedEof => Ok(format!("{shown} was cut")),
        io::ErrorKind::InvalidData => Ok(format!("{shown} {error}")),
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => Ok(format!("{shown}: {error}")),
        _ => Err(CheckpointError::Failed { access: "be read", path: path.to_owned(), source: error }),
    }
}

#[cfg(test)]
mod tests;
