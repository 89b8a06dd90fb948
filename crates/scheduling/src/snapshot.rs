//! What a policy sees of the engine, and what it is told after a run.
//!
//! A unit of rank is a task: one operator, or a chain of them that runs as one loop; it is called operator here,
//! as in the papers. The fields grow with the policies that read them.

use thalweg_model::ProcessingTime;

/// Index of an operator in [`Snapshot::operators`]; stable while its query lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperatorId(pub u32);

/// A query of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueryId(pub u32);

/// The state of one operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperatorState {
    /// The query it belongs to.
    pub query: QueryId,
    /// Whether it makes records instead of reading them.
    pub is_source: bool,
    /// Whether it is a source that makes records whenever it is asked, so that none of them arrived before.
    pub is_on_demand: bool,
    /// Records and marks that wait at its input; for a source what is due now, as far as it can tell: at least
    /// one if it can be polled.
    pub pending: u64,
    /// When the oldest of them came in, to within one block; for a source on demand, when it was last asked. Of no
    /// meaning while nothing is pending.
    pub oldest_pending: ProcessingTime,
    /// Whether every output edge has room.
    pub can_output: bool,
}

/// The state of the engine at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The instant.
    pub now: ProcessingTime,
    /// Threads that run operators.
    pub workers: usize,
    /// Records per block: what "one block" means in a quantum.
    pub block_records: u32,
    /// Every operator, by [`OperatorId`]; `None` where one runs already or has ended.
    pub operators: Vec<Option<OperatorState>>,
}

impl Snapshot {
    /// The state of `operator`, unless it has ended.
    pub fn operator(&self, operator: OperatorId) -> Option<&OperatorState> {
        self.operators.get(operator.0 as usize)?.as_ref()
    }
}

/// The snapshot fields a policy reads; only those are gathered. A set, joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields(u32);

impl Fields {
    /// `pending` and `can_output`: always gathered, since the executor needs them itself.
    pub const PENDING: Fields = Fields(0);
    /// `oldest_pending`.
    pub const OLDEST_PENDING: Fields = Fields(1);

    /// Whether all of `other` are in here.
    pub const fn contain(self, other: Fields) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Fields {
    type Output = Fields;
    fn bitor(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }
}

/// What one run of an operator did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Who ran.
    pub operator: OperatorId,
    /// When it began.
    pub started: ProcessingTime,
    /// When it ended.
    pub ended: ProcessingTime,
    /// Records taken.
    pub records_in: u64,
    /// Records put out.
    pub records_out: u64,
}
