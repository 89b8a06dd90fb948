//! Common parts of all join operators: the keys that must be equal, the condition on pairs, and the rows of
//! the output.

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_sql_functions::expression::{Typed, arrow_error};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::batch_of;

use super::Side;
use crate::exec::calc::schema_of;
use crate::exec::operator::Outcome;
use crate::plan::{Column, Join, JoinKind};

/// Inputs, keys, condition and output of a join, as all join operators need them.
pub struct Shape {
    /// Kind of the join: inner, outer, semi or anti.
    pub(super) kind: JoinKind,
    pub(super) inputs: [SchemaRef; 2],
    pub(super) output: SchemaRef,
    keys: [Vec<Typed>; 2],
    is_null_equal: Vec<bool>,
    /// Join condition beside the equal keys, rewritten to read only the columns that it needs; the side and
    /// the index of each of these columns; and their schema.
    condition: Option<(Typed, Vec<(Side, usize)>, SchemaRef)>,
}

impl Shape {
    /// Creates the common parts of a join whose inputs have the columns `left` and `right`, and whose output
    /// has `columns`.
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

    pub(super) fn key_types(&self) -> Vec<SqlType> {
        self.keys[0].iter().map(|key| key.of.clone()).collect()
    }

    /// Creates a converter from join keys to comparable bytes; `None` if the join has no keys, so that any
    /// two rows may match.
    pub(super) fn key_converter(&self) -> Outcome<Option<RowConverter>> {
        if self.keys[0].is_empty() {
            return Ok(None);
        }
        let fields = self.keys[0].iter().map(|key| SortField::new(key.of.arrow())).collect();
        RowConverter::new(fields).map(Some).map_err(arrow_error)
    }

    /// Evaluates the join keys of the rows of one input. The null buffer marks the rows that can match: a
    /// NULL key cannot, unless NULL equals NULL.
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

    /// Returns the join keys of rows of one input as bytes.
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

    /// Returns for which of `pairs` pairs the join condition holds; `None` if there is no condition. `column`
    /// gives the values of a column of one input, one for each pair.
    pub(super) fn holds(
        &self,
        pairs: usize,
        mut column: impl FnMut(Side, usize) -> Outcome<ArrayRef>,
    ) -> Outcome<Option<BooleanArray>> {
        let Some((condition, reads, schema)) = &self.condition else { return Ok(None) };
        let columns = reads.iter().map(|(side, place)| column(*side, *place)).collect::<Outcome<_>>()?;
        condition.evaluate_booleans(&batch_of(schema, columns, pairs)?).map(Some)
    }

    pub(super) fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Creates `rows` output rows from the columns of both inputs; an input that is `None` is padded with
    /// NULL.
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

    /// Returns whether the join emits rows of an input that have no match.
    pub(super) fn keeps(&self, side: Side) -> bool {
        match side {
            Side::Left => self.kind.keeps_left(),
            Side::Right => self.kind.keeps_right(),
        }
    }
}

/// Returns whether the join condition holds for the pair with the index `place`, that is, is neither FALSE
/// nor NULL.
pub(super) fn is_true(holds: &Option<BooleanArray>, place: usize) -> bool {
    holds.as_ref().is_none_or(|holds| holds.is_valid(place) && holds.value(place))
}

/// Join keys of the rows of a batch, as bytes.
pub(super) struct KeyBytes {
    rows: Option<Rows>,
    known: Option<NullBuffer>,
}

impl KeyBytes {
    /// Returns the join key of a row; `None` if the key contains a NULL that matches nothing.
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        if self.known.as_ref().is_some_and(|known| known.is_null(row)) {
            return None;
        }
        Some(self.rows.as_ref().map_or(&[][..], |rows| rows.row(row).data()))
    }
}

/// Rewrites a join condition to read only the columns that it needs. Returns it with the side and the index
/// of each of these columns in the input of that side, and with their schema.
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
