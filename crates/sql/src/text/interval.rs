//! Parser of interval literals, `INTERVAL '1 02:03' DAY TO MINUTE` and similar forms, and of their types in CAST.
//!
//! As in Flink, an interval of days to seconds becomes a number of milliseconds, and an interval of years and
//! months a number of months. It is parsed as a call of [`MILLIS`] or [`MONTHS`] with that number.
//!
//! Source: Flink's documentation, "Data Types", INTERVAL; SQL:2016, part 2, section 5.3 (interval literals).

use sqlparser::ast::{DataType, DateTimeField, Expr, Ident, IntervalFields, UnaryOperator, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::dialect::{call, word_at};

/// Name of the function into whose calls the parser turns intervals of days to seconds. The argument of a
/// call is the length of the interval in milliseconds.
pub const MILLIS: &str = "interval of milliseconds";

/// Name of the function into whose calls the parser turns intervals of years and months. The argument of a
/// call is the length of the interval in months.
pub const MONTHS: &str = "interval of months";

/// Unit of a part of an interval literal; units are declared from the largest to the smallest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    fn of(field: &DateTimeField) -> Option<Unit> {
        Some(match field {
            DateTimeField::Year | DateTimeField::Years => Unit::Year,
            DateTimeField::Quarter => Unit::Quarter,
            DateTimeField::Month | DateTimeField::Months => Unit::Month,
            DateTimeField::Week(None) | DateTimeField::Weeks => Unit::Week,
            DateTimeField::Day | DateTimeField::Days => Unit::Day,
            DateTimeField::Hour | DateTimeField::Hours => Unit::Hour,
            DateTimeField::Minute | DateTimeField::Minutes => Unit::Minute,
            DateTimeField::Second | DateTimeField::Seconds => Unit::Second,
            _ => return None,
        })
    }

    fn in_months(self) -> Option<i64> {
        match self {
            Unit::Year => Some(12),
            Unit::Quarter => Some(3),
            Unit::Month => Some(1),
            _ => None,
        }
    }

    fn in_millis(self) -> i64 {
        match self {
            Unit::Week => 7 * 86_400_000,
            Unit::Day => 86_400_000,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            _ => 1_000,
        }
    }
}

/// Parses an interval literal, from the word INTERVAL on.
pub(super) fn parse(parser: &mut Parser) -> Result<Expr, ParserError> {
    let begin = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::INTERVAL)?;
    let is_negative = match parser.peek_token_ref().token {
        Token::Minus => true,
        Token::Plus => false,
        _ => false,
    };
    if matches!(parser.peek_token_ref().token, Token::Minus | Token::Plus) {
        parser.next_token();
    }
    let token = parser.next_token();
    let text = match &token.token {
        Token::SingleQuotedString(text) => text.clone(),
        Token::Number(number, _) => {
            return Err(at(
                &token.span,
                format!("the span of an INTERVAL is quoted: write INTERVAL '{number}'"),
            ));
        }
        _ => return parser.expected("a quoted span behind INTERVAL", token),
    };
    let first = unit(parser)?;
    let last = if parser.parse_keyword(Keyword::TO) { unit(parser)? } else { first };
    let (number, name) = value(&text, first, last)
        .map(|number| if is_negative { -number } else { number })
        .map(|number| (number, if first.in_months().is_some() { MONTHS } else { MILLIS }))
        .ok_or_else(|| {
            at(&token.span, format!("'{text}' is no span of {}", shown(first, last).to_lowercase()))
        })?;
    Ok(made(number, name, begin))
}

/// Returns the call that an interval becomes.
fn made(number: i64, name: &str, begin: Span) -> Expr {
    let literal = |number: i64| Expr::Value(Value::Number(number.to_string(), false).into());
    let argument = match number {
        0.. => literal(number),
        // The number is negated. The least 64-bit number, which has no positive counterpart, cannot occur
        // here, because no interval literal is that long.
        _ => Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(literal(number.checked_neg().unwrap_or(i64::MAX))),
        },
    };
    call(Ident::with_quote_and_span('`', begin, name), vec![argument])
}

