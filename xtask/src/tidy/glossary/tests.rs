//! Tests of the rule for the glossary: parts of names where a word is refused, and texts where it is allowed.

use super::super::assert_findings;
use super::*;

const LANE: Retired = Retired { allowed: &["crates/a/src/lrb"], ..Retired::everywhere("lane", "partition") };

const PATH: &str = "crates/a/src/lib.rs";

#[track_caller]
fn check_with(retired: Retired, path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings_of(&Tree::of(&[(path, text)]), &[retired]), expected);
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    check_with(LANE, PATH, text, expected);
}

#[test]
fn whole_parts_of_names_are_refused() {
    let found = "crates/a/src/lib.rs:1: `lane` left the glossary: say partition";
    for name in [
        "lane",
        "lanes",
        "lane_count",
        "open_lanes",
        "r#lane",
        "Lane",
        "LaneReader",
        "HTTPLane",
        "LANES_MAX",
        "lane2",
        "laneCount",
    ] {
        check(&format!("fn f({name}: u8) {{}}\n"), &[found]);
    }
    for name in ["plane", "planes", "laned", "PLANE_MAX", "AirPlane", "lanesome", "lan_e", "LANEWAY"] {
        check(&format!("fn f({name}: u8) {{}}\n"), &[]);
    }
}

#[test]
fn comments_are_read_and_strings_are_not() {
    check(
        "\n/// Every lane.\nfn f() {} // Lanes, `lane_count`\n",
        &["crates/a/src/lib.rs:2: `lane`", "crates/a/src/lib.rs:3: `lane`"],
    );
    check("fn f() { g(\"lane\") }\n", &[]);
    let in_names = || Retired { is_free_in_comments: true, ..LANE };
    check_with(in_names(), PATH, "// A lane.\n", &[]);
    check_with(in_names(), PATH, "struct Lane;\n", &["crates/a/src/lib.rs:1: `lane`"]);
}

#[test]
fn a_line_is_one_finding() {
    check("fn f(lane: Lane) -> Lanes { lane }\n", &["crates/a/src/lib.rs:1: `lane`"]);
}

#[test]
fn only_sources_of_rooms_are_read_and_some_are_allowed() {
    let text = "struct Lane;\n";
    for path in
        ["xtask/src/main.rs", "crates/a/tests/all.rs", "crates/a/src/lrb.rs", "crates/a/src/lrb/road.rs"]
    {
        check_with(LANE, path, text, &[]);
    }
    check_with(LANE, "crates/a/src/tests.rs", text, &["crates/a/src/tests.rs:1: `lane`"]);
}

/// The list of refused words has small letters and no word twice. A word in capitals or in the plural would
/// never be found.
#[test]
fn the_list_has_small_letters_and_no_word_twice() {
    let words: Vec<&str> = RETIRED.iter().map(|retired| retired.word).collect();
    for (place, word) in words.iter().enumerate() {
        assert!(word.chars().all(|c| c.is_ascii_lowercase()), "{word}");
        assert!(!words[..place].iter().any(|other| other == word), "{word}");
    }
}
