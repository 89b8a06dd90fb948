//! User functions of a session: their registration, and CREATE FUNCTION.
//!
//! A name has one meaning. In Flink a temporary system function hides a built-in function of the same name; here such a
//! name is refused when the function is registered.

use std::sync::Arc;

use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::user::{
    AggregateFunction, Functions, Implementation, ScalarFunction, TableFunction,
};
use thalweg_sql_tables::error::{Code, SqlError};

use super::Session;
use crate::bind::function_names;
use crate::text::ddl::Name;
use crate::text::functions::CreateFunction;
use crate::text::reserved::is_reserved;

/// Names of functions that SQL knows in FROM alone, or in the clauses of a query.
const OF_QUERIES: [&str; 9] =
    ["CUMULATE", "DESCRIPTOR", "GROUPING", "GROUPING_ID", "HOP", "SESSION", "TUMBLE", "UNNEST", "LATERAL"];

/// Greatest number of characters of the name of a user function.
const NAME_CHARACTERS_MAX: usize = 255;

impl Session {
    /// Registers a function under a name, which SQL writes in any case. It stays known to all statements that are read later.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the name is that of a built-in function, of another user function or of a reserved word, or is
    /// no name, and if there are [`FUNCTIONS_MAX`](thalweg_sql_functions::user::FUNCTIONS_MAX) functions.
    pub fn register(&mut self, name: &str, implementation: Implementation) -> Result<(), SqlError> {
        let upper = name.to_uppercase();
        let refused = |reason: String| Err(SqlError::new(Code::Invalid, reason).help("choose another name"));
        if name.is_empty() || name.starts_with('$') || name.chars().count() > NAME_CHARACTERS_MAX {
            return refused(format!(
                "the name of a function has 1 to {NAME_CHARACTERS_MAX} characters and does not begin with $"
            ));
        }
        if function_names().chain(OF_QUERIES).any(|known| known == upper) {
            return refused(format!("{upper} is a built-in function, and cannot be registered again"));
        }
        if is_reserved(&upper) {
            return refused(format!("{upper} is a reserved word, and no name of a function"));
        }
        self.catalog.functions_mut().add(name, implementation).or_else(refused)
    }

    /// Replaces the user functions of this session by those of another one.
    pub(crate) fn take_functions(&mut self, functions: &Functions) {
        self.catalog.functions_mut().clone_from(functions);
    }

    /// Runs CREATE FUNCTION, which gives a registered function another name.
    ///
    /// # Errors
    /// [`Code::Unsupported`] for a class, [`Code::UnknownFunction`] if no function of that name is registered, and as
    /// [`register`](Self::register).
    pub(super) fn create_function(&mut self, create: &CreateFunction) -> Result<(), SqlError> {
        let CreateFunction { name, if_not_exists, implementation, at, language } = create;
        check_name(name)?;
        let functions = self.catalog.functions();
        if *if_not_exists && functions.get(&name.name.to_uppercase()).is_some() {
            return Ok(());
        }
        if language != "RUST" {
            let message =
                format!("a function in {language} is not supported: `{implementation}` cannot be loaded");
            let help = "functions are written in Rust: the program registers them on its session, before the text is read, \
                        and SQL calls them by their names without CREATE FUNCTION";
            return Err(SqlError::new(Code::Unsupported, message).at(*at).help(help));
        }
        let Some(function) = functions.get(&implementation.to_uppercase()) else {
            let message = format!("the program has registered no function {implementation}");
            let error = SqlError::new(Code::UnknownFunction, message).at(*at);
            return Err(match nearest(implementation, functions.names()) {
                Some(near) => error.help(format!("did you mean {near}?")),
                None => error.help("SHOW USER FUNCTIONS lists those that there are"),
            });
        };
        let implementation = function.implementation().clone();
        self.register(&name.name, implementation).map_err(|error| error.at(name.place))
    }

    /// Runs DROP FUNCTION.
    ///
    /// # Errors
    /// [`Code::UnknownFunction`] if there is no user function of that name, unless `if_exists`.
    pub(super) fn drop_function(&mut self, name: &Name, if_exists: bool) -> Result<(), SqlError> {
        check_name(name)?;
        if self.catalog.functions_mut().remove(&name.name.to_uppercase()) || if_exists {
            return Ok(());
        }
        let message = format!("there is no user function {}", name.name);
        Err(SqlError::new(Code::UnknownFunction, message)
            .at(name.place)
            .help("SHOW USER FUNCTIONS lists those that there are"))
    }

    /// Registers a scalar function under a name.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_scalar(
        &mut self,
        name: &str,
        function: impl ScalarFunction + 'static,
    ) -> Result<(), SqlError> {
        self.register(name, Implementation::Scalar(Arc::new(function)))
    }

    /// Registers an aggregate function under a name.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_aggregate(
        &mut self,
        name: &str,
        function: impl AggregateFunction + 'static,
    ) -> Result<(), SqlError> {
        self.register(name, Implementation::Aggregate(Arc::new(function)))
    }

    /// Registers a table function under a name.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_table(
        &mut self,
        name: &str,
        function: impl TableFunction + 'static,
    ) -> Result<(), SqlError> {
        self.register(name, Implementation::Table(Arc::new(function)))
    }
}

/// Refuses the name of a function with that of a database before it.
fn check_name(name: &Name) -> Result<(), SqlError> {
    if name.before.is_empty() {
        return Ok(());
    }
    let message = "a user function belongs to the session, and to no database";
    Err(SqlError::new(Code::Unsupported, message).at(name.place).help("write its name alone"))
}
