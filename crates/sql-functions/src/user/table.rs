//! Table functions: any number of rows for each row.
//!
//! The rows that belong to one row are an array of rows, so that UNNEST makes them rows beside the columns before them.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, StructArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;

use super::{FunctionError, Implementation, Signature, UserFunction, called, checked_column, signed, wrong};
use crate::functions::{Argument, BindError, Bound, EvaluationError, Kernel};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Greatest number of columns of the rows of a table function.
const COLUMNS_MAX: usize = 1_000;

/// A function with any number of rows for each row, as a program implements it.
pub trait TableFunction: Send + Sync {
    /// Returns the types of a call with these arguments. It is asked once for each call in SQL, when the query is planned.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    fn signature(&self, arguments: &[Argument]) -> Result<TableSignature, BindError>;

    /// Computes the rows that belong to each of `rows` input rows, at least one. Each argument is a column of `rows` rows, or
    /// one value for all of them, and has the Arrow type of its SQL type. The rows of an input row depend on its arguments
    /// alone.
    ///
    /// # Errors
    /// The reason why there are no rows, which fails the query.
    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<Rows, FunctionError>;

    /// Returns whether the function gives equal rows for equal arguments. One that does not is refused over rows that change.
    /// A deterministic call of constants is made once for a batch.
    fn is_deterministic(&self) -> bool {
        true
    }
}

/// Types of a table function's arguments and columns, for one call in SQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSignature {
    /// Types to which the arguments are widened, one for each argument, as in [`Signature`].
    pub arguments: Vec<SqlType>,
    /// Columns of the rows, at least one. SQL may give them other names.
    pub columns: Vec<RowColumn>,
}

/// A column of the rows of a table function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowColumn {
    /// Name of the column.
    pub name: String,
    /// SQL type of the column.
    pub of: SqlType,
    /// Whether the column may be NULL.
    pub is_nullable: bool,
}

impl TableSignature {
    /// Returns the signature of a call whose arguments have given types, without columns.
    pub fn new(arguments: impl Into<Vec<SqlType>>) -> Self {
        TableSignature { arguments: arguments.into(), columns: Vec::new() }
    }

    /// Returns this signature with one more column, which may be NULL.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, of: SqlType) -> Self {
        self.columns.push(RowColumn { name: name.into(), of, is_nullable: true });
        self
    }

    /// Returns this signature with one more column, which is never NULL.
    #[must_use]
    pub fn column_not_null(mut self, name: impl Into<String>, of: SqlType) -> Self {
        self.columns.push(RowColumn { name: name.into(), of, is_nullable: false });
        self
    }
}

/// Rows that a table function has made.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Number of the rows that belong to each input row, in their order.
    pub counts: Vec<usize>,
    /// Columns of all rows: first the rows of the first input row, then those of the next one.
    pub columns: Vec<ArrayRef>,
}

impl UserFunction {
    /// Binds the function to the types of its arguments as a table function. The result of its kernel is an array of rows,
    /// whose fields are the returned columns. Returns `None` if it is no table function.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    pub fn bind_table(&self, given: &[Argument]) -> Option<Result<(Bound, Vec<RowColumn>), BindError>> {
        let Implementation::Table(function) = &self.implementation else { return None };
        let mut columns = Vec::new();
        let signature = signed(given, || {
            let TableSignature { arguments, columns: told } = function.signature(given)?;
            columns = told;
            let fields = columns.iter().map(|column| (column.name.clone(), column.of.clone())).collect();
            Ok(Signature::new(arguments, SqlType::Array(Box::new(SqlType::Row(fields)))).not_null())
        });
        Some(signature.and_then(|signature| {
            check_columns(&columns)?;
            let Signature { arguments, result, is_nullable } = signature;
            let call = TableCall {
                name: Arc::clone(&self.name),
                function: Arc::clone(function),
                columns: columns.clone(),
                result: result.arrow(),
                is_deterministic: self.is_deterministic(),
            };
            Ok((Bound { arguments, result, is_nullable, kernel: Arc::new(call) }, columns))
        }))
    }
}

fn check_columns(columns: &[RowColumn]) -> Result<(), BindError> {
    if columns.len() > COLUMNS_MAX {
        let message = format!("its rows have {} columns, and {COLUMNS_MAX} are the most", columns.len());
        return Err(BindError::new(message));
    }
    let twice = (1..columns.len())
        .find(|place| columns[..*place].iter().any(|column| column.name == columns[*place].name));
    match twice {
        Some(place) => Err(BindError::new(format!("its rows have two columns `{}`", columns[place].name))),
        None => Ok(()),
    }
}

/// Kernel of a call of a table function.
struct TableCall {
    name: Arc<str>,
    function: Arc<dyn TableFunction>,
    columns: Vec<RowColumn>,
    /// Arrow type of the arrays of rows.
    result: DataType,
    is_deterministic: bool,
}

impl TableCall {
    /// Returns the rows of `rows` input rows as a column of arrays.
    fn arrays(&self, made: Rows, rows: usize) -> Result<ArrayRef, EvaluationError> {
        let name = &*self.name;
        let Rows { counts, columns } = made;
        if counts.len() != rows {
            return Err(wrong(name, &format!("returned {} counts for {rows} rows", counts.len())));
        }
        if columns.len() != self.columns.len() {
            let (made, promised) = (columns.len(), self.columns.len());
            return Err(wrong(name, &format!("returned {made} columns, and promised {promised}")));
        }
        let all = counts.iter().try_fold(0_usize, |all, count| all.checked_add(*count));
        let all = all.filter(|all| i32::try_from(*all).is_ok()).ok_or_else(|| {
            crate::scratch::too_long(&format!(
                "the user function {name} returned more than {} rows",
                i32::MAX
            ))
        })?;
        let columns = columns
            .into_iter()
            .zip(&self.columns)
            .map(|(values, column)| {
                let what = format!("for the column `{}` ", column.name);
                checked_column(name, &what, values, all, (&column.of, column.is_nullable))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let failed = |error: arrow::error::ArrowError| wrong(name, &format!("failed: {error}"));
        let DataType::List(item) = &self.result else {
            return Err(wrong(name, "has no rows"));
        };
        let DataType::Struct(fields) = item.data_type() else {
            return Err(wrong(name, "has no columns"));
        };
        let values = StructArray::try_new(fields.clone(), columns, None).map_err(failed)?;
        let offsets = OffsetBuffer::from_lengths(counts);
        let arrays = ListArray::try_new(Arc::clone(item), offsets, Arc::new(values), None);
        arrays.map(|arrays| Arc::new(arrays) as ArrayRef).map_err(failed)
    }
}

impl Kernel for TableCall {
    fn evaluate(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ColumnarValue, EvaluationError> {
        if rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&self.result)));
        }
        let is_constant = self.is_deterministic
            && arguments.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { rows };
        let made = called(&self.name, || self.function.call(arguments, rows))?;
        let arrays = self.arrays(made, rows)?;
        if !is_constant {
            return Ok(ColumnarValue::Array(arrays));
        }
        ScalarValue::try_from_array(&arrays, 0)
            .map(ColumnarValue::Scalar)
            .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
    }
}
