//! Test bed for policies: an executor with one worker, whose clock moves while operators run, and to the next
//! round if none can.
//!
//! The test bed follows the contract of [`Policy`] to the letter: a round refreshes the whole snapshot, a
//! request for a rank one operator's entry. The rank of an operator is stored as a word, as the workers' board
//! stores it, and operators are compared by their stored words until the next rank is asked for. Fractions of
//! records that result from a selectivity are carried to the next run.

use std::collections::VecDeque;

use thalweg_model::ProcessingTime;

use crate::policy::{Policy, Refresh};
use crate::rank::Rank;
use crate::snapshot::{Completion, Context, OperatorId, OperatorState, QueryId, QueryState, Snapshot};

/// An operator of a test graph: its cost in ns per record, its selectivity, and the numbers of the operators
/// that read its output.
pub(crate) type Row<'a> = (f64, f64, &'a [u32]);

/// Makes a snapshot of operators that can run, from a list in which each stands before the operators that
/// read its output.
pub(crate) fn graph(rows: &[Row<'_>]) -> Snapshot {
    let state = |&(cost_ns_per_record, selectivity, _): &Row<'_>| OperatorState {
        pending: 1,
        cost_ns_per_record,
        selectivity,
        ..OperatorState::default()
    };
    Snapshot {
        operators: rows.iter().map(|row| Some(state(row))).collect(),
        downstream: rows.iter().map(|row| row.2.iter().copied().map(OperatorId).collect()).collect(),
        order: (0..rows.len() as u32).map(OperatorId).collect(),
        ..Snapshot::default()
    }
}

/// Sets for each operator of a test graph among how many copies the records of its input are divided.
pub(crate) fn with_copies(mut snapshot: Snapshot, copies: &[u32]) -> Snapshot {
    for (state, copies) in snapshot.operators.iter_mut().flatten().zip(copies) {
        state.copies = *copies;
    }
    snapshot
}

/// Returns the scores of all operators after a round of ranking. Each operator must have a rank.
pub(crate) fn scores(policy: &mut dyn Policy, snapshot: &Snapshot) -> Vec<f64> {
    policy.prepare(snapshot);
    let score = |operator: &OperatorId| policy.rank(snapshot, *operator).expect("it can run").score;
    snapshot.order.iter().map(score).collect()
}

/// Returns the report of a run of `operator` that took one record and no time.
pub(crate) fn run_of(operator: OperatorId, query: QueryId) -> Completion {
    Completion {
        operator,
        query,
        worker: 0,
        started: ProcessingTime::ZERO,
        ended: ProcessingTime::ZERO,
        records_in: 1,
        records_out: 1,
        watermark: None,
    }
}

/// Description of an operator that the test bed runs.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) query: u32,
    /// Real cost of a record in ns, by which the clock advances.
    pub(crate) cost_ns: u64,
    /// Cost of a record in ns as the policy sees it, which may be wrong.
    pub(crate) measured_cost_ns: f64,
    pub(crate) selectivity: f64,
    pub(crate) readers: Vec<u32>,
    /// True if the task is a source that makes records whenever it is polled.
    pub(crate) is_on_demand: bool,
    /// Capacity of the task's input in records: when the input is full, the writers have no room. For a
    /// source on demand, the most records that it makes in one run.
    pub(crate) room_records: u64,
}

impl Task {
    /// Creates a task of query 0 with unlimited room at its input.
    pub(crate) fn new(cost_ns: u64, selectivity: f64, readers: &[u32]) -> Self {
        Task {
            query: 0,
            cost_ns,
            measured_cost_ns: cost_ns as f64,
            selectivity,
            readers: readers.to_vec(),
            is_on_demand: false,
            room_records: u64::MAX,
        }
    }
}

/// A task of the test bed with its state.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) task: Task,
    /// Records that wait at the task's input, as pairs of arrival time and count.
    input: VecDeque<(ProcessingTime, u64)>,
    pending: u64,
    carried: f64,
    last_run_ended: ProcessingTime,
    /// Instant since which the task can run and does not; `None` if it runs or cannot run.
    waits_since: Option<ProcessingTime>,
    /// Longest time in ns for which the task could run and did not.
    pub(crate) longest_wait_ns: u64,
    pub(crate) received_ns: u64,
    pub(crate) records_in: u64,
}

