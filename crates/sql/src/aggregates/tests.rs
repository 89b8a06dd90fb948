//! Aggregates are held to Flink's results by tables of cases, and to a naive evaluator (`tests/oracle.rs`) by properties.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::util::display::array_value_to_string;
use chrono_tz::Tz;
use datafusion_common::ScalarValue;
use thalweg_model::{StateReader, StateWriter, VirtualClock};

use super::*;
use crate::functions::{Argument, Context};

mod oracle;
mod properties;
mod tables;
mod timing;

/// An argument that is a column.
fn column_of(of: &SqlType) -> Argument {
    Argument { of: of.clone(), is_nullable: true, literal: None }
}

/// An argument that is literal text.
fn text_literal(text: &str) -> Argument {
    let literal = Some(ScalarValue::Utf8(Some(text.to_owned())));
    Argument { of: SqlType::Char(text.chars().count() as u32), is_nullable: false, literal }
}

fn bind(name: &str, arguments: &[Argument]) -> Result<BoundAggregate, BindError> {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    (aggregate(name).expect("there is such a function").bind)(arguments, &context)
}

/// The accumulators of a call, of both kinds.
fn kinds(bound: &BoundAggregate) -> Vec<Box<dyn Accumulator>> {
    std::iter::once(&bound.create).chain(&bound.create_retractable).map(|create| create()).collect()
}

/// The values of a column as text.
fn shown(column: &ArrayRef) -> Vec<String> {
    let show = |row| match column.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(column, row).expect("every value can be shown"),
    };
    (0..column.len()).map(show).collect()
}

/// An accumulator of the same call that was loaded from what one saved.
fn reloaded(create: &Create, saved: &dyn Accumulator) -> Box<dyn Accumulator> {
    let mut state = StateWriter::default();
    saved.save(&mut state).expect("state can be written");
    let state = state.into_bytes();
    let mut loaded = create();
    let mut reader = StateReader::new(&state);
    loaded.load(&mut reader).expect("state can be read");
    reader.finish().expect("nothing is left over");
    loaded
}

fn mask(keep: &[Option<bool>]) -> BooleanArray {
    BooleanArray::from(keep.to_vec())
}
