//! Questions about syntax trees of expressions: their parts, their places in the text, their size, the aggregates in
//! them, and how messages show them.

use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Spanned, Subscript,
    UnaryOperator, Value, WindowFrameBound, WindowType,
};
use sqlparser::tokenizer::Span;
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::user::Functions;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use crate::text::ddl::place_of;
use crate::text::dialect::single_name;
use crate::text::interval::{MILLIS, MONTHS};
pub(super) use crate::text::reserved::{check_name, check_names_of_value};

/// Returns whether an expression is a sub-query, or a test of one.
pub(super) fn is_query(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Subquery(_)
            | Expr::Exists { .. }
            | Expr::InSubquery { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
    )
}

/// Returns whether an expression has a sub-query.
pub(super) fn has_query(expression: &Expr) -> bool {
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        if is_query(expression) {
            return true;
        }
        parts(expression, &mut |part| open.push(part));
    }
    false
}

/// Calls `each` with the parts of an expression, from left to right. Queries within it are no parts.
pub(super) fn parts<'a>(expression: &'a Expr, each: &mut dyn FnMut(&'a Expr)) {
    match expression {
        Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotUnknown(inner)
        | Expr::Nested(inner)
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::Cast { expr: inner, .. }
        | Expr::Extract { expr: inner, .. }
        | Expr::Ceil { expr: inner, .. }
        | Expr::Floor { expr: inner, .. }
        | Expr::Collate { expr: inner, .. }
        | Expr::InSubquery { expr: inner, .. } => each(inner),
        Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right)
        | Expr::BinaryOp { left, right, .. }
        | Expr::AnyOp { left, right, .. }
        | Expr::AllOp { left, right, .. }
        | Expr::Position { expr: left, r#in: right }
        | Expr::AtTimeZone { timestamp: left, time_zone: right }
        | Expr::Like { expr: left, pattern: right, .. }
        | Expr::ILike { expr: left, pattern: right, .. }
        | Expr::RLike { expr: left, pattern: right, .. }
        | Expr::SimilarTo { expr: left, pattern: right, .. } => {
            each(left);
            each(right);
        }
        Expr::InList { expr, list, .. } => {
            each(expr);
            list.iter().for_each(each);
        }
        Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|part| each(part)),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            each(expr);
            [substring_from, substring_for].into_iter().flatten().for_each(|part| each(part));
        }
        Expr::Trim { trim_what, expr, trim_characters, .. } => {
            trim_what.iter().for_each(|part| each(part));
            each(expr);
            trim_characters.iter().flatten().for_each(each);
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            [expr, overlay_what, overlay_from].into_iter().for_each(|part| each(part));
            overlay_for.iter().for_each(|part| each(part));
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            each(root);
            for access in access_chain {
                match access {
                    AccessExpr::Subscript(Subscript::Index { index }) => each(index),
                    AccessExpr::Dot(Expr::Identifier(_)) | AccessExpr::Subscript(_) => {}
                    AccessExpr::Dot(inner) => each(inner),
                }
            }
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            operand.iter().for_each(|part| each(part));
            for branch in conditions {
                each(&branch.condition);
                each(&branch.result);
            }
            else_result.iter().for_each(|part| each(part));
        }
        Expr::Tuple(values) => values.iter().for_each(each),
        Expr::Interval(interval) => each(&interval.value),
        Expr::Array(array) => array.elem.iter().for_each(each),
        Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
            sets.iter().flatten().for_each(each);
        }
        Expr::Function(function) => {
            if let FunctionArguments::List(list) = &function.args {
                list.args.iter().filter_map(value_of).for_each(&mut *each);
            }
            function.filter.iter().for_each(|part| each(part));
            if let Some(WindowType::WindowSpec(window)) = &function.over {
                window.partition_by.iter().for_each(&mut *each);
                window.order_by.iter().for_each(|key| each(&key.expr));
                if let Some(frame) = &window.window_frame {
                    for bound in [Some(&frame.start_bound), frame.end_bound.as_ref()].into_iter().flatten() {
                        if let WindowFrameBound::Preceding(Some(span))
                        | WindowFrameBound::Following(Some(span)) = bound
                        {
                            each(span);
                        }
                    }
                }
            }
        }
        _ => {}
    }
}

