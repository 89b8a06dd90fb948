//! Flink's dialect, as far as the parser asks a dialect: backticks quote names, and a table may stand where an argument
//! does.
//!
//! `TABLE t`, with `PARTITION BY` keys, is an argument of window functions (`TUMBLE(TABLE t, DESCRIPTOR(ts), ..)`). It is
//! read as a call of [`TABLE_ARGUMENT`], whose first argument is the table and whose others are the keys. `INTERVAL` with
//! its units is read as a call of [`INTERVAL`], by [`super::interval`].
//!
//! Sources: Flink's documentation, "Windowing table-valued functions (Windowing TVFs)" and "Queries"; its `Parser.tdd` for
//! words.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart,
};
use sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::interval;

/// The function that `TABLE t PARTITION BY k` is read as: no name that can be written without quotes.
pub const TABLE_ARGUMENT: &str = "table argument";

/// Flink's dialect.
#[derive(Debug)]
pub struct FlinkDialect;

impl Dialect for FlinkDialect {
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('`')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    /// As in Calcite, IN, BETWEEN, LIKE and SIMILAR TO bind before comparisons: `b = x IN (1, 2)` is `b = (x IN (1, 2))`.
    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Between | Precedence::Like => GenericDialect {}.prec_value(Precedence::Eq) + 1,
            other => GenericDialect {}.prec_value(other),
        }
    }

    fn require_interval_qualifier(&self) -> bool {
        true
    }

    /// IS [NOT] DISTINCT FROM binds as the other forms of IS do, and not what AND and OR put behind it.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let is_not = parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
        if !is_not && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            return None;
        }
        let left = Box::new(expr.clone());
        Some(parser.parse_subexpr(self.prec_value(Precedence::Is)).map(|right| match is_not {
            true => Expr::IsNotDistinctFrom(left, Box::new(right)),
            false => Expr::IsDistinctFrom(left, Box::new(right)),
        }))
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let Token::Word(word) = &parser.peek_token_ref().token else { return None };
        if word.quote_style.is_some() {
            return None;
        }
        match word.keyword {
            Keyword::TABLE => {
                let follows = &parser.peek_nth_token_ref(1).token;
                matches!(follows, Token::Word(_)).then(|| table_argument(parser))
            }
            Keyword::INTERVAL => {
                let follows = &parser.peek_nth_token_ref(1).token;
                let begins = matches!(
                    follows,
                    Token::SingleQuotedString(_) | Token::Minus | Token::Plus | Token::Number(..)
                );
                begins.then(|| interval::parse(parser))
            }
            Keyword::MAP => {
                let follows = &parser.peek_nth_token_ref(1).token;
                matches!(follows, Token::LBracket).then(|| map(parser))
            }
            _ => None,
        }
    }
}

/// `MAP[key, value, ..]`: a call.
fn map(parser: &mut Parser) -> Result<Expr, ParserError> {
    let begin = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::MAP)?;
    parser.expect_token(&Token::LBracket)?;
    let arguments = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RBracket)?;
    Ok(call(Ident::with_span(begin, "MAP"), arguments))
}

/// `TABLE t [PARTITION BY k, .. | PARTITION BY (k, ..)]`.
fn table_argument(parser: &mut Parser) -> Result<Expr, ParserError> {
    let begin = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::TABLE)?;
    let mut arguments = vec![name_as_expression(parser.parse_object_name(false)?)];
    if parser.parse_keywords(&[Keyword::PARTITION, Keyword::BY]) {
        let is_bracketed = parser.consume_token(&Token::LParen);
        loop {
            arguments.push(name_as_expression(parser.parse_object_name(false)?));
            // Behind a comma comes the next key or the next argument of the window function: a call, or `NAME => ..`.
            let is_key = parser.peek_token_ref().token == Token::Comma
                && (is_bracketed
                    || !matches!(parser.peek_nth_token_ref(2).token, Token::LParen | Token::RArrow));
            if !is_key {
                break;
            }
            parser.expect_token(&Token::Comma)?;
        }
        if is_bracketed {
            parser.expect_token(&Token::RParen)?;
        }
    }
    let name = Ident::with_quote_and_span('`', begin, TABLE_ARGUMENT);
    Ok(call(name, arguments))
}

/// A column of that name.
fn name_as_expression(ObjectName(parts): ObjectName) -> Expr {
    let idents = parts.into_iter().filter_map(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    });
    let mut idents: Vec<Ident> = idents.collect();
    match idents.len() {
        1 => Expr::Identifier(idents.remove(0)),
        _ => Expr::CompoundIdentifier(idents),
    }
}

/// A name that has one part.
pub(crate) fn single_name(ObjectName(parts): &ObjectName) -> Option<&Ident> {
    match &parts[..] {
        [ObjectNamePart::Identifier(name)] => Some(name),
        _ => None,
    }
}

/// The last part of a name: what a table is called where nothing else is said.
pub(crate) fn last_name(ObjectName(parts): &ObjectName) -> Option<&Ident> {
    match parts.last() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}

/// A call of a function.
pub(super) fn call(name: Ident, arguments: Vec<Expr>) -> Expr {
    let argument = |argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