/// Parses the type of a cast of a number that is written in the text to an interval, as of `CAST(5 AS INTERVAL DAY)`, which is
/// 5 days. Returns `None`, and reads nothing, for other casts. As in Flink, numbers that are no literals count
/// milliseconds or months, whatever the unit.
pub(super) fn of_number(parser: &mut Parser, value: &Expr) -> Result<Option<Expr>, ParserError> {
    let Some((is_negative, number)) = written(value).filter(|_| word_at(parser, 0, "INTERVAL")) else {
        return Ok(None);
    };
    let begin = parser.peek_token_ref().span;
    let (first, last) = units(parser)?;
    if first != last {
        let message = format!("a number is no INTERVAL {}: name one unit", shown(first, last).to_uppercase());
        return Err(at(&begin, message));
    }
    let (size, name) = match first.in_months() {
        Some(months) => (months, MONTHS),
        None => (first.in_millis(), MILLIS),
    };
    let length = scaled(number, size).and_then(|length| i64::try_from(length).ok());
    let length = length.ok_or_else(|| at(&begin, format!("{number} is too large for an interval")))?;
    Ok(Some(made(if is_negative { -length } else { length }, name, begin)))
}

/// Returns the digits of a number that is written in the text, and whether a minus stands before them.
fn written(value: &Expr) -> Option<(bool, &str)> {
    let (mut is_negative, mut value) = (false, value);
    loop {
        value = match value {
            Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => inner,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => {
                is_negative = !is_negative;
                inner
            }
            Expr::Value(literal) => match &literal.value {
                Value::Number(number, _) if !number.contains(['e', 'E']) => {
                    return Some((is_negative, number));
                }
                _ => return None,
            },
            _ => return None,
        };
    }
}

/// Returns the product of a decimal number without a sign and a whole one, without its fraction; `None` if it has too many
/// digits.
fn scaled(number: &str, factor: i64) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let parts = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(digits.checked_mul(i128::from(factor))? / parts)
}

/// Parses the type of an interval in CAST, such as `INTERVAL YEAR(4) TO MONTH`, from the word INTERVAL on.
pub(super) fn data_type(parser: &mut Parser) -> Result<DataType, ParserError> {
    let begin = parser.peek_token_ref().span;
    let (first, last) = units(parser)?;
    let is_type = first <= last && first.in_months().is_some() == last.in_months().is_some();
    if !is_type {
        return Err(at(&begin, format!("there is no type INTERVAL {}", shown(first, last).to_uppercase())));
    }
    // One unit is like any other, and several are like any others of their kind.
    let fields = match first.in_months() {
        Some(_) if first == last => IntervalFields::Month,
        Some(_) => IntervalFields::YearToMonth,
        None if first == last => IntervalFields::Second,
        None => IntervalFields::DayToSecond,
    };
    Ok(DataType::Interval { fields: Some(fields), precision: None })
}

/// Parses the word INTERVAL with one unit or two behind it.
fn units(parser: &mut Parser) -> Result<(Unit, Unit), ParserError> {
    parser.expect_keyword(Keyword::INTERVAL)?;
    let first = unit(parser)?;
    Ok((first, if parser.parse_keyword(Keyword::TO) { unit(parser)? } else { first }))
}

/// Parses a unit of an interval and its precision. The precision adds nothing to the text of the
/// interval and is ignored.
fn unit(parser: &mut Parser) -> Result<Unit, ParserError> {
    let token = parser.peek_token_ref().clone();
    let field = parser.parse_date_time_field().map_err(|_| {
        at(&token.span, format!("INTERVAL lacks a unit before {}: write INTERVAL '5' MINUTE", token.token))
    })?;
    parser.parse_optional_precision()?;
    Unit::of(&field).ok_or_else(|| at(&token.span, format!("INTERVAL has no unit {}", token.token)))
}

#[allow(clippy::needless_pass_by_value, reason = "messages are made where they are needed")]
fn at(span: &Span, message: String) -> ParserError {
    ParserError::ParserError(format!("{message}{}", span.start))
}

fn shown(first: Unit, last: Unit) -> String {
    if first == last { format!("{first:?}") } else { format!("{first:?} to {last:?}") }
}

