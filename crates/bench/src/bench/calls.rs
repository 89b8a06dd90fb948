//! The calls to the scheduling policy in a benchmark run, kept in a file, for [`replay`](crate::replay) to
//! repeat them.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use thalweg_cli::console;
use thalweg_scheduling::Trace;

/// Largest number of calls to a policy that are kept in a file: those of about one second of a busy
/// worker.
pub const CALLS_MAX: usize = 1 << 18;

/// Writes the recorded calls to a scheduling policy into `file`, which gets its name only when it is
/// complete. Prints how many calls there are.
pub fn write(trace: &Trace, file: &Path) -> Result<()> {
    let unfinished = PathBuf::from(format!("{}.inprogress", file.display()));
    let written = File::create(&unfinished)
        .map_err(Into::into)
        .and_then(|out| trace.write(&mut BufWriter::new(out)))
        .and_then(|()| Ok(fs::rename(&unfinished, file)?));
    written.with_context(|| format!("--trace: {} cannot be written", file.display()))?;
    let (calls, path) = (trace.len(), file.display());
    let beyond = match trace.left_out() {
        0 => String::new(),
        left_out => format!(", {left_out} more were left out"),
    };
    console::note(&format!("wrote {path}: {calls} calls to {}{beyond}", trace.policy()));
    Ok(())
}
