//! Tests of splitting single lines into fields, shown as `a|b|c`, or as the defect of the line.

use super::*;

fn check(line: &[u8], expected: &str) {
    let mut splitter = Splitter::new(&["a", "b", "c"]);
    // Each case runs twice, because a line must not affect the next one through the state of the reader.
    for pass in 1..=2 {
        let shown = match splitter.split(line) {
            Ok(row) => [row.text(0), row.text(1), row.text(2)].join("|"),
            Err(defect) => defect.to_string(),
        };
        assert_eq!(shown, expected, "{:?}, pass {pass}", String::from_utf8_lossy(line));
    }
}

#[test]
fn three_fields() {
    check(b"1,2,3", "1|2|3");
    check(b",,", "||");
    check(b" 1 , 2,3 ", " 1 | 2|3 ");
    check("\u{e4},\u{20ac},\u{1f40e}".as_bytes(), "\u{e4}|\u{20ac}|\u{1f40e}");
}

#[test]
fn quotes() {
    check(br#""1","2","3""#, "1|2|3");
    check(br#""1,2",3,"4""#, "1,2|3|4");
    check(br#""say ""so""",,"""""#, "say \"so\"||\"");
    check(br#""","",""#, "malformed: a quote is left open at the line end");
    // A quote inside an unquoted field is text: csv-core is lenient here, as most readers are.
    check(br#"5" pipe,2,3"#, "5\" pipe|2|3");
}

#[test]
fn field_counts() {
    check(b"", "short: 0 of 3 fields");
    check(b"1", "short: 1 of 3 fields");
    check(b"1,2", "short: 2 of 3 fields");
    check(b"1,2,3,", "long: more than 3 fields");
    check(b"1,2,3,4,5,6", "long: more than 3 fields");
    check(br#"1,2,3,4,"open"#, "long: more than 3 fields");
}

/// A quote that is never closed makes only its own line bad.
#[test]
fn lone_quotes() {
    for line in [&b"\""[..], b"1,2,\"3", b"\"1,2,3", b"1,2,\"3\"\""] {
        check(line, "malformed: a quote is left open at the line end");
    }
}

/// If a comma separates the two bytes of a character, the line has two invalid bytes and no character.
#[test]
fn not_utf8() {
    check(b"1,2,\xff", "not UTF-8 after 4 bytes");
    check(b"1,\xc3,\xa4", "not UTF-8 after 2 bytes");
}

/// Bytes such as NUL and `\r` have no meaning inside a line and are text. A byte order mark has a meaning
/// only at the start of a file.
#[test]
fn bytes_without_meaning_are_text() {
    check(b"\0,\r,\x1a", "\0|\r|\x1a");
    check("\u{feff}1,2,3".as_bytes(), "\u{feff}1|2|3");
    check("\u{feff}\"1\",2,\"3\"".as_bytes(), "\u{feff}\"1\"|2|3");
}

/// The buffer for fields grows to the greatest length of a line and not beyond.
#[test]
fn the_longest_line() {
    let mut splitter = Splitter::new(&["a", "b"]);
    let mut line = vec![b'x'; LINE_BYTES_MAX];
    line[1] = b',';
    let row = splitter.split(&line).unwrap();
    assert_eq!((row.text(0), row.text(1).len()), ("x", LINE_BYTES_MAX - 2));
    line.fill(b',');
    assert_eq!(splitter.split(&line).unwrap_err(), Defect::Long { wanted: 2 });
    assert!(splitter.held_bytes() < LINE_BYTES_MAX + 100);
}
