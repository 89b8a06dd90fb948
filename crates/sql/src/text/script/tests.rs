//! Tests of the parsing of a text into statements, and of the places of errors.

use super::*;
use crate::text::ddl::ColumnKind;

/// Checks the kinds of the statements in a text, or the error with its place.
fn check(text: &str, expected: &str) {
    let shown = match parse(text) {
        Ok(statements) => {
            let kind = |placed: &Placed| match &placed.statement {
                Statement::Set { key, value, .. } => format!("set {key}={value}"),
                Statement::Reset { key } => format!("reset {}", key.as_deref().unwrap_or("all")),
                Statement::CreateTable(table) => format!("table {}", table.name.name),
                Statement::CreateView { name, columns, .. } => format!("view {} {columns:?}", name.name),
                Statement::Drop { name, is_view, .. } => format!("drop {} {is_view}", name.name),
                Statement::Insert(inserts) => {
                    let tables: Vec<&str> = inserts.iter().map(|insert| insert.table.name.as_str()).collect();
                    format!("insert {}", tables.join("+"))
                }
                Statement::Query(query) => format!("query {query}"),
                Statement::Explain(explained) => match &**explained {
                    Statement::Insert(inserts) => format!("explain insert {}", inserts.len()),
                    _ => "explain".to_owned(),
                },
                Statement::Show(listing) => format!("show {:?}", listing.listed),
                Statement::ShowCreate { name, is_view } => format!("show create {} {is_view}", name.name),
                Statement::ShowCurrent { is_catalog } => format!("show current {is_catalog}"),
                Statement::Use { name, is_catalog } => format!("use {} {is_catalog}", name.name),
                Statement::CreateDatabase { name, .. } => format!("database {}", name.name),
                Statement::DropDatabase { name, is_cascade, .. } => {
                    format!("drop database {} {is_cascade}", name.name)
                }
                Statement::Describe(name) => format!("describe {}", name.name),
                Statement::CreateFunction(_) => "create function".to_owned(),
                Statement::DropFunction { name, .. } => format!("drop function {}", name.name),
                Statement::Alter { name, is_view, .. } => format!("alter {} {is_view}", name.name),
            };
            statements.iter().map(kind).collect::<Vec<_>>().join(" | ")
        }
        Err(error) => {
            let place = error.place.map(|place| format!("{}:{}", place.line, place.column));
            format!("{} {} {}", error.code.name(), place.unwrap_or_default(), error.message)
        }
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn statements_are_told_apart() {
    check("", "");
    check(" ;; -- nothing\n/* at all */", "");
    check("SET 'a.b' = 'c'; RESET 'a.b'; RESET;", "set a.b=c | reset a.b | reset all");
    check("select 1", "query SELECT 1");
    check("CREATE VIEW v (a, b) AS SELECT 1, 2", "view v [\"a\", \"b\"]");
    check("DROP TABLE IF EXISTS t; DROP VIEW v", "drop t false | drop v true");
    check("INSERT INTO t SELECT * FROM s", "insert t");
    check("INSERT INTO t (a, b) (SELECT 1, 2)", "insert t");
    check("INSERT INTO t (SELECT 1, 2)", "insert t");
    check("EXECUTE INSERT INTO t VALUES (1)", "insert t");
    check(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO u VALUES (2); END; SELECT 1",
        "insert t+u | query SELECT 1",
    );
    check("BEGIN STATEMENT SET; INSERT INTO t VALUES (1); END", "insert t");
    check(
        "EXPLAIN SELECT 1; EXPLAIN PLAN FOR SELECT 1; EXPLAIN CHANGELOG_MODE, ESTIMATED_COST SELECT 1",
        "explain | explain | explain",
    );
    check("EXPLAIN STATEMENT SET BEGIN INSERT INTO t VALUES (1); END", "explain insert 1");
    let set = "STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO u VALUES (2); END";
    check(&format!("EXPLAIN PLAN FOR {set}; SELECT 1"), "explain insert 2 | query SELECT 1");
    check(
        &format!("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE {set}; SELECT 1"),
        "explain insert 2 | query SELECT 1",
    );
    // The END of a CASE does not end the statement set in which it stands.
    check(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT CASE WHEN CASE WHEN b THEN c END THEN 1 END FROM u WHERE a = CASE WHEN b \
         THEN 1 ELSE 2 END; INSERT INTO u SELECT CASE a WHEN 1 THEN 2 END; END; SELECT 1",
        "insert t+u | query SELECT 1",
    );
    check(
        "SELECT /*+ state_ttl ('t' = '1 d', 'u)' = '2 d') */ 1",
        "query SELECT /*+ state_ttl ('t' = '1 d', 'u)' = '2 d') */ 1",
    );
    check("SHOW TABLES; DESCRIBE t; DESC u", "show Tables | describe t | describe u");
    check(
        "SHOW VIEWS IN d NOT LIKE 'a%'; show create table d.t; SHOW CREATE VIEW v; SHOW CURRENT DATABASE",
        "show Views | show create t false | show create v true | show current false",
    );
    check(
        "USE d; USE CATALOG c; USE catalog; CREATE DATABASE IF NOT EXISTS d COMMENT 'c' WITH ('a' = 'b'); DROP DATABASE d",
        "use d false | use c true | use catalog false | database d | drop database d false",
    );
    check("SELECT ';' -- ;\n, `a;b` FROM t", "query SELECT ';', `a;b` FROM t");
}

#[test]
fn errors_have_places() {
    check("SELECT 1;\n  SELEC 2", "SYNTAX 2:3 no statement begins with SELEC");
    check(
        "UPDATE t SET a = 1",
        "UNSUPPORTED 1:1 UPDATE changes rows in place, which no connector here can do",
    );
    check(
        "SELECT 1;\n ADD JAR 'x'",
        "UNSUPPORTED 2:2 ADD JAR loads classes of Java, and there are none here",
    );
    check(
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "UNSUPPORTED 1:1 ANALYZE counts rows for a planner that goes by them, and this one does not",
    );
    check(
        "COMPILE PLAN 'p' FOR INSERT INTO t SELECT 1",
        "UNSUPPORTED 1:1 COMPILE PLAN keeps a plan, and plans are not kept",
    );
    check("RUN t", "UNSUPPORTED 1:1 there are no statements RUN");
    check("SELECT a FROM", "SYNTAX 1:10 expected identifier, and here the statement ends");
    check("SELECT a b c FROM t", "SYNTAX 1:12 expected end of statement, found c");
    check("SELECT \"a\" FROM t", "SYNTAX 1:8 \"a\" is neither text nor a name");
    check("SELECT 'a FROM t", "SYNTAX 1:8 unterminated string literal");
    check("SELECT INTERVAL '5 minutes' MINUTE", "SYNTAX 1:17 '5 minutes' is no span of minute");
    check("SELECT INTERVAL 5 MINUTE", "SYNTAX 1:17 the span of an INTERVAL is quoted: write INTERVAL '5'");
    check(
        "SELECT /*+ OPTIONS('a' = 'b') */ a FROM t",
        "UNSUPPORTED 1:8 there is no hint OPTIONS behind SELECT",
    );
    check(
        "SELECT a FROM t /*+ LOOKUP('a' = 'b') */",
        "UNSUPPORTED 1:17 there is no hint LOOKUP behind a table",
    );
    check(
        "SELECT a + /*+ OPTIONS('a' = 'b') */ b FROM t",
        "UNSUPPORTED 1:12 a hint stands behind SELECT, or behind the name of a table",
    );
    check(
        "SELECT /*+ STATE_TTL('t'='1d'), BROADCAST(u) */ a FROM t",
        "query SELECT /*+ STATE_TTL('t'='1d'), BROADCAST(u) */ a FROM t",
    );
    check("SELECT /*+ STATE_TTL('t)' */ a FROM t", "SYNTAX 1:8 a comment that begins with + has hints");
    check("CREATE VIEW v (a, b, a) AS SELECT 1, 2, 3", "SYNTAX 1:22 there are two columns `a`");
    check(
        "INSERT OVERWRITE TABLE t SELECT 1",
        "SYNTAX 1:24 expected SELECT, VALUES, or a subquery in the query body, found t",
    );
    check(
        "INSERT INTO t SELECT a FROM s ON CONFLICT DO NOTHING",
        "SYNTAX 1:31 expected the end of the INSERT: ON CONFLICT is for tables that take updates by their key, and all tables \
         here take the old rows, too, found ON",
    );
    check("CREATE TABLE t (a INT, a INT)", "SYNTAX 1:24 there are two columns `a`");
    check("CREATE TABLE t (a INTT)", "SYNTAX 1:19 there is no type INTT");
    check(
        "CREATE TABLE t (a INT, PRIMARY KEY (a))",
        "SYNTAX 1:24 a primary key is not checked: write PRIMARY KEY (..) NOT ENFORCED",
    );
    check(
        "CREATE TABLE t (a DECIMAL(39, 1))",
        "SYNTAX 1:19 DECIMAL(precision, scale) has at most 38 digits, and a scale within",
    );
    let deep = format!("SELECT {}1{}", "(".repeat(100), ")".repeat(100));
    check(&deep, "SYNTAX 1:72 brackets, types or sub-queries are nested deeper than 64");
}

/// A text of a million blanks is parsed fast: blanks are dropped early, and the search for the end of a
/// statement set does not restart at each of them.
#[test]
fn blanks_cost_nothing() {
    let blanks = " ".repeat(1 << 20);
    check(&format!("SELECT{blanks}1"), "query SELECT 1");
    let error = parse(&format!("EXECUTE STATEMENT SET BEGIN{blanks}")).unwrap_err();
    assert_eq!(error.message, "expected INSERT, and here the statement ends");
    let words = "a ".repeat(STATEMENT_TOKENS_MAX);
    let error = parse(&format!("SELECT {words}")).unwrap_err();
    assert_eq!(error.message, "the statement has 100001 words, and at most 100000 are read");
}

#[test]
fn tables_have_all_that_is_declared() {
    let text = "CREATE TEMPORARY TABLE IF NOT EXISTS `my table` (
        a INT NOT NULL COMMENT 'first',
        b DECIMAL(10, 2),
        c AS a * 2,
        ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
        d MAP<STRING, ARRAY<ROW<x INT, y TIMESTAMP(3) WITH LOCAL TIME ZONE>>>,
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
        PRIMARY KEY (a) NOT ENFORCED
    ) COMMENT 'c' PARTITIONED BY (b) WITH ('connector' = 'filesystem', 'path' = '/tmp')";
    let statements = parse(text).unwrap();
    let [Placed { statement: Statement::CreateTable(table), .. }] = &statements[..] else { panic!() };
    assert_eq!((table.name.name.as_str(), table.if_not_exists), ("my table", true));
    let kinds: Vec<String> = table
        .columns
        .iter()
        .map(|column| match &column.kind {
            ColumnKind::Physical { of, is_nullable } => format!("{} {of} {is_nullable}", column.name),
            ColumnKind::Computed { expression, .. } => format!("{} AS {expression}", column.name),
            ColumnKind::Metadata { of, key, is_virtual } => {
                format!("{} {of} {key:?} {is_virtual}", column.name)
            }
        })
        .collect();
    let expected = [
        "a INT false",
        "b DECIMAL(10, 2) true",
        "c AS a * 2",
        "ts TIMESTAMP_LTZ(3) Some(\"timestamp\") true",
        "d MAP<STRING, ARRAY<ROW<`x` INT, `y` TIMESTAMP_LTZ(3)>>> true",
    ];
    assert_eq!(kinds, expected);
    let watermark = table.watermark.as_ref().unwrap();
    assert_eq!(watermark.column, "ts");
    assert_eq!(watermark.expression.to_string(), "ts - `interval of milliseconds`(5000)");
    assert_eq!(table.primary_key[0].0, "a");
    assert_eq!(table.partitioned_by[0].0, "b");
    assert_eq!(table.options["connector"].value, "filesystem");
}

/// Window functions are parsed in each form that Flink's manual shows.
#[test]
fn window_functions_are_read() {
    for query in [
        "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
        "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)",
        "SELECT * FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES, `OFFSET` => INTERVAL '1' MINUTE))",
        "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY a, b, DESCRIPTOR(ts), INTERVAL '5' MINUTES))",
        "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY (a, b), DESCRIPTOR(ts), INTERVAL '5' MINUTES))",
        "SELECT * FROM TABLE(SESSION(DATA => TABLE t PARTITION BY a, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' MINUTES))",
    ] {
        let statements = parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let [Placed { statement: Statement::Query(read), .. }] = &statements[..] else { panic!() };
        assert!(read.to_string().contains("`table argument`(t"), "{read}");
    }
}
