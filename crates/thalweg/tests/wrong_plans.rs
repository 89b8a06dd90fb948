//! Every wrong plan that the compiler accepts: each is refused before anything runs, with a message that says what to
//! do. (The head of `stream.rs` lists what the compiler refuses.)

use thalweg::source::Given;
use thalweg::{
    Chaining, DuplicateKey, EdgeLimits, Engine, EngineBuilder, EventTime, PlanError, Query, QueryReport,
    Record, Span, Stream, Table, TumblingWindows, WatermarkStrategy, WindowError,
};
use thalweg_connectors::Discard;

fn given() -> Given<i64> {
    Given::new((0..10).map(|value| Record::new(EventTime::from_secs(value), value)).collect())
}

fn numbers(query: &Query) -> Stream<i64> {
    query.source("numbers", given(), WatermarkStrategy::ascending()).boxed()
}

/// Checks that a query is refused under every chaining, with this code and this message.
#[track_caller]
fn check(write: impl Fn(&Query), code: &str, message: &str) {
    for chaining in [Chaining::None, Chaining::Default, Chaining::All] {
        let query = Query::new("q");
        write(&query);
        let error = query.plan(chaining).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{chaining:?}");
    }
}

fn run(query: Query) -> Result<QueryReport, Box<dyn std::error::Error>> {
    Ok(query.submit(&Engine::builder().build()?)?.wait()?)
}

/// The error for a stream without a sink names the last operator of the stream.
#[test]
fn a_stream_without_a_sink() {
    let words = |name: &str| {
        format!(
            "no operator reads the output of `{name}`: end the stream in a sink, for example one that drops its records"
        )
    };
    check(|query| drop(numbers(query)), "UNREAD_STREAM", &words("numbers"));
    check(|query| drop(numbers(query).map(|value| value)), "UNREAD_STREAM", &words("map"));
    let complete_and_not = |query: &Query| {
        numbers(query).sink("all", Discard::new());
        let more = query.source("more", given(), WatermarkStrategy::ascending());
        drop(more.map(|value| value).filter(|_| true).name("some").boxed());
    };
    check(complete_and_not, "UNREAD_STREAM", &words("some"));
}

/// A key without windows is no operator, so the error for the missing sink names the operator before it.
#[test]
fn a_key_without_windows() {
    let words = "no operator reads the output of `numbers`: end the stream in a sink, for example one that drops its records";
    check(|query| drop(numbers(query).key_by(|value| *value)), "UNREAD_STREAM", words);
}

#[test]
fn a_query_without_a_stream() {
    let words = "query `q` has no source: add one and end its stream in a sink";
    check(|_query| (), "NO_SOURCE", words);
}

/// Given names are not made unique silently: a report would then contain `same-2`, a name that no user wrote. Names
/// that were not given are changed instead; `segment/tests.rs` tests that.
#[test]
fn two_operators_of_one_name() {
    let words = "two operators are called `same`: give one of them another name";
    let operators = |query: &Query| {
        let stream = numbers(query).map(|value| value).name("same").filter(|_| true).name("same");
        stream.sink("sink", Discard::new());
    };
    check(operators, "DUPLICATE_NAME", words);
    let operator_and_sink =
        |query: &Query| numbers(query).map(|value| value).name("same").sink("same", Discard::new());
    check(operator_and_sink, "DUPLICATE_NAME", words);
    let sources = |query: &Query| {
        for sink in ["one", "two"] {
            query.source("same", given(), WatermarkStrategy::ascending()).sink(sink, Discard::new());
        }
    };
    check(sources, "DUPLICATE_NAME", words);
}

#[test]
fn an_empty_name() {
    let words = "an operator has an empty name: give it one";
    check(|query| numbers(query).sink("", Discard::new()), "EMPTY_NAME", words);
    let operator = |query: &Query| numbers(query).map(|value| value).name("").sink("sink", Discard::new());
    check(operator, "EMPTY_NAME", words);
    let source = |query: &Query| {
        query.source("", given(), WatermarkStrategy::ascending()).sink("sink", Discard::new());
    };
    check(source, "EMPTY_NAME", words);

    let query = Query::new("");
    numbers(&query).sink("sink", Discard::new());
    let error = query.plan(Chaining::Default).unwrap_err();
    assert_eq!(error.code(), "EMPTY_QUERY_NAME");
    let words = "the query has an empty name: give it one, for reports and errors to call it by";
    assert_eq!(error.to_string(), words);
}

/// The error for a negative span names the source, not the task that contains the source.
#[test]
fn a_watermark_strategy_with_a_span_below_zero() {
    let below = Span::from_millis(-7);
    let with = |strategy| {
        move |query: &Query| {
            let stream = query.source("numbers", given(), strategy).map(|value| value);
            stream.sink("sink", Discard::new());
        }
    };
    let words = "out_of_order of `numbers` is -7ms, but must be at least 0s";
    check(with(WatermarkStrategy::bounded_out_of_order(below)), "NEGATIVE_SPAN", words);
    let words = "watermark step of `numbers` is -7ms, but must be at least 0s";
    check(with(WatermarkStrategy::ascending().with_step(below)), "NEGATIVE_SPAN", words);
}

