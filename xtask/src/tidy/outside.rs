//! The rule for dependencies on packages from outside. The core rooms stay nearly free of them. Only programs
//! use `anyhow`, because its errors cannot be matched on.

use crate::workspace::{Dependency, DependencyKind, Package};

use super::Finding;
use super::manifest::dependency_line;
use super::tree::Tree;

/// A package from outside, and the only condition under which it may be needed, such as `cfg(loom)`.
type Allowed = (&'static str, Option<&'static str>);

/// Packages from outside that a core room may use.
const CORE_ROOMS: [(&str, &[Allowed]); 4] = [
    ("thalweg-model", &[("serde", None), ("postcard", None)]),
    (
        "thalweg-memory",
        &[
            ("crossbeam-queue", None),
            ("rtrb", None),
            ("rustix", None),
            // The crate libc is allowed, because settings of the C library's allocator have no safe wrapper.
            ("libc", Some(r#"cfg(all(target_os = "linux", target_env = "gnu"))"#)),
            ("loom", Some("cfg(loom)")),
        ],
    ),
    ("thalweg-scheduling", &[("serde", None), ("postcard", None)]),
    ("thalweg-operators", &[("foldhash", None)]),
];

/// Packages that report to a person and may therefore use `anyhow`. The programs in `bench/` may use it too. They are a
/// workspace of their own, which is not checked here.
const ANYHOW_USERS: [&str; 3] = ["thalweg-cli", "thalweg-bench", "xtask"];

/// Returns a finding for each dependency of a core room that is not on its list, and for each use of `anyhow`
/// outside of programs.
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
