//! One scheduling decision of a worker, or one event from outside the workers. The task whose run has ended
//! is put back, the tasks that the run concerns are notified, due sources and a due round of ranking are
//! handled, and the next task is taken.

use std::sync::Arc;

use thalweg_memory::sync::{MutexGuard, Ordering, fence};
use thalweg_model::ProcessingTime;
use thalweg_scheduling::{Completion, OperatorId};

use super::body::{Claim, Done, Outcome, TaskBody, discard};
use super::{COPY, Executor, KIND, NOTES_MAX, SOURCE};
use crate::board::{Least, NOTHING};
use crate::error::QueryError;
use crate::meter::{Standing, TaskState};
use crate::observer::Memory;
use crate::query::QueryShared;
use crate::ranker::{Note, ROUND_NS, Ranker};
use crate::task::{Changes, Quantum, StepReport};

/// Maximum number of ready tasks that a worker tries to take and finds held by other workers, before it gives
/// up its choice. The worker then checks the task cells themselves before it sleeps, and does not sleep while
/// a task is ready.
const MISSES_MAX: usize = 8;

/// Two ranks are near if their 64-bit words agree above this many bits: class, sign, exponent and the first
/// three bits of the score, so the scores differ by at most an eighth or so. Between near ranks a worker
/// takes the task whose input is in its cache.
const NEAR_BITS: u32 = 16 + 29;

/// Number of low bits of the 64-bit word of a rank below the class: the class of the rank is the word shifted
/// right by so many bits.
const CLASS_BITS: u32 = 60;

/// Length of a run, in ns, after which a worker counts as held up, so that other workers take the tasks that
/// prefer it. It is as long as the time between two rounds of ranking.
const HELD_UP_NS: u64 = ROUND_NS;

/// Nanoseconds for which a worker must leave ready tasks undone before it wakes a sleeping worker to run
/// them. It is about the cost of waking: the wake-up itself, and the records that then cross cores. Several
/// short intervals add up: where tasks feed each other, there is no ready task for a moment whenever the
/// source runs, and soon there is one again.
pub(super) const WAKE_AFTER_NS: u64 = 50_000;

/// Number of quanta of output that a source may put out in one run. A quantum is the policy's bound on the
/// records of a run. With 2, the chain behind the source processes two blocks with as many scheduling
/// decisions as one block takes, because the records that a filter keeps of two blocks still fit a quantum.
/// Measured on YSB with a quantum of one block of 384 records and a task for each operator: 2 instead of 1
/// makes the query 8 % faster.
const QUANTA_OF_SOURCES: u32 = 2;

/// The values that a worker keeps from one scheduling decision to the next, such as messages to the policy
/// that it could not deliver yet.
pub(crate) struct Bench {
    pub(crate) worker: usize,
    /// Messages to the policy, about runs and tasks that have ended, which this worker has not delivered yet.
    pub(super) notes: Vec<Note>,
    /// True if this worker has just woken up, and no worker that still sleeps has a timer to look for work
    /// soon.
    pub(super) leaves_nobody_to_look: bool,
    /// Number of the task that this worker ran last.
    last: usize,
    pub(super) left: Left,
    /// True if this worker has run a task since it last slept.
    pub(super) has_run: bool,
    /// True if this worker dropped ended tasks in its last decision. Dropping may take long, and does not
    /// count as time spent choosing.
    pub(crate) has_buried: bool,
}

/// Measures how long a worker has left ready tasks undone while another worker slept, to decide when this
/// time exceeds the cost of waking the sleeper. It starts again when the worker itself sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Left {
    /// Nanoseconds for which work was left undone, counted up to the worker's last decision.
    ran_ns: u64,
    /// Instant of the worker's last decision, if that decision left a ready task undone.
    since: Option<ProcessingTime>,
}

impl Left {
    /// Records a decision of the worker: `is_left` tells whether it leaves a ready task undone, and
    /// `expected_ns` is the expected time of the run that it takes. Returns true if the time for which tasks
    /// were left exceeds the cost of waking a sleeping worker; the count then starts again.
    fn note(&mut self, now: ProcessingTime, is_left: bool, expected_ns: u64) -> bool {
        let last_ns = self.since.map_or(0, |since| now.nanos_since(since));
        let ran_ns = self.ran_ns.saturating_add(last_ns);
        let is_worth_it = is_left && WAKE_AFTER_NS <= ran_ns.saturating_add(expected_ns);
        *self = if is_worth_it { Left::default() } else { Left { ran_ns, since: is_left.then_some(now) } };
        is_worth_it
    }
}

