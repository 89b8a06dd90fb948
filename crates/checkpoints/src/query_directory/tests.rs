//! A checkpoint comes back as it was written, after any failing call, power cut or damaged file; or the restart is refused.

use std::path::Path;

use thalweg_model::Coded;
use thalweg_model::disk::Disk;

use super::*;
use crate::StateDirectory;
use crate::testing::{Cut, Draw, Fault, SimDisk};

const STATE: &str = "/state";
const HERE: &str = "/state/query-q";

fn open(disk: &SimDisk) -> QueryDirectory {
    try_open(disk).unwrap()
}

fn try_open(disk: &SimDisk) -> Outcome<QueryDirectory> {
    StateDirectory::open(Arc::new(disk.clone()), Path::new(STATE))?.query("q")
}

/// A checkpoint with a section for each text `task=state` or `task=state/prepared`.
fn checkpoint(number: u64, sections: &[&str]) -> Checkpoint {
    let section = |text: &&str| {
        let (task, bytes) = text.split_once('=').unwrap();
        let (state, prepared) = bytes.split_once('/').unwrap_or((bytes, ""));
        Section {
            task: task.to_owned(),
            operators: vec![format!("{task}-map"), "sink \"1\"".to_owned()],
            has_ended: state.is_empty(),
            state: state.into(),
            prepared: prepared.into(),
        }
    };
    let sections = sections.iter().map(section).collect();
    Checkpoint { query: "q".to_owned(), number, is_last: false, sections }
}

fn newest(store: &QueryDirectory) -> Checkpoint {
    let restored = store.newest().unwrap().unwrap();
    assert_eq!(restored.passed_over, Vec::<String>::new());
    restored.checkpoint
}

fn code(error: &dyn Coded) -> &'static str {
    error.code()
}

