//! DataFusion's expressions as SQL text, for errors and for the names of columns.

use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use datafusion_expr::expr::{BinaryExpr, Cast, TryCast};
use thalweg_sql_functions::types::SqlType;

use crate::text::interval::{MILLIS, MONTHS};
use crate::text::plain::{CELL, without_mark};

/// Greatest number of characters of an expression that a message shows.
const SAID_MAX: usize = 120;

/// Returns an expression as SQL text, cut at [`SAID_MAX`] characters.
pub(super) fn said(expression: &Expr) -> String {
    let mut text = String::new();
    say(expression, false, &mut text);
    if text.chars().count() > SAID_MAX {
        text = text.chars().take(SAID_MAX).collect::<String>() + "..";
    }
    text
}

fn say(expression: &Expr, is_inner: bool, text: &mut String) {
    // The text is long enough to be cut, so the rest of the expression is not written.
    if text.len() > 8 * SAID_MAX {
        return;
    }
    match expression {
        Expr::Alias(alias) => say(&alias.expr, is_inner, text),
        Expr::Column(column) => *text += without_mark(&column.name),
        Expr::Literal(value, _) => *text += &literal(value),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            infix(left, &op.to_string(), right, is_inner, text);
        }
        Expr::ScalarFunction(function) => match (function.func.name(), &function.args[..]) {
            (name @ ("+" | "-" | "*" | "/" | "%" | "||"), [left, right]) => {
                infix(left, name, right, is_inner, text);
            }
            ("item", [array, index]) => {
                say(array, true, text);
                list("[", std::slice::from_ref(index), "]", text);
            }
            ("field", [row, Expr::Literal(ScalarValue::Utf8(Some(name)), _)]) => {
                say(row, true, text);
                *text += &format!(".{name}");
            }
            (MILLIS | MONTHS, _) => *text += "INTERVAL ..",
            (CELL, [cell]) => say(cell, is_inner, text),
            (name, arguments) => {
                *text += &name.to_uppercase();
                list("(", arguments, ")", text);
            }
        },
        Expr::AggregateFunction(call) => {
            *text += &call.func.name().to_uppercase();
            let open = if call.params.distinct { "(DISTINCT " } else { "(" };
            match &call.params.args[..] {
                [] => *text += "(*)",
                arguments => list(open, arguments, ")", text),
            }
            if let Some(filter) = &call.params.filter {
                *text += " FILTER (WHERE ";
                say(filter, false, text);
                text.push(')');
            }
        }
        Expr::Cast(Cast { expr, field }) => cast("CAST(", expr, field, text),
        Expr::TryCast(TryCast { expr, field }) => cast("TRY_CAST(", expr, field, text),
        Expr::Not(inner) => {
            *text += "NOT ";
            say(inner, true, text);
        }
        Expr::Negative(inner) => {
            text.push('-');
            say(inner, true, text);
        }
        Expr::IsNull(inner) => behind(inner, " IS NULL", text),
        Expr::IsNotNull(inner) => behind(inner, " IS NOT NULL", text),
        Expr::Case(_) => *text += "CASE .. END",
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => *text += "a sub-query",
        other => *text += &other.human_display().to_string(),
    }
}

fn infix(left: &Expr, operator: &str, right: &Expr, is_inner: bool, text: &mut String) {
    if is_inner {
        text.push('(');
    }
    say(left, true, text);
    *text += &format!(" {operator} ");
    say(right, true, text);
    if is_inner {
        text.push(')');
    }
}

fn list(open: &str, items: &[Expr], close: &str, text: &mut String) {
    *text += open;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            *text += ", ";
        }
        say(item, false, text);
    }
    *text += close;
}

fn cast(open: &str, inner: &Expr, field: &arrow::datatypes::Field, text: &mut String) {
    let to = SqlType::of_field(field).map_or_else(|| field.data_type().to_string(), |of| of.to_string());
    *text += open;
    say(inner, false, text);
    *text += &format!(" AS {to})");
}

fn behind(inner: &Expr, operator: &str, text: &mut String) {
    say(inner, true, text);
    *text += operator;
}

fn literal(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Utf8(Some(text)) => format!("'{}'", text.replace('\'', "''")),
        ScalarValue::Boolean(Some(value)) => value.to_string().to_uppercase(),
        ScalarValue::Decimal128(Some(number), _, scale) => match u32::try_from(*scale) {
            Ok(scale) => {
                let digits = format!("{:0>width$}", number.unsigned_abs(), width = scale as usize + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
                let sign = if *number < 0 { "-" } else { "" };
                if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
            }
            Err(_) => value.to_string(),
        },
        value if value.is_null() => "NULL".to_owned(),
        value => value.to_string(),
    }
}
