//! The rule that every Rust file opens with prose that states its purpose.

use super::Finding;
use super::tree::Tree;

/// Returns a finding for each file that does not open with `//!`. Attributes come after this prose, which is
/// the first thing for a reader.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .filter(|(_, place, _)| matches!(place.part, "src" | "tests" | "benches" | "examples"))
        .filter(|(_, _, rust)| rust.head().is_empty())
        .map(|(path, _, rust)| {
            let line = 1 + usize::from(rust.has_shebang());
            let message = "opens without a head: begin with `//!` and what the file is for, what it promises \
                           and what it leaves to others";
            Finding::new(path, line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests;
