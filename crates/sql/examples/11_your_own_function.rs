//! A function of your own, called from SQL.
//!
//! You will learn: to write a scalar function over whole columns, to register it on a session under a name, and to run a query
//! that calls it. Table functions and aggregate functions are registered in the same way.
//!
//! ```text
//! cargo run -p thalweg-sql --example 11_your_own_function
//! ```

use std::io::Write;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use thalweg::{Clock, Engine, Layout, SystemClock};
use thalweg_sql::connect::{Output, World};
use thalweg_sql::job::{self, BATCH_EDGES, Shown};
use thalweg_sql::session::{Action, Session};
use thalweg_sql_functions::functions::{Argument, BindError, column};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::{FunctionError, ScalarFunction, Signature};
use thalweg_sql_functions::values::ColumnarValue;

/// FAHRENHEIT(celsius): the same temperature on another scale.
struct Fahrenheit;

impl ScalarFunction for Fahrenheit {
    fn signature(&self, arguments: &[Argument]) -> Result<Signature, BindError> {
        match arguments {
            // Whole numbers and decimals are widened to DOUBLE before the function sees them.
            [_] => Ok(Signature::new([SqlType::Double], SqlType::Double)),
            _ => Err(BindError::new("it takes one temperature")),
        }
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef, FunctionError> {
        // A constant argument becomes a column here; a function may also look at it once for all rows.
        let celsius = column(&arguments[0], rows).map_err(|error| FunctionError::new(error.message))?;
        let celsius = celsius.as_primitive::<Float64Type>();
        let made: Float64Array = celsius.iter().map(|degrees| Some(degrees? * 1.8 + 32.0)).collect();
        Ok(Arc::new(made))
    }
}

/// Memory into which the rows of the query are written.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().map_err(|_| std::io::ErrorKind::Other)?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the query and returns its rows as text.
pub fn run() -> Result<String, Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let mut session = Session::new(Arc::clone(&clock));
    session.register_scalar("fahrenheit", Fahrenheit)?;
    let query = "SELECT city, fahrenheit(degrees) AS f
        FROM (VALUES ('Oslo', -5), ('Lima', 25), ('Rome', NULL)) AS t (city, degrees)";
    let printed = Printed::default();
    for action in session.read(query)? {
        let Action::Run(job) = action else { continue };
        let output: Output = Arc::new(Mutex::new(Box::new(printed.clone())));
        let world = World { clock: Arc::clone(&clock), ..World::default() };
        let assembled = job::assemble(&job, &clock, &world, &mut |columns, changes| {
            let zone = job.settings.zone;
            Ok(Box::new(Shown::text(columns, zone, !changes.is_none(), Output::clone(&output))))
        })?;
        let engine = Engine::builder().workers(1).clock(Arc::clone(&clock)).edges(BATCH_EDGES).build()?;
        engine.submit(assembled.query.plan(Layout::default())?)?.wait()?;
    }
    let bytes = printed.0.lock().map_err(|_| "a sink panicked")?.clone();
    Ok(String::from_utf8(bytes)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
