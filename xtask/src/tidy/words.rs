//! The rule for refused words: marks of unfinished work, printing and exiting in libraries, and paths that
//! exist on one machine only.

use super::Finding;
use super::modules::{Reach, reached_files};
use super::rust_text::{RustText, is_name_char, line_of, word_offsets};
use super::tree::{Place, Tree};

/// Directories that exist on one machine only. Each is written in two halves, so that this file passes its
/// own rule.
const MACHINE_PATHS: [&str; 3] = [concat!("/", "work/"), concat!("/", "home/"), concat!("/", "root/")];

/// Names of macros for unfinished work, which are refused.
const DESK_MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];

/// Macros that write to the standard streams, which belong to the program and not to its libraries.
const PRINT_MACROS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

/// Returns a finding for each word that the rule refuses.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        // In Rust files, marks of unfinished work are looked for in comments only. In a string they are data.
        let prose = tree.rust(path).map_or(text, |rust| &rust.comments);
        findings.extend(open_marks(path, prose));
        findings.extend(machine_paths(path, text));
    }
    let reached = reached_files(tree);
    for (path, place, rust) in tree.rust_files() {
        if place.is_in_room() && place.part == "src" {
            findings.extend(desk_macros(path, rust));
            if reached.get(path) != Some(&Reach::TestOnly) {
                findings.extend(prints_and_exits(path, place, rust));
            }
        }
    }
    findings
}

/// Returns a finding for each mark of unfinished work without an issue number. Marks in backticks are quoted
/// and allowed.
fn open_marks(path: &str, prose: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in prose.lines().enumerate() {
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        if word_offsets(&line, "TODO").any(|offset| !has_issue_number(&line[offset + "TODO".len()..])) {
            let message = "a `TODO` carries the number of its issue, `TODO(#12)`: open one, or do it now";
            findings.push(Finding::new(path, index + 1, message));
        }
        if word_offsets(&line, "FIXME").next().is_some() {
            let message =
                "a `FIXME` is for your own branch: fix it, or turn it into an issue and a `TODO(#12)`";
            findings.push(Finding::new(path, index + 1, message));
        }
    }
    findings
}

fn has_issue_number(rest: &str) -> bool {
    let number = rest.strip_prefix("(#").and_then(|rest| rest.split_once(')')).map_or("", |it| it.0);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// Returns a finding for each absolute path below [`MACHINE_PATHS`]. The end of a longer path such as
/// `docs/home/` is not one.
fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for directory in MACHINE_PATHS {
        for (offset, _) in text.match_indices(directory) {
            let before = text[..offset].chars().next_back();
            if !before.is_some_and(|c| is_name_char(c) || ".-~*})>".contains(c)) {
                let message =
                    format!("{directory} exists on one machine only: write a path relative to the tree");
                findings.push(Finding::new(path, line_of(text, offset), message));
            }
        }
    }
    findings
}

fn desk_macros(path: &str, rust: &RustText) -> Vec<Finding> {
    let uses = DESK_MACROS.iter().flat_map(|name| macro_uses(rust, name).map(move |offset| (name, offset)));
    uses.map(|(name, offset)| {
        let message = format!("`{name}!` is for your own desk: remove it");
        Finding::new(path, rust.line_of(offset), message)
    })
    .collect()
}

/// Returns a finding for each use of printing and exiting outside of tests, in every room but cli. The room
/// testkit may print, because it is a library for tests.
fn prints_and_exits(path: &str, place: Place<'_>, rust: &RustText) -> Vec<Finding> {
    if place.package == "crates/cli" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if place.package != "crates/testkit" {
        for name in PRINT_MACROS {
            for offset in macro_uses(rust, name).filter(|offset| !rust.is_test(*offset)) {
                let message =
                    format!("`{name}!` in a library: return the text, or report it to whoever called");
                findings.push(Finding::new(path, rust.line_of(offset), message));
            }
        }
    }
    for (offset, _) in rust.code.match_indices("process::exit").filter(|(offset, _)| !rust.is_test(*offset)) {
        let message = "`process::exit` in a library: return an error, and let the program decide";
        findings.push(Finding::new(path, rust.line_of(offset), message));
    }
    findings
}

/// Returns the offsets in a Rust file at which the macro `name` is used.
fn macro_uses<'a>(rust: &'a RustText, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    word_offsets(&rust.code, name).filter(|offset| {
        let rest = &rust.code[offset + name.len()..];
        rest.starts_with('!') && !rest.starts_with("!=")
    })
}

#[cfg(test)]
mod tests;
