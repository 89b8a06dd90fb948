//! Parameters of policies that users set beside the name of a policy.
//!
//! A name stands for the form of a policy. These parameters are the values that its paper varies; the default of each is
//! the paper's. [`configured`](crate::configured) makes a policy with them, and a policy ignores those that it does not
//! have. Further parameters, such as thresholds, are fields of the settings of each policy. A [`Trace`](crate::Trace)
//! keeps the settings of the policy whose calls it has.

use serde::{Deserialize, Serialize};

use crate::policy::{ROUND_NS, cameo, klink};
use crate::snapshot::DelayStatistics;

/// Parameters of policies, each with the name and the default of its paper.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Enjima's scheduling epoch: the time between two rounds of ranking, in ns; above zero. Section 5.2: 1 ms. Read
    /// by `enjima` and `enjima_strict`.
    pub round_ns: u64,
    /// Klink's r: the duration of a cycle, in ns. With 0 every round of ranking is a cycle. Section 6.2: 120
    /// ms. Read by every form of Klink, and by `rr_quantum`, in which each turn takes this time.
    pub klink_cycle_ns: u64,
    /// Klink's f: the confidence with which a watermark is expected within the range of Eq. 8, in per cent; above 0 and
    /// below 100. Section 6.2: 95. Read by `klink_sum`, because the closed form of the others needs no range.
    pub klink_confidence_percent: f64,
    /// Klink's h: the number of epochs over which the delays of watermarks are averaged, from 1 to
    /// [`DelayStatistics::EPOCHS`]. Section 6.2: 400. Read by every form of Klink.
    pub klink_epochs: u32,
    /// Klink's b: the share of the memory limit from which on memory counts as short, above 0 and at most 1. The paper
    /// gives no value; ours: 0.8. Read by every form of Klink but `klink_no_memory`.
    pub klink_memory_share: f64,
    /// Cameo's grain: the least time for which an operator runs before another is chosen, in ns. With 0, another
    /// operator may be chosen after each block. Section 6: 1 ms. Read by every form of Cameo but `cameo_token`.
    pub cameo_grain_ns: u64,
    /// Cameo's sigma, in ns: the deviation of the noise N(0, sigma) that is added to the cost of each message.
    /// Section 6.3: 0 to 1 s; the default is 0. Read by every form of Cameo but `cameo_token`.
    pub cameo_cost_noise_ns: u64,
    /// Seed from which Cameo's noise of message costs is drawn. Ours. Read by every form of Cameo but
    /// `cameo_token`.
    pub cameo_noise_seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            round_ns: ROUND_NS,
            klink_cycle_ns: klink::CYCLE_NS,
            klink_confidence_percent: klink::CONFIDENCE_PERCENT,
            klink_epochs: DelayStatistics::EPOCHS as u32,
            klink_memory_share: klink::MEMORY_SHARE,
            cameo_grain_ns: cameo::GRAIN_NS,
            cameo_cost_noise_ns: 0,
            cameo_noise_seed: 0,
        }
    }
}

impl Settings {
    /// Returns an error if a setting is outside of the range that its field tells. Settings that were read from a
    /// file must be checked before a policy is made with them.
    ///
    /// # Errors
    /// The name, the value and the range of the first setting that is outside of its range.
    pub fn check(&self) -> Result<(), String> {
        let Settings { round_ns, klink_confidence_percent, klink_epochs, klink_memory_share, .. } = *self;
        let epochs_max = DelayStatistics::EPOCHS as u32;
        if round_ns == 0 {
            return Err("round_ns is 0, but must be above 0".to_owned());
        }
        // A number that is NaN is in no range.
        let is_confidence = 0.0 < klink_confidence_percent && klink_confidence_percent < 100.0;
        if !is_confidence {
            return Err(format!(
                "klink_confidence_percent is {klink_confidence_percent}, but must be above 0 and below 100"
            ));
        }
        if !(1..=epochs_max).contains(&klink_epochs) {
            return Err(format!("klink_epochs is {klink_epochs}, but must be from 1 to {epochs_max}"));
        }
        let is_share = 0.0 < klink_memory_share && klink_memory_share <= 1.0;
        if !is_share {
            return Err(format!(
                "klink_memory_share is {klink_memory_share}, but must be above 0 and at most 1"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_told() {
        let usual = Settings::default();
        assert_eq!(usual.check(), Ok(()));
        for (settings, told) in [
            (Settings { round_ns: 0, ..usual }, "round_ns is 0, but must be above 0"),
            (
                Settings { klink_confidence_percent: 100.0, ..usual },
                "klink_confidence_percent is 100, but must be above 0 and below 100",
            ),
            (Settings { klink_epochs: 401, ..usual }, "klink_epochs is 401, but must be from 1 to 400"),
            (
                Settings { klink_memory_share: f64::NAN, ..usual },
                "klink_memory_share is NaN, but must be above 0 and at most 1",
            ),
        ] {
            assert_eq!(settings.check(), Err(told.to_owned()));
        }
    }
}
