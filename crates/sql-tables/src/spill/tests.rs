//! Tests of state on disk: rows come back as they were written or not at all, and nothing is left behind.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, BinaryArray, Float64Array, Int32Array, StringArray, TimestampMillisecondArray};
use arrow::record_batch::RecordBatch;
use thalweg_model::SeededEntropy;
use thalweg_model::disk::{Disk, FileIdentity};

use super::*;
use crate::connect::files::{Entry, RealFiles};

/// A directory that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-spill-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn spill(&self, limit_bytes: u64) -> Spill {
        self.seeded(limit_bytes, 1)
    }

    fn seeded(&self, limit_bytes: u64, seed: u64) -> Spill {
        Spill::new(
            Arc::new(RealFiles),
            self.0.clone(),
            limit_bytes,
            Arc::new(Mutex::new(SeededEntropy::new(seed))),
        )
    }

    /// Returns the names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(directory: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(directory).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// Rows of several types, with NULL and with values that compare in unusual ways.
fn rows(from: i32, count: i32) -> RecordBatch {
    let numbers = from..from + count;
    let text = |number: i32| (number % 3 != 0).then(|| format!("é{number}"));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from_iter_values(numbers.clone()))),
        ("s", Arc::new(StringArray::from_iter(numbers.clone().map(text)))),
        (
            "d",
            Arc::new(Float64Array::from_iter(
                numbers.clone().map(|number| [Some(-0.0), None][number as usize % 2]),
            )),
        ),
        (
            "b",
            Arc::new(BinaryArray::from_iter_values(
                numbers.clone().map(|number| vec![0xff; number as usize % 9]),
            )),
        ),
        (
            "t",
            Arc::new(
                TimestampMillisecondArray::from_iter_values(numbers.map(i64::from)).with_timezone("UTC"),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn written(spill: &Spill, batches: &[RecordBatch]) -> SpillFile {
    let mut writer = spill.writer(&batches[0].schema()).unwrap();
    batches.iter().for_each(|rows| writer.write(rows).unwrap());
    writer.finish().unwrap()
}

fn read(file: SpillFile) -> Result<Vec<RecordBatch>, EvaluationError> {
    let mut reader = file.read()?;
    let mut batches = Vec::new();
    while let Some(rows) = reader.next_rows()? {
        batches.push(rows);
    }
    Ok(batches)
}

/// Batches come back in their order, also slices of larger ones, and each row is read as often as it was written.
#[test]
fn rows_come_back_and_leave_nothing() {
    let folder = Folder::new("back");
    let spill = folder.spill(1 << 20);
    assert_eq!(folder.names(), [""; 0], "nothing is made before the first row");
    let batches = [rows(0, 100), rows(7, 1), rows(0, 5_000).slice(4_000, 50), rows(0, 300)];
    let file = written(&spill, &batches);
    assert_eq!((file.rows(), folder.names().len()), (451, 1));
    let other = written(&spill, &batches[1..2]);
    assert_eq!(read(file).unwrap(), batches);
    assert_eq!(read(other).unwrap(), batches[1..2]);
    let totals = spill.totals();
    assert_eq!((totals.files, totals.rows_written, totals.rows_read, totals.bytes), (2, 452, 452, 0));
    let run = folder.0.join(&folder.names()[0]);
    assert_eq!(names(&run), [LOCK], "files go when they were read");
    drop(spill);
    assert_eq!(folder.names(), [""; 0]);
}

/// A file with no rows, and rows without columns.
#[test]
fn the_least_files() {
    let folder = Folder::new("least");
    let spill = folder.spill(1 << 20);
    assert_eq!(read(spill.writer(&rows(0, 1).schema()).unwrap().finish().unwrap()).unwrap(), []);
    let bare = rows(0, 5).project(&[]).unwrap();
    assert_eq!(read(written(&spill, &[bare.clone(), bare.slice(0, 0)])).unwrap(), [bare]);
}

/// A changed byte, a cut, a lost block or blocks in another order at any place fail the query, and never give other rows.
#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new("damage");
    let spill = folder.spill(1 << 30);
    let batches = [rows(0, 3), rows(3, 2)];
    let write = || written(&spill, &batches);
    let whole = fs::read(write().path()).unwrap();
    let length_of = |at: usize| 24 + usize::from(whole[at + 16]) + 256 * usize::from(whole[at + 17]);
    let (first, second) = (length_of(0), length_of(length_of(0)));
    let (one, two) = (&whole[..first], &whole[first..first + second]);
    let end = &whole[first + second..];
    let check = |bytes: &[u8], fault: &str| {
        let file = write();
        fs::write(file.path(), bytes).unwrap();
        let read = read(file);
        let code = read.as_ref().map_err(|error| error.code);
        assert!(matches!(code, Err("SPILL_CORRUPT")), "{fault}: {read:?}");
    };
    // All bytes of the heads, and some of the rows.
    let is_of_head =
        |at: &usize| [0, first, first + second].iter().any(|head| (*head..head + 24).contains(at));
    for at in (0..whole.len()).filter(|at| is_of_head(at) || at % 17 == 0) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        check(&bytes, &format!("byte {at}"));
        check(&whole[..at], &format!("cut at {at}"));
    }
    check(&[two, one, end].concat(), "another order");
    check(&[one, end].concat(), "a block less");
    check(&[one, one, end].concat(), "a block twice");
    check(&[one, two].concat(), "no end");
    // Bytes behind the end were never written by this run, and are not read.
    let file = write();
    fs::write(file.path(), [&whole[..], b"more"].concat()).unwrap();
    assert_eq!(read(file).unwrap(), batches);
    // A file that is gone.
    let file = write();
    fs::remove_file(file.path()).unwrap();
    assert_eq!(read(file).unwrap_err().code, "SPILL_FAILED");
    assert_eq!(spill.totals().bytes, 0);
}