fn files(disk: &SimDisk) -> String {
    let names = disk.names(Path::new(HERE));
    let names = names.iter().filter(|name| !name.ends_with(".published"));
    names.map(|name| name.replace("checkpoint-", "")).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_written_is_read() {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    assert_eq!(store.newest().unwrap(), None);
    assert_eq!(store.last_number(), None);
    let mut all = checkpoint(3, &["source=at 7", "window=\0\u{7f}\n/part-1,part-2", "idle=", "sink=/p"]);
    all.sections.push(Section { state: vec![0xff; 200_000], ..Section::default() });
    store.write(&all).unwrap();
    assert_eq!(newest(&store), all);
    let last = Checkpoint { is_last: true, number: u64::MAX, ..checkpoint(0, &[]) };
    store.write(&last).unwrap();
    drop(store);
    let store = open(&disk);
    assert_eq!((newest(&store), store.last_number()), (last, Some(u64::MAX)));
    assert_eq!(files(&disk), "18446744073709551615.manifest 3.data 3.manifest", "no bytes, no data file");
}

/// Bytes that equal those before are not written again. A data file stays while a manifest names it.
#[test]
fn unchanged_sections_are_shared() {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    let table = format!("table={}", "t".repeat(100_000));
    for number in 1..=6 {
        let sections = [table.clone(), format!("count={number}")];
        store.write(&checkpoint(number, &[&sections[0], &sections[1]])).unwrap();
        store.complete(number).unwrap();
    }
    assert_eq!(files(&disk), "1.data 4.data 4.manifest 5.data 5.manifest 6.data 6.manifest");
    assert_eq!(disk.bytes(&Path::new(HERE).join("checkpoint-6.data")).len(), HEAD + 1);
    drop(store);
    // Sharing goes on after a restart.
    let mut store = open(&disk);
    assert_eq!(newest(&store).sections[0].state.len(), 100_000);
    store.write(&checkpoint(7, &[&table, "count=7"])).unwrap();
    store.complete(7).unwrap();
    assert_eq!(files(&disk), "1.data 5.data 5.manifest 6.data 6.manifest 7.data 7.manifest");
    for number in 8..=10 {
        store.write(&checkpoint(number, &["table=new", "count=7"])).unwrap();
        store.complete(number).unwrap();
    }
    assert_eq!(files(&disk), "10.manifest 7.data 8.data 8.manifest 9.manifest");
    assert_eq!(newest(&store), checkpoint(10, &["table=new", "count=7"]));
}

const HEAD: usize = data::HEAD_BYTES;

/// Equal checksums are not enough: the bytes on disk are compared, and damaged ones are written anew.
#[test]
fn damaged_bytes_are_not_shared() {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    store.write(&checkpoint(1, &["table=unchanged"])).unwrap();
    let path = Path::new(HERE).join("checkpoint-1.data");
    let mut bytes = disk.bytes(&path);
    bytes[HEAD + 2] ^= 1;
    disk.put(&path, bytes);
    store.write(&checkpoint(2, &["table=unchanged"])).unwrap();
    assert_eq!(newest(&store), checkpoint(2, &["table=unchanged"]));
    assert_eq!(files(&disk), "1.data 1.manifest 2.data 2.manifest");
    let path = Path::new(HERE).join("checkpoint-2.data");
    let longer = [disk.bytes(&path), b"more".to_vec()].concat();
    disk.put(&path, longer);
    store.write(&checkpoint(3, &["table=unchanged"])).unwrap();
    assert_eq!(newest(&store), checkpoint(3, &["table=unchanged"]));
}

/// Sections that stop changing at different times lie in different files. Their number has a bound.
#[test]
fn a_checkpoint_names_a_bounded_number_of_data_files() {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    for number in 1..=40_u64 {
        let sections: Vec<String> = (1..=40).map(|task| format!("t{task}={}", task.min(number))).collect();
        let sections: Vec<&str> = sections.iter().map(String::as_str).collect();
        store.write(&checkpoint(number, &sections)).unwrap();
        store.complete(number).unwrap();
        assert_eq!(newest(&store), checkpoint(number, &sections));
        let most = store.manifests.values().flatten().map(|manifest| manifest.files.len()).max().unwrap();
        assert!(most <= DATA_FILES_MAX, "{most} files at {number}");
    }
}

#[test]
fn wrong_calls_are_refused() {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    store.write(&checkpoint(5, &["a=1"])).unwrap();
    for number in [0, 4, 5] {
        let error = store.write(&checkpoint(number, &["a=2"])).unwrap_err();
        assert_eq!(error.code(), "CHECKPOINT_NUMBER");
    }
    let other = Checkpoint { query: "other".to_owned(), ..checkpoint(6, &[]) };
    assert_eq!(store.write(&other).unwrap_err().code(), "CHECKPOINT_OF_OTHER_QUERY");
    let sections = vec![Section::default(); SECTIONS_MAX + 1];
    let many = Checkpoint { sections, ..checkpoint(6, &[]) };
    assert_eq!(store.write(&many).unwrap_err().code(), "CHECKPOINT_LIMIT");
    let task = "x".repeat(MANIFEST_BYTES_MAX as usize);
    let long = Checkpoint { sections: vec![Section { task, ..Section::default() }], ..checkpoint(6, &[]) };
    assert_eq!(store.write(&long).unwrap_err().code(), "CHECKPOINT_LIMIT");
    assert_eq!(newest(&store), checkpoint(5, &["a=1"]));
    assert_eq!(files(&disk), "5.data 5.manifest");
    store.complete(77).unwrap();
    for number in 6..5 + CHECKPOINTS_MAX as u64 {
        store.write(&checkpoint(number, &["a=1"])).unwrap();
    }
    let error = store.write(&checkpoint(100, &["a=2"])).unwrap_err();
    assert_eq!(error.code(), "CHECKPOINT_LIMIT");
    store.complete(68).unwrap();
    store.write(&checkpoint(100, &["a=2"])).unwrap();
}

/// Makes the directory of a query with checkpoints 1 to 4, some of whose sections are shared. There are no marks of published output,
/// so any damaged checkpoint may be passed over.
fn four() -> (SimDisk, Vec<Checkpoint>) {
    let (disk, written) = four_published();
    for name in disk.names(Path::new(HERE)).iter().filter(|name| name.ends_with(".published")) {
        disk.remove(&Path::new(HERE).join(name)).unwrap();
    }
    (disk, written)
}

/// Makes the directory of a query with checkpoints 1 to 4, whose output is published.
fn four_published() -> (SimDisk, Vec<Checkpoint>) {
    let disk = SimDisk::default();
    let mut store = open(&disk);
    let mut written = Vec::new();
    for number in 1..=4 {
        written.push(version(number));
        store.write(&version(number)).unwrap();
        store.complete(number).unwrap();
    }
    drop(store);
    (disk, written)
}

fn version(number: u64) -> Checkpoint {
    let half = format!("half={}/part-{number}", number / 2);
    let table = format!("table={}", "rows of a table ".repeat(9));
    checkpoint(number, &[&format!("source=at {number}"), &table, &half, "ended="])
}

/// Writes and completes checkpoint 5. Returns whether it was written, and the code of the error if there was one.
fn fifth(store: &mut QueryDirectory) -> Result<(), &'static str> {
    store.write(&version(5)).map_err(|error| error.code())?;
    // An error here is told, and the checkpoint counts.
    let _ = store.complete(5);
    Ok(())
}

