//! Windows in GROUP BY: `GROUP BY TUMBLE(ts, INTERVAL '1' HOUR), k`, and what reads them: `TUMBLE_START(ts, INTERVAL '1'
//! HOUR)`, `TUMBLE_END(..)`, `TUMBLE_ROWTIME(..)`, `TUMBLE_PROCTIME(..)`; likewise HOP and SESSION.
//!
//! They become the columns of a window function ([`super::windows`]) below the aggregate, so both forms are one operator.
//! Sessions are of rows with equal other keys.
//!
//! Source: Flink's documentation, "Group Window Aggregation".

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use thalweg_sql_exec::plan::{Column, Plan, Role, WindowSpec};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::aggregate::Groups;
use super::scope::Scope;
use super::syntax::{is_plain_call, not_supported, place_of_expression, said, without_brackets};
use super::windows::{assigned, check_span, millis_of};
use crate::text::dialect::single_name;

type Result<T> = std::result::Result<T, SqlError>;

/// Window functions that may stand in GROUP BY.
const WINDOWS: [&str; 3] = ["TUMBLE", "HOP", "SESSION"];

/// A window in a GROUP BY.
pub(super) struct GroupWindow {
    /// Rule of the windows; that of sessions is without its keys.
    spec: WindowSpec,
    /// Index of the time column in the input.
    time: usize,
    /// Index of the column with the start of the window in the input of the aggregate; its end and time follow.
    pub(super) first: usize,
}

/// Column of a window that a function such as TUMBLE_END reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Start,
    End,
    Time,
}

/// Returns the name of the window function that an expression calls, and its arguments; `None` for other expressions.
fn called<'a>(expression: &'a Expr, known: &dyn Fn(&str) -> bool) -> Option<(String, Vec<&'a Expr>)> {
    let Expr::Function(function) = without_brackets(expression) else { return None };
    let name = single_name(&function.name)?.value.to_uppercase();
    let FunctionArguments::List(list) = &function.args else { return None };
    let argument = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    };
    let arguments = list.args.iter().map(argument).collect::<Option<_>>()?;
    (known(&name) && is_plain_call(function)).then_some((name, arguments))
}

/// Returns whether a key of GROUP BY is a window.
pub(super) fn is_window(key: &Expr) -> bool {
    called(key, &|name| WINDOWS.contains(&name)).is_some()
}

