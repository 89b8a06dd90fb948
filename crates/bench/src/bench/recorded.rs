//! Recorded input: a file of lines, read once by the engine and once more, afterwards, for the reference.
//!
//! Promise: the reference gets the lines of data that the run has read, in their order: all of them, or the
//! first ones if the run was interrupted. A line that breaks a rule of the CSV dialect is `None` there, so
//! that the numbers of the other lines do not change. The reference's lines are made by `plain_lines.rs`,
//! which shares no code with the source.
//!
//! Bounds: the memory of the reference is estimated from the text, its lines and the results, and reserved in
//! the memory budget of the run while the text is read. The queries have ended by then, so nearly all of the
//! budget is free. If the reference does not fit, a note says so, and the run is checked for lost records
//! only. A file that changes between the two readings makes the check fail, and the message does not name
//! this cause.
//!
//! ```text
//!   estimate = TEXT_COPIES * bytes of text + LINE_BYTES * lines + RESULT_BYTES * results
//! ```
//!
//! Every workload with `--input` uses [`Recorded`]: `nyt`, `lrb`, `lrb-full` and `netmon` read rows,
//! `lines.rs` reads lines without columns. Tests: `tests/bench/bad_lines.rs` for each `--on-bad`,
//! `tests/bench/hostile_lines.rs` for the agreement of both readings, `tests/bench/recorded.rs` for real data.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use thalweg::{Engine, QueryReport, Record};
use thalweg_cli::{console, failure};
use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, RealDisk, Row, RowError, TextSource};
use thalweg_memory::{BudgetExceeded, Reservation};

use super::args::BenchArgs;
use super::drive::Driven;
use super::files;
use super::plain_lines::{LINE_BYTES_MAX, plain_lines, raw_lines};
use super::report::{Checked, Figures};
use crate::values::OnBadOption;

/// Number of copies of the text by which the memory of a reference is estimated: the buffer that holds the
/// text is up to twice as long as the text, and some references convert it to a text of their own.
const TEXT_COPIES: usize = 3;

/// Bytes that a reference needs for each line besides its text: places of the line in lists, and the row of numbers
/// that it becomes. The full rules of Linear Road need the most: 60 bytes for a row, in a list that grows and is
/// sorted.
const LINE_BYTES: usize = 192;

/// Bytes of each result: the row that was found and the row that is expected, with their keys.
const RESULT_BYTES: usize = 128;

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

    /// Returns the figures of a run that has read this input. `wrong` returns the first difference of its results
    /// from the `answer` of the reference. Without an answer, the run is only checked for lost records.
    pub fn figures<A>(
        &self,
        args: &BenchArgs,
        driven: &Driven,
        answer: Option<A>,
        wrong: impl Fn(&A, &QueryReport) -> Option<String>,
    ) -> Figures {
        let checked = answer.map_or_else(Checked::by_conservation, |answer| {
            Checked::by_reference(driven.first_wrong(|_, report| wrong(&answer, report)))
        });
        let diverted = self.diverted(driven);
        Figures { diverted, ..Figures::of_engine(args, driven, None, checked) }
    }

    /// Calls `use_lines` with the lines that a run on `engine` has read, as fields separated by commas,
    /// without quotes. A line that breaks a rule of the CSV dialect is `None`. Returns `None` if the
    /// reference does not fit into what the engine's memory budget has left.
    pub fn with_lines<A>(
        &self,
        engine: &Engine,
        driven: &Driven,
        use_lines: impl FnOnce(&mut dyn Iterator<Item = Option<String>>) -> A,
    ) -> Result<Option<A>> {
        let text = PaidText::of(self.path, engine, results_of(driven))?;
        let header = self.layout.header;
        Ok(text.map(|text| use_lines(&mut plain_lines(&text.bytes, header, lines_max(driven)))))
    }

    /// Calls `use_lines` with the unchanged lines, without columns, that a run on `engine` has read. A line that
    /// is not text or is too long is `None`. Returns `None` if the reference does not fit into what the
    /// engine's memory budget has left.
    pub fn with_raw_lines<A>(
        &self,
        engine: &Engine,
        driven: &Driven,
        use_lines: impl FnOnce(&[Option<&str>]) -> A,
    ) -> Result<Option<A>> {
        let text = PaidText::of(self.path, engine, results_of(driven))?;
        Ok(text.map(|text| use_lines(&raw_lines(&text.bytes, lines_max(driven)))))
    }
}

/// Returns the number of results of a run. If the results are right, the reference has no more rows than
/// this.
fn results_of(driven: &Driven) -> usize {
    let results = driven.total(|report| report.results_out);
    usize::try_from(results).unwrap_or(usize::MAX)
}

