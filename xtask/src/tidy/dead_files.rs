//! Every source file is compiled: a `mod` declares each file below a `src`, step by step from a crate root.
//!
//! A file without a declaration reads like a part of the program, and no compiler contradicts it. The walk along the
//! declarations, and which files are crate roots, are in [`super::modules`]. The rule also refuses two layouts that
//! hide where a module is: `mod.rs` and `#[path]`.
//!
//! Only files below a `src` are checked. A forgotten file below `tests`, `benches` or `examples` is not found.

use super::Finding;
use super::modules::reached_files;
use super::tree::Tree;

/// Returns a finding for each file that no module declares, and for each use of the two layouts that hide
/// where a module is.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let reached = reached_files(tree);
    let mut findings = Vec::new();
    for (path, place, rust) in tree.rust_files().filter(|(_, place, _)| place.part == "src") {
        if path.ends_with("/mod.rs") {
            let named = path.trim_end_matches("/mod.rs");
            findings.push(Finding::new(
                path,
                1,
                format!("`mod.rs` tells nothing by its name: move it to {named}.rs"),
            ));
        }
        if !reached.contains_key(path) {
            let message =
                format!("no `mod` declaration below {}/src reaches it: declare or delete it", place.package);
            findings.push(Finding::new(path, 1, message));
        }
        for (offset, _) in rust.code.match_indices("#[path") {
            let message = "`#[path]` hides where a module lies: put the file where its name says";
            findings.push(Finding::new(path, rust.line_of(offset), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