impl Planner<'_> {
    /// Puts the columns of the window of a GROUP BY behind those of a plan. `keys` are all keys, and `scope` is that of the
    /// plan. Returns the plan as it is if no key is a window.
    ///
    /// # Errors
    /// [`Code::Invalid`] for wrong arguments and a column that is no event time, [`Code::Unsupported`] for several windows.
    pub(super) fn with_group_window(
        &self,
        plan: Plan,
        keys: &[&Expr],
        scope: &Scope<'_>,
    ) -> Result<(Plan, Option<GroupWindow>)> {
        let mut windows = keys.iter().copied().filter(|key| is_window(key));
        let Some(window) = windows.next() else { return Ok((plan, None)) };
        let at = place_of_expression(window);
        if let Some(second) = windows.find(|other| other.to_string() != window.to_string()) {
            return Err(not_supported("a second window in GROUP BY").at(place_of_expression(second)));
        }
        let (spec, time) = self.window_of_call(window, scope)?;
        let (plan, of_rows) = match &spec {
            WindowSpec::Session { gap_ms, .. } => {
                let (plan, keys) = self.with_keys(plan, keys, scope)?;
                (plan, WindowSpec::Session { gap_ms: *gap_ms, keys })
            }
            other => (plan, other.clone()),
        };
        let plan = assigned(plan, of_rows, time, at)?;
        let first = plan.columns.len() - 3;
        Ok((plan, Some(GroupWindow { spec, time, first })))
    }

    /// Returns the rule of a window and the index of its time column.
    fn window_of_call(&self, call: &Expr, scope: &Scope<'_>) -> Result<(WindowSpec, usize)> {
        let at = place_of_expression(call);
        let named = |name: &str| WINDOWS.iter().any(|window| name.starts_with(window));
        let Some((name, arguments)) = called(call, &named) else {
            return Err(not_supported("a window of this form in GROUP BY").at(at));
        };
        let window = name.split('_').next().unwrap_or_default().to_owned();
        let [time, spans @ ..] = &arguments[..] else { return Err(wrong(&window).at(at)) };
        let value = self.bind(time, scope)?;
        let Some(time) = value.as_column() else {
            let error = SqlError::new(Code::Invalid, format!("{} is no event time", said(time)));
            return Err(error.at(place_of_expression(time)).help(
                "windows are of a column for which a table declares WATERMARK FOR, or that it has AS PROCTIME()",
            ));
        };
        let span = |expression: &Expr, name: &str| {
            let span = millis_of(expression, name, &window)?;
            check_span(span, name, &window).map_err(|error| error.at(place_of_expression(expression)))
        };
        let spec = match (&*window, spans) {
            ("TUMBLE", [size]) => WindowSpec::Tumble { size_ms: span(size, "SIZE")?, offset_ms: 0 },
            ("HOP", [slide, size]) => {
                let (slide_ms, size_ms) = (span(slide, "SLIDE")?, span(size, "SIZE")?);
                super::windows::check_steps(size_ms, slide_ms, "SLIDE", &window)
                    .map_err(|error| error.at(at))?;
                WindowSpec::Hop { size_ms, slide_ms, offset_ms: 0 }
            }
            ("SESSION", [gap]) => WindowSpec::Session { gap_ms: span(gap, "GAP")?, keys: Vec::new() },
            _ => return Err(wrong(&window).at(at)),
        };
        Ok((spec, time))
    }

    /// Makes the keys of a GROUP BY that are no windows columns of a plan, and returns their indexes.
    fn with_keys(&self, plan: Plan, keys: &[&Expr], scope: &Scope<'_>) -> Result<(Plan, Vec<usize>)> {
        let (mut outputs, mut columns) = (plan.identity(), plan.columns.clone());
        let mut places = Vec::new();
        for key in keys.iter().filter(|key| !is_window(key)) {
            let value = self.bind(key, scope)?;
            places.push(value.as_column().unwrap_or_else(|| {
                columns.push(Column::plain(said(key), value.of.clone(), value.is_nullable));
                outputs.push(value);
                outputs.len() - 1
            }));
        }
        let is_wider = columns.len() > plan.columns.len();
        Ok((if is_wider { plan.project(outputs, columns) } else { plan }, places))
    }

    /// Returns the column that a function such as TUMBLE_START reads; `None` for other functions.
    ///
    /// # Errors
    /// [`Code::Invalid`] if GROUP BY has no such window.
    pub(super) fn read_of_window(&self, call: &Expr, scope: &Scope<'_>) -> Result<Option<Typed>> {
        let parts = |name: &str| {
            let (window, column) = name.split_once('_')?;
            let read = match column {
                "START" => Read::Start,
                "END" => Read::End,
                "ROWTIME" | "PROCTIME" => Read::Time,
                _ => return None,
            };
            WINDOWS.contains(&window).then_some(read)
        };
        let Some((name, _)) = called(call, &|name| parts(name).is_some()) else { return Ok(None) };
        let Some(read) = parts(&name) else { return Ok(None) };
        let lacking = |name: &str| {
            let window = name.split('_').next().unwrap_or_default();
            let error =
                SqlError::new(Code::Invalid, format!("{name} reads a window that GROUP BY does not have"));
            error.help(format!("write GROUP BY {window}(..) with equal arguments"))
        };
        let Some(groups) = scope.groups else { return Err(lacking(&name)) };
        let Some(window) = &groups.window else { return Err(lacking(&name)) };
        let (spec, time) = self.window_of_call(call, groups.input)?;
        if (&spec, time) != (&window.spec, window.time) {
            return Err(lacking(&name));
        }
        let place = window.first
            + match read {
                Read::Start => 0,
                Read::End => 1,
                Read::Time => 2,
            };
        if read == Read::Time {
            check_time(&name, &groups.input.role(&groups.input.column(place)), place_of_expression(call))?;
        }
        Ok(groups.key_of(&groups.input.column(place)).map(|key| scope.column(key)))
    }
}

impl Groups<'_> {
    /// Returns the columns of the window of the GROUP BY over the columns of the input.
    pub(super) fn window_columns(&self) -> Vec<Typed> {
        let first = self.window.as_ref().map(|window| window.first);
        first.into_iter().flat_map(|first| (first..first + 3).map(|place| self.input.column(place))).collect()
    }
}

/// Checks that a function such as TUMBLE_ROWTIME reads the time by which its windows are cut. `role` is that of the column
/// with the time of the window.
fn check_time(name: &str, role: &Role, at: Option<Place>) -> Result<()> {
    let (window, read) = name.split_once('_').unwrap_or_default();
    let (is_by_clock, other) = match role {
        Role::WindowProctime => (true, "PROCTIME"),
        _ => (false, "ROWTIME"),
    };
    if read == other {
        return Ok(());
    }
    let cut = if is_by_clock { "processing time" } else { "event time" };
    let error = SqlError::new(Code::Invalid, format!("{name} reads a window that is cut by {cut}"));
    Err(error.at(at).help(format!("write {window}_{other}")))
}

fn wrong(window: &str) -> SqlError {
    let usage = match window {
        "TUMBLE" => "TUMBLE(ts, INTERVAL '1' HOUR)",
        "HOP" => "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '1' HOUR): the slide, then the size",
        _ => "SESSION(ts, INTERVAL '10' MINUTE)",
    };
    SqlError::new(Code::Invalid, format!("{window} in GROUP BY takes a time and spans"))
        .help(format!("write {usage}"))
}
