//! Splits one line into fields, by csv-core's rules of quotes. No allocation per line.
//!
//! All lines take the same path. Cutting lines without quotes at their commas by hand was measured at 1,330 instead
//! of 1,000 MB/s for taxi trips, and 460 instead of 405 for the short fields of Linear Road (`benches/csv_split.rs`).
//! That gain does not justify a second set of rules.

use std::str;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::bad::Defect;
use super::lines::LINE_BYTES_MAX;
use super::row::Row;

/// Splitter of lines with a fixed number of columns.
pub(super) struct Splitter {
    columns: &'static [&'static str],
    reader: Reader,
    /// The fields of the last line, concatenated, without quotes and commas.
    text: Box<[u8]>,
    /// End of each field in `text`. There is one entry more than there are columns, to detect a line with too
    /// many fields.
    ends: Box<[usize]>,
}

impl Splitter {
    pub(super) fn new(columns: &'static [&'static str]) -> Self {
        // The terminator of csv-core is set to `\n` alone, since lines come without their ends and a `\r`
        // inside a line is data.
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        let ends = vec![0; columns.len() + 1].into();
        let mut splitter = Splitter { columns, reader, text: Box::default(), ends };
        splitter.expect_line();
        splitter
    }

    /// Cuts a line into fields.
    ///
    /// # Errors
    /// If the line is not UTF-8, leaves a quote open, or has another number of fields than there are columns. An
    /// empty line has none.
    #[inline]
    pub(super) fn split(&mut self, line: &[u8]) -> Result<Row<'_>, Defect> {
        if let Err(error) = str::from_utf8(line) {
            return Err(Defect::NotUtf8 { after_bytes: error.valid_up_to() });
        }
        // The output buffer has one byte more than needed, because csv-core stops when its output is
        // completely full.
        if self.text.len() <= line.len() {
            self.text = vec![0; (line.len() + 1).next_power_of_two().min(LINE_BYTES_MAX + 1)].into();
        }
        let (text_bytes, found) = self.unquote(line)?;
        let wanted = self.columns.len();
        if found < wanted {
            return Err(Defect::Short { found, wanted });
        }
        if wanted < found {
            return Err(Defect::Long { wanted });
        }
        let text = str::from_utf8(&self.text[..text_bytes]).expect("UTF-8 cut at ASCII is UTF-8");
        Ok(Row { text, ends: &self.ends[..wanted], columns: self.columns })
    }

    /// Writes the fields of a line to `text` and `ends`. Returns the number of bytes and of fields found, as
    /// far as `ends` has room.
    #[inline]
    fn unquote(&mut self, line: &[u8]) -> Result<(usize, usize), Defect> {
        if line.is_empty() {
            return Ok((0, 0));
        }
        let (_, _, text_bytes, found) = self.reader.read_record(line, &mut self.text, &mut self.ends);
        if found == self.ends.len() {
            self.expect_line();
            return Ok((text_bytes, found));
        }
        let (result, _, _, found_last) =
            self.reader.read_record(b"\n", &mut self.text[text_bytes..], &mut self.ends[found..]);
        match result {
            ReadRecordResult::Record => Ok((text_bytes, found + found_last)),
            // csv-core expects more input, which means that the line ended within quotes.
            _ => {
                self.expect_line();
                Err(Defect::QuoteLeftOpen)
            }
        }
    }

    /// Resets the csv-core reader to the start of a line. At the start of a file it would drop a byte order
    /// mark.
    #[cold]
    fn expect_line(&mut self) {
        self.reader.reset();
        let _ = self.reader.read_record(b"\n", &mut [0], &mut [0]);
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests;
