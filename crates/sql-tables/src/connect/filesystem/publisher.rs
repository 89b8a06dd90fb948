//! The publisher of the connector `filesystem`: gives files their final names when the checkpoint that describes them is
//! durable.
//!
//! Every step can be done again, so a process that dies while it publishes loses and repeats nothing:
//!
//! * A file is renamed. If it has its final name and its length already, it is published.
//! * A success file is removed before the first file beside it gets its name, and written again when the last has.
//! * What INSERT OVERWRITE replaces is looked for again; files of the description are never among it.
//! * The single file is put together under a hidden name and renamed. Its pieces are removed after that. So if one of them
//!   is missing, the single file is published.
//!
//! A rename that was found done may not be durable yet, so its directory is synced before the checkpoint counts as published.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_connectors::InProgressFile;
use thalweg_model::disk::Disk;
use thalweg_model::{Fault, Publisher};

use super::leftovers::{self, OfTable};
use super::part::publish_empty;
use super::replaced::{self, Old};
use super::staged::{Owner, Prepared, StagedFile, Way, lost, undescribed};
use crate::connect::files::{Files, Standing};
use crate::connect::notes::Notes;
use crate::connect::standard::failed;

/// Hidden files of restored checkpoints that are published with a later one, of all tables of a run. No clean-up removes
/// them.
#[derive(Clone, Default)]
pub(in crate::connect) struct Restored(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Restored {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes files that must stay.
    pub(super) fn keep(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.lock().extend(paths);
    }

    fn has(&self, path: &Path) -> bool {
        self.lock().contains(path)
    }
}

/// The publisher of one table.
pub(super) struct FilePublisher {
    pub(super) files: Arc<dyn Files>,
    /// The path of the table: its directory, or its single file.
    pub(super) root: PathBuf,
    pub(super) is_single: bool,
    /// The names of the partition columns.
    pub(super) keys: Vec<String>,
    pub(super) success: Option<String>,
    pub(super) owner: Owner,
    /// The random word in the names of the files of this process.
    pub(super) unique_name: String,
    pub(super) restored: Restored,
    pub(super) notes: Notes,
    /// The directories in which this process has published a file, and so has removed an old success file.
    pub(super) begun: BTreeSet<String>,
}

/// The place where a described file was found.
enum Found {
    Hidden,
    Published,
}

impl FilePublisher {
    /// Returns the directory in which the names of described files begin.
    fn base(&self) -> &Path {
        base(&self.root, self.is_single)
    }

    /// Looks for a file under its hidden and its final name, and compares its length.
    fn find(&self, file: &StagedFile) -> Result<Found, Fault> {
        let (path, hidden) = (file.path(&self.root), file.hidden_path(&self.root));
        for (at, found) in [(&hidden, Found::Hidden), (&path, Found::Published)] {
            if let Some(bytes) = self.length(at)? {
                return match bytes == file.bytes {
                    true => Ok(found),
                    false => {
                        let reason = format!("{} has {bytes} bytes and not {}", at.display(), file.bytes);
                        Err(lost(&path, reason).into())
                    }
                };
            }
        }
        Err(lost(&path, format!("neither it nor {} is there", hidden.display())).into())
    }

    /// Returns the length of the regular file at a path; `None` if there is none.
    fn length(&self, path: &Path) -> Result<Option<u64>, Fault> {
        let length = match self.files.standing(path) {
            Ok(Standing::File) => self.files.identity(path).map(|identity| Some(identity.len_bytes)),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(length.map_err(|error| failed(&path.display().to_string(), error))?)
    }

    /// Gives files their final names.
    fn rename(&mut self, files: &[StagedFile]) -> Result<(), Fault> {
        // A directory, and a file in it that had its final name before.
        let mut unsure: BTreeSet<&str> = BTreeSet::new();
        for file in files {
            let path = file.path(&self.root);
            match self.find(file)? {
                Found::Published if unsure.insert(&file.directory) => sync_names(self.files.as_ref(), &path)?,
                Found::Published => {}
                Found::Hidden => {
                    self.begin(&file.directory)?;
                    let published = self.files.publish(&file.hidden_path(&self.root), &path);
                    published.map_err(|error| failed(&path.display().to_string(), error))?;
                }
            }
        }
        Ok(())
    }

    /// Removes the success file of a directory before this process publishes its first file there.
    fn begin(&mut self, directory: &str) -> Result<(), Fault> {
        let Some(name) = &self.success else { return Ok(()) };
        if self.begun.insert(directory.to_owned()) {
            remove(self.files.as_ref(), &self.root.join(directory).join(name))?;
        }
        Ok(())
    }

    /// Returns the files that described ones replace.
    fn replaced_by(&self, files: &[StagedFile]) -> Result<Old, Fault> {
        let new: BTreeSet<PathBuf> = files.iter().map(|file| file.path(&self.root)).collect();
        let directories: BTreeSet<&str> = match self.keys.is_empty() {
            true => BTreeSet::from([""]),
            false => files.iter().map(|file| &*file.directory).collect(),
        };
        let mut old = Old::default();
        for directory in directories {
            let directory = self.root.join(directory);
            replaced::find_below(self.files.as_ref(), &directory, &mut old)
                .map_err(|error| failed(&directory.display().to_string(), error))?;
        }
        old.files.retain(|path| !new.contains(path));
        Ok(old)
    }

    /// Makes the names in a directory durable. A file is made for that, since the directory may have none.
    fn sync_directory(&self, directory: &Path) -> Result<(), Fault> {
        // A process that publishes again uses the same name, so no such file is left.
        let path = self.owner.hidden(&directory.join("sync"));
        let disk = Arc::clone(&self.files) as Arc<dyn Disk>;
        let synced = InProgressFile::create_as(disk, &path, path.clone()).and_then(InProgressFile::publish);
        synced.map_err(|error| failed(&path.display().to_string(), error))?;
        remove(self.files.as_ref(), &path)
    }

    /// Removes files. One that is gone already is no error.
    fn remove(&self, paths: &[PathBuf]) -> Result<(), Fault> {
        replaced::remove(self.files.as_ref(), paths)
            .map_err(|(path, error)| failed(&path.display().to_string(), error))?;
        Ok(())
    }

    /// Puts the pieces of the single file together, and publishes it.
    fn join(&self, pieces: &[StagedFile]) -> Result<(), Fault> {
        let paths: Vec<PathBuf> = pieces.iter().map(|piece| piece.hidden_path(self.base())).collect();
        let mut first_missing = None;
        for (piece, path) in pieces.iter().zip(&paths) {
            match self.length(path)? {
                Some(bytes) if bytes == piece.bytes => {}
                Some(bytes) => {
                    let reason =
                        format!("its piece {} has {bytes} bytes, not {}", path.display(), piece.bytes);
                    return Err(lost(&self.root, reason).into());
                }
                None => first_missing = first_missing.or(Some(path)),
            }
        }
        if let Some(missing) = first_missing {
            let bytes = pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes));
            if self.length(&self.root)? != Some(bytes) {
                let reason = format!("its piece {} is missing", missing.display());
                return Err(lost(&self.root, reason).into());
            }
            sync_names(self.files.as_ref(), &self.root)?;
        } else {
            let joined = self.joined(&paths);
            joined.map_err(|error| failed(&self.root.display().to_string(), error))?;
        }
        self.remove(&paths)
    }

    fn joined(&self, pieces: &[PathBuf]) -> io::Result<()> {
        let disk = Arc::clone(&self.files) as Arc<dyn Disk>;
        let mut whole = InProgressFile::create_as(disk, &self.root, self.owner.hidden(&self.root))?;
        for piece in pieces {
            io::copy(&mut self.files.open(piece)?, &mut whole)?;
        }
        whole.publish()
    }
}

