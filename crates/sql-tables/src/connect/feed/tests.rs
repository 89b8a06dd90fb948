//! Tests of sources of streams: every poll ends, and a stream has no position.

use super::*;
use crate::connect::bed::table;
use crate::connect::options::Given;
use crate::connect::standard::bind_stream;

/// Creates a source of a stream that has these bytes and has ended.
fn stream(options: &str, bytes: Vec<u8>, world: &World) -> Box<dyn RowSource> {
    let of = table(&format!(
        "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'stdin', 'format' = 'csv', 'thalweg.bad-share-max' = '1', {options})"
    ));
    let state = State { bytes: bytes.into(), is_over: true, ..State::default() };
    let feed = Feed(Arc::new(Shared { state: Mutex::new(state), has_room: Condvar::new() }));
    let mut given = Given::new(&of);
    let stream = bind_stream(&mut given, "stdin").unwrap();
    stream.source("stdin".to_owned(), &[0, 1], world, Ok(feed)).unwrap()
}

/// A poll of a stream ends after as many bytes as its buffer holds, even if they give no rows.
#[test]
fn a_poll_ends_without_rows() {
    let line = format!("{:127}\n", "x");
    let bytes = line.repeat(5 * FEED_BYTES_MAX / 2 / line.len()).into_bytes();
    let bytes = [bytes, b"1,a\n2,b".to_vec()].concat();
    let mut source = stream("'thalweg.on-bad' = 'skip'", bytes, &World::default());
    let (mut empty, mut rows) = (0, 0);
    loop {
        let polled = source.poll(ProcessingTime::ZERO, 10).unwrap();
        rows += polled.rows.as_ref().map_or(0, |rows| rows.columns.num_rows());
        empty += usize::from(polled.rows.is_none());
        if polled.status == SourceStatus::Ended {
            break;
        }
        assert_eq!(polled.status, SourceStatus::Ready);
    }
    // The bytes take two polls without rows, and a third poll that reaches the end.
    assert_eq!((empty, rows), (3, 2));
}

/// A stream has no position that could be saved or gone on from, whatever was read of it.
#[test]
fn a_stream_has_no_position() {
    let mut source = stream("'thalweg.on-bad' = 'skip'", b"x\n1,a\n".to_vec(), &World::default());
    source.poll(ProcessingTime::ZERO, 10).unwrap();
    let error = source.save(&mut StateWriter::default()).unwrap_err().to_string();
    assert_eq!(error, "state cannot be written: stdin cannot be read again from a saved position");
    let error = source.load(&mut StateReader::new(&[0; 9])).unwrap_err().to_string();
    assert!(error.contains("stdin cannot be read again"), "{error}");
}
