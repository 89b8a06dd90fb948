//! Arithmetic for aggregates with decimal results: means, and conversion of doubles to decimals.
//!
//! Source: Flink, `DecimalDataUtils.divide` and `castFrom(double, ..)`, `DecimalData.fromBigDecimal`.

use arrow::datatypes::i256;

use super::sum::fitting;

/// Number of significant digits to which a decimal mean is rounded before it is rounded to its scale, as by
/// Java's `MathContext(38, HALF_UP)`.
const QUOTIENT_DIGITS: u32 = 38;

/// Returns the scale (number of digits after the point) of the mean of decimals with scale `scale`: at least
/// 6.
pub(super) fn average_scale(scale: u8) -> u8 {
    scale.max(6)
}

/// Returns the mean of decimals, `sum / count`, with the scale [`average_scale`], for a sum of scale `scale`.
/// The quotient is rounded to 38 digits, then to the scale, half away from zero both times. Returns `None` if
/// the result does not fit.
pub(super) fn decimal_average(sum: i128, scale: u8, count: i64) -> Option<i128> {
    if sum == 0 {
        return Some(0);
    }
    let digits = |number: u128| number.checked_ilog10().map_or(1, |log| log + 1);
    let (sum_digits, count_digits) = (digits(sum.unsigned_abs()), digits(u128::from(count.unsigned_abs())));
    // `shift` zeros are appended to the sum before it is divided by the count. The quotient then has 38 or 39
    // digits; if it has 39, one zero less is appended.
    let mut shift = QUOTIENT_DIGITS + count_digits - sum_digits;
    let count = i256::from_i128(i128::from(count));
    let quotient =
        |shift: u32| rounded_quotient(i256::from_i128(sum).checked_mul(power_of_ten(shift)?)?, count);
    let truncated = i256::from_i128(sum).checked_mul(power_of_ten(shift)?)?.checked_div(count)?;
    if truncated.wrapping_abs() >= power_of_ten(QUOTIENT_DIGITS)? {
        shift -= 1;
    }
    rescaled(quotient(shift)?, u32::from(scale) + shift, u32::from(average_scale(scale)))
}

/// Converts a double to a decimal of scale `scale`. Starts from the shortest digits which distinguish the double from
/// its neighbours, and rounds half away from zero. Returns `None` if the value does not fit or is not finite.
pub(super) fn decimal_of_double(value: f64, scale: u8) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
    let number: i128 = digits.replace('.', "").parse().ok()?;
    let given_scale = behind - exponent;
    if given_scale >= 0 {
        // A double has at most 17 significant digits. With 75 or more digits after the point it lies below
        // 10^-57 and rounds to zero, so 75 stands for all greater scales.
        let given_scale = given_scale.min(75) as u32;
        rescaled(i256::from_i128(number), given_scale, u32::from(scale))
    } else {
        let number = i256::from_i128(number).checked_mul(power_of_ten(given_scale.unsigned_abs())?)?;
        rescaled(number, 0, u32::from(scale))
    }
}

/// Converts a decimal with `from` digits after the point to a decimal with `to` digits after it, rounded
/// half away from zero. `None` if the result has more than 38 digits.
fn rescaled(number: i256, from: u32, to: u32) -> Option<i128> {
    let number = if from > to {
        rounded_quotient(number, power_of_ten(from - to)?)?
    } else {
        number.checked_mul(power_of_ten(to - from)?)?
    };
    fitting(number)
}

/// Divides two integers and rounds the quotient half away from zero.
fn rounded_quotient(dividend: i256, divisor: i256) -> Option<i256> {
    let (quotient, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?.checked_abs()?);
    // The remainder is compared with the divisor minus the remainder, because twice the remainder may
    // overflow.
    if rest < divisor.checked_abs()?.wrapping_sub(rest) {
        return Some(quotient);
    }
    let away = if dividend.is_negative() == divisor.is_negative() { i256::ONE } else { i256::MINUS_ONE };
    quotient.checked_add(away)
}

/// Returns a power of ten; `None` beyond 10^76, which 256 bits cannot hold.
fn power_of_ten(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of decimals are rounded half away from zero. The cases include the examples in Flink's
    /// documentation of decimal division.
    #[test]
    fn means_are_rounded_half_away_from_zero() {
        let check = |sum: i128, scale: u8, count: i64, expected: Option<i128>| {
            assert_eq!(decimal_average(sum, scale, count), expected, "{sum} of scale {scale} by {count}");
        };
        check(0, 2, 3, Some(0));
        check(100, 2, 3, Some(333_333));
        check(200, 2, 3, Some(666_667));
        check(-200, 2, 3, Some(-666_667));
        check(200, 2, -3, Some(-666_667));
        check(-200, 2, -3, Some(666_667));
        check(1, 7, 2, Some(1));
        check(-1, 7, 2, Some(-1));
        check(1, 8, 3, Some(0));
        check(5, 0, 1, Some(5_000_000));
        check(1, 2, i64::MAX, Some(0));
        check(1, 2, i64::MIN, Some(0));
        let most = 10i128.pow(38) - 1;
        // A mean of scale 6 has room for 32 digits before the point, so a sum of 38 digits does not fit.
        check(most, 0, 1, None);
        check(most, 38, 1, Some(most));
        check(-most, 38, 1, Some(-most));
        check(10i128.pow(32) - 1, 0, 1, Some((10i128.pow(32) - 1) * 1_000_000));
        check(most, 6, 2, Some(5 * 10i128.pow(37)));
    }

    #[test]
    fn doubles_become_decimals_by_their_shortest_digits() {
        let check = |value: f64, scale: u8, expected: Option<i128>| {
            assert_eq!(decimal_of_double(value, scale), expected, "{value} of scale {scale}");
        };
        check(0.0, 6, Some(0));
        check(-0.0, 6, Some(0));
        check(1.5, 6, Some(1_500_000));
        check(0.000_000_5, 6, Some(1));
        check(-0.000_000_5, 6, Some(-1));
        check(0.000_000_49, 6, Some(0));
        // 2.675 rounds up to 2.68 although the double nearest to it lies slightly below it, because the
        // shortest digits count.
        check(2.675, 2, Some(268));
        check(1e31, 6, Some(10i128.pow(37)));
        check(1e32, 6, None);
        check(f64::MAX, 6, None);
        check(f64::MIN_POSITIVE, 38, Some(0));
        check(5e-324, 38, Some(0));
        check(f64::NAN, 6, None);
        check(f64::NEG_INFINITY, 6, None);
    }
}
