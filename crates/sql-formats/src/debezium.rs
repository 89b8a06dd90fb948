//! Changes of rows captured from databases by Debezium, `'format' = 'debezium-json'`.
//!
//! A record is a line with an object: `op` is the operation, `before` and `after` hold the row; other keys (`source`,
//! `ts_ms`, `transaction`) are ignored.
//!
//! | `op` | rows |
//! |---|---|
//! | `c`, `r`: created, read from a snapshot | `+I` after |
//! | `u`: updated | `-U` before, `+U` after |
//! | `d`: deleted | `-D` before |
//!
//! The two halves of an update are written separately: `+I` and `+U` as `c`, `-U` and `-D` as `d`.
//!
//! | option | default | |
//! |---|---|---|
//! | `debezium-json.schema-include` | false | the object stands in `payload`, beside its `schema`; for reading only |
//!
//! Further options are those of `json`, with the prefix of this format, except the options about missing
//! fields and about Jackson's parsers.
//!
//! Sources: Flink's documentation, "Debezium Format"; `DebeziumJsonDeserializationSchema`,
//! `DebeziumJsonSerializationSchema`, `DebeziumJsonFormatFactory`. Differs from Flink in the points in which
//! the format `json` does. There are no metadata columns.

#[cfg(test)]
mod tests;

use arrow::record_batch::RecordBatch;

use super::column::Bad;
use super::json::{
    Broken, EncodeRules, JsonOptions, JsonRow, JsonRows, Scan, Slot, Walk, broken, string_of, text_of,
};
use super::lines::{LineDecoder, LineRules, Records};
use super::options::Given;
use super::{Decoded, Encoder, FormatColumn, FormatError, RowKind};

#[derive(Clone, Debug)]
pub(super) struct DebeziumOptions {
    json: JsonOptions,
    has_schema: bool,
}

impl DebeziumOptions {
    pub(super) fn bind(given: &mut Given<'_>, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        let has_schema = given.flag("schema-include", false)?;
        Ok(DebeziumOptions { json: JsonOptions::bind_common(given, columns)?, has_schema })
    }
}

pub(super) type DebeziumDecoder = LineDecoder<DebeziumRecords>;

impl DebeziumDecoder {
    pub(super) fn new(options: &DebeziumOptions, columns: &[FormatColumn], wanted: &[usize]) -> Self {
        let ignores_bad = options.json.values.ignores_bad;
        let rules = LineRules { has_mark: true, skips_blank: true, ignores_bad };
        let own = |keys: &[&str]| Walk::new(keys.iter().map(|key| (*key).to_owned()));
        let records = DebeziumRecords {
            outer: options.has_schema.then(|| own(&["payload"])),
            envelope: own(&["before", "after", "op"]),
            rows: JsonRows::new(options.json.values, columns, wanted),
            kinds: Vec::new(),
        };
        LineDecoder::of(records, rules)
    }
}

pub(super) struct DebeziumRecords {
    /// Finds the change under the key `payload` of an outer object; `None` unless the option `schema-include`
    /// is set.
    outer: Option<Walk>,
    envelope: Walk,
    rows: JsonRows,
    kinds: Vec<RowKind>,
}

impl Records for DebeziumRecords {
    fn read(&mut self, raw: &[u8]) -> Result<(), Bad> {
        let text = text_of(raw)?;
        let before = self.rows.mark();
        let read = self.change(text);
        if read.is_err() {
            self.rows.reset(before);
            self.kinds.truncate(self.rows.len());
        }
        read
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn finish(&mut self) -> Decoded {
        Decoded { rows: self.rows.finish(), kinds: Some(std::mem::take(&mut self.kinds)) }
    }

    fn name(&self, column: usize) -> &str {
        self.rows.name(column)
    }

    fn ignored_values(&self) -> u64 {
        self.rows.ignored
    }
}

impl DebeziumRecords {
    /// Appends the one or two rows of a change.
    fn change(&mut self, text: &str) -> Result<(), Bad> {
        let [before, after, op] = self.parts(text).map_err(|at| broken(at, text))??;
        let mut letters = Vec::new();
        match string_of(op, text, &mut letters) {
            Some(b"c" | b"r") => self.row(text, after, "after", RowKind::Insert),
            Some(b"u") => {
                self.row(text, before, "before", RowKind::UpdateBefore)?;
                self.row(text, after, "after", RowKind::UpdateAfter)
            }
            Some(b"d") => self.row(text, before, "before", RowKind::Delete),
            _ if op == Slot::MISSING => Err(bad("the record has no 'op'")),
            _ => Err(bad(&format!(
                "'op' is {}, which is none of \"c\", \"r\", \"u\" and \"d\"",
                op.shown(text)
            ))),
        }
    }

