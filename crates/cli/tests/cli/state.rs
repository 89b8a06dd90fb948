//! `thalweg state`: the checkpoints of two queries, whole and damaged, at 80 columns.

use std::fs;
use std::sync::Arc;

use thalweg_checkpoints::StateDirectory;
use thalweg_connectors::RealFiles;
use thalweg_model::{Checkpoint, CheckpointStore, Section};

use crate::support::{Folder, assert_golden};

fn section(task: &str, operators: &[&str], state: &[u8], prepared: &str) -> Section {
    Section {
        task: task.to_owned(),
        operators: operators.iter().map(|name| (*name).to_owned()).collect(),
        has_ended: state.is_empty(),
        state: state.into(),
        prepared: prepared.into(),
    }
}

/// Writes the checkpoints of two queries to the directory `state`, and returns it open.
fn written(folder: &Folder) -> StateDirectory {
    let state = StateDirectory::open(Arc::new(RealFiles), &folder.path("state")).unwrap();
    let mut clicks = state.query("clicks per page").unwrap();
    for number in 1..=4_u64 {
        let sections = vec![
            section("source-filter-map", &["source", "filter", "map"], &number.to_le_bytes(), ""),
            section("join-window-sink", &["join", "window", "sink"], &[7; 12_000], &format!("part-{number}")),
        ];
        let query = "clicks per page".to_owned();
        clicks.write(&Checkpoint { query, number, is_last: false, sections }).unwrap();
        clicks.complete(number).unwrap();
    }
    let mut done = state.query("done").unwrap();
    let sections = vec![section("source-sink", &[], &[], "")];
    done.write(&Checkpoint { query: "done".to_owned(), number: 9, is_last: true, sections }).unwrap();
    state.query("new").unwrap();
    state
}

fn told(folder: &Folder, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let ran = folder.run(line);
        text += &format!("$ thalweg {line}\n{}{}exit code {}\n\n", ran.stdout, ran.stderr, ran.code);
    }
    text
}

#[test]
fn whole_checkpoints() {
    let folder = Folder::new("state-whole");
    let state = written(&folder);
    let mut text = told(&folder, &["state ls state"]);
    drop(state);
    text += &told(&folder, &["state verify state", "state show state", "state show state --query clicks"]);
    text += &told(&folder, &["state show state --query done --checkpoint 8", "state ls none"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.starts_with("error")), "{text}");
    assert_golden("state_whole.txt", &text);
}

#[test]
fn damaged_checkpoints() {
    let folder = Folder::new("state-damaged");
    drop(written(&folder));
    let clicks = folder.path("state").join("query-clicks%20per%20page");
    let path = clicks.join("checkpoint-4.data");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    fs::write(clicks.join("checkpoint-3.manifest"), "{}").unwrap();
    let lines = ["state ls state", "state verify state", "state show state --checkpoint 3"];
    assert_golden("state_damaged.txt", &told(&folder, &lines));
}

#[test]
fn help() {
    let folder = Folder::new("state-help");
    let lines = ["state --help", "state ls --help", "state show --help", "state verify --help"];
    assert_golden("help_state.txt", &told(&folder, &lines));
}
