//! ETL and STATS, run by the engine, compared with their references: over generated and recorded messages, with any number
//! of workers, any policy and any size of blocks.

mod recorded;

use std::sync::Arc;

use recorded::recorded;
use thalweg::{
    Chaining, EdgeLimits, Engine, EventTime, Execution, Query, Record, Text, TextBuffer, WatermarkStrategy,
    scheduling::policy, source::Given,
};
use thalweg_connectors::Collect;
use thalweg_workloads::reference::etl::{EtlRow, PlaceRow, etl_rows, places_of_lines};
use thalweg_workloads::reference::riot::{MessageInput, recorded_message};
use thalweg_workloads::reference::stats::{StatsRow, stats_rows};
use thalweg_workloads::reference::{Row, compare};
use thalweg_workloads::riot::{Registry, Work, etl, generator, senml, stats};

/// Largest number of results that a sink keeps.
const RESULTS_MAX: usize = 1_000_000;

/// Messages with their times, and the texts that they are taken from.
struct Input {
    texts: Vec<String>,
    messages: Vec<MessageInput>,
}

impl Input {
    /// Takes `count` generated messages, which come a millisecond apart; every tenth is 5 ms early.
    fn generated(seed: u64, count: usize) -> Self {
        let generator = generator::messages(seed);
        let texts: Vec<String> = generator.texts().iter().map(|text| text.to_string()).collect();
        let time_us = |index: usize| index as i64 * 1_000 - if index % 10 == 9 { 5_000 } else { 0 };
        let message =
            |index: usize| MessageInput { event_time_us: time_us(index), text: index % texts.len() };
        let messages = (0..count).map(message).collect();
        Input { texts, messages }
    }

    fn records(&self) -> Vec<Record<Text>> {
        let texts: Vec<Text> = self.texts.iter().map(|text| TextBuffer::new(text.clone()).all()).collect();
        let record = |message: &MessageInput| {
            Record::new(EventTime::from_micros(message.event_time_us), texts[message.text].clone())
        };
        self.messages.iter().map(record).collect()
    }

    fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }
}

/// Plans and runs a query in several ways. Each time the rows must equal `expected`.
#[track_caller]
fn check<T, R>(plan: impl Fn(&Query, Collect<T>), expected: &[R])
where
    T: Send + 'static,
    R: Row + for<'a> From<&'a T>,
{
    let small = EdgeLimits { block_records: 7, chunk_blocks: 1, chunks_max: 2, ..EdgeLimits::default() };
    let ways = [
        (1, Chaining::All, Execution::Workers, "fcfs", EdgeLimits::default()),
        (2, Chaining::None, Execution::Workers, "congestion", small),
        (2, Chaining::Default, Execution::Workers, "enjima", EdgeLimits::default()),
        (2, Chaining::None, Execution::Threads, "fcfs", small),
    ];
    for (workers, chaining, execution, name, edges) in ways {
        let engine = Engine::builder()
            .workers(workers)
            .execution(execution)
            .edges(edges)
            .policy(policy::by_name(name).unwrap())
            .build()
            .unwrap();
        let sink = Collect::new(RESULTS_MAX);
        let results = sink.records();
        let query = Query::new("riot");
        plan(&query, sink);
        engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap();
        let found: Vec<R> =
            Arc::clone(&results).lock().unwrap().iter().map(|record| R::from(&record.value)).collect();
        if let Err(difference) = compare(expected, &found) {
            panic!("{workers} workers, {chaining:?}, {name}: {difference}");
        }
    }
}

/// Runs ETL over the messages, and returns the number of rows.
#[track_caller]
fn check_etl(input: &Input, registry: &Registry, places: &[PlaceRow]) -> usize {
    let expected: Vec<EtlRow> = etl_rows(input.messages.iter().copied(), &input.texts(), places);
    let records = input.records();
    check(
        |query, sink| {
            let source = Given::new(records.clone());
            etl::publications(query, [source], WatermarkStrategy::ascending(), registry, Work::NONE, sink);
        },
        &expected,
    );
    expected.len()
}

