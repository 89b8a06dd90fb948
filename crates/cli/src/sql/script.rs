//! A SQL file, or SQL on the command line, as it is given to each of the commands.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use thalweg::SystemClock;
use thalweg_sql::connect::World;
use thalweg_sql::error::SqlError;
use thalweg_sql::job;
use thalweg_sql::session::{Action, Session};

use crate::failure::WrongOption;

/// Which SQL.
#[derive(Args)]
pub struct ScriptArgs {
    /// A file of SQL; `-` reads it from standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// SQL, behind that of the file if there is one.
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    text: Vec<String>,
}

/// SQL and what it is called.
pub struct Script {
    /// What errors call it.
    pub name: String,
    /// The text.
    pub text: String,
    /// Where relative paths begin.
    pub base: PathBuf,
}

impl ScriptArgs {
    /// Reads it.
    pub fn read(&self) -> Result<Script> {
        let mut name = "-e".to_owned();
        let mut text = String::new();
        if let Some(file) = &self.file {
            name = file.display().to_string();
            text = if file == Path::new("-") {
                "standard input".clone_into(&mut name);
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map_err(|error| anyhow!("{name}: {error}"))?;
                text
            } else {
                let bytes = fs::read(file).map_err(|error| anyhow!("{name}: {error}"))?;
                String::from_utf8(bytes).map_err(|error| {
                    anyhow!("{name}: the bytes from {} on are no UTF-8", error.utf8_error().valid_up_to())
                })?
            };
        }
        for more in &self.text {
            if !text.is_empty() {
                text.push_str("\n;\n");
            }
            text.push_str(more);
        }
        if self.file.is_none() && self.text.is_empty() {
            return Err(WrongOption("there is no SQL: name a file, or write it behind -e".to_owned()).into());
        }
        // As for a shell, paths begin where the command does.
        Ok(Script { name, text, base: PathBuf::new() })
    }
}

impl Script {
    /// What is to be done, with the session that says so. The tables that are read and written have been checked; nothing is open.
    pub fn plan(&self) -> Result<(Session, Vec<Action>)> {
        let mut session = Session::new(Arc::new(SystemClock::default()));
        let actions = session.read(&self.text).map_err(|error| self.wrong(&error))?;
        let world = World::default();
        for action in &actions {
            if let Action::Run(job) | Action::Explain(job) = action {
                job::check(job, &world).map_err(|error| self.wrong(&error.at(job.place)))?;
            }
        }
        Ok((session, actions))
    }

    /// An error in the text.
    pub fn wrong(&self, error: &SqlError) -> anyhow::Error {
        anyhow!("{}", error.show(&self.name, &self.text).trim_end())
    }
}
