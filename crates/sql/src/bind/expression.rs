//! Expressions: each form of the syntax tree becomes a typed expression over the columns of a scope.
//!
//! The tree is read once. Forms which mean the same, such as `EXTRACT(DAY FROM x)` and a call, come together here; forms
//! that are not known are refused, so that nothing in a query is ignored. An error points at the innermost expression
//! that has it.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DateTimeField, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident, NullTreatment, Query,
    Subscript, TrimWhereField, UnaryOperator, Value, ValueWithSpan,
};
use thalweg_sql_exec::plan::Aggregate;
use thalweg_sql_functions::aggregates::{aggregate, aggregates};
use thalweg_sql_functions::expression::{Expression, State, Typed};
use thalweg_sql_functions::functions::arithmetic::ArithmeticOp;
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::functions::{self, Context};
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

use super::Planner;
use super::current_watermark::{CURRENT_WATERMARK, check_argument};
use super::elsewhere::instead_of;
use super::over::RANKS;
use super::portable::OnlyHere;
use super::quantified::Quantified;
use super::scope::{Meaning, Scope};
use super::syntax::{
    check_names_of_value, is_made_of_json, is_plain_call, not_supported, place_of_expression, place_of_name,
    said, without_brackets, without_signs,
};
use super::types::type_of;
use super::typing::{boolean, is, not, text};
use crate::text::bounds::OPERATORS_MAX;
use crate::text::dialect::single_name;
use crate::text::interval::{MILLIS, MONTHS};

mod forms;
mod literal;

use literal::{literal, number, typed_literal};

pub(super) type Result<T> = std::result::Result<T, SqlError>;

