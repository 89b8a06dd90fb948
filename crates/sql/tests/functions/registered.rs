//! User functions that the cases of `tests/functions` call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use thalweg_model::VirtualClock;
use thalweg_sql::session::Session;
use thalweg_sql_functions::functions::{Argument, BindError};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::{
    AggregateFunction, FunctionError, GroupState, Rows, ScalarFunction, Signature, TableFunction,
    TableSignature, same_state,
};
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};

type Sign = fn(&[Argument]) -> Result<Signature, BindError>;
type Call = fn(&[ArrayRef], usize) -> Result<ArrayRef, FunctionError>;

/// A scalar function of two functions, which gets all arguments as columns.
struct Scalar {
    sign: Sign,
    call: Call,
    is_deterministic: bool,
}

fn columns(arguments: &[ColumnarValue], rows: usize) -> Result<Vec<ArrayRef>, FunctionError> {
    let column = |argument: &ColumnarValue| {
        argument.to_array(rows).map_err(|error| FunctionError::new(error.to_string()))
    };
    arguments.iter().map(column).collect()
}

impl ScalarFunction for Scalar {
    fn signature(&self, arguments: &[Argument]) -> Result<Signature, BindError> {
        (self.sign)(arguments)
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, FunctionError> {
        assert!(rows > 0);
        (self.call)(&columns(arguments, rows)?, rows)
    }

    fn is_deterministic(&self) -> bool {
        self.is_deterministic
    }
}

fn longs(arguments: &[ArrayRef], place: usize) -> impl Iterator<Item = Option<i64>> + '_ {
    arguments[place].as_primitive::<Int64Type>().iter()
}

fn of_long(_: &[Argument]) -> Result<Signature, BindError> {
    Ok(Signature::new([SqlType::BigInt], SqlType::BigInt))
}

/// Registers the scalar functions.
fn scalars(session: &mut Session) {
    let mut add = |name: &str, sign: Sign, call: Call| {
        session.register_scalar(name, Scalar { sign, call, is_deterministic: true }).unwrap();
    };
    add("plus_one", of_long, |arguments, _| {
        Ok(Arc::new(longs(arguments, 0).map(|value| value.map(|value| value + 1)).collect::<Int64Array>()))
    });
    add(
        "Shout",
        |_| Ok(Signature::new([SqlType::STRING], SqlType::STRING).not_null()),
        |arguments, _| {
            let shouted = arguments[0]
                .as_string::<i32>()
                .iter()
                .map(|text| Some(format!("{}!", text.unwrap_or("NULL"))));
            Ok(Arc::new(shouted.collect::<StringArray>()))
        },
    );
    add(
        "same",
        |given| match given {
            [one] => Ok(Signature {
                is_nullable: one.is_nullable,
                ..Signature::new([one.of.clone()], one.of.clone())
            }),
            _ => Err(BindError::new("it takes one argument")),
        },
        |arguments, _| Ok(Arc::clone(&arguments[0])),
    );
    add(
        "plus",
        |given| match given {
            [_, _] => Ok(Signature::new([SqlType::BigInt, SqlType::BigInt], SqlType::BigInt)),
            _ => Err(BindError::new("it takes two numbers")),
        },
        |arguments, _| {
            let sum = longs(arguments, 0).zip(longs(arguments, 1)).map(|(left, right)| Some(left? + right?));
            Ok(Arc::new(sum.collect::<Int64Array>()))
        },
    );
    add(
        "pair",
        |_| {
            let fields = vec![("number".to_owned(), SqlType::BigInt), ("text".to_owned(), SqlType::STRING)];
            Ok(Signature::new([SqlType::BigInt, SqlType::STRING], SqlType::Row(fields)).not_null())
        },
        |arguments, _| {
            let names = ["number", "text"].map(str::to_owned);
            let fields = names.into_iter().zip(arguments.iter().cloned());
            let fields = fields.map(|(name, values)| {
                (Arc::new(arrow::datatypes::Field::new(name, values.data_type().clone(), true)), values)
            });
            Ok(Arc::new(StructArray::from(fields.collect::<Vec<_>>())))
        },
    );
    add("panics_at_3", of_long, |arguments, _| {
        assert!(longs(arguments, 0).all(|value| value != Some(3)), "3 is too much");
        Ok(Arc::clone(&arguments[0]))
    });
    add("fails_at_3", of_long, |arguments, _| match longs(arguments, 0).any(|value| value == Some(3)) {
        true => Err(FunctionError::new("3 is too much")),
        false => Ok(Arc::clone(&arguments[0])),
    });
    add("too_short", of_long, |arguments, rows| Ok(arguments[0].slice(1, rows - 1)));
    add("wrong_type", of_long, |_, rows| Ok(Arc::new(Int32Array::from(vec![1; rows]))));
    add(
        "gives_null",
        |given| of_long(given).map(Signature::not_null),
        |arguments, _| Ok(Arc::clone(&arguments[0])),
    );
    add("panics_in_signature", |_| panic!("no signature"), |arguments, _| Ok(Arc::clone(&arguments[0])));
    // Each row has another number, so that only the number of rows can be compared.
    static NUMBER: AtomicI64 = AtomicI64::new(0);
    let number = Scalar {
        sign: |_| Ok(Signature::new([], SqlType::BigInt).not_null()),
        call: |_, rows| {
            let first = NUMBER.fetch_add(rows as i64, Ordering::Relaxed);
            Ok(Arc::new(Int64Array::from_iter_values(first..first + rows as i64)))
        },
        is_deterministic: false,
    };
    session.register_scalar("next_number", number).unwrap();
}

