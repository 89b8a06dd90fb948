//! Secret options: their values are masked wherever a text or an option is shown, and only their connector reads
//! them.
//!
//! The key decides whether an option is secret. So connectors need not declare their secret options, and misspelt
//! options are masked, too.

/// Parts of option keys, in lower case, that mark the value of the option as secret.
const SECRET: [&str; 10] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "sasl", "jaas", "auth", "key"];

/// A part of the keys of format options that is no secret although it contains `key`. It says how NULL is
/// written as the key of a map.
const NO_SECRET: &str = "map-null-key";

/// Length in characters of the shortest secret value that is removed from a message: shorter values are parts
/// of many words.
const VALUE_CHARS_MIN: usize = 4;

/// The text that replaces a secret value in messages.
pub const MASK: &str = "***";

/// Returns whether the value of an option is secret. Options of generated columns (`fields.`) are named after
/// columns, and are not secret.
pub fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    !key.starts_with("fields.") && !key.contains(NO_SECRET) && SECRET.iter().any(|part| key.contains(part))
}

/// Returns the SQL text with `*` for every character of a secret value, so that all positions stay the same.
pub(crate) fn masked_text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in secret_ranges(text) {
        masked.push_str(&text[from..start]);
        masked.extend(text[start..end].chars().map(|character| match character {
            '\n' | '\r' | '\t' => character,
            _ => '*',
        }));
        from = end;
    }
    masked.push_str(&text[from..]);
    masked
}

/// Returns a message about an SQL text, without the secret values of the text.
pub(crate) fn masked_message(message: &str, text: &str) -> String {
    let ranges = secret_ranges(text);
    // Each value is searched as it is written in the text, with doubled quotes, and as it is without them.
    let values = ranges.into_iter().map(|(start, end)| &text[start..end]);
    let mut values: Vec<String> =
        values.flat_map(|value| [value.to_owned(), value.replace("''", "'")]).collect();
    values.retain(|value| value.chars().nth(VALUE_CHARS_MIN - 1).is_some());
    // One secret value may be a part of another, so long values are replaced first.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.into_iter().fold(message.to_owned(), |message, value| message.replace(&value, MASK))
}

/// Returns the ranges of the values of secret options in a text, without their quotes. The text may be wrong.
/// So the equals sign may be missing, a value may be in double quotes, and a secret value after a quotation
/// or comment without an end is found, too.
fn secret_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut is_after_secret = false;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("/*")
            && let Some(end) = rest[2..].find("*/")
        {
            at += 2 + end + 2;
            continue;
        }
        let start = at + first.len_utf8();
        let end = match first {
            '\'' => end_of_literal(text, start),
            '"' | '`' => end_of_name(text, start, first),
            _ => None,
        };
        let Some(end) = end else {
            // Only these characters may stand between the key of an option and its value.
            is_after_secret &= first.is_whitespace() || matches!(first, '=' | '-' | '/' | '*');
            at = start;
            continue;
        };
        if is_after_secret && first != '`' {
            ranges.push((start, end));
            is_after_secret = false;
        } else {
            is_after_secret = first == '\'' && is_secret(&text[start..end]);
        }
        at = (end + 1).min(text.len());
    }
    ranges
}

/// Returns the offset in bytes of the closing quote of a literal whose text begins at `start`. Two quotes
/// inside of it are one quote; a literal without an end reaches to the end of the text.
fn end_of_literal(text: &str, start: usize) -> Option<usize> {
    let mut end = start;
    loop {
        end = text[end..].find('\'').map_or(text.len(), |quote| end + quote);
        if !text[end..].starts_with("''") {
            return Some(end);
        }
        end += 2;
    }
}

/// Returns the offset in bytes of the closing quote of a name in quotes; `None` if the name does not end on
/// its line.
fn end_of_name(text: &str, start: usize, quote: char) -> Option<usize> {
    let end = text[start..].find([quote, '\n'])?;
    text[start + end..].starts_with(quote).then_some(start + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_secrets() {
        for key in [
            "password",
            "Properties.SASL.jaas.config",
            "s3.access-key",
            "auth-TOKEN",
            "ssl.keystore.password",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in [
            "path",
            "format",
            "fields.key.min",
            "fields.token.kind",
            "json.timestamp-format.standard",
            "json.map-null-key.mode",
            "json.map-null-key.literal",
        ] {
            assert!(!is_secret(key), "{key}");
        }
    }

    #[test]
    fn values_of_secrets_are_masked_in_a_text() {
        let check = |text: &str, expected: &str| assert_eq!(masked_text(text), expected);
        check(
            "WITH ('a' = 'b', 'password' = 'it''s', 'c' = 'd')",
            "WITH ('a' = 'b', 'password' = '*****', 'c' = 'd')",
        );
        check("'token'\n =\n 'a\nb' x", "'token'\n =\n '*\n*' x");
        check("'secret' 'x'", "'secret' '*'");
        check("'secret' = 'x", "'secret' = '*");
        check("SELECT 'secret', 'x'", "SELECT 'secret', 'x'");
        check("'secret' = 'é'", "'secret' = '*'");
        check("no quotes", "no quotes");
        // Quotes in comments and names begin no literal, and comments may stand anywhere.
        check("-- it's\n'password' = 'x' -- isn't", "-- it's\n'password' = '*' -- isn't");
        check("/* it's */ 'password' = 'x'", "/* it's */ 'password' = '*'");
        check("'password' /* of prod */ = -- now\n'x'", "'password' /* of prod */ = -- now\n'*'");
        check("\"it's\" INT, `isn't` INT, 'password' = 'x'", "\"it's\" INT, `isn't` INT, 'password' = '*'");
        check("'a' = '--', 'password' = '/*', 'b' = '*/'", "'a' = '--', 'password' = '**', 'b' = '*/'");
        // Secret values are masked even if the text is not valid SQL.
        check("/* it 'password' = 'x'", "/* it 'password' = '*'");
        check("'password' = \"x\"", "'password' = \"*\"");
        check("5\" wide\n'password' = 'x'", "5\" wide\n'password' = '*'");
        assert_eq!(
            masked_message("the text 'abcd' is no abcde", "'token' = 'abcd', 'sasl' = 'abcde'"),
            "the text '***' is no ***"
        );
        assert_eq!(masked_message("it's and it''s", "'token' = 'it''s'"), "*** and ***");
        assert_eq!(masked_message("a table", "'token' = 'a'"), "a table", "too short to be found");
    }
}
