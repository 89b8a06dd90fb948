//! Parsing of a text into statements: Flink's statements which a standard parser lacks, and queries.
//!
//! Statements end with `;`. Each keeps the place where it begins, so that errors can be shown. The length of a text
//! is bounded here, the depth and length of expressions in [`super::bounds`]: planning recurses, and a tree deeper
//! than its stack would end the process.
//!
//! Sources: Flink's documentation, "SQL" (statements); the rule that text behind `--` and between `/*` and `*/` is a
//! comment.

use std::collections::{BTreeMap, HashSet};

use sqlparser::ast::{Expr, Ident, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError, ParserOptions};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::OptionValue;

use super::alter::{Alteration, alter};
use super::bounds;
use super::ddl::{self, CreateTable, Name, Replaces, place_of};
use super::dialect::FlinkDialect;
use super::functions::{self, CreateFunction};
use super::refused::refusal;
use super::show::{self, Listing};
use super::tokens::{tokens, written};

/// Greatest length of a text of SQL statements, in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Greatest number of tokens of one SQL statement.
pub const STATEMENT_TOKENS_MAX: usize = 100_000;

/// Greatest depth to which brackets and sub-queries of a statement may be nested.
pub const NESTING_MAX: usize = 64;

/// A parsed SQL statement and its place in the text.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The parsed statement.
    pub statement: Statement,
    /// Line and column of the first word of the statement.
    pub place: Place,
}

/// A parsed SQL statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// The statement `SET 'key' = 'value'`.
    Set {
        /// Key of the setting that SET changes.
        key: String,
        /// New value of the setting.
        value: String,
        /// Places of the key and the value in the text.
        places: [Place; 2],
    },
    /// The statement `RESET ['key']`; without a key all settings are reset.
    Reset {
        /// Key of the setting to be reset; `None` for all settings.
        key: Option<String>,
    },
    /// The statement `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// The statement `CREATE VIEW name [(columns)] [COMMENT 'text'] AS query`.
    CreateView {
        /// Name of the view that is created.
        name: Name,
        /// True if the statement says IF NOT EXISTS, so that a view of that name may already exist.
        if_not_exists: bool,
        /// Names of the view's columns, if the statement gives them; otherwise empty.
        columns: Vec<String>,
        /// Comment of the view, if the statement gives one.
        comment: Option<String>,
        /// Query for which the view stands.
        query: Box<Query>,
        /// The query as the text has it.
        text: String,
    },
    /// The statement `DROP TABLE` or `DROP VIEW`.
    Drop {
        /// Name of the table or view that is dropped.
        name: Name,
        /// True for `DROP VIEW`, false for `DROP TABLE`.
        is_view: bool,
        /// True if the statement says IF EXISTS, so that the table or view need not exist.
        if_exists: bool,
    },
    /// The statement `INSERT INTO`, or a statement set of several that share their inputs.
    Insert(Vec<Insert>),
    /// A query without a target table, whose rows are shown.
    Query(Box<Query>),
    /// The statement `EXPLAIN` of a query or of inserts.
    Explain(Box<Statement>),
    /// A statement that lists names, such as `SHOW TABLES`.
    Show(Listing),
    /// The statement `SHOW CREATE TABLE` or `SHOW CREATE VIEW`.
    ShowCreate {
        /// Name of the table or view.
        name: Name,
        /// True for `SHOW CREATE VIEW`.
        is_view: bool,
    },
    /// The statement `SHOW CURRENT CATALOG` or `SHOW CURRENT DATABASE`.
    ShowCurrent {
        /// True for `SHOW CURRENT CATALOG`.
        is_catalog: bool,
    },
    /// The statement `USE database` or `USE CATALOG catalog`.
    Use {
        /// Name of the database or catalog.
        name: Name,
        /// True for `USE CATALOG`.
        is_catalog: bool,
    },
    /// The statement `CREATE DATABASE`.
    CreateDatabase {
        /// Name of the new database.
        name: Name,
        /// True if the statement says IF NOT EXISTS, so that the database may already exist.
        if_not_exists: bool,
    },
    /// The statement `DROP DATABASE`.
    DropDatabase {
        /// Name of the database that is dropped.
        name: Name,
        /// True if the statement says IF EXISTS, so that the database need not exist.
        if_exists: bool,
        /// True for CASCADE, which also drops the tables and views of the database.
        is_cascade: bool,
    },
    /// The statement `DESCRIBE name`.
    Describe(Name),
    /// The statement `ALTER TABLE` or `ALTER VIEW`.
    Alter {
        /// Name of the table or view that is changed.
        name: Name,
        /// True for `ALTER VIEW`.
        is_view: bool,
        /// True if the statement says IF EXISTS, so that the table or view need not exist.
        if_exists: bool,
        /// Change of the table or view.
        change: Alteration,
    },
    /// The statement `CREATE FUNCTION`.
    CreateFunction(CreateFunction),
    /// The statement `DROP FUNCTION`.
    DropFunction {
        /// Name of the function that is dropped.
        name: Name,
        /// True if the statement says IF EXISTS, so that the function need not exist.
        if_exists: bool,
    },
}

