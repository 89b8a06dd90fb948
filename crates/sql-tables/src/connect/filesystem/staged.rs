//! Files that are published with a checkpoint: their names before that, and their description in the checkpoint.
//!
//! ```text
//!   .part-UID-N.OWNER.staged   from its first byte on; at a barrier it is closed, synced and described
//!   part-UID-N                 its final name, once the checkpoint with the description is durable
//! ```
//!
//! OWNER names the job by a number for its checkpoints, which is the same after a restart.
//! Only a job with this name publishes or removes the file. So another run that writes to the table does not take a file for
//! a leftover which a checkpoint describes, although its writer may have died.
//!
//! A description has paths below the directory of the table, and no absolute ones, so that the directory can be moved.

use std::path::{Component, Path, PathBuf};

use thalweg_connectors::SinkError;
use thalweg_model::{StateError, StateReader, StateWriter};

/// Version of the descriptions and of the saved state of a sink of files.
pub(super) const VERSION: u8 = 1;

/// The end of the names of files that are published with a checkpoint.
const SUFFIX: &str = ".staged";

/// The name of the job that owns the unpublished files of its tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Owner(String);

impl Owner {
    /// Returns the owner for a job whose checkpoints have the key `checkpoints`. Without a key, the number of the job in its
    /// run tells it from others.
    pub(super) fn new(checkpoints: u64, job: u64) -> Self {
        Owner(if checkpoints == 0 { format!("{job}") } else { format!("{checkpoints:016x}") })
    }

    /// Returns the hidden name that a file of the owner has until it gets its final name `path`.
    pub(super) fn hidden(&self, path: &Path) -> PathBuf {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}{SUFFIX}", self.0));
        path.with_file_name(name)
    }

    /// Returns the final name of a file from its hidden name, if the owner has written the file.
    pub(super) fn shown<'a>(&self, hidden: &'a str) -> Option<&'a str> {
        hidden.strip_prefix('.')?.strip_suffix(SUFFIX)?.strip_suffix(&*self.0)?.strip_suffix('.')
    }
}

/// A file that is complete and on disk, and not published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StagedFile {
    /// The directory of its partition, below that of the table; empty for the directory of the table.
    pub(super) directory: String,
    /// Its final name.
    pub(super) name: String,
    /// The name that it has until then.
    pub(super) hidden: String,
    /// Its length in bytes.
    pub(super) bytes: u64,
}

impl StagedFile {
    /// Returns the path with its final name, below the directory of the table.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join(&self.name)
    }

    /// Returns the path with its hidden name, below the directory of the table.
    pub(super) fn hidden_path(&self, root: &Path) -> PathBuf {
        root.join(&self.directory).join(&self.hidden)
    }

    /// Returns the bytes of memory that the names take.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.directory.len() + self.name.len() + self.hidden.len()
    }

    fn check(&self) -> Result<(), String> {
        let is_name = |text: &str| matches!(Path::new(text).components().next(), Some(Component::Normal(name)) if name == text);
        let is_below = self.directory.is_empty() || self.directory.split('/').all(is_name);
        match is_below && is_name(&self.name) {
            true => Ok(()),
            false => {
                Err(format!("'{}/{}' is not the name of a file of the table", self.directory, self.name))
            }
        }
    }
}

/// The way in which files are published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Each file gets its final name.
    Rename,
    /// Each file gets its final name, and then the other files of the table, or of its partitions, are removed.
    Replace,
    /// The contents of the files, one after the other, become the single file of the table.
    Join,
    /// The files are removed, because the job has not the rows that it was to write.
    Discard,
}

const WAYS: [Way; 4] = [Way::Rename, Way::Replace, Way::Join, Way::Discard];

/// A description of output, which a checkpoint contains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Prepared {
    pub(super) way: Way,
    pub(super) files: Vec<StagedFile>,
    /// The directories that get a success file after all files have their final names.
    pub(super) success: Vec<String>,
}

impl Prepared {
    /// Returns the description as bytes.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    pub(super) fn encode(&self) -> Result<Vec<u8>, StateError> {
        let mut out = StateWriter::default();
        let way = WAYS.iter().position(|way| *way == self.way).unwrap_or_default() as u8;
        out.put(&(VERSION, way))?;
        put_files(&mut out, &self.files)?;
        out.put(&self.success)?;
        Ok(out.into_bytes())
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not a description of this version, or name files that are none of a table.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StateError> {
        let mut state = StateReader::new(bytes);
        take_version(&mut state)?;
        let way: u8 = state.take()?;
        let way = WAYS.get(usize::from(way)).copied();
        let way = way.ok_or_else(|| state.wrong("the way of publishing is unknown"))?;
        let files = take_files(&mut state)?;
        let success = take_directories(&mut state)?;
        state.finish()?;
        Ok(Prepared { way, files, success })
    }
}