    /// Finds the values of `before`, `after` and `op` in a record of Debezium.
    fn parts(&mut self, text: &str) -> Result<Result<[Slot; 3], Bad>, Broken> {
        let mut scan = Scan::new(text);
        scan.pass_blanks();
        let mut parts = [Slot::MISSING; 3];
        match &mut self.outer {
            None => {
                self.envelope.object(text, &mut scan, 0, &mut parts)?;
                scan.expect_end()?;
            }
            Some(outer) => {
                let mut payload = [Slot::MISSING];
                outer.object(text, &mut scan, 0, &mut payload)?;
                scan.expect_end()?;
                if !payload[0].is_object() {
                    let reason = "the record has no object 'payload': unset 'debezium-json.schema-include'";
                    return Ok(Err(bad(reason)));
                }
                self.envelope.object(text, &mut Scan::within(text, payload[0]), 1, &mut parts)?;
            }
        }
        Ok(Ok(parts))
    }

    fn row(&mut self, text: &str, slot: Slot, name: &str, kind: RowKind) -> Result<(), Bad> {
        if slot.is_nothing() {
            let advice = match name {
                "before" => ": with PostgreSQL, set REPLICA IDENTITY of the table to FULL",
                _ => "",
            };
            return Err(bad(&format!("the record has no '{name}', which its 'op' asks for{advice}")));
        }
        if !slot.is_object() {
            return Err(bad(&format!("'{name}' is {}, which is no object", slot.shown(text))));
        }
        self.rows.scan(text, &mut Scan::within(text, slot), 2).map_err(|at| broken(at, text))?;
        self.rows.append(text)?;
        self.kinds.push(kind);
        Ok(())
    }
}

fn bad(reason: &str) -> Bad {
    Bad { column: None, reason: reason.to_owned() }
}

pub(super) struct DebeziumEncoder {
    row: JsonRow,
}

impl DebeziumEncoder {
    pub(super) fn new(options: DebeziumOptions, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        if options.has_schema {
            let reason = "schemas are read, but not written: unset it for a table that is written to";
            return Err(FormatError::Option {
                option: "debezium-json.schema-include".to_owned(),
                reason: reason.to_owned(),
            });
        }
        Ok(DebeziumEncoder { row: JsonRow::new(options.json.encode, columns) })
    }

    fn rules(&self) -> &EncodeRules {
        self.row.rules()
    }
}

impl Encoder for DebeziumEncoder {
    fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let cells = self.row.cells(rows)?;
        for row in 0..rows.num_rows() {
            let kind = kinds.and_then(|kinds| kinds.get(row)).unwrap_or(&RowKind::Insert);
            let (before, behind) = match (kind, self.rules().omits_null) {
                (RowKind::Insert | RowKind::UpdateAfter, false) => {
                    ("{\"before\":null,\"after\":", ",\"op\":\"c\"}\n")
                }
                (RowKind::Insert | RowKind::UpdateAfter, true) => ("{\"after\":", ",\"op\":\"c\"}\n"),
                (_, false) => ("{\"before\":", ",\"after\":null,\"op\":\"d\"}\n"),
                (_, true) => ("{\"before\":", ",\"op\":\"d\"}\n"),
            };
            let len = to.len();
            to.extend_from_slice(before.as_bytes());
            if let Err(error) = self.row.write(&cells, row, to) {
                to.truncate(len);
                return Err(error);
            }
            to.extend_from_slice(behind.as_bytes());
        }
        Ok(())
    }
}
