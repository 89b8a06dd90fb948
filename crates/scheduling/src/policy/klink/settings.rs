//! What the paper leaves open or calls a parameter.

/// The duration r of a cycle, in ns: section 6.2.
pub const CYCLE_NS: u64 = 120_000_000;

/// The parameters of [`Klink`](super::Klink).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KlinkSettings {
    /// r, in ns; with 0 every round is a cycle. [`CYCLE_NS`].
    pub cycle_ns: u64,
    /// How the next sweeping watermark is foreseen.
    pub estimate: Estimate,
    /// Whether a query with positive slack is not eligible, as in Algorithm 1.
    pub is_lazy: bool,
    /// Whether a sweeping watermark that has come in begins a cycle. Ours.
    pub evaluates_sweeps: bool,
    /// The starvation bound, in ns: an operator that has waited for longer comes before all others. It waits since its oldest
    /// input arrived or its last run ended, whichever is later. Ours: a minute, more than the windows of the paper last.
    pub starvation_ns: u64,
    /// b: the share of its limit from which on memory is short. The paper never gives it; ours: 0.8. Infinite switches memory
    /// mode off.
    pub memory_share: f64,
    /// How long memory mode lasts at most, in ns. Section 3.4: "three seconds".
    pub memory_ns: u64,
}

/// How the next sweeping watermark is foreseen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Estimate {
    /// By the mean and the variance of delays, in closed form.
    ClosedForm,
    /// The same, summed up in steps of r (Eq. 8).
    Sum {
        /// So many deviations on either side of the mean are looked at, 8 at most: 2 for f = 95 % (Algorithm 1), 1.645 for 90 %.
        reach_deviations: f64,
    },
    /// In closed form, with the variance of the mean of all epochs (Eq. 6 as printed).
    LiteralVariance,
    /// By [`progress`](crate::StreamState::progress), as if that were exact.
    Regression,
}

impl Default for KlinkSettings {
    fn default() -> Self {
        KlinkSettings {
            cycle_ns: CYCLE_NS,
            estimate: Estimate::ClosedForm,
            is_lazy: false,
            evaluates_sweeps: true,
            starvation_ns: 60_000_000_000,
            memory_share: 0.8,
            memory_ns: 3_000_000_000,
        }
    }
}
