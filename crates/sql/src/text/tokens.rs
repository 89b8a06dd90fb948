//! Tokens of a text of SQL: words, numbers, string literals and signs. Text that Flink's lexer refuses is
//! refused here. Tokens also become text again, for statements that show declarations.
//!
//! String literals on consecutive lines are one literal: `'a'` and below it `'b'` are `'ab'`. Texts in other notations
//! (`E'..'`, `U&'..' UESCAPE '!'`, `_UTF8'..'`) become plain ones.
//!
//! Sources: Flink's documentation, "SQL" (comments, identifiers); Calcite's `Parser.jj` for continued literals and
//! for signs.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use thalweg_sql_functions::types::quoted;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::ddl::place_of;
use super::hints;
use super::lexer;
use super::literals::{self, ESCAPE};
use super::reserved::is_reserved;
use super::rewrite;
use super::script::{is_blank, word};

/// Returns the tokens of an SQL text without the blanks between them, of which there may be millions. Hints, which are
/// comments, stay behind SELECT, and are parts of names behind tables ([`hints`]).
///
/// # Errors
/// [`Code::Syntax`] for invalid tokens, [`Code::Unsupported`] for unsupported hints and forms of text.
pub(super) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let text = rewrite::with_known_comments(text);
    let tokens = lexer::lexed(&text).map_err(|error| {
        let (line, column) = (error.location.line as usize, error.location.column as usize);
        let place = Place { line: line.max(1), column: column.max(1), width: 1 };
        SqlError::new(Code::Syntax, error.message.to_lowercase()).at(place)
    })?;
    let mut split: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut is_behind_blank = true;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_here_blank = is_blank(&token.token);
        match &token.token {
            // The token `>>` is split into two closing brackets of nested types, because Flink's SQL has no
            // shift operator.
            Token::ShiftRight => {
                for _ in 0..2 {
                    split.push(TokenWithSpan { token: Token::Gt, span: token.span });
                }
            }
            Token::SingleQuotedString(text) => match split.last_mut() {
                Some(TokenWithSpan {
                    token: Token::SingleQuotedString(before) | Token::UnicodeStringLiteral(before),
                    span,
                }) => {
                    if token.span.start.line == span.end.line {
                        let error = SqlError::new(Code::Syntax, format!("the text '{text}' follows another"));
                        return Err(error.at(place_of(&token.span)).help("a comma is missing, or ||"));
                    }
                    before.push_str(text);
                    span.end = token.span.end;
                }
                Some(TokenWithSpan { token: Token::Word(before), span })
                    if !is_behind_blank && before.quote_style.is_none() && is_form(&before.value) =>
                {
                    let (form, begin) = (before.value.clone(), *span);
                    let read = match form.starts_with('_') {
                        false => literals::with_escapes(text),
                        true if literals::is_known_set(&form) => Ok(text.clone()),
                        true => Err(format!("{form} is no character set here: write _UTF8, or nothing")),
                    };
                    let read =
                        read.map_err(|reason| SqlError::new(Code::Syntax, reason).at(place_of(&begin)))?;
                    split.pop();
                    let span = begin.union(&token.span);
                    split.push(TokenWithSpan { token: Token::SingleQuotedString(read), span });
                }
                // The ampersand of `U&'..'` has passed the check for operators below.
                Some(TokenWithSpan { token: Token::Ampersand, .. }) => {
                    split.pop();
                    let begin = split.pop().map_or(token.span, |word| word.span);
                    let span = begin.union(&token.span);
                    split.push(TokenWithSpan { token: Token::UnicodeStringLiteral(text.clone()), span });
                }
                _ => split.push(token),
            },
            // `0x10` is refused. Its token has the same kind as that of `x'10'`, and differs in length,
            // because the quotes make the latter longer. A literal in quotes may end on a later line.
            Token::HexStringLiteral(digits)
                if token.span.end.line == token.span.start.line
                    && token.span.end.column - token.span.start.column
                        == digits.chars().count() as u64 + 2 =>
            {
                let error = SqlError::new(Code::Syntax, format!("0x{digits} is no number"));
                return Err(error.at(place_of(&token.span)).help(format!("write x'{digits}' for bytes")));
            }
            Token::DoubleQuotedString(text) => {
                let error = SqlError::new(Code::Syntax, format!("\"{text}\" is neither text nor a name"));
                let help = format!("write '{text}' for text and `{text}` for a name");
                return Err(error.at(place_of(&token.span)).help(help));
            }
            Token::Word(word)
                if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("MATCH_RECOGNIZE") =>
            {
                let error =
                    SqlError::new(Code::Unsupported, "MATCH_RECOGNIZE, patterns of rows, is not supported");
                return Err(error.at(place_of(&token.span)));
            }
            Token::Whitespace(Whitespace::MultiLineComment(comment)) if comment.starts_with('+') => {
                let (hint, place) = (&comment[1..], place_of(&token.span));
                let before = split.last().and_then(|before| word(&before.token));
                if before.as_deref() == Some("SELECT") {
                    hints::of_select(hint, place)?;
                    split.push(token);
                } else if hints::ends_with_table(&split) {
                    let part = hints::part_of_name(hint, place)?;
                    let part = Word { value: part, quote_style: Some('`'), keyword: Keyword::NoKeyword };
                    split.push(TokenWithSpan { token: Token::Period, span: token.span });
                    split.push(TokenWithSpan { token: Token::Word(part), span: token.span });
                } else {
                    let message = "a hint stands behind SELECT, or behind the name of a table";
                    return Err(SqlError::new(Code::Unsupported, message)
                        .at(place)
                        .help("write t /*+ OPTIONS('key' = 'value') */"));
                }
            }
            Token::Whitespace(_) => {}
            Token::Ampersand
                if !is_behind_blank
                    && matches!(
                        tokens.peek().map(|next| &next.token),
                        Some(Token::SingleQuotedString(_))
                    )
                    && split.last().is_some_and(|before| word(&before.token).as_deref() == Some("U")) =>
            {
                split.push(token);
            }
            sign @ (Token::DoubleEq
            | Token::Spaceship
            | Token::ShiftLeft
            | Token::Sharp
            | Token::Caret
            | Token::Ampersand
            | Token::Pipe
            | Token::Tilde) => {
                let error = SqlError::new(Code::Syntax, format!("there is no operator {sign}"));
                let error = error.at(place_of(&token.span));
                return Err(match sign {
                    Token::DoubleEq => error.help("write ="),
                    Token::Spaceship => error.help("write IS NOT DISTINCT FROM"),
                    _ => error,
                });
            }
            _ => split.push(token),
        }
        is_behind_blank = is_here_blank;
    }
    with_code_points(split).map(rewrite::with_known_queries)
}

