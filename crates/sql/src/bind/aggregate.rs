//! Groups: the keys of GROUP BY, the aggregates that a SELECT calls, and the plan of both.
//!
//! Behind a GROUP BY, expressions read the keys and the results of aggregates. Aggregate calls are collected while the
//! results, HAVING and ORDER BY are typed, each call once; their places in the plan follow when all are known. A key is
//! known by its meaning: `t.a + 1` and `a + 1` are one.
//!
//! Source: Flink's documentation, "Group Aggregation" and "Window Aggregation".

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use sqlparser::ast::{Expr, Function, FunctionArguments, GroupByExpr, Ident};
use thalweg_sql_exec::plan::{Aggregate, AggregateCall, Column, Node, Plan, Role, Windowing};
use thalweg_sql_functions::aggregates::aggregate;
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::functions::{self, BindError};
use thalweg_sql_functions::keys::process_seed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::expression::unknown_function;
use super::group::{SET_BITS, expand, group, window_aggregate};
use super::group_windows::{GroupWindow, is_window};
use super::portable::OnlyHere;
use super::scope::{Base, Meaning, Scope};
use super::sets;
use super::syntax::{
    check_names_of_value, has_aggregate, has_query, not_supported, place_of_expression, place_of_name,
    refuse_any, said, size, without_brackets, without_signs,
};
use super::typing::argument;

type Result<T> = std::result::Result<T, SqlError>;

/// Keys of a GROUP BY, and the aggregates that are called behind it.
pub(super) struct Groups<'a> {
    /// Scope of the keys and of the arguments of aggregates.
    pub(super) input: &'a Scope<'a>,
    /// Keys over the columns of the input, each once.
    keys: Vec<Typed>,
    /// Columns of the keys behind the GROUP BY.
    pub(super) columns: Vec<Column>,
    /// Grouping sets as lists of keys; `None` for a GROUP BY without them.
    sets: Option<Vec<Vec<usize>>>,
    /// Number of expressions in each key that is not just a column.
    sizes: Vec<usize>,
    calls: RefCell<Calls>,
    /// Window that stands in the GROUP BY.
    pub(super) window: Option<GroupWindow>,
    /// Place of the GROUP BY or of the first aggregate, for errors about the whole.
    pub(super) at: Option<Place>,
}

/// Columns that an aggregate or an OVER window reads: the first ones are given, the others are appended for it.
pub(super) struct Below {
    pub(super) outputs: Vec<Typed>,
    pub(super) columns: Vec<Column>,
}

impl Below {
    /// Returns the index of a value, which is appended with a role unless it is a column that stands there from the index
    /// `own_from` on.
    pub(super) fn place(&mut self, value: Typed, own_from: usize, role: Role) -> usize {
        if let Some(place) = value.as_column()
            && let Some(known) =
                self.outputs.iter().skip(own_from).position(|known| known.as_column() == Some(place))
        {
            return own_from + known;
        }
        let name = format!("${}", self.outputs.len());
        self.columns.push(Column { role, ..Column::plain(name, value.of.clone(), value.is_nullable) });
        self.outputs.push(value);
        self.outputs.len() - 1
    }
}

/// Calls of aggregates, and the columns that they read, in which the keys come first.
struct Calls {
    below: Below,
    made: Vec<Made>,
}

struct Made {
    call: AggregateCall,
    name: String,
    /// Arguments as they were given, with the condition of FILTER last.
    given: Vec<Typed>,
    has_filter: bool,
}

impl Calls {
    fn over(outputs: Vec<Typed>, columns: Vec<Column>) -> Self {
        Calls { below: Below { outputs, columns }, made: Vec::new() }
    }
}

