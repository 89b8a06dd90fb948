//! Parsing of ALTER TABLE and ALTER VIEW, and the change of a declaration that they ask for.
//!
//! Source: Flink's documentation, "ALTER Statements"; its `SqlAlterTable` and `SchemaConverter` for the order of columns.

use std::collections::BTreeMap;

use sqlparser::ast::{Ident, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::OptionValue;

use super::ddl::{self, ColumnKind, CreateTable, Name, place_of};
use super::dialect::word_at;
use super::script::Statement;
use super::tokens::written;

type Result<T> = std::result::Result<T, ParserError>;

/// A change of a table or view.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Gives the table or view another name.
    Rename(Name),
    /// Sets options of a table.
    Set(BTreeMap<String, OptionValue>),
    /// Removes options of a table.
    Reset(Vec<(String, Place)>),
    /// Adds columns, a watermark or a primary key to a table.
    Add(Box<Elements>),
    /// Replaces columns, the watermark or the primary key of a table.
    Modify(Box<Elements>),
    /// Removes columns of a table.
    Drop(Vec<(String, Place)>),
    /// Gives a column of a table another name.
    RenameColumn([(String, Place); 2]),
    /// Removes the watermark of a table.
    DropWatermark(Place),
    /// Removes the primary key of a table, which has a name if one is given.
    DropKey(Option<String>, Place),
    /// Replaces the query of a view.
    As {
        /// The new query.
        query: Box<Query>,
        /// The query as the text has it.
        text: String,
    },
}

/// Elements of a declaration that ADD and MODIFY name.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The columns, the watermark and the key, as in a declaration.
    declared: CreateTable,
    /// Place among the columns that is given to each of the columns, if one is.
    positions: Vec<Option<Position>>,
}

/// Place of a column among others.
#[derive(Clone, Debug)]
enum Position {
    First,
    After(String, Place),
}

/// Parses ALTER TABLE or ALTER VIEW.
///
/// # Errors
/// [`ParserError`] where the text does not follow the grammar.
pub(super) fn alter(parser: &mut Parser) -> Result<Statement> {
    parser.expect_keyword(Keyword::ALTER)?;
    let token = parser.peek_token_ref().clone();
    let is_view = match parser.parse_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW]) {
        Some(Keyword::VIEW) => true,
        Some(_) => false,
        None => return parser.expected("TABLE or VIEW behind ALTER", token),
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = ddl::name(parser)?;
    let change = if is_view { of_view(parser) } else { of_table(parser, &name) }?;
    Ok(Statement::Alter { name, is_view, if_exists, change })
}

fn of_view(parser: &mut Parser) -> Result<Alteration> {
    if parser.parse_keyword(Keyword::RENAME) {
        parser.expect_keyword(Keyword::TO)?;
        return Ok(Alteration::Rename(ddl::name(parser)?));
    }
    parser.expect_keyword(Keyword::AS)?;
    let from = parser.index();
    let query = parser.parse_query()?;
    Ok(Alteration::As { query, text: written(parser, from) })
}

fn of_table(parser: &mut Parser, table: &Name) -> Result<Alteration> {
    let token = parser.peek_token_ref().clone();
    let word = parser.parse_one_of_keywords(&[
        Keyword::RENAME,
        Keyword::SET,
        Keyword::RESET,
        Keyword::ADD,
        Keyword::MODIFY,
        Keyword::DROP,
    ]);
    match word {
        Some(Keyword::RENAME) if parser.parse_keyword(Keyword::TO) => {
            Ok(Alteration::Rename(ddl::name(parser)?))
        }
        Some(Keyword::RENAME) => {
            let from = named(parser)?;
            parser.expect_keyword(Keyword::TO)?;
            Ok(Alteration::RenameColumn([from, named(parser)?]))
        }
        Some(Keyword::SET) => Ok(Alteration::Set(ddl::options(parser)?)),
        Some(Keyword::RESET) => {
            parser.expect_token(&Token::LParen)?;
            let key = |parser: &mut Parser| {
                let place = place_of(&parser.peek_token_ref().span);
                Ok((parser.parse_literal_string()?, place))
            };
            let keys = parser.parse_comma_separated(key)?;
            parser.expect_token(&Token::RParen)?;
            Ok(Alteration::Reset(keys))
        }
        Some(Keyword::ADD | Keyword::MODIFY) if word_at(parser, 0, "PARTITION") => {
            Err(ddl::at(&parser.peek_token_ref().span, PARTITIONS.to_owned()))
        }
        Some(Keyword::ADD) => Ok(Alteration::Add(Box::new(elements(parser, table)?))),
        Some(Keyword::MODIFY) => Ok(Alteration::Modify(Box::new(elements(parser, table)?))),
        Some(Keyword::DROP) => dropped(parser),
        _ => parser.expected("RENAME, SET, RESET, ADD, MODIFY or DROP behind ALTER TABLE", token),
    }
}

