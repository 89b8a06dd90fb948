//! Types in CAST, as the parser reads them.

use sqlparser::ast::{
    self, DataType as AstType, ExactNumberInfo, IntervalFields, ObjectNamePart, TimezoneInfo,
};
use thalweg_sql_functions::types::{LENGTH_MAX, SqlType};
use thalweg_sql_tables::error::{Code, SqlError};

use super::syntax::place;
use crate::text::ddl::type_of_text;

/// Returns the SQL type that the parser has read.
///
/// # Errors
/// [`Code::Unsupported`] if there is no such type.
pub(super) fn type_of(of: &AstType) -> Result<SqlType, SqlError> {
    type_of_ast(of).ok_or_else(|| {
        let at = match of {
            AstType::Custom(name, _) => place(name),
            _ => None,
        };
        SqlError::new(Code::Unsupported, format!("there is no type {of}")).at(at)
    })
}

/// Returns the SQL type that the parser has read; `None` if there is no such type.
fn type_of_ast(of: &AstType) -> Option<SqlType> {
    let digits = |digits: &Option<u64>, unless: u8| match digits {
        None => Some(unless),
        Some(digits) => u8::try_from(*digits).ok().filter(|digits| *digits <= 9),
    };
    let within = |length: u64| u32::try_from(length).ok().filter(|length| (1..=LENGTH_MAX).contains(length));
    let length = |length: &Option<ast::CharacterLength>| match length {
        None => Some(1),
        Some(ast::CharacterLength::IntegerLength { length, .. }) => within(*length),
        Some(ast::CharacterLength::Max) => None,
    };
    let decimal = |info: &ExactNumberInfo| {
        let (precision, scale) = match *info {
            ExactNumberInfo::None => (10, 0),
            ExactNumberInfo::Precision(precision) => (precision, 0),
            ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, u64::try_from(scale).ok()?),
        };
        let precision = u8::try_from(precision).ok().filter(|precision| (1..=38).contains(precision))?;
        let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision)?;
        Some(SqlType::Decimal { precision, scale })
    };
    Some(match of {
        AstType::Boolean | AstType::Bool => SqlType::Boolean,
        AstType::TinyInt(None) => SqlType::TinyInt,
        AstType::SmallInt(None) => SqlType::SmallInt,
        AstType::Int(None) | AstType::Integer(None) => SqlType::Int,
        AstType::BigInt(None) => SqlType::BigInt,
        AstType::Float(ExactNumberInfo::None) => SqlType::Float,
        AstType::Double(ExactNumberInfo::None) | AstType::DoublePrecision => SqlType::Double,
        AstType::Decimal(info) | AstType::Dec(info) | AstType::Numeric(info) => decimal(info)?,
        AstType::Char(n) | AstType::Character(n) => SqlType::Char(length(n)?),
        AstType::Varchar(n) | AstType::CharacterVarying(n) | AstType::CharVarying(n) => {
            // VARCHAR without a length is a STRING, as Flink runs it; Flink's documentation says VARCHAR(1).
            n.as_ref().map_or(Some(SqlType::STRING), |_| length(n).map(SqlType::Varchar))?
        }
        AstType::String(None) => SqlType::STRING,
        AstType::Binary(n) => SqlType::Binary(within(n.unwrap_or(1))?),
        AstType::Varbinary(n) => match n {
            None => SqlType::BYTES,
            Some(ast::BinaryLength::IntegerLength { length }) => SqlType::Varbinary(within(*length)?),
            Some(ast::BinaryLength::Max) => return None,
        },
        AstType::Bytes(None) => SqlType::BYTES,
        AstType::Date => SqlType::Date,
        AstType::Time(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            SqlType::Time(digits(precision, 0)?)
        }
        AstType::Timestamp(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            SqlType::Timestamp(digits(precision, 6)?)
        }
        AstType::Interval { fields: Some(IntervalFields::YearToMonth | IntervalFields::Month), .. } => {
            SqlType::YearMonth
        }
        AstType::Interval { fields: Some(IntervalFields::DayToSecond | IntervalFields::Second), .. } => {
            SqlType::DayTime
        }
        AstType::Array(ast::ArrayElemTypeDef::AngleBracket(item)) => {
            SqlType::Array(Box::new(type_of_ast(item)?))
        }
        AstType::Map(key, value) => SqlType::Map(Box::new(type_of_ast(key)?), Box::new(type_of_ast(value)?)),
        AstType::Custom(name, modifiers) => {
            let [ObjectNamePart::Identifier(name)] = &name.0[..] else { return None };
            match (name.value.to_uppercase().as_str(), &modifiers[..]) {
                ("TIMESTAMP_LTZ", []) => SqlType::TimestampLtz(6),
                ("TIMESTAMP_LTZ", [precision]) => {
                    SqlType::TimestampLtz(digits(&Some(precision.parse().ok()?), 6)?)
                }
                ("STRING", []) => SqlType::STRING,
                ("BYTES", []) => SqlType::BYTES,
                (_, []) => return type_of_text(&name.value),
                _ => return None,
            }
        }
        _ => return None,
    })
}
