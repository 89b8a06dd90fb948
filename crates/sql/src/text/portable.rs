//! Forms of a text that run here and that Flink refuses, as far as tokens alone show them. The binder finds the others.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use thalweg_sql_tables::error::{Place, SqlError};

use super::ddl::place_of;
use super::script::word;
use super::tokens::tokens;
use crate::bind::portable::OnlyHere;

/// Digits that the first number of an INTERVAL may have if no precision is written.
const INTERVAL_DIGITS: usize = 2;

/// Returns notes on the forms of a text that Flink refuses. A text that has no tokens has no notes.
pub(crate) fn only_here(text: &str) -> Vec<SqlError> {
    let tokens = tokens(text).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut is_behind_with = false;
    let mut notes = Vec::new();
    for (number, token) in tokens.iter().enumerate() {
        let place = place_of(&token.span);
        let word_at = |number: usize| tokens.get(number).and_then(|token| word(&token.token));
        is_behind_with = match word_at(number).as_deref() {
            Some("WITH") => number.checked_sub(1).is_some_and(|before| tokens[before].token == Token::RParen),
            Some("AS" | "LIKE") => false,
            _ => is_behind_with && token.token != Token::SemiColon,
        };
        let form = match word_at(number).as_deref() {
            None if token.token == Token::Neq && is_exclamation(&lines, place) => OnlyHere::NotEqual,
            Some("INTERVAL") if is_long_interval(&tokens[number + 1..]) => OnlyHere::LongInterval,
            Some("TIME" | "TIMESTAMP") if is_short_time(tokens.get(number + 1)) => OnlyHere::ShortTime,
            Some("PARTITIONED") if is_behind_with => OnlyHere::LatePartitions,
            _ => continue,
        };
        notes.push(form.note(Some(place)));
    }
    notes
}

/// Returns whether the sign for "not equal" at a place begins with an exclamation mark. Both forms are one token.
fn is_exclamation(lines: &[&str], place: Place) -> bool {
    let line = lines.get(place.line - 1);
    line.and_then(|line| line.chars().nth(place.column - 1)) == Some('!')
}

/// Returns whether an interval, from behind the word INTERVAL on, has more digits than its first unit takes without a
/// precision. Weeks are no unit of the standard, and have none.
fn is_long_interval(tokens: &[TokenWithSpan]) -> bool {
    let tokens = match tokens {
        [TokenWithSpan { token: Token::Minus | Token::Plus, .. }, rest @ ..] => rest,
        tokens => tokens,
    };
    let [TokenWithSpan { token: Token::SingleQuotedString(text), .. }, unit, rest @ ..] = tokens else {
        return false;
    };
    let digits = text.trim_start_matches(['-', '+', ' ']).bytes().take_while(u8::is_ascii_digit).count();
    let has_precision = rest.first().is_some_and(|token| token.token == Token::LParen);
    let is_unit = word(&unit.token).is_some_and(|unit| !unit.starts_with("WEEK"));
    is_unit && digits > INTERVAL_DIGITS && !has_precision
}

/// Returns whether the text behind the word TIME or TIMESTAMP has minutes and no seconds.
fn is_short_time(text: Option<&TokenWithSpan>) -> bool {
    matches!(text.map(|token| &token.token), Some(Token::SingleQuotedString(text)) if text.matches(':').count() == 1)
}

#[cfg(test)]
mod tests {
    use super::only_here;

    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = only_here(text)
            .into_iter()
            .filter_map(|note| {
                note.place.map(|place| format!("{}:{} {}", place.line, place.column, note.message))
            })
            .collect();
        assert_eq!(shown.join("; "), expected, "{text}");
    }

    #[test]
    fn tokens_show_what_flink_refuses() {
        check("SELECT a <> b FROM t", "");
        check("SELECT 1,\n a != b, '!=' FROM t", "2:4 Flink refuses `!=`");
        let long = "Flink refuses an INTERVAL of more than two digits without a precision";
        check(
            "SELECT INTERVAL '100' DAY, INTERVAL '100' DAY(3), INTERVAL '99 23' DAY TO HOUR",
            &format!("1:8 {long}"),
        );
        check("SELECT INTERVAL -'100' SECOND", &format!("1:8 {long}"));
        let short = "Flink refuses a time without seconds";
        check("SELECT TIME '10:23', TIME '10:23:01'", &format!("1:8 {short}"));
        check("SELECT TIMESTAMP '2024-01-01 10:23', TIMESTAMP '2024-01-01'", &format!("1:8 {short}"));
        let late = "1:41 Flink refuses PARTITIONED BY behind WITH";
        check("CREATE TABLE t (a INT) WITH ('a' = 'b') PARTITIONED BY (a)", late);
        check("CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('a' = 'b')", "");
    }
}
