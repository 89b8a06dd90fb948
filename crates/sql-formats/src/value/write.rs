//! Writes numbers, dates, times and bytes as text in the forms that Java prints.

use std::fmt;
use std::io::Write;

use arrow::datatypes::TimeUnit;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use thalweg_sql_functions::functions::cast::text::{write_double, write_float};
use thalweg_sql_functions::functions::time::calendar::{Civil, DAY_SECONDS, civil};

use super::{TimestampForm, of_unit};

pub(in super::super) fn write_integer(value: i64, to: &mut Vec<u8>) {
    put(to, format_args!("{value}"));
}

/// Writes a double as `Double.toString` does: the fewest digits which distinguish it from its neighbours, at least
/// one of them after the point, and an exponent from 10^7 on and below 10^-3.
pub(in super::super) fn write_f64(value: f64, to: &mut Vec<u8>) {
    write_double(value, &mut Text(to));
}

/// Writes a float as `Float.toString` does.
pub(in super::super) fn write_f32(value: f32, to: &mut Vec<u8>) {
    write_float(value, &mut Text(to));
}

/// Writes a decimal as Jackson writes a `BigDecimal`: without trailing zeros. Unless `is_plain`, it has an
/// exponent if it is a multiple of 10 or lies between -10^-6 and 10^-6.
///
/// Source: `JsonNodeFactory.numberNode(BigDecimal)`, which removes the zeros, `BigDecimal.toString`, `toPlainString`.
pub(in super::super) fn write_decimal(value: i128, scale: u8, is_plain: bool, to: &mut Vec<u8>) {
    let (mut digits, mut scale) = (value.unsigned_abs(), i32::from(scale));
    while digits != 0 && digits.is_multiple_of(10) {
        digits /= 10;
        scale -= 1;
    }
    if digits == 0 {
        to.push(b'0');
        return;
    }
    if value < 0 {
        to.push(b'-');
    }
    let mut text = Digits { bytes: [0; 48], len: 0 };
    put(&mut text, format_args!("{digits}"));
    let digits = text.text();
    let count = digits.len() as i32;
    let exponent = count - 1 - scale;
    if !is_plain && (scale < 0 || exponent < -6) {
        to.push(digits[0]);
        if let [_, rest @ ..] = digits
            && !rest.is_empty()
        {
            to.push(b'.');
            to.extend_from_slice(rest);
        }
        put(to, format_args!("E{exponent:+}"));
    } else if scale <= 0 {
        to.extend_from_slice(digits);
        to.resize(to.len() + scale.unsigned_abs() as usize, b'0');
    } else if scale < count {
        let (whole, part) = digits.split_at((count - scale) as usize);
        to.extend_from_slice(whole);
        to.push(b'.');
        to.extend_from_slice(part);
    } else {
        to.extend_from_slice(b"0.");
        to.resize(to.len() + (scale - count) as usize, b'0');
        to.extend_from_slice(digits);
    }
}

/// Writes bytes in base64, with padding. Source: RFC 4648, section 4.
pub fn write_base64(bytes: &[u8], to: &mut Vec<u8>) {
    put(to, format_args!("{}", Base64Display::new(bytes, &STANDARD)));
}

/// Writes a date as `yyyy-MM-dd`, with a sign before years of more than four digits and before years below 0.
pub(in super::super) fn write_date(days: i64, to: &mut Vec<u8>) {
    let Civil { year, month, day } = civil(days);
    if year < 0 {
        put(to, format_args!("-{:04}-{month:02}-{day:02}", -year));
    } else {
        let sign = if 9_999 < year { "+" } else { "" };
        put(to, format_args!("{sign}{year:04}-{month:02}-{day:02}"));
    }
}

/// Writes a time of day, given in milliseconds since midnight: `HH:mm:ss`, and the fraction of a second
/// without trailing zeros, if it is not 0.
pub(in super::super) fn write_time(millis: i32, to: &mut Vec<u8>) {
    let (seconds, millis) = (i64::from(millis).div_euclid(1_000), i64::from(millis).rem_euclid(1_000));
    write_clock(seconds.rem_euclid(DAY_SECONDS), (millis * 1_000_000) as u32, to);
}

/// Writes a timestamp, or an instant if `is_instant`, with the fraction of a second without trailing zeros,
/// if it is not 0. `value` counts units of `unit` since 1970.
pub(in super::super) fn write_timestamp(
    value: i64,
    unit: TimeUnit,
    form: TimestampForm,
    is_instant: bool,
    to: &mut Vec<u8>,
) {
    let (seconds, nanos) = of_unit(value, unit);
    write_date(seconds.div_euclid(DAY_SECONDS), to);
    to.push(if form == TimestampForm::Sql { b' ' } else { b'T' });
    write_clock(seconds.rem_euclid(DAY_SECONDS), nanos, to);
    if is_instant || form == TimestampForm::IsoWithOffset {
        to.push(b'Z');
    }
}

fn write_clock(seconds: i64, nanos: u32, to: &mut Vec<u8>) {
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    put(to, format_args!("{hour:02}:{minute:02}:{second:02}"));
    if nanos != 0 {
        put(to, format_args!(".{nanos:09}"));
        while to.last() == Some(&b'0') {
            to.pop();
        }
    }
}

/// Bytes to which text is appended.
struct Text<'a>(&'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// A buffer for the digits of one decimal, of which there are at most 39.
struct Digits {
    bytes: [u8; 48],
    len: usize,
}

impl Digits {
    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Digits {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let len = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + len].copy_from_slice(&text[..len]);
        self.len += len;
        Ok(len)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes formatted text to memory, which never fails.
fn put(to: &mut impl Write, text: fmt::Arguments<'_>) {
    let written = to.write_fmt(text);
    debug_assert!(written.is_ok(), "memory takes what is written to it");
}
