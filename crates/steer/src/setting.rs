//! The scheduling of one thread by the operating system: its class, and its priority within the class.

use serde::{Deserialize, Serialize};

/// Scheduling class of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Class {
    /// SCHED_OTHER: the usual class, in which nice values give shares of CPU time.
    Other,
    /// SCHED_BATCH: as the usual class, for threads that compute for long.
    Batch,
    /// SCHED_IDLE: runs when nothing else does.
    Idle,
    /// SCHED_RR: real time; threads of one priority take turns.
    RoundRobin,
    /// SCHED_FIFO: real time; a thread runs until it waits, or until one of higher priority can run.
    Fifo,
}

impl Class {
    /// Returns true if threads of this class run before all threads of the classes that are not real-time.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Class::RoundRobin | Class::Fifo)
    }
}

/// Scheduling of one thread, as the operating system has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Scheduling class of the thread.
    pub class: Class,
    /// Nice value of a thread that is not real-time, from -20, the most urgent, to 19; 0 for real-time threads.
    pub nice: i32,
    /// Priority of a real-time thread, from 1 to 99, the most urgent; 0 for other threads.
    pub priority: u32,
    /// True if threads that this thread starts do not inherit its priority (SCHED_RESET_ON_FORK).
    pub resets_on_fork: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Setting::DEFAULT
    }
}

impl Setting {
    /// The scheduling that new threads have unless someone changes it.
    pub const DEFAULT: Setting = Setting { class: Class::Other, nice: 0, priority: 0, resets_on_fork: false };

    /// Returns the setting of a thread of the usual class with this nice value, which its children do not inherit.
    pub const fn nice(nice: i32) -> Setting {
        Setting { class: Class::Other, nice, priority: 0, resets_on_fork: true }
    }

    /// Returns the setting of a real-time thread with this priority, which its children do not inherit.
    pub const fn real_time(class: Class, priority: u32) -> Setting {
        Setting { class, nice: 0, priority, resets_on_fork: true }
    }
}