/// The numbers from 1 to the argument, or as many rows with a wrong form as a name asks for.
struct Series {
    is_wrong: bool,
}

impl TableFunction for Series {
    fn signature(&self, given: &[Argument]) -> Result<TableSignature, BindError> {
        match given {
            [_] => Ok(TableSignature::new([SqlType::Int]).column_not_null("n", SqlType::Int)),
            _ => Err(BindError::new("it takes one number")),
        }
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<Rows, FunctionError> {
        let given = columns(arguments, rows)?;
        let most = given[0].as_primitive::<Int32Type>().iter().map(|most| most.unwrap_or_default().max(0));
        let most: Vec<i32> = most.collect();
        assert!(most.iter().all(|most| *most != 1_300), "1300 rows are too many");
        let numbers = Int32Array::from_iter_values(most.iter().flat_map(|most| 1..=*most));
        let counts = most.iter().map(|most| *most as usize + usize::from(self.is_wrong)).collect();
        Ok(Rows { counts, columns: vec![Arc::new(numbers)] })
    }
}

/// The words of a text, each with its length; NULL has one row of NULL.
struct Words;

impl TableFunction for Words {
    fn signature(&self, _given: &[Argument]) -> Result<TableSignature, BindError> {
        let signature = TableSignature::new([SqlType::STRING, SqlType::STRING]);
        Ok(signature.column("word", SqlType::STRING).column("length", SqlType::Int))
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<Rows, FunctionError> {
        let given = columns(arguments, rows)?;
        let (texts, marks) = (given[0].as_string::<i32>(), given[1].as_string::<i32>());
        let (mut counts, mut words) = (Vec::new(), Vec::new());
        for (text, mark) in texts.iter().zip(marks) {
            let before = words.len();
            match (text, mark) {
                (Some(""), _) => {}
                (Some(text), Some(mark)) => words.extend(text.split(mark).map(Some)),
                _ => words.push(None),
            }
            counts.push(words.len() - before);
        }
        let lengths: Int32Array = words.iter().map(|word| word.map(|word| word.len() as i32)).collect();
        Ok(Rows { counts, columns: vec![Arc::new(StringArray::from(words)), Arc::new(lengths)] })
    }
}

/// A table function over all numbers that counts its calls, so that its rows differ from call to call.
struct Drawn;

impl TableFunction for Drawn {
    fn signature(&self, _given: &[Argument]) -> Result<TableSignature, BindError> {
        Ok(TableSignature::new([SqlType::Int]).column("x", SqlType::Int))
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<Rows, FunctionError> {
        Ok(Rows { counts: vec![1; rows], columns: columns(arguments, rows)? })
    }

    fn is_deterministic(&self) -> bool {
        false
    }
}

/// An aggregate whose state is a value of `S`.
struct Aggregate<S> {
    arguments: Vec<SqlType>,
    result: SqlType,
    can_retract: bool,
    is_ordered: bool,
    is_nullable: bool,
    empty: fn() -> S,
}

impl<S: GroupState> AggregateFunction for Aggregate<S> {
    fn signature(&self, _given: &[Argument]) -> Result<Signature, BindError> {
        let signature = Signature::new(self.arguments.clone(), self.result.clone());
        Ok(Signature { is_nullable: self.is_nullable, ..signature })
    }