/// The statement `INSERT {INTO | OVERWRITE} table [PARTITION (key = value, ..)] [(columns)] query`.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Table that receives the rows of the INSERT.
    pub table: Name,
    /// Options of the table that a hint gives for this INSERT.
    pub options: BTreeMap<String, OptionValue>,
    /// Place of the word OVERWRITE, if the rows replace those of the table.
    pub overwrite: Option<Place>,
    /// Partition columns to which PARTITION gives a literal, each with the place of its name.
    pub partition: Vec<(String, Place, Expr)>,
    /// Column names that the INSERT gives; empty for all columns of the table.
    pub columns: Vec<(String, Place)>,
    /// Query whose rows the INSERT writes.
    pub query: Box<Query>,
    /// Line and column at which the INSERT begins in the text.
    pub place: Place,
}

/// Parses all SQL statements of a text.
///
/// # Errors
/// [`Code::Syntax`] where the text is not valid SQL, and [`Code::Unsupported`] at unsupported statements.
pub fn parse(text: &str) -> Result<Vec<Placed>, SqlError> {
    parse_each(text)?.into_iter().map(|parsed| parsed.map_err(|faulty| faulty.error)).collect()
}

/// A statement that cannot be read.
#[derive(Clone, Debug)]
pub struct Faulty {
    /// The first fault of the statement.
    pub error: SqlError,
    /// Name of the table or view that the statement would declare.
    pub declares: Option<Name>,
}

/// Parses all SQL statements of a text, each by itself: after a faulty one, reading goes on behind its semicolon.
///
/// # Errors
/// [`Code::Syntax`] and [`Code::Unsupported`] if the text cannot be split into statements.
pub fn parse_each(text: &str) -> Result<Vec<Result<Placed, Faulty>>, SqlError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text has {} bytes, and at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(SqlError::new(Code::Syntax, message));
    }
    let tokens = tokens(text)?;
    let mut statements = Vec::new();
    let mut rest = &tokens[..];
    while !rest.is_empty() {
        let mut end = rest.iter().position(is_end).unwrap_or(rest.len());
        // A statement set (several INSERTs from BEGIN to END) contains semicolons, so it ends at its END and
        // not at the first semicolon.
        if is_statement_set(&rest[..end]) {
            end = end_of_set(rest);
        }
        let words = || rest[..end].iter().filter(|token| !is_blank(&token.token));
        if let Some(first) = words().next() {
            let place = place_of(&first.span);
            let count = words().count();
            if count > STATEMENT_TOKENS_MAX {
                let message =
                    format!("the statement has {count} words, and at most {STATEMENT_TOKENS_MAX} are read");
                return Err(SqlError::new(Code::Syntax, message).at(place));
            }
            let read = read(&rest[..end], place).map(|statement| Placed { statement, place });
            statements.push(read.map_err(|error| Faulty { error, declares: declared(&rest[..end]) }));
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Ok(statements)
}

/// Returns the name of the table or view that a statement declares, if it begins as such a statement does.
fn declared(tokens: &[TokenWithSpan]) -> Option<Name> {
    let mut parser = Parser::new(&FlinkDialect).with_tokens_with_locations(tokens.to_vec());
    if parser.parse_keyword(Keyword::CREATE) {
        let _ = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    } else if !parser.parse_keyword(Keyword::REPLACE) {
        return None;
    }
    let _ = parser.parse_keyword(Keyword::TEMPORARY);
    parser.parse_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW])?;
    let _ = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    ddl::name(&mut parser).ok()
}

