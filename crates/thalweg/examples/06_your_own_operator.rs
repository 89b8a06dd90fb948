//! Your own operator: passes on a signal only if it differs from the one before it.
//!
//! You will learn: an operator is a struct that takes records, pushes any output, and accounts for the records
//! that it took.
//!
//! ```sh
//! cargo run -p thalweg --example 06_your_own_operator
//! ```
//!
//! It prints the text of `06_your_own_operator.txt`.

use std::error::Error;

use thalweg::{
    Counts, Engine, EventTime, Input, Operator, Output, Query, Record, StateError, StateReader, StateWriter,
    WatermarkStrategy, source::Given,
};
use thalweg_connectors::{LinesSink, RowWriter};

type Signal = &'static str;

fn main() -> Result<(), Box<dyn Error>> {
    let signals = ["red", "red", "green", "green", "green", "yellow", "red", "red"].iter().zip(0..);
    let records = signals.map(|(signal, second)| Record::new(EventTime::from_secs(second), *signal));

    let query = Query::new("lights");
    query
        .source("lights", Given::new(records.collect()), WatermarkStrategy::ascending())
        .process(Changes::default())
        .name("changes")
        .sink("screen", LinesSink::new("standard output", std::io::stdout(), show));
    let report = query.submit(&Engine::builder().build()?)?.wait()?;
    println!("{}: {:?}", report.operators[0].operator, report.operators[0].counts);
    Ok(())
}

#[derive(Default)]
struct Changes {
    last: Option<String>,
    counts: Counts,
}

impl Operator<Signal> for Changes {
    type Out = Signal;

    /// Takes a run of records. There is room for one result each; with `EXPANDS` there may be more.
    fn process<I: Input<Signal>, O: Output<Signal>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
            self.note_read(1);
        }
    }

    /// Takes one record, from another operator in the same task.
    fn process_one<O: Output<Signal>>(&mut self, record: Record<Signal>, output: &mut O) {
        if self.last.as_deref() == Some(record.value) {
            self.counts.filtered += 1;
        } else {
            self.last = Some(record.value.to_owned());
            self.counts.forwarded += 1;
            output.push(record);
        }
    }

    fn note_read(&mut self, count: u64) {
        self.counts.read += count;
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("changes", self.counts);
    }

    /// Returns no name, because the engine itself notices a panic of this operator.
    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.last)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.take().map(|last| self.last = last)
    }
}

fn show(signal: &Record<Signal>, row: &mut RowWriter) {
    row.push_str(signal.value);
}
