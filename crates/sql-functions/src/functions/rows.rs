//! Access to fields of SQL rows: `row.field`, which queries write as names separated by periods.
//!
//! A field of a row that is NULL is NULL.
//!
//! Source: Flink documentation, "System (Built-in) Functions", "Value Access Functions".

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::{is_null, nullif};
use arrow::datatypes::DataType;

use super::each::failure;
use super::{Argument, BindError, Bound, EvaluationError, Function, column};
use crate::suggestion::nearest;
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// The function that stands for `row.field` in a plan: its arguments are the row and the field's name.
pub static ROWS: &[Function] = &[Function {
    name: "FIELD",
    usage: "row.field",
    is_deterministic: true,
    bind: |given, _| bind_field(given),
}];

/// Binds the access to a field of a row; the second argument is the field's name.
///
/// # Errors
/// [`BindError`] if the row has no such field.
pub fn bind_field(given: &[Argument]) -> Result<Bound, BindError> {
    let [row, name] = given else { return Err(BindError::count(given.len())) };
    let SqlType::Row(fields) = &row.of else {
        return Err(BindError::new(format!("{} has no fields", row.of)));
    };
    let Some(name_text) = name.text() else {
        return Err(BindError::new("the name of a field is text that is written"));
    };
    let Some(place) = fields.iter().position(|(known, _)| known == name_text) else {
        let names = || fields.iter().map(|(known, _)| known.as_str());
        let help = match nearest(name_text, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(BindError::new(format!("there is no field `{name_text}`: {help}")));
    };
    Ok(field_at(row, name, place, &fields[place].1))
}

/// Binds the access to a field of a row by its position, a literal that counts from 1.
///
/// # Errors
/// [`BindError`] if the row has no such field.
pub fn bind_nth_field(given: &[Argument]) -> Result<Bound, BindError> {
    let [row, position] = given else { return Err(BindError::count(given.len())) };
    let SqlType::Row(fields) = &row.of else {
        return Err(BindError::new(format!("{} has no fields", row.of)));
    };
    let literal = position.literal.as_ref().filter(|_| position.of.is_integer());
    let number = match literal.and_then(|literal| literal.cast_to(&DataType::Int64).ok()) {
        Some(ScalarValue::Int64(Some(number))) => number,
        _ => return Err(BindError::new("the position of a field is a number that is written: row[1]")),
    };
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match place.and_then(|place| Some((place, fields.get(place)?))) {
        Some((place, (_, of))) => Ok(field_at(row, position, place, of)),
        None => Err(BindError::new(format!(
            "there is no field {number}: the row has the fields 1 to {}",
            fields.len()
        ))),
    }
}

fn field_at(row: &Argument, key: &Argument, place: usize, of: &SqlType) -> Bound {
    let evaluate = move |arguments: &[ColumnarValue], rows: usize| {
        let of_row = arguments.first().ok_or_else(|| failure(&"there is no row"))?;
        let row = column(of_row, rows)?;
        let row = row.as_struct_opt().filter(|row| place < row.num_columns());
        let row = row.ok_or_else(|| failure(&"an argument is no such row"))?;
        let field = row.column(place);
        if row.null_count() == 0 {
            return Ok(ColumnarValue::Array(Arc::clone(field)));
        }
        // A row that is NULL may have values in the slots of its fields, so these fields are set to NULL.
        let field = is_null(row).and_then(|nulls| nullif(field, &nulls)).map_err(|error| failure(&error))?;
        Ok::<_, EvaluationError>(ColumnarValue::Array(field))
    };
    Bound {
        arguments: vec![row.of.clone(), key.of.clone()],
        result: of.clone(),
        is_nullable: true,
        kernel: Arc::new(evaluate),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringArray, StructArray};
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::DataType;

    use super::*;
    use crate::values::ScalarValue;

    fn bind(name: &str) -> Result<Bound, BindError> {
        let of = SqlType::Row(vec![("id".into(), SqlType::BigInt), ("name".into(), SqlType::STRING)]);
        let row = Argument { of, is_nullable: true, literal: None };
        let literal = Some(ScalarValue::Utf8(Some(name.to_owned())));
        let name = Argument { of: SqlType::STRING, is_nullable: false, literal };
        bind_field(&[row, name])
    }

    /// Access to a field of a row gives NULL where the field or the row is NULL, also in sliced columns, as
    /// batches have them.
    #[test]
    fn fields_are_null_where_they_or_their_rows_are() {
        let of = bind("id").expect("bound").arguments[0].arrow();
        let DataType::Struct(fields) = of else { panic!("{of}") };
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(9), Some(1), None, Some(3)]));
        let names: ArrayRef = Arc::new(StringArray::from(vec!["x", "a", "b", ""]));
        let nulls = NullBuffer::from(vec![true, true, true, false]);
        let rows = StructArray::new(fields.clone(), vec![Arc::clone(&ids), Arc::clone(&names)], Some(nulls));
        let whole = StructArray::new(fields, vec![Arc::clone(&ids), Arc::clone(&names)], None);
        let check = |rows: &StructArray, name: &str, expected: ArrayRef| {
            let arguments = [
                ColumnarValue::Array(Arc::new(rows.clone())),
                ColumnarValue::Scalar(ScalarValue::Utf8(Some(name.to_owned()))),
            ];
            let field = bind(name).expect("bound").kernel.evaluate(&arguments, rows.len()).expect("a column");
            assert_eq!(field.to_array(rows.len()).expect("a column").as_ref(), expected.as_ref(), "{name}");
        };
        check(&rows.slice(1, 3), "id", Arc::new(Int64Array::from(vec![Some(1), None, None])));
        check(&rows.slice(1, 3), "name", Arc::new(StringArray::from(vec![Some("a"), Some("b"), None])));
        check(&whole, "id", ids);
        check(&whole, "name", names);
    }

    #[test]
    fn fields_that_there_are_not_are_refused() {
        let refused = |name: &str, words: &str| {
            let error = bind(name).map(|_| ()).expect_err(name);
            assert!(error.0.contains(words), "{error}");
        };
        refused("nam", "did you mean `name`?");
        refused("price", "there are id, name");
    }
}
