//! Java's regular expressions on top of the crate `regex`: translation, a bounded cache, and matches as Java
//! finds them.
//!
//! A pattern has its meaning in Java, or is refused. Look-around, back references, atomic groups and possessive
//! quantifiers are refused, because they need backtracking. `regex` does not backtrack, so no pattern takes
//! exponential time.
//!
//! Differs from Flink: `$` matches only at the very end, and not also before a final line end. Ignoring case applies
//! to all letters and not only to ASCII. Text is scanned by characters and not by UTF-16 units.
//!
//! Source: Java, `java.util.regex.Pattern` and `Matcher`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use regex::{Match, Regex};

use crate::functions::{Argument, BindError, EvaluationError};

/// Greatest number of compiled regular expressions that a cache keeps; when one more comes, all are dropped.
/// A stream with more of them compiles them again and again, but does not fill the memory.
pub const PATTERNS_MAX: usize = 64;

/// Reason why a regular expression is not compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The regular expression is valid in Java but not supported here.
    Unsupported(String),
    /// The regular expression is invalid in Java, too.
    Invalid(String),
}

/// Treatment of a literal that is an invalid regular expression in Java, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// The function returns NULL or false for an invalid regular expression, as in Flink.
    Tolerated,
    /// Binding the function fails for an invalid regular expression.
    Refused,
}

/// Checks a literal regular expression: refuses an unsupported one, and an invalid one unless `invalid`
/// tolerates it.
///
/// # Errors
/// [`BindError`] with the reason.
pub fn check_literal(argument: &Argument, invalid: Invalid) -> Result<(), BindError> {
    let Some(text) = argument.text() else { return Ok(()) };
    match compile(text) {
        Err(Refusal::Unsupported(reason)) => {
            Err(BindError::new(format!("the pattern '{text}' cannot be used: {reason}")))
        }
        Err(Refusal::Invalid(reason)) if invalid == Invalid::Refused => {
            Err(BindError::new(format!("'{text}' is no pattern: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Bounded cache of values that are compiled from texts, such as the regular expressions in a column. A value
/// is found by its text.
#[derive(Debug)]
pub struct Cache<V>(Mutex<HashMap<String, V>>);

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Cache(Mutex::new(HashMap::new()))
    }
}

impl<V: Clone> Cache<V> {
    /// Returns the cached value of a text, and computes it if it is missing. Workers share the cache but do
    /// not wait for each other: if it is locked, the value is computed without it.
    pub fn get(&self, text: &str, make: impl FnOnce(&str) -> V) -> V {
        let Ok(mut known) = self.0.try_lock() else { return make(text) };
        if let Some(value) = known.get(text) {
            return value.clone();
        }
        if known.len() >= PATTERNS_MAX {
            known.clear();
        }
        let value = make(text);
        known.insert(text.to_owned(), value.clone());
        value
    }
}

/// Compiled regular expressions of one function.
#[derive(Default, Debug)]
pub struct Patterns(Cache<Result<Arc<Regex>, Refusal>>);

impl Patterns {
    /// Returns a compiled regular expression; `None` if it is invalid in Java, too.
    ///
    /// # Errors
    /// [`EvaluationError`] if the expression is valid in Java but not supported here.
    pub fn get(&self, java: &str) -> Result<Option<Arc<Regex>>, EvaluationError> {
        match self.0.get(java, |java| compile(java).map(Arc::new)) {
            Ok(regex) => Ok(Some(regex)),
            Err(Refusal::Invalid(_)) => Ok(None),
            Err(Refusal::Unsupported(reason)) => Err(EvaluationError {
                code: "UNSUPPORTED_PATTERN",
                message: format!("the pattern '{java}' cannot be used: {reason}"),
            }),
        }
    }

    /// Returns a compiled regular expression, where an invalid one is an error.
    ///
    /// # Errors
    /// [`EvaluationError`] if the expression is invalid or not supported.
    pub fn required(&self, java: &str) -> Result<Arc<Regex>, EvaluationError> {
        self.get(java)?.ok_or_else(|| EvaluationError {
            code: "BAD_PATTERN",
            message: format!("'{java}' is no pattern: escape special characters with a backslash"),
        })
    }

    /// Returns a cursor over the cache, which remembers the last regular expression, so that a repeated one
    /// is looked up once.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { patterns: self, last: None }
    }
}

/// A view of [`Patterns`] that remembers the last regular expression.
#[derive(Debug)]
pub struct Cursor<'a> {
    patterns: &'a Patterns,
    last: Option<(String, Option<Arc<Regex>>)>,
}

impl Cursor<'_> {
    /// Returns a compiled regular expression, as [`Patterns::get`] does.
    ///
    /// # Errors
    /// Fails as [`Patterns::get`] does.
    pub fn get(&mut self, java: &str) -> Result<Option<Arc<Regex>>, EvaluationError> {
        if let Some((last, regex)) = &self.last
            && last == java
        {
            return Ok(regex.clone());
        }
        let regex = self.patterns.get(java)?;
        self.last = Some((java.to_owned(), regex.clone()));
        Ok(regex)
    }
}

/// Compiles a regular expression of Java.
///
/// # Errors
/// [`Refusal`] if the expression is invalid or not supported.
pub fn compile(java: &str) -> Result<Regex, Refusal> {
    let translated = Translation::of(java)?;
    Regex::new(&translated).map_err(|error| match error {
        regex::Error::CompiledTooBig(bytes) => {
            Refusal::Unsupported(format!("it takes more than {bytes} bytes when compiled"))
        }
        error => Refusal::Invalid(error.to_string()),
    })
}

/// Iterates over all matches of a regular expression, as Java's `Matcher.find` returns them. An empty match
/// may directly follow another match, where `find_iter` of the crate `regex` skips it.
pub fn finds<'r, 't>(regex: &'r Regex, text: &'t str) -> impl Iterator<Item = Match<'t>> + use<'r, 't> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let hit = regex.find_at(text, next?)?;
        next = if hit.is_empty() {
            // After an empty match, the search continues one character later, or ends at the end of the text.
            text.get(hit.end()..)
                .and_then(|rest| rest.chars().next())
                .map(|skipped| hit.end() + skipped.len_utf8())
        } else {
            Some(hit.end())
        };
        Some(hit)
    })
}

