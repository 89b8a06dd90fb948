//! Control groups for operators: the threads of each operator are in a group of their own, and groups divide the CPU time.
//!
//! ```text
//!   home                           the group in which the engine's threads were; the others stay here
//!     thalweg-steer-PID-START      all steered threads, with the CPU time that they would have at home
//!       0, 1, 2, ..                a group for each operator, with its shares or its limit
//! ```
//!
//! A round compares what it wants with what the files of the groups say, and writes only what differs. So threads that
//! the watchdog has moved home during a pause, and changes from outside, are mended by the next round. A thread that a
//! steered thread has started begins in the group of its parent; the next round moves it home. A round ends at its
//! deadline, also after a pause of the tool, and the next one goes on where it has ended.
//!
//! The group of an operator that no round names any more is removed when it is empty, and so is the group of all steered
//! threads when it has no others in it. The line of a removed group stays in the state file: a line of a group that is not there
//! does no harm, while a group without a line would stay for ever.
//!
//! The group of all steered threads has 1,024 shares (a weight of 100 in version 2) for each of them, as the kernel gives a
//! thread with nice value 0 that is in no group of its own. So threads at home, such as those of a garbage collector, keep
//! their CPU time however many threads are steered.
//!
//! **Version 2** allows the threads of one process in several groups if these are threaded, which the tool makes them. Home
//! gives them the controller `cpu`, which is noted and taken back. Home may not give other controllers that count
//! processes, such as `memory`; the kernel refuses that.
//!
//! **Real time.** A new group has no real-time budget, so the kernel refuses to move a real-time thread into it. This is
//! told as such.
//!
//! Bounds: [`GROUPS_MAX`], [`LIST_BYTES_MAX`], [`UNNAMED_ROUNDS_MAX`], `PASSES_MAX`, and
//! [`APPLY_MAX`](crate::bounds::APPLY_MAX).
//!
//! Source: the Lachesis of 2021 gives shares to groups; groups of single operators below the engine's own are ours.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use thalweg_scheduling::OperatorId;

use crate::apply::{Applied, Change};
use crate::groups::{Group, Version, read_number, told};
use crate::kernel::Kernel;
use crate::setting::{CpuTime, Priority};
use crate::state_file::{Part, StateFile, write_setting};
use crate::threads::{Processes, ThreadKey, is_gone};
use crate::translate::SharesFile;

/// Greatest number of control groups that a tool makes for operators. The kernel looks at each of them on each core.
pub const GROUPS_MAX: usize = 4_096;

/// Most bytes of the list of a group's threads that are read: over a hundred thousand threads.
pub const LIST_BYTES_MAX: u64 = 1 << 20;

/// Period of a new group in µs, for which a limit of its CPU time holds: the kernel's default.
pub const PERIOD_US: u64 = 100_000;

/// Number of rounds in a row that do not name an operator after which its group is removed. A thread of two operators
/// changes from one group to the other without a group being made each time.
pub const UNNAMED_ROUNDS_MAX: u32 = 16;

/// Greatest number of times that the threads of a group are moved home, while new ones begin.
const PASSES_MAX: u32 = 16;

/// The words that switch the controller `cpu` on and off for groups below a group of version 2.
const WITH_CONTROLLER: &str = "+cpu";
pub(crate) const WITHOUT_CONTROLLER: &str = "-cpu";

/// A thread that is to be in the group of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The operator.
    pub operator: OperatorId,
    /// The CPU time of the control group of the operator. All members of a group have the same value.
    pub time: CpuTime,
}

/// The control groups that one steering process has made, with what is left to do for them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Text of the list of mounted file systems, as it was at the first round.
    mounts: Option<String>,
    /// The groups that were made, by the group above them all, in which the engine's threads were before.
    homes: BTreeMap<Group, Home>,
    /// Folders of groups, and files, that have a line in the state file.
    noted: BTreeSet<PathBuf>,
    /// Processes whose threads were told to leave the kernel's group of their session: number, and start of the main thread.
    left_sessions: BTreeSet<(u32, Option<u64>)>,
    /// Threads that have still to leave the kernel's group of their session, each with the engine's control group
    /// below which the tool has made its groups.
    leaving: VecDeque<(Group, ThreadKey)>,
    /// The operator, with the control group of its engine, for which the last round had no time. The next round begins
    /// with it.
    next: Option<(Group, OperatorId)>,
}

