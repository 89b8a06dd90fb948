//! Tests of user functions: every query in `tests/functions` gives the rows that are written beside it, with any batch size,
//! policy and number of workers. Errors have their places, and calls that do not return are reported.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use arrow::array::ArrayRef;
use thalweg::scheduling::policy::{enjima, names};
use thalweg::{Chaining, Clock, Engine, Layout, Parallel, SystemClock};
use thalweg_sql::bind::changelog::Changes;
use thalweg_sql::cases::{Cases, Manner, Verdict};
use thalweg_sql::connect::{Output, RowSink, World};
use thalweg_sql::job::{self, BATCH_EDGES, Shown};
use thalweg_sql::plan::Column;
use thalweg_sql::session::{Action, Session};
use thalweg_sql_functions::functions::{Argument, BindError};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::{FunctionError, ScalarFunction, Signature};
use thalweg_sql_functions::values::ColumnarValue;

#[allow(dead_code, reason = "it is a program of its own, too")]
#[path = "../examples/11_your_own_function.rs"]
mod example;
#[path = "functions/registered.rs"]
mod registered;

fn files() -> Vec<(String, Cases)> {
    let session = registered::session();
    let entries = fs::read_dir("tests/functions").expect("the folder of cases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".test.sql"));
    paths.sort();
    let read = |path: PathBuf| {
        let cases = Cases::parse(&fs::read_to_string(&path).expect("a file of cases"));
        let cases = cases.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.display().to_string(), cases.with_functions_of(&session))
    };
    let files: Vec<_> = paths.into_iter().map(read).collect();
    assert!(files.iter().map(|(_, cases)| cases.cases.len()).sum::<usize>() > 60);
    files
}

/// Runs all cases, and returns the failures.
fn failures(manner: Manner) -> String {
    let only = std::env::var("THALWEG_CASE").unwrap_or_default();
    let mut failures = String::new();
    for (file, cases) in files() {
        for case in cases.cases.iter().filter(|case| format!("{file}: {}", case.name).contains(&only)) {
            if let Verdict::Failed(why) = cases.run(case, manner) {
                failures += &format!("{file}:{}: {}, with {manner:?}\n  {why}\n", case.line, case.name);
            }
        }
    }
    failures
}

