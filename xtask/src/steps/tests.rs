//! Tests of steps: a step that fails must say so, and show a command that can be pasted into a shell.

use anyhow::anyhow;

use super::*;

fn shell(script: &str) -> StepCommand {
    let mut workspace = Workspace::fake();
    workspace.root = env::temp_dir();
    StepCommand::program("shell", &workspace, "sh", &["-c", script])
}

#[test]
fn success_passes() {
    run(&shell("true")).unwrap();
}

#[test]
fn failure_names_step_status_and_command() {
    let message = format!("{:#}", run(&shell("exit 3")).unwrap_err());
    assert_eq!(message, "step `shell` failed: exit status: 3 from: sh -c 'exit 3'");
}

#[test]
fn missing_program_is_told_apart_from_a_failed_one() {
    let mut workspace = Workspace::fake();
    workspace.root = env::temp_dir();
    let step = StepCommand::program("ghost", &workspace, "no-such-program-here", &[]);
    let message = format!("{:#}", run(&step).unwrap_err());
    assert!(message.starts_with("step `ghost` failed: could not start: no-such-program-here"), "{message}");
}

#[test]
fn child_sees_the_default_of_an_unset_variable() {
    let step = shell("test \"$XTASK_TEST_UNSET\" = 7").default_env("XTASK_TEST_UNSET", "7");
    assert!(step.to_string().starts_with("XTASK_TEST_UNSET=7 sh -c"), "{step}");
    run(&step).unwrap();
}

#[test]
fn timed_work_keeps_its_error() {
    let message = format!("{:#}", timed("thinking", || Err(anyhow!("no idea"))).unwrap_err());
    assert_eq!(message, "step `thinking` failed: no idea");
}

#[test]
fn quoting_survives_a_quote() {
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted("--cfg loom"), "'--cfg loom'");
    assert_eq!(quoted(""), "''");
}