/// Returns the value of an argument of a function; `None` for a star.
pub(super) fn value_of(argument: &FunctionArg) -> Option<&Expr> {
    let (FunctionArg::Unnamed(given)
    | FunctionArg::Named { arg: given, .. }
    | FunctionArg::ExprNamed { arg: given, .. }) = argument;
    match given {
        FunctionArgExpr::Expr(value) => Some(value),
        _ => None,
    }
}

/// Returns whether an argument of JSON_STRING is the call of a function that makes JSON, whose result is JSON already.
pub(super) fn is_made_of_json(argument: &Expr) -> bool {
    let Expr::Function(function) = without_brackets(argument) else { return false };
    single_name(&function.name).is_some_and(|name| {
        ["JSON_OBJECT", "JSON_ARRAY"].iter().any(|json| name.value.eq_ignore_ascii_case(json))
    })
}

/// Returns whether a call has arguments alone: no DISTINCT, FILTER, OVER or other clauses.
pub(super) fn is_plain_call(function: &Function) -> bool {
    let Function { name: _, uses_odbc_syntax, parameters, args, filter, null_treatment, over, within_group } =
        function;
    let is_plain_list = match args {
        FunctionArguments::List(list) => list.duplicate_treatment.is_none() && list.clauses.is_empty(),
        FunctionArguments::None => true,
        FunctionArguments::Subquery(_) => false,
    };
    is_plain_list
        && !uses_odbc_syntax
        && *parameters == FunctionArguments::None
        && filter.is_none()
        && null_treatment.is_none()
        && over.is_none()
        && within_group.is_empty()
}

/// Returns the place of a part of the syntax tree, if it is known.
pub(super) fn place(part: &impl Spanned) -> Option<Place> {
    known(part.span())
}

fn known(span: Span) -> Option<Place> {
    (span.start.line > 0).then(|| place_of(&span))
}

/// Returns the place of a name, if it is known.
pub(super) fn place_of_name(name: &Ident) -> Option<Place> {
    known(name.span)
}

/// Returns the place in the text of an expression, from its first word to its last, if it is known.
pub(super) fn place_of_expression(expression: &Expr) -> Option<Place> {
    known(span_of(expression))
}

fn span_of(expression: &Expr) -> Span {
    let mut span = match expression {
        Expr::Identifier(ident) => ident.span,
        Expr::CompoundIdentifier(idents) => Span::union_iter(idents.iter().map(|ident| ident.span)),
        Expr::Value(value) => value.span,
        Expr::TypedString(typed) => typed.value.span,
        Expr::Function(function) => function.name.span(),
        Expr::Case { case_token, end_token, .. } => case_token.0.span.union(&end_token.0.span),
        Expr::Subquery(query)
        | Expr::Exists { subquery: query, .. }
        | Expr::InSubquery { subquery: query, .. } => query.span(),
        _ => Span::empty(),
    };
    parts(expression, &mut |part| span = span.union(&span_of(part)));
    span
}

/// Returns the number of expressions in an expression, brackets apart, or a number above `most` if there are more.
pub(super) fn size(expression: &Expr, most: usize) -> usize {
    let mut count = usize::from(!matches!(expression, Expr::Nested(_)));
    parts(expression, &mut |part| {
        if count <= most {
            count += size(part, most - count);
        }
    });
    count
}

/// Returns an expression without the brackets around it.
pub(super) fn without_brackets(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expression {
        expression = inner;
    }
    expression
}

/// Returns an expression without the brackets around it and without leading plus signs.
pub(super) fn without_signs(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } = expression {
        expression = inner;
    }
    expression
}

/// Returns whether an expression calls an aggregate that is no OVER call. `user` has the functions of the session.
pub(super) fn has_aggregate(expression: &Expr, user: &Functions) -> bool {
    let is_one = match expression {
        Expr::Function(function) => {
            function.over.is_none()
                && single_name(&function.name).is_some_and(|name| {
                    let name = name.value.to_uppercase();
                    aggregate(&name).is_some() || user.aggregate(&name).is_some()
                })
        }
        _ => false,
    };
    let mut found = is_one;
    parts(expression, &mut |part| found = found || has_aggregate(part, user));
    found
}

