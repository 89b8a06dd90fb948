//! Helpers for tests of connectors: a temporary folder, tables from declarations, rows as text.

mod declaration;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use thalweg_model::{Fault, ProcessingTime, SourceStatus, StateReader, StateWriter};
use thalweg_sql_formats::{Format, FormatColumn, RowKind};
use thalweg_sql_functions::functions::cast::Writer;
use thalweg_sql_functions::types::SqlType;

use super::{World, bind_sink, bind_source};
use crate::error::SqlError;
use crate::scan::rows::{RowSource, Rows};
use crate::table::Table;

/// A temporary folder, removed on drop.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: OnceLock<Mutex<u64>> = OnceLock::new();
        let mut count = COUNT.get_or_init(Mutex::default).lock().unwrap();
        *count += 1;
        let path = std::env::temp_dir().join(format!("thalweg-connect-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file of the temporary folder, replacing an existing one, and creates missing directories.
    pub(super) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A rename gives the file a new identity; writing to the existing file would keep the old
        // identity.
        let aside = path.with_extension("put");
        fs::write(&aside, bytes).unwrap();
        fs::rename(aside, path).unwrap();
    }

    pub(super) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Returns the names of all files below the temporary folder, including hidden ones, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        walk(&self.0, &self.0, &mut names);
        names.sort();
        names
    }

    /// Returns an environment of connectors ([`World`]) in which relative paths begin in the temporary
    /// folder.
    pub(super) fn world(&self) -> World {
        World { base: self.0.clone(), ..World::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn walk(root: &Path, directory: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, names);
        } else {
            names.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

/// Returns the table that `CREATE TABLE t ..` declares.
pub(crate) fn table(declaration: &str) -> Table {
    declaration::declared(declaration)
}

/// Opens all sources of a table, with all of its columns that come from a connector.
pub(super) fn sources(table: &Table, world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
    let wanted: Vec<usize> = (0..table.columns.len()).collect();
    bind_source(table, &wanted, world)
}

/// Returns all rows of a table, split by split, reading at most `rows_max` at a time.
pub(super) fn rows_of(table: &Table, world: &World, rows_max: usize) -> Result<Vec<String>, String> {
    let mut rows = Vec::new();
    for source in sources(table, world).map_err(|error| error.to_string())? {
        let mut source = source;
        rows.extend(drain(source.as_mut(), rows_max).map_err(|fault| fault.to_string())?);
    }
    Ok(rows)
}

/// Reads all rows of a source up to its end.
pub(super) fn drain(source: &mut dyn RowSource, rows_max: usize) -> Result<Vec<String>, Fault> {
    let mut rows = Vec::new();
    let mut now = ProcessingTime::from_nanos(1_000_000_000);
    loop {
        let polled = source.poll(now, rows_max)?;
        if let Some(found) = polled.rows {
            assert!(found.columns.num_rows() <= rows_max, "more rows than were asked for");
            rows.extend(shown(&found));
        }
        match polled.status {
            SourceStatus::Ended => return Ok(rows),
            SourceStatus::IdleUntil(at) => {
                now = at;
                std::thread::yield_now();
            }
            _ => {}
        }
    }
}

/// Formats rows as text: values as a cast to STRING writes them, after the kind of change if there is one.
pub(super) fn shown(rows: &Rows) -> Vec<String> {
    texts(&rows.columns)
        .into_iter()
        .enumerate()
        .map(|(row, text)| match &rows.kinds {
            Some(kinds) => format!("{}{text}", kinds[row]),
            None => text,
        })
        .collect()
}

/// Formats the rows of a batch as text, with commas between values.
pub(super) fn texts(rows: &RecordBatch) -> Vec<String> {
    let schema = rows.schema();
    let writers: Vec<Writer> = schema
        .fields()
        .iter()
        .map(|field| Writer::new(&SqlType::of_field(field).unwrap(), Tz::UTC))
        .collect();
    (0..rows.num_rows())
        .map(|row| {
            let mut text = String::new();
            for (place, (writer, column)) in writers.iter().zip(rows.columns()).enumerate() {
                if place > 0 {
                    text.push(',');
                }
                writer.write(column.as_ref(), row, &mut text);
            }
            text
        })
        .collect()
}

/// Creates a batch of the columns that are written to a table, one row for each line of JSON.
pub(super) fn batch(table: &Table, lines: &str) -> RecordBatch {
    let columns: Vec<FormatColumn> = table
        .written_columns()
        .into_iter()
        .map(|place| {
            let column = &table.columns[place];
            FormatColumn { name: column.name.clone(), of: column.of.clone(), is_nullable: column.is_nullable }
        })
        .collect();
    let format = Format::bind("json", &Default::default(), &columns).unwrap();
    let mut decoder = format.decoder(&(0..columns.len()).collect::<Vec<_>>());
    decoder.take(lines.as_bytes(), true, 100_000, &mut |bad| panic!("{bad:?}"));
    decoder.finish().rows
}

/// Writes rows to a table through its sink and ends the query.
pub(super) fn write(
    table: &Table,
    world: &World,
    lines: &str,
    kinds: Option<&[RowKind]>,
) -> Result<(), String> {
    let mut sink = bind_sink(table, &table.written_columns(), world).map_err(|error| error.to_string())?;
    sink.write(&batch(table, lines), kinds).map_err(|fault| fault.to_string())?;
    sink.finish().map_err(|fault| fault.to_string())
}

/// Returns the saved position of a source as bytes.
pub(super) fn saved(source: &dyn RowSource) -> Vec<u8> {
    let mut state = StateWriter::default();
    source.save(&mut state).unwrap();
    state.into_bytes()
}

/// Continues a source from a saved position.
pub(super) fn restore(source: &mut dyn RowSource, bytes: &[u8]) -> Result<(), String> {
    let mut state = StateReader::new(bytes);
    source.load(&mut state).map_err(|error| error.to_string())?;
    state.finish().map_err(|error| error.to_string())
}
