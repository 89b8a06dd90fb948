//! Window functions in FROM: `TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL ..)` and others, whose rows are those of `t` with
//! `window_start`, `window_end` and `window_time`.
//!
//! Source: Flink's documentation, "Windowing table-valued functions (Windowing TVFs)".

use std::sync::Arc;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, UnaryOperator, Value,
};
use thalweg_model::Span;
use thalweg_model::window::{WINDOWS_PER_RECORD_MAX, windows_per_record};
use thalweg_sql_exec::plan::{Column, Node, Plan, Role, TimeDomain, WindowSpec, Windows};
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::names::{Found, Names, Starred, Visible, ambiguous, unknown_column};
use super::relation::Relation;
use super::syntax::{check_name, is_plain_call, not_supported, place};
use crate::text::dialect::{TABLE_ARGUMENT, single_name};
use crate::text::interval::MILLIS;

type Result<T> = std::result::Result<T, SqlError>;

/// Returns the names of a window function's arguments, in their order, and the number of those that are required,
/// which are the first.
fn parameters(name: &str) -> Option<(&'static [&'static str], usize)> {
    Some(match name {
        "TUMBLE" => (&["DATA", "TIMECOL", "SIZE", "OFFSET"], 3),
        "HOP" => (&["DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"], 4),
        "CUMULATE" => (&["DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"], 4),
        "SESSION" => (&["DATA", "TIMECOL", "GAP"], 3),
        _ => return None,
    })
}

impl Planner<'_> {
    /// Plans a window function in FROM. `at` is its place.
    ///
    /// # Errors
    /// [`SqlError`] for wrong arguments, and for a time column that is no time attribute.
    pub(super) fn window_function(
        &self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        at: Option<Place>,
    ) -> Result<Relation> {
        let function = match &name.0[..] {
            [ObjectNamePart::Identifier(name)] => name.value.to_uppercase(),
            _ => name.to_string(),
        };
        let Some((names, least)) = parameters(&function) else {
            if function == "UNNEST" {
                return Err(not_supported("UNNEST within TABLE(..): write CROSS JOIN UNNEST(t.a) AS u (x)"));
            }
            let error =
                SqlError::new(Code::UnknownFunction, format!("there is no table function {function}"));
            let known = ["TUMBLE", "HOP", "CUMULATE", "SESSION"];
            let near = nearest(&function, known).map(|near| format!("did you mean {near}?"));
            return Err(error.help(near.unwrap_or_else(|| format!("there are {}", known.join(", ")))));
        };
        let given = given_arguments(&function, names, least, arguments)?;
        let mut given = given.into_iter();
        let mut next = || given.next().flatten();
        let (relation, keys) = self.argument_table(next(), &function)?;
        let Relation { source, names: of_input, .. } = relation;
        let input = self.closed(source, Vec::new())?;
        let time = descriptor(next(), &of_input)?;
        let mut span = |name: &'static str| next().map(|value| millis_of(value, name, &function)).transpose();
        let (first, second, third) = (
            span(names[2])?.unwrap_or_default(),
            span(names.get(3).copied().unwrap_or(""))?,
            span("OFFSET")?,
        );
        let second_or_none = second.unwrap_or_default();
        let spec = match function.as_str() {
            "TUMBLE" => WindowSpec::Tumble {
                size_ms: check_span(first, "SIZE", &function)?,
                offset_ms: second_or_none,
            },
            "HOP" => {
                let slide_ms = check_span(first, "SLIDE", &function)?;
                let size_ms = check_span(second_or_none, "SIZE", &function)?;
                check_steps(size_ms, slide_ms, "SLIDE", &function)?;
                WindowSpec::Hop { size_ms, slide_ms, offset_ms: third.unwrap_or_default() }
            }
            "CUMULATE" => {
                let step_ms = check_span(first, "STEP", &function)?;
                let size_ms = check_span(second_or_none, "SIZE", &function)?;
                check_steps(size_ms, step_ms, "STEP", &function)?;
                WindowSpec::Cumulate { size_ms, step_ms, offset_ms: third.unwrap_or_default() }
            }
            _ => {
                let keys = keys.iter().map(|key| column_of(key, &of_input)).collect::<Result<_>>()?;
                WindowSpec::Session { gap_ms: check_span(first, "GAP", &function)?, keys }
            }
        };
        if !matches!(spec, WindowSpec::Session { .. }) && !keys.is_empty() {
            let error = SqlError::new(Code::Invalid, format!("PARTITION BY has no meaning in {function}"));
            return Err(error.help("group by the key"));
        }
        let plan = assigned(input, spec, time, at)?;
        // The window columns belong to the table of the input's columns, so that one alias names all of them.
        let table = of_input.columns.first().and_then(|column| column.table.clone());
        let mut visible = of_input.columns;
        let first = visible.len();
        let own = ["window_start", "window_end", "window_time"];
        if let Some(twice) = visible.iter().find(|column| own.contains(&&*column.name)) {
            let error = SqlError::new(Code::Invalid, format!("there are two columns `{}`", twice.name));
            return Err(error.help("name that of the table by AS"));
        }
        for name in own {
            visible.push(Visible {
                table: table.clone(),
                database: None,
                name: Arc::from(name),
                is_twice: false,
            });
        }
        let star = of_input.star.into_iter().chain((first..first + 3).map(Starred::Column)).collect();
        Ok(Relation::of_plan(plan, Names::with_common(visible, of_input.common, star, of_input.leading)))
    }

    /// Reads the first argument of a window function: `TABLE t PARTITION BY ..`, or a query. Returns the table and the
    /// keys.
    fn argument_table<'b>(
        &self,
        argument: Option<&'b Expr>,
        function: &str,
    ) -> Result<(Relation, Vec<&'b Expr>)> {
        let lacking = || SqlError::new(Code::Syntax, "a table is missing behind TABLE");
        match argument {
            Some(Expr::Function(call))
                if single_name(&call.name).is_some_and(|name| name.value == TABLE_ARGUMENT) =>
            {
                let FunctionArguments::List(list) = &call.args else { return Err(lacking()) };
                let mut names = list.args.iter().filter_map(super::syntax::value_of);
                let idents: &[Ident] = match names.next() {
                    Some(Expr::Identifier(ident)) => std::slice::from_ref(ident),
                    Some(Expr::CompoundIdentifier(idents)) => idents,
                    _ => return Err(lacking()),
                };
                Ok((self.named_table(idents)?, names.collect()))
            }
            Some(Expr::Subquery(query)) => Ok((self.query(query)?.into_relation(), Vec::new())),
            other => {
                let message = format!("the first argument of {function} is a table");
                let help = format!("write {function}(TABLE t, ..); PARTITION BY takes names of columns");
                Err(SqlError::new(Code::Syntax, message).at(other.and_then(place)).help(help))
            }
        }
    }
}