/// Returns whether an expression is a call of PROCTIME().
pub(super) fn is_proctime(expression: &Expr) -> bool {
    match without_brackets(expression) {
        Expr::Function(function) => {
            single_name(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case("PROCTIME"))
        }
        _ => false,
    }
}

/// Creates the error for a part of a query that is not supported. Text after a colon in `what` says what to write
/// instead.
pub(super) fn not_supported(what: &str) -> SqlError {
    let (what, help) = what.split_once(": ").map_or((what, None), |(what, help)| (what, Some(help)));
    let error = SqlError::new(Code::Unsupported, format!("{what} is not supported"));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Refuses a part of a query; the error names the first of the given parts that is present, at a place.
macro_rules! refuse_any {
    ($place:expr; $($is_there:expr => $what:literal),+ $(,)?) => {
        $(if $is_there {
            return Err($crate::bind::syntax::not_supported($what).at($place));
        })+
    };
}
pub(super) use refuse_any;

/// Greatest number of characters of an expression that a message shows.
const SAID_MAX: usize = 120;

/// Returns an expression as SQL text for messages and for names of columns, without the names of tables, cut at
/// [`SAID_MAX`] characters.
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
        Expr::Identifier(name) => *text += &name.value,
        Expr::CompoundIdentifier(names) => *text += names.last().map_or("", |name| &name.value),
        Expr::Nested(inner) => say(inner, is_inner, text),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => *text += number,
            other => *text += &other.to_string(),
        },
        Expr::BinaryOp { left, op, right } => infix(left, &op.to_string(), right, is_inner, text),
        Expr::IsDistinctFrom(left, right) => infix(left, "IS DISTINCT FROM", right, is_inner, text),
        Expr::IsNotDistinctFrom(left, right) => infix(left, "IS NOT DISTINCT FROM", right, is_inner, text),
        Expr::Function(function) => {
            let name = single_name(&function.name).map_or("", |name| &name.value);
            if [MILLIS, MONTHS].contains(&name) {
                *text += "INTERVAL ..";
                return;
            }
            *text += &name.to_uppercase();
            if let FunctionArguments::List(list) = &function.args {
                let arguments: Vec<&Expr> = list.args.iter().filter_map(value_of).collect();
                let open = if list.duplicate_treatment.is_some() { "(DISTINCT " } else { "(" };
                match (&arguments[..], list.args.is_empty()) {
                    ([], false) => *text += "(*)",
                    (arguments, _) => among(open, arguments, ")", text),
                }
            }
            if let Some(filter) = &function.filter {
                *text += " FILTER (WHERE ";
                say(filter, false, text);
                text.push(')');
            }
        }
        Expr::Cast { kind, expr, data_type, .. } => {
            let word = if matches!(kind, sqlparser::ast::CastKind::TryCast) { "TRY_CAST(" } else { "CAST(" };
            *text += word;
            say(expr, false, text);
            *text += &format!(" AS {data_type})");
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            *text += "NOT ";
            say(expr, true, text);
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            text.push('-');
            say(expr, true, text);
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => say(expr, is_inner, text),
        Expr::IsNull(inner) => behind(inner, " IS NULL", text),
        Expr::IsNotNull(inner) => behind(inner, " IS NOT NULL", text),
        Expr::Case { .. } => *text += "CASE .. END",
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => *text += "a sub-query",
        Expr::CompoundFieldAccess { root, access_chain } => {
            say(root, true, text);
            for access in access_chain {
                match access {
                    AccessExpr::Subscript(Subscript::Index { index }) => among("[", &[index], "]", text),
                    access => *text += &access.to_string(),
                }
            }
        }
        other => *text += &other.to_string(),
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

fn among(open: &str, items: &[&Expr], close: &str, text: &mut String) {
    *text += open;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            *text += ", ";
        }
        say(item, false, text);
    }
    *text += close;
}

fn behind(inner: &Expr, operator: &str, text: &mut String) {
    say(inner, true, text);
    *text += operator;
}