/// A block beyond the bound is not written, and the bytes of removed files are free again.
#[test]
fn the_bound_holds() {
    let folder = Folder::new("bound");
    let batch = rows(0, 100);
    let bytes = folder.spill(u64::MAX);
    let whole = fs::metadata(written(&bytes, std::slice::from_ref(&batch)).path()).unwrap().len();
    drop(bytes);
    let spill = folder.spill(2 * whole);
    let first = written(&spill, std::slice::from_ref(&batch));
    let second = written(&spill, std::slice::from_ref(&batch));
    let mut third = spill.writer(&batch.schema()).unwrap();
    let error = third.write(&batch).unwrap_err();
    assert_eq!(error.code, "SPILL_LIMIT");
    assert!(error.message.contains("'thalweg.state.spill-size'"), "{}", error.message);
    drop(third);
    assert_eq!(spill.totals().bytes, 2 * whole);
    drop(second);
    let third = written(&spill, std::slice::from_ref(&batch));
    assert_eq!(read(first).unwrap(), read(third).unwrap());
    assert_eq!((spill.totals().bytes, folder.names().len()), (0, 1));
}

/// A directory that cannot be made or written gives an error with its name, before any row is lost.
#[test]
fn an_unusable_directory_is_refused() {
    let folder = Folder::new("unusable");
    fs::write(folder.0.join("file"), "no directory").unwrap();
    for name in ["file", "file/below"] {
        let spill = Spill::new(
            Arc::new(RealFiles),
            folder.0.join(name),
            1,
            Arc::new(Mutex::new(SeededEntropy::new(1))),
        );
        let error = spill.open().unwrap_err();
        assert_eq!(error.code, "SPILL_FAILED");
        assert!(error.message.contains(name) && error.message.contains("spill-dir"), "{}", error.message);
    }
}

