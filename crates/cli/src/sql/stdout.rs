//! Standard output as a target of rows, and the end of a job whose reader closes it early.
//!
//! `thalweg run q.sql | head -1` ends without a message, as the other commands do, because the reader has all
//! the rows it wanted. The exit code 141 says that not all rows were taken. This holds for a job all of whose
//! rows go to standard output. A job that also writes elsewhere has failed, and reports that.

use std::io::{self, ErrorKind, IsTerminal, Write};

use thalweg_memory::sync::{Arc, AtomicBool, Ordering};
use thalweg_sql::connect::{StandardStream, check_sink};
use thalweg_sql::session::Job;
use thalweg_sql::table::Table;

/// A writer to standard output, for sinks.
pub struct Stdout(Gone);

/// A flag which says that the reader of standard output has closed it. Relaxed access suffices: the sink that
/// notices it fails, and the flag is read only after the job of that sink has ended.
#[derive(Clone, Default)]
pub struct Gone(Arc<AtomicBool>);

impl Gone {
    /// Returns a writer to standard output that sets the flag when its reader has closed it.
    pub fn stdout(&self) -> Stdout {
        Stdout(self.clone())
    }

    /// Returns whether the error of a job only means that the reader has closed standard output.
    pub fn is_all(&self, job: &Job, code: &str) -> bool {
        let is_there =
            |table: &Option<Arc<Table>>| stream_of(table.as_deref()) == Some(StandardStream::Output);
        code == "SINK_CLOSED"
            && self.0.load(Ordering::Relaxed)
            && job.parts.iter().all(|part| is_there(&part.into))
    }

    fn note<T>(&self, written: io::Result<T>) -> io::Result<T> {
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            self.0.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.note(io::stdout().write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.note(io::stdout().write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.note(io::stdout().flush())
    }
}

/// Returns the standard stream to which rows for `table` are written, if they are written to one. Without a table,
/// rows are shown on standard output.
fn stream_of(table: Option<&Table>) -> Option<StandardStream> {
    match table {
        None => Some(StandardStream::Output),
        Some(table) => check_sink(table).ok()?.stream,
    }
}

/// Returns whether rows of a job go to a terminal, where a line of progress would stand among them.
pub fn shows_rows_on_terminal(job: &Job) -> bool {
    job.parts.iter().any(|part| match stream_of(part.into.as_deref()) {
        Some(StandardStream::Output) => io::stdout().is_terminal(),
        Some(StandardStream::Error) => io::stderr().is_terminal(),
        Some(StandardStream::Input) | None => false,
    })
}