impl Live {
    fn new(task: Task) -> Self {
        Live {
            task,
            input: VecDeque::new(),
            pending: 0,
            carried: 0.0,
            last_run_ended: ProcessingTime::ZERO,
            waits_since: None,
            longest_wait_ns: 0,
            received_ns: 0,
            records_in: 0,
        }
    }

    fn push(&mut self, now: ProcessingTime, count: u64) {
        if count > 0 {
            self.input.push_back((now, count));
            self.pending += count;
        }
    }

    fn take(&mut self, mut count: u64) {
        self.pending -= count;
        while count > 0 {
            let oldest = self.input.front_mut().expect("what is pending is in the input");
            let taken = count.min(oldest.1);
            (oldest.1, count) = (oldest.1 - taken, count - taken);
            if oldest.1 == 0 {
                self.input.pop_front();
            }
        }
    }
}

/// An executor with one worker and a policy under test.
pub(crate) struct Bed {
    policy: Box<dyn Policy>,
    pub(crate) tasks: Vec<Live>,
    snapshot: Snapshot,
    words: Vec<u64>,
    round_ns: u64,
}

/// Word (a rank as a 64-bit number) that the test bed publishes for a task that cannot run; it is larger than
/// the word of any rank.
const NOTHING: u64 = u64::MAX;

impl Bed {
    /// Creates the test bed. In `tasks`, writers stand before their readers. The first decision begins with a
    /// round of ranking.
    pub(crate) fn new(policy: Box<dyn Policy>, block_records: u32, tasks: Vec<Task>) -> Self {
        let queries = tasks.iter().map(|task| task.query + 1).max().unwrap_or(0) as usize;
        let snapshot = Snapshot {
            workers: 1,
            block_records,
            operators: vec![None; tasks.len()],
            queries: vec![Some(QueryState::default()); queries],
            downstream: tasks
                .iter()
                .map(|task| task.readers.iter().copied().map(OperatorId).collect())
                .collect(),
            order: (0..tasks.len() as u32).map(OperatorId).collect(),
            ..Snapshot::default()
        };
        let words = vec![NOTHING; tasks.len()];
        let tasks = tasks.into_iter().map(Live::new).collect();
        Bed { policy, tasks, snapshot, words, round_ns: 1_000_000 }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.snapshot.now.as_nanos()
    }

    /// Sets the latency gradient of a query that the policy sees from the next round of ranking on.
    pub(crate) fn set_latency_gradient(&mut self, query: u32, latency_gradient: f64) {
        let query = self.snapshot.queries[query as usize].as_mut().expect("it lives");
        query.latency_gradient = latency_gradient;
    }

    /// Returns the number of records for which the input of task `id` has room.
    pub(crate) fn room(&self, id: u32) -> u64 {
        let live = &self.tasks[id as usize];
        live.task.room_records.saturating_sub(live.pending)
    }

    /// Adds records from outside to the input of task `id`.
    pub(crate) fn push(&mut self, id: u32, count: u64) {
        let had_none = self.state(id).pending == 0;
        let now = self.snapshot.now;
        self.tasks[id as usize].push(now, count);
        self.arrived(id, had_none);
        self.settle();
    }

    /// Makes one scheduling decision and returns the task that ran. If no task may run, the clock moves to
    /// the next round of ranking and the result is `None`.
    pub(crate) fn step(&mut self) -> Option<u32> {
        if self.snapshot.now >= self.snapshot.round_end {
            self.round();
        }
        let (word, id) = self.words.iter().copied().zip(0..).min().expect("there are tasks");
        if word == NOTHING {
            self.snapshot.now = self.snapshot.round_end;
            return None;
        }
        self.run(id);
        Some(id)
    }

    /// Returns the tasks that ran in the next `count` decisions, one letter each; `-` if none ran.
    pub(crate) fn steps(&mut self, count: usize) -> String {
        let letter = |id: u32| char::from(b'A' + id as u8);
        (0..count).map(|_| self.step().map_or('-', letter)).collect()
    }

    fn round(&mut self) {
        self.snapshot.round_end = self.snapshot.now.plus_nanos(self.round_ns);
        for id in 0..self.tasks.len() as u32 {
            self.gather(id);
        }
        self.policy.prepare(&self.snapshot);
        if self.policy.refresh().contain(Refresh::EVERY_ROUND) {
            (0..self.tasks.len() as u32).for_each(|id| self.publish(id));
        }
    }

