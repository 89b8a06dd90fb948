//! Tests of separating code from comments, strings and test items, each where a careless scanner would go
//! wrong.

use super::*;

/// Checks the code that is found in `text`. A run of blanks counts as one.
#[track_caller]
fn check_code(text: &str, expected: &str) {
    let rust = RustText::new(text.to_owned());
    assert_eq!(rust.code.len(), text.len());
    assert_eq!(rust.comments.len(), text.len());
    let words: Vec<&str> = rust.code.split_whitespace().collect();
    assert_eq!(words.join(" "), expected, "{text}");
}

#[test]
fn comments_are_no_code() {
    check_code("a // b\nc", "a c");
    check_code("a /* b /* c */ d */ e", "a e");
    check_code("//! head\n/// doc\nfn f() {}", "fn f() {}");
    check_code("a /* never closed", "a");
}

#[test]
fn strings_keep_only_their_quotes() {
    check_code(r#"f("// no comment")"#, r#"f(" ")"#);
    check_code(r#"f("a \" b", c)"#, r#"f(" ", c)"#);
    check_code(r###"f(r#"a " b"#, c)"###, r###"f(r#" "#, c)"###);
    check_code(r#"f(br"\", c)"#, r#"f(br" ", c)"#);
    check_code("let r#mod = for_r\"x\";", "let r#mod = for_r\" \";");
}

#[test]
fn characters_are_not_lifetimes() {
    check_code("f('\"', '\\'', '{', 'é')", "f(' ', ' ', ' ', ' ')");
    check_code("fn f<'a>(x: &'a str) {} // 'b", "fn f<'a>(x: &'a str) {}");
    check_code("'outer: loop { break 'outer; }", "'outer: loop { break 'outer; }");
}

#[test]
fn comments_are_kept_apart() {
    let rust = RustText::new("a(\"// no\"); // yes\n".to_owned());
    assert_eq!(rust.comments.trim(), "// yes");
}

/// Checks that names with `t_` in `text` are in a test item, and names with `f_` are not.
#[track_caller]
fn check_tests(text: &str) {
    let rust = RustText::new(text.to_owned());
    for (offset, name) in text.match_indices("t_").chain(text.match_indices("f_")) {
        assert_eq!(rust.is_test(offset), name == "t_", "offset {offset} of {text}");
    }
}

#[test]
fn test_items_end_where_they_end() {
    check_tests("#[cfg(test)] mod t_a { fn t_b() {} } fn f_c() {}");
    check_tests("#[cfg(test)] mod t_a; fn f_b() {}");
    check_tests("#[cfg(test)]\n#[track_caller]\npub fn t_a<A, B>(x: [u8; 3]) -> A { t_b } fn f_c() {}");
    check_tests("#[cfg(all(test, loom))] mod t_a {} fn f_b() {}");
    check_tests("#[cfg(not(test))] fn f_a() {}");
    check_tests("#[cfg(feature = \"latest\")] fn f_a() {}");
    check_tests("struct S { #[cfg(test)] t_a: Vec<u8>, f_b: u8 }");
    check_tests("f(|| { #[cfg(test)] t_a(); f_b() })");
}

#[test]
fn inner_attribute_makes_the_whole_file_a_test() {
    check_tests("//! Head.\n#![cfg(test)]\nfn t_a() {}");
}

#[test]
fn lines_without_tests_leave_out_test_items() {
    let rust =
        RustText::new("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n".to_owned());
    assert_eq!(rust.line_count_without_tests(), 3);
}

#[test]
fn head_is_the_prose_at_the_top() {
    let head = |text: &str| RustText::new(text.to_owned()).head();
    assert_eq!(head("//! One\n//! two.\n\nuse x;\n//! no"), "One two.");
    assert_eq!(head("#!/usr/bin/env run\n//! Script."), "Script.");
    assert_eq!(head("#![cfg(loom)]\n//! Too late."), "");
    assert_eq!(head("// Not a head."), "");
}

#[test]
fn words_are_whole() {
    let offsets: Vec<usize> = word_offsets("mod model mod_ amod mod", "mod").collect();
    assert_eq!(offsets, [0, 20]);
}
