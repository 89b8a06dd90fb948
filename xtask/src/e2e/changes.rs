//! Tables of changes in files of queries, as Flink reads them: rows with `+I`, `-U`, `+U` or `-D` become records of
//! Debezium in JSON.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The end of the declaration of a table whose rows are changes.
const WITH_CHANGES: &str = "WITH ('format' = 'debezium-json')";

/// Returns the declaration of a table of changes without its WITH clause; `None` if its rows are plain.
pub(crate) fn declaration(statement: &str) -> Option<&str> {
    statement.trim_end().strip_suffix(WITH_CHANGES).map(str::trim_end)
}

/// Returns the WITH clause of a table whose changes are in the file `path`.
pub(crate) fn connector(path: &Path) -> String {
    format!(
        "WITH ('connector' = 'filesystem', 'path' = 'file://{}', 'format' = 'debezium-json')",
        path.display()
    )
}

/// Returns the names of the physical columns of a declaration, `CREATE TABLE t (a INT, .., WATERMARK FOR ..)`.
fn columns(declaration: &str) -> Vec<String> {
    let body = declaration.split_once('(').map_or("", |(_, body)| body);
    let mut parts = vec![String::new()];
    let mut depth = 0i32;
    for character in body.chars() {
        match character {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    let is_column = |part: &&String| {
        let mut words = part.split_whitespace();
        let first = words.next().unwrap_or_default().to_ascii_uppercase();
        let is_computed = words.next().is_some_and(|word| word.eq_ignore_ascii_case("AS"));
        !matches!(&first[..], "WATERMARK" | "PRIMARY" | "") && !is_computed
    };
    let name = |part: &String| part.split_whitespace().next().unwrap_or_default().replace('`', "");
    parts.iter().filter(is_column).map(name).collect()
}

/// Returns rows of changes as records of Debezium, a line for each. Flink also reads numbers and times from JSON texts.
///
/// # Errors
///
/// A row of an unknown kind, a row whose number of fields differs from the number of columns, or a `-U` without a `+U`
/// behind it.
pub(crate) fn records(declaration: &str, rows: &[Vec<Option<String>>]) -> Result<String, String> {
    let columns = columns(declaration);
    let mut text = String::new();
    let mut before: Option<Value> = None;
    for row in rows {
        let Some((Some(kind), fields)) = row.split_first() else {
            return Err("a row without a kind".to_owned());
        };
        if fields.len() != columns.len() {
            return Err(format!("{} fields for the columns {}", fields.len(), columns.join(", ")));
        }
        let field = |field: &Option<String>| field.clone().map_or(Value::Null, Value::String);
        let object: Map<String, Value> = columns.iter().cloned().zip(fields.iter().map(field)).collect();
        let object = Value::Object(object);
        let record = match (&kind[..], before.take()) {
            ("+I", None) => json!({"before": null, "after": object, "op": "c"}),
            ("-D", None) => json!({"before": object, "after": null, "op": "d"}),
            ("-U", None) => {
                before = Some(object);
                continue;
            }
            ("+U", Some(old)) => json!({"before": old, "after": object, "op": "u"}),
            (kind, _) => return Err(format!("`{kind}` does not stand where it may: +U follows -U")),
        };
        text += &format!("{record}\n");
    }
    match before {
        None => Ok(text),
        Some(_) => Err("a -U at the end: +U follows it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE t (a INT, `b` ROW<x INT, y INT>, c AS a + 1, d DECIMAL(3, 1), WATERMARK FOR ts AS ts,\n \
        PRIMARY KEY (a) NOT ENFORCED) WITH ('format' = 'debezium-json')";

    #[test]
    fn changes_become_records() {
        let declaration = declaration(TABLE).unwrap();
        assert!(declaration.ends_with("NOT ENFORCED)"), "{declaration}");
        assert_eq!(columns(declaration), ["a", "b", "d"]);
        let row = |fields: &[&str]| -> Vec<Option<String>> {
            fields.iter().map(|field| (*field != "NULL").then(|| (*field).to_owned())).collect()
        };
        let rows = [row(&["+I", "1", "x", "2"]), row(&["-U", "1", "x", "2"]), row(&["+U", "1", "NULL", "2"])];
        assert_eq!(
            records(declaration, &rows).unwrap(),
            "{\"after\":{\"a\":\"1\",\"b\":\"x\",\"d\":\"2\"},\"before\":null,\"op\":\"c\"}\n\
             {\"after\":{\"a\":\"1\",\"b\":null,\"d\":\"2\"},\"before\":{\"a\":\"1\",\"b\":\"x\",\"d\":\"2\"},\"op\":\"u\"}\n"
        );
        assert!(records(declaration, &rows[..2]).is_err() && records(declaration, &rows[2..]).is_err());
        assert_eq!(super::declaration("CREATE TABLE t (a INT)"), None);
    }
}
