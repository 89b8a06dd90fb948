//! SQL sessions: they read statements one after the other, in the order of a file.
//!
//! Nothing runs while a file is read. Tables and views are declared, settings are set, and each INSERT or
//! query becomes a [`Job`] with its plan. So every error in the file is reported before anything of it runs.
//!
//! Reading and planning recurse once for each operator of an expression, so they run on a thread with a large
//! stack. Other code that walks plans needs a large stack, too ([`STACK_BYTES`]); evaluation does not.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use sqlparser::ast;
use thalweg_model::Clock;
use thalweg_sql_exec::plan::{Column, Node, Plan, Role, prune::prune, steady};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::Context;
use thalweg_sql_functions::functions::cast;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::connect::check_source;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::{Table, TableColumn};

use crate::bind::portable::OnlyHere;
use crate::bind::{Answers, Binder, Notes, Views, kept_for_ever, result_place, with_shared_watermarks};
use crate::catalog::{CATALOG, Catalog, Entry, View};
use crate::text::ddl::Name;
use crate::text::hints::with_options;
use crate::text::portable::only_here;
use crate::text::script::{self, Insert, Placed, Statement};

use overwrite::partition_of;
pub use settings::{CHECKPOINT_INTERVAL_MIN, RuntimeMode, Settings, duration};
use settings::{check_key, set_if_known};

mod alter;
mod create;
mod every;
mod foreign;
mod functions;
mod overwrite;
mod settings;
mod show;
#[cfg(test)]
mod tests;

/// Stack size, in bytes, of a thread that plans or walks plans, far more than
/// [`crate::text::bounds::OPERATORS_MAX`] operators need. It is reserved address space; only the pages used
/// take memory.
pub const STACK_BYTES: usize = 256 << 20;

pub use every::{ERRORS_MAX, in_order};

/// Range of values of the setting `thalweg.latency-target`: from 1 microsecond to 7 days, both included. The
/// engine has the same bounds.
pub const LATENCY_TARGETS: RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(7 * 86_400);

/// An SQL session, which holds tables, views, settings and the clock of time functions such as NOW().
#[derive(Clone)]
pub struct Session {
    catalog: Catalog,
    /// Settings that SET statements in the text have made.
    settings: BTreeMap<String, String>,
    /// Settings that the program made before any text was read, for example from its command line; they take
    /// precedence over SET statements.
    overrides: BTreeMap<String, String>,
    clock: Arc<dyn Clock>,
    views: Views,
    notes: Notes,
}

/// Action that a statement of SQL asks for: to run a job, to explain its plan, or to show a text.
#[derive(Clone, Debug)]
pub enum Action {
    /// Runs a job: an INSERT or a query.
    Run(Job),
    /// Shows the plan of a job and does not run the job.
    Explain(Job),
    /// Shows a text, such as the answer to SHOW TABLES.
    Show(String),
}

/// A job, which runs as one query of the engine: an INSERT, a set of INSERTs, or a query whose rows are
/// shown.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the job, for metrics and messages.
    pub name: String,
    /// True if the name is that of the setting `pipeline.name`, and does not come from the place of the job in the text.
    pub is_named: bool,
    /// Plans of the job, each with the table into which its rows go.
    pub parts: Vec<Part>,
    /// Line and column at which the statement of the job begins in the text.
    pub place: Place,
    /// Settings in force where the statement of the job stands in the text.
    pub settings: Settings,
    /// Warnings about the job, in the order of the text: each operator that keeps its state for as long as rows come.
    pub warnings: Vec<SqlError>,
}

/// One plan of a job and the table into which its rows go.
#[derive(Clone, Debug)]
pub struct Part {
    /// The plan that makes the rows of this part of the job.
    pub plan: Plan,
    /// Table into which the rows of this part of the job are written; `None` for a query whose rows are shown
    /// to the user.
    pub into: Option<Arc<Table>>,
    /// Line and column at which the INSERT or the query of this part begins in the text.
    pub place: Place,
}

