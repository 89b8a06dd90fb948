//! Tests of the SQL manual: its examples can be read, its errors occur, and every function and every error
//! code is documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::VirtualClock;
use thalweg_sql::catalog::Entry;
use thalweg_sql::connect;
use thalweg_sql::error::SqlError;
use thalweg_sql::session::Session;
use thalweg_sql_functions::{aggregates, functions};

const MANUAL: &str = "../../docs/sql";

/// Labels of the manual's examples whose features do not exist yet.
const WAITING: [&str; 0] = [];

#[test]
fn examples_are_read() {
    let mut failures = Vec::new();
    let mut count = 0;
    for page in pages(Path::new(MANUAL)) {
        for example in examples(&page.text) {
            let Some(expected) = expected(example.text) else { continue };
            count += 1;
            if let Err(why) = is_as_expected(example.text, expected) {
                failures.push(format!("{}:{}: {why}", page.path.display(), example.line));
            }
        }
    }
    assert!(count > 50, "only {count} examples were found");
    assert!(failures.is_empty(), "{} of {count} examples\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_function_is_named() {
    let named: BTreeSet<String> = pages(&Path::new(MANUAL).join("functions"))
        .iter()
        .flat_map(|page| words_in_code(&page.text))
        .collect();
    let unnamed: Vec<&str> = functions::all()
        .map(|function| function.name)
        .chain(aggregates::aggregates().iter().map(|aggregate| aggregate.name))
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()) && !named.contains(*name))
        .collect();
    assert!(unnamed.is_empty(), "docs/sql/functions does not name {}", unnamed.join(", "));
}

/// The manual names every error code. Codes stand in the source as `=> "CODE"` in the error types, and as
/// `code: "CODE"` in functions.
#[test]
fn every_code_is_named() {
    const FAULTS: [&str; 6] = [
        "../sql-tables/src/error.rs",
        "../sql-formats/src/lib.rs",
        "../sql-tables/src/connect/error.rs",
        "../connectors/src/sink_error.rs",
        "../connectors/src/csv/error.rs",
        "../runtime/src/error.rs",
    ];
    const SOURCES: [&str; 5] =
        ["src", "../sql-exec/src", "../sql-functions/src", "../sql-formats/src", "../sql-tables/src"];
    let read =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut codes = BTreeSet::new();
    for path in FAULTS {
        codes.extend(strings_behind("=> \"", &read(Path::new(path))));
    }
    for path in SOURCES.iter().flat_map(|sources| files(Path::new(sources), "rs")) {
        codes.extend(strings_behind("code: \"", &read(&path)));
    }
    codes.retain(|code| code.starts_with(|first: char| first.is_ascii_uppercase()));
    assert!(codes.len() > 50, "only {} codes were found", codes.len());
    let page = read(&Path::new(MANUAL).join("errors.md"));
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    let named: BTreeSet<String> = words_in_code(&page).chain(headings.map(str::to_owned)).collect();
    let unnamed: Vec<&String> = codes.difference(&named).collect();
    assert!(unnamed.is_empty(), "docs/sql/errors.md does not name {unnamed:?}");
}

enum Expected<'a> {
    Read,
    Refused(&'a str),
}

/// Returns the expectation in the first line of a manual's example, if there is one.
fn expected(example: &str) -> Option<Expected<'_>> {
    let mut words = example.lines().next()?.strip_prefix("-- ")?.split_whitespace();
    match (words.next()?, words.next()) {
        ("check", None) => Some(Expected::Read),
        ("check", Some(label)) => (!WAITING.contains(&label)).then_some(Expected::Read),
        ("refused", Some(code)) => Some(Expected::Refused(code)),
        _ => None,
    }
}

fn is_as_expected(example: &str, expected: Expected<'_>) -> Result<(), String> {
    match (read(example), expected) {
        (Ok(()), Expected::Read) => Ok(()),
        (Err(error), Expected::Refused(code)) if error.code.name() == code => Ok(()),
        (Ok(()), Expected::Refused(code)) => Err(format!("it is not refused, {code} was expected")),
        (Err(error), _) => Err(error.show("example", example)),
    }
}

/// Reads an example of the manual as the command line does, without running it.
fn read(example: &str) -> Result<(), SqlError> {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    session.read(example)?;
    for (_, entry) in session.catalog().entries() {
        match entry {
            Entry::Table(table) if !table.options.is_empty() => connect::check(table).map(|_| ())?,
            _ => {}
        }
    }
    Ok(())
}

struct Page {
    path: PathBuf,
    text: String,
}

fn pages(folder: &Path) -> Vec<Page> {
    let read = |path: PathBuf| Page { text: fs::read_to_string(&path).expect("a page of the manual"), path };
    files(folder, "md").into_iter().map(read).collect()
}

/// Returns the files in a folder and its sub-folders that have an extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|of| of == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

struct Example<'a> {
    /// Line of the manual's page on which the example begins.
    line: usize,
    text: &'a str,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    const FENCE: &str = "```";
    let mut found = Vec::new();
    // Start of the code block that is not closed yet: its position in the text, its line, and whether it is
    // SQL.
    let mut open: Option<(usize, usize, bool)> = None;
    let mut place = 0;
    for (line, text) in page.split_inclusive('\n').enumerate() {
        if let Some(language) = text.strip_prefix(FENCE) {
            open = match open {
                None => Some((place + text.len(), line + 2, language.trim() == "sql")),
                Some((begin, line, is_sql)) => {
                    found.extend(is_sql.then(|| Example { line, text: &page[begin..place] }));
                    None
                }
            };
        }
        place += text.len();
    }
    found
}

/// Returns the words in backticks on a page of the manual: runs of letters, digits and underscores.
fn words_in_code(page: &str) -> impl Iterator<Item = String> {
    page.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .flat_map(|code| code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'))
        .map(str::to_owned)
}

/// Returns each part of a source text between `before` and the next quote.
fn strings_behind<'a>(before: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned)
}
