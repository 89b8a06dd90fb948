//! Tests of the CSV sink: which files exist when, and what they contain.

use thalweg_model::EventTime;

use super::*;
use crate::testing::{Faults, MemDisk};

type Row = fn(&Record<u64>, &mut RowWriter);

fn sink(disk: &Arc<MemDisk>) -> Result<CsvSink<u64, Row>, SinkError> {
    let row: Row = |record, row| {
        row.push_i64(record.event_time.as_micros());
        row.push_u64(record.value);
    };
    CsvSink::create(Arc::<MemDisk>::clone(disk), "out.csv", row)
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
