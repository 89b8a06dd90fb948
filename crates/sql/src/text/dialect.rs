//! Flink's SQL dialect for the crate sqlparser: backticks quote names, and a table may stand as an argument.
//!
//! `TABLE t`, with `PARTITION BY` keys, is an argument of window functions
//! (`TUMBLE(TABLE t, DESCRIPTOR(ts), ..)`). It is parsed as a call of [`TABLE_ARGUMENT`], whose first
//! argument is the table and whose other arguments are the keys. `INTERVAL` with its units is parsed as a
//! call by [`super::interval`].
//!
//! Sources: Flink's documentation, "Windowing table-valued functions (Windowing TVFs)" and "Queries"; its
//! `Parser.tdd` for words.

use sqlparser::ast::{
    CastFormat, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, ObjectNamePart,
};
use sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{ddl, forms, group, interval, json};

/// Name of the function into whose calls the parser turns `TABLE t PARTITION BY k`. The name contains a
/// space, so no query can call the function without quotes.
pub const TABLE_ARGUMENT: &str = "table argument";

/// Flink's SQL dialect, as sqlparser needs it.
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

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        // It is parsed so that the binder can say what to write instead.
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    /// Returns the precedence of an operator. As in Calcite, IN, BETWEEN, LIKE and SIMILAR TO bind before
    /// comparisons: `b = x IN (1, 2)` is `b = (x IN (1, 2))`.
    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Between | Precedence::Like => GenericDialect {}.prec_value(Precedence::Eq) + 1,
            other => GenericDialect {}.prec_value(other),
        }
    }

    fn require_interval_qualifier(&self) -> bool {
        true
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        forms::precedence_of_unit(parser).map(Ok)
    }

    /// Parses IS \[NOT\] DISTINCT FROM with the precedence of other forms of IS: a following AND or OR does not
    /// belong to its right operand.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Some(between) = forms::between(parser, expr) {
            return Some(between);
        }
        if let Some(span) = forms::between_times(parser, expr) {
            return Some(span);
        }
        if let Some(test) = json::is_json(parser, expr) {
            return Some(Ok(test));
        }
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
        if json::is_call(&word.value) && parser.peek_nth_token_ref(1).token == Token::LParen {
            return Some(json::parse(parser));
        }
        match word.keyword {
            Keyword::CAST | Keyword::TRY_CAST if parser.peek_nth_token_ref(1).token == Token::LParen => {
                Some(cast(parser))
            }
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
            Keyword::CASE => Some(forms::case(parser)),
            Keyword::POSITION if parser.peek_nth_token_ref(1).token == Token::LParen => {
                Some(forms::position(parser))
            }
            Keyword::GROUPING if word_at(parser, 1, "SETS") => Some(group::sets(parser)),
            Keyword::DISTINCT if group::is_behind_group_by(parser) => Some(group::distinct(parser)),
            Keyword::TRIM => {
                let word = |place: usize| match &parser.peek_nth_token_ref(place).token {
                    Token::Word(word) if word.quote_style.is_none() => word.keyword,
                    _ => Keyword::NoKeyword,
                };
                let is_side = matches!(word(2), Keyword::BOTH | Keyword::LEADING | Keyword::TRAILING);
                let is_bare = is_side
                    && word(3) == Keyword::FROM
                    && parser.peek_nth_token_ref(1).token == Token::LParen;
                is_bare.then(|| trim(parser))
            }
            Keyword::MAP => {
                let follows = &parser.peek_nth_token_ref(1).token;
                matches!(follows, Token::LBracket).then(|| map(parser))
            }
            _ => None,
        }
    }
}

/// Returns whether a word without quotes is among the next tokens at an index.
pub(super) fn word_at(parser: &Parser, place: usize, word: &str) -> bool {
    match &parser.peek_nth_token_ref(place).token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    }
}

