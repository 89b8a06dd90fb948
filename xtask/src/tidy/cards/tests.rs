//! Tests of the rule for operators' cards: complete cards, and cards that lack something.

use super::super::assert_findings;
use super::*;

const MAP: &str = "crates/operators/src/map.rs";

const HEAD: &str = "\
//! Map: makes each value into another,
//! one for one.
//!
//! Input      any
//! Output     others,
//!            as many
//! State      none
//! Emits      at once
//! Late       not asked
//! Watermark  unchanged
//! Cost       a call
//!
//! More of it.
//!
//! ```
//! # hidden
//! stream.map(f)
//! ```
";

const CODE: &str = "
pub struct Map;

impl<In, F> Operator<In> for Map<F>
where
    F: Fn(In),
{
}
";

fn page_of(head: &str) -> String {
    page(&Tree::of(&[(MAP, &format!("{head}{CODE}"))]))
}

/// Checks a file with this head, beside the page that is generated from it.
fn check(head: &str, expected: &[&str]) {
    let text = format!("{head}{CODE}");
    assert_findings(findings(&Tree::of(&[(MAP, &text), (PAGE, &page_of(head))])), expected);
}

#[test]
fn a_whole_card_is_fine_and_makes_a_page() {
    check(HEAD, &[]);
    let page = page_of(HEAD);
    assert!(page.contains("| [Map](#map) | makes each value into another, one for one. |"), "{page}");
    let card = "```text\nInput      any\nOutput     others,\n           as many\nState      none\n";
    assert!(page.contains(card), "{page}");
    assert!(page.contains("```rust\nstream.map(f)\n```"), "{page}");
}

#[test]
fn what_a_card_lacks_is_found() {
    check(&HEAD.replace("//! State      none\n", ""), &["crates/operators/src/map.rs:1: no line `State`"]);
    check(&HEAD.replace("```", "'''"), &["crates/operators/src/map.rs:1: no example"]);
    let swapped =
        HEAD.replace("State      none", "Cost       none").replace("Cost       a call", "State      none");
    check(&swapped, &["crates/operators/src/map.rs:1: another order"]);
}

#[test]
fn a_page_that_is_out_of_date_is_found() {
    let text = format!("{HEAD}{CODE}");
    let stale = "docs/operators.md:1: cargo xtask docs";
    assert_findings(findings(&Tree::of(&[(MAP, &text), (PAGE, "old")])), &[stale]);
    assert_findings(findings(&Tree::of(&[(MAP, &text)])), &[stale]);
}

/// Files that only mention operators need no card, and neither do files of other rooms and tests.
#[test]
fn only_operators_have_cards() {
    let speaks = "//! Not one.\nfn f<P: Operator<u8>>(p: P) {}\nimpl<P: Operator<u8>> Bed<P> {}\n";
    let tests = format!("//! A test.\n#[cfg(test)]\nmod tests {{{CODE}}}\n");
    let tree = Tree::of(&[
        ("crates/operators/src/bed.rs", speaks),
        ("crates/operators/src/t.rs", &tests),
        ("crates/model/src/chain.rs", &format!("//! A chain.\n{CODE}")),
    ]);
    assert_findings(findings(&tree), &[]);
}
