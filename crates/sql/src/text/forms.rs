//! Forms of expressions that the parser lacks: BETWEEN SYMMETRIC, POSITION .. FROM, a span between two times, and CASE with
//! several values in a WHEN. Each becomes a call whose name no query can write without quotes, or a call of a function.
//!
//! Source: Calcite's `Parser.jj` (`PeriodConstructor`, `ParenthesizedExpression` with an interval qualifier,
//! `CaseExpression`, `BuiltinFunctionCall` for POSITION), as Flink has it.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Ident, Value};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::dialect::{FlinkDialect, call, word_at};

/// Name of the function into whose calls the parser turns `x BETWEEN SYMMETRIC a AND b`.
pub const SYMMETRIC: &str = "between symmetric";

/// Name of the function into whose calls the parser turns `WHEN a, b` behind the operand of a CASE.
pub const ANY_OF: &str = "any of";

/// Name of the function into whose calls the parser turns `(later - earlier) unit`. The last argument of a call is a text:
/// `MONTH` for an interval of months, and `SECOND` for one of days to seconds.
pub const BETWEEN_TIMES: &str = "interval between";

type Result<T> = std::result::Result<T, ParserError>;

/// Parses `[NOT] BETWEEN ASYMMETRIC low AND high`, where ASYMMETRIC changes nothing, and the same with SYMMETRIC. Returns
/// `None`, and reads nothing, for other text.
pub(super) fn between(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr>> {
    let negated = word_at(parser, 0, "NOT");
    let begin = usize::from(negated);
    let is_symmetric = word_at(parser, begin + 1, "SYMMETRIC");
    if !word_at(parser, begin, "BETWEEN") || !(is_symmetric || word_at(parser, begin + 1, "ASYMMETRIC")) {
        return None;
    }
    let span = parser.peek_token_ref().span;
    (0..begin + 2).for_each(|_| parser.advance_token());
    let precedence = FlinkDialect.prec_value(Precedence::Between);
    let bounds = |parser: &mut Parser| {
        let low = parser.parse_subexpr(precedence)?;
        parser.expect_keyword(Keyword::AND)?;
        Ok((low, parser.parse_subexpr(precedence)?))
    };
    Some(bounds(parser).map(|(low, high)| {
        if !is_symmetric {
            let [expr, low, high] = [expr.clone(), low, high].map(Box::new);
            return Expr::Between { expr, negated, low, high };
        }
        let within = call(Ident::with_quote_and_span('`', span, SYMMETRIC), vec![expr.clone(), low, high]);
        match negated {
            true => Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(within) },
            false => within,
        }
    }))
}

/// Parses `POSITION(needle IN text [FROM start])`, or a call with arguments between commas.
pub(super) fn position(parser: &mut Parser) -> Result<Expr> {
    let begin = parser.peek_token_ref().span;
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let needle = parser.parse_subexpr(FlinkDialect.prec_value(Precedence::Between))?;
    if parser.consume_token(&Token::Comma) {
        let mut arguments = vec![needle];
        arguments.extend(parser.parse_comma_separated(Parser::parse_expr)?);
        parser.expect_token(&Token::RParen)?;
        return Ok(call(Ident::with_span(begin, "POSITION"), arguments));
    }
    parser.expect_keyword(Keyword::IN)?;
    let text = parser.parse_expr()?;
    let from = parser.parse_keyword(Keyword::FROM).then(|| parser.parse_expr()).transpose()?;
    parser.expect_token(&Token::RParen)?;
    Ok(match from {
        None => Expr::Position { expr: Box::new(needle), r#in: Box::new(text) },
        Some(from) => call(Ident::with_span(begin, "LOCATE"), vec![needle, text, from]),
    })
}

/// Units of the spans between two times, with the kind of their interval.
const UNITS: [(&str, &str); 8] = [
    ("YEAR", "MONTH"),
    ("QUARTER", "MONTH"),
    ("MONTH", "MONTH"),
    ("WEEK", "SECOND"),
    ("DAY", "SECOND"),
    ("HOUR", "SECOND"),
    ("MINUTE", "SECOND"),
    ("SECOND", "SECOND"),
];

/// Returns the index in [`UNITS`] of the unit that is the next token, in the singular or the plural.
fn next_unit(parser: &Parser) -> Option<usize> {
    UNITS.iter().position(|(unit, _)| word_at(parser, 0, unit) || word_at(parser, 0, &format!("{unit}S")))
}

/// Words behind which brackets are an expression, and not the arguments of a call.
const BEFORE_EXPRESSIONS: [&str; 18] = [
    "SELECT", "DISTINCT", "ALL", "WHERE", "HAVING", "QUALIFY", "ON", "BY", "AND", "OR", "NOT", "CASE",
    "WHEN", "THEN", "ELSE", "BETWEEN", "FROM", "IN",
];

/// Returns the precedence of a unit behind brackets with a difference, as in `(a - b) DAY`; `None` for other tokens. Behind
/// other brackets, and behind the arguments of a call, such a word may be the name of a result.
pub(super) fn precedence_of_unit(parser: &Parser) -> Option<u8> {
    let is_behind_bracket = parser.get_current_token().token == Token::RParen;
    (is_behind_bracket && next_unit(parser).is_some() && is_difference(parser))
        .then(|| FlinkDialect.prec_value(Precedence::DoubleColon))
}

/// Returns whether the brackets that the last token has closed hold a minus sign, and are not those of a call.
fn is_difference(parser: &Parser) -> bool {
    let (mut depth, mut has_minus) = (0_usize, false);
    for index in (0..parser.index()).rev() {
        match &parser.token_at(index).token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 1 => {
                let before = index.checked_sub(1).map(|before| &parser.token_at(before).token);
                return has_minus
                    && match before {
                        Some(Token::Word(before)) => {
                            BEFORE_EXPRESSIONS.iter().any(|word| before.value.eq_ignore_ascii_case(word))
                        }
                        Some(Token::RParen | Token::RBracket) => false,
                        _ => true,
                    };
            }
            Token::LParen => depth -= 1,
            Token::Minus if depth == 1 => has_minus = true,
            _ => {}
        }
    }
    false
}

