//! What is wrong with a piece of SQL, and where: a stable code, a message, a place in the text and a way out.
//!
//! Codes are shared by the command line, tests and documentation; [`Code`] lists them.

use std::fmt;

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

    /// The error as people read it: message, the line of `text` with the place marked, advice. `name` is what the text is
    /// called, such as a file's path.
    pub fn show(&self, name: &str, text: &str) -> String {
        let mut shown = format!("{}: {}\n", self.code.name(), self.message);
        if let Some(place) = self.place {
            let margin = " ".repeat(place.line.to_string().len());
            shown += &format!("{margin}--> {name}:{}:{}\n", place.line, place.column);
            if let Some(line) = text.lines().nth(place.line - 1) {
                let (line, before, marks) = excerpt(line, place);
                shown += &format!("{margin} |\n{} | {line}\n{margin} | {before}{marks}\n", place.line);
            }
        }
        if let Some(help) = &self.help {
            shown += &format!("help: {help}\n");
        }
        shown
    }
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
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

/// The one of `known` that is most like `name`, if any is like it: at most a third of its letters differ, whatever their
/// case.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let most = (length / 3).max(1);
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
