//! Arithmetic of decimals with decimals or whole numbers: the digits of the result, and its value.
//!
//! With `(p1, s1)` and `(p2, s2)` the digits of the operands:
//!
//! | operator | digits | of them after the point |
//! |---|---|---|
//! | `+`, `-` | max(s1, s2) + max(p1 - s1, p2 - s2) + 1 | max(s1, s2) |
//! | `*` | p1 + p2 + 1 | s1 + s2 |
//! | `/` | p1 - s1 + s2 + scale | max(6, s1 + p2 + 1) |
//! | `%` | min(p1 - s1, p2 - s2) + max(s1, s2) | max(s1, s2) |
//!
//! If that is more than 38 digits, digits after the point are dropped, down to six of them. Results are rounded half
//! up and are NULL if they do not fit; a quotient is first rounded to 38 digits. If both operands of `%` are whole,
//! the result has the type of the divisor.
//!
//! Source: Flink, `LogicalTypeMerging.find*DecimalType` and `adjustPrecisionScale`, `FlinkTypeSystem.deriveDecimalModType`,
//! `DecimalDataUtils`.

use std::sync::Arc;

use arrow::datatypes::*;

use super::ArithmeticOp;
use crate::functions::decimal::{
    digits, divide_half_up, fits, power_of_ten, rescale, rescale_wide, wide_power_of_ten,
};
use crate::functions::over::{both, try_zip};
use crate::functions::{BindError, Bound, EvaluationError};
use crate::types::{DECIMAL_PRECISION_MAX, SqlType};
use crate::values::ColumnarValue;

/// Binds an arithmetic operator to a decimal and another exact number.
pub(super) fn bind(
    op: ArithmeticOp,
    left: &SqlType,
    right: &SqlType,
    is_nullable: bool,
) -> Result<Bound, BindError> {
    let (Some(left_digits), Some(right_digits)) = (left.as_decimal(), right.as_decimal()) else {
        return Err(BindError::new(format!("{left} {op} {right} has no decimal type")));
    };
    let are_whole = left_digits.1 == 0 && right_digits.1 == 0;
    if op == ArithmeticOp::Modulo && are_whole && right.is_integer() {
        // Flink computes the remainder of a DECIMAL without a fraction in BIGINT, so the result is a whole
        // number.
        return super::numbers(op, &SqlType::BigInt, right, is_nullable);
    }
    let (wanted, scale) = wanted(op, left_digits, right_digits);
    let (precision, scale) =
        if op == ArithmeticOp::Modulo && are_whole { right_digits } else { adjusted(wanted, scale) };
    let result = SqlType::Decimal { precision, scale };
    let operation = Operation { left_scale: left_digits.1, right_scale: right_digits.1, precision, scale };
    let of = result.arrow();
    let kernel = move |arguments: &[ColumnarValue], _: usize| {
        let (left, right) = both(arguments)?;
        try_zip::<Decimal128Type, Decimal128Type, Decimal128Type>(left, right, &of, |left, right| match op {
            ArithmeticOp::Add => Ok(operation.sum(left, right)),
            ArithmeticOp::Subtract => Ok(operation.sum(left, right.wrapping_neg())),
            ArithmeticOp::Multiply => Ok(operation.product(left, right)),
            ArithmeticOp::Divide if right == 0 => Err(EvaluationError::division_by_zero()),
            ArithmeticOp::Divide => Ok(operation.quotient(left, right)),
            ArithmeticOp::Modulo if right == 0 => Err(EvaluationError::division_by_zero()),
            ArithmeticOp::Modulo => Ok(operation.remainder(left, right)),
        })
    };
    let decimal = |(precision, scale)| SqlType::Decimal { precision, scale };
    Ok(Bound {
        arguments: vec![decimal(left_digits), decimal(right_digits)],
        result,
        is_nullable: is_nullable || i32::from(DECIMAL_PRECISION_MAX) < wanted,
        kernel: Arc::new(kernel),
    })
}

/// Returns the number of digits of a decimal result before they are limited to 38, and how many of them stand
/// after the point.
fn wanted(op: ArithmeticOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> (i32, i32) {
    let [p1, s1, p2, s2] = [p1, s1, p2, s2].map(i32::from);
    match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => (s1.max(s2) + (p1 - s1).max(p2 - s2) + 1, s1.max(s2)),
        ArithmeticOp::Multiply => (p1 + p2 + 1, s1 + s2),
        ArithmeticOp::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            (p1 - s1 + s2 + scale, scale)
        }
        ArithmeticOp::Modulo => ((p1 - s1).min(p2 - s2) + s1.max(s2), s1.max(s2)),
    }
}

/// Limits the digits of a decimal result to 38. Digits before the point take precedence, but six after it
/// are kept.
fn adjusted(precision: i32, scale: i32) -> (u8, u8) {
    const SCALE_KEPT: i32 = 6;
    let most = i32::from(DECIMAL_PRECISION_MAX);
    if precision <= most {
        // A decimal type has at least one digit; a remainder of two numbers below one may need none.
        return (precision.max(1) as u8, scale as u8);
    }
    let whole = precision - scale;
    (DECIMAL_PRECISION_MAX, (most - whole).max(scale.min(SCALE_KEPT)) as u8)
}

