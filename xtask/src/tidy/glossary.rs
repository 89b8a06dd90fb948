//! Words that left the glossary do not come back.
//!
//! The table of words in CONTRIBUTING.md gives each thing one name, and lists in its last column the names which the thing
//! must not have. A word of [`RETIRED`] is refused in identifiers and comments of the rooms' sources, tests included.
//! Identifiers are cut at underscores, digits and capitals, and a word is refused as a whole part: `lane` is found in
//! `lane_count`, `LaneReader` and `LANES_MAX`, and not in `plane`. Strings are not read, because they may be a user's data.
//!
//! A word joins the list in the change that removes its last use. A word with a second meaning, as lanes have in Linear
//! Road, is allowed in the files of that meaning.

use super::Finding;
use super::rust_text::RustText;
use super::tree::Tree;

/// A word that left the glossary and is refused.
struct Retired {
    /// The refused word, in lower case and in the singular. Its plural with an `s` is refused as well.
    word: &'static str,
    /// The word of the glossary to use instead of the refused one.
    instead: &'static str,
    /// True if comments may use the refused word, because it is common English.
    is_free_in_comments: bool,
    /// Beginnings of the paths of files in which the word means something else and is allowed.
    allowed: &'static [&'static str],
}

/// All words that are refused, each with the word to use instead.
const RETIRED: [Retired; 17] = [
    Retired::everywhere("arena", "chunk"),
    Retired::everywhere("baton", "task cell"),
    Retired { is_free_in_comments: true, ..Retired::everywhere("deal", "exchange, if by key, else splits") },
    Retired::everywhere("dealt", "exchanged, if by key, else distributed"),
    Retired { is_free_in_comments: true, ..Retired::everywhere("depot", "block pool") },
    Retired::everywhere("hopping", "sliding"),
    Retired {
        allowed: &[
            "crates/bench/src/bench/l",
            "crates/bench/src/l",
            "crates/cli/src/bench/l",
            "crates/testkit/src",
            "crates/workloads/src/lrb",
            "crates/workloads/src/reference",
        ],
        ..Retired::everywhere("lane", "partition")
    },
    Retired::everywhere("ledger", "epoch tracker"),
    Retired::everywhere("lender", "memory grant"),
    Retired::everywhere("purse", "memory grant"),
    Retired::everywhere("quota", "share"),
    Retired::everywhere("rack", "window table pool"),
    Retired::everywhere("shelf", "free list, work queue or row store"),
    Retired::everywhere("shelves", "free lists, work queues or row stores"),
    Retired::everywhere("sieve", "local distinct filter"),
    Retired::everywhere("slab", "chunk"),
    Retired { is_free_in_comments: true, ..Retired::everywhere("stock", "block writer") },
];

/// Returns a finding for each identifier and comment that uses a word of [`RETIRED`].
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    findings_of(tree, &RETIRED)
}

impl Retired {
    /// Creates a word that is refused in all files, in identifiers and in comments.
    const fn everywhere(word: &'static str, instead: &'static str) -> Self {
        Self { word, instead, is_free_in_comments: false, allowed: &[] }
    }
}

fn findings_of(tree: &Tree, retired: &[Retired]) -> Vec<Finding> {
    let sources = tree.rust_files().filter(|(_, place, _)| place.is_in_room() && place.part == "src");
    sources.flat_map(|(path, _, rust)| findings_in(path, rust, retired)).collect()
}

fn findings_in(path: &str, rust: &RustText, retired: &[Retired]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (text, is_comment) in [(&rust.code, false), (&rust.comments, true)] {
        // Only ASCII letters change their case, so an offset means the same place in both texts.
        let lower = text.to_ascii_lowercase();
        for Retired { word, instead, is_free_in_comments, allowed } in retired {
            let is_allowed = allowed.iter().any(|prefix| path.starts_with(prefix));
            if is_allowed || is_comment && *is_free_in_comments {
                continue;
            }
            let uses = lower.match_indices(word).filter(|(offset, _)| is_part(text, *offset, word.len()));
            let message = format!("`{word}` left the glossary: say {instead}");
            findings.extend(uses.map(|(offset, _)| Finding::new(path, rust.line_of(offset), &message)));
        }
    }
    // A line that uses a refused word more than once has one finding.
    findings.sort();
    findings.dedup();
    findings
}

/// Returns whether the word of this length at `offset` is a whole part of a name, in the singular or in the
/// plural.
fn is_part(text: &str, offset: usize, length: usize) -> bool {
    let end = offset + length;
    let is_plural = text[end..].starts_with(['s', 'S']) && is_cut(text, end + 1);
    is_cut(text, offset) && (is_cut(text, end) || is_plural)
}

/// Returns whether a part of a name may end and another one begin at `offset`, such as before the `P` of
/// `StatePool`.
fn is_cut(text: &str, offset: usize) -> bool {
    let before = text[..offset].chars().next_back().unwrap_or(' ');
    let mut behind = text[offset..].chars();
    let (first, second) = (behind.next().unwrap_or(' '), behind.next().unwrap_or(' '));
    let begins_capitalised = first.is_uppercase() && (before.is_lowercase() || second.is_lowercase());
    !before.is_alphabetic() || !first.is_alphabetic() || begins_capitalised
}

#[cfg(test)]
mod tests;