/// Returns the arguments of a window function in the order of its parameters, `names`; the first `least` must be given.
///
/// # Errors
/// [`Code::Invalid`] for an argument that is missing, unknown or given twice, [`Code::Syntax`] for other forms.
fn given_arguments<'a>(
    function: &str,
    names: &[&str],
    least: usize,
    arguments: &'a [FunctionArg],
) -> Result<Vec<Option<&'a Expr>>> {
    let usage = format!("it is called {function}({})", names.join(", "));
    let mut given: Vec<Option<&'a Expr>> = vec![None; names.len()];
    for (position, argument) in arguments.iter().enumerate() {
        let (index, value) = match argument {
            FunctionArg::Named { name, .. }
                if !names.iter().any(|known| known.eq_ignore_ascii_case(&name.value)) =>
            {
                let message = format!("{function} has no argument {}", name.value);
                let error = SqlError::new(Code::Invalid, message).at(crate::text::ddl::place_of(&name.span));
                let near = nearest(&name.value, names.iter().copied());
                return Err(error.help(near.map_or(usage, |near| format!("did you mean {near}?"))));
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (Some(position), value),
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                operator: FunctionArgOperator::RightArrow,
            } => {
                let upper = name.value.to_uppercase();
                (names.iter().position(|known| *known == upper), value)
            }
            other => {
                return Err(SqlError::new(Code::Syntax, format!("{function} takes no {other}")).help(usage));
            }
        };
        match index.and_then(|index| given.get_mut(index)) {
            Some(slot @ None) => *slot = Some(value),
            _ => {
                let message = format!("{function} has an argument too many, or twice");
                return Err(SqlError::new(Code::Invalid, message).at(place(value)).help(usage));
            }
        }
    }
    if let Some(missing) = given.iter().take(least).position(Option::is_none) {
        return Err(SqlError::new(Code::Invalid, format!("{function} lacks {}", names[missing])).help(usage));
    }
    Ok(given)
}

/// Returns a span of a window function if it is above zero.
pub(super) fn check_span(span_ms: i64, name: &str, function: &str) -> Result<i64> {
    if span_ms > 0 {
        return Ok(span_ms);
    }
    let message = format!("{name} of {function} is {span_ms} ms, and must be above zero");
    Err(SqlError::new(Code::Invalid, message))
}

/// Refuses a size that is no multiple of the slide or step of its windows, and windows of which each row is in too many.
pub(super) fn check_steps(size_ms: i64, step_ms: i64, name: &str, function: &str) -> Result<()> {
    if size_ms % step_ms != 0 {
        let message =
            format!("SIZE of {function} is {size_ms} ms, which is no multiple of its {name}, {step_ms} ms");
        return Err(SqlError::new(Code::Invalid, message));
    }
    let windows = windows_per_record(Span::from_millis(size_ms), Span::from_millis(step_ms));
    if windows <= WINDOWS_PER_RECORD_MAX {
        return Ok(());
    }
    let message = format!(
        "{function} with a SIZE of {size_ms} ms and a {name} of {step_ms} ms puts each row into {windows} windows, and at \
         most {WINDOWS_PER_RECORD_MAX} are possible"
    );
    Err(SqlError::new(Code::Invalid, message).help(format!("give a longer {name} or a smaller SIZE")))
}

