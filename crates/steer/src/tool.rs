//! The tool: what a program does that steers threads, from its start to its end.
//!
//! ```text
//!   begin:  look for writable control groups if the form needs them and threads are known already
//!           restore what others left -> state file -> budget -> watchdog -> settings of the machine -> own urgency
//!   run:    every period a sign of life to the watchdog, own urgency, and a round
//!   end:    lower the watchdog, restore everything, remove the state file, end the watchdog
//! ```
//!
//! The loop is as urgent as the most urgent thread that it steers, or more: it must run to take a priority away. With
//! control groups it has nice value -20 in its own group.
//!
//! Some things are known only when the engine has answered for the first time: whether the control groups of its threads can be
//! written, and what its version tells. They are checked in each round, see `checked`, and the round is skipped with the
//! reason.
//!
//! A dry run has no state file, no watchdog and no urgency, and changes nothing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use thalweg_scheduling::Policy;

use crate::apply::Applier;
use crate::groups::{self, Group};
use crate::kernel::Kernel;
use crate::setting::{Class, Setting};
use crate::state_file::{self, Restored, StateError, StateFile};
use crate::steering::{Driver, Round, Steering, Translator, Unfit};
use crate::threads::{Processes, ThreadKey, is_gone};
use crate::watchdog::Watchdog;
use checked::Checked;

mod checked;

/// Least and greatest time between the starts of two rounds of steering.
pub const PERIODS: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(60)];

/// Longest time for which the loop sleeps before it asks whether it is over. It is shorter than the time between two
/// signs of life.
const LOOK: Duration = Duration::from_millis(50);

/// How a tool steers.
#[derive(Debug)]
pub struct Plan {
    /// The form in which ranks are given to threads.
    pub translator: Translator,
    /// Time between the starts of two rounds.
    pub period: Duration,
    /// Folder of the state file; `None` for a dry run.
    pub states: Option<PathBuf>,
    /// Further threads of this process that must not wait for the threads that are steered. They become as urgent as the
    /// loop.
    pub urgent: Vec<ThreadKey>,
}

/// Error: the tool cannot steer, and has changed nothing.
#[derive(Debug)]
pub enum CannotSteer {
    /// The policy reads more than the driver of the engine supplies.
    Unfit(Unfit),
    /// No state file could be made.
    State(StateError),
    /// The watchdog could not be started.
    Watchdog(io::Error),
    /// The kernel does not let this process give priorities.
    NotPermitted {
        /// The class of scheduling that was asked for.
        class: Class,
        /// The answer of the kernel.
        error: io::Error,
    },
    /// A setting of the machine, such as the real-time budget of a group, could not be changed.
    Machine(io::Error),
    /// Threads of the engine cannot be moved into control groups.
    NoGroups(io::Error),
}

impl fmt::Display for CannotSteer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotSteer::Unfit(error) => error.fmt(f),
            CannotSteer::State(error) => error.fmt(f),
            CannotSteer::Watchdog(error) => write!(f, "the watchdog does not start: {error}"),
            CannotSteer::NotPermitted { class, error } => {
                let what =
                    if class.is_real_time() { "real-time priorities" } else { "nice values below zero" };
                let grant = "run as root, or grant CAP_SYS_NICE to the program \
                             (setcap cap_sys_nice+ep FILE), or to its container";
                write!(f, "the kernel refuses {what} ({error}): {grant}")
            }
            CannotSteer::NoGroups(error) => f.write_str(&checked::no_groups(error)),
            CannotSteer::Machine(error) => {
                write!(f, "a setting of the machine cannot be changed: {error}; run as root")
            }
        }
    }
}

impl std::error::Error for CannotSteer {}

/// Reason for which the steering loop has ended.
#[derive(Debug)]
pub enum Ended {
    /// It was asked to.
    Asked,
    /// The watchdog has ended or reads no signs of life, so nothing would stop the threads if this loop hung.
    Unwatched(io::Error),
}

