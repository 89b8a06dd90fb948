//! Calls of JSON functions, whose brackets hold clauses: `JSON_VALUE(j, '$.a' RETURNING INT DEFAULT 0 ON EMPTY)`.
//!
//! The clauses become further arguments, as the functions describe them: a NULL of the type after RETURNING, and texts
//! such as `NULL ON EMPTY`. Members and items of JSON_OBJECT, JSON_ARRAY and JSON_OBJECTAGG become calls of
//! [`MEMBER`] and [`ITEM`], which know whether NULL is left out.
//!
//! Source: Flink's `Parser.jj` (`JsonValueFunctionCall` and the productions around it). As there, PASSING is read
//! and has no effect.

use sqlparser::ast::{CastKind, DuplicateTreatment, Expr, FunctionArguments, Ident, UnaryOperator, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::dialect::{call, data_type, single_name, word_at};

type Result<T> = std::result::Result<T, ParserError>;

/// Name of the function that makes a member of a JSON object of a key and a value.
const MEMBER: &str = "$JSON_MEMBER";

/// Name of the function that makes an item of a JSON array of a value.
const ITEM: &str = "$JSON_ITEM";

/// Argument of [`MEMBER`] and [`ITEM`] by which a value that is NULL is left out.
const ABSENT: &str = "ABSENT ON NULL";

/// Argument of [`MEMBER`] and [`ITEM`] by which the value is a text of JSON, which stays as it is.
const RAW: &str = "FORMAT JSON";

/// Functions whose brackets hold clauses.
const CALLS: [&str; 7] = [
    "JSON_VALUE",
    "JSON_QUERY",
    "JSON_EXISTS",
    "JSON_OBJECT",
    "JSON_ARRAY",
    "JSON_OBJECTAGG",
    "JSON_ARRAYAGG",
];

/// Returns whether a word before an opening bracket is one of the functions that [`parse`] reads.
pub(super) fn is_call(word: &str) -> bool {
    CALLS.iter().any(|call| word.eq_ignore_ascii_case(call))
}

/// Parses the call of a JSON function, whose name is the next token.
///
/// # Errors
/// [`ParserError`] where the text does not follow the grammar.
pub(super) fn parse(parser: &mut Parser) -> Result<Expr> {
    let begin = parser.peek_token_ref().span;
    let name = parser.parse_identifier()?.value.to_uppercase();
    parser.expect_token(&Token::LParen)?;
    let named = |name: &str| Ident::with_quote_and_span('`', begin, name);
    Ok(match name.as_str() {
        "JSON_OBJECT" => call(named("JSON_OBJECT"), members(parser)?),
        "JSON_ARRAY" => call(named("JSON_ARRAY"), items(parser)?),
        "JSON_OBJECTAGG" => {
            let (key, value) = key_and_value(parser)?;
            let is_absent = on_null(parser)? == Some(ABSENT);
            let argument = member(key, value, is_absent);
            parser.expect_token(&Token::RParen)?;
            aggregated(parser, call(named("JSON_OBJECTAGG"), vec![argument]), false)?
        }
        "JSON_ARRAYAGG" => {
            let is_distinct = parser.parse_keyword(Keyword::DISTINCT);
            let value = parser.parse_expr()?;
            let name = match on_null(parser)? {
                None | Some(ABSENT) => "JSON_ARRAYAGG",
                Some(_) => "$JSON_ARRAYAGG_NULL_ON_NULL",
            };
            parser.expect_token(&Token::RParen)?;
            aggregated(parser, call(named(name), vec![value]), is_distinct)?
        }
        _ => call(named(&name), queried(parser, &name)?),
    })
}

/// Parses `[NOT] JSON [VALUE | SCALAR | ARRAY | OBJECT]` behind an operand, with the IS before it. Returns `None`, and
/// reads nothing, for other text.
pub(super) fn is_json(parser: &mut Parser, operand: &Expr) -> Option<Expr> {
    if !word_at(parser, 0, "IS") {
        return None;
    }
    let is_negated = word_at(parser, 1, "NOT");
    let begin = 1 + usize::from(is_negated);
    if !word_at(parser, begin, "JSON") {
        return None;
    }
    let span = parser.peek_token_ref().span;
    (0..=begin).for_each(|_| parser.advance_token());
    let kind = ["VALUE", "SCALAR", "ARRAY", "OBJECT"].into_iter().find(|kind| accept(parser, &[*kind]));
    let arguments = [operand.clone()].into_iter().chain(kind.map(text)).collect();
    let test = call(Ident::with_span(span, "IS_JSON"), arguments);
    Some(match is_negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(test) },
        false => test,
    })
}

