//! Verdicts on the claims of a paper. A claim is judged by the figures of several repetitions of an
//! experiment.
//!
//! | verdict | meaning |
//! |---|---|
//! | holds | the direction is right in every repetition, and `log(found) / log(claimed)` is at least [`SHARE_MIN`] |
//! | weaker | the direction of the median is right |
//! | reversed | the direction of the median is wrong |
//! | not tested | runs are too short, a repetition lacks a figure, or nothing may be said by these runs: the reason says which |
//!
//! A factor above 1 is in favour of the paper's system. Factors are compared by their logarithms, so a factor
//! of 2 counts as half of a claimed factor of 4. A claim without a factor ("90 % are in time") has a lower
//! bound instead, which the median and every repetition either keep or not.

use serde::{Serialize, Serializer};

/// The least share of a claimed factor that must be found, on a logarithmic scale, so that the claim of a
/// paper holds.
const SHARE_MIN: f64 = 0.5;

/// A claim of a paper, with the figures that our repetitions of the experiment found and the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim in words; in the paper's own words where they are short.
    pub paper: String,
    /// The figures on which the verdict on the claim is based, in words.
    pub found: String,
    /// The factor between two figures that the paper claims; `None` if the claim is a bound of one figure.
    pub claimed: Option<f64>,
    /// The factor found by each repetition of the experiment, or the figure that the claim bounds.
    /// Repetitions that lack the figure are left out.
    pub repetitions: Vec<f64>,
    pub verdict: Verdict,
}

/// The verdict on a claim of a paper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    Weaker,
    Reversed,
    /// The claim was not tested, for the given reason.
    NotTested(String),
}