/// Returns the pieces of a text between the matches of a regular expression, as Java's `String.split` does
/// with a negative limit. An empty match at the very start makes no piece.
pub fn split<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    for hit in finds(regex, text) {
        if hit.end() == 0 || (hit.is_empty() && hit.start() == text.len()) {
            continue;
        }
        pieces.push(text.get(done..hit.start()).unwrap_or_default());
        done = hit.end();
    }
    pieces.push(text.get(done..).unwrap_or_default());
    pieces
}

/// Character classes of ASCII, by their names in Java and POSIX.
const CLASSES: &[(&str, &str)] = &[
    ("Lower", "a-z"),
    ("Upper", "A-Z"),
    ("ASCII", r"\x00-\x7F"),
    ("Alpha", "A-Za-z"),
    ("Digit", "0-9"),
    ("Alnum", "0-9A-Za-z"),
    ("Punct", r"!-/:-@\[-`{-\~"),
    ("Graph", r"!-\~"),
    ("Print", r" -\~"),
    ("Blank", r" \t"),
    ("Cntrl", r"\x00-\x1F\x7F"),
    ("XDigit", "0-9A-Fa-f"),
    ("Space", r" \t\n\x0B\f\r"),
];

const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r" \t\n\x0B\f\r";
const HORIZONTAL: &str = r" \t\x{A0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}";
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";
const LINE_ENDS: &str = r"\n\r\x{85}\x{2028}\x{2029}";

/// Translation of a regular expression from Java to the crate `regex`.
struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// True if some flag of the expression lets `.` match line ends; then every `.` does.
    dot_matches_all: bool,
}

impl<'a> Translation<'a> {
    fn of(java: &'a str) -> Result<String, Refusal> {
        let mut translation = Translation {
            rest: java.chars().peekable(),
            out: String::with_capacity(java.len() + 16),
            dot_matches_all: false,
        };
        translation.sequence()?;
        Ok(translation.out)
    }

