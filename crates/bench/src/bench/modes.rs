//! `--execution` and `--memory`: the threads that run the tasks, and the memory of the edges between them, by
//! name. These are the modes of Enjima's ablation (section 5.2.5).

use clap::ValueEnum;
use thalweg::{EdgeMemory, Execution};

/// The engine's two ways to run tasks, as values of `--execution`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExecutionOption {
    /// As many workers as --workers says. The policy chooses the task that each worker runs next.
    Workers,
    /// A thread for each task, on as many cores as --workers says. The operating system chooses the thread
    /// that runs next.
    Threads,
}

impl ExecutionOption {
    /// Returns the name of this way to run tasks (workers, or a thread per task) in the results of a run.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionOption::Workers => "workers",
            ExecutionOption::Threads => "threads",
        }
    }

    /// Returns the engine's setting for this way to run tasks.
    pub fn execution(self) -> Execution {
        match self {
            ExecutionOption::Workers => Execution::Workers,
            ExecutionOption::Threads => Execution::Threads,
        }
    }

    /// Name that stands in the results of a run in place of a policy, if the operating system schedules the
    /// threads.
    pub const NO_POLICY: &str = "os";
}

/// Memory of the engine's edges, as values of `--memory`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MemoryOption {
    /// Blocks of records, which are used again while they are in the cache.
    Blocks,
    /// Bounded queues that hand over each record by itself; for --parallel serial.
    Queue,
    /// Bounded rings that hand over records in batches; for --parallel serial.
    QueueBatched,
}

impl MemoryOption {
    /// Returns the name of this kind of memory (blocks or queues) in the results of a run.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOption::Blocks => "blocks",
            MemoryOption::Queue => "queue",
            MemoryOption::QueueBatched => "queue-batched",
        }
    }

    /// Returns the engine's setting for this kind of memory.
    pub fn memory(self) -> EdgeMemory {
        match self {
            MemoryOption::Blocks => EdgeMemory::Blocks,
            MemoryOption::Queue => EdgeMemory::Queue,
            MemoryOption::QueueBatched => EdgeMemory::QueueBatched,
        }
    }
}
