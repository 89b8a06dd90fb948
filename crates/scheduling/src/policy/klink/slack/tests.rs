//! Tests of slack: tail probabilities against tables, the closed form against integrals, Eq. 8 against both,
//! and the coverage of both variances.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;
use crate::snapshot::{DelayStatistics, QueryId};

#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found:e} is not {expected:e}");
}

/// Tail probabilities of the normal distribution equal Abramowitz and Stegun, tables 26.1 and 26.2, with
/// digits added from an erfc of 16 digits.
#[test]
fn tails_are_those_of_the_table() {
    let table = [
        (-5.0, 0.999_999_713_348_428_1),
        (-3.0, 0.998_650_101_968_369_9),
        (-1.0, 0.841_344_746_068_542_9),
        (0.0, 0.5),
        (0.5, 0.308_537_538_725_986_9),
        (1.0, 0.158_655_253_931_457_07),
        (1.645, 0.049_984_905_539_121_37),
        (2.5, 0.006_209_665_325_776_139),
        (2.6, 0.004_661_188_023_718_751),
        (5.0, 2.866_515_718_791_946e-7),
        (10.0, 7.619_853_024_160_593e-24),
    ];
    for (z, expected) in table {
        assert_near(upper_tail(z), expected, 1e-12);
    }
    assert_eq!([upper_tail(1e200), upper_tail(-1e200)], [0.0, 1.0]);
}

/// Returns the mean excess over z of a normal variable by Simpson's rule, without using the code under test.
fn integrated_excess(z: f64) -> f64 {
    // Less than 10^-15 of the probability is beyond this point.
    let end = if z > 0.0 { 40.0 / (z + 4.0) } else { 10.0 - z };
    let weight = |u: f64| (-z * u - u * u / 2.0).exp();
    let panels = 20_000;
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        let at = |index: i32| of(end * f64::from(index) / f64::from(panels));
        let simpson = |index: i32| at(index) * if index % 2 == 0 { 2.0 } else { 4.0 };
        (1..panels).map(simpson).sum::<f64>() + at(0) + at(panels)
    };
    sum(&|u| u * weight(u)) / sum(&weight)
}

#[test]
fn the_closed_form_is_the_integral() {
    for tenths in -80..=300 {
        let z = f64::from(tenths) / 10.0;
        assert_near(mean_excess(z), integrated_excess(z), 1e-9);
    }
    // Expected values from a continued fraction of 5,000 terms at 50 digits: at the point where the
    // computation changes, and on either side.
    const EXCESS_AT_2: f64 = 0.373_215_532_822_840_87;
    assert_near(mean_excess(1.0), 0.525_135_276_160_981_2, 1e-13);
    assert_near(mean_excess(SERIES_END), EXCESS_AT_2, 1e-12);
    assert_near(excess_in_tail(SERIES_END), EXCESS_AT_2, 1e-12);
    assert_near(mean_excess(5.0), 0.186_503_967_125_842_1, 1e-13);
    assert_near(mean_excess(1e3), 0.000_999_998_000_01, 1e-13);
    // For very large arguments the result is the asymptote, without overflow.
    assert_eq!([mean_excess(1e200), mean_excess(-1e200)], [1e-200, 1e200]);
}

/// Returns the sum of Eq. 8 with steps of 1, for this mean, deviation, cost and range.
fn sum(mean_ns: f64, deviation_ns: f64, charge_ns: f64, reach_deviations: f64) -> f64 {
    Expected { mean_ns, deviation_ns }.summed_slack_ns(charge_ns, 1.0, reach_deviations)
}

/// The sum of Eq. 8 computed by hand. The probabilities per deviation are .3413, .1359, .0214 and .0013 from
/// the mean outwards, from the table.
#[test]
fn eq_8_sums_up_to_the_range_in_steps_with_their_right_ends() {
    // The steps from 8 to 12, each with its right end: 9 x .1359 + 10 x .3413 + 11 x .3413 + 12 x .1359 + 13
    // x .0214.
    assert_near(sum(10.0, 1.0, 0.0, 2.0), 10.300_450, 1e-6);
    // The mean is now: (1 x .3413 + 2 x .1359 + 3 x .0214) / .5. With a cost of 1: (0 + .1359 + 2 x .0214) /
    // .5.
    assert_near(sum(0.0, 1.0, 0.0, 2.0), 1.354_711, 1e-6);
    assert_near(sum(0.0, 1.0, 1.0, 2.0), 0.357_411, 1e-6);
    // At f = 90 % the range ends at 1.645 deviations, which is one step less.
    assert_near(sum(0.0, 1.0, 0.0, 1.645), 1.226_310, 1e-6);
    // The mean was one deviation ago: the step from 0 to 1 gives 1 x .1359 / .1587, and the step that begins
    // at 1 gives 2 x .0214.
    assert_near(sum(-1.0, 1.0, 0.0, 2.0), 1.126_377, 1e-6);
    // The range is bounded, so that the probability by which the sum is divided is not zero.
    assert_eq!(sum(0.0, 1.0, 0.0, 1e9), sum(0.0, 1.0, 0.0, MOST_REACH));
    assert_eq!(sum(-50.0, 1.0, 7.0, 1e9), 0.0);
    // Without a deviation the result is the right end of the step that begins at the mean, minus the cost.
    assert_eq!(sum(7.0, 0.0, 2.0, 2.0), 6.0);
}

