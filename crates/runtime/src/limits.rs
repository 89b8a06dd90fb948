//! Everything in the engine that can grow, block or wait, with its bound. `docs/limits.md` is generated from
//! this table, and every setting is checked against it.

use thalweg_model::window::WINDOWS_PER_RECORD_MAX;

use crate::error::PlanError;

/// A bound of something that can grow, block or wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Name of the setting that this bound limits.
    pub name: &'static str,
    /// Unit of the default, least and greatest value of the setting.
    pub unit: &'static str,
    /// Value of the setting that applies if the user sets none.
    pub default: u64,
    /// The least value that the setting accepts.
    pub min: u64,
    /// The greatest value that the setting accepts.
    pub max: u64,
    /// Reason for this bound and its default value, for the reference page.
    pub reason: &'static str,
}

impl Limit {
    /// Returns `value` if it is within the bound.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] with the name of the setting, the value, the bounds and the unit.
    pub fn check(&self, value: u64) -> Result<u64, PlanError> {
        if (self.min..=self.max).contains(&value) {
            Ok(value)
        } else {
            let Limit { name, unit, min, max, .. } = *self;
            Err(PlanError::OutOfRange { name, value, min, max, unit })
        }
    }
}

/// Number of records in a block, which is N in the Enjima paper.
pub const BLOCK_RECORDS: Limit = Limit {
    name: "block_records",
    unit: "records",
    default: 384,
    min: 1,
    max: 1 << 20,
    reason: "a block of 384 YSB events has 21 KB and fits a first-level cache (Enjima, section 5.3: 256 to 2048 do well)",
};

/// Number of blocks in a chunk, which is K in the Enjima paper.
pub const CHUNK_BLOCKS: Limit = Limit {
    name: "chunk_blocks",
    unit: "blocks",
    default: 4,
    min: 1,
    max: 1 << 8,
    reason: "an edge grows by chunks: they are small, so that an idle edge holds little, and large enough that memory is mapped seldom (Enjima, section 5.3: 4 to 16 do well)",
};

/// Maximum number of chunks that one edge may own.
pub const CHUNKS_PER_EDGE: Limit = Limit {
    name: "chunks_per_edge",
    unit: "chunks",
    default: 32,
    min: 2,
    max: 1 << 10,
    reason: "a full edge slows its writer down; two chunks are reserved when the query is submitted, further ones absorb bursts; the list of an edge's blocks has at most 4 MiB; 32 chunks of YSB events have 2.75 MiB, more than a second-level cache and less than one core's share of a third-level cache",
};

/// Maximum number of marks (watermarks, latency markers) that wait on one edge.
pub const MARKS_PER_EDGE: Limit = Limit {
    name: "marks_per_edge",
    unit: "marks",
    default: 1 << 10,
    min: 1,
    max: 1 << 16,
    reason: "a block may have a watermark behind each record; when all places are taken, the writer waits, and latency markers are dropped; 4 further places are kept for barriers and the end",
};

/// Capacity in records of a queue that replaces the blocks of an edge.
pub const QUEUE_RECORDS: Limit = Limit {
    name: "queue_records",
    unit: "records",
    default: BLOCK_RECORDS.default * CHUNK_BLOCKS.default * CHUNKS_PER_EDGE.default,
    min: 1,
    max: BLOCK_RECORDS.default * CHUNK_BLOCKS.default * CHUNKS_PER_EDGE.default,
    reason: "a queue takes the place of an edge's blocks and holds as many records, but at most as many as the blocks hold by default, because all of its memory is reserved when the query is submitted",
};

/// Maximum number of epochs that are open at once in front of one task which several workers run.
pub const EPOCHS: Limit = Limit {
    name: "epochs",
    unit: "epochs",
    default: 64,
    min: 64,
    max: 64,
    reason: "each open epoch may hold partial state of every worker; a split that is this many epochs ahead of the others stays in its youngest epoch, and a silent one waits there until the oldest epoch is closed; results do not depend on it",
};