/// The groups that the tool has made below one control group of an engine.
#[derive(Debug)]
struct Home {
    /// The group above those of all operators.
    all: Group,
    /// True if the group of all steered threads was made.
    is_made: bool,
    /// Operators that have groups.
    operators: BTreeMap<OperatorId, Operator>,
}

/// The state of an operator that has a control group.
#[derive(Debug, Default)]
struct Operator {
    /// CPU time that the last round which named the operator gave to its group; `None` if none was given yet.
    time: Option<CpuTime>,
    /// Number of rounds in a row that have not named the operator.
    unnamed_rounds: u32,
}

/// The place of a thread in one of the groups that the tool has made.
#[derive(Clone)]
struct Place {
    home: Group,
    /// Operator of the group; `None` for the group of all steered threads, in which no thread is to stay.
    operator: Option<OperatorId>,
    /// CPU time that the last round gave to the group.
    time: Option<CpuTime>,
}

/// The parts of an applier that are needed to move threads between control groups.
pub(crate) struct With<'a, K> {
    pub kernel: &'a K,
    pub processes: &'a Processes,
    /// The open state file of the steering process; `None` for a dry run.
    pub state_file: Option<&'a mut StateFile>,
    /// Instant after which the round begins no further step, such as the move of a thread.
    pub deadline: Instant,
}

/// The time of one part of a round, such as moving threads home. A part makes at least one step, so that rounds get on
/// however late it is.
struct Pace {
    deadline: Instant,
    has_begun: bool,
}

impl Pace {
    fn until(deadline: Instant) -> Self {
        Pace { deadline, has_begun: false }
    }

    /// Returns true if there is time for one more step; always for the first one.
    fn has_time(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true) || Instant::now() < self.deadline
    }
}

/// The CPU time and the threads that a round wants for the control group of an operator.
struct Target {
    time: CpuTime,
    members: Vec<ThreadKey>,
}

impl Groups {
    /// Returns the text of `/proc/mounts`, as it was at the first call.
    pub fn mounts(&mut self, processes: &Processes) -> &str {
        self.mounts.get_or_insert_with(|| processes.mounts())
    }

    /// Returns the control group in which a thread is, or in which it was before the tool moved it.
    pub fn home_of(&mut self, key: ThreadKey, processes: &Processes) -> io::Result<Group> {
        let found = Group::of_thread(processes, self.mounts(processes), key)?;
        let home = self.homes.iter().find(|(_, home)| found.folder.starts_with(&home.all.folder));
        Ok(home.map_or(found, |(group, _)| group.clone()))
    }

