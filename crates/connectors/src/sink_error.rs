//! Errors of the sinks in this package.

use std::io;

use thalweg_model::Coded;

/// The reason why a sink failed to take or publish records.
#[derive(Debug)]
#[non_exhaustive]
pub enum SinkError {
    /// `SINK_FAILED`: a file or stream could not be written.
    Failed {
        /// Path of the file that could not be written, or name of the stream.
        target: String,
        /// The operating system's error for writing.
        source: io::Error,
    },
    /// `SINK_CLOSED`: the reader of the stream has closed it.
    Closed {
        /// Name of the stream that its reader has closed.
        target: String,
    },
    /// `OUTPUT_LOST`: output that a checkpoint describes is missing, or not as it was described.
    Lost {
        /// Path of the file, or name of the output.
        target: String,
        /// The difference between the output and its description.
        reason: String,
    },
    /// `SINK_FULL`: the sink got more records than the maximum that it may keep.
    Full {
        /// The maximum number of records, which the sink has reached.
        max_records: usize,
    },
}

impl std::fmt::Display for SinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SinkError::Failed { target, source } => {
                write!(
                    f,
                    "{target} cannot be written: {source}; check the path, its permissions and the space left"
                )
            }
            SinkError::Closed { target } => {
                write!(f, "{target} was closed by its reader; keep it open until the query has ended")
            }
            SinkError::Lost { target, reason } => {
                write!(
                    f,
                    "{target}: a checkpoint describes this output, and {reason}; put it back, or start without the checkpoint"
                )
            }
            SinkError::Full { max_records } => {
                write!(
                    f,
                    "the collecting sink holds {max_records} records, its maximum; give it a higher one"
                )
            }
        }
    }
}

impl std::error::Error for SinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SinkError::Failed { source, .. } => Some(source),
            SinkError::Closed { .. } | SinkError::Lost { .. } | SinkError::Full { .. } => None,
        }
    }
}

impl Coded for SinkError {
    fn code(&self) -> &'static str {
        match self {
            SinkError::Failed { .. } => "SINK_FAILED",
            SinkError::Closed { .. } => "SINK_CLOSED",
            SinkError::Lost { .. } => "OUTPUT_LOST",
            SinkError::Full { .. } => "SINK_FULL",
        }
    }
}
