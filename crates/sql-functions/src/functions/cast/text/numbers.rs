//! Conversion of numbers and booleans to text: floats as Java's `toString` shows them, decimals in plain
//! digits. Also the readers for the texts that Flink accepts as numbers and booleans.
//!
//! Source: Flink, `BinaryStringDataUtil` (`toLong`, `toDouble`, `toDecimal`, `toBooleanSQL`); Java 19 and later,
//! `Double.toString`: the shortest digits which are read as the same number, with an exponent outside 0.001 to 10
//! million.

use std::fmt::{self, LowerExp, Write};
use std::str::FromStr;

use crate::functions::decimal;

/// Appends a DOUBLE as Java's `Double.toString` shows it: `1.0`, `0.001`, `1.0E10`, `NaN`, `Infinity`. Errors
/// of `out` are ignored.
pub fn write_double(value: f64, out: &mut impl Write) {
    let _ = if !value.is_finite() {
        out.write_str(name_of(value))
    } else if value.fract() == 0.0 && value.abs() < 1e7 {
        // Most whole numbers are small, and writing their digits as an integer is cheaper than formatting a
        // float.
        let sign = if value.is_sign_negative() { "-" } else { "" };
        write!(out, "{sign}{}.0", value.abs() as u32)
    } else {
        write_shortest(value, value.abs() < 1e-320, out)
    };
}

/// Appends a FLOAT as Java's `Float.toString` shows it: `1.0`, `1.4E-45`. Errors of `out` are ignored.
pub fn write_float(value: f32, out: &mut impl Write) {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < 1e7) {
        return write_double(f64::from(value), out);
    }
    let _ = write_shortest(value, value.abs() < 1e-43, out);
}

/// Appends a decimal number in plain digits, with `scale` digits after the point: `-0.50`.
pub fn write_decimal(value: i128, scale: u8, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    let value = value.unsigned_abs();
    let divisor = decimal::power_of_ten(u32::from(scale)).map_or(u128::MAX, i128::unsigned_abs);
    // Writing to a String does not fail.
    let _ = if scale == 0 {
        write!(out, "{value}")
    } else if let (Ok(whole), Ok(part)) = (u64::try_from(value / divisor), u64::try_from(value % divisor)) {
        write!(out, "{whole}.{part:0width$}", width = usize::from(scale))
    } else {
        write!(out, "{}.{:0width$}", value / divisor, value % divisor, width = usize::from(scale))
    };
}

/// Reads a whole number from text. Spaces around it are ignored, and digits after a point are dropped.
pub fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim_matches(' ');
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() {
        return None;
    }
    // The digits are added up as a negative number, because an i64 holds -2^63 but not 2^63.
    let mut value = 0_i64;
    let mut rest = digits.iter();
    for &digit in rest.by_ref() {
        match digit {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?,
            b'.' => break,
            _ => return None,
        }
    }
    if !rest.all(u8::is_ascii_digit) {
        return None;
    }
    if is_negative { Some(value) } else { value.checked_neg() }
}

/// Reads a DOUBLE from text as Java's `Double.valueOf` does: `1`, `.5`, `1e3`, `2d`, `NaN`, `-Infinity`, with
/// white space around it.
///
/// Differs from Flink: numbers in hexadecimal digits (`0x1p3`) are not read.
pub fn parse_double(text: &str) -> Option<f64> {
    match literal(text)? {
        Literal::Digits(digits) => digits.parse().ok(),
        Literal::Name(value) => Some(value),
    }
}

/// Reads a FLOAT from text as Java's `Float.valueOf` does; see [`parse_double`].
pub fn parse_float(text: &str) -> Option<f32> {
    match literal(text)? {
        Literal::Digits(digits) => digits.parse().ok(),
        Literal::Name(value) => Some(value as f32),
    }
}

/// Reads a decimal number from text, rounded half up to its scale. `None` if the text is not a number or has
/// too many digits.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    read_decimal(text, precision, scale).ok().flatten()
}

/// Error for text that is not a number, as opposed to a number with too many digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotANumber;

