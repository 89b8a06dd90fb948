//! Tests of valid loads, and of the errors for invalid ones.

use super::super::course::Walk;
use super::*;

fn steps(steps: &[(i64, u64)]) -> Load {
    let step = |&(seconds, rate_per_s): &(i64, u64)| RateStep { from: Span::from_secs(seconds), rate_per_s };
    Load { steps: steps.iter().map(step).collect(), ..Load::default() }
}

fn arriving(arrivals: Arrivals) -> Load {
    Load { arrivals, ..Load::default() }
}

fn delayed(delay: Delay) -> Load {
    Load { delay, ..Load::default() }
}

fn messages(records: u64) -> Load {
    Load { message_records: Some(records), ..Load::default() }
}

#[test]
fn what_may_be() {
    for load in [
        Load::default(),
        steps(&[(1, 1), (2, 1_000_000_000), (3, 5)]),
        arriving(Arrivals::Poisson),
        arriving(Arrivals::Pareto { shape: 1.01 }),
        arriving(Arrivals::Pareto { shape: 100.0 }),
        messages(1),
        messages(MESSAGE_RECORDS_MAX),
        delayed(Delay::Uniform { max: Span::ZERO }),
        delayed(Delay::Uniform { max: DELAY_MAX }),
        delayed(Delay::Zipf { exponent: 0.0 }),
        delayed(Delay::Zipf { exponent: 8.0 }),
    ] {
        assert_eq!(load.check(1_000), Ok(()), "{load:?}");
        assert_eq!(load.is_steady(), load == Load::default(), "{load:?}");
    }
    assert!(Load { seed: 5, ..Load::default() }.is_steady());
}

#[test]
fn what_may_not_be_is_told() {
    let check = |load: Load, code: &str, told: &str| {
        let error = load.check(100_000_000).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (code, told));
    };
    let bounds = "LOAD_OUT_OF_BOUNDS";
    let rate = "the rate of a step is 0 records/s, but must be from 1 to 1000000000 records/s";
    check(steps(&[(1, 0)]), bounds, rate);
    let many: Vec<(i64, u64)> = (1..66).map(|seconds| (seconds, 5)).collect();
    check(steps(&many), bounds, "the number of steps is 65, but must be from 0 to 64");
    let order = "a step at 2s does not lie behind 2s; write steps by rising time, above 0s";
    check(steps(&[(2, 5), (2, 7)]), "STEPS_OUT_OF_ORDER", order);
    let order = "a step at 0s does not lie behind 0s; write steps by rising time, above 0s";
    check(steps(&[(0, 5)]), "STEPS_OUT_OF_ORDER", order);
    for (shape, told) in [(1.0, "1"), (101.0, "101"), (f64::NAN, "NaN")] {
        let told = format!("the shape is {told}, but must be from 1.01 to 100");
        check(arriving(Arrivals::Pareto { shape }), bounds, &told);
    }
    let most = "the rate is 100000000 records/s, but must be from 1 to 50000000 records/s";
    check(arriving(Arrivals::Pareto { shape: 2.0 }), bounds, most);
    check(messages(0), bounds, "the message's size is 0 records, but must be from 1 to 100000 records");
    let longest = "the longest delay is 60000001 us, but must be from 0 to 60000000 us";
    check(delayed(Delay::Uniform { max: Span::from_micros(60_000_001) }), bounds, longest);
    check(delayed(Delay::Zipf { exponent: 8.5 }), bounds, "the exponent is 8.5, but must be from 0 to 8");
}

/// The mean rate over a part of a load is right: over three seconds, of which a quarter has 100 records/s and
/// the rest 400, and with bursts as they are drawn.
#[test]
fn the_mean_is_that_of_a_part() {
    let load = steps(&[(4, 400)]);
    let mean = |load: &Load, from, to| {
        load.mean_rate_per_s(100, Span::from_millis(from)..Span::from_millis(to)).unwrap()
    };
    assert_eq!(
        (mean(&load, 3_250, 6_250), mean(&load, 0, 1), mean(&load, 5_000, 9_000)),
        (325.0, 100.0, 400.0)
    );
    assert_eq!(mean(&load, 5_000, 5_000), 0.0);
    let bursts = arriving(Arrivals::Pareto { shape: 1.5 });
    let [first, second, both] =
        [(0, 1_000), (1_000, 2_000), (0, 2_000)].map(|(from, to)| mean(&bursts, from, to));
    assert!(first != second && (both - (first + second) / 2.0).abs() < 1e-6, "{first} {second} {both}");
}

/// Checks the time between two latency markers, in microseconds. The markers that the load has in two seconds
/// must be as many.
#[track_caller]
fn check_markers(load: &Load, rate_per_s: u64, expected_us: Option<u64>) {
    let every = load.marker_every(rate_per_s);
    assert_eq!(every, expected_us.map(Duration::from_micros), "{load:?} at {rate_per_s}");
    if let Some(every) = every {
        let mut walk = Walk::new(&Course::new(load, rate_per_s));
        let (mut markers, span_ns) = (0, 2_000_000_000);
        while walk.times().sent_ns < span_ns {
            markers += u64::from(walk.times().is_marked);
            walk.pass(1);
        }
        let expected = span_ns / u64::try_from(every.as_nanos()).unwrap();
        assert!(markers.abs_diff(expected) <= 1, "{markers} markers, {expected} expected of {load:?}");
    }
}

#[test]
fn markers_are_regular_or_not_known() {
    let many = Some(1_000);
    check_markers(&Load::default(), 10_000, Some(100));
    check_markers(&Load::default(), 10_001, many);
    check_markers(&messages(1_000), 64_000, Some(15_625));
    check_markers(&messages(10), 100_000, Some(100));
    check_markers(&messages(10), 200_000, many);
    check_markers(&delayed(Delay::Uniform { max: Span::from_millis(90) }), 5_000, Some(200));
    check_markers(&steps(&[(1, 5_000)]), 5_000, Some(200));
    check_markers(&steps(&[(1, 4_000)]), 5_000, None);
    // At the higher rate not each record has a marker, so neither has it at the lower rate.
    check_markers(&steps(&[(1, 20_000)]), 5_000, many);
    check_markers(&steps(&[(1, 500)]), 20_000, None);
    check_markers(&arriving(Arrivals::Poisson), 5_000, None);
    check_markers(&arriving(Arrivals::Poisson), 20_000, many);
    check_markers(&arriving(Arrivals::Poisson), 19_999, None);
    check_markers(&arriving(Arrivals::Pareto { shape: 1.5 }), 5_000, None);
    check_markers(&arriving(Arrivals::Pareto { shape: 1.5 }), 20_000, many);
    check_markers(&messages(0), 5_000, None);
}
