//! Bounds on the depth and length of statements, checked over the tokens before anything parses them.
//!
//! Parsing, planning and dropping a tree recurse once for each of its levels. The parser has its own bound for some
//! kinds of nesting only. Subscripts, fields, types and set operations are read by loops, and would make trees as
//! deep as their text is long. So levels are counted here over tokens, and the error points at the first token beyond
//! a bound.
//!
//! | counted | bound |
//! |---|---|
//! | brackets, sub-queries, types within types, CASE .. END, and NOT or signs in a row | [`NESTING_MAX`] |
//! | subscripts and fields behind one value | [`NESTING_MAX`] |
//! | operators one after the other, without a comma or a clause between them | [`OPERATORS_MAX`] |
//! | UNION, INTERSECT and EXCEPT of a query | [`SET_OPERATIONS_MAX`] |
//! | JOIN of a query, and tables of a FROM | [`JOINS_MAX`] |

use sqlparser::tokenizer::{Token, TokenWithSpan};
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::ddl::place_of;
use super::script::{NESTING_MAX, is_blank, word};

/// Greatest number of operators that follow each other, or are nested, in one expression; planning recurses
/// once for each operator.
pub const OPERATORS_MAX: usize = 2_000;

/// Greatest number of UNION, INTERSECT and EXCEPT operators in a query.
pub const SET_OPERATIONS_MAX: usize = 500;

/// Greatest number of joins in a query, and of tables in a FROM clause.
pub const JOINS_MAX: usize = 64;

/// Keywords that begin a part of a query. A chain of operators ends at such a word.
const CLAUSES: [&str; 17] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "ON",
    "USING",
    "JOIN",
    "WHEN",
    "THEN",
    "ELSE",
    "INSERT",
];

/// Keywords that are operators, or that begin forms which nest as operators do.
const OPERATORS: [&str; 12] =
    ["AND", "OR", "IS", "IN", "LIKE", "SIMILAR", "BETWEEN", "COLLATE", "ESCAPE", "RLIKE", "ILIKE", "AT"];

/// Kind of a nesting level in the text of a statement: brackets, a subscript, a type or a CASE.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bracket,
    Subscript,
    Type,
    Case,
}

/// One nesting level of a statement that is not closed yet, with its counts of operators, and of subscripts
/// and fields.
struct Level {
    kind: Kind,
    /// Number of operators since the last comma or clause of this nesting level.
    operators: usize,
    /// Number of subscripts (`[1]`) and fields (`.name`) directly after the last value of this nesting level.
    accesses: usize,
}

impl Level {
    fn new(kind: Kind) -> Self {
        Level { kind, operators: 0, accesses: 0 }
    }
}

/// Result of checking that a statement is not nested too deep.
pub(super) struct Depth {
    /// Place of the most deeply nested token, for an error if the parser's own depth bound is exceeded.
    pub(super) deepest: Option<Place>,
}

