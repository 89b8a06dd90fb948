//! One line of a CSV file as fields. The caller's function turns it into a record, or refuses it as bad.

use std::fmt;

/// The fields of one line, unquoted; there are exactly as many as columns.
///
/// Columns are counted from 0 and known to the caller. So a column that does not exist is an error of the caller, not
/// of the file: all methods panic on it.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The fields of the line, one behind the other as one text without commas.
    pub(super) text: &'a str,
    /// For each field of the line, the offset at which the field ends in `text`.
    pub(super) ends: &'a [usize],
    pub(super) columns: &'static [&'static str],
}

impl<'a> Row<'a> {
    /// Returns a field as it is in the file, spaces included; it may be empty.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    pub fn text(&self, column: usize) -> &'a str {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.text[start..self.ends[column]]
    }

    /// Returns a field as a finite double.
    ///
    /// # Errors
    /// If it is not a number, or not finite: `NaN`, `inf`, and numbers that round to infinity.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    pub fn f64(&self, column: usize) -> Result<f64, RowError> {
        match self.text(column).parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.unfit(column, "a finite number")),
        }
    }

    /// Returns a field as a whole number of 64 bits.
    ///
    /// # Errors
    /// If it is not a whole number, or outside `i64::MIN..=i64::MAX`.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    pub fn i64(&self, column: usize) -> Result<i64, RowError> {
        self.text(column).parse().map_err(|_| self.unfit(column, "a whole number of 64 bits"))
    }

    /// Creates the error for a field that breaks a rule of the caller's function.
    ///
    /// # Panics
    /// If there is no such column.
    #[cold]
    pub fn refuse(&self, column: usize, reason: impl Into<String>) -> RowError {
        RowError { field: self.columns[column], reason: reason.into() }
    }

    #[cold]
    fn unfit(&self, column: usize, wanted: &str) -> RowError {
        self.refuse(column, format!("{} is not {wanted}", Shown(self.text(column))))
    }
}

/// The reason why a line does not make a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowError {
    /// Name of the column whose field is wrong.
    pub field: &'static str,
    /// Description of the field's defect, with the value, the bound and the unit.
    pub reason: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {}: {}", self.field, self.reason)
    }
}

impl std::error::Error for RowError {}

/// A text from a file for an error message: quoted, escaped, and shortened.
pub(super) struct Shown<'a>(pub &'a str);

impl Shown<'_> {
    const CHARS_MAX: usize = 60;
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(Self::CHARS_MAX) {
            None => write!(f, "`{}`", self.0.escape_debug()),
            Some((cut, _)) => write!(f, "`{}`...", self.0[..cut].escape_debug()),
        }
    }
}