/// The range for a confidence: Algorithm 1 takes 2 for 95 %, the others are quantiles of the normal
/// distribution.
#[test]
fn a_confidence_has_a_range() {
    assert_eq!(reach_deviations(95.0), 2.0);
    assert_near(reach_deviations(89.9), 1.640_024_850_899_67, 1e-10);
    assert_near(reach_deviations(90.0), 1.644_853_626_951_472, 1e-10);
    assert_near(reach_deviations(90.1), 1.649_721_063_683_36, 1e-10);
    assert_near(reach_deviations(95.1), 1.968_591_669, 1e-8);
    assert_near(reach_deviations(99.0), 2.575_829_303_548_9, 1e-10);
    // A probability outside of its range gives a range that the sum bears.
    for (percent, expected) in [(100.0, MOST_REACH), (1e9, MOST_REACH), (0.0, 0.0), (-5.0, 0.0)] {
        assert!((reach_deviations(percent) - expected).abs() < 1e-9, "{percent}");
    }
    assert!(reach_deviations(f64::NAN) < 1e-9);
}

/// A weakness of Eq. 8 that the closed form removes: outside of the range the sum has no term, so the slack
/// is 0, whatever the cost.
#[test]
fn eq_8_gives_the_overdue_no_slack_and_no_debt() {
    assert_eq!(sum(-2.1, 1.0, 50.0, 2.0), 0.0);
    assert_eq!(sum(-1.0, 0.0, 50.0, 2.0), 0.0);
    assert!(Expected { mean_ns: -2.1, deviation_ns: 1.0 }.wait_ns() - 50.0 < -49.0);
}

/// The sum of Eq. 8 is too large by up to a step, because the right end of each step counts. With shorter
/// steps it approaches the closed form.
#[test]
fn eq_8_becomes_the_closed_form_as_steps_get_short() {
    for mean_ns in [50e6, 10e6, 0.0, -15e6, -40e6] {
        let expected = Expected { mean_ns, deviation_ns: 10e6 };
        for charge_ns in [0.0, 3e6] {
            for step_ns in [120e6, 12e6, 1.2e6] {
                let bias_ns =
                    expected.summed_slack_ns(charge_ns, step_ns, 8.0) - (expected.wait_ns() - charge_ns);
                assert!(0.0 < bias_ns && bias_ns < step_ns, "{bias_ns} of {step_ns} at {mean_ns}");
            }
        }
    }
    // A range of 16 * 10^6 s is cut into 256 steps, not into steps of 120 ms.
    let expected = Expected { mean_ns: 8e15, deviation_ns: 1e15 };
    let bias_ns = expected.summed_slack_ns(0.0, 120e6, 8.0) - expected.wait_ns();
    assert!(0.0 < bias_ns && bias_ns < 16e15 / 256.0, "{bias_ns}");
}

/// Returns the mean and the variance (mu and chi - mu^2 in the paper) of delays given in ms.
fn statistics(delays_ms: &[f64]) -> DelayStatistics {
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        delays_ms.iter().map(|ms| of(ms * 1e6)).sum::<f64>() / delays_ms.len() as f64
    };
    let (mean_ns, chi_ns2) = (mean_of(&|ns| ns), mean_of(&|ns| ns * ns));
    DelayStatistics { epochs: delays_ms.len() as u32, mean_ns, variance_ns2: chi_ns2 - mean_ns * mean_ns }
}

/// Returns the share of 4,000 watermarks that arrive within two deviations of the expected time, after 400
/// epochs.
fn coverage(estimate: Estimate, draw_ms: &dyn Fn(&mut SeededEntropy) -> f64) -> f64 {
    let mut entropy = SeededEntropy::new(17);
    let trials = 4_000;
    let is_covered = |_: &i32| {
        let delays_ms: Vec<f64> = (0..DelayStatistics::EPOCHS).map(|_| draw_ms(&mut entropy)).collect();
        let stream = StreamState {
            query: QueryId(0),
            next_firing: None,
            deadline: Some(EventTime::from_micros(7)),
            swept: None,
            delays: statistics(&delays_ms),
            progress: None,
            is_away: false,
        };
        let expected =
            expected(estimate, ProcessingTime::from_nanos(7_000), &stream).expect("it has a deadline");
        let (least_ns, most_ns) = expected.range_ns(2.0);
        (least_ns..=most_ns).contains(&(draw_ms(&mut entropy) * 1e6))
    };
    (0..trials).filter(is_covered).count() as f64 / f64::from(trials)
}

/// Delays are 1 to 1,000 ms, uniform or by Zipf's law (0.99). The variance of a delay covers all of the
/// uniform delays, and 93 % of the others. The variance of the mean over epochs (Eq. 6) covers 5.8 % of the
/// uniform ones: 4 x 289 / 20 of 1,000.
#[test]
fn the_variance_of_a_delay_covers_the_next_one_and_that_of_the_mean_does_not() {
    let uniform_ms = |entropy: &mut SeededEntropy| 1.0 + 999.0 * entropy.unit();
    let mut total = 0.0;
    let cumulated: Vec<f64> = (1..=1_000)
        .map(|rank| {
            total += f64::from(rank).powf(-0.99);
            total
        })
        .collect();
    let zipf_ms = |entropy: &mut SeededEntropy| {
        let mark = entropy.unit() * total;
        1.0 + cumulated.partition_point(|sum| *sum <= mark) as f64
    };
    let near =
        |found: f64, expected: f64| assert!((found - expected).abs() < 0.012, "{found}, not {expected}");
    assert_eq!(coverage(Estimate::ClosedForm, &uniform_ms), 1.0);
    near(coverage(Estimate::ClosedForm, &zipf_ms), 0.93);
    near(coverage(Estimate::LiteralVariance, &uniform_ms), 0.058);
}