    /// Brings each thread into the group of its operator, and gives the groups their CPU time. All other threads that
    /// are in groups of the tool go home. What is not done at the deadline is left to the next round.
    pub fn apply<K: Kernel>(
        &mut self,
        wanted: &BTreeMap<ThreadKey, Member>,
        mut with: With<'_, K>,
    ) -> Applied {
        let mut applied = Applied::default();
        let mut places = self.places();
        let now = Instant::now();
        let half = now + with.deadline.saturating_duration_since(now) / 2;
        take_home(wanted, &mut places, (with.kernel, Pace::until(half)), &mut applied);
        let targets = self.targets(wanted, &places, &with, &mut applied);
        let named: BTreeSet<(Group, OperatorId)> =
            targets.iter().map(|(home, operator, _)| (home.clone(), *operator)).collect();
        let mut sizes: BTreeMap<Group, usize> = BTreeMap::new();
        for (home, _, target) in &targets {
            *sizes.entry(home.clone()).or_default() += target.members.len();
        }
        let mut prepared: BTreeMap<Group, io::Result<()>> = BTreeMap::new();
        let mut pace = Pace::until(with.deadline);
        for (home, operator, Target { time, members }) in targets {
            let Some(state_file) = with.state_file.as_deref_mut() else {
                let change = |key| Change { key, from: None, to: Priority::Group(time) };
                applied.changes.extend(members.into_iter().map(change));
                continue;
            };
            if !pace.has_time() {
                applied.postponed += members.len() as u64;
                self.next.get_or_insert((home, operator));
                continue;
            }
            let above = prepared
                .entry(home.clone())
                .or_insert_with(|| self.prepare(&home, sizes[&home], (with.kernel, &mut *state_file)));
            let made = match above {
                Ok(()) => self.prepare_operator(&home, operator, time, (with.kernel, state_file)),
                Err(error) => Err(again(error)),
            };
            let (group, had) = match made {
                Ok(made) => made,
                Err(error) => {
                    applied.failures.extend(members.into_iter().map(|key| (key, again(&error))));
                    continue;
                }
            };
            let mut own_pace = Pace::until(with.deadline);
            for key in members {
                let before = places.get(&key.thread);
                let outcome = match before {
                    Some(place) if place.operator == Some(operator) => {
                        Ok(if had == Some(time) { Given::Unchanged } else { Given::Changed(had) })
                    }
                    _ if !own_pace.has_time() => {
                        applied.postponed += 1;
                        self.next.get_or_insert((home.clone(), operator));
                        continue;
                    }
                    _ => enter(key, (&group, &home), (with.kernel, with.processes)).map(|is_there| {
                        let had = before.and_then(|place| place.time);
                        if is_there { Given::Changed(had) } else { Given::Ended }
                    }),
                };
                count(&mut applied, key, time, outcome);
            }
        }
        if with.state_file.is_some() {
            let homes = prepared.into_iter().filter(|(_, outcome)| outcome.is_ok()).map(|(home, _)| home);
            self.see_sessions(homes.collect(), wanted, with.processes);
            self.leave_sessions((with.kernel, with.processes), Pace::until(with.deadline));
            let placed: BTreeSet<OperatorId> = named.iter().map(|(_, operator)| *operator).collect();
            let unplaced = wanted.values().map(|member| member.operator);
            let unplaced = unplaced.filter(|operator| !placed.contains(operator)).collect();
            self.remove_unnamed((&named, &unplaced), (with.kernel, Pace::until(with.deadline)));
        }
        applied
    }

    /// Returns the operators that a round names with their threads, by the engine's control group and by number. The
    /// order begins with the operator for which the last round had no time.
    fn targets<K>(
        &mut self,
        wanted: &BTreeMap<ThreadKey, Member>,
        places: &BTreeMap<u32, Place>,
        with: &With<'_, K>,
        applied: &mut Applied,
    ) -> Vec<(Group, OperatorId, Target)> {
        let mut targets: BTreeMap<(Group, OperatorId), Target> = BTreeMap::new();
        let mut pace = Pace::until(with.deadline);
        for (&key, &Member { operator, time }) in wanted {
            let home = match places.get(&key.thread) {
                Some(place) => Ok(place.home.clone()),
                None if !pace.has_time() => {
                    applied.postponed += 1;
                    continue;
                }
                None => self.home_of(key, with.processes),
            };
            match home {
                Ok(home) => {
                    let target = targets.entry((home, operator));
                    target.or_insert_with(|| Target { time, members: Vec::new() }).members.push(key);
                }
                Err(error) if is_gone(&error) && with.processes.lives(key).is_ok_and(|lives| !lives) => {
                    applied.ended += 1;
                }
                Err(error) => applied.failures.push((key, error)),
            }
        }
        let mut targets: Vec<(Group, OperatorId, Target)> =
            targets.into_iter().map(|((home, operator), target)| (home, operator, target)).collect();
        if let Some((home, operator)) = self.next.take() {
            let is_before =
                |(other, number, _): &(Group, OperatorId, Target)| (other, number) < (&home, &operator);
            let first = targets.partition_point(is_before);
            targets.rotate_left(first);
        }
        targets
    }

