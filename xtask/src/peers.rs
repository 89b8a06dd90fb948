//! `cargo xtask peers`: the engine beside other engines, with equal questions over equal data, in one table.
//!
//! Machines drift, so everything runs interleaved: a round asks every program every question once, on one thread and on two. Medians over
//! the rounds count, and ratios are medians of the ratios within a round. Each answer is compared with ours. An answer that differs
//! ends the command.
//!
//! | peer | where it lies | questions |
//! |---|---|---|
//! | `duckdb`, `polars` | `bench/peers/python`, in a virtual environment below the target directory | all but `ysb-portable` |
//! | `timely`, `renoir` | `bench/peers/rust`, a workspace of its own | `ysb` |
//! | `flink` | [`services`](crate::services) | `ysb-portable`, `csv`, `json` |
//!
//! The modules, in the order in which a newcomer should read them:
//!
//! - [`question`]: the questions, and their sizes;
//! - [`side`]: who is asked which question, and in which form;
//! - [`data`]: tables and files, made once for all programs;
//! - [`install`]: pinned versions, and how a peer gets onto the machine;
//! - [`ask`]: one run of one program; [`flink`] for the one that is a service;
//! - [`answer`]: answers, and whether they are equal;
//! - [`table`]: medians and ratios, as Markdown and as JSON.

mod answer;
mod ask;
mod data;
mod flink;
mod install;
mod question;
mod side;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::engines::{program, whole};
use crate::workspace::Workspace;
use answer::Answer;
use ask::Asker;
use question::{Question, Sizes};
use side::{Peer, Side};
use table::{Measured, Table};

/// Default of the number of rounds.
const ROUNDS: u32 = 3;
/// Most rounds.
const ROUNDS_MAX: u32 = 100;
/// Default of the size of each file, in MB.
const MEGABYTES: u32 = 200;
/// Greatest size of a file, in MB.
const MEGABYTES_MAX: u32 = 10_000;
/// Default of the rows of each table in memory, as a percentage.
const PERCENT: u32 = 100;
/// Largest tables in memory, as a percentage of the usual ones.
const PERCENT_MAX: u32 = 1_000;
/// Numbers of threads with which each program runs.
const THREADS: [u32; 2] = [1, 2];

/// The text of `cargo xtask peers --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask peers PEER.. [--only QUESTION].. [--rounds N] [--megabytes M] [--percent P] [--json FILE] [--install]

Asks the engine and its peers equal questions over equal data, on one thread and on two, interleaved in the same rounds, and writes one
table: medians of the rounds, and how many times as fast as each peer the engine is. An answer that differs from ours is an error.

peers:
  duckdb, polars   in memory and over files, as batches
  timely, renoir   the Yahoo streaming benchmark
  flink            ysb-portable, csv and json, in the same SQL; starts a Flink, which takes half a minute

questions (--only may be repeated; `group` and `files` stand for three each):
  ysb              Yahoo's streaming benchmark over 21 M events in memory; also by hand-written loops of `thalweg bench`
  ysb-portable     the same over 4 M events that are computed from their numbers, in SQL that Flink runs unchanged
  group-10k, group-1m, group-10m
                   10 M rows by that many keys, in memory, with final rows
  csv, json, parquet
                   one file, counted in windows of 10 s
  join             two tables of a million keys, in memory

options:
  --rounds N       rounds of measurement (3)
  --megabytes M    size of each file, about (200)
  --percent P      rows of the tables in memory, of the above (100)
  --json FILE      writes all figures into FILE
  --install        first installs the named peers: a virtual environment of Python by pip, programs in Rust by cargo

Data and programs lie in `peers` below the target directory, and are made once. The data are those of `thalweg run`'s generators, whose seed
is 1. The engine is the program that THALWEG_PROGRAM names, or target/release/thalweg; ysb also needs thalweg-bench beside it:
cargo build --release -p thalweg-cli -p thalweg-bench
";

/// A command line of `peers`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    peers: Vec<Peer>,
    questions: Vec<Question>,
    rounds: u32,
    sizes: Sizes,
    json: Option<PathBuf>,
    installs: bool,
}

