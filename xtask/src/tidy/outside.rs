//! Dependencies on packages from outside: the core rooms stay nearly free of them, and `anyhow`, whose
//! errors cannot be matched on, stays with the programs.

use crate::workspace::{Dependency, DependencyKind, Package};

use super::Finding;
use super::manifest::dependency_line;
use super::tree::Tree;

/// A package from outside, and the condition under which alone it may be needed, if there is one.
type Allowed = (&'static str, Option<&'static str>);

/// What a core room may use.
const CORE_ROOMS: [(&str, &[Allowed]); 4] = [
    ("thalweg-model", &[("serde", None), ("postcard", None)]),
    (
        "thalweg-memory",
        &[("crossbeam-queue", None), ("rtrb", None), ("rustix", None), ("loom", Some("cfg(loom)"))],
    ),
    ("thalweg-scheduling", &[("serde", None), ("postcard", None)]),
    ("thalweg-operators", &[("foldhash", None)]),
];

/// Programs, which report to a person and may therefore use `anyhow`.
const ANYHOW_USERS: [&str; 3] = ["thalweg-cli", "thalweg-bench", "xtask"];

/// Dependencies of core rooms that are not on their list, and `anyhow` anywhere but in programs.
pub(super) fn findings(packages: &[Package], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            if packages.iter().any(|other| other.name == dependency.name) {
                continue;
            }
            if let Some(message) = refusal(package, dependency) {
                let line = dependency_line(tree, package, dependency);
                findings.push(Finding::new(&package.manifest, line, message));
            }
        }
    }
    findings
}

fn refusal(package: &Package, dependency: &Dependency) -> Option<String> {
    let name = &dependency.name;
    if name == "anyhow" && !ANYHOW_USERS.contains(&package.name.as_str()) {
        return Some(
            "anyhow is for cli, bench and xtask: give the room's error an enum of its own".to_owned(),
        );
    }
    let (_, allowed) = CORE_ROOMS.iter().find(|(room, _)| *room == package.name)?;
    if dependency.kind == DependencyKind::Dev {
        return None;
    }
    match allowed.iter().find(|(allowed, _)| allowed == name) {
        Some((_, None)) => None,
        Some((_, Some(target))) if dependency.target.as_deref() == Some(target) => None,
        Some((_, Some(target))) => Some(format!(
            "{name} may be needed under {target} only: move it to [target.'{target}'.dependencies]"
        )),
        None => Some(format!(
            "{name} is not on the list of {}: a core room stays nearly free of outside dependencies; do \
             without it, or agree on it and add it to CORE_ROOMS in xtask/src/tidy/outside.rs",
            package.name
        )),
    }
}

#[cfg(test)]
mod tests;
