//! Parser of `CREATE TABLE`, including the parts of Flink that no dialect of sqlparser has: computed and
//! metadata columns, watermarks, keys that are not enforced, options.
//!
//! Source: Flink's documentation, "CREATE Statements", CREATE TABLE; "Data Types" for the notation of types.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};
use thalweg_sql_functions::types::{DECIMAL_PRECISION_MAX, LENGTH_MAX, SqlType};
use thalweg_sql_tables::error::Place;
use thalweg_sql_tables::table::OptionValue;

use super::hints::{is_mark, options_of};
use super::like::{Like, like};
use super::reserved::check_name;
use super::tokens::written;

/// Declaration of a table by CREATE TABLE.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// Name of the declared table, of one or several parts.
    pub name: Name,
    /// True if CREATE TABLE says IF NOT EXISTS, so that a table of that name may already exist.
    pub if_not_exists: bool,
    /// Table that the new one replaces; `None` for a statement that replaces none.
    pub replaces: Option<Replaces>,
    /// Declared columns of the table, in order.
    pub columns: Vec<ColumnDefinition>,
    /// Declared event time column of the table, and the expression for its watermarks.
    pub watermark: Option<WatermarkDefinition>,
    /// Names of the columns of the table's primary key, each with its place in the text.
    pub primary_key: Vec<(String, Place)>,
    /// Name that CONSTRAINT gives to the primary key.
    pub key_name: Option<String>,
    /// Comment of the table, if CREATE TABLE gives one.
    pub comment: Option<String>,
    /// Names of the columns by which the table is partitioned (PARTITIONED BY), each with its place in the
    /// text.
    pub partitioned_by: Vec<(String, Place)>,
    /// Options of the table in its WITH clause.
    pub options: BTreeMap<String, OptionValue>,
    /// Line and column of the WITH clause, or of the table's name if there is none.
    pub options_place: Place,
    /// The table whose declaration is taken over (LIKE).
    pub like: Option<Like>,
    /// Columns in the brackets that have names and no types: the order of the query's columns.
    pub order: Vec<(String, Place)>,
    /// The query whose rows the new table gets (AS).
    pub query: Option<Box<Query>>,
}

/// Table that the new one replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replaces {
    /// The table of this name, if there is one: CREATE OR REPLACE TABLE.
    IfThere,
    /// The table of this name, which must exist: REPLACE TABLE.
    Always,
}

/// Name of a table, view or database and its place in the text. Parts are separated by periods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// Last part of the name, which is that of the table, view or database itself.
    pub name: String,
    /// Parts of the name before the last: the catalog and the database, if they are given.
    pub before: Vec<String>,
    /// Line and column at which the name begins in the text.
    pub place: Place,
}

/// Declaration of a column in CREATE TABLE.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// Name of the declared column.
    pub name: String,
    /// Line and column of the column's name in the text.
    pub place: Place,
    /// Origin of the column's values: a field of the record, an expression, or metadata.
    pub kind: ColumnKind,
    /// Comment of the column, if there is one.
    pub comment: Option<String>,
}

/// Origin of the values of a declared column.
#[derive(Clone, Debug)]
pub enum ColumnKind {
    /// The column is a field of the records that the connector reads or writes.
    Physical {
        /// Declared type of the column.
        of: SqlType,
        /// True if the column may be NULL.
        is_nullable: bool,
    },
    /// The column is an expression over other columns: `cost AS price * quantity`.
    Computed {
        /// The expression, from which a plan is made.
        expression: Box<Expr>,
        /// The expression as the text has it.
        text: String,
    },
    /// The column is metadata of a record, which the connector gives:
    /// `ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL`.
    Metadata {
        /// Declared type of the metadata column.
        of: SqlType,
        /// Name that the connector has for the metadata, if it differs from the column's name.
        key: Option<String>,
        /// True if the column is VIRTUAL, so that it is left out when the table is written to.
        is_virtual: bool,
    },
}

/// The clause `WATERMARK FOR column AS expression` of CREATE TABLE.
#[derive(Clone, Debug)]
pub struct WatermarkDefinition {
    /// Name of the column that becomes the event time.
    pub column: String,
    /// Line and column of the event time column's name in the clause.
    pub place: Place,
    /// Watermark expression of the clause; later records have event times above its value.
    pub expression: Expr,
    /// Watermark expression as the text has it.
    pub text: String,
}

