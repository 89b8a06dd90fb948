//! Guarantees of connectors for jobs that take checkpoints, as the table of connectors declares them.

use std::fmt;

use super::{CONNECTORS, Connector};
use crate::table::Table;

/// The effect of a crash, and of a restart from the newest checkpoint, on the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// Reading goes on exactly behind the rows that the checkpoint covers; written rows are published once.
    ExactlyOnce,
    /// Rows that were written after the checkpoint are written again.
    AtLeastOnce,
    /// The job does not go on, because rows that were read do not come again.
    CannotGoOn,
}

/// Writes the guarantee in words, as EXPLAIN shows it.
impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Guarantee::ExactlyOnce => "exactly once",
            Guarantee::AtLeastOnce => "at least once",
            Guarantee::CannotGoOn => "cannot go on",
        })
    }
}

/// Returns the guarantee for reading a table; `None` if its connector is unknown or cannot be read.
pub fn of_reading(table: &Table) -> Option<Guarantee> {
    connector_of(table)?.guarantees.0
}

/// Returns the guarantee for writing a table; `None` if its connector is unknown or cannot be written.
pub fn of_writing(table: &Table) -> Option<Guarantee> {
    connector_of(table)?.guarantees.1
}

fn connector_of(table: &Table) -> Option<&'static Connector> {
    let name = table.options.get("connector")?;
    CONNECTORS.iter().find(|connector| connector.name == name.value)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::connect::bed::{Folder, table};
    use crate::connect::{bind_sink, check_sink, check_source};

    /// Connectors that can be read or written have a guarantee for that, and no others. A sink has a publisher if its rows are
    /// published once.
    #[test]
    fn guarantees_are_those_of_the_sinks() {
        let folder = Folder::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket =
            format!("'hostname' = '127.0.0.1', 'port' = '{}'", listener.local_addr().unwrap().port());
        let json = "'format' = 'json'";
        for connector in CONNECTORS {
            let name = connector.name;
            let (columns, options) = match name {
                "filesystem" => ("a INT", format!(", {json}, 'path' = 'out'")),
                "socket" => ("a INT", format!(", {json}, {socket}")),
                "stdin" | "stdout" => ("a INT", format!(", {json}")),
                "nexmark" => ("bid ROW<price BIGINT>", String::new()),
                "ysb" => ("ad_id BIGINT", String::new()),
                _ => ("a INT", String::new()),
            };
            let declaration = format!("CREATE TABLE t ({columns}) WITH ('connector' = '{name}'{options})");
            let of = table(&declaration);
            let (reading, writing) = (of_reading(&of), of_writing(&of));
            assert_eq!(reading.is_some(), check_source(&of).is_ok_and(|found| found.reads), "{name}");
            assert_eq!(writing.is_some(), check_sink(&of).is_ok_and(|found| found.writes), "{name}");
            if let Some(writing) = writing {
                let mut sink = bind_sink(&of, &of.written_columns(), &folder.world()).unwrap();
                assert_eq!(sink.publisher().is_some(), writing == Guarantee::ExactlyOnce, "{name}");
            }
            assert_eq!(reading == Some(Guarantee::CannotGoOn), matches!(name, "stdin" | "socket"), "{name}");
        }
        let unknown = table("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')");
        assert_eq!((of_reading(&unknown), of_writing(&unknown)), (None, None));
    }
}
