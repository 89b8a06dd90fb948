//! Tests of the CSV sink: which files exist when, and what they contain.

use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

use thalweg_model::EventTime;
use thalweg_model::disk::{FileIdentity, WriteFile};

use super::*;
use crate::testing::{Faults, MemDisk};

type Row = fn(&Record<u64>, &mut RowWriter);

fn sink<D: Disk + 'static>(disk: &Arc<D>) -> Result<CsvSink<u64, Row>, SinkError> {
    let row: Row = |record, row| {
        row.push_i64(record.event_time.as_micros());
        row.push_u64(record.value);
    };
    CsvSink::create(Arc::<D>::clone(disk), "out.csv", row)
}

fn write(sink: &mut CsvSink<u64, Row>, values: std::ops::Range<u64>) -> Result<(), Fault> {
    values.into_iter().try_for_each(|value| sink.write(Record::new(EventTime::from_micros(-1), value)))
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let disk = MemDisk::with("out.csv", b"of an earlier run");
    let mut sink = sink(&disk).unwrap();
    write(&mut sink, 7..9).unwrap();
    assert_eq!(disk.text("out.csv").as_deref(), Some("of an earlier run"));
    sink.finish().unwrap();
    assert_eq!(disk.text("out.csv").as_deref(), Some("-1,7\n-1,8\n"));
    drop(sink);
    assert_eq!(disk.text("out.csv").as_deref(), Some("-1,7\n-1,8\n"));
    assert_eq!(disk.text("out.csv.inprogress"), None);
}

/// A CSV sink that got no record makes an empty file.
#[test]
fn no_records_make_an_empty_file() {
    let disk = Arc::new(MemDisk::default());
    sink(&disk).unwrap().finish().unwrap();
    assert_eq!(disk.text("out.csv").as_deref(), Some(""));
}

#[test]
fn a_sink_that_is_dropped_leaves_nothing() {
    let disk = Arc::new(MemDisk::default());
    let mut sink = sink(&disk).unwrap();
    write(&mut sink, 0..20_000).unwrap();
    assert!(disk.text("out.csv.inprogress").is_some_and(|text| !text.is_empty()));
    drop(sink);
    assert_eq!((disk.text("out.csv.inprogress"), disk.text("out.csv")), (None, None));
}

/// The sink's buffer does not grow with the number of rows: it is written out when it is full.
#[test]
fn the_buffer_is_bounded() {
    let disk = Arc::new(MemDisk::default());
    let mut sink = sink(&disk).unwrap();
    write(&mut sink, 0..100_000).unwrap();
    assert!(sink.held_bytes() <= 2 * SINK_BUFFER_BYTES);
    sink.finish().unwrap();
    let expected: String = (0..100_000).map(|value| format!("-1,{value}\n")).collect();
    assert!(disk.text("out.csv").unwrap() == expected);
}

/// If any call to the disk fails, the error names the file, nothing is published, and no file is left.
#[test]
fn faults_of_the_disk() {
    let fail = |faults: Faults| {
        let disk = Arc::new(MemDisk::default());
        disk.set(faults);
        let outcome = sink(&disk).map_err(Fault::from).and_then(|mut sink| {
            write(&mut sink, 0..20_000)?;
            sink.finish()
        });
        let fault = outcome.unwrap_err();
        assert_eq!(fault.code(), "SINK_FAILED");
        assert_eq!((disk.text("out.csv.inprogress"), disk.text("out.csv")), (None, None));
        fault.to_string()
    };
    let told = |what: &str| {
        format!("out.csv cannot be written: {what} fails; check the path, its permissions and the space left")
    };
    assert_eq!(fail(Faults { fails_create: true, ..Faults::default() }), told("create"));
    assert_eq!(fail(Faults { fails_write: true, ..Faults::default() }), told("write"));
    assert_eq!(fail(Faults { fails_sync: true, ..Faults::default() }), told("sync"));
    assert_eq!(fail(Faults { fails_publish: true, ..Faults::default() }), told("publish"));
}

/// The disk as a process sees it that dies at some call: from then on every call fails, and changes nothing.
struct Dying {
    disk: Arc<MemDisk>,
    calls_left: Mutex<u64>,
}

impl Dying {
    fn new(disk: &Arc<MemDisk>, calls: u64) -> Arc<Self> {
        Arc::new(Dying { disk: Arc::clone(disk), calls_left: Mutex::new(calls) })
    }

    fn call(&self) -> io::Result<()> {
        let mut left = self.calls_left.lock().unwrap();
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("the process is dead"))?;
        Ok(())
    }
}

