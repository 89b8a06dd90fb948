//! Secret options: their values are masked wherever a text or an option is shown, and only their connector reads
//! them.
//!
//! The key decides whether an option is secret. So connectors need not declare their secret options, and misspelt
//! options are masked, too.

/// Parts of keys, in lower case, whose values are secret.
const SECRET: [&str; 10] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "sasl", "jaas", "auth", "key"];

/// The text which replaces a secret value.
pub const MASK: &str = "***";

/// Returns whether the value of an option is secret. Options of generated columns (`fields.`) are named after
/// columns, and are not secret.
pub fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    !key.starts_with("fields.") && SECRET.iter().any(|part| key.contains(part))
}

/// Returns the SQL text with `*` for every character of a secret value; all positions stay the same.
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
    let mut values: Vec<&str> =
        secret_ranges(text).into_iter().map(|(start, end)| &text[start..end]).collect();
    values.retain(|value| !value.is_empty());
    // A value may be part of another, so long values are replaced first.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.into_iter().fold(message.to_owned(), |message, value| message.replace(value, MASK))
}

/// Returns the byte ranges of the values of secret options, without their quotes. The equals sign may be missing,
/// because the text may be wrong.
fn secret_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut is_after_secret = false;
    let mut at = 0;
    while let Some(found) = text[at..].find('\'') {
        let is_beside = text[at..at + found].trim().trim_start_matches('=').trim().is_empty();
        let start = at + found + 1;
        // Two quotes inside a literal stand for one; a literal which is not closed ends with the text.
        let mut end = start;
        loop {
            end = text[end..].find('\'').map_or(text.len(), |quote| end + quote);
            if text[end..].starts_with("''") {
                end += 2;
            } else {
                break;
            }
        }
        if is_after_secret && is_beside {
            ranges.push((start, end));
            is_after_secret = false;
        } else {
            is_after_secret = is_secret(&text[start..end]);
        }
        at = (end + 1).min(text.len());
    }
    ranges
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
        for key in ["path", "format", "fields.key.min", "fields.token.kind", "json.timestamp-format.standard"]
        {
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
        assert_eq!(
            masked_message("the text 'abc' is no abcd", "'token' = 'abc', 'sasl' = 'abcd'"),
            "the text '***' is no ***"
        );
    }
}
