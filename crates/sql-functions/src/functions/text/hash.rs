//! SQL functions that return hashes as hexadecimal digits: MD5, SHA1, SHA224, SHA256, SHA384, SHA512, SHA2.
//!
//! The hash of a text is that of its UTF-8 bytes, written in lower case; the argument may also be bytes. The hashes
//! are for checksums and keys, not for secrets, because MD5 and SHA1 are broken.
//!
//! Source: RFC 1321 (MD5), FIPS 180-4 (SHA).

use arrow::datatypes::Int64Type;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::functions::each::{self, Input, Kind, Nulls, Octets, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

pub(super) fn md5(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Md5>)
}

pub(super) fn sha1(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Sha1>)
}

pub(super) fn sha224(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Sha224>)
}

pub(super) fn sha256(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Sha256>)
}

pub(super) fn sha384(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Sha384>)
}

pub(super) fn sha512(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, hash::<Sha512>)
}

/// Binds SHA2 with a number of bits: 224, 256, 384 or 512. Other numbers give NULL, and are refused if they are
/// literals.
pub(super) fn sha2(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes, Kind::Whole], &[])?;
    let bits = given[1].literal.as_ref().filter(|bits| !bits.is_null()).map(ToString::to_string);
    if let Some(bits) = bits.filter(|bits| sha2_of(bits.parse().unwrap_or(0)).is_none()) {
        return Err(BindError::new(format!("there is no SHA-2 of {bits} bits: take 224, 256, 384 or 512")));
    }
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let (octets, bits) = (Octets::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        each::written(arguments, rows, |row, out| {
            let hash = sha2_of(bits.at(row)?)?;
            hash(octets.at(row)?, out);
            Some(())
        })
    }))
}

/// Function that appends the hash of a message (the bytes of a text, or bytes) to an output text.
type Hash = fn(&[u8], &mut String);

fn sha2_of(bits: i64) -> Option<Hash> {
    match bits {
        224 => Some(hash::<Sha224>),
        256 => Some(hash::<Sha256>),
        384 => Some(hash::<Sha384>),
        512 => Some(hash::<Sha512>),
        _ => None,
    }
}

fn hashed(given: &[Argument], hash: Hash) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let octets = Octets::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            hash(octets.at(row)?, out);
            Some(())
        })
    }))
}

/// Appends the hash of a message as text: two lower-case hexadecimal digits for each byte.
fn hash<D: Digest>(message: &[u8], out: &mut String) {
    for byte in D::digest(message).iter() {
        for half in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
}