impl Bench {
    pub(crate) fn new(worker: usize) -> Self {
        Bench {
            worker,
            notes: Vec::with_capacity(NOTES_MAX),
            leaves_nobody_to_look: false,
            last: 0,
            left: Left::default(),
            has_run: false,
            has_buried: false,
        }
    }
}

/// One scheduling decision of a worker, or one event from outside such as a submit, with the tasks that must
/// be dropped afterwards.
pub(super) struct Turn<'a> {
    pub(super) executor: &'a Executor,
    /// The ranker (which asks the policy for ranks), locked by this thread; `None` if another thread holds
    /// the lock.
    pub(super) ranker: Option<MutexGuard<'a, Ranker>>,
    /// The values of the worker that decides; `None` for an event from outside, which waits for the ranker's
    /// lock.
    pub(super) bench: Option<&'a mut Bench>,
    pub(super) now: ProcessingTime,
    /// Tasks that have ended. They are dropped after the decision, because dropping them runs user code.
    #[expect(clippy::vec_box, reason = "tasks come in boxes, and a box is what is cheap to move")]
    pub(super) ended: Vec<Box<TaskBody>>,
    pub(super) unused: Vec<QueryError>,
}

impl Turn<'_> {
    /// Ends the decision: releases the lock of the ranker, then drops the tasks that have ended. Dropping
    /// runs code of operators, sinks and users' values. A panic there can no longer change the outcome of the
    /// query, and must not end the worker.
    pub(super) fn end(self) {
        let Turn { ranker, ended, unused, bench, .. } = self;
        drop(ranker);
        if let Some(bench) = bench {
            bench.has_buried = !ended.is_empty() || !unused.is_empty();
        }
        ended.into_iter().for_each(discard);
        unused.into_iter().for_each(discard);
    }

    /// Takes a task back from the worker that has run it, and notifies the tasks that the run concerns.
    pub(super) fn complete(&mut self, done: Done) {
        let Done { claim: Claim { mut body }, started, outcome } = done;
        // SeqCst: what the run has published comes before the looks at task cells and at the positions of
        // edges below. A worker that puts a task back as idle has such a fence before its last look at the
        // input. So one of the two sees the other's writes.
        fence(Ordering::SeqCst);
        let changes = body.probe.changes_since(&body.reach);
        let Changes { wrote, closed, freed, gave_back } = changes;
        if wrote {
            for place in 0..body.downstream.len() {
                // The input of the reading task was just written on this core, so it is in this core's cache.
                self.prefer_this_worker(body.downstream[place]);
                self.notify(body.downstream[place]);
            }
        }
        if closed {
            (0..body.further.len()).for_each(|place| self.notify(body.further[place]));
        }
        if gave_back {
            (0..body.peers.len()).for_each(|place| self.notify(body.peers[place]));
        }
        if freed {
            (0..body.upstream.len()).for_each(|place| self.call_idle(body.upstream[place]));
        }
        match outcome {
            Outcome::Ran(StepReport { records_in, records_out, watermark, ended: false, .. }) => {
                let worker = self.bench.as_ref().map_or(0, |bench| bench.worker);
                let completion = Completion {
                    operator: body.operator,
                    query: body.query.id,
                    worker: u32::try_from(worker).expect("the number of workers is bounded"),
                    started,
                    ended: self.now,
                    records_in,
                    records_out,
                    watermark,
                };
                self.tell(Note::Ran { completion, serial: body.query.serial() });
                if body.note_run(changes, records_in, self.now) {
                    return self.give_up(body);
                }
                self.put(body);
            }
            // The step reported that the task's stream has ended, so the task ends.
            Outcome::Ran(_) => self.bury(body),
            Outcome::Failed(error) => {
                let query = Arc::clone(&body.query);
                self.bury(body);
                self.fail(&query, *error);
            }
        }
    }

    /// Ends the query of a task that is stuck, with an error that names the tasks which wait for each other.
    #[cold]
    fn give_up(&mut self, body: Box<TaskBody>) {
        let query = Arc::clone(&body.query);
        let error = body.stuck_error();
        self.bury(body);
        self.fail(&query, error);
    }

    fn tell(&mut self, note: Note) {
        match (&mut self.ranker, &mut self.bench) {
            (Some(ranker), _) => ranker.hear(note),
            (None, Some(bench)) => bench.notes.push(note),
            (None, None) => unreachable!("from outside the ranker is waited for"),
        }
    }

    /// Has a task checked for new work: by the thread that has taken it from its cell, if one has; by the
    /// next worker that takes it, if it is ready; and by this thread otherwise.
    pub(super) fn notify(&mut self, operator: OperatorId) {
        let place = operator.0 as usize;
        let cell = &self.executor.cells[place];
        if cell.is_ready() {
            // The task is ready already, so the worker that takes it will see the new input. But more input
            // may improve its rank.
            let is_worth_more = self.ranker.as_ref().is_some_and(|ranker| ranker.ranks_on_arrival());
            if is_worth_more && let Some(body) = cell.take() {
                self.put(body);
            }
        } else {
            self.call_idle(operator);
        }
    }

    /// Notifies a task that may have got room for output, but no new input. If the task is ready it already
    /// had room, and its rank has not changed.
    fn call_idle(&mut self, operator: OperatorId) {
        let cell = &self.executor.cells[operator.0 as usize];
        if !cell.is_ready()
            && let Some(body) = cell.notify()
        {
            self.put(body);
        }
    }

    /// Makes this worker the preferred worker of a task that it has fed or runs, unless the task is one of
    /// several copies of an operator. Each worker has a copy of its own: the state that a copy has gathered
    /// and the blocks that it claims are in the cache of its preferred worker, even if another worker runs
    /// the copy once.
    fn prefer_this_worker(&self, operator: OperatorId) {
        if let Some(bench) = &self.bench {
            let preferred = &self.executor.preferred_workers[operator.0 as usize];
            let before = preferred.load(Ordering::Relaxed);
            let after = bench.worker as u32 | before & KIND;
            if before != after && before & COPY == 0 {
                preferred.store(after, Ordering::Relaxed);
            }
        }
    }

    /// Puts a task, which this thread has taken from its cell, back into the cell according to its state:
    /// ready with its rank, or idle. A task whose query has ended is ended instead.
    fn put(&mut self, mut body: Box<TaskBody>) {
        let place = body.operator.0 as usize;
        loop {
            if !body.query.is_running() {
                return self.bury(body);
            }
            let mut standing = body.look(self.now);
            if standing != Standing::Ready {
                // SeqCst: a worker that made work for the task and then found its cell ready, as it was
                // before this thread took the task, has not notified the task. That worker's fence stands
                // between its publication and its look at the cell. The fence here stands between the taking
                // of the cell and the look at the task. The side whose fence is later sees what the other
                // wrote before its fence. That worker saw the cell ready, so the fence here is the later one,
                // and the look below sees the work.
                fence(Ordering::SeqCst);
                standing = body.look(self.now);
            }
            body.note_state(standing.into(), self.now);
            if standing == Standing::Blocked && body.probe.is_held() {
                (0..body.downstream.len()).for_each(|reader| self.notify(body.downstream[reader]));
            }
            let word = match standing {
                Standing::Ready => self.word(&mut body),
                Standing::Blocked | Standing::Idle { .. } => None,
            };
            self.executor.ranks.set(place, word.unwrap_or(NOTHING));
            if body.probe.waits_for_time() {
                let due = if let Standing::Idle { due } = standing { due } else { ProcessingTime::NEVER };
                self.executor.wait_for(body.operator, due);
            }
            match self.executor.cells[place].put(body, word.is_some()) {
                Ok(()) => return,
                // Another thread notified the task while this thread put it back as idle. So this thread
                // still holds the task and checks it again.
                Err(held) => body = held,
            }
        }
    }

    /// Returns the rank, as a word, under which a ready task is published. If another worker has the ranker's
    /// lock, the task's last rank is used again.
    fn word(&mut self, body: &mut TaskBody) -> Option<u64> {
        if let Some(ranker) = &mut self.ranker {
            match ranker.word(body, self.now) {
                Some(word) => body.word = word,
                None => {
                    self.executor.holds_back.store(true, Ordering::Relaxed);
                    return None;
                }
            }
        }
        Some(body.word)
    }

    /// Ends a task that this thread has taken from its cell. The task is dropped when the decision ends.
    fn bury(&mut self, mut body: Box<TaskBody>) {
        let place = body.operator.0 as usize;
        self.executor.ranks.set(place, NOTHING);
        self.executor.dues.set(place, NOTHING);
        self.executor.cells[place].retire();
        self.tell(Note::Ended { operator: body.operator, serial: body.query.serial() });
        body.note_ended(self.now);
        self.ended.push(body);
    }

    /// Fails a query, and ends its tasks that no worker has taken from their cells. A task that a worker has
    /// taken ends when it is put back.
    pub(super) fn fail(&mut self, query: &QueryShared, error: QueryError) {
        match query.fail(error) {
            None => self.bury_tasks(query),
            // The query has already ended, or another thread ends it, so this error is not reported.
            unused => self.unused.extend(unused),
        }
    }

    /// Ends the tasks of a failed query that no worker has taken from their cells.
    pub(super) fn bury_tasks(&mut self, query: &QueryShared) {
        for operator in query.tasks() {
            let cell = &self.executor.cells[operator.0 as usize];
            if let Some(body) = cell.take_any().or_else(|| cell.notify()) {
                // The query has failed, so `put` ends the task. If the task had ended before, its place may
                // have a task of another query; `put` returns that task to its cell.
                self.put(body);
            }
        }
    }

    /// Notifies the sources, and the copies of parallel tasks, whose due time has come.
    pub(super) fn call_due(&mut self) {
        let Executor { dues, next_due_ns, .. } = self.executor;
        next_due_ns.store(NOTHING, Ordering::Relaxed);
        // SeqCst: this fence pairs with the fence in `wait_for`, so that no due time published meanwhile is
        // missed.
        fence(Ordering::SeqCst);
        let now_ns = self.now.as_nanos();
        let next_ns = dues.visit_up_to(now_ns, |place| self.notify(OperatorId(place as u32)));
        if next_ns != NOTHING {
            next_due_ns.fetch_min(next_ns, Ordering::Relaxed);
        }
    }

    /// Runs a round of ranking: the policy prepares with fresh measurements of all tasks. Then all tasks that
    /// are ready or wait for a round are ranked again.
    pub(super) fn round(&mut self) {
        let Executor { cells, clock, next_round_ns, holds_back, pool, .. } = self.executor;
        let Some(ranker) = &mut self.ranker else { return };
        // No other worker begins a round of ranking meanwhile, because this worker holds the lock of the
        // ranker.
        next_round_ns.store(self.now.plus_nanos(ROUND_NS).as_nanos(), Ordering::Relaxed);
        let memory = Memory::of(pool);
        ranker.prepare(self.now, memory, |operator| cells[operator.0 as usize].is_held());
        let (places, takes_idle) = (ranker.observer().places(), !ranker.conserves_work());
        holds_back.store(false, Ordering::Relaxed);
        for cell in &cells[..places] {
            let body = if takes_idle { cell.take_any() } else { cell.take() };
            if let Some(body) = body {
                self.put(body);
            }
        }
        if let Some(ranker) = &mut self.ranker {
            let next = ranker.next_round(self.now, clock.now());
            next_round_ns.store(next.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Takes the ready task whose published rank is best, or a task with a near rank whose input is in this
    /// core's cache (see `prefer_local`).
    pub(super) fn choose(&mut self) -> Option<Claim> {
        let executor = self.executor;
        if executor.is_closed() {
            return None;
        }
        let (mut misses, mut miss_count) = ([0; MISSES_MAX], 0);
        while miss_count < MISSES_MAX {
            let least = executor.ranks.least_but(&misses[..miss_count])?;
            let index = if miss_count == 0 { self.prefer_local(least) } else { least.index };
            let Some(body) = executor.cells[index].take() else {
                misses[miss_count] = index;
                miss_count += 1;
                continue;
            };
            if !body.query.is_running() || body.query.is_paused() {
                // A task whose query has ended or is paused must not run. `put` ends it or makes it idle, and
                // looks at it again behind a fence.
                self.put(body);
                continue;
            }
            if !executor.idle.is_single() {
                // The rank is removed, so that other workers do not try this task while this worker runs it.
                // With a single worker this is not needed, because the worker ranks the task again before its
                // next choice.
                executor.ranks.set(index, NOTHING);
            }
            return Some(self.claim(body));
        }
        None
    }

    /// Returns the number of the task to run: the one with the best rank, or the best of the tasks that
    /// prefer this worker if its rank is near enough.
    ///
    /// The rank decides between classes, and about sources, whose records are in no cache. The records that
    /// another worker has just written are in the cache of its core, and that worker will soon come back for
    /// them. So within a class a worker first takes a task that prefers it, unless the other worker sleeps or
    /// is held up by a long run. Otherwise two workers would take every block from each other (see "Rank and
    /// cache" in ARCHITECTURE.md).
    fn prefer_local(&self, least: Least) -> usize {
        let (executor, Some(bench)) = (self.executor, &self.bench) else { return least.index };
        if !executor.prefers_workers {
            return least.index;
        }
        let preferred_of = |index: usize| executor.preferred_workers[index].load(Ordering::Relaxed);
        let is_local = |index: usize| preferred_of(index) & !KIND == bench.worker as u32;
        if is_local(least.index) {
            return least.index;
        }
        let preferred = preferred_of(least.index);
        let is_left_to_others = preferred & SOURCE == 0 && self.comes_back(preferred & !KIND);
        let bits = if is_left_to_others { CLASS_BITS } else { NEAR_BITS };
        let is_wanted = |index: usize, word: u64| word >> bits == least.word >> bits && is_local(index);
        let near = executor.ranks.least_near(least.index, is_wanted);
        let near = near.or_else(|| executor.ranks.least_near(bench.last, is_wanted));
        near.map_or(least.index, |near| near.index)
    }

    /// Returns true if a worker is awake and its current run has been so short that it will look for work
    /// soon.
    fn comes_back(&self, worker: u32) -> bool {
        let since = self.executor.run_since_ns.get(worker as usize);
        let since_ns = since.map_or(NOTHING, |since| since.load(Ordering::Relaxed));
        since_ns != NOTHING && self.now.as_nanos().saturating_sub(since_ns) < HELD_UP_NS
    }

    fn claim(&mut self, mut body: Box<TaskBody>) -> Claim {
        let mut cost_ns = 0.0;
        if let Some(ranker) = &mut self.ranker {
            cost_ns = ranker.observer().cost_ns(body.operator);
            // An operator fills a block of records before it hands the block to the workers that run the next
            // operator, unless filling it takes longer than `ROUND_NS`, the time between two rankings of all
            // operators.
            let is_short = cost_ns * f64::from(body.bundle_records) <= ROUND_NS as f64;
            let records_min = if is_short { body.bundle_records } else { 0 };
            let records = ranker.quantum(body.operator, self.now).max(records_min);
            let quanta = if body.probe.is_source() { QUANTA_OF_SOURCES } else { 1 };
            let made_records = body.made_records.max(records);
            body.quantum =
                Quantum { records: records.saturating_mul(quanta).min(body.run_records), made_records };
        }
        body.note_state(TaskState::Running, self.now);
        self.prefer_this_worker(body.operator);
        if let Some(bench) = &mut self.bench {
            (bench.last, bench.has_run) = (body.operator.0 as usize, true);
            body.probe.note_core(bench.worker);
            self.executor.run_since_ns[bench.worker].store(self.now.as_nanos(), Ordering::Relaxed);
        }
        self.share_work(&body, cost_ns);
        body.probe.note_reach(&mut body.reach);
        Claim { body }
    }

    /// Wakes a sleeping worker if the tasks left undone take longer than the wake-up costs.
    fn share_work(&mut self, taken: &TaskBody, cost_ns: f64) {
        let (executor, now) = (self.executor, self.now);
        let Some(bench) = &mut self.bench else { return };
        if std::mem::take(&mut bench.leaves_nobody_to_look) && executor.idle.seems_to_have_sleepers() {
            // While this worker is in its run, no worker would watch the time at which sources become due. So
            // a sleeping worker is woken for that.
            executor.idle.wake_one();
        }
        if executor.idle.is_single() || !executor.idle.has_sleepers() {
            bench.left = Left::default();
            return;
        }
        let pending = if taken.probe.is_on_demand() { u64::MAX } else { taken.probe.pending_rows(now) };
        let records = pending.min(u64::from(taken.quantum.records));
        if bench.left.note(now, executor.ranks.least().is_some(), (cost_ns * records as f64) as u64) {
            executor.idle.wake_one();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
