//! `cargo xtask e2e`: our answers beside those of another engine that runs.
//!
//! `e2e flink` sends every query of `crates/sql/tests/queries` to a running Flink with the same input. It compares the
//! answers with the rows that the files expect, and writes them into `crates/sql/tests/flink`. A test of `thalweg-sql`
//! compares these files with our answers, so every test run compares us with Flink without starting it. Then
//! `thalweg steer flink` steers the threads of the same Flink; `e2e flink steer` does that alone. `e2e storm` and `e2e storm1`
//! start a Storm and steer its threads.
//!
//! - [`cases`]: the files of queries, as far as another engine needs them;
//! - [`gateway`]: sessions and statements of Flink's SQL gateway;
//! - [`changes`]: tables of changes, as Flink reads them;
//! - [`answers`]: answers and their files;
//! - [`compare`]: compares answers with expectations, and reads the list of known differences;
//! - [`steer`]: steers the threads of an engine.

mod answers;
mod cases;
mod changes;
mod compare;
pub(crate) mod gateway;
mod steer;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::services::fetch;
use crate::services::flink::{Flink, SLOTS};
use crate::services::http::Client;
use crate::services::processes::Lifetime;
use crate::services::storm::Release;
use crate::workspace::Workspace;
pub(crate) use answers::{Answer, left_over};
use cases::CaseFile;
use compare::{Differences, Verdict};
use gateway::Session;

/// Folder of the files with SQL queries.
const QUERIES: &str = "crates/sql/tests/queries";
/// Folder of the files with Flink's answers.
const ANSWERS: &str = "crates/sql/tests/flink";
/// Number of query files that are sent to Flink at a time. A higher number does not help, because planning a
/// query keeps a core busy.
const SESSIONS: usize = if SLOTS < 4 { SLOTS } else { 4 };

/// A command of `cargo xtask e2e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan<'a> {
    /// Sends queries to Flink: those of the files whose names contain one of these words, or of all files without a word. Then
    /// steering is tried as well.
    Ask(&'a [&'a str]),
    /// Steers the threads of a Flink.
    SteerFlink,
    /// Steers the threads of a Storm.
    SteerStorm(Release),
}

