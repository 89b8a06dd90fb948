//! Tests of the rule for dependencies between packages: the table has no mistakes, and a dependency that it
//! does not allow is found.

use crate::workspace::Dependency;

use super::super::assert_findings;
use super::*;

/// Checks a workspace in which `package` has one dependency, on another package of the workspace.
#[track_caller]
fn check(package: &str, kind: DependencyKind, dependency: &str, expected: &[&str]) {
    let member = |name: &str, dependencies| Package {
        name: name.to_owned(),
        manifest: format!("crates/{}/Cargo.toml", name.trim_start_matches("thalweg-")),
        dependencies,
    };
    let arrow = Dependency { name: dependency.to_owned(), kind, target: None };
    let packages = [member(package, vec![arrow]), member(dependency, Vec::new())];
    let manifest = format!("[dependencies]\n{dependency} = {{ workspace = true }}\n");
    assert_findings(findings(&packages, &Tree::of(&[(&packages[0].manifest, &manifest)])), expected);
}

#[test]
fn arrow_of_the_table_passes() {
    check("thalweg-runtime", DependencyKind::Normal, "thalweg-memory", &[]);
}

#[test]
fn arrow_that_is_not_in_the_table_is_found() {
    check(
        "thalweg-operators",
        DependencyKind::Normal,
        "thalweg-memory",
        &["crates/operators/Cargo.toml:2: thalweg-operators -> thalweg-memory is not an arrow"],
    );
}

#[test]
fn build_dependencies_are_arrows() {
    check(
        "thalweg-model",
        DependencyKind::Build,
        "thalweg-memory",
        &["crates/model/Cargo.toml:1: it may import no other room"],
    );
}

#[test]
fn dev_dependencies_are_free() {
    check("thalweg-model", DependencyKind::Dev, "thalweg-testkit", &[]);
}

#[test]
fn testkit_is_shipped_with_nobody() {
    check(
        "thalweg-cli",
        DependencyKind::Normal,
        "thalweg-testkit",
        &["crates/cli/Cargo.toml:2: testkit may be a dev-dependency only"],
    );
}

#[test]
fn unknown_package_is_found() {
    check(
        "thalweg-attic",
        DependencyKind::Dev,
        "thalweg-model",
        &["crates/attic/Cargo.toml:1: package `thalweg-attic` has no row in the table"],
    );
}

#[test]
fn every_arrow_points_at_a_room() {
    for (package, may_import) in ROOMS {
        for name in may_import {
            assert!(
                ROOMS.iter().any(|(known, _)| known == name),
                "{package} may import {name}, which is no room"
            );
        }
    }
}

/// The table of allowed dependencies has no cycle: no package may depend on one that depends on it, directly
/// or through others.
#[test]
fn table_has_no_circle() {
    let mut settled: Vec<&str> = Vec::new();
    while settled.len() < ROOMS.len() {
        let next = ROOMS.iter().find(|(package, may_import)| {
            !settled.contains(package) && may_import.iter().all(|name| settled.contains(name))
        });
        let (package, _) = next.unwrap_or_else(|| panic!("a circle among those not in {settled:?}"));
        settled.push(package);
    }
}