/// A run removes the directories of killed runs, those that it made itself when it ends, and nothing else.
#[test]
fn leftovers_are_removed_and_living_runs_stay() {
    let folder = Folder::new("leftovers");
    let living = folder.seeded(1 << 20, 1);
    let kept = written(&living, &[rows(0, 9)]);
    let own = folder.names();
    for (name, file) in [
        (".thalweg-state-00000000000000aa", "lock"),
        (".thalweg-state-00000000000000aa", "0.rows"),
        (".thalweg-state-00000000000000ab", "12.rows"),
        (".thalweg-state-00000000000000ac", "notes.txt"),
        (".thalweg-state-00000000000000ad", "lock"),
        (".thalweg-state-of-mine", "0.rows"),
        ("others", "0.rows"),
    ] {
        fs::create_dir_all(folder.0.join(name)).unwrap();
        fs::write(folder.0.join(name).join(file), "left by a run that was killed").unwrap();
    }
    fs::create_dir(folder.0.join(".thalweg-state-00000000000000ae")).unwrap();
    let next = folder.seeded(1 << 20, 2);
    next.open().unwrap();
    next.open().unwrap();
    let mut expected = [&own[0], "others", ".thalweg-state-00000000000000ac", ".thalweg-state-of-mine"]
        .map(str::to_owned)
        .to_vec();
    let made = folder.names().into_iter().find(|name| name.len() == 31 && !expected.contains(name)).unwrap();
    expected.push(made.clone());
    expected.sort();
    assert_eq!(folder.names(), expected);
    drop(next);
    expected.retain(|name| *name != made);
    assert_eq!(folder.names(), expected);
    assert_eq!(read(kept).unwrap(), [rows(0, 9)]);
}

/// Real files, of which the writes fail when `left_bytes` bytes were written, and the reads give one byte at a time and
/// nothing when `readable_bytes` were read.
struct Failing {
    left_bytes: Arc<Mutex<usize>>,
    readable_bytes: usize,
    kind: io::ErrorKind,
}

struct FailingFile(Box<dyn WriteFile>, Arc<Mutex<usize>>, io::ErrorKind);

struct ShortReads(Box<dyn Read + Send>, usize);

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = self.1.lock().unwrap();
        let count = bytes.len().min(*left).min(1_000);
        if count == 0 && !bytes.is_empty() {
            return Err(self.2.into());
        }
        *left -= count;
        self.0.write(&bytes[..count])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl WriteFile for FailingFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Read for ShortReads {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = bytes.len().min(self.1).min(1);
        self.1 -= most;
        self.0.read(&mut bytes[..most])
    }
}

impl Disk for Failing {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(ShortReads(RealFiles.open(path)?, self.readable_bytes)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(FailingFile(RealFiles.create(path)?, Arc::clone(&self.left_bytes), self.kind)))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        RealFiles.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFiles.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove(path)
    }
}

impl Files for Failing {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        RealFiles.list(directory)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        RealFiles.is_directory(path)
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        RealFiles.standing(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.real_path(path)
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        RealFiles.make_directories(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove_directory(path)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        RealFiles.is_held(path)
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        RealFiles.remove_leftover(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<fs::File> {
        RealFiles.open_file(path)
    }
}

/// A full disk or a failing write ends with an error at each place, and leaves nothing; so does a read that ends early.
#[test]
fn a_full_disk_and_short_reads() {
    let folder = Folder::new("full");
    let batches = [rows(0, 40), rows(40, 9)];
    let attempt = |left_bytes: usize, readable_bytes: usize, kind: io::ErrorKind| {
        let files = Failing { left_bytes: Arc::new(Mutex::new(left_bytes)), readable_bytes, kind };
        let names = Arc::new(Mutex::new(SeededEntropy::new(3)));
        let spill = Spill::new(Arc::new(files), folder.0.clone(), 1 << 20, names);
        let mut writer = spill.writer(&batches[0].schema())?;
        batches.iter().try_for_each(|rows| writer.write(rows))?;
        let file = writer.finish()?;
        let bytes = spill.totals().bytes as usize;
        assert_eq!(read(file)?, batches);
        Ok::<usize, EvaluationError>(bytes)
    };
    let whole = attempt(usize::MAX, usize::MAX, io::ErrorKind::Other).unwrap();
    for (kind, told) in
        [(io::ErrorKind::StorageFull, "free space"), (io::ErrorKind::Other, "raise the memory budget")]
    {
        for left in (0..whole).step_by(7) {
            let error = attempt(left, usize::MAX, kind).unwrap_err();
            assert!(error.code == "SPILL_FAILED" && error.message.contains(told), "{left}: {error:?}");
            assert_eq!(folder.names(), [""; 0]);
        }
    }
    for readable in (0..whole).step_by(7) {
        let error = attempt(usize::MAX, readable, io::ErrorKind::Other).unwrap_err();
        assert!(
            error.code == "SPILL_CORRUPT" && error.message.contains("it was cut"),
            "{readable}: {error:?}"
        );
        assert_eq!(folder.names(), [""; 0]);
    }
}
