//! Dependencies between the packages of the workspace: a package depends only on those packages that
//! [`ROOMS`] allows.
//!
//! Dev-dependencies are free. A room's tests may use testkit, and testkit may use the room, without an arrow in the
//! shipped code. ARCHITECTURE.md has the picture and the reasons. [`ROOMS`] is the list that is enforced.

use crate::workspace::{DependencyKind, Package};

use super::Finding;
use super::manifest::dependency_line;
use super::tree::Tree;

/// All packages of the workspace, each with the packages on which it may depend.
pub(super) const ROOMS: [(&str, &[&str]); 21] = [
    ("thalweg-model", &[]),
    ("thalweg-memory", &[]),
    ("thalweg-scheduling", &["thalweg-model"]),
    ("thalweg-operators", &["thalweg-model"]),
    ("thalweg-runtime", &["thalweg-model", "thalweg-memory", "thalweg-scheduling"]),
    ("thalweg", &["thalweg-model", "thalweg-operators", "thalweg-runtime"]),
    ("thalweg-connectors", &["thalweg-model", "thalweg-memory"]),
    ("thalweg-checkpoints", &["thalweg-model", "thalweg-connectors"]),
    ("thalweg-sql-functions", &["thalweg-model"]),
    ("thalweg-sql-formats", &["thalweg-model", "thalweg-sql-functions"]),
    (
        "thalweg-sql-tables",
        &["thalweg-model", "thalweg-connectors", "thalweg-sql-functions", "thalweg-sql-formats"],
    ),
    (
        "thalweg-sql-exec",
        &["thalweg-model", "thalweg", "thalweg-sql-functions", "thalweg-sql-formats", "thalweg-sql-tables"],
    ),
    (
        "thalweg-sql",
        &[
            "thalweg-model",
            "thalweg-operators",
            "thalweg",
            "thalweg-connectors",
            "thalweg-sql-functions",
            "thalweg-sql-formats",
            "thalweg-sql-tables",
            "thalweg-sql-exec",
        ],
    ),
    ("thalweg-steer", &["thalweg-model", "thalweg-scheduling"]),
    ("thalweg-sim", &["thalweg-model", "thalweg-scheduling"]),
    (
        "thalweg-workloads",
        &[
            "thalweg-model",
            "thalweg-scheduling",
            "thalweg",
            "thalweg-sql",
            "thalweg-connectors",
            "thalweg-sim",
        ],
    ),
    ("thalweg-server", &["thalweg-runtime", "thalweg-sql"]),
    (
        "thalweg-cli",
        &[
            "thalweg-model",
            "thalweg-memory",
            "thalweg-scheduling",
            "thalweg-operators",
            "thalweg-runtime",
            "thalweg",
            "thalweg-connectors",
            "thalweg-checkpoints",
            "thalweg-sql",
            "thalweg-steer",
            "thalweg-sim",
            "thalweg-workloads",
            "thalweg-server",
        ],
    ),
    (
        "thalweg-bench",
        &[
            "thalweg-model",
            "thalweg-memory",
            "thalweg-scheduling",
            "thalweg-operators",
            "thalweg-runtime",
            "thalweg",
            "thalweg-connectors",
            "thalweg-checkpoints",
            "thalweg-sql",
            "thalweg-steer",
            "thalweg-sim",
            "thalweg-workloads",
            "thalweg-cli",
        ],
    ),
    (
        "thalweg-testkit",
        &[
            "thalweg-model",
            "thalweg-memory",
            "thalweg-scheduling",
            "thalweg-operators",
            "thalweg-runtime",
            "thalweg",
            "thalweg-connectors",
            "thalweg-checkpoints",
            "thalweg-sql",
            "thalweg-steer",
            "thalweg-sim",
            "thalweg-workloads",
        ],
    ),
    ("xtask", &[]),
];

/// Returns a finding for each package that [`ROOMS`] lacks, and for each dependency that it does not allow.
pub(super) fn findings(packages: &[Package], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some((_, may_import)) = ROOMS.iter().find(|(name, _)| *name == package.name) else {
            let message = format!(
                "package `{}` has no row in the table of rooms: say in ROOMS of xtask/src/tidy/arrows.rs, \
                 and in ARCHITECTURE.md, what it may import",
                package.name
            );
            findings.push(Finding::new(&package.manifest, 1, message));
            continue;
        };
        for dependency in &package.dependencies {
            let is_room = packages.iter().any(|other| other.name == dependency.name);
            if !is_room
                || dependency.kind == DependencyKind::Dev
                || may_import.contains(&dependency.name.as_str())
            {
                continue;
            }
            let line = dependency_line(tree, package, dependency);
            let message = refusal(&package.name, &dependency.name, may_import);
            findings.push(Finding::new(&package.manifest, line, message));
        }
    }
    findings
}

fn refusal(package: &str, dependency: &str, may_import: &[&str]) -> String {
    if dependency == "thalweg-testkit" {
        return format!("{package} -> {dependency}: testkit may be a dev-dependency only");
    }
    let allowed = if may_import.is_empty() { "no other room".to_owned() } else { may_import.join(", ") };
    format!(
        "{package} -> {dependency} is not an arrow of the table: it may import {allowed}; move the code to \
         where it can see what it needs, or agree on a new arrow first"
    )
}

#[cfg(test)]
mod tests;
