//! The steering loop: one round asks a driver for a snapshot, lets the policy rank, translates the ranks, and applies
//! what has changed.
//!
//! ```text
//!   driver.observe() -> snapshot, threads -> policy.prepare, policy.rank -> translator -> applier
//! ```
//!
//! A round that cannot be used is skipped and counted, and the priorities of the round before remain: the driver has no
//! answer, or a score is no number. When no round could be used for [`STALE_AFTER`], threads get back what they had.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use thalweg_scheduling::{Fields, OperatorId, Policy, Rank, Scale, Snapshot};

use crate::apply::{Applied, Applier};
use crate::kernel::Kernel;
use crate::setting::{Class, CpuTime, Priority, Setting};
use crate::shares::Member;
use crate::threads::ThreadKey;
use crate::translate::{Curve, Nice, RealTime, Shares, SharesFile, Unusable, bandwidths_us};

/// Time without a round that could be used after which threads get back what they had. A longer time would leave
/// priorities that fit nothing any more, which may be the reason why the engine does not answer.
pub const STALE_AFTER: Duration = Duration::from_secs(30);

/// A running engine whose threads are steered.
pub trait Driver {
    /// Returns the name of the engine, for messages.
    fn name(&self) -> &'static str;

    /// Returns the groups of fields of a snapshot that [`observe`](Driver::observe) fills.
    fn supplies(&self) -> Fields;

    /// Looks at the engine: its operators, with what waits for them, and its threads.
    ///
    /// # Errors
    /// If the engine gives no answer, or none that can be understood. The round is then skipped.
    fn observe(&mut self) -> Result<Observation, Unobserved>;

    /// Returns texts that users should see about the engine since the last call, such as parts of it that are left alone.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// An engine at one moment.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The operators, as a policy sees them. A helper thread with a queue of its own counts as an operator.
    pub snapshot: Snapshot,
    /// The threads that are to be steered.
    pub threads: Vec<Steered>,
    /// Threads by which the engine tells what this observation was made of. On a core that steered threads fill they would
    /// get no time, and later observations would be like this one for ever. So those of processes with a steered thread become
    /// as urgent as the steering loop, unless the form is a control group. The papers leave them alone.
    pub telling: Vec<Telling>,
}

impl Observation {
    /// Lets each source count as a queue that is never empty, as to the earlier Lachesis, to which the policy
    /// `congestion_v1` belongs (section 5.2.1 of the paper). A source for which nothing waits would have no rank otherwise.
    pub fn let_no_source_be_empty(&mut self) {
        let sources = self.snapshot.operators.iter_mut().flatten().filter(|state| state.is_source);
        sources.for_each(|source| source.pending = source.pending.max(1));
    }
}

/// A thread by which an engine tells its metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Telling {
    /// The thread.
    pub key: ThreadKey,
    /// Name of the thread for people.
    pub name: String,
}

/// A thread and the operator whose rank it gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Steered {
    /// The thread.
    pub key: ThreadKey,
    /// Number of the operator in the snapshot.
    pub operator: OperatorId,
    /// Name of the thread for people.
    pub name: String,
}

/// Error: a driver could not look at its engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unobserved(pub String);

impl fmt::Display for Unobserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unobserved {}

/// Error: a policy needs what a driver does not supply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit {
    policy: &'static str,
    driver: &'static str,
    missing: Vec<&'static str>,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unfit { policy, driver, missing } = self;
        write!(f, "policy `{policy}` needs what {driver} does not tell: {}", missing.join(", "))
    }
}

impl std::error::Error for Unfit {}

/// The form in which ranks are given to threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Translator {
    /// Nice values of threads of the usual class.
    Nice(Nice),
    /// Priorities of threads of SCHED_RR, as in the paper.
    RoundRobin(RealTime),
    /// Priorities of threads of SCHED_FIFO.
    Fifo(RealTime),
    /// Shares of control groups, one for each operator.
    Shares(Curve),
    /// Limits of the CPU time of control groups, one for each operator: all of it is divided in the proportion in which
    /// [`Shares`](Self::Shares), logarithmic, would divide it.
    Limits,
}

impl Translator {
    /// Returns true if the threads of an operator get a control group.
    pub const fn needs_groups(self) -> bool {
        matches!(self, Translator::Shares(_) | Translator::Limits)
    }

