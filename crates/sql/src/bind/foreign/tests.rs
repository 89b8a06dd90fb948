//! Our values against DataFusion's, which they replaced: columns of every type are drawn from a seed, and both kinds
//! of values read from them must agree in all that ours can do.
//!
//! `THALWEG_SEED_BASE` is the seed. Differences that are meant:
//!
//! * a NULL array is shown as NULL, and not as an empty text;
//! * a column takes decimals of one precision and scale only; DataFusion reads the digits of the others as if they
//!   had the scale of the first;
//! * an INTERVAL that is cast to text is written as in ISO 8601;
//! * a cast from ROW to ROW goes by the places of the fields if their names differ, as in SQL, and not by the names.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, MapArray, NullArray,
    PrimitiveArray, StringArray, StructArray, UInt32Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{
    ArrowNativeType, DataType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalYearMonthType, Time32MillisecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use thalweg_model::{Entropy, SeededEntropy};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};

use super::Foreign;

/// Number of rows of each drawn column.
const ROWS: usize = 12;

struct Draws(SeededEntropy);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// Draws rows of a type that Arrow stores as numbers: one of `values`, or NULL.
    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        values: &[T::Native],
        of: DataType,
        rows: usize,
    ) -> ArrayRef {
        let rows = (0..rows).map(|_| values.get(self.below(values.len() + 1)).copied());
        Arc::new(rows.collect::<PrimitiveArray<T>>().with_data_type(of))
    }

    fn nulls(&mut self, rows: usize) -> NullBuffer {
        (0..rows).map(|_| self.below(5) > 0).collect()
    }

    /// Draws a column of a type, in which no row is NULL.
    fn known(&mut self, of: &SqlType, rows: usize) -> ArrayRef {
        let drawn = self.column(of, 8 * (rows + 1));
        let known: Vec<u32> =
            (0..drawn.len()).filter(|row| drawn.is_valid(*row)).map(|row| row as u32).collect();
        let picked = known.into_iter().cycle().take(rows);
        take(&drawn, &UInt32Array::from_iter_values(picked), None).expect("rows that there are")
    }

    /// Draws a column of a type.
    fn column(&mut self, of: &SqlType, rows: usize) -> ArrayRef {
        let arrow = of.arrow();
        let times = [i64::MIN, -1, 0, 1, 86_400_000, 1_700_000_000_123, i64::MAX];
        let days = [i32::MIN, -719_162, -1, 0, 1, 19_000, 2_932_896, i32::MAX];
        let floats = [f64::NAN, -f64::NAN, 0.0, -0.0, 1.5, -1e300, f64::INFINITY, 5e-324];
        match of {
            SqlType::Null => Arc::new(NullArray::new(rows)),
            SqlType::Boolean => {
                let values = [Some(true), Some(false), None];
                Arc::new((0..rows).map(|_| values[self.below(3)]).collect::<BooleanArray>())
            }
            SqlType::TinyInt => self.numbers::<Int8Type>(&[i8::MIN, -1, 0, 1, i8::MAX], arrow, rows),
            SqlType::SmallInt => self.numbers::<Int16Type>(&[i16::MIN, -1, 0, 1, i16::MAX], arrow, rows),
            SqlType::Int => self.numbers::<Int32Type>(&days, arrow, rows),
            SqlType::BigInt => self.numbers::<Int64Type>(&times, arrow, rows),
            SqlType::Float => self.numbers::<Float32Type>(&floats.map(|value| value as f32), arrow, rows),
            SqlType::Double => self.numbers::<Float64Type>(&floats, arrow, rows),
            SqlType::Decimal { precision, .. } => {
                let nines = 10_i128.pow(u32::from(*precision)) - 1;
                self.numbers::<Decimal128Type>(&[-nines, -5, 0, 1, 10, nines], arrow, rows)
            }
            SqlType::Char(_) | SqlType::Varchar(_) => {
                let texts = ["", " ", "a", "NULL", "12", "-1.5", "2024-02-29", "ä😀", "true", "x\n'y\""];
                let rows = (0..rows).map(|_| texts.get(self.below(texts.len() + 1)).copied());
                Arc::new(rows.collect::<StringArray>())
            }
            SqlType::Binary(_) | SqlType::Varbinary(_) => {
                let bytes: [&[u8]; 5] = [&[], &[0], &[0xFF, 0x80], b"12", &[0xAB; 11]];
                let rows = (0..rows).map(|_| bytes.get(self.below(bytes.len() + 1)).copied());
                Arc::new(rows.collect::<BinaryArray>())
            }
            SqlType::Date => self.numbers::<Date32Type>(&days, arrow, rows),
            SqlType::Time(_) => self.numbers::<Time32MillisecondType>(&[0, 1, 86_399_999], arrow, rows),
            SqlType::Timestamp(0..=3) | SqlType::TimestampLtz(0..=3) => {
                self.numbers::<TimestampMillisecondType>(&times, arrow, rows)
            }
            SqlType::Timestamp(4..=6) | SqlType::TimestampLtz(4..=6) => {
                self.numbers::<TimestampMicrosecondType>(&times, arrow, rows)
            }
            SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
                self.numbers::<TimestampNanosecondType>(&times, arrow, rows)
            }
            SqlType::DayTime => self.numbers::<DurationMillisecondType>(&times, arrow, rows),
            SqlType::YearMonth => self.numbers::<IntervalYearMonthType>(&days, arrow, rows),
            SqlType::Array(item) => {
                let offsets = OffsetBuffer::<i32>::from_lengths((0..rows).map(|_| self.below(4)));
                let items = self.column(item, offsets[rows].as_usize());
                let nulls = self.nulls(rows);
                let DataType::List(field) = arrow else { panic!("an array is a list") };
                Arc::new(ListArray::new(field, offsets, items, Some(nulls)))
            }
            SqlType::Map(key, value) => {
                let offsets = OffsetBuffer::<i32>::from_lengths((0..rows).map(|_| self.below(3)));
                let count = offsets[rows].as_usize();
                let DataType::Map(entries, is_sorted) = arrow else { panic!("a map is a map") };
                let DataType::Struct(fields) = entries.data_type() else { panic!("entries are rows") };
                let columns = vec![self.known(key, count), self.column(value, count)];
                let pairs = StructArray::new(fields.clone(), columns, None);
                let nulls = self.nulls(rows);
                Arc::new(MapArray::new(entries, offsets, pairs, Some(nulls), is_sorted))
            }
            SqlType::Row(inner) => {
                let columns = inner.iter().map(|(_, of)| self.column(of, rows)).collect();
                let nulls = self.nulls(rows);
                let DataType::Struct(fields) = arrow else { panic!("a row is a struct") };
                Arc::new(StructArray::new(fields, columns, Some(nulls)))
            }
        }
    }
}

