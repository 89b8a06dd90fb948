//! Hints: comments that begin with `/*+`, behind SELECT or behind a table.
//!
//! A hint `OPTIONS('key' = 'value', ..)` behind a table changes options of that table for one query. sqlparser drops
//! comments, so the hint travels as a last part of the table's name, which begins with a control character. It is taken off
//! again where the name of a table is read.
//!
//! Hints behind SELECT choose among plans, which here are the same for all of them. They are read, and have no effect.
//!
//! Source: Flink's documentation, "SQL Hints".

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::secrets::{MASK, is_secret};
use thalweg_sql_tables::table::{OptionValue, Table};

use super::ddl::place_of;
use super::dialect::FlinkDialect;
use super::script::{is_blank, word};

/// Begin of a part of a name that is a hint.
const MARK: &str = "\u{1}options";

/// Character between the keys and values of a hint in a name.
const BETWEEN: char = '\u{1}';

/// Greatest number of options of a hint.
pub const HINT_OPTIONS_MAX: usize = 200;

/// Hints behind SELECT, none of which changes the rows of a query.
const OF_SELECT: [&str; 7] =
    ["STATE_TTL", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN", "LOOKUP"];

/// Checks the hints of a comment behind SELECT.
///
/// # Errors
/// [`Code::Unsupported`] for unknown hints, [`Code::Syntax`] for text that is no list of hints.
pub(super) fn check_of_select(text: &str, place: Place) -> Result<(), SqlError> {
    for (name, _) in hints(text, place)? {
        if OF_SELECT.contains(&name.as_str()) {
            continue;
        }
        let error =
            SqlError::new(Code::Unsupported, format!("there is no hint {name} behind SELECT")).at(place);
        return Err(match name.as_str() {
            "OPTIONS" => error.help("write OPTIONS(..) behind the name of a table"),
            _ => error.help(format!("there are {}", OF_SELECT.join(", "))),
        });
    }
    Ok(())
}

/// Returns the part of a table's name for which a comment behind the name stands.
///
/// # Errors
/// As [`check_of_select`]; the only hint behind a table is OPTIONS.
pub(super) fn part_of_name(text: &str, place: Place) -> Result<String, SqlError> {
    let mut part = MARK.to_owned();
    let mut count = 0;
    for (name, arguments) in hints(text, place)? {
        if name != "OPTIONS" {
            let error = SqlError::new(Code::Unsupported, format!("there is no hint {name} behind a table"));
            let error = error.at(place);
            return Err(match OF_SELECT.contains(&name.as_str()) {
                true => error.help(format!("write {name}(..) behind SELECT")),
                false => error.help("there is OPTIONS('key' = 'value', ..)"),
            });
        }
        for argument in arguments.split(|token| *token == Token::Comma) {
            let [Token::SingleQuotedString(key), Token::Eq, Token::SingleQuotedString(value)] = argument
            else {
                let error = SqlError::new(Code::Syntax, "a hint OPTIONS has pairs of a key and a value");
                return Err(error.at(place).help("write OPTIONS('key' = 'value', ..)"));
            };
            if key.contains(BETWEEN) || value.contains(BETWEEN) {
                let error = SqlError::new(Code::Syntax, "an option of a hint has no control characters");
                return Err(error.at(place));
            }
            count += 1;
            part.push(BETWEEN);
            part += key;
            part.push(BETWEEN);
            part += value;
        }
    }
    if count > HINT_OPTIONS_MAX {
        let message = format!("a hint has {count} options, and at most {HINT_OPTIONS_MAX} are read");
        return Err(SqlError::new(Code::Syntax, message).at(place));
    }
    Ok(part)
}

/// Returns the hints of a comment: their names in upper case, and the tokens in their brackets.
fn hints(text: &str, place: Place) -> Result<Vec<(String, Vec<Token>)>, SqlError> {
    let wrong = || {
        let error = SqlError::new(Code::Syntax, "a comment that begins with + has hints");
        error.at(place).help("write /*+ OPTIONS('key' = 'value') */ behind a table")
    };
    let tokens = Tokenizer::new(&FlinkDialect, text).tokenize().map_err(|_| wrong())?;
    let mut tokens = tokens.into_iter().filter(|token| !is_blank(token)).peekable();
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        let name = word(&token).ok_or_else(wrong)?;
        let mut arguments = Vec::new();
        if tokens.next_if_eq(&Token::LParen).is_some() {
            loop {
                match tokens.next().ok_or_else(wrong)? {
                    Token::RParen => break,
                    argument => arguments.push(argument),
                }
            }
        }
        found.push((name, arguments));
        // A comma between hints may be left out.
        let _ = tokens.next_if_eq(&Token::Comma);
    }
    if found.is_empty() { Err(wrong()) } else { Ok(found) }
}

