//! Processes that a supervisor of Storm starts: workers, and for each one a process that takes its output. The supervisor leaves
//! them running when it ends.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::super::processes;

/// Main class of the process that takes the output of a worker, whose command line follows its own.
const LOG_WRITER: &[u8] = b"org.apache.storm.LogWriter";

/// Ends the workers of the Storm in `directory`, and the processes that take their output.
///
/// # Errors
///
/// A process that does not end.
pub(super) fn end(directory: &Path) -> Result<()> {
    all(directory).into_iter().try_for_each(|(id, _)| processes::end(id, directory))
}

/// Returns the number of a worker's process; `None` if no worker of the Storm in `directory` runs.
pub(super) fn first(directory: &Path) -> Option<u32> {
    let is_real = |line: &[u8]| line.split(|byte| *byte == 0).all(|word| word != LOG_WRITER);
    all(directory).into_iter().find(|(_, line)| is_real(line)).map(|(id, _)| id)
}

/// Returns the number and the command line of each of these processes.
fn all(directory: &Path) -> Vec<(u32, Vec<u8>)> {
    let home = format!("-Dstorm.home={}", directory.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some((id, fs::read(entry.path().join("cmdline")).ok()?))
    });
    found.filter(|(_, line)| is_worker(line, &home)).collect()
}

/// Returns whether a command line, whose words end with a zero byte, is that of a worker or of a process that takes a worker's
/// output.
fn is_worker(line: &[u8], home: &str) -> bool {
    let mut words = line.split(|byte| *byte == 0);
    words.next().is_some_and(|program| program.ends_with(b"java"))
        && line.split(|byte| *byte == 0).any(|word| word == home.as_bytes())
        && words.any(|word| word.starts_with(b"-Dworker.port="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_told_from_others_that_name_their_home() {
        let home = "-Dstorm.home=/run/storm-2";
        let line = |words: &[&str]| words.join("\0").into_bytes();
        assert!(is_worker(&line(&["java", "-server", home, "-Dworker.port=5", "Worker"]), home));
        assert!(is_worker(&line(&["/jdk/bin/java", "LogWriter", home, "java", "-Dworker.port=5"]), home));
        for other in [
            &["java", home, "Nimbus"][..],
            &["java", "-Dstorm.home=/run/storm-20", "-Dworker.port=5"],
            &["less", home, "-Dworker.port=5"],
            &[],
        ] {
            assert!(!is_worker(&line(other), home), "{other:?}");
        }
    }
}
