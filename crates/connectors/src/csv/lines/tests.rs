//! Tests of framing a file into lines, shown in the form `number@offset:line`, with reads of any size.

use proptest::prelude::*;

use super::*;
use crate::testing::{Faults, MemDisk};

/// Returns the lines of a file as `number@offset:bytes`, escaped; a cut line ends in `...`.
fn framed(file: &[u8], faults: Faults) -> String {
    let disk = MemDisk::with("f", file);
    disk.set(faults);
    let mut lines = Lines::open(disk, Path::new("f")).unwrap();
    let mut shown = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        let cut = if line.is_cut { "..." } else { "" };
        shown.push(format!("{}@{}:{}{cut}", line.at.line, line.at.offset_bytes, line.bytes.escape_ascii()));
    }
    assert_eq!(lines.next().unwrap(), None, "the end stays the end");
    shown.join(" ")
}

fn check(file: &[u8], expected: &str) {
    for read_bytes_max in [0, 1, 2, 3, 5] {
        for interrupts_reads in [false, true] {
            let shown = framed(file, Faults { read_bytes_max, interrupts_reads, ..Faults::default() });
            assert_eq!(shown, expected, "{} by {read_bytes_max}", file.escape_ascii());
        }
    }
}

#[test]
fn line_ends() {
    check(b"a\nbc\n", "1@0:a 2@2:bc");
    check(b"a\r\nbc\r\n", "1@0:a 2@3:bc");
    check(b"a\nbc", "1@0:a 2@2:bc");
    check(b"a\rb\n\rc", "1@0:a\\rb 2@4:\\rc");
    check(b"a\r", "1@0:a");
}

#[test]
fn an_empty_line_is_a_line_unless_it_comes_last() {
    check(b"", "");
    check(b"\n", "");
    check(b"\r\n", "");
    check(b"\r", "");
    check(b"\n\n", "1@0:");
    check(b"a\n\r\nb\n\n", "1@0:a 2@2: 3@4:b");
    check(b"a\n\n\n", "1@0:a 2@2:");
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    check(b"\xef\xbb\xbfa\n\xef\xbb\xbfb", "1@3:a 2@5:\\xef\\xbb\\xbfb");
    check(b"\xef\xbb\xbf", "");
    check(b"\xef\xbb", "1@0:\\xef\\xbb");
}

/// A line of the greatest length is read whole. A line with one byte more is cut, and the next line is not
/// affected.
#[test]
fn over_long_lines() {
    for (length, is_cut) in [(LINE_BYTES_MAX, false), (LINE_BYTES_MAX + 1, true), (3 * LINE_BYTES_MAX, true)]
    {
        let mut file = vec![b'x'; length];
        file.extend_from_slice(b"\nnext\n");
        let disk = MemDisk::with("f", &file);
        // Each read returns an odd number of bytes, with which plain doubling of the buffer would exceed its
        // bound.
        disk.set(Faults { read_bytes_max: 100_003, ..Faults::default() });
        let mut lines = Lines::open(disk, Path::new("f")).unwrap();
        let line = lines.next().unwrap().unwrap();
        assert_eq!((line.bytes.len(), line.is_cut), (LINE_BYTES_MAX, is_cut));
        let next = lines.next().unwrap().unwrap();
        assert_eq!(
            (next.at, next.bytes),
            (Position { line: 2, offset_bytes: length as u64 + 1 }, &b"next"[..])
        );
        assert!(lines.held_bytes() <= READ_BYTES + LINE_BYTES_MAX);
    }
}

/// The bytes before the cut of a line stay as they are: a `\r` there does not belong to a line end.
#[test]
fn a_cut_line_keeps_its_last_byte() {
    let mut file = vec![b'x'; LINE_BYTES_MAX + 5];
    file[LINE_BYTES_MAX - 1] = b'\r';
    let mut lines = Lines::open(MemDisk::with("f", &file), Path::new("f")).unwrap();
    assert!(lines.next().unwrap().unwrap().bytes.ends_with(b"x\r"));
}

proptest! {
    /// Lines equal those of an oracle that splits the whole file at once.
    #[test]
    fn as_if_the_file_were_split_at_once(
        file in prop::collection::vec(prop::sample::select(&b"a\n\r,"[..]), 0..40), read_bytes_max in 0..9usize,
    ) {
        let mut parts: Vec<&[u8]> = file.split(|&byte| byte == b'\n').collect();
        if parts.last().is_some_and(|last| last.is_empty()) {
            parts.pop();
        }
        let mut expected: Vec<&[u8]> = parts.iter().map(|part| part.strip_suffix(b"\r").unwrap_or(part)).collect();
        if expected.last().is_some_and(|last| last.is_empty()) {
            expected.pop();
        }
        let disk = MemDisk::with("f", &file);
        disk.set(Faults { read_bytes_max, ..Faults::default() });
        let mut lines = Lines::open(disk, Path::new("f")).unwrap();
        let mut found: Vec<Vec<u8>> = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.bytes.to_vec());
        }
        prop_assert_eq!(found, expected);
    }
}