impl Session {
    /// Creates a session without tables; `clock` gives the processing time.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Session {
            catalog: Catalog::default(),
            settings: BTreeMap::new(),
            overrides: BTreeMap::new(),
            clock,
            views: Views::default(),
            notes: Notes::default(),
        }
    }

    /// Sets a key of the session with precedence over later SET and RESET statements.
    ///
    /// # Errors
    /// [`Code::UnknownOption`] for an unknown key that begins with `thalweg.`, [`Code::Invalid`] for a value
    /// outside its range.
    pub fn override_setting(&mut self, key: &str, value: &str) -> Result<(), SqlError> {
        check_key(key)?;
        self.views.forget();
        set_if_known(&mut self.overrides, key, value)
    }

    fn setting(&self, key: &str) -> Option<&str> {
        self.overrides.get(key).or_else(|| self.settings.get(key)).map(String::as_str)
    }

    /// Returns the tables and views that the session has declared so far.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns notes on a text that the session has read without errors: what Flink refuses of it, though it runs here, in
    /// the order of the text.
    pub fn notes(&self, text: &str) -> Vec<SqlError> {
        self.notes.all(only_here(text))
    }

    /// Returns the context of SQL functions: the session's time zone and clock.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the value of a setting is not valid.
    pub fn context(&self) -> Result<Context, SqlError> {
        Ok(Context { zone: self.known_settings()?.zone, clock: Arc::clone(&self.clock) })
    }

    /// Reads a text of SQL statements; their declarations and settings stay in the session.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault. Declarations before the fault stay.
    pub fn read(&mut self, text: &str) -> Result<Vec<Action>, SqlError> {
        self.on_large_stack(|session| session.read_here(text))?
    }

    /// Reads a text of SQL statements as [`read`](Self::read) does, and goes on after faulty statements.
    ///
    /// # Errors
    /// All faults in the order of their places, at most [`ERRORS_MAX`], and one for each place. Statements that read a
    /// table or view whose declaration is faulty add none. Declarations without faults stay.
    pub fn read_all(&mut self, text: &str) -> Result<Vec<Action>, Vec<SqlError>> {
        self.on_large_stack(|session| session.read_all_here(text)).map_err(|error| vec![error])?
    }

    /// Calls a function on a thread whose stack is large enough for planning.
    fn on_large_stack<T: Send>(&mut self, read: impl FnOnce(&mut Self) -> T + Send) -> Result<T, SqlError> {
        std::thread::scope(|scope| {
            let reading = std::thread::Builder::new()
                .name("plan".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || read(self))
                .map_err(|error| {
                    SqlError::new(Code::Invalid, format!("no thread can be had for planning: {error}"))
                })?;
            reading.join().map_err(|_| {
                let error =
                    SqlError::new(Code::Unsupported, "planning this text failed for a reason of ours");
                error.help("please report it with the text")
            })
        })
    }

    fn read_here(&mut self, text: &str) -> Result<Vec<Action>, SqlError> {
        let mut actions = Vec::new();
        for Placed { statement, place } in script::parse(text)? {
            if let Some(action) = self.statement(statement, place).map_err(|error| error.at(place))? {
                actions.push(action);
            }
        }
        Ok(actions)
    }

    fn statement(&mut self, statement: Statement, place: Place) -> Result<Option<Action>, SqlError> {
        match statement {
            Statement::Set { key, value, places: [key_place, value_place] } => {
                self.views.forget();
                check_key(&key).map_err(|error| error.at(key_place))?;
                set_if_known(&mut self.settings, &key, &value).map_err(|error| error.at(value_place))?;
                if key == "execution.runtime-mode" && self.known_settings()?.mode == RuntimeMode::Automatic {
                    self.notes.add(OnlyHere::AutomaticMode, Some(value_place));
                }
                Ok(None)
            }
            Statement::Reset { key: Some(key) } => {
                self.views.forget();
                self.settings.remove(&key);
                Ok(None)
            }
            Statement::Reset { key: None } => {
                self.views.forget();
                self.settings.clear();
                Ok(None)
            }
            Statement::CreateTable(create) => self.create_table(*create, place),
            Statement::CreateView { name, if_not_exists, columns, comment, query, text } => {
                // The query of a new view is planned here, so that errors in the query are reported at CREATE
                // VIEW and not later.
                let context = self.context()?;
                let binder = self.binder(&context, self.answers(false)?)?;
                let plan = binder.query(&query)?;
                if !columns.is_empty() && columns.len() != plan.columns.len() {
                    let message = format!(
                        "the view `{}` names {} columns, and its query has {}",
                        name.name,
                        columns.len(),
                        plan.columns.len()
                    );
                    return Err(SqlError::new(Code::Invalid, message).at(name.place));
                }
                let database = self.catalog.current().to_owned();
                let view = View { columns, query, text, comment, database };
                self.catalog.add(&name, Entry::View(Arc::new(view)), None, if_not_exists)?;
                Ok(None)
            }
            Statement::Drop { name, is_view, if_exists } => {
                self.views.forget();
                self.catalog.remove(&name, is_view, if_exists)?;
                Ok(None)
            }
            Statement::Insert(inserts) => Ok(Some(Action::Run(self.inserts(&inserts, place)?))),
            Statement::Query(query) => {
                let context = self.context()?;
                let plan = self.shown(&query, &context)?;
                Ok(Some(Action::Run(self.job("query", vec![Part { plan, into: None, place }], place)?)))
            }
            Statement::Explain(explained) => {
                let planned = match *explained {
                    // The table that is explained is not declared.
                    create @ Statement::CreateTable(_) => self.clone().statement(create, place)?,
                    other => self.statement(other, place)?,
                };
                match planned {
                    Some(Action::Run(job)) => Ok(Some(Action::Explain(job))),
                    other => Ok(other),
                }
            }
            Statement::Show(listing) => Ok(Some(Action::Show(self.listed(&listing)?))),
            Statement::ShowCreate { name, is_view } => Ok(Some(Action::Show(self.creation(&name, is_view)?))),
            Statement::ShowCurrent { is_catalog } => {
                let current = if is_catalog { CATALOG } else { self.catalog.current() };
                Ok(Some(Action::Show(current.to_owned())))
            }
            Statement::Alter { name, is_view, if_exists, change } => {
                self.alter(&name, is_view, if_exists, &change)?;
                Ok(None)
            }
            Statement::CreateFunction(create) => {
                self.create_function(&create)?;
                Ok(None)
            }
            Statement::DropFunction { name, if_exists } => {
                self.views.forget();
                self.drop_function(&name, if_exists)?;
                Ok(None)
            }
            Statement::Describe(name) => Ok(Some(Action::Show(self.described(&name)?))),
            Statement::Use { name, is_catalog } => {
                self.views.forget();
                match is_catalog && name.before.is_empty() {
                    true => self.catalog.use_catalog(&name.name, name.place)?,
                    false => self.catalog.use_database(&name)?,
                }
                Ok(None)
            }
            Statement::CreateDatabase { name, if_not_exists } => {
                self.catalog.create_database(&name, if_not_exists)?;
                Ok(None)
            }
            Statement::DropDatabase { name, if_exists, is_cascade } => {
                self.views.forget();
                self.catalog.drop_database(&name, if_exists, is_cascade)?;
                Ok(None)
            }
        }
    }

    fn binder<'a>(&'a self, context: &'a Context, answers: Answers) -> Result<Binder<'a>, SqlError> {
        let Settings { state_ttl, mode, are_changes_doubled, .. } = self.known_settings()?;
        // State of a job in batch mode ends with the job.
        let ttl = state_ttl.filter(|_| mode != RuntimeMode::Batch);
        let state_ttl_ms = ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        Ok(Binder {
            catalog: &self.catalog,
            context,
            state_ttl_ms,
            answers,
            are_changes_doubled,
            views: &self.views,
            notes: &self.notes,
        })
    }

    /// Returns the form in which an INSERT or a query gives its answer.
    fn answers(&self, is_insert: bool) -> Result<Answers, SqlError> {
        Ok(match self.known_settings()?.mode {
            RuntimeMode::Batch => Answers::Final,
            RuntimeMode::Automatic if !is_insert => Answers::FinalIfEnding,
            RuntimeMode::Automatic | RuntimeMode::Streaming => Answers::Changes,
        })
    }

    /// Refuses a plan in batch mode that reads a table without an end.
    fn check_mode(&self, plan: &Plan) -> Result<(), SqlError> {
        let is_batch = self.known_settings()?.mode == RuntimeMode::Batch;
        match endless_table(plan).filter(|_| is_batch) {
            None => Ok(()),
            Some(table) => {
                let message =
                    format!("'execution.runtime-mode' is 'batch', and the table `{table}` has no end");
                Err(SqlError::new(Code::Unsupported, message)
                    .help("SET 'execution.runtime-mode' = 'streaming'"))
            }
        }
    }

    /// Returns the plan of a query whose rows are shown. If its final rows cannot be told, because rows differ from their
    /// retractions, changes are shown unless batch mode demands final rows.
    fn shown(&self, query: &ast::Query, context: &Context) -> Result<Plan, SqlError> {
        let planned =
            |answers| -> Result<Plan, SqlError> { Ok(pruned(self.binder(context, answers)?.query(query)?)) };
        let answers = self.answers(false)?;
        let mut plan = planned(answers)?;
        if let Err(error) = steady::check(&plan) {
            let other = (answers == Answers::FinalIfEnding)
                .then(|| planned(Answers::Changes))
                .and_then(Result::ok)
                .filter(|plan| steady::check(plan).is_ok());
            plan = other.ok_or(error)?;
        }
        self.check_mode(&plan)?;
        Ok(plan)
    }

    fn job(&self, kind: &str, parts: Vec<Part>, place: Place) -> Result<Job, SqlError> {
        let given = self.setting("pipeline.name");
        let is_named = given.is_some();
        let name = given.map_or_else(|| format!("{kind}-{}", place.line), str::to_owned);
        let mut warnings: Vec<SqlError> =
            parts.iter().flat_map(|part| kept_for_ever(&part.plan, part.place)).collect();
        // Several parts may read one view.
        let mut seen = HashSet::new();
        warnings.retain(|warning| seen.insert((warning.place, warning.message.clone())));
        let (plans, ends): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|Part { plan, into, place }| (plan, (into, place))).unzip();
        let parts = with_shared_watermarks(plans)
            .into_iter()
            .zip(ends)
            .map(|(plan, (into, place))| Part { plan, into, place })
            .collect();
        Ok(Job { name, is_named, parts, place, settings: self.known_settings()?, warnings })
    }

    fn inserts(&self, inserts: &[Insert], place: Place) -> Result<Job, SqlError> {
        let part = |insert: &Insert| self.filled(insert, self.written(&insert.table)?);
        let parts = inserts.iter().map(part).collect::<Result<_, SqlError>>()?;
        self.job("insert", parts, place)
    }

    /// Returns the table that has a name, so that rows can be written to it.
    fn written(&self, name: &Name) -> Result<&Arc<Table>, SqlError> {
        match self.catalog.find(name)? {
            (_, Entry::Table(table)) => Ok(table),
            (path, Entry::View(_)) => {
                let message = format!("`{}` is a view, and nothing can be written to it", path.full_name());
                Err(SqlError::new(Code::Invalid, message).at(name.place))
            }
        }
    }

    /// Returns the part of a job that fills a table by an INSERT.
    fn filled(&self, insert: &Insert, table: &Arc<Table>) -> Result<Part, SqlError> {
        let context = self.context()?;
        let binder = self.binder(&context, self.answers(true)?)?;
        let table = self.replaced(with_options(table, &insert.options), insert)?;
        let given = partition_of(&binder, &table, insert)?;
        let planned = || -> Result<Plan, SqlError> {
            let plan = binder.query(&insert.query)?;
            self.check_mode(&plan)?;
            let plan = prune(fitted(plan, &table, insert, &given, &context)?);
            steady::check(&plan)?;
            Ok(plan)
        };
        let plan = planned().map_err(|error| error.at(insert.place))?;
        Ok(Part { plan, into: Some(table), place: insert.place })
    }

    fn known_settings(&self) -> Result<Settings, SqlError> {
        Settings::of(|key| self.setting(key))
    }
}