/// Memory budget of an engine: bytes that edges, the state of operators and buffers may hold together.
pub const MEMORY_BUDGET_BYTES: Limit = Limit {
    name: "memory_budget_bytes",
    unit: "bytes",
    default: 256 << 20,
    min: 1 << 16,
    max: 1 << 42,
    reason: "blocks, caches of generators, state, results of expressions and pages of files never exceed it, and the process holds at most 64 MiB more; state is paid before it grows and results before they are built; buffers of sources and sinks are counted after each step; memory behind pointers in keys and values of the typed interface is counted only if an aggregate reports it, and static tables to join with are not counted",
};

/// Number of worker threads that run tasks.
pub const WORKERS: Limit = Limit {
    name: "workers",
    unit: "threads",
    default: 1,
    min: 1,
    max: 1 << 10,
    reason: "one per core that the engine may use",
};

/// Maximum number of bytes of records that one run of a task may take, whatever the policy allows. For a
/// source it bounds the bytes that are put out.
pub const RUN_BYTES: Limit = Limit {
    name: "run_bytes",
    unit: "bytes",
    default: 768 << 10,
    min: 1,
    max: 1 << 42,
    reason: "the next task finds the records in a second-level cache of 1 MiB; a run has at least one record",
};

/// Shortest time between two polls of a source that has caught up with its pace, and shortest sleep of a
/// worker that waits for a source.
pub const SOURCE_GRAIN_NS: Limit = Limit {
    name: "source_grain_ns",
    unit: "ns",
    default: 50_000,
    min: 0,
    max: 1_000_000_000,
    reason: "at 5 M records/s a record is due every 200 ns: a worker that ran the source for each record would use a whole core, and one that runs it every 50 us uses a tenth; with 0 it runs for each record, and latency at such rates is 1 us instead of 40 us",
};

/// Time over which cost and selectivity of tasks are averaged before policies see them.
pub const METRICS_INTERVAL_NS: Limit = Limit {
    name: "metrics_interval_ns",
    unit: "ns",
    default: 50_000_000,
    min: 0,
    max: 60_000_000_000,
    reason: "costs and selectivities that policies see are measured in the first round of ranking after this time, 50 ms in Enjima, section 4: a shorter time follows the load faster and varies more; with 0 they are measured in each round",
};

/// Interval between measured steps of a task. In one step of this many, the first block is processed operator
/// by operator, and each operator is timed. An interval of 0 switches the measurement off.
pub const MEASURED_STEPS: Limit = Limit {
    name: "measured_steps",
    unit: "steps",
    default: 256,
    min: 0,
    max: 1 << 30,
    reason: "one step of this many is measured operator by operator, and its records are kept in memory of their own between operators; with 0, the time of the operators inside a chain is not known",
};

/// Maximum number of queries that run at once in an engine.
pub const QUERIES: Limit = Limit {
    name: "queries",
    unit: "queries",
    default: 1 << 12,
    min: 1,
    max: 1 << 12,
    reason: "each query has histograms of latencies once some are measured, and the policy looks at all queries in each round",
};

/// Maximum number of running tasks of all queries of an engine together. Each parallel copy of a chain
/// counts.
pub const TASKS: Limit = Limit {
    name: "tasks",
    unit: "tasks",
    default: 1 << 14,
    min: 1,
    max: 1 << 14,
    reason: "the tables of ranks and due times are allocated when the engine starts, 28 bytes for each task",
};

/// Maximum number of task threads of all queries together, if each task has a thread of its own.
pub const THREADS: Limit = Limit {
    name: "threads",
    unit: "threads",
    default: 1 << 12,
    min: 1,
    max: 1 << 12,
    reason: "each thread has a stack, of which it uses a few pages that the budget does not count, and systems allow some ten thousand threads",
};

