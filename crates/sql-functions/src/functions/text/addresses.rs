//! SQL functions of addresses in networks: INET_ATON, INET_NTOA.

use std::net::Ipv4Addr;

use arrow::datatypes::Int64Type;

use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds INET_ATON: an IPv4 address as a number; NULL if the text is no address. Of fewer than four parts the last one is the
/// last of the address, and zeros stand before it: `127.1` is `127.0.0.1`.
pub(super) fn inet_aton(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::BigInt, Nulls::Anyway, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::primitive::<Int64Type, _>(arguments, rows, |row| number_of(text.at(row)?))
    }))
}

/// Binds INET_NTOA: the IPv4 address that a number stands for; NULL if the number is below 0 or has more than 32 bits.
pub(super) fn inet_ntoa(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Whole], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let number = Input::<Int64Type>::of(&arguments[0])?;
        each::text(arguments, rows, |row| {
            let number = u32::try_from(number.at(row)?).ok()?;
            Some(Ipv4Addr::from_bits(number).to_string())
        })
    }))
}

/// Returns an IPv4 address as a number; `None` if the text is no address.
fn number_of(text: &str) -> Option<i64> {
    let mut parts = [0_u8; 4];
    let mut count = 0;
    for part in text.split('.') {
        let is_whole = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        *parts.get_mut(count)? = part.parse().ok().filter(|_| is_whole)?;
        count += 1;
    }
    parts.swap(count - 1, 3);
    Some(i64::from(u32::from_be_bytes(parts)))
}