/// Message for partitions, which are directories here.
const PARTITIONS: &str = "partitions come with their rows: there is nothing to add or drop";

fn dropped(parser: &mut Parser) -> Result<Alteration> {
    let span = parser.peek_token_ref().span;
    let place = place_of(&span);
    if word_at(parser, 0, "PARTITION") {
        return Err(ddl::at(&span, PARTITIONS.to_owned()));
    }
    if word_at(parser, 0, "WATERMARK") {
        parser.advance_token();
        return Ok(Alteration::DropWatermark(place));
    }
    if parser.parse_keywords(&[Keyword::PRIMARY, Keyword::KEY]) {
        return Ok(Alteration::DropKey(None, place));
    }
    if parser.parse_keyword(Keyword::CONSTRAINT) {
        return Ok(Alteration::DropKey(Some(parser.parse_identifier()?.value), place));
    }
    if !parser.consume_token(&Token::LParen) {
        return Ok(Alteration::Drop(vec![named(parser)?]));
    }
    let names = parser.parse_comma_separated(named)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Alteration::Drop(names))
}

fn named(parser: &mut Parser) -> Result<(String, Place)> {
    let Ident { value, span, .. } = parser.parse_identifier()?;
    Ok((value, place_of(&span)))
}

/// Parses one element of a declaration, or several in brackets, each column with its position.
fn elements(parser: &mut Parser, table: &Name) -> Result<Elements> {
    let mut elements = Elements { declared: CreateTable::empty(table.clone()), positions: Vec::new() };
    let is_several = parser.consume_token(&Token::LParen);
    loop {
        ddl::element(parser, &mut elements.declared)?;
        elements.positions.resize_with(elements.declared.columns.len(), || None);
        let position = if word_at(parser, 0, "FIRST") {
            parser.advance_token();
            Some(Position::First)
        } else if word_at(parser, 0, "AFTER") {
            parser.advance_token();
            let (name, place) = named(parser)?;
            Some(Position::After(name, place))
        } else {
            None
        };
        if let (Some(position), Some(last)) = (position, elements.positions.last_mut()) {
            *last = Some(position);
        }
        if !is_several || !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    if is_several {
        parser.expect_token(&Token::RParen)?;
    }
    match elements.declared.order.first() {
        Some((name, place)) => {
            let message =
                format!("the column `{name}` has no type at Line: {}, Column: {}", place.line, place.column);
            Err(ParserError::ParserError(message))
        }
        None => Ok(elements),
    }
}

impl Alteration {
    /// Changes the declaration of a table. `at` is the place of the table's name, for faults without a place.
    ///
    /// # Errors
    /// [`Code::UnknownColumn`] for a column that is not there, [`Code::Invalid`] for what is there already, or cannot be
    /// changed.
    pub fn apply(&self, table: &mut CreateTable, at: Place) -> std::result::Result<(), SqlError> {
        match self {
            Alteration::Rename(name) => table.name = name.clone(),
            Alteration::Set(options) => table.options.extend(options.clone()),
            Alteration::Reset(keys) => {
                for (key, place) in keys {
                    if key == "connector" {
                        let message = "the connector of a table cannot be reset";
                        return Err(SqlError::new(Code::Invalid, message).at(*place));
                    }
                    table.options.remove(key);
                }
            }
            Alteration::Add(elements) => elements.add_to(table)?,
            Alteration::Modify(elements) => elements.replace_in(table, at)?,
            Alteration::Drop(names) => {
                for (name, place) in names {
                    let found = column_of(table, name, *place)?;
                    check_free(table, name, *place)?;
                    table.columns.remove(found);
                }
            }
            Alteration::RenameColumn([(from, place), (to, to_place)]) => {
                let found = column_of(table, from, *place)?;
                if table.columns.iter().any(|column| column.name == *to) {
                    return Err(there_already(to, *to_place));
                }
                check_partition(table, from, *place)?;
                table.columns[found].name.clone_from(to);
                table
                    .primary_key
                    .iter_mut()
                    .filter(|(key, _)| key == from)
                    .for_each(|(key, _)| key.clone_from(to));
            }
            Alteration::DropWatermark(place) => {
                if table.watermark.take().is_none() {
                    return Err(SqlError::new(Code::Invalid, "the table has no watermark").at(*place));
                }
            }
            Alteration::DropKey(name, place) => {
                let has_name = name.as_ref().is_none_or(|name| table.key_name.as_ref() == Some(name));
                if table.primary_key.is_empty() || !has_name {
                    let what = name.as_ref().map_or_else(String::new, |name| format!(" called `{name}`"));
                    let message = format!("the table has no primary key{what}");
                    return Err(SqlError::new(Code::Invalid, message).at(*place));
                }
                table.primary_key.clear();
                table.key_name = None;
            }
            Alteration::As { .. } => {
                return Err(SqlError::new(Code::Invalid, "a table has no query: write ALTER VIEW").at(at));
            }
        }
        Ok(())
    }
}

impl Elements {
    fn add_to(&self, table: &mut CreateTable) -> std::result::Result<(), SqlError> {
        for (column, position) in self.declared.columns.iter().zip(&self.positions) {
            if table.columns.iter().any(|known| known.name == column.name) {
                return Err(there_already(&column.name, column.place));
            }
            let place = place_for(table, position.as_ref())?.unwrap_or(table.columns.len());
            table.columns.insert(place, column.clone());
        }
        if let Some(watermark) = &self.declared.watermark {
            if table.watermark.is_some() {
                let error =
                    SqlError::new(Code::Invalid, "the table has a watermark already").at(watermark.place);
                return Err(error.help("write MODIFY WATERMARK"));
            }
            table.watermark = Some(watermark.clone());
        }
        if let Some((_, place)) = self.declared.primary_key.first() {
            if !table.primary_key.is_empty() {
                let error = SqlError::new(Code::Invalid, "the table has a primary key already").at(*place);
                return Err(error.help("write MODIFY PRIMARY KEY"));
            }
            self.give_key(table);
        }
        Ok(())
    }

    fn replace_in(&self, table: &mut CreateTable, at: Place) -> std::result::Result<(), SqlError> {
        for (column, position) in self.declared.columns.iter().zip(&self.positions) {
            let found = column_of(table, &column.name, column.place)?;
            let before = table.columns.remove(found);
            let place = match place_for(table, position.as_ref()) {
                Ok(place) => place.unwrap_or(found),
                Err(error) => {
                    table.columns.insert(found, before);
                    return Err(error);
                }
            };
            table.columns.insert(place, column.clone());
        }
        if let Some(watermark) = &self.declared.watermark {
            if table.watermark.is_none() {
                let error = SqlError::new(Code::Invalid, "the table has no watermark").at(watermark.place);
                return Err(error.help("write ADD WATERMARK"));
            }
            table.watermark = Some(watermark.clone());
        }
        if !self.declared.primary_key.is_empty() {
            if table.primary_key.is_empty() {
                let error = SqlError::new(Code::Invalid, "the table has no primary key").at(at);
                return Err(error.help("write ADD PRIMARY KEY"));
            }
            self.give_key(table);
        }
        Ok(())
    }

    /// Gives a table the primary key, whose columns are never NULL.
    fn give_key(&self, table: &mut CreateTable) {
        table.primary_key.clone_from(&self.declared.primary_key);
        table.key_name.clone_from(&self.declared.key_name);
        let keys: Vec<&str> = table.primary_key.iter().map(|(name, _)| name.as_str()).collect();
        for column in table.columns.iter_mut().filter(|column| keys.contains(&column.name.as_str())) {
            if let ColumnKind::Physical { is_nullable, .. } = &mut column.kind {
                *is_nullable = false;
            }
        }
    }
}

/// Returns the index for a column at a position; `None` if none is given.
fn place_for(
    table: &CreateTable,
    position: Option<&Position>,
) -> std::result::Result<Option<usize>, SqlError> {
    Ok(match position {
        None => None,
        Some(Position::First) => Some(0),
        Some(Position::After(name, place)) => Some(column_of(table, name, *place)? + 1),
    })
}

fn column_of(table: &CreateTable, name: &str, place: Place) -> std::result::Result<usize, SqlError> {
    table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let message = format!("`{}` has no column `{name}`", table.name.name);
        SqlError::new(Code::UnknownColumn, message).at(place)
    })
}

fn there_already(name: &str, place: Place) -> SqlError {
    SqlError::new(Code::Invalid, format!("there is a column `{name}` already")).at(place)
}

/// Refuses to drop a column of the primary key or of the partitions. The session refuses those that others read.
fn check_free(table: &CreateTable, name: &str, place: Place) -> std::result::Result<(), SqlError> {
    check_partition(table, name, place)?;
    if table.primary_key.iter().any(|(key, _)| key == name) {
        let error = SqlError::new(Code::Invalid, format!("the column `{name}` is used in the primary key"));
        return Err(error.at(place).help("DROP PRIMARY KEY first"));
    }
    Ok(())
}

fn check_partition(table: &CreateTable, name: &str, place: Place) -> std::result::Result<(), SqlError> {
    if table.partitioned_by.iter().any(|(key, _)| key == name) {
        let message = format!("the column `{name}` names partitions");
        return Err(SqlError::new(Code::Invalid, message).at(place));
    }
    Ok(())
}
