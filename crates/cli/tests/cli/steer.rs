//! `thalweg steer` as a user runs it, without an engine: its help, wrong options, an address where nothing answers, and a
//! restore where nothing is left.

use crate::support::{Folder, assert_golden, told};

#[test]
fn its_help_is_as_wide_as_a_terminal() {
    for (line, golden) in [
        ("steer --help", "help_steer.txt"),
        ("steer flink --help", "help_steer_flink.txt"),
        ("steer storm --help", "help_steer_storm.txt"),
    ] {
        let ran = Folder::new(golden).run(line);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        assert_golden(golden, &ran.stdout);
    }
}

#[test]
fn wrong_options_are_told() {
    let folder = Folder::new("steer_wrong");
    folder.write("empty", "");
    let lines = [
        "steer flink --period 0s",
        "steer flink --policy best",
        "steer flink --translator quick",
        "steer flink --rest ftp://localhost",
        "steer flink --dry-run --policy fcfs",
        "steer flink --token-file nowhere",
        "steer --restore flink",
        "steer storm --graphite nowhere",
        "steer storm --graphite 127.0.0.1:0 --dry-run --policy fcfs",
        "steer spark",
    ];
    assert_golden("wrong_steer.txt", &told(&folder, &lines));
}

/// Where nothing answers or sends, every round is skipped, the reason is told once, and the command fails.
#[test]
fn an_engine_that_does_not_answer_is_told_once() {
    let folder = Folder::new("steer_silent");
    for engine in ["flink --rest http://127.0.0.1:1", "storm --graphite 127.0.0.1:0"] {
        let ran = folder.run(&format!("steer {engine} --dry-run --period 10ms --for 200ms"));
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.starts_with("note: a round is skipped: "), "{ran:?}");
        assert!(ran.stdout.starts_with("0 rounds, ") && !ran.stdout.starts_with("0 rounds, 0 "), "{ran:?}");
    }
}

#[test]
fn a_restore_where_nothing_is_left_says_so() {
    let folder = Folder::new("steer_restore");
    let output =
        folder.command("steer --restore").env("THALWEG_STEER_STATES", folder.path("states")).output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let expected = "0 threads and 0 settings of the machine are as before, 0 had ended\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
