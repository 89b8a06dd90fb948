//! `thalweg check`: checks whether a file of SQL can be run, and whether Flink can run it.

use anyhow::Result;
use clap::Args;
use thalweg_cli::console;
use thalweg_sql::catalog::Entry;
use thalweg_sql::connect;
use thalweg_sql::error::Place;
use thalweg_sql::session::Action;

use super::script::ScriptArgs;

/// Place of a note whose place is not known.
const START_OF_TEXT: Place = Place { line: 1, column: 1, width: 1 };

/// Options of `thalweg check`: the SQL to check.
#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    script: ScriptArgs,
}

/// Checks the SQL of the command line; no table is opened and nothing is run.
pub fn run(args: &CheckArgs) -> Result<bool> {
    let script = args.script.read()?;
    let (session, actions) = script.plan()?;
    let (mut own, mut errors) = (Vec::new(), Vec::new());
    for (_, entry) in session.catalog().entries() {
        if let Entry::Table(table) = entry {
            match connect::check(table) {
                Ok(portable) => own.extend(portable.own),
                Err(error) => errors.push(error),
            }
        }
    }
    if !errors.is_empty() {
        return Err(script.all_wrong(errors));
    }
    let jobs = actions.iter().filter(|action| matches!(action, Action::Run(_) | Action::Explain(_))).count();
    let tables = session.catalog().entries().count();
    console::out(&format!("{}: fine; {tables} tables and views, {jobs} queries\n", script.name()))?;
    for (what, place) in &own {
        let (name, place) = script.located(*place);
        console::out(&format!(
            "{name}:{}:{}: not portable: Flink has not {what}\n",
            place.line, place.column
        ))?;
    }
    let notes = session.notes(script.text());
    for note in &notes {
        let help = note.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let (name, place) = script.located(note.place.unwrap_or(START_OF_TEXT));
        console::out(&format!(
            "{name}:{}:{}: not portable: {}{help}\n",
            place.line, place.column, note.message
        ))?;
    }
    for action in &actions {
        if let Action::Run(job) | Action::Explain(job) = action {
            job.warnings.iter().for_each(|warning| console::warning(&script.shown(warning).to_string()));
        }
    }
    if own.is_empty() && notes.is_empty() {
        console::out("portable: no connector, format, option or form in it is ours alone\n")?;
    }
    Ok(true)
}