/// Scales (digits after the point) of both operands of a decimal operation, and the precision and scale of
/// its result.
#[derive(Clone, Copy)]
struct Operation {
    left_scale: u8,
    right_scale: u8,
    precision: u8,
    scale: u8,
}

impl Operation {
    fn sum(&self, left: i128, right: i128) -> Option<i128> {
        let common = self.left_scale.max(self.right_scale);
        let scaled = |value: i128, scale: u8| value.checked_mul(power_of_ten(u32::from(common - scale))?);
        let narrow = || scaled(left, self.left_scale)?.checked_add(scaled(right, self.right_scale)?);
        if let Some(sum) = narrow() {
            return if common == self.scale {
                Some(sum).filter(|&sum| fits(sum, self.precision))
            } else {
                rescale(sum, i32::from(common), i32::from(self.scale), self.precision)
            };
        }
        let (left, right) = self.aligned(left, right)?;
        self.fitted(left.checked_add(right)?, i32::from(common))
    }

    fn product(&self, left: i128, right: i128) -> Option<i128> {
        let scale = i32::from(self.left_scale) + i32::from(self.right_scale);
        match left.checked_mul(right) {
            Some(product) => rescale(product, scale, i32::from(self.scale), self.precision),
            None => self.fitted(i256::from_i128(left).checked_mul(i256::from_i128(right))?, scale),
        }
    }

    fn quotient(&self, left: i128, right: i128) -> Option<i128> {
        if left == 0 {
            return Some(0);
        }
        // The quotient of both unscaled numbers, times 10 to the power of `shift`, is the unscaled result.
        let shift = i32::from(self.scale) + i32::from(self.right_scale) - i32::from(self.left_scale);
        if let Some(quotient) = narrow_quotient(left, right, shift) {
            return Some(quotient).filter(|&quotient| fits(quotient, self.precision));
        }
        let (quotient, places) = rounded_quotient(left, right)?;
        let scale = places + i32::from(self.left_scale) - i32::from(self.right_scale);
        rescale(quotient, scale, i32::from(self.scale), self.precision)
    }

    fn remainder(&self, left: i128, right: i128) -> Option<i128> {
        let (left, right) = self.aligned(left, right)?;
        let common = self.left_scale.max(self.right_scale);
        self.fitted(left.checked_rem(right)?, i32::from(common))
    }

    /// Returns both operands of a decimal operation as unscaled numbers at the larger of their two scales.
    fn aligned(&self, left: i128, right: i128) -> Option<(i256, i256)> {
        let common = self.left_scale.max(self.right_scale);
        let scaled = |value: i128, scale: u8| {
            i256::from_i128(value).checked_mul(wide_power_of_ten(u32::from(common - scale))?)
        };
        Some((scaled(left, self.left_scale)?, scaled(right, self.right_scale)?))
    }

    fn fitted(&self, value: i256, scale: i32) -> Option<i128> {
        rescale_wide(value, scale, i32::from(self.scale), self.precision)
    }
}

/// Number of significant digits to which a decimal quotient is rounded before it is rounded to its scale, as
/// by Flink's `MC_DIVIDE`.
const QUOTIENT_DIGITS: u32 = 38;

/// Returns `left / right` times 10 to the power of `shift`, rounded once half up. Returns `None` if rounding
/// first to 38 digits might give another result, if `shift` is negative, or if 128 bits do not suffice.
///
/// Rounding to 38 digits first makes a difference only if the true quotient is nearer to a half than the 38th
/// digit can show. The quotient is a multiple of 1 / divisor, so its distance from a half is zero or at least
/// half of 1 / divisor. If quotient and divisor have no more than 38 digits together, that distance is too
/// large to make a difference.
fn narrow_quotient(left: i128, right: i128, shift: i32) -> Option<i128> {
    let factor = power_of_ten(u32::try_from(shift).ok()?)?;
    let quotient = divide_half_up(left.checked_mul(factor)?, right);
    let count = digits(quotient.unsigned_abs()) + digits(right.unsigned_abs());
    (count <= QUOTIENT_DIGITS).then_some(quotient)
}

/// Returns `left / right` as a number of 38 digits, rounded half up, and how many of these digits lie after
/// the point.
fn rounded_quotient(left: i128, right: i128) -> Option<(i128, i32)> {
    let (dividend, divisor) = (left.unsigned_abs(), right.unsigned_abs());
    // As many zeros are appended to the dividend as give the quotient 38 or 39 digits.
    let zeros = QUOTIENT_DIGITS + digits(divisor) - digits(dividend);
    let wide = i256::from_parts(dividend, 0).checked_mul(wide_power_of_ten(zeros)?)?;
    let by = i256::from_parts(divisor, 0);
    let quotient = wide.checked_div(by)?.to_i128()?;
    let rest = wide.checked_rem(by)?.to_i128()?.unsigned_abs();
    let (rounded, places) = if QUOTIENT_DIGITS < digits(quotient.unsigned_abs()) {
        (quotient / 10 + i128::from(5 <= quotient % 10), zeros as i32 - 1)
    } else {
        (quotient + i128::from(divisor - rest <= rest), zeros as i32)
    };
    let is_negative = (left < 0) != (right < 0);
    Some((if is_negative { -rounded } else { rounded }, places))
}
