//! Notations of text with a word in front: `E'..'` with escapes, `U&'..'` with code points, and `_UTF8'..'` with a
//! character set.
//!
//! Sources: Calcite's `SqlParserUtil.parseCString` and `SqlLiteral.unescapeUnicode`.

/// Character that stands before the digits of a code point, unless UESCAPE names another.
pub(super) const ESCAPE: char = '\\';

/// Returns whether a word directly before a text names a character set in which all of SQL's texts can be written. The
/// word begins with `_`.
pub(super) fn is_known_set(word: &str) -> bool {
    ["_UTF8", "_UTF16", "_UTF16LE", "_UTF16BE", "_UTF32"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the text that `E'..'` stands for: `\n` is a line end, `\x41`, `\101` and `\u0041` are the letter A, and any
/// other character behind `\` is itself.
///
/// # Errors
/// The reason why an escape stands for nothing.
pub(super) fn with_escapes(written: &str) -> Result<String, String> {
    let mut text = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != ESCAPE {
            text.push(letter);
            continue;
        }
        let Some(kind) = letters.next() else { return Err("the text ends behind a backslash".to_owned()) };
        let mut digits = |first: Option<char>, radix: u32, most: usize| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most
                && let Some(digit) = letters.next_if(|letter| letter.is_digit(radix))
            {
                digits.push(digit);
            }
            digits
        };
        let (digits, radix, least) = match kind {
            'b' => ("8".to_owned(), 16, 1),
            'f' => ("c".to_owned(), 16, 1),
            'n' => ("a".to_owned(), 16, 1),
            'r' => ("d".to_owned(), 16, 1),
            't' => ("9".to_owned(), 16, 1),
            'x' => (digits(None, 16, 2), 16, 1),
            'u' => (digits(None, 16, 4), 16, 4),
            'U' => (digits(None, 16, 8), 16, 8),
            '0'..='7' => (digits(Some(kind), 8, 3), 8, 1),
            other => {
                text.push(other);
                continue;
            }
        };
        let code = u32::from_str_radix(&digits, radix).ok().filter(|_| digits.len() >= least);
        let bad = || format!("\\{kind} stands before the digits of a character, and these are '{digits}'");
        text.push(code.and_then(char::from_u32).ok_or_else(bad)?);
    }
    Ok(text)
}

/// Returns the text that `U&'..'` stands for: `escape` with four hexadecimal digits is a UTF-16 unit, and a doubled
/// `escape` is itself.
///
/// # Errors
/// The reason why the text is wrong.
pub(super) fn with_code_points(written: &str, escape: char) -> Result<String, String> {
    let mut units = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, behind)) = rest.split_once(escape) {
        units.extend(before.encode_utf16());
        if let Some(behind) = behind.strip_prefix(escape) {
            units.extend(escape.to_string().encode_utf16());
            rest = behind;
            continue;
        }
        let digits = behind.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        units.push(
            unit.ok_or_else(|| format!("{escape} stands before four hexadecimal digits of a character"))?,
        );
        rest = &behind[4..];
    }
    units.extend(rest.encode_utf16());
    String::from_utf16(&units).map_err(|_| "half of a character beyond U+FFFF stands alone".to_owned())
}

/// Returns the character that UESCAPE names, if it may be one.
///
/// # Errors
/// The reason why it may not.
pub(super) fn escape_of(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None)
            if !letter.is_ascii_hexdigit()
                && !letter.is_whitespace()
                && !matches!(letter, '+' | '"' | '\'') =>
        {
            Ok(letter)
        }
        _ => Err(format!(
            "UESCAPE takes one character, which is no digit, quote, blank or plus, and not '{text}'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_c_are_read() {
        let read = |written: &str| with_escapes(written);
        assert_eq!(read(r"a\nb\t\\\q").as_deref(), Ok("a\nb\t\\q"));
        assert_eq!(read(r"\x41\x4a\101\u0041\U0001F600").as_deref(), Ok("AJAA😀"));
        assert!(read(r"\u00").is_err() && read(r"\x").is_err() && read("\\").is_err());
        assert!(read(r"\ud800").is_err(), "half of a pair is no character");
    }

    #[test]
    fn code_points_are_read_behind_the_escape() {
        assert_eq!(with_code_points(r"\00e4\\x", '\\').as_deref(), Ok("ä\\x"));
        assert_eq!(with_code_points("d!0061t!!", '!').as_deref(), Ok("dat!"));
        assert_eq!(with_code_points(r"\d83d\de00", '\\').as_deref(), Ok("😀"));
        assert!(with_code_points(r"\00", '\\').is_err() && with_code_points(r"\d83d", '\\').is_err());
        assert_eq!(escape_of("!"), Ok('!'));
        assert!(escape_of("a").is_err() && escape_of("").is_err() && escape_of("!!").is_err());
    }
}
