//! Arithmetic of DECIMAL values as in Flink: whole numbers of 128 bits with a scale, rounded half up, and
//! NULL if there are not enough digits.
//!
//! Source: Flink, `DecimalData.fromBigDecimal` (round to the scale, then NULL if there are too many digits)
//! and `DecimalDataUtils`. Products and quotients go through 256 bits where 128 do not suffice.

use arrow::datatypes::i256;

use crate::types::DECIMAL_PRECISION_MAX;

/// Returns 10 to the power of an exponent from 0 to 38 as an integer of 128 bits; `None` for greater
/// exponents.
#[inline]
pub fn power_of_ten(exponent: u32) -> Option<i128> {
    if exponent <= u32::from(DECIMAL_PRECISION_MAX) { Some(10_i128.pow(exponent)) } else { None }
}

/// Returns whether an unscaled decimal number has at most `precision` digits.
pub fn fits(value: i128, precision: u8) -> bool {
    match power_of_ten(u32::from(precision)) {
        Some(bound) => value.unsigned_abs() < bound.unsigned_abs(),
        None => true,
    }
}

/// Returns a decimal number with another scale, rounded half up (away from zero); `None` if the result takes
/// more than `precision` digits.
pub fn rescale(value: i128, from_scale: i32, to_scale: i32, precision: u8) -> Option<i128> {
    let scaled = if from_scale <= to_scale {
        match power_of_ten(from_scale.abs_diff(to_scale)) {
            Some(factor) => value.checked_mul(factor)?,
            None if value == 0 => 0,
            None => return None,
        }
    } else {
        match power_of_ten(from_scale.abs_diff(to_scale)) {
            Some(divisor) => divide_half_up(value, divisor),
            None => 0,
        }
    };
    fits(scaled, precision).then_some(scaled)
}

/// Returns a decimal number of 256 bits with another scale, as [`rescale`] does for one of 128 bits.
pub fn rescale_wide(value: i256, from_scale: i32, to_scale: i32, precision: u8) -> Option<i128> {
    let difference = from_scale.abs_diff(to_scale);
    let scaled = if from_scale <= to_scale {
        if value == i256::ZERO {
            return Some(0);
        }
        value.checked_mul(wide_power_of_ten(difference)?)?
    } else {
        let Some(divisor) = wide_power_of_ten(difference) else { return Some(0) };
        let quotient = value.checked_div(divisor)?;
        let rest = value.checked_rem(divisor)?.checked_abs()?;
        let is_up = divisor.checked_sub(rest)? <= rest;
        let step = if value.is_negative() { i256::MINUS_ONE } else { i256::ONE };
        if is_up { quotient.checked_add(step)? } else { quotient }
    };
    scaled.to_i128().filter(|&scaled| fits(scaled, precision))
}

/// Divides two whole numbers and rounds half up (away from zero). The divisor must not be zero.
pub fn divide_half_up(value: i128, divisor: i128) -> i128 {
    let quotient = value.wrapping_div(divisor);
    let rest = value.wrapping_rem(divisor).unsigned_abs();
    if divisor.unsigned_abs() - rest <= rest {
        let step = if (value < 0) == (divisor < 0) { 1 } else { -1 };
        quotient + step
    } else {
        quotient
    }
}

/// Returns the number of decimal digits of a whole number; 0 for zero.
pub fn digits(value: u128) -> u32 {
    value.checked_ilog10().map_or(0, |log| log + 1)
}

/// Returns 10 to the power of an exponent up to 76, the most that 256 bits hold; `None` for greater
/// exponents.
pub fn wide_power_of_ten(exponent: u32) -> Option<i256> {
    let low = i256::from_i128(power_of_ten(exponent.min(38))?);
    if exponent <= 38 {
        return Some(low);
    }
    low.checked_mul(i256::from_i128(power_of_ten(exponent - 38)?))
}
