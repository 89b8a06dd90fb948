//! Bad records are counted, compared with the limit and diverted; too large a share fails under every policy.

use thalweg_model::disk::{FileIdentity, WriteFile};

use super::*;
use crate::connect::bed::Folder;
use crate::connect::files::RealFiles;

fn bad(line: u64) -> BadRecord<'static> {
    BadRecord { raw: b"x", offset: line * 10, line, column: None, reason: "broken".to_owned() }
}

fn options(on_bad: OnBad, bad_max: Option<usize>) -> BadOptions {
    BadOptions { on_bad, bad_max }
}

/// Returns the first of these lines whose bad record exceeds the allowed share. A bad record begins on each
/// of the lines.
fn refused(bad_max: Option<usize>, lines: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut records = BadRecords::new(options(OnBad::Skip, bad_max), None, 0);
    lines.into_iter().find(|line| records.take("f", &bad(*line)).is_err())
}

/// The window has 10,000 records: the bad record that exceeds the limit fails the query, and no earlier one
/// does.
#[test]
fn one_too_many_within_a_window() {
    assert_eq!(refused(Some(100), 1..=100), None);
    assert_eq!(refused(Some(100), 1..=101), Some(101));
    // The limit is 100. The 101st bad record is first 10,000 records behind the first one and passes, and
    // then 9,999 behind it and fails.
    assert_eq!(refused(Some(100), (1..=100).chain([10_001])), None);
    assert_eq!(refused(Some(100), (1..=100).chain([10_000])), Some(10_000));
    // One bad record in every 100, without end, does not exceed a share of 1 %; one in every 99 does.
    assert_eq!(refused(Some(100), (1..100_000).map(|record| record * 100)), None);
    assert_eq!(refused(Some(100), (1..100_000).map(|record| record * 99)), Some(101 * 99));
    assert_eq!(refused(Some(0), [7]), Some(7));
    assert_eq!(refused(Some(1), [7, 20_000, 20_001]), Some(20_001));
    assert_eq!(refused(None, 1..=20_000), None);
}

/// Lines of earlier inputs count for the window: a bad record of the next input may be the one too many.
#[test]
fn inputs_follow_each_other() {
    let mut records = BadRecords::new(options(OnBad::Skip, Some(1)), None, 0);
    records.take("f", &bad(9_999)).unwrap();
    records.pass_input(10_000);
    assert!(records.take("g", &bad(9_998)).is_err());
    let mut records = BadRecords::new(options(OnBad::Skip, Some(1)), None, 0);
    records.take("f", &bad(9_999)).unwrap();
    records.pass_input(10_000);
    records.take("g", &bad(9_999)).unwrap();
    assert_eq!(records.count(), 2);
}

/// Counting continues from saved state: the next bad record counts together with the earlier ones.
#[test]
fn counts_are_saved() {
    let mut records = BadRecords::new(options(OnBad::Skip, Some(2)), None, 0);
    records.take("f", &bad(1)).unwrap();
    records.take("f", &bad(2)).unwrap();
    let mut state = StateWriter::default();
    records.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let mut again = BadRecords::new(options(OnBad::Skip, Some(2)), None, 0);
    let saved = again.load(&mut StateReader::new(&bytes)).unwrap();
    again.restore(saved);
    assert_eq!(again.count(), 2);
    assert!(matches!(again.take("f", &bad(3)), Err(ConnectError::TooManyBad { .. })));
    let other = BadRecords::new(options(OnBad::Skip, Some(0)), None, 0);
    assert!(other.load(&mut StateReader::new(&bytes)).is_err());
}

#[test]
fn a_diverted_record_is_a_line_of_json() {
    let check = |raw: &[u8], column: Option<&str>, expected: &str| {
        let record = BadRecord { raw, offset: 4, line: 2, column, reason: "no \"number\"".to_owned() };
        let line = String::from_utf8(diverted("dir/f.csv", &record)).unwrap();
        assert_eq!(line, expected);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["reason"], "no \"number\"");
        if let Ok(raw) = std::str::from_utf8(raw) {
            assert_eq!(value["raw"], raw);
        }
    };
    check(
        b"a\t\"b\"\x01\xc3\xa9",
        Some("n"),
        "{\"file\":\"dir/f.csv\",\"offset\":4,\"line\":2,\"column\":\"n\",\"reason\":\"no \\\"number\\\"\",\"raw\":\"a\\t\\\"b\\\"\\u0001é\"}\n",
    );
    check(
        b"\xff\x00",
        None,
        "{\"file\":\"dir/f.csv\",\"offset\":4,\"line\":2,\"column\":null,\"reason\":\"no \\\"number\\\"\",\"raw_base64\":\"/wA=\"}\n",
    );
    check(
        b"",
        None,
        "{\"file\":\"dir/f.csv\",\"offset\":4,\"line\":2,\"column\":null,\"reason\":\"no \\\"number\\\"\",\"raw\":\"\"}\n",
    );
}

