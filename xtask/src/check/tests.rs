//! Tests of the steps of `check`, shown as the command lines that a person could type.

use super::*;

#[test]
fn steps_are_the_promised_commands_in_order() {
    let line = |step: &Step| match step {
        Step::Cargo(command) => command.to_string(),
        Step::Own(name, _) => (*name).to_owned(),
    };
    let lines: Vec<String> = steps_of(&Workspace::fake()).iter().map(line).collect();
    assert_eq!(
        lines[..5],
        [
            "cargo fmt --all --check",
            "tidy",
            "packages",
            "cargo clippy --workspace --all-targets -- -D warnings",
            "cargo test --workspace",
        ]
    );
    assert!(lines[5].contains(" --test loom ") && lines.len() == 6, "{lines:?}");
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