/// Each call to the disk fails in turn, once: the checkpoint does not count, and the next one does.
#[test]
fn a_failing_call_leaves_the_checkpoint_before() {
    for step in 1.. {
        let (disk, _) = four();
        let mut store = open(&disk);
        disk.fail(Fault { step, stays: false });
        let outcome = fifth(&mut store);
        let was_hit = disk.heal() >= step;
        let expected = if outcome.is_ok() { 5 } else { 4 };
        assert_eq!(newest(&store), version(expected), "step {step}");
        assert_eq!(newest(&open_survivor(&disk, Cut::Killed)), version(expected), "step {step}");
        store.write(&version(6)).unwrap();
        store.complete(6).unwrap();
        assert_eq!(newest(&store), version(6), "step {step}");
        // Files that could not be removed are removed later.
        assert!(!files(&disk).contains("inprogress"), "{}", files(&disk));
        assert_eq!(files(&disk).matches(".manifest").count(), KEPT);
        if !was_hit {
            assert!(step > 10 && outcome.is_ok(), "{step}");
            break;
        }
    }
}

fn open_survivor(disk: &SimDisk, cut: Cut) -> QueryDirectory {
    open(&disk.survivor(cut))
}

/// The process dies, or the power is cut, at each call to the disk. A checkpoint that was written is found; otherwise the one
/// before it, or the new one if only its last step was missing.
#[test]
fn a_power_cut_at_any_call_leaves_a_whole_checkpoint() {
    let cuts = [Cut::Killed, Cut::Synced, Cut::Names].into_iter().chain((0..40).map(Cut::Drawn));
    for step in 1.. {
        let (disk, _) = four();
        let mut store = open(&disk);
        disk.fail(Fault { step, stays: true });
        let outcome = fifth(&mut store);
        drop(store);
        let was_hit = disk.heal() >= step;
        for cut in cuts.clone() {
            let survivor = disk.survivor(cut);
            let store = open(&survivor);
            let restored = store.newest().unwrap().unwrap();
            let number = restored.checkpoint.number;
            assert_eq!(restored.checkpoint, version(number), "step {step}, {cut:?}");
            match outcome {
                Ok(()) => assert_eq!(number, 5, "step {step}, {cut:?}"),
                Err("CHECKPOINT_UNCERTAIN") => assert!(number >= 4),
                Err(code) => assert_eq!((number, code), (4, "CHECKPOINT_FAILED"), "step {step}, {cut:?}"),
            }
            drop(store);
            // The next run goes on, and leaves nothing behind.
            let mut store = open(&survivor);
            for next in number + 1..=number + 4 {
                store.write(&version(next)).unwrap();
                store.complete(next).unwrap();
            }
            assert_eq!(newest(&store), version(number + 4));
            assert_eq!(files(&survivor).matches(".manifest").count(), KEPT, "{}", files(&survivor));
            assert!(!files(&survivor).contains("inprogress"));
        }
        if !was_hit {
            assert!(step > 10 && outcome.is_ok(), "{step}");
            break;
        }
    }
}