    fn run(&mut self, id: u32) {
        self.gather(id);
        let state = self.state(id);
        assert!(state.can_run(), "{id} cannot run and has a word");
        let (started, index) = (self.snapshot.now, id as usize);
        let quantum = u64::from(self.policy.quantum(&self.snapshot, OperatorId(id)).records.max(1));
        let room = self.tasks[index].task.readers.iter().map(|reader| self.room(*reader)).min();
        let live = &mut self.tasks[index];
        let task = live.task.clone();
        let fits = (room.unwrap_or(u64::MAX) as f64 / task.selectivity.max(1e-9)) as u64;
        let there = if task.is_on_demand { task.room_records } else { state.pending };
        let records_in = there.min(quantum).min(fits.max(1));
        let made = live.carried + records_in as f64 * task.selectivity;
        // Selectivities such as 0.1 are not exact, so a sum of them may be a little less than a whole number.
        // A little is added before the sum is rounded down.
        let records_out = (made + 1e-9).floor();
        let run_ns = records_in * task.cost_ns;
        self.snapshot.now = started.plus_nanos(run_ns);
        let (ended, query) = (self.snapshot.now, QueryId(task.query));
        if !task.is_on_demand {
            live.take(records_in);
        }
        live.carried = made - records_out;
        live.last_run_ended = ended;
        live.received_ns += run_ns;
        live.records_in += records_in;
        live.waits_since = None;
        let records_out = records_out as u64;
        let run = run_of(OperatorId(id), query);
        self.policy.feedback(&Completion { started, ended, records_in, records_out, ..run });
        if self.policy.refresh().contain(Refresh::ON_RETURN) {
            self.publish(id);
        }
        for reader in self.tasks[index].task.readers.clone() {
            let had_none = self.state(reader).pending == 0;
            self.tasks[reader as usize].push(ended, records_out);
            self.arrived(reader, had_none);
        }
        self.settle();
    }

    fn arrived(&mut self, id: u32, had_none: bool) {
        if had_none || self.policy.refresh().contain(Refresh::ON_ARRIVAL) {
            self.publish(id);
        }
    }

    /// Publishes the ranks of tasks that became able or unable to run, and updates how long each task has
    /// waited.
    fn settle(&mut self) {
        let now = self.snapshot.now;
        for id in 0..self.tasks.len() as u32 {
            let can_run = self.state(id).can_run();
            if can_run == (self.words[id as usize] == NOTHING) {
                self.publish(id);
            }
            let live = &mut self.tasks[id as usize];
            let since = *live.waits_since.get_or_insert(now);
            live.longest_wait_ns = live.longest_wait_ns.max(now.nanos_since(since));
            if !can_run {
                live.waits_since = None;
            }
        }
    }

    fn publish(&mut self, id: u32) {
        self.gather(id);
        let can_run = self.state(id).can_run();
        let rank = self.policy.rank(&self.snapshot, OperatorId(id)).filter(|_| can_run);
        self.words[id as usize] = match rank {
            Some(rank) => rank.word(),
            None if can_run && self.policy.conserves_work() => Rank::unranked_word(id),
            None => NOTHING,
        };
    }

    fn gather(&mut self, id: u32) {
        self.snapshot.operators[id as usize] = Some(self.state(id));
    }

    fn state(&self, id: u32) -> OperatorState {
        let live = &self.tasks[id as usize];
        let task = &live.task;
        let blocks = live.pending.div_ceil(u64::from(self.snapshot.block_records.max(1)));
        OperatorState {
            is_source: task.is_on_demand,
            is_sink: task.readers.is_empty(),
            is_on_demand: task.is_on_demand,
            can_output: task.readers.iter().all(|reader| self.room(*reader) > 0),
            pending: if task.is_on_demand { self.snapshot.block_records.into() } else { live.pending },
            oldest_pending: live.input.front().map_or(live.last_run_ended, |oldest| oldest.0),
            cost_ns_per_record: task.measured_cost_ns,
            cost_ns_per_run: task.measured_cost_ns * f64::from(self.snapshot.block_records),
            selectivity: task.selectivity,
            // Each block that waits counts as an open container (an epoch with waiting records), as if every
            // block were an epoch.
            open_containers: u32::try_from(blocks).unwrap_or(u32::MAX),
            head: Context {
                observed: live.input.front().map_or(live.last_run_ended, |oldest| oldest.0),
                token: None,
            },
            ..OperatorState::new(QueryId(task.query), live.last_run_ended)
        }
    }
}
