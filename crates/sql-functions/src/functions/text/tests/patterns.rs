//! Tests of LIKE, SIMILAR TO and the SQL functions of regular expressions.

use super::{check, refused};
use crate::functions::text::pattern::{Refusal, compile};

#[test]
fn like_matches_the_whole_text() {
    let check =
        |text: &str, pattern: &str, expected: &str| check(&format!("LIKE('{text}', '{pattern}')"), expected);
    for pattern in
        ["abcx%", "%%def", "abcxxxdef", "%xdef", "abc%def%", "%abc%def", "%abc%def%", "abc%def", "abc___def"]
    {
        check("abcxxxdef", pattern, "true");
    }
    for pattern in ["abdxxxdef", "%xqef", "abc%qef%", "%abc%qef", "%abc%qef%", "abc%qef", "abc__def", ""] {
        check("abcxxxdef", pattern, "false");
    }
    check("This is a test String.", "Th_s%", "true");
    check("", "", "true");
    check("", "%", "true");
    check("", "_", "false");
    check("test", "%%", "true");
    check("a.c", "a.c", "true");
    check("abc", "a.c", "false");
    check("a", "a%a", "false");
    check("aa", "a%a", "true");
    check("ab\ncd", "a%d", "true");
    check("ab\ncd", "a____", "true");
    check("世界", "_界", "true");
    check("te\"st", "%te\"st%", "true");
    // Without ESCAPE, a backslash in a LIKE pattern is an ordinary character.
    check(r"test\", r"test\", "true");
    check("100%", r"100\%", "false");
    check("abcabc", "%abc%abc%", "true");
    check("abc", "%abc%abc%", "false");
}

#[test]
fn like_takes_an_escape_character() {
    check("LIKE('%This', '&%Th_s%', '&')", "true");
    check("LIKE('test%', 'test✅%', '✅')", "true");
    check("LIKE('te_st', 'te__st', '_')", "true");
    check("LIKE('test%', 'test%%', '%')", "true");
    check("LIKE('test', 'test\"end', '')", "false");
    check("LIKE('a!b', 'a!!b', '!')", "true");
    check("LIKE('a_b', 'a!_b', '!')", "true");
    check("LIKE('axb', 'a!_b', '!')", "false");
    check("LIKE(NULL, 'a', '!')", "NULL");
    check("LIKE('a', NULL, '!')", "NULL");
    check("LIKE('a', 'b', NULL)", "NULL");
    refused("LIKE('te_st', 'te_st', '_')", "the escape character at 2 of the pattern 'te_st'");
    refused("LIKE('test', 'test_', '_')", "the escape character at 4 of the pattern 'test_'");
    refused("LIKE('test', '%e_t%', 'ab')", "'ab' is no escape character");
}

#[test]
fn similar_matches_the_whole_text() {
    check("SIMILAR('This is a test String.', '_*')", "true");
    check("SIMILAR('This is a test String.', 'This (is)? a (test)+ Strin_*')", "true");
    check("SIMILAR('*_This is a test String.', '&*&_This (is)? a (test)+ Strin_*', '&')", "true");
    check("SIMILAR('ab', 'a|ab')", "true");
    check("SIMILAR('abc', 'a|ab')", "false");
    check("SIMILAR('a$', 'a$')", "true");
    check(r"SIMILAR('a\d', 'a\d')", "true");
    check("SIMILAR('abc', '%')", "true");
    check("SIMILAR('b7', '[a-c][[:DIGIT:]]')", "true");
    check("SIMILAR('d7', '[^a-c]7')", "true");
    check("SIMILAR('aaa', 'a{2,3}')", "true");
    check("SIMILAR(NULL, 'a')", "NULL");
    refused("SIMILAR('a', '[a')", "is no pattern of SIMILAR TO");
    refused("SIMILAR('a', 'a]')", "is no pattern of SIMILAR TO");
    refused("SIMILAR('a', '(a')", "is no pattern");
}

#[test]
fn regexp_finds_a_match() {
    check(r"REGEXP('100-200', '(\d+)')", "true");
    check(r"REGEXP('abc-def', '(\d+)')", "false");
    check("REGEXP('abc', '')", "false");
    check("REGEXP('abc', '(')", "false");
    check("REGEXP(NULL, 'a')", "NULL");
    check("REGEXP('a', NULL)", "NULL");
    refused("REGEXP('a', '(?<=b)a')", "the pattern '(?<=b)a' cannot be used: it looks behind");
    refused("REGEXP('a', '(?!b)a')", "it looks ahead");
    refused(r"REGEXP('a', '(a)\1')", "it refers back to a group");
    refused("REGEXP('a', 'a*+')", "possessive");
    refused("REGEXP('a', '(?>a)')", "atomic");
}

#[test]
fn matches_are_replaced_by_what_is_written() {
    check("REGEXP_REPLACE('foobar', 'oo|ar', 'abc')", "fabcbabc");
    check("REGEXP_REPLACE('foofar', '^f', '')", "oofar");
    check("REGEXP_REPLACE('foobar', '^f*.*r$', '')", "");
    check(r"REGEXP_REPLACE('foo1bar2', '\d', '')", "foobar");
    check("REGEXP_REPLACE('fooobar', 'oo', '$')", "f$obar");
    check(r"REGEXP_REPLACE('foobar', 'oo', '\')", r"f\bar");
    check(r"REGEXP_REPLACE('111222333', '(\d{3})\d*(\d{3})', '$1***$2')", "$1***$2");
    // As in Java, an expression that can match the empty text also matches it after another match.
    check("REGEXP_REPLACE('abc', '[a-z]*', 'X')", "XX");
    check("REGEXP_REPLACE('abc', '', '-')", "-a-b-c-");
    check("REGEXP_REPLACE('abc', '(', '-')", "NULL");
    check("REGEXP_REPLACE(NULL, 'a', '-')", "NULL");
    check("REGEXP_REPLACE('a', NULL, '-')", "NULL");
    check("REGEXP_REPLACE('a', 'a', NULL)", "NULL");
    refused("REGEXP_REPLACE('a', 'a')", "2 arguments");
}

#[test]
fn groups_are_extracted() {
    check("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar");
    check("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 1)", "the");
    check("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)')", "foothebar");
    check(r"REGEXP_EXTRACT('foothebar', 'foo([\w]+)', 1)", "thebar");
    check(r"REGEXP_EXTRACT('foothebar', 'foo([\d]+)', 1)", "NULL");
    check("REGEXP_EXTRACT('foothebar', 'foo', 1)", "NULL");
    check("REGEXP_EXTRACT('foothebar', 'foo', -1)", "NULL");
    check("REGEXP_EXTRACT(NULL, 'foo')", "NULL");
    let check_all = |text: &str, rest: &str, expected: &str| {
        check(&format!("REGEXP_EXTRACT_ALL('{text}', {rest})"), expected);
    };
    check_all("abcdeabde", "'('", "NULL");
    check_all("abcdeabde", "'(abcdeabde)', -1", "NULL");
    check_all("abcdeabde", "'abcdeabde'", "NULL");
    check_all("abcdeabde", "'(abcdeabde)', 2", "NULL");
    check_all("abcdeabde", "'(abcdeabde)|([a-z]*)', 2", "[NULL, ]");
    check_all("abcdeabde", "'ab((c)|(.?))de', 2", "[c, NULL]");
    check_all("abcdeabde", "'(ab)([a-z]+)(e)', 2", "[cdeabd]");
    check_all("abcdeabde", "'', 0", "[, , , , , , , , , ]");
    check_all("100-200, 300-400", "'[a-z]', 0", "[]");
    check_all("100-200, 300-400", r"'(\d+)-(\d+)', 0", "[100-200, 300-400]");
    check_all("100-200, 300-400", r"'(\d+)-(\d+)'", "[100, 300]");
    check_all("100-200, 300-400", r"'(\d+).*', 1", "[100]");
}

#[test]
fn matches_are_counted() {
    check("REGEXP_COUNT('hello world! Hello everyone!', 'Hello')", "1");
    check("REGEXP_COUNT('abcabcabc', 'abcab')", "1");
    check("REGEXP_COUNT('abcd', 'z')", "0");
    check(r"REGEXP_COUNT('^abc', '\^abc')", "1");
    check(r"REGEXP_COUNT('a*b*c*d', '\*')", "3");
    check(r"REGEXP_COUNT('abc123xyz456', '\d')", "6");
    check(r"REGEXP_COUNT('Helloworld! Hello everyone!', '\bHello\b')", "1");
    check("REGEXP_COUNT('abcdeabde', '(')", "NULL");
    check(r"REGEXP_INSTR('Helloworld! Hello everyone!', '\bHello\b')", "13");
    check(r"REGEXP_INSTR('a.b.c.d', '\.')", "2");
    check("REGEXP_INSTR('世界a', 'a')", "3");
    check("REGEXP_INSTR('100-200', '[a-z]')", "0");
    check(r"REGEXP_SUBSTR('100-200, 300-400', '(\d+)-(\d+)')", "100-200");
    check("REGEXP_SUBSTR('100-200', '[a-z]')", "NULL");
    refused("REGEXP_COUNT(1024, '1024')", "argument 1 is INT");
}

/// Regular expressions whose syntax differs between Java and the crate `regex` keep their meaning in Java.
#[test]
fn patterns_mean_what_they_mean_in_java() {
    let check = |java: &str, text: &str, expected: bool| {
        let regex = compile(java).unwrap_or_else(|refusal| panic!("{java}: {refusal:?}"));
        assert_eq!(regex.is_match(text), expected, "{java} in {text:?}");
    };
    // The classes `\d` and `\w` match only ASCII characters, as in Java.
    check(r"^\d$", "٣", false);
    check(r"^\w$", "ä", false);
    check(r"^[^\W_]$", "a", true);
    check(r"^[\d\-x]+$", "1-x", true);
    check(r"^\D$", "٣", true);
    check(r"^\S\s\S$", "a\u{a0}b", false);
    // In Java `.` excludes more line ends than in the crate `regex`, for example a carriage return.
    check("^a.b$", "a\rb", false);
    check("^a.b$", "axb", true);
    check("(?s)^a.b$", "a\nb", true);
    check(r"^\p{Alpha}\p{IsLatin}\P{Digit}\p{L}$", "aäbß", true);
    check(r"^\Qa.b*\E+$", "a.b**", true);
    check(r"^\x41\u00e4\x{1F600}\0101\e$", "Aä😀A\u{1b}", true);
    check(r"^\<a\>$", "<a>", true);
    check("^[]a]+$", "]a", true);
    check("^[a&&[^b]]$", "a", true);
    check("^[~-]+$", "~-", true);
    check("^(?<name>a)b$", "ab", true);
    check("^a{2}?$", "aa", true);
    check(r"^\R$", "\r\n", true);
    let refusal = |java: &str| compile(java).map(|_| ()).expect_err(java);
    for java in ["[a", "a**", r"\", r"\y", r"\p{Nonsense}", "(", "a)", r"\uD800"] {
        assert!(matches!(refusal(java), Refusal::Invalid(_)), "{java}: {:?}", refusal(java));
    }
    for java in [r"\k<a>", r"a\Z", r"\p{InGreek}", "(?d)a", "a?+", "a{2}+", "a{1000}{1000}{1000}"] {
        assert!(matches!(refusal(java), Refusal::Unsupported(_)), "{java}: {:?}", refusal(java));
    }
}
