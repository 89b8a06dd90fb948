//! Verdicts on the claims of a paper: how a claim is judged by what several repetitions of an experiment found.
//!
//! | verdict | meaning |
//! |---|---|
//! | holds | the direction is right in every repetition, and `log(found) / log(claimed)` is at least [`SHARE_MIN`] |
//! | weaker | the direction of the median is right |
//! | reversed | the direction of the median is wrong |
//! | not tested | the runs are too short, or a figure is missing: the reason says which |
//!
//! A factor above 1 is in favour of the paper's system. On the logarithmic scale, a claim of 4 times that is
//! found as 2 times counts as half, whatever the unit. A claim without a factor ("90 % are in time") has a
//! bound instead, which the median and every repetition either meet or not.

use serde::{Serialize, Serializer};

use crate::bench::compare::median;

/// The least share of a claim, on a logarithmic scale, with which it holds.
const SHARE_MIN: f64 = 0.5;

/// A claim of a paper, and what was found here.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim in the paper's words, where they are short.
    pub paper: String,
    /// The figures behind the verdict.
    pub found: String,
    /// The factor that the paper gives; `None` for a bound.
    pub claimed: Option<f64>,
    /// One value per repetition: the factor, or the figure that has a bound.
    pub repetitions: Vec<f64>,
    pub verdict: Verdict,
}

/// Verdict on a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    Weaker,
    Reversed,
    /// Not tested, with the reason.
    NotTested(String),
}

impl Verdict {
    /// Returns the verdict in one or two words.
    pub const fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Weaker => "weaker",
            Verdict::Reversed => "reversed",
            Verdict::NotTested(_) => "not tested",
        }
    }

    /// Returns the verdict, with the reason if there is one.
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
    /// Judges a claim that one figure is `claimed` times another, above 1, by the factor that each repetition found.
    pub fn of_factors(paper: String, claimed: f64, repetitions: Vec<f64>, found: String) -> Self {
        assert!(1.0 < claimed, "a claim of a factor is told in favour of the paper's system");
        let verdict = match median(repetitions.clone()) {
            None => Verdict::NotTested("no repetition has both figures".to_owned()),
            Some(found) if found <= 1.0 => Verdict::Reversed,
            Some(found) => {
                let is_right_each_time = repetitions.iter().all(|factor| 1.0 < *factor);
                let is_enough = SHARE_MIN <= found.ln() / claimed.ln();
                if is_right_each_time && is_enough { Verdict::Holds } else { Verdict::Weaker }
            }
        };
        Claim { paper, found, claimed: Some(claimed), repetitions, verdict }
    }

    /// Judges a claim that a figure is at least `bound`, by the figure of each repetition.
    pub fn at_least(paper: String, bound: f64, repetitions: Vec<f64>, found: String) -> Self {
        let verdict = match median(repetitions.clone()) {
            None => Verdict::NotTested("no repetition has the figure".to_owned()),
            Some(found) if found < bound => Verdict::Reversed,
            Some(_) if repetitions.iter().all(|figure| bound <= *figure) => Verdict::Holds,
            Some(_) => Verdict::Weaker,
        };
        Claim { paper, found, claimed: None, repetitions, verdict }
    }

    /// Returns the claim without a verdict, for a reason that concerns the whole experiment.
    pub fn not_tested(self, why: &str) -> Self {
        Claim { verdict: Verdict::NotTested(why.to_owned()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_factor(claimed: f64, repetitions: &[f64], expected: &str) {
        let claim = Claim::of_factors(String::new(), claimed, repetitions.to_vec(), String::new());
        assert_eq!(claim.verdict.name(), expected, "{claimed} claimed, {repetitions:?} found");
    }

    /// A claim of 6.3 times does not hold at 1.05; half of it on a logarithmic scale is enough, in every repetition.
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
            let claim = Claim::at_least(String::new(), 0.9, repetitions.to_vec(), String::new());
            assert_eq!(claim.verdict.name(), expected, "{repetitions:?}");
        };
        check(&[0.9, 1.0], "holds");
        check(&[0.89, 0.95, 1.0], "weaker");
        check(&[0.5, 0.6, 1.0], "reversed");
        check(&[], "not tested");
    }

    #[test]
    fn reasons_are_told() {
        let claim = Claim::at_least(String::new(), 0.9, vec![1.0], String::new()).not_tested("too short");
        assert_eq!(claim.verdict.text(), "not tested: too short");
        assert_eq!(serde_json::to_string(&claim.verdict).unwrap(), "\"not tested: too short\"");
    }
}
