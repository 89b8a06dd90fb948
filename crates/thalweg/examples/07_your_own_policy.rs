//! Your own policy: the operator with the most waiting records runs next.
//!
//! You will learn: a policy is a small struct that ranks operators from a snapshot; results do not depend on it.
//!
//! ```sh
//! cargo run -p thalweg --example 07_your_own_policy
//! ```
//!
//! It prints the text of `07_your_own_policy.txt`. The engine is stepped by hand, with a clock that stands still, so
//! that the order of runs is the same every time.

use std::error::Error;
use std::sync::Arc;

use thalweg::scheduling::{
    Completion, Fields, OperatorId, Policy, Quantum, Rank, Refresh, Scale, Snapshot, policy::fcfs::Fcfs,
};
use thalweg::{
    Chaining, EdgeLimits, Engine, EventTime, Query, QueryHandle, Record, Step, VirtualClock,
    WatermarkStrategy, source::Given,
};
use thalweg_connectors::Discard;

fn main() -> Result<(), Box<dyn Error>> {
    for policy in [Box::new(MostPending) as Box<dyn Policy>, Box::new(Fcfs::default())] {
        println!("{}", policy.name());
        let clock = Arc::new(VirtualClock::default());
        // Blocks are small and runs short, so that the policy has several operators with waiting records to
        // choose from.
        let edges = EdgeLimits { block_records: 4, chunk_blocks: 1, chunks_max: 8, ..EdgeLimits::default() };
        let builder = Engine::builder().clock(clock.clone()).edges(edges).run_bytes(64);
        let mut stepped = builder.policy(policy).build_stepped()?;
        let handles = [count_to("few", 5, &stepped.engine)?, count_to("many", 20, &stepped.engine)?];
        while stepped.growth.step() || stepped.workers[0].step(clock.as_ref()) == Step::Busy {}
        for handle in handles {
            let (name, report) = (handle.name().to_owned(), handle.wait()?);
            println!("  {name}: {} records in {} steps", report.results_out, report.steps);
        }
    }
    Ok(())
}

fn count_to(name: &str, last: i64, engine: &Engine) -> Result<QueryHandle, Box<dyn Error>> {
    let records = (1..=last).map(|number| Record::new(EventTime::from_secs(number), number)).collect();
    let query = Query::new(name);
    query
        .source("numbers", Given::new(records), WatermarkStrategy::ascending())
        .sink("nowhere", Discard::new());
    Ok(engine.submit(query.plan(Chaining::None)?)?)
}

/// Policy that ranks operators by their pending records, and prints how many records each run has taken.
struct MostPending;

impl Policy for MostPending {
    fn name(&self) -> &'static str {
        "most_pending"
    }
    fn reads(&self) -> Fields {
        Fields::PENDING
    }
    fn refresh(&self) -> Refresh {
        Refresh::ON_RETURN | Refresh::ON_ARRIVAL
    }
    fn scale(&self) -> Scale {
        Scale::Ratio
    }
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        Some(Rank { class: 0, score: state.pending as f64, tie: operator.0 })
    }
    fn quantum(&self, snapshot: &Snapshot, _: OperatorId) -> Quantum {
        Quantum { records: snapshot.block_records }
    }
    fn feedback(&mut self, done: &Completion) {
        println!("  operator {} of query {} took {}", done.operator.0, done.query.0, done.records_in);
    }
}
