//! The memory of the program as the system sees it: `thalweg bench` holds at most the memory budget and 64 MiB, or refuses what
//! does not fit with a stable code. `cargo xtask deep memory` runs this, too.

// This module is shared with the tests of `thalweg`: the peak of memory is read in the same way for both
// programs.
#[path = "../../../cli/tests/memory/peak.rs"]
mod peak;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use peak::{Folder, check_command};

/// Path of the program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_thalweg-bench");

#[test]
#[ignore = "slow: cargo xtask deep memory"]
fn a_line_of_a_gibibyte() {
    let folder = Folder::new("line");
    long_line(&folder.path("x.gz"), 1 << 30);
    check_command(
        "line",
        &folder,
        64,
        "bench wordcount --input x.gz --memory-budget 64MiB",
        &["LINE_TOO_LONG"],
    );
}

/// Writes a compressed file with one line of `bytes` bytes.
fn long_line(path: &Path, bytes: usize) {
    let mut file = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..bytes >> 20 {
        file.write_all(&piece).unwrap();
    }
    file.write_all(b"\n").unwrap();
    file.finish().unwrap();
}
