//! Tests of reading those parts of `cargo metadata` that tidy needs.

use super::*;

#[test]
fn metadata_tells_packages_kinds_and_targets() {
    let workspace = Workspace::from_metadata(
        r#"{
            "workspace_root": "/w", "target_directory": "/elsewhere",
            "packages": [{
                "name": "thalweg-memory", "manifest_path": "/w/crates/memory/Cargo.toml",
                "dependencies": [
                    {"name": "rustix", "kind": null, "target": null},
                    {"name": "loom", "kind": null, "target": "cfg(loom)"},
                    {"name": "cc", "kind": "build", "target": null},
                    {"name": "thalweg-testkit", "kind": "dev", "target": null}
                ]
            }]
        }"#,
    )
    .unwrap();
    assert_eq!(workspace.root, Path::new("/w"));
    assert_eq!(workspace.target_directory, Path::new("/elsewhere"));
    let package = &workspace.packages[0];
    assert_eq!(package.manifest, "crates/memory/Cargo.toml");
    let read: Vec<_> =
        package.dependencies.iter().map(|it| (it.name.as_str(), it.kind, it.target.as_deref())).collect();
    assert_eq!(
        read,
        [
            ("rustix", DependencyKind::Normal, None),
            ("loom", DependencyKind::Normal, Some("cfg(loom)")),
            ("cc", DependencyKind::Build, None),
            ("thalweg-testkit", DependencyKind::Dev, None),
        ]
    );
}

/// A missing field in the output of cargo is an error. If it counted as an empty list, the checks would pass
/// without reading anything.
#[test]
fn missing_field_is_an_error() {
    let message = Workspace::from_metadata(r#"{"workspace_root": "/w"}"#).err().unwrap().to_string();
    assert_eq!(message, "cargo metadata has no text in `target_directory`");
}