/// Maximum number of notes (about ended runs and tasks) that a worker keeps while another worker holds the
/// policy's lock.
pub const NOTES_PER_WORKER: Limit = Limit {
    name: "notes_per_worker",
    unit: "notes",
    default: 1 << 8,
    min: 1 << 8,
    max: 1 << 8,
    reason: "notes on runs and on ended tasks, which the policy has not read yet; a worker with this many waits for the policy, which another worker has then held for as many runs",
};

/// Maximum number of tasks in one query. Parallel copies of one chain count as one task.
pub const TASKS_PER_QUERY: Limit = Limit {
    name: "tasks_per_query",
    unit: "tasks",
    default: 1 << 8,
    min: 1,
    max: 1 << 8,
    reason: "a plan of more operators was made by a loop that went wrong",
};

/// Maximum number of edges that one task may read.
pub const INPUTS_PER_TASK: Limit = Limit {
    name: "inputs_per_task",
    unit: "edges",
    default: 128,
    min: 1,
    max: 128,
    reason: "each step looks at all inputs; with several workers a stream may have as many edges as there are workers, at most 32; to join more streams, unite some of them first and box the result",
};

/// Maximum number of readers of one edge.
pub const READERS_PER_EDGE: Limit = Limit {
    name: "readers_per_edge",
    unit: "readers",
    default: 64,
    min: 1,
    max: 64,
    reason: "the writer looks at all readers before it uses a block again; of more branches, let some read a second stream",
};

/// Longest time for which the runs of a task may move no record and no mark (such as a watermark), before its
/// query fails as stuck.
pub const STUCK_AFTER_NS: Limit = Limit {
    name: "stuck_after_ns",
    unit: "ns",
    default: 1_000_000_000,
    min: 1_000_000_000,
    max: 1_000_000_000,
    reason: "a task runs when it has input and room for output; if it does nothing for this long and in a thousand runs, it waits for something that cannot come, and its query fails",
};

/// Latency target of a query: the time within which a result should reach the sink.
pub const LATENCY_TARGET_NS: Limit = Limit {
    name: "latency_target_ns",
    unit: "ns",
    default: 1_000_000_000,
    min: 1_000,
    max: 7 * 86_400 * 1_000_000_000,
    reason: "policies with deadlines use one second for queries without a target, as long as people like to wait; no result is on time below a microsecond (Cameo's bulk queries have 7200 s)",
};

/// Number of records per second that the sources of a query may make with tokens. Records with a token run
/// before records without one.
pub const TOKENS_PER_S: Limit = Limit {
    name: "tokens_per_s",
    unit: "tokens",
    default: 0,
    min: 0,
    max: 1_000_000_000_000,
    reason: "one token for each record (Cameo, section 5.4); no query makes more than a thousand records in a nanosecond",
};

/// Maximum number of windows to which one record may belong.
pub const WINDOWS_PER_RECORD: Limit = Limit {
    name: "windows_per_record",
    unit: "windows",
    default: WINDOWS_PER_RECORD_MAX,
    min: WINDOWS_PER_RECORD_MAX,
    max: WINDOWS_PER_RECORD_MAX,
    reason: "each window fires with a result for each key: sliding windows of a day every 1 ms would fire 86 million times for one record; a day every 10 s is 8,640; more are refused when the query is planned",
};

/// Bytes that a job of `thalweg run` is charged against the memory budget before it is planned.
pub const JOB_BYTES: Limit = Limit {
    name: "job_bytes",
    unit: "bytes",
    default: 1 << 20,
    min: 1 << 20,
    max: 1 << 20,
    reason: "a job that reads a table holds its plan, its tasks and two batches on each edge before it has state, about 1 MiB in all (300 jobs took 0.8 to 1.0 MiB each), and pays this from the budget; a job without tables pays a thirty-second of it; the first job of a run pays nothing",
};

