//! One decision of a worker, or one thing that happens from outside: what ended is put back, what it makes a difference
//! to is called, due sources and rounds are seen to, and the next task is taken.

use std::sync::Arc;

use thalweg_memory::sync::{MutexGuard, Ordering, fence};
use thalweg_model::ProcessingTime;
use thalweg_scheduling::{Completion, OperatorId};

use super::body::{Claim, Done, Outcome, TaskBody, discard};
use super::{COPY, Executor, KIND, NOTES_MAX, SOURCE};
use crate::board::{Least, NOTHING};
use crate::error::QueryError;
use crate::meter::{Standing, TaskState};
use crate::query::QueryShared;
use crate::ranker::{Memory, Note, ROUND_NS, Ranker};
use crate::task::{Changes, Quantum, StepReport};

/// Ready tasks that turn out to be held by others before a worker gives up for this time. It then looks whether to sleep,
/// at the cells themselves, and does not while one is ready.
const MISSES_MAX: usize = 8;

/// Two ranks whose words agree above so many bits are near: class, sign, exponent and the first three bits of the
/// score, which is an eighth of its value. Between near ranks a worker takes what is hot on its core.
const NEAR_BITS: u32 = 16 + 29;

/// Above so many bits of a word is its class.
const CLASS_BITS: u32 = 60;

/// A worker whose run takes longer than this is held up: others take what lies hot on its core. As long as a round.
const HELD_UP_NS: u64 = ROUND_NS;

/// While workers that are awake have run for so long with more to do beside it, a sleeper is woken: about what waking costs, the
/// wake-up itself and the records that then cross cores. The time need not be in one piece: where tasks feed each other,
/// nothing is left for a moment whenever the source runs, and soon there is again.
pub(super) const WAKE_AFTER_NS: u64 = 50_000;

/// A source is given so many quanta, of what it puts out: the chain behind it then works off two blocks by as many
/// choices as it takes for one, since what a filter leaves of two still fits a quantum. At one block of 384 records a
/// quantum that is 8 % of YSB's speed with every operator a task of its own.
const QUANTA_OF_SOURCES: u32 = 2;

/// What a worker keeps between two decisions.
pub(crate) struct Bench {
    pub(crate) worker: usize,
    /// What the ranker has not heard yet.
    pub(super) notes: Vec<Note>,
    /// Whether it has woken up, and nobody who still sleeps will look soon by itself.
    pub(super) leaves_nobody_to_look: bool,
    /// The place of the task that it ran last.
    last: usize,
    pub(super) left: Left,
    /// Whether it has run anything since it slept.
    pub(super) has_run: bool,
    /// Whether it has dropped tasks in its last turn, which takes as long as it takes, and is no choosing.
    pub(crate) has_buried: bool,
}

/// How long a worker has had more to do than it could take while another slept, since it last slept itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Left {
    /// Before its last decision.
    ran_ns: u64,
    /// When that was, if it left something.
    since: Option<ProcessingTime>,
}

impl Left {
    /// Takes note of a decision, which leaves something to do or not, and what it takes up will take `expected_ns`. Answers
    /// whether that makes it worth a call; then it begins anew.
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

/// One decision, or one thing that happens from outside: who takes part in it, and what it leaves.
pub(super) struct Turn<'a> {
    pub(super) executor: &'a Executor,
    /// If nobody else has it.
    pub(super) ranker: Option<MutexGuard<'a, Ranker>>,
    /// None from outside, where the ranker is waited for.
    pub(super) bench: Option<&'a mut Bench>,
    pub(super) now: ProcessingTime,
    /// Tasks that have ended: to be dropped when the turn is over, for that runs user code.
    #[expect(clippy::vec_box, reason = "tasks come in boxes, and a box is what is cheap to move")]
    pub(super) ended: Vec<Box<TaskBody>>,
    pub(super) unused: Vec<QueryError>,
}

