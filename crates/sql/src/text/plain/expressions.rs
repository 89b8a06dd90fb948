//! Plain forms of expressions: of several equal notations, each expression is rewritten to the one that the
//! planner knows. Unknown forms are refused.
//!
//! An expression is rewritten after all of its parts. The rewriting does not see the tables and the query
//! around it.

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField, Expr,
    Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, Subscript,
    TimezoneInfo, TrimWhereField, TypedString, UnaryOperator, Value, ValueWithSpan, WindowType,
};
use sqlparser::tokenizer::Span;
use thalweg_sql_functions::types::DECIMAL_PRECISION_MAX;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::frames::plain_window;
use super::{check_name, groups, not_supported, tuples};
use crate::text::ddl::place_of;
use crate::text::dialect::{call, single_name};
use crate::text::interval;

/// Returns the plain form of an expression, which is the notation that the planner knows. The parts of the
/// expression are already in plain form.
pub(super) fn plain(expression: Expr, at: Option<Place>) -> Result<Expr, SqlError> {
    let unsupported = |what: &str| not_supported(what).at(at);
    Ok(match expression {
        Expr::Value(ValueWithSpan { value, span }) => plain_value(value, span, &unsupported)?,
        Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: _ }) => {
            let written = match &value.value {
                Value::SingleQuotedString(text) => text.clone(),
                _ => return Err(unsupported("a literal of this form")),
            };
            let digits = written.trim().rsplit_once('.').map_or(0, |(_, fraction)| fraction.len() as u64);
            use thalweg_sql_functions::functions::cast::text::{parse_date, parse_time, parse_timestamp};
            let (data_type, is_read, what, like) = match data_type {
                DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                    let of = DataType::Timestamp(Some(digits.min(9)), TimezoneInfo::None);
                    let is_read = parse_timestamp(&written, digits.min(9) as u8).is_some();
                    (of, is_read, "timestamp", "TIMESTAMP '2024-12-31 23:59:59.999'")
                }
                DataType::Time(None, TimezoneInfo::None) => {
                    // The type TIME has at most 3 fractional digits of a second, which are milliseconds.
                    let of = DataType::Time(Some(digits.min(3)), TimezoneInfo::None);
                    let is_read = parse_time(&written, digits.min(3) as u8).is_some();
                    (of, is_read, "time", "TIME '23:59:59'")
                }
                DataType::Date => (data_type, parse_date(&written).is_some(), "date", "DATE '2024-12-31'"),
                _ => return Err(unsupported("a literal of this type: write CAST('..' AS type)")),
            };
            if !is_read {
                let error = SqlError::new(Code::Invalid, format!("'{written}' is no {what}"));
                return Err(error.at(at).help(format!("write {like}")));
            }
            cast(Expr::Value(value), data_type)
        }
        Expr::Cast { kind, expr, data_type, array, format } => {
            if format.is_some() {
                return Err(unsupported("a format in CAST"));
            }
            // The type `INT ARRAY` is rewritten as `ARRAY<INT>`, which means the same.
            let data_type = match array {
                true => DataType::Array(ArrayElemTypeDef::AngleBracket(Box::new(data_type))),
                false => data_type,
            };
            match kind {
                CastKind::Cast | CastKind::TryCast => {
                    Expr::Cast { kind, expr, data_type, array: false, format }
                }
                _ => return Err(unsupported("`::`: write CAST(.. AS ..)")),
            }
        }
        Expr::Extract { field, syntax: _, expr } => function("EXTRACT", vec![text(unit_name(&field)), *expr]),
        Expr::Ceil { expr, field } => rounded("CEIL", *expr, field, &unsupported)?,
        Expr::Floor { expr, field } => rounded("FLOOR", *expr, field, &unsupported)?,
        Expr::Position { expr, r#in } => function("POSITION", vec![*expr, *r#in]),
        Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
            let from = substring_from
                .map_or_else(|| Expr::Value(Value::Number("1".to_owned(), false).into()), |from| *from);
            let mut arguments = vec![*expr, from];
            arguments.extend(substring_for.map(|length| *length));
            function("SUBSTRING", arguments)
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            if trim_characters.is_some() {
                return Err(unsupported("TRIM(text, characters)"));
            }
            let name = match trim_where {
                None | Some(TrimWhereField::Both) => "TRIM_BOTH",
                Some(TrimWhereField::Leading) => "TRIM_LEADING",
                Some(TrimWhereField::Trailing) => "TRIM_TRAILING",
            };
            function(name, vec![trim_what.map_or_else(|| text(" "), |what| *what), *expr])
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let mut arguments = vec![*expr, *overlay_what, *overlay_from];
            arguments.extend(overlay_for.map(|length| *length));
            function("OVERLAY", arguments)
        }
        Expr::Array(array) if !array.named => return Err(unsupported("[..]: write ARRAY[..]")),
        Expr::Array(array) => function("ARRAY", array.elem),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut accesses = access_chain.into_iter().peekable();
            let mut root = *root;
            // In `t.a[1]`, the parts before the first subscript are the name of a column.
            while let (
                Expr::Identifier(_) | Expr::CompoundIdentifier(_),
                Some(AccessExpr::Dot(Expr::Identifier(_))),
            ) = (&root, accesses.peek())
                && let Some(AccessExpr::Dot(Expr::Identifier(part))) = accesses.next()
            {
                root = match root {
                    Expr::Identifier(first) => Expr::CompoundIdentifier(vec![first, part]),
                    Expr::CompoundIdentifier(mut parts) => {
                        parts.push(part);
                        Expr::CompoundIdentifier(parts)
                    }
                    other => other,
                };
            }
            accesses.try_fold(root, |inner, access| match access {
                AccessExpr::Subscript(Subscript::Index { index }) => Ok(function("ITEM", vec![inner, index])),
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    Ok(function("FIELD", vec![inner, text(field.value)]))
                }
                _ => Err(unsupported("this kind of access")),
            })?
        }
        Expr::Function(function) => Expr::Function(plain_function(function, &unsupported)?),
        Expr::Nested(inner) => *inner,
        Expr::InList { expr, list, negated } => tuples::plain_in(*expr, list, negated)?,
        Expr::BinaryOp { op: op @ (BinaryOperator::Xor | BinaryOperator::MyIntegerDivide), .. } => {
            return Err(unsupported(&format!("the operator {op}")));
        }
        Expr::BinaryOp { left, op, right } => tuples::plain_comparison(*left, op, *right)?,
        Expr::GroupingSets(list) => Expr::GroupingSets(groups::sets(list)?),
        Expr::Rollup(list) => Expr::GroupingSets(groups::rollup(&list)?),
        Expr::Cube(list) => Expr::GroupingSets(groups::cube(&list)?),
        Expr::Like { any: true, .. } => return Err(unsupported("LIKE ANY")),
        Expr::UnaryOp { op, expr } => match op {
            UnaryOperator::Plus => *expr,
            UnaryOperator::Minus if interval::is_interval(&expr) => interval::negated(*expr),
            UnaryOperator::Minus | UnaryOperator::Not => Expr::UnaryOp { op, expr },
            _ => return Err(unsupported("this operator")),
        },
        Expr::Interval(_) => return Err(unsupported("this form of INTERVAL: write INTERVAL '5' MINUTE")),
        Expr::Identifier(ident) => {
            check_name(&ident)?;
            Expr::Identifier(ident)
        }
        Expr::CompoundIdentifier(idents) => {
            idents.iter().try_for_each(check_name)?;
            Expr::CompoundIdentifier(idents)
        }
        plain @ (Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::SimilarTo { .. }
        | Expr::Case { .. }
        | Expr::Exists { .. }
        | Expr::Subquery(_)
        | Expr::Tuple(_)
        | Expr::Wildcard(_)
        | Expr::QualifiedWildcard(..)) => plain,
        Expr::ILike { .. } => return Err(unsupported("ILIKE")),
        Expr::RLike { .. } => return Err(unsupported("RLIKE: write REGEXP(text, pattern)")),
        Expr::AtTimeZone { .. } => return Err(unsupported("AT TIME ZONE")),
        Expr::Collate { .. } => return Err(unsupported("COLLATE")),
        Expr::Map(_) | Expr::Dictionary(_) => {
            return Err(unsupported("a literal of a map: write MAP('k', v, ..)"));
        }
        Expr::AnyOp { .. } | Expr::AllOp { .. } => return Err(unsupported("ANY or ALL of a query")),
        _ => return Err(unsupported("this expression")),
    })
}

