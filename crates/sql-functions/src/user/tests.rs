//! Faults of user functions become errors that name the function, and calls that do not return are reported.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int32Array, Int64Array, ListArray, StringArray,
};
use arrow::datatypes::{Int32Type, Int64Type};
use thalweg_model::{ProcessingTime, StateReader, StateWriter, VirtualClock};

use super::*;
use crate::values::{ColumnarValue, ScalarValue};

/// A scalar function that gives what a closure gives.
struct Gives<F>(SqlType, bool, F);

impl<F> ScalarFunction for Gives<F>
where
    F: Fn(usize) -> Result<ArrayRef, FunctionError> + Send + Sync,
{
    fn signature(&self, arguments: &[Argument]) -> Result<Signature, BindError> {
        let Gives(result, is_nullable, _) = self;
        let arguments: Vec<SqlType> = arguments.iter().map(|argument| argument.of.clone()).collect();
        Ok(Signature { arguments, result: result.clone(), is_nullable: *is_nullable })
    }

    fn call(&self, _arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, FunctionError> {
        (self.2)(rows)
    }
}

fn named(implementation: Implementation) -> UserFunction {
    let mut functions = Functions::default();
    functions.add("f", implementation).unwrap();
    functions.get("F").unwrap().clone()
}

fn int() -> Argument {
    Argument { of: SqlType::Int, is_nullable: true, literal: None }
}

fn ints(values: &[i32]) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(Int32Array::from(values.to_vec())))
}

/// A wrong length, a wrong type, NULL where there is none, an error and a panic each name the function.
#[test]
fn faults_of_a_scalar_function_name_it() {
    fn check<F>(of: SqlType, is_nullable: bool, gives: F, expected: &str)
    where
        F: Fn(usize) -> Result<ArrayRef, FunctionError> + Send + Sync + 'static,
    {
        let function = named(Implementation::Scalar(Arc::new(Gives(of, is_nullable, gives))));
        let bound = function.bind_scalar(&[int()]).unwrap().unwrap();
        let error = bound.kernel.evaluate(&[ints(&[1, 2])], 2).unwrap_err();
        assert_eq!((error.code, &*error.message), (USER_FUNCTION, expected));
    }
    let column = |values: Vec<Option<i64>>| -> Result<ArrayRef, FunctionError> {
        Ok(Arc::new(Int64Array::from(values)) as ArrayRef)
    };
    let of = SqlType::BigInt;
    check(
        of.clone(),
        true,
        move |_| column(vec![Some(1)]),
        "the user function F returned 1 values for 2 rows",
    );
    check(
        SqlType::Int,
        true,
        move |_| column(vec![None; 2]),
        "the user function F returned Int64, and promised INT, which is Int32",
    );
    check(
        of.clone(),
        false,
        move |_| column(vec![Some(1), None]),
        "the user function F returned NULL, and promised BIGINT NOT NULL",
    );
    check(of.clone(), true, |_| Err(FunctionError::new("no luck")), "the user function F failed: no luck");
    check(of, true, |_| panic!("oh {}", 1), "the user function F panicked: oh 1");
    let decimal = || Decimal128Array::from(vec![1, 1000]).with_precision_and_scale(2, 0);
    check(
        SqlType::Decimal { precision: 2, scale: 0 },
        true,
        move |_| Ok(Arc::new(decimal()?)),
        "the user function F returned a value that is no DECIMAL(2, 0): Invalid argument error: 1000 is too large to store \
         in a Decimal128 of precision 2. Max is 99",
    );
}

/// A deterministic call of constants is made for one row, and a call for no rows is not made.
#[test]
fn constants_are_computed_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let gives = move |rows: usize| {
        noted.lock().unwrap().push(rows);
        Ok(Arc::new(Int32Array::from(vec![7; rows])) as ArrayRef)
    };
    let function = named(Implementation::Scalar(Arc::new(Gives(SqlType::Int, true, gives))));
    let bound = function.bind_scalar(&[int()]).unwrap().unwrap();
    let constant = ColumnarValue::Scalar(ScalarValue::Int32(Some(1)));
    let made = bound.kernel.evaluate(&[constant], 100).unwrap();
    assert!(matches!(made, ColumnarValue::Scalar(ScalarValue::Int32(Some(7)))));
    let none = bound.kernel.evaluate(&[ints(&[])], 0).unwrap();
    assert_eq!(none.to_array(0).unwrap().len(), 0);
    bound.kernel.evaluate(&[ints(&[1, 2, 3])], 3).unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 3]);
}