/// Runs STATS over the messages, and returns the rows.
#[track_caller]
fn check_stats(input: &Input) -> Vec<StatsRow> {
    let expected: Vec<StatsRow> = stats_rows(input.messages.iter().copied(), &input.texts());
    let records = input.records();
    check(
        |query, sink| {
            let source = Given::new(records.clone());
            stats::plots(query, [source], WatermarkStrategy::ascending(), Work::of_rounds(10), sink);
        },
        &expected,
    );
    expected
}

#[test]
fn etl_of_generated_messages_equals_the_reference_s() {
    for (seed, count) in [(1, 20_000), (2, 3_000), (3, 1), (4, 0)] {
        let registry = generator::registry(seed).unwrap();
        let plain =
            |(sensor, place): &(thalweg_workloads::riot::SensorId, thalweg_workloads::riot::Place)| {
                (sensor.as_str().to_owned(), place.location.to_string(), place.sensor_type.to_string())
            };
        let places: Vec<PlaceRow> = registry.rows().iter().map(plain).collect();
        let rows = check_etl(&Input::generated(seed, count), &registry, &places);
        assert!(rows * 100 >= count * 96 && rows <= count, "{rows} of {count}");
    }
}

#[test]
fn stats_of_generated_messages_equal_the_reference_s() {
    for (seed, count) in [(1, 20_000), (2, 3_000), (3, 99), (4, 0)] {
        let rows = check_stats(&Input::generated(seed, count));
        let plots = |statistic: &str| rows.iter().filter(|row| row.statistic == statistic).count();
        // With 38 messages a sensor there are averages and predictions; before a hundred readings there is no plot.
        assert_eq!(
            (plots("average") > 150, plots("prediction") > 500),
            (count == 20_000, count == 20_000),
            "{count}"
        );
        assert_eq!(plots("sensors") > 0, count > 100, "{count}");
    }
}

/// Recorded messages, 40 times over: once, no sensor has enough readings for an average.
#[test]
fn recorded_messages_give_the_reference_s_results() {
    let Some(lines) = recorded("riotbench/SYS_sample_data_senml.csv.gz") else { return };
    let Some(metadata) = recorded("riotbench/city-metadata.txt.gz") else { return };
    let registry = Registry::parse(&metadata).unwrap();
    assert_eq!(registry.rows().len(), 2_162);
    let parts: Vec<(i64, &str)> = lines.lines().map(|line| recorded_message(line).unwrap()).collect();
    for (line, (event_time_us, message)) in lines.lines().zip(&parts) {
        let record = senml::line_of(line).unwrap();
        assert_eq!((record.event_time.as_micros(), &line[record.value]), (*event_time_us, *message));
    }
    let texts: Vec<String> = parts.iter().map(|(_, message)| (*message).to_owned()).collect();
    let span_us = 36_000_000;
    let message = |index: usize| {
        let (round, text) = (index / texts.len(), index % texts.len());
        MessageInput { event_time_us: parts[text].0 + round as i64 * span_us, text }
    };
    let messages = (0..40 * texts.len()).map(message).collect();
    let input = Input { texts: texts.clone(), messages };
    assert_eq!(check_etl(&input, &registry, &places_of_lines(&metadata)), 24_000);
    let rows = check_stats(&input);
    let sum = |statistic: &str| rows.iter().filter(|row| row.statistic == statistic).count();
    assert_eq!([sum("average"), sum("prediction"), sum("sensors")], [5 * 48, 5 * 193, 5 * 240]);
    // As another program counted, there are 521 sensors.
    let last = rows.iter().rfind(|row| row.statistic == "sensors").unwrap();
    assert!((490.0..550.0).contains(&last.greatest), "{last:?}");
}