    /// Returns the setting of the steering loop, and of threads that tell it metrics: a real-time priority above all that are
    /// steered, or the best nice value, which steered threads may have, too. A real-time thread gives way to the watchdog, which
    /// has the same priority, after a time slice.
    pub const fn of_loop(self) -> Setting {
        match self {
            Translator::RoundRobin(_) | Translator::Fifo(_) => {
                Setting::real_time(Class::RoundRobin, RealTime::MOST as u32 + 1)
            }
            Translator::Nice(_) | Translator::Shares(_) | Translator::Limits => Setting::nice(-20),
        }
    }

    /// Returns the priority of each thread. The applier is asked about control groups, if the form needs them.
    fn priorities<K: Kernel>(
        self,
        scale: Scale,
        (threads, ranks): (&[Steered], &[Option<Rank>]),
        applier: &mut Applier<K>,
    ) -> Result<Vec<Priority>, NoPriorities> {
        let (real_time, class) = match self {
            Translator::Nice(nice) => {
                let nice = nice.translate(scale, ranks)?;
                return Ok(nice.into_iter().map(|nice| Setting::nice(nice).into()).collect());
            }
            Translator::Shares(curve) => {
                let shares = Shares { file: applier.shares_file(), curve }.translate(scale, ranks)?;
                return Ok(shares
                    .into_iter()
                    .map(|shares| Priority::Group(CpuTime::Shares(shares)))
                    .collect());
            }
            Translator::Limits => {
                let of_weights = Shares { file: SharesFile::Shares, curve: Curve::Logarithmic };
                let weights = of_weights.translate(scale, ranks)?;
                let all_us = applier.time_us(threads.iter().map(|thread| thread.key))?;
                // All threads of an operator share its limit.
                let by_operator: BTreeMap<OperatorId, u32> =
                    threads.iter().map(|thread| thread.operator).zip(weights).collect();
                let weights: Vec<Option<f64>> =
                    by_operator.values().map(|weight| Some(f64::from(*weight))).collect();
                let limits: BTreeMap<OperatorId, u64> =
                    by_operator.into_keys().zip(bandwidths_us(&weights, all_us)?).collect();
                let limit = |thread: &Steered| Priority::Group(CpuTime::LimitUs(limits[&thread.operator]));
                return Ok(threads.iter().map(limit).collect());
            }
            Translator::RoundRobin(real_time) => (real_time, Class::RoundRobin),
            Translator::Fifo(real_time) => (real_time, Class::Fifo),
        };
        let priorities = real_time.translate(scale, ranks)?;
        Ok(priorities.into_iter().map(|priority| Setting::real_time(class, priority.into()).into()).collect())
    }
}

/// Error: a round has no priorities, and must be skipped.
enum NoPriorities {
    /// A score has no level.
    Unusable(Unusable),
    /// The CPU time that can be divided is not known.
    Unknown(io::Error),
}

impl From<Unusable> for NoPriorities {
    fn from(error: Unusable) -> Self {
        NoPriorities::Unusable(error)
    }
}

impl From<io::Error> for NoPriorities {
    fn from(error: io::Error) -> Self {
        NoPriorities::Unknown(error)
    }
}

/// A thread as a round has treated it, for a table or a log.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The thread with its operator and name.
    pub thread: Steered,
    /// Number of records that waited for the operator.
    pub pending: u64,
    /// Rank of the operator; `None` if it was not eligible.
    pub rank: Option<Rank>,
    /// The priority that the thread is to have: of all its operators, that of the most urgent one.
    pub priority: Priority,
}

/// Result of a round.
#[derive(Debug)]
pub enum Round {
    /// The round was applied.
    Applied {
        /// All threads of the round.
        rows: Vec<Row>,
        /// The changes.
        applied: Applied,
        /// The threads that tell metrics and are as urgent as the steering loop.
        telling: Vec<Telling>,
        /// Texts for users: see [`Driver::notes`].
        notes: Vec<String>,
    },
    /// The round was skipped, for this reason.
    Skipped(String),
}

/// A policy that steers the threads of an engine.
pub struct Steering<D, K> {
    driver: D,
    policy: Box<dyn Policy>,
    translator: Translator,
    applier: Applier<K>,
    /// Number of rounds that were skipped.
    skipped: u64,
    /// The last round that was used.
    used: Instant,
}

