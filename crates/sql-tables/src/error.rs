//! Errors in SQL text: a stable code, a message, the place in the text, and advice.
//!
//! Codes are shared by the command line, tests and documentation; [`Code`] lists them.

use std::borrow::Cow;
use std::fmt;

use crate::secrets::{masked_message, masked_text};

/// The kind of a mistake in SQL text. The names are stable, because scripts may look for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// The text that was given is not valid SQL.
    Syntax,
    /// The SQL names a table or view that does not exist.
    UnknownTable,
    /// The SQL names a column that does not exist.
    UnknownColumn,
    /// The SQL names a function that does not exist.
    UnknownFunction,
    /// A connector or format does not exist, or does not have the option.
    UnknownOption,
    /// The types of two values or columns do not fit together.
    TypeMismatch,
    /// Flink accepts this SQL, but Thalweg does not run it.
    Unsupported,
    /// The state of an operator grows for as long as rows come. This is the code of a warning: such a query runs.
    UnboundedState,
    /// Flink refuses this SQL, and Thalweg runs it. This is the code of a note, not of an error.
    NotPortable,
    /// The text is parsed but has no meaning, for example because several tables have a column of the same
    /// name.
    Invalid,
}

impl Code {
    /// Returns the stable name of the code, such as `UNKNOWN_COLUMN`.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Syntax => "SYNTAX",
            Code::UnknownTable => "UNKNOWN_TABLE",
            Code::UnknownColumn => "UNKNOWN_COLUMN",
            Code::UnknownFunction => "UNKNOWN_FUNCTION",
            Code::UnknownOption => "UNKNOWN_OPTION",
            Code::TypeMismatch => "TYPE_MISMATCH",
            Code::Unsupported => "UNSUPPORTED",
            Code::UnboundedState => "UNBOUNDED_STATE",
            Code::NotPortable => "NOT_PORTABLE",
            Code::Invalid => "INVALID",
        }
    }
}

/// A place in an SQL text: a line and a column, both counted from 1, the column in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Number of the line, from 1 on.
    pub line: usize,
    /// Position of the first marked character in its line, from 1 on.
    pub column: usize,
    /// Number of marked characters, at least 1. The mark ends with the line at the latest.
    pub width: usize,
}

/// The reason why an SQL text cannot be run; of a warning, what its author should know about a text that can.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    /// The kind of the mistake in the SQL text.
    pub code: Code,
    /// The error message, in lower case, without a full stop.
    pub message: String,
    /// The place of the mistake in the SQL text, if it is known.
    pub place: Option<Place>,
    /// Advice to the user on how to correct the mistake.
    pub help: Option<String>,
}

impl SqlError {
    /// Makes an error without a place in the text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        SqlError { code, message: message.into(), place: None, help: None }
    }

    /// Returns the error with a place in the text. If the error already has a place, this place is kept,
    /// because it is more precise.
    #[must_use]
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Self {
        self.place = self.place.or(place.into());
        self
    }

    /// Returns the error with advice, unless it already has some.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.get_or_insert(help.into());
        self
    }

    /// Returns this error without the values of secret options of `text`, the SQL text with the mistake.
    #[must_use]
    pub fn masked(&self, text: &str) -> Self {
        let masked = |told: &String| masked_message(told, text);
        SqlError { message: masked(&self.message), help: self.help.as_ref().map(masked), ..self.clone() }
    }

    /// Returns the error as people read it: the message, the line of `text` with the place marked, and advice. `name`
    /// is the name of the text, such as a file's path.
    pub fn show(&self, name: &str, text: &str) -> String {
        let SqlError { message, help, .. } = &self.masked(text);
        let text = &masked_text(text);
        let mut shown = format!("{}: {}\n", self.code.name(), cut(message));
        if let Some(place) = self.place.filter(|place| 0 < place.line && 0 < place.column) {
            let margin = " ".repeat(place.line.to_string().len());
            shown += &format!("{margin}--> {name}:{}:{}\n", place.line, place.column);
            if let Some(line) = text.lines().nth(place.line - 1) {
                let (line, before, marks) = excerpt(line, place);
                shown += &format!("{margin} |\n{} | {line}\n{margin} | {before}{marks}\n", place.line);
            }
        }
        if let Some(help) = help {
            shown += &format!("help: {}\n", cut(help));
        }
        shown
    }
}