    fn state(&self) -> Box<dyn GroupState> {
        Box::new((self.empty)())
    }

    fn can_retract(&self) -> bool {
        self.can_retract
    }

    fn is_ordered(&self) -> bool {
        self.is_ordered
    }
}

/// Sums of values by weights, and of the weights; a value of 1300 fails, and 1400 panics.
#[derive(Clone, Default)]
struct Weighted {
    sum: i64,
    weight: i64,
}

impl Weighted {
    fn add(&mut self, arguments: &[ArrayRef], sign: i64) -> Result<(), FunctionError> {
        let weights = arguments.get(1).map(|_| longs(arguments, 1).collect::<Vec<_>>());
        for (row, value) in longs(arguments, 0).enumerate() {
            let weight = weights.as_ref().map_or(Some(1), |weights| weights[row]);
            if let (Some(value), Some(weight)) = (value, weight) {
                assert!(value != 1_400, "1400 is too much");
                if value == 1_300 {
                    return Err(FunctionError::new("1300 is too much"));
                }
                self.sum += sign * value * weight;
                self.weight += sign * weight;
            }
        }
        Ok(())
    }
}

impl GroupState for Weighted {
    fn accumulate(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<(), FunctionError> {
        assert!(rows > 0 && arguments.iter().all(|column| column.len() == rows));
        self.add(arguments, 1)
    }

    fn retract(&mut self, arguments: &[ArrayRef], _rows: usize) -> Result<(), FunctionError> {
        self.add(arguments, -1)
    }

    fn merge(&mut self, other: &dyn GroupState) -> Result<(), FunctionError> {
        let other: &Self = same_state(other)?;
        self.sum += other.sum;
        self.weight += other.weight;
        Ok(())
    }

    fn value(&self) -> Result<ScalarValue, FunctionError> {
        Ok(ScalarValue::Int64((self.weight != 0).then_some(self.sum)))
    }

    fn save(&self) -> Result<Vec<u8>, FunctionError> {
        Ok([self.sum, self.weight].map(i64::to_le_bytes).concat())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let number = |bytes: &[u8]| {
            bytes.try_into().map(i64::from_le_bytes).map_err(|_| FunctionError::new("no number"))
        };
        (self.sum, self.weight) = (number(&bytes[..8])?, number(&bytes[8..])?);
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// Texts in the order in which they came.
#[derive(Default)]
struct Texts(Vec<String>);

impl GroupState for Texts {
    fn accumulate(&mut self, arguments: &[ArrayRef], _rows: usize) -> Result<(), FunctionError> {
        self.0.extend(arguments[0].as_string::<i32>().iter().flatten().map(str::to_owned));
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupState) -> Result<(), FunctionError> {
        self.0.extend(same_state::<Self>(other)?.0.iter().cloned());
        Ok(())
    }

    fn value(&self) -> Result<ScalarValue, FunctionError> {
        Ok(ScalarValue::Utf8(Some(self.0.join("+"))))
    }

    fn save(&self) -> Result<Vec<u8>, FunctionError> {
        Ok(self.0.join("\n").into_bytes())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| FunctionError::new("no text"))?;
        self.0 = text.lines().map(str::to_owned).collect();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|text| text.len() + size_of::<String>()).sum()
    }
}

/// Counts of texts; the value is the text that came most often, and of several the least.
#[derive(Default)]
struct Most(BTreeMap<String, i64>);

impl Most {
    fn add(&mut self, arguments: &[ArrayRef], count: i64) {
        for text in arguments[0].as_string::<i32>().iter().flatten() {
            *self.0.entry(text.to_owned()).or_default() += count;
        }
        self.0.retain(|_, count| *count != 0);
    }
}

impl GroupState for Most {
    fn accumulate(&mut self, arguments: &[ArrayRef], _rows: usize) -> Result<(), FunctionError> {
        self.add(arguments, 1);
        Ok(())
    }

