//! Restriction of file access to given directories, as `thalweg.file-roots` allows.
//!
//! Before any use a path is resolved to its real path, without links and `..`, and refused if that lies below
//! none of the roots. Creating, renaming and removing concern a name and not the target of a link with that
//! name, so there the directory of the name is resolved.
//!
//! Not promised: protection against another program which replaces a directory by a link between the check
//! and the use. Roots limit the paths that SQL can name, and are no barrier against other programs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

use super::files::{Entry, Files, Standing, absolute};

/// File access that is restricted to some directories and the directories below them.
pub(crate) struct Rooted {
    files: Arc<dyn Files>,
    /// The real paths of the directories below which access is allowed.
    roots: Vec<PathBuf>,
}

impl Rooted {
    /// Creates access to the files below the directories `roots`, which must exist.
    ///
    /// # Errors
    /// The root that cannot be resolved, and the reason.
    pub(crate) fn new(files: Arc<dyn Files>, roots: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let real = |root: &PathBuf| files.real_path(&absolute(root)).map_err(|error| (root.clone(), error));
        let roots = roots.iter().map(real).collect::<Result<_, _>>()?;
        Ok(Rooted { files, roots })
    }

    /// Refuses a path whose real path lies below none of the allowed directories.
    fn check(&self, path: &Path) -> io::Result<()> {
        self.check_real(&self.real(&absolute(path))?)
    }

    /// Refuses a name if the real path of its directory lies below none of the allowed directories.
    fn check_name(&self, path: &Path) -> io::Result<()> {
        let path = absolute(path);
        match (path.parent(), path.file_name()) {
            (Some(directory), Some(name)) => self.check_real(&self.real(directory)?.join(name)),
            _ => self.check(&path),
        }
    }

    fn check_real(&self, real: &Path) -> io::Result<()> {
        if self.roots.iter().any(|root| real.starts_with(root)) {
            return Ok(());
        }
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        let told = format!(
            "it lies outside of the directories that may be used, {}: 'thalweg.file-roots' and --allow-root name them",
            roots.join(" and ")
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, told))
    }

    /// Returns the real path of a path that may not exist in full: links are resolved in the part that
    /// exists, and the rest is appended.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        match self.files.real_path(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match (path.parent(), path.file_name()) {
                    (Some(above), Some(name)) => Ok(self.real(above)?.join(name)),
                    _ => Err(error),
                }
            }
            found => found,
        }
    }
}

impl Disk for Rooted {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.check(path)?;
        self.files.open(path)
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.check(path)?;
        self.files.open_at(path, offset)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.check_name(path)?;
        self.files.create(path)
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.check(path)?;
        self.files.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check_name(from)?;
        self.check_name(to)?;
        self.files.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check_name(path)?;
        self.files.remove(path)
    }
}

impl Files for Rooted {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        self.check(directory)?;
        self.files.list(directory)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        self.check(path)?;
        self.files.is_directory(path)
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        self.check_name(path)?;
        self.files.standing(path)
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        self.check(path)?;
        self.files.make_directories(path)
    }

    fn make_private_directory(&self, path: &Path) -> io::Result<()> {
        self.check(path)?;
        self.files.make_private_directory(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.check(path)?;
        self.files.real_path(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.check_name(path)?;
        self.files.remove_directory(path)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        self.check_name(path)?;
        self.files.is_held(path)
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        self.check_name(path)?;
        self.files.remove_leftover(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<File> {
        self.check(path)?;
        self.files.open_file(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::connect::World;
    use crate::connect::bed::{Folder, rows_of, table, write};
    use crate::connect::files::RealFiles;

    fn rooted(folder: &Folder) -> World {
        let files = Rooted::new(Arc::new(RealFiles), &[folder.0.join("in"), folder.0.join("out")]);
        World { files: Arc::new(files.map_err(|(root, _)| root).expect("the roots exist")), ..folder.world() }
    }

    fn of(path: &str, more: &str) -> crate::table::Table {
        table(&format!(
            "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'{more})"
        ))
    }

    /// No path reads or writes outside of the allowed directories, and files below them are accessible.
    #[test]
    fn paths_do_not_lead_out_of_the_roots() {
        let folder = Folder::new();
        for name in ["in/x.csv", "secret/x.csv", "in-side/x.csv", "out/deep/x.csv"] {
            folder.put(name, "1\n");
        }
        symlink("../secret", folder.0.join("in/link")).unwrap();
        symlink("../secret/x.csv", folder.0.join("in/.x.csv")).unwrap();
        symlink("in", folder.0.join("way-in")).unwrap();
        let world = rooted(&folder);
        let single = ", 'thalweg.single-file' = 'true'";
        for path in ["in/x.csv", "out/deep", "in/../in/x.csv", "way-in/x.csv"] {
            assert_eq!(rows_of(&of(path, ""), &world, 10).unwrap(), ["1"], "{path}");
        }
        let told = |error: String| assert!(error.contains("lies outside of the directories"), "{error}");
        for path in [
            "secret",
            "secret/x.csv",
            "in/../secret",
            "in/link",
            "in/link/x.csv",
            "in/.x.csv",
            "in-side",
            "/proc/self/environ",
            ".",
        ] {
            told(rows_of(&of(path, ""), &world, 10).unwrap_err());
        }
        // A link inside of an allowed directory that leads out of it is refused, and so are other paths that
        // lead out.
        told(rows_of(&of("in", ""), &world, 10).unwrap_err());
        for path in ["secret/new", "in/link/new", "new", "out/../new"] {
            told(write(&of(path, ""), &world, "{\"a\":1}", None).unwrap_err());
            told(write(&of(path, single), &world, "{\"a\":1}", None).unwrap_err());
        }
        told(rows_of(&of("in/x.csv", ", 'thalweg.on-bad' = 'divert:new/bad.json'"), &world, 10).unwrap_err());
        assert!(
            !folder.0.join("new").exists() && fs::read_dir(folder.0.join("secret")).unwrap().count() == 1
        );
        write(&of("out/new", ""), &world, "{\"a\":2}", None).unwrap();
        write(&of("out/one.csv", single), &world, "{\"a\":2}", None).unwrap();
        assert_eq!(rows_of(&of("out/new", ""), &world, 10).unwrap(), ["2"]);
    }

    #[test]
    fn a_root_that_is_missing_is_named() {
        let folder = Folder::new();
        let missing = folder.0.join("missing");
        let refused = Rooted::new(Arc::new(RealFiles), std::slice::from_ref(&missing));
        assert_eq!(refused.err().map(|(root, _)| root), Some(missing));
    }
}
