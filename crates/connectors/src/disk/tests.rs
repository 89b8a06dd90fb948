//! Tests of the real file system against the contract of `Disk`, in a directory of the test's own.

use std::path::PathBuf;

use super::*;

/// A directory that is removed when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-connectors-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let mut file = RealDisk.create(path).unwrap();
    file.write_all(bytes).unwrap();
    file.flush().unwrap();
    file.sync().unwrap();
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    RealDisk.open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_published_replaces_what_was_there() {
    let scratch = Scratch::new("publish");
    let (from, to) = (scratch.path("a.inprogress"), scratch.path("a"));
    write(&to, b"old");
    write(&from, b"new");
    RealDisk.publish(&from, &to).unwrap();
    assert_eq!(read(&to), b"new");
    assert_eq!(RealDisk.identity(&from).unwrap_err().kind(), io::ErrorKind::NotFound);
    RealDisk.remove(&to).unwrap();
    assert_eq!(RealDisk.remove(&to).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// A file that is not changed keeps its identity. With another length it has another identity, and so has
/// another file of the same length.
#[test]
fn identity_tells_versions_apart() {
    let scratch = Scratch::new("identity");
    let (path, other) = (scratch.path("a"), scratch.path("b"));
    write(&path, b"abc");
    let before = RealDisk.identity(&path).unwrap();
    assert_eq!(before.len_bytes, 3);
    assert_eq!(RealDisk.identity(&path).unwrap(), before);

    File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
    let truncated = RealDisk.identity(&path).unwrap();
    assert_eq!((truncated.file, truncated.len_bytes), (before.file, 1));

    write(&other, b"abc");
    RealDisk.publish(&other, &path).unwrap();
    assert_ne!(RealDisk.identity(&path).unwrap().file, before.file);
}

/// Opening a directory fails at once. Otherwise it would fail only at the first read.
#[test]
fn only_regular_files_are_opened() {
    let scratch = Scratch::new("directory");
    let error = RealDisk.open(&scratch.0).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "it is not a regular file");
    assert_eq!(RealDisk.open(&scratch.path("none")).map(|_| ()).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// If there is a link at the path of a new file, the link is neither followed nor replaced. A file of an
/// earlier run is replaced.
#[test]
fn a_new_file_is_a_new_one() {
    let scratch = Scratch::new("new");
    let (precious, link) = (scratch.path("precious"), scratch.path("a.inprogress"));
    write(&precious, b"kept");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    assert_eq!(RealDisk.create(&link).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(read(&precious), b"kept");
    fs::remove_file(&link).unwrap();
    fs::hard_link(&precious, &link).unwrap();
    write(&link, b"new");
    assert_eq!((read(&precious), read(&link)), (b"kept".to_vec(), b"new".to_vec()));
}
