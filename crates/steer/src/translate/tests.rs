//! Tests of the translators: tables that are computed by hand, hostile scores, and the order as a property.

use proptest::prelude::*;

use super::*;

const SCALES: [Scale; 3] = [Scale::Ratio, Scale::Interval, Scale::Ordinal];
const CURVES: [Curve; 2] = [Curve::Logarithmic, Curve::Linear];

fn rank(class: u8, score: f64) -> Option<Rank> {
    Some(Rank { class, score, tie: 0 })
}

/// Returns ranks of class 0 with these scores.
fn scores(scores: &[f64]) -> Vec<Option<Rank>> {
    scores.iter().map(|&score| rank(0, score)).collect()
}

#[track_caller]
fn check_nice(curve: Curve, scale: Scale, ranks: &[Option<Rank>], expected: &[i32]) {
    assert_eq!(Nice { curve }.translate(scale, ranks).unwrap(), expected);
}

#[track_caller]
fn check_real_time(scale: Scale, ranks: &[Option<Rank>], expected: &[u8]) {
    assert_eq!(RealTime::default().translate(scale, ranks).unwrap(), expected);
}

/// Nice values of queue lengths, as Lachesis' program computes them: -20 + log_1.25((v_max + 1) / (v + 1)). By hand:
/// log_1.25(125 / 64) is 3, log_1.25(125 / 100) is 1, log_1.25(125 / 1) is 21.64.
#[test]
fn nice_values_are_logarithms_of_queue_lengths() {
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[124.0, 99.0, 63.0, 0.0]), &[-20, -19, -17, 2]);
    // log_1.25(1e6 + 1) is 61.9, which is more than 39 levels, so all are compressed: 1,000 stands at 30.95 * 39 / 61.9.
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[1e6, 1_000.0, 0.0]), &[-20, -1, 19]);
    // The kernel's weight falls by 1.25 with each nice value, so CPU time is as v + 1: 8 to 1 for 799 to 99.
    let nice = Nice::default().translate(Scale::Ratio, &scores(&[799.0, 99.0])).unwrap();
    let ratio = NICE_RATIO.powi(nice[1] - nice[0]);
    assert!((7.0..9.1).contains(&ratio), "{ratio}");
}

/// Scores far below 1 keep their ratios: .004 and .001 are as 4 and 1. log_1.25(5 / 2) is 4.1. Negative scores are moved
/// up to 1: -3 and 1 are as 1 and 5.
#[test]
fn small_and_negative_scores_are_told_apart() {
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[0.004, 0.001]), &[-20, -16]);
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[4.0, 1.0]), &[-20, -16]);
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[1.0, -3.0]), &[-20, -13]);
    // Tiny beside huge: all 39 levels, and nothing overflows.
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[1e300, 1e-300]), &[-20, 19]);
    check_nice(Curve::Logarithmic, Scale::Ratio, &scores(&[f64::MAX, -f64::MAX]), &[-20, 19]);
}

/// The linear form of the paper's text, min-max: from the greatest score at -20 to the least at 19.
#[test]
fn nice_values_of_the_paper_s_text_are_linear() {
    check_nice(Curve::Linear, Scale::Ratio, &scores(&[39.0, 38.0, 0.0]), &[-20, -19, 19]);
    check_nice(Curve::Linear, Scale::Ratio, &scores(&[7.0, 7.0]), &[-20, -20]);
    check_nice(Curve::Linear, Scale::Ratio, &scores(&[f64::MAX, 0.0, -f64::MAX]), &[-20, -1, 19]);
}

/// Instants have no ratios, so differences decide, whatever the curve is. Where only the order is known, distinct
/// scores lie evenly.
#[test]
fn the_scale_decides_what_of_scores_counts() {
    for curve in CURVES {
        check_nice(curve, Scale::Interval, &scores(&[-10.0, -20.0, -49.0]), &[-20, -10, 19]);
        check_nice(curve, Scale::Ordinal, &scores(&[5.0, 4.0, 1e9, 5.0]), &[-1, 19, -20, -1]);
        check_nice(curve, Scale::Ordinal, &scores(&[0.0, -0.0]), &[-20, -20]);
        for scale in SCALES {
            check_nice(curve, scale, &scores(&[3.0]), &[-20]);
            check_nice(curve, scale, &scores(&[0.0, 0.0]), &[-20, -20]);
            check_nice(curve, scale, &[], &[]);
        }
    }
}

/// A class has levels of its own, and threads that are not eligible have the last level to themselves.
#[test]
fn class_dominates_score() {
    let ranks = [rank(0, 1.0), rank(3, 1e9), rank(0, 0.0), rank(3, 0.0)];
    check_nice(Curve::Linear, Scale::Ratio, &ranks, &[-20, 0, -1, 19]);
    let with_others = [rank(0, 1.0), None, rank(0, 0.0), rank(9, 5.0)];
    // 39 levels for two classes: 20 and 19.
    check_nice(Curve::Linear, Scale::Ratio, &with_others, &[-20, 19, -1, 0]);
    check_nice(Curve::Linear, Scale::Ratio, &[None, None], &[19, 19]);
    check_real_time(Scale::Ratio, &[None, rank(0, 1.0), rank(0, 0.0)], &[1, 98, 2]);
    // More classes than levels: the last classes share the last level.
    let three = [rank(0, 0.0), rank(1, 0.0), rank(2, 0.0), None];
    assert_eq!(Curve::Linear.levels(Scale::Ratio, &three, 2), Ok(vec![0, 0, 0, 1]));
    assert_eq!(Curve::Linear.levels(Scale::Ratio, &three, 3), Ok(vec![0, 1, 1, 2]));
    assert_eq!(Curve::Linear.levels(Scale::Ratio, &three, 1), Ok(vec![0; 4]));
}