impl CreateTable {
    /// Returns the declaration of a table without columns and options.
    pub(super) fn empty(name: Name) -> Self {
        CreateTable {
            options_place: name.place,
            name,
            if_not_exists: false,
            replaces: None,
            columns: Vec::new(),
            watermark: None,
            primary_key: Vec::new(),
            key_name: None,
            comment: None,
            partitioned_by: Vec::new(),
            options: BTreeMap::new(),
            like: None,
            order: Vec::new(),
            query: None,
        }
    }
}

/// Parses the rest of a table's declaration, after the words `CREATE [TEMPORARY] TABLE`.
pub(super) fn create_table(parser: &mut Parser) -> Result<CreateTable, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = name(parser)?;
    let mut table = CreateTable { if_not_exists, ..CreateTable::empty(name) };
    let begin = parser.peek_token_ref().span;
    if parser.consume_token(&Token::LParen) {
        loop {
            element(parser, &mut table)?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    loop {
        let token = parser.peek_token_ref().clone();
        if parser.parse_keyword(Keyword::COMMENT) {
            table.comment = Some(parser.parse_literal_string()?);
        } else if parser.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
            table.partitioned_by = column_list(parser)?;
        } else if parser.parse_keyword(Keyword::WITH) {
            table.options_place = place_of(&token.span);
            table.options = options(parser)?;
        } else if parser.parse_keyword(Keyword::LIKE) {
            table.like = Some(like(parser)?);
            break;
        } else if parser.parse_keyword(Keyword::AS) {
            table.query = Some(parser.parse_query()?);
            break;
        } else {
            break;
        }
    }
    match table.order.first() {
        Some((name, _)) if table.query.is_none() || !table.columns.is_empty() => {
            Err(at(&begin, format!("the column `{name}` has no type")))
        }
        _ => Ok(table),
    }
}

/// Parses the rest of a table's declaration that replaces another one, after the word TABLE.
pub(super) fn replace_table(parser: &mut Parser, replaces: Replaces) -> Result<CreateTable, ParserError> {
    let words = match replaces {
        Replaces::IfThere => "CREATE OR REPLACE TABLE",
        Replaces::Always => "REPLACE TABLE",
    };
    let begin = parser.peek_token_ref().span;
    let table = create_table(parser)?;
    if table.if_not_exists {
        return Err(at(&begin, format!("{words} does not take IF NOT EXISTS: leave it out")));
    }
    if table.query.is_none() {
        let message =
            format!("{words} takes a query: write {words} .. AS SELECT .., or DROP TABLE and CREATE TABLE");
        return Err(at(&begin, message));
    }
    Ok(CreateTable { replaces: Some(replaces), ..table })
}

/// Parses one element of a table's declaration: a column, a key or a watermark.
pub(super) fn element(parser: &mut Parser, table: &mut CreateTable) -> Result<(), ParserError> {
    let first = parser.peek_token_ref().clone();
    if word_is(&first.token, "WATERMARK") && keyword_at(parser, 1, Keyword::FOR) {
        parser.next_token();
        parser.next_token();
        let column = parser.parse_identifier()?;
        parser.expect_keyword(Keyword::AS)?;
        let from = parser.index();
        let expression = parser.parse_expr()?;
        let text = written(parser, from);
        if table.watermark.is_some() {
            return Err(at(&first.span, "a table has one watermark, and this is a second".to_owned()));
        }
        let place = place_of(&column.span);
        table.watermark = Some(WatermarkDefinition { column: column.value, place, expression, text });
        return Ok(());
    }
    let is_constraint = parser.parse_keyword(Keyword::CONSTRAINT);
    if is_constraint {
        table.key_name = Some(parser.parse_identifier()?.value);
    }
    if is_constraint || (word_is(&first.token, "PRIMARY") && keyword_at(parser, 1, Keyword::KEY)) {
        parser.expect_keywords(&[Keyword::PRIMARY, Keyword::KEY])?;
        let columns = column_list(parser)?;
        return primary_key(parser, table, columns, &first.span);
    }
    column(parser, table)
}

/// Refuses a word that cannot be a name without quotes, such as a reserved word.
fn check(name: &Ident) -> Result<(), ParserError> {
    match check_name(name) {
        Ok(()) => Ok(()),
        Err(error) => Err(at(&name.span, format!("{}; write `{}`", error.message, name.value))),
    }
}

