//! Parser of CREATE FUNCTION and DROP FUNCTION.
//!
//! Source: Flink's documentation, "CREATE Statements", section "CREATE FUNCTION", and "DROP Statements", section "DROP
//! FUNCTION".

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use thalweg_sql_tables::error::Place;

use super::ddl::{self, Name, place_of};
use super::script::{Statement, word};

/// The statement `CREATE [TEMPORARY [SYSTEM]] FUNCTION [IF NOT EXISTS] name AS 'implementation' [LANGUAGE language]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateFunction {
    /// Name of the new function.
    pub name: Name,
    /// Whether a function of that name may already exist (IF NOT EXISTS).
    pub if_not_exists: bool,
    /// Name of the implementation: a class, or a registered function for LANGUAGE RUST.
    pub implementation: String,
    /// Place of the implementation in the text.
    pub at: Place,
    /// Language of the implementation, in upper case; JAVA if the statement has none.
    pub language: String,
}

/// Parses the rest of CREATE FUNCTION after these words. What follows the language of a class, such as USING JAR, is not
/// read, since no class can be used.
pub(super) fn create_function(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = ddl::name(parser)?;
    parser.expect_keyword(Keyword::AS)?;
    let at = place_of(&parser.peek_token_ref().span);
    let implementation = parser.parse_literal_string()?;
    let mut language = "JAVA".to_owned();
    if parser.parse_keyword(Keyword::LANGUAGE) {
        let token = parser.next_token();
        language = match word(&token.token) {
            Some(language) => language,
            None => return parser.expected("JAVA, SCALA, PYTHON or RUST behind LANGUAGE", token),
        };
    }
    while language != "RUST" && !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        parser.next_token();
    }
    Ok(Statement::CreateFunction(CreateFunction { name, if_not_exists, implementation, at, language }))
}

/// Parses the rest of DROP FUNCTION after these words.
pub(super) fn drop_function(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Statement::DropFunction { name: ddl::name(parser)?, if_exists })
}