/// Parses the arguments of JSON_VALUE, JSON_QUERY and JSON_EXISTS, with the closing bracket. Without clauses these are
/// a text and a path.
fn queried(parser: &mut Parser, name: &str) -> Result<Vec<Expr>> {
    let mut arguments = vec![parser.parse_expr()?];
    parser.expect_token(&Token::Comma)?;
    arguments.push(parser.parse_expr()?);
    if accept(parser, &["PASSING"]) {
        loop {
            parser.parse_expr()?;
            parser.expect_keyword(Keyword::AS)?;
            parser.parse_identifier()?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
    }
    if parser.consume_token(&Token::RParen) {
        return Ok(arguments);
    }
    if name == "JSON_EXISTS" {
        let known = ["TRUE", "FALSE", "UNKNOWN", "ERROR"];
        let found = known.into_iter().find(|word| accept(parser, &[*word, "ON", "ERROR"]));
        let Some(found) = found else { return parser.expected_ref("TRUE ON ERROR", parser.peek_token_ref()) };
        arguments.push(text(&format!("{found} ON ERROR")));
        parser.expect_token(&Token::RParen)?;
        return Ok(arguments);
    }
    let returning = if accept(parser, &["RETURNING"]) {
        let data_type = data_type(parser)?;
        Expr::Cast { kind: CastKind::Cast, expr: Box::new(null()), data_type, array: false, format: None }
    } else {
        null()
    };
    arguments.push(returning);
    let is_query = name == "JSON_QUERY";
    if is_query {
        arguments.push(text(wrapper(parser)?));
    }
    let (mut on_empty, mut on_error) = ((text("NULL ON EMPTY"), null()), (text("NULL ON ERROR"), null()));
    while !parser.consume_token(&Token::RParen) {
        let (what, default) = if !is_query && accept(parser, &["DEFAULT"]) {
            ("DEFAULT", parser.parse_expr()?)
        } else if accept(parser, &["NULL"]) {
            ("NULL", null())
        } else if accept(parser, &["ERROR"]) {
            ("ERROR", null())
        } else if is_query && accept(parser, &["EMPTY", "ARRAY"]) {
            ("EMPTY ARRAY", null())
        } else if is_query && accept(parser, &["EMPTY", "OBJECT"]) {
            ("EMPTY OBJECT", null())
        } else {
            return parser.expected_ref("a clause such as NULL ON EMPTY, or )", parser.peek_token_ref());
        };
        if accept(parser, &["ON", "EMPTY"]) {
            on_empty = (text(&format!("{what} ON EMPTY")), default);
        } else if accept(parser, &["ON", "ERROR"]) {
            on_error = (text(&format!("{what} ON ERROR")), default);
        } else {
            return parser.expected_ref("ON EMPTY or ON ERROR", parser.peek_token_ref());
        }
    }
    for (what, default) in [on_empty, on_error] {
        arguments.push(what);
        if !is_query {
            arguments.push(default);
        }
    }
    Ok(arguments)
}

/// Parses the clause of JSON_QUERY that says when an array is put around the result.
fn wrapper(parser: &mut Parser) -> Result<&'static str> {
    let mut is_closed = |begin: &[&str]| {
        let with_array = [begin, &["ARRAY", "WRAPPER"]].concat();
        accept(parser, &with_array) || accept(parser, &[begin, &["WRAPPER"]].concat())
    };
    Ok(if is_closed(&["WITH", "CONDITIONAL"]) {
        "WITH CONDITIONAL WRAPPER"
    } else if is_closed(&["WITH", "UNCONDITIONAL"]) || is_closed(&["WITH"]) {
        "WITH WRAPPER"
    } else {
        is_closed(&["WITHOUT"]);
        "WITHOUT WRAPPER"
    })
}