/// Parses the units behind a difference of two times in brackets: `(later - earlier) DAY TO SECOND`. Returns `None`, and
/// reads nothing, if the next token is no unit.
pub(super) fn between_times(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr>> {
    let first = next_unit(parser)?;
    let span = parser.peek_token_ref().span;
    let refused = |message: String| Some(Err(ParserError::ParserError(format!("{message}{}", span.start))));
    let (unit, kind) = UNITS[first];
    let difference = match expr {
        Expr::Nested(inner) => match &**inner {
            Expr::BinaryOp { left, op: BinaryOperator::Minus, right } => Some((left, right)),
            _ => None,
        },
        _ => None,
    };
    let Some((left, right)) = difference else {
        return refused(format!(
            "{unit} is a word of SQL and no name; it stands behind a difference of two times in brackets"
        ));
    };
    let units = |parser: &mut Parser| {
        parser.advance_token();
        parser.parse_optional_precision()?;
        if parser.parse_keyword(Keyword::TO) {
            let token = parser.peek_token_ref().clone();
            match next_unit(parser) {
                Some(last) if first < last && UNITS[last].1 == kind => parser.advance_token(),
                _ => return parser.expected(&format!("a smaller unit than {unit} of the same kind"), token),
            }
            parser.parse_optional_precision()?;
        }
        let kind = Expr::Value(Value::SingleQuotedString(kind.to_owned()).into());
        let arguments = vec![(**left).clone(), (**right).clone(), kind];
        Ok(call(Ident::with_quote_and_span('`', span, BETWEEN_TIMES), arguments))
    };
    Some(units(parser))
}

/// Parses `CASE [operand] WHEN a [, b ..] THEN x .. [ELSE y] END`. A WHEN with several values is true if the operand is one
/// of them, and becomes a call of [`ANY_OF`].
pub(super) fn case(parser: &mut Parser) -> Result<Expr> {
    let case_token = AttachedToken(parser.expect_keyword(Keyword::CASE)?);
    let operand = match parser.peek_keyword(Keyword::WHEN) {
        true => None,
        false => Some(Box::new(parser.parse_expr()?)),
    };
    let mut conditions = Vec::new();
    while parser.peek_keyword(Keyword::WHEN) {
        let span = parser.peek_token_ref().span;
        parser.advance_token();
        let mut values = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_keyword(Keyword::THEN)?;
        let condition = match (values.len(), &operand) {
            (1, _) => values.remove(0),
            (_, Some(_)) => call(Ident::with_quote_and_span('`', span, ANY_OF), values),
            (_, None) => {
                let message = "WHEN has several values, and CASE names nothing that they are compared with";
                return Err(ParserError::ParserError(format!("{message}{}", span.start)));
            }
        };
        conditions.push(CaseWhen { condition, result: parser.parse_expr()? });
    }
    if conditions.is_empty() {
        return parser.expected_ref("WHEN", parser.peek_token_ref());
    }
    let else_result = match parser.parse_keyword(Keyword::ELSE) {
        true => Some(Box::new(parser.parse_expr()?)),
        false => None,
    };
    let end_token = AttachedToken(parser.expect_keyword(Keyword::END)?);
    Ok(Expr::Case { case_token, end_token, operand, conditions, else_result })
}
