//! Who runs next, and what happens when a run ends.
//!
//! ```text
//!              +-> [Board] ranks: how urgent each task is -------+
//!   publish ---+   [Board] dues: when each source is due ------->+-- choose --> [Baton] of a task -- take --> run
//!              +-> [Baton] per task: idle, ready or held         |                                             |
//!   policy  ---- [Ranker], behind a lock that is only tried      +---------------- put back <-----------------+
//! ```
//!
//! A worker that comes back from a run makes work runnable at once: it calls the tasks that read what was written, and
//! those that had no room and have some now. Then it puts its own task back and takes the one whose published rank is
//! best. None of this waits for a lock, but in one case: the ranker is only tried, and if another worker has it, ranks
//! stay as they were for a moment; only a worker whose notes are full waits for it.
//!
//! Who holds a task (by its [`Baton`]) is the only one that looks at it, ranks it and writes its words on the boards.
//! A task is ready when it has something to do and could do it. What makes a task ready is
//!
//! * another task's run: that worker calls it;
//! * time, for a source: its due time stands on the board, and every worker that comes by looks at the least of them;
//! * something from outside, a submit, a handle, a chunk that was made: whoever does it calls the task.
//!
//! A call that finds the task held leaves a note, and the holder looks again. `idle/README.md` tells how workers sleep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_memory::sync::{
    AtomicBool, AtomicU32, AtomicU64, CacheAligned, Mutex, MutexGuard, Ordering, fence,
};
use thalweg_memory::{Baton, Pool, Reservation};
use thalweg_model::{Clock, Counts, Fault, ProcessingTime};
use thalweg_scheduling::{Completion, OperatorId, Policy, Rank, Scale};

use crate::board::{Board, Least, NOTHING};
use crate::error::{PlanError, QueryError};
use crate::graph::{Built, BuiltTask};
use crate::idle::{Awoken, Idle, Outlook};
use crate::limits;
use crate::meter::{Meter, Standing, TaskState};
use crate::query::{Entry, OperatorCounts, QueryShared, SeenTask, TaskOfQuery};
use crate::ranker::{NewTask, Note, ROUND_NS, Ranker};
use crate::task::{Probe, Quantum, Reach, StepReport, Task};

/// Ready tasks that turn out to be held by others before a worker gives up and looks whether to sleep, which it then
/// does not. There can be no more of them than workers, and each is taken off the board by its holder at once.
const MISSES_MAX: usize = 8;

/// Two ranks whose words agree above so many bits are near: class, sign, exponent and the first three bits of the
/// score, which is an eighth of its value. Between near ranks a worker takes what is hot on its core.
const NEAR_BITS: u32 = 16 + 29;

/// Above so many bits of a word is its class.
const CLASS_BITS: u32 = 60;

/// A worker whose run takes longer than this is held up: others take what lies hot on its core. As long as a round.
const HELD_UP_NS: u64 = ROUND_NS;

/// For so long work is left to the workers that are awake before a sleeper is woken for it: about what waking costs,
/// the wake-up itself and the records that then cross cores.
const WAKE_AFTER_NS: u64 = 50_000;

/// See [`limits::NOTES_PER_WORKER`].
const NOTES_MAX: usize = limits::NOTES_PER_WORKER.default as usize;

/// Notes that one turn may leave, unless a query fails in it: the run, and the end of its task.
const NOTES_PER_TURN: usize = 2;

/// A source is given so many quanta, of what it puts out: the chain behind it then works off two blocks by as many
/// choices as it takes for one, since what a filter leaves of two still fits a quantum. At one block of 384 records a
/// quantum that is 8 % of YSB's speed with every operator a task of its own.
const QUANTA_OF_SOURCES: u32 = 2;

/// Behind a filter a source makes more than it puts out. So many blocks it may make in any case, for the filter may keep
/// nothing; beyond that, what it makes is what the policy's quantum counts.
const BLOCKS_MADE: u32 = 8;