fn is_end(token: &TokenWithSpan) -> bool {
    token.token == Token::SemiColon
}

/// Returns the index of the token that ends a statement set (several INSERTs from BEGIN to END): the
/// semicolon after the END that closes no CASE.
fn end_of_set(tokens: &[TokenWithSpan]) -> usize {
    let mut cases = 0;
    // True if the previous word was the END that closes the statement set.
    let mut is_closed = false;
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| !is_blank(&token.token)) {
        if is_end(token) {
            if is_closed {
                return index;
            }
            cases = 0;
            continue;
        }
        let word = word(&token.token);
        is_closed = word.as_deref() == Some("END") && cases == 0;
        match word.as_deref() {
            Some("CASE") => cases += 1,
            Some("END") if cases > 0 => cases -= 1,
            _ => {}
        }
    }
    tokens.len()
}

pub(super) fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Returns the word of an unquoted token in upper case.
pub(super) fn word(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
        _ => None,
    }
}

/// Words that EXPLAIN accepts without effect: the plan always shows these details, or cannot show them.
const EXPLAIN_DETAILS: [&str; 4] = ["ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"];

fn is_statement_set(tokens: &[TokenWithSpan]) -> bool {
    let mut tokens = tokens.iter().map(|token| &token.token).filter(|token| !is_blank(token)).peekable();
    let is_explain = |token: &Token| word(token).is_some_and(|word| word == "EXPLAIN");
    if tokens.next_if(|token| is_explain(token)).is_some() {
        let is_detail = |token: &Token| {
            *token == Token::Comma
                || word(token).is_some_and(|word| {
                    matches!(word.as_str(), "PLAN" | "FOR") || EXPLAIN_DETAILS.contains(&word.as_str())
                })
        };
        while tokens.next_if(|token| is_detail(token)).is_some() {}
    }
    let words: Vec<String> = tokens.map_while(word).take(3).collect();
    matches!(
        [0, 1, 2].map(|place| words.get(place).map_or("", String::as_str)),
        ["EXECUTE" | "BEGIN", "STATEMENT", "SET"] | ["STATEMENT", "SET", "BEGIN"]
    )
}

fn read(tokens: &[TokenWithSpan], place: Place) -> Result<Statement, SqlError> {
    if let Some(error) = refusal(tokens) {
        return Err(error);
    }
    let depth = bounds::check(tokens)?;
    let mut parser = Parser::new(&FlinkDialect)
        .with_options(ParserOptions::new().with_unescape(true))
        .with_recursion_limit(NESTING_MAX)
        .with_tokens_with_locations(tokens.to_vec());
    let read = statement(&mut parser).and_then(|statement| match statement {
        Some(read) => {
            let next = parser.peek_token_ref().clone();
            if next.token == Token::EOF { Ok(Some(read)) } else { parser.expected("end of statement", next) }
        }
        None => Ok(None),
    });
    match read {
        Ok(Some(statement)) => Ok(statement),
        Ok(None) => {
            let first = tokens.iter().find(|token| !is_blank(&token.token));
            let name = first.map(|token| token.token.to_string()).unwrap_or_default();
            let known = [
                "SELECT", "INSERT", "CREATE", "SET", "RESET", "EXPLAIN", "EXECUTE", "DROP", "SHOW",
                "DESCRIBE", "WITH", "VALUES", "USE", "ALTER", "REPLACE",
            ];
            let error = match nearest(&name, known) {
                Some(near) if !name.eq_ignore_ascii_case(near) => {
                    SqlError::new(Code::Syntax, format!("no statement begins with {name}"))
                        .help(format!("did you mean {near}?"))
                }
                _ => SqlError::new(Code::Unsupported, format!("there are no statements {name}"))
                    .help("a file has SET, CREATE, ALTER, DROP, USE, SHOW, DESCRIBE, INSERT INTO, EXECUTE STATEMENT SET, EXPLAIN and queries"),
            };
            Err(error.at(place))
        }
        Err(ParserError::RecursionLimitExceeded) => Err(bounds::too_deep(depth.deepest.unwrap_or(place))),
        Err(error) => Err(syntax_error(error, tokens, place)),
    }
}

