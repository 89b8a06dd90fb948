//! Runs the program and reads the peak of its resident size.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time between two readings of the peak. The peak never falls, so a reading misses only the growth of the last moment.
const READING: Duration = Duration::from_millis(1);

/// An empty folder for one case, in which the program runs.
pub struct Folder(PathBuf);

/// How a run ended.
pub struct Outcome {
    pub peak_mib: u64,
    /// The exit code; 255 if a signal ended the program.
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

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs a command line to its end. Standard output is read and dropped.
    pub fn run(&self, line: &str) -> Outcome {
        let mut child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
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

/// The peak of the resident size so far; none if the program has ended.
fn resident_peak_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
