//! A small reader of JSON, and of the JSON paths that SQL's functions take.
//!
//! JSON is read as in RFC 8259, and no text may follow a document. If an object has several members with one
//! name, the last one counts. Nesting is bounded by [`DEPTH_MAX`]. Numbers stay as written, so that no digit
//! is lost. A path is `$` with members (`.a`, `['a']`, `["a"]`), positions (`[0]`, from the end if negative)
//! and wildcards (`[*]`, `.*`). `lax` or `strict`, the default, may stand in front: a lax path that leads to nothing is
//! no error.
//!
//! Differs from Flink: slices, filters, unions, deep scans and functions in paths are refused. A document
//! with text after it is not JSON, where Jackson does not look.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Greatest depth to which arrays and objects of a JSON document may be nested. At this depth the recursion
/// stays far below the stack size of a worker.
pub const DEPTH_MAX: usize = 512;

/// A JSON document or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Json<'a> {
    /// The JSON value `null`.
    Null,
    /// The JSON value `true` or `false`.
    Bool(bool),
    /// A JSON number, as written.
    Number(&'a str),
    /// A JSON string, without quotes and escapes.
    Text(Cow<'a, str>),
    /// A JSON array.
    Array(Vec<Json<'a>>),
    /// A JSON object: values in the order of their names, in which Flink writes them.
    Object(BTreeMap<Cow<'a, str>, Json<'a>>),
}

impl<'a> Json<'a> {
    /// Reads a JSON document; `None` if the text is not JSON.
    pub fn read(text: &'a str) -> Option<Json<'a>> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(DEPTH_MAX)?;
        reader.space();
        (reader.at == text.len()).then_some(value)
    }

    /// Returns whether this JSON value is not an array or object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// Writes the JSON value without white space.
    pub fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(number) => write_number(number, out),
            Json::Text(text) => quote(text, out),
            Json::Array(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    quote(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a text as a JSON string in quotes, as Jackson does.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Writes a JSON number as Flink does. A number without point and exponent stays unchanged; others are
/// written as Java's `BigDecimal.toString` does. It keeps all digits, and writes an exponent only if the
/// number is below 10^-6 in magnitude, or if its exponent exceeds its number of digits after the point.
pub fn write_number(number: &str, out: &mut String) {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_whole = mantissa.len() == digits.len() && fraction.is_empty();
    if is_whole {
        out.push_str(if digits == "0" { "0" } else { number });
        return;
    }
    // `all` holds the digits of a JSON number without the point. `scale` says how many of them follow the
    // point once the exponent is applied; it is below 0 if zeros are missing before the point.
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let sign = if digits == "0" { "" } else { sign };
    // Exponents of JSON numbers are limited to 2^40 in either direction, so that lengths can be added to them
    // without overflow.
    let edge = if exponent.starts_with('-') { -(1 << 40) } else { 1 << 40 };
    let exponent = exponent.parse::<i64>().unwrap_or(edge).clamp(-(1 << 40), 1 << 40);
    let scale = fraction.len() as i64 - exponent;
    let adjusted = digits.len() as i64 - 1 - scale;
    out.push_str(sign);
    if scale >= 0 && adjusted >= -6 {
        let scale = scale as usize;
        // Missing zeros, at most six, are added in front of the digits. The width in a Rust format string
        // would not do: it has 16 bits, and there may be more digits.
        let zeros = (scale + 1).saturating_sub(digits.len());
        let padded = "0".repeat(zeros) + digits;
        let (before, behind) = padded.split_at(padded.len() - scale);
        out.push_str(before);
        if scale > 0 {
            out.push('.');
            out.push_str(behind);
        }
        return;
    }
    let (first, more) = digits.split_at(1);
    out.push_str(first);
    if !more.is_empty() {
        out.push('.');
        out.push_str(more);
    }
    if adjusted != 0 {
        let _ = write!(out, "E{adjusted:+}");
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())?;
        Some(value)
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        self.space();
        match self.peek()? {
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'"' => Some(Json::Text(self.string()?)),
            b'[' => self.array(depth.checked_sub(1)?),
            b'{' => self.object(depth.checked_sub(1)?),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        self.take(b'[')?;
        let mut items = Vec::new();
        self.space();
        if self.take(b']').is_some() {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            if self.take(b']').is_some() {
                return Some(Json::Array(items));
            }
            self.take(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        self.take(b'{')?;
        let mut members = BTreeMap::new();
        self.space();
        if self.take(b'}').is_some() {
            return Some(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.take(b':')?;
            members.insert(name, self.value(depth)?);
            self.space();
            if self.take(b'}').is_some() {
                return Some(Json::Object(members));
            }
            self.take(b',')?;
        }
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let begin = self.at;
        let _ = self.take(b'-');
        let whole = self.digits();
        let is_padded = whole > 1 && self.text.as_bytes().get(self.at - whole) == Some(&b'0');
        if whole == 0 || is_padded {
            return None;
        }
        if self.take(b'.').is_some() && self.digits() == 0 {
            return None;
        }
        if self.take(b'e').or_else(|| self.take(b'E')).is_some() {
            let _ = self.take(b'+').or_else(|| self.take(b'-'));
            if self.digits() == 0 {
                return None;
            }
        }
        Some(Json::Number(self.text.get(begin..self.at)?))
    }

    fn digits(&mut self) -> usize {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - begin
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let mut owned: Option<String> = None;
        loop {
            let rest = self.text.get(self.at..)?;
            let length = rest.find(|letter: char| letter == '"' || letter == '\\' || letter < ' ')?;
            let piece = rest.get(..length)?;
            self.at += length;
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(match owned {
                        None => Cow::Borrowed(piece),
                        Some(owned) => Cow::Owned(owned + piece),
                    });
                }
                b'\\' => {
                    self.at += 1;
                    let owned = owned.get_or_insert_default();
                    owned.push_str(piece);
                    let letter = self.escape()?;
                    owned.push(letter);
                }
                // A JSON string may contain control characters only in escaped form.
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let before = self.at;
                // An escape with the first half of a surrogate pair must be followed by one with the second
                // half.
                if (0xD800..0xDC00).contains(&first)
                    && self.take(b'\\').is_some()
                    && self.take(b'u').is_some()
                {
                    let pair = char::decode_utf16([first, self.unit()?]).next()?;
                    if let Ok(letter) = pair {
                        return Some(letter);
                    }
                }
                self.at = before;
                char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }
}

/// A path that leads to parts of a JSON document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    steps: Vec<Step>,
    /// True for a path that begins with `lax`.
    pub is_lax: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Member(String),
    Place(i64),
    All,
}

/// One or several values of a JSON document to which a path leads.
#[derive(Debug)]
pub enum Found<'j, 'a> {
    /// The only value to which a path without wildcards leads.
    One(&'j Json<'a>),
    /// All values that match a wildcard of the path.
    Many(Vec<&'j Json<'a>>),
}

impl Path {
    /// Reads a JSON path.
    ///
    /// # Errors
    /// The reason why the path cannot be used.
    pub fn read(text: &str) -> Result<Path, String> {
        let trimmed = text.trim();
        let without = |mode: &str| {
            let (word, rest) = trimmed.split_at_checked(mode.len())?;
            (word.eq_ignore_ascii_case(mode) && rest.starts_with(char::is_whitespace))
                .then(|| rest.trim_start())
        };
        let (lax, strict) = (without("lax"), without("strict"));
        let bad = || format!("'{text}' is no path of members and places, such as 'lax $.a[0].b'");
        let mut rest = lax.or(strict).unwrap_or(trimmed).strip_prefix('$').ok_or_else(bad)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let dotted = rest.strip_prefix('.');
            rest = dotted.unwrap_or(rest);
            if let Some(inner) = rest.strip_prefix('[') {
                let (step, behind) = bracketed(inner.trim_start()).ok_or_else(bad)?;
                steps.push(step);
                rest = behind;
                continue;
            }
            dotted.ok_or_else(bad)?;
            let (name, behind) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
            if name.is_empty() || name.contains(['(', ')', ' ', '?', '@', '\'', '"']) {
                return Err(bad());
            }
            steps.push(if name == "*" { Step::All } else { Step::Member(name.to_owned()) });
            rest = behind;
        }
        Ok(Path { steps, is_lax: lax.is_some() })
    }

    /// Returns whether the path leads to one value at most, because it has no wildcard.
    pub fn is_definite(&self) -> bool {
        !self.steps.contains(&Step::All)
    }

    /// Finds the values of a JSON document to which the path leads; `None` if there are none.
    pub fn find<'j, 'a>(&self, json: &'j Json<'a>) -> Option<Found<'j, 'a>> {
        let mut found = Found::One(json);
        for step in &self.steps {
            found = match found {
                Found::One(json) if *step == Step::All => Found::Many(children(json)?),
                Found::One(json) => Found::One(child(json, step)?),
                Found::Many(all) if *step == Step::All => {
                    Found::Many(all.into_iter().filter_map(children).flatten().collect())
                }
                Found::Many(all) => {
                    Found::Many(all.into_iter().filter_map(|json| child(json, step)).collect())
                }
            };
        }
        Some(found)
    }
}

/// Reads a step of a JSON path in brackets, whose opening bracket is already read; returns the step and the
/// text after the closing bracket.
fn bracketed(inner: &str) -> Option<(Step, &str)> {
    if let Some(mark) = inner.chars().next().filter(|mark| matches!(mark, '\'' | '"')) {
        let (mut name, mut letters) = (String::new(), inner.char_indices().skip(1));
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => name.push(letters.next()?.1),
                letter if letter == mark => {
                    let behind = inner.get(at + 1..)?.trim_start().strip_prefix(']')?;
                    return Some((Step::Member(name), behind));
                }
                letter => name.push(letter),
            }
        }
        return None;
    }
    let (place, behind) = inner.split_once(']')?;
    match place.trim() {
        "*" => Some((Step::All, behind)),
        place => Some((Step::Place(place.parse().ok()?), behind)),
    }
}

fn child<'j, 'a>(json: &'j Json<'a>, step: &Step) -> Option<&'j Json<'a>> {
    match (json, step) {
        (Json::Object(members), Step::Member(name)) => members.get(name.as_str()),
        (Json::Array(items), Step::Place(place)) => {
            let place = if *place < 0 { place.checked_add(items.len() as i64)? } else { *place };
            items.get(usize::try_from(place).ok()?)
        }
        _ => None,
    }
}

fn children<'j, 'a>(json: &'j Json<'a>) -> Option<Vec<&'j Json<'a>>> {
    match json {
        Json::Array(items) => Some(items.iter().collect()),
        Json::Object(members) => Some(members.values().collect()),
        _ => None,
    }
}