impl<D: Driver, K: Kernel> Steering<D, K> {
    /// Makes the steering of an engine.
    ///
    /// # Errors
    /// [`Unfit`] if the policy reads fields that the driver does not supply, or needs reports of runs.
    pub fn new(
        driver: D,
        policy: Box<dyn Policy>,
        translator: Translator,
        applier: Applier<K>,
    ) -> Result<Self, Unfit> {
        let missing = policy.reads().missing_from(driver.supplies());
        if missing.is_empty() {
            return Ok(Steering { driver, policy, translator, applier, skipped: 0, used: Instant::now() });
        }
        Err(Unfit { policy: policy.name(), driver: driver.name(), missing })
    }

    /// Runs one round.
    pub fn round(&mut self) -> Round {
        let observation = match self.driver.observe() {
            Ok(observation) => observation,
            Err(error) => return self.skip(error.to_string()),
        };
        let Observation { snapshot, threads, telling } = observation;
        self.policy.prepare(&snapshot);
        let ranks: Vec<Option<Rank>> =
            threads.iter().map(|thread| self.policy.rank(&snapshot, thread.operator)).collect();
        let waiting = |thread: &Steered| snapshot.operator(thread.operator).map(|state| state.pending);
        let are_empty: Vec<bool> = threads.iter().map(|thread| waiting(thread) == Some(0)).collect();
        let ranks = placed(self.policy.scale(), ranks, &are_empty);
        let priorities =
            self.translator.priorities(self.policy.scale(), (&threads, &ranks), &mut self.applier);
        let priorities = match priorities {
            Ok(priorities) => priorities,
            Err(NoPriorities::Unusable(Unusable { place, score })) => {
                let reason = format!("`{}` has the score {score}", threads[place].name);
                return self.skip(reason);
            }
            Err(NoPriorities::Unknown(error)) => return self.skip(error.to_string()),
        };
        let pending = |operator: OperatorId| snapshot.operator(operator).map_or(0, |state| state.pending);
        // A thread that runs several operators gets the most urgent of their priorities.
        let mut wanted: BTreeMap<ThreadKey, (OperatorId, Priority)> = BTreeMap::new();
        for (thread, priority) in threads.iter().zip(priorities) {
            let most_urgent = wanted.entry(thread.key).or_insert((thread.operator, priority));
            if priority.urgency() > most_urgent.1.urgency() {
                *most_urgent = (thread.operator, priority);
            }
        }
        let row = |(thread, rank): (Steered, Option<Rank>)| {
            let (_, priority) = wanted[&thread.key];
            Row { pending: pending(thread.operator), rank, priority, thread }
        };
        let rows: Vec<Row> = threads.into_iter().zip(ranks).map(row).collect();
        let mut telling = telling;
        let steered: BTreeSet<u32> = wanted.keys().map(|key| key.process).collect();
        telling.retain(|thread| {
            !self.translator.needs_groups()
                && steered.contains(&thread.key.process)
                && !wanted.contains_key(&thread.key)
        });
        let applied = self.apply(&wanted, &telling);
        self.used = Instant::now();
        Round::Applied { rows, applied, telling, notes: self.driver.notes() }
    }

    /// Gives each thread its priority: by itself, or by the control group of its operator. Threads of `telling` become as
    /// urgent as the steering loop.
    fn apply(
        &mut self,
        wanted: &BTreeMap<ThreadKey, (OperatorId, Priority)>,
        telling: &[Telling],
    ) -> Applied {
        if self.translator.needs_groups() {
            let member = |(key, (operator, priority)): (&ThreadKey, &(OperatorId, Priority))| match priority {
                Priority::Group(time) => Some((*key, Member { operator: *operator, time: *time })),
                Priority::Thread(_) => None,
            };
            self.applier.apply_in_groups(&wanted.iter().filter_map(member).collect())
        } else {
            let setting = |(key, (_, priority)): (&ThreadKey, &(OperatorId, Priority))| {
                Some((*key, priority.setting()?))
            };
            let told = telling.iter().map(|thread| (thread.key, self.translator.of_loop()));
            self.applier.apply(&told.chain(wanted.iter().filter_map(setting)).collect())
        }
    }

    fn skip(&mut self, reason: String) -> Round {
        self.skipped += 1;
        if self.used.elapsed() > STALE_AFTER {
            self.apply(&BTreeMap::new(), &[]);
        }
        Round::Skipped(reason)
    }

