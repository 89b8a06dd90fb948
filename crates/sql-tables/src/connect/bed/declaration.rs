//! Reads `CREATE TABLE` as far as the tests of connectors write it: columns with types, NOT NULL, metadata, partitions
//! and options. Computed columns, keys and watermarks need the planner, so tables with these are tested where the
//! planner is.

use std::collections::BTreeMap;

use thalweg_sql_functions::types::{LENGTH_MAX, SqlType};

use crate::error::Place;
use crate::table::{OptionValue, Table, TableColumn, TableColumnKind};

/// Returns the table that a text declares by `CREATE TABLE`.
pub(super) fn declared(text: &str) -> Table {
    let mut tokens = Tokens { left: tokens(text), next: 0 };
    tokens.expect("CREATE TABLE");
    let (name, name_place) = tokens.name();
    let mut table = Table {
        name,
        columns: Vec::new(),
        rowtime: None,
        primary_key: Vec::new(),
        partitioned_by: Vec::new(),
        options: BTreeMap::new(),
        options_place: name_place,
        is_replaced: false,
    };
    tokens.expect("(");
    loop {
        table.columns.push(column(&mut tokens));
        if !tokens.take(",") {
            break;
        }
    }
    tokens.expect(")");
    if tokens.take("PARTITIONED BY (") {
        loop {
            let (name, _) = tokens.name();
            table.partitioned_by.push(table.column(&name).expect("a column of this name"));
            if !tokens.take(",") {
                break;
            }
        }
        tokens.expect(")");
    }
    let with_place = tokens.place();
    if tokens.take("WITH (") {
        table.options_place = with_place.expect("the place of WITH");
        loop {
            let place = tokens.place().expect("the place of an option");
            let key = tokens.literal();
            tokens.expect("=");
            let value = tokens.literal();
            assert!(table.options.insert(key, OptionValue { value, place }).is_none(), "an option twice");
            if !tokens.take(",") {
                break;
            }
        }
        tokens.expect(")");
    }
    assert!(tokens.place().is_none(), "more than a table: {text}");
    table
}

fn column(tokens: &mut Tokens) -> TableColumn {
    let (name, place) = tokens.name();
    let of = data_type(tokens);
    let is_nullable = !tokens.take("NOT NULL");
    let kind = if tokens.take("METADATA") {
        let key = if tokens.take("FROM") { tokens.literal() } else { name.clone() };
        TableColumnKind::Metadata { key, is_virtual: tokens.take("VIRTUAL") }
    } else {
        TableColumnKind::Physical
    };
    TableColumn { name, of, is_nullable, kind, place }
}

fn data_type(tokens: &mut Tokens) -> SqlType {
    let (word, _) = tokens.name();
    match word.as_str() {
        "ARRAY" => {
            tokens.expect("<");
            let item = data_type(tokens);
            tokens.expect(">");
            return SqlType::Array(Box::new(item));
        }
        "MAP" => {
            tokens.expect("<");
            let key = data_type(tokens);
            tokens.expect(",");
            let value = data_type(tokens);
            tokens.expect(">");
            return SqlType::Map(Box::new(key), Box::new(value));
        }
        "ROW" => {
            tokens.expect("<");
            let mut fields = Vec::new();
            loop {
                let (name, _) = tokens.name();
                fields.push((name, data_type(tokens)));
                if !tokens.take(",") {
                    break;
                }
            }
            tokens.expect(">");
            return SqlType::Row(fields);
        }
        _ => {}
    }
    let mut numbers = Vec::new();
    if tokens.take("(") {
        loop {
            numbers.push(tokens.name().0.parse::<u32>().expect("a number in brackets"));
            if !tokens.take(",") {
                break;
            }
        }
        tokens.expect(")");
    }
    let number = |unless: u32| numbers.first().copied().unwrap_or(unless);
    match word.as_str() {
        "BOOLEAN" => SqlType::Boolean,
        "TINYINT" => SqlType::TinyInt,
        "SMALLINT" => SqlType::SmallInt,
        "INT" => SqlType::Int,
        "BIGINT" => SqlType::BigInt,
        "FLOAT" => SqlType::Float,
        "DOUBLE" => SqlType::Double,
        "DECIMAL" => SqlType::Decimal {
            precision: number(10) as u8,
            scale: numbers.get(1).copied().unwrap_or_default() as u8,
        },
        "CHAR" => SqlType::Char(number(1)),
        "VARCHAR" => SqlType::Varchar(number(LENGTH_MAX)),
        "STRING" => SqlType::STRING,
        "BINARY" => SqlType::Binary(number(1)),
        "VARBINARY" => SqlType::Varbinary(number(LENGTH_MAX)),
        "BYTES" => SqlType::BYTES,
        "DATE" => SqlType::Date,
        "TIME" => SqlType::Time(number(0) as u8),
        "TIMESTAMP" => SqlType::Timestamp(number(6) as u8),
        "TIMESTAMP_LTZ" => SqlType::TimestampLtz(number(6) as u8),
        other => panic!("the type {other} is not one of these tests"),
    }
}

/// A token of the declaration: a word, a number, a quoted name, a literal or a sign, with its place in the
/// text.
#[derive(Debug)]
struct Token {
    text: String,
    is_literal: bool,
    place: Place,
}

struct Tokens {
    left: Vec<Token>,
    next: usize,
}

impl Tokens {
    /// Returns the place in the text of the next token, if there is one.
    fn place(&self) -> Option<Place> {
        self.left.get(self.next).map(|token| token.place)
    }

    /// Skips the given words and signs if they are the next tokens; returns whether they were.
    fn take(&mut self, words: &str) -> bool {
        let words: Vec<&str> = words.split(' ').collect();
        let found = self.left.get(self.next..self.next + words.len()).unwrap_or_default();
        let comes = !found.is_empty()
            && found.iter().zip(&words).all(|(token, word)| !token.is_literal && token.text == *word);
        self.next += if comes { words.len() } else { 0 };
        comes
    }

    fn expect(&mut self, words: &str) {
        assert!(self.take(words), "{words} does not stand at {:?}", self.left.get(self.next));
    }

    fn token(&mut self) -> &Token {
        self.next += 1;
        self.left.get(self.next - 1).expect("another token")
    }

    fn name(&mut self) -> (String, Place) {
        let token = self.token();
        assert!(!token.is_literal, "{token:?} is no name");
        (token.text.clone(), token.place)
    }

    fn literal(&mut self) -> String {
        let token = self.token();
        assert!(token.is_literal, "{token:?} is no literal");
        token.text.clone()
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let characters: Vec<char> = text.chars().collect();
        let mut at = 0;
        while let Some(&first) = characters.get(at) {
            let from = at;
            at += 1;
            if first.is_whitespace() {
                continue;
            }
            let mut word = String::new();
            if first == '\'' || first == '`' {
                loop {
                    let character = *characters.get(at).expect("the end of a quoted text on its line");
                    let is_twice = characters.get(at + 1) == Some(&first);
                    at += 1;
                    if character == first && !is_twice {
                        break;
                    }
                    at += usize::from(character == first);
                    word.push(character);
                }
            } else {
                let is_of_word = |character: &char| character.is_alphanumeric() || *character == '_';
                word.push(first);
                while is_of_word(&first) && characters.get(at).is_some_and(is_of_word) {
                    word.push(characters[at]);
                    at += 1;
                }
            }
            let place = Place { line, column: from + 1, width: at - from };
            tokens.push(Token { text: word, is_literal: first == '\'', place });
        }
    }
    tokens
}
