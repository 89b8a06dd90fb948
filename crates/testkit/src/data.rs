//! Recorded data: in the folder `THALWEG_DATA`, or in `shared/data` beside the workspace.
//!
//! The files are not in the repository. On a developer's machine a test without them says so and passes. In CI,
//! where a skipped test would not be noticed, it fails.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// File of recorded taxi trips of January 2013, which begins with a header line.
pub const TAXI_TRIPS: &str = "nyc_taxi/tlc_trip_data_2013_01_part1.csv.gz";

/// Returns the path of the recorded file of the given name, below the folder that `THALWEG_DATA` names or
/// else `shared/data`; `None` if it does not exist.
///
/// # Panics
/// Under CI, if it does not exist.
pub fn recorded(name: &str) -> Option<PathBuf> {
    let path = folder().join(name);
    if path.is_file() {
        return Some(path);
    }
    let told =
        format!("no data: {} is not there; set THALWEG_DATA to the folder of recorded data", path.display());
    assert!(std::env::var_os("CI").is_none(), "{told}");
    println!("skipped: {told}");
    None
}

/// Returns the text of a gzip file.
///
/// # Panics
/// If the file cannot be read, is damaged, or is not text.
pub fn unzipped_text(path: &Path) -> String {
    let packed = fs::read(path).unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()));
    let mut text = String::new();
    let outcome = MultiGzDecoder::new(&packed[..]).read_to_string(&mut text);
    outcome.unwrap_or_else(|error| panic!("could not unzip {} to text: {error}", path.display()));
    text
}

fn folder() -> PathBuf {
    let beside_workspace = || PathBuf::from("../../../shared/data");
    std::env::var_os("THALWEG_DATA").map_or_else(beside_workspace, PathBuf::from)
}