/// Reads a decimal number from text, rounded half up to its scale. `None` if the number has too many digits.
///
/// Differs from Flink: text with a stray character after a short number (`12x`), which Flink ignores, is not
/// a number.
///
/// # Errors
/// [`NotANumber`] if the text is not a number.
pub fn read_decimal(text: &str, precision: u8, scale: u8) -> Result<Option<i128>, NotANumber> {
    let text = text.trim_matches([' ', '\n', '\t']);
    let (is_negative, text) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent_of(exponent)?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !are_digits(whole) || !are_digits(part) {
        return Err(NotANumber);
    }
    // Digits of the number from this position on, counted from its first digit, lie beyond the scale of the
    // decimal and are dropped.
    let kept = whole.len() as i64 + exponent + i64::from(scale);
    let mut value = 0_i128;
    let mut place = 0_i64;
    for digit in whole.bytes().chain(part.bytes()).map(|byte| i128::from(byte - b'0')) {
        if kept <= place {
            // Only the first dropped digit decides about rounding: half is rounded up.
            if kept == place && 5 <= digit {
                value = value.saturating_add(1);
            }
            break;
        }
        match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
            Some(next) => value = next,
            None => return Ok(None),
        }
        place += 1;
    }
    if place < kept && value != 0 {
        let missing = u32::try_from(kept - place).unwrap_or(u32::MAX);
        match decimal::power_of_ten(missing).and_then(|factor| value.checked_mul(factor)) {
            Some(scaled) => value = scaled,
            None => return Ok(None),
        }
    }
    let value = if is_negative { -value } else { value };
    Ok(decimal::fits(value, precision).then_some(value))
}

/// Converts a float to a decimal number: its shortest digits, rounded half up. `None` if the number has too
/// many digits.
///
/// # Errors
/// [`NotANumber`] for NaN and infinities.
pub fn decimal_of_double(value: f64, precision: u8, scale: u8) -> Result<Option<i128>, NotANumber> {
    if !value.is_finite() {
        return Err(NotANumber);
    }
    let mut form = Form::default();
    write!(form, "{value:e}").map_err(|_| NotANumber)?;
    read_decimal(form.text(), precision, scale)
}

/// Reads a boolean from text: `true`, `t`, `yes`, `y`, `1` and their opposites, in any case.
pub fn parse_boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(&["true", "t", "yes", "y", "1"]) {
        Some(true)
    } else if is_one_of(&["false", "f", "no", "n", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// Text of a number in scientific form, which has at most 32 bytes.
#[derive(Default)]
pub(crate) struct Form {
    bytes: [u8; 32],
    length: usize,
}

impl Form {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Form {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

enum Literal<'a> {
    Digits(&'a str),
    Name(f64),
}

fn literal(text: &str) -> Option<Literal<'_>> {
    let text = text.trim_matches(|c| c <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned {
        "NaN" => return Some(Literal::Name(f64::NAN)),
        "Infinity" => return Some(Literal::Name(sign * f64::INFINITY)),
        _ => {}
    }
    // The number must begin with a digit or a point, because Rust reads `inf` and `nan` in any case and Java
    // does not.
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    Some(Literal::Digits(text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text)))
}

/// Reads the exponent of a number. Exponents beyond 2^40 in either direction are limited to it, so that sums
/// with them do not overflow.
fn exponent_of(text: &str) -> Result<i64, NotANumber> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotANumber);
    }
    const LARGEST: i64 = 1 << 40;
    let size = digits.parse().unwrap_or(LARGEST).min(LARGEST);
    Ok(if text.starts_with('-') { -size } else { size })
}

fn name_of(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if 0.0 < value {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// Appends the shortest digits which are read as the same float, in the notation of Java.
fn write_shortest<T: Copy + LowerExp + FromStr + PartialEq>(
    value: T,
    is_nearly_zero: bool,
    out: &mut impl Write,
) -> fmt::Result {
    let mut form = Form::default();
    if is_nearly_zero {
        // Near zero one digit may identify the float. Java still writes the two digits that are nearest to
        // it, as in `4.9E-324`.
        write!(form, "{value:.1e}")?;
        if form.text().parse::<T>().is_ok_and(|read| read == value) {
            return write_as_java(form.text(), out);
        }
        form = Form::default();
    }
    write!(form, "{value:e}")?;
    write_as_java(form.text(), out)
}

/// Rewrites Rust's form of a float, `-1.25e-7`, as Java's `-1.25E-7`, or as `-0.00125` if the number lies
/// between 0.001 and 10 million.
fn write_as_java(form: &str, out: &mut impl Write) -> fmt::Result {
    let (mantissa, exponent) = form.split_once('e').unwrap_or((form, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if unsigned.len() < mantissa.len() {
        out.write_char('-')?;
    }
    let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    match exponent {
        0..=6 => {
            let places = exponent as usize;
            out.write_str(whole)?;
            if places < part.len() {
                out.write_str(&part[..places])?;
                out.write_char('.')?;
                out.write_str(&part[places..])
            } else {
                out.write_str(part)?;
                (part.len()..places).try_for_each(|_| out.write_char('0'))?;
                out.write_str(".0")
            }
        }
        -3..=-1 => {
            out.write_str("0.")?;
            (exponent..-1).try_for_each(|_| out.write_char('0'))?;
            out.write_str(whole)?;
            out.write_str(part)
        }
        _ => {
            let part = if part.is_empty() { "0" } else { part };
            write!(out, "{whole}.{part}E{exponent}")
        }
    }
}
