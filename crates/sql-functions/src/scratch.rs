//! Memory for the intermediate results of expressions.
//!
//! Results of text and arrays may be far longer than their arguments. So a kernel asks for memory before it builds
//! such a result, and an evaluation returns all its memory when it ends. An operator opens a scope by [`within`]; the
//! memory of evaluations inside is granted by the operator's [`Allowance`], which asks the memory budget. Outside a
//! scope, as in tests of single functions, only the bounds of each single function apply.
//!
//! An evaluation of several rows may use [`EVALUATION_BYTES_MAX`]. Above that it fails with [`RESULT_TOO_LONG`], and
//! the operator evaluates each half of the rows separately. The evaluation of a single row may use one of
//! [`ROW_PARTS`] parts of the memory budget. Above that the row has no result, and the query fails.
//!
//! The scope belongs to the thread: an evaluation begins and ends within one step of a task, and kernels have no
//! other argument by which to reach the scope.

use std::cell::RefCell;

use arrow::array::{Array, ArrayData, AsArray, GenericByteArray};
use arrow::datatypes::{ByteArrayType, DataType};
use thalweg_model::Allowance;

use crate::functions::EvaluationError;
use crate::values::ColumnarValue;

#[cfg(test)]
mod tests;

/// Error code for an intermediate result that does not fit into the memory of its evaluation.
pub const RESULT_TOO_LONG: &str = "RESULT_TOO_LONG";

/// Greatest number of bytes that the intermediate results of an evaluation of several rows may take: 8 MiB,
/// which is 2 KiB per row of a full batch.
pub const EVALUATION_BYTES_MAX: usize = 8 << 20;

/// Divisor of the memory budget: evaluating one row may use one quarter of it. The rest is for evaluations by
/// other workers and for records on edges, the paths between operators.
pub const ROW_PARTS: usize = 4;

/// Bytes that each evaluation may use without asking the memory budget: 1 MiB. Most evaluations need less.
const FREE_BYTES: usize = 1 << 20;

/// Number of bytes up to which a scalar is repeated for all rows of a batch without asking the memory budget:
/// 256 KiB for all repetitions together.
pub(crate) const UNCHECKED_BYTES_MAX: usize = 256 << 10;

/// Least number of bytes for which an intermediate result asks the memory budget at a time: 64 KiB.
const GRANT_BYTES_MIN: usize = 64 << 10;

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

struct Scope {
    allowance: Allowance,
    /// Bytes that intermediate results use, including the first 1 MiB, for which the memory budget is not
    /// asked.
    used_bytes: usize,
    /// Bytes that the operator's memory allowance has granted.
    asked_bytes: usize,
    limit_bytes: usize,
}

/// Runs the evaluation of a constant expression while a query is planned. An intermediate result above 1 MiB
/// fails here, and the expression is computed again for each batch of rows instead, because a plan stores the
/// results of its constant expressions and is copied.
pub fn folding<T>(run: impl FnOnce() -> T) -> T {
    scoped(Allowance::default(), FREE_BYTES, run)
}

/// Runs an evaluation of `rows` rows. The memory of its intermediate results is asked from `allowance`, and
/// is given back to it at the latest when the evaluation ends.
pub fn within<T>(allowance: &Allowance, rows: usize, run: impl FnOnce() -> T) -> T {
    let limit_bytes = match rows {
        0 | 1 => (allowance.limit_bytes() / ROW_PARTS).max(FREE_BYTES),
        _ => EVALUATION_BYTES_MAX,
    };
    scoped(allowance.clone(), limit_bytes, run)
}

fn scoped<T>(allowance: Allowance, limit_bytes: usize, run: impl FnOnce() -> T) -> T {
    let scope = Scope { allowance, used_bytes: 0, asked_bytes: 0, limit_bytes };
    /// Guard that ends the memory scope of an evaluation, also when the evaluation panics.
    struct Ending(Option<Scope>);
    impl Drop for Ending {
        fn drop(&mut self) {
            if let Some(ended) = SCOPE.replace(self.0.take()) {
                ended.allowance.give_back(ended.asked_bytes);
            }
        }
    }
    let _ending = Ending(SCOPE.replace(Some(scope)));
    run()
}

/// Asks the operator's memory allowance for `bytes`, which the evaluation holds until it ends or gives them
/// back.
fn ask(bytes: usize) -> Result<(), EvaluationError> {
    SCOPE.with_borrow_mut(|scope| {
        let Some(scope) = scope else { return Ok(()) };
        let used_bytes = scope.used_bytes.saturating_add(bytes);
        if used_bytes > scope.limit_bytes {
            return Err(too_long(&format!(
                "intermediate results need more than {} bytes: shorten the arguments or raise the memory budget, of which \
                 one row may use a quarter",
                scope.limit_bytes
            )));
        }
        let missing_bytes = used_bytes.saturating_sub(FREE_BYTES + scope.asked_bytes);
        if missing_bytes > 0 && !scope.allowance.ask_for_spare(missing_bytes) {
            return Err(too_long(&format!(
                "intermediate results need {used_bytes} bytes, and the memory budget of {} bytes has no room for them: \
                 shorten the arguments or raise the memory budget",
                scope.allowance.limit_bytes()
            )));
        }
        scope.asked_bytes += missing_bytes;
        scope.used_bytes = used_bytes;
        Ok(())
    })
}