/// Greatest number of characters of a name or value that is quoted in an error message.
pub const QUOTED_CHARACTERS_MAX: usize = 200;

/// Greatest number of characters of an error's message, and of its advice.
pub const MESSAGE_CHARACTERS_MAX: usize = 2_000;

/// Number of characters at the end of a message that are kept when the message is cut, because they often say
/// what to do.
const MESSAGE_END_CHARACTERS: usize = 400;

/// Returns the text of an error as it is shown. Quotations are cut at [`QUOTED_CHARACTERS_MAX`], the whole text at
/// [`MESSAGE_CHARACTERS_MAX`]; `…` marks each cut. Names and values come from users and may have megabytes, so all
/// errors pass through this function before they are shown.
pub fn cut(text: &str) -> Cow<'_, str> {
    // A character takes at least one byte. So a text with so few bytes has few enough characters and is not
    // cut.
    if text.len() <= QUOTED_CHARACTERS_MAX {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\'', '"']) {
        let mark = &rest[at..=at];
        let (before, behind) = rest.split_at(at + 1);
        short.push_str(before);
        let Some(end) = behind.find(mark) else {
            rest = behind;
            continue;
        };
        let (quoted, closed) = behind.split_at(end);
        match quoted.char_indices().nth(QUOTED_CHARACTERS_MAX) {
            Some((place, _)) => {
                short.push_str(&quoted[..place]);
                short.push('…');
                short.push_str(mark);
                rest = &closed[1..];
            }
            // The quotation has no closing mark. The opening mark may be an apostrophe in a word, so the
            // search for quotations continues right after it.
            None => rest = behind,
        }
    }
    short.push_str(rest);
    let count = short.chars().count();
    if count <= MESSAGE_CHARACTERS_MAX {
        return Cow::Owned(short);
    }
    let first = MESSAGE_CHARACTERS_MAX - MESSAGE_END_CHARACTERS - 1;
    let mut cut: String = short.chars().take(first).collect();
    cut.push('…');
    cut.extend(short.chars().skip(count - MESSAGE_END_CHARACTERS));
    Cow::Owned(cut)
}

/// Greatest number of characters shown of a line with a mistake.
const EXCERPT_CHARACTERS: usize = 80;

/// Number of characters shown before the place of a mistake, if the line continues after the place.
const EXCERPT_BEFORE: usize = 40;

/// Returns three texts: the part of a line around the marked characters, with `…` where the line is cut; the
/// blanks to print on the next line below the text before these characters; and the marks to print below
/// them.
fn excerpt(line: &str, place: Place) -> (String, String, String) {
    let count = line.chars().count();
    let column = (place.column - 1).min(count);
    // The excerpt of the line starts further left if the rest of the line is shorter than the excerpt.
    let start = column.saturating_sub(EXCERPT_BEFORE).min(count.saturating_sub(EXCERPT_CHARACTERS));
    let end = (start + EXCERPT_CHARACTERS).min(count);
    let (first, last) = (if start > 0 { "…" } else { "" }, if end < count { "…" } else { "" });
    let part: String = line.chars().skip(start).take(end - start).collect();
    let below = part.chars().take(column - start).map(|character| if character == '\t' { '\t' } else { ' ' });
    let before: String = first.chars().map(|_| ' ').chain(below).collect();
    let marks = "^".repeat(place.width.clamp(1, (end - column).max(1)));
    (format!("{first}{part}{last}"), before, marks)
}