    fn retract(&mut self, arguments: &[ArrayRef], _rows: usize) -> Result<(), FunctionError> {
        self.add(arguments, -1);
        Ok(())
    }

    fn merge(&mut self, other: &dyn GroupState) -> Result<(), FunctionError> {
        for (text, count) in &same_state::<Self>(other)?.0 {
            *self.0.entry(text.clone()).or_default() += count;
        }
        Ok(())
    }

    fn value(&self) -> Result<ScalarValue, FunctionError> {
        let most = self.0.iter().min_by_key(|(_, count)| -**count);
        Ok(ScalarValue::Utf8(most.map(|(text, _)| text.clone())))
    }

    fn save(&self) -> Result<Vec<u8>, FunctionError> {
        let lines = self.0.iter().map(|(text, count)| format!("{count} {text}\n"));
        Ok(lines.collect::<String>().into_bytes())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let wrong = || FunctionError::new("no counts of texts");
        for line in std::str::from_utf8(bytes).map_err(|_| wrong())?.lines() {
            let (count, text) = line.split_once(' ').ok_or_else(wrong)?;
            self.0.insert(text.to_owned(), count.parse().map_err(|_| wrong())?);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.0.keys().map(|text| text.len() + 64).sum()
    }
}

/// Returns a session that knows all functions of the cases.
pub fn session() -> Session {
    let mut session = Session::new(Arc::new(VirtualClock::default()));
    scalars(&mut session);
    session.register_table("series", Series { is_wrong: false }).unwrap();
    session.register_table("wrong_series", Series { is_wrong: true }).unwrap();
    session.register_table("words", Words).unwrap();
    session.register_table("drawn", Drawn).unwrap();
    let numbers = |arguments: usize| Aggregate {
        arguments: vec![SqlType::BigInt; arguments],
        result: SqlType::BigInt,
        can_retract: true,
        is_ordered: false,
        is_nullable: true,
        empty: Weighted::default,
    };
    session.register_aggregate("total", numbers(1)).unwrap();
    session.register_aggregate("weighted", numbers(2)).unwrap();
    session.register_aggregate("total_not_null", Aggregate { is_nullable: false, ..numbers(1) }).unwrap();
    let texts = Aggregate {
        arguments: vec![SqlType::STRING],
        result: SqlType::STRING,
        can_retract: false,
        is_ordered: true,
        is_nullable: false,
        empty: Texts::default,
    };
    session.register_aggregate("in_order", texts).unwrap();
    let most = Aggregate {
        arguments: vec![SqlType::STRING],
        result: SqlType::STRING,
        can_retract: true,
        is_ordered: false,
        is_nullable: true,
        empty: Most::default,
    };
    session.register_aggregate("most_often", most).unwrap();
    let wrong = Aggregate { result: SqlType::Int, ..numbers(1) };
    assert_eq!(wrong.result.arrow(), DataType::Int32);
    session.register_aggregate("wrong_total", wrong).unwrap();
    session
}