/// Plans the windows of rows by a time column. If that is the processing time, the rows get the time at which they come
/// to the windows.
///
/// # Errors
/// [`Code::Invalid`] for a column that is no time attribute.
pub(super) fn assigned(input: Plan, spec: WindowSpec, time: usize, at: Option<Place>) -> Result<Plan> {
    let column = &input.columns[time];
    let domain = match column.role {
        Role::Rowtime => TimeDomain::Event,
        Role::Proctime | Role::WindowProctime => TimeDomain::Processing,
        _ => {
            let error = SqlError::new(Code::Invalid, format!("`{}` is no event time", column.name)).at(at);
            return Err(error.help(format!(
                "declare WATERMARK FOR `{}` in its table, or use a column AS PROCTIME(); expressions are no event time",
                column.name
            )));
        }
    };
    let spec = Arc::new(spec);
    let of_time = column.of.clone();
    let is_local = matches!(of_time, SqlType::TimestampLtz(_));
    let windows = Windows { spec: Arc::clone(&spec), is_local, domain };
    let input = match domain {
        TimeDomain::Event => input,
        TimeDomain::Processing => by_arrival(input, time, &spec).at(at),
    };
    let mut columns = input.columns.clone();
    // A stream has one event time, which is that of the window from here on.
    for column in columns.iter_mut().filter(|column| column.role.is_watermarked()) {
        column.role = Role::Plain;
    }
    let mut add = |name: &str, of, role| {
        columns.push(Column { name: name.to_owned(), of, is_nullable: false, role });
    };
    add("window_start", SqlType::Timestamp(3), Role::WindowStart(windows.clone()));
    add("window_end", SqlType::Timestamp(3), Role::WindowEnd(windows.clone()));
    add("window_time", of_time, windows.time_role());
    Ok(Plan::new(columns, Node::AssignWindows { input: Box::new(input), spec, time }).at(at))
}

/// Plans the operator that gives rows the time at which they come, for windows above it.
pub(super) fn by_arrival(input: Plan, time: usize, spec: &Arc<WindowSpec>) -> Plan {
    let spec = match &**spec {
        WindowSpec::Session { gap_ms, .. } => {
            Arc::new(WindowSpec::Session { gap_ms: *gap_ms, keys: Vec::new() })
        }
        _ => Arc::clone(spec),
    };
    // Watermarks above follow the clock, so no column is an event time there.
    let plain = |column: &Column| match column.role {
        Role::Rowtime => Column { role: Role::Plain, ..column.clone() },
        _ => column.clone(),
    };
    let columns = input.columns.iter().map(plain).collect();
    Plan::new(columns, Node::ByArrival { input: Box::new(input), time, spec })
}

/// Reads `DESCRIPTOR(column)` and returns the index of the column.
fn descriptor(argument: Option<&Expr>, names: &Names) -> Result<usize> {
    if let Some(Expr::Function(call)) = argument
        && call.name.to_string().eq_ignore_ascii_case("DESCRIPTOR")
        && is_plain_call(call)
        && let FunctionArguments::List(list) = &call.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(column))] = &list.args[..]
    {
        return column_of(column, names);
    }
    let error = SqlError::new(Code::Syntax, "the second argument of a window function is DESCRIPTOR(column)");
    Err(error.at(argument.and_then(place)).help("name the time column"))
}

fn column_of(column: &Expr, names: &Names) -> Result<usize> {
    let (name, found) = match column {
        Expr::Identifier(name) => (name, names.find(&name.value)),
        Expr::CompoundIdentifier(parts) if let [before @ .., table, name] = &parts[..] => {
            (name, names.find_in(before, &table.value, &name.value))
        }
        _ => return Err(SqlError::new(Code::Syntax, format!("{column} is no column")).at(place(column))),
    };
    check_name(name)?;
    match found {
        Found::Column(place) => Ok(place),
        Found::Several | Found::Common(_) => Err(ambiguous(&name.value).at(place(column))),
        Found::None => {
            let known = names.columns.iter().map(|column| &*column.name);
            Err(unknown_column(&name.value, known).at(place(column)))
        }
    }
}

/// Returns the length in milliseconds of an `INTERVAL ..` of days to seconds; `None` for other expressions.
pub(super) fn millis(interval: &Expr) -> Option<i64> {
    let Expr::Function(call) = interval else { return None };
    let (FunctionArguments::List(list), true) =
        (&call.args, single_name(&call.name).is_some_and(|name| name.value == MILLIS))
    else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(number))] = &list.args[..] else { return None };
    let (sign, number) = match number {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (-1, &**expr),
        number => (1, number),
    };
    match number {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(sign * digits.parse::<i64>().ok()?),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a span that a window function takes.
///
/// # Errors
/// [`Code::Invalid`] for what is no INTERVAL of days to seconds.
pub(super) fn millis_of(argument: &Expr, name: &str, function: &str) -> Result<i64> {
    let (sign, interval) = match argument {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (-1, &**expr),
        argument => (1, argument),
    };
    millis(interval).map(|millis| sign * millis).ok_or_else(|| {
        let message = format!("{name} of {function} is an INTERVAL of days to seconds, and this is none");
        SqlError::new(Code::Invalid, message).at(place(argument)).help("write INTERVAL '10' MINUTES")
    })
}