    /// Translates the parts of a regular expression outside of character classes.
    fn sequence(&mut self) -> Result<(), Refusal> {
        while let Some(letter) = self.rest.next() {
            match letter {
                '\\' => self.escape(Place::Outside)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '.' if self.dot_matches_all => self.out.push_str("(?s:.)"),
                '.' => self.class_of(LINE_ENDS, true),
                '*' | '+' | '?' => {
                    self.out.push(letter);
                    self.quantified()?;
                }
                '{' => {
                    self.out.push('{');
                    for letter in self.rest.by_ref() {
                        self.out.push(letter);
                        if letter == '}' {
                            break;
                        }
                    }
                    self.quantified()?;
                }
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// Translates the characters that may follow a quantifier such as `*`.
    fn quantified(&mut self) -> Result<(), Refusal> {
        match self.rest.peek() {
            Some('+') => Err(unsupported("possessive quantifiers need backtracking")),
            Some('*') => Err(Refusal::Invalid("a '*' has nothing to repeat".to_owned())),
            Some('?') => {
                self.rest.next();
                self.out.push('?');
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Translates a group of a regular expression, whose opening parenthesis is already read.
    fn group(&mut self) -> Result<(), Refusal> {
        self.out.push('(');
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        self.rest.next();
        self.out.push('?');
        match self.rest.peek() {
            Some('=' | '!') => return Err(unsupported("it looks ahead")),
            Some('>') => return Err(unsupported("atomic groups need backtracking")),
            Some('<') => {
                self.rest.next();
                self.out.push('<');
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return Err(unsupported("it looks behind"));
                }
                return Ok(());
            }
            _ => {}
        }
        // The flags of a group, as in `(?i)` or `(?i:`, stand before a `)` or `:`.
        let mut is_on = true;
        for letter in self.rest.by_ref() {
            match letter {
                '-' => is_on = false,
                's' => self.dot_matches_all |= is_on,
                'i' | 'm' | 'x' | 'u' | ':' | ')' => {}
                other => return Err(unsupported(&format!("the flag '{other}' is not known here"))),
            }
            self.out.push(letter);
            if matches!(letter, ':' | ')') {
                break;
            }
        }
        Ok(())
    }

    /// Translates a character class in brackets, whose opening bracket is already read.
    fn class(&mut self) -> Result<(), Refusal> {
        self.out.push('[');
        let (mut depth, mut is_first, mut last) = (1, true, '[');
        while let Some(letter) = self.rest.next() {
            match letter {
                '^' if is_first && last == '[' => self.out.push('^'),
                ']' if is_first => self.out.push_str("\\]"),
                ']' => {
                    self.out.push(']');
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                '[' => {
                    self.out.push('[');
                    depth += 1;
                }
                '\\' => self.escape(Place::Class)?,
                // In a character class of the crate `regex`, `~~` and `--` are operators, but not in Java. So
                // `~` and a second `-` are escaped.
                '~' => self.out.push_str("\\~"),
                '-' if last == '-' => self.out.push_str("\\-"),
                other => self.out.push(other),
            }
            is_first = matches!(letter, '[') || (is_first && letter == '^');
            last = letter;
        }
        Err(Refusal::Invalid("a bracket is not closed".to_owned()))
    }

    /// Translates an escape of a regular expression, whose backslash is already read.
    fn escape(&mut self, place: Place) -> Result<(), Refusal> {
        let Some(letter) = self.rest.next() else {
            return Err(Refusal::Invalid("it ends in a backslash".to_owned()));
        };
        match letter {
            'd' => self.class_of("0-9", false),
            'D' => self.class_of("0-9", true),
            'w' => self.class_of(WORD, false),
            'W' => self.class_of(WORD, true),
            's' => self.class_of(SPACE, false),
            'S' => self.class_of(SPACE, true),
            'h' => self.class_of(HORIZONTAL, false),
            'H' => self.class_of(HORIZONTAL, true),
            'v' => self.class_of(VERTICAL, false),
            'V' => self.class_of(VERTICAL, true),
            't' | 'n' | 'r' | 'f' | 'a' => self.out.extend(['\\', letter]),
            'e' => self.out.push_str("\\x1B"),
            'c' => {
                let control = self.rest.next().filter(char::is_ascii);
                let control = control.ok_or_else(|| Refusal::Invalid("\\c lacks a letter".to_owned()))?;
                self.character(u32::from(control) ^ 64)?;
            }
            '0' => {
                let code = self.digits(8, 3);
                let code = code.ok_or_else(|| Refusal::Invalid("\\0 lacks digits".to_owned()))?;
                self.character(code)?;
            }
            'x' if self.rest.peek() == Some(&'{') => {
                self.rest.next();
                let code = self.digits(16, 6).filter(|_| self.rest.next() == Some('}'));
                self.character(code.unwrap_or(u32::MAX))?;
            }
            'x' | 'u' => {
                let code = self.digits(16, if letter == 'x' { 2 } else { 4 });
                self.character(code.unwrap_or(u32::MAX))?;
            }
            'p' | 'P' => self.property(letter == 'P')?,
            'Q' => self.quote(),
            '1'..='9' | 'k' if place == Place::Outside => {
                return Err(unsupported("it refers back to a group"));
            }
            'b' | 'B' | 'A' | 'z' if place == Place::Outside => self.out.extend(['\\', letter]),
            'R' if place == Place::Outside => {
                self.out.push_str("(?:\\r\\n|[");
                self.out.push_str(VERTICAL);
                self.out.push_str("])");
            }
            'G' | 'Z' | 'X' if place == Place::Outside => {
                return Err(unsupported(&format!("'\\{letter}' is not known here")));
            }
            letter if letter.is_ascii_alphanumeric() => {
                return Err(Refusal::Invalid(format!("'\\{letter}' means nothing")));
            }
            other => self.literal(other),
        }
        Ok(())
    }

    /// Translates a quotation in a regular expression, `\Q...\E`.
    fn quote(&mut self) {
        while let Some(letter) = self.rest.next() {
            if letter == '\\' && self.rest.peek() == Some(&'E') {
                self.rest.next();
                return;
            }
            self.literal(letter);
        }
    }

    /// Translates a property of characters in a regular expression, `\p{...}` or `\pL`.
    fn property(&mut self, is_negated: bool) -> Result<(), Refusal> {
        let mut name = String::new();
        match self.rest.next() {
            Some('{') => name.extend(self.rest.by_ref().take_while(|letter| *letter != '}')),
            Some(letter) => name.push(letter),
            None => return Err(Refusal::Invalid("\\p lacks a name".to_owned())),
        }
        if let Some((_, members)) = CLASSES.iter().find(|(known, _)| *known == name) {
            self.class_of(members, is_negated);
            return Ok(());
        }
        if name.starts_with("In") || name.starts_with("java") || name.contains(['{', '[', '\\']) {
            return Err(unsupported(&format!("the property '{name}' is not known here")));
        }
        let name = name.strip_prefix("Is").unwrap_or(&name);
        self.out.push_str(if is_negated { "\\P{" } else { "\\p{" });
        self.out.push_str(name);
        self.out.push('}');
        Ok(())
    }

    /// Reads a number of at most `most` digits in a regular expression; `None` if there is no digit.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..most {
            let Some(digit) = self.rest.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            self.rest.next();
            number = Some(number.unwrap_or(0) * radix + digit);
        }
        number
    }

    fn character(&mut self, code: u32) -> Result<(), Refusal> {
        let letter = char::from_u32(code);
        self.literal(letter.ok_or_else(|| Refusal::Invalid("a number stands for no character".to_owned()))?);
        Ok(())
    }

    /// Writes a character into the translated expression such that it stands for itself everywhere.
    fn literal(&mut self, letter: char) {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !matches!(letter, '<' | '>') {
            self.out.push_str(&format!("\\x{:02X}", u32::from(letter)));
        } else {
            self.out.push(letter);
        }
    }

    fn class_of(&mut self, members: &str, is_negated: bool) {
        self.out.push_str(if is_negated { "[^" } else { "[" });
        self.out.push_str(members);
        self.out.push(']');
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Class,
}

fn unsupported(reason: &str) -> Refusal {
    Refusal::Unsupported(reason.to_owned())
}
