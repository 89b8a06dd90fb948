//! The scheduling of one thread by the operating system: its class, and its priority within the class; and the CPU time
//! of a control group.

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

/// CPU time that a control group has for its threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuTime {
    /// Weight of the group when CPU time is divided among the groups beside it: `cpu.shares` of control groups,
    /// version 1, or `cpu.weight` of version 2. A greater number is more CPU time.
    Shares(u32),
    /// Greatest CPU time in µs of each period of [`PERIOD_US`](crate::shares::PERIOD_US), on all cores together.
    LimitUs(u64),
}

impl CpuTime {
    /// Returns the number that stands in the kernel's file of the group: shares, or a limit in µs.
    pub fn number(self) -> i64 {
        match self {
            CpuTime::Shares(shares) => shares.into(),
            CpuTime::LimitUs(limit_us) => i64::try_from(limit_us).unwrap_or(i64::MAX),
        }
    }

    /// Returns shares or a limit, as this value is, with another number from the kernel's file; `None` if the number
    /// is a limit that is not set, or is out of range.
    pub fn with_number(self, number: i64) -> Option<CpuTime> {
        match self {
            CpuTime::Shares(_) => number.try_into().ok().map(CpuTime::Shares),
            CpuTime::LimitUs(_) => number.try_into().ok().map(CpuTime::LimitUs),
        }
    }
}

/// The priority that a round gives to a thread, in one of two forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// Scheduling of the thread itself.
    Thread(Setting),
    /// CPU time of the control group in which the thread is.
    Group(CpuTime),
}

impl Priority {
    /// Returns a number that is greater if the priority is more urgent. Only numbers of priorities of one form can be
    /// compared: of nice values with real-time priorities, of shares, or of limits.
    pub fn urgency(self) -> i64 {
        match self {
            Priority::Thread(Setting { priority, .. }) if priority > 0 => i64::from(priority) + NICE_MOST,
            Priority::Thread(Setting { nice, .. }) => -i64::from(nice),
            Priority::Group(time) => time.number(),
        }
    }

    /// Returns the scheduling of the thread itself; `None` if its group has the priority.
    pub fn setting(self) -> Option<Setting> {
        match self {
            Priority::Thread(setting) => Some(setting),
            Priority::Group(_) => None,
        }
    }

    /// Returns the shares of the thread's group; `None` in other forms.
    pub fn shares(self) -> Option<u32> {
        match self {
            Priority::Group(CpuTime::Shares(shares)) => Some(shares),
            _ => None,
        }
    }

    /// Returns the limit in µs of the thread's group; `None` in other forms.
    pub fn limit_us(self) -> Option<u64> {
        match self {
            Priority::Group(CpuTime::LimitUs(limit_us)) => Some(limit_us),
            _ => None,
        }
    }
}

/// Urgency of the most urgent nice value. Every real-time thread is above it.
const NICE_MOST: i64 = 20;

impl From<Setting> for Priority {
    fn from(setting: Setting) -> Self {
        Priority::Thread(setting)
    }
}
