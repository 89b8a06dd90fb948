//! The first cut of a text into tokens, blanks and comments among them.
//!
//! The parser's own lexer refuses a point before a name that begins with `_` unless a word is directly before the point, as
//! in `list[1]._2`. This module ends the text before such a point and goes on behind it, with the places of the whole text.

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, TokenizerError};

use super::dialect::FlinkDialect;

/// Returns all tokens of a text.
///
/// # Errors
/// For a sign that begins no token, and for texts, names and comments without an end.
pub(super) fn lexed(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens: Vec<TokenWithSpan> = Vec::new();
    let mut rest = text;
    let mut begin = Location { line: 1, column: 1 };
    loop {
        let known = tokens.len();
        let result = Tokenizer::new(&FlinkDialect, rest).tokenize_with_location_into_buf(&mut tokens);
        for token in &mut tokens[known..] {
            token.span = Span::new(moved(token.span.start, begin), moved(token.span.end, begin));
        }
        let Err(mut error) = result else { return Ok(tokens) };
        let after = after_point(rest, error.location);
        error.location = moved(error.location, begin);
        let Some(after) = after else { return Err(error) };
        begin = Location { line: error.location.line, column: error.location.column + 1 };
        tokens.push(TokenWithSpan { token: Token::Period, span: Span::new(error.location, begin) });
        rest = after;
    }
}

/// Returns the place in the whole text of a place in the part of it that begins at `begin`.
fn moved(place: Location, begin: Location) -> Location {
    let column = if place.line == 1 { begin.column + place.column - 1 } else { place.column };
    Location { line: begin.line + place.line - 1, column }
}

/// Returns the text behind a point at this place if a name that begins with `_` follows it.
fn after_point(text: &str, place: Location) -> Option<&str> {
    let line = usize::try_from(place.line.checked_sub(1)?).ok()?;
    let column = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let begin = match line.checked_sub(1) {
        Some(breaks) => text.match_indices('\n').nth(breaks)?.0 + 1,
        None => 0,
    };
    let mut letters = text.get(begin..)?.chars();
    if let Some(before) = column.checked_sub(1) {
        letters.nth(before)?;
    }
    let after = letters.as_str().strip_prefix('.')?;
    after.starts_with('_').then_some(after)
}

#[cfg(test)]
mod tests {
    use super::lexed;

    #[test]
    fn a_point_stands_between_a_bracket_and_a_name_that_begins_with_a_line() {
        let tokens = lexed("SELECT\n ä[1]._1, f(x)._2 ,\n (r) ._a._b").unwrap();
        let shown: Vec<String> = tokens
            .iter()
            .filter(|token| !token.token.to_string().trim().is_empty())
            .map(|token| format!("{}:{}:{}", token.token, token.span.start.line, token.span.start.column))
            .collect();
        assert_eq!(
            shown.join(" "),
            "SELECT:1:1 ä:2:2 [:2:3 1:2:4 ]:2:5 .:2:6 _1:2:7 ,:2:9 f:2:11 (:2:12 x:2:13 ):2:14 .:2:15 _2:2:16 ,:2:19 \
             (:3:2 r:3:3 ):3:4 .:3:6 _a:3:7 .:3:9 _b:3:10"
        );
    }

    #[test]
    fn errors_behind_such_a_point_have_their_place() {
        let error = lexed("SELECT a[1]._1, 'b").unwrap_err();
        assert_eq!((error.location.line, error.location.column), (1, 17));
        let error = lexed("SELECT a[1]._1,\n  'b").unwrap_err();
        assert_eq!((error.location.line, error.location.column), (2, 3));
    }
}