    /// Lists the threads of the engine's processes, and of this process, that must leave the kernel's group of their
    /// session, where that was not done before. The groups of the tool below `homes` must have been made.
    fn see_sessions(
        &mut self,
        homes: BTreeSet<Group>,
        wanted: &BTreeMap<ThreadKey, Member>,
        processes: &Processes,
    ) {
        let Some(first) = homes.into_iter().next() else { return };
        let of_engine: BTreeSet<u32> = wanted.keys().map(|key| key.process).collect();
        let mut seen = BTreeSet::new();
        for process in of_engine.into_iter().chain([std::process::id()]) {
            let main = processes.key(process, process).ok().flatten();
            let identity = (process, main.map(|key| key.started));
            if seen.insert(identity) && !self.left_sessions.contains(&identity) {
                for thread in processes.threads(process).unwrap_or_default() {
                    let key = processes.key(process, thread).ok().flatten();
                    self.leaving.extend(key.map(|key| (first.clone(), key)));
                }
            }
        }
        // Processes that have ended are forgotten: another one may get the number. One that a round does not name is not.
        let started = |process: u32| processes.key(process, process).ok().flatten().map(|key| key.started);
        self.left_sessions.retain(|(process, began)| began.is_some() && started(*process) == *began);
        self.left_sessions.extend(seen);
    }

    /// Lets threads leave the group that the kernel makes of their session, which switching these groups off does not do for
    /// threads that run already: it has the CPU time of one thread only. A thread leaves it when it is moved, so each thread
    /// is moved into the group of all steered threads and back. A thread that cannot be moved there stays as it is. One that
    /// is steered already is left alone.
    fn leave_sessions<K: Kernel>(&mut self, (kernel, processes): (&K, &Processes), mut pace: Pace) {
        while !self.leaving.is_empty() && pace.has_time() {
            let Some((home, key)) = self.leaving.pop_front() else { break };
            let Ok(before) = Group::of_thread(processes, self.mounts(processes), key) else { continue };
            // By the groups below its own one if there are any, so that a kill between the two moves sends it home.
            let home = self.homes.get(&before).or_else(|| self.homes.get(&home));
            let Some(all) = home.map(|home| home.all.clone()) else { continue };
            let is_same = || processes.lives(key).unwrap_or(false);
            let is_steered = self.homes.values().any(|home| before.folder.starts_with(&home.all.folder));
            if is_steered || !is_same() {
                continue;
            }
            // If the thread has ended between the moves, its number may belong to another one, which is left where it is. A
            // thread that stays in the group of all, as a child that begins there, is taken home by the next round.
            if kernel.move_thread(key.thread, &all.list()).is_ok() && is_same() {
                let _is_back = kernel.move_thread(key.thread, &before.list());
            }
        }
    }

    /// Removes the groups of operators that were not named for [`UNNAMED_ROUNDS_MAX`] rounds, if they are empty, and groups
    /// of all steered threads that have no others in them. `unplaced` are operators that the round names and whose home is not
    /// known.
    fn remove_unnamed<K: Kernel>(
        &mut self,
        (named, unplaced): (&BTreeSet<(Group, OperatorId)>, &BTreeSet<OperatorId>),
        (kernel, mut pace): (&K, Pace),
    ) {
        let mut is_removed = |group: &Group| {
            pace.has_time()
                && match kernel.remove_group(&group.folder) {
                    Ok(()) => true,
                    // A thread has begun there meanwhile, or someone else has removed it.
                    Err(error) => error.kind() == io::ErrorKind::NotFound,
                }
        };
        self.homes.retain(|home, Home { all, is_made, operators }| {
            operators.retain(|number, operator| {
                let is_named = named.contains(&(home.clone(), *number)) || unplaced.contains(number);
                operator.unnamed_rounds =
                    if is_named { 0 } else { operator.unnamed_rounds.saturating_add(1) };
                operator.unnamed_rounds < UNNAMED_ROUNDS_MAX || !is_removed(&group_of(all, *number))
            });
            let is_named = named.iter().any(|(other, _)| other == home);
            let is_empty = *is_made && operators.is_empty() && !is_named && unplaced.is_empty();
            !(is_empty && is_removed(all))
        });
    }

