//! What is wrong with a piece of SQL, and where: a stable code, a message, a place in the text and a way out.
//!
//! Codes are shared by the command line, tests and documentation; [`Code`] lists them.

use std::borrow::Cow;
use std::fmt;

use crate::secrets::{masked_message, masked_text};

/// What kind of mistake it is. The names are stable: scripts may look for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// The text is no SQL.
    Syntax,
    /// A table or view that there is not.
    UnknownTable,
    /// A column that there is not.
    UnknownColumn,
    /// A function that there is not.
    UnknownFunction,
    /// A connector or format that there is not, or an option that it does not have.
    UnknownOption,
    /// Values of these types do not go together.
    TypeMismatch,
    /// It is SQL of Flink's, but we do not run it.
    Unsupported,
    /// What is to be remembered would grow without bound.
    UnboundedState,
    /// It is understood, and makes no sense; a column that several tables have, too.
    Invalid,
}

impl Code {
    /// The stable name, such as `UNKNOWN_COLUMN`.
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
            Code::Invalid => "INVALID",
        }
    }
}

/// A place in a text: a line and a column, both from 1 on, the column in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
    /// How many characters are meant, at least one; they end with the line.
    pub width: usize,
}

/// Why a text cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    /// What kind of mistake it is.
    pub code: Code,
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
    /// Where, if that is known.
    pub place: Option<Place>,
    /// What to do about it.
    pub help: Option<String>,
}

impl SqlError {
    /// A mistake without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        SqlError { code, message: message.into(), place: None, help: None }
    }

    /// The same, at a place; one that is known already is kept, since it is nearer.
    #[must_use]
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Self {
        self.place = self.place.or(place.into());
        self
    }

    /// The same, with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.get_or_insert(help.into());
        self
    }

    /// Returns this error without the values of secret options of `text`, which it is about.
    #[must_use]
    pub fn masked(&self, text: &str) -> Self {
        let masked = |told: &String| masked_message(told, text);
        SqlError { message: masked(&self.message), help: self.help.as_ref().map(masked), ..self.clone() }
    }

    /// The error as people read it: message, the line of `text` with the place marked, advice. `name` is what the text is
    /// called, such as a file's path.
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

/// The most characters of a name or value that an error quotes.
pub const QUOTED_CHARACTERS_MAX: usize = 200;

/// The most characters of the message of an error, and of its advice.
pub const MESSAGE_CHARACTERS_MAX: usize = 2_000;

/// How many of the last characters stay when a message is cut: they often say what to do.
const MESSAGE_END_CHARACTERS: usize = 400;

/// Returns the text of an error as it is shown: what it quotes is cut at [`QUOTED_CHARACTERS_MAX`], the whole at
/// [`MESSAGE_CHARACTERS_MAX`], and `…` stands where something is left out. Names and values come from users and may have
/// megabytes, so all errors pass here on their way out.
pub fn cut(text: &str) -> Cow<'_, str> {
    // Fewer bytes than this are fewer characters, too.
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
            // A mark may be an apostrophe, and what follows a quotation of its own.
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

/// How many characters of a line are shown at most.
const EXCERPT_CHARACTERS: usize = 80;

/// How many of them stand before the place, if the line goes on behind it.
const EXCERPT_BEFORE: usize = 40;

/// What is shown of a line: the part of it around the place, with `…` where something is left out, what stands below up to
/// the place, and the marks.
fn excerpt(line: &str, place: Place) -> (String, String, String) {
    let count = line.chars().count();
    let column = (place.column - 1).min(count);
    // As far to the left as is needed to show what is behind the place.
    let start = column.saturating_sub(EXCERPT_BEFORE).min(count.saturating_sub(EXCERPT_CHARACTERS));
    let end = (start + EXCERPT_CHARACTERS).min(count);
    let (first, last) = (if start > 0 { "…" } else { "" }, if end < count { "…" } else { "" });
    let part: String = line.chars().skip(start).take(end - start).collect();
    let below = part.chars().take(column - start).map(|character| if character == '\t' { '\t' } else { ' ' });
    let before: String = first.chars().map(|_| ' ').chain(below).collect();
    let marks = "^".repeat(place.width.clamp(1, (end - column).max(1)));
    (format!("{first}{part}{last}"), before, marks)
}

/// On one line, with the place if it is known.
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

/// The one of `known` that is most like `name`, if any is like it: at most a third of its letters differ, whatever their
/// case. Names of more than [`QUOTED_CHARACTERS_MAX`] characters are like none: comparing them would take long.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let most = (length / 3).max(1);
    if QUOTED_CHARACTERS_MAX < length {
        return None;
    }
    known
        .into_iter()
        // There may be thousands of names, and a distance costs the product of both lengths.
        .filter(|other| other.chars().count().abs_diff(length) <= most)
        .map(|other| (edit_distance(&lower, &other.to_lowercase()), other))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, nearest)| nearest)
}

/// How many characters are to be put in, taken out, changed or swapped with their neighbour to make one text of the other.
///
/// Source: Damerau, "A technique for computer detection and correction of spelling errors", CACM 7(3), 1964, in the form
/// that does not change what it has swapped.
fn edit_distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let changed = rows[i][j] + usize::from(l != r);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

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

    /// A line of a megabyte is shown around the place.
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
        // Behind the end, as where something is missing.
        check(1_001, 1, [&format!("1 | …{}", digits(920, 1_000)), &format!("  | {}^", " ".repeat(81))]);
    }

    /// A name of a megabyte is not echoed, in whatever quotes it stands, and neither is a list of a thousand names.
    #[test]
    fn long_quotations_are_cut() {
        let long = "ä".repeat(1 << 20);
        for mark in ['`', '\'', '"'] {
            let text = format!("there's no column {mark}{long}{mark} here; did you mean {mark}b{mark}?");
            let expected = format!(
                "there's no column {mark}{}…{mark} here; did you mean {mark}b{mark}?",
                "ä".repeat(200)
            );
            // The apostrophe opens a quotation where the marks are apostrophes, too.
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
        assert_eq!(nearest(&long, [&*long]), None);
    }

    /// A place that is not known is not shown.
    #[test]
    fn no_place_is_shown_without_a_line() {
        let error = SqlError::new(Code::Invalid, "no").at(Place { line: 0, column: 0, width: 0 });
        assert_eq!(error.show("q", "SELECT 1"), "INVALID: no\n");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["price", "item", "bidtime", "sum"];
        let check = |name, expected| assert_eq!(nearest(name, known), expected, "{name}");
        check("PRICE", Some("price"));
        check("prcie", Some("price"));
        check("bid_time", Some("bidtime"));
        check("smu", Some("sum"));
        check("supplier", None);
        check("iteem", Some("item"));
        check("", None);
    }
}
