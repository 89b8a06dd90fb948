//! How a command ends: one line on standard error if it fails, and an exit code.
//!
//! Exit codes are these. 0: all is well. 1: a run failed, or its results are wrong. 2: the command line is
//! wrong, and nothing ran. 3: a bounded job of `run` was stopped before its input had ended. 141: the reader
//! of standard output has closed it, as `| head` does. This is the code that shells show for a command that
//! SIGPIPE has ended. It means neither a failure nor a complete output. Errors of the engine and its
//! connectors keep their stable code in front, such as `SOURCE_MISSING`.

use std::fmt;
use std::process::ExitCode;

use anyhow::anyhow;
use thalweg::{Coded, PlanError, QueryError};

use crate::console::{self, ReaderGone};

/// The error for options that do not go together, do not fit a workload, or are out of range. It has the exit
/// code 2.
#[derive(Debug)]
pub struct WrongOption(pub String);

impl fmt::Display for WrongOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongOption {}

/// Converts an error of a connector to one that begins with its stable code.
pub fn of_connector(error: &impl Coded) -> anyhow::Error {
    anyhow!("{}: {error}", error.code())
}

/// Converts an error of a plan to one that begins with its stable code. A setting that is out of range
/// becomes a wrong option.
pub fn of_plan(error: &PlanError) -> anyhow::Error {
    match error {
        PlanError::OutOfRange { name, value, min, max, unit } => {
            let option = name.trim_end_matches("_bytes").replace('_', "-");
            WrongOption(format!("--{option} is {value} {unit}, but must be from {min} to {max} {unit}"))
                .into()
        }
        _ => anyhow!("{}: {error}", error.code()),
    }
}

/// Converts the error that ended a query to one that begins with its stable code.
pub fn of_query(error: &QueryError) -> anyhow::Error {
    anyhow!("{}: {error}", error.code())
}

/// The way in which a command ended that has reported its errors itself. Values are ordered: the most severe
/// end is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The command has done everything it was asked to do.
    Complete,
    /// The command ended because the reader of standard output has closed it.
    ReaderGone,
    /// A bounded job was stopped before its input had ended.
    StoppedEarly,
    /// A part of the command failed.
    Failed,
}

impl End {
    /// Returns the exit code of the program for this end of its command.
    const fn code(self) -> u8 {
        match self {
            End::Complete => 0,
            End::Failed => 1,
            End::StoppedEarly => 3,
            End::ReaderGone => 141,
        }
    }
}

/// Converts a success flag; `false` means that the command failed.
impl From<bool> for End {
    fn from(is_fine: bool) -> Self {
        if is_fine { End::Complete } else { End::Failed }
    }
}

/// Reports the end of a command, and returns its exit code.
pub fn end(ran: anyhow::Result<End>) -> ExitCode {
    ExitCode::from(match ran {
        Ok(end) => end.code(),
        // The reader closed standard output, so the command ends without a message.
        Err(error) if error.is::<ReaderGone>() => End::ReaderGone.code(),
        Err(error) => {
            console::error(&format!("{error:#}"));
            if error.is::<WrongOption>() { 2 } else { End::Failed.code() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_range_is_a_wrong_option() {
        let name = "memory_budget_bytes";
        let error =
            of_plan(&PlanError::OutOfRange { name, value: 1, min: 65_536, max: 1 << 42, unit: "bytes" });
        assert!(error.is::<WrongOption>());
        let told = "--memory-budget is 1 bytes, but must be from 65536 to 4398046511104 bytes";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn other_errors_of_a_plan_keep_their_code() {
        let error = of_plan(&PlanError::EmptyName);
        assert!(!error.is::<WrongOption>());
        assert_eq!(error.to_string(), "EMPTY_NAME: an operator has an empty name: give it one");
    }
}