/// Reads the version, and refuses others than [`VERSION`].
pub(super) fn take_version(state: &mut StateReader<'_>) -> Result<(), StateError> {
    match state.take::<u8>()? {
        VERSION => Ok(()),
        other => Err(state.wrong(format!("files are described in version {other}, not {VERSION}"))),
    }
}

/// Writes a list of files.
pub(super) fn put_files(state: &mut StateWriter, files: &[StagedFile]) -> Result<(), StateError> {
    let plain: Vec<_> =
        files.iter().map(|file| (&file.directory, &file.name, &file.hidden, file.bytes)).collect();
    state.put(&plain)
}

/// Reads what [`put_files`] wrote.
pub(super) fn take_files(state: &mut StateReader<'_>) -> Result<Vec<StagedFile>, StateError> {
    let plain: Vec<(String, String, String, u64)> = state.take()?;
    let file = |(directory, name, hidden, bytes)| StagedFile { directory, name, hidden, bytes };
    let files: Vec<StagedFile> = plain.into_iter().map(file).collect();
    files.iter().try_for_each(StagedFile::check).map_err(|reason| state.wrong(reason))?;
    Ok(files)
}

/// Reads a list of directories below that of the table.
pub(super) fn take_directories(state: &mut StateReader<'_>) -> Result<Vec<String>, StateError> {
    let directories: Vec<String> = state.take()?;
    let check = |directory: &String| {
        let (name, hidden) = ("_".to_owned(), "_".to_owned());
        StagedFile { directory: directory.clone(), name, hidden, bytes: 0 }.check()
    };
    directories.iter().try_for_each(check).map_err(|reason| state.wrong(reason))?;
    Ok(directories)
}

/// Returns the error for a file that is not as a checkpoint describes it.
pub(super) fn lost(path: &Path, reason: impl Into<String>) -> SinkError {
    SinkError::Lost { target: path.display().to_string(), reason: reason.into() }
}

/// Returns the error for files of a table whose description cannot be written or read.
pub(super) fn undescribed(root: &Path, error: &StateError) -> SinkError {
    lost(root, format!("its description is of no use: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &str, name: &str) -> StagedFile {
        let hidden = format!(".{name}.x.staged");
        StagedFile { directory: directory.to_owned(), name: name.to_owned(), hidden, bytes: 7 }
    }

    #[test]
    fn only_the_owner_knows_its_files() {
        let owner = Owner::new(0xab, 3);
        assert_eq!(owner, Owner::new(0xab, 2), "the job may have another number in another run");
        let hidden = owner.hidden(Path::new("out/p=1/part-0123456789abcdef-0"));
        assert_eq!(hidden, Path::new("out/p=1/.part-0123456789abcdef-0.00000000000000ab.staged"));
        let name = hidden.file_name().and_then(|name| name.to_str()).unwrap();
        assert_eq!(owner.shown(name), Some("part-0123456789abcdef-0"));
        for other in [Owner::new(0xac, 3), Owner::new(0, 3), Owner::new(0, 0xab)] {
            assert_eq!(other.shown(name), None, "{other:?}");
        }
        assert_eq!(owner.shown("part-0123456789abcdef-0"), None);
    }

    /// A description is read back as it was written. Every truncation is refused, and so are bytes behind it, versions and
    /// ways that do not exist, and paths that lead out of the table.
    #[test]
    fn descriptions_are_read_strictly() {
        for way in WAYS {
            let files = vec![file("", "part-a-0"), file("p=1/q=x%2Fy", "part-a-1")];
            let prepared = Prepared { way, files, success: vec!["p=1/q=x%2Fy".to_owned(), String::new()] };
            let bytes = prepared.encode().unwrap();
            assert_eq!(Prepared::decode(&bytes).as_ref(), Ok(&prepared));
            for end in 0..bytes.len() {
                assert!(Prepared::decode(&bytes[..end]).is_err(), "{end}");
            }
            assert!(Prepared::decode(&[&bytes[..], &[0]].concat()).is_err());
            for (place, value) in [(0, 0), (0, 2), (1, 4)] {
                let mut wrong = bytes.clone();
                wrong[place] = value;
                assert!(Prepared::decode(&wrong).is_err(), "{place} {value}");
            }
        }
        let outside = [("..", "x"), ("/etc", "x"), ("a//b", "x"), ("a/./b", "x"), ("a/", "x"), ("", "..")];
        for (directory, name) in outside.into_iter().chain([("", "a/b"), ("", ""), ("", "/x")]) {
            let files = vec![file(directory, name)];
            let bytes = Prepared { way: Way::Rename, files, success: Vec::new() }.encode().unwrap();
            assert!(Prepared::decode(&bytes).is_err(), "{directory} {name}");
        }
        for directory in ["..", "/etc", "a//b", "a/.."] {
            let success = vec![directory.to_owned()];
            let bytes = Prepared { way: Way::Rename, files: Vec::new(), success }.encode().unwrap();
            assert!(Prepared::decode(&bytes).is_err(), "{directory}");
        }
    }
}
