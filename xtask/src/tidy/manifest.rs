//! Lines of dependencies in manifests, for findings to point at.
//!
//! `cargo metadata` tells the declared dependencies. This module only looks for the line. A wrong line costs a reader
//! one search.

use crate::workspace::{Dependency, DependencyKind, Package};

use super::tree::Tree;

/// Returns the number of the line that declares `dependency`; the first line if no such line is found.
pub(super) fn dependency_line(tree: &Tree, package: &Package, dependency: &Dependency) -> usize {
    let text = tree.text(&package.manifest).unwrap_or_default();
    let mut is_in_section = false;
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let key = line.split([' ', '.', '=']).next().unwrap_or_default().trim_matches('"');
        if line.starts_with('[') {
            is_in_section = section_kind(line) == Some(dependency.kind);
            if is_in_section && line.ends_with(&format!(".{}]", dependency.name)) {
                return index + 1;
            }
        } else if is_in_section
            && (key == dependency.name || line.contains(&format!("package = \"{}\"", dependency.name)))
        {
            return index + 1;
        }
    }
    1
}

fn section_kind(header: &str) -> Option<DependencyKind> {
    if header.contains("dev-dependencies") {
        Some(DependencyKind::Dev)
    } else if header.contains("build-dependencies") {
        Some(DependencyKind::Build)
    } else {
        header.contains("dependencies").then_some(DependencyKind::Normal)
    }
}

#[cfg(test)]
mod tests;
