//! Output of a run: answers on standard output, notes and errors on standard error. With `--output json`, all
//! of it is JSON objects, one per line.
//!
//! | object | content |
//! |---|---|
//! | `{"show":[..]}` | lines that SHOW and DESCRIBE print; EXPLAIN prints the output of `thalweg explain --json` |
//! | `{"job":..,"rows_in":..}` | results of a job |
//! | `{"note":..}` | information for the user |
//! | `{"warning":{"job":..,"code":..,"message":..,"place":..,"help":..}}` | a warning about a query that runs; unknown values are null |
//! | `{"error":{"job":..,"code":..,"message":..,"place":..,"help":..}}` | an error; unknown values are null |
//!
//! A wrong command line is reported as text, because the shape of the output is itself part of the command
//! line.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Write};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;
use thalweg::QueryError;
use thalweg_cli::console::{self, ReaderGone};
use thalweg_cli::failure::{self, End, WrongOption};
use thalweg_sql::error::{SqlError, cut};
use thalweg_sql::session::Job;

use super::explain;
use super::script::{Script, Wrong};

/// Form in which rows and the summary are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Default)]
pub enum Shape {
    /// Comma-separated values, after a line with the names of the columns.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The two output streams of a run.
pub struct Told {
    pub(super) shape: Shape,
    /// Whether a line of progress is on the terminal now.
    is_drawn: Cell<bool>,
}

/// Width of the line of progress in characters: the narrowest supported terminal, without its last column.
const PROGRESS_CHARACTERS: usize = 79;

impl Told {
    pub fn new(shape: Shape) -> Self {
        Told { shape, is_drawn: Cell::new(false) }
    }

    /// Prints the result of SHOW or DESCRIBE.
    pub fn shown(&self, text: &str) -> Result<()> {
        match self.shape {
            Shape::Text => console::out(&format!("{text}\n")),
            Shape::Json => {
                console::out(&format!("{}\n", json!({ "show": text.lines().collect::<Vec<_>>() })))
            }
        }
    }

    /// Prints the result of EXPLAIN.
    pub fn explained(&self, script: &Script, job: &Job) -> Result<()> {
        let line = script.line(job.place);
        console::out(&match self.shape {
            Shape::Text => explain::text(job, line),
            Shape::Json => explain::json(job, line),
        })
    }

    /// Prints a note for the user.
    pub fn note(&self, text: &str) {
        self.clear();
        match self.shape {
            Shape::Text => console::note(text),
            Shape::Json => aside(&json!({ "note": text })),
        }
    }

    /// Prints a warning about a job before it runs.
    pub fn warned(&self, script: &Script, warning: &SqlError) {
        let wrong = script.shown(warning);
        match self.shape {
            Shape::Text => console::warning(&wrong.to_string()),
            Shape::Json => WrongObject::of(&wrong).warn(),
        }
    }

    /// Prints a warning about a job that runs.
    pub fn warned_of_job(&self, job: &str, code: &str, message: &str) {
        self.clear();
        match self.shape {
            Shape::Text => console::warning(&format!("{job}: {code}: {message}")),
            Shape::Json => {
                WrongObject { job: Some(job), code: Some(code), ..WrongObject::new(message) }.warn();
            }
        }
    }

    /// Prints the results of a job that has ended, as text or as an object.
    pub fn ended(&self, text: &str, object: &impl Serialize) {
        self.clear();
        match self.shape {
            Shape::Text => console::note(text),
            Shape::Json => aside(object),
        }
    }

    /// Prints the error that has ended a job of the run, with advice.
    pub fn failed(&self, job: &str, error: &QueryError, help: Option<&str>) {
        self.clear();
        match self.shape {
            Shape::Text => {
                let help = help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
                console::error(&format!("{job}: {:#}{help}", failure::of_query(error)));
            }
            Shape::Json => {
                let help = help.map(Cow::Borrowed);
                WrongObject { job: Some(job), code: Some(error.code()), help, ..WrongObject::new(error) }
                    .tell();
            }
        }
    }

    /// Reports an error that ends the command. Prints it here only if the output is JSON.
    ///
    /// # Errors
    /// Returns `error` itself if the caller must print it as text: if the output is text, or if an option is
    /// wrong.
    pub fn end(&self, error: anyhow::Error) -> Result<End> {
        self.clear();
        if self.shape == Shape::Text || error.is::<ReaderGone>() || error.is::<WrongOption>() {
            return Err(error);
        }
        match error.downcast_ref::<Wrong>() {
            Some(wrong) => {
                WrongObject::of(wrong).tell();
                wrong.others.iter().for_each(|other| WrongObject::of(other).tell());
            }
            None => WrongObject::new(&format!("{error:#}")).tell(),
        }
        Ok(End::Failed)
    }

    /// Draws the line of progress again, in place of the previous one.
    pub fn draw(&self, line: &str) {
        let line: String = line.chars().take(PROGRESS_CHARACTERS).collect();
        let mut stderr = io::stderr();
        let _ = write!(stderr, "\r\x1b[2K{line}").and_then(|()| stderr.flush());
        self.is_drawn.set(true);
    }

    /// Removes the line of progress, so that other text can take its place.
    pub fn clear(&self) {
        if self.is_drawn.replace(false) {
            let mut stderr = io::stderr();
            let _ = write!(stderr, "\r\x1b[2K").and_then(|()| stderr.flush());
        }
    }
}

/// Reports that a run did not end in time.
pub fn drain_timeout(shape: Shape, job: Option<&str>, message: &str) {
    const CODE: &str = "DRAIN_TIMEOUT";
    match shape {
        Shape::Text => {
            let job = job.map_or(String::new(), |job| format!("{job}: "));
            console::error(&format!("{job}{CODE}: {message}"));
        }
        Shape::Json => WrongObject { job, code: Some(CODE), ..WrongObject::new(message) }.tell(),
    }
}

/// Writes an object as a line of JSON to standard error.
fn aside(object: &impl Serialize) {
    // Serializing cannot fail, because everything that is written here can be represented in JSON.
    if let Ok(line) = serde_json::to_string(object) {
        console::aside(&line);
    }
}

/// An error or a warning in the form of a JSON object that always has all of its keys.
#[derive(Serialize)]
struct WrongObject<'a> {
    job: Option<&'a str>,
    code: Option<&'a str>,
    message: String,
    place: Option<PlaceObject<'a>>,
    help: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct PlaceObject<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

impl<'a> WrongObject<'a> {
    fn of(Wrong { error, name, .. }: &'a Wrong) -> Self {
        WrongObject {
            code: Some(error.code.name()),
            place: error.place.map(|place| PlaceObject {
                file: name,
                line: place.line,
                column: place.column,
            }),
            help: error.help.as_deref().map(cut),
            ..WrongObject::new(&error.message)
        }
    }

    fn new(message: &(impl ToString + ?Sized)) -> Self {
        WrongObject {
            job: None,
            code: None,
            message: cut(&message.to_string()).into_owned(),
            place: None,
            help: None,
        }
    }

    fn tell(&self) {
        #[derive(Serialize)]
        struct Told<'a> {
            error: &'a WrongObject<'a>,
        }
        aside(&Told { error: self });
    }

    fn warn(&self) {
        #[derive(Serialize)]
        struct Told<'a> {
            warning: &'a WrongObject<'a>,
        }
        aside(&Told { warning: self });
    }
}
