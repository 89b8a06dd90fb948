//! A SQL file, or SQL on the command line, as given to each of the commands.
//!
//! A file and the text of each `-e` are pieces of one text, so that each knows the tables of earlier ones. An
//! error in a piece is reported with the piece's name and its own line numbers.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use thalweg::SystemClock;
use thalweg_cli::failure::WrongOption;
use thalweg_sql::connect::World;
use thalweg_sql::connect::together::{JobPart, Together};
use thalweg_sql::error::{Code, Place, SqlError};
use thalweg_sql::job;
use thalweg_sql::plan::{Node, Plan};
use thalweg_sql::session::{Action, Job, Session, in_order};
use thalweg_sql::table::Table;

/// Options that say which SQL a command works on, and with which settings.
#[derive(Args, Default)]
pub struct ScriptArgs {
    /// A file of SQL; `-` reads it from standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// SQL text, which follows the SQL of the file if there is one.
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    text: Vec<String>,
    /// Sets a key, in place of the value that the SQL sets for it.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Lets tables read and write files below this directory only, whatever the SQL sets; may be repeated.
    #[arg(long = "allow-root", value_name = "DIR", value_parser = root)]
    roots: Vec<String>,
}

fn root(text: &str) -> Result<String, String> {
    match text.trim().is_empty() || text.contains(';') {
        true => {
            Err(format!("`{text}` is no directory that can be named: it must have characters, and no `;`"))
        }
        false => Ok(text.to_owned()),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`: write table.exec.state.ttl=1h"))?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() {
        return Err(format!("`{text}` has no key before `=`"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The SQL of a command line, in pieces (a file, or the text of one `-e`) that have names.
#[derive(Default)]
pub struct Script {
    /// The whole text of the SQL, in which the pieces follow each other.
    text: String,
    /// The pieces of the text (a file, or the text of one `-e`), in their order; at least one.
    pieces: Vec<Piece>,
    /// Directory from which relative paths in the SQL are resolved.
    pub base: PathBuf,
    /// Whether the text was read from standard input, from which no table can then be read.
    pub is_from_stdin: bool,
    /// Settings of the command line, which override those of the SQL.
    settings: Vec<(String, String)>,
}

/// A piece of the SQL: a file, or the text of one `-e`.
struct Piece {
    /// Name of the piece (a file, or the text of one `-e`) in error messages.
    name: String,
    text: String,
    /// Number of lines of the whole text before this piece (a file, or the text of one `-e`).
    lines_before: usize,
    /// Number of lines of this piece (a file, or the text of one `-e`).
    lines: usize,
}

impl ScriptArgs {
    /// Reads the SQL that the command line names.
    pub fn read(&self) -> Result<Script> {
        let is_from_stdin = self.file.as_deref() == Some(Path::new("-"));
        // As in a shell, relative paths in options are resolved from the directory of the command.
        let mut script = Script { is_from_stdin, settings: self.settings.clone(), ..Script::default() };
        if !self.roots.is_empty() {
            const ROOTS: &str = "thalweg.file-roots";
            if self.settings.iter().any(|(key, _)| key == ROOTS) {
                return Err(WrongOption(format!(
                    "--allow-root and --set {ROOTS} say the same: give one of them"
                ))
                .into());
            }
            script.settings.push((ROOTS.to_owned(), self.roots.join(";")));
        }
        if let Some(file) = &self.file {
            let (name, bytes) = if is_from_stdin {
                let mut bytes = Vec::new();
                let name = "standard input".to_owned();
                std::io::stdin().read_to_end(&mut bytes).map_err(|error| anyhow!("{name}: {error}"))?;
                (name, bytes)
            } else {
                let name = file.display().to_string();
                let bytes = fs::read(file).map_err(|error| anyhow!("{name}: {error}"))?;
                (name, bytes)
            };
            let text = String::from_utf8(bytes).map_err(|error| {
                anyhow!("{name}: the bytes from {} on are no UTF-8", error.utf8_error().valid_up_to())
            })?;
            script.push(name, without_mark(&text));
        }
        for (place, text) in self.text.iter().enumerate() {
            let name = if place == 0 { "-e".to_owned() } else { format!("-e#{}", place + 1) };
            script.push(name, text);
        }
        if script.pieces.is_empty() {
            return Err(WrongOption("there is no SQL: name a file, or write it behind -e".to_owned()).into());
        }
        Ok(script)
    }
}

/// Returns a text without the byte order mark that some editors write.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl Script {
    /// Creates a script from the text of an SQL file.
    pub fn of_file(name: String, text: &str) -> Script {
        let mut script = Script::default();
        script.push(name, without_mark(text));
        script
    }

    fn push(&mut self, name: String, text: &str) {
        // The last statement of a piece (a file, or the text of one `-e`) may lack its semicolon, so one is
        // added.
        if !self.pieces.is_empty() {
            self.text.push_str("\n;\n");
        }
        let lines_before = self.text.matches('\n').count();
        self.text.push_str(text);
        // Lines are counted once here, because the line of every job is computed from them.
        let lines = text.lines().count().max(1);
        self.pieces.push(Piece { name, text: text.to_owned(), lines_before, lines });
    }

    /// Returns the name of the whole script: the names of its pieces.
    pub fn name(&self) -> String {
        self.pieces.iter().map(|piece| piece.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the actions that the script asks for, and the [`Session`] with their tables and settings. The
    /// tables that are read and written are checked, but not opened.
    pub fn plan(&self) -> Result<(Session, Vec<Action>)> {
        let mut session = Session::new(Arc::new(SystemClock::default()));
        for (key, value) in &self.settings {
            session
                .override_setting(key, value)
                .map_err(|error| WrongOption(format!("--set {key}: {error}")))?;
        }
        let mut actions = session.read_all(&self.text).map_err(|errors| self.all_wrong(errors))?;
        let world = World { base: self.base.clone(), ..World::default() };
        let mut together = Together::new(&world, self.is_from_stdin);
        let mut names = BTreeMap::new();
        agree(&actions).map_err(|error| self.wrong(&error))?;
        let mut errors = Vec::new();
        for (number, action) in actions.iter_mut().enumerate() {
            let is_run = matches!(action, Action::Run(_));
            let (Action::Run(job) | Action::Explain(job)) = action else { continue };
            self.name_job(job, &mut names);
            let checked = job::check(job, &world)
                .and_then(|()| if is_run { tell(&mut together, number, job) } else { Ok(()) });
            errors.extend(checked.err().map(|error| error.at(job.place)));
        }
        match errors.is_empty() {
            true => Ok((session, actions)),
            false => Err(self.all_wrong(errors)),
        }
    }

    /// Returns the jobs that the script runs. Unlike [`plan`](Self::plan), this checks no connectors and options of tables.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        let mut session = Session::new(Arc::new(SystemClock::default()));
        let actions = session.read(&self.text).map_err(|error| self.wrong(&error))?;
        let job = |action| if let Action::Run(job) = action { Some(job) } else { None };
        Ok(actions.into_iter().filter_map(job).collect())
    }

    /// Names a job after the line on which it stands in its file, or in the text of its `-e`. The name
    /// differs from those of earlier jobs.
    fn name_job(&self, job: &mut Job, names: &mut BTreeMap<String, usize>) {
        if let Some(kind) = job.name.strip_suffix(&format!("-{}", job.place.line))
            && matches!(kind, "query" | "insert")
        {
            job.name = format!("{kind}-{}", self.line(job.place));
        }
        // The last number tried after a name is kept, because many jobs may have the same name.
        let mut count = names.get(&job.name).copied().unwrap_or(0);
        let mut name = job.name.clone();
        while count > 0 && names.contains_key(&name) {
            count += 1;
            name = format!("{}-{count}", job.name);
        }
        names.insert(job.name.clone(), count.max(1));
        names.entry(name.clone()).or_insert(1);
        job.name = name;
    }

    /// Returns the line of a place in the SQL, from 1 on, counted within the file or the text of `-e` that
    /// has it.
    pub fn line(&self, place: Place) -> usize {
        self.located(place).1.line
    }

    /// Returns the name of the piece (a file, or the text of one `-e`) that contains a place, and the place
    /// within the piece.
    pub fn located(&self, place: Place) -> (&str, Place) {
        let (piece, place) = self.piece(place);
        (&piece.name, place)
    }

    fn piece(&self, place: Place) -> (&Piece, Place) {
        let is_before = |piece: &&Piece| piece.lines_before < place.line;
        let piece = self.pieces.iter().rev().find(is_before).unwrap_or(&self.pieces[0]);
        let line = place.line - piece.lines_before;
        let last = piece.lines;
        let place = if last < line {
            // The error is behind the last line of the piece, because more text was expected there. It is
            // shown at the end of this line.
            let column = piece.text.lines().last().map_or(0, |line| line.chars().count()) + 1;
            Place { line: last, column, width: 1 }
        } else {
            Place { line, ..place }
        };
        (piece, place)
    }

    /// Returns the whole text, in which the pieces follow each other.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Converts an error in the SQL to one that shows the file, or the text of `-e`, with its line.
    pub fn wrong(&self, error: &SqlError) -> anyhow::Error {
        self.shown(error).into()
    }

    /// Converts errors in the SQL to one error that shows all of them, in the order of their places.
    pub fn all_wrong(&self, errors: Vec<SqlError>) -> anyhow::Error {
        let mut all = in_order(errors).into_iter().map(|error| self.shown(&error));
        match all.next() {
            Some(first) => Wrong { others: all.collect(), ..first }.into(),
            None => anyhow!("the SQL is wrong"),
        }
    }

    /// Converts an error or a warning about the SQL to one that shows the file, or the text of `-e`, with its line.
    pub fn shown(&self, error: &SqlError) -> Wrong {
        let mut error = error.masked(&self.text);
        let mut of = &self.pieces[0];
        if let Some(place) = error.place {
            let (piece, place) = self.piece(place);
            (of, error.place) = (piece, Some(place));
        }
        let shown = error.show(&of.name, &of.text);
        Wrong { shown, name: of.name.clone(), error, others: Vec::new() }
    }
}

/// An error in the text of SQL.
#[derive(Debug)]
pub struct Wrong {
    /// The text of the error as the user sees it.
    shown: String,
    /// Name of the piece of SQL that contains the place of the error.
    pub name: String,
    /// The error, with its place counted within that piece.
    pub error: SqlError,
    /// Errors at later places of the SQL.
    pub others: Vec<Wrong>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown.trim_end())?;
        // Each error begins as the first one does when a command ends with it.
        self.others.iter().try_for_each(|other| write!(f, "\nerror: {}", other.shown.trim_end()))
    }
}

impl std::error::Error for Wrong {}

/// Checks that jobs which run together ask for the same settings of the engine.
///
/// # Errors
/// The first job that asks for another engine than an earlier job.
fn agree(actions: &[Action]) -> Result<(), SqlError> {
    let jobs = || {
        actions.iter().filter_map(|action| match action {
            Action::Run(job) => Some(job),
            _ => None,
        })
    };
    let differ = |key: &str, of: &dyn Fn(&Job) -> Option<String>| {
        let mut asked = jobs().filter_map(|job| Some((job, of(job)?)));
        let Some((_, first)) = asked.next() else { return Ok(()) };
        let Some((job, other)) = asked.find(|(_, other)| *other != first) else { return Ok(()) };
        let message = format!("'{key}' is '{other}' for this job, and '{first}' for one before it");
        let help = "all jobs of a run share an engine: set it once";
        Err(SqlError::new(Code::Invalid, message).at(job.place).help(help))
    };
    differ("thalweg.policy", &|job| job.settings.policy.clone())?;
    differ("thalweg.workers", &|job| job.settings.workers.map(|workers| workers.to_string()))
}

/// Registers all tables that a job reads or writes, to find conflicts with other jobs of the run.
fn tell(together: &mut Together<'_>, number: usize, job: &Job) -> Result<(), SqlError> {
    for (part, of) in job.parts.iter().enumerate() {
        let by = JobPart { job: number, part };
        for_each_table(&of.plan, &mut |table| together.reads(by, table))?;
        of.into.as_ref().map_or(Ok(()), |table| together.writes(by, table))?;
    }
    Ok(())
}

/// Calls `of` with each table that a plan reads, as often as the plan reads it. Stops at the first error.
pub fn for_each_table<E>(plan: &Plan, of: &mut dyn FnMut(&Table) -> Result<(), E>) -> Result<(), E> {
    plan.walk().try_for_each(|part| match &part.node {
        Node::Scan { table, .. } => of(table),
        _ => Ok(()),
    })
}
