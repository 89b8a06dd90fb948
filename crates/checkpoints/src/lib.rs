//! Checkpoints of queries in a directory: written whole or not at all, and checked when they are read.
//!
//! Read the modules in this order:
//!
//! 1. [`state_directory`]: the directory of one run, which is locked, with a directory for each query.
//! 2. [`query_directory`]: the checkpoints of one query: writes them, finds the newest whole one, and removes old ones.
//! 3. [`manifest`]: the description of one checkpoint, which is written last.
//! 4. [`data`]: the bytes of the sections, in blocks with checksums.
//! 5. [`view`]: checkpoints as a person sees them.
//! 6. [`names`]: names of files. [`error`]: everything that can fail.
//!
//! The format is described in `docs/checkpoint-format.md`. The room promises:
//!
//! * P1. When [`write`](thalweg_model::CheckpointStore::write) returns without error, the checkpoint survives a crash of the
//!   machine. If it returns an error or the process dies before, a restart finds the checkpoint before it.
//! * P2. A restart gets the bytes that were written. A checkpoint that is damaged is passed over, and the user is told which
//!   file is damaged. If there are checkpoints and none is whole, the restart is refused.
//! * P3. A directory has one process that writes to it. A second one is refused.
//! * P4. No bytes in a file cause a panic, or an allocation beyond the size of the files.
//!
//! Absences: no thread is started here, no clock is read, and nothing is known about the content of the sections.
#![forbid(unsafe_code)]

pub mod state_directory;

pub mod query_directory;

pub mod data;
pub mod manifest;

pub mod view;

pub mod error;
pub mod names;

#[cfg(test)]
mod testing;

pub use error::CheckpointError;
pub use query_directory::{QueryDirectory, Restored};
pub use state_directory::StateDirectory;
pub use view::{Depth, StateView, Viewed};
