//! SQL functions that encode and decode: TO_BASE64, FROM_BASE64, UNHEX, ENCODE, DECODE.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};

use crate::functions::each::{self, Bytes, Input, Kind, Nulls, Octets, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;

/// Base64 of RFC 4648, section 4, without padding. In texts that are decoded, the unused bits of the last
/// digit may be set.
static UNPADDED: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Binds TO_BASE64 of text or bytes; the result is padded with `=`.
///
/// Source: RFC 4648, section 4.
pub(super) fn to_base64(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let octets = Octets::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            STANDARD.encode_string(octets.at(row)?, out);
            Some(())
        })
    }))
}

/// Binds FROM_BASE64: decodes text or bytes to text.
///
/// Differs from Flink: decoded bytes which are not UTF-8 are replaced by U+FFFD at once; Flink keeps them and
/// replaces them only when the text is shown.
pub(super) fn from_base64(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let octets = Octets::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let Some(digits) = octets.at(row) else { return Ok(None) };
            let Some(bytes) = base64_of(digits) else {
                let shown = String::from_utf8_lossy(digits.get(..60).unwrap_or(digits));
                let message = format!("'{shown}' is not in base 64");
                return Err(EvaluationError { code: "BAD_BASE64", message });
            };
            out.push_str(&String::from_utf8_lossy(&bytes));
            Ok(Some(()))
        })
    }))
}

/// Decodes base 64; `None` if the digits are invalid. Padding may be left out, but must be right if it is there.
///
/// Source: Java, `Base64.getDecoder`.
fn base64_of(digits: &[u8]) -> Option<Vec<u8>> {
    let plain = digits.strip_suffix(b"==").or_else(|| digits.strip_suffix(b"=")).unwrap_or(digits);
    if plain.len() != digits.len() && !digits.len().is_multiple_of(4) {
        return None;
    }
    UNPADDED.decode(plain).ok()
}

/// Binds UNHEX: the bytes for which pairs of hexadecimal digits stand, or NULL if there is another character.
/// If the number of digits is odd, the first byte is 0 whatever the first digit, which must still be
/// hexadecimal.
///
/// Source: Flink, `UnhexFunction`.
pub(super) fn unhex(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::BYTES, Nulls::Anyway, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::bytes(arguments, rows, |row, out| {
            let digits = text.at(row)?.as_bytes();
            let half = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
            let (dropped, pairs) = digits.as_rchunks::<2>();
            if let [digit] = dropped {
                half(*digit)?;
                out.push(0);
            }
            for [upper, lower] in pairs {
                out.push(half(*upper)? << 4 | half(*lower)?);
            }
            Some(())
        })
    }))
}

/// Character set of ENCODE and DECODE.
#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    /// UTF-16 with a byte order mark. Without a mark the upper byte of each unit comes first.
    Utf16,
    Utf16Be,
    Utf16Le,
}

impl Charset {
    fn of(name: &str) -> Result<Charset, String> {
        match name.to_ascii_uppercase().as_str() {
            "UTF-8" | "UTF8" => Ok(Charset::Utf8),
            "US-ASCII" | "ASCII" => Ok(Charset::Ascii),
            "ISO-8859-1" | "LATIN1" => Ok(Charset::Latin1),
            "UTF-16" => Ok(Charset::Utf16),
            "UTF-16BE" => Ok(Charset::Utf16Be),
            "UTF-16LE" => Ok(Charset::Utf16Le),
            _ => Err(format!(
                "there is no character set '{name}': take US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16"
            )),
        }
    }

    fn encode(self, text: &str, out: &mut Vec<u8>) {
        let narrow = |text: &str, out: &mut Vec<u8>, limit: u32| {
            let byte = |letter: char| if u32::from(letter) < limit { letter as u8 } else { b'?' };
            out.extend(text.chars().map(byte));
        };
        match self {
            Charset::Utf8 => out.extend_from_slice(text.as_bytes()),
            Charset::Ascii => narrow(text, out, 128),
            Charset::Latin1 => narrow(text, out, 256),
            Charset::Utf16Le => out.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Charset::Utf16Be => out.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Charset::Utf16 => {
                if !text.is_empty() {
                    out.extend([0xFE, 0xFF]);
                }
                out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
            }
        }
    }

    fn decode(self, bytes: &[u8], out: &mut String) {
        let mut wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
            let (units, rest) = bytes.as_chunks::<2>();
            let units = units.iter().map(|pair| unit(*pair));
            out.extend(char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
            if !rest.is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        };
        match (self, bytes) {
            (Charset::Utf16, [0xFF, 0xFE, rest @ ..]) => wide(rest, u16::from_le_bytes),
            (Charset::Utf16, [0xFE, 0xFF, rest @ ..]) => wide(rest, u16::from_be_bytes),
            (Charset::Utf16 | Charset::Utf16Be, _) => wide(bytes, u16::from_be_bytes),
            (Charset::Utf16Le, _) => wide(bytes, u16::from_le_bytes),
            (Charset::Utf8, _) => out.push_str(&String::from_utf8_lossy(bytes)),
            (Charset::Latin1, _) => out.extend(bytes.iter().map(|byte| char::from(*byte))),
            (Charset::Ascii, _) => {
                let letter =
                    |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { char::REPLACEMENT_CHARACTER };
                out.extend(bytes.iter().map(letter));
            }
        }
    }
}

fn unknown(reason: String) -> EvaluationError {
    EvaluationError { code: "UNKNOWN_CHARSET", message: reason }
}

fn check_charset(argument: &Argument) -> Result<(), BindError> {
    argument.text().map_or(Ok(()), |name| Charset::of(name).map(|_| ()).map_err(BindError))
}

/// Binds ENCODE: text as bytes of a character set; characters which the set lacks become a question mark.
pub(super) fn encode(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[])?;
    check_charset(&given[1])?;
    Ok(bound(types, given, SqlType::BYTES, Nulls::OfArguments, |arguments, rows| {
        let (text, charset) = (Input::<Text>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        each::bytes(arguments, rows, |row, out| {
            let (Some(text), Some(charset)) = (text.at(row), charset.at(row)) else { return Ok(None) };
            Charset::of(charset).map_err(unknown)?.encode(text, out);
            Ok(Some(()))
        })
    }))
}

/// Binds DECODE: bytes of a character set as text; invalid bytes become U+FFFD.
pub(super) fn decode(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Bytes, Kind::Text], &[])?;
    check_charset(&given[1])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (bytes, charset) = (Input::<Bytes>::of(&arguments[0])?, Input::<Text>::of(&arguments[1])?);
        each::written(arguments, rows, |row, out| {
            let (Some(bytes), Some(charset)) = (bytes.at(row), charset.at(row)) else { return Ok(None) };
            Charset::of(charset).map_err(unknown)?.decode(bytes, out);
            Ok(Some(()))
        })
    }))
}