fn plain_value(value: Value, span: Span, unsupported: &dyn Fn(&str) -> SqlError) -> Result<Expr, SqlError> {
    let with_span = |value| Expr::Value(ValueWithSpan { value, span });
    Ok(match value {
        Value::Number(number, _) if number.contains(['e', 'E']) => cast(
            with_span(Value::SingleQuotedString(number)),
            DataType::Double(sqlparser::ast::ExactNumberInfo::None),
        ),
        Value::Number(number, is_long) => {
            let digits = number.bytes().filter(u8::is_ascii_digit).count();
            if digits > usize::from(DECIMAL_PRECISION_MAX) {
                let message = format!("{number} has {digits} digits, and numbers have at most 38");
                return Err(SqlError::new(Code::TypeMismatch, message).at(place_of(&span)));
            }
            with_span(Value::Number(number, is_long))
        }
        Value::UnicodeStringLiteral(text) | Value::NationalStringLiteral(text) => {
            with_span(Value::SingleQuotedString(text))
        }
        value @ (Value::SingleQuotedString(_)
        | Value::HexStringLiteral(_)
        | Value::Boolean(_)
        | Value::Null) => with_span(value),
        _ => return Err(unsupported("a literal of this form")),
    })
}

fn rounded(
    name: &str,
    expr: Expr,
    field: CeilFloorKind,
    unsupported: &dyn Fn(&str) -> SqlError,
) -> Result<Expr, SqlError> {
    match field {
        CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => Ok(function(name, vec![expr])),
        CeilFloorKind::DateTimeField(field) => {
            Ok(function(&format!("{name}_TO"), vec![expr, text(unit_name(&field))]))
        }
        CeilFloorKind::Scale(_) => Err(unsupported("a scale: write ROUND(x, n)")),
    }
}