impl Planner<'_> {
    /// Returns an expression with types and functions of Flink.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, at the innermost expression that has it.
    pub(super) fn bind(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        let bound = if depth > OPERATORS_MAX {
            let message = format!("an expression has more than {OPERATORS_MAX} operators within each other");
            Err(SqlError::new(Code::Unsupported, message).help("write x IN (..) for many alternatives"))
        } else {
            self.bind_form(expression, scope)
        };
        self.depth.set(depth - 1);
        bound.map_err(|error| match error.place {
            Some(_) => error,
            None => error.at(place_of_expression(expression)),
        })
    }

    /// Returns a condition with types, which is a BOOLEAN or NULL.
    ///
    /// # Errors
    /// Fails as [`bind`](Self::bind) does, and with [`Code::TypeMismatch`] for another type.
    pub(super) fn bind_condition(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        let bound = self.bind(expression, scope)?;
        self.typing.condition(bound).map_err(|error| error.at(place_of_expression(expression)))
    }

    fn bind_all<'a>(
        &self,
        expressions: impl IntoIterator<Item = &'a Expr>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Typed>> {
        expressions.into_iter().map(|expression| self.bind(expression, scope)).collect()
    }

    fn bind_form(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        if let Some(groups) = scope.groups
            && let Some(key) = self.key_for(groups, expression)
        {
            return Ok(scope.column(key));
        }
        let call = |name: &str, arguments: &[&Expr]| {
            let arguments = self.bind_all(arguments.iter().copied(), scope)?;
            self.typing.named_function(name, arguments)
        };
        if let Some(value) = self.query_value(expression, scope)? {
            return Ok(value);
        }
        self.note_null_parts(expression);
        let is_boolean = |inner: &Expr, state| Ok(is(self.bind_condition(inner, scope)?, state));
        match expression {
            Expr::Identifier(name) => self.value_of_name(std::slice::from_ref(name), scope),
            Expr::CompoundIdentifier(names) => self.value_of_name(names, scope),
            Expr::Nested(inner) => self.bind(inner, scope),
            Expr::Value(value) => {
                let value = literal(&self.typing, value)?;
                self.note_long_number(&value, expression);
                Ok(value)
            }
            Expr::TypedString(typed) => typed_literal(&self.typing, typed),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, scope),
            Expr::IsNull(inner) => Ok(is(self.bind(inner, scope)?, State::Null)),
            Expr::IsNotNull(inner) => Ok(is(self.bind(inner, scope)?, State::NotNull)),
            Expr::IsTrue(inner) => is_boolean(inner, State::True),
            Expr::IsNotTrue(inner) => is_boolean(inner, State::NotTrue),
            Expr::IsFalse(inner) => is_boolean(inner, State::False),
            Expr::IsNotFalse(inner) => is_boolean(inner, State::NotFalse),
            Expr::IsUnknown(inner) => is_boolean(inner, State::Null),
            Expr::IsNotUnknown(inner) => is_boolean(inner, State::NotNull),
            Expr::IsDistinctFrom(left, right) => {
                self.compared(ComparisonOp::IsDistinctFrom, left, right, scope)
            }
            Expr::IsNotDistinctFrom(left, right) => {
                self.compared(ComparisonOp::IsNotDistinctFrom, left, right, scope)
            }
            Expr::Between { expr, negated, low, high } => {
                let (value, low, high) =
                    (self.bind(expr, scope)?, self.bind(low, scope)?, self.bind(high, scope)?);
                let within = self.typing.between(value, low, high)?;
                Ok(if *negated { not(within) } else { within })
            }
            Expr::Like { any: true, .. } => Err(not_supported("LIKE ANY")),
            Expr::Like { negated, any: _, expr, pattern, escape_char } => {
                self.like("LIKE", *negated, [expr, pattern], escape_char.as_ref(), scope)
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                self.like("SIMILAR", *negated, [expr, pattern], escape_char.as_ref(), scope)
            }
            Expr::InList { expr, list, negated } => {
                let found = self.in_list(expr, list, scope)?;
                Ok(if *negated { not(found) } else { found })
            }
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
            }
            Expr::Cast { format: Some(_), .. } => Err(not_supported("a format in CAST")),
            Expr::Cast { kind, expr, data_type, array, format: None } => {
                let is_try = match kind {
                    CastKind::Cast => false,
                    CastKind::TryCast => true,
                    _ => {
                        return Err(not_supported(
                            "`::`: write CAST(.. AS ..), because Flink has no `::` either",
                        ));
                    }
                };
                let to = type_of(data_type)?;
                // The type `INT ARRAY` means the same as `ARRAY<INT>`.
                let to = if *array { SqlType::Array(Box::new(to)) } else { to };
                let from = self.bind(expr, scope)?;
                if matches!(from.of, SqlType::DayTime | SqlType::YearMonth) && to.is_numeric() {
                    self.note(OnlyHere::IntervalAsNumber, place_of_expression(expression));
                }
                self.typing.cast_to(self.typing.counted(from, data_type, is_try)?, &to, is_try)
            }
            Expr::Extract { field, syntax: _, expr } => {
                self.typing.named_function("EXTRACT", vec![text(unit_name(field)), self.bind(expr, scope)?])
            }
            Expr::Ceil { expr, field } => self.rounded("CEIL", expr, field, scope),
            Expr::Floor { expr, field } => self.rounded("FLOOR", expr, field, scope),
            Expr::Position { expr, r#in } => call("POSITION", &[expr, r#in]),
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                let mut arguments = vec![self.bind(expr, scope)?];
                arguments.push(match substring_from {
                    Some(from) => self.bind(from, scope)?,
                    None => Typed::literal(ScalarValue::Int32(Some(1)), SqlType::Int),
                });
                arguments.extend(self.bind_all(substring_for.as_deref(), scope)?);
                self.typing.named_function("SUBSTRING", arguments)
            }
            Expr::Trim { trim_characters: Some(_), .. } => {
                Err(not_supported("TRIM(text, characters): write TRIM(BOTH characters FROM text) or BTRIM"))
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "TRIM_BOTH",
                    Some(TrimWhereField::Leading) => "TRIM_LEADING",
                    Some(TrimWhereField::Trailing) => "TRIM_TRAILING",
                };
                let what = match trim_what {
                    Some(what) => self.bind(what, scope)?,
                    None => text(" "),
                };
                self.typing.named_function(name, vec![what, self.bind(expr, scope)?])
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let first = [expr, overlay_what, overlay_from].map(|part| &**part);
                let all = self.bind_all(first.into_iter().chain(overlay_for.as_deref()), scope)?;
                self.typing.named_function("OVERLAY", all)
            }
            Expr::Array(array) if !array.named => Err(not_supported("[..]: write ARRAY[..]")),
            Expr::Array(array) => self.typing.named_function("ARRAY", self.bind_all(&array.elem, scope)?),
            Expr::Tuple(values) => self.typing.named_function("ROW", self.bind_all(values, scope)?),
            Expr::CompoundFieldAccess { root, access_chain } => self.accessed(root, access_chain, scope),
            Expr::Function(function) => self.function(expression, function, scope),
            other => Err(not_supported(unknown_form(other))),
        }
    }

    /// Returns the value of a name: a column, or a field of a column.
    pub(super) fn value_of_name(&self, parts: &[Ident], scope: &Scope<'_>) -> Result<Typed> {
        check_names_of_value(parts)?;
        self.note_common_column(parts, scope);
        let (value, fields) = match scope.meaning(parts)? {
            Meaning::Value(value, fields) => (value, fields),
            Meaning::Alias(expression) => {
                // QUALIFY, in which calls with OVER stand, may name results in Flink, too.
                if scope.overs.is_none() {
                    self.note(OnlyHere::ResultName, parts.first().and_then(place_of_name));
                }
                let value = self.bind(expression, &Scope { aliases: &[], ..*scope })?;
                // A result that is named often is typed and kept as often.
                self.typing.copies(&value, 1)?;
                return Ok(value);
            }
        };
        if scope.groups.is_some() {
            self.note_outer_of_groups(&value, parts, scope);
        }
        let value = match scope.groups {
            // Columns of ORDER BY's results and of the query around this one are no columns of the groups.
            Some(groups) if value.as_column().is_none_or(|place| place < groups.input.columns.len()) => {
                let whole = self.with_fields(value.clone(), fields)?;
                if let Some(key) = groups.key_of(&whole) {
                    return Ok(scope.column(key));
                }
                match groups.key_of(&value) {
                    Some(key) => scope.column(key),
                    None => return Err(groups.not_grouped(parts)),
                }
            }
            _ => value,
        };
        self.with_fields(value, fields)
    }

    fn with_fields(&self, value: Typed, fields: &[Ident]) -> Result<Typed> {
        fields.iter().try_fold(value, |inner, field| {
            self.typing.named_function("FIELD", vec![inner, text(field.value.clone())])
        })
    }

    /// Returns the item of an array or map, or the field of a row, that a chain of accesses picks.
    fn accessed(&self, root: &Expr, chain: &[AccessExpr], scope: &Scope<'_>) -> Result<Typed> {
        let mut chain = chain.iter().peekable();
        // In `t.a[1]`, the parts before the first subscript are the name of a column.
        let mut name: Vec<Ident> = match root {
            Expr::Identifier(name) => vec![name.clone()],
            Expr::CompoundIdentifier(names) => names.clone(),
            _ => Vec::new(),
        };
        let mut value = if name.is_empty() {
            self.bind(root, scope)?
        } else {
            while let Some(AccessExpr::Dot(Expr::Identifier(part))) = chain.peek() {
                name.push(part.clone());
                chain.next();
            }
            self.value_of_name(&name, scope)?
        };
        for access in chain {
            value = match access {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    self.typing.named_function("ITEM", vec![value, self.bind(index, scope)?])?
                }
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    self.with_fields(value, std::slice::from_ref(field))?
                }
                _ => return Err(not_supported("this kind of access")),
            };
        }
        Ok(value)
    }

    fn unary(&self, op: UnaryOperator, inner: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        match op {
            UnaryOperator::Plus => self.bind(inner, scope),
            UnaryOperator::Minus => match without_signs(inner) {
                // The sign belongs to the literal: `-2147483648` is an INT.
                Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. })
                    if !digits.contains(['e', 'E']) =>
                {
                    number(digits, true)
                }
                _ => self.typing.negate(self.bind(inner, scope)?),
            },
            UnaryOperator::Not => {
                let inner = self.bind(inner, scope)?;
                match inner.of {
                    SqlType::Boolean | SqlType::Null => Ok(not(inner)),
                    _ => Err(SqlError::new(Code::TypeMismatch, "NOT takes a condition, a BOOLEAN")),
                }
            }
            _ => Err(not_supported("this operator")),
        }
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        let arithmetic = |op| {
            let (left, right) = (self.bind(left, scope)?, self.bind(right, scope)?);
            self.typing.arithmetic(op, left, right)
        };
        match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let mut terms = Vec::new();
                flatten(left, op, &mut terms);
                flatten(right, op, &mut terms);
                let condition = |term: &Expr| {
                    let value = self.bind(term, scope)?;
                    self.typing.condition(value).map_err(|_| {
                        let message = "AND and OR take conditions, BOOLEANs";
                        SqlError::new(Code::TypeMismatch, message).at(place_of_expression(term))
                    })
                };
                let terms = terms.into_iter().map(condition).collect::<Result<_>>()?;
                let combine = if *op == BinaryOperator::And { Expression::And } else { Expression::Or };
                Ok(boolean(combine(terms)))
            }
            BinaryOperator::Eq => self.compared(ComparisonOp::Eq, left, right, scope),
            BinaryOperator::NotEq => self.compared(ComparisonOp::NotEq, left, right, scope),
            BinaryOperator::Lt => self.compared(ComparisonOp::Lt, left, right, scope),
            BinaryOperator::LtEq => self.compared(ComparisonOp::LtEq, left, right, scope),
            BinaryOperator::Gt => self.compared(ComparisonOp::Gt, left, right, scope),
            BinaryOperator::GtEq => self.compared(ComparisonOp::GtEq, left, right, scope),
            BinaryOperator::Plus => arithmetic(ArithmeticOp::Add),
            BinaryOperator::Minus => arithmetic(ArithmeticOp::Subtract),
            BinaryOperator::Multiply => arithmetic(ArithmeticOp::Multiply),
            BinaryOperator::Divide => arithmetic(ArithmeticOp::Divide),
            BinaryOperator::Modulo => arithmetic(ArithmeticOp::Modulo),
            BinaryOperator::Overlaps => match (left, right) {
                (Expr::Tuple(first), Expr::Tuple(second)) if first.len() == 2 && second.len() == 2 => {
                    let ends = self.bind_all(first.iter().chain(second), scope)?;
                    self.typing.named_function("OVERLAPS", ends)
                }
                _ => Err(SqlError::new(Code::Invalid, "OVERLAPS stands between two pairs in brackets")
                    .help("write (t1, t2) OVERLAPS (t3, t4)")),
            },
            BinaryOperator::StringConcat => {
                let sides = vec![self.bind(left, scope)?, self.bind(right, scope)?];
                self.typing.named_function("CONCAT", sides).map_err(|error| SqlError {
                    message: error.message.replace("CONCAT", "||"),
                    help: Some("both sides are text: cast what is not".to_owned()),
                    ..error
                })
            }
            other => Err(not_supported(&format!("the operator {other}"))),
        }
    }

    /// Returns a comparison of two values, or of two lists of values in brackets.
    fn compared(&self, op: ComparisonOp, left: &Expr, right: &Expr, scope: &Scope<'_>) -> Result<Typed> {
        if let (Expr::Tuple(values), Expr::Tuple(others)) = (left, right)
            && matches!(op, ComparisonOp::Eq | ComparisonOp::NotEq)
        {
            let values = self.compared_values(values, scope)?;
            let equal = self.all_equal(&values, others, scope)?;
            return Ok(if op == ComparisonOp::Eq { equal } else { not(equal) });
        }
        let (left_value, right_value) = (self.bind(left, scope)?, self.bind(right, scope)?);
        self.typing.compare(op, left_value, right_value).map_err(|error| SqlError {
            message: format!("{} {op} {}: {}", said(left), said(right), error.message),
            ..error
        })
    }

    /// Returns the values of a list in brackets, which are compared with those of others.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for values such as RAND(), which would differ between the comparisons.
    fn compared_values(&self, values: &[Expr], scope: &Scope<'_>) -> Result<Vec<Typed>> {
        let bound = self.bind_all(values, scope)?;
        match bound.iter().zip(values).find(|(value, _)| !value.is_deterministic()) {
            None => Ok(bound),
            Some((_, value)) => {
                let message =
                    format!("{} in brackets before IN or = differs at each comparison", said(value));
                let error = SqlError::new(Code::Unsupported, message).at(place_of_expression(value));
                Err(error.help("compute it in a sub-query"))
            }
        }
    }

    /// Returns the condition that each of `values` equals the one of `others` with the same index.
    fn all_equal(&self, values: &[Typed], others: &[Expr], scope: &Scope<'_>) -> Result<Typed> {
        if values.len() != others.len() {
            let message = format!("{} values are compared with {}", values.len(), others.len());
            return Err(SqlError::new(Code::TypeMismatch, message));
        }
        let mut terms = Vec::with_capacity(values.len());
        for (value, other) in values.iter().zip(others) {
            self.typing.copies(value, 1)?;
            let other = self.bind(other, scope)?;
            terms.push(self.typing.compare(ComparisonOp::Eq, value.clone(), other)?);
        }
        super::typing::conjunction(terms)
            .ok_or_else(|| SqlError::new(Code::Syntax, "brackets hold no values"))
    }

    /// Returns whether a value, or a list of values in brackets, is in a list.
    fn in_list(&self, value: &Expr, list: &[Expr], scope: &Scope<'_>) -> Result<Typed> {
        let Expr::Tuple(values) = value else {
            let found = self.bind(value, scope)?;
            let others = self.bind_all(list, scope)?;
            return self.typing.one_of(&found, others).map_err(|error| match error.code {
                Code::TypeMismatch => {
                    SqlError { message: format!("{} IN (..): {}", said(value), error.message), ..error }
                }
                _ => error,
            });
        };
        if list.len().saturating_mul(values.len()) > OPERATORS_MAX {
            let message = format!("IN compares more than {OPERATORS_MAX} values");
            return Err(SqlError::new(Code::Unsupported, message).help("join with a table or VALUES"));
        }
        let bound = self.compared_values(values, scope)?;
        let mut terms = Vec::with_capacity(list.len());
        for item in list {
            let Expr::Tuple(item) = item else {
                let message = format!("{} values are compared with one", values.len());
                return Err(SqlError::new(Code::TypeMismatch, message)
                    .help("write as many in brackets: ((1, 2), (3, 4))"));
            };
            terms.push(self.all_equal(&bound, item, scope)?);
        }
        match terms.len() {
            0 => Err(SqlError::new(Code::Syntax, "IN compares with nothing")),
            1 => Ok(terms.remove(0)),
            _ => Ok(boolean(Expression::Or(terms))),
        }
    }

    fn like(
        &self,
        name: &str,
        is_negated: bool,
        [value, pattern]: [&Expr; 2],
        escape: Option<&ValueWithSpan>,
        scope: &Scope<'_>,
    ) -> Result<Typed> {
        let mut arguments = vec![self.bind(value, scope)?, self.bind(pattern, scope)?];
        if let Some(escape) = escape {
            arguments.push(match &escape.value {
                Value::SingleQuotedString(character) if character.chars().count() == 1 => {
                    text(character.clone())
                }
                other => {
                    let message = format!("ESCAPE takes one character, and this is {other}");
                    return Err(SqlError::new(Code::Invalid, message));
                }
            });
        }
        let found = self.typing.named_function(name, arguments)?;
        Ok(if is_negated { not(found) } else { found })
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Typed> {
        let operand = operand.map(|operand| self.bind(operand, scope)).transpose()?;
        if let Some(operand) = &operand {
            self.typing.copies(operand, conditions.len())?;
        }
        let mut branches = Vec::with_capacity(conditions.len());
        for CaseWhen { condition, result } in conditions {
            let holds = match (&operand, forms::any_of(condition)) {
                (Some(operand), Some(values)) => {
                    let values = self.bind_all(values, scope)?;
                    self.typing
                        .one_of(operand, values)
                        .map_err(|error| error.at(place_of_expression(condition)))?
                }
                (Some(operand), None) => {
                    let when = self.bind(condition, scope)?;
                    self.typing
                        .compare(ComparisonOp::Eq, operand.clone(), when)
                        .map_err(|error| error.at(place_of_expression(condition)))?
                }
                (None, _) => self.bind_condition(condition, scope)?,
            };
            branches.push((holds, self.bind(result, scope)?));
        }
        let otherwise = otherwise.map(|otherwise| self.bind(otherwise, scope)).transpose()?;
        self.typing.case(branches, otherwise)
    }

    fn rounded(&self, name: &str, value: &Expr, field: &CeilFloorKind, scope: &Scope<'_>) -> Result<Typed> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                self.typing.named_function(name, vec![self.bind(value, scope)?])
            }
            CeilFloorKind::DateTimeField(field) => {
                let arguments = vec![self.bind(value, scope)?, text(unit_name(field))];
                self.typing.named_function(&format!("{name}_TO"), arguments)
            }
            CeilFloorKind::Scale(_) => Err(not_supported("a scale: write ROUND(x, n)")),
        }
    }

    /// Returns a call of a function: of a scalar one, of an aggregate, or with OVER.
    fn function(&self, whole: &Expr, function: &Function, scope: &Scope<'_>) -> Result<Typed> {
        let Function { name, uses_odbc_syntax, parameters, args, filter, null_treatment, over, within_group } =
            function;
        if *parameters != FunctionArguments::None || *uses_odbc_syntax {
            return Err(not_supported("a function call of this form"));
        }
        let treatment = null_treatment.or_else(|| treatment_of_nulls(args));
        if !within_group.is_empty() {
            return Err(not_supported("WITHIN GROUP: values stand in the order in which they came"));
        }
        let Some(ident) = single_name(name) else {
            return Err(not_supported("a function of another catalog"));
        };
        let mut name = ident.value.to_uppercase();
        let arguments = arguments_of(&name, args)?;
        // Aggregates are computed as they are with RESPECT NULLS, whether it is written or not.
        if treatment == Some(NullTreatment::IgnoreNulls) {
            if name != "ARRAY_AGG" {
                return Err(not_supported(&format!("IGNORE NULLS of {name}")));
            }
            name = "$ARRAY_AGG_IGNORE_NULLS".to_owned();
        }
        if ident.quote_style.is_some() {
            if [MILLIS, MONTHS].contains(&&*ident.value) {
                return self.interval(&ident.value, &arguments, scope);
            }
            if let Some(form) = self.form(&ident.value, &arguments, scope)? {
                return Ok(form);
            }
        }
        if let Some(column) = self.read_of_window(whole, scope)? {
            return Ok(column);
        }
        if matches!(&*name, "GROUPING" | "GROUPING_ID" | "GROUP_ID") {
            if !is_plain_call(function) {
                return Err(SqlError::new(Code::Invalid, format!("{name} takes keys alone")));
            }
            if name == "GROUP_ID" {
                return self.group_id(&arguments, scope);
            }
            return self.grouping(&arguments, scope);
        }
        if let Some(window) = over {
            return self.over_call(&name, function, &arguments, window, whole, scope);
        }
        let user = self.binder.catalog.functions().get(&name);
        let of_user = user.filter(|user| user.is_aggregate() && scope.groups.is_some());
        let known = aggregate(&name).map(Aggregate::Function);
        if let Some(known) = known.or(of_user.cloned().map(Aggregate::User)) {
            return self.aggregate_call(&known, function, &arguments, whole, scope);
        }
        if let ("JSON_STRING", [argument]) = (&*name, &*arguments)
            && is_made_of_json(argument)
        {
            return self.bind(argument, scope);
        }
        if user.is_none() && functions::function(&name).is_none() {
            return Err(unknown_function(&name, self.binder.catalog.functions().names()));
        }
        if treatment.is_some() {
            return Err(SqlError::new(Code::Invalid, format!("{name} takes no RESPECT NULLS")));
        }
        if let FunctionArguments::List(list) = args
            && list.duplicate_treatment.is_some()
        {
            return Err(SqlError::new(Code::Invalid, format!("{name} takes no DISTINCT")));
        }
        if filter.is_some() {
            return Err(SqlError::new(Code::Invalid, format!("{name} takes no FILTER")));
        }
        if let Some(user) = user {
            let arguments = self.bind_all(arguments.iter().copied(), scope)?;
            return self.typing.user_function(user, arguments);
        }
        if name == "CURRENT_DATABASE" && arguments.is_empty() {
            let database = self.binder.catalog.current().to_owned();
            return Ok(Typed::literal(ScalarValue::Utf8(Some(database)), SqlType::STRING));
        }
        let bound = arguments.iter().enumerate().map(|(place, argument)| match argument {
            // The first argument of these is a unit such as MONTH, which looks like the name of a column.
            Expr::Identifier(unit) if place == 0 && matches!(&*name, "TIMESTAMPADD" | "TIMESTAMPDIFF") => {
                let unit = unit.value.to_uppercase();
                Ok(text(unit.strip_prefix("SQL_TSI_").unwrap_or(&unit)))
            }
            argument => match json_part(&name, argument) {
                Some(inner) => self.typing.named_function("JSON", self.bind_all([inner], scope)?),
                None => self.bind(argument, scope),
            },
        });
        let bound = bound.collect::<Result<Vec<Typed>>>()?;
        self.note_call(&name, &arguments, &bound, whole);
        if name == CURRENT_WATERMARK {
            check_argument(&bound, scope)?;
        }
        self.typing.named_function(&name, bound)
    }

    /// Returns an interval, which the parser has made a call of [`MILLIS`] or [`MONTHS`].
    fn interval(&self, name: &str, arguments: &[&Expr], scope: &Scope<'_>) -> Result<Typed> {
        let bound = self.bind_all(arguments.iter().copied(), scope)?;
        let number = match bound.first().and_then(Typed::as_literal) {
            Some(ScalarValue::Int32(Some(number))) => Some(i64::from(*number)),
            Some(ScalarValue::Int64(number)) => *number,
            _ => None,
        };
        if name == MILLIS {
            return Ok(Typed::literal(ScalarValue::DurationMillisecond(number), SqlType::DayTime));
        }
        let months = number.and_then(|months| i32::try_from(months).ok());
        let months = months.ok_or_else(|| SqlError::new(Code::Invalid, "the span has too many months"))?;
        Ok(Typed::literal(ScalarValue::IntervalYearMonth(Some(months)), SqlType::YearMonth))
    }

    /// Returns the AST of a query within an expression as the condition that it is, without brackets; `None` for other
    /// expressions.
    pub(super) fn as_test(expression: &Expr) -> Option<Test<'_>> {
        let mut is_negated = false;
        let mut expression = expression;
        loop {
            expression = match expression {
                Expr::Nested(inner) => inner,
                Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                    is_negated = !is_negated;
                    expr
                }
                Expr::Exists { subquery, negated } => {
                    return Some(Test { value: None, query: subquery, is_negated: is_negated != *negated });
                }
                Expr::InSubquery { expr, subquery, negated } => {
                    return Some(Test {
                        value: Some(expr),
                        query: subquery,
                        is_negated: is_negated != *negated,
                    });
                }
                other => {
                    let test = Quantified::of(other)?.as_test()?;
                    return Some(Test { is_negated: is_negated != test.is_negated, ..test });
                }
            };
        }
    }
}

