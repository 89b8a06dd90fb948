//! Verdicts on the claims of a paper, by the factors that repetitions have found. A factor above 1 is in favour of the paper's
//! system.
//!
//! | verdict | meaning |
//! |---|---|
//! | holds | the direction is right in every repetition, and `log(found) / log(claimed)` is at least [`SHARE_MIN`] |
//! | weaker | the direction of the median is right |
//! | reversed | the direction of the median is wrong |
//! | not tested | a repetition lacks a figure, or runs cannot tell: the reason says which |
//!
//! These are the rules by which `thalweg bench` judges its own experiments.

/// Least share of a claimed factor that must be found, on a logarithmic scale, so that a claim holds.
const SHARE_MIN: f64 = 0.5;

/// The verdict on a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Holds,
    Weaker,
    Reversed,
    /// The claim was not tested, for this reason.
    NotTested(String),
}

impl Verdict {
    /// Returns the verdict in words.
    pub(super) fn text(&self) -> String {
        match self {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Weaker => "weaker".to_owned(),
            Verdict::Reversed => "reversed".to_owned(),
            Verdict::NotTested(why) => format!("not tested: {why}"),
        }
    }
}

/// Judges a claim by the factor of each repetition; `None` stands for a repetition that lacks a figure. Without a claimed factor
/// only the direction is claimed.
pub(super) fn judged(claimed: Option<f64>, factors: &[Option<f64>]) -> Verdict {
    let known: Vec<f64> = factors.iter().copied().flatten().collect();
    let Some(found) = median(&known) else {
        return Verdict::NotTested("no repetition has the figures".to_owned());
    };
    if known.len() < factors.len() {
        return Verdict::NotTested("a repetition lacks a figure".to_owned());
    }
    let is_right = |factor: f64| 1.0 < factor;
    let is_enough = claimed.is_none_or(|claimed| SHARE_MIN <= found.ln() / claimed.ln());
    match is_right(found) {
        false => Verdict::Reversed,
        true if is_enough && known.iter().all(|factor| is_right(*factor)) => Verdict::Holds,
        true => Verdict::Weaker,
    }
}

/// Returns the middle one of some numbers, or the mean of the two in the middle; `None` if there are none.
pub(crate) fn median(of: &[f64]) -> Option<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    // With an odd number of numbers both places are the one in the middle.
    let [lower, upper] = [sorted.len().checked_sub(1)? / 2, sorted.len() / 2];
    Some(f64::midpoint(sorted[lower], sorted[upper]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claimed: Option<f64>, factors: &[f64], expected: &str) {
        let factors: Vec<Option<f64>> = factors.iter().copied().map(Some).collect();
        assert_eq!(judged(claimed, &factors).text(), expected, "{claimed:?} {factors:?}");
    }

    #[test]
    fn factors_are_judged_on_a_logarithmic_scale() {
        check(Some(4.0), &[2.0, 4.0], "holds");
        check(Some(4.0), &[1.9], "weaker");
        check(Some(4.0), &[0.9, 5.0, 6.0], "weaker");
        check(Some(4.0), &[1.0], "reversed");
        check(Some(4.0), &[0.5, 0.9, 3.0], "reversed");
        check(Some(4.0), &[], "not tested: no repetition has the figures");
        let lacking = judged(Some(4.0), &[Some(5.0), None]);
        assert_eq!(lacking.text(), "not tested: a repetition lacks a figure");
    }

    #[test]
    fn directions_are_judged_without_a_factor() {
        check(None, &[1.0, 1.0], "reversed");
        check(None, &[1.1, 1.2], "holds");
        check(None, &[0.9, 1.5], "weaker");
        check(None, &[0.9], "reversed");
    }

    #[test]
    fn medians_are_those_of_sorted_numbers() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }
}
