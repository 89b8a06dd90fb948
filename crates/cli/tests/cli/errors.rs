//! Tests of the messages for wrong options of `thalweg`, with exit code 2.

use crate::support::{Folder, assert_golden, told};

#[test]
fn wrong_values() {
    let lines = ["demo --for 0", "demo --workers 0"];
    assert_golden("wrong_values.txt", &told(&Folder::new("wrong_values"), &lines));
}
