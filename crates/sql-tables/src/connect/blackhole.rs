//! `blackhole`: accepts all rows and discards them.
//!
//! Source: Flink's documentation, "BlackHole SQL Connector".

use arrow::record_batch::RecordBatch;
use thalweg_model::Fault;
use thalweg_sql_formats::RowKind;

use super::layout::check_metadata;
use super::options::Given;
use super::{Abilities, Connection, RowSink, World};
use crate::error::SqlError;

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    check_metadata(given.table(), "blackhole", &[])?;
    given.parallelism("sink.parallelism")?;
    Ok(Box::new(Blackhole))
}

struct Blackhole;

impl Connection for Blackhole {
    fn abilities(&self) -> Abilities {
        Abilities { writes: true, takes_changes: true, ..Abilities::default() }
    }

    fn sink(&self, _: &[usize], _: &World) -> Result<Box<dyn RowSink>, SqlError> {
        Ok(Box::new(Blackhole))
    }
}

impl RowSink for Blackhole {
    fn write(&mut self, _: &RecordBatch, _: Option<&[RowKind]>) -> Result<(), Fault> {
        Ok(())
    }
}