/// All bounds of the engine, in the order of the reference page.
pub const ALL: [&Limit; 24] = [
    &BLOCK_RECORDS,
    &CHUNK_BLOCKS,
    &CHUNKS_PER_EDGE,
    &MARKS_PER_EDGE,
    &QUEUE_RECORDS,
    &EPOCHS,
    &MEMORY_BUDGET_BYTES,
    &WORKERS,
    &RUN_BYTES,
    &SOURCE_GRAIN_NS,
    &METRICS_INTERVAL_NS,
    &MEASURED_STEPS,
    &QUERIES,
    &TASKS_PER_QUERY,
    &TASKS,
    &THREADS,
    &INPUTS_PER_TASK,
    &READERS_PER_EDGE,
    &STUCK_AFTER_NS,
    &LATENCY_TARGET_NS,
    &TOKENS_PER_S,
    &NOTES_PER_WORKER,
    &WINDOWS_PER_RECORD,
    &JOB_BYTES,
];

/// The bounds of the memory of each edge of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeLimits {
    /// Number of records in a block; see [`BLOCK_RECORDS`].
    pub block_records: u32,
    /// Number of blocks in a chunk; see [`CHUNK_BLOCKS`].
    pub chunk_blocks: u32,
    /// Maximum number of chunks of the edge; see [`CHUNKS_PER_EDGE`].
    pub chunks_max: u32,
    /// Maximum number of marks (such as watermarks) that wait on the edge; see [`MARKS_PER_EDGE`].
    pub marks_max: u32,
}

impl Default for EdgeLimits {
    fn default() -> Self {
        let default = |limit: &Limit| u32::try_from(limit.default).expect("defaults of edges fit 32 bits");
        EdgeLimits {
            block_records: default(&BLOCK_RECORDS),
            chunk_blocks: default(&CHUNK_BLOCKS),
            chunks_max: default(&CHUNKS_PER_EDGE),
            marks_max: default(&MARKS_PER_EDGE),
        }
    }
}

impl EdgeLimits {
    /// Returns an error if a setting for the size of edges is out of its range.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] for the first setting that is out of its range.
    pub fn check(&self) -> Result<(), PlanError> {
        BLOCK_RECORDS.check(self.block_records.into())?;
        CHUNK_BLOCKS.check(self.chunk_blocks.into())?;
        CHUNKS_PER_EDGE.check(self.chunks_max.into())?;
        MARKS_PER_EDGE.check(self.marks_max.into())?;
        Ok(())
    }
}

/// Returns the table of all bounds as Markdown, for the reference page.
pub fn table() -> String {
    let mut page =
        String::from("| name | unit | default | least | most | why |\n|---|---|---|---|---|---|\n");
    for Limit { name, unit, default, min, max, reason } in ALL {
        page += &format!("| `{name}` | {unit} | {default} | {min} | {max} | {reason} |\n");
    }
    page
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The page `docs/limits.md` equals the table of bounds in the code; `UPDATE_GOLDEN=1` rewrites the
    /// page.
    #[test]
    fn the_reference_shows_the_table() {
        let path = "../../docs/limits.md";
        let head = "# Limits\n\nEvery bound of the engine. Generated from `crates/runtime/src/limits.rs`; a value out of range is\nrefused with its name, the value, the bound and the unit.\n\n";
        let page = format!("{head}{}", table());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), page, "run with UPDATE_GOLDEN=1 to renew it");
    }

    #[test]
    fn every_default_is_within_its_bound() {
        for limit in ALL {
            assert_eq!(limit.check(limit.default), Ok(limit.default), "{}", limit.name);
        }
        assert_eq!(EdgeLimits::default().check(), Ok(()));
    }

    #[test]
    fn values_out_of_range_are_refused_with_value_bound_and_unit() {
        let error = BLOCK_RECORDS.check(0).unwrap_err().to_string();
        assert_eq!(error, "block_records is 0 records, but must be from 1 to 1048576 records");
        let limits = EdgeLimits { chunks_max: 1, ..EdgeLimits::default() };
        assert_eq!(
            limits.check().unwrap_err().to_string(),
            "chunks_per_edge is 1 chunks, but must be from 2 to 1024 chunks"
        );
    }
}