impl Turn<'_> {
    /// Ends the turn: lets the ranker go, then drops what has ended. That runs code of operators, sinks and users'
    /// values; one that panics now can no longer change what became of its query, and must not take the worker with
    /// it.
    pub(super) fn end(self) {
        let Turn { ranker, ended, unused, bench, .. } = self;
        drop(ranker);
        if let Some(bench) = bench {
            bench.has_buried = !ended.is_empty() || !unused.is_empty();
        }
        ended.into_iter().for_each(discard);
        unused.into_iter().for_each(discard);
    }

    /// Takes a task back from the worker that ran it, and calls those to which its run makes a difference.
    pub(super) fn complete(&mut self, done: Done) {
        let Done { claim: Claim { mut body }, started, outcome } = done;
        // SeqCst: what the run has published comes before the looks at cells and cursors below. Whoever puts a task to
        // rest has such a fence before his last look; of the two, one sees the other.
        fence(Ordering::SeqCst);
        let changes = body.probe.changes_since(&body.reach);
        let Changes { wrote, closed, freed, gave_back } = changes;
        if wrote {
            for place in 0..body.downstream.len() {
                // What it is to read lies in this core's cache.
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
            // Its part is done.
            Outcome::Ran(_) => self.bury(body),
            Outcome::Failed(error) => {
                let query = Arc::clone(&body.query);
                self.bury(body);
                self.fail(&query, *error);
            }
        }
    }

    /// Ends the query of a task that is stuck.
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

    /// Lets somebody look whether a task has something to do now: whoever holds it, or takes it next, or else us.
    pub(super) fn notify(&mut self, operator: OperatorId) {
        let place = operator.0 as usize;
        let cell = &self.executor.cells[place];
        if cell.is_ready() {
            // Whoever takes it will see; but what it is worth may have changed.
            let is_worth_more = self.ranker.as_ref().is_some_and(|ranker| ranker.ranks_on_arrival());
            if is_worth_more && let Some(body) = cell.take() {
                self.put(body);
            }
        } else {
            self.call_idle(operator);
        }
    }

    /// The same where nothing has come in: one that is ready has room, and is worth as much as before.
    fn call_idle(&mut self, operator: OperatorId) {
        let cell = &self.executor.cells[operator.0 as usize];
        if !cell.is_ready()
            && let Some(body) = cell.notify()
        {
            self.put(body);
        }
    }

    /// Makes this worker the preferred worker of a task that it has fed or runs, unless the task is a copy, of which each worker
    /// has one: what a copy has gathered, and the blocks that it claims, lie with its preferred worker, whichever worker
    /// runs it for once.
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

    /// Puts a task back as it stands: ready with its rank, or idle.
    fn put(&mut self, mut body: Box<TaskBody>) {
        let place = body.operator.0 as usize;
        loop {
            if !body.query.is_running() {
                return self.bury(body);
            }
            let mut standing = body.look(self.now);
            if standing != Standing::Ready {
                // SeqCst: whoever has made work and then found the cell ready, as it was before we took it, has not
                // called. Of his fence and this one the later side sees the other's: this look sees his work.
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
                // Called meanwhile.
                Err(held) => body = held,
            }
        }
    }

    /// The word under which a task that is ready is published. If another worker has the ranker, the last one stands.
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

    /// Ends a task that we hold; it is dropped with the turn.
    fn bury(&mut self, mut body: Box<TaskBody>) {
        let place = body.operator.0 as usize;
        self.executor.ranks.set(place, NOTHING);
        self.executor.dues.set(place, NOTHING);
        self.executor.cells[place].retire();
        self.tell(Note::Ended { operator: body.operator, serial: body.query.serial() });
        body.note_ended(self.now);
        self.ended.push(body);
    }

    /// Makes a query fail, and ends those of its tasks that nobody holds; the others end when they are put back.
    pub(super) fn fail(&mut self, query: &QueryShared, error: QueryError) {
        match query.fail(error) {
            None => self.bury_tasks(query),
            // It has ended, or somebody else ends it.
            unused => self.unused.extend(unused),
        }
    }

    /// Ends those tasks of a query that has failed which nobody holds.
    pub(super) fn bury_tasks(&mut self, query: &QueryShared) {
        for operator in query.tasks() {
            let cell = &self.executor.cells[operator.0 as usize];
            if let Some(body) = cell.take_any().or_else(|| cell.notify()) {
                // Of another query, if this task has ended before and its place was given away.
                self.put(body);
            }
        }
    }

    /// Calls the tasks whose time has come.
    pub(super) fn call_due(&mut self) {
        let Executor { dues, next_due_ns, .. } = self.executor;
        next_due_ns.store(NOTHING, Ordering::Relaxed);
        // SeqCst: see `wait_for`.
        fence(Ordering::SeqCst);
        let now_ns = self.now.as_nanos();
        let next_ns = dues.visit_up_to(now_ns, |place| self.notify(OperatorId(place as u32)));
        if next_ns != NOTHING {
            next_due_ns.fetch_min(next_ns, Ordering::Relaxed);
        }
    }

    /// A round: the policy prepares, and all that is ready, or waits for a round, is ranked anew.
    pub(super) fn round(&mut self) {
        let Executor { cells, clock, next_round_ns, holds_back, pool, .. } = self.executor;
        let Some(ranker) = &mut self.ranker else { return };
        // Nobody else begins one meanwhile.
        next_round_ns.store(self.now.plus_nanos(ROUND_NS).as_nanos(), Ordering::Relaxed);
        let memory = Memory::of(pool);
        ranker.prepare(self.now, memory, |operator| cells[operator.0 as usize].is_held());
        let (places, takes_idle) = (ranker.places(), !ranker.conserves_work());
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

    /// Takes the ready task whose published rank is best, or one that is hot on this core (see `prefer_local`).
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
                // `put` looks again behind a fence, as for any task that it puts to rest.
                self.put(body);
                continue;
            }
            if !executor.idle.is_single() {
                // Others need not try; a single worker ranks it anew before it looks again.
                executor.ranks.set(index, NOTHING);
            }
            return Some(self.claim(body));
        }
        None
    }

    /// The best task, or the best of those that prefer this worker if that is near enough.
    ///
    /// The rank decides between classes, and about sources, whose records lie in nobody's cache. But what another
    /// worker has just written lies in the cache of its core, and it will come back for it soon; so of one class a
    /// worker takes what is that prefers it first, unless the other sleeps or is held up by a long run. Else two
    /// workers would take every block from each other (DESIGN, "Records stay on the core where they were made").
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

    /// Whether a worker is awake and will look for work soon.
    fn comes_back(&self, worker: u32) -> bool {
        let since = self.executor.run_since_ns.get(worker as usize);
        let since_ns = since.map_or(NOTHING, |since| since.load(Ordering::Relaxed));
        since_ns != NOTHING && self.now.as_nanos().saturating_sub(since_ns) < HELD_UP_NS
    }

    fn claim(&mut self, mut body: Box<TaskBody>) -> Claim {
        let mut cost_ns = 0.0;
        if let Some(ranker) = &mut self.ranker {
            cost_ns = ranker.cost_ns(body.operator);
            // A block that is handed over should be full, unless that takes longer than a round.
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

    /// Wakes a sleeper if more is left to do than waking costs.
    fn share_work(&mut self, taken: &TaskBody, cost_ns: f64) {
        let (executor, now) = (self.executor, self.now);
        let Some(bench) = &mut self.bench else { return };
        if std::mem::take(&mut bench.leaves_nobody_to_look) && executor.idle.seems_to_have_sleepers() {
            // One of those who sleep looks at the time while this worker runs something.
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
