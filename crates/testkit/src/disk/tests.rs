//! The faulty disk fails as requested, and exactly the synced contents survive a power cut.

use std::io::Write;

use super::*;

fn read_all(disk: &FaultyDisk, path: &str) -> io::Result<String> {
    let mut text = String::new();
    disk.open(Path::new(path))?.read_to_string(&mut text)?;
    Ok(text)
}

fn write(disk: &FaultyDisk, path: &str, text: &str) -> Box<dyn WriteFile> {
    let mut file = disk.create(Path::new(path)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// Shows the files on a disk as `path=text`, sorted by path.
fn files(disk: &FaultyDisk) -> String {
    let show = |path: &PathBuf| {
        format!("{}={}", path.display(), String::from_utf8_lossy(&disk.bytes(path).unwrap_or_default()))
    };
    disk.paths().iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_power_cut_leaves_what_was_synced_under_names_that_were_published() {
    let disk = FaultyDisk::new();
    disk.put("d/old", "old");
    write(&disk, "d/a.tmp", "never synced");
    write(&disk, "d/b.tmp", "synced").sync().unwrap();
    let mut half = write(&disk, "d/c.tmp", "half");
    half.sync().unwrap();
    half.write_all(b" and more").unwrap();
    assert_eq!(files(&disk.what_survives()), "d/old=old", "no new name is durable");
    for name in ["a", "b", "c"] {
        disk.publish(Path::new(&format!("d/{name}.tmp")), Path::new(&format!("d/{name}"))).unwrap();
    }
    assert_eq!(files(&disk), "d/a=never synced d/b=synced d/c=half and more d/old=old");
    assert_eq!(files(&disk.what_survives()), "d/a= d/b=synced d/c=half d/old=old");
    disk.remove(Path::new("d/old")).unwrap();
    assert_eq!(
        files(&disk.what_survives()),
        "d/a= d/b=synced d/c=half d/old=old",
        "the removal is not synced"
    );
}

#[test]
fn calls_fail_by_number() {
    let disk = FaultyDisk::new();
    disk.put("f", "text");
    disk.fail(Call::Open, 2);
    disk.fail(Call::Sync, 1);
    disk.fail(Call::Publish, 1);
    assert_eq!(read_all(&disk, "f").unwrap(), "text");
    assert_eq!(read_all(&disk, "f").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(read_all(&disk, "missing").unwrap_err().kind(), io::ErrorKind::NotFound);
    let mut file = write(&disk, "g", "new");
    assert_eq!(file.sync().unwrap_err().to_string(), "Sync number 1 fails, as told");
    assert!(disk.publish(Path::new("g"), Path::new("h")).is_err());
    assert_eq!(files(&disk), "f=text g=new");
}

#[test]
fn readers_see_short_reads_and_changes_behind_their_back() {
    let disk = FaultyDisk::new();
    let check = |change: Change, expected: &str, same_file: bool| {
        disk.put("f", "0123456789");
        disk.read_at_most(4);
        let before = disk.identity(Path::new("f")).unwrap();
        disk.change_after("f", 4, change.clone());
        assert_eq!(read_all(&disk, "f").unwrap(), expected, "{change:?}");
        let after = disk.identity(Path::new("f"));
        assert!(after.is_err() || after.as_ref().unwrap() != &before);
        assert_eq!(after.is_ok_and(|after| after.file == before.file), same_file, "{change:?}");
    };
    check(Change::Truncate(6), "012345", true);
    check(Change::Append(b"ab".to_vec()), "0123456789ab", true);
    check(Change::Replace(b"other".to_vec()), "0123456789", false);
    check(Change::Remove, "0123456789", false);
}
