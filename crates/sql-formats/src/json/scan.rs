//! Finds the values of a JSON document without converting them: the kind of each, its start and its end.
//!
//! The grammar is that of RFC 8259, with one exception: control characters may stand unescaped in strings, as Flink
//! allows (`ALLOW_UNESCAPED_CONTROL_CHARS`). Values of keys whose columns the query does not read are checked, too,
//! so that well-formedness does not depend on the query.

use memchr::memchr2;

use crate::DEPTH_MAX;

/// A JSON value found in a line: its kind, and its start and end as byte positions in the line. The quotes of
/// a string lie outside of these positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Slot {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// The kind of a JSON value, as far as its first bytes and its form tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Kind {
    /// The key of the value does not occur in the object.
    Missing,
    Null,
    True,
    False,
    /// A number without a decimal point and exponent.
    Integer,
    /// A number with a decimal point or an exponent.
    Float,
    /// A string that has no escapes.
    Text,
    /// A string that has escapes.
    Escaped,
    Array,
    Object,
}

impl Slot {
    pub(in super::super) const MISSING: Slot = Slot { kind: Kind::Missing, start: 0, end: 0 };

    /// Returns whether the JSON value is missing or `null`.
    pub(in super::super) fn is_nothing(&self) -> bool {
        matches!(self.kind, Kind::Missing | Kind::Null)
    }

    pub(in super::super) fn is_object(&self) -> bool {
        self.kind == Kind::Object
    }

    /// Returns the first 32 characters of the JSON value, for error messages.
    pub(in super::super) fn shown(&self, text: &str) -> String {
        self.of(text).chars().take(32).collect()
    }

    /// Returns the JSON value as it is written in the line.
    pub(super) fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start as usize..self.end as usize]
    }
}

/// The reason why a text is not a JSON document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Broken {
    /// Position of the error in bytes from the start of the text.
    at: usize,
    /// The token that should be at the position of the error.
    wanted: &'static str,
}

impl Broken {
    /// Returns a sentence for error messages that says where `text` is not JSON, and what should be there.
    pub(super) fn reason(&self, text: &str) -> String {
        match text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => {
                format!("{found:?} at byte {} of the record, where {} should be", self.at, self.wanted)
            }
            None => format!("the record ends at byte {}, where {} should be", self.at, self.wanted),
        }
    }
}

