//! Tests of saving a position of a CSV source and going back to it: the records that follow are those of an
//! uninterrupted run.

use super::*;

fn saved(source: &CsvSource<(String, f64), Parse>) -> Vec<u8> {
    let mut state = StateWriter::default();
    source.save(&mut state).unwrap();
    state.into_bytes()
}

fn load(source: &mut CsvSource<(String, f64), Parse>, bytes: &[u8]) -> Result<(), StateError> {
    let mut state = StateReader::new(bytes);
    source.load(&mut state)?;
    state.finish()
}

const FILE: &[u8] = b"\xef\xbb\xbftime,key,value\r\n1,a,2\nbad\n3,b,4\r\n\n5,c,6\n\n";

#[test]
fn going_back_to_any_position_gives_the_rest() {
    let whole = "a@1=2 b@3=4 c@5=6";
    for lines_before in 0..8 {
        let disk = MemDisk::with("f.csv", FILE);
        let options = options(Header::Expect, divert());
        let mut first = open(&disk, options.clone()).unwrap();
        let mut output = VecOutput::with_room(9);
        for _ in 0..lines_before {
            first.poll(ProcessingTime::ZERO, 1, &mut output).unwrap();
        }
        let bytes = saved(&first);
        drop(first);

        let mut second = open(&disk, options).unwrap();
        load(&mut second, &bytes).unwrap();
        assert_eq!(saved(&second), bytes);
        let records = [output.records, drain(&mut second, 2).unwrap()].concat();
        assert_eq!((shown(&records).as_str(), second.bad_count()), (whole, 2), "after {lines_before} lines");
        let diverted = disk.text("bad.csv").unwrap();
        assert_eq!(diverted, "3,short: 1 of 3 fields,bad\n5,short: 0 of 3 fields,\n");
    }
}

/// A position in one file is refused for another file, and with another rule for bad lines.
#[test]
fn another_file_is_refused() {
    let disk = MemDisk::with("f.csv", FILE);
    let mut source = open(&disk, options(Header::Expect, OnBad::Skip)).unwrap();
    source.poll(ProcessingTime::ZERO, 3, &mut VecOutput::with_room(9)).unwrap();
    let bytes = saved(&source);

    let mut other = open(&disk, options(Header::None, OnBad::Skip)).unwrap();
    assert!(load(&mut other, &bytes).is_err(), "the header counts as a bad line there");
    assert!(load(&mut source, &bytes[..3]).is_err());

    disk.put("f.csv", FILE);
    let told = "saved state is not readable at byte 0: f.csv is not the file that was read then, or is read with other \
                options; use an older checkpoint";
    assert_eq!(load(&mut source, &bytes).unwrap_err().to_string(), told);
    disk.remove("f.csv".as_ref()).unwrap();
    let told = "saved state is not readable at byte 0: f.csv does not exist; check the path; use an older checkpoint";
    assert_eq!(load(&mut source, &bytes).unwrap_err().to_string(), told);
}

/// A run that cannot continue from its saved position does not replace the lines that an earlier run has
/// diverted.
#[test]
fn going_back_in_vain_leaves_the_diverted_file_alone() {
    let disk = MemDisk::with("f.csv", &b"bad\n1,a,2\n".repeat(100_000));
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    source.poll(ProcessingTime::ZERO, 150, &mut VecOutput::with_room(200)).unwrap();
    let bytes = saved(&source);
    drain(&mut source, 1_000).unwrap_err();
    drop(source);
    let diverted = disk.text("bad.csv").unwrap();
    assert_eq!(diverted.lines().count(), 101, "it failed with one too many");

    let mut again = open(&disk, options(Header::None, divert())).unwrap();
    load(&mut again, &bytes).unwrap();
    disk.put("f.csv", b"bad\n1,a,2\n");
    load(&mut again, &bytes).unwrap_err();
    drop(again);
    assert_eq!(disk.text("bad.csv"), Some(diverted));
    assert_eq!(disk.text("bad.csv.inprogress"), None);
}