/// A condition `[NOT] EXISTS (query)` or `value [NOT] IN (query)`.
pub(super) struct Test<'a> {
    /// Value that is looked for; `None` for EXISTS.
    pub(super) value: Option<&'a Expr>,
    pub(super) query: &'a Query,
    pub(super) is_negated: bool,
}

/// Returns the arguments of a call; COUNT(*) has none.
fn arguments_of<'a>(name: &str, arguments: &'a FunctionArguments) -> Result<Vec<&'a Expr>> {
    let list = match arguments {
        FunctionArguments::None => return Ok(Vec::new()),
        FunctionArguments::Subquery(_) => {
            return Err(not_supported("a query as the argument of a function"));
        }
        FunctionArguments::List(list) => list,
    };
    match &list.clauses[..] {
        [] | [FunctionArgumentClause::IgnoreOrRespectNulls(_)] => {}
        [FunctionArgumentClause::OrderBy(_), ..] => {
            return Err(not_supported(
                "ORDER BY within a call: values stand in the order in which they came",
            ));
        }
        _ => return Err(not_supported("a clause within the arguments of a function")),
    }
    let is_all = matches!(&list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
    if name == "COUNT" && is_all && list.duplicate_treatment.is_none() {
        return Ok(Vec::new());
    }
    if name == "COUNT" && list.args.is_empty() {
        return Err(SqlError::new(Code::Invalid, "COUNT has no argument").help("write COUNT(*)"));
    }
    let value = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value),
        FunctionArg::Named { arg: FunctionArgExpr::Expr(_), .. }
        | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(_), .. } => {
            Err(not_supported("an argument with a name"))
        }
        _ => Err(SqlError::new(Code::Invalid, format!("`*` is no argument of {name}"))
            .help("all rows are counted by COUNT(*), and nothing else takes `*`")),
    };
    list.args.iter().map(value).collect()
}