/// Checks the bounds on depth and length of a statement.
///
/// # Errors
/// [`Code::Unsupported`] at the first token beyond a bound, and [`Code::Syntax`] where nothing stands between
/// SELECT and FROM.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<Depth, SqlError> {
    let mut levels = vec![Level::new(Kind::Bracket)];
    let (mut set_operations, mut joins, mut prefixes) = (0, 0, 0usize);
    let (mut deepest, mut deepest_place) = (0, None);
    let mut before: Option<&Token> = None;
    for TokenWithSpan { token, span } in tokens.iter().filter(|token| !is_blank(&token.token)) {
        let at = place_of(span);
        let word = word(token);
        let name = word.as_deref();
        let is_value_before = matches!(before, Some(Token::Word(_) | Token::RParen | Token::RBracket));
        let begins_type = before
            .and_then(super::script::word)
            .is_some_and(|word| matches!(word.as_str(), "ARRAY" | "MAP" | "ROW" | "MULTISET"));
        // A word after a period is a part of a name and no keyword.
        let is_named = matches!(before, Some(Token::Period));
        match token {
            Token::LParen => levels.push(Level::new(Kind::Bracket)),
            Token::LBracket => {
                if is_value_before {
                    access(&mut levels, at)?;
                }
                levels.push(Level::new(Kind::Subscript));
            }
            Token::Lt if begins_type => levels.push(Level::new(Kind::Type)),
            Token::RParen => close(&mut levels, Kind::Bracket),
            Token::RBracket => close(&mut levels, Kind::Subscript),
            Token::Gt if levels.last().is_some_and(|level| level.kind == Kind::Type) => {
                close(&mut levels, Kind::Type);
            }
            Token::Period => access(&mut levels, at)?,
            Token::Comma => fresh(&mut levels),
            _ if is_named => {}
            _ => match name {
                Some("CASE") => levels.push(Level::new(Kind::Case)),
                Some("END") if levels.last().is_some_and(|level| level.kind == Kind::Case) => {
                    close(&mut levels, Kind::Case);
                }
                Some("UNION" | "INTERSECT" | "EXCEPT" | "MINUS") => {
                    set_operations += 1;
                    if set_operations > SET_OPERATIONS_MAX {
                        let message =
                            format!("a query has more than {SET_OPERATIONS_MAX} UNION, INTERSECT and EXCEPT");
                        return Err(SqlError::new(Code::Unsupported, message)
                            .at(at)
                            .help("write the rows as VALUES, or as several INSERT of a STATEMENT SET"));
                    }
                    fresh(&mut levels);
                }
                Some("JOIN") => {
                    joins += 1;
                    if joins > JOINS_MAX {
                        let message = format!("a query has more than {JOINS_MAX} joins");
                        return Err(SqlError::new(Code::Unsupported, message).at(at));
                    }
                    fresh(&mut levels);
                }
                Some("FROM") if matches!(before.and_then(super::script::word).as_deref(), Some("SELECT")) => {
                    let error = SqlError::new(Code::Syntax, "expected what is selected, found FROM");
                    return Err(error.at(at).help("write SELECT * FROM .., or the columns by their names"));
                }
                Some(word) if CLAUSES.contains(&word) => {
                    // Each INSERT of a statement set has a query of its own, so the counts of joins and set
                    // operations start again.
                    if word == "INSERT" {
                        (set_operations, joins) = (0, 0);
                    }
                    fresh(&mut levels);
                }
                _ => {
                    let is_operator = match token {
                        Token::Word(_) => name.is_some_and(|word| OPERATORS.contains(&word)),
                        Token::Number(..) | Token::SingleQuotedString(_) => false,
                        _ => true,
                    };
                    if let Some(level) = levels.last_mut() {
                        level.accesses = 0;
                        level.operators += usize::from(is_operator);
                        if level.operators > OPERATORS_MAX {
                            let message = format!(
                                "an expression has more than {OPERATORS_MAX} operators within each other"
                            );
                            return Err(SqlError::new(Code::Unsupported, message)
                                .at(at)
                                .help("write x IN (..) for many alternatives"));
                        }
                    }
                }
            },
        }
        let is_prefix =
            matches!(token, Token::Minus | Token::Plus) || matches!(name, Some("NOT" | "EXPLAIN"));
        prefixes = if is_prefix { prefixes + 1 } else { 0 };
        let depth = levels.len() - 1 + prefixes.saturating_sub(1);
        if depth > deepest {
            (deepest, deepest_place) = (depth, Some(at));
        }
        if depth > NESTING_MAX {
            return Err(too_deep(at));
        }
        before = Some(token);
    }
    Ok(Depth { deepest: deepest_place })
}

/// Returns the error for a statement that is nested too deep.
pub(super) fn too_deep(at: Place) -> SqlError {
    let message = format!("brackets, types or sub-queries are nested deeper than {NESTING_MAX}");
    SqlError::new(Code::Syntax, message).at(at).help("name parts of the query by WITH")
}

/// Counts one more subscript or field after a value, and refuses it if there are more than [`NESTING_MAX`].
fn access(levels: &mut [Level], at: Place) -> Result<(), SqlError> {
    let Some(level) = levels.last_mut() else { return Ok(()) };
    level.accesses += 1;
    if level.accesses > NESTING_MAX { Err(too_deep(at)) } else { Ok(()) }
}

/// Resets the counts of operators and of subscripts in the innermost nesting level, because a new expression
/// begins there.
fn fresh(levels: &mut [Level]) {
    if let Some(level) = levels.last_mut() {
        (level.operators, level.accesses) = (0, 0);
    }
}

