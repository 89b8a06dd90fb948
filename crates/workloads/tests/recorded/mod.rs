//! Access to recorded data, for the tests that read them. The files are not in the repository. Without them a
//! test says so and passes, but under CI it fails.

use std::io::Read;
use std::path::PathBuf;

/// Returns the text of the file at `path` in `THALWEG_DATA`, or in `shared/data` beside the checkout.
pub fn recorded(path: &str) -> Option<String> {
    let beside = || PathBuf::from("../../../shared/data");
    let file = std::env::var_os("THALWEG_DATA").map_or_else(beside, PathBuf::from).join(path);
    let Ok(packed) = std::fs::read(&file) else {
        assert!(std::env::var_os("CI").is_none(), "{} cannot be read; set THALWEG_DATA", file.display());
        eprintln!("skipped: {} cannot be read; set THALWEG_DATA to the folder of the data", file.display());
        return None;
    };
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_string(&mut text).expect("the file is whole");
    Some(text)
}
