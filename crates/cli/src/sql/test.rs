//! `thalweg test`: runs queries whose input and rows are written in files, in virtual time; and SQL files for
//! `thalweg run`, whose heads (the comment lines at their start) state the expected output.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use thalweg_cli::console;
use thalweg_sql::cases::head::{Head, Sums};
use thalweg_sql::cases::{Cases, Manner, Verdict};

use super::run::run_until_end;
use super::script::{self, Script};

/// Time after which `thalweg test` stops an SQL file whose tables have no test data of their own, so that the file
/// runs as it is written.
const SCRIPT_TIME_MAX: Duration = Duration::from_secs(600);

/// Options of `thalweg test`: the files to test, and how.
#[derive(Args)]
pub struct TestArgs {
    /// Files, or directories that are searched for files `*.test.sql`, and for SQL whose head says what is expected.
    #[arg(value_name = "DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Test only queries whose names contain this text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Number of workers that share an operator; results do not depend on it.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
}

/// Runs the files of `thalweg test`. Returns `false` if a query gives other rows than the expected ones.
pub fn run(args: &TestArgs) -> Result<bool> {
    let mut files = Vec::new();
    for path in &args.paths {
        find(path, &mut files)?;
    }
    files.sort();
    // A file may be named and also be found through its directory, by another path. It is tested once.
    let mut known = HashSet::new();
    files.retain(|file| known.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())));
    if files.is_empty() {
        return Err(anyhow!(
            "there is no file *.test.sql in what was named, and none of SQL with the word Expected in its head"
        ));
    }
    let mut found = Found::default();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let text = script::without_mark(&text);
        match Head::parse(text) {
            Some(head) if !is_cases(&file) => found.script(args, &file, text, head)?,
            _ => found.cases(args, &file, text)?,
        }
    }
    let Found { passed, failed } = found;
    if passed + failed == 0 {
        return Err(anyhow!("no query is called `{}`, so nothing was tested", args.only));
    }
    console::out(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(failed == 0)
}

/// Numbers of queries and SQL files that passed their test, or failed it.
#[derive(Default)]
struct Found {
    passed: usize,
    failed: usize,
}

impl Found {
    fn cases(&mut self, args: &TestArgs, file: &Path, text: &str) -> Result<()> {
        let name = file.display();
        let manner = Manner { workers: args.workers.into(), ..Manner::default() };
        let cases = Cases::parse(text).map_err(|error| anyhow!("{name}: {error}"))?;
        for case in cases.cases.iter().filter(|case| case.name.contains(&args.only)) {
            match cases.run(case, manner) {
                Verdict::Passed => self.passed += 1,
                Verdict::Failed(why) => self.fail(&format!("{name}:{}: {}", case.line, case.name), &why)?,
            }
        }
        Ok(())
    }

    /// Runs an SQL file as `thalweg run` does, and compares its output with the one expected in the head of
    /// the file, the comment lines at its start.
    fn script(&mut self, args: &TestArgs, file: &Path, text: &str, head: Result<Head, String>) -> Result<()> {
        let name = file.display().to_string();
        if !name.contains(&args.only) {
            return Ok(());
        }
        let head = match head {
            Ok(head) => head,
            Err(error) => return self.fail(&name, &error),
        };
        let shown = Compared(Arc::new(Mutex::new((head, Vec::new()))));
        let script = Script::of_file(name.clone(), text);
        let ran = run_until_end(&script, args.workers.into(), Box::new(shown.clone()), SCRIPT_TIME_MAX);
        match ran.map_err(|error| format!("{error:#}")).and_then(|sums| shown.end(sums)) {
            Ok(()) => self.passed += 1,
            Err(why) => self.fail(&name, &why)?,
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, why: &str) -> Result<()> {
        self.failed += 1;
        console::out(&format!("FAILED {what}\n  {why}\n"))
    }
}

/// A standard output whose lines are compared, as they come, with the expected ones in the head of a file
/// (the comment lines at its start). The last line may lack its line end.
#[derive(Clone)]
struct Compared(Arc<Mutex<(Head, Vec<u8>)>>);

impl Compared {
    fn end(&self, sums: Sums) -> Result<(), String> {
        let (mut head, rest) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !rest.is_empty() {
            head.line(&String::from_utf8_lossy(&rest));
        }
        head.end(sums)
    }
}

impl Write for Compared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (head, rest) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            rest.extend(piece);
            if let Some(line) = rest.strip_suffix(b"\n") {
                head.line(&String::from_utf8_lossy(line));
                rest.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a file has test cases, by its name.
fn is_cases(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".test.sql")
}

/// Returns whether a file is SQL whose head, the comment lines at its start, states the output that is
/// expected.
fn is_script(path: &Path) -> bool {
    // A file that is not valid text cannot be SQL.
    path.extension().is_some_and(|extension| extension == "sql")
        && fs::read_to_string(path).is_ok_and(|text| Head::parse(script::without_mark(&text)).is_some())
}

/// Collects a file, or all files with tests in a directory and its subdirectories.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let shown = path.display();
    if !path.is_dir() {
        if !path.exists() {
            return Err(anyhow!("{shown}: there is no such file or directory"));
        }
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| format!("{shown}"))? {
        let path = entry.with_context(|| format!("{shown}"))?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if is_cases(&path) || is_script(&path) {
            files.push(path);
        }
    }
    Ok(())
}
