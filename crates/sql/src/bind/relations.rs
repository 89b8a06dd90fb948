//! Relations of FROM that DataFusion's planner does not know: window functions, and tables as of a time.
//!
//! `TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL ..)` and other window functions become a node of the planner's tree with
//! the columns of `t` and `window_start`, `window_end`, `window_time`. That `ts` is a time column is checked later,
//! when the plan is made.
//!
//! Source: Flink's documentation, "Windowing table-valued functions (Windowing TVFs)".

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion_common::{DFSchema, DFSchemaRef, DataFusionError, Result, TableReference};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::{Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Spanned, TableFactor, TableVersion, Value,
};

use thalweg_model::Span;
use thalweg_model::window::{WINDOWS_PER_RECORD_MAX, windows_per_record};
use thalweg_sql_exec::plan::WindowSpec;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use crate::text::dialect::TABLE_ARGUMENT;
use crate::text::interval::MILLIS;

/// A window function over a table, as a node of DataFusion's tree.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct WindowNode {
    pub(super) input: LogicalPlan,
    pub(super) spec: WindowSpec,
    /// Index of the time column of the input.
    pub(super) time: usize,
    /// Place of the window function in the text.
    pub(super) place: Option<Place>,
    schema: DFSchemaRef,
}

impl fmt::Debug for WindowNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.spec)
    }
}

impl PartialOrd for WindowNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for WindowNode {
    fn name(&self) -> &str {
        "Windows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(input) => Ok(WindowNode { input, ..self.clone() }),
            None => Err(DataFusionError::Internal("windows have an input".to_owned())),
        }
    }
}

/// A table as of a time, as a node of DataFusion's tree: the right input of a temporal or a lookup join.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct VersionNode {
    pub(super) input: LogicalPlan,
    /// Name, in its parts, of the time column of the left input by which versions are chosen: `o.order_time`.
    pub(super) as_of: Vec<String>,
    /// Place of that column's name in the text.
    pub(super) place: Option<Place>,
}

impl fmt::Debug for VersionNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "as of {}", self.as_of.join("."))
    }
}

impl PartialOrd for VersionNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for VersionNode {
    fn name(&self) -> &str {
        "Version"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(input) => Ok(VersionNode { input, ..self.clone() }),
            None => Err(DataFusionError::Internal("a version has an input".to_owned())),
        }
    }
}

/// Plans window functions and tables as of a time for DataFusion's planner.
#[derive(Debug)]
pub(super) struct WindowFunctions;

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

pub(super) fn place(part: &impl Spanned) -> Option<Place> {
    let span = part.span();
    (span.start.line > 0).then(|| crate::text::ddl::place_of(&span))
}

impl RelationPlanner for WindowFunctions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let at = place(&relation);
        let (call, alias) = match relation {
            TableFactor::Table {
                version: Some(TableVersion::ForSystemTimeAsOf(as_of)), name, alias, ..
            } => {
                let as_of_place = place(&as_of).or(at);
                let as_of = match as_of {
                    ast::Expr::Identifier(ident) => vec![ident.value],
                    ast::Expr::CompoundIdentifier(idents) => {
                        idents.into_iter().map(|ident| ident.value).collect()
                    }
                    _ => {
                        let error =
                            SqlError::new(Code::Unsupported, "AS OF takes a time column of the other table");
                        return Err(external(error.at(as_of_place).help("write FOR SYSTEM_TIME AS OF o.ts")));
                    }
                };
                let table = named_table(name);
                let input = context.plan(table)?;
                let node = VersionNode { input, as_of, place: as_of_place };
                return planned(LogicalPlan::Extension(Extension { node: Arc::new(node) }), alias);
            }
            // The form `TABLE(TUMBLE(..))`.
            TableFactor::TableFunction { expr: ast::Expr::Function(function), alias } => {
                let FunctionArguments::List(list) = function.args else {
                    return Err(external(
                        SqlError::new(Code::Syntax, "a table function has arguments").at(at),
                    ));
                };
                ((function.name, list.args), alias)
            }
            // The form `TUMBLE(..)`.
            TableFactor::Table { name, alias, args: Some(args), .. } => ((name, args.args), alias),
            other => return Ok(RelationPlanning::Original(Box::new(other))),
        };
        let (name, arguments) = call;
        let at = place(&name).or(at);
        let node = window_node(&name, arguments, context, at).map_err(|error| match error {
            Wrong::Sql(error) => external(error.at(at)),
            Wrong::Planner(error) => error,
        })?;
        planned(LogicalPlan::Extension(Extension { node: Arc::new(node) }), alias)
    }
}

