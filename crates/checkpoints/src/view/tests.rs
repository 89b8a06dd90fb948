//! Views tell the same as a restart.

use std::path::Path;

use thalweg_model::{Checkpoint, CheckpointStore, Section};

use super::*;
use crate::StateDirectory;
use crate::testing::{Cut, SimDisk};

const STATE: &str = "/state";

fn section(task: &str, state: &str, prepared: &str) -> Section {
    Section { task: task.to_owned(), state: state.into(), prepared: prepared.into(), ..Section::default() }
}

/// A directory with checkpoints 1 and 2 of the query `b/c`, and none of `a`. It is locked.
fn written(disk: &SimDisk) -> StateDirectory {
    let state = StateDirectory::open(Arc::new(disk.clone()), Path::new(STATE)).unwrap();
    state.query("a").unwrap();
    let mut store = state.query("b/c").unwrap();
    for number in 1..=2 {
        let sections =
            vec![section("table", "unchanged", ""), section("sink", "", &format!("part-{number}"))];
        let is_last = number == 2;
        store.write(&Checkpoint { query: "b/c".to_owned(), number, is_last, sections }).unwrap();
    }
    state
}

fn view(disk: &SimDisk) -> StateView {
    StateView::open(Arc::new(disk.clone()), Path::new(STATE)).unwrap()
}

#[test]
fn a_view_shows_queries_and_checkpoints() {
    let disk = SimDisk::default();
    let state = written(&disk);
    let view = view(&disk);
    assert_eq!(view.queries().unwrap(), ["a", "b/c"]);
    assert_eq!(view.queries().unwrap(), ["a", "b/c"], "a view takes no lock, and needs none");
    drop(state);
    assert_eq!(view.checkpoints("a", Depth::Bytes).unwrap(), []);
    let show = |viewed: &Viewed| {
        let manifest = viewed.manifest.as_ref().unwrap();
        (viewed.number, manifest.bytes(), manifest.new_bytes(), manifest.is_last, viewed.is_whole())
    };
    let shown: Vec<_> = view.checkpoints("b/c", Depth::Bytes).unwrap().iter().map(show).collect();
    assert_eq!(shown, [(1, 15, 15, false, true), (2, 15, 6, true, true)]);
}

/// Lengths are checked at any depth, and bytes on demand.
#[test]
fn a_view_names_damage() {
    let disk = SimDisk::default();
    drop(written(&disk));
    let here = Path::new("/state/query-b%2Fc");
    let faults = |disk: &SimDisk, depth| -> Vec<Option<String>> {
        view(disk).checkpoints("b/c", depth).unwrap().into_iter().map(|viewed| viewed.fault).collect()
    };
    let hurt = |name: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let disk = disk.survivor(Cut::Killed);
        let mut bytes = disk.bytes(&here.join(name));
        damage(&mut bytes);
        disk.put(&here.join(name), bytes);
        disk
    };
    let data = "/state/query-b%2Fc/checkpoint-1.data";
    let cut = hurt("checkpoint-1.data", &|bytes| bytes.truncate(9));
    assert_eq!(faults(&cut, Depth::Lengths), vec![Some(format!("{data} has 9 bytes instead of 47")); 2]);
    let flipped = hurt("checkpoint-1.data", &|bytes| bytes[16] ^= 1);
    assert_eq!(faults(&flipped, Depth::Lengths), [None, None]);
    let fault = format!("{data} has bytes that do not fit their checksum, in the block at 0");
    assert_eq!(faults(&flipped, Depth::Bytes), vec![Some(fault); 2]);
    let manifest = hurt("checkpoint-1.manifest", &|bytes| bytes[5] ^= 1);
    let found = faults(&manifest, Depth::Bytes);
    assert!(
        found[0].as_ref().unwrap().ends_with("text that does not fit its checksum") && found[1].is_none()
    );
}

#[test]
fn a_directory_that_is_not_there_is_told() {
    let view = StateView::open(Arc::new(SimDisk::default()), Path::new("/none"));
    assert!(view.err().unwrap().to_string().starts_with("/none cannot be listed"));
}
