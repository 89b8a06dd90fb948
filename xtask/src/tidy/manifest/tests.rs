//! Tests of finding a dependency's line in a manifest: it is found in the section of the right kind.

use super::*;

const MANIFEST: &str = "\
[package]
name = \"thalweg-memory\"

[dependencies]
# Pages.
rustix = { workspace = true }
other = { package = \"renamed\", version = \"1\" }

[target.'cfg(loom)'.dependencies]
loom.workspace = true

[dev-dependencies]
thalweg-testkit = { workspace = true }
rustix = { workspace = true }

[dependencies.table]
version = \"1\"
";

#[track_caller]
fn check(name: &str, kind: DependencyKind, expected: usize) {
    let tree = Tree::of(&[("crates/memory/Cargo.toml", MANIFEST)]);
    let package = Package {
        name: "thalweg-memory".to_owned(),
        manifest: "crates/memory/Cargo.toml".to_owned(),
        dependencies: Vec::new(),
    };
    let dependency = Dependency { name: name.to_owned(), kind, target: None };
    assert_eq!(dependency_line(&tree, &package, &dependency), expected, "{name}");
}

#[test]
fn line_is_in_the_section_of_its_kind() {
    check("rustix", DependencyKind::Normal, 6);
    check("rustix", DependencyKind::Dev, 14);
    check("loom", DependencyKind::Normal, 10);
    check("renamed", DependencyKind::Normal, 7);
    check("table", DependencyKind::Normal, 16);
    check("absent", DependencyKind::Normal, 1);
}
