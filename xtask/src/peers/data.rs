//! Tables and files over which questions are asked: made once by `thalweg run`, and read by all.
//!
//! The engine's generators make equal rows in each run. So the engine has its tables in memory from them, and peers have theirs from files
//! with copies of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Plan;
use super::question::{Question, Sizes};

/// Folder of the questions in SQL, below the workspace.
const SQL: &str = "bench/peers/sql";

/// The data of the questions of a run.
pub(super) struct Data {
    sizes: Sizes,
    sql: PathBuf,
    /// The directory of each question.
    directories: Vec<(Question, PathBuf)>,
}

/// Makes the data of the chosen questions in directories below `folder`, unless they are there.
///
/// # Errors
///
/// A run of `program` that fails, or a directory that cannot be made.
pub(super) fn made(root: &Path, folder: &Path, program: &Path, plan: &Plan) -> Result<Data> {
    let mut data = Data { sizes: plan.sizes, sql: root.join(SQL), directories: Vec::new() };
    for &question in plan.questions.iter().filter(|question| question.has_data()) {
        let rows = question.rows(plan.sizes);
        let directory = folder.join(format!("{}-{rows}", question.name()));
        if !directory.is_dir() {
            eprintln!("making the data of {}: {rows} rows", question.name());
            let partial = folder.join(format!("{}-{rows}.partial", question.name()));
            let _ = fs::remove_dir_all(&partial);
            fs::create_dir_all(&partial).with_context(|| format!("could not make {}", partial.display()))?;
            data.directories.push((question, partial.clone()));
            let text = data.sql(question, "data.sql")?;
            run(program, &["run", &execute(&text)])?;
            data.directories.pop();
            // The name tells that the data are complete.
            fs::rename(&partial, &directory)
                .with_context(|| format!("could not name {}", directory.display()))?;
        }
        data.directories.push((question, directory));
    }
    Ok(data)
}

impl Data {
    /// Returns the statements that ask the question.
    ///
    /// # Errors
    ///
    /// A file of SQL that cannot be read.
    pub(super) fn question(&self, question: Question) -> Result<String> {
        self.sql(question, "sql")
    }

    /// Returns the statements that only read the tables of the question.
    ///
    /// # Errors
    ///
    /// A file of SQL that cannot be read.
    pub(super) fn source(&self, question: Question) -> Result<String> {
        self.sql(question, "source.sql")
    }

    /// Returns the number of rows of each table of the question.
    pub(super) fn rows(&self, question: Question) -> u64 {
        question.rows(self.sizes)
    }

    /// Returns the directory of a question's tables, or the path of its file.
    pub(super) fn path(&self, question: Question) -> PathBuf {
        let directory = self.directories.iter().find(|(known, _)| *known == question);
        let directory = directory.map(|(_, directory)| directory.clone()).unwrap_or_default();
        match question {
            Question::File(format) => directory.join(format!("events.{}", format.name())),
            _ => directory,
        }
    }

    /// Returns the amount to which the unit of a question's speed belongs: 10^6 bytes of its file, or 10^6 rows of its tables.
    ///
    /// # Errors
    ///
    /// A file that is not there.
    pub(super) fn amount(&self, question: Question) -> Result<f64> {
        let amount = match question {
            Question::File(_) => {
                let path = self.path(question);
                fs::metadata(&path).with_context(|| format!("could not find {}", path.display()))?.len()
            }
            Question::Join => 2 * self.rows(question),
            _ => self.rows(question),
        };
        Ok(amount as f64 / 1e6)
    }

    /// Returns the statements of a file, behind those that declare the tables, if these have a file of their own.
    fn sql(&self, question: Question, ending: &str) -> Result<String> {
        let file = |ending| self.sql.join(format!("{}.{ending}", question.sql()));
        let read = |file: PathBuf| {
            fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))
        };
        let tables = file("tables.sql");
        let tables = if tables.is_file() { read(tables)? } else { String::new() };
        let text = tables + &read(file(ending))?;
        let format = if let Question::File(format) = question { format.name() } else { "" };
        Ok(filled(
            &text,
            &[
                ("{rows}", &self.rows(question).to_string()),
                ("{key_max}", &question.key_max(self.sizes).to_string()),
                ("{data}", &self.path(question).display().to_string()),
                ("{format}", format),
            ],
        ))
    }
}

/// Returns a text with values in the places of names.
pub(super) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Returns the option of `thalweg run` for a text of SQL, which may begin with `--`.
pub(super) fn execute(text: &str) -> String {
    format!("--execute={text}")
}

/// Runs a program to its end, and returns its standard output and its standard error.
///
/// # Errors
///
/// A program that is not there or fails, with the end of what it has said.
pub(super) fn run(program: &Path, arguments: &[&str]) -> Result<(String, String)> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("could not start {}", program.display()))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{} from {} {}\n{error}", output.status, program.display(), arguments.join(" "));
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), error))
}