/// Converts an error of sqlparser, whose place in the text is known only from its message.
fn syntax_error(error: ParserError, tokens: &[TokenWithSpan], place: Place) -> SqlError {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => return bounds::too_deep(place),
    };
    let Some((message, numbers)) = text.rsplit_once(" at Line: ") else {
        let end = tokens.iter().rev().find(|token| !is_blank(&token.token));
        let at_end = end.filter(|_| text.ends_with("EOF")).map(|token| place_of(&token.span));
        return SqlError::new(Code::Syntax, plain_message(&text)).at(at_end.unwrap_or(place));
    };
    let numbers: Option<(usize, usize)> = numbers
        .split_once(", Column: ")
        .and_then(|(line, column)| Some((line.trim().parse().ok()?, column.trim().parse().ok()?)));
    let place = numbers.map_or(place, |(line, column)| {
        let width = tokens
            .iter()
            .find(|token| {
                token.span.start.line as usize == line && token.span.start.column as usize == column
            })
            .map_or(1, |token| place_of(&token.span).width);
        Place { line: line.max(1), column: column.max(1), width }
    });
    SqlError::new(Code::Syntax, plain_message(message)).at(place)
}

fn plain_message(message: &str) -> String {
    let message = message.strip_prefix("sql parser error: ").unwrap_or(message);
    // The parser's message "No infix parser for token" has the debug form of a token, from which the word is
    // taken.
    if message.starts_with("No infix parser for token") {
        let word = message.split("value: \"").nth(1).and_then(|rest| rest.split('"').next());
        return word
            .map_or("there is no such operator".to_owned(), |word| format!("there is no operator {word}"));
    }
    let message =
        message.replace("Expected: ", "expected ").replace(", found: EOF", ", and here the statement ends");
    let message = message.replace(", found: ", ", found ");
    let mut characters = message.chars();
    // A word in capitals is a keyword and stays unchanged; other messages begin with a lower-case letter.
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().collect::<String>() + &message[first.len_utf8()..]
        }
        _ => message,
    }
}