    /// Returns the number of rounds that were skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Gives operators for which nothing waits the score 0 in the last class that occurs, if ratios of scores mean
/// something. So they have their place in the range, by the formula of Lachesis, and a record that arrives between two
/// rounds does not meet a thread of the lowest priority while all queues are short. Operators that cannot run although
/// something waits for them, since their output is full, remain without a rank; so do all others under other scales,
/// where no score is known to be that of no work.
fn placed(scale: Scale, mut ranks: Vec<Option<Rank>>, are_empty: &[bool]) -> Vec<Option<Rank>> {
    let Some(last) = ranks.iter().flatten().map(|rank| rank.class).max() else { return ranks };
    if scale == Scale::Ratio {
        for (rank, is_empty) in ranks.iter_mut().zip(are_empty) {
            if rank.is_none() && *is_empty {
                *rank = Some(Rank { class: last, score: 0.0, tie: 0 });
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::fs;

    use thalweg_scheduling::by_name;

    use super::*;
    use crate::fake::{FakeKernel, Machine, Told, engine};
    use crate::groups::{Group, Version};

    fn steering(
        machine: &Machine,
        translator: Translator,
        rounds: Vec<Result<Observation, Unobserved>>,
    ) -> Steering<Told, FakeKernel> {
        let state_file = machine.state_file();
        let applier = Applier::new(machine.kernel.clone(), machine.processes.clone(), Some(state_file));
        Steering::new(Told(rounds.into()), by_name("congestion").unwrap(), translator, applier).unwrap()
    }

    /// The longest queue gets the best priority, an empty one its place in the range, and what does not change is left.
    #[test]
    fn the_longest_queue_goes_first() {
        let machine = Machine::new();
        let keys = [71, 72, 73].map(|thread| machine.begin(70, thread, 1));
        let engine = |pending: [u64; 3]| {
            engine(&[(keys[0], pending[0]), (keys[1], pending[1]), (keys[2], pending[2])])
        };
        let rounds = vec![engine([99, 124, 0]), engine([99, 124, 0]), engine([0, 0, 5])];
        let mut steering = steering(&machine, Translator::Nice(Nice::default()), rounds);
        for (expected, changes) in [([-19, -20, 2], 3), ([-19, -20, 2], 0), ([-12, -12, -20], 3)] {
            let Round::Applied { rows, applied, .. } = steering.round() else { panic!("it was skipped") };
            assert_eq!((rows.len(), applied.changes.len()), (3, changes));
            let found: Vec<i32> =
                machine.kernel.of(&keys).into_iter().map(|setting| setting.unwrap().nice).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn real_time_threads_get_the_class_that_is_asked_for() {
        let real_time = RealTime::default();
        for (translator, class) in [
            (Translator::RoundRobin(real_time), Class::RoundRobin),
            (Translator::Fifo(real_time), Class::Fifo),
        ] {
            let machine = Machine::new();
            let keys = [71, 72].map(|thread| machine.begin(70, thread, 1));
            let mut steering = steering(&machine, translator, vec![engine(&[(keys[0], 7), (keys[1], 0)])]);
            assert!(matches!(steering.round(), Round::Applied { .. }));
            let expected = [98, 1].map(|priority| Some(Setting::real_time(class, priority)));
            assert_eq!(machine.kernel.of(&keys), expected);
        }
    }

    /// Threads that tell metrics are as urgent as the steering loop, unless they are steered themselves or nothing of their
    /// process is, and get back what they had. With control groups they stay where they are.
    #[test]
    fn threads_that_tell_metrics_do_not_wait_for_steered_ones() {
        for (translator, expected) in [
            (Translator::Nice(Nice::default()), Some(Setting::nice(-20))),
            (Translator::RoundRobin(RealTime::default()), Some(Setting::real_time(Class::RoundRobin, 99))),
            (Translator::Fifo(RealTime::default()), Some(Setting::real_time(Class::RoundRobin, 99))),
            (Translator::Shares(Curve::Logarithmic), None),
        ] {
            let machine = Machine::new();
            let mut keys = [71, 72, 73].map(|thread| machine.begin(70, thread, 1)).to_vec();
            keys.push(machine.begin(80, 81, 1));
            let steered = [keys[0], keys[1]];
            let home = machine.mount(Version::One, 70);
            let told = |keys: &[ThreadKey]| {
                let telling =
                    keys.iter().map(|key| Telling { key: *key, name: "metrics".to_owned() }).collect();
                let observation = engine(&[(steered[0], 7), (steered[1], 0)]);
                observation.map(|observation| Observation { telling, ..observation })
            };
            let mut steering = steering(&machine, translator, vec![told(&keys[1..]), told(&[])]);
            let Round::Applied { telling, .. } = steering.round() else { panic!("it was skipped") };
            let raised: Vec<ThreadKey> = telling.iter().map(|thread| thread.key).collect();
            assert_eq!(raised, expected.map_or(vec![], |_| vec![keys[2]]), "{translator:?}");
            let found = machine.kernel.of(&keys);
            assert_eq!(found[2], Some(expected.unwrap_or(Setting::DEFAULT)), "{translator:?}");
            assert_eq!(found[3], Some(Setting::DEFAULT), "nothing of its process is steered");
            assert!(expected.is_none() || found[1] != expected, "it is steered");
            let stays = fs::read_to_string(home.list()).unwrap().contains("73");
            assert!(expected.is_some() || stays, "it stays in its group");
            let Round::Applied { .. } = steering.round() else { panic!("it was skipped") };
            assert_eq!(machine.kernel.of(&keys)[2], Some(Setting::DEFAULT), "{translator:?}");
        }
    }

    /// A thread that runs two operators is as urgent as the more urgent one, whichever comes first.
    #[test]
    fn a_thread_of_two_operators_has_the_more_urgent_setting() {
        for pending in [[124, 99], [99, 124]] {
            for translator in [Translator::Nice(Nice::default()), Translator::Fifo(RealTime::default())] {
                let machine = Machine::new();
                let key = machine.begin(70, 71, 1);
                let engine = engine(&pending.map(|pending| (key, pending)));
                let mut steering = steering(&machine, translator, vec![engine]);
                let Round::Applied { rows, .. } = steering.round() else { panic!("it was skipped") };
                let setting = machine.kernel.of(&[key])[0].unwrap();
                assert!(setting.nice == -20 || setting.priority == 98, "{setting:?}");
                assert!(rows.iter().all(|row| row.priority == setting.into()));
            }
        }
    }

    /// With shares the longest queue has the most. An operator that cannot run has the least, and never none. Under
    /// limits all CPU time is divided in the same proportion.
    #[test]
    fn groups_of_operators_get_shares_and_limits() {
        let forms: [(Translator, Version, &str, [&str; 3]); 4] = [
            (Translator::Shares(Curve::Logarithmic), Version::One, "cpu.shares", ["71054", "88818", "655"]),
            (Translator::Shares(Curve::Logarithmic), Version::Two, "cpu.weight", ["6939", "8674", "64"]),
            (Translator::Shares(Curve::Linear), Version::One, "cpu.shares", ["209821", "262144", "2621"]),
            (Translator::Limits, Version::One, "cpu.cfs_quota_us", ["88525", "110658", "1000"]),
        ];
        for (translator, version, file, expected) in forms {
            let machine = Machine::new();
            let keys = [71, 72, 73].map(|thread| machine.begin(70, thread, 1));
            let home = machine.mount(version, 70);
            fs::write(machine.processes.root().join("stat"), "cpu0 1\ncpu1 1\n").unwrap();
            let observed = || engine(&[(keys[0], 99), (keys[1], 124), (keys[2], 0)]);
            let mut steering = steering(&machine, translator, vec![observed(), observed()]);
            for (changes, unchanged) in [(3, 0), (0, 3)] {
                let Round::Applied { rows, applied, .. } = steering.round() else { panic!("it was skipped") };
                assert_eq!((applied.changes.len(), applied.unchanged), (changes, unchanged), "{applied:?}");
                assert!(rows.iter().all(|row| row.priority.setting().is_none()));
            }
            let all = fs::read_dir(&home.folder).unwrap().map(|entry| entry.unwrap().path());
            let all = all.into_iter().find(|path| path.is_dir()).unwrap();
            let found = ["0", "1", "2"].map(|name| {
                let text = fs::read_to_string(all.join(name).join(file)).unwrap();
                text.trim().to_owned()
            });
            assert_eq!(found, expected, "{translator:?}");
            // No round can be used any more. After a while all threads are at home again.
            steering.used = Instant::now().checked_sub(STALE_AFTER * 2).unwrap();
            assert!(matches!(steering.round(), Round::Skipped(_)));
            assert_eq!(fs::read_to_string(home.list()).unwrap().lines().count(), 3);
        }
    }

    /// A thread of two operators is in the group of the more urgent one. Without control groups there are no limits to
    /// divide, so the round is skipped.
    #[test]
    fn a_thread_of_two_operators_is_in_the_group_of_the_more_urgent() {
        for (pending, more_urgent) in [([124, 99], "0"), ([99, 124], "1")] {
            let machine = Machine::new();
            let key = machine.begin(70, 71, 1);
            let home = machine.mount(Version::One, 70);
            let engine = engine(&pending.map(|pending| (key, pending)));
            let mut steering = steering(&machine, Translator::Limits, vec![engine.clone(), engine]);
            let Round::Applied { rows, .. } = steering.round() else { panic!("it was skipped") };
            assert_eq!(rows[0].priority, rows[1].priority);
            let found = Group::of_thread(&machine.processes, &machine.processes.mounts(), key).unwrap();
            assert!(
                found.folder.starts_with(&home.folder) && found.folder.ends_with(more_urgent),
                "{found:?}"
            );
            fs::write(machine.processes.root().join("70/task/71/cgroup"), "").unwrap();
            assert!(matches!(steering.round(), Round::Skipped(why) if why.contains("in no control group")));
        }
    }

    /// A policy for tests whose scores are no numbers.
    struct NoNumbers;

    impl Policy for NoNumbers {
        fn name(&self) -> &'static str {
            "no_numbers"
        }

        fn reads(&self) -> Fields {
            Fields::PENDING
        }

        fn scale(&self) -> Scale {
            Scale::Ratio
        }

        fn rank(&self, _: &Snapshot, operator: OperatorId) -> Option<Rank> {
            Some(Rank { class: 0, score: f64::NAN, tie: operator.0 })
        }
    }

    /// A round whose scores are no numbers is skipped and counted, and nothing is changed.
    #[test]
    fn rounds_without_numbers_are_skipped() {
        let machine = Machine::new();
        let key = machine.begin(70, 71, 1);
        let applier =
            Applier::new(machine.kernel.clone(), machine.processes.clone(), Some(machine.state_file()));
        let (driver, translator) =
            (Told(vec![engine(&[(key, 5)])].into()), Translator::Nice(Nice::default()));
        let mut steering = Steering::new(driver, Box::new(NoNumbers), translator, applier).unwrap();
        assert!(matches!(steering.round(), Round::Skipped(why) if why == "`operator 0` has the score NaN"));
        assert_eq!((steering.skipped(), machine.kernel.of(&[key])), (1, vec![Some(Setting::DEFAULT)]));
    }

    /// A round without an answer is skipped and counted; priorities stay, and the next round goes on.
    #[test]
    fn rounds_without_an_answer_are_skipped() {
        let machine = Machine::new();
        let key = machine.begin(70, 71, 1);
        let rounds = vec![engine(&[(key, 5)]), Err(Unobserved("HTTP 500".to_owned())), engine(&[(key, 0)])];
        let mut steering = steering(&machine, Translator::Nice(Nice::default()), rounds);
        let nice = || machine.kernel.of(&[key])[0].unwrap().nice;
        assert!(matches!(steering.round(), Round::Applied { .. }));
        assert_eq!(nice(), -20);
        assert!(matches!(steering.round(), Round::Skipped(reason) if reason == "HTTP 500"));
        assert_eq!((nice(), steering.skipped()), (-20, 1));
        assert!(matches!(steering.round(), Round::Applied { .. }));
        assert_eq!((nice(), steering.skipped()), (19, 1));
        // No round can be used any more. After a while the thread gets back what it had.
        assert!(matches!(steering.round(), Round::Skipped(_)));
        assert_eq!(nice(), 19);
        steering.used = Instant::now().checked_sub(STALE_AFTER * 2).unwrap();
        assert!(matches!(steering.round(), Round::Skipped(_)));
        assert_eq!((nice(), steering.skipped()), (0, 3));
    }

    /// A policy that needs more than the driver tells is refused, with what is missing.
    #[test]
    fn what_a_driver_does_not_tell_is_named() {
        let refusal = |name: &str| {
            let machine = Machine::new();
            let applier = Applier::new(machine.kernel.clone(), machine.processes.clone(), None);
            let translator = Translator::Nice(Nice::default());
            let made = Steering::new(Told(VecDeque::new()), by_name(name).unwrap(), translator, applier);
            made.err().map(|refusal| refusal.to_string())
        };
        assert_eq!(refusal("congestion"), None);
        assert_eq!(
            refusal("min_cost").as_deref(),
            Some("policy `min_cost` needs what a test does not tell: topology, reports of runs")
        );
        assert_eq!(
            refusal("fcfs").as_deref(),
            Some("policy `fcfs` needs what a test does not tell: oldest pending records")
        );
    }
}
