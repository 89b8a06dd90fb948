//! Parser of the statements that show the catalog and the databases in it, and that change or choose databases: SHOW,
//! USE, CREATE DATABASE, DROP DATABASE.
//!
//! Source: Flink's documentation, "SHOW Statements", "USE Statements", "CREATE Statements", "DROP Statements".

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::ddl::{self, Name};
use super::script::{Statement, word};

/// A statement that lists names: `SHOW TABLES`, for example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// Kind of the listed things.
    pub listed: Listed,
    /// The database, the catalog or the table behind FROM or IN.
    pub of: Option<Name>,
    /// Pattern that the listed names match.
    pub filter: Option<Filter>,
}

/// Kind of the things that a SHOW lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed {
    /// The only catalog.
    Catalogs,
    /// Databases.
    Databases,
    /// Tables and views of a database.
    Tables,
    /// Views of a database.
    Views,
    /// Functions that every session has, and those that the program has registered.
    Functions,
    /// Functions that the program has registered.
    UserFunctions,
    /// Columns of a table or view.
    Columns,
}

/// Pattern for names: `[NOT] {LIKE | ILIKE} 'pattern'`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Pattern in which `%` stands for any text, `_` for any character, and `\` is put before these as characters.
    pub pattern: String,
    /// Whether the names that match are left out.
    pub is_negated: bool,
    /// Whether small and capital letters are the same (ILIKE).
    pub ignores_case: bool,
}

/// Longest pattern of a filter, in bytes.
const PATTERN_BYTES_MAX: usize = 1_000;

impl Filter {
    /// Returns whether a name is listed.
    pub fn keeps(&self, name: &str) -> bool {
        let matches = match self.ignores_case {
            true => is_like(&name.to_lowercase(), &self.pattern.to_lowercase()),
            false => is_like(name, &self.pattern),
        };
        matches != self.is_negated
    }
}

/// Returns whether a text matches a pattern of LIKE. The time is bounded by the product of their lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        parts.push(match character {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::Exact(characters.next().unwrap_or('\\')),
            other => Part::Exact(other),
        });
    }
    // Entry n says whether the first n parts match the text so far.
    let mut matched = vec![false; parts.len() + 1];
    matched[0] = true;
    let open = |matched: &mut [bool]| {
        for (place, part) in parts.iter().enumerate() {
            matched[place + 1] |= matched[place] && matches!(part, Part::Any);
        }
    };
    open(&mut matched);
    for character in text.chars() {
        let mut next = vec![false; parts.len() + 1];
        for (place, part) in parts.iter().enumerate() {
            match part {
                Part::Any => next[place + 1] |= matched[place + 1] || matched[place],
                Part::One => next[place + 1] |= matched[place],
                Part::Exact(wanted) => next[place + 1] |= matched[place] && *wanted == character,
            }
        }
        open(&mut next);
        matched = next;
    }
    matched[parts.len()]
}

/// Part of a pattern of LIKE.
enum Part {
    /// Any text.
    Any,
    /// Any character.
    One,
    /// This character.
    Exact(char),
}

/// Parses a statement that begins with SHOW.
pub(super) fn show(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::SHOW)?;
    let token = parser.next_token();
    let listed = match word(&token.token).as_deref() {
        Some("CATALOGS") => Listed::Catalogs,
        Some("DATABASES") => Listed::Databases,
        Some("TABLES") => Listed::Tables,
        Some("VIEWS") => Listed::Views,
        Some("FUNCTIONS") => Listed::Functions,
        Some("USER") if parser.parse_keyword(Keyword::FUNCTIONS) => Listed::UserFunctions,
        Some("COLUMNS") => Listed::Columns,
        Some("CREATE") => {
            let is_view = parser.expect_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW])? == Keyword::VIEW;
            return Ok(Statement::ShowCreate { name: ddl::name(parser)?, is_view });
        }
        Some("CURRENT") => {
            let is_catalog =
                parser.expect_one_of_keywords(&[Keyword::CATALOG, Keyword::DATABASE])? == Keyword::CATALOG;
            return Ok(Statement::ShowCurrent { is_catalog });
        }
        _ => {
            let expected = "TABLES, VIEWS, COLUMNS, [USER] FUNCTIONS, DATABASES, CATALOGS, CREATE TABLE, CREATE VIEW, \
                            CURRENT CATALOG or CURRENT DATABASE behind SHOW";
            return parser.expected(expected, token);
        }
    };
    let may_have_place = listed != Listed::Catalogs;
    let of = match may_have_place && parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]).is_some() {
        true => Some(ddl::name(parser)?),
        false => None,
    };
    if listed == Listed::Columns && of.is_none() {
        let token = parser.peek_token_ref().clone();
        return parser.expected("FROM and a table behind SHOW COLUMNS", token);
    }
    Ok(Statement::Show(Listing { listed, of, filter: filter(parser)? }))
}

fn filter(parser: &mut Parser) -> Result<Option<Filter>, ParserError> {
    let is_negated = parser.parse_keyword(Keyword::NOT);
    let ignores_case = match parser.parse_one_of_keywords(&[Keyword::LIKE, Keyword::ILIKE]) {
        Some(keyword) => keyword == Keyword::ILIKE,
        None if is_negated => {
            let token = parser.peek_token_ref().clone();
            return parser.expected("LIKE or ILIKE behind NOT", token);
        }
        None => return Ok(None),
    };
    let span = parser.peek_token_ref().span;
    let pattern = parser.parse_literal_string()?;
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(ddl::at(&span, format!("a pattern has at most {PATTERN_BYTES_MAX} bytes")));
    }
    Ok(Some(Filter { pattern, is_negated, ignores_case }))
}

/// Parses a statement that begins with USE.
pub(super) fn use_statement(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::USE)?;
    let is_catalog =
        parser.peek_keyword(Keyword::CATALOG) && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
    if is_catalog {
        parser.next_token();
    }
    Ok(Statement::Use { name: ddl::name(parser)?, is_catalog })
}

/// Parses the rest of CREATE DATABASE after these words. A comment and options of a database have no effect.
pub(super) fn create_database(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = ddl::name(parser)?;
    if parser.parse_keyword(Keyword::COMMENT) {
        parser.parse_literal_string()?;
    }
    if parser.parse_keyword(Keyword::WITH) {
        ddl::options(parser)?;
    }
    Ok(Statement::CreateDatabase { name, if_not_exists })
}

/// Parses the rest of DROP DATABASE after these words.
pub(super) fn drop_database(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = ddl::name(parser)?;
    let is_cascade = parser.parse_one_of_keywords(&[Keyword::RESTRICT, Keyword::CASCADE]);
    Ok(Statement::DropDatabase { name, if_exists, is_cascade: is_cascade == Some(Keyword::CASCADE) })
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_of_names() {
        let check = |text: &str, pattern: &str, expected| {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        };
        check("", "", true);
        check("", "%", true);
        check("a", "", false);
        check("orders", "o%", true);
        check("orders", "%d%s", true);
        check("orders", "o_ders", true);
        check("orders", "o_der", false);
        check("a_b", "a\\_b", true);
        check("axb", "a\\_b", false);
        check("Orders", "o%", false);
        check("ä", "_", true);
    }
}
