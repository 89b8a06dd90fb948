//! Connectors: where rows come from and go to.

pub mod memory;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_model::{EventTime, Fault};

use crate::catalog::Table;
use crate::error::{Code, SqlError};
use crate::formats::RowKind;
use crate::scan::rows::RowSource;

/// Where the rows of a query go.
pub trait RowSink: Send {
    /// Takes rows.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault>;

    /// Sees a watermark, after every row before it.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn on_watermark(&mut self, watermark: EventTime) -> Result<(), Fault> {
        let _ = watermark;
        Ok(())
    }

    /// Publishes everything: the stream has ended.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Bytes held for buffers.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// What connectors are given of the world.
#[derive(Clone, Default)]
pub struct World {
    /// Seeds what is made at random.
    pub seed: u64,
    /// Rows of tables that have no connector, by the name of the table: their physical columns.
    pub given: BTreeMap<String, Arc<Vec<RecordBatch>>>,
}

/// The splits of a table, each with the columns at `wanted`.
///
/// # Errors
/// [`SqlError`] if its options are wrong, or it cannot be opened.
pub fn bind_source(
    table: &Table,
    wanted: &[usize],
    world: &World,
) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
    match world.given.get(&table.name) {
        Some(rows) => Ok(vec![Box::new(memory::Given::new(table, wanted, Arc::clone(rows)))]),
        None => Err(SqlError::new(Code::Invalid, format!("`{}` has no connector", table.name))
            .at(table.options_place)),
    }
}

/// A stream that sinks share.
pub type Output = Arc<std::sync::Mutex<Box<dyn std::io::Write + Send>>>;

/// What takes rows with the columns at `columns` of a table.
///
/// # Errors
/// [`SqlError`] always.
pub fn bind_sink(table: &Table, _columns: &[usize], _world: &World) -> Result<Box<dyn RowSink>, SqlError> {
    Err(SqlError::new(Code::Invalid, format!("`{}` has no connector", table.name)).at(table.options_place))
}