/// Parses the words NOT ENFORCED after the columns of a primary key, and makes `columns` the primary key of
/// the table.
fn primary_key(
    parser: &mut Parser,
    table: &mut CreateTable,
    columns: Vec<(String, Place)>,
    begin: &Span,
) -> Result<(), ParserError> {
    if !parser.parse_keywords(&[Keyword::NOT, Keyword::ENFORCED]) {
        let message = "a primary key is not checked: write PRIMARY KEY (..) NOT ENFORCED";
        return Err(at(begin, message.to_owned()));
    }
    if !table.primary_key.is_empty() {
        return Err(at(begin, "a table has one primary key, and this is a second".to_owned()));
    }
    table.primary_key = columns;
    Ok(())
}

fn column(parser: &mut Parser, table: &mut CreateTable) -> Result<(), ParserError> {
    let name = parser.parse_identifier()?;
    check(&name)?;
    let place = place_of(&name.span);
    let is_named = table.order.iter().any(|(known, _)| *known == name.value);
    if is_named || table.columns.iter().any(|column| column.name == name.value) {
        return Err(at(&name.span, format!("there are two columns `{}`", name.value)));
    }
    if matches!(parser.peek_token_ref().token, Token::Comma | Token::RParen) {
        table.order.push((name.value, place));
        return Ok(());
    }
    if parser.parse_keyword(Keyword::AS) {
        let from = parser.index();
        let expression = Box::new(parser.parse_expr()?);
        let kind = ColumnKind::Computed { expression, text: written(parser, from) };
        let comment = comment(parser)?;
        table.columns.push(ColumnDefinition { name: name.value, place, kind, comment });
        return Ok(());
    }
    let of = data_type(parser)?;
    let mut is_nullable = true;
    let mut metadata = None;
    let mut is_key = false;
    let mut is_virtual = false;
    loop {
        if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
            is_nullable = false;
        } else if parser.parse_keyword(Keyword::NULL) {
            is_nullable = true;
        } else if word_is(&parser.peek_token_ref().token, "METADATA") {
            parser.next_token();
            let key =
                parser.parse_keyword(Keyword::FROM).then(|| parser.parse_literal_string()).transpose()?;
            metadata = Some(key);
        } else if parser.parse_keyword(Keyword::VIRTUAL) {
            is_virtual = true;
        } else if parser.peek_keyword(Keyword::CONSTRAINT)
            || (parser.peek_keyword(Keyword::PRIMARY) && keyword_at(parser, 1, Keyword::KEY))
        {
            let begin = parser.peek_token_ref().span;
            if parser.parse_keyword(Keyword::CONSTRAINT) {
                table.key_name = Some(parser.parse_identifier()?.value);
            }
            parser.expect_keywords(&[Keyword::PRIMARY, Keyword::KEY])?;
            primary_key(parser, table, vec![(name.value.clone(), place)], &begin)?;
            is_key = true;
        } else {
            break;
        }
    }
    let kind = match metadata {
        Some(key) => ColumnKind::Metadata { of, key, is_virtual },
        // A column of the primary key cannot be NULL.
        None => ColumnKind::Physical { of, is_nullable: is_nullable && !is_key },
    };
    let comment = comment(parser)?;
    table.columns.push(ColumnDefinition { name: name.value, place, kind, comment });
    Ok(())
}

/// Parses `COMMENT 'text'` if it stands here.
pub(super) fn comment(parser: &mut Parser) -> Result<Option<String>, ParserError> {
    parser.parse_keyword(Keyword::COMMENT).then(|| parser.parse_literal_string()).transpose()
}

fn column_list(parser: &mut Parser) -> Result<Vec<(String, Place)>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen)?;
    Ok(columns.into_iter().map(|Ident { value, span, .. }| (value, place_of(&span))).collect())
}