/// Returns the name of a table in a plan that is known to have no end.
fn endless_table(plan: &Plan) -> Option<&str> {
    plan.walk().find_map(|part| match &part.node {
        Node::Scan { table, .. } => {
            check_source(table).is_ok_and(|abilities| !abilities.is_bounded).then_some(&*table.name)
        }
        _ => None,
    })
}

/// Drops the columns of a plan that nothing reads, and keeps the names of the output columns. Without
/// restoring the names, operators that pass rows on would take the names of the columns below them.
fn pruned(plan: Plan) -> Plan {
    let names: Vec<String> = plan.columns.iter().map(|column| column.name.clone()).collect();
    let mut plan = prune(plan);
    plan.columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
    plan
}

/// Fits the rows of a query to the columns of the table of an INSERT: they are matched by position, and
/// values are widened to the column types. `given` are values of columns that the query does not have.
fn fitted(
    plan: Plan,
    table: &Table,
    insert: &Insert,
    given: &[(usize, Typed)],
    context: &Context,
) -> Result<Plan, SqlError> {
    let written = table.written_columns();
    let is_given = |place: &usize| given.iter().any(|(column, _)| column == place);
    let wanted: Vec<usize> = if insert.columns.is_empty() {
        written.iter().copied().filter(|place| !is_given(place)).collect()
    } else {
        let place = |(name, at): &(String, Place)| {
            let found = written.iter().copied().find(|place| table.columns[*place].name == *name);
            found.ok_or_else(|| {
                let message = format!("`{}` has no column `{name}` that is written to", table.name);
                SqlError::new(Code::UnknownColumn, message).at(*at)
            })
        };
        let mut named = HashSet::new();
        if let Some((name, at)) = insert.columns.iter().find(|(name, _)| !named.insert(name)) {
            let message = format!("the column `{name}` is named twice, and takes one value");
            return Err(SqlError::new(Code::Invalid, message).at(*at));
        }
        let wanted: Vec<usize> = insert.columns.iter().map(place).collect::<Result<_, SqlError>>()?;
        if let Some((name, at)) =
            insert.columns.iter().zip(&wanted).find(|(_, place)| is_given(place)).map(|(named, _)| named)
        {
            let message = format!("the column `{name}` has a value by PARTITION already");
            return Err(SqlError::new(Code::Invalid, message).at(*at));
        }
        wanted
    };
    if wanted.len() != plan.columns.len() {
        let names: Vec<&str> = wanted.iter().map(|place| table.columns[*place].name.as_str()).collect();
        let message = format!(
            "the query has {} columns, and `{}` takes {}",
            plan.columns.len(),
            table.name,
            wanted.len()
        );
        return Err(SqlError::new(Code::TypeMismatch, message)
            .at(result_place(&insert.query, 0))
            .help(format!("those are {}", names.join(", "))));
    }
    let mut outputs = Vec::new();
    let mut columns = Vec::new();
    for place in &written {
        let column = &table.columns[*place];
        let of_partition = given.iter().find(|(column, _)| column == place);
        let output = match (wanted.iter().position(|known| known == place), of_partition) {
            (_, Some((_, value))) => value.clone(),
            (Some(from), None) => {
                let given = &plan.columns[from];
                let value = Typed::column(from, given.of.clone(), given.is_nullable);
                widened(value, &given.name, column, context)
                    .map_err(|error| error.at(result_place(&insert.query, from)))?
            }
            (None, None) if column.is_nullable => {
                let null = ScalarValue::try_from(&column.of.arrow()).unwrap_or(ScalarValue::Null);
                Typed::literal(null, column.of.clone())
            }
            (None, None) => {
                let message = format!("`{}` of `{}` is NOT NULL, and gets no value", column.name, table.name);
                return Err(SqlError::new(Code::Invalid, message));
            }
        };
        let role = output.as_column().map_or(Role::Plain, |from| plan.columns[from].role.clone());
        columns.push(Column {
            name: column.name.clone(),
            of: column.of.clone(),
            is_nullable: output.is_nullable,
            role,
        });
        outputs.push(output);
    }
    Ok(plan.project(outputs, columns))
}

fn widened(value: Typed, name: &str, column: &TableColumn, context: &Context) -> Result<Typed, SqlError> {
    let is_free = value.of == SqlType::Null || cast::implicit(&value.of, &column.of);
    if !is_free {
        let message =
            format!("`{name}` is {}, and goes into `{}`, which is {}", value.of, column.name, column.of);
        return Err(
            SqlError::new(Code::TypeMismatch, message).help(format!("write CAST(`{name}` AS {})", column.of))
        );
    }
    crate::bind::cast_for_insert(value, &column.of, context)
}
