//! JSON text: decoding of escapes, strings as Jackson writes them, and documents without blanks.

use memchr::memchr;

use super::scan::{Kind, Scan, Slot};

/// Appends the content of a JSON string with its escapes decoded. The string was scanned before, so its
/// escapes are valid.
pub(super) fn unescape(mut text: &str, to: &mut Vec<u8>) {
    while let Some(at) = memchr(b'\\', text.as_bytes()) {
        to.extend_from_slice(&text.as_bytes()[..at]);
        let (letter, len) = escape(&text[at + 1..]);
        to.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        text = text.get(at + 1 + len..).unwrap_or_default();
    }
    to.extend_from_slice(text.as_bytes());
}

/// Returns the content of a JSON string; `None` if the value is not a string.
pub(in super::super) fn string_of<'a>(
    slot: Slot,
    text: &'a str,
    letters: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    match slot.kind {
        Kind::Text => Some(slot.of(text).as_bytes()),
        Kind::Escaped => {
            unescape(slot.of(text), letters);
            Some(letters)
        }
        _ => None,
    }
}

/// Decodes a JSON escape; `text` begins after its backslash. Returns the character, and how many bytes the
/// escape has after the backslash.
fn escape(text: &str) -> (char, usize) {
    let letter = match text.bytes().next() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let unit = |at: usize| {
                let digits = text.get(at..at + 4)?;
                u32::from_str_radix(digits, 16).ok()
            };
            let first = unit(1).unwrap_or(0);
            if !(0xD800..0xE000).contains(&first) {
                return (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5);
            }
            // The scan has checked that both halves of a surrogate pair are there, as in `uD83D\uDE00` after
            // the backslash that is already read.
            let second = unit(7).unwrap_or(0);
            let code = 0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF);
            return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
        }
        Some(other) => char::from(other),
        None => return (char::REPLACEMENT_CHARACTER, 0),
    };
    (letter, 1)
}

/// Appends text as a quoted string with Jackson's escapes: quotes, backslashes and control characters.
pub(in super::super) fn write_string(text: &[u8], to: &mut Vec<u8>) {
    to.push(b'"');
    let mut done = 0;
    for (at, byte) in text.iter().enumerate() {
        if b' ' <= *byte && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        to.extend_from_slice(&text[done..at]);
        done = at + 1;
        let short = match byte {
            b'"' | b'\\' => *byte,
            0x8 => b'b',
            0xc => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
                to.extend([b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xf)]);
                continue;
            }
        };
        to.extend([b'\\', short]);
    }
    to.extend_from_slice(&text[done..]);
    to.push(b'"');
}

/// Appends a JSON value as a document without blanks: strings as by [`write_string`], numbers as written.
///
/// Differs from Flink: numbers with a point or an exponent are not rewritten (`1.0e2` stays, where Java writes
/// `100.0`), and of a duplicate key both values stay.
pub(super) fn compact(text: &str, slot: Slot, to: &mut Vec<u8>) {
    match slot.kind {
        Kind::Text => write_string(slot.of(text).as_bytes(), to),
        Kind::Escaped => {
            let mut letters = Vec::new();
            unescape(slot.of(text), &mut letters);
            write_string(&letters, to);
        }
        Kind::Array => {
            to.push(b'[');
            let mut comma = Comma::default();
            // The nesting depth was checked in the first scan, so counting it restarts at 0 here.
            let scanned = Scan::within(text, slot).items(0, |item| {
                comma.write(to);
                compact(text, item, to);
            });
            debug_assert!(scanned.is_ok(), "a value that was scanned is one");
            to.push(b']');
        }
        Kind::Object => {
            to.push(b'{');
            let mut comma = Comma::default();
            let scanned = Scan::within(text, slot).members(0, |key, value| {
                comma.write(to);
                compact(text, key, to);
                to.push(b':');
                compact(text, value, to);
            });
            debug_assert!(scanned.is_ok(), "a value that was scanned is one");
            to.push(b'}');
        }
        Kind::Missing => {}
        Kind::Null | Kind::True | Kind::False | Kind::Integer | Kind::Float => {
            to.extend_from_slice(slot.of(text).as_bytes());
        }
    }
}

/// Writes a comma before every value of a JSON array or object but the first one.
#[derive(Default)]
pub(super) struct Comma {
    is_due: bool,
}

impl Comma {
    pub(super) fn write(&mut self, to: &mut Vec<u8>) {
        if self.is_due {
            to.push(b',');
        }
        self.is_due = true;
    }
}