/// Parses the members of JSON_OBJECT, with the closing bracket. NULL becomes `null` unless ABSENT ON NULL is written.
fn members(parser: &mut Parser) -> Result<Vec<Expr>> {
    let mut pairs = Vec::new();
    let mut clause = on_null(parser)?;
    if clause.is_none() && parser.peek_token_ref().token != Token::RParen {
        loop {
            pairs.push(key_and_value(parser)?);
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        clause = on_null(parser)?;
    }
    parser.expect_token(&Token::RParen)?;
    let is_absent = clause == Some(ABSENT);
    Ok(pairs.into_iter().map(|(key, value)| member(key, value, is_absent)).collect())
}

/// Parses the items of JSON_ARRAY, with the closing bracket. NULL is left out unless NULL ON NULL is written.
fn items(parser: &mut Parser) -> Result<Vec<Expr>> {
    let mut values = Vec::new();
    let mut clause = on_null(parser)?;
    if clause.is_none() && parser.peek_token_ref().token != Token::RParen {
        values = parser.parse_comma_separated(Parser::parse_expr)?;
        clause = on_null(parser)?;
    }
    parser.expect_token(&Token::RParen)?;
    let is_absent = clause.is_none_or(|clause| clause == ABSENT);
    let item = |value| call(Ident::with_quote('`', ITEM), with_form(vec![value], is_absent));
    Ok(values.into_iter().map(item).collect())
}

/// Parses `[KEY] key VALUE value` or `key : value`.
fn key_and_value(parser: &mut Parser) -> Result<(Expr, Expr)> {
    if word_at(parser, 0, "KEY") {
        let is_name = matches!(
            parser.peek_nth_token_ref(1).token,
            Token::Colon | Token::Comma | Token::RParen | Token::Period
        );
        if !is_name && !word_at(parser, 1, "VALUE") {
            parser.advance_token();
        }
    }
    let key = parser.parse_expr()?;
    if !accept(parser, &["VALUE"]) && !parser.consume_token(&Token::Colon) {
        return parser.expected_ref("VALUE behind a key", parser.peek_token_ref());
    }
    Ok((key, parser.parse_expr()?))
}

fn member(key: Expr, value: Expr, is_absent: bool) -> Expr {
    call(Ident::with_quote('`', MEMBER), with_form(vec![key, value], is_absent))
}

/// Appends how the last argument, a value, becomes JSON: whether NULL is left out, and whether the value is JSON itself,
/// as the results of JSON_OBJECT, JSON_ARRAY and JSON are.
fn with_form(mut arguments: Vec<Expr>, is_absent: bool) -> Vec<Expr> {
    let mut value = arguments.last();
    while let Some(Expr::Nested(inner)) = value {
        value = Some(inner);
    }
    let is_raw = match value {
        Some(Expr::Function(function)) => single_name(&function.name).is_some_and(|name| {
            ["JSON_OBJECT", "JSON_ARRAY", "JSON"].iter().any(|json| name.value.eq_ignore_ascii_case(json))
        }),
        _ => false,
    };
    arguments.push(text(if is_absent { ABSENT } else { "NULL ON NULL" }));
    arguments.extend(is_raw.then(|| text(RAW)));
    arguments
}

/// Parses `NULL ON NULL` or `ABSENT ON NULL`, if one follows.
fn on_null(parser: &mut Parser) -> Result<Option<&'static str>> {
    Ok(if accept(parser, &["ABSENT", "ON", "NULL"]) {
        Some(ABSENT)
    } else if accept(parser, &["NULL", "ON", "NULL"]) {
        Some("NULL ON NULL")
    } else {
        None
    })
}

/// Parses what may follow an aggregate, a FILTER, and adds it to the call.
fn aggregated(parser: &mut Parser, mut made: Expr, is_distinct: bool) -> Result<Expr> {
    if let Expr::Function(function) = &mut made {
        if let FunctionArguments::List(list) = &mut function.args
            && is_distinct
        {
            list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
        }
        if parser.parse_keyword(Keyword::FILTER) {
            parser.expect_token(&Token::LParen)?;
            parser.expect_keyword(Keyword::WHERE)?;
            function.filter = Some(Box::new(parser.parse_expr()?));
            parser.expect_token(&Token::RParen)?;
        }
        if word_at(parser, 0, "OVER") {
            let message = "aggregates that make JSON have no OVER: use them with GROUP BY";
            return Err(super::ddl::at(&parser.peek_token_ref().span, message.to_owned()));
        }
    }
    Ok(made)
}

/// Reads the given words if they are the next ones.
fn accept(parser: &mut Parser, words: &[&str]) -> bool {
    let are_next = words.iter().enumerate().all(|(place, word)| word_at(parser, place, word));
    if are_next {
        words.iter().for_each(|_| parser.advance_token());
    }
    are_next
}

fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).with_empty_span())
}

fn null() -> Expr {
    Expr::Value(Value::Null.with_empty_span())
}
