//! Hands a command over to `thalweg-bench`: this process becomes that program.
//!
//! The program is the file of that name beside this one, in the folder to which symbolic links lead. It takes over the words
//! after `thalweg`, unchanged, with the standard streams, the terminal and the process number. So signals reach it and its exit code is
//! that of the command.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Error, anyhow};
use clap::Args;
use thalweg_cli::handed_over::PROGRAM;

/// Names of the commands that `thalweg-bench` runs in place of `thalweg`.
const COMMANDS: [&str; 2] = ["bench", "replay"];

/// The words of a command that `thalweg-bench` runs. Any words are accepted here, because only that program
/// reads them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Words {
    /// Options and arguments of the command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Returns whether the words after `thalweg` ask for the help of a command that is handed over: `help bench`.
pub fn is_asked_for_help(words: &[OsString]) -> bool {
    matches!(words, [help, command] if help == "help" && COMMANDS.iter().any(|known| command == known))
}

/// Runs `thalweg-bench` with the given words in place of this program. Returns only if `thalweg-bench` cannot
/// be started, with the reason.
pub fn to_program(words: Vec<OsString>) -> Error {
    let program = match env::current_exe().context("the folder of thalweg cannot be found") {
        // The system has usually resolved symbolic links in the path of a running program. Some systems give
        // the name that was called, so links are resolved here, too.
        Ok(own) => own.canonicalize().unwrap_or(own).with_file_name(PROGRAM),
        Err(error) => return error,
    };
    let error = Command::new(&program).args(words).exec();
    let program = program.display();
    if error.kind() == ErrorKind::NotFound {
        anyhow!(
            "this command is run by {PROGRAM}, and {program} does not exist; build it with \
             `cargo build --release -p {PROGRAM}` and put it there"
        )
    } else {
        anyhow!("this command is run by {PROGRAM}, and {program} cannot be started: {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_asked_for_by_two_words() {
        let is_asked =
            |line: &str| is_asked_for_help(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert!(is_asked("help bench") && is_asked("help replay"));
        for line in
            ["", "help", "help run", "help bench ysb", "bench --help", "bench help", "--version bench"]
        {
            assert!(!is_asked(line), "{line}");
        }
    }
}