/// A scanner of one line of JSON.
pub(in super::super) struct Scan<'a> {
    text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scan<'a> {
    pub(in super::super) fn new(text: &'a str) -> Self {
        Scan { text: text.as_bytes(), at: 0 }
    }

    /// Creates a scanner of the text of one value of a line, which a scan of the line has found.
    pub(in super::super) fn within(text: &'a str, slot: Slot) -> Self {
        Scan { text: &text.as_bytes()[..slot.end as usize], at: slot.start as usize }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns the bytes of the line from position `start` up to the current one.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
    }

    /// Returns whether these bytes come next in the line, and moves past them if so.
    #[inline]
    pub(super) fn passes(&mut self, bytes: &[u8]) -> bool {
        let is_next = begins_with(&self.text[self.at..], bytes);
        if is_next {
            self.at += bytes.len();
        }
        is_next
    }

    #[inline]
    pub(in super::super) fn pass_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Returns whether `byte` comes next in the line, and moves past it if so.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, wanted: &'static str) -> Result<(), Broken> {
        if self.eat(byte) { Ok(()) } else { Err(self.broken(wanted)) }
    }

    /// Checks that only blanks follow up to the end of the line.
    pub(in super::super) fn expect_end(&mut self) -> Result<(), Broken> {
        self.pass_blanks();
        if self.at == self.text.len() { Ok(()) } else { Err(self.broken("the end")) }
    }

    pub(super) fn broken(&self, wanted: &'static str) -> Broken {
        Broken { at: self.at, wanted }
    }

    /// Scans the JSON value at the current position. `depth` is the number of arrays and objects around it.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Result<Slot, Broken> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => return self.string(),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'{') => {
                self.members(depth, |_, _| {})?;
                Kind::Object
            }
            Some(b'[') => {
                self.items(depth, |_| {})?;
                Kind::Array
            }
            Some(b't') => self.word(b"true", Kind::True)?,
            Some(b'f') => self.word(b"false", Kind::False)?,
            Some(b'n') => self.word(b"null", Kind::Null)?,
            _ => return Err(self.broken("a value")),
        };
        Ok(Slot { kind, start: start as u32, end: self.at as u32 })
    }

    /// Scans the JSON object at the current position, and calls `each` with every key and its value.
    pub(super) fn members(&mut self, depth: usize, mut each: impl FnMut(Slot, Slot)) -> Result<(), Broken> {
        self.enter(b'{', depth)?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            each(key, self.nested(depth)?);
            self.pass_blanks();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',', "',' or '}'")?;
            self.pass_blanks();
        }
    }

    /// Scans the JSON array at the current position, and calls `each` with every value.
    pub(super) fn items(&mut self, depth: usize, mut each: impl FnMut(Slot)) -> Result<(), Broken> {
        self.enter(b'[', depth)?;
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            each(self.nested(depth)?);
            self.pass_blanks();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',', "',' or ']'")?;
            self.pass_blanks();
        }
    }

    /// Scans the key of an object, its colon and the blanks up to its value.
    pub(super) fn key(&mut self) -> Result<Slot, Broken> {
        if self.peek() != Some(b'"') {
            return Err(self.broken("a key in quotes"));
        }
        let key = self.string()?;
        self.pass_blanks();
        self.expect(b':', "':'")?;
        self.pass_blanks();
        Ok(key)
    }

    /// Moves past the opening bracket of an array or object. `depth` is the number of arrays and objects
    /// around it, which has a bound.
    pub(super) fn enter(&mut self, bracket: u8, depth: usize) -> Result<(), Broken> {
        if DEPTH_MAX <= depth {
            return Err(self.broken("at most 64 levels of nesting"));
        }
        self.expect(bracket, if bracket == b'{' { "'{'" } else { "'['" })?;
        self.pass_blanks();
        Ok(())
    }

    /// Scans a value one level deeper. This function is not inlined, because [`Scan::value`] would otherwise
    /// be inlined into itself.
    #[inline(never)]
    fn nested(&mut self, depth: usize) -> Result<Slot, Broken> {
        self.value(depth + 1)
    }

    #[inline]
    fn string(&mut self) -> Result<Slot, Broken> {
        let start = self.at + 1;
        match memchr2(b'"', b'\\', &self.text[start..]) {
            Some(len) if self.text[start + len] == b'"' => {
                self.at = start + len + 1;
                Ok(Slot { kind: Kind::Text, start: start as u32, end: (start + len) as u32 })
            }
            Some(len) => self.escaped(start, start + len),
            None => self.unclosed(),
        }
    }

    /// Scans a string whose first escape is at the position `at`.
    #[cold]
    fn escaped(&mut self, start: usize, at: usize) -> Result<Slot, Broken> {
        self.at = at;
        loop {
            match memchr2(b'"', b'\\', &self.text[self.at..]) {
                None => return self.unclosed(),
                Some(len) => self.at += len,
            }
            if self.eat(b'"') {
                return Ok(Slot { kind: Kind::Escaped, start: start as u32, end: self.at as u32 - 1 });
            }
            self.at += 1;
            match self.peek() {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                Some(b'u') => self.code_unit()?,
                _ => return Err(self.broken("an escape")),
            }
        }
    }

    /// Scans the four hexadecimal digits after `\u`, and a second such escape if the first is half of a
    /// surrogate pair.
    fn code_unit(&mut self) -> Result<(), Broken> {
        let unit = self.hexadecimal()?;
        if matches!(unit, 0xD800..=0xDBFF) {
            if !self.passes(b"\\") || self.peek() != Some(b'u') {
                return Err(self.broken("the other half of a letter beyond U+FFFF"));
            }
            let other = self.hexadecimal()?;
            if matches!(other, 0xDC00..=0xDFFF) {
                return Ok(());
            }
        } else if !matches!(unit, 0xDC00..=0xDFFF) {
            return Ok(());
        }
        self.at -= 4;
        Err(self.broken("the right half of a letter beyond U+FFFF"))
    }

    /// Reads the four hexadecimal digits after `\u` in an escape of a string.
    fn hexadecimal(&mut self) -> Result<u32, Broken> {
        self.at += 1;
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or_else(|| self.broken("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(value)
    }

    #[cold]
    fn unclosed(&mut self) -> Result<Slot, Broken> {
        self.at = self.text.len();
        Err(self.broken("the closing quote"))
    }

    fn number(&mut self) -> Result<Kind, Broken> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let mut kind = Kind::Integer;
        if self.eat(b'.') {
            self.digits()?;
            kind = Kind::Float;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
            kind = Kind::Float;
        }
        Ok(kind)
    }

    fn digits(&mut self) -> Result<(), Broken> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if start < self.at { Ok(()) } else { Err(self.broken("a digit")) }
    }

    fn word(&mut self, word: &'static [u8], kind: Kind) -> Result<Kind, Broken> {
        if self.passes(word) { Ok(kind) } else { Err(self.broken("a value")) }
    }
}

/// Returns whether `text` begins with `bytes`. Most such bytes are about as long as a word or two of the processor, for
/// which a call of the C library takes longer than the comparison.
#[inline]
fn begins_with(text: &[u8], bytes: &[u8]) -> bool {
    let Some(text) = text.get(..bytes.len()) else { return false };
    let (words, rest) = bytes.as_chunks::<8>();
    let (text_words, text_rest) = text.as_chunks::<8>();
    if words.iter().zip(text_words).any(|(one, other)| one != other) {
        return false;
    }
    // The last bytes are compared together with some that were compared already.
    match (bytes.last_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(one), Some(other)) => one == other,
        _ => rest.iter().zip(text_rest).all(|(one, other)| one == other),
    }
}