/// Base64 agrees with the test vectors of RFC 4648, section 10.
#[test]
fn base64() {
    let check = |bytes: &[u8], expected: &str| {
        let mut out = Vec::new();
        write_base64(bytes, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    };
    check(b"", "");
    check(b"f", "Zg==");
    check(b"fo", "Zm8=");
    check(b"foo", "Zm9v");
    check(b"foobar", "Zm9vYmFy");
}

fn diverting(folder: &Folder, diversions: &Diversions) -> BadRecords {
    diverting_of(folder, diversions, 0)
}

fn diverting_of(folder: &Folder, diversions: &Diversions, job: u64) -> BadRecords {
    let path = folder.0.join("bad.jsonl");
    let diversion = diversions.to(Arc::new(RealFiles), &path);
    BadRecords::new(options(OnBad::Divert(path.display().to_string()), Some(100)), Some(diversion), job)
}

/// Several splits share the file; the last one to end publishes it.
#[test]
fn the_last_split_publishes() {
    let (folder, diversions) = (Folder::new(), Diversions::default());
    let (mut one, mut two) = (diverting(&folder, &diversions), diverting(&folder, &diversions));
    one.take("one", &bad(1)).unwrap();
    two.take("two", &bad(2)).unwrap();
    one.finish().unwrap();
    one.finish().unwrap();
    assert_eq!(folder.names(), ["bad.jsonl.inprogress"]);
    two.finish().unwrap();
    assert_eq!(folder.names(), ["bad.jsonl"]);
    assert_eq!(folder.get("bad.jsonl").lines().count(), 2);
}

/// A run without bad records creates no file for them.
#[test]
fn nothing_bad_leaves_nothing() {
    let (folder, diversions) = (Folder::new(), Diversions::default());
    diverting(&folder, &diversions).finish().unwrap();
    assert!(folder.names().is_empty());
}

/// Records that an earlier run diverted are removed when all jobs have read their input to its end. They stay
/// if one of the jobs was asked to end early.
#[test]
fn a_run_that_is_cut_short_leaves_what_an_earlier_one_diverted() {
    for (is_cut, is_bounded) in [(false, true), (true, true), (false, false), (true, false)] {
        let folder = Folder::new();
        let mut earlier = diverting(&folder, &Diversions::default());
        earlier.take("f", &bad(1)).unwrap();
        earlier.finish().unwrap();
        let diversions = Diversions::default();
        let (cut, whole) = (JobEnd::new(is_bounded), JobEnd::new(true));
        let mut first = diverting_of(&folder, &diversions, 0).with_end(cut.clone());
        let mut second = diverting_of(&folder, &diversions, 1).with_end(whole);
        if is_cut {
            cut.note_cut();
        }
        first.finish().unwrap();
        second.finish().unwrap();
        let expected: &[&str] = if is_cut { &["bad.jsonl"] } else { &[] };
        assert_eq!(folder.names(), expected, "{is_cut} {is_bounded}");
    }
}

/// A query that fails publishes the bad records it has diverted and accepts no more; a cancelled query
/// removes them.
#[test]
fn failures_publish_and_cancellation_does_not() {
    let (folder, diversions) = (Folder::new(), Diversions::default());
    let (mut one, mut two) = (diverting(&folder, &diversions), diverting(&folder, &diversions));
    let mut failure = None;
    for line in 1..=101 {
        failure = one.take("one", &bad(line)).err();
    }
    let failure = one.publish_up_to(failure.unwrap());
    assert!(failure.to_string().ends_with("bad.jsonl"), "{failure}");
    assert_eq!(folder.get("bad.jsonl").lines().count(), 101);
    two.take("two", &bad(1)).unwrap();
    two.finish().unwrap();
    assert_eq!(folder.get("bad.jsonl").lines().count(), 101);

    let (folder, diversions) = (Folder::new(), Diversions::default());
    let mut cancelled = diverting(&folder, &diversions);
    cancelled.take("one", &bad(1)).unwrap();
    drop(cancelled);
    assert!(folder.names().is_empty());
}

/// A diverted file that cannot be created fails the query, and the error names it.
#[test]
fn a_diversion_that_cannot_be_written() {
    let folder = Folder::new();
    let path = folder.0.join("missing/bad.jsonl");
    let diversion = Diversions::default().to(Arc::new(RealFiles), &path);
    let mut records = BadRecords::new(options(OnBad::Divert(String::new()), None), Some(diversion), 0);
    let error = records.take("f", &bad(1)).unwrap_err();
    assert!(error.to_string().contains("missing/bad.jsonl"), "{error}");
}

/// Jobs that divert to the same file share it, under any of its paths. The records of one job stay when
/// another fails or is cancelled, and the job that continues loses nothing.
#[test]
fn jobs_share_a_file() {
    let (folder, diversions) = (Folder::new(), Diversions::default());
    let (mut failing, mut other) =
        (diverting_of(&folder, &diversions, 0), diverting_of(&folder, &diversions, 1));
    failing.take("one", &bad(1)).unwrap();
    other.take("two", &bad(1)).unwrap();
    let failure = ConnectError::ChangedLater { path: PathBuf::new(), change: "as asked for" };
    failing.publish_up_to(failure);
    failing.take("one", &bad(2)).unwrap();
    drop(failing);
    other.take("two", &bad(2)).unwrap();
    assert_eq!(folder.names(), ["bad.jsonl.inprogress"]);
    other.finish().unwrap();
    assert_eq!(folder.names(), ["bad.jsonl"]);
    assert_eq!(folder.get("bad.jsonl").lines().count(), 3);

    let (folder, diversions) = (Folder::new(), Diversions::default());
    let path = folder.0.join("in/../bad.jsonl");
    std::fs::create_dir(folder.0.join("in")).unwrap();
    let same = diversions.to(Arc::new(RealFiles), &path);
    let mut ended = BadRecords::new(options(OnBad::Divert("bad.jsonl".to_owned()), None), Some(same), 0);
    let mut cancelled = diverting_of(&folder, &diversions, 1);
    ended.take("one", &bad(1)).unwrap();
    cancelled.take("two", &bad(1)).unwrap();
    ended.finish().unwrap();
    drop(cancelled);
    assert_eq!(folder.get("bad.jsonl").lines().count(), 2);
}

/// A bad record that is too long is written in part, marked as truncated, with the length of the whole.
#[test]
fn a_record_that_is_too_long_is_kept_in_part() {
    let check = |length: Option<u64>, expected: &str| {
        let (folder, diversions) = (Folder::new(), Diversions::default());
        let mut records = diverting(&folder, &diversions);
        let raw = vec![b'x'; RECORD_BYTES_MAX];
        let record = BadRecord { raw: &raw, offset: 7, line: 2, column: None, reason: "long".to_owned() };
        records.take("f", &record).unwrap();
        assert_eq!(records.cut_offset(), Some(7));
        if length.is_some() {
            records.end_cut(length).unwrap();
            assert_eq!(records.cut_offset(), None);
        }
        records.finish().unwrap();
        let text = folder.get("bad.jsonl");
        assert!(text.ends_with(&format!("xxx\"{expected}}}\n")), "{}", &text[text.len() - 60..]);
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    };
    check(Some(3 << 20), ",\"truncated\":true,\"length\":3145728");
    check(None, ",\"truncated\":true,\"length\":null");
    check(Some(RECORD_BYTES_MAX as u64), "");
}

/// A disk on which files can be created, but not written.
struct Full;

impl Disk for Full {
    fn open(&self, _: &Path) -> io::Result<Box<dyn Read + Send>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn create(&self, _: &Path) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Full))
    }

    fn identity(&self, _: &Path) -> io::Result<FileIdentity> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn publish(&self, _: &Path, _: &Path) -> io::Result<()> {
        panic!("a file that lacks records is published")
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for Full {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A diverted file that cannot be written loses the bad records of all jobs. Each job with records in it gets
/// the error; a job without any does not.
#[test]
fn a_lost_file_is_told_to_every_job() {
    let diversions = Diversions::default();
    let of_job = |job: u64| {
        let diversion = diversions.to(Arc::new(Full), Path::new("/bad.jsonl"));
        BadRecords::new(options(OnBad::Divert("/bad.jsonl".to_owned()), None), Some(diversion), job)
    };
    let (mut one, mut two, mut three, mut four) = (of_job(0), of_job(1), of_job(2), of_job(3));
    one.take("one", &bad(1)).unwrap();
    three.take("three", &bad(1)).unwrap();
    let raw = vec![b'x'; DIVERT_BUFFER_BYTES];
    let error = two.take("two", &BadRecord { raw: &raw, ..bad(1) }).unwrap_err();
    assert!(matches!(error, ConnectError::DivertFailed { .. }));
    two.publish_up_to(error);
    let told = |error: ConnectError| error.to_string().contains("an earlier bad record could not be written");
    assert!(told(one.take("one", &bad(2)).unwrap_err()));
    assert!(told(three.finish().unwrap_err()));
    four.finish().unwrap();
}

/// The memory of a long bad record is counted while its end is searched, and is given back when the record is
/// written.
#[test]
fn long_records_are_counted() {
    let (folder, diversions) = (Folder::new(), Diversions::default());
    let mut records = diverting(&folder, &diversions);
    let others: Vec<_> = (0..7).map(|_| diverting(&folder, &diversions)).collect();
    let raw = vec![b'x'; RECORD_BYTES_MAX];
    records.take("f", &BadRecord { raw: &raw, ..bad(1) }).unwrap();
    assert!(records.held_bytes() > RECORD_BYTES_MAX);
    records.end_cut(Some(3 << 20)).unwrap();
    assert!(records.held_bytes() <= DIVERT_BUFFER_BYTES);
    records.take("f", &BadRecord { raw: &raw[..100], ..bad(2) }).unwrap();
    let all: usize = records.held_bytes() + others.iter().map(BadRecords::held_bytes).sum::<usize>();
    assert!(all <= DIVERT_BUFFER_BYTES + 10_000, "{all}");
}