#[test]
fn queries_have_the_expected_rows() {
    let failures = failures(Manner::default());
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn rows_do_not_depend_on_how_they_are_run() {
    let mut all = String::new();
    for (workers, batch_rows, seed) in [(1, 1, 1), (1, 3, 2), (2, 1, 3), (2, 2, 4), (3, 4_096, 5)] {
        all += &failures(Manner { workers, batch_rows, seed, policy: None, spills: false, renews: false });
    }
    let policies = names().into_iter().filter(|name| *name != enjima::STRICT_NAME);
    for (seed, policy) in (0..).zip(policies) {
        all += &failures(Manner {
            workers: 2,
            batch_rows: 2,
            seed,
            policy: Some(policy),
            spills: false,
            renews: true,
        });
    }
    assert!(all.is_empty(), "{all}");
}

/// An error of a query has the place of the call.
#[test]
fn errors_point_at_the_call() {
    let check = |text: &str, expected: &str| {
        let error = registered::session().read(text).expect_err(text);
        let place = error.place.map(|place| format!("{}:{}", place.line, place.column));
        let place = place.unwrap_or_else(|| "nowhere".to_owned());
        assert_eq!(format!("{} {place} {}", error.code.name(), error.message), expected, "{text}");
    };
    check("SELECT 1,\n plus(1)", "TYPE_MISMATCH 2:2 PLUS: it takes two numbers");
    check("SELECT plus_one('a')", "TYPE_MISMATCH 1:8 PLUS_ONE: argument 1 is CHAR(1), and BIGINT is taken");
    check(
        "SELECT same(NULL)",
        "TYPE_MISMATCH 1:8 SAME: its signature has the result NULL, which is the type of no column",
    );
    check(
        "SELECT panics_in_signature(1)",
        "TYPE_MISMATCH 1:8 PANICS_IN_SIGNATURE: its signature panicked: no signature",
    );
    check("SELECT 1, series(3)", "INVALID 1:11 SERIES is a table function, and gives no value");
    check("SELECT * FROM TABLE(plus_one(3))", "INVALID 1:21 PLUS_ONE is no table function");
    check("SELECT * FROM LATERAL TABLE(serie(3))", "UNKNOWN_FUNCTION 1:29 there is no table function SERIE");
    check(
        "SELECT * FROM TABLE(series('a'))",
        "TYPE_MISMATCH 1:21 SERIES: argument 1 is CHAR(1), and INT is taken",
    );
    check(
        "SELECT 1 FROM (VALUES (1)) AS t (a) WHERE total(a) > 1",
        "INVALID 1:43 TOTAL is an aggregate, and stands where there are no groups",
    );
    check(
        "SELECT total('a') FROM (VALUES (1)) AS t (a)",
        "TYPE_MISMATCH 1:8 TOTAL: argument 1 is CHAR(1), and BIGINT is taken",
    );
    check("SELECT plus_on(1)", "UNKNOWN_FUNCTION 1:8 there is no function PLUS_ON");
}

/// A name that has a meaning already is refused, and CREATE FUNCTION names a registered function.
#[test]
fn names_are_registered_once() {
    let mut session = registered::session();
    let mut check = |name: &str, expected: &str| {
        let implementation = session.catalog().functions().get("PLUS_ONE").unwrap().implementation().clone();
        assert_eq!(session.register(name, implementation).unwrap_err().message, expected);
    };
    check("upper", "UPPER is a built-in function, and cannot be registered again");
    check("Count", "COUNT is a built-in function, and cannot be registered again");
    check("tumble", "TUMBLE is a built-in function, and cannot be registered again");
    check("select", "SELECT is a reserved word, and no name of a function");
    check("PLUS_one", "there is a user function PLUS_ONE already");
    check("", "the name of a function has 1 to 255 characters and does not begin with $");
    let mut shown = |text: &str| -> Result<String, String> {
        match &session.read(text).map_err(|error| error.to_string())?[..] {
            [] => Ok(String::new()),
            [Action::Show(text)] => Ok(text.clone()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shown("SHOW USER FUNCTIONS LIKE 'plus%'"), Ok("plus\nplus_one".to_owned()));
    assert_eq!(shown("CREATE FUNCTION IF NOT EXISTS plus AS 'none'"), Ok(String::new()));
    assert_eq!(
        shown("CREATE TEMPORARY SYSTEM FUNCTION successor AS 'Plus_One' LANGUAGE RUST"),
        Ok(String::new())
    );
    assert_eq!(shown("SHOW FUNCTIONS LIKE 'succ%'"), Ok("successor".to_owned()));
    assert!(
        shown("CREATE FUNCTION successor AS 'plus' LANGUAGE RUST").unwrap_err().contains("SUCCESSOR already")
    );
    assert!(shown("CREATE FUNCTION f AS 'plu' LANGUAGE RUST").unwrap_err().contains("did you mean PLUS?"));
    let java = "CREATE TEMPORARY FUNCTION g AS 'org.example.G' LANGUAGE JAVA USING JAR 'g.jar'";
    assert_eq!(
        shown(java),
        Err("line 1, column 32: a function in JAVA is not supported: `org.example.G` cannot be loaded; functions are \
             written in Rust: the program registers them on its session, before the text is read, and SQL calls them by \
             their names without CREATE FUNCTION"
            .to_owned())
    );
    assert_eq!(
        shown("DROP TEMPORARY SYSTEM FUNCTION successor; SHOW FUNCTIONS LIKE 'succ%'"),
        Ok(String::new())
    );
    assert!(shown("DROP FUNCTION successor").unwrap_err().contains("there is no user function successor"));
    assert_eq!(shown("DROP FUNCTION IF EXISTS successor"), Ok(String::new()));
}

/// A function that waits until it is told to go on.
#[derive(Clone, Default)]
struct Waits(Arc<(Mutex<bool>, Condvar)>);

impl Waits {
    fn go_on(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl ScalarFunction for Waits {
    fn signature(&self, _arguments: &[Argument]) -> Result<Signature, BindError> {
        Ok(Signature::new([SqlType::Int], SqlType::Int))
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, FunctionError> {
        let is_told = self.0.0.lock().unwrap();
        let told =
            self.0.1.wait_timeout_while(is_told, Duration::from_secs(60), |is_told| !*is_told).unwrap();
        assert!(*told.0, "the call was told to go on");
        drop(told);
        arguments[0].to_array(rows).map_err(|error| FunctionError::new(error.to_string()))
    }
}

/// A call that does not return is reported after a second, with the names of the query and of the function.
#[test]
fn a_call_that_does_not_return_is_reported() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let mut session = Session::new(Arc::clone(&clock));
    let waits = Waits::default();
    session.register_scalar("waits", waits.clone()).unwrap();
    let actions = session.read("SELECT waits(a) FROM (VALUES (1), (2)) AS t (a)").unwrap();
    let [Action::Run(job)] = &actions[..] else { panic!("one query") };
    let world = World { clock: Arc::clone(&clock), ..World::default() };
    let output: Output = Arc::new(Mutex::new(Box::new(std::io::sink())));
    let mut shown = |columns: &[Column], changes: Changes| {
        let shown = Shown::text(columns, job.settings.zone, !changes.is_none(), Output::clone(&output));
        Ok(Box::new(shown) as Box<dyn RowSink>)
    };
    let assembled = job::assemble(job, &clock, &world, &mut shown).unwrap();
    let engine = Engine::builder().workers(1).clock(clock).edges(BATCH_EDGES).build().unwrap();
    let layout = Layout { chaining: Chaining::Default, parallel: Parallel::Serial };
    let handle = engine.submit(assembled.query.plan(layout).unwrap()).unwrap();
    let begin = Instant::now();
    let mut notes = Vec::new();
    while notes.is_empty() && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
        notes = world.notes.take();
    }
    let after = begin.elapsed();
    waits.go_on();
    handle.wait().unwrap();
    let text =
        "query-1: a call of the user function WAITS has not returned for 1 s; the engine cannot end it";
    assert_eq!(notes, [text]);
    assert!(after >= Duration::from_millis(900), "{after:?}");
    assert!(world.notes.take().is_empty());
}

/// The example prints what stands beside it.
#[test]
fn the_example_prints_what_stands_beside_it() {
    let printed = example::run().unwrap();
    let golden = "examples/11_your_own_function.txt";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(golden, &printed).unwrap();
    }
    assert_eq!(printed, fs::read_to_string(golden).unwrap_or_default());
}
