//! Atomics come from `thalweg_memory::sync`, which is std in builds and loom in models.
//!
//! A loom model cannot see an atomic that is taken from std directly: the model would pass and prove nothing. So only
//! one file names the atomics of std.

use super::Finding;
use super::rust_text::{RustText, word_offsets};
use super::tree::Tree;

/// The only file that may name the atomics of std.
const SEAM: &str = "crates/memory/src/sync.rs";

/// Returns a finding for each other place that names an atomic of std or core.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, place, rust) in tree.rust_files() {
        if !place.is_in_room() || place.part != "src" || path == SEAM {
            continue;
        }
        let mut lines: Vec<usize> = naming_offsets(rust).map(|offset| rust.line_of(offset)).collect();
        lines.dedup();
        let message =
            "atomics come from `thalweg_memory::sync`, where loom can see them: import them from there";
        findings.extend(lines.into_iter().map(|line| Finding::new(path, line, message)));
    }
    findings
}

/// Returns the offsets of paths from std or core to their atomics, whether written in full or in a group of
/// `use`.
fn naming_offsets(rust: &RustText) -> impl Iterator<Item = usize> {
    let starts = ["std", "core"].into_iter().flat_map(|library| word_offsets(&rust.code, library));
    starts.filter(|start| {
        let rest = &rust.code[*start..];
        let path: String = rest.split(';').next().unwrap_or(rest).split_whitespace().collect();
        let Some((_, path)) = path.split_once("::") else { return false };
        path.starts_with("sync::atomic")
            || is_group_with_atomics(path.strip_prefix("sync::"))
            || path.starts_with('{') && path.contains("sync::atomic")
            || path.starts_with('{')
                && path.split("sync::").skip(1).any(|path| is_group_with_atomics(Some(path)))
    })
}

/// Returns whether `path` is a group of `use` with atomics, such as `{Arc,atomic::AtomicBool}`.
fn is_group_with_atomics(path: Option<&str>) -> bool {
    path.is_some_and(|path| path.starts_with('{') && word_offsets(path, "atomic").next().is_some())
}

#[cfg(test)]
mod tests;