/// A tool that steers an engine.
pub struct Tool<D, K> {
    steering: Steering<Checked<D>, K>,
    period: Duration,
    /// The threads of this process that are to be as urgent as the steering loop, with that of the loop; none in a dry
    /// run.
    urgent: Vec<ThreadKey>,
    /// The scheduling of these threads.
    own: Setting,
    /// Path of the state file; `None` for a dry run.
    state: Option<PathBuf>,
    watchdog: Option<Watchdog>,
    processes: Processes,
    kernel: K,
    /// Numbers of threads, groups and settings that tools which were killed had left, and that this one restored at its
    /// begin.
    left_over: Restored,
    notes: Vec<String>,
}

impl<D: Driver, K: Kernel + Clone> Tool<D, K> {
    /// Prepares everything, and gives the calling thread the urgency of the loop: call [`run`](Self::run) on the same
    /// thread. `watchdog` makes the command that runs [`watch`](crate::watchdog::watch) for a state file.
    ///
    /// # Errors
    /// [`CannotSteer`]; everything is then as it was.
    pub fn begin(
        driver: D,
        policy: Box<dyn Policy>,
        plan: Plan,
        watchdog: impl FnOnce(&Path) -> Command,
        with: (Processes, K),
    ) -> Result<Self, CannotSteer> {
        let watchdog = |state: &Path| Watchdog::start(watchdog(state));
        Tool::begin_with(driver, policy, plan, watchdog, with)
    }

    /// Begins as [`begin`](Self::begin) does. `watchdog` starts the watchdog of a state file.
    fn begin_with(
        driver: D,
        policy: Box<dyn Policy>,
        plan: Plan,
        watchdog: impl FnOnce(&Path) -> io::Result<Watchdog>,
        (processes, kernel): (Processes, K),
    ) -> Result<Self, CannotSteer> {
        let Plan { translator, period, states, urgent } = plan;
        let [least, most] = PERIODS;
        let own = translator.of_loop();
        let mut driver = Checked::new(driver, &*policy);
        if translator.needs_groups() && states.is_some() {
            driver.check_groups(processes.clone()).map_err(CannotSteer::NoGroups)?;
        }
        let mut tool = Begun { own, urgent, ..Begun::default() };
        let state_file =
            states.map(|states| tool.prepare(&states, translator, watchdog, (&processes, &kernel)));
        let outcome = state_file.transpose().and_then(|state_file| {
            let applier = Applier::new(kernel.clone(), processes.clone(), state_file);
            Steering::new(driver, policy, translator, applier).map_err(CannotSteer::Unfit)
        });
        let Begun { state, watchdog, left_over, urgent, notes, .. } = tool;
        match outcome {
            Ok(steering) => Ok(Tool {
                steering,
                period: period.clamp(least, most),
                urgent: if state.is_some() { urgent } else { Vec::new() },
                own,
                state,
                watchdog,
                processes,
                kernel,
                left_over,
                notes,
            }),
            Err(error) => {
                if let Some(path) = &state {
                    watchdog.into_iter().for_each(|mut watchdog| watchdog.lower());
                    // The watchdog has ended, and has restored what it could. Changes that it could not undo are tried
                    // once more.
                    let _is_restored = state_file::restore(path, &processes, &kernel);
                }
                Err(error)
            }
        }
    }

    /// Returns what earlier tools had left behind and this one has restored.
    pub fn left_over(&self) -> &Restored {
        &self.left_over
    }

    /// Returns what could not be prepared, though the tool can steer without it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of rounds that were skipped so far.
    pub fn skipped(&self) -> u64 {
        self.steering.skipped()
    }

    /// Runs rounds, one a period, until `is_over` tells so or the watchdog is lost, and calls `each` after each of them.
    pub fn run(&mut self, is_over: impl Fn() -> bool, mut each: impl FnMut(Round)) -> Ended {
        let mut next = Instant::now();
        while !is_over() {
            let now = Instant::now();
            if let Some(watchdog) = &mut self.watchdog
                && let Err(error) = watchdog.beat(now)
            {
                return Ended::Unwatched(error);
            }
            let left = next.saturating_duration_since(now);
            if left.is_zero() {
                self.stay_urgent();
                let round = self.steering.round();
                // After a round that took long the loop rests as long, so that it never takes a core of its own.
                next = (next + self.period).max(Instant::now() + now.elapsed());
                each(round);
            } else {
                thread::sleep(left.min(LOOK));
            }
        }
        Ended::Asked
    }