impl Verdict {
    /// Returns the name of the verdict, in one or two words.
    pub const fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Weaker => "weaker",
            Verdict::Reversed => "reversed",
            Verdict::NotTested(_) => "not tested",
        }
    }

    /// Returns the verdict as text, with the reason if there is one.
    pub fn text(&self) -> String {
        match self {
            Verdict::NotTested(why) => format!("not tested: {why}"),
            verdict => verdict.name().to_owned(),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl Claim {
    /// Judges a claim that one figure is `claimed` times another, where `claimed` is above 1. `repetitions`
    /// has the factor that each repetition found, or `None` if it lacks a figure.
    pub fn of_factors(paper: String, claimed: f64, repetitions: Vec<Option<f64>>, found: String) -> Self {
        assert!(1.0 < claimed, "a claim of a factor is told in favour of the paper's system");
        let judged = |repetitions: &[f64], median: f64| {
            let is_right_each_time = repetitions.iter().all(|factor| 1.0 < *factor);
            let is_enough = SHARE_MIN <= median.ln() / claimed.ln();
            match median {
                median if median <= 1.0 => Verdict::Reversed,
                _ if is_right_each_time && is_enough => Verdict::Holds,
                _ => Verdict::Weaker,
            }
        };
        Claim { claimed: Some(claimed), ..Claim::judged(paper, repetitions, found, judged) }
    }

    /// Judges a claim that a figure is at least `bound`. `repetitions` has the figure of each repetition, or
    /// `None` if it is missing.
    pub fn at_least(paper: String, bound: f64, repetitions: Vec<Option<f64>>, found: String) -> Self {
        let judged = |repetitions: &[f64], median: f64| match median {
            median if median < bound => Verdict::Reversed,
            _ if repetitions.iter().all(|figure| bound <= *figure) => Verdict::Holds,
            _ => Verdict::Weaker,
        };
        Claim::judged(paper, repetitions, found, judged)
    }

    /// Judges a claim by every repetition and by their median. If one repetition lacks its figure there is no
    /// verdict, because the others could be just those in favour of the claim.
    fn judged(
        paper: String,
        repetitions: Vec<Option<f64>>,
        found: String,
        judged: impl FnOnce(&[f64], f64) -> Verdict,
    ) -> Self {
        let is_complete = repetitions.iter().all(Option::is_some);
        let repetitions: Vec<f64> = repetitions.into_iter().flatten().collect();
        let verdict = match median(repetitions.clone()) {
            None => Verdict::NotTested("no repetition has the figures".to_owned()),
            Some(_) if !is_complete => Verdict::NotTested("a repetition lacks a figure".to_owned()),
            Some(median) => judged(&repetitions, median),
        };
        Claim { paper, found, claimed: None, repetitions, verdict }
    }

    /// Returns the claim with the verdict "not tested" if `why` gives a reason; otherwise returns it
    /// unchanged.
    pub fn unless(self, why: Option<String>) -> Self {
        match why {
            Some(why) => Claim { verdict: Verdict::NotTested(why), ..self },
            None => self,
        }
    }

    /// Returns the verdict as text with the number of repetitions behind it, or the reason why there is none.
    pub fn verdict_text(&self) -> String {
        match (&self.verdict, self.repetitions.len()) {
            (Verdict::NotTested(_), _) => self.verdict.text(),
            (verdict, 1) => format!("{} (1 repetition)", verdict.name()),
            (verdict, repetitions) => format!("{} ({repetitions} repetitions)", verdict.name()),
        }
    }
}

/// Returns the median of some numbers: the middle one, or the mean of the two in the middle; `None` if there
/// are none.
pub fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    match of.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(of[middle]),
        _ => Some(f64::midpoint(of[middle - 1], of[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_factor(claimed: f64, repetitions: &[f64], expected: &str) {
        let each = repetitions.iter().copied().map(Some).collect();
        let claim = Claim::of_factors(String::new(), claimed, each, String::new());
        assert_eq!(claim.verdict.name(), expected, "{claimed} claimed, {repetitions:?} found");
    }

    /// A claim of a factor of 6.3 is judged weaker if a factor of 1.05 is found. The claim holds if the
    /// median is at least half of the claimed factor on a logarithmic scale, and every repetition finds a
    /// factor above 1.
    #[test]
    fn factors_are_judged_by_their_logarithm() {
        check_factor(6.3, &[1.05], "weaker");
        check_factor(6.3, &[6.3], "holds");
        check_factor(6.3, &[2.52], "holds");
        check_factor(6.3, &[2.5], "weaker");
        check_factor(4.0, &[2.1, 9.0, 2.2], "holds");
        check_factor(4.0, &[2.1, 0.99, 2.2], "weaker");
        check_factor(4.0, &[0.9, 0.8, 2.2], "reversed");
        check_factor(4.0, &[1.0], "reversed");
        check_factor(1.2, &[], "not tested");
    }

    #[test]
    fn bounds_are_kept_by_every_repetition_or_by_the_median() {
        let check = |repetitions: &[f64], expected| {
            let each = repetitions.iter().copied().map(Some).collect();
            let claim = Claim::at_least(String::new(), 0.9, each, String::new());
            assert_eq!(claim.verdict.name(), expected, "{repetitions:?}");
        };
        check(&[0.9, 1.0], "holds");
        check(&[0.89, 0.95, 1.0], "weaker");
        check(&[0.5, 0.6, 1.0], "reversed");
        check(&[], "not tested");
    }

    /// A claim is not judged by the remaining repetitions if one repetition fails: they may be just those in
    /// its favour.
    #[test]
    fn a_repetition_without_a_figure_leaves_no_verdict() {
        let texts = || (String::new(), String::new());
        let (paper, found) = texts();
        let claim = Claim::of_factors(paper, 2.0, vec![Some(9.0), None, Some(9.0)], found);
        assert_eq!(claim.verdict_text(), "not tested: a repetition lacks a figure");
        assert_eq!(claim.repetitions, [9.0, 9.0], "shown all the same");
        let (paper, found) = texts();
        let claim = Claim::at_least(paper, 0.9, vec![None, Some(1.0)], found);
        assert_eq!(claim.verdict_text(), "not tested: a repetition lacks a figure");
    }

    #[test]
    fn reasons_and_repetitions_are_told() {
        let claim = || Claim::at_least(String::new(), 0.9, vec![Some(1.0); 3], String::new());
        assert_eq!(claim().unless(None).verdict_text(), "holds (3 repetitions)");
        let claim = claim().unless(Some("too short".to_owned()));
        assert_eq!(claim.verdict_text(), "not tested: too short");
        assert_eq!(serde_json::to_string(&claim.verdict).unwrap(), "\"not tested: too short\"");
    }
}