fn planned(plan: LogicalPlan, alias: Option<ast::TableAlias>) -> Result<RelationPlanning> {
    Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
}

fn named_table(name: ObjectName) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// Error of a window function: found here, or by DataFusion's planner in its input.
enum Wrong {
    Sql(SqlError),
    Planner(DataFusionError),
}

impl From<SqlError> for Wrong {
    fn from(error: SqlError) -> Self {
        Wrong::Sql(error)
    }
}

impl From<DataFusionError> for Wrong {
    fn from(error: DataFusionError) -> Self {
        Wrong::Planner(error)
    }
}

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

fn window_node(
    name: &ObjectName,
    arguments: Vec<FunctionArg>,
    context: &mut dyn RelationPlannerContext,
    at: Option<Place>,
) -> std::result::Result<WindowNode, Wrong> {
    let function = match &name.0[..] {
        [ObjectNamePart::Identifier(name)] => name.value.to_uppercase(),
        _ => name.to_string(),
    };
    let Some((names, least)) = parameters(&function) else {
        if function == "UNNEST" {
            return Err(SqlError::new(Code::Unsupported, "UNNEST is not supported").into());
        }
        let error = SqlError::new(Code::UnknownFunction, format!("there is no table function {function}"));
        let known = ["TUMBLE", "HOP", "CUMULATE", "SESSION"];
        let near = nearest(&function, known).map(|near| format!("did you mean {near}?"));
        return Err(error.help(near.unwrap_or_else(|| format!("there are {}", known.join(", ")))).into());
    };
    let usage = format!("it is called {function}({})", names.join(", "));
    let mut given: Vec<Option<ast::Expr>> = vec![None; names.len()];
    for (position, argument) in arguments.into_iter().enumerate() {
        let (index, value) = match argument {
            FunctionArg::Named { name, .. }
                if !names.iter().any(|known| known.eq_ignore_ascii_case(&name.value)) =>
            {
                let message = format!("{function} has no argument {}", name.value);
                let error = SqlError::new(Code::Invalid, message).at(crate::text::ddl::place_of(&name.span));
                let near = nearest(&name.value, names.iter().copied());
                return Err(error.help(near.map_or(usage, |near| format!("did you mean {near}?"))).into());
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
                return Err(SqlError::new(Code::Syntax, format!("{function} takes no {other}"))
                    .help(usage)
                    .into());
            }
        };
        match index.and_then(|index| given.get_mut(index)) {
            Some(slot @ None) => *slot = Some(value),
            _ => {
                let message = format!("{function} has an argument too many, or twice");
                return Err(SqlError::new(Code::Invalid, message).at(place(&value)).help(usage).into());
            }
        }
    }
    if let Some(missing) = given.iter().take(least).position(Option::is_none) {
        return Err(SqlError::new(Code::Invalid, format!("{function} lacks {}", names[missing]))
            .help(usage)
            .into());
    }
    let mut given = given.into_iter();
    let mut next = || given.next().flatten();
    let (table, keys) = table_of(next(), &function)?;
    let input = context.plan(table)?;
    let schema = Arc::clone(input.schema());
    let time = descriptor(next(), &schema)?;
    let mut span = |name: &'static str| next().map(|value| millis(&value, name, &function)).transpose();
    let (first, second, third) =
        (span(names[2])?.unwrap_or_default(), span(names.get(3).copied().unwrap_or(""))?, span("OFFSET")?);
    let positive = |value: i64, name: &str| {
        if value > 0 {
            Ok(value)
        } else {
            Err(SqlError::new(
                Code::Invalid,
                format!("{name} of {function} is {value} ms, and must be above zero"),
            ))
        }
    };
    let multiple = |size: i64, of: i64, name: &str| {
        if size % of == 0 {
            Ok(())
        } else {
            let message =
                format!("SIZE of {function} is {size} ms, which is no multiple of its {name}, {of} ms");
            Err(SqlError::new(Code::Invalid, message))
        }
    };
    let few = |size: i64, of: i64, name: &str| {
        let windows = windows_per_record(Span::from_millis(size), Span::from_millis(of));
        if windows <= WINDOWS_PER_RECORD_MAX {
            return Ok(());
        }
        let message = format!(
            "{function} with a SIZE of {size} ms and a {name} of {of} ms puts each row into {windows} windows, and at most \
             {WINDOWS_PER_RECORD_MAX} are possible"
        );
        Err(SqlError::new(Code::Invalid, message).help(format!("give a longer {name} or a smaller SIZE")))
    };
    let spec = match function.as_str() {
        "TUMBLE" => {
            WindowSpec::Tumble { size_ms: positive(first, "SIZE")?, offset_ms: second.unwrap_or_default() }
        }
        "HOP" => {
            let (slide_ms, size_ms) =
                (positive(first, "SLIDE")?, positive(second.unwrap_or_default(), "SIZE")?);
            multiple(size_ms, slide_ms, "SLIDE")?;
            few(size_ms, slide_ms, "SLIDE")?;
            WindowSpec::Hop { size_ms, slide_ms, offset_ms: third.unwrap_or_default() }
        }
        "CUMULATE" => {
            let (step_ms, size_ms) =
                (positive(first, "STEP")?, positive(second.unwrap_or_default(), "SIZE")?);
            multiple(size_ms, step_ms, "STEP")?;
            few(size_ms, step_ms, "STEP")?;
            WindowSpec::Cumulate { size_ms, step_ms, offset_ms: third.unwrap_or_default() }
        }
        _ => {
            let keys =
                keys.iter().map(|key| column_of(key, &schema)).collect::<std::result::Result<_, _>>()?;
            WindowSpec::Session { gap_ms: positive(first, "GAP")?, keys }
        }
    };
    if !matches!(spec, WindowSpec::Session { .. }) && !keys.is_empty() {
        let error = SqlError::new(Code::Invalid, format!("PARTITION BY has no meaning in {function}"));
        return Err(error.help("group by the key").into());
    }
    // The window columns get the table name of the input's columns, so that one alias names all of them.
    let qualifier: Option<TableReference> =
        schema.iter().next().and_then(|(qualifier, _)| qualifier.cloned());
    let mut fields: Vec<(Option<TableReference>, FieldRef)> =
        schema.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect();
    let time_type = SqlType::of_field(schema.field(time)).unwrap_or(SqlType::Timestamp(3));
    for (name, of) in [
        ("window_start", SqlType::Timestamp(3)),
        ("window_end", SqlType::Timestamp(3)),
        ("window_time", time_type),
    ] {
        fields.push((qualifier.clone(), of.field(name, false)));
    }
    let schema = DFSchema::new_with_metadata(fields, Default::default())?;
    Ok(WindowNode { input, spec, time, place: at, schema: Arc::new(schema) })
}