/// A signature that is wrong, fails or panics is a reason to refuse the call.
#[test]
fn faults_of_signatures_are_reasons() {
    struct Signs<F>(F);
    impl<F: Fn() -> Result<Signature, BindError> + Send + Sync> ScalarFunction for Signs<F> {
        fn signature(&self, _arguments: &[Argument]) -> Result<Signature, BindError> {
            (self.0)()
        }

        fn call(&self, _arguments: &[ColumnarValue], _rows: usize) -> Result<ArrayRef, FunctionError> {
            Err(FunctionError::new("is not called"))
        }
    }
    fn check(signs: impl Fn() -> Result<Signature, BindError> + Send + Sync + 'static, expected: &str) {
        let function = named(Implementation::Scalar(Arc::new(Signs(signs))));
        let error = function.bind_scalar(&[int()]).unwrap().err().unwrap();
        assert_eq!(error.0, expected);
    }
    check(|| Err(BindError::new("no")), "no");
    check(|| panic!("oh"), "its signature panicked: oh");
    check(|| Ok(Signature::new([], SqlType::Int)), "its signature has 0 arguments, and the call has 1");
    check(
        || Ok(Signature::new([SqlType::Int], SqlType::Null)),
        "its signature has the result NULL, which is the type of no column",
    );
    let wide = || SqlType::Decimal { precision: 39, scale: 0 };
    check(
        move || Ok(Signature::new([wide()], SqlType::Int)),
        "its signature has an argument of a type that does not exist",
    );
    let deep = || (0..40).fold(SqlType::Int, |of, _| SqlType::Array(Box::new(of)));
    check(move || Ok(Signature::new([SqlType::Int], deep())), &{
        format!("its signature has the result {}, which is the type of no column", deep())
    });
}

/// A table function that makes each number as many times as it says, and what a closure makes of these rows.
struct Times<F>(F);

impl<F: Fn(Rows) -> Rows + Send + Sync> TableFunction for Times<F> {
    fn signature(&self, _arguments: &[Argument]) -> Result<TableSignature, BindError> {
        Ok(TableSignature::new([SqlType::Int])
            .column_not_null("n", SqlType::Int)
            .column("t", SqlType::STRING))
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<Rows, FunctionError> {
        let column = arguments[0].to_array(rows).map_err(|error| FunctionError::new(error.to_string()))?;
        let numbers = column.as_primitive::<Int32Type>();
        let counts: Vec<usize> = numbers.values().iter().map(|number| *number as usize).collect();
        let all = numbers.values().iter().flat_map(|number| vec![*number; *number as usize]);
        let numbers = Int32Array::from_iter_values(all);
        let texts: StringArray =
            numbers.iter().map(|number| number.map(|number| number.to_string())).collect();
        Ok((self.0)(Rows { counts, columns: vec![Arc::new(numbers), Arc::new(texts)] }))
    }
}

#[test]
fn a_table_function_makes_arrays_of_rows() {
    let function = named(Implementation::Table(Arc::new(Times(|rows| rows))));
    let (bound, columns) = function.bind_table(&[int()]).unwrap().unwrap();
    assert_eq!(bound.result.to_string(), "ARRAY<ROW<`n` INT, `t` STRING>>");
    assert_eq!(columns.len(), 2);
    let made = bound.kernel.evaluate(&[ints(&[2, 0, 1])], 3).unwrap().to_array(3).unwrap();
    assert_eq!(*made.data_type(), bound.result.arrow());
    let lists: &ListArray = made.as_list();
    assert_eq!(lists.offsets().to_vec(), [0, 2, 2, 3]);
    assert!(function.bind_scalar(&[int()]).is_none() && function.bind_aggregate(&[int()]).is_none());
}

#[test]
fn faults_of_a_table_function_name_it() {
    fn check(change: impl Fn(Rows) -> Rows + Send + Sync + 'static, expected: &str) {
        let function = named(Implementation::Table(Arc::new(Times(change))));
        let (bound, _) = function.bind_table(&[int()]).unwrap().unwrap();
        let error = bound.kernel.evaluate(&[ints(&[2, 0, 1])], 3).unwrap_err();
        assert_eq!(error.message, format!("the user function F {expected}"));
    }
    let counts = |counts: &[usize]| {
        let counts = counts.to_vec();
        move |rows: Rows| Rows { counts: counts.clone(), ..rows }
    };
    check(counts(&[3, 0]), "returned 2 counts for 3 rows");
    check(counts(&[3, 1, 0]), "returned for the column `n` 3 values for 4 rows");
    check(
        |mut rows| {
            rows.columns.pop();
            rows
        },
        "returned 1 columns, and promised 2",
    );
    check(
        |mut rows| {
            rows.columns.swap(0, 1);
            rows
        },
        "returned for the column `n` Utf8, and promised INT, which is Int32",
    );
    check(
        |mut rows| {
            rows.columns[0] = Arc::new(Int32Array::from(vec![None; 3]));
            rows
        },
        "returned for the column `n` NULL, and promised INT NOT NULL",
    );
    let function = named(Implementation::Table(Arc::new(Times(counts(&[usize::MAX, 1, 0])))));
    let (bound, _) = function.bind_table(&[int()]).unwrap().unwrap();
    let error = bound.kernel.evaluate(&[ints(&[2, 0, 1])], 3).unwrap_err();
    assert_eq!(error.code, crate::scratch::RESULT_TOO_LONG);
}

/// The sum of INT values, NULL without any; it fails at 13 and panics at 14, and promises to be NOT NULL if it says so.
struct Total {
    is_nullable: bool,
}

#[derive(Default)]
struct TotalState {
    sum: i64,
    count: i64,
}

impl AggregateFunction for Total {
    fn signature(&self, _arguments: &[Argument]) -> Result<Signature, BindError> {
        Ok(Signature { is_nullable: self.is_nullable, ..Signature::new([SqlType::BigInt], SqlType::BigInt) })
    }

