//! `thalweg test`: queries whose input and rows are written in files, run in virtual time.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use thalweg_sql::cases::{Cases, Manner, Verdict};

use super::script;
use crate::console;

/// Which files.
#[derive(Args)]
pub struct TestArgs {
    /// Directories, which are searched for files `*.test.sql`, or such files.
    #[arg(value_name = "DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Only queries whose name has this in it.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Workers that share an operator; results do not depend on it.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
}

/// Runs them; `false` if a query has other rows than are written.
pub fn run(args: &TestArgs) -> Result<bool> {
    let mut files = Vec::new();
    for path in &args.paths {
        find(path, &mut files)?;
    }
    files.sort();
    // A file may be named, and its directory as well, by another path.
    let mut known = HashSet::new();
    files.retain(|file| known.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())));
    if files.is_empty() {
        return Err(anyhow!("there is no file *.test.sql in what was named"));
    }
    let manner = Manner { workers: args.workers.into(), ..Manner::default() };
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(&file).with_context(|| format!("{name}"))?;
        let cases = Cases::parse(script::without_mark(&text)).map_err(|error| anyhow!("{name}: {error}"))?;
        for case in cases.cases.iter().filter(|case| case.name.contains(&args.only)) {
            match cases.run(case, manner) {
                Verdict::Passed => passed += 1,
                Verdict::Failed(why) => {
                    failed += 1;
                    console::out(&format!("FAILED {name}:{}: {}\n  {why}\n", case.line, case.name))?;
                }
            }
        }
    }
    if passed + failed == 0 {
        return Err(anyhow!("no query is called `{}`, so nothing was tested", args.only));
    }
    console::out(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(failed == 0)
}

/// A file, or all such files in a directory and those in it.
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
        } else if path.to_string_lossy().ends_with(".test.sql") {
            files.push(path);
        }
    }
    Ok(())
}
