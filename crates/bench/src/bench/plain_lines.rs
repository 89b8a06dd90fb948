//! The lines of a recorded file in the form that references read.
//!
//! A reference splits lines at their commas. It knows no quotes, no encoding and no longest line. The dialect
//! of our CSV files is richer (see `csv` in connectors), so the file is converted for the reference: one
//! plain line for each line of data, in order, or `None` for one that breaks a rule of the dialect. This
//! module is written from the dialect's description and shares no code with the source, so that a mistake in
//! either of them shows.

use thalweg_connectors::Header;

/// Length in bytes of the longest line that the CSV dialect allows, without its `\n`.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Returns the first `lines_max` lines of data of a file in plain form: fields separated by commas, without
/// quotes. A line that breaks a rule of the CSV dialect is `None`.
pub fn plain_lines(file: &[u8], header: Header, lines_max: u64) -> impl Iterator<Item = Option<String>> {
    let count = usize::try_from(lines_max).unwrap_or(usize::MAX);
    framed(file).into_iter().skip(usize::from(header == Header::Expect)).take(count).map(unquoted)
}

/// Returns the first `lines_max` lines of a file without columns, with `None` for a line that is not text or
/// is too long.
pub fn raw_lines(file: &[u8], lines_max: u64) -> Vec<Option<&str>> {
    let count = usize::try_from(lines_max).unwrap_or(usize::MAX);
    framed(file).into_iter().take(count).map(text).collect()
}

/// Returns the lines of a file, each without its `\n`.
fn framed(file: &[u8]) -> Vec<&[u8]> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut lines: Vec<&[u8]> = file.split(|&byte| byte == b'\n').collect();
    // The text after the last line end is no line if it is empty. Any other empty line counts.
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if lines.last().is_some_and(|line| matches!(*line, b"" | b"\r")) {
        lines.pop();
    }
    lines
}

/// Returns a line without its `\r`; `None` if the line is not text or is too long.
fn text(line: &[u8]) -> Option<&str> {
    if LINE_BYTES_MAX < line.len() {
        return None;
    }
    str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()
}

/// Returns a line of CSV without its quotes, with fields separated by commas; `None` if the line breaks a
/// rule of the dialect.
fn unquoted(line: &[u8]) -> Option<String> {
    let text = text(line)?;
    let (mut plain, mut at) = (String::new(), At::Start);
    for c in text.chars() {
        at = match (at, c) {
            (At::Start, '"') => At::Quoted,
            (At::Quoted, '"') => At::Quote,
            (At::Quote, '"') => {
                plain.push('"');
                At::Quoted
            }
            (At::Quoted, c) => {
                // A comma inside quotes is replaced by `_`. No column that a query reads can hold a comma,
                // and its replacement is not valid there either.
                plain.push(if c == ',' { '_' } else { c });
                At::Quoted
            }
            (_, ',') => {
                plain.push(',');
                At::Start
            }
            (_, c) => {
                plain.push(c);
                At::Unquoted
            }
        };
    }
    (at != At::Quoted).then_some(plain)
}

/// The state of the parser before the next character of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Unquoted,
    Quoted,
    /// The last character was a quote within quotes. It ends the quoted text, unless another quote follows.
    Quote,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each plain line followed by a line end, and `!` for a line that breaks a rule.
    fn plain(file: &[u8], header: Header, lines_max: u64) -> String {
        let lines = plain_lines(file, header, lines_max);
        lines.map(|line| line.unwrap_or_else(|| "!".to_owned()) + "\n").collect()
    }

    #[track_caller]
    fn check(file: &[u8], expected: &str) {
        assert_eq!(plain(file, Header::Expect, u64::MAX), expected, "{}", file.escape_ascii());
    }

    #[test]
    fn the_header_goes_and_every_line_of_data_stays_a_line() {
        check(b"", "");
        check(b"head", "");
        check(b"head\n", "");
        check(b"\xef\xbb\xbfhead\n1,a\n", "1,a\n");
        check(b"head\r\n1,a\r\n2,b", "1,a\n2,b\n");
        check(b"head\nhead\n\n1,a\n", "head\n\n1,a\n");
    }

    #[test]
    fn without_a_header_the_first_line_is_data() {
        assert_eq!(plain(b"\xef\xbb\xbf1,a\n2,b\n", Header::None, u64::MAX), "1,a\n2,b\n");
        assert_eq!(plain(b"\n", Header::None, u64::MAX), "");
    }

    #[test]
    fn an_empty_line_at_the_very_end_is_none() {
        check(b"head\n1,a\n\n", "1,a\n");
        check(b"head\n1,a\n\r\n", "1,a\n");
        check(b"head\n1,a\n\r", "1,a\n");
        check(b"head\n1,a\n\n\n", "1,a\n\n");
    }

    #[test]
    fn quotes_are_taken_off() {
        check(b"h\n\"1\",\"a,b\",\"c\"\"d\",\"\",e\"f\n", "1,a_b,c\"d,,e\"f\n");
        check(b"h\n\"1\"2,3\n", "12,3\n");
    }

    #[test]
    fn what_breaks_a_rule_is_no_line() {
        check(b"h\n1,\"a\n1,\xff\n", "!\n!\n");
        let line = |length: usize| [b"h\n".to_vec(), vec![b'x'; length], b"\n".to_vec()].concat();
        check(&line(LINE_BYTES_MAX + 1), "!\n");
        check(&line(LINE_BYTES_MAX), &format!("{}\n", "x".repeat(LINE_BYTES_MAX)));
    }

    #[test]
    fn lines_without_columns_stay_as_they_are() {
        let lines = raw_lines(b"a,\"b\r\n\n1,\xff\nlast\n\n", u64::MAX);
        assert_eq!(lines, [Some("a,\"b"), Some(""), None, Some("last")]);
        assert_eq!(raw_lines(b"a\nb\n", 1), [Some("a")]);
    }

    /// An interrupted run has read only some lines, and only these are returned.
    #[test]
    fn only_the_lines_that_were_read() {
        assert_eq!(plain(b"h\n1\n2\n3\n", Header::Expect, 2), "1\n2\n");
    }
}