/// Reads the first argument of a window function: `TABLE t PARTITION BY ..`, or a query. Returns the table and the
/// keys.
fn table_of(
    argument: Option<ast::Expr>,
    function: &str,
) -> std::result::Result<(TableFactor, Vec<ast::Expr>), SqlError> {
    match argument {
        Some(ast::Expr::Function(call)) if call.name.to_string().trim_matches('`') == TABLE_ARGUMENT => {
            let FunctionArguments::List(list) = call.args else {
                return Err(SqlError::new(Code::Syntax, "a table is missing behind TABLE"));
            };
            let mut names = list.args.into_iter().filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
                _ => None,
            });
            let idents: Vec<Ident> = match names.next() {
                Some(ast::Expr::Identifier(ident)) => vec![ident],
                Some(ast::Expr::CompoundIdentifier(idents)) => idents,
                _ => return Err(SqlError::new(Code::Syntax, "a table is missing behind TABLE")),
            };
            Ok((named_table(ObjectName::from(idents)), names.collect()))
        }
        Some(ast::Expr::Subquery(query)) => Ok((
            TableFactor::Derived { lateral: false, subquery: query, alias: None, sample: None },
            Vec::new(),
        )),
        other => {
            let at = other.as_ref().and_then(place);
            let message = format!("the first argument of {function} is a table");
            let help = format!("write {function}(TABLE t, ..); PARTITION BY takes names of columns");
            Err(SqlError::new(Code::Syntax, message).at(at).help(help))
        }
    }
}

