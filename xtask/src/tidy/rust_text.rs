//! Rust source with code and comments separated, so that a rule about one does not read the other or the contents of
//! strings.
//!
//! [`super::tree`] makes a [`RustText`] of each Rust file, and the rules read it. Both copies have the length of the
//! text, with blanks for omitted bytes. So an offset means the same place in all three. This is a scanner of a hundred
//! lines and no parser. It knows strings, characters and comments as the language reference ("Tokens", "Comments")
//! defines them, and the items under `#[cfg(test)]`. Macros are read as plain code.

use std::ops::Range;

/// A Rust source file with separate copies of its code and its comments.
pub(super) struct RustText {
    /// The whole text of the source file.
    pub(super) text: String,
    /// The code alone. Strings keep their quotes and lose their contents.
    pub(super) code: String,
    /// The comments of the file alone, with their slashes.
    pub(super) comments: String,
    /// Ranges of the text that are items under `#[cfg(test)]`.
    test_spans: Vec<Range<usize>>,
}

impl RustText {
    pub(super) fn new(text: String) -> Self {
        let mut scanner = Scanner::new(&text);
        scanner.scan();
        let code = String::from_utf8(scanner.code).expect("only whole characters are copied");
        let comments = String::from_utf8(scanner.comments).expect("only whole characters are copied");
        let test_spans = test_spans(&code);
        Self { text, code, comments, test_spans }
    }

    /// Returns the number of the line of `offset`, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        line_of(&self.text, offset)
    }

    /// Returns whether the code at `offset` is in an item that only tests compile.
    pub(super) fn is_test(&self, offset: usize) -> bool {
        self.test_spans.iter().any(|span| span.contains(&offset))
    }

    /// Returns the number of lines of the file outside of items that only tests compile.
    pub(super) fn line_count_without_tests(&self) -> usize {
        let mut offset = 0;
        let mut count = 0;
        for line in self.text.split_inclusive('\n') {
            let first_word = offset + line.find(|c: char| !c.is_whitespace()).unwrap_or(0);
            count += usize::from(!self.is_test(first_word));
            offset += line.len();
        }
        count
    }

    /// Returns the prose with which the file opens: its leading `//!` lines without slashes, joined by blanks, so that
    /// a phrase is found across a line's end. Empty if the file opens with anything else.
    pub(super) fn head(&self) -> String {
        let lines = self.text.lines().skip(usize::from(self.has_shebang()));
        let head: Vec<&str> = lines.map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        head.join(" ").trim().to_owned()
    }

    /// Returns whether the first line names an interpreter for a script.
    pub(super) fn has_shebang(&self) -> bool {
        self.text.starts_with("#!") && !self.text[2..].trim_start().starts_with('[')
    }
}

/// Returns the number of the line of `offset` in `text`, counted from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}

/// Returns every offset at which `word` occurs in `text` and is not part of a longer name.
pub(super) fn word_offsets<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(offset, _)| offset).filter(move |offset| {
        let before = text[..*offset].chars().next_back();
        let after = text[offset + word.len()..].chars().next();
        !before.is_some_and(is_name_char) && !after.is_some_and(is_name_char)
    })
}

/// Returns whether a character can be part of a Rust name.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the offset after the bracket that closes the one at `open`; the end of `code` if none does.
pub(super) fn closing_offset(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Kind of a part of a Rust text: code, comment or the like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Contents,
}

