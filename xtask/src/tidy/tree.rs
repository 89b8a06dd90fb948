//! The tree that the rules read: every file that git tracks or would track, in memory.
//!
//! Files that git ignores are left out, because nobody else has them. A link to one is broken for everyone but its
//! author.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::rust_text::RustText;

/// All files of the tree, by their paths relative to the root, with forward slashes.
pub(super) struct Tree {
    files: BTreeMap<String, File>,
    directories: BTreeSet<String>,
}

/// Contents of a file of the tree that tidy reads.
pub(super) enum File {
    /// A Rust file, with code and comments separated.
    Rust(RustText),
    /// Any other file with UTF-8 text.
    Text(String),
    /// A file with any other bytes. Only its existence counts.
    Opaque,
}

/// Place of a file in its package, read from the file's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// Directory of the package, such as `crates/memory` or `xtask`.
    pub(super) package: &'a str,
    /// Directory below that of the package: `src`, `tests`, `benches` or `examples`.
    pub(super) part: &'a str,
    /// Rest of the file's path below `src`, `tests`, `benches` or `examples`.
    pub(super) rest: &'a str,
}

impl Tree {
    /// Reads the files that git lists below `root`.
    ///
    /// # Errors
    ///
    /// When `root` is not in a git repository or a file cannot be read.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in listed_by_git(root)? {
            let full_path = root.join(&path);
            // Git still lists a tracked file that is deleted and not yet staged, so a missing file is passed
            // over.
            let Ok(metadata) = fs::symlink_metadata(&full_path) else { continue };
            let file = if metadata.is_file() {
                let bytes = fs::read(&full_path).with_context(|| format!("could not read {path}"))?;
                File::new(&path, bytes)
            } else {
                File::Opaque
            };
            files.insert(path, file);
        }
        Ok(Self::new(files))
    }

    fn new(files: BTreeMap<String, File>) -> Self {
        let mut directories = BTreeSet::from([String::new()]);
        for path in files.keys() {
            let cuts = path.match_indices('/').map(|(cut, _)| path[..cut].to_owned());
            directories.extend(cuts);
        }
        Self { files, directories }
    }

    /// Creates a tree of files from the given paths and texts, for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(
            files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), File::new(path, text.as_bytes().to_vec())))
                .collect(),
        )
    }

    /// Returns the path of every file of the tree, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the path of every directory of the tree, in order. The path of the root is empty.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        self.directories.iter().map(String::as_str)
    }

    /// Returns whether `path`, which has no slash at its end, is a file or a directory.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.directories.contains(path)
    }

    /// Returns the path and the text of every file that is text, Rust or not.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.paths().filter_map(|path| Some((path, self.text(path)?)))
    }

    /// Returns the text of the file at `path`, if it is a text file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.files.get(path)? {
            File::Rust(rust) => Some(&rust.text),
            File::Text(text) => Some(text),
            File::Opaque => None,
        }
    }

    /// Returns the path, the place and the text of every Rust file of a package.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = (&str, Place<'_>, &RustText)> {
        self.paths().filter_map(|path| Some((path, Place::of(path)?, self.rust(path)?)))
    }

    /// Returns the text of the Rust file at `path`, if there is one.
    pub(super) fn rust(&self, path: &str) -> Option<&RustText> {
        match self.files.get(path)? {
            File::Rust(rust) => Some(rust),
            _ => None,
        }
    }
}

impl File {
    fn new(path: &str, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => Self::Opaque,
            Ok(text) if path.ends_with(".rs") => Self::Rust(RustText::new(text)),
            Ok(text) => Self::Text(text),
            Err(_) => Self::Opaque,
        }
    }
}

impl<'a> Place<'a> {
    /// Splits `path` into its package, the part of the package such as `src`, and the rest of the path;
    /// `None` if the file is not below a part of a package.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let package_end = match path.split_once('/')? {
            ("crates", inner) => "crates/".len() + inner.find('/')?,
            ("xtask", _) => "xtask".len(),
            _ => return None,
        };
        let (part, rest) = path[package_end + 1..].split_once('/')?;
        Some(Self { package: &path[..package_end], part, rest })
    }

    /// Returns whether the file is part of a crate of the engine, and not of xtask.
    pub(super) fn is_in_room(self) -> bool {
        self.package.starts_with("crates/")
    }
}

fn listed_by_git(root: &Path) -> Result<Vec<String>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]).current_dir(root);
    // If a git hook runs xtask, these variables name the hook's repository and index, which may be others.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    let listed = command.output().context("could not start git ls-files")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let names = String::from_utf8(listed.stdout).context("a file name is not UTF-8")?;
    let mut names: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    // Git lists a file in conflict once per side, so repeated names are dropped.
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests;
