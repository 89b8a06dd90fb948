//! Errors of connectors, each with a stable code that scripts may depend on.

use std::error::Error;

/// An error with a stable code, shared by the command line, SQL and the dashboard. The message (`Display`) is
/// lower case without a full stop, shows value, bound and unit, names the place (file, line, offset) and says
/// what to try.
pub trait Coded: Error + Send + Sync + 'static {
    /// Returns the stable code of the error, such as `SOURCE_CHANGED`.
    fn code(&self) -> &'static str;
}

/// Any error of a source or a sink. It fails its query and nothing else.
pub type Fault = Box<dyn Coded>;

impl<E: Coded> From<E> for Fault {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}