/// Parses the options of a table: `('key' = 'value', ..)`.
pub(super) fn options(parser: &mut Parser) -> Result<BTreeMap<String, OptionValue>, ParserError> {
    let mut options = BTreeMap::new();
    parser.expect_token(&Token::LParen)?;
    loop {
        let token = parser.peek_token_ref().clone();
        let key = parser.parse_literal_string()?;
        parser.expect_token(&Token::Eq)?;
        let value = parser.parse_literal_string()?;
        let place = place_of(&token.span);
        if options.insert(key.clone(), OptionValue { value, place }).is_some() {
            return Err(at(&token.span, format!("the option '{key}' is given twice")));
        }
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// Parses a table name of one or several parts.
pub(super) fn name(parser: &mut Parser) -> Result<Name, ParserError> {
    let span = parser.peek_token_ref().span;
    match hinted_name(parser)? {
        (name, options) if options.is_empty() => Ok(name),
        _ => Err(at(&span, "a hint stands behind a table of FROM or INSERT INTO".to_owned())),
    }
}

/// Parses a table name of one or several parts, and the options of a hint behind it.
pub(super) fn hinted_name(parser: &mut Parser) -> Result<(Name, BTreeMap<String, OptionValue>), ParserError> {
    let span = parser.peek_token_ref().span;
    let ObjectName(parts) = parser.parse_object_name(false)?;
    let mut before: Vec<String> = parts
        .into_iter()
        .filter_map(|part| match part {
            ObjectNamePart::Identifier(ident) => Some(ident.value),
            ObjectNamePart::Function(_) => None,
        })
        .collect();
    let hint = before.pop_if(|part| is_mark(part));
    let Some(name) = before.pop() else {
        return Err(at(&span, "a name is missing".to_owned()));
    };
    let place = place_of(&span);
    let options = hint.map(|hint| options_of(&hint, place)).unwrap_or_default();
    Ok((Name { name, before, place }, options))
}

/// Parses an SQL type in Flink's notation.
pub(super) fn data_type(parser: &mut Parser) -> Result<SqlType, ParserError> {
    let token = parser.next_token();
    let Token::Word(word) = &token.token else { return parser.expected("a type", token) };
    let name = word.value.to_uppercase();
    let number = |parser: &mut Parser, least: u32, most: u32, unless: u32| -> Result<u32, ParserError> {
        let numbers = numbers(parser)?;
        match numbers[..] {
            [] => Ok(unless),
            [number] if (least..=most).contains(&number) => Ok(number),
            _ => Err(at(&token.span, format!("{name} takes a number from {least} to {most} in brackets"))),
        }
    };
    let plain = match name.as_str() {
        "BOOLEAN" => SqlType::Boolean,
        "TINYINT" => SqlType::TinyInt,
        "SMALLINT" => SqlType::SmallInt,
        "INT" | "INTEGER" => SqlType::Int,
        "BIGINT" => SqlType::BigInt,
        "FLOAT" => SqlType::Float,
        "DOUBLE" => {
            let _ = parser.parse_keyword(Keyword::PRECISION);
            SqlType::Double
        }
        "DECIMAL" | "DEC" | "NUMERIC" => match numbers(parser)?[..] {
            [] => SqlType::Decimal { precision: 10, scale: 0 },
            [precision] if (1..=DECIMAL_PRECISION_MAX.into()).contains(&precision) => {
                SqlType::Decimal { precision: precision as u8, scale: 0 }
            }
            [precision, scale]
                if (1..=DECIMAL_PRECISION_MAX.into()).contains(&precision) && scale <= precision =>
            {
                SqlType::Decimal { precision: precision as u8, scale: scale as u8 }
            }
            _ => {
                let message = format!(
                    "{name}(precision, scale) has at most {DECIMAL_PRECISION_MAX} digits, and a scale within"
                );
                return Err(at(&token.span, message));
            }
        },
        "CHAR" => SqlType::Char(number(parser, 1, LENGTH_MAX, 1)?),
        "VARCHAR" => SqlType::Varchar(number(parser, 1, LENGTH_MAX, LENGTH_MAX)?),
        "STRING" => SqlType::STRING,
        "BINARY" => SqlType::Binary(number(parser, 1, LENGTH_MAX, 1)?),
        "VARBINARY" => SqlType::Varbinary(number(parser, 1, LENGTH_MAX, LENGTH_MAX)?),
        "BYTES" => SqlType::BYTES,
        "DATE" => SqlType::Date,
        "TIME" => {
            let digits = number(parser, 0, 9, 0)? as u8;
            let _ = parser.parse_keywords(&[Keyword::WITHOUT, Keyword::TIME, Keyword::ZONE]);
            SqlType::Time(digits)
        }
        "TIMESTAMP_LTZ" => SqlType::TimestampLtz(number(parser, 0, 9, 6)? as u8),
        "TIMESTAMP" => {
            let digits = number(parser, 0, 9, 6)? as u8;
            if parser.parse_keywords(&[Keyword::WITH, Keyword::LOCAL, Keyword::TIME, Keyword::ZONE]) {
                SqlType::TimestampLtz(digits)
            } else if parser.peek_keyword(Keyword::WITH) {
                let message = "TIMESTAMP WITH TIME ZONE is not supported, nor is it by Flink: \
                               write TIMESTAMP(3) or TIMESTAMP_LTZ(3)";
                return Err(at(&token.span, message.to_owned()));
            } else {
                let _ = parser.parse_keywords(&[Keyword::WITHOUT, Keyword::TIME, Keyword::ZONE]);
                SqlType::Timestamp(digits)
            }
        }
        "ARRAY" => {
            parser.expect_token(&Token::Lt)?;
            let item = data_type(parser)?;
            let _ = parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]);
            close_angle(parser)?;
            SqlType::Array(Box::new(item))
        }
        "MAP" => {
            parser.expect_token(&Token::Lt)?;
            let key = data_type(parser)?;
            let _ = parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]);
            parser.expect_token(&Token::Comma)?;
            let value = data_type(parser)?;
            let _ = parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]);
            close_angle(parser)?;
            SqlType::Map(Box::new(key), Box::new(value))
        }
        "ROW" => row_type(parser)?,
        _ => {
            return Err(at(&token.span, format!("there is no type {}", word.value)));
        }
    };
    if parser.peek_keyword(Keyword::ARRAY) {
        parser.next_token();
        return Ok(SqlType::Array(Box::new(plain)));
    }
    Ok(plain)
}

