//! Forms of the text that the parser does not read, as forms that it reads: comments behind `//`, `TABLE t` as a query, and
//! GROUP BY ALL with a list of keys.
//!
//! Each replacement keeps the places of the words, so errors point into the text as it is written.
//!
//! Source: Flink's `Parser.tdd` and Calcite's `Parser.jj` (`SINGLE_LINE_COMMENT`, `ExplicitTable`, `GroupBy`).

use std::borrow::Cow;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::reserved::is_reserved;
use super::script::word;

/// Returns a text whose comments behind `//` stand behind `--`. Texts, names in quotes and other comments stay as they are.
pub(super) fn with_known_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"', '`', '-', '/']) {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'-', b'-', ..] => to_line_end(rest),
            [b'/', b'*', ..] => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            [b'/', b'/', ..] => {
                made.push_str("--");
                rest = &rest[2..];
                to_line_end(rest)
            }
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                // Doubled quotes within a quoted text look like two texts, which end at the same place.
                rest[1..].find(char::from(*quote)).map_or(rest.len(), |end| end + 2)
            }
            _ => 1,
        };
        made.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    made.push_str(rest);
    Cow::Owned(made)
}

fn to_line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Returns tokens in which `TABLE t`, where a query begins, is `SELECT * FROM t`, and GROUP BY ALL is GROUP BY.
pub(super) fn with_known_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: Option<&TokenWithSpan>, wanted: &str| match token.map(|token| &token.token) {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted),
        _ => false,
    };
    // Index of each ALL and TABLE that is replaced.
    let mut replaced = Vec::new();
    // First word of the statement that is being read.
    let mut first: Option<String> = None;
    for (place, token) in tokens.iter().enumerate() {
        let before = |steps: usize| place.checked_sub(steps).and_then(|before| tokens.get(before));
        if is(Some(token), "ALL")
            && is(before(1), "BY")
            && is(before(2), "GROUP")
            && !ends(tokens.get(place + 1))
        {
            replaced.push(place);
        }
        if is(Some(token), "TABLE")
            && begins_query([before(2), before(1)], first.as_deref())
            && is_all_of_query(&tokens[place..])
        {
            replaced.push(place);
        }
        match token.token {
            Token::SemiColon => first = None,
            _ if first.is_none() => first = word(&token.token),
            _ => {}
        }
    }
    if replaced.is_empty() {
        return tokens;
    }
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2 * replaced.len());
    let mut replaced = replaced.into_iter().peekable();
    for (place, token) in tokens.into_iter().enumerate() {
        if replaced.next_if_eq(&place).is_none() {
            made.push(token);
        } else if is(Some(&token), "TABLE") {
            let keyword = |text: &str, keyword| {
                let word = Word { value: text.to_owned(), quote_style: None, keyword };
                TokenWithSpan { token: Token::Word(word), span: token.span }
            };
            made.push(keyword("SELECT", Keyword::SELECT));
            made.push(TokenWithSpan { token: Token::Mul, span: token.span });
            made.push(keyword("FROM", Keyword::FROM));
        }
    }
    made
}

fn ends(token: Option<&TokenWithSpan>) -> bool {
    token.is_none_or(|token| matches!(token.token, Token::SemiColon | Token::RParen | Token::EOF))
}

/// Returns whether a query may begin behind two tokens. `first` is the first word of the statement, if it has one before.
fn begins_query([two_before, before]: [Option<&TokenWithSpan>; 2], first: Option<&str>) -> bool {
    let Some(before) = before else { return true };
    match &before.token {
        Token::SemiColon => true,
        // In a call, TABLE names an argument.
        Token::LParen => match two_before.map(|token| &token.token) {
            Some(Token::Word(word)) => word.quote_style.is_none() && is_reserved(&word.value),
            _ => true,
        },
        Token::Word(_) => match word(&before.token).as_deref() {
            Some("UNION" | "EXCEPT" | "INTERSECT" | "ALL" | "DISTINCT" | "EXPLAIN" | "FOR" | "AS") => true,
            Some("INTO" | "OVERWRITE" | "TABLE") => false,
            _ => first == Some("INSERT"),
        },
        Token::RParen => first == Some("INSERT"),
        _ => false,
    }
}

/// Returns whether tokens that begin with TABLE have the name of a table behind it, and then the end of a query.
fn is_all_of_query(tokens: &[TokenWithSpan]) -> bool {
    let mut place = 1;
    loop {
        if !matches!(tokens.get(place).map(|token| &token.token), Some(Token::Word(_))) {
            return false;
        }
        place += 1;
        if tokens.get(place).is_none_or(|token| token.token != Token::Period) {
            break;
        }
        place += 1;
    }
    let behind = tokens.get(place);
    let clause = behind.and_then(|token| word(&token.token));
    ends(behind)
        || matches!(
            clause.as_deref(),
            Some("UNION" | "EXCEPT" | "INTERSECT" | "ORDER" | "LIMIT" | "OFFSET" | "FETCH")
        )
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    /// Text behind `//` is a comment, but not within texts, names and other comments.
    #[test]
    fn comments_are_known_by_their_signs() {
        let check = |text: &str, expected: &str| assert_eq!(with_known_comments(text), expected, "{text}");
        check("SELECT 1 // it's\n + 2", "SELECT 1 -- it's\n + 2");
        check("SELECT 'http://x', `a//b` // c", "SELECT 'http://x', `a//b` -- c");
        check("SELECT 'it''s // here' //", "SELECT 'it''s // here' --");
        check("-- a // b\n//", "-- a // b\n--");
        check("/* // ' */ 1 / 2 // é", "/* // ' */ 1 / 2 -- é");
        check("'open // text", "'open // text");
        check("/* open // text", "/* open // text");
        check("é/", "é/");
    }

    /// TABLE begins a query, or names a table of a statement or of a window.
    #[test]
    fn tables_are_queries_where_queries_begin() {
        let check = |text: &str, expected: &str| {
            let shown: Vec<String> =
                tokens(text).unwrap().iter().map(|token| token.token.to_string()).collect();
            assert_eq!(shown.join(" "), expected, "{text}");
        };
        check("TABLE t", "SELECT * FROM t");
        check("SELECT 1 UNION ALL TABLE d.t LIMIT 1", "SELECT 1 UNION ALL SELECT * FROM d . t LIMIT 1");
        check("INSERT INTO a TABLE b; DROP TABLE b", "INSERT INTO a SELECT * FROM b ; DROP TABLE b");
        check("INSERT INTO TABLE b", "INSERT INTO TABLE b");
        check("SELECT * FROM (TABLE t)", "SELECT * FROM ( SELECT * FROM t )");
        check("TUMBLE(TABLE t, x)", "TUMBLE ( TABLE t , x )");
        check("HOP(TABLE t)", "HOP ( TABLE t )");
        check("a IN (TABLE t)", "a IN ( SELECT * FROM t )");
        check("GROUP BY ALL a, b", "GROUP BY a , b");
        check("GROUP BY ALL", "GROUP BY ALL");
    }
}