    /// Returns the threads that are in groups of the tool, by their numbers. A group whose list cannot be read is
    /// forgotten, and made again when it is needed.
    fn places(&mut self) -> BTreeMap<u32, Place> {
        let mut places = BTreeMap::new();
        // An engine that is started again may be in another control group each time.
        self.homes.retain(|_, home| home.all.folder.exists());
        for (home, Home { all, operators, .. }) in &mut self.homes {
            let place = Place { home: home.clone(), operator: None, time: None };
            places.extend(threads_of(all).into_iter().flatten().map(|thread| (thread, place.clone())));
            operators.retain(|number, operator| {
                let threads = threads_of(&group_of(all, *number));
                let is_there = threads.is_ok();
                let place = Place { home: home.clone(), operator: Some(*number), time: operator.time };
                places.extend(threads.into_iter().flatten().map(|thread| (thread, place.clone())));
                is_there
            });
        }
        places
    }

    /// Makes the group of all steered threads below `home` if it is missing, and gives it the shares of `size`
    /// threads.
    fn prepare<K: Kernel>(
        &mut self,
        home: &Group,
        size: usize,
        (kernel, state_file): (&K, &mut StateFile),
    ) -> io::Result<()> {
        let Groups { homes, noted, .. } = self;
        let name = state_file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Home { all, is_made, .. } = homes.entry(home.clone()).or_insert_with(|| Home {
            all: Group { folder: home.folder.join(format!("thalweg-{name}")), version: home.version },
            is_made: false,
            operators: BTreeMap::new(),
        });
        if !*is_made {
            make(all, home, (kernel, &mut *state_file, &mut *noted))?;
            if home.version == Version::Two {
                enable(home, state_file, noted)?;
                enable(all, state_file, noted)?;
            }
            *is_made = true;
        }
        let (each, file) = match all.version {
            Version::One => (1_024, SharesFile::Shares),
            Version::Two => (100, SharesFile::Weight),
        };
        let (least, most) = file.bounds();
        let shares = u32::try_from(size).unwrap_or(u32::MAX).saturating_mul(each).clamp(least, most);
        write_number(all, CpuTime::Shares(shares)).map(|_| ())
    }

    /// Makes the group of an operator if it is missing, and gives it its CPU time. Returns the group and the CPU time that
    /// it had before.
    fn prepare_operator<K: Kernel>(
        &mut self,
        home: &Group,
        operator: OperatorId,
        time: CpuTime,
        (kernel, state_file): (&K, &mut StateFile),
    ) -> io::Result<(Group, Option<CpuTime>)> {
        let Groups { homes, noted, .. } = self;
        let count: usize = homes.values().map(|home| home.operators.len()).sum();
        let Some(Home { all, operators, .. }) = homes.get_mut(home) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let group = group_of(all, operator);
        if !operators.contains_key(&operator) {
            if count >= GROUPS_MAX {
                return Err(io::Error::other(format!(
                    "more than {GROUPS_MAX} control groups would be needed: start the tool again, or take nice"
                )));
            }
            make(&group, home, (kernel, state_file, noted))?;
        }
        operators.insert(operator, Operator { time: Some(time), unnamed_rounds: 0 });
        let had = write_number(&group, time)?;
        Ok((group, had))
    }
}

/// Moves the threads that are in groups of the tool and that a round does not name back to the engine's control group,
/// and takes them out of `places`.
fn take_home<K: Kernel>(
    wanted: &BTreeMap<ThreadKey, Member>,
    places: &mut BTreeMap<u32, Place>,
    (kernel, mut pace): (&K, Pace),
    applied: &mut Applied,
) {
    let numbers: BTreeSet<u32> = wanted.keys().map(|key| key.thread).collect();
    for (thread, place) in places.extract_if(.., |thread, _| !numbers.contains(thread)) {
        if !pace.has_time() {
            applied.postponed += 1;
            continue;
        }
        match kernel.move_thread(thread, &place.home.list()) {
            Ok(()) => applied.put_back += 1,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => applied.ended += 1,
            // The process of the thread is not known: the thread may be a child of the engine.
            Err(error) => applied.failures.push((ThreadKey { process: 0, thread, started: 0 }, error)),
        }
    }
}

