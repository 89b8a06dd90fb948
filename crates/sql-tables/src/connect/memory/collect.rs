//! A sink that collects rows in memory, for tests. With checkpoints it is exact, so that tests can tell whether the rest of a
//! job is.
//!
//! With checkpoints the rows are encoded in the descriptions, and become visible when they are published. A description
//! begins with the number of batches that were published before, so publishing it again replaces its own batches. The
//! collected rows must outlive the process that a test plays, and only one sink of a job writes to them.

use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use thalweg_connectors::SinkError;
use thalweg_model::{Fault, Publisher, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;

use crate::connect::RowSink;

/// Rows that a sink has collected, each batch with its kinds of change.
pub type Collected = Arc<Mutex<Vec<Batch>>>;

type Batch = (RecordBatch, Option<Vec<RowKind>>);

/// A sink that collects rows in memory, for tests.
pub struct Collect {
    rows: Collected,
    /// With checkpoints, the batches since the last description.
    staged: Option<Vec<Batch>>,
    /// Number of batches that were described before.
    described: u64,
}

impl Collect {
    /// Creates a sink that collects its rows in `rows`.
    pub fn new(rows: Collected) -> Self {
        Collect { rows, staged: None, described: 0 }
    }
}

impl RowSink for Collect {
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault> {
        let batch = (rows.clone(), kinds.map(<[_]>::to_vec));
        match &mut self.staged {
            Some(staged) => staged.push(batch),
            None => self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(batch),
        }
        Ok(())
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        self.staged = Some(Vec::new());
        Some(Box::new(Show { rows: Arc::clone(&self.rows) }))
    }

    fn prepare(&mut self, _checkpoint: u64, _is_last: bool) -> Result<Vec<u8>, Fault> {
        let staged = self.staged.as_mut().map(std::mem::take).unwrap_or_default();
        if staged.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = encode(self.described, &staged).map_err(lost)?;
        self.described += staged.len() as u64;
        Ok(bytes)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.described)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.described = state.take()?;
        Ok(())
    }
}

/// The publisher of [`Collect`].
struct Show {
    rows: Collected,
}

impl Publisher for Show {
    fn publish(&mut self, prepared: &[u8]) -> Result<(), Fault> {
        if prepared.is_empty() {
            return Ok(());
        }
        let (first, batches) = decode(prepared).map_err(lost)?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        if rows.len() < first {
            let error = format!("{} batches are there, and {first} were published", rows.len());
            return Err(lost(error).into());
        }
        rows.truncate(first);
        rows.extend(batches);
        Ok(())
    }
}

fn encode(first: u64, batches: &[Batch]) -> Result<Vec<u8>, String> {
    let put = || -> Result<Vec<u8>, StateError> {
        let mut out = StateWriter::default();
        out.put(&(first, batches.len() as u64))?;
        for (rows, kinds) in batches {
            out.put(&encode_rows(rows).map_err(|error| StateError::Write(error.to_string()))?)?;
            let values = kinds.as_ref().map(|kinds| kinds.iter().map(|kind| *kind as i8).collect::<Vec<_>>());
            out.put(&values)?;
        }
        Ok(out.into_bytes())
    };
    put().map_err(|error| error.to_string())
}

fn encode_rows(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &rows.schema())?;
    writer.write(rows)?;
    writer.finish()?;
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Result<(u64, Vec<Batch>), String> {
    let take = || -> Result<(u64, Vec<Batch>), StateError> {
        let mut state = StateReader::new(bytes);
        let (first, count): (u64, u64) = state.take()?;
        let mut batches = Vec::new();
        for _ in 0..count {
            let bytes: Vec<u8> = state.take()?;
            let values: Option<Vec<i8>> = state.take()?;
            let rows = decode_rows(&bytes).map_err(|error| state.wrong(error.to_string()))?;
            let kinds = values.map(|values| values.into_iter().map(RowKind::of_value).collect());
            let kinds = match kinds {
                None => None,
                Some(Some(kinds)) => Some(kinds),
                Some(None) => return Err(state.wrong("a kind of change is unknown")),
            };
            batches.push((rows, kinds));
        }
        state.finish()?;
        Ok((first, batches))
    };
    take().map_err(|error| error.to_string())
}

fn decode_rows(bytes: &[u8]) -> Result<RecordBatch, ArrowError> {
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    reader.next().unwrap_or_else(|| Err(ArrowError::IpcError("there is no batch".to_owned())))
}

fn lost(reason: String) -> SinkError {
    SinkError::Lost { target: "collected rows".to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::bed::{batch, table, texts};

    fn shown(rows: &Collected) -> Vec<String> {
        let rows = rows.lock().unwrap();
        let texts = |(rows, kinds): &Batch| {
            let kinds = kinds.clone().unwrap_or_default();
            let kind = |row: usize| kinds.get(row).map_or(String::new(), RowKind::to_string);
            texts(rows).into_iter().enumerate().map(|(row, text)| kind(row) + &text).collect::<Vec<_>>()
        };
        rows.iter().flat_map(texts).collect()
    }

    /// Rows are visible when they are published, and once only, however often they are published.
    #[test]
    fn rows_are_visible_when_they_are_published() {
        let of = table("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')");
        let line = |value: i32| batch(&of, &format!("{{\"a\":{value}}}"));
        let rows = Collected::default();
        let mut plain = Collect::new(Arc::clone(&rows));
        plain.write(&line(1), Some(&[RowKind::Insert])).unwrap();
        assert_eq!(shown(&rows), ["+I1"]);
        rows.lock().unwrap().clear();

        let mut sink = Collect::new(Arc::clone(&rows));
        let mut publisher = sink.publisher().unwrap();
        sink.write(&line(1), Some(&[RowKind::Insert])).unwrap();
        let first = sink.prepare(1, false).unwrap();
        sink.write(&line(1), Some(&[RowKind::Delete])).unwrap();
        sink.write(&line(2), None).unwrap();
        let second = sink.prepare(2, false).unwrap();
        let mut state = StateWriter::default();
        sink.save(&mut state).unwrap();
        assert!(sink.prepare(3, false).unwrap().is_empty());
        assert!(shown(&rows).is_empty());
        assert_eq!(publisher.publish(&second).unwrap_err().code(), "OUTPUT_LOST");
        publisher.publish(&first).unwrap();
        assert_eq!(shown(&rows), ["+I1"]);
        publisher.publish(&second).unwrap();
        drop((sink, publisher));

        let mut sink = Collect::new(Arc::clone(&rows));
        let mut publisher = sink.publisher().unwrap();
        sink.load(&mut StateReader::new(&state.into_bytes())).unwrap();
        publisher.publish(&second).unwrap();
        sink.write(&line(3), None).unwrap();
        publisher.publish(&sink.prepare(3, true).unwrap()).unwrap();
        assert_eq!(shown(&rows), ["+I1", "-D1", "2", "3"]);
        for end in 1..second.len() {
            assert!(publisher.publish(&second[..end]).is_err(), "{end}");
        }
    }
}