/// Returns the argument of a call `JSON(text)` that stands directly in JSON_OBJECT or JSON_ARRAY, whose parts have these names.
fn json_part<'a>(name: &str, argument: &'a Expr) -> Option<&'a Expr> {
    let Expr::Function(function) = argument else { return None };
    let is_json = single_name(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case("JSON"));
    if !is_json || !matches!(name, "$JSON_MEMBER" | "$JSON_ITEM") || !is_plain_call(function) {
        return None;
    }
    match &arguments_of("JSON", &function.args).ok()?[..] {
        [inner] => Some(inner),
        _ => None,
    }
}

/// Returns the treatment of NULL that is written within the brackets of a call.
fn treatment_of_nulls(arguments: &FunctionArguments) -> Option<NullTreatment> {
    match arguments {
        FunctionArguments::List(list) => match list.clauses[..] {
            [FunctionArgumentClause::IgnoreOrRespectNulls(treatment)] => Some(treatment),
            _ => None,
        },
        _ => None,
    }
}

/// Collects the terms of a chain of ANDs or ORs, from left to right.
pub(super) fn flatten<'a>(expression: &'a Expr, op: &BinaryOperator, terms: &mut Vec<&'a Expr>) {
    let mut rest = vec![expression];
    while let Some(expression) = rest.pop() {
        match without_brackets(expression) {
            Expr::BinaryOp { left, op: inner, right } if inner == op => rest.extend([&**right, &**left]),
            other => terms.push(other),
        }
    }
}

