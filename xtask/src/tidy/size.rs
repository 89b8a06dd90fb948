//! The rule that a source file which is too long to be read in one go states why it is not split into several files.

use super::Finding;
use super::modules::{Reach, reached_files};
use super::tree::Tree;

/// Number of lines, without tests, above which a file must give a reason. The number is ours: most files have
/// fewer than 500 lines, and a file of more than 800 lines rarely has one purpose.
const MAX_LINE_COUNT: usize = 800;

/// Words that the head of a longer file must contain.
const REASON: &str = "one state machine";

/// Returns a finding for each file above [`MAX_LINE_COUNT`] whose head does not give the [`REASON`].
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let reached = reached_files(tree);
    tree.rust_files()
        .filter(|(path, place, _)| place.part != "tests" && reached.get(*path) != Some(&Reach::TestOnly))
        .filter(|(_, _, rust)| {
            rust.line_count_without_tests() > MAX_LINE_COUNT && !rust.head().contains(REASON)
        })
        .map(|(path, _, rust)| {
            let message = format!(
                "has {} lines, tests apart, where {MAX_LINE_COUNT} are the most: cut it, or say in its head \
                 why it is {REASON} that cannot be cut",
                rust.line_count_without_tests()
            );
            Finding::new(path, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests;
