//! Tests of when rows reach the writer, and of errors of the writer.

use std::sync::{Arc, Mutex};

use thalweg_model::{EventTime, LatencyMarker, ProcessingTime};

use super::*;

/// A writer that shows the bytes which were flushed to it, or fails.
#[derive(Clone, Default)]
struct Pipe {
    written: Vec<u8>,
    flushed: Arc<Mutex<String>>,
    fails: Option<io::ErrorKind>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.fails {
            Some(kind) => Err(kind.into()),
            None => self.written.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8(std::mem::take(&mut self.written)).unwrap();
        self.flushed.lock().unwrap().push_str(&text);
        Ok(())
    }
}

fn sink(pipe: &Pipe) -> LinesSink<u64, impl Fn(&Record<u64>, &mut RowWriter) + Send + use<>, Pipe> {
    let row = |record: &Record<u64>, row: &mut RowWriter| row.push_u64(record.value);
    LinesSink::new("stdout", pipe.clone(), row)
}

#[test]
fn rows_go_out_at_watermarks_and_at_the_end() {
    let pipe = Pipe::default();
    let mut sink = sink(&pipe);
    let write = |sink: &mut dyn Sink<u64>, value| sink.write(Record::new(EventTime::EPOCH, value)).unwrap();
    let seen = || pipe.flushed.lock().unwrap().clone();

    write(&mut sink, 1);
    sink.on_mark(Mark::Latency(LatencyMarker::new(ProcessingTime::ZERO, ProcessingTime::ZERO))).unwrap();
    assert_eq!(seen(), "");
    sink.on_mark(Mark::Watermark(EventTime::EPOCH)).unwrap();
    assert_eq!(seen(), "1\n");
    write(&mut sink, 2);
    sink.finish().unwrap();
    assert_eq!(seen(), "1\n2\n");
}

/// Rows that a full buffer handed to the writer are flushed by the next watermark, although no row is gathered
/// then. A further watermark flushes nothing.
#[test]
fn a_watermark_flushes_rows_of_a_full_buffer() {
    let flushes = Arc::new(Mutex::new(0));
    struct Counted(Arc<Mutex<u64>>);
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            *self.0.lock().unwrap() += 1;
            Ok(())
        }
    }
    let line = "x".repeat(SINK_BUFFER_BYTES);
    let row = |_: &Record<u64>, row: &mut RowWriter| row.push_str(&line);
    let mut sink = LinesSink::new("stdout", Counted(Arc::clone(&flushes)), row);
    sink.write(Record::new(EventTime::EPOCH, 1)).unwrap();
    assert_eq!(*flushes.lock().unwrap(), 0);
    for _ in 0..2 {
        sink.on_mark(Mark::Watermark(EventTime::EPOCH)).unwrap();
    }
    assert_eq!(*flushes.lock().unwrap(), 1);
}

#[test]
fn a_reader_that_has_gone_is_told_apart_from_other_faults() {
    for (kind, code, told) in [
        (
            io::ErrorKind::BrokenPipe,
            "SINK_CLOSED",
            "stdout was closed by its reader; keep it open until the query has ended",
        ),
        (
            io::ErrorKind::StorageFull,
            "SINK_FAILED",
            "stdout cannot be written: no storage space; check the path, its permissions and the space left",
        ),
    ] {
        let mut sink = sink(&Pipe { fails: Some(kind), ..Pipe::default() });
        sink.write(Record::new(EventTime::EPOCH, 1)).unwrap();
        let fault = sink.finish().unwrap_err();
        assert_eq!((fault.code(), fault.to_string().as_str()), (code, told));
    }
}

/// The sink's buffer is bounded: without watermarks for a long time, rows are not all gathered in memory.
#[test]
fn the_buffer_is_bounded() {
    let mut sink = sink(&Pipe::default());
    for value in 0..100_000 {
        sink.write(Record::new(EventTime::EPOCH, value)).unwrap();
    }
    assert!(sink.held_bytes() <= 2 * SINK_BUFFER_BYTES);
}