fn give_back(bytes: usize) {
    SCOPE.with_borrow_mut(|scope| {
        let Some(scope) = scope else { return };
        scope.used_bytes = scope.used_bytes.saturating_sub(bytes);
        let needed_bytes = scope.used_bytes.saturating_sub(FREE_BYTES);
        if needed_bytes < scope.asked_bytes {
            scope.allowance.give_back(scope.asked_bytes - needed_bytes);
            scope.asked_bytes = needed_bytes;
        }
    });
}

/// Creates the error for an intermediate result that does not fit into memory.
pub fn too_long(message: &str) -> EvaluationError {
    EvaluationError { code: RESULT_TOO_LONG, message: message.to_owned() }
}

/// Checks that a result of `bytes` would fit into the memory of the evaluation now. The memory is not kept
/// for the result.
///
/// # Errors
/// [`RESULT_TOO_LONG`] if they do not fit.
pub fn check(bytes: usize) -> Result<(), EvaluationError> {
    Room::default().take(bytes)
}

/// Counts a computed value in the memory of the evaluation until the evaluation ends, and asks the operator's
/// memory allowance for what is missing. Columns of numbers and other values of fixed width are not counted,
/// because they are short: a batch has few rows.
///
/// # Errors
/// [`RESULT_TOO_LONG`] if the value does not fit.
pub fn hold(value: &ColumnarValue) -> Result<(), EvaluationError> {
    let is_long = |of: &DataType| {
        matches!(
            of,
            DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(_, _) | DataType::Struct(_)
        )
    };
    match value {
        ColumnarValue::Array(array) if is_long(array.data_type()) => ask(value_bytes(array)),
        ColumnarValue::Scalar(scalar) if is_long(&scalar.data_type()) => ask(scalar.size()),
        _ => Ok(()),
    }
}

/// Returns the bytes of the values of an Arrow array. A slice counts its own values, and not the buffers that
/// it shares.
pub fn value_bytes(array: &dyn Array) -> usize {
    let rows = array.len();
    // Most columns have no nested values. Their bytes are counted without an `ArrayData`, because creating
    // one allocates memory.
    let flat_bytes = match array.data_type() {
        _ if rows == 0 => return 0,
        DataType::Utf8 => text_bytes(array.as_string::<i32>()),
        DataType::Binary => text_bytes(array.as_binary::<i32>()),
        other => match other.primitive_width() {
            Some(width) => rows * width,
            None => return bytes_of_values(&array.to_data()),
        },
    };
    flat_bytes + if array.null_count() > 0 { rows.div_ceil(8) } else { 0 }
}

/// Returns the bytes of the offsets and of the values of a column of text or byte strings, which must have at
/// least one row.
fn text_bytes<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> usize {
    let offsets = array.value_offsets();
    size_of_val(offsets) + (offsets[array.len()] - offsets[0]) as usize
}

fn bytes_of_values(array: &ArrayData) -> usize {
    if array.is_empty() {
        return 0;
    }
    let nulls = array.nulls().map_or(0, |_| array.len().div_ceil(8));
    match array.data_type() {
        // Arrow's own count includes all items of the underlying lists, and not only those of this slice, so
        // the items are counted here.
        DataType::List(_) | DataType::Map(..) => {
            let offsets =
                &array.buffers()[0].typed_data::<i32>()[array.offset()..=array.offset() + array.len()];
            let (first, last) = (offsets[0] as usize, offsets[array.len()] as usize);
            let items = array.child_data()[0].slice(first, last - first);
            nulls + size_of_val(offsets) + bytes_of_values(&items)
        }
        DataType::Struct(_) => nulls + array.child_data().iter().map(bytes_of_values).sum::<usize>(),
        _ => array.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

/// Memory of one intermediate result of an expression while the result is built; dropping the `Room` gives
/// the memory back.
#[derive(Default)]
pub struct Room {
    used_bytes: usize,
    granted_bytes: usize,
}

impl Room {
    /// Asks for `more` bytes of memory for the values that are appended to the result next. Bytes that were
    /// granted in advance are used first.
    ///
    /// # Errors
    /// [`RESULT_TOO_LONG`] if they do not fit.
    #[inline]
    pub fn take(&mut self, more: usize) -> Result<(), EvaluationError> {
        self.used_bytes = self.used_bytes.saturating_add(more);
        if self.used_bytes <= self.granted_bytes { Ok(()) } else { self.grow() }
    }

    #[cold]
    fn grow(&mut self) -> Result<(), EvaluationError> {
        let missing_bytes = self.used_bytes - self.granted_bytes;
        // Builders of Arrow columns double their capacity, so at least as many bytes are asked for as are
        // granted already.
        let doubled_bytes = missing_bytes.max(self.granted_bytes).max(GRANT_BYTES_MIN);
        let granted_bytes = match ask(doubled_bytes) {
            Ok(()) => doubled_bytes,
            Err(_) => ask(missing_bytes).map(|()| missing_bytes)?,
        };
        self.granted_bytes += granted_bytes;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.granted_bytes > 0 {
            give_back(self.granted_bytes);
        }
    }
}