/// Returns the length of an interval, in milliseconds or months by its units; `None` if the text does not
/// have the form that its units demand.
fn value(text: &str, first: Unit, last: Unit) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest.trim_start()),
        None => (1, text),
    };
    let magnitude = match (first, last) {
        (Unit::Year, Unit::Month) => {
            let (years, months) = text.split_once('-')?;
            let months = digits(months).filter(|months| *months < 12)?;
            digits(years)?.checked_mul(12)?.checked_add(months)?
        }
        _ if first == last => match first.in_months() {
            Some(months) => digits(text)?.checked_mul(months)?,
            None if first == Unit::Second => seconds(text, None)?,
            None => digits(text)?.checked_mul(first.in_millis())?,
        },
        (Unit::Day | Unit::Hour | Unit::Minute, _) if last > first => parts(text, first, last)?,
        _ => return None,
    };
    magnitude.checked_mul(sign)
}

/// Parses the text of an interval, such as `1 02:03:04.5`, of the units from `first` to `last`.
fn parts(text: &str, first: Unit, last: Unit) -> Option<i64> {
    let units = [Unit::Day, Unit::Hour, Unit::Minute, Unit::Second];
    let wanted: Vec<Unit> = units.into_iter().filter(|unit| (first..=last).contains(unit)).collect();
    let mut pieces: Vec<&str> = Vec::new();
    let rest = match first {
        Unit::Day => {
            let (days, rest) = text.split_once(' ')?;
            pieces.push(days);
            rest.trim_start()
        }
        _ => text,
    };
    pieces.extend(rest.split(':'));
    if pieces.len() != wanted.len() {
        return None;
    }
    let mut sum = 0i64;
    for (place, (piece, unit)) in pieces.into_iter().zip(wanted).enumerate() {
        let limit = match unit {
            _ if place == 0 => None,
            Unit::Hour => Some(24),
            _ => Some(60),
        };
        let millis = match unit {
            Unit::Second => seconds(piece, limit)?,
            _ => digits(piece)
                .filter(|count| limit.is_none_or(|limit| *count < limit))?
                .checked_mul(unit.in_millis())?,
        };
        sum = sum.checked_add(millis)?;
    }
    Some(sum)
}

/// Parses the seconds of an interval. At most nine digits may follow the point; the first three are
/// milliseconds, and the others are ignored.
fn seconds(text: &str, limit: Option<i64>) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = if whole.is_empty() { 0 } else { digits(whole)? };
    let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if limit.is_some_and(|limit| whole >= limit) || !is_fraction {
        return None;
    }
    let millis = digits(&format!("{fraction:0<3}")[..3])?;
    whole.checked_mul(1_000)?.checked_add(millis)
}

fn digits(text: &str) -> Option<i64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_all_their_forms() {
        use Unit::*;
        let check = |text, first, last, expected| assert_eq!(value(text, first, last), expected, "{text}");
        check("10", Minute, Minute, Some(600_000));
        check("-5", Second, Second, Some(-5_000));
        check("0.001", Second, Second, Some(1));
        check("1.5", Second, Second, Some(1_500));
        check("1 10:00", Day, Minute, Some(122_400_000));
        check("1 2:3:4.5", Day, Second, Some(86_400_000 + 7_384_500));
        check("90:30", Minute, Second, Some(5_430_000));
        check("2-10", Year, Month, Some(34));
        check("3", Year, Year, Some(36));
        check("2", Week, Week, Some(1_209_600_000));
        for (text, first, last) in [
            ("", Day, Day),
            ("1.5", Day, Day),
            ("1 24:00", Day, Minute),
            ("2-12", Year, Month),
            ("x", Second, Second),
        ] {
            check(text, first, last, None);
        }
        // White space behind the point of an interval's seconds is refused, also if its characters have
        // several bytes.
        for text in ["1. 5", "1.\u{a0}\u{a0}5", "1."] {
            check(text, Second, Second, None);
        }
        check("1:2.\u{a0}\u{a0}5", Minute, Second, None);
        check("99999999999999999999", Day, Day, None);
        check("9223372036854775807", Day, Day, None);
    }
}
