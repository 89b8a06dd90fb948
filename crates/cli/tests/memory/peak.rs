//! Runs the program and reads the peak of its resident size. The tests of `thalweg-bench` include this file;
//! [`PROGRAM`](crate::PROGRAM) is the program of the tests that include it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time between two readings of the peak of memory. The peak never falls, so only the growth after the last
/// reading is missed.
const READING: Duration = Duration::from_millis(1);

/// Memory in MiB that the program may hold in addition to its budget.
const BESIDE_MIB: u64 = 64;

/// Runs a command line and checks the peak of the resident size. `codes` are the allowed error codes. If there are none, the
/// run must succeed.
pub fn check_command(name: &str, folder: &Folder, budget_mib: u64, line: &str, codes: &[&str]) {
    let Outcome { peak_mib, code, stderr } = folder.run(line);
    let told = stderr.lines().last().unwrap_or_default();
    let told: String = told.chars().take(300).collect();
    println!("{name}: peak {peak_mib} MiB with a budget of {budget_mib} MiB, exit code {code}: {told}");
    assert!(
        peak_mib <= budget_mib + BESIDE_MIB,
        "{name}: the peak of {peak_mib} MiB is above the budget of {budget_mib} MiB and {BESIDE_MIB} MiB: {told}"
    );
    if code != 0 {
        let is_allowed = codes.iter().any(|code| stderr.contains(code));
        assert!(code == 1 && is_allowed, "{name}: exit code {code}, allowed are {codes:?}: {stderr}");
    }
}

/// An empty folder for one test, in which the tested program runs.
pub struct Folder(PathBuf);

/// The outcome of a run: its peak of memory, its exit code and its errors.
pub struct Outcome {
    pub peak_mib: u64,
    /// The exit code of the program; 255 if a signal ended it.
    pub code: i32,
    pub stderr: String,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs a command line to its end. Standard output is read and dropped.
    pub fn run(&self, line: &str) -> Outcome {
        let mut child = Command::new(crate::PROGRAM)
            .current_dir(&self.0)
            .args(line.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            told.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut peak_kib = 0;
        let status = loop {
            peak_kib = peak_kib.max(resident_peak_kib(&child).unwrap_or_default());
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(READING);
        };
        assert!(0 < peak_kib, "`{line}` ended before its size was read");
        Outcome {
            peak_mib: peak_kib.div_ceil(1024),
            code: status.code().unwrap_or(255),
            stderr: reader.join().unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the peak of the process's resident size so far; `None` if the process has ended.
fn resident_peak_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