    fn state(&self) -> Box<dyn GroupState> {
        Box::new(TotalState::default())
    }

    fn can_retract(&self) -> bool {
        true
    }
}

impl TotalState {
    fn add(&mut self, arguments: &[ArrayRef], sign: i64) -> Result<(), FunctionError> {
        for value in arguments[0].as_primitive::<Int64Type>().iter().flatten() {
            match value {
                13 => return Err(FunctionError::new("13 brings bad luck")),
                14 => panic!("14"),
                value => self.sum += sign * value,
            }
            self.count += sign;
        }
        Ok(())
    }
}

impl GroupState for TotalState {
    fn accumulate(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<(), FunctionError> {
        assert_eq!(arguments[0].len(), rows);
        self.add(arguments, 1)
    }

    fn retract(&mut self, arguments: &[ArrayRef], _rows: usize) -> Result<(), FunctionError> {
        self.add(arguments, -1)
    }

    fn merge(&mut self, other: &dyn GroupState) -> Result<(), FunctionError> {
        let other: &Self = same_state(other)?;
        self.sum += other.sum;
        self.count += other.count;
        Ok(())
    }

    fn value(&self) -> Result<ScalarValue, FunctionError> {
        Ok(if self.count == 0 { ScalarValue::Null } else { ScalarValue::Int64(Some(self.sum)) })
    }

    fn save(&self) -> Result<Vec<u8>, FunctionError> {
        Ok([self.sum.to_le_bytes(), self.count.to_le_bytes()].concat())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_le_bytes);
        let wrong = |_| FunctionError::new("these are no two numbers");
        (self.sum, self.count) = (number(&bytes[..8]).map_err(wrong)?, number(&bytes[8..]).map_err(wrong)?);
        Ok(())
    }

