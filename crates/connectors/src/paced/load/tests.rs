//! Tests of valid loads, and of the errors for invalid ones.

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
