//! What an engine under simulation is made of.

use thalweg::{Chaining, Layout, Parallel};
use thalweg_model::Entropy;
use thalweg_runtime::EdgeLimits;
use thalweg_scheduling::policy::names;

use crate::seed::pick;

/// Engine and schedule of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Workers.
    pub workers: u64,
    /// Who runs next, by name.
    pub policy: &'static str,
    /// Bounds of each edge.
    pub edges: EdgeLimits,
    /// The engine's budget.
    pub memory_budget_bytes: u64,
    /// The pool is asked to grow in one action of so many.
    pub grow_one_in: u64,
    /// The clock moves in one action of so many,
    pub tick_one_in: u64,
    /// by less than this.
    pub tick_ns_max: u64,
    /// The worker that steps most often,
    pub favourite: usize,
    /// in so many of eight actions.
    pub favour: u64,
}

impl Setup {
    /// Draws from sets in which the smallest values that can be stand beside ordinary ones.
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

/// How a query is cut into tasks: one in two has copies of its operators, as many as workers, fewer or more.
pub fn draw_layout(entropy: &mut dyn Entropy) -> Layout {
    let chaining = pick(entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
    let copies = pick(entropy, &[1, 2, 3, 8]);
    let parallel = pick(entropy, &[Parallel::Serial, Parallel::Epochs { workers: copies }]);
    Layout { chaining, parallel }
}
