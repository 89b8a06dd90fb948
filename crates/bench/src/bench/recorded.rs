//! Recorded input: a file of lines, read once by the engine and once more, afterwards, for the reference.
//!
//! Promise: the reference gets the lines of data that the run has read, in their order: all of them, or the
//! first ones if the run was interrupted. A line that breaks a rule of the dialect is `None` there, so that
//! the numbers of the other lines do not change. The reference's lines are made by `plain_lines.rs`, which
//! shares no code with the source.
//!
//! Bounds: the second reading holds the whole file in memory, decompressed, which the engine's budget does
//! not count. Only the length of a line is bounded. A file that changes between the two readings makes the
//! check fail; nothing looks for the cause.
//!
//! Every workload with `--input` uses [`Recorded`]: `nyt`, `lrb`, `lrb-full` and `netmon` read rows,
//! `lines.rs` reads lines without columns. Tests: `tests/bench/bad_lines.rs` for each `--on-bad`,
//! `tests/bench/hostile_lines.rs` for the agreement of both readings, `tests/bench/recorded.rs` for real data.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use thalweg::Record;
use thalweg_cli::failure;
use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, RealDisk, Row, RowError, TextSource};

use super::args::BenchArgs;
use super::drive::Driven;
use super::files;
use super::plain_lines::{LINE_BYTES_MAX, plain_lines, raw_lines};
use crate::values::OnBadOption;

/// Converts a row of a recorded file to a record.
pub type Parse<T> = fn(&Row<'_>) -> Result<Record<T>, RowError>;

/// Converts a recorded line without columns, given its number and text. Returns its event time and the
/// part of the line that is a record.
pub type KeepPart = fn(u64, &str) -> Result<Record<Range<usize>>, RowError>;

/// The columns of a recorded file, and whether it has a header.
pub struct Layout {
    pub columns: &'static [&'static str],
    pub header: Header,
}

/// The recorded input file of a run.
pub struct Recorded<'a> {
    path: &'a Path,
    layout: Layout,
    on_bad: OnBad,
}

impl<'a> Recorded<'a> {
    /// Describes the input file at `path`, for a run that writes the files `results`. Creates the folder
    /// of the results, but opens nothing.
    pub fn new(args: &BenchArgs, path: &'a Path, layout: Layout, results: &[String]) -> Result<Self> {
        let on_bad = match &args.on_bad {
            Some(OnBadOption::Fail) => OnBad::Fail,
            Some(OnBadOption::Skip) => OnBad::Skip,
            Some(OnBadOption::Divert(path)) => OnBad::Divert(path.clone()),
            None => {
                let name = format!("{}.bad.csv", args.workload().facts().name);
                OnBad::Divert(args.results_file(&name)?.unwrap_or_else(|| PathBuf::from(&name)))
            }
        };
        let diverted = if let OnBad::Divert(path) = &on_bad { Some(path.as_path()) } else { None };
        files::refuse_one_for_two(args, results, diverted)?;
        Ok(Recorded { path, layout, on_bad })
    }

    /// Describes an input file at `path` whose lines have no columns, in the same way as
    /// [`Recorded::new`].
    pub fn lines(args: &BenchArgs, path: &'a Path, results: &[String]) -> Result<Self> {
        Recorded::new(args, path, Layout { columns: &[], header: Header::None }, results)
    }

    /// Opens the recorded file as a source of rows for the engine.
    pub fn open<T>(&self, parse: Parse<T>) -> Result<CsvSource<T, Parse<T>>>
    where
        T: Send + 'static,
    {
        let Layout { columns, header } = self.layout;
        let options = CsvOptions { path: self.path.to_owned(), columns, header, on_bad: self.on_bad.clone() };
        CsvSource::open(options, Arc::new(RealDisk), parse).map_err(|error| failure::of_connector(&error))
    }

    /// Opens the recorded file as a source of lines without columns for the engine.
    pub fn open_lines(&self, parse: KeepPart) -> Result<TextSource<KeepPart>> {
        let source = TextSource::open(self.path.to_owned(), self.on_bad.clone(), Arc::new(RealDisk), parse);
        source.map_err(|error| failure::of_connector(&error))
    }

    /// Returns the file to which bad lines were diverted, if there were any.
    pub fn diverted(&self, driven: &Driven) -> Option<PathBuf> {
        match &self.on_bad {
            OnBad::Divert(path) if driven.total(|report| report.bad) > 0 => Some(path.clone()),
            _ => None,
        }
    }

    /// Calls `use_lines` with the lines in plain form that a run has read. A line that breaks a rule of the
    /// dialect is `None`.
    pub fn with_lines<A>(
        &self,
        driven: &Driven,
        use_lines: impl FnOnce(&mut dyn Iterator<Item = Option<String>>) -> A,
    ) -> Result<A> {
        let bytes = bytes_of(self.path)?;
        Ok(use_lines(&mut plain_lines(&bytes, self.layout.header, lines_max(driven))))
    }

    /// Calls `use_lines` with the unchanged lines, without columns, that a run has read. A line that is not
    /// text or is too long is `None`.
    pub fn with_raw_lines<A>(
        &self,
        driven: &Driven,
        use_lines: impl FnOnce(&[Option<&str>]) -> A,
    ) -> Result<A> {
        let bytes = bytes_of(self.path)?;
        Ok(use_lines(&raw_lines(&bytes, lines_max(driven))))
    }
}

/// Returns the number of lines that a run has read if it was interrupted, else the greatest number.
fn lines_max(driven: &Driven) -> u64 {
    let read = || driven.total(|report| report.events_in + report.bad);
    if driven.is_interrupted { read() } else { u64::MAX }
}

/// Reads a file, and decompresses it if its name ends in `.gz`. A line longer than the CSV dialect allows
/// is cut one byte behind the greatest length, since it is bad in any case and may be larger than memory.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let read = File::open(path).and_then(|file| {
        if is_gzip { bounded_lines(MultiGzDecoder::new(file)) } else { bounded_lines(file) }
    });
    read.with_context(|| format!("{} cannot be read for the reference", path.display()))
}

/// Reads all lines of a file, each cut after the first byte beyond the greatest length.
fn bounded_lines(mut file: impl Read) -> io::Result<Vec<u8>> {
    let (mut bytes, mut piece, mut line_start) = (Vec::new(), vec![0; 64 << 10], 0);
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
            let (text, end) = match part.strip_suffix(b"\n") {
                Some(text) => (text, &part[text.len()..]),
                None => (part, &[][..]),
            };
            let left = (LINE_BYTES_MAX + 1).saturating_sub(bytes.len() - line_start);
            bytes.extend_from_slice(&text[..text.len().min(left)]);
            bytes.extend_from_slice(end);
            if !end.is_empty() {
                line_start = bytes.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader for tests that returns at most seven bytes at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(7);
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn lines_that_are_too_long_are_cut_and_others_are_not() {
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        let check = |file: &str, expected: &str| {
            let read = bounded_lines(Slowly(file.as_bytes())).unwrap();
            assert!(read == expected.as_bytes(), "{} bytes", read.len());
        };
        check("", "");
        check("a\n\nb\r\nc", "a\n\nb\r\nc");
        check(&format!("a\n{long}\nb"), &format!("a\n{long}\nb"));
        check(&format!("a\n{long}{long}\nb"), &format!("a\n{long}\nb"));
        check(&format!("{long}y"), &long);
    }
}