/// A power cut may bring back the manifest of a checkpoint that failed at its last step, until the next one is written. It is
/// the checkpoint that was given up, whole, and nothing else.
#[test]
fn a_checkpoint_that_failed_at_its_last_step_comes_back_whole_or_not_at_all() {
    for step in 1..20 {
        let (disk, _) = four();
        let mut store = open(&disk);
        disk.fail(Fault { step, stays: false });
        let _ = fifth(&mut store);
        disk.heal();
        for seed in 0..20 {
            let restored = open_survivor(&disk, Cut::Drawn(seed)).newest().unwrap().unwrap();
            let number = restored.checkpoint.number;
            assert!(number >= 4);
            assert_eq!(restored.checkpoint, version(number));
        }
    }
}

/// A manifest that cannot be removed after its checkpoint failed stops the store, until it can be removed.
#[test]
fn a_manifest_that_cannot_be_removed_is_told() {
    let (disk, _) = four();
    let mut store = open(&disk);
    disk.fail(Fault { step: u64::MAX, stays: false });
    fifth(&mut store).unwrap();
    let steps = disk.heal();
    let (disk, _) = four();
    let mut store = open(&disk);
    for step in 1..=steps {
        disk.fail(Fault { step, stays: true });
        let error = store.write(&version(5)).err();
        disk.heal();
        if error.is_some_and(|error| error.code() == "CHECKPOINT_UNCERTAIN") {
            disk.fail(Fault { step: 1, stays: true });
            assert_eq!(store.write(&version(5)).unwrap_err().code(), "CHECKPOINT_UNCERTAIN");
            disk.heal();
            store.write(&version(5)).unwrap();
            assert_eq!(newest(&store), version(5));
            return;
        }
    }
    panic!("no step left a manifest");
}

/// Leftovers of a killed process are removed when the directory is opened; other files stay.
#[test]
fn leftovers_are_removed_at_open() {
    let (disk, _) = four();
    let before = files(&disk);
    let here = Path::new(HERE);
    for name in ["checkpoint-5.data", ".checkpoint-5.data.inprogress", ".checkpoint-6.manifest.inprogress"] {
        disk.put(&here.join(name), b"half".to_vec());
    }
    disk.put(&here.join("notes.txt"), b"mine".to_vec());
    drop(open(&disk));
    assert_eq!(files(&disk), format!("{before} notes.txt"));
}

/// A newer checkpoint that is damaged is passed over and named. It stays until it is old.
#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let here = Path::new(HERE);
    let check = |name: &str, damage: &dyn Fn(&mut Vec<u8>), expected: u64, note: &str| {
        let (disk, _) = four();
        let mut bytes = disk.bytes(&here.join(name));
        damage(&mut bytes);
        disk.put(&here.join(name), bytes);
        let mut store = open(&disk);
        let restored = store.newest().unwrap().unwrap();
        assert_eq!(restored.checkpoint, version(expected));
        let [passed_over] = restored.passed_over.as_slice() else { panic!("{:?}", restored.passed_over) };
        assert!(passed_over.contains(name) && passed_over.contains(note), "{passed_over}");
        assert_eq!(store.last_number(), Some(4), "its number is not used again");
        for number in 5..=8 {
            store.write(&version(number)).unwrap();
            store.complete(number).unwrap();
        }
        assert!(!files(&disk).contains("4.manifest"), "{}", files(&disk));
        assert_eq!(newest(&store), version(8));
    };
    check("checkpoint-4.manifest", &|bytes| bytes[30] ^= 1, 3, "has text that does not fit its checksum");
    check("checkpoint-4.manifest", &|bytes| bytes.truncate(40), 3, "does not end with a line: it was cut");
    check("checkpoint-4.manifest", &|bytes| bytes.clear(), 3, "does not end with a line: it was cut");
    check("checkpoint-4.manifest", &|bytes| bytes[0] = 0xff, 3, "has bytes that are no text");
    check("checkpoint-4.data", &|bytes| bytes.push(0), 3, "bytes instead of");
    check("checkpoint-4.data", &|bytes| bytes.truncate(20), 3, "has 20 bytes instead of");
    check("checkpoint-4.data", &|bytes| bytes[HEAD] ^= 4, 3, "has bytes that do not fit their checksum");
    check("checkpoint-4.data", &|bytes| bytes[9] ^= 4, 3, "has another block at 0 than the manifest says");
}