/// Parses one SQL statement; returns `None` if no known statement begins with its first word.
fn statement(parser: &mut Parser) -> Result<Option<Statement>, ParserError> {
    let first = parser.peek_token_ref().token.clone();
    if matches!(first, Token::LParen) {
        return Ok(Some(Statement::Query(parser.parse_query()?)));
    }
    let Some(first) = word(&first) else { return Ok(None) };
    Ok(Some(match first.as_str() {
        "SELECT" | "WITH" | "VALUES" => Statement::Query(parser.parse_query()?),
        "SET" => {
            parser.next_token();
            let key_place = place_of(&parser.peek_token_ref().span);
            let key = parser.parse_literal_string()?;
            parser.expect_token(&Token::Eq)?;
            let value_place = place_of(&parser.peek_token_ref().span);
            let value = parser.parse_literal_string()?;
            Statement::Set { key, value, places: [key_place, value_place] }
        }
        "RESET" => {
            parser.next_token();
            let has_key = parser.peek_token_ref().token != Token::EOF;
            Statement::Reset { key: has_key.then(|| parser.parse_literal_string()).transpose()? }
        }
        "CREATE" => create(parser)?,
        "REPLACE" => {
            parser.next_token();
            parser.expect_keyword(Keyword::TABLE)?;
            Statement::CreateTable(Box::new(ddl::replace_table(parser, Replaces::Always)?))
        }
        "DROP" => drop_statement(parser)?,
        "ALTER" => alter(parser)?,
        "INSERT" => Statement::Insert(vec![insert(parser)?]),
        "EXECUTE" | "BEGIN" | "STATEMENT" => {
            let is_execute = first == "EXECUTE";
            parser.next_token();
            if is_execute && (parser.peek_keyword(Keyword::INSERT) || parser.peek_keyword(Keyword::SELECT)) {
                return statement(parser);
            }
            statement_set(parser, &first)?
        }
        "EXPLAIN" => {
            parser.next_token();
            while let Some(detail) = word(&parser.peek_token_ref().token)
                .filter(|word| word == "PLAN" || EXPLAIN_DETAILS.contains(&word.as_str()))
            {
                parser.next_token();
                if detail == "PLAN" {
                    parser.expect_keyword(Keyword::FOR)?;
                }
                let _ = parser.consume_token(&Token::Comma);
            }
            let token = parser.peek_token_ref().clone();
            match statement(parser)? {
                Some(explained @ (Statement::Query(_) | Statement::Insert(_))) => {
                    Statement::Explain(Box::new(explained))
                }
                Some(Statement::CreateTable(table)) if table.query.is_some() => {
                    Statement::Explain(Box::new(Statement::CreateTable(table)))
                }
                _ => return parser.expected("a query, INSERT or STATEMENT SET behind EXPLAIN", token),
            }
        }
        "SHOW" => show::show(parser)?,
        "USE" => show::use_statement(parser)?,
        "DESCRIBE" | "DESC" => {
            parser.next_token();
            let _ = parser.parse_keyword(Keyword::TABLE);
            Statement::Describe(ddl::name(parser)?)
        }
        _ => return Ok(None),
    }))
}

fn create(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    if parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]) {
        let span = parser.peek_token_ref().span;
        if !parser.parse_keyword(Keyword::TABLE) {
            let message =
                "CREATE OR REPLACE is for a TABLE with a query: DROP what is to be replaced, then CREATE it";
            return Err(ddl::at(&span, message.to_owned()));
        }
        return Ok(Statement::CreateTable(Box::new(ddl::replace_table(parser, Replaces::IfThere)?)));
    }
    if parser.parse_keyword(Keyword::DATABASE) {
        return show::create_database(parser);
    }
    let is_temporary = parser.parse_keyword(Keyword::TEMPORARY);
    let span = parser.peek_token_ref().span;
    if is_function(parser) {
        return functions::create_function(parser);
    }
    if parser.parse_keyword(Keyword::TABLE) {
        let table = ddl::create_table(parser)?;
        if is_temporary && table.query.is_some() {
            let message = "a TEMPORARY table does not take a query: write CREATE TABLE .. AS";
            return Err(ddl::at(&span, message.to_owned()));
        }
        return Ok(Statement::CreateTable(Box::new(table)));
    }
    if !parser.parse_keyword(Keyword::VIEW) {
        let token = parser.peek_token_ref().clone();
        return parser.expected("TABLE, VIEW or FUNCTION behind CREATE", token);
    }
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = ddl::name(parser)?;
    let mut columns = Vec::new();
    if parser.consume_token(&Token::LParen) {
        let mut names = HashSet::new();
        let column = |parser: &mut Parser| {
            let Ident { value, span, .. } = parser.parse_identifier()?;
            if !names.insert(value.clone()) {
                return Err(ddl::at(&span, format!("there are two columns `{value}`")));
            }
            ddl::comment(parser)?;
            Ok(value)
        };
        columns = parser.parse_comma_separated(column)?;
        parser.expect_token(&Token::RParen)?;
    }
    let comment = ddl::comment(parser)?;
    parser.expect_keyword(Keyword::AS)?;
    let from = parser.index();
    let query = parser.parse_query()?;
    Ok(Statement::CreateView { name, if_not_exists, columns, comment, query, text: written(parser, from) })
}