impl Groups<'_> {
    /// Returns the index of the key that is a value over the columns of the input.
    pub(super) fn key_of(&self, value: &Typed) -> Option<usize> {
        self.keys.iter().position(|key| key.has_form_of(value))
    }

    /// Returns whether the groups are per window: the start and the end of one are keys.
    fn is_per_window(&self) -> bool {
        let has = |wanted: &dyn Fn(&Role) -> bool| self.columns.iter().any(|column| wanted(&column.role));
        has(&|role| matches!(role, Role::WindowStart(_))) && has(&|role| matches!(role, Role::WindowEnd(_)))
    }

    /// Returns the index of a key, which is added if it is none yet.
    fn add_column(&mut self, value: &Typed) -> usize {
        if let Some(key) = self.key_of(value) {
            return key;
        }
        let name = value.as_column().map_or("key", |place| &self.input.columns[place].name);
        self.columns.push(key_column(name.to_owned(), value, self.input));
        self.keys.push(value.clone());
        self.keys.len() - 1
    }

    /// Returns a value behind the groups over the columns below them; `None` if grouping sets leave keys out, and for values
    /// that read results of aggregates.
    pub(super) fn below(&self, value: &Typed) -> Option<Typed> {
        let mut is_of_keys = self.sets.is_none();
        value.columns(&mut |place| is_of_keys &= place < self.keys.len());
        is_of_keys.then(|| value.replaced(&|place| self.keys[place].clone()))
    }

    /// Returns the groups with other indexes of the columns that their keys and calls read.
    pub(super) fn with_columns(mut self, real: &impl Fn(usize) -> usize) -> Self {
        self.keys.iter_mut().for_each(|key| *key = key.with_columns(real));
        let below = &mut self.calls.get_mut().below;
        below.outputs.iter_mut().for_each(|output| *output = output.with_columns(real));
        self
    }

    /// Returns the numbers of the calls of COUNT, which are 0 for a group without rows.
    pub(super) fn counts(&self) -> Vec<usize> {
        let calls = self.calls.borrow();
        let is_count = |number: &usize| calls.made[*number].call.aggregate.name() == "COUNT";
        (0..calls.made.len()).filter(is_count).collect()
    }

    /// Returns a value of the SELECT for a group without rows: COUNT is 0 there, and all else NULL.
    pub(super) fn of_no_rows(&self, value: &Typed) -> Typed {
        let calls = self.calls.borrow();
        value.replaced(&|place| {
            let made = Base::Aggregates.of(place).and_then(|number| calls.made.get(number));
            match made {
                Some(made) if made.call.aggregate.name() == "COUNT" => {
                    Typed::literal(ScalarValue::Int64(Some(0)), SqlType::BigInt)
                }
                Some(Made { call, .. }) => null_of(&call.function.result),
                None => null_of(self.columns.get(place).map_or(&SqlType::Null, |column| &column.of)),
            }
        })
    }

    /// Returns the error for a column that is no key.
    pub(super) fn not_grouped(&self, name: &[Ident]) -> SqlError {
        let name = name.last().map_or("", |name| &name.value);
        let message = format!("`{name}` is no key of GROUP BY, and stands outside of aggregates");
        SqlError::new(Code::Invalid, message).help("add it to GROUP BY, or aggregate it: MAX(..), say")
    }
}

