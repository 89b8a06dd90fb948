//! Tests of settings out of their range: each is refused before anything runs, with value, bound and unit.
//! The ends of the range are accepted.
#![forbid(unsafe_code)]

use thalweg::{
    EdgeLimits, Engine, EngineBuilder, EventTime, PlanError, ProcessingTime, Span, TumblingWindows,
};
use thalweg_connectors::{Pace, Paced};
use thalweg_runtime::Limit;
use thalweg_runtime::limits::{
    BLOCK_RECORDS, CHUNK_BLOCKS, CHUNKS_PER_EDGE, MARKS_PER_EDGE, MEMORY_BUDGET_BYTES, WORKERS,
};
use thalweg_testkit::case::shared_ysb_generator;

/// Function that sets one setting of an engine to a value.
type With = fn(EngineBuilder, u64) -> EngineBuilder;

fn edges(builder: EngineBuilder, change: impl FnOnce(&mut EdgeLimits)) -> EngineBuilder {
    let mut edges = EdgeLimits::default();
    change(&mut edges);
    builder.edges(edges)
}

/// Converts a value to 32 bits, for settings of edges.
fn short(value: u64) -> u32 {
    u32::try_from(value).expect("edge limits are tried with 32-bit values")
}

const ENGINE_SETTINGS: [(Limit, With); 6] = [
    (WORKERS, |builder, value| builder.workers(value)),
    (MEMORY_BUDGET_BYTES, |builder, value| builder.memory_budget_bytes(value)),
    (BLOCK_RECORDS, |builder, value| edges(builder, |edges| edges.block_records = short(value))),
    (CHUNK_BLOCKS, |builder, value| edges(builder, |edges| edges.chunk_blocks = short(value))),
    (CHUNKS_PER_EDGE, |builder, value| edges(builder, |edges| edges.chunks_max = short(value))),
    (MARKS_PER_EDGE, |builder, value| edges(builder, |edges| edges.marks_max = short(value))),
];

#[test]
fn settings_of_the_engine() {
    for (limit, with) in ENGINE_SETTINGS {
        let Limit { name, unit, min, max, .. } = limit;
        let mut beyond = vec![min - 1, max + 1, u32::MAX.into()];
        if max > u64::from(u32::MAX) {
            beyond = vec![0, min - 1, max + 1, u64::MAX];
        }
        for value in beyond {
            let told = format!("{name} is {value} {unit}, but must be from {min} to {max} {unit}");
            let refused = with(Engine::builder(), value).build_stepped().err().expect(&told);
            assert_eq!((refused.code(), refused.to_string()), ("OUT_OF_RANGE", told.clone()));
            let threaded = with(Engine::builder(), value).build().err();
            assert_eq!(threaded, Some(PlanError::OutOfRange { name, value, min, max, unit }), "{told}");
        }
        for value in [min, max] {
            assert!(with(Engine::builder(), value).build_stepped().is_ok(), "{name} may be {value}");
        }
    }
}

#[test]
fn rates_of_generators() {
    let drained = |nominal_rate_per_s| Pace::Drain { nominal_rate_per_s, start: EventTime::EPOCH };
    let sent = |rate_per_s| Pace::Rate { rate_per_s, start: ProcessingTime::ZERO, time_scale: 1 };
    let paces: [&dyn Fn(u64) -> Pace; 2] = [&drained, &sent];
    for pace in paces {
        for rate in [0, 1_000_000_001, u64::MAX] {
            let refused =
                Paced::new(shared_ysb_generator(), pace(rate)).err().expect("out of range").to_string();
            let told = format!("rate is {rate} records/s, but must be within 1 and 1000000000 records/s; ");
            assert!(refused.starts_with(&told), "{refused}");
        }
        for rate in [1, 1_000_000_000] {
            assert!(Paced::new(shared_ysb_generator(), pace(rate)).is_ok(), "{rate}");
        }
    }
}

#[test]
fn sizes_of_windows() {
    for (micros, shown) in
        [(0, "0s"), (-1, "-1us"), (-60_000_000, "-60s"), (i64::MIN, "-9223372036854775808us")]
    {
        let refused = TumblingWindows::new(Span::from_micros(micros)).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("window size is {shown}, but must be at least 1us: give a span above zero")
        );
    }
    for micros in [1, i64::MAX] {
        assert!(TumblingWindows::new(Span::from_micros(micros)).is_ok(), "{micros}");
    }
}
