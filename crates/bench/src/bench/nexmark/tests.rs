//! Tests of the queries of Nexmark as workloads: their texts, tables and rates.

use clap::ValueEnum;
use thalweg::VirtualClock;
use thalweg_sql::plan::Node;

use super::queries::QUERIES;
use super::*;
use crate::bench::workload::Workload;

fn with_settings(words: &str, query: &NexmarkQuery) -> String {
    let args = BenchArgs::parsed(&format!("{} {words}", query.name));
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    text(&args, query, "q", &clock).expect("a text")
}

/// Each query reads the tables that it is said to read, and these are all of its tables of events.
#[test]
fn queries_read_the_tables_that_they_say() {
    for query in &QUERIES {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
        let text = with_settings("--rate 1M", query);
        let actions = Session::new(Arc::clone(&clock)).read(&text).expect("a valid text");
        let [Action::Run(job)] = &actions[..] else { panic!("{}", query.name) };
        let mut found: Vec<String> = job
            .parts
            .iter()
            .flat_map(|part| part.plan.walk())
            .filter_map(|plan| match &plan.node {
                Node::Scan { table, .. } => {
                    Some(table.name.rsplit('.').next().unwrap_or_default().replace('`', ""))
                }
                _ => None,
            })
            .filter(|table| table != SIDE_INPUT.0)
            .collect();
        found.sort();
        found.dedup();
        let mut said = query.tables.to_vec();
        said.sort_unstable();
        assert_eq!(found, said, "{}", query.name);
        let rounds: u64 = said
            .iter()
            .map(|table| match *table {
                "person" => 1,
                "auction" => 3,
                "bid" => 46,
                _ => 0,
            })
            .sum();
        assert_eq!(query.read_per_round, rounds, "{}", query.name);
    }
}

/// Every query has a workload of its name, and q6 has none.
#[test]
fn every_query_is_a_workload() {
    let facts = Workload::value_variants().iter().map(|workload| workload.facts());
    let names: Vec<&str> = facts.filter_map(|facts| facts.nexmark).map(|query| query.name).collect();
    assert_eq!(names, QUERIES.iter().map(|query| query.name).collect::<Vec<_>>());
    for workload in Workload::value_variants() {
        let value = workload.to_possible_value().expect("no workload is hidden");
        assert_eq!(value.get_name(), workload.facts().name);
    }
    let numbers = (0..=22).filter(|number| *number != 6).map(|number| format!("nexmark-q{number}"));
    assert_eq!(names, numbers.collect::<Vec<_>>());
}

/// Rates are of events that are read: those of all kinds are more, as a round has it.
#[test]
fn rates_are_of_events_that_are_read() {
    let check = |name: &str, words: &str, expected: &str| {
        let query = QUERIES.iter().find(|query| query.name == name).expect("a query");
        let text = with_settings(words, query);
        assert!(text.contains(&format!("'next-event.rate' = '{expected}'")), "{text}");
        assert_eq!(text.matches("ALTER TABLE").count(), query.tables.len(), "{text}");
        assert_eq!(text.contains("'thalweg.base-time'"), words.contains("--rate"), "{text}");
    };
    check("nexmark-q0", "--rate 46k", "50000");
    check("nexmark-q0", "--rate 1", "2");
    check("nexmark-q0", "", "10000");
    check("nexmark-q3", "", "10000");
    check("nexmark-q3", "--rate 4k", "50000");
    check("nexmark-q9", "--rate 49k", "50000");
    check("nexmark-q9", "--nominal-rate 98k", "100000");
}

#[test]
fn the_side_table_has_the_rows_of_its_file() {
    let given = side_input().expect("rows");
    assert_eq!(given[SIDE_INPUT.0][0].num_rows(), 20);
}

/// Markers are regular where one table has an event in each millisecond.
#[test]
fn markers_are_regular_for_one_table() {
    let every = |name: &str, words: &str| {
        let query = QUERIES.iter().find(|query| query.name == name).expect("a query");
        markers_every(&BenchArgs::parsed(&format!("{name} {words}")), query)
    };
    assert_eq!(every("nexmark-q0", "--rate 20k --queries 2"), [Some(MARKER_EVERY); 2]);
    assert_eq!(every("nexmark-q0", "--rate 19999"), [None]);
    assert_eq!(every("nexmark-q3", "--rate 1M"), [None]);
    assert_eq!(every("nexmark-q0", ""), [None]);
}
