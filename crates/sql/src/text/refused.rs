//! Statements of Flink that are refused, each with what to do instead.

use sqlparser::tokenizer::TokenWithSpan;
use thalweg_sql_tables::error::{Code, SqlError};

use super::ddl::place_of;
use super::script::word;

/// Words with which refused statements begin, why they are refused, and what to write instead.
const REFUSED: [(&[&str], &str, &str); 26] = [
    (&["UPDATE"], "UPDATE changes rows in place, which no connector here can do", REPLACE),
    (&["DELETE"], "DELETE removes rows in place, which no connector here can do", REPLACE),
    (&["TRUNCATE"], "TRUNCATE removes rows in place, which no connector here can do", REPLACE),
    (&["MERGE"], "MERGE changes rows in place, which no connector here can do", REPLACE),
    (
        &["ANALYZE"],
        "ANALYZE counts rows for a planner that goes by them, and this one does not",
        "leave it out",
    ),
    (&["CALL"], "CALL runs a procedure of a catalog, and the catalog here has none", "write a query"),
    (&["ADD", "JAR"], "ADD JAR loads classes of Java, and there are none here", "leave it out"),
    (&["REMOVE", "JAR"], "REMOVE JAR unloads classes of Java, and there are none here", "leave it out"),
    (&["SHOW", "JARS"], "SHOW JARS lists files of Java, and there are none here", "leave it out"),
    (&["LOAD"], "LOAD MODULE adds modules of Java, and there are none here", "leave it out"),
    (&["UNLOAD"], "UNLOAD MODULE takes functions away, which all stay here", "leave it out"),
    (
        &["SHOW", "MODULES"],
        "SHOW MODULES lists modules of Java, and there are none here",
        "write SHOW FUNCTIONS",
    ),
    (&["USE", "MODULES"], "USE MODULES chooses modules of Java, and there are none here", "leave it out"),
    (&["COMPILE"], "COMPILE PLAN keeps a plan, and plans are not kept", PLANNED),
    (&["EXECUTE", "PLAN"], "EXECUTE PLAN runs a plan that was kept, and plans are not kept", PLANNED),
    (
        &["SHOW", "JOBS"],
        "SHOW JOBS lists jobs of a cluster, and there is none",
        "the program tells the jobs of a file",
    ),
    (&["STOP"], "STOP JOB stops a job of a cluster, and there is none", "stop the program by Ctrl-C"),
    (
        &["CREATE", "CATALOG"],
        "CREATE CATALOG is not supported: there is one catalog",
        "write CREATE DATABASE",
    ),
    (&["CREATE", "MODEL"], "CREATE MODEL is not supported", "compute with functions"),
    (&["CREATE", "MATERIALIZED"], "CREATE MATERIALIZED TABLE is not supported", "write CREATE TABLE .. AS"),
    (&["CREATE", "OR", "ALTER"], "CREATE OR ALTER MATERIALIZED TABLE is not supported", REPLACED),
    (
        &["CREATE", "OR", "REPLACE", "MATERIALIZED"],
        "CREATE OR REPLACE MATERIALIZED TABLE is not supported",
        REPLACED,
    ),
    (&["ALTER", "MATERIALIZED"], "ALTER MATERIALIZED TABLE is not supported", "write CREATE TABLE .. AS"),
    (&["DROP", "CATALOG"], "DROP CATALOG is not supported: there is one catalog", "write DROP DATABASE"),
    (&["ALTER", "DATABASE"], "ALTER DATABASE is not supported: a database has no options", "leave it out"),
    (&["ALTER", "CATALOG"], "ALTER CATALOG is not supported: the catalog has no options", "leave it out"),
];

const REPLACE: &str = "write the rows anew, by INSERT OVERWRITE in batch mode";
const REPLACED: &str = "write CREATE OR REPLACE TABLE .. AS";
const PLANNED: &str = "run the file itself, whose plans are made when it is read";

/// Returns the error for a statement that is refused, at its first words; `None` for others.
pub(super) fn refusal(tokens: &[TokenWithSpan]) -> Option<SqlError> {
    let words: Vec<String> = tokens.iter().map_while(|token| word(&token.token)).take(4).collect();
    let begins = |wanted: &[&str]| {
        wanted.len() <= words.len() && wanted.iter().zip(&words).all(|(wanted, word)| wanted == word)
    };
    let (_, message, help) = REFUSED.iter().find(|(wanted, ..)| begins(wanted))?;
    let error = SqlError::new(Code::Unsupported, *message).help(*help);
    Some(match tokens.first() {
        Some(first) => error.at(place_of(&first.span)),
        None => error,
    })
}
