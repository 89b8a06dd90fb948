//! `cargo xtask tidy`: the rules of the tree that a machine can check, so that no review has to.
//!
//! Each rule is one module with one function from the tree to its findings. No rule reads the disk, so the tests pass
//! trees of a few lines, and show that each rule can fail.
//!
//! - [`tree`], [`rust_text`], [`modules`], [`manifest`], [`markdown`]: the input of the rules, namely files, Rust text
//!   without comments, declarations of modules, lines of dependencies, links and headings;
//! - [`arrows`], [`outside`]: the rooms and outside packages on which a room may depend;
//! - [`heads`], [`dead_files`], [`size`]: every file opens with prose, is compiled, and is not too long;
//! - [`openings`]: doc comments name their subject;
//! - [`unsafety`], [`atomics`]: unsafe code and atomics stay in memory, and a comment at every unsafe use
//!   argues why it is sound;
//! - [`cards`]: every operator opens with its card, and the manual's page agrees with the cards;
//! - [`words`]: refuses open marks, printing in libraries, and paths of one machine;
//! - [`glossary`]: refuses words that left the glossary;
//! - [`clones`]: lists equal code in two places, and bounds the number of such places;
//! - [`panics`]: a panic outside of tests says which invariant was broken;
//! - [`links`]: targets of Markdown links exist.
//!
//! The rules read text. They catch mistakes, and do not withstand somebody who wants to avoid them.

mod arrows;
mod atomics;
mod cards;
mod clones;
mod dead_files;
mod glossary;
mod heads;
mod links;
mod manifest;
mod markdown;
mod modules;
mod openings;
mod outside;
mod panics;
mod rust_text;
mod size;
mod tree;
mod unsafety;
mod words;

use std::fmt;
use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use tree::Tree;

/// A violation of a rule that tidy has found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Path of the file with the violation, relative to the root of the workspace.
    path: String,
    /// Number of the line, counted from 1.
    line: usize,
    /// Description of the violation, and how to correct it.
    message: String,
}

/// Reads the workspace of xtask and checks it by all rules.
///
/// # Errors
///
/// When there is a finding, or the tree cannot be read.
pub(crate) fn run() -> Result<()> {
    check(&Workspace::open()?)
}

/// Prints the runs of equal lines in the rooms to standard output.
///
/// # Errors
///
/// When the tree cannot be read or the list cannot be written.
pub(crate) fn list_clones() -> Result<()> {
    let tree = Tree::read(&Workspace::open()?.root)?;
    io::stdout().write_all(clones::list(&tree).as_bytes()).context("could not write the list of equal runs")
}

/// Writes the pages of the manual that are generated from the tree.
///
/// # Errors
///
/// When the tree cannot be read or a page cannot be written.
pub(crate) fn write_docs() -> Result<()> {
    let workspace = Workspace::open()?;
    let tree = Tree::read(&workspace.root)?;
    fs::write(workspace.root.join(cards::PAGE), cards::page(&tree))
        .with_context(|| format!("could not write {}", cards::PAGE))
}

/// Prints every finding in the tree of `workspace` to standard output. If there is none, says so on standard error.
///
/// # Errors
///
/// When there is a finding, or the tree cannot be read.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = Tree::read(&workspace.root)?;
    let mut findings = [
        arrows::findings(&workspace.packages, &tree),
        outside::findings(&workspace.packages, &tree),
        heads::findings(&tree),
        openings::findings(&tree),
        dead_files::findings(&tree),
        size::findings(&tree),
        unsafety::findings(&tree),
        atomics::findings(&tree),
        cards::findings(&tree),
        words::findings(&tree),
        glossary::findings(&tree),
        links::findings(&tree),
        panics::findings(&tree),
        clones::findings(&tree),
    ]
    .concat();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            eprintln!("no findings in {} files", tree.paths().count());
            Ok(())
        }
        1 => bail!("1 finding; after mending it: cargo xtask tidy"),
        count => bail!("{count} findings; after mending them: cargo xtask tidy"),
    }
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, message } = self;
        write!(f, "{path}:{line}: {message}")
    }
}

/// Fails unless `findings` are the expected ones, in any order. Each expectation is `path:line: words`, where
/// the words are a part of the message.
#[cfg(test)]
#[track_caller]
fn assert_findings(mut findings: Vec<Finding>, expected: &[&str]) {
    findings.sort();
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        let (place, words) = expected.split_once(": ").expect("an expectation is `path:line: words`");
        assert!(line.starts_with(&format!("{place}: ")) && line.contains(words), "{line}\nlacks {expected}");
    }
}
