//! Texts of manifests, whole and with parts that do not fit.

use super::*;

fn block(file: u64, offset: u64, length: u64) -> Option<Block> {
    Some(Block { file, offset, length, crc32: 7 })
}

fn manifest(files: &[(u64, u64)], blocks: &[Option<Block>]) -> Manifest {
    let file = |&(number, bytes): &(u64, u64)| DataFile { number, bytes };
    let section = |&state: &Option<Block>| SectionEntry {
        task: "t".to_owned(),
        operators: Vec::new(),
        has_ended: false,
        state,
        prepared: None,
    };
    Manifest {
        format: FORMAT,
        query: "q".to_owned(),
        number: 9,
        is_last: false,
        files: files.iter().map(file).collect(),
        sections: blocks.iter().map(section).collect(),
    }
}

#[test]
fn text_of_a_manifest() {
    let text = manifest(&[(9, 20)], &[block(9, 0, 4)]).to_text().unwrap();
    let expected = "{
  \"format\": 1,
  \"query\": \"q\",
  \"number\": 9,
  \"is_last\": false,
  \"files\": [
    {
      \"number\": 9,
      \"bytes\": 20
    }
  ],
  \"sections\": [
    {
      \"task\": \"t\",
      \"operators\": [],
      \"has_ended\": false,
      \"state\": {
        \"file\": 9,
        \"offset\": 0,
        \"length\": 4,
        \"crc32\": 7
      },
      \"prepared\": null
    }
  ]
}
crc32 ";
    assert_eq!(text[..expected.len()], *expected);
    assert_eq!(text.len(), expected.len() + 9);
    assert_eq!(Manifest::from_bytes(text.as_bytes()), Ok(manifest(&[(9, 20)], &[block(9, 0, 4)])));
}

/// A manifest with a fitting checksum cannot make a reader allocate more than the files have.
#[test]
fn parts_fit_each_other() {
    let check = |manifest: &Manifest, expected: &str| {
        let text = manifest.to_text().unwrap();
        let found = match Manifest::from_bytes(text.as_bytes()) {
            Ok(_) => String::new(),
            Err(Refusal::Damaged(fault)) => fault,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(found, expected);
    };
    let beyond = "has a section beyond the 40 bytes of its data file";
    check(&manifest(&[(3, 40), (9, 40)], &[block(9, 0, 24), block(3, 20, 4), None]), "");
    check(&manifest(&[(9, 40)], &[block(9, 0, 25)]), beyond);
    check(&manifest(&[(9, 40)], &[block(9, 1, 24)]), beyond);
    check(&manifest(&[(9, 40)], &[block(9, u64::MAX, 1)]), beyond);
    check(&manifest(&[(9, 40)], &[block(9, 0, u64::MAX)]), beyond);
    check(&manifest(&[(9, 40)], &[block(9, 0, 0)]), beyond);
    check(&manifest(&[(9, 40)], &[block(9, 0, 8), block(9, 0, 8)]), beyond);
    check(&manifest(&[(9, 40)], &[block(8, 0, 8)]), "has a section in data file 8, which it does not name");
    let order = "names its data files in no order, or one of a later checkpoint";
    check(&manifest(&[(10, 40)], &[]), order);
    check(&manifest(&[(9, 40), (3, 40)], &[]), order);
    check(&manifest(&[(9, 40), (9, 40)], &[]), order);
    let many: Vec<(u64, u64)> = (0..=8).map(|number| (number, 1)).collect();
    check(&manifest(&many, &[]), "names 9 data files, more than 8");
    check(&manifest(&[], &vec![None; SECTIONS_MAX + 1]), "has 65537 sections, more than 65536");
    let old = Manifest { format: 0, ..manifest(&[], &[]) };
    check(&old, "has version 0 of the format, which does not exist");
}

#[test]
fn other_texts_are_refused() {
    let check = |json: &str, words: &str| {
        let text = format!("{json}{}\n", last_line(json));
        match Manifest::from_bytes(text.as_bytes()) {
            Err(Refusal::Damaged(fault)) => assert!(fault.contains(words), "{fault}"),
            other => panic!("{other:?}"),
        }
    };
    check("\n", "is no manifest");
    check("{}\n", "missing field `format`");
    check("[]\n", "is no manifest");
    check("{\"format\": 1}\n", "missing field `query`");
    check("{\"format\": -1}\n", "is no manifest");
    let text = manifest(&[], &[]).to_text().unwrap();
    let json = text.rsplit_once("crc32").unwrap().0;
    check(&json.replace("\"query\"", "\"other\": 1, \"query\""), "unknown field `other`");
    check(&format!("{}\n", "[".repeat(100_000)), "is no manifest");
    check(&format!("{json}{{}}\n"), "trailing characters");
}