/// Parses `CAST(value AS type)` or TRY_CAST, with all types that columns of tables may have.
fn cast(parser: &mut Parser) -> Result<Expr, ParserError> {
    let kind = match parser.parse_keyword(Keyword::TRY_CAST) {
        true => CastKind::TryCast,
        false => {
            parser.expect_keyword(Keyword::CAST)?;
            CastKind::Cast
        }
    };
    parser.expect_token(&Token::LParen)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_keyword(Keyword::AS)?;
    if let Some(span) = interval::of_number(parser, &expr)? {
        parser.expect_token(&Token::RParen)?;
        return Ok(span);
    }
    let data_type = data_type(parser)?;
    let array = parser.parse_keyword(Keyword::ARRAY);
    let format = match parser.parse_keyword(Keyword::FORMAT) {
        true => Some(CastFormat::Value(parser.parse_value()?)),
        false => None,
    };
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Cast { kind, expr, data_type, array, format })
}

/// Parses a type. ROW, MAP, ARRAY and TIMESTAMP WITH LOCAL TIME ZONE, which sqlparser does not read as Flink does,
/// become names of types, which are texts that [`ddl::type_of_text`] reads.
pub(super) fn data_type(parser: &mut Parser) -> Result<DataType, ParserError> {
    let follows = |place: usize| &parser.peek_nth_token_ref(place).token;
    let is_nested = ["ROW", "MAP", "ARRAY", "MULTISET"].iter().any(|word| word_at(parser, 0, word))
        && matches!(follows(1), Token::Lt | Token::LParen);
    let behind = if *follows(1) == Token::LParen { 4 } else { 1 };
    let is_instant = word_at(parser, 0, "TIMESTAMP")
        && word_at(parser, behind, "WITH")
        && word_at(parser, behind + 1, "LOCAL");
    if word_at(parser, 0, "INTERVAL") {
        return interval::data_type(parser);
    }
    if !is_nested && !is_instant {
        return parser.parse_data_type();
    }
    let begin = parser.peek_token_ref().span;
    let of = ddl::data_type(parser)?;
    let name = Ident::with_span(begin, of.to_string());
    Ok(DataType::Custom(ObjectName::from(vec![name]), Vec::new()))
}

/// Parses `TRIM(BOTH FROM text)`, and the same for the other sides: without characters, spaces are removed.
fn trim(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_keyword(Keyword::TRIM)?;
    parser.expect_token(&Token::LParen)?;
    let side = parser.parse_trim_where()?;
    parser.expect_keyword(Keyword::FROM)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim { expr, trim_where: Some(side), trim_what: None, trim_characters: None })
}

/// Parses `MAP[key, value, ..]` as a function call.
fn map(parser: &mut Parser) -> Result<Expr, ParserError> {
    let begin = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::MAP)?;
    parser.expect_token(&Token::LBracket)?;
    let arguments = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RBracket)?;
    Ok(call(Ident::with_span(begin, "MAP"), arguments))
}

/// Parses the argument `TABLE t [PARTITION BY k, .. | PARTITION BY (k, ..)]` of a window function.
fn table_argument(parser: &mut Parser) -> Result<Expr, ParserError> {
    let begin = parser.peek_token_ref().span;
    parser.expect_keyword(Keyword::TABLE)?;
    let mut arguments = vec![name_as_expression(parser.parse_object_name(false)?)];
    if parser.parse_keywords(&[Keyword::PARTITION, Keyword::BY]) {
        let is_bracketed = parser.consume_token(&Token::LParen);
        loop {
            arguments.push(name_as_expression(parser.parse_object_name(false)?));
            // After a comma comes the next partition key, or the next argument of the window function, which
            // is a call or `NAME => ..`.
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

/// Converts a possibly qualified name to an expression that names a column.
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

/// Returns the identifier of an SQL name with one part; `None` for longer names.
pub(crate) fn single_name(ObjectName(parts): &ObjectName) -> Option<&Ident> {
    match &parts[..] {
        [ObjectNamePart::Identifier(name)] => Some(name),
        _ => None,
    }
}

/// Returns the last part of a table's name, by which a table without an alias is known in a query.
pub(crate) fn last_name(ObjectName(parts): &ObjectName) -> Option<&Ident> {
    match parts.last() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}

/// Creates the syntax tree of a function call.
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
