//! The two streams that people and programs read. Neither may make a command panic: a reader of standard output
//! who leaves early (`thalweg bench ysb | head -1`) ends the command in silence, and what cannot be written to
//! standard error is not missed.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Whoever read standard output has gone.
#[derive(Debug)]
pub struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed by its reader")
    }
}

impl std::error::Error for ReaderGone {}

/// Writes `text` to standard output, now.
pub fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        written => written.context("standard output cannot be written"),
    }
}

/// Writes what went wrong to standard error.
pub fn error(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

/// Writes a line to standard error as it is.
pub fn aside(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes what people should know, though nothing went wrong, to standard error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}
