//! Tests of the rule for packages from outside: core rooms with a package on their list, a package that is
//! not, and a package under the wrong condition.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(package: &str, kind: DependencyKind, dependency: (&str, Option<&str>), expected: &[&str]) {
    let (name, target) = dependency;
    let packages = [Package {
        name: package.to_owned(),
        manifest: "Cargo.toml".to_owned(),
        dependencies: vec![Dependency { name: name.to_owned(), kind, target: target.map(str::to_owned) }],
    }];
    let manifest = format!("\n[dependencies]\n{name} = \"1\"\n");
    assert_findings(findings(&packages, &Tree::of(&[("Cargo.toml", &manifest)])), expected);
}

#[test]
fn core_room_may_use_what_is_on_its_list() {
    check("thalweg-model", DependencyKind::Normal, ("serde", None), &[]);
    check("thalweg-memory", DependencyKind::Normal, ("loom", Some("cfg(loom)")), &[]);
}

#[test]
fn core_room_may_use_nothing_else() {
    check(
        "thalweg-operators",
        DependencyKind::Normal,
        ("serde", None),
        &["Cargo.toml:3: serde is not on the list of thalweg-operators"],
    );
    check("thalweg-model", DependencyKind::Build, ("cc", None), &["Cargo.toml:1: cc is not on the list"]);
}

#[test]
fn loom_is_for_models_only() {
    check(
        "thalweg-memory",
        DependencyKind::Normal,
        ("loom", None),
        &["Cargo.toml:3: loom may be needed under cfg(loom) only"],
    );
}

#[test]
fn tests_of_a_core_room_may_use_anything_but_anyhow() {
    check("thalweg-model", DependencyKind::Dev, ("proptest", None), &[]);
    check("thalweg-model", DependencyKind::Dev, ("anyhow", None), &["Cargo.toml:1: anyhow is for cli"]);
}

#[test]
fn anyhow_is_for_programs() {
    check("thalweg-cli", DependencyKind::Normal, ("anyhow", None), &[]);
    check("thalweg-runtime", DependencyKind::Normal, ("anyhow", None), &["Cargo.toml:3: anyhow is for cli"]);
}

#[test]
fn other_rooms_choose_for_themselves() {
    check("thalweg-server", DependencyKind::Normal, ("hyper", None), &[]);
}