/// Reads the words of the command line behind `e2e`.
///
/// # Errors
///
/// A message that shows the unknown word and the known ones.
pub(crate) fn planned<'a>(words: &'a [&'a str]) -> Result<Plan<'a>, String> {
    match words {
        ["flink", "steer"] => Ok(Plan::SteerFlink),
        ["flink", files @ ..] => Ok(Plan::Ask(files)),
        ["storm"] => Ok(Plan::SteerStorm(Release::Two)),
        ["storm1"] => Ok(Plan::SteerStorm(Release::One)),
        ["storm" | "storm1", words @ ..] => Err(format!("e2e storm takes no `{}`", words.join(" "))),
        [other, ..] => Err(format!("unknown engine `{other}`: choose from flink, storm, storm1")),
        [] => Err("e2e needs an engine: flink, storm or storm1".to_owned()),
    }
}

/// Runs a command.
///
/// # Errors
///
/// An engine that does not start, an answer that is not as expected, or steering that does not do as it says.
pub(crate) fn run(plan: Plan<'_>) -> Result<()> {
    match plan {
        Plan::Ask(chosen) => ask(chosen),
        Plan::SteerFlink => steer_flink(),
        Plan::SteerStorm(release) => steer::storm::run(release),
    }
}

/// Sends the queries of the chosen files to Flink, compares its answers with the expected rows, and writes
/// the answers.
fn ask(chosen: &[&str]) -> Result<()> {
    let workspace = Workspace::open()?;
    let begin = Instant::now();
    let files = read_files(&workspace.root.join(QUERIES), chosen)?;
    let answers_folder = workspace.root.join(ANSWERS);
    fs::create_dir_all(&answers_folder)?;
    let list = answers_folder.join("differences.txt");
    let text = fs::read_to_string(&list).with_context(|| format!("could not read {}", list.display()))?;
    let differences = Differences::parse(&text).map_err(|error| anyhow!("{}: {error}", list.display()))?;

    let directory = fetch::cache()?.join(format!("run-e2e-{}", process::id()));
    let flink = Flink::start(&directory, Lifetime::WithUs)?;
    eprintln!("flink runs after {:.0} s", begin.elapsed().as_secs_f64());
    let answered = ask_all(&files, &flink.gateway(), &directory.join("input"));
    // All queries have ended, so the threads that are steered are those of one query.
    let steer = || steer::flink::check(&flink, &steer::program(&workspace)?, &directory);
    let steered = if chosen.is_empty() { steer() } else { Ok(()) };
    drop(flink);
    let answered = answered.with_context(|| format!("the logs of flink are in {}", directory.display()))?;
    if steered.is_ok() {
        let _ = fs::remove_dir_all(&directory);
    }

    for file in &files {
        let path = answers_folder.join(format!("{}.answers", file.name));
        fs::write(&path, answers::written(file, &answered[&file.name]))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    report(&files, &answered, &differences, chosen.is_empty())?;
    steered.with_context(|| format!("the logs of flink are in {}", directory.display()))?;
    eprintln!("all was asked within {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Steers the threads of a Flink that is asked no queries.
fn steer_flink() -> Result<()> {
    let program = steer::program(&Workspace::open()?)?;
    let directory = fetch::cache()?.join(format!("run-e2e-{}", process::id()));
    let flink = Flink::start(&directory, Lifetime::WithUs)?;
    let steered = steer::flink::check(&flink, &program, &directory);
    drop(flink);
    steered.with_context(|| format!("the logs of flink are in {}", directory.display()))?;
    let _ = fs::remove_dir_all(&directory);
    Ok(())
}

fn read_files(folder: &Path, chosen: &[&str]) -> Result<Vec<CaseFile>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("could not read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".test.sql") else { continue };
        if !chosen.is_empty() && !chosen.iter().any(|part| name.contains(part)) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let file = CaseFile::parse(name, &text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        files.push(file);
    }
    if files.is_empty() {
        bail!("no file of {QUERIES} is called so: {}", chosen.join(", "));
    }
    Ok(files)
}

/// The answers to the queries of each file, in the order of its cases.
type Answered = BTreeMap<String, Vec<Answer>>;

/// Sends the queries of all files to Flink, several files at a time.
fn ask_all(files: &[CaseFile], client: &Client, inputs: &Path) -> Result<Answered> {
    // The longest file is sent first, so that no thread works on it alone at the end.
    let mut sorted: Vec<&CaseFile> = files.iter().collect();
    sorted.sort_by_key(|file| file.cases.len());
    let waiting = Mutex::new(sorted.into_iter().rev().collect::<VecDeque<&CaseFile>>());
    let answered = Mutex::new(Answered::new());
    let next = || waiting.lock().ok()?.pop_front();
    let ask_some = || -> Result<()> {
        while let Some(file) = next() {
            let begin = Instant::now();
            let answers = ask_file(file, client, &inputs.join(&file.name)).inspect_err(|_| {
                // After a failure no more files are sent. Otherwise the other threads would run for minutes,
                // and their answers would be discarded.
                if let Ok(mut waiting) = waiting.lock() {
                    waiting.clear();
                }
            })?;
            eprintln!("{}: {} queries, {:.0} s", file.name, answers.len(), begin.elapsed().as_secs_f64());
            if let Ok(mut answered) = answered.lock() {
                answered.insert(file.name.clone(), answers);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..SESSIONS).map(|_| scope.spawn(ask_some)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| bail!("a thread that asked has panicked"))
        })
    })?;
    answered.into_inner().map_err(|_| anyhow!("a thread that asked has panicked"))
}

/// Sends the queries of one file to Flink, in a session of their own, and returns the answers.
fn ask_file(file: &CaseFile, client: &Client, inputs: &Path) -> Result<Vec<Answer>> {
    fs::create_dir_all(inputs).with_context(|| format!("could not make {}", inputs.display()))?;
    let session = Session::open(client)?;
    for statement in &file.statements {
        let sql = match cases::table_name(statement) {
            None => statement.clone(),
            Some(table) => {
                let path = inputs.join(format!("{table}.csv"));
                if let Some(declaration) = changes::declaration(statement) {
                    let records = changes::records(declaration, &file.fields(&table));
                    let records = records.map_err(|reason| anyhow!("{}: {table}: {reason}", file.name))?;
                    fs::write(&path, records)?;
                    cases::with_connector(declaration, &changes::connector(&path))
                } else {
                    fs::write(&path, file.input(&table))?;
                    cases::with_connector(statement, &cases::connector(&path))
                }
            }
        };
        session.set_up(&sql).with_context(|| format!("{}: the setup", file.name))?;
    }
    let mut answers = Vec::new();
    let mut settings_done = 0;
    for case in &file.cases {
        for setting in &case.settings[settings_done..] {
            session.set_up(setting).with_context(|| format!("{}: {}", file.name, case.name))?;
        }
        settings_done = case.settings.len();
        let answer = session.ask(&case.query).with_context(|| format!("{}: {}", file.name, case.name))?;
        answers.push(answer);
    }
    session.close()?;
    Ok(answers)
}

/// Prints every case whose answer is not as expected, then the number of cases of each verdict.
///
/// # Errors
///
/// If a case differs from Flink and is not in the list of known differences, or if the list names a case that
/// agrees or does not exist.
fn report(files: &[CaseFile], answered: &Answered, differences: &Differences, is_all: bool) -> Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = 0;
    for file in files {
        for (case, answer) in file.cases.iter().zip(&answered[&file.name]) {
            let verdict = differences.judge(file, case, answer);
            *counts.entry(verdict.word()).or_default() += 1;
            let place = format!("{}:{}: {}", file.name, case.line, case.name);
            match verdict {
                Verdict::Agrees => {}
                Verdict::OursAlone(why) => println!("not compared: {place}: {why}"),
                Verdict::Listed(reason) => println!("listed: {place}: {reason}"),
                Verdict::Differs(how) => {
                    wrong += 1;
                    println!("DIFFERS: {place}\n{how}");
                }
                Verdict::ListedInVain => {
                    wrong += 1;
                    println!("LISTED IN VAIN: {place}: flink agrees; take the line out of differences.txt");
                }
            }
        }
    }
    if is_all {
        for (file, case) in differences.unknown(files) {
            wrong += 1;
            println!("LISTED, AND NOT THERE: {file}: {case}");
        }
    }
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    println!("{}", counts.join(", "));
    if wrong > 0 {
        bail!(
            "{wrong} cases: mend what is ours, or name the case with its reason in {ANSWERS}/differences.txt"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_an_engine_and_files() {
        assert_eq!(planned(&["flink", "tumble", "hop"]), Ok(Plan::Ask(&["tumble", "hop"])));
        assert_eq!(planned(&["flink"]), Ok(Plan::Ask(&[])));
        assert_eq!(planned(&["flink", "steer"]), Ok(Plan::SteerFlink));
        assert_eq!(planned(&["storm"]), Ok(Plan::SteerStorm(Release::Two)));
        assert_eq!(planned(&["storm1"]), Ok(Plan::SteerStorm(Release::One)));
        assert_eq!(planned(&["storm", "etl"]), Err("e2e storm takes no `etl`".to_owned()));
        let unknown = "unknown engine `moon`: choose from flink, storm, storm1";
        assert_eq!(planned(&["moon"]), Err(unknown.to_owned()));
        assert_eq!(planned(&[]), Err("e2e needs an engine: flink, storm or storm1".to_owned()));
    }
}