    /// Gives the own threads their urgency again. The watchdog has taken it away if this process was stopped.
    fn stay_urgent(&self) {
        for thread in &self.urgent {
            if self.kernel.setting(thread.thread).is_ok_and(|setting| setting != self.own)
                && self.processes.lives(*thread).unwrap_or(false)
            {
                // An error means that the thread has just ended, and it needs no urgency then.
                let _has_ended = self.kernel.set(thread.thread, self.own);
            }
        }
    }

    /// Restores everything, and ends the watchdog.
    ///
    /// # Errors
    /// If the state file cannot be read or removed. The watchdog has then tried, too.
    pub fn end(self) -> io::Result<Restored> {
        let Tool { steering, state, mut watchdog, processes, kernel, .. } = self;
        drop(steering);
        watchdog.iter_mut().for_each(Watchdog::lower);
        let restored = state.map(|path| state_file::restore(&path, &processes, &kernel));
        drop(watchdog);
        restored.unwrap_or(Ok(Restored::default()))
    }
}

/// The steps of the begin that were made already, and must be undone if a later one fails.
#[derive(Default)]
struct Begun {
    /// The scheduling of the threads that are to be urgent.
    own: Setting,
    urgent: Vec<ThreadKey>,
    state: Option<PathBuf>,
    watchdog: Option<Watchdog>,
    left_over: Restored,
    notes: Vec<String>,
}

impl Begun {
    /// Makes the state file, starts the watchdog, sets the machine, and makes the calling thread urgent.
    fn prepare(
        &mut self,
        states: &Path,
        translator: Translator,
        watchdog: impl FnOnce(&Path) -> io::Result<Watchdog>,
        (processes, kernel): (&Processes, &impl Kernel),
    ) -> Result<StateFile, CannotSteer> {
        let (mut state_file, left_over) =
            StateFile::create(states, processes, kernel).map_err(CannotSteer::State)?;
        self.left_over = left_over;
        self.state = Some(state_file.path().to_owned());
        let (own, machine) = (self.own, CannotSteer::Machine);
        if own.class.is_real_time() {
            // The watchdog is in the group of this process, and needs its budget, too.
            Group::budget_of(std::process::id(), processes, &mut state_file).map_err(machine)?;
        }
        let watchdog = watchdog(state_file.path()).map_err(CannotSteer::Watchdog)?;
        let is_watched = watchdog.is_privileged();
        self.watchdog = Some(watchdog);
        let set = match translator {
            Translator::Nice(_) => groups::join_sessions(processes, &mut state_file)
                .map_err(|error| format!("nice values act within one session only: {error}")),
            Translator::Shares(_) | Translator::Limits => groups::join_sessions(processes, &mut state_file)
                .map_err(|error| {
                    format!("threads beside the steered ones stay in the groups of their sessions: {error}")
                }),
            Translator::RoundRobin(_) => groups::set_slice(processes, &mut state_file)
                .map_err(|error| format!("the time slice stays as it is: {error}")),
            Translator::Fifo(_) => Ok(()),
        };
        self.notes.extend(set.err());
        if own.class.is_real_time() && !is_watched {
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "the watchdog may not have one");
            return Err(CannotSteer::NotPermitted { class: own.class, error });
        }
        self.urgent.push(processes.own_thread().map_err(machine)?);
        for thread in &self.urgent {
            // A thread that has ended meanwhile needs no urgency.
            if !processes.lives(*thread).map_err(machine)? {
                continue;
            }
            let before = kernel.setting(thread.thread).map_err(machine)?;
            state_file.note_thread(*thread, before).map_err(machine)?;
            match kernel.set(thread.thread, own) {
                Err(error) if is_gone(&error) => {}
                // Control groups divide CPU time also if the loop is not urgent.
                Err(error) if translator.needs_groups() => {
                    let text = format!("thread {} is no more urgent than others: {error}", thread.thread);
                    self.notes.push(text);
                }
                outcome => {
                    outcome.map_err(|error| CannotSteer::NotPermitted { class: own.class, error })?;
                }
            }
        }
        Ok(state_file)
    }
}

#[cfg(test)]
mod tests;