/// A checkpoint whose output is published is not passed over, because an older one would give the output again. The mark comes
/// with `complete`, and goes with the manifest.
#[test]
fn a_published_checkpoint_is_not_passed_over() {
    let (disk, _) = four_published();
    let here = Path::new(HERE);
    let marks = || {
        let names = disk.names(here);
        names.iter().filter(|name| name.ends_with(".published")).cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(marks(), "checkpoint-2.published checkpoint-3.published checkpoint-4.published");
    let mut store = open(&disk);
    assert!(store.newest().unwrap().unwrap().is_published);
    store.write(&version(5)).unwrap();
    assert!(!store.newest().unwrap().unwrap().is_published);
    drop(store);
    // Checkpoint 5 is not published, so it may be passed over; checkpoint 4 may not.
    disk.put(&here.join("checkpoint-5.manifest"), Vec::new());
    assert_eq!(newest_of(&disk).unwrap(), 4);
    disk.put(&here.join("checkpoint-4.manifest"), Vec::new());
    assert_eq!(newest_of(&disk).unwrap_err(), "CHECKPOINT_DAMAGED");
}

/// Returns the number of the newest checkpoint of a directory that is opened anew, or the code of the error.
fn newest_of(disk: &SimDisk) -> Result<u64, &'static str> {
    let found = open(disk).newest().map_err(|error| code(&error))?;
    Ok(found.map_or(0, |restored| restored.checkpoint.number))
}

#[test]
fn no_whole_checkpoint_is_an_error() {
    let (disk, _) = four();
    // All checkpoints share the table in this file.
    disk.put(&Path::new(HERE).join("checkpoint-1.data"), Vec::new());
    let error = open(&disk).newest().unwrap_err();
    assert_eq!(code(&error), "CHECKPOINT_DAMAGED");
    assert_eq!(error.to_string().matches("checkpoint-1.data has 0 bytes instead of").count(), KEPT);
    assert_eq!(files(&disk).matches(".data").count(), 4, "nothing is removed beside damage");
}

/// Data of newer programs and of other queries is not touched, and no older checkpoint is taken instead.
#[test]
fn checkpoints_of_others_are_refused() {
    let (disk, _) = four();
    let path = Path::new(HERE).join("checkpoint-4.manifest");
    let text = String::from_utf8(disk.bytes(&path)).unwrap();
    let check = |text: &str, expected: &str, words: &str| {
        let json = text.rsplit_once("crc32").unwrap().0;
        let text = format!("{json}crc32 {:08x}\n", data::checksum(&[json.as_bytes()]));
        disk.put(&path, text.into_bytes());
        let before = files(&disk);
        let error = try_open(&disk).err().unwrap();
        assert_eq!(code(&error), expected);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(files(&disk), before);
    };
    check(&text.replace("\"format\": 1", "\"format\": 2"), "CHECKPOINT_VERSION", "version 2 of the format");
    check("{\"format\": 7, \"new\": []}\ncrc32", "CHECKPOINT_VERSION", "knows versions up to 1");
    check(&text.replace("\"q\"", "\"p\""), "CHECKPOINT_OF_OTHER_QUERY", "the query \"p\"");
}