impl Disk for Dying {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.call()?;
        self.disk.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.call()?;
        self.disk.create(path)
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.call()?;
        self.disk.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call()?;
        self.disk.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.disk.remove(path)
    }
}

/// A durable checkpoint: the next value, the state, the description, and whether it is the last one.
type Kept = Option<(u64, Vec<u8>, Vec<u8>, bool)>;

const VALUES: u64 = 7;

/// Runs a query with checkpoints from its newest checkpoint on, as the engine does. The checkpoint after two values cannot be
/// written.
fn live(disk: &Arc<Dying>, kept: &mut Kept) -> Result<(), Fault> {
    let mut sink = sink(disk)?;
    let mut publisher = sink.publisher().unwrap();
    let mut next = 0;
    if let Some((value, state, prepared, is_last)) = kept.clone() {
        if !is_last {
            let mut state = StateReader::new(&state);
            sink.load(&mut state)
                .map_err(|error| failed(Path::new("state"), io::Error::other(error.to_string())))?;
            state.finish().unwrap();
        }
        publisher.publish(&prepared)?;
        next = value;
    }
    publisher.clean()?;
    while next < VALUES {
        write(&mut sink, next..next + 1)?;
        next += 1;
        let prepared = sink.prepare(next, next == VALUES)?;
        let mut state = StateWriter::default();
        sink.save(&mut state).unwrap();
        if next != 2 {
            *kept = Some((next, state.into_bytes(), prepared.clone(), next == VALUES));
            publisher.publish(&prepared)?;
        }
    }
    Ok(())
}

/// Whenever a process dies, and dies again while it recovers, the file has in the end all rows in their order, and no piece is
/// left. Until then the file of an earlier run is there.
#[test]
fn a_file_is_whole_after_crashes() {
    let expected: String = (0..VALUES).map(|value| format!("-1,{value}\n")).collect();
    let names = || {
        let pieces = (0..20).map(|number| format!("out.csv.{number}.inprogress"));
        pieces.chain(["out.csv.inprogress".to_owned()])
    };
    for first in 0.. {
        let mut is_over = false;
        for second in 0.. {
            let disk = MemDisk::with("out.csv", b"of an earlier run");
            let mut kept = None;
            is_over = live(&Dying::new(&disk, first), &mut kept).is_ok();
            let has_recovered = live(&Dying::new(&disk, second), &mut kept).is_ok();
            if !kept.as_ref().is_some_and(|(.., is_last)| *is_last) {
                assert_eq!(disk.text("out.csv").as_deref(), Some("of an earlier run"), "{first} {second}");
            }
            live(&Dying::new(&disk, u64::MAX), &mut kept).unwrap();
            assert_eq!(disk.text("out.csv").as_deref(), Some(&*expected), "{first} {second}");
            assert_eq!(names().find(|name| disk.text(name).is_some()), None, "{first} {second}");
            if has_recovered {
                break;
            }
        }
        if is_over {
            break;
        }
    }
}

/// A piece that is missing is an error that names it, when the state is loaded and when the file is published.
#[test]
fn a_missing_piece_is_an_error() {
    let disk = Arc::new(MemDisk::default());
    let mut first = sink(&disk).unwrap();
    first.publisher().unwrap();
    write(&mut first, 0..1).unwrap();
    assert!(first.prepare(1, false).unwrap().is_empty());
    let mut state = StateWriter::default();
    first.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let prepared = first.prepare(2, true).unwrap();
    drop(first);
    let mut second = sink(&disk).unwrap();
    let mut publisher = second.publisher().unwrap();
    let mut load =
        |bytes: &[u8]| second.load(&mut StateReader::new(bytes)).map_err(|error| error.to_string());
    load(&bytes).unwrap();
    assert!((0..bytes.len()).all(|end| load(&bytes[..end]).is_err()));
    disk.remove(Path::new("out.csv.0.inprogress")).unwrap();
    assert!(load(&bytes).unwrap_err().contains("out.csv.0.inprogress is missing"));
    let fault = publisher.publish(&prepared).unwrap_err();
    assert_eq!(fault.code(), "OUTPUT_LOST");
    assert!(fault.to_string().contains("its piece out.csv.0.inprogress is missing"), "{fault}");
}

/// With checkpoints a query without rows makes an empty file, too.
#[test]
fn no_records_make_an_empty_file_with_checkpoints() {
    let disk = Arc::new(MemDisk::default());
    let mut sink = sink(&disk).unwrap();
    let mut publisher = sink.publisher().unwrap();
    assert!(sink.prepare(1, false).unwrap().is_empty());
    publisher.publish(&sink.prepare(2, true).unwrap()).unwrap();
    assert_eq!(disk.text("out.csv").as_deref(), Some(""));
}
