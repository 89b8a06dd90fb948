//! The rule that a panic outside of tests says which invariant was broken. There is no bare `unwrap()`, and
//! every `expect`, `panic!` and `unreachable!` has a message of some words.
//!
//! A condition that data, options or the machine can cause is an error and no panic. Only a defect of the program
//! reaches a panic, and the report of the defect begins with its message. The rule holds for the sources of every
//! package. It counts words; a review decides whether they name the right invariant.

use super::Finding;
use super::modules::{Reach, reached_files};
use super::rust_text::{RustText, closing_offset, word_offsets};
use super::tree::Tree;

/// Least number of words of a message that names an invariant: a subject, a verb and a predicate.
const MESSAGE_WORDS_MIN: usize = 4;

/// Names of calls that panic without a message.
const MUTE_CALLS: [&str; 2] = ["unwrap", "unwrap_err"];

/// Calls and macros whose first argument is the message of the panic, each with the text that follows its
/// name.
const SPEAKING: [(&str, &str); 4] =
    [("expect", "("), ("expect_err", "("), ("panic", "!("), ("unreachable", "!(")];

/// Returns a finding for each panic without a reason in its message.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let reached = reached_files(tree);
    let mut findings = Vec::new();
    for (path, place, rust) in tree.rust_files() {
        if place.part == "src" && reached.get(path) != Some(&Reach::TestOnly) {
            findings.extend(mute_calls(path, rust));
            findings.extend(short_reasons(path, rust));
        }
    }
    findings
}

fn mute_calls(path: &str, rust: &RustText) -> Vec<Finding> {
    let calls = MUTE_CALLS.iter().flat_map(|name| uses(rust, name, "(").map(move |offset| (name, offset)));
    calls
        .filter(|(_, offset)| rust.code[..*offset].trim_end().ends_with('.'))
        .map(|(name, offset)| {
            let message = format!(
                "`{name}()` panics without a reason: return an error, or say by `expect` which invariant holds"
            );
            Finding::new(path, rust.line_of(offset), message)
        })
        .collect()
}

fn short_reasons(path: &str, rust: &RustText) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, opening) in SPEAKING {
        let is_call = opening == "(";
        for offset in uses(rust, name, opening) {
            if is_call && !rust.code[..offset].trim_end().ends_with('.') {
                continue;
            }
            let open = offset + name.len() + opening.len() - 1;
            let Some(reason) = reason(rust, open) else { continue };
            let words = reason.split_whitespace().count();
            if words < MESSAGE_WORDS_MIN {
                let message = format!(
                    "the reason of `{name}` has {words} words, at least {MESSAGE_WORDS_MIN} name an invariant: \
                     say what holds and why, or return an error"
                );
                findings.push(Finding::new(path, rust.line_of(offset), message));
            }
        }
    }
    findings
}

/// Returns the offsets at which a call or macro is used outside of tests.
fn uses<'a>(rust: &'a RustText, name: &'a str, opening: &'a str) -> impl Iterator<Item = usize> + 'a {
    word_offsets(&rust.code, name)
        .filter(move |offset| rust.code[offset + name.len()..].starts_with(opening) && !rust.is_test(*offset))
}

/// Returns the arguments of the call whose bracket is at `open`, as text; empty if there is no argument.
/// Returns `None` if the first argument is not a literal: then it is another function of the same name, or
/// the message is made elsewhere.
fn reason(rust: &RustText, open: usize) -> Option<&str> {
    let end = closing_offset(&rust.code, open).saturating_sub(1).max(open + 1);
    let arguments = rust.code[open + 1..end].trim_start();
    if arguments.is_empty() {
        return Some("");
    }
    let begin = end - arguments.len();
    let opening = arguments.find('"')?;
    // Only the marks of a raw string may come before the quote of a literal.
    if !arguments[..opening].chars().all(|c| c == 'r' || c == '#') {
        return None;
    }
    let behind = opening + 1 + arguments[opening + 1..].find('"')?;
    Some(&rust.text[begin + opening + 1..begin + behind])
}

#[cfg(test)]
mod tests;
