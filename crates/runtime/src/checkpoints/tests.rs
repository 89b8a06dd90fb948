//! Tests of checkpoints that need no engine: names of tasks, differences of plans, descriptions of output.

use super::*;

fn check(saved: &str, now: &str, expected: &str) {
    assert_eq!(difference(saved, now), expected);
}

#[test]
fn the_first_line_that_differs_is_told() {
    check("a\n  b", "a\n  c", "`c` is there now, `b` was saved");
    check("a", "a\nb", "`b` is there now, nothing was saved");
    check("a\nb", "a", "nothing is there now, `b` was saved");
    check("a\n", "a", "its lines end differently");
}

/// Descriptions of output come back in their order; bytes that are none are refused.
#[test]
fn prepared_output_comes_back_in_its_order() {
    let mut bytes = StateWriter::default();
    bytes.put(&vec![vec![1u8, 2], Vec::new(), vec![3]]).unwrap();
    let section = Section { prepared: bytes.into_bytes(), ..Section::default() };
    assert_eq!(prepared_of(&section), Ok(vec![vec![1, 2], Vec::new(), vec![3]]));
    assert_eq!(prepared_of(&Section::default()), Ok(Vec::new()));
    let cut = Section { prepared: section.prepared[..3].to_vec(), ..Section::default() };
    assert!(prepared_of(&cut).is_err());
}