/// An error that may pass is no reason to take an older checkpoint.
#[test]
fn a_read_error_is_told() {
    let (disk, _) = four();
    let store = open(&disk);
    disk.fail_reads(Some(24));
    assert_eq!(code(&store.newest().unwrap_err()), "CHECKPOINT_FAILED");
    disk.fail_reads(None);
    assert_eq!(newest(&store), version(4));
}

/// A checkpoint of version 1, which was made by another program from the description of the format. All later versions read it.
#[test]
fn version_1_is_read_for_ever() {
    let manifest = include_bytes!("version_1/checkpoint-7.manifest");
    let files: [(&str, &[u8]); 3] = [
        ("checkpoint-5.data", include_bytes!("version_1/checkpoint-5.data")),
        ("checkpoint-7.data", include_bytes!("version_1/checkpoint-7.data")),
        ("checkpoint-7.manifest", manifest),
    ];
    let disk = SimDisk::default();
    let here = Path::new(STATE).join("query-views");
    files.iter().for_each(|(name, bytes)| disk.put(&here.join(name), bytes.to_vec()));
    let state = StateDirectory::open(Arc::new(disk.clone()), Path::new(STATE)).unwrap();
    let mut store = state.query("views").unwrap();
    let section = |task: &str, state: &str, prepared: &str| Section {
        task: task.to_owned(),
        operators: task.split('-').map(str::to_owned).collect(),
        has_ended: false,
        state: state.into(),
        prepared: prepared.into(),
    };
    let sections = vec![
        section("source-filter-map", "views.csv: byte 4096", ""),
        section("join-window-sink", &"campaign 1: 20 views\n".repeat(10), "part-7.csv"),
    ];
    let expected = Checkpoint { query: "views".to_owned(), number: 7, is_last: false, sections };
    assert_eq!(newest(&store), expected);

    // This program writes the same form; the page has it as its example.
    let text = String::from_utf8(manifest.to_vec()).unwrap();
    assert_eq!(Manifest::from_bytes(manifest).unwrap().to_text().unwrap(), text);
    assert!(include_str!("../../../../docs/checkpoint-format.md").contains(&text));
    store.write(&Checkpoint { number: 8, ..expected }).unwrap();
    assert_eq!(disk.names(&here).len(), 4, "all bytes are shared");
}

/// Returns a disk with one file of other bytes.
fn hurt(disk: &SimDisk, path: &Path, bytes: Vec<u8>) -> SimDisk {
    let hurt = disk.survivor(Cut::Killed);
    hurt.put(path, bytes);
    hurt
}

/// Reads the directory after damage: the result is a checkpoint that was written, or a refusal.
fn check_damaged(disk: &SimDisk, told: &dyn Fn() -> String) -> Option<u64> {
    let restored = match try_open(disk).and_then(|store| store.newest()) {
        Ok(restored) => restored.unwrap(),
        Err(error) => {
            assert_eq!(code(&error), "CHECKPOINT_DAMAGED", "{}", told());
            return None;
        }
    };
    let number = restored.checkpoint.number;
    assert_eq!(restored.checkpoint, version(number), "{}", told());
    assert_eq!(restored.passed_over.len() as u64, 4 - number, "{}", told());
    Some(number)
}

#[test]
fn no_truncated_file_gives_a_wrong_restore() {
    let (disk, _) = four();
    let mut counts = [0; 2];
    for name in disk.names(Path::new(HERE)) {
        let path = Path::new(HERE).join(&name);
        for length in 0..disk.bytes(&path).len() {
            let hurt = hurt(&disk, &path, disk.bytes(&path)[..length].to_vec());
            let found = check_damaged(&hurt, &|| format!("{name} cut to {length} bytes"));
            counts[usize::from(found.is_some())] += 1;
        }
    }
    assert!(counts[0] > 100 && counts[1] > 1_000, "{counts:?}");
}