/// Reads a type that is written as messages show it; `None` for other text.
pub(crate) fn type_of_text(text: &str) -> Option<SqlType> {
    let tokens = super::tokens::tokens(text).ok()?;
    let mut parser = Parser::new(&super::dialect::FlinkDialect).with_tokens_with_locations(tokens);
    let of = data_type(&mut parser).ok()?;
    (parser.peek_token_ref().token == Token::EOF).then_some(of)
}

/// Parses the type `ROW<name type, ..>`, or its form with round brackets.
fn row_type(parser: &mut Parser) -> Result<SqlType, ParserError> {
    let is_round = match parser.next_token().token {
        Token::Lt => false,
        Token::LParen => true,
        _ => {
            let token = parser.get_current_token().clone();
            return parser.expected("ROW<name type, ..>", token);
        }
    };
    let mut fields = Vec::new();
    loop {
        let name = parser.parse_identifier()?;
        let of = data_type(parser)?;
        let _ = parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]);
        if matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_)) {
            parser.next_token();
        }
        fields.push((name.value, of));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    if is_round {
        parser.expect_token(&Token::RParen)?;
    } else {
        close_angle(parser)?;
    }
    Ok(SqlType::Row(fields))
}

/// Parses one closing bracket `>` of a nested type. The tokenizer reads `>>` as one token, which the parser
/// cannot split; so [`super::tokens`] splits it before parsing.
fn close_angle(parser: &mut Parser) -> Result<(), ParserError> {
    parser.expect_token(&Token::Gt).map(drop)
}

/// Parses the numbers `(n, ..)` after a type name, if they are there.
fn numbers(parser: &mut Parser) -> Result<Vec<u32>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let numbers = parser.parse_comma_separated(|parser| {
        let token = parser.next_token();
        match &token.token {
            Token::Number(number, _) => {
                number.parse().map_err(|_| at(&token.span, format!("{number} is too large")))
            }
            _ => parser.expected("a number", token),
        }
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(numbers)
}

fn word_is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

fn keyword_at(parser: &Parser, place: usize, keyword: Keyword) -> bool {
    matches!(&parser.peek_nth_token_ref(place).token, Token::Word(word) if word.keyword == keyword)
}

/// Returns the line and column at which a span of text begins.
pub(crate) fn place_of(span: &Span) -> Place {
    let width =
        if span.end.line == span.start.line { span.end.column.saturating_sub(span.start.column) } else { 1 };
    Place {
        line: (span.start.line as usize).max(1),
        column: (span.start.column as usize).max(1),
        width: (width as usize).max(1),
    }
}

/// Creates a parser error whose message ends with its place in the text, as the messages of sqlparser do.
#[allow(clippy::needless_pass_by_value, reason = "messages are made where they are needed")]
pub(super) fn at(span: &Span, message: String) -> ParserError {
    ParserError::ParserError(format!("{message}{}", span.start))
}
