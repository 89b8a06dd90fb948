//! Partitions: nested directories named `key=value`, which stand for columns of a table.
//!
//! Source: Flink, `PartitionPathUtils`, for the characters that are written as `%` and two digits, and for
//! the reverse. NULL and the empty text have a name of their own, `__DEFAULT_PARTITION__` unless the table
//! says otherwise.

use std::fmt::Write;
use std::path::{Component, Path};

/// Appends a partition key or value to the name of a directory, with special characters escaped as in Flink.
pub(super) fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        let is_escaped = matches!(
            letter,
            '\0'..' '
                | '"'
                | '#'
                | '%'
                | '\''
                | '*'
                | '/'
                | ':'
                | '='
                | '?'
                | '\\'
                | '\u{7f}'
                | '{'
                | '['
                | ']'
                | '^'
        );
        if is_escaped {
            // The result is ignored, because writing to a String does not fail.
            let _ = write!(out, "%{:02X}", letter as u32);
        } else {
            out.push(letter);
        }
    }
}

/// Reverts [`escape`]. A `%` without two hexadecimal digits after it is kept as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('%') {
        out.push_str(&rest[..place]);
        // The digits are checked first, because `from_str_radix` alone would accept a sign.
        let digits =
            rest.get(place + 1..place + 3).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                out.push(char::from(code));
                rest = &rest[place + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[place + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns the values of the partition keys in a file's path below the directory of its table; `None` if its
/// first directories do not have these keys.
pub(super) fn values(below: &Path, keys: &[String]) -> Option<Vec<String>> {
    let mut directories = below.parent()?.components();
    keys.iter()
        .map(|key| {
            let Component::Normal(name) = directories.next()? else { return None };
            let (name, value) = name.to_str()?.split_once('=')?;
            (unescape(name) == *key && !value.is_empty()).then(|| unescape(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of partition directories are escaped as Flink does and are read back; a name that was not
    /// escaped is read unchanged.
    #[test]
    fn names_of_directories() {
        let check = |text: &str, expected: &str| {
            let mut escaped = String::new();
            escape(text, &mut escaped);
            assert_eq!(escaped, expected, "{text}");
            assert_eq!(unescape(expected), text, "{expected}");
        };
        check("2020-01-01", "2020-01-01");
        check("a b_c.d", "a b_c.d");
        check("12:30", "12%3A30");
        check("a/b=c%\n", "a%2Fb%3Dc%25%0A");
        check("{[]^}", "%7B%5B%5D%5E}");
        check("Größe", "Größe");
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%zz%4"), "%zz%4");
        assert_eq!(unescape("%+5a%-5"), "%+5a%-5");
        assert_eq!(unescape("%é1"), "%é1");
    }

    #[test]
    fn values_are_those_of_the_first_directories() {
        let keys = ["dt".to_owned(), "hour".to_owned()];
        let check = |path: &str, expected: Option<&[&str]>| {
            let found = values(Path::new(path), &keys);
            assert_eq!(
                found.as_deref(),
                expected
                    .map(|values| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
                    .as_deref(),
                "{path}"
            );
        };
        check("dt=2020-01-01/hour=7/part-0", Some(&["2020-01-01", "7"]));
        check("dt=a%2Fb/hour=7/more/part-0", Some(&["a/b", "7"]));
        check("dt=2020-01-01/part-0", None);
        check("hour=7/dt=2020-01-01/part-0", None);
        check("dt=/hour=7/part-0", None);
        check("part-0", None);
        check("", None);
    }
}