/// Returns the number of bits that are flipped in turn, and of manifests that are changed; the variable `THALWEG_FUZZ` replaces the
/// default.
fn inputs() -> u64 {
    std::env::var("THALWEG_FUZZ").ok().and_then(|inputs| inputs.parse().ok()).unwrap_or(2_000)
}

#[test]
fn no_flipped_bit_gives_a_wrong_restore() {
    let (disk, _) = four();
    let paths: Vec<PathBuf> =
        disk.names(Path::new(HERE)).iter().map(|name| Path::new(HERE).join(name)).collect();
    let mut draw = Draw(27);
    let mut counts = [0; 5];
    for flip in 0..inputs() {
        let path = &paths[draw.below(paths.len() as u64) as usize];
        let mut bytes = disk.bytes(path);
        let at = draw.below(bytes.len() as u64) as usize;
        let bit = 1 << draw.below(8);
        bytes[at] ^= bit;
        let hurt = hurt(&disk, path, bytes);
        let told = || format!("flip {flip}: bit {bit} of byte {at} of {}", path.display());
        counts[check_damaged(&hurt, &told).unwrap_or(0) as usize] += 1;
    }
    assert!(counts[0] > 0 && counts[3] > 0 && counts[4] > 0, "{counts:?}");
}

/// Each file in place of each other one, and each file gone.
#[test]
fn no_other_file_gives_a_wrong_restore() {
    let (disk, _) = four();
    let names = disk.names(Path::new(HERE));
    for name in &names {
        let path = Path::new(HERE).join(name);
        for other in names.iter().filter(|other| *other != name) {
            let hurt = hurt(&disk, &path, disk.bytes(&Path::new(HERE).join(other)));
            check_damaged(&hurt, &|| format!("{other} in place of {name}"));
        }
        let hurt = disk.survivor(Cut::Killed);
        hurt.remove(&path).unwrap();
        match open(&hurt).newest() {
            Ok(restored) => {
                let checkpoint = restored.unwrap().checkpoint;
                assert_eq!(checkpoint, version(checkpoint.number), "without {name}");
            }
            Err(error) => assert_eq!(code(&error), "CHECKPOINT_DAMAGED"),
        }
    }
}

/// Manifests with drawn changes whose checksum fits, as somebody may make them: nothing panics, and a reader allocates no more than
/// the files have.
#[test]
fn a_changed_manifest_with_a_checksum_that_fits_does_no_harm() {
    let (disk, _) = four();
    let path = Path::new(HERE).join("checkpoint-4.manifest");
    let text = String::from_utf8(disk.bytes(&path)).unwrap();
    let json = text.rsplit_once("crc32").unwrap().0.as_bytes();
    let mut draw = Draw(1);
    let mut read = 0;
    for change in 0..inputs() {
        let mut json = json.to_vec();
        for _ in 0..=draw.below(3) {
            let at = draw.below(json.len() as u64) as usize;
            // Digits become other digits often, since lengths and places are what matters.
            json[at] = match json[at] {
                b'0'..=b'9' => b'0' + draw.below(10) as u8,
                _ if draw.below(4) > 0 => json[at],
                _ => draw.below(128) as u8,
            };
        }
        let checksum = format!("crc32 {:08x}\n", data::checksum(&[&json]));
        json.extend(checksum.bytes());
        let changed = hurt(&disk, &path, json);
        if let Ok(Some(restored)) = try_open(&changed).and_then(|store| store.newest()) {
            read += 1;
            let length: usize = disk
                .names(Path::new(HERE))
                .iter()
                .map(|name| disk.bytes(&Path::new(HERE).join(name)).len())
                .sum();
            assert!(restored.checkpoint.bytes() < length, "change {change}");
        }
    }
    assert!(read > inputs() / 5, "{read}");
}