/// The outcome for a thread that is in its group, or has ended.
enum Given {
    /// The thread has other CPU time than before. The value is the earlier one: of its group, or of the group from
    /// which it was moved.
    Changed(Option<CpuTime>),
    Unchanged,
    Ended,
}

/// Counts the outcome for a thread in the result of the round.
fn count(applied: &mut Applied, key: ThreadKey, time: CpuTime, outcome: io::Result<Given>) {
    match outcome {
        Ok(Given::Changed(from)) => {
            let (from, to) = (from.map(Priority::Group), Priority::Group(time));
            applied.changes.push(Change { key, from, to });
        }
        Ok(Given::Unchanged) => applied.unchanged += 1,
        Ok(Given::Ended) => applied.ended += 1,
        Err(error) => applied.failures.push((key, error)),
    }
}

/// Returns an error of this kind and text once more, for another thread.
fn again(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

/// Returns the group of an operator below the group of all steered threads.
fn group_of(all: &Group, operator: OperatorId) -> Group {
    Group { folder: all.folder.join(operator.0.to_string()), version: all.version }
}

/// Makes a group after it was written down, unless it was made before. A folder that is there and was not made by this
/// tool is an error, since it would be removed at the end.
fn make<K: Kernel>(
    group: &Group,
    home: &Group,
    (kernel, state_file, noted): (&K, &mut StateFile, &mut BTreeSet<PathBuf>),
) -> io::Result<()> {
    let refused = |error: io::Error| {
        told(
            "make the control group",
            &group.folder,
            &io::Error::new(error.kind(), format!("{error}; {GRANT}")),
        )
    };
    if !noted.contains(&group.folder) {
        if group.folder.exists() {
            return Err(refused(io::ErrorKind::AlreadyExists.into()));
        }
        state_file.note_group(&group.folder, home)?;
        noted.insert(group.folder.clone());
    }
    match kernel.make_group(&group.folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        outcome => outcome.map_err(refused)?,
    }
    if group.version == Version::Two {
        write(&group.folder.join("cgroup.type"), "threaded")?;
    }
    Ok(())
}

/// Gives the controller `cpu` to the groups below a group of version 2, unless they have it.
fn enable(group: &Group, state_file: &mut StateFile, noted: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let path = group.folder.join("cgroup.subtree_control");
    let text = read_text(&path)?;
    if text.split_whitespace().any(|name| name == "cpu") {
        return Ok(());
    }
    // The switch of a group that the tool has made goes with the group.
    let is_own = noted.contains(&group.folder);
    if !is_own && !noted.contains(&path) {
        state_file.note_controller(&path)?;
        noted.insert(path.clone());
    }
    write(&path, WITH_CONTROLLER)
}

fn write(path: &Path, word: &str) -> io::Result<()> {
    write_setting(path, word).map_err(|error| told(format_args!("write {word} to"), path, &error))
}

/// Writes the CPU time of a group into its file unless it stands there already. Returns the CPU time that stood there.
fn write_number(group: &Group, time: CpuTime) -> io::Result<Option<CpuTime>> {
    let file = group.folder.join(match (time, group.version) {
        (CpuTime::Shares(_), Version::One) => "cpu.shares",
        (CpuTime::Shares(_), Version::Two) => "cpu.weight",
        (CpuTime::LimitUs(_), Version::One) => "cpu.cfs_quota_us",
        (CpuTime::LimitUs(_), Version::Two) => "cpu.max",
    });
    let had = read_number(&file)?;
    let number = time.number();
    if had != number {
        write_setting(&file, number)
            .map_err(|error| told(format_args!("write {number} to"), &file, &error))?;
    }
    Ok(time.with_number(had))
}

/// Moves a thread into a group; returns `false` if the thread has ended.
fn enter<K: Kernel>(
    key: ThreadKey,
    (group, home): (&Group, &Group),
    (kernel, processes): (&K, &Processes),
) -> io::Result<bool> {
    if !processes.lives(key)? {
        return Ok(false);
    }
    let moved = kernel.move_thread(key.thread, &group.list());
    if !processes.lives(key)? {
        // The number may belong to another thread by now, which was moved in its place.
        if moved.is_ok() {
            let _is_gone = kernel.move_thread(key.thread, &home.list());
        }
        return Ok(false);
    }
    moved.map(|()| true).map_err(|error| {
        let is_real_time = kernel.setting(key.thread).is_ok_and(|setting| setting.class.is_real_time());
        let why = if is_real_time {
            "; the thread is real-time, and a new control group has no real-time budget: take it to the usual class first"
        } else {
            ""
        };
        let error = io::Error::new(error.kind(), format!("{error}{why}"));
        told(format_args!("write {} to", key.thread), &group.list(), &error)
    })
}

/// Hint for error messages: the things to grant where control groups cannot be made.
pub(crate) const GRANT: &str = "run as root, or grant a writable control group of the controller cpu: the group in which \
                                the engine runs, with the files in it, must belong to this user, and a container must \
                                see it writable";

/// Checks that threads can be moved to and from the groups in which they are now. Changes nothing.
///
/// # Errors
/// If a list of threads cannot be written, or if a thread is in no group. A thread that has ended is no error.
pub(crate) fn check(threads: impl IntoIterator<Item = ThreadKey>, processes: &Processes) -> io::Result<()> {
    let mounts = processes.mounts();
    let mut checked = BTreeSet::new();
    for key in threads {
        // Other threads of a process are almost always in the same group.
        if !checked.insert(key.process) {
            continue;
        }
        let group = match Group::of_thread(processes, &mounts, key) {
            Err(error) if is_gone(&error) && !processes.lives(key)? => continue,
            found => found?,
        };
        let mut files = vec![group.list()];
        if group.version == Version::Two {
            files.extend(["cgroup.procs", "cgroup.subtree_control"].map(|name| group.folder.join(name)));
        }
        for file in files {
            let opened = File::options().write(true).open(&file);
            opened.map_err(|error| told("write to", &file, &error))?;
        }
    }
    Ok(())
}

/// Takes all threads of a group home, and removes the group if everything is to be restored. Returns the number of
/// threads that were moved.
///
/// # Errors
/// If a thread cannot be moved, or if the group cannot be removed. The kind is `NotFound` if there is no such group.
pub(crate) fn leave(group: &Group, home: &Group, part: Part, kernel: &impl Kernel) -> io::Result<u64> {
    let mut moved = empty(group, home, kernel)?;
    if part == Part::Threads {
        return Ok(moved);
    }
    for pass in 1.. {
        match kernel.remove_group(&group.folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && pass < PASSES_MAX => {
                moved += empty(group, home, kernel)?;
            }
            Err(error) => return Err(told("remove", &group.folder, &error)),
            Ok(()) => break,
        }
    }
    Ok(moved)
}

/// Moves all threads of a group home, also those that begin meanwhile.
fn empty(group: &Group, home: &Group, kernel: &impl Kernel) -> io::Result<u64> {
    let (list, mut moved) = (home.list(), 0);
    for _ in 0..PASSES_MAX {
        let threads = threads_of(group)?;
        if threads.is_empty() {
            return Ok(moved);
        }
        let mut refused = None;
        for thread in threads {
            match kernel.move_thread(thread, &list) {
                Ok(()) => moved += 1,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                // The other threads are moved all the same. The kind of this error is not `NotFound`, since a missing
                // home is no sign that the group is missing.
                Err(error) => {
                    refused = Some(io::Error::other(format!("{thread} to {}: {error}", list.display())));
                }
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
    }
    let text = format!("threads begin faster in {} than they are moved", group.folder.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, text))
}

/// Returns the numbers of the threads of a group. The kernel writes 0 for those of other namespaces, which are left out.
fn threads_of(group: &Group) -> io::Result<Vec<u32>> {
    let text = read_text(&group.list())?;
    Ok(text.lines().filter_map(|line| line.trim().parse().ok()).filter(|thread| *thread != 0).collect())
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LIST_BYTES_MAX + 1).read_to_string(&mut text));
    let read = read.map_err(|error| told("read", path, &error))?;
    if read as u64 > LIST_BYTES_MAX {
        let text = format!("{} has more than {LIST_BYTES_MAX} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
