//! Options that set the parameters of policies, for every command that chooses a policy.

use clap::{Args, value_parser};
use thalweg::Span;
use thalweg::scheduling::policy::{cameo, enjima, klink, round_robin};
use thalweg::scheduling::{DelayStatistics, Settings};

use crate::options::{percent_within, span_within};

/// Bounds of the time between two rounds, in which a policy renews its priorities: from about the cost of a
/// round of some hundred tasks to a time that a user would notice.
const ROUND: [Span; 2] = [Span::from_micros(10), Span::from_secs(1)];

/// Bounds of the duration of Klink's cycle: from the usual time between two rounds of a policy to a minute,
/// for which no task should starve.
const CYCLE: [Span; 2] = [Span::from_millis(1), Span::from_secs(60)];

/// Bounds of Cameo's grain, the least time for which an operator runs before another is chosen. With a grain
/// of 0, another operator may be chosen after each block of records.
const GRAIN: [Span; 2] = [Span::ZERO, Span::from_secs(1)];

/// Bounds of the standard deviation of the noise that Cameo adds to costs: its paper has up to 1 s.
const NOISE: [Span; 2] = [Span::ZERO, Span::from_secs(10)];

/// Parameters of policies, which have the names of their papers.
#[derive(Clone, Default, Args)]
pub struct PolicyOptions {
    /// Time between two rounds, in which priorities are renewed, for --policy enjima and enjima_strict [default: 1ms].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = span_within(ROUND))]
    round: Option<Span>,
    /// Klink's r: duration of a cycle, and of a turn under --policy rr_quantum [default: 120ms].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = span_within(CYCLE))]
    klink_r: Option<Span>,
    /// Klink's f: per cent of watermarks that are to come within the range of --policy klink_sum [default: 95].
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = percent_within([1.0, 99.99]))]
    klink_f: Option<f64>,
    /// Klink's h: number of epochs over which delays of watermarks are averaged [default: 400, which is the most].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=DelayStatistics::EPOCHS as i64))]
    klink_h: Option<u32>,
    /// Klink's b: per cent of the memory budget in use from which on memory is short [default: 80].
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = percent_within([1.0, 100.0]))]
    klink_b: Option<f64>,
    /// Cameo's grain: least time for which an operator runs before another is chosen [default: 1ms].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = span_within(GRAIN))]
    cameo_grain: Option<Span>,
    /// Cameo's sigma: deviation of the noise that is added to the cost of each message, drawn for each operator
    /// in each round [default: 0s].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = span_within(NOISE))]
    cost_noise: Option<Span>,
    /// Seed of the noise of --cost-noise [default: the --seed of bench, else 0].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u64))]
    noise_seed: Option<u64>,
}

/// The type of a function that tells whether the policy of a name reads an option.
type Reads = fn(&str) -> bool;

impl PolicyOptions {
    /// Names of the options for policies, as clap knows them.
    pub const IDS: [&str; 8] =
        ["round", "klink_r", "klink_f", "klink_h", "klink_b", "cameo_grain", "cost_noise", "noise_seed"];

    /// Returns the parameters: those of the options that were given, and the defaults of the others.
    pub fn settings(&self) -> Settings {
        self.settings_over(Settings::default())
    }

    /// Returns the parameters: those of the options that were given, and those of `usual` for the others.
    pub fn settings_over(&self, usual: Settings) -> Settings {
        let ns = |span: Option<Span>, usual_ns: u64| {
            span.map_or(usual_ns, |span| span.as_micros().unsigned_abs().saturating_mul(1_000))
        };
        Settings {
            round_ns: ns(self.round, usual.round_ns),
            klink_cycle_ns: ns(self.klink_r, usual.klink_cycle_ns),
            klink_confidence_percent: self.klink_f.unwrap_or(usual.klink_confidence_percent),
            klink_epochs: self.klink_h.unwrap_or(usual.klink_epochs),
            klink_memory_share: self.klink_b.map_or(usual.klink_memory_share, |percent| percent / 100.0),
            cameo_grain_ns: ns(self.cameo_grain, usual.cameo_grain_ns),
            cameo_cost_noise_ns: ns(self.cost_noise, usual.cameo_cost_noise_ns),
            cameo_noise_seed: self.noise_seed.unwrap_or(usual.cameo_noise_seed),
        }
    }