/// Returns the number of lines that a run has read if it was interrupted, else `u64::MAX`, for all lines.
fn lines_max(driven: &Driven) -> u64 {
    let read = || driven.total(|report| report.events_in + report.bad);
    if driven.is_interrupted { read() } else { u64::MAX }
}

/// The text of a file for the reference, with the reservation of its memory in the budget of a run.
pub struct PaidText {
    /// The lines of the file, decompressed.
    pub bytes: Vec<u8>,
    /// Reservation of the memory that the reference needs, by estimate.
    _paid: Reservation,
}

impl PaidText {
    /// Reads a file, and decompresses it if its name ends in `.gz`. A line longer than the CSV dialect allows
    /// is cut one byte after the greatest length, since it is bad in any case and may be larger than memory.
    ///
    /// Returns `None` if the reference of this text, with so many results, does not fit into what the
    /// engine's memory budget has left. Reading stops where the budget is exhausted, and a note on the
    /// terminal tells the reason.
    pub fn of(path: &Path, engine: &Engine, results: usize) -> Result<Option<Self>> {
        let mut paid = engine.budget().reserve(0).context("nothing always fits")?;
        let read = files::opened(path).and_then(|file| {
            bounded_lines(file, |text_bytes, lines| paid.resize(need_bytes(text_bytes, lines, results)))
        });
        let read = read.with_context(|| format!("{} cannot be read for the reference", path.display()))?;
        match read {
            Ok(bytes) => Ok(Some(PaidText { bytes, _paid: paid })),
            Err(exceeded) => {
                console::note(&too_large(path, exceeded));
                Ok(None)
            }
        }
    }
}

/// Returns the bytes that the reference of a recorded file needs, by estimate.
fn need_bytes(text_bytes: usize, lines: usize, results: usize) -> usize {
    let of_text = text_bytes.saturating_mul(TEXT_COPIES);
    let of_lines = lines.saturating_mul(LINE_BYTES);
    of_text.saturating_add(of_lines).saturating_add(results.saturating_mul(RESULT_BYTES))
}

/// Returns the note for a reference that does not fit into the memory budget.
fn too_large(path: &Path, exceeded: BudgetExceeded) -> String {
    let (path, limit_mib) = (path.display(), exceeded.limit_bytes >> 20);
    format!(
        "the reference of {path} needs more memory than the budget of {limit_mib} MiB has left, so this run is checked for lost records only; raise --memory-budget"
    )
}

/// Reads all lines of a file, each cut after the first byte beyond the greatest length. `pay` reserves memory
/// for the number of bytes and of lines given to it. It is called before the first and each further piece is
/// read, with the numbers so far; its error ends the reading.
fn bounded_lines<E>(
    mut file: impl Read,
    mut pay: impl FnMut(usize, usize) -> Result<(), E>,
) -> io::Result<Result<Vec<u8>, E>> {
    let (mut bytes, mut piece, mut line_start, mut lines) = (Vec::new(), vec![0; 64 << 10], 0, 0);
    loop {
        // The last line may lack its `\n`, so one line more is counted.
        if let Err(error) = pay(bytes.len(), lines + 1) {
            return Ok(Err(error));
        }
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(Ok(bytes)),
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
                lines += 1;
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
            let free = |_, _| Ok::<(), ()>(());
            let read = bounded_lines(Slowly(file.as_bytes()), free).unwrap().unwrap();
            assert!(read == expected.as_bytes(), "{} bytes", read.len());
        };
        check("", "");
        check("a\n\nb\r\nc", "a\n\nb\r\nc");
        check(&format!("a\n{long}\nb"), &format!("a\n{long}\nb"));
        check(&format!("a\n{long}{long}\nb"), &format!("a\n{long}\nb"));
        check(&format!("{long}y"), &long);
    }

    /// Text and lines are paid as they are read, and reading ends where they cannot be paid.
    #[test]
    fn lines_are_paid_as_they_are_read() {
        let mut paid = Vec::new();
        let pay = |text_bytes, lines| {
            paid.push((text_bytes, lines));
            if text_bytes < 14 { Ok(()) } else { Err("too much") }
        };
        let read = bounded_lines(Slowly(b"one\ntwo\nthree\nfour\n"), pay).unwrap();
        assert_eq!(read, Err("too much"));
        assert_eq!(paid, [(0, 1), (7, 2), (14, 4)]);
    }

    #[test]
    fn the_need_of_a_reference_is_estimated() {
        assert_eq!(need_bytes(0, 0, 0), 0);
        assert_eq!(need_bytes(1_000, 10, 5), 3_000 + 1_920 + 640);
        assert_eq!(need_bytes(usize::MAX, 1, 1), usize::MAX);
    }
}
