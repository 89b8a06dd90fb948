//! Output to the two standard streams. Neither may make a command panic. If the reader of standard output
//! leaves early (`thalweg bench ysb | head -1`), the command ends silently; text that cannot be written to
//! standard error is dropped.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// The error that the reader of standard output has closed it.
#[derive(Debug)]
pub struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed by its reader")
    }
}

impl std::error::Error for ReaderGone {}

/// Writes `text` to standard output and flushes it.
pub fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        written => written.context("standard output cannot be written"),
    }
}

/// Writes the text of an error to standard error, after `error: `.
pub fn error(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

/// Writes a line to standard error without a prefix such as `error: `.
pub fn aside(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes the text of a warning to standard error, after `warning: `.
pub fn warning(text: &str) {
    let _ = writeln!(io::stderr(), "warning: {text}");
}

/// Writes a note to standard error: information about a run without an error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}
