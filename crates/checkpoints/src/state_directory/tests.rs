//! One process writes to a directory at a time, on the real file system too.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use thalweg_connectors::RealFiles;
use thalweg_model::{Checkpoint, CheckpointStore, Coded, Section};

use super::*;
use crate::testing::SimDisk;

/// A directory that is removed when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        Scratch(env::temp_dir().join(format!("thalweg-checkpoints-{test}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn real() -> Arc<dyn Files> {
    Arc::new(RealFiles)
}

fn refusal<T>(outcome: Result<T, CheckpointError>) -> String {
    let error = outcome.err().unwrap();
    format!("{}: {error}", error.code())
}

#[test]
fn a_checkpoint_in_real_files() {
    let scratch = Scratch::new("real");
    let directory = scratch.0.join("above").join("state");
    let section = Section {
        task: "source".to_owned(),
        state: vec![7; 300_000],
        prepared: b"part-1".to_vec(),
        ..Section::default()
    };
    let mut checkpoint =
        Checkpoint { query: "a/b".to_owned(), number: 1, is_last: false, sections: vec![section] };
    let state = StateDirectory::open(real(), &directory).unwrap();
    let mut store = state.query("a/b").unwrap();
    for number in 1..=5 {
        checkpoint.number = number;
        checkpoint.sections[0].prepared = format!("part-{number}").into();
        store.write(&checkpoint).unwrap();
        store.complete(number).unwrap();
    }
    drop((store, state));
    let state = StateDirectory::open(real(), &directory).unwrap();
    let restored = state.query("a/b").unwrap().newest().unwrap().unwrap();
    assert_eq!((restored.checkpoint, restored.passed_over.len()), (checkpoint, 0));
    let mut files: Vec<String> = fs::read_dir(directory.join("query-a%2Fb"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let kept = [1, 3, 4, 5].map(|number| format!("checkpoint-{number}.data"));
    let manifests = [3, 4, 5].map(|number| format!("checkpoint-{number}.manifest"));
    let marks = [3, 4, 5].map(|number| format!("checkpoint-{number}.published"));
    let mut expected: Vec<String> = kept.into_iter().chain(manifests).chain(marks).collect();
    expected.sort();
    assert_eq!(files, expected, "the state is in the first file");
    for made in [directory.parent().unwrap(), &directory, &directory.join("query-a%2Fb")] {
        assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700, "{}", made.display());
    }
}

#[test]
fn a_directory_is_locked_while_anything_of_it_is_open() {
    let scratch = Scratch::new("lock");
    for files in [real(), Arc::new(SimDisk::default())] {
        let open = || StateDirectory::open(Arc::clone(&files), &scratch.0);
        let state = open().unwrap();
        let store = state.query("q").unwrap();
        let expected = format!(
            "STATE_DIR_IN_USE: {} is used by another run at present: wait for its end, stop it, or name another directory",
            scratch.0.display()
        );
        assert_eq!(refusal(open()), expected);
        drop(state);
        assert_eq!(refusal(open()), expected, "the query still writes");
        drop(store);
        drop(open().unwrap());
    }
}

#[test]
fn a_query_has_a_directory_of_its_own() {
    let state = StateDirectory::open(Arc::new(SimDisk::default()), Path::new("/state")).unwrap();
    let store = state.query("q").unwrap();
    assert_eq!(
        refusal(state.query("q")),
        "CHECKPOINT_QUERY_IN_USE: two queries have the name \"q\", and would share their checkpoints: give one of \
         them another name"
    );
    assert_ne!(state.query("Q").unwrap().path(), store.path());
    drop(store);
    assert!(state.query("q").is_ok());
    let refused = refusal(state.query(&"/".repeat(100)));
    assert!(refused.starts_with("CHECKPOINT_QUERY_NAME: the name \"///"), "{refused}");
    assert!(state.query(&"/".repeat(100)).is_err(), "a refused name is not in use");
}

/// Tells the process of the test below that it holds the lock.
const HOLDER: &str = "THALWEG_TEST_STATE_DIRECTORY";

/// Runs in a process of its own, which the test below starts and kills.
#[test]
#[ignore = "the other process of `a_second_process_is_refused`"]
fn hold_the_lock() {
    let Some(directory) = env::var_os(HOLDER) else { return };
    let _state = StateDirectory::open(real(), Path::new(&directory)).unwrap();
    println!("locked");
    let _ = io::stdin().lines().next();
}

/// A second process is refused while the first lives, and no longer when it was killed.
#[test]
fn a_second_process_is_refused() {
    let scratch = Scratch::new("process");
    let mut holder = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "state_directory::tests::hold_the_lock"])
        .env(HOLDER, &scratch.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(told.map_while(Result::ok).any(|line| line.contains("locked")));
    assert!(refusal(StateDirectory::open(real(), &scratch.0)).starts_with("STATE_DIR_IN_USE"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    StateDirectory::open(real(), &scratch.0).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let scratch = Scratch::new("file");
    fs::create_dir_all(&scratch.0).unwrap();
    let file = scratch.0.join("file");
    fs::write(&file, "text").unwrap();
    let refused = refusal(StateDirectory::open(real(), &file));
    assert!(refused.starts_with("CHECKPOINT_FAILED: "), "{refused}");
    assert!(refused.contains("cannot be made as a directory"), "{refused}");
}