/// Nobody's home.
const HOMELESS: u32 = u32::MAX >> 1;

/// Beside a home: the task is a source.
const SOURCE: u32 = 1 << 31;

/// Tasks, ranks and sleepers.
pub(crate) struct Executor {
    batons: Box<[Baton<TaskBody>]>,
    /// By which worker a task was fed or run last, and whether it is a [`SOURCE`]. Relaxed: a preference.
    homes: Box<[AtomicU32]>,
    /// Since when each worker has been at its run, in ns; `NOTHING` while it sleeps. Relaxed: a hint.
    run_since_ns: Box<[CacheAligned<AtomicU64>]>,
    ranks: Board,
    dues: Board,
    /// No later than the least of `dues`, in ns. See [`wait_for`](Executor::wait_for).
    next_due_ns: AtomicU64,
    /// When the next round is due, in ns. Relaxed: renewed under the ranker's lock.
    next_round_ns: AtomicU64,
    /// Whether a task waits for a round to rank it.
    holds_back: AtomicBool,
    ranker: Mutex<Ranker>,
    block_records: u32,
    /// See [`limits::RUN_BYTES`].
    run_bytes: u64,
    /// Whether workers may take what is hot before what ranks higher: the policy's scores mean amounts, and it asks for
    /// no literal order.
    keeps_home: bool,
    idle: Idle,
    pool: Arc<Pool>,
    pub(crate) clock: Arc<dyn Clock>,
    is_closed: AtomicBool,
    /// Nanoseconds that workers spent choosing. Relaxed: a counter for reports.
    scheduling_ns: AtomicU64,
    /// Queries that have come in. Relaxed: a counter, raised under the ranker's lock.
    submitted: AtomicU64,
}

/// How long runs are.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    pub(crate) block_records: u32,
    /// See [`limits::RUN_BYTES`].
    pub(crate) bytes_max: u64,
}

/// A task with all that the worker which runs it needs.
pub(crate) struct TaskBody {
    pub(crate) name: String,
    pub(crate) operator: OperatorId,
    pub(crate) task: Box<dyn Task>,
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    /// Pays for the state and buffers of the task.
    pub(crate) state: Reservation,
    /// Who writes what it reads, and who reads what it writes.
    upstream: Box<[OperatorId]>,
    downstream: Box<[OperatorId]>,
    stands: TaskState,
    stands_since: ProcessingTime,
    /// The most records that a run takes.
    run_records: u32,
    /// As last ranked.
    word: u64,
    quantum: Quantum,
    /// Last, so that the query hears of the end of a task when all of it is gone.
    pub(crate) query: TaskOfQuery,
}

/// A task that a worker has been given.
pub(crate) struct Claim {
    pub(crate) body: Box<TaskBody>,
    pub(crate) quantum: Quantum,
    /// How far its edges were when it was given.
    reach: Reach,
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) claim: Claim,
    pub(crate) started: ProcessingTime,
    pub(crate) outcome: Outcome,
}

/// How a run ended.
pub(crate) enum Outcome {
    Ran(StepReport),
    Failed(Box<QueryError>),
}

/// What a worker that looks for work finds.
pub(crate) enum Found {
    Task(Claim),
    /// Nothing before this instant.
    Nothing(ProcessingTime),
}

/// What a worker keeps between two decisions.
pub(crate) struct Bench {
    pub(crate) worker: usize,
    /// What the ranker has not heard yet.
    notes: Vec<Note>,
    /// Whether it has woken up, and nobody who still sleeps will look soon by itself.
    leaves_nobody_to_look: bool,
    /// The place of the task that it ran last.
    last: usize,
    /// Since when there was, at each decision, more to do than this worker could take while another slept.
    left_since: Option<ProcessingTime>,
}

impl Bench {
    pub(crate) fn new(worker: usize) -> Self {
        Bench {
            worker,
            notes: Vec::with_capacity(NOTES_MAX),
            leaves_nobody_to_look: false,
            last: 0,
            left_since: None,
        }
    }
}

