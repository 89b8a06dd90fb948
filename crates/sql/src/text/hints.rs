//! Hints: comments that begin with `/*+`, behind SELECT or behind a table.
//!
//! A hint `OPTIONS('key' = 'value', ..)` behind a table changes options of that table for one query. sqlparser drops
//! comments, so the hint travels as a last part of the table's name, which begins with a control character. It is taken off
//! again where the name of a table is read.
//!
//! The hint STATE_TTL behind SELECT gives times to live to the inputs of joins and groups. All other hints there choose a plan
//! in Flink. Here is one plan, so these hints are checked and have no effect.
//!
//! Source: Flink's documentation, "SQL Hints".

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::secrets::{MASK, is_secret};
use thalweg_sql_tables::table::{OptionValue, Table};

use super::ddl::place_of;
use super::dialect::FlinkDialect;
use super::script::{is_blank, word};
use crate::session::duration;

/// Begin of a part of a name that is a hint.
const MARK: &str = "\u{1}options";

/// Character between the keys and values of a hint in a name.
const BETWEEN: char = '\u{1}';

/// Greatest number of options of a hint.
pub const HINT_OPTIONS_MAX: usize = 200;

/// Hints behind SELECT.
const OF_SELECT: [&str; 7] =
    ["STATE_TTL", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN", "LOOKUP"];

/// A hint behind SELECT.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SelectHint {
    /// Name of the hint in upper case.
    pub(crate) name: String,
    /// Names of the tables that the hint is about.
    pub(crate) tables: Vec<String>,
    /// Times to live of these tables, which STATE_TTL gives. Zero keeps rows for ever.
    pub(crate) ttl: Vec<Duration>,
}

/// Returns the hints of a comment behind SELECT.
///
/// # Errors
/// [`Code::Unsupported`] for unknown hints, [`Code::Syntax`] for text that is no list of hints, and [`Code::Invalid`] for a
/// hint without tables or with wrong options.
pub(crate) fn of_select(text: &str, place: Place) -> Result<Vec<SelectHint>, SqlError> {
    let read = |(name, arguments): (String, Vec<Token>)| {
        if OF_SELECT.contains(&name.as_str()) {
            return select_hint(&name, &arguments).map_err(|error| error.at(place));
        }
        let error =
            SqlError::new(Code::Unsupported, format!("there is no hint {name} behind SELECT")).at(place);
        Err(match name.as_str() {
            "OPTIONS" => error.help("write OPTIONS(..) behind the name of a table"),
            _ => error.help(format!("there are {}", OF_SELECT.join(", "))),
        })
    };
    hints(text, place)?.into_iter().map(read).collect()
}

/// Reads the arguments of a hint behind SELECT.
fn select_hint(name: &str, arguments: &[Token]) -> Result<SelectHint, SqlError> {
    let wrong = |reason: String| SqlError::new(Code::Invalid, format!("the hint {name} {reason}"));
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    for argument in arguments.split(|token| *token == Token::Comma).filter(|argument| !argument.is_empty()) {
        let (key, value) = match argument.iter().position(|token| *token == Token::Eq) {
            Some(place) => (&argument[..place], Some(&argument[place + 1..])),
            None => (argument, None),
        };
        pairs.push((text_of(key), value.map(text_of)));
    }
    let mut hint = SelectHint { name: name.to_owned(), tables: Vec::new(), ttl: Vec::new() };
    match name {
        "LOOKUP" => hint.tables.push(lookup_table(&pairs).map_err(wrong)?),
        "STATE_TTL" => {
            for (table, value) in pairs {
                let value = value.ok_or_else(|| wrong(format!("gives `{table}` no time")))?;
                let ttl = duration(&value).ok_or_else(|| wrong(format!("has the time '{value}'")));
                hint.ttl
                    .push(ttl.map_err(|error| error.help("write a span such as '10 s', '5 min' or '1 d'"))?);
                hint.tables.push(table);
            }
        }
        _ => {
            if let Some((key, _)) = pairs.iter().find(|(_, value)| value.is_some()) {
                return Err(wrong(format!("takes names of tables, and no option '{key}'")));
            }
            hint.tables = pairs.into_iter().map(|(table, _)| table).collect();
        }
    }
    if hint.tables.is_empty() {
        let error = wrong("names no table".to_owned());
        return Err(match name {
            "STATE_TTL" => error.help("write STATE_TTL('t' = '1 d')"),
            _ => error.help(format!("write {name}(t)")),
        });
    }
    Ok(hint)
}

/// Returns the text of tokens that are a name or a literal.
fn text_of(tokens: &[Token]) -> String {
    let text = |token: &Token| match token {
        Token::SingleQuotedString(text) => text.clone(),
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    };
    tokens.iter().map(text).collect()
}

/// Options of LOOKUP that say when and how a look-up is tried again. All of them are given, or none.
const RETRY: [&str; 4] = ["retry-predicate", "retry-strategy", "fixed-delay", "max-attempts"];

/// Checks the options of a hint LOOKUP, and returns its table. Options that are not known are accepted, as in Flink.
fn lookup_table(pairs: &[(String, Option<String>)]) -> Result<String, String> {
    let get =
        |wanted: &str| pairs.iter().find(|(key, _)| key == wanted).and_then(|(_, value)| value.as_deref());
    for (key, value) in pairs {
        let value = value.as_deref().ok_or_else(|| format!("gives the option '{key}' no value"))?;
        let is_one = |known: &[&str]| known.iter().any(|known| value.eq_ignore_ascii_case(known));
        let is_known = match &**key {
            "async" | "shuffle" => is_one(&["true", "false"]),
            "output-mode" => is_one(&["ordered", "allow_unordered"]),
            "retry-predicate" => value == "lookup_miss",
            "retry-strategy" => is_one(&["fixed_delay"]),
            "capacity" => value.parse::<i32>().is_ok(),
            "max-attempts" => value.parse::<i32>().is_ok_and(|number| number > 0),
            "timeout" | "fixed-delay" => duration(value).is_some(),
            _ => true,
        };
        if !is_known {
            return Err(format!("has the value '{value}' for '{key}', which is none"));
        }
    }
    let given = RETRY.iter().filter(|key| get(key).is_some()).count();
    if given != 0 && given != RETRY.len() {
        return Err(format!("has some of the options {}, which come together", RETRY.join(", ")));
    }
    get("table").map(str::to_owned).ok_or_else(|| "lacks the option 'table'".to_owned())
}

/// Returns the part of a table's name for which a comment behind the name stands.
///
/// # Errors
/// As [`of_select`]; the only hint behind a table is OPTIONS.
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
