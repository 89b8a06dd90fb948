//! `--execution` and `--memory`: who runs the tasks, and what the edges between them are made of, by name. The modes of
//! Enjima's ablation (section 5.2.5).

use clap::ValueEnum;
use thalweg::{EdgeMemory, Execution};

/// The engine's two ways to run tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExecutionOption {
    /// Workers, as many as --workers says, and the policy says what each runs next.
    Workers,
    /// A thread for each task, on as many cores, and the operating system says which runs next.
    Threads,
}

impl ExecutionOption {
    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionOption::Workers => "workers",
            ExecutionOption::Threads => "threads",
        }
    }

    /// What the engine calls it.
    pub fn execution(self) -> Execution {
        match self {
            ExecutionOption::Workers => Execution::Workers,
            ExecutionOption::Threads => Execution::Threads,
        }
    }

    /// What figures call the policy where there is none.
    pub const NO_POLICY: &str = "os";
}

/// What the engine's edges may be made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MemoryOption {
    /// Blocks, which are used again while they are in the cache.
    Blocks,
    /// Bounded queues that hand over each record by itself; for --parallel serial.
    Queue,
    /// Bounded rings that hand over records in batches; for --parallel serial.
    QueueBatched,
}

impl MemoryOption {
    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOption::Blocks => "blocks",
            MemoryOption::Queue => "queue",
            MemoryOption::QueueBatched => "queue-batched",
        }
    }

    /// What the engine calls it.
    pub fn memory(self) -> EdgeMemory {
        match self {
            MemoryOption::Blocks => EdgeMemory::Blocks,
            MemoryOption::Queue => EdgeMemory::Queue,
            MemoryOption::QueueBatched => EdgeMemory::QueueBatched,
        }
    }
}
