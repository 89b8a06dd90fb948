//! Tests of aggregate functions: tables of cases with Flink's results, and properties against an oracle
//! (`tests/oracle.rs`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::util::display::array_value_to_string;
use chrono_tz::Tz;
use thalweg_model::{StateReader, StateWriter, VirtualClock};

use super::*;
use crate::functions::{Argument, Context};
use crate::values::ScalarValue;

mod oracle;
mod properties;
mod tables;
mod timing;

/// Returns an argument of an aggregate that is a column.
fn column_of(of: &SqlType) -> Argument {
    Argument { of: of.clone(), is_nullable: true, literal: None }
}

/// Returns an argument of an aggregate that is a text literal.
fn text_literal(text: &str) -> Argument {
    let literal = Some(ScalarValue::Utf8(Some(text.to_owned())));
    Argument { of: SqlType::Char(text.chars().count() as u32), is_nullable: false, literal }
}

fn bind(name: &str, arguments: &[Argument]) -> Result<BoundAggregate, BindError> {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    (aggregate(name).expect("there is such a function").bind)(arguments, &context)
}

/// Creates the accumulators of an aggregate call, without and with retraction.
fn kinds(bound: &BoundAggregate) -> Vec<Box<dyn Accumulator>> {
    std::iter::once(&bound.create).chain(&bound.create_retractable).map(|create| create()).collect()
}

/// Returns the values of a column of results as text.
fn shown(column: &ArrayRef) -> Vec<String> {
    let show = |row| match column.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(column, row).expect("every value can be shown"),
    };
    (0..column.len()).map(show).collect()
}

/// Returns a new accumulator of an aggregate call, loaded from the saved state of another.
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
