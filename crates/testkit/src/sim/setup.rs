//! Settings of an engine under simulation.

use thalweg::{Chaining, Layout, Parallel};
use thalweg_model::Entropy;
use thalweg_runtime::EdgeLimits;
use thalweg_scheduling::policy::names;

use crate::seed::pick;

/// Settings of a simulation: those of the engine, and those of the schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Number of workers of the engine.
    pub workers: u64,
    /// Name of the scheduling policy.
    pub policy: &'static str,
    /// Limits of each edge: records in a block, blocks in a chunk, chunks, and waiting marks.
    pub edges: EdgeLimits,
    /// The memory budget of the engine, in bytes.
    pub memory_budget_bytes: u64,
    /// The memory pool is asked to grow in one of so many actions of the simulation, on average.
    pub grow_one_in: u64,
    /// The virtual clock advances in one of so many actions of the simulation, on average.
    pub tick_one_in: u64,
    /// Exclusive upper bound of one advance of the clock, in nanoseconds.
    pub tick_ns_max: u64,
    /// Index of the favourite worker, which steps most often.
    pub favourite: usize,
    /// Number of actions in eight, on average, that are steps of the favourite worker while it is awake; in
    /// the others any awake worker steps.
    pub favour: u64,
}

impl Setup {
    /// Draws the settings from sets that hold the smallest possible values beside ordinary ones.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        let workers = 1 + entropy.below(4);
        let edges = EdgeLimits {
            block_records: pick(entropy, &[1, 2, 7, 384]),
            chunk_blocks: pick(entropy, &[1, 4, 32]),
            chunks_max: pick(entropy, &[2, 3, 8, 32]),
            marks_max: pick(entropy, &[1, 2, 7, 512]),
        };
        Setup {
            workers,
            policy: pick(entropy, &names()),
            edges,
            memory_budget_bytes: pick(entropy, &[4 << 20, 16 << 20, 256 << 20]),
            grow_one_in: pick(entropy, &[1, 16, 1_000]),
            tick_one_in: pick(entropy, &[1, 4, 100]),
            tick_ns_max: pick(entropy, &[2, 1_000, 1_000_000]),
            favourite: entropy.below(workers) as usize,
            favour: pick(entropy, &[0, 0, 7]),
        }
    }
}

/// Draws how a query is divided into tasks. In half of the queries operators have several copies: as many as
/// there are workers, fewer, or more.
pub fn draw_layout(entropy: &mut dyn Entropy) -> Layout {
    let chaining = pick(entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
    let copies = pick(entropy, &[1, 2, 3, 8]);
    let parallel = pick(entropy, &[Parallel::Serial, Parallel::Epochs { workers: copies }]);
    Layout { chaining, parallel }
}
