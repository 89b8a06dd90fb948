//! Everything that can fail while checkpoints are written and read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thalweg_model::Coded;

/// The reason why a checkpoint was not written or not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// `STATE_DIR_IN_USE`: another process keeps its checkpoints in the directory at present.
    InUse {
        /// The directory that is locked.
        directory: PathBuf,
    },
    /// `CHECKPOINT_QUERY_IN_USE`: two queries of one process have the same name.
    QueryInUse {
        /// The name that both queries have.
        query: String,
    },
    /// `CHECKPOINT_QUERY_NAME`: the name of a query is too long for the name of a directory.
    QueryName {
        /// The name of the query.
        query: String,
        /// The greatest length that the name of its directory may have, in bytes.
        max_bytes: usize,
    },
    /// `CHECKPOINT_FAILED`: the operating system refused access to a file or directory.
    Failed {
        /// The kind of access that was refused, such as `be written`.
        access: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `CHECKPOINT_UNCERTAIN`: a checkpoint was given up, but its manifest could not be removed, so a restart may find it.
    Uncertain {
        /// The manifest that should not be there.
        path: PathBuf,
        /// The error of the operating system for its removal.
        source: io::Error,
    },
    /// `CHECKPOINT_DAMAGED`: there are checkpoints, and none of them is whole.
    Damaged {
        /// The directory of the query.
        directory: PathBuf,
        /// The damage of each of the checkpoints, the newest first.
        faults: Vec<String>,
    },
    /// `CHECKPOINT_VERSION`: a checkpoint was written by a newer version of this program.
    Version {
        /// The manifest of the checkpoint.
        path: PathBuf,
        /// The version of its format.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
    /// `CHECKPOINT_OF_OTHER_QUERY`: a checkpoint lies in the directory of another query.
    OtherQuery {
        /// The manifest of the checkpoint.
        path: PathBuf,
        /// The name of the query that wrote it.
        found: String,
        /// The name of the query that the directory belongs to.
        expected: String,
    },
    /// `CHECKPOINT_NUMBER`: a checkpoint has a number that is not above that of the newest one.
    Number {
        /// The number of the checkpoint.
        number: u64,
        /// The number of the newest checkpoint in the directory.
        newest: u64,
    },
    /// `CHECKPOINT_LIMIT`: something about a checkpoint goes beyond a bound.
    Limit {
        /// The name of what is bounded, such as `sections`.
        subject: &'static str,
        /// The size that it has.
        found: u64,
        /// The bound.
        max: u64,
    },
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::InUse { directory } => write!(
                f,
                "{} is used by another run at present: wait for its end, stop it, or name another directory",
                directory.display()
            ),
            CheckpointError::QueryInUse { query } => write!(
                f,
                "two queries have the name {query:?}, and would share their checkpoints: give one of them another name"
            ),
            CheckpointError::QueryName { query, max_bytes } => write!(
                f,
                "the name {query:?} of a query is too long for the name of a directory, which has at most {max_bytes} \
                 bytes: give the query a shorter name"
            ),
            CheckpointError::Failed { access, path, source } => {
                let advice = match source.kind() {
                    io::ErrorKind::StorageFull => "free space there",
                    _ => "check the path, its permissions and the disk",
                };
                write!(f, "{} cannot {access}: {source}; {advice}", path.display())
            }
            CheckpointError::Uncertain { path, source } => write!(
                f,
                "{} belongs to a checkpoint that failed, and cannot be removed: {source}; remove it before the next start",
                path.display()
            ),
            CheckpointError::Damaged { directory, faults } => write!(
                f,
                "no checkpoint in {} is whole: {}; put the files back from a copy, or remove the directory to start \
                 from the beginning",
                directory.display(),
                faults.join("; ")
            ),
            CheckpointError::Version { path, found, known } => write!(
                f,
                "{} has version {found} of the format, and this program knows versions up to {known}: use the \
                 program that wrote it, or a newer one",
                path.display()
            ),
            CheckpointError::OtherQuery { path, found, expected } => write!(
                f,
                "{} is a checkpoint of the query {found:?}, in the directory of the query {expected:?}: move it back",
                path.display()
            ),
            CheckpointError::Number { number, newest } => write!(
                f,
                "checkpoint {number} cannot be written behind checkpoint {newest}: numbers of checkpoints rise"
            ),
            CheckpointError::Limit { subject, found, max } => {
                write!(f, "a checkpoint has {found} {subject}, and may have at most {max}")
            }
        }
    }
}

impl std::error::Error for CheckpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CheckpointError::Failed { source, .. } | CheckpointError::Uncertain { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }
}

impl Coded for CheckpointError {
    fn code(&self) -> &'static str {
        match self {
            CheckpointError::InUse { .. } => "STATE_DIR_IN_USE",
            CheckpointError::QueryInUse { .. } => "CHECKPOINT_QUERY_IN_USE",
            CheckpointError::QueryName { .. } => "CHECKPOINT_QUERY_NAME",
            CheckpointError::Failed { .. } => "CHECKPOINT_FAILED",
            CheckpointError::Uncertain { .. } => "CHECKPOINT_UNCERTAIN",
            CheckpointError::Damaged { .. } => "CHECKPOINT_DAMAGED",
            CheckpointError::Version { .. } => "CHECKPOINT_VERSION",
            CheckpointError::OtherQuery { .. } => "CHECKPOINT_OF_OTHER_QUERY",
            CheckpointError::Number { .. } => "CHECKPOINT_NUMBER",
            CheckpointError::Limit { .. } => "CHECKPOINT_LIMIT",
        }
    }
}