fn unit_name(field: &DateTimeField) -> String {
    let name = field.to_string().to_uppercase();
    match name.strip_suffix('S') {
        Some(one) if !one.is_empty() => one.to_owned(),
        _ => name,
    }
}

fn plain_function(
    mut function: Function,
    unsupported: &dyn Fn(&str) -> SqlError,
) -> Result<Function, SqlError> {
    if function.parameters != FunctionArguments::None || function.uses_odbc_syntax {
        return Err(unsupported("a function call of this form"));
    }
    if function.null_treatment.is_some() {
        return Err(unsupported("IGNORE NULLS"));
    }
    let Some(name) = single_name(&function.name).map(|name| name.value.to_uppercase()) else {
        return Err(unsupported("a function of another catalog"));
    };
    // A function name in backticks names the same function, because function names ignore case. ROLLUP and
    // CUBE are words of the grammar and not function names.
    if !matches!(&*name, "ROLLUP" | "CUBE")
        && let [ObjectNamePart::Identifier(name)] = &mut function.name.0[..]
        && name.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        name.quote_style = None;
    }
    if !function.within_group.is_empty() {
        return Err(unsupported("WITHIN GROUP"));
    }
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        plain_window(window)?;
    }
    if let FunctionArguments::Subquery(_) = function.args {
        return Err(unsupported("a query as the argument of a function"));
    }
    if let FunctionArguments::List(list) = &mut function.args {
        if !list.clauses.is_empty() {
            return Err(unsupported("a clause within the arguments of a function"));
        }
        let is_star = |argument: &FunctionArg| {
            let (FunctionArg::Unnamed(given)
            | FunctionArg::Named { arg: given, .. }
            | FunctionArg::ExprNamed { arg: given, .. }) = argument;
            !matches!(given, FunctionArgExpr::Expr(_))
        };
        let is_all = matches!(&list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if name == "COUNT" && is_all && list.duplicate_treatment.is_none() {
            // The argument of COUNT(*) is dropped, because COUNT counts all rows and needs no argument.
            list.args.clear();
        } else if list.args.iter().any(is_star) {
            let error = SqlError::new(Code::Invalid, format!("`*` is no argument of {name}"));
            return Err(error.help("all rows are counted by COUNT(*), and nothing else takes `*`"));
        } else if name == "COUNT" && list.args.is_empty() {
            return Err(SqlError::new(Code::Invalid, "COUNT has no argument").help("write COUNT(*)"));
        }
    }
    Ok(function)
}

fn function(name: &str, arguments: Vec<Expr>) -> Expr {
    call(Ident::new(name), arguments)
}

pub(super) fn text(value: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.into()).into())
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}
