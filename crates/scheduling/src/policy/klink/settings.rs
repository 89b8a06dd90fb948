//! Parameters of Klink: those of the paper, and those of our own, which are marked so. `klink.rs` sets them
//! for each named variant; two variants have no bound of starvation. Users set r, f, h and b by
//! [`Settings`](crate::Settings).

use crate::snapshot::DelayStatistics;

/// The default duration of a cycle, from one evaluation of slack to the next, in ns: r in section 6.2 of the
/// paper.
pub const CYCLE_NS: u64 = 120_000_000;

/// The default confidence of the range (Eq. 8) in which a watermark is expected to arrive, in per cent: f in
/// section 6.2 of the paper.
pub const CONFIDENCE_PERCENT: f64 = 95.0;

/// The default share of the memory limit from which on memory counts as short. The paper does not give its b;
/// ours: 0.8.
pub const MEMORY_SHARE: f64 = 0.8;

/// Parameters of the Klink policy, [`Klink`](super::Klink).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KlinkSettings {
    /// The paper's r: duration of a cycle, from one evaluation of slack to the next, in ns. With 0 every
    /// round of ranking is a cycle. The default is [`CYCLE_NS`].
    pub cycle_ns: u64,
    /// The way to predict the arrival of the next watermark that makes a query put out results.
    pub estimate: Estimate,
    /// The paper's h: number of epochs over which the delays of watermarks are averaged, at most
    /// [`DelayStatistics::EPOCHS`], which is the default.
    pub epochs: u32,
    /// True if a query with positive slack is not eligible, as in Algorithm 1.
    pub is_lazy: bool,
    /// True if the ingestion of a watermark that makes a query put out results begins a new cycle. Ours.
    pub evaluates_sweeps: bool,
    /// The starvation bound of Klink, in ns: an operator that has waited for longer comes before all others.
    /// The wait begins when its oldest input arrived or when its last run ended, whichever is later. Ours:
    /// one minute, which is longer than the windows of the paper.
    pub starvation_ns: u64,
    /// The paper's b: the share of the memory limit from which on memory counts as short. The default is
    /// [`MEMORY_SHARE`]. An infinite share switches memory mode off.
    pub memory_share: f64,
    /// Longest duration of memory mode, in which operators that free memory run first, in ns. Section 3.4:
    /// "three seconds".
    pub memory_ns: u64,
    /// The choice, while memory is short, between the pipelines (operators run in order) of different
    /// queries.
    pub relief: Relief,
}

/// Choice of the pipeline that runs first while memory is short. The pipeline of a query is the one that
/// releases the most of that query's records. Section 3.4: "After identifying all pipelines that maximize the
/// value p_k, Klink selects the query with the least slack".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relief {
    /// The pipeline with the largest release of all queries; between equal releases, the least slack.
    LargestRelease,
    /// The pipeline of the query with the least slack, of the queries that release anything; between equal
    /// slacks, the largest release.
    LeastSlack,
}

/// Way to predict the arrival of the next watermark that makes a query put out results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Estimate {
    /// The arrival is predicted by the mean and variance of the delays of past watermarks, and the slack is
    /// computed in closed form.
    ClosedForm,
    /// The arrival is predicted by the mean and variance of the delays of past watermarks, and the slack is
    /// summed in steps of r, the duration of a cycle (Eq. 8).
    Sum {
        /// Range of the sum in Eq. 8, in standard deviations on either side of the mean, at most 8: 2 for f =
        /// 95 % (Algorithm 1), 1.645 for 90 %.
        reach_deviations: f64,
    },
    /// The arrival is predicted by the mean of the delays of past watermarks and the variance of this mean
    /// over all epochs (Eq. 6 as printed). The slack is computed in closed form.
    LiteralVariance,
    /// The arrival is predicted by the regression line [`progress`](crate::StreamState::progress), which is
    /// taken as exact.
    Regression,
}

impl Default for KlinkSettings {
    fn default() -> Self {
        KlinkSettings {
            cycle_ns: CYCLE_NS,
            estimate: Estimate::ClosedForm,
            epochs: DelayStatistics::EPOCHS as u32,
            is_lazy: false,
            evaluates_sweeps: true,
            starvation_ns: 60_000_000_000,
            memory_share: MEMORY_SHARE,
            memory_ns: 3_000_000_000,
            relief: Relief::LargestRelease,
        }
    }
}