fn draws() -> Draws {
    let seed = std::env::var("THALWEG_SEED_BASE").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    Draws(SeededEntropy::new(seed))
}

/// Returns the types of the test: all SQL types, and nested ones two levels deep.
fn types() -> Vec<SqlType> {
    use SqlType::*;
    let array = |of: SqlType| Array(Box::new(of));
    let map = |key: SqlType, value: SqlType| Map(Box::new(key), Box::new(value));
    let row = |fields: &[(&str, SqlType)]| {
        Row(fields.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect())
    };
    let decimal = |precision, scale| Decimal { precision, scale };
    let inner = row(&[("c", SqlType::STRING), ("d", Double)]);
    vec![
        Null,
        Boolean,
        TinyInt,
        SmallInt,
        Int,
        BigInt,
        Float,
        Double,
        decimal(3, 2),
        decimal(10, 0),
        decimal(38, 0),
        decimal(38, 38),
        Char(3),
        SqlType::STRING,
        Binary(2),
        SqlType::BYTES,
        Date,
        Time(0),
        Timestamp(0),
        Timestamp(3),
        Timestamp(6),
        Timestamp(9),
        TimestampLtz(3),
        TimestampLtz(6),
        TimestampLtz(9),
        DayTime,
        YearMonth,
        array(Int),
        array(Null),
        array(Char(2)),
        array(array(SqlType::STRING)),
        array(inner.clone()),
        map(SqlType::STRING, Int),
        map(Int, array(Timestamp(0))),
        row(&[("a", Int), ("b", Char(2))]),
        row(&[("a", BigInt), ("b", inner)]),
        row(&[("x", array(Int)), ("y", map(SqlType::STRING, Double))]),
    ]
}

/// One value, as ours and as DataFusion's.
struct Pair {
    ours: ScalarValue,
    theirs: Foreign,
}

fn read(column: &ArrayRef) -> Vec<Pair> {
    let pair = |row| Pair {
        ours: ScalarValue::try_from_array(column, row).expect("a value of ours"),
        theirs: Foreign::try_from_array(column, row).expect("a value of theirs"),
    };
    (0..column.len()).map(pair).collect()
}