/// Parses FUNCTION or SYSTEM FUNCTION, if they stand here.
fn is_function(parser: &mut Parser) -> bool {
    parser.parse_keyword(Keyword::FUNCTION) || parser.parse_keywords(&[Keyword::SYSTEM, Keyword::FUNCTION])
}

fn drop_statement(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::DROP)?;
    if parser.parse_keyword(Keyword::DATABASE) {
        return show::drop_database(parser);
    }
    let _ = parser.parse_keyword(Keyword::TEMPORARY);
    if is_function(parser) {
        return functions::drop_function(parser);
    }
    let is_view = parser.expect_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW])? == Keyword::VIEW;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Statement::Drop { name: ddl::name(parser)?, is_view, if_exists })
}

fn insert(parser: &mut Parser) -> Result<Insert, ParserError> {
    let place = place_of(&parser.peek_token_ref().span);
    parser.expect_keyword(Keyword::INSERT)?;
    let overwrite_place = place_of(&parser.peek_token_ref().span);
    let overwrite = parser.parse_keyword(Keyword::OVERWRITE).then_some(overwrite_place);
    if overwrite.is_none() {
        parser.expect_keyword(Keyword::INTO)?;
        let _ = parser.parse_keyword(Keyword::TABLE);
    }
    let (table, options) = ddl::hinted_name(parser)?;
    let mut partition = Vec::new();
    if parser.parse_keyword(Keyword::PARTITION) {
        parser.expect_token(&Token::LParen)?;
        partition = parser.parse_comma_separated(|parser| {
            let Ident { value, span, .. } = parser.parse_identifier()?;
            parser.expect_token(&Token::Eq)?;
            Ok((value, place_of(&span), parser.parse_expr()?))
        })?;
        parser.expect_token(&Token::RParen)?;
    }
    let mut columns = Vec::new();
    let begins_query =
        matches!(word(&parser.peek_nth_token_ref(1).token).as_deref(), Some("SELECT" | "WITH" | "VALUES"));
    if parser.peek_token_ref().token == Token::LParen && !begins_query {
        parser.expect_token(&Token::LParen)?;
        let idents = parser.parse_comma_separated(Parser::parse_identifier)?;
        columns = idents.into_iter().map(|ident| (ident.value, place_of(&ident.span))).collect();
        parser.expect_token(&Token::RParen)?;
    }
    let query = parser.parse_query()?;
    if parser.peek_keyword(Keyword::ON) {
        let token = parser.peek_token_ref().clone();
        let message = "the end of the INSERT: ON CONFLICT is for tables that take updates by their key, and all tables here take \
                       the old rows, too";
        return parser.expected(message, token);
    }
    Ok(Insert { table, options, overwrite, partition, columns, query, place })
}

/// Parses the rest of a statement set after its first word `first`, which is EXECUTE, BEGIN or STATEMENT.
fn statement_set(parser: &mut Parser, first: &str) -> Result<Statement, ParserError> {
    let expect = |parser: &mut Parser, expected: &str| {
        let token = parser.next_token();
        match word(&token.token) {
            Some(found) if found == expected => Ok(()),
            _ => parser.expected(&format!("{expected} of a STATEMENT SET"), token),
        }
    };
    if first != "STATEMENT" {
        expect(parser, "STATEMENT")?;
    }
    expect(parser, "SET")?;
    if first == "BEGIN" {
        let _ = parser.consume_token(&Token::SemiColon);
    } else {
        expect(parser, "BEGIN")?;
    }
    let mut inserts = Vec::new();
    while word(&parser.peek_token_ref().token).as_deref() != Some("END") {
        inserts.push(insert(parser)?);
        parser.expect_token(&Token::SemiColon)?;
    }
    if inserts.is_empty() {
        let token = parser.peek_token_ref().clone();
        return parser.expected("INSERT INTO in a STATEMENT SET", token);
    }
    expect(parser, "END")?;
    Ok(Statement::Insert(inserts))
}

#[cfg(test)]
mod tests;
