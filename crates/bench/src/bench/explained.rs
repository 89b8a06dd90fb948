//! `bench --explain`: ends a run once its query is planned, with the plan as text.

use std::fmt;

/// The tasks and links of a query as text. It is returned as an error, which ends a run before
/// memory is mapped.
#[derive(Debug)]
pub struct Explained(pub String);

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the query is explained, and not run")
    }
}

impl std::error::Error for Explained {}
