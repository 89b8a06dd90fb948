//! SQL types: the types of Flink's dialect, how they are written, and the Arrow columns which hold them.
//!
//! | SQL | Arrow |
//! |---|---|
//! | BOOLEAN, TINYINT to BIGINT, FLOAT, DOUBLE | Boolean, Int8 to Int64, Float32, Float64 |
//! | DECIMAL(p, s), default (10, 0) | Decimal128(p, s) |
//! | CHAR(n), VARCHAR(n), STRING | Utf8 |
//! | BINARY(n), VARBINARY(n), BYTES | Binary |
//! | DATE, TIME(p) | Date32, Time32(Millisecond) |
//! | TIMESTAMP(p), default 6 | Timestamp: milliseconds up to 3 digits, microseconds up to 6, nanoseconds beyond |
//! | TIMESTAMP_LTZ(p) | Timestamp in the same units with the zone `UTC`: an instant, shown in the zone of the session |
//! | INTERVAL of days to seconds, of years to months | Duration(Millisecond), Interval(YearMonth) |
//! | ARRAY, MAP, ROW | List, Map, Struct |
//!
//! Lengths and digits of a second, which Arrow does not hold, stand in the metadata of a field under [`TYPE_KEY`]. A
//! column whose metadata was lost has the greatest length, and as many digits as its unit.
//!
//! Source: Flink's documentation, "Data Types"; lengths, digits and defaults are those given there.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use arrow::error::ArrowError;

/// Metadata key of an Arrow field under which its SQL type is stored.
pub const TYPE_KEY: &str = "sql.type";

/// Time zone in the Arrow type of every TIMESTAMP_LTZ: values are instants, whatever the zone in which they
/// are shown.
pub const INSTANT_ZONE: &str = "UTC";

/// Greatest number of digits of a DECIMAL.
pub const DECIMAL_PRECISION_MAX: u8 = 38;

/// Length of the types STRING and BYTES, which stands for no bound.
pub const LENGTH_MAX: u32 = i32::MAX as u32;

/// SQL type of a column or value, without its nullability.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// Type of the literal NULL; no column has this type.
    Null,
    /// BOOLEAN: true, false or unknown.
    Boolean,
    /// TINYINT: an integer of 8 bits.
    TinyInt,
    /// SMALLINT: an integer of 16 bits.
    SmallInt,
    /// INT: an integer of 32 bits.
    Int,
    /// BIGINT: an integer of 64 bits.
    BigInt,
    /// FLOAT: an IEEE 754 number of 32 bits.
    Float,
    /// DOUBLE: an IEEE 754 number of 64 bits.
    Double,
    /// DECIMAL: a decimal number of `precision` digits, `scale` of them after the point.
    Decimal {
        /// Number of all digits of the decimal, from 1 to 38.
        precision: u8,
        /// Number of digits after the decimal point, from 0 to the precision.
        scale: u8,
    },
    /// CHAR(n): text of exactly n characters.
    Char(u32),
    /// VARCHAR(n): text of at most n characters; n is [`LENGTH_MAX`] for STRING.
    Varchar(u32),
    /// BINARY(n): exactly n bytes.
    Binary(u32),
    /// VARBINARY(n): at most n bytes; n is [`LENGTH_MAX`] for BYTES.
    Varbinary(u32),
    /// DATE: a day without a time.
    Date,
    /// TIME(p): a time of day with p digits of the fraction of a second, 0 to 9. At most milliseconds are
    /// kept, as in Flink.
    Time(u8),
    /// TIMESTAMP(p): a local date and time with p digits of the fraction of a second, 0 to 9.
    Timestamp(u8),
    /// TIMESTAMP_LTZ(p): an instant with p digits of the fraction of a second, 0 to 9.
    TimestampLtz(u8),
    /// INTERVAL of days to seconds, kept in milliseconds, as in Flink.
    DayTime,
    /// INTERVAL of years and months, kept in months.
    YearMonth,
    /// ARRAY: any number of values of one type.
    Array(Box<SqlType>),
    /// MAP: values by keys. The variant holds the types of the keys and of the values.
    Map(Box<SqlType>, Box<SqlType>),
    /// ROW: named fields, each with its type.
    Row(Vec<(String, SqlType)>),
}

impl SqlType {
    /// The type STRING: text of any length.
    pub const STRING: SqlType = SqlType::Varchar(LENGTH_MAX);
    /// The type BYTES: bytes of any length.
    pub const BYTES: SqlType = SqlType::Varbinary(LENGTH_MAX);