    /// Returns a note for each option that was given and that none of the given policies reads.
    pub fn idle(&self, policies: &[&str]) -> Vec<String> {
        let of_messages: Reads = |policy| policy.starts_with("cameo_") && policy != cameo::token::NAME;
        let options: [(bool, Reads); 8] = [
            (self.round.is_some(), |policy| policy.starts_with(enjima::NAME)),
            (self.klink_r.is_some(), |policy| {
                policy.starts_with(klink::NAME) || policy == round_robin::QUANTUM_NAME
            }),
            (self.klink_f.is_some(), |policy| policy == klink::SUM_NAME),
            (self.klink_h.is_some(), |policy| policy.starts_with(klink::NAME)),
            (self.klink_b.is_some(), |policy| {
                policy.starts_with(klink::NAME) && policy != klink::NO_MEMORY_NAME
            }),
            (self.cameo_grain.is_some(), of_messages),
            (self.cost_noise.is_some(), of_messages),
            (self.noise_seed.is_some(), of_messages),
        ];
        Self::IDS
            .into_iter()
            .zip(options)
            .filter(|(_, (is_given, reads))| *is_given && !policies.iter().any(|policy| reads(policy)))
            .map(|(id, _)| {
                format!("--{} has no effect on --policy {}", id.replace('_', "-"), policies.join(", "))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};
    use thalweg::scheduling::policy;

    use super::*;

    /// Parses options as the words of a command line; an error is given by its first line.
    fn parsed(words: &str) -> Result<PolicyOptions, String> {
        let words = ["run"].into_iter().chain(words.split_whitespace());
        let matches = PolicyOptions::augment_args(Command::new("run")).try_get_matches_from(words);
        let options = matches.and_then(|matches| PolicyOptions::from_arg_matches(&matches));
        options.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
    }

    #[test]
    fn options_become_settings() {
        assert_eq!(parsed("").map(|options| options.settings()), Ok(Settings::default()));
        let words = "--round 5ms --klink-r 60ms --klink-f 90 --klink-h 100 --klink-b 50 --cameo-grain 0us \
                     --cost-noise 100ms --noise-seed 3";
        let expected = Settings {
            round_ns: 5_000_000,
            klink_cycle_ns: 60_000_000,
            klink_confidence_percent: 90.0,
            klink_epochs: 100,
            klink_memory_share: 0.5,
            cameo_grain_ns: 0,
            cameo_cost_noise_ns: 100_000_000,
            cameo_noise_seed: 3,
        };
        assert_eq!(parsed(words).map(|options| options.settings()), Ok(expected));
    }

    /// Options that were given replace the parameters of a recorded run, and leave its others.
    #[test]
    fn options_replace_what_was_set_before() {
        let before = Settings { klink_cycle_ns: 7, klink_epochs: 9, ..Settings::default() };
        let over = |words: &str| parsed(words).expect("it is in range").settings_over(before);
        assert_eq!(over(""), before);
        assert_eq!(over("--klink-h 100"), Settings { klink_epochs: 100, ..before });
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (words, expected) in [
            ("--round 5us", "'--round <SPAN>': 5us must be from 10us to 1s"),
            ("--round 1", "'--round <SPAN>': `1` has no unit: write 1s, 1ms or 1us"),
            ("--klink-r 2m", "'--klink-r <SPAN>': 2m must be from 1ms to 60s"),
            ("--klink-f 100", "'--klink-f <PERCENT>': must be from 1 to 99.99 per cent"),
            ("--klink-f sure", "'--klink-f <PERCENT>': `sure` is no number; write 40 for 40 %"),
            ("--klink-h 401", "'--klink-h <N>': 401 is not in 1..=400"),
            ("--klink-b 0", "'--klink-b <PERCENT>': must be from 1 to 100 per cent"),
            ("--cost-noise 11s", "'--cost-noise <SPAN>': 11s must be from 0s to 10s"),
            ("--cameo-grain -1ms", "'--cameo-grain <SPAN>': -1ms is below zero"),
        ] {
            let error = parsed(words).err().unwrap_or_default();
            assert!(error.ends_with(expected), "{words}: {error}");
        }
    }

    /// Each option is read by some policy, and an option that no chosen policy reads is told.
    #[test]
    fn an_option_without_effect_is_told() {
        let words = "--round 5ms --klink-r 60ms --klink-f 90 --klink-h 100 --klink-b 50 --cameo-grain 2ms \
                     --cost-noise 1ms --noise-seed 3";
        let options = parsed(words).expect("they are in range");
        let idle = |policies: &[&str]| options.idle(policies).len();
        assert_eq!(idle(&policy::names()), 0);
        assert_eq!([idle(&["fcfs"]), idle(&["rr_quantum"]), idle(&["enjima_strict"])], [8, 7, 7]);
        assert_eq!([idle(&["klink"]), idle(&["klink_sum"]), idle(&["klink_no_memory"])], [5, 4, 6]);
        assert_eq!([idle(&["cameo_sjf+ageing"]), idle(&["cameo_token"]), idle(&[])], [5, 8, 8]);
        let only = parsed("--klink-r 60ms").expect("it is in range");
        let expected = "--klink-r has no effect on --policy fcfs, enjima";
        assert_eq!(only.idle(&["fcfs", "enjima"]), [expected]);
        assert!(parsed("").expect("nothing is wrong").idle(&["fcfs"]).is_empty());
    }
}
