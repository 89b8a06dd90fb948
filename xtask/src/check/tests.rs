//! Tests of the steps of `check`, shown as the command lines that a person could type.

use super::*;

#[test]
fn steps_are_the_promised_commands_in_order() {
    let lines: Vec<String> = cargo_steps(&Workspace::fake()).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines[..3],
        [
            "cargo fmt --all --check",
            "cargo clippy --workspace --all-targets -- -D warnings",
            "cargo test --workspace",
        ]
    );
    assert!(lines[3].contains(" --test loom ") && lines.len() == 4, "{lines:?}");
}

/// The loom models have a target directory of their own. If they shared that of the other steps, those would
/// be rebuilt after every loom run.
#[test]
fn loom_builds_apart_from_the_other_steps() {
    let line = loom_models("loom models", &Workspace::fake(), "2").to_string();
    assert!(line.contains("--cfg loom"), "{line}");
    assert!(line.contains("LOOM_MAX_PREEMPTIONS="), "{line}");
    assert!(
        line.ends_with("test -p thalweg-memory -p thalweg-runtime --lib --test loom --release --target-dir /fake/target/loom"),
        "{line}"
    );
}