fn unit_name(field: &DateTimeField) -> String {
    let name = field.to_string().to_uppercase();
    match name.strip_suffix('S') {
        Some(one) if !one.is_empty() => one.to_owned(),
        _ => name,
    }
}

/// Returns the names of all functions in upper case.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    let scalar = functions::all().map(|function| function.name);
    scalar.chain(aggregates().iter().map(|function| function.name)).chain(RANKS)
}

/// Returns the error for a name, in upper case, that no function has. `others` are the names of user functions.
pub(super) fn unknown_function<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> SqlError {
    if name == "UNNEST" {
        return not_supported("UNNEST outside of FROM: write FROM t CROSS JOIN UNNEST(t.a) AS u (x)");
    }
    let error = SqlError::new(Code::UnknownFunction, format!("there is no function {name}"));
    let windows = ["TUMBLE", "HOP", "SESSION", "CUMULATE"];
    if let Some(window) = windows.into_iter().find(|window| name.starts_with(window)) {
        return error.help(format!(
            "write FROM TABLE({window}(TABLE t, DESCRIPTOR(ts), ..)) and GROUP BY window_start, window_end"
        ));
    }
    if RANKS.contains(&name) {
        return error.help(format!("{name} takes a window: write {name}(..) OVER (ORDER BY ..)"));
    }
    if let Some(instead) = instead_of(name) {
        return error.help(format!("write {instead}"));
    }
    let built_in = function_names().map(|name| -> &'a str { name });
    match nearest(name, built_in.chain(others).collect::<Vec<_>>()) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => error.help("the manual lists the functions that there are"),
    }
}

/// Returns how messages call a form of expression that is not known here.
fn unknown_form(expression: &Expr) -> &'static str {
    match expression {
        Expr::ILike { .. } => "ILIKE: write LOWER(x) LIKE 'a%'",
        Expr::RLike { .. } => "RLIKE: write REGEXP(text, pattern)",
        Expr::AtTimeZone { .. } => "AT TIME ZONE",
        Expr::Collate { .. } => "COLLATE",
        Expr::Map(_) | Expr::Dictionary(_) => "a literal of a map: write MAP('k', v, ..)",
        Expr::Interval(_) => "this form of INTERVAL: write INTERVAL '5' MINUTE",
        Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_) => "a grouping set outside of GROUP BY",
        _ => "this expression",
    }
}

/// Casts a value to the type of the column into which it is inserted, if Flink makes this cast without CAST.
///
/// # Errors
/// [`Code::TypeMismatch`] if it does not.
pub fn cast_for_insert(value: Typed, to: &SqlType, context: &Context) -> Result<Typed> {
    super::typing::Typing::new(context).widen(value, to)
}