impl Planner<'_> {
    /// Reads the keys of a GROUP BY over the columns of `input`. `fixed` are further keys, which conditions of a
    /// sub-query demand.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn groups<'a>(
        &self,
        group_by: &GroupByExpr,
        input: &'a Scope<'a>,
        window: Option<GroupWindow>,
        fixed: &[Typed],
        at: Option<Place>,
    ) -> Result<Groups<'a>> {
        let list = keys_of(group_by, at)?;
        let is_number = |key: &&Expr| matches!(key, Expr::Value(value) if matches!(value.value, sqlparser::ast::Value::Number(..)));
        if let Some(number) = list.iter().map(|key| without_signs(key)).find(is_number) {
            let error =
                SqlError::new(Code::Unsupported, format!("GROUP BY {number}: positions are not keys"));
            return Err(error.at(place_of_expression(number).or(at)).help("repeat the expression"));
        }
        let first = list.iter().find_map(|key| place_of_expression(key));
        let (expressions, sets) = sets::of_list(&list).map_err(|error| error.at(at))?;
        let mut groups = Groups {
            input,
            keys: Vec::new(),
            columns: Vec::new(),
            sets: None,
            sizes: Vec::new(),
            calls: RefCell::new(Calls::over(Vec::new(), Vec::new())),
            window,
            at: first.or(at),
        };
        let mut places = Vec::with_capacity(expressions.len());
        for expression in &expressions {
            places.push(match is_window(expression) {
                // A window is a key of three columns.
                true => groups.window_columns().iter().map(|column| groups.add_column(column)).collect(),
                false => vec![self.add_key(&mut groups, expression)?],
            });
        }
        groups.sets = sets.map(|sets| {
            sets.into_iter()
                .map(|set| set.into_iter().flat_map(|key| places[key].clone()).collect())
                .collect()
        });
        if let Some(sets) = &groups.sets {
            if groups.window.is_some() {
                self.note(OnlyHere::SetsBesideWindow, groups.at);
            }
            if groups.is_per_window() && sets::is_one_twice(sets) {
                self.note(OnlyHere::SetTwice, groups.at);
            }
        }
        if groups.sets.is_some() && !fixed.is_empty() {
            let what = "a grouping set in a sub-query that reads columns of the query around it";
            return Err(not_supported(what).at(groups.at));
        }
        for value in fixed {
            groups.add_column(value);
        }
        let outputs = groups.keys.clone();
        groups.calls = RefCell::new(Calls::over(outputs, groups.columns.clone()));
        // An aggregate per window keeps the roles of window columns, and any other drops all roles.
        let is_of_windows = groups.is_per_window();
        for column in &mut groups.columns {
            if !is_of_windows || !is_of_window(&column.role) {
                column.role = Role::Plain;
            }
        }
        // Keys that a grouping set leaves out are NULL there.
        for (place, column) in groups.columns.iter_mut().enumerate() {
            column.is_nullable |= groups.sets.iter().flatten().any(|set| !set.contains(&place));
        }
        Ok(groups)
    }

    fn add_key(&self, groups: &mut Groups<'_>, expression: &Expr) -> Result<usize> {
        let value = match without_brackets(expression) {
            // A name of a result is a key if no column has it.
            Expr::Identifier(name) => {
                check_names_of_value(std::slice::from_ref(name))?;
                let value = match groups.input.meaning(std::slice::from_ref(name)) {
                    Ok(Meaning::Alias(expression)) => {
                        self.note(OnlyHere::ResultName, place_of_name(name));
                        self.bind(expression, &Scope { aliases: &[], ..*groups.input })
                    }
                    _ => self.bind(expression, groups.input),
                };
                value.map_err(|error| error.at(place_of_expression(expression)))?
            }
            _ => self.bind(expression, groups.input)?,
        };
        if let Some(known) = groups.key_of(&value) {
            return Ok(known);
        }
        if value.as_column().is_none() {
            let written = match without_brackets(expression) {
                Expr::Identifier(name) => groups
                    .input
                    .aliases
                    .iter()
                    .find(|(alias, _)| alias.value == name.value)
                    .map_or(expression, |(_, expression)| expression),
                expression => expression,
            };
            groups.sizes.push(size(written, usize::MAX - 1));
        }
        let name = match without_brackets(expression) {
            Expr::Identifier(name) => name.value.clone(),
            expression => said(expression),
        };
        groups.columns.push(key_column(name, &value, groups.input));
        groups.keys.push(value);
        Ok(groups.keys.len() - 1)
    }

    /// Returns the index of the key that an expression is, if it is one that is not just a column. Only expressions as
    /// large as a key are typed for this.
    pub(super) fn key_for(&self, groups: &Groups<'_>, expression: &Expr) -> Option<usize> {
        let most = groups.sizes.iter().copied().max()?;
        if matches!(expression, Expr::Nested(_)) || !groups.sizes.contains(&size(expression, most)) {
            return None;
        }
        let reads_query = |key: &Typed| {
            let mut reads = false;
            key.columns(&mut |place| reads |= Base::Attached.of(place).is_some());
            reads
        };
        if has_query(expression) && !groups.keys.iter().any(reads_query) {
            return None;
        }
        let value = self.bind(expression, &Scope { aliases: &[], ..*groups.input }).ok()?;
        groups.key_of(&value).filter(|_| value.as_column().is_none())
    }

    /// Returns the result of an aggregate, which is collected unless an equal call was collected before.
    pub(super) fn aggregate_call(
        &self,
        function: &Aggregate,
        call: &Function,
        arguments: &[&Expr],
        whole: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Typed> {
        let Some(groups) = scope.groups else {
            let message = format!("{} stands where there are no groups", function.name());
            return Err(SqlError::new(Code::Invalid, message));
        };
        if let Some(inner) = arguments
            .iter()
            .copied()
            .find(|argument| has_aggregate(argument, self.binder.catalog.functions()))
        {
            let message = format!("{} takes no aggregate, and {} has one", function.name(), said(inner));
            let error = SqlError::new(Code::Invalid, message).at(place_of_expression(inner));
            return Err(error.help("aggregate twice: in a sub-query first"));
        }
        if function.name() == "COUNT" && arguments.len() > 1 {
            self.note(OnlyHere::CountOfSeveral, place_of_expression(whole));
        }
        let input = &Scope { aliases: &[], ..*groups.input };
        let given = arguments.iter().map(|argument| self.bind(argument, input)).collect::<Result<_>>()?;
        let filter = match &call.filter {
            None => None,
            Some(filter) => Some(self.bind_condition(filter, input)?),
        };
        let keys = if groups.sets.is_some() { groups.keys.len() } else { 0 };
        let mut calls = groups.calls.borrow_mut();
        let place = self.collected(&mut calls, function, given, is_distinct(call), filter, keys)?;
        let made = &mut calls.made[place];
        if made.name.is_empty() {
            made.name = said(whole);
        }
        let function = &made.call.function;
        Ok(Typed::column(Base::Aggregates as usize + place, function.result.clone(), function.is_nullable))
    }

    /// Adds a call of an aggregate to those collected, and returns its number. Its arguments are appended to the columns
    /// below, unless they are among these from the index `own_from` on already: a grouping set puts NULL into the keys
    /// that it leaves out, so an aggregate of a key reads a copy of that column.
    fn collected(
        &self,
        calls: &mut Calls,
        function: &Aggregate,
        arguments: Vec<Typed>,
        is_distinct: bool,
        filter: Option<Typed>,
        own_from: usize,
    ) -> Result<usize> {
        let given: Vec<Typed> = arguments.iter().chain(&filter).cloned().collect();
        let has_filter = filter.is_some();
        let is_known = |made: &Made| {
            made.call.aggregate == *function
                && made.call.is_distinct == is_distinct
                && made.has_filter == has_filter
                && made.given.len() == given.len()
                && made.given.iter().zip(&given).all(|(known, given)| known.has_form_of(given))
        };
        if let Some(known) = calls.made.iter().position(is_known) {
            return Ok(known);
        }
        let call = self.called(&mut calls.below, function, arguments, is_distinct, filter, own_from)?;
        calls.made.push(Made { call, name: String::new(), given, has_filter });
        Ok(calls.made.len() - 1)
    }

    /// Returns a call of an aggregate whose arguments are appended to the columns below, as
    /// [`collected`](Self::collected) says.
    pub(super) fn called(
        &self,
        below: &mut Below,
        function: &Aggregate,
        arguments: Vec<Typed>,
        is_distinct: bool,
        filter: Option<Typed>,
        own_from: usize,
    ) -> Result<AggregateCall> {
        let bound = self.bound_aggregate(function, &arguments)?;
        let arguments = match function {
            Aggregate::User(user) => self.typing.widened(user, arguments, &bound.arguments)?,
            _ => arguments,
        };
        let mut places = Vec::with_capacity(arguments.len());
        for (value, to) in arguments.into_iter().zip(&bound.arguments) {
            let value =
                if value.of.arrow() == to.arrow() { value } else { self.typing.cast_to(value, to, false)? };
            places.push(below.place(value, own_from, Role::Plain));
        }
        let filter = filter.map(|filter| below.place(filter, own_from, Role::Plain));
        let function_of = if is_distinct { bound.distinct(process_seed()) } else { bound };
        Ok(AggregateCall {
            aggregate: function.clone(),
            is_distinct,
            arguments: places,
            filter,
            function: function_of,
        })
    }

    /// Returns an aggregate function for arguments of given types.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] if it does not take them.
    pub(super) fn bound_aggregate(
        &self,
        function: &Aggregate,
        arguments: &[Typed],
    ) -> Result<thalweg_sql_functions::aggregates::BoundAggregate> {
        let given: Vec<_> = arguments.iter().map(argument).collect();
        let told =
            |error: BindError| SqlError::new(Code::TypeMismatch, format!("{}: {error}", function.name()));
        match function {
            Aggregate::Function(function) => (function.bind)(&given, self.binder.context)
                .map_err(|error| told(error).help(format!("it is called {}", function.usage))),
            Aggregate::User(user) => match user.bind_aggregate(&given) {
                Some(bound) => bound.map_err(told),
                None => Err(told(BindError::new("it is no aggregate"))),
            },
            Aggregate::Rank(_) | Aggregate::Lag { .. } => Err(told(BindError::new("it is no aggregate"))),
        }
    }

    /// Returns a call of GROUPING: a number with a bit for each argument, the first one's bit the highest. The bit is 1
    /// if the grouping set of the row leaves that key out.
    pub(super) fn grouping(&self, arguments: &[&Expr], scope: &Scope<'_>) -> Result<Typed> {
        let groups = scope.groups.ok_or_else(|| {
            SqlError::new(Code::Invalid, "GROUPING stands where there are no groups").help("write GROUP BY")
        })?;
        let number = groups.keys.len();
        let keys: Vec<usize> = (0..number).filter(|key| !is_of_window(&groups.columns[*key].role)).collect();
        let mut bits = Vec::new();
        for argument in arguments {
            let key = self
                .bind(argument, scope)?
                .as_column()
                .and_then(|place| keys.iter().position(|key| *key == place))
                .ok_or_else(|| SqlError::new(Code::Invalid, "GROUPING takes keys of GROUP BY"))?;
            bits.push(keys.len() - 1 - key);
        }
        if groups.sets.is_none() {
            // A GROUP BY without grouping sets leaves no key out.
            return Ok(Typed::literal(ScalarValue::Int64(Some(0)), SqlType::BigInt));
        }
        Ok(bits_of_set(number, bits))
    }

    /// Returns a call of GROUP_ID: how many grouping sets with the same keys come before that of the row.
    ///
    /// Differs from Flink's documentation, and not from its behaviour: the number does not tell the combination of keys.
    pub(super) fn group_id(&self, arguments: &[&Expr], scope: &Scope<'_>) -> Result<Typed> {
        let Some(groups) = scope.groups else {
            let error = SqlError::new(Code::Invalid, "GROUP_ID stands where there are no groups");
            return Err(error.help("write GROUP BY"));
        };
        if !arguments.is_empty() {
            return Err(SqlError::new(Code::Invalid, "GROUP_ID takes no arguments"));
        }
        if groups.sets.is_none() {
            return Ok(Typed::literal(ScalarValue::Int64(Some(0)), SqlType::BigInt));
        }
        // The bits above those of the keys count the sets.
        let keys = groups.columns.iter().filter(|column| !is_of_window(&column.role)).count();
        Ok(bits_of_set(groups.keys.len(), (keys..keys + SET_BITS).rev().collect()))
    }

    /// Plans a SELECT DISTINCT, which is a GROUP BY of all columns.
    ///
    /// # Errors
    /// [`SqlError`] if a grouping set is wrong, which cannot be here.
    pub(super) fn distinct(&self, input: Plan, at: Option<Place>) -> Result<Plan> {
        let calls = Calls::over(input.identity(), input.columns.clone());
        let columns = input.columns.clone();
        let plan = self.aggregated(input, &columns, None, calls)?;
        Ok(if matches!(plan.node, Node::Group { .. }) { plan.at(at) } else { plan })
    }

    /// Plans the aggregate of a SELECT with groups. Its columns are the keys, the number of the grouping set if there
    /// are sets, and the results in the order in which they were collected; the second result tells at which index
    /// those begin.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for grouping sets of too many keys, or that leave out a window.
    pub(super) fn grouped(&self, input: Plan, groups: Groups<'_>) -> Result<(Plan, usize)> {
        let Groups { columns, sets, calls, at, .. } = groups;
        let first = columns.len() + usize::from(sets.is_some());
        let mut calls = calls.into_inner();
        if first == 0 && calls.made.is_empty() {
            // A group of all rows has a row, of which nothing is read.
            let count = aggregate("COUNT").map(Aggregate::Function);
            let count = count.ok_or_else(|| unknown_function("COUNT", std::iter::empty()))?;
            self.collected(&mut calls, &count, Vec::new(), false, None, 0)?;
        }
        let plan = self.aggregated(input, &columns, sets.as_deref(), calls);
        Ok((plan.map_err(|error| error.at(at))?.at(at), first))
    }

    fn aggregated(
        &self,
        input: Plan,
        keys: &[Column],
        sets: Option<&[Vec<usize>]>,
        calls: Calls,
    ) -> Result<Plan> {
        let Calls { below: Below { outputs, mut columns }, made } = calls;
        let role_of = |wanted: &dyn Fn(&Role) -> bool| (0..keys.len()).find(|key| wanted(&keys[*key].role));
        let start = role_of(&|role| matches!(role, Role::WindowStart(_)));
        let end = role_of(&|role| matches!(role, Role::WindowEnd(_)));
        let windows = match (start, end) {
            (Some(start), Some(end)) => match &keys[end].role {
                Role::WindowEnd(windows) => Some((windows.clone(), start, end)),
                _ => None,
            },
            _ => None,
        };
        let (names, calls): (Vec<String>, Vec<AggregateCall>) =
            made.into_iter().map(|made| (made.name, made.call)).unzip();
        let named: Vec<(AggregateCall, String)> = calls.iter().cloned().zip(names).collect();
        let mut below = input.project(outputs, columns.clone());
        let Some((windows, start, end)) = windows else {
            let mut places: Vec<usize> = (0..keys.len()).collect();
            if let Some(sets) = sets {
                let (expanded, grouping) = expand(below, sets, keys.len(), &|_| false)?;
                places.push(grouping);
                below = expanded;
            }
            return Ok(group(below, places, named, self.binder.state_ttl_ms));
        };
        let is_window_key = |key: usize| key == start || key == end || is_of_window(&keys[key].role);
        // The aggregate itself makes the window columns, so they are no keys.
        let own_keys: Vec<usize> = (0..keys.len()).filter(|key| !is_window_key(*key)).collect();
        let mut key_places = own_keys.clone();
        if let Some(sets) = sets {
            let (expanded, grouping) = expand(below, sets, keys.len(), &is_window_key)?;
            key_places.push(grouping);
            columns = expanded.columns.clone();
            below = expanded;
        }
        let windowing = Windowing::Given { windows, start, end };
        let aggregated = window_aggregate(below, windowing, key_places.clone(), calls, &named);
        let window_at = key_places.len() + named.len();
        let mut order: Vec<usize> = Vec::new();
        for (place, column) in columns.iter().enumerate().take(keys.len()) {
            order.push(match &column.role {
                Role::WindowStart(_) => window_at,
                Role::WindowEnd(_) => window_at + 1,
                Role::Rowtime | Role::WindowProctime => window_at + 2,
                // Each key that is no window column is among the own keys.
                _ => own_keys.iter().position(|own| *own == place).unwrap_or_default(),
            });
        }
        if sets.is_some() {
            order.push(own_keys.len());
        }
        order.extend(key_places.len()..window_at);
        let output = |place: &usize| {
            let column = &aggregated.columns[*place];
            Typed::column(*place, column.of.clone(), column.is_nullable)
        };
        let outputs: Vec<Typed> = order.iter().map(output).collect();
        let name = |(place, from): (usize, &usize)| {
            let column = aggregated.columns[*from].clone();
            match keys.get(place) {
                Some(key) => Column { name: key.name.clone(), ..column },
                None => column,
            }
        };
        let columns = order.iter().enumerate().map(name).collect();
        Ok(aggregated.project(outputs, columns))
    }
}

