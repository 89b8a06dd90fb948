//! The rule that doc comments open with a verb or a noun of the field, and that no comment calls a thing by
//! the pronoun [`PRONOUN`].
//!
//! A comment that opens with What, Who, Of or Those can be understood only with the code in view, because it has no
//! subject. The rule of [`glossary`](super::glossary) refuses words that left the glossary.

use super::Finding;
use super::rust_text::RustText;
use super::tree::Tree;

/// Beginnings of the paths of files whose comments are not revised yet and not checked.
const PENDING: [&str; 2] = ["crates/sql/src/bind.rs", "crates/sql/src/bind/"];

/// Refused openings of doc comments, each a sequence of whole words.
const REFUSED: [&str; 8] = ["What", "Whoever", "Who", "Of", "Those", "That of", "Whether it", "The same"];

/// The pronoun for persons that comments must not use for things.
const PRONOUN: &str = "whoever";

/// Returns a finding for each doc comment with a refused opening, and for each comment with the pronoun.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _, rust) in tree.rust_files() {
        if !PENDING.iter().any(|pending| path.starts_with(pending)) {
            findings.extend(of_comments(path, rust));
        }
    }
    findings
}

fn of_comments(path: &str, rust: &RustText) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut last_marker = None;
    for (number, line) in (1..).zip(rust.comments.lines()) {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker));
        let opening = marker
            .filter(|_| marker != last_marker)
            .and_then(|marker| refused_opening(&line[marker.len()..]));
        if let Some(opening) = opening {
            let message = format!(
                "a doc comment opens with `{opening}`: open with a verb or a noun that names the subject, \
                 such as `Returns ..` or `Bytes of ..`"
            );
            findings.push(Finding::new(path, number, message));
        }
        if line.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(PRONOUN)) {
            let message = "`whoever` stands for a thing: name it, a task, a worker, a reader";
            findings.push(Finding::new(path, number, message));
        }
        last_marker = marker;
    }
    findings
}

/// Returns the refused words with which the text of a doc comment opens; `None` if it opens with others.
fn refused_opening(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    let is_opening = |words: &&&str| {
        text.strip_prefix(**words)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    REFUSED.iter().find(is_opening).copied()
}

#[cfg(test)]
mod tests;