/// One decision, or one thing that happens from outside: who takes part in it, and what it leaves.
struct Turn<'a> {
    executor: &'a Executor,
    /// If nobody else has it.
    ranker: Option<MutexGuard<'a, Ranker>>,
    /// None from outside, where the ranker is waited for.
    bench: Option<&'a mut Bench>,
    now: ProcessingTime,
    /// Tasks that have ended: to be dropped when the turn is over, for that runs user code.
    #[expect(clippy::vec_box, reason = "tasks come in boxes, and a box is what is cheap to move")]
    ended: Vec<Box<TaskBody>>,
    unused: Vec<QueryError>,
}

impl Executor {
    pub(crate) fn new(
        policy: Box<dyn Policy>,
        pool: Arc<Pool>,
        clock: Arc<dyn Clock>,
        runs: Runs,
        workers: usize,
    ) -> Arc<Self> {
        let places = usize::try_from(limits::TASKS.max).expect("the number of tasks is bounded");
        let keeps_home = workers > 1 && policy.scale() == Scale::Ratio && policy.conserves_work();
        Arc::new(Executor {
            batons: (0..places).map(|_| Baton::default()).collect(),
            homes: (0..places).map(|_| AtomicU32::new(HOMELESS)).collect(),
            run_since_ns: (0..workers).map(|_| CacheAligned(AtomicU64::new(NOTHING))).collect(),
            ranks: Board::new(places),
            dues: Board::new(places),
            next_due_ns: AtomicU64::new(NOTHING),
            next_round_ns: AtomicU64::new(0),
            holds_back: AtomicBool::new(false),
            ranker: Mutex::new(Ranker::new(policy, runs.block_records, workers)),
            block_records: runs.block_records,
            run_bytes: runs.bytes_max,
            keeps_home,
            idle: Idle::new(workers),
            pool,
            clock,
            is_closed: AtomicBool::new(false),
            scheduling_ns: AtomicU64::new(0),
            submitted: AtomicU64::new(0),
        })
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn note_scheduling(&self, spent_ns: u64) {
        self.scheduling_ns.fetch_add(spent_ns, Ordering::Relaxed);
    }

    pub(crate) fn scheduling_ns(&self) -> u64 {
        self.scheduling_ns.load(Ordering::Relaxed)
    }

    /// The queries that run.
    pub(crate) fn queries(&self) -> Vec<Arc<QueryShared>> {
        self.ranker.lock().queries().cloned().collect()
    }

    /// Queries that have come in since the start.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// Workers that sleep now.
    pub(crate) fn workers_asleep(&self) -> usize {
        self.idle.sleeping()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Adds the tasks of a query, which may run from now on.
    pub(crate) fn submit(&self, built: Built) -> Result<Arc<QueryShared>, PlanError> {
        let Built { name, tasks, edges, delivered } = built;
        if self.is_closed() {
            return Err(PlanError::EngineClosed);
        }
        let now = self.clock.now();
        let mut turn = self.outside(now);
        // Again, now that nobody can close the engine before the query is in.
        if self.is_closed() {
            return Err(PlanError::EngineClosed);
        }
        let ranker = turn.ranker.as_mut().expect("from outside the ranker is waited for");
        limits::QUERIES.check(ranker.query_count() as u64 + 1)?;
        limits::TASKS.check((ranker.task_count() + tasks.len()) as u64)?;
        let seen = |task: &BuiltTask| SeenTask {
            name: task.name.clone(),
            meter: Arc::new(Meter::new(task.operators.clone(), now)),
            probe: Arc::clone(&task.probe),
        };
        let seen: Vec<SeenTask> = tasks.iter().map(seen).collect();
        let new = |(task, seen): (&BuiltTask, &SeenTask)| NewTask {
            probe: Arc::clone(&task.probe),
            meter: Arc::clone(&seen.meter),
            downstream: task.downstream.clone(),
        };
        let new: Vec<NewTask> = tasks.iter().zip(&seen).map(new).collect();
        let meters: Vec<Arc<Meter>> = seen.iter().map(|seen| Arc::clone(&seen.meter)).collect();
        let id = ranker.next_query();
        let serial = self.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Entry { serial, submitted: now, clock: Arc::clone(&self.clock) };
        let query = QueryShared::new(id, name, entry, edges, delivered, seen);
        let ids = ranker.admit(Arc::clone(&query), new, now);
        query.set_tasks(ids.clone());
        let places = ranker.places();
        self.ranks.cover(places);
        self.dues.cover(places);
        for ((built, operator), meter) in tasks.into_iter().zip(&ids).zip(meters) {
            let BuiltTask { name, task, probe, upstream, downstream, .. } = built;
            let by_id = |places: Vec<usize>| places.into_iter().map(|place| ids[place]).collect();
            probe.name_writer(operator.0);
            let body = Box::new(TaskBody {
                name,
                operator: *operator,
                task,
                probe: Arc::clone(&probe),
                meter,
                state: self.pool.budget().reserve(0).expect("nothing always fits"),
                upstream: by_id(upstream),
                downstream: by_id(downstream),
                stands: TaskState::Idle,
                stands_since: now,
                run_records: self.run_records(&probe),
                word: Rank::unranked_word(operator.0),
                quantum: Quantum { records: 1, made_records: 1 },
                query: TaskOfQuery(Arc::clone(&query)),
            });
            let kind = if body.probe.is_source() { SOURCE } else { 0 };
            self.homes[operator.0 as usize].store(HOMELESS | kind, Ordering::Relaxed);
            let filled = self.batons[operator.0 as usize].fill(body);
            assert!(filled.is_ok(), "the place of a task that has ended is empty");
        }
        // Newcomers are ranked now, and against all others in a round that is due at once.
        self.next_round_ns.store(0, Ordering::Relaxed);
        ids.iter().for_each(|&id| turn.call(id));
        turn.end();
        self.rouse();
        Ok(query)
    }

    /// The most records that a run of a task takes, or puts out if it is a source.
    fn run_records(&self, probe: &Probe) -> u32 {
        let edge = probe.input.as_ref().map(|(edge, _)| edge).or(probe.output.as_ref());
        let records = edge.map_or(u64::MAX, |edge| (self.run_bytes / edge.slot_bytes()).max(1));
        u32::try_from(records).unwrap_or(u32::MAX)
    }

    /// Hands in the last run, if there was one, and looks for the next.
    pub(crate) fn next(&self, bench: &mut Bench, done: Option<Done>, now: ProcessingTime) -> Found {
        let mut ranker = self.ranker.try_lock();
        if ranker.is_none() && bench.notes.len() + NOTES_PER_TURN > NOTES_MAX {
            // Another worker has held it for that many runs, in a round over very many tasks.
            ranker = Some(self.ranker.lock());
        }
        if let Some(ranker) = &mut ranker {
            bench.notes.drain(..).for_each(|note| ranker.hear(note));
        }
        let bench = Some(bench);
        let mut turn = Turn { executor: self, ranker, bench, now, ended: Vec::new(), unused: Vec::new() };
        if let Some(done) = done {
            turn.complete(done);
        }
        if self.next_due_ns.load(Ordering::Relaxed) <= now.as_nanos() {
            turn.call_due();
        }
        if self.next_round_ns.load(Ordering::Relaxed) <= now.as_nanos() && turn.ranker.is_some() {
            turn.round();
        }
        let found = match turn.choose() {
            Some(claim) => Found::Task(claim),
            None => Found::Nothing(self.next_due()),
        };
        turn.end();
        found
    }

    /// When there is something to do although nobody made it: the next source, or the round that tasks wait for.
    fn next_due(&self) -> ProcessingTime {
        if self.is_closed() {
            return ProcessingTime::NEVER;
        }
        let due_ns = self.dues.least().map_or(NOTHING, |least| least.word);
        let round_ns = if self.holds_back.load(Ordering::Relaxed) {
            self.next_round_ns.load(Ordering::Relaxed)
        } else {
            NOTHING
        };
        // `NEVER` is the last instant there is, as `NOTHING` is the last word.
        ProcessingTime::from_nanos(due_ns.min(round_ns))
    }

    /// Sleeps until there may be something to do. Looks once more first.
    pub(crate) fn sleep(&self, bench: &mut Bench, clock: &dyn Clock) {
        bench.left_since = None;
        if !bench.notes.is_empty() {
            let mut ranker = self.ranker.lock();
            bench.notes.drain(..).for_each(|note| ranker.hear(note));
        }
        let look = |_now: ProcessingTime| {
            let is_any_ready = || self.batons[..self.ranks.covered()].iter().any(Baton::is_ready);
            if self.is_closed() || is_any_ready() { Outlook::Work } else { Outlook::Nothing(self.next_due()) }
        };
        self.run_since_ns[bench.worker].store(NOTHING, Ordering::Relaxed);
        let awoken = self.idle.sleep(bench.worker, clock, look);
        if let Awoken::FromSleep { is_covered } = awoken {
            bench.leaves_nobody_to_look = !is_covered;
        }
    }

    fn outside(&self, now: ProcessingTime) -> Turn<'_> {
        let ranker = Some(self.ranker.lock());
        Turn { executor: self, ranker, bench: None, now, ended: Vec::new(), unused: Vec::new() }
    }

    /// Wakes a sleeper for work that was made from outside.
    fn rouse(&self) {
        if self.idle.has_sleepers() {
            self.idle.wake_one();
        }
    }

    /// Looks again at tasks to which something has happened from outside.
    fn call_from_outside(&self, operators: &[OperatorId]) {
        // SeqCst: what has happened comes before the looks at the batons, as a run's publications do.
        fence(Ordering::SeqCst);
        let mut turn = self.outside(self.clock.now());
        operators.iter().for_each(|&operator| turn.call(operator));
        turn.end();
        self.rouse();
    }

    /// Looks again at the task that writes an edge for which the pool has made a chunk.
    pub(crate) fn grown(&self, writer: u64) {
        if let Ok(operator) = u32::try_from(writer) {
            self.call_from_outside(&[OperatorId(operator)]);
        }
    }

    /// Asks the sources of a query to end.
    pub(crate) fn stop_sources(&self, query: &QueryShared) {
        query.probes().filter(|probe| probe.is_source()).for_each(|probe| probe.stop());
        query.set_paused(false);
        self.call_from_outside(query.tasks());
    }

    /// Lets the tasks of a query rest when their steps have ended, or run again.
    pub(crate) fn set_paused(&self, query: &QueryShared, is_paused: bool) {
        query.set_paused(is_paused);
        self.call_from_outside(query.tasks());
    }

    /// Ends a query with an error. Tasks that run now are dropped when their step ends.
    pub(crate) fn fail_query(&self, query: &QueryShared, error: QueryError) {
        let mut turn = self.outside(self.clock.now());
        turn.fail(query, error);
        turn.end();
    }

    /// Fails every query, wakes every worker for the last time, and takes no more queries.
    pub(crate) fn close(&self, reason: impl Fn() -> QueryError) {
        // Not asking the clock, which may be what a worker has died of. Nothing is ranked any more.
        let mut turn = self.outside(ProcessingTime::ZERO);
        self.is_closed.store(true, Ordering::Relaxed);
        let ranker = turn.ranker.as_ref().expect("from outside the ranker is waited for");
        let queries: Vec<Arc<QueryShared>> = ranker.queries().cloned().collect();
        queries.iter().for_each(|query| turn.fail(query, reason()));
        turn.end();
        self.idle.wake_all();
    }

    /// Publishes when a source is due that waits for its time.
    fn wait_for(&self, operator: OperatorId, due: ProcessingTime) {
        let due_ns = due.as_nanos();
        self.dues.set(operator.0 as usize, due_ns);
        if due_ns == NOTHING {
            return;
        }
        // SeqCst: whoever finds sources due sets `next_due_ns` to nothing first and looks at the board afterwards. Of
        // our store above and our load here, against his store and his look, at least one sees the other's: either he
        // sees our source, or we see that the least is gone and set it.
        fence(Ordering::SeqCst);
        if due_ns < self.next_due_ns.load(Ordering::Relaxed) {
            self.next_due_ns.fetch_min(due_ns, Ordering::Relaxed);
        }
    }
}

impl Turn<'_> {
    /// Ends the turn: lets the ranker go, then drops what has ended. That runs code of operators, sinks and users'
    /// values; one that panics now can no longer change what became of its query, and must not take the worker with
    /// it.
    fn end(self) {
        let Turn { ranker, ended, unused, .. } = self;
        drop(ranker);
        ended.into_iter().for_each(discard);
        unused.into_iter().for_each(discard);
    }