/// Returns the number that bits of the number of a grouping set make, the first one's the highest. `place` is the index of
/// the column with the number of the set.
fn bits_of_set(place: usize, bits: Vec<usize>) -> Typed {
    let bits: Arc<[usize]> = bits.into();
    let call = Call::Grouping(Arc::clone(&bits));
    let kernel = move |arguments: &[ColumnarValue], rows: usize| {
        let numbers = functions::column(&arguments[0], rows)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let of = |number: i64| bits.iter().fold(0, |so_far, bit| so_far << 1 | (number >> bit & 1));
        Ok(ColumnarValue::Array(Arc::new(numbers.unary::<_, Int64Type>(of)) as ArrayRef))
    };
    let expression = Expression::Call {
        call,
        kernel: Arc::new(kernel),
        arguments: vec![Typed::column(place, SqlType::BigInt, false)],
        is_total: true,
        is_deterministic: true,
    };
    Typed { expression, of: SqlType::BigInt, is_nullable: false }
}

/// Returns the list of a GROUP BY. `GROUP BY (a, b)` has two keys, and not one key that is a row of two fields.
///
/// # Errors
/// [`Code::Unsupported`] for GROUP BY ALL and for words behind the list.
pub(super) fn keys_of(group_by: &GroupByExpr, at: Option<Place>) -> Result<Vec<&Expr>> {
    let GroupByExpr::Expressions(list, modifiers) = group_by else {
        return Err(not_supported("GROUP BY ALL").at(at));
    };
    refuse_any!(at; !modifiers.is_empty() => "a modifier of GROUP BY");
    fn apart(key: &Expr) -> Vec<&Expr> {
        match key {
            Expr::Tuple(parts) if parts.len() > 1 => parts.iter().collect(),
            key => vec![key],
        }
    }
    Ok(list.iter().flat_map(apart).collect())
}

/// Returns whether a SELECT has a GROUP BY.
pub(super) fn has_keys(group_by: &GroupByExpr) -> bool {
    !matches!(group_by, GroupByExpr::Expressions(keys, modifiers) if keys.is_empty() && modifiers.is_empty())
}

pub(super) fn is_distinct(call: &Function) -> bool {
    use sqlparser::ast::DuplicateTreatment::Distinct;
    matches!(&call.args, FunctionArguments::List(list) if list.duplicate_treatment == Some(Distinct))
}

fn is_of_window(role: &Role) -> bool {
    matches!(role, Role::WindowStart(_) | Role::WindowEnd(_) | Role::Rowtime | Role::WindowProctime)
}

/// Returns NULL of a type.
fn null_of(of: &SqlType) -> Typed {
    Typed::literal(ScalarValue::try_from(&of.arrow()).unwrap_or(ScalarValue::Null), of.clone())
}

fn key_column(name: String, value: &Typed, input: &Scope<'_>) -> Column {
    Column { name, of: value.of.clone(), is_nullable: value.is_nullable, role: input.role(value) }
}