/// Shows the error on one line, with its place in the text if it is known.
impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "line {}, column {}: ", place.line, place.column)?;
        }
        f.write_str(&cut(&self.message))?;
        if let Some(help) = &self.help {
            write!(f, "; {}", cut(help))?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_place() {
        let error = SqlError::new(Code::UnknownColumn, "there is no column `prise`")
            .at(Place { line: 2, column: 8, width: 5 })
            .help("did you mean `price`?");
        let expected = "UNKNOWN_COLUMN: there is no column `prise`\n \
                        --> q.sql:2:8\n  |\n2 | SELECT prise FROM t\n  |        ^^^^^\n\
                        help: did you mean `price`?\n";
        assert_eq!(error.show("q.sql", "-- a\nSELECT prise FROM t\n"), expected);
        assert_eq!(error.to_string(), "line 2, column 8: there is no column `prise`; did you mean `price`?");
    }

    /// A line of a megabyte is shown only around the place of the mistake.
    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let check = |column: usize, width: usize, expected: [&str; 2]| {
            let line: String = (0..1_000).map(|place| char::from(b'0' + (place / 10 % 10) as u8)).collect();
            let error = SqlError::new(Code::Syntax, "no").at(Place { line: 1, column, width });
            let shown = error.show("q", &line);
            let lines: Vec<&str> = shown.lines().skip(3).collect();
            assert_eq!(lines, expected, "{column}");
        };
        let digits = |from: usize, to: usize| -> String {
            (from..to).map(|place| char::from(b'0' + (place / 10 % 10) as u8)).collect()
        };
        check(1, 2, [&format!("1 | {}…", digits(0, 80)), "  | ^^"]);
        check(41, 1, [&format!("1 | {}…", digits(0, 80)), &format!("  | {}^", " ".repeat(40))]);
        check(
            501,
            900,
            [&format!("1 | …{}…", digits(460, 540)), &format!("  | {}{}", " ".repeat(41), "^".repeat(40))],
        );
        check(1_000, 1, [&format!("1 | …{}", digits(920, 1_000)), &format!("  | {}^", " ".repeat(80))]);
        // The place is behind the end of the line, where something is missing.
        check(1_001, 1, [&format!("1 | …{}", digits(920, 1_000)), &format!("  | {}^", " ".repeat(81))]);
    }

    /// A quoted name of a megabyte is cut, for each kind of quotation mark, and so is a list of 1,000 names.
    #[test]
    fn long_quotations_are_cut() {
        let long = "ä".repeat(1 << 20);
        for mark in ['`', '\'', '"'] {
            let text = format!("there's no column {mark}{long}{mark} here; did you mean {mark}b{mark}?");
            let expected = format!(
                "there's no column {mark}{}…{mark} here; did you mean {mark}b{mark}?",
                "ä".repeat(200)
            );
            // The apostrophe in the text opens a quotation of its own if the quotation marks are apostrophes,
            // so this case is left out.
            if mark != '\'' {
                assert_eq!(cut(&text), expected);
            }
            let error = SqlError::new(Code::Invalid, &text).help(&text);
            assert!(error.show("q", "").chars().count() < 2 * MESSAGE_CHARACTERS_MAX + 100);
            assert!(error.to_string().chars().count() < 2 * MESSAGE_CHARACTERS_MAX + 100);
        }
        let names: Vec<String> = (0..1_000).map(|name| format!("`c{name}`")).collect();
        let all = cut(&format!("there are {}, and no more", names.join(", "))).into_owned();
        assert_eq!(all.chars().count(), MESSAGE_CHARACTERS_MAX);
        assert!(all.starts_with("there are `c0`, ") && all.ends_with("`c999`, and no more"), "{all}");
        let exact = format!("`{}`", "x".repeat(QUOTED_CHARACTERS_MAX));
        assert_eq!(cut(&exact), exact);
    }

    /// A place on line 0 is not shown, because lines are counted from 1.
    #[test]
    fn no_place_is_shown_without_a_line() {
        let error = SqlError::new(Code::Invalid, "no").at(Place { line: 0, column: 0, width: 0 });
        assert_eq!(error.show("q", "SELECT 1"), "INVALID: no\n");
    }
}