#[test]
fn windows_of_no_size() {
    let refuse = |size| TumblingWindows::new(size).unwrap_err();
    assert_eq!(refuse(Span::ZERO), WindowError::Size(Span::ZERO));
    let words = "window size is 0s, but must be at least 1us: give a span above zero";
    assert_eq!(refuse(Span::ZERO).to_string(), words);
    let words = "window size is -60s, but must be at least 1us: give a span above zero";
    assert_eq!(refuse(Span::from_secs(-60)).to_string(), words);
}

#[test]
fn a_table_that_repeats_a_key() {
    let error = Table::new([(1, "one"), (2, "two"), (1, "uno")]).unwrap_err();
    assert_eq!(error, DuplicateKey { row_index: 2 });
    assert_eq!(error.to_string(), "row 2 of the table repeats a key: a static join needs unique keys");
}

/// A query is refused if it has too many streams, or an endless loop of boxes. The loop must not overflow the
/// stack either.
#[test]
fn more_tasks_than_a_query_may_have() {
    let streams = |query: &Query| {
        for number in 0..257 {
            let stream = query.source(&format!("source {number}"), given(), WatermarkStrategy::ascending());
            stream.sink(&format!("sink {number}"), Discard::new());
        }
    };
    check(streams, "OUT_OF_RANGE", "tasks_per_query is 257 tasks, but must be from 1 to 256 tasks");
    let stages = |query: &Query| {
        let mut stream = numbers(query);
        for _ in 0..9_999 {
            stream = stream.map(|value| value).boxed();
        }
        stream.sink("sink", Discard::new());
    };
    check(stages, "OUT_OF_RANGE", "tasks_per_query is 10001 tasks, but must be from 1 to 256 tasks");
}

#[test]
fn settings_out_of_range() {
    let refuse = |builder: EngineBuilder| builder.build().err().map(|error| error.to_string());
    let engine = Engine::builder;
    let edges = EdgeLimits::default();
    let cases = [
        (engine().workers(0), "workers is 0 threads, but must be from 1 to 1024 threads"),
        (
            engine().memory_budget_bytes(1),
            "memory_budget_bytes is 1 bytes, but must be from 65536 to 4398046511104 bytes",
        ),
        (
            engine().edges(EdgeLimits { block_records: 0, ..edges }),
            "block_records is 0 records, but must be from 1 to 1048576 records",
        ),
        (
            engine().edges(EdgeLimits { chunk_blocks: 257, ..edges }),
            "chunk_blocks is 257 blocks, but must be from 1 to 256 blocks",
        ),
        (
            engine().edges(EdgeLimits { chunks_max: 1, ..edges }),
            "chunks_per_edge is 1 chunks, but must be from 2 to 1024 chunks",
        ),
        (
            engine().edges(EdgeLimits { marks_max: 0, ..edges }),
            "marks_per_edge is 0 marks, but must be from 1 to 65536 marks",
        ),
    ];
    for (builder, words) in cases {
        assert_eq!(refuse(builder).as_deref(), Some(words));
    }
}

/// A query that does not fit into the budget is refused before anything runs, and the error names the edge.
/// With all operators in one task the query has no edges, and fits into the same budget.
#[test]
fn a_query_too_large_for_the_budget() {
    let engine = Engine::builder().memory_budget_bytes(1 << 16).build().unwrap();
    let write = || {
        let query = Query::new("q");
        let stream = query.source("numbers", given(), WatermarkStrategy::ascending());
        stream.map(|value| [value; 64]).sink("sink", Discard::new());
        query
    };
    let error = engine.submit(write().plan(Chaining::None).unwrap()).err().expect("refused");
    assert!(matches!(&error, PlanError::BudgetTooSmall { edge, .. } if edge == "map -> sink"), "{error}");
    let words = error.to_string();
    assert!(words.starts_with("the first two chunks of edge `map -> sink` do not fit: "), "{words}");
    assert!(words.ends_with("raise the budget or run fewer queries"), "{words}");
    assert_eq!(engine.budget().used_bytes(), 0, "nothing is left of it");
    let report = engine.submit(write().plan(Chaining::All).unwrap()).unwrap().wait().unwrap();
    assert_eq!(report.results_out, 10);
}

/// Two queries may have the same name, since each has a handle and a report of its own.
#[test]
fn two_queries_of_one_name_are_fine() {
    let engine = Engine::builder().build().unwrap();
    let handles = [1, 2].map(|times| {
        let query = Query::new("q");
        numbers(&query).filter(move |value| value % times == 0).sink("sink", Discard::new());
        query.submit(&engine).unwrap()
    });
    let reports = handles.map(|handle| handle.wait().unwrap());
    assert_eq!(reports.map(|report| (report.query, report.results_out)), [("q".into(), 10), ("q".into(), 5)]);
}

/// `submit` refuses what `plan` and the engine refuse, and runs a correct query.
#[test]
fn submit_is_plan_and_submit() {
    let query = Query::new("q");
    drop(numbers(&query));
    assert!(run(query).unwrap_err().to_string().starts_with("no operator reads the output of `numbers`"));
    let query = Query::new("q");
    numbers(&query).sink("sink", Discard::new());
    assert_eq!(run(query).unwrap().results_out, 10);
}