    /// Takes a task back from the worker that ran it, and calls those to which its run makes a difference.
    fn complete(&mut self, done: Done) {
        let Done { claim: Claim { body, reach, .. }, started, outcome } = done;
        // SeqCst: what the run has published comes before the looks at batons and cursors below. Whoever puts a task to
        // rest has such a fence before his last look; of the two, one sees the other.
        fence(Ordering::SeqCst);
        let (wrote, freed) = body.probe.changes_since(&reach);
        if wrote {
            for place in 0..body.downstream.len() {
                // What it is to read lies in this core's cache.
                self.settle(body.downstream[place]);
                self.call(body.downstream[place]);
            }
        }
        if freed {
            (0..body.upstream.len()).for_each(|place| self.call(body.upstream[place]));
        }
        match outcome {
            Outcome::Ran(StepReport { records_in, records_out, ended: false }) => {
                let (operator, query, ended) = (body.operator, body.query.id, self.now);
                self.tell(Note::Ran(Completion { operator, query, started, ended, records_in, records_out }));
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

    fn tell(&mut self, note: Note) {
        match (&mut self.ranker, &mut self.bench) {
            (Some(ranker), _) => ranker.hear(note),
            (None, Some(bench)) => bench.notes.push(note),
            (None, None) => unreachable!("from outside the ranker is waited for"),
        }
    }

    /// Lets somebody look whether a task has something to do now: whoever holds it, or takes it next, or else us.
    fn call(&mut self, operator: OperatorId) {
        let place = operator.0 as usize;
        let baton = &self.executor.batons[place];
        if baton.is_ready() {
            // Whoever takes it will see; but what it is worth may have changed.
            let is_worth_more = self.ranker.as_ref().is_some_and(|ranker| ranker.ranks_on_arrival());
            if is_worth_more && let Some(body) = baton.take() {
                self.put(body);
            }
        } else if let Some(body) = baton.call() {
            self.put(body);
        }
    }

    /// Makes this worker's core the home of a task.
    fn settle(&self, operator: OperatorId) {
        if let Some(bench) = &self.bench {
            let home = &self.executor.homes[operator.0 as usize];
            let before = home.load(Ordering::Relaxed);
            let after = bench.worker as u32 | before & SOURCE;
            if before != after {
                home.store(after, Ordering::Relaxed);
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
                // SeqCst: whoever has made work and then found the baton ready, as it was before we took it, has not
                // called. Of his fence and this one the later side sees the other's: this look sees his work.
                fence(Ordering::SeqCst);
                standing = body.look(self.now);
            }
            body.note_state(standing.into(), self.now);
            let word = match standing {
                Standing::Ready => self.word(&mut body),
                Standing::Blocked | Standing::Idle { .. } => None,
            };
            self.executor.ranks.set(place, word.unwrap_or(NOTHING));
            if body.probe.is_source() {
                let due = if let Standing::Idle { due } = standing { due } else { ProcessingTime::NEVER };
                self.executor.wait_for(body.operator, due);
            }
            match self.executor.batons[place].put(body, word.is_some()) {
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
        self.executor.batons[place].retire();
        self.tell(Note::Ended(body.operator));
        body.note_ended(self.now);
        self.ended.push(body);
    }

    /// Makes a query fail, and ends those of its tasks that nobody holds; the others end when they are put back.
    fn fail(&mut self, query: &QueryShared, error: QueryError) {
        self.unused.extend(query.fail(error));
        for operator in query.tasks() {
            let baton = &self.executor.batons[operator.0 as usize];
            if let Some(body) = baton.take_any().or_else(|| baton.call()) {
                // Of another query, if this task has ended before and its place was given away.
                self.put(body);
            }
        }
    }

    /// Calls the sources whose time has come.
    fn call_due(&mut self) {
        let Executor { dues, next_due_ns, .. } = self.executor;
        next_due_ns.store(NOTHING, Ordering::Relaxed);
        // SeqCst: see `wait_for`.
        fence(Ordering::SeqCst);
        for place in 0..dues.covered() {
            let due_ns = dues.get(place);
            if due_ns <= self.now.as_nanos() {
                self.call(OperatorId(place as u32));
            } else if due_ns != NOTHING {
                next_due_ns.fetch_min(due_ns, Ordering::Relaxed);
            }
        }
    }

    /// A round: the policy prepares, and all that is ready, or waits for a round, is ranked anew.
    fn round(&mut self) {
        let Executor { batons, clock, next_round_ns, holds_back, .. } = self.executor;
        let Some(ranker) = &mut self.ranker else { return };
        // Nobody else begins one meanwhile.
        next_round_ns.store(self.now.plus_nanos(ROUND_NS).as_nanos(), Ordering::Relaxed);
        ranker.prepare(self.now, |operator| batons[operator.0 as usize].is_held());
        let (places, takes_idle) = (ranker.places(), !ranker.conserves_work());
        holds_back.store(false, Ordering::Relaxed);
        for baton in &batons[..places] {
            let body = if takes_idle { baton.take_any() } else { baton.take() };
            if let Some(body) = body {
                self.put(body);
            }
        }
        if let Some(ranker) = &mut self.ranker {
            let next = ranker.next_round(self.now, clock.now());
            next_round_ns.store(next.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Takes the ready task whose published rank is best, or one that is hot on this core (see `prefer_home`).
    fn choose(&mut self) -> Option<Claim> {
        let executor = self.executor;
        if executor.is_closed() {
            return None;
        }
        let (mut misses, mut miss_count) = ([0; MISSES_MAX], 0);
        while miss_count < MISSES_MAX {
            let least = executor.ranks.least_but(&misses[..miss_count])?;
            let index = if miss_count == 0 { self.prefer_home(least) } else { least.index };
            let Some(body) = executor.batons[index].take() else {
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

    /// The best task, or the best of those at home on this core if that is near enough.
    ///
    /// The rank decides between classes, and about sources, whose records lie in nobody's cache. But what another
    /// worker has just written lies in the cache of its core, and it will come back for it soon; so of one class a
    /// worker takes what is at home with itself first, unless the other sleeps or is held up by a long run. Else two
    /// workers would take every block from each other (DESIGN, "Records stay on the core where they were made").
    fn prefer_home(&self, least: Least) -> usize {
        let (executor, Some(bench)) = (self.executor, &self.bench) else { return least.index };
        if !executor.keeps_home {
            return least.index;
        }
        let home_of = |index: usize| executor.homes[index].load(Ordering::Relaxed);
        let is_home = |index: usize| home_of(index) & !SOURCE == bench.worker as u32;
        if is_home(least.index) {
            return least.index;
        }
        let is_left_to_others = home_of(least.index) & SOURCE == 0 && self.comes_back(home_of(least.index));
        let bits = if is_left_to_others { CLASS_BITS } else { NEAR_BITS };
        let is_wanted = |index: usize, word: u64| word >> bits == least.word >> bits && is_home(index);
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
            let records = ranker.quantum(body.operator, self.now);
            let quanta = if body.probe.is_source() { QUANTA_OF_SOURCES } else { 1 };
            let made_records = self.executor.block_records.saturating_mul(BLOCKS_MADE).max(records);
            body.quantum =
                Quantum { records: records.saturating_mul(quanta).min(body.run_records), made_records };
            cost_ns = ranker.cost_ns(body.operator);
        }
        body.note_state(TaskState::Running, self.now);
        self.settle(body.operator);
        if let Some(bench) = &mut self.bench {
            bench.last = body.operator.0 as usize;
            self.executor.run_since_ns[bench.worker].store(self.now.as_nanos(), Ordering::Relaxed);
        }
        self.share_work(&body, cost_ns);
        Claim { quantum: body.quantum, reach: body.probe.reach(), body }
    }

    /// Wakes a sleeper if more is left to do than waking costs.
    fn share_work(&mut self, taken: &TaskBody, cost_ns: f64) {
        let (executor, now) = (self.executor, self.now);
        let Some(bench) = &mut self.bench else { return };
        if std::mem::take(&mut bench.leaves_nobody_to_look) && executor.idle.seems_to_have_sleepers() {
            // One of those who sleep looks at the time while this worker runs something.
            executor.idle.wake_one();
        }
        if executor.idle.is_single() || !executor.idle.has_sleepers() || executor.ranks.least().is_none() {
            bench.left_since = None;
            return;
        }
        let left_since = *bench.left_since.get_or_insert(now);
        let pending = if taken.probe.is_on_demand() { u64::MAX } else { taken.probe.pending(now) };
        let records = pending.min(u64::from(taken.quantum.records));
        let expected_ns = (cost_ns * records as f64) as u64;
        if WAKE_AFTER_NS <= now.nanos_since(left_since).saturating_add(expected_ns) {
            bench.left_since = None;
            executor.idle.wake_one();
        }
    }
}

impl TaskBody {
    /// How it stands: whether it has something to do, and could do it.
    fn look(&self, now: ProcessingTime) -> Standing {
        if self.query.is_paused() {
            return Standing::Idle { due: ProcessingTime::NEVER };
        }
        match (self.probe.pending(now) > 0, self.probe.can_output()) {
            (true, true) => Standing::Ready,
            (true, false) => Standing::Blocked,
            (false, _) if self.probe.is_source() => Standing::Idle { due: self.probe.due() },
            (false, _) => Standing::Idle { due: ProcessingTime::NEVER },
        }
    }

    /// Takes note of how it stands from now on; what was before is counted when it changes.
    #[inline]
    fn note_state(&mut self, stands: TaskState, now: ProcessingTime) {
        if stands != self.stands {
            self.meter.note_state(self.stands, now.nanos_since(self.stands_since), stands, now);
            (self.stands, self.stands_since) = (stands, now);
        }
    }

    /// Takes note that its part is over, and what it held is on its way out. Where an engine is closed there is no
    /// instant: then it has ended when it was last heard of.
    fn note_ended(&mut self, now: ProcessingTime) {
        self.note_state(TaskState::Ended, now.max(self.stands_since));
        self.meter.note_held(0);
    }

    /// The counts of its operators, for the report of the query.
    pub(crate) fn operator_counts(&self) -> Vec<OperatorCounts> {
        let mut operators = Vec::new();
        self.task.visit_counts(&mut |operator: &str, counts: Counts| {
            operators.push(OperatorCounts { operator: operator.to_owned(), task: self.name.clone(), counts });
        });
        operators
    }

    pub(crate) fn connector_error(&self, fault: Fault) -> QueryError {
        QueryError::Connector { operator: self.name.clone(), fault }
    }
}

/// Drops what may run user code, without a lock. A panic ends here; and one whose payload panics when it is dropped
/// is forgotten rather than let out.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        std::mem::forget(again);
    }
}