/// round(lo + (v - v_min) (hi - lo) / (v_max - v_min)), and the greatest if all are equal.
#[test]
fn real_time_priorities_are_linear() {
    check_real_time(Scale::Ratio, &scores(&[97.0, 96.0, 48.5, 0.0]), &[98, 97, 50, 1]);
    check_real_time(Scale::Ratio, &scores(&[4.0, 4.0]), &[98, 98]);
    check_real_time(Scale::Ordinal, &scores(&[1.0, 2.0]), &[1, 98]);
    let narrow = RealTime::within(10, 12).unwrap();
    assert_eq!(narrow.translate(Scale::Ratio, &scores(&[2.0, 1.0, 0.0])), Ok(vec![12, 11, 10]));
    assert_eq!([(0, 5), (5, 4), (1, 99)].map(|(least, most)| RealTime::within(least, most)), [None; 3]);
}

/// Shares of groups: the weight of the nice value, or from the greatest number of the file to 1 % of it.
#[test]
fn shares_are_within_the_file_s_bounds() {
    let check = |file, curve, all: &[f64], expected: &[u32]| {
        assert_eq!(Shares { file, curve }.translate(Scale::Ratio, &scores(all)), Ok(expected.to_vec()));
    };
    // 1024 * 1.25^20, * 1.25^19 and * 1.25^17.
    check(SharesFile::Shares, Curve::Logarithmic, &[124.0, 99.0, 63.0], &[88_818, 71_054, 45_475]);
    check(SharesFile::Weight, Curve::Logarithmic, &[1e6, 0.0], &[8_674, 1]);
    check(SharesFile::Shares, Curve::Linear, &[1.0, 0.0], &[262_144, 2_621]);
    check(SharesFile::Weight, Curve::Linear, &[2.0, 1.0, 0.0], &[10_000, 5_050, 100]);
}

/// Bounds of CPU time are parts of all cores, in proportion to scores, never below the kernel's least.
#[test]
fn bandwidths_are_parts_of_all_cores() {
    let check = |scores: &[Option<f64>], expected: &[u64]| {
        assert_eq!(bandwidths_us(scores, 200_000), Ok(expected.to_vec()));
    };
    check(&[Some(3.0), Some(1.0)], &[150_000, 50_000]);
    check(&[Some(3.0), Some(0.0), None, Some(-7.0)], &[200_000, 1_000, 1_000, 1_000]);
    check(&[Some(0.0), None], &[200_000, 200_000]);
    check(&[Some(f64::MAX), Some(f64::MAX)], &[100_000, 100_000]);
    check(&[], &[]);
    let refused = bandwidths_us(&[Some(1.0), Some(f64::INFINITY)], 200_000);
    assert_eq!(refused, Err(Unusable { place: 1, score: f64::INFINITY }));
    assert_eq!(bandwidths_us(&[Some(1.0)], 0), Ok(vec![BANDWIDTH_US_MIN]), "no cores: the least");
}

/// A score that is NaN or infinite makes the round unusable, wherever it stands, under every translator.
#[test]
fn what_is_no_number_is_refused() {
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let ranks = [rank(0, 1.0), None, rank(2, score)];
        for scale in SCALES {
            for curve in CURVES {
                let refused = [
                    Nice { curve }.translate(scale, &ranks).unwrap_err(),
                    Shares { file: SharesFile::Weight, curve }.translate(scale, &ranks).unwrap_err(),
                    RealTime::default().translate(scale, &ranks).unwrap_err(),
                ];
                assert!(refused.iter().all(|refused| refused.place == 2 && !refused.score.is_finite()));
            }
        }
    }
    let told = Unusable { place: 3, score: f64::NAN }.to_string();
    assert_eq!(told, "thread 3 has the score NaN, which is no number to rank by");
}

fn any_rank() -> impl Strategy<Value = Option<Rank>> {
    let number = prop_oneof![
        4 => -1e6..1e6,
        2 => (0..5_u8).prop_map(f64::from),
        1 => proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
    ];
    proptest::option::weighted(
        0.8,
        (0..4_u8, number).prop_map(|(class, score)| Rank { class, score, tie: 0 }),
    )
}

proptest! {
    /// The order is kept: a better rank never has a less urgent level, equal ranks have equal levels, every level
    /// exists, and some eligible thread has the first level.
    #[test]
    fn levels_keep_the_order(
        ranks in proptest::collection::vec(any_rank(), 0..30),
        levels in prop_oneof![Just(40_u32), Just(98), Just(262_143), 1..6_u32],
        scale in proptest::sample::select(&SCALES[..]),
        curve in proptest::sample::select(&CURVES[..]),
    ) {
        let found = curve.levels(scale, &ranks, levels).unwrap();
        prop_assert!(found.iter().all(|&level| level < levels));
        let key = |rank: &Option<Rank>| rank.map(|rank| (rank.class, -rank.score));
        for (one, first) in ranks.iter().zip(&found) {
            for (other, second) in ranks.iter().zip(&found) {
                match (key(one), key(other)) {
                    (Some(one), Some(other)) if one < other => prop_assert!(first <= second),
                    (Some(one), Some(other)) if one == other => prop_assert_eq!(first, second),
                    (Some(_), None) => prop_assert!(first <= second),
                    _ => {}
                }
            }
        }
        if ranks.iter().any(Option::is_some) {
            prop_assert_eq!(found.iter().min(), Some(&0));
        }
    }
}
