//! The files of queries, `crates/sql/tests/queries/*.test.sql`, as far as `cargo xtask e2e flink` needs them, which
//! sends the queries to Flink.
//!
//! The README beside the files describes their form. xtask has a reader of its own, because it imports no room. A
//! digest of each question is stored beside Flink's answer. The test `crates/sql/tests/flink.rs` computes it again, so
//! it finds where the two readers understand a question differently. Expected answers are not part of a digest.
//!
//! This reader refuses less than that of `thalweg test`. For example, a query without an answer is not refused but
//! left out.

use std::collections::BTreeMap;
use std::path::Path;

/// The word for NULL in the CSV files that Flink reads. Flink cannot distinguish a quoted word from a plain one.
const NULL_WORD: &str = "%null%";

/// One file of queries with their expected answers.
#[derive(Clone, Debug)]
pub(crate) struct CaseFile {
    /// Name of the file of queries, without `.test.sql`.
    pub(crate) name: String,
    /// The SQL statements of the file's setup, without semicolons.
    pub(crate) statements: Vec<String>,
    /// The setup as text without comments, from which digests are computed.
    setup: String,
    inputs: BTreeMap<String, Vec<String>>,
    /// The queries of the file, with their expected answers.
    pub(crate) cases: Vec<Case>,
}

/// One query with its expected answer.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Name of the query, unique in its file.
    pub(crate) name: String,
    /// Number of the line on which the query begins.
    pub(crate) line: usize,
    /// All SET statements that come before the query in the file.
    pub(crate) settings: Vec<String>,
    /// Text of the query, without its semicolon.
    pub(crate) query: String,
    /// The answer that the file expects.
    pub(crate) expected: Expected,
    text: String,
}

/// The answer that a file expects to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// The query has these rows as its result, in this order or in any order.
    Rows { rows: Vec<String>, is_ordered: bool },
    /// The rows that remain after these changes are the result of the query.
    Changelog(Vec<String>),
    /// The query fails with an error that has this code.
    Error { code: String },
}

impl CaseFile {
    /// Reads the text of a file of queries.
    ///
    /// # Errors
    ///
    /// An unknown section, an answer without a query, or a second query with the same name, with the line.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut sections: Vec<(usize, String, Vec<String>)> = vec![(0, String::new(), Vec::new())];
        for (number, line) in (1..).zip(text.lines()) {
            match line.strip_prefix("--- ") {
                Some(head) => sections.push((number, head.trim().to_owned(), Vec::new())),
                None => sections.last_mut().into_iter().for_each(|section| section.2.push(line.to_owned())),
            }
        }
        let setup: Vec<&str> = sections[0]
            .2
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty() && !line.starts_with("--"))
            .collect();
        let setup = setup.join("\n");
        let mut file = CaseFile {
            name: name.to_owned(),
            statements: statements(&setup),
            setup,
            inputs: BTreeMap::new(),
            cases: Vec::new(),
        };
        let mut settings: Vec<String> = Vec::new();
        let mut query: Option<(String, usize, String)> = None;
        for (line, head, lines) in &sections[1..] {
            let (kind, rest) = head.split_once(' ').unwrap_or((head, ""));
            let rest = rest.trim();
            let expected = match kind {
                "input" => {
                    file.inputs.insert(rest.to_owned(), rows(lines));
                    continue;
                }
                "set" => {
                    settings.push(format!("SET {rest}"));
                    continue;
                }
                "query" => {
                    query = Some((rest.to_owned(), *line, lines.join("\n").trim().to_owned()));
                    continue;
                }
                "rows" => Expected::Rows { rows: rows(lines), is_ordered: rest == "ordered" },
                "changelog" => Expected::Changelog(rows(lines)),
                "error" => Expected::Error { code: rest.to_owned() },
                other => return Err(format!("line {line}: there is no section `{other}`")),
            };
            let (name, begin, text) =
                query.take().ok_or_else(|| format!("line {line}: there is no query before this"))?;
            if file.cases.iter().any(|case| case.name == name) {
                return Err(format!("line {begin}: there is a query `{name}` already"));
            }
            let asked = text.strip_suffix(';').unwrap_or(&text).to_owned();
            file.cases.push(Case {
                name,
                line: begin,
                settings: settings.clone(),
                query: asked,
                expected,
                text,
            });
        }
        Ok(file)
    }

    /// Returns the rows of a table in the CSV that Flink reads: a line for each row, and NULL as
    /// [`NULL_WORD`].
    pub(crate) fn input(&self, table: &str) -> String {
        let rows = self.inputs.get(table).map_or(&[][..], Vec::as_slice);
        rows.iter().map(|row| with_nulls(row) + "\n").collect()
    }

    /// Returns the fields of the rows of a table without quotes; `None` is NULL.
    pub(crate) fn fields(&self, table: &str) -> Vec<Vec<Option<String>>> {
        let field = |field: String| match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(quoted) => Some(quoted.replace("\"\"", "\"")),
            None => (field != "NULL").then_some(field),
        };
        let rows = self.inputs.get(table).map_or(&[][..], Vec::as_slice);
        rows.iter().map(|row| fields_of(row).into_iter().map(field).collect()).collect()
    }

    /// Returns a digest of the question of a case. It changes with the setup, the input, the settings and the
    /// query.
    pub(crate) fn digest(&self, case: &Case) -> u64 {
        let mut question = format!("{}\n", self.setup);
        for (table, rows) in &self.inputs {
            question += &format!("--- input {table}\n{}\n", rows.join("\n"));
        }
        for setting in &case.settings {
            question += &format!("{setting};\n");
        }
        question += &case.text;
        fnv(question.as_bytes())
    }
}

