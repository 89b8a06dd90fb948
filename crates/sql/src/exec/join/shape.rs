//! What all joins have in common: which values must be equal, whether two rows belong together, and what is made of them.

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};

use super::Side;
use crate::exec::calc::{batch_of, schema_of};
use crate::exec::operator::Outcome;
use crate::expression::{Typed, arrow_error};
use crate::plan::{Column, Join, JoinKind};
use crate::types::SqlType;

/// What is joined, and into what.
pub struct Shape {
    /// What comes out.
    pub(super) kind: JoinKind,
    /// Of both inputs.
    pub(super) inputs: [SchemaRef; 2],
    /// Of the results.
    pub(super) output: SchemaRef,
    keys: [Vec<Typed>; 2],
    is_null_equal: Vec<bool>,
    /// The condition, over those columns only that it reads.
    condition: Option<(Typed, Vec<(Side, usize)>, SchemaRef)>,
}

impl Shape {
    /// Of a join of inputs with the columns `left` and `right`, whose results have `columns`.
    pub(super) fn new(join: &Join, left: &[Column], right: &[Column], columns: &[Column]) -> Self {
        Shape {
            kind: join.kind,
            inputs: [schema_of(left), schema_of(right)],
            output: schema_of(columns),
            keys: [
                join.keys.iter().map(|key| key.left.clone()).collect(),
                join.keys.iter().map(|key| key.right.clone()).collect(),
            ],
            is_null_equal: join.keys.iter().map(|key| key.is_null_equal).collect(),
            condition: join.condition.as_ref().map(|condition| narrowed(condition, left, right)),
        }
    }

    /// The types of what must be equal.
    pub(super) fn key_types(&self) -> Vec<SqlType> {
        self.keys[0].iter().map(|key| key.of.clone()).collect()
    }

    /// Makes comparable rows of keys; none if every two rows may meet.
    pub(super) fn key_converter(&self) -> Outcome<Option<RowConverter>> {
        if self.keys[0].is_empty() {
            return Ok(None);
        }
        let fields = self.keys[0].iter().map(|key| SortField::new(key.of.arrow())).collect();
        RowConverter::new(fields).map(Some).map_err(arrow_error)
    }

    /// What must be equal, of the rows of one side, and which of them may meet anybody at all: those without NULL.
    pub(super) fn keys(
        &self,
        side: Side,
        rows: &RecordBatch,
    ) -> Outcome<(Vec<ArrayRef>, Option<NullBuffer>)> {
        let keys = &self.keys[side.index()];
        let columns: Vec<ArrayRef> =
            keys.iter().map(|key| key.evaluate_column(rows)).collect::<Outcome<_>>()?;
        let mut known = None;
        for (column, is_null_equal) in columns.iter().zip(&self.is_null_equal) {
            if !is_null_equal {
                known = NullBuffer::union(known.as_ref(), column.logical_nulls().as_ref());
            }
        }
        Ok((columns, known.filter(|known| known.null_count() > 0)))
    }

    /// The keys of rows as bytes.
    pub(super) fn key_bytes(
        &self,
        converter: Option<&RowConverter>,
        side: Side,
        rows: &RecordBatch,
    ) -> Outcome<KeyBytes> {
        let (columns, known) = self.keys(side, rows)?;
        let rows = converter
            .map(|converter| converter.convert_columns(&columns))
            .transpose()
            .map_err(arrow_error)?;
        Ok(KeyBytes { rows, known })
    }

    /// For which of so many pairs the condition holds; none if it does for all. `column` gives the values of a column of a
    /// side, one for each pair.
    pub(super) fn holds(
        &self,
        pairs: usize,
        mut column: impl FnMut(Side, usize) -> Outcome<ArrayRef>,
    ) -> Outcome<Option<BooleanArray>> {
        let Some((condition, reads, schema)) = &self.condition else { return Ok(None) };
        let columns = reads.iter().map(|(side, place)| column(*side, *place)).collect::<Outcome<_>>()?;
        condition.evaluate_booleans(&batch_of(schema, columns, pairs)?).map(Some)
    }

    /// Whether there is more to be checked of two rows than their keys.
    pub(super) fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Results of so many rows of both sides; a side that is not there is NULL.
    pub(super) fn results(
        &self,
        rows: usize,
        left: Option<Vec<ArrayRef>>,
        right: Option<Vec<ArrayRef>>,
    ) -> Outcome<RecordBatch> {
        let mut columns = left.unwrap_or_else(|| self.padding(Side::Left, rows));
        if !self.kind.is_half() {
            columns.extend(right.unwrap_or_else(|| self.padding(Side::Right, rows)));
        }
        batch_of(&self.output, columns, rows)
    }

    fn padding(&self, side: Side, rows: usize) -> Vec<ArrayRef> {
        let fields = self.inputs[side.index()].fields();
        fields.iter().map(|field| new_null_array(field.data_type(), rows)).collect()
    }

    /// Whether rows of a side come out that met nobody.
    pub(super) fn keeps(&self, side: Side) -> bool {
        match side {
            Side::Left => self.kind.keeps_left(),
            Side::Right => self.kind.keeps_right(),
        }
    }
}

/// Whether a condition holds: it is neither FALSE nor NULL.
pub(super) fn is_true(holds: &Option<BooleanArray>, place: usize) -> bool {
    holds.as_ref().is_none_or(|holds| holds.is_valid(place) && holds.value(place))
}

/// Keys of rows, as bytes.
pub(super) struct KeyBytes {
    rows: Option<Rows>,
    known: Option<NullBuffer>,
}

impl KeyBytes {
    /// The key of a row; none if it equals no key.
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        if self.known.as_ref().is_some_and(|known| known.is_null(row)) {
            return None;
        }
        Some(self.rows.as_ref().map_or(&[][..], |rows| rows.row(row).data()))
    }
}

/// A condition over the columns that it reads, and which they are.
fn narrowed(condition: &Typed, left: &[Column], right: &[Column]) -> (Typed, Vec<(Side, usize)>, SchemaRef) {
    let mut places: Vec<usize> = Vec::new();
    condition.columns(&mut |place| {
        if !places.contains(&place) {
            places.push(place);
        }
    });
    let column = |place: usize| left.get(place).or_else(|| right.get(place - left.len()));
    let narrow = condition.replaced(&|place| {
        let column = column(place);
        let of = column.map_or(SqlType::Null, |column| column.of.clone());
        Typed::column(places.iter().position(|known| *known == place).unwrap_or_default(), of, true)
    });
    let schema = schema_of(&places.iter().filter_map(|place| column(*place).cloned()).collect::<Vec<_>>());
    let of_side = |place: usize| match place.checked_sub(left.len()) {
        None => (Side::Left, place),
        Some(place) => (Side::Right, place),
    };
    (narrow, places.into_iter().map(of_side).collect(), schema)
}