/// Returns whether the tokens so far end with the name of a table behind FROM, JOIN, INTO or TABLE, or behind a comma.
pub(super) fn ends_with_table(tokens: &[TokenWithSpan]) -> bool {
    let mut rest = tokens;
    loop {
        let [before @ .., TokenWithSpan { token: Token::Word(_), .. }] = rest else { return false };
        match before {
            [before @ .., TokenWithSpan { token: Token::Period, .. }] => rest = before,
            [.., TokenWithSpan { token: Token::Comma, .. }] => return true,
            [.., last] => {
                return matches!(
                    word(&last.token).as_deref(),
                    Some("FROM" | "JOIN" | "INTO" | "TABLE" | "OVERWRITE")
                );
            }
            [] => return false,
        }
    }
}

/// Returns whether a part of a name is a hint.
pub(crate) fn is_mark(part: &str) -> bool {
    part.starts_with(MARK)
}

/// Splits the parts of a table's name into the name itself and the options of a hint behind it.
pub(crate) fn without_hint(parts: &[Ident]) -> (&[Ident], BTreeMap<String, OptionValue>) {
    match parts {
        [name @ .., hint] if is_mark(&hint.value) => (name, options_of(&hint.value, place_of(&hint.span))),
        name => (name, BTreeMap::new()),
    }
}

/// Returns the options of a hint that is a part of a name, at the place of the name.
pub(crate) fn options_of(part: &str, place: Place) -> BTreeMap<String, OptionValue> {
    let mut parts = part.strip_prefix(MARK).unwrap_or_default().split(BETWEEN).skip(1);
    let mut options = BTreeMap::new();
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        options.insert(key.to_owned(), OptionValue { value: value.to_owned(), place });
    }
    options
}

/// Returns a hint that is a part of a name as text, with the values of secret options masked.
pub(super) fn text_of_hint(part: &str) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let option = |(key, option): (String, OptionValue)| {
        let value = if is_secret(&key) { MASK } else { &option.value };
        format!("{} = {}", literal(&key), literal(value))
    };
    let options: Vec<String> =
        options_of(part, Place { line: 1, column: 1, width: 1 }).into_iter().map(option).collect();
    format!(" /*+ OPTIONS({}) */", options.join(", "))
}

/// Returns a table that is written to with the options of a hint in place of its own ones.
pub(crate) fn with_options(table: &Arc<Table>, options: &BTreeMap<String, OptionValue>) -> Arc<Table> {
    if options.is_empty() {
        return Arc::clone(table);
    }
    let mut changed = Table::clone(table);
    changed.options.extend(options.iter().map(|(key, option)| (key.clone(), option.clone())));
    Arc::new(changed)
}

/// Returns a table that is read with the options of a hint in place of its own ones. Its name gets a number that differs
/// for other options, because the readers of one name share their rows.
pub(crate) fn read_with_options(table: &Arc<Table>, options: &BTreeMap<String, OptionValue>) -> Arc<Table> {
    let is_same = |(key, option): (&String, &OptionValue)| {
        table.options.get(key).is_some_and(|known| known.value == option.value)
    };
    if options.iter().all(is_same) {
        return Arc::clone(table);
    }
    let changed = with_options(table, options);
    let mut hasher = DefaultHasher::new();
    changed.options.iter().for_each(|(key, option)| (key, &option.value).hash(&mut hasher));
    let name = format!("{}#{:016x}", table.name, hasher.finish());
    Arc::new(Table { name, ..Table::clone(&changed) })
}

#[cfg(test)]
mod tests;