    /// Returns the type in the notation without short names, as Flink writes declarations: STRING is
    /// `VARCHAR(2147483647)`, BYTES is `VARBINARY(2147483647)`, and TIMESTAMP_LTZ(3) is
    /// `TIMESTAMP(3) WITH LOCAL TIME ZONE`.
    ///
    /// Source: Flink, `LogicalType.asSerializableString`.
    pub fn long_form(&self) -> String {
        match self {
            SqlType::Varchar(LENGTH_MAX) => format!("VARCHAR({LENGTH_MAX})"),
            SqlType::Varbinary(LENGTH_MAX) => format!("VARBINARY({LENGTH_MAX})"),
            SqlType::TimestampLtz(digits) => format!("TIMESTAMP({digits}) WITH LOCAL TIME ZONE"),
            SqlType::Array(item) => format!("ARRAY<{}>", item.long_form()),
            SqlType::Map(key, value) => format!("MAP<{}, {}>", key.long_form(), value.long_form()),
            SqlType::Row(fields) => {
                let fields = fields.iter().map(|(name, of)| format!("{} {}", quoted(name), of.long_form()));
                format!("ROW<{}>", fields.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }

    /// Returns the Arrow type of a column of this SQL type.
    pub fn arrow(&self) -> DataType {
        match self {
            SqlType::Null => DataType::Null,
            SqlType::Boolean => DataType::Boolean,
            SqlType::TinyInt => DataType::Int8,
            SqlType::SmallInt => DataType::Int16,
            SqlType::Int => DataType::Int32,
            SqlType::BigInt => DataType::Int64,
            SqlType::Float => DataType::Float32,
            SqlType::Double => DataType::Float64,
            &SqlType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
            SqlType::Char(_) | SqlType::Varchar(_) => DataType::Utf8,
            SqlType::Binary(_) | SqlType::Varbinary(_) => DataType::Binary,
            SqlType::Date => DataType::Date32,
            SqlType::Time(_) => DataType::Time32(TimeUnit::Millisecond),
            &SqlType::Timestamp(digits) => DataType::Timestamp(unit_of(digits), None),
            &SqlType::TimestampLtz(digits) => {
                DataType::Timestamp(unit_of(digits), Some(Arc::from(INSTANT_ZONE)))
            }
            SqlType::DayTime => DataType::Duration(TimeUnit::Millisecond),
            SqlType::YearMonth => DataType::Interval(IntervalUnit::YearMonth),
            SqlType::Array(item) => DataType::List(item.field("item", true)),
            SqlType::Map(key, value) => {
                let entry = DataType::Struct([key.field("keys", false), value.field("values", true)].into());
                DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
            }
            SqlType::Row(fields) => {
                DataType::Struct(fields.iter().map(|(name, of)| of.field(name, true)).collect())
            }
        }
    }

    /// Returns an Arrow field of this SQL type; the field's metadata holds the SQL type if it does not follow
    /// from the Arrow type.
    pub fn field(&self, name: &str, is_nullable: bool) -> FieldRef {
        let field = Field::new(name, self.arrow(), is_nullable);
        if SqlType::of_arrow(field.data_type()).as_ref() == Some(self) {
            return Arc::new(field);
        }
        Arc::new(field.with_metadata(HashMap::from([(TYPE_KEY.to_owned(), self.to_string())])))
    }

    /// Returns the number of nested levels of the type: 1 for types that contain no other types.
    pub fn depth(&self) -> usize {
        1 + match self {
            SqlType::Array(item) => item.depth(),
            SqlType::Map(key, value) => key.depth().max(value.depth()),
            SqlType::Row(fields) => fields.iter().map(|(_, of)| of.depth()).max().unwrap_or_default(),
            _ => 0,
        }
    }

    /// Returns the SQL type of an Arrow field: the type in the field's metadata if that fits the Arrow type,
    /// or else the type that follows from the Arrow type. `None` if no SQL type is held in that Arrow type.
    pub fn of_field(field: &Field) -> Option<SqlType> {
        let said = field.metadata().get(TYPE_KEY).and_then(|said| scalar_of_text(said));
        said.filter(|said| said.arrow() == *field.data_type())
            .or_else(|| SqlType::of_arrow(field.data_type()))
    }

    /// Returns the SQL type that follows from an Arrow type alone, without the metadata of a field.
    pub fn of_arrow(arrow: &DataType) -> Option<SqlType> {
        Some(match arrow {
            DataType::Null => SqlType::Null,
            DataType::Boolean => SqlType::Boolean,
            DataType::Int8 => SqlType::TinyInt,
            DataType::Int16 => SqlType::SmallInt,
            DataType::Int32 => SqlType::Int,
            DataType::Int64 => SqlType::BigInt,
            DataType::Float32 => SqlType::Float,
            DataType::Float64 => SqlType::Double,
            &DataType::Decimal128(precision, scale) => {
                SqlType::Decimal { precision, scale: u8::try_from(scale).ok()? }
            }
            DataType::Utf8 => SqlType::STRING,
            DataType::Binary => SqlType::BYTES,
            DataType::Date32 => SqlType::Date,
            DataType::Time32(TimeUnit::Millisecond) => SqlType::Time(3),
            DataType::Timestamp(unit, None) => SqlType::Timestamp(digits_of(*unit)),
            DataType::Timestamp(unit, Some(_)) => SqlType::TimestampLtz(digits_of(*unit)),
            DataType::Duration(TimeUnit::Millisecond) => SqlType::DayTime,
            DataType::Interval(IntervalUnit::YearMonth) => SqlType::YearMonth,
            DataType::List(item) => SqlType::Array(Box::new(SqlType::of_field(item)?)),
            DataType::Map(entries, _) => {
                let DataType::Struct(fields) = entries.data_type() else { return None };
                let [key, value] = &fields[..] else { return None };
                SqlType::Map(Box::new(SqlType::of_field(key)?), Box::new(SqlType::of_field(value)?))
            }
            DataType::Struct(fields) => {
                let field = |field: &FieldRef| Some((field.name().clone(), SqlType::of_field(field)?));
                SqlType::Row(fields.iter().map(field).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    /// Returns whether this is an integer type, TINYINT to BIGINT.
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
    }

    /// Returns whether this is a type of numbers: an integer, a float or a decimal.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self, SqlType::Float | SqlType::Double | SqlType::Decimal { .. })
    }

    /// Returns whether this type is CHAR or VARCHAR.
    pub fn is_text(&self) -> bool {
        matches!(self, SqlType::Char(_) | SqlType::Varchar(_))
    }

    /// Returns whether this type is BINARY or VARBINARY.
    pub fn is_bytes(&self) -> bool {
        matches!(self, SqlType::Binary(_) | SqlType::Varbinary(_))
    }

    /// Returns whether this type is TIMESTAMP or TIMESTAMP_LTZ.
    pub fn is_timestamp(&self) -> bool {
        matches!(self, SqlType::Timestamp(_) | SqlType::TimestampLtz(_))
    }

    /// Returns the precision and scale of an integer type as a decimal (3 to 19 digits, as in Flink), or
    /// those of a DECIMAL; `None` for other types.
    pub fn as_decimal(&self) -> Option<(u8, u8)> {
        Some(match *self {
            SqlType::TinyInt => (3, 0),
            SqlType::SmallInt => (5, 0),
            SqlType::Int => (10, 0),
            SqlType::BigInt => (19, 0),
            SqlType::Decimal { precision, scale } => (precision, scale),
            _ => return None,
        })
    }
}

/// Returns the type which holds values of both types without an explicit cast. As in Flink, types are widened only
/// among numbers, among text, among bytes and among timestamps of one kind. `None` if there is no such type.
///
/// Source: Flink, `LogicalTypeMerging.findCommonType`.
pub fn common_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    use SqlType::*;
    if left == right {
        return Some(left.clone());
    }
    Some(match (left, right) {
        (Null, other) | (other, Null) => other.clone(),
        _ if left.is_numeric() && right.is_numeric() => {
            let rank = |of: &SqlType| match of {
                TinyInt => 0,
                SmallInt => 1,
                Int => 2,
                _ => 3,
            };
            match (left, right) {
                (Double, _) | (_, Double) => Double,
                // The common type of a decimal and a FLOAT is DOUBLE.
                (Float, Decimal { .. }) | (Decimal { .. }, Float) => Double,
                (Float, _) | (_, Float) => Float,
                (Decimal { .. }, _) | (_, Decimal { .. }) => {
                    let ((lp, ls), (rp, rs)) = (left.as_decimal()?, right.as_decimal()?);
                    let scale = ls.max(rs);
                    let whole = (lp - ls).max(rp - rs);
                    // If a common decimal type would need more than 38 digits, digits before the point take
                    // precedence over those after it.
                    let precision = (whole + scale).min(DECIMAL_PRECISION_MAX);
                    Decimal { precision, scale: scale.min(DECIMAL_PRECISION_MAX.saturating_sub(whole)) }
                }
                _ if rank(left) >= rank(right) => left.clone(),
                _ => right.clone(),
            }
        }
        (Char(l) | Varchar(l), Char(r) | Varchar(r)) => Varchar(*l.max(r)),
        (Binary(l) | Varbinary(l), Binary(r) | Varbinary(r)) => Varbinary(*l.max(r)),
        (Time(l), Time(r)) => Time(*l.max(r)),
        (Timestamp(l), Timestamp(r)) => Timestamp(*l.max(r)),
        (TimestampLtz(l), TimestampLtz(r)) => TimestampLtz(*l.max(r)),
        (Timestamp(l), TimestampLtz(r)) | (TimestampLtz(l), Timestamp(r)) => TimestampLtz(*l.max(r)),
        (Timestamp(digits), Date) | (Date, Timestamp(digits)) => Timestamp(*digits),
        (TimestampLtz(digits), Date) | (Date, TimestampLtz(digits)) => TimestampLtz(*digits),
        (Array(l), Array(r)) => Array(Box::new(common_type(l, r)?)),
        (Map(lk, lv), Map(rk, rv)) => Map(Box::new(common_type(lk, rk)?), Box::new(common_type(lv, rv)?)),
        (Row(l), Row(r)) if l.len() == r.len() => {
            let pair = |((name, l), (_, r)): (&(String, SqlType), &(String, SqlType))| {
                Some((name.clone(), common_type(l, r)?))
            };
            Row(l.iter().zip(r).map(pair).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn unit_of(digits: u8) -> TimeUnit {
    match digits {
        0..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn digits_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Parses the text that Display writes for an [`SqlType`] without nested types.
fn scalar_of_text(text: &str) -> Option<SqlType> {
    let (name, numbers) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let numbers = rest.strip_suffix(')')?.split(',');
            (name, numbers.map(|number| number.trim().parse().ok()).collect::<Option<Vec<u32>>>()?)
        }
    };
    Some(match (name, &numbers[..]) {
        ("CHAR", &[length]) => SqlType::Char(length),
        ("VARCHAR", &[length]) => SqlType::Varchar(length),
        ("BINARY", &[length]) => SqlType::Binary(length),
        ("VARBINARY", &[length]) => SqlType::Varbinary(length),
        ("TIME", &[digits]) => SqlType::Time(u8::try_from(digits).ok()?),
        ("TIMESTAMP", &[digits]) => SqlType::Timestamp(u8::try_from(digits).ok()?),
        ("TIMESTAMP_LTZ", &[digits]) => SqlType::TimestampLtz(u8::try_from(digits).ok()?),
        _ => return None,
    })
}

/// Returns a name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Formats the SQL type as Flink does.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Null => f.write_str("NULL"),
            SqlType::Boolean => f.write_str("BOOLEAN"),
            SqlType::TinyInt => f.write_str("TINYINT"),
            SqlType::SmallInt => f.write_str("SMALLINT"),
            SqlType::Int => f.write_str("INT"),
            SqlType::BigInt => f.write_str("BIGINT"),
            SqlType::Float => f.write_str("FLOAT"),
            SqlType::Double => f.write_str("DOUBLE"),
            SqlType::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            SqlType::Char(length) => write!(f, "CHAR({length})"),
            SqlType::Varchar(LENGTH_MAX) => f.write_str("STRING"),
            SqlType::Varchar(length) => write!(f, "VARCHAR({length})"),
            SqlType::Binary(length) => write!(f, "BINARY({length})"),
            SqlType::Varbinary(LENGTH_MAX) => f.write_str("BYTES"),
            SqlType::Varbinary(length) => write!(f, "VARBINARY({length})"),
            SqlType::Date => f.write_str("DATE"),
            SqlType::Time(digits) => write!(f, "TIME({digits})"),
            SqlType::Timestamp(digits) => write!(f, "TIMESTAMP({digits})"),
            SqlType::TimestampLtz(digits) => write!(f, "TIMESTAMP_LTZ({digits})"),
            SqlType::DayTime => f.write_str("INTERVAL DAY TO SECOND"),
            SqlType::YearMonth => f.write_str("INTERVAL YEAR TO MONTH"),
            SqlType::Array(item) => write!(f, "ARRAY<{item}>"),
            SqlType::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            SqlType::Row(fields) => {
                f.write_str("ROW<")?;
                for (place, (name, of)) in fields.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {of}", quoted(name))?;
                }
                f.write_str(">")
            }
        }
    }
}

/// Returns a column with exactly the Arrow type `of`. Fields inside arrays, maps and rows carry length and
/// precision in their metadata, which differs between the operators that made them. A column that differs in
/// more than metadata is returned unchanged.
///
/// # Errors
/// [`ArrowError`] if Arrow refuses the relabelled data.
pub fn relabelled(column: ArrayRef, of: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == of || !column.data_type().is_nested() || !column.data_type().equals_datatype(of)
    {
        return Ok(column);
    }
    Ok(make_array(relabelled_data(column.to_data(), of)?))
}

fn relabelled_data(data: ArrayData, of: &DataType) -> Result<ArrayData, ArrowError> {
    let inner: Vec<&DataType> = match of {
        DataType::List(field) | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    };
    let children = data.child_data().iter().cloned().zip(inner).map(|(child, of)| relabelled_data(child, of));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    data.into_builder().data_type(of.clone()).child_data(children).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Arrow field keeps its SQL type in its metadata; if the metadata is of another type, the Arrow type
    /// decides.
    #[test]
    fn fields_remember_their_type() {
        let types = [
            SqlType::Boolean,
            SqlType::Decimal { precision: 10, scale: 2 },
            SqlType::Char(3),
            SqlType::Varchar(7),
            SqlType::STRING,
            SqlType::Binary(4),
            SqlType::BYTES,
            SqlType::Time(0),
            SqlType::Timestamp(0),
            SqlType::Timestamp(3),
            SqlType::TimestampLtz(9),
            SqlType::Array(Box::new(SqlType::Char(2))),
            SqlType::Map(Box::new(SqlType::STRING), Box::new(SqlType::Timestamp(1))),
            SqlType::Row(vec![("a".to_owned(), SqlType::Int), ("b".to_owned(), SqlType::Varchar(2))]),
        ];
        for of in types {
            assert_eq!(SqlType::of_field(&of.field("x", true)).as_ref(), Some(&of));
        }
        let lost = Field::new("x", DataType::Utf8, true)
            .with_metadata(HashMap::from([(TYPE_KEY.to_owned(), "TIMESTAMP(2)".to_owned())]));
        assert_eq!(SqlType::of_field(&lost), Some(SqlType::STRING));
        assert_eq!(SqlType::of_arrow(&DataType::UInt8), None);
    }

    /// Backticks within the names of fields are doubled, in both notations.
    #[test]
    fn types_are_written_short_and_long() {
        let fields = vec![("a`b".to_owned(), SqlType::STRING), ("c".to_owned(), SqlType::TimestampLtz(3))];
        let of =
            SqlType::Map(Box::new(SqlType::BYTES), Box::new(SqlType::Array(Box::new(SqlType::Row(fields)))));
        assert_eq!(of.to_string(), "MAP<BYTES, ARRAY<ROW<`a``b` STRING, `c` TIMESTAMP_LTZ(3)>>>");
        assert_eq!(
            of.long_form(),
            "MAP<VARBINARY(2147483647), ARRAY<ROW<`a``b` VARCHAR(2147483647), `c` TIMESTAMP(3) WITH LOCAL TIME ZONE>>>"
        );
    }

    /// Numbers and lengths of text are widened to a common type without a cast, as in Flink, and nothing else
    /// is.
    #[test]
    fn common_types_are_those_of_flink() {
        use SqlType::*;
        let decimal = |precision, scale| Decimal { precision, scale };
        let check = |left: SqlType, right: SqlType, expected: Option<SqlType>| {
            assert_eq!(common_type(&left, &right), expected, "{left} and {right}");
            assert_eq!(common_type(&right, &left), expected, "{right} and {left}");
        };
        check(TinyInt, BigInt, Some(BigInt));
        check(Int, Float, Some(Float));
        check(decimal(10, 2), Float, Some(Double));
        check(Int, decimal(5, 2), Some(decimal(12, 2)));
        check(decimal(38, 0), decimal(38, 10), Some(decimal(38, 0)));
        check(Char(3), Varchar(5), Some(Varchar(5)));
        check(Null, Date, Some(Date));
        check(Timestamp(3), Timestamp(6), Some(Timestamp(6)));
        check(SqlType::STRING, Int, None);
        check(Boolean, Int, None);
        check(Date, Int, None);
    }
}
