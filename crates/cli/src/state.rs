//! `thalweg state`: shows the checkpoints in a directory of state, and checks whether they are whole. It takes no lock and
//! changes nothing, so a run may write to the directory meanwhile.
//!
//! Tables have at most 80 columns, but for names and for what is wrong with a file.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use thalweg_checkpoints::view::{Depth, StateView, Viewed, block_bytes};
use thalweg_cli::{console, failure, show};
use thalweg_connectors::RealFiles;

/// Arguments of `thalweg state`.
#[derive(Args)]
pub struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Subcommand)]
enum StateCommand {
    /// List the checkpoints of each query, with the lengths of their files checked.
    Ls(DirectoryArgs),
    /// Show the sections of the newest checkpoint of each query.
    Show(ShowArgs),
    /// Read all checkpoints and check each byte; fails if one is damaged.
    Verify(DirectoryArgs),
}

#[derive(Args)]
struct DirectoryArgs {
    /// Directory of state of a run.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

#[derive(Args)]
struct ShowArgs {
    #[command(flatten)]
    at: DirectoryArgs,
    /// Show this query only.
    #[arg(long, value_name = "NAME")]
    query: Option<String>,
    /// Show the checkpoint with this number instead of the newest whole one.
    #[arg(long, value_name = "NUMBER")]
    checkpoint: Option<u64>,
}

/// Shows or checks a directory of state. Returns whether all that was checked is whole.
pub fn run(args: &StateArgs) -> Result<bool> {
    match &args.command {
        StateCommand::Ls(at) => list(at, Depth::Lengths).map(|_| true),
        StateCommand::Verify(at) => list(at, Depth::Bytes),
        StateCommand::Show(args) => show_sections(args).map(|()| true),
    }
}

fn open(at: &DirectoryArgs) -> Result<StateView> {
    StateView::open(Arc::new(RealFiles), &at.directory).map_err(|error| failure::of_connector(&error))
}

/// Lists the checkpoints of all queries, and returns whether they are whole.
fn list(at: &DirectoryArgs, depth: Depth) -> Result<bool> {
    let view = open(at)?;
    let queries = view.queries().map_err(|error| failure::of_connector(&error))?;
    let kept = counted(queries.len(), "query", "queries");
    console::out(&format!("{}: {kept}\n", at.directory.display()))?;
    let mut is_whole = true;
    for query in &queries {
        let checkpoints = view.checkpoints(query, depth).map_err(|error| failure::of_connector(&error))?;
        is_whole &= checkpoints.iter().all(Viewed::is_whole);
        console::out(&table(query, &checkpoints))?;
    }
    Ok(is_whole)
}

/// Returns a table of the checkpoints of a query, with what is wrong with them below it.
fn table(query: &str, checkpoints: &[Viewed]) -> String {
    let mut text = format!("\nquery {}", plain(query));
    if checkpoints.is_empty() {
        return text + ": no checkpoints\n";
    }
    text += &format!("\n{:>12} {:>20} {:>20} {:>9}  state\n", "checkpoint", "bytes", "new bytes", "sections");
    for Viewed { number, manifest, fault } in checkpoints {
        let dash = || "-".to_owned();
        let bytes = manifest.as_ref().map_or_else(dash, |manifest| show::count(manifest.bytes()));
        let new = manifest.as_ref().map_or_else(dash, |manifest| show::count(manifest.new_bytes()));
        let sections = manifest.as_ref().map_or_else(dash, |manifest| manifest.sections.len().to_string());
        let is_last = manifest.as_ref().is_some_and(|manifest| manifest.is_last);
        let state = match (fault, is_last) {
            (Some(_), _) => "damaged",
            (None, true) => "whole, last",
            (None, false) => "whole",
        };
        text += &format!("{number:>12} {bytes:>20} {new:>20} {sections:>9}  {state}\n");
    }
    for Viewed { number, fault, .. } in checkpoints {
        if let Some(fault) = fault {
            text += &format!("  checkpoint {number}: {}\n", plain(fault));
        }
    }
    text
}

fn show_sections(args: &ShowArgs) -> Result<()> {
    let view = open(&args.at)?;
    let queries = view.queries().map_err(|error| failure::of_connector(&error))?;
    let asked: Vec<&String> =
        queries.iter().filter(|name| args.query.as_ref().is_none_or(|query| query == *name)).collect();
    if asked.is_empty() {
        match &args.query {
            Some(query) => bail!("{} has no query {query:?}", args.at.directory.display()),
            None => bail!("{} has no query with checkpoints", args.at.directory.display()),
        }
    }
    for query in asked {
        let checkpoints =
            view.checkpoints(query, Depth::Lengths).map_err(|error| failure::of_connector(&error))?;
        let is_asked = |viewed: &&Viewed| match args.checkpoint {
            Some(number) => viewed.number == number,
            None => viewed.is_whole(),
        };
        match checkpoints.iter().rfind(is_asked) {
            Some(viewed) => console::out(&sections(query, viewed))?,
            None if args.checkpoint.is_some() => {
                console::out(&format!("query {}: no such checkpoint\n\n", plain(query)))?;
            }
            None => console::out(&format!("query {}: no whole checkpoint\n\n", plain(query)))?,
        }
    }
    Ok(())
}

/// Returns a table of the sections of a checkpoint.
fn sections(query: &str, viewed: &Viewed) -> String {
    let mut text = format!("query {}, checkpoint {}", plain(query), viewed.number);
    if let Some(manifest) = &viewed.manifest {
        let sections = counted(manifest.sections.len(), "section", "sections");
        text += &format!(": {} bytes in {sections}", show::count(manifest.bytes()));
        if manifest.is_last {
            text += "; the query has finished";
        }
    }
    text.push('\n');
    if let Some(fault) = &viewed.fault {
        text += &format!("  {}\n", plain(fault));
    }
    let Some(manifest) = &viewed.manifest else { return text + "\n" };
    text += &format!("{:>20} {:>12} {:>12}  task\n", "state", "prepared", "written by");
    for section in &manifest.sections {
        let state = show::count(block_bytes(section.state.as_ref()));
        let prepared = show::count(block_bytes(section.prepared.as_ref()));
        let file = section.state.or(section.prepared).map_or("-".to_owned(), |block| block.file.to_string());
        let ended = if section.has_ended { " (ended)" } else { "" };
        text += &format!("{state:>20} {prepared:>12} {file:>12}  {}{ended}\n", plain(&section.task));
        if !section.operators.is_empty() {
            text += &format!("    operators: {}\n", plain(&section.operators.join(", ")));
        }
    }
    text + "\n"
}

/// Returns a number with the noun that it counts.
fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns text from a file without characters that would steer a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