fn agree(ours: &ScalarValue, theirs: &Foreign) {
    assert_eq!(ours.data_type(), theirs.data_type(), "{theirs:?}");
    assert_eq!(ours.is_null(), theirs.is_null(), "{theirs:?}");
    let is_null_array = ours.is_null() && matches!(ours, ScalarValue::List(_));
    assert_eq!(ours.to_string(), if is_null_array { "NULL".to_owned() } else { theirs.to_string() });
    // The values themselves differ in size, because DataFusion's have variants that no SQL type has.
    let heap_bytes = ours.size() - size_of::<ScalarValue>();
    assert_eq!(heap_bytes, theirs.size() - size_of::<Foreign>(), "{theirs:?}");
    assert_eq!(&ours.to_array().expect("a column"), &theirs.to_array().expect("a column"), "{theirs:?}");
    for rows in [0, 1, 3] {
        let theirs = theirs.to_array_of_size(rows).expect("a column");
        assert_eq!(&ours.to_array_of_size(rows).expect("a column"), &theirs);
        assert_eq!(&ColumnarValue::Scalar(ours.clone()).to_array(rows).expect("a column"), &theirs);
    }
    let converted = super::ours(theirs).expect("a value of ours");
    assert_eq!((&converted, converted.data_type()), (ours, ours.data_type()), "{theirs:?}");
}

#[test]
fn values_read_from_columns_agree() {
    let mut draws = draws();
    for of in types().iter().cycle().take(types().len() * 20) {
        let arrow = of.arrow();
        let null = ScalarValue::try_from(&arrow).expect("a NULL");
        agree(&null, &Foreign::try_from(&arrow).expect("a NULL"));
        assert!(null.is_null(), "the NULL of {of}");
        let column = draws.column(of, ROWS);
        let pairs = read(&column);
        pairs.iter().for_each(|pair| agree(&pair.ours, &pair.theirs));
        let ours = ScalarValue::iter_to_array(pairs.iter().map(|pair| pair.ours.clone()));
        match (ours, Foreign::iter_to_array(pairs.iter().map(|pair| pair.theirs.clone()))) {
            (Ok(ours), Ok(theirs)) => assert_eq!(&ours, &theirs, "columns of {of}"),
            (ours, theirs) => {
                assert_eq!(ours.is_ok(), theirs.is_ok(), "columns of {of}: {ours:?}, {theirs:?}");
            }
        }
    }
}

#[test]
fn values_are_equal_where_theirs_are() {
    let mut draws = draws();
    let pairs: Vec<Pair> = types().iter().flat_map(|of| read(&draws.column(of, 3 * ROWS))).collect();
    let mut equal = 0;
    for left in &pairs {
        for right in &pairs {
            let is_equal = left.theirs == right.theirs;
            assert_eq!(left.ours == right.ours, is_equal, "{:?} and {:?}", left.theirs, right.theirs);
            equal += usize::from(is_equal);
        }
    }
    assert!(
        equal > 2 * pairs.len(),
        "values that are not the same one are equal: {equal} of {}",
        pairs.len()
    );
}

/// Every type is cast to every other, or refused, as DataFusion does it.
#[test]
fn casts_agree() {
    let mut draws = draws();
    let (mut casts, mut refusals) = (0, 0);
    for from in types() {
        let pairs = read(&draws.column(&from, 2 * ROWS));
        for to in types().iter().filter(|to| is_cast_alike(&from, to)) {
            for Pair { ours, theirs } in &pairs {
                match (ours.cast_to(&to.arrow()), theirs.cast_to(&to.arrow())) {
                    (Ok(ours), Ok(theirs)) => {
                        agree(&ours, &theirs);
                        casts += 1;
                    }
                    (Err(_), Err(_)) => refusals += 1,
                    (ours, theirs) => panic!("{ours:?} and {theirs:?} from {from} to {to}"),
                }
            }
        }
    }
    assert!(casts > 5_000 && refusals > 5_000, "{casts} casts, {refusals} refusals");
}

/// Returns whether a cast is to be as DataFusion's. Left out are an INTERVAL to text, alone or in an array, which has
/// another form there and which no query asks of a literal, and ROW to ROW with other names.
fn is_cast_alike(from: &SqlType, to: &SqlType) -> bool {
    let names = |of: &SqlType| match of {
        SqlType::Row(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    };
    let is_row = matches!((from, to), (SqlType::Row(_), SqlType::Row(_)));
    let is_written = *from == SqlType::DayTime && (to.is_text() || matches!(to, SqlType::Array(_)));
    !is_written && (!is_row || names(from) == names(to))
}