/// Returns the 64-bit FNV-1a hash of some bytes. It is short enough to be implemented twice, and digests
/// protect against mistakes only.
fn fnv(bytes: &[u8]) -> u64 {
    let begin = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(begin, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the name of the table that a statement declares.
pub(crate) fn table_name(statement: &str) -> Option<String> {
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    words.next().filter(|word| word.eq_ignore_ascii_case("CREATE"))?;
    let mut word = words.next()?;
    if word.eq_ignore_ascii_case("TEMPORARY") {
        word = words.next()?;
    }
    word.eq_ignore_ascii_case("TABLE").then(|| words.next().map(|name| name.replace('`', ""))).flatten()
}

/// Returns the WITH clause of a table whose rows are in the file `path`.
pub(crate) fn connector(path: &Path) -> String {
    format!(
        "WITH ('connector' = 'filesystem', 'path' = 'file://{}', 'format' = 'csv', 'csv.null-literal' = '{NULL_WORD}')",
        path.display()
    )
}

/// Returns the declaration of a table with a WITH clause, which stands before LIKE if the declaration has one.
pub(crate) fn with_connector(declaration: &str, connector: &str) -> String {
    let mut quote = None;
    let mut depth = 0usize;
    // Place at which the current word begins.
    let mut begin = None;
    for (place, character) in declaration.char_indices() {
        if quote.is_none() && (character.is_alphanumeric() || character == '_') {
            begin.get_or_insert(place);
            continue;
        }
        if let Some(begin) = begin.take()
            && depth == 0
            && quote.is_none()
            && declaration[begin..place].eq_ignore_ascii_case("LIKE")
        {
            return format!("{}{connector} {}", &declaration[..begin], &declaration[begin..]);
        }
        match (quote, character) {
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    format!("{declaration} {connector}")
}

/// Splits a text into SQL statements at semicolons outside of quotes.
fn statements(text: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (None, ';') => {
                statements.push(String::new());
                continue;
            }
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
        if let Some(statement) = statements.last_mut() {
            statement.push(character);
        }
    }
    statements.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// Returns the rows of a section of the file, up to a blank line. Each row is a line, unless a quote is open
/// at its end.
fn rows(lines: &[String]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        match rows.last_mut().filter(|_| is_open) {
            Some(row) => {
                row.push('\n');
                row.push_str(line);
            }
            None if line.trim().is_empty() => break,
            None => rows.push(line.clone()),
        }
        is_open ^= line.matches('"').count() % 2 == 1;
    }
    rows
}

/// Returns a row with the word NULL outside of quotes replaced by [`NULL_WORD`].
fn with_nulls(row: &str) -> String {
    let fields = fields_of(row);
    let fields: Vec<&str> =
        fields.iter().map(|field| if field == "NULL" { NULL_WORD } else { field.as_str() }).collect();
    fields.join(",")
}

/// Splits a row of CSV into its fields, which keep their quotes.
fn fields_of(row: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for character in row.chars() {
        is_quoted ^= character == '"';
        match character {
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().into_iter().for_each(|field| field.push(character)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- About; this.\nSET 'a' = 'b;c';\nCREATE TABLE `T` (a INT,\n\n s STRING);\n\n--- input T\n\
        1,NULL\n2,\"NULL\"\n3,\"x,NULL\n\ny\"\n\n--- set 'k' = 'v'\n--- query first\nSELECT a;\n\n--- rows ordered\n1\n2\n\n\
        --- query second\nSELECT b;\n--- error UNKNOWN_COLUMN\nb\n";

    #[test]
    fn a_file_is_read() {
        let file = CaseFile::parse("f", FILE).unwrap();
        assert_eq!(file.statements, ["SET 'a' = 'b;c'", "CREATE TABLE `T` (a INT,\n s STRING)"]);
        assert_eq!(
            file.statements.iter().map(|text| table_name(text)).collect::<Vec<_>>(),
            [None, Some("T".to_owned())]
        );
        assert_eq!(file.input("T"), "1,%null%\n2,\"NULL\"\n3,\"x,NULL\n\ny\"\n");
        assert_eq!(file.input("U"), "");
        let expected = Expected::Rows { rows: vec!["1".to_owned(), "2".to_owned()], is_ordered: true };
        assert_eq!(file.cases[0].expected, expected);
        assert_eq!(file.cases[0].query, "SELECT a");
        assert_eq!(file.cases[1].settings, ["SET 'k' = 'v'"]);
        assert_eq!(file.cases[1].expected, Expected::Error { code: "UNKNOWN_COLUMN".to_owned() });
    }

    #[test]
    fn digests_follow_the_question_and_nothing_else() {
        let digest = |text: &str| {
            let file = CaseFile::parse("f", text).unwrap();
            file.digest(&file.cases[0])
        };
        assert_eq!(digest(FILE), digest(&FILE.replace("-- About; this.\n", "")));
        assert_eq!(digest(FILE), digest(&FILE.replace("rows ordered\n1", "rows\n7")));
        for (from, to) in [("a INT", "a BIGINT"), ("1,NULL", "1,x"), ("'v'", "'w'"), ("SELECT a", "SELECT c")]
        {
            assert_ne!(digest(FILE), digest(&FILE.replace(from, to)), "{from}");
        }
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn connectors_stand_before_like() {
        let check = |declaration: &str, expected: &str| {
            assert_eq!(with_connector(declaration, "WITH ()"), expected, "{declaration}");
        };
        check("CREATE TABLE t (a INT)", "CREATE TABLE t (a INT) WITH ()");
        check("CREATE TABLE t (b AS a LIKE 'x') like s", "CREATE TABLE t (b AS a LIKE 'x') WITH () like s");
        check(
            "CREATE TABLE `t LIKE` COMMENT ' LIKE ' LIKE s (X)",
            "CREATE TABLE `t LIKE` COMMENT ' LIKE ' WITH () LIKE s (X)",
        );
        check("CREATE TABLE t (a INT, LIKE INT)", "CREATE TABLE t (a INT, LIKE INT) WITH ()");
    }

    #[test]
    fn names_of_tables_are_found() {
        assert_eq!(table_name("create temporary table A(b INT)"), Some("A".to_owned()));
        assert_eq!(table_name("CREATE VIEW A AS SELECT 1"), None);
        assert_eq!(table_name("SET 'CREATE' = 'TABLE'"), None);
    }
}
