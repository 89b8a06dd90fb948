//! Forms of GROUP BY that the parser lacks: GROUPING SETS within GROUPING SETS, and GROUP BY DISTINCT.
//!
//! Source: Calcite's `Parser.jj` (`GroupBy`, `GroupingElement`), as Flink has it.

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::dialect::{call, word_at};
use super::script::word;

/// Name of the function into whose call the parser turns the first item behind GROUP BY DISTINCT.
pub const DISTINCT_SETS: &str = "distinct sets";

type Result<T> = std::result::Result<T, ParserError>;

/// Returns whether the next token stands directly behind GROUP BY.
pub(super) fn is_behind_group_by(parser: &Parser) -> bool {
    let is_word = |token: &Token, wanted: &str| word(token).as_deref() == Some(wanted);
    is_word(&parser.get_current_token().token, "BY") && is_word(&parser.get_previous_token().token, "GROUP")
}

/// Parses the first item of a GROUP BY from its DISTINCT on.
pub(super) fn distinct(parser: &mut Parser) -> Result<Expr> {
    let span = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::DISTINCT)?;
    let first = match parser.consume_tokens(&[Token::LParen, Token::RParen]) {
        true => Expr::Tuple(Vec::new()),
        false => parser.parse_expr()?,
    };
    Ok(call(Ident::with_quote_and_span('`', span, DISTINCT_SETS), vec![first]))
}

/// Parses GROUPING SETS, which may stand within another.
pub(super) fn sets(parser: &mut Parser) -> Result<Expr> {
    parser.expect_keywords(&[Keyword::GROUPING, Keyword::SETS])?;
    parser.expect_token(&Token::LParen)?;
    let sets = parser.parse_comma_separated(set)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::GroupingSets(sets))
}

fn set(parser: &mut Parser) -> Result<Vec<Expr>> {
    if word_at(parser, 0, "GROUPING") || !parser.consume_token(&Token::LParen) {
        return Ok(vec![parser.parse_expr()?]);
    }
    if parser.consume_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let keys = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(keys)
}
