//! Sessions and statements of Flink's SQL gateway.
//!
//! Results are requested as text (`rowFormat=PLAIN_TEXT`), so that Flink itself writes every value.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::answers::{Answer, Change, Kind};
use crate::services::flink::root_cause;
use crate::services::http::{Client, Response};

/// Longest time that a query may take, from its statement to its last row.
const QUERY_MAX: Duration = Duration::from_secs(120);
/// Pause between two requests for more rows of a query.
const ASK_AGAIN: Duration = Duration::from_millis(30);
/// Largest number of changes that a query's result may have.
const CHANGES_MAX: usize = 100_000;

/// A session of Flink's SQL gateway, with tables and settings of its own.
pub(crate) struct Session<'a> {
    client: &'a Client,
    handle: String,
}

impl<'a> Session<'a> {
    /// Opens a session in UTC, which all files of queries assume unless they set another zone.
    ///
    /// # Errors
    ///
    /// A gateway that does not answer.
    pub(crate) fn open(client: &'a Client) -> Result<Self> {
        let properties = json!({ "properties": { "table.local-time-zone": "UTC" } });
        let response = client.post("/v2/sessions", &properties)?;
        let handle = response.body["sessionHandle"].as_str().context("no handle of a session")?.to_owned();
        Ok(Self { client, handle })
    }

    /// Runs a SQL statement that returns no rows.
    ///
    /// # Errors
    ///
    /// Flink's refusal.
    pub(crate) fn set_up(&self, statement: &str) -> Result<()> {
        match self.ask(statement)? {
            Answer::Rows(_) => Ok(()),
            Answer::Refused(why) => bail!("flink refuses {statement}: {why}"),
        }
    }

    /// Runs a query to its end, and returns Flink's answer.
    ///
    /// # Errors
    ///
    /// A failure that is independent of the query. Flink's refusal is an answer and no error.
    pub(crate) fn ask(&self, query: &str) -> Result<Answer> {
        let begin = Instant::now();
        let statements = format!("/v2/sessions/{}/statements", self.handle);
        let response = self.client.post(&statements, &json!({ "statement": query }))?;
        if response.status != 200 {
            return Ok(Answer::Refused(root_cause(&response.body)));
        }
        let operation =
            response.body["operationHandle"].as_str().context("no handle of an operation")?.to_owned();
        let operation = format!("/v2/sessions/{}/operations/{operation}", self.handle);
        let mut next = format!("{operation}/result/0?rowFormat=PLAIN_TEXT");
        let mut changes = Vec::new();
        let answer = loop {
            let Response { status, body } = self.client.get(&next)?;
            if status != 200 {
                break Answer::Refused(root_cause(&body));
            }
            let taken = take(&body, &mut changes)?;
            let Some(path) = body["nextResultUri"].as_str() else {
                break Answer::Rows(changes);
            };
            path.clone_into(&mut next);
            if begin.elapsed() > QUERY_MAX || changes.len() > CHANGES_MAX {
                self.client.delete(&format!("{operation}/close"))?;
                bail!("no end within {} s and {CHANGES_MAX} changes", QUERY_MAX.as_secs());
            }
            if taken == 0 {
                thread::sleep(ASK_AGAIN);
            }
        };
        self.client.delete(&format!("{operation}/close"))?;
        Ok(answer)
    }

    /// Closes the session.
    ///
    /// # Errors
    ///
    /// A gateway that does not answer.
    pub(crate) fn close(self) -> Result<()> {
        self.client.delete(&format!("/v2/sessions/{}", self.handle)).map(|_| ())
    }
}

/// Appends the changes in one part of a query's result to `changes`, and returns how many there are.
fn take(body: &Value, changes: &mut Vec<Change>) -> Result<usize> {
    // A statement that declares something answers with a row that says OK, which is no result.
    if body["isQueryResult"].as_bool() != Some(true) {
        return Ok(0);
    }
    let rows = body["results"]["data"].as_array().map_or(&[][..], Vec::as_slice);
    for row in rows {
        let kind = match row["kind"].as_str() {
            Some("INSERT") => Kind::Insert,
            Some("UPDATE_BEFORE") => Kind::UpdateBefore,
            Some("UPDATE_AFTER") => Kind::UpdateAfter,
            Some("DELETE") => Kind::Delete,
            other => bail!("a row has the kind {other:?}"),
        };
        let fields = row["fields"].as_array().ok_or_else(|| anyhow!("a row has no fields"))?;
        let fields: Vec<String> =
            fields.iter().map(|field| field.as_str().map_or("NULL".to_owned(), quoted)).collect();
        changes.push(Change { kind, row: fields.join(",") });
    }
    Ok(rows.len())
}

/// Returns a value as text in the form that the files of queries use between commas.
fn quoted(text: &str) -> String {
    let needs_quotes = text.is_empty() || text == "NULL" || text.contains([',', '"', '\n', '\r']);
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_in_the_files() {
        let body = json!({ "isQueryResult": true, "results": { "data": [
            { "kind": "INSERT", "fields": ["1", null, "NULL", "", "a,b", "c \"d\""] },
            { "kind": "UPDATE_BEFORE", "fields": ["1"] },
        ] } });
        let mut changes = Vec::new();
        assert_eq!(take(&body, &mut changes).unwrap(), 2);
        assert_eq!(changes[0].row, r#"1,NULL,"NULL","","a,b","c ""d""""#);
        assert_eq!(changes[1].kind, Kind::UpdateBefore);
        assert!(
            take(&json!({ "isQueryResult": true, "results": { "data": [{ "kind": "?" }] } }), &mut changes)
                .is_err()
        );
        let declared = json!({ "isQueryResult": false, "results": { "data": [{ "kind": "INSERT", "fields": ["OK"] }] } });
        assert_eq!(take(&declared, &mut changes).unwrap(), 0);
    }
}