/// Replaces the texts `U&'..'`, with the UESCAPE behind them, by the texts that they stand for.
fn with_code_points(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, SqlError> {
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(TokenWithSpan { token, mut span }) = tokens.next() {
        let Token::UnicodeStringLiteral(written) = token else {
            made.push(TokenWithSpan { token, span });
            continue;
        };
        let wrong = |reason| SqlError::new(Code::Syntax, reason).at(place_of(&span));
        let is_named = tokens.next_if(|next| word(&next.token).as_deref() == Some("UESCAPE")).is_some();
        let mut escape = ESCAPE;
        if is_named {
            match tokens.next() {
                Some(TokenWithSpan { token: Token::SingleQuotedString(named), span: end }) => {
                    escape = literals::escape_of(&named).map_err(wrong)?;
                    span = span.union(&end);
                }
                _ => return Err(wrong("UESCAPE stands before a text of one character".to_owned())),
            }
        }
        let read = literals::with_code_points(&written, escape);
        let read = read.map_err(|reason| SqlError::new(Code::Syntax, reason).at(place_of(&span)))?;
        made.push(TokenWithSpan { token: Token::SingleQuotedString(read), span });
    }
    Ok(made)
}

/// Returns the tokens that a parser has read since its index was `from`, as text on one line, without comments.
pub(super) fn written(parser: &Parser<'_>, from: usize) -> String {
    let tokens: Vec<&TokenWithSpan> = (from..parser.index()).map(|index| parser.token_at(index)).collect();
    text_of(&tokens, &[])
}

/// Returns an expression with the given names in backticks where they stand for columns.
///
/// # Errors
/// As for any text of SQL.
pub fn with_quoted_names(expression: &str, names: &[&str]) -> Result<String, SqlError> {
    let tokens = tokens(expression)?;
    Ok(text_of(&tokens.iter().collect::<Vec<_>>(), names))
}

/// Returns tokens as text, in which `names` are in backticks unless they are names of functions or reserved words. Blanks
/// stand where the tokens had any.
fn text_of(tokens: &[&TokenWithSpan], names: &[&str]) -> String {
    let mut text = String::new();
    let shown: Vec<&&TokenWithSpan> =
        tokens.iter().filter(|token| !is_blank(&token.token) && token.token != Token::EOF).collect();
    for (place, token) in shown.iter().enumerate() {
        let is_hint =
            |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if hints::is_mark(&word.value));
        if let Token::Word(word) = &token.token
            && is_hint(token)
        {
            text += &hints::text_of_hint(&word.value);
            continue;
        }
        if token.token == Token::Period && shown.get(place + 1).is_some_and(|next| is_hint(next)) {
            continue;
        }
        let before = place.checked_sub(1).and_then(|before| shown.get(before));
        if before.is_some_and(|before| before.span.end != token.span.start) {
            text.push(' ');
        }
        let is_call = shown.get(place + 1).is_some_and(|next| next.token == Token::LParen);
        match &token.token {
            Token::SingleQuotedString(literal) => text += &format!("'{}'", literal.replace('\'', "''")),
            Token::Word(word) if word.quote_style.is_some() => text += &quoted(&word.value),
            Token::Word(word)
                if !is_call && names.contains(&word.value.as_str()) && !is_reserved(&word.value) =>
            {
                text += &quoted(&word.value);
            }
            other => text += &other.to_string(),
        }
    }
    text
}

/// Returns whether a word directly before a string literal tells its notation: `e` for escapes, or a
/// character set.
fn is_form(word: &str) -> bool {
    word.eq_ignore_ascii_case("e") || word.starts_with('_')
}