impl Publisher for FilePublisher {
    fn publish(&mut self, prepared: &[u8]) -> Result<(), Fault> {
        if prepared.is_empty() {
            return Ok(());
        }
        let prepared = Prepared::decode(prepared);
        let Prepared { way, files, success } = prepared.map_err(|error| undescribed(&self.root, &error))?;
        match way {
            Way::Rename => self.rename(&files)?,
            Way::Replace => {
                let old = self.replaced_by(&files)?;
                self.rename(&files)?;
                self.remove(&old.files)?;
                // A power cut must not bring the old files back, so their removal is made durable. An earlier process may
                // have removed them, so all directories are synced.
                old.directories.iter().try_for_each(|directory| self.sync_directory(directory))?;
            }
            Way::Join => self.join(&files)?,
            Way::Discard => {
                let paths: Vec<PathBuf> = files.iter().map(|file| file.hidden_path(self.base())).collect();
                self.remove(&paths)?;
            }
        }
        for directory in success {
            if let Some(name) = &self.success {
                let path = self.root.join(directory).join(name);
                publish_empty(Arc::clone(&self.files) as Arc<dyn Disk>, &path, &self.unique_name)?;
            }
        }
        Ok(())
    }

    fn clean(&mut self) -> Result<(), Fault> {
        let of_table =
            OfTable { files: self.files.as_ref(), root: &self.root, keys: &self.keys, notes: &self.notes };
        let is_kept = |path: &Path, name: &str| name.contains(&self.unique_name) || self.restored.has(path);
        match self.is_single {
            true => leftovers::remove_pieces(&of_table, self.base(), &self.owner, &is_kept),
            false => leftovers::remove_staged(&of_table, &self.owner, &is_kept),
        }
        Ok(())
    }
}

/// Returns the directory of a table, or of its single file.
pub(super) fn base(root: &Path, is_single: bool) -> &Path {
    match root.parent() {
        Some(parent) if is_single => parent,
        _ => root,
    }
}

/// Makes the names in the directory of a file durable. Giving a file the name that it has changes nothing, and syncs its
/// directory, as giving it another name does.
pub(super) fn sync_names(files: &dyn Files, path: &Path) -> Result<(), Fault> {
    Ok(files.publish(path, path).map_err(|error| failed(&path.display().to_string(), error))?)
}

fn remove(files: &dyn Files, path: &Path) -> Result<(), Fault> {
    match files.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(&path.display().to_string(), error).into())
        }
        _ => Ok(()),
    }
}
