//! SQL functions of URLs: URL_ENCODE, URL_DECODE, PARSE_URL.

use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds URL_ENCODE, which encodes a text as web forms do: letters, digits and `.-*_` stay, a space becomes
/// `+`, all other bytes become `%` and two digits.
///
/// Source: Java, `URLEncoder`.
pub(super) fn encode(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            for byte in text.at(row)?.bytes() {
                match byte {
                    b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-' | b'*' | b'_' => {
                        out.push(char::from(byte));
                    }
                    b' ' => out.push('+'),
                    _ => out.push_str(&format!("%{byte:02X}")),
                }
            }
            Some(())
        })
    }))
}

/// Binds URL_DECODE, which reverses [`encode`]; NULL if a `%` is not followed by two digits.
pub(super) fn decode(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let (mut bytes, mut rest) = (Vec::new(), text.at(row)?.as_bytes());
            while let [first, behind @ ..] = rest {
                rest = behind;
                match first {
                    b'+' => bytes.push(b' '),
                    b'%' => {
                        let (digits, behind) = behind.split_at_checked(2)?;
                        let half = |digit: u8| char::from(digit).to_digit(16);
                        bytes.push((half(digits[0])? << 4 | half(digits[1])?) as u8);
                        rest = behind;
                    }
                    other => bytes.push(*other),
                }
            }
            out.push_str(&String::from_utf8_lossy(&bytes));
            Some(())
        })
    }))
}

/// Binds PARSE_URL: the HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO of a URL, or the value of a key
/// in its query. NULL if there is no such part or the text is not a URL. The part is named in upper case.
///
/// Source: Flink, `SqlFunctionUtils.parseUrl`; Java, `URL`. Differs from Flink: `/./` and `/../` in a path stay.
pub(super) fn parse_url(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[Kind::Text])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let (url, part) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        let key = Input::<Text>::optional(arguments, 2)?;
        each::text(arguments, rows, |row| {
            let (url, part) = (url.at(row)?, part.at(row)?);
            let Some(key) = &key else { return Address::of(url)?.part(part) };
            let key = key.at(row)?;
            let query = Address::of(url)?.part(part).filter(|_| part == "QUERY")?;
            query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
        })
    }))
}

/// Protocols of URLs that Java can parse.
const PROTOCOLS: [&str; 6] = ["http", "https", "ftp", "file", "jar", "mailto"];

/// A URL that is split into its parts.
struct Address<'a> {
    protocol: &'a str,
    authority: Option<&'a str>,
    user: Option<&'a str>,
    host: &'a str,
    path: &'a str,
    /// Path of the URL with its query.
    file: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

impl<'a> Address<'a> {
    /// Parses a URL; `None` if it is invalid or of a protocol that Java does not know.
    fn of(url: &'a str) -> Option<Self> {
        let url = url.trim_matches(|letter: char| letter <= ' ');
        let (protocol, rest) = url.split_once(':')?;
        // The protocol of a URL is shown in lower case, as Java does.
        let protocol = PROTOCOLS.iter().find(|known| protocol.eq_ignore_ascii_case(known))?;
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment)),
            None => (rest, None),
        };
        let (authority, file) = match rest.strip_prefix("//") {
            None => (None, rest),
            Some(rest) => {
                let (authority, file) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
                (Some(authority), file)
            }
        };
        let (path, query) = match file.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (file, None),
        };
        let (user, place) = match authority.unwrap_or_default().split_once('@') {
            // If a URL has two `@`, it is unclear where the user name ends, so it has neither a user nor a
            // host.
            Some((_, place)) if place.contains('@') => (None, ""),
            Some((user, place)) => (Some(user), place),
            None => (None, authority.unwrap_or_default()),
        };
        let (host, port) = if place.starts_with('[') {
            let (host, port) = place.split_at_checked(place.find(']')? + 1)?;
            (host, port.strip_prefix(':'))
        } else {
            place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port)))
        };
        if port.is_some_and(|port| !port.is_empty() && port.parse::<u32>().is_err()) {
            return None;
        }
        Some(Address { protocol, authority, user, host, path, file, query, fragment })
    }

    fn part(&self, name: &str) -> Option<&'a str> {
        match name {
            "HOST" => Some(self.host),
            "PATH" => Some(self.path),
            "QUERY" => self.query,
            "REF" => self.fragment,
            "PROTOCOL" => Some(self.protocol),
            "FILE" => Some(self.file),
            "AUTHORITY" => self.authority,
            "USERINFO" => self.user,
            _ => None,
        }
    }
}