/// Closes the innermost open nesting level of a kind, and all levels opened within it. The outermost level
/// stays.
fn close(levels: &mut Vec<Level>, kind: Kind) {
    if let Some(place) = levels.iter().rposition(|level| level.kind == kind)
        && place > 0
    {
        levels.truncate(place);
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::parse;

    fn check(text: &str, expected: &str) {
        let found = match parse(text) {
            Ok(_) => "fine".to_owned(),
            Err(error) => format!("{} {error}", error.code.name()),
        };
        assert!(found.starts_with(expected), "{}: {found}", &text[..text.len().min(100)]);
    }

    #[test]
    fn depth_is_refused_where_it_goes_too_far() {
        let nested = |open: &str, inner: &str, close: &str, times: usize| {
            format!("SELECT {}{inner}{}", open.repeat(times), close.repeat(times))
        };
        check(&nested("(", "1", ")", 30), "fine");
        check(
            &nested("(", "1", ")", 65),
            "SYNTAX line 1, column 72: brackets, types or sub-queries are nested",
        );
        check(&nested("(", "1", ")", 20_000), "SYNTAX line 1, column 72: ");
        check(&nested("NOT ", "a", "", 20_000), "SYNTAX line 1, column 268: ");
        check(&nested("- ", "1", "", 20_000), "SYNTAX line 1, column 138: ");
        check(&nested("CASE WHEN a THEN ", "1", " END", 5_000), "SYNTAX line 1, column 1096: ");
        check(&nested("", "a", "[1]", 64), "fine");
        check(&nested("", "a", "[1]", 20_000), "SYNTAX line 1, column 201: ");
        check(&nested("", "a", ".b", 20_000), "SYNTAX line 1, column 137: ");
        check(&nested("", "a", "[1].b", 33), "SYNTAX line 1, column ");
        check("SELECT a[1], b[2], c[a[b[1]]] FROM t", "fine");
    }

    #[test]
    fn types_are_bounded() {
        let of = |times: usize| format!("{}INT{}", "ARRAY<".repeat(times), ">".repeat(times));
        check(&format!("SELECT CAST(NULL AS {})", of(40)), "fine");
        check(&format!("SELECT CAST(NULL AS {})", of(30_000)), "SYNTAX line 1, column ");
        check(&format!("CREATE TABLE x (a {}) WITH ('connector' = 'print')", of(60)), "fine");
        check(&format!("CREATE TABLE x (a {})", of(5_000)), "SYNTAX line 1, column ");
        // The `<` of a comparison does not count as the opening bracket of a type.
        check(&format!("SELECT {}", vec!["a < b"; 200].join(" AND ")), "fine");
    }

    #[test]
    fn chains_are_bounded() {
        let chain =
            |operator: &str, times: usize| format!("SELECT a{}", format!("{operator}a").repeat(times));
        check(&chain(" + ", 1_999), "fine");
        check(
            &chain(" + ", 20_000),
            "UNSUPPORTED line 1, column 8010: an expression has more than 2000 operators",
        );
        check(&chain(" AND ", 20_000), "UNSUPPORTED line 1, column ");
        check(&format!("SELECT a{}", " IS NULL".repeat(20_000)), "UNSUPPORTED line 1, column ");
        check(&format!("SELECT a{}", "::INT".repeat(20_000)), "UNSUPPORTED line 1, column ");
        check(&format!("SELECT {}", vec!["a + b"; 3_000].join(", ")), "fine");
        let arms = |times: usize| format!("SELECT 0 AS a{}", " UNION ALL SELECT 1 AS a".repeat(times));
        check(&arms(500), "fine");
        check(&arms(1_900), "UNSUPPORTED line 1, column 12015: a query has more than 500 UNION");
        check(&format!("SELECT 1 FROM t{}", " JOIN t ON a = b".repeat(70)), "UNSUPPORTED line 1, column ");
    }

    #[test]
    fn something_is_selected() {
        check("SELECT\n FROM x", "SYNTAX line 2, column 2: expected what is selected, found FROM");
        check("SELECT `from` FROM x", "fine");
    }
}