/// A pass of the scanner that separates code from comments.
struct Scanner<'a> {
    text: &'a str,
    offset: usize,
    code: Vec<u8>,
    comments: Vec<u8>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        let copy = || Vec::with_capacity(text.len());
        Self { text, offset: 0, code: copy(), comments: copy() }
    }

    fn scan(&mut self) {
        while let Some(next) = self.rest().chars().next() {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.take(rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
            } else if rest.starts_with("/*") {
                self.take(block_comment_length(rest), Kind::Comment);
            } else if let Some(hash_count) = self.raw_string_hashes() {
                self.take(1 + hash_count + 1, Kind::Code);
                let close = format!("\"{}", "#".repeat(hash_count));
                let rest = self.rest();
                self.take(rest.find(&close).unwrap_or(rest.len()), Kind::Contents);
                self.take(close.len(), Kind::Code);
            } else if next == '"' {
                self.take(1, Kind::Code);
                self.take(quoted_length(self.rest(), '"'), Kind::Contents);
                self.take(1, Kind::Code);
            } else if next == '\'' && is_character(rest) {
                self.take(1, Kind::Code);
                self.take(quoted_length(self.rest(), '\''), Kind::Contents);
                self.take(1, Kind::Code);
            } else {
                self.take(next.len_utf8(), Kind::Code);
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// Copies `length` bytes, or the rest of the text if it is shorter, to the copy for `kind`. Writes blanks
    /// to the other copy.
    fn take(&mut self, length: usize, kind: Kind) {
        let end = self.text.len().min(self.offset + length);
        for byte in self.text[self.offset..end].bytes() {
            let blank = if byte == b'\n' { b'\n' } else { b' ' };
            self.code.push(if kind == Kind::Code { byte } else { blank });
            self.comments.push(if kind == Kind::Comment { byte } else { blank });
        }
        self.offset = end;
    }

    /// Returns the number of hashes of the raw string that begins at the present `r`; `None` if none begins.
    /// A `b` or `c` before the `r` has been taken as code.
    fn raw_string_hashes(&self) -> Option<usize> {
        let after = self.rest().strip_prefix('r')?;
        let before = &self.text[..self.offset];
        let before = before.strip_suffix(['b', 'c']).unwrap_or(before);
        if before.chars().next_back().is_some_and(is_name_char) {
            return None;
        }
        let hash_count = after.len() - after.trim_start_matches('#').len();
        after[hash_count..].starts_with('"').then_some(hash_count)
    }
}

/// Returns the length of the block comment with which `rest` begins. Block comments nest.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut offset = 0;
    while offset < rest.len() {
        let here = &rest.as_bytes()[offset..];
        if here.starts_with(b"/*") {
            depth += 1;
            offset += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            offset += 2;
            if depth == 0 {
                return offset;
            }
        } else {
            offset += 1;
        }
    }
    rest.len()
}

/// Returns the length of the text before the closing `quote`. The character behind a backslash does not count
/// as a quote.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_hidden = false;
    for (offset, c) in rest.char_indices() {
        if is_hidden {
            is_hidden = false;
        } else if c == '\\' {
            is_hidden = true;
        } else if c == quote {
            return offset;
        }
    }
    rest.len()
}

/// Returns whether the quote at the beginning of `rest` opens a character. Otherwise it begins a lifetime or
/// a label.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// Returns the ranges of the items under an attribute such as `#[cfg(test)]` or `#[cfg(all(test, loom))]`,
/// with the attribute. An inner attribute (`#![cfg(test)]`) makes the whole file one item. A condition such as
/// `any(test, loom)` counts as well, although the item is also compiled without tests.
fn test_spans(code: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (start, _) in code.match_indices("#[cfg(").chain(code.match_indices("#![cfg(")) {
        let open = start + code[start..].find('[').expect("the pattern has an opening bracket");
        let end = closing_offset(code, open);
        let condition = &code[open..end];
        let asks_for_test =
            word_offsets(condition, "test").next().is_some() && !condition.contains("not(test");
        if !asks_for_test {
            continue;
        }
        let is_inner = code[start..].starts_with("#!");
        spans.push(if is_inner { 0..code.len() } else { start..item_end(code, end) });
    }
    spans
}

/// Returns the end of the item, statement or field that begins at or after `offset`, behind further attributes.
fn item_end(code: &str, offset: usize) -> usize {
    let mut offset = offset;
    loop {
        offset += code[offset..].len() - code[offset..].trim_start().len();
        if !code[offset..].starts_with("#[") {
            break;
        }
        offset = closing_offset(code, offset + 1);
    }
    let first_word = code[offset..].split(|c| !is_name_char(c)).next().unwrap_or_default();
    // A comma ends a field or an expression. In other items, commas separate parameters.
    let is_item = ITEM_WORDS.contains(&first_word);
    let bytes = code.as_bytes();
    while offset < bytes.len() {
        match bytes[offset] {
            b'{' if is_item => return closing_offset(code, offset),
            b'(' | b'[' | b'{' => offset = closing_offset(code, offset),
            b')' | b']' | b'}' => return offset,
            b';' => return offset + 1,
            b',' if !is_item => return offset + 1,
            _ => offset += 1,
        }
    }
    code.len()
}

const ITEM_WORDS: [&str; 15] = [
    "pub",
    "mod",
    "fn",
    "use",
    "impl",
    "struct",
    "enum",
    "const",
    "static",
    "type",
    "trait",
    "unsafe",
    "async",
    "extern",
    "macro_rules",
];

#[cfg(test)]
mod tests;