    fn bytes(&self) -> usize {
        16
    }
}

fn longs(values: &[Option<i64>]) -> [ArrayRef; 1] {
    [Arc::new(Int64Array::from(values.to_vec()))]
}

fn total(is_nullable: bool) -> Box<dyn crate::aggregates::Accumulator> {
    let function = named(Implementation::Aggregate(Arc::new(Total { is_nullable })));
    let bound = function.bind_aggregate(&[int()]).unwrap().unwrap();
    (bound.create_retractable.unwrap())()
}

#[test]
fn groups_of_an_aggregate_are_apart() {
    let mut made = total(true);
    made.resize(4);
    made.update(&[2, 0, 2, 0], &longs(&[Some(1), Some(2), Some(4), None]), None);
    let keep = arrow::array::BooleanArray::from(vec![Some(true), Some(false), None]);
    made.update(&[1, 1, 1], &longs(&[Some(1), Some(13), Some(14)]), Some(&keep));
    made.retract(&[2], &longs(&[Some(1)]), None);
    let values = |made: &dyn crate::aggregates::Accumulator| -> Vec<Option<i64>> {
        made.results(0..4).unwrap().as_primitive::<Int64Type>().iter().collect()
    };
    assert_eq!(values(&*made), [Some(2), Some(1), Some(4), None]);
    let (mut state, empty) = (StateWriter::default(), made.bytes());
    made.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let mut other = total(true);
    other.load(&mut StateReader::new(&bytes)).unwrap();
    assert_eq!(values(&*other), values(&*made));
    other.merge(&*made, &[1, 1, 1, 1]).unwrap();
    assert_eq!(values(&*other), [Some(2), Some(8), Some(4), None]);
    made.reset(&[0, 1, 2]);
    assert_eq!((values(&*made), empty - made.bytes()), (vec![None; 4], 48));
}

#[test]
fn faults_of_an_aggregate_name_it() {
    let check = |value: i64, expected: &str| {
        let mut made = total(true);
        made.resize(1);
        made.update(&[0], &longs(&[Some(value)]), None);
        made.update(&[0], &longs(&[Some(1)]), None);
        let error = made.results(0..1).unwrap_err();
        assert_eq!((error.code, &*error.message), (USER_FUNCTION, expected));
        assert!(made.save(&mut StateWriter::default()).is_err());
        let mut other = total(true);
        other.resize(1);
        assert_eq!(other.merge(&*made, &[0]).unwrap_err().message, expected);
    };
    check(13, "the user function F failed: 13 brings bad luck");
    check(14, "the user function F panicked: 14");
    let mut made = total(false);
    made.resize(1);
    let error = made.results(0..1).unwrap_err();
    assert_eq!(error.message, "the user function F returned NULL, and promised BIGINT NOT NULL");
    let mut state = StateWriter::default();
    state.put(&vec![Some(vec![1_u8])]).unwrap();
    let bytes = state.into_bytes();
    assert!(made.load(&mut StateReader::new(&bytes)).is_err(), "the function panics over one byte");
}

/// A call that does not return is reported once, after a second, and a call that returns is not.
#[test]
fn an_endless_call_is_reported_once() {
    let clock = Arc::new(VirtualClock::default());
    let (sender, reports) = mpsc::channel();
    let sender = Mutex::new(sender);
    let watch = Watch::new(Arc::clone(&clock) as _, move |text| sender.lock().unwrap().send(text).unwrap());
    let name: Arc<str> = "F".into();
    Watch::within(Some(&watch), || watched(&name, || ()));
    clock.advance_to(ProcessingTime::from_nanos(OVERDUE_NS));
    Watch::within(Some(&watch), || {
        watched(&name, || {
            watch.look();
            assert!(reports.try_recv().is_err());
            clock.advance_to(ProcessingTime::from_nanos(2 * OVERDUE_NS));
            // The thread of the watch may have reported the call before this thread looks.
            watch.look();
            let text = "a call of the user function F has not returned for 1 s; the engine cannot end it";
            assert_eq!(reports.recv().unwrap(), text);
            watch.look();
        });
    });
    watch.look();
    assert!(reports.try_recv().is_err());
}

/// The calls of an aggregate for the groups of a batch are noted together, because each note takes a lock.
#[test]
fn calls_for_the_groups_of_a_batch_are_noted_once() {
    let watch = Watch::new(Arc::new(VirtualClock::default()), |_| ());
    let mut made = total(true);
    made.resize(100);
    let groups: Vec<u32> = (0..100).collect();
    Watch::within(Some(&watch), || {
        made.update(&groups, &longs(&[Some(1); 100]), None);
        assert_eq!(watch.noted(), 1);
        made.results(0..100).unwrap();
        assert_eq!(watch.noted(), 2);
        made.update(&[], &longs(&[]), None);
    });
    assert_eq!(watch.noted(), 2);
}

/// A function tells its nature once, when it is registered, and is not registered if that panics.
#[test]
fn a_nature_is_told_once() {
    struct Tells(Mutex<u64>);
    impl ScalarFunction for Tells {
        fn signature(&self, _arguments: &[Argument]) -> Result<Signature, BindError> {
            Ok(Signature::new([SqlType::Int], SqlType::Int))
        }

        fn call(&self, _arguments: &[ColumnarValue], _rows: usize) -> Result<ArrayRef, FunctionError> {
            Err(FunctionError::new("is not called"))
        }

        fn is_deterministic(&self) -> bool {
            let mut left = self.0.lock().unwrap();
            assert!(*left > 0, "asked again");
            *left -= 1;
            false
        }
    }
    let function = named(Implementation::Scalar(Arc::new(Tells(Mutex::new(1)))));
    assert!(function.bind_scalar(&[int()]).unwrap().is_ok());
    assert!(!function.is_deterministic() && !function.is_deterministic());
    let asked = Functions::default().add("g", Implementation::Scalar(Arc::new(Tells(Mutex::new(0)))));
    assert_eq!(asked.unwrap_err(), "the user function G: telling its nature panicked: asked again");
}

/// Names are found in any case, and stand for one function.
#[test]
fn names_have_one_meaning() {
    let scalar = || -> Implementation {
        let gives = |rows: usize| Ok(Arc::new(Int32Array::from(vec![1; rows])) as ArrayRef);
        Implementation::Scalar(Arc::new(Gives(SqlType::Int, true, gives)))
    };
    let mut functions = Functions::default();
    functions.add("Half", scalar()).unwrap();
    assert_eq!(functions.add("hALF", scalar()).unwrap_err(), "there is a user function HALF already");
    functions.add("other", scalar()).unwrap();
    assert_eq!(functions.names().collect::<Vec<_>>(), ["HALF", "OTHER"]);
    assert!(functions.get("HALF") != functions.get("OTHER") && functions.get("half").is_none());
    assert!(functions.remove("HALF") && !functions.remove("HALF"));
}
