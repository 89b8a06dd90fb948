//! The rule that `unsafe` occurs only in the room memory and in one module of steer, and that a comment at every use
//! there argues why it is sound.
//!
//! Elsewhere the compiler enforces the rule if the crate root forbids unsafe code, so this rule only looks for that
//! line. In memory and steer, clippy asks for the comments too. This rule also covers code that clippy does not compile: code
//! under `--cfg loom` and for other targets.

use super::Finding;
use super::modules::is_root;
use super::rust_text::{RustText, closing_offset, word_offsets};
use super::tree::Tree;

/// The only package that may use `unsafe` in all its files.
const UNSAFE_PACKAGE: &str = "crates/memory";

/// A package that may use `unsafe` in one file, and this file: system calls that no library wraps.
const ONE_UNSAFE_FILE: (&str, &str) = ("crates/steer", "crates/steer/src/system.rs");

/// Lints that the crate root of the package with unsafe code must deny.
const DENIED_LINTS: [&str; 2] = ["unsafe_op_in_unsafe_fn", "clippy::undocumented_unsafe_blocks"];

/// Returns a finding for each crate root that does not forbid or restrict unsafe code as the rule asks, and
/// for each piece of unsafe code without a `SAFETY` comment.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, place, rust) in tree.rust_files() {
        if place.package == UNSAFE_PACKAGE {
            if is_root(place) {
                findings.extend(missing_lints(path, rust));
            }
            findings.extend(unargued_uses(path, rust));
        } else if place.package == ONE_UNSAFE_FILE.0 {
            if is_root(place) && !inner_lints(rust, &["deny"]).contains(&"unsafe_code".to_owned()) {
                let message =
                    "the root of steer denies unsafe code outside of one module: add `#![deny(unsafe_code)]`";
                findings.push(Finding::new(path, 1, message));
            }
            findings.extend(unargued_uses(path, rust));
            if path != ONE_UNSAFE_FILE.1 {
                let uses = word_offsets(&rust.code, "unsafe").map(|offset| rust.line_of(offset));
                let message = format!("unsafe code of steer belongs to {}", ONE_UNSAFE_FILE.1);
                findings.extend(uses.map(|line| Finding::new(path, line, message.clone())));
            }
        } else if is_root(place) && !inner_lints(rust, &["forbid"]).contains(&"unsafe_code".to_owned()) {
            let message = "a crate root outside of memory says `#![forbid(unsafe_code)]`: add the line";
            findings.push(Finding::new(path, 1, message));
        }
    }
    findings
}

fn missing_lints(path: &str, rust: &RustText) -> Vec<Finding> {
    let denied = inner_lints(rust, &["deny", "forbid"]);
    DENIED_LINTS
        .iter()
        .filter(|lint| !denied.iter().any(|denied| denied == *lint))
        .map(|lint| {
            Finding::new(path, 1, format!("the root of memory denies `{lint}`: add `#![deny({lint})]`"))
        })
        .collect()
}

/// Returns the lints that inner attributes of a file set to one of `levels`.
fn inner_lints(rust: &RustText, levels: &[&str]) -> Vec<String> {
    let mut lints = Vec::new();
    for (offset, _) in rust.code.match_indices("#![") {
        let attribute = &rust.code[offset + 3..closing_offset(&rust.code, offset + 2) - 1];
        let Some((level, list)) = attribute.split_once('(') else { continue };
        if levels.contains(&level.trim()) {
            let names = list.trim_end().trim_end_matches(')').split(',');
            lints.extend(names.map(|name| name.split_whitespace().collect()));
        }
    }
    lints
}

fn unargued_uses(path: &str, rust: &RustText) -> Vec<Finding> {
    let lines: Vec<(&str, &str)> = rust.code.lines().zip(rust.comments.lines()).collect();
    word_offsets(&rust.code, "unsafe")
        .filter(|offset| {
            let rest = rust.code[offset + "unsafe".len()..].trim_start();
            rest.starts_with('{') || word_offsets(rest, "impl").next() == Some(0)
        })
        .map(|offset| rust.line_of(offset))
        .filter(|line| !is_argued(&lines[..line - 1]))
        .map(|line| {
            let message = "unsafe code without a `SAFETY:` comment directly above: name the invariants it \
                           needs and the line that established them";
            Finding::new(path, line, message)
        })
        .collect()
}

/// Returns whether `lines` (code and comments of each) end with a comment block that says `SAFETY:`. The first lines of
/// a statement that goes on behind `lines` may follow the block.
fn is_argued(lines: &[(&str, &str)]) -> bool {
    let is_comment = |(code, comment): &&(&str, &str)| code.trim().is_empty() && !comment.trim().is_empty();
    let is_unfinished = |(code, _): &&(&str, &str)| {
        let code = code.trim_end();
        !code.is_empty() && !code.ends_with([';', '{', '}', ','])
    };
    let statement_length = lines.iter().rev().take_while(is_unfinished).count();
    let above = &lines[..lines.len() - statement_length];
    above.iter().rev().take_while(is_comment).any(|(_, comment)| comment.contains("SAFETY:"))
}

#[cfg(test)]
mod tests;