/// Reads the command line of `peers`.
///
/// # Errors
///
/// Returns a message that shows the word that is wrong, and the words that are allowed in its place.
pub(crate) fn planned(words: &[&str]) -> Result<Plan, String> {
    let sizes = Sizes { megabytes: MEGABYTES, percent: PERCENT };
    let mut plan =
        Plan { peers: Vec::new(), questions: Vec::new(), rounds: ROUNDS, sizes, json: None, installs: false };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("{word} needs a value"));
        match word {
            "--install" => plan.installs = true,
            "--only" => {
                let name = value()?;
                let chosen = Question::named(name);
                if chosen.is_empty() {
                    return Err(unknown("question", name, &Question::names()));
                }
                plan.questions.extend(chosen);
            }
            "--rounds" => plan.rounds = whole(word, value()?, 1, ROUNDS_MAX)?,
            "--megabytes" => plan.sizes.megabytes = whole(word, value()?, 1, MEGABYTES_MAX)?,
            "--percent" => plan.sizes.percent = whole(word, value()?, 1, PERCENT_MAX)?,
            "--json" => plan.json = Some(value()?.into()),
            option if option.starts_with('-') => {
                let known =
                    ["--only", "--rounds", "--megabytes", "--percent", "--json", "--install", "--help"];
                return Err(unknown("option", option, &known));
            }
            name => match Peer::named(name) {
                Some(peer) if !plan.peers.contains(&peer) => plan.peers.push(peer),
                Some(_) => {}
                None => return Err(unknown("peer", name, &Peer::ALL.map(Peer::name))),
            },
        }
    }
    if plan.peers.is_empty() {
        return Err(format!("peers needs a peer: {}", Peer::ALL.map(Peer::name).join(", ")));
    }
    let is_chosen = |question: &Question| plan.questions.is_empty() || plan.questions.contains(question);
    let is_answered = |question: &Question| plan.peers.iter().any(|peer| peer.answers(*question));
    let questions: Vec<Question> = Question::ALL.into_iter().filter(is_chosen).filter(is_answered).collect();
    if questions.is_empty() {
        return Err(
            "none of these peers is asked one of these questions; `peers --help` says who is asked what"
                .to_owned(),
        );
    }
    Ok(Plan { questions, ..plan })
}

/// Returns the message for an unknown word: the nearest known one, if one is near, and all of them.
fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|name| distance(word, name));
    let hint = nearest
        .filter(|name| distance(word, name) <= 2)
        .map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!("unknown {what} `{word}`: {hint}choose from {}", known.join(", "))
}

/// Returns the number of characters to insert, delete or change which turns one word into the other.
///
/// Source: Wagner and Fischer, "The String-to-String Correction Problem", JACM 21(1), 1974.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (above, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (place, r) in right.chars().enumerate() {
            let changed = diagonal + usize::from(l != r);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[right.chars().count()]
}

/// Installs what is to be installed, makes the data, asks all, and prints the table.
///
/// # Errors
///
/// A peer that is not installed, a run that fails, or an answer that differs from ours.
pub(crate) fn run(plan: &Plan) -> Result<()> {
    let workspace = Workspace::open()?;
    let folder = workspace.target_directory.join("peers");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let program = program(&workspace)?;
    if plan.questions.contains(&Question::Ysb) && !program.with_file_name("thalweg-bench").is_file() {
        bail!(
            "ysb needs thalweg-bench beside {}: build it by `cargo build --release -p thalweg-bench`, or leave ysb out by --only",
            program.display()
        );
    }
    let versions = install::checked(&workspace.root, &folder, &plan.peers, plan.installs)?;
    let data = data::made(&workspace.root, &folder.join("data"), &program, plan)?;
    let mut asker = Asker::new(&workspace.root, &folder, program, data)?;
    if plan.peers.contains(&Peer::Flink) {
        asker.start_flink()?;
    }
    let sides = plan.questions.iter().flat_map(|question| side::of(*question, &plan.peers));
    let mut measured: Vec<Measured> = sides.map(Measured::new).collect();
    let mut expected: Vec<(Question, Answer)> = Vec::new();
    for round in 1..=plan.rounds {
        for Measured { side, figures } in &mut measured {
            for (threads, figures) in THREADS.into_iter().zip(figures) {
                eprintln!(
                    "round {round} of {}: {}, {}, {threads} threads",
                    plan.rounds,
                    side.question.name(),
                    side.title()
                );
                let found = asker.asked(*side, threads)?;
                check(*side, &found, &mut expected)
                    .with_context(|| format!("{} on {threads} threads", side.title()))?;
                figures.push(asker.speed(*side, &found)?);
            }
        }
    }
    asker.note_success();
    let table = Table { measured, versions, plan };
    print!("{}", table.markdown());
    if let Some(file) = &plan.json {
        fs::write(file, format!("{:#}\n", table.json()))
            .with_context(|| format!("could not write {}", file.display()))?;
    }
    Ok(())
}

/// Compares an answer with our first answer to the same question, which comes before those of others.
fn check(side: Side, found: &Answer, expected: &mut Vec<(Question, Answer)>) -> Result<()> {
    // `thalweg bench` runs for a time and has compared its results with an oracle, or rows were only read.
    if found.rows.is_empty() {
        return Ok(());
    }
    match expected.iter().find(|(question, _)| *question == side.question) {
        Some((_, first)) => first.check(found),
        None => {
            expected.push((side.question, found.clone()));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