/// Reads `DESCRIPTOR(column)` and returns the index of the column.
fn descriptor(argument: Option<ast::Expr>, schema: &DFSchema) -> std::result::Result<usize, SqlError> {
    let at = argument.as_ref().and_then(place);
    if let Some(ast::Expr::Function(call)) = argument
        && call.name.to_string().eq_ignore_ascii_case("DESCRIPTOR")
        && let FunctionArguments::List(list) = &call.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(column))] = &list.args[..]
    {
        return column_of(column, schema);
    }
    let error = SqlError::new(Code::Syntax, "the second argument of a window function is DESCRIPTOR(column)");
    Err(error.at(at).help("name the time column"))
}

fn column_of(column: &ast::Expr, schema: &DFSchema) -> std::result::Result<usize, SqlError> {
    let name = match column {
        ast::Expr::Identifier(ident) => &ident.value,
        ast::Expr::CompoundIdentifier(idents) => match idents.last() {
            Some(ident) => &ident.value,
            None => return Err(SqlError::new(Code::Syntax, "a column is missing")),
        },
        _ => return Err(SqlError::new(Code::Syntax, format!("{column} is no column")).at(place(column))),
    };
    let found = schema.fields().iter().position(|field| field.name() == name);
    found.ok_or_else(|| {
        unknown_column(name, schema.fields().iter().map(|field| field.name().as_str())).at(place(column))
    })
}

/// Returns the error for a column that does not exist; `known` are the names of those that do.
pub(super) fn unknown_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> SqlError {
    let known: Vec<&str> = known.collect();
    let error = SqlError::new(Code::UnknownColumn, format!("there is no column `{name}`"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("there are no columns here: name a table in FROM"),
        None => error.help(format!("there are {}", known.join(", "))),
    }
}

/// Reads an `INTERVAL ..` of days to seconds and returns it in milliseconds.
fn millis(argument: &ast::Expr, name: &str, function: &str) -> std::result::Result<i64, SqlError> {
    if let ast::Expr::Function(call) = argument
        && call.name.to_string().trim_matches('`') == MILLIS
        && let FunctionArguments::List(list) = &call.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(number))] = &list.args[..]
    {
        let (sign, number) = match number {
            ast::Expr::UnaryOp { expr, .. } => (-1, &**expr),
            number => (1, number),
        };
        if let ast::Expr::Value(value) = number
            && let Value::Number(text, _) = &value.value
            && let Ok(number) = text.parse::<i64>()
        {
            return Ok(sign * number);
        }
    }
    let message = format!("{name} of {function} is an INTERVAL of days to seconds, and this is none");
    Err(SqlError::new(Code::Invalid, message).at(place(argument)).help("write INTERVAL '10' MINUTES"))
}
