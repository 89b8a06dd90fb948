//! Standard output of a query that a test runs: keeps the written bytes in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Output that keeps the written bytes; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Kept(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
