//! A thread for each task: the other way to run queries, in which the operating system chooses the task that
//! runs next. It is the baseline of Enjima's ablation (section 5.2.5, "TQ" and "TM"), and the engine whose
//! threads Lachesis steers. There is no policy and no choice inside, so nothing is ranked here: a policy outside
//! the engine asks for a [snapshot](Threads::task_threads), and gives the threads priorities.
//!
//! ```text
//!            +--> look: something to do, and room for it? -- no --> sleep in the task's own parker
//!            |                     | yes                               ^ woken by a neighbour, by time, from outside
//!            |                     v                                   |
//!            +---- run for a quantum, then wake the neighbours that the run concerns
//! ```
//!
//! A task, its steps, its counters, its errors and its effects on other tasks are as they are when workers
//! run it. Only the holder differs: the task's thread holds it from the submit to its end, so there is no
//! cell, board or ranker. A thread that has nothing to do sleeps at once. `README.md` beside this file
//! describes why no wake-up is lost.
//!
//! All threads stay on as many cores as the engine has workers, on the cores that these would have.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use thalweg_memory::Pool;
use thalweg_memory::sync::{AtomicU32, AtomicU64, Mutex, Ordering, fence};
use thalweg_model::{Clock, EventTime, ProcessingTime};
use thalweg_scheduling::{DelayStatistics, Fields, OperatorId, Snapshot};

use crate::cores;
use crate::cost_clock::Reading;
use crate::driver::{Driver, DriverFigures};
use crate::error::{PlanError, QueryError};
use crate::executor::{Entrance, Outcome, Runs, TaskBody, discard};
use crate::graph::{Built, BuiltTask};
use crate::idle::{Idle, Outlook};
use crate::limits;
use crate::meter::{Standing, TaskState};
use crate::observer::{Memory, NewTask, Observer};
use crate::query::{Entry, QueryShared, SeenTask};
use crate::ranker::Relief;
use crate::system;
use crate::task::{Changes, Probe, Quantum, StepReport};
use crate::worker;

/// Runs tasks without a scheduling policy: each task has a thread of its own, and the operating system
/// schedules them.
pub(crate) struct Threads {
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    runs: Runs,
    /// Cores on which all task threads run; if empty, the operating system chooses.
    cores: Vec<usize>,
    /// Name of a thread that a test makes impossible to start.
    refused: Option<&'static str>,
    register: Mutex<Register>,
}

/// Groups of fields of a snapshot that [`Engine::task_threads`](crate::Engine::task_threads) fills: all but reports of
/// runs, which would take a lock around the policy in every run.
pub const TASK_THREAD_FIELDS: Fields = Fields::ALL.without(Fields::FEEDBACK);

/// The tasks of an engine that runs each in a thread of its own, at one moment.
#[derive(Clone, Debug)]
pub struct TaskThreads {
    /// The tasks as a policy sees them, each an operator. Only the groups of fields in [`TASK_THREAD_FIELDS`]
    /// are filled.
    pub snapshot: Snapshot,
    /// The threads that have started.
    pub threads: Vec<TaskThread>,
}

/// The thread of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskThread {
    /// Number of the task in the snapshot. It is used again after the task has ended.
    pub operator: OperatorId,
    /// Number of the query among all that the engine has admitted, which is never used again.
    pub query_serial: u64,
    /// Number by which the operating system knows the thread.
    pub number: u32,
    /// Name of the task.
    pub name: String,
}

/// The register of tasks and queries that run. Its lock is taken when queries start and end, for events from
/// outside the task threads, and for snapshots.
struct Register {
    is_closed: bool,
    submitted: u64,
    /// Tasks that run, by their numbers. The number of a task that has ended is given to a later task.
    seats: Vec<Option<Arc<Seat>>>,
    /// Gives tasks and queries their numbers, and gathers the snapshot of them for a policy outside the
    /// engine.
    observer: Observer,
    handles: Vec<JoinHandle<()>>,
}

/// Stands for "no watermark" in place of the bits of a watermark's microseconds.
const NO_WATERMARK: u64 = i64::MIN.cast_unsigned();

/// A task with a thread of its own, as other threads see it.
struct Seat {
    /// Puts the task's thread to sleep and wakes it; no other thread sleeps in it.
    parker: Idle,
    probe: Arc<Probe>,
    /// The number that the operating system gave to the task's thread; 0 before the thread has started.
    /// Relaxed: set once by the thread, read for metrics.
    number: AtomicU32,
    /// The latest instant until which the task's thread sleeps, in ns of the engine's clock; `NEVER` before
    /// the thread has looked. Written by the thread before it counts as a sleeper and when it has looked;
    /// read behind a fence by parties that make work. Relaxed: the fences of the parker order it.
    sleeps_until_ns: AtomicU64,
    name: String,
    serial: u64,
    /// The instant at which the last run of the task ended, in ns of the engine's clock, and the watermark that the
    /// task had then, as the bits of its microseconds, or of the least number if it had none. Relaxed: written by the
    /// thread, read for snapshots, in which they may come from two runs.
    ran_ns: AtomicU64,
    watermark: AtomicU64,
}

impl Seat {
    /// Makes the entry, in the register of running tasks, of a task called `name` of the query with the
    /// number `serial`.
    fn new(probe: &Arc<Probe>, (name, serial): (&str, u64), grain_ns: u64, now: ProcessingTime) -> Arc<Self> {
        Arc::new(Seat {
            parker: Idle::new(1, grain_ns),
            probe: Arc::clone(probe),
            number: AtomicU32::new(0),
            sleeps_until_ns: AtomicU64::new(ProcessingTime::NEVER.as_nanos()),
            name: name.to_owned(),
            serial,
            ran_ns: AtomicU64::new(now.as_nanos()),
            watermark: AtomicU64::new(NO_WATERMARK),
        })
    }

    /// Records that a run of the task has ended, for snapshots.
    fn note_run(&self, watermark: Option<EventTime>, now: ProcessingTime) {
        self.ran_ns.store(now.as_nanos(), Ordering::Relaxed);
        let bits = watermark.map_or(NO_WATERMARK, |watermark| watermark.as_micros().cast_unsigned());
        self.watermark.store(bits, Ordering::Relaxed);
    }

    /// Returns the end of the last run of the task, and the watermark that the task had then.
    fn last_run(&self) -> (ProcessingTime, Option<EventTime>) {
        let bits = Some(self.watermark.load(Ordering::Relaxed)).filter(|bits| *bits != NO_WATERMARK);
        let ran = ProcessingTime::from_nanos(self.ran_ns.load(Ordering::Relaxed));
        (ran, bits.map(|bits| EventTime::from_micros(bits.cast_signed())))
    }

    /// Wakes the task's thread if it sleeps and the task could run. May be called only behind a fence. While
    /// a thread sleeps, the task's published numbers change only by the acts of other threads. So if one
    /// thread makes work for the task and another makes room, the later of them sees both.
    fn wake_to_work(&self, now: ProcessingTime) {
        // A source may have nothing due at the instant `now` of the caller, but have a record due at the
        // later instant that its own thread reads from the clock. A copy may claim a block that was deposited
        // for another copy when enough time has passed, and sleeps at most until then.
        let wakes_late =
            || self.probe.next_due(now).as_nanos() < self.sleeps_until_ns.load(Ordering::Relaxed);
        let has_work = || self.probe.is_source() || self.probe.pending(now) > 0 || wakes_late();
        let may_run = || has_work() && self.probe.can_output();
        if self.parker.seems_to_have_sleepers() && may_run() {
            self.parker.wake_one();
        }
    }

    /// Puts the task's thread to sleep until there may be something to do. `look` returns the task's state
    /// once more, at the instant that it is given.
    fn rest(&self, clock: &dyn Clock, look: impl FnOnce(ProcessingTime) -> Standing) {
        self.sleeps_until_ns.store(ProcessingTime::NEVER.as_nanos(), Ordering::Relaxed);
        let look = |now: ProcessingTime| match look(now) {
            Standing::Ready => Outlook::Work,
            Standing::Blocked => Outlook::Nothing(ProcessingTime::NEVER),
            Standing::Idle { due } => {
                self.sleeps_until_ns.store(due.as_nanos(), Ordering::Relaxed);
                Outlook::Nothing(due)
            }
        };
        self.parker.sleep(0, clock, look);
    }

    /// Wakes the task's thread, whatever the reason. May be called only behind a fence.
    fn wake(&self) {
        if self.parker.seems_to_have_sleepers() {
            self.parker.wake_one();
        }
    }
}

impl Register {
    fn seats_of<'a>(&'a self, operators: &'a [OperatorId]) -> impl Iterator<Item = &'a Arc<Seat>> {
        operators.iter().filter_map(|operator| self.seats.get(operator.0 as usize)?.as_ref())
    }

    /// Removes and returns the handles of threads that have ended.
    fn ended(&mut self) -> Vec<JoinHandle<()>> {
        let (ended, others) =
            std::mem::take(&mut self.handles).into_iter().partition(JoinHandle::is_finished);
        self.handles = others;
        ended
    }
}

impl Threads {
    pub(crate) fn new(
        pool: Arc<Pool>,
        clock: Arc<dyn Clock>,
        runs: Runs,
        workers: usize,
        cores: Vec<usize>,
        refused: Option<&'static str>,
    ) -> Arc<Self> {
        let delay_epochs = u32::try_from(DelayStatistics::EPOCHS).expect("the number of epochs is small");
        let register = Register {
            is_closed: false,
            submitted: 0,
            seats: Vec::new(),
            observer: Observer::new(TASK_THREAD_FIELDS, delay_epochs, runs, workers),
            handles: Vec::new(),
        };
        Arc::new(Threads { pool, clock, runs, cores, refused, register: Mutex::new(register) })
    }

    /// Admits a query: gives its tasks their numbers.
    fn admit(self: &Arc<Self>, built: Built) -> Result<(Arc<QueryShared>, Vec<Seated>), PlanError> {
        let Built { name, aims, tasks, edges, delivered, checkpoints } = built;
        let now = self.clock.now();
        let mut register = self.register.lock();
        let fits = || {
            if register.is_closed {
                return Err(PlanError::EngineClosed);
            }
            limits::QUERIES.check(register.observer.query_count() as u64 + 1)?;
            limits::THREADS.check((register.observer.task_count() + tasks.len()) as u64)
        };
        if let Err(refusal) = fits() {
            // Dropping the refused tasks runs user code, so it happens without the lock. A panic there is not
            // an error of the caller.
            drop(register);
            tasks.into_iter().for_each(discard);
            return Err(refusal);
        }
        register.submitted += 1;
        let serial = register.submitted;
        let seen: Vec<SeenTask> = tasks.iter().map(|task| SeenTask::new(task, now)).collect();
        let new: Vec<NewTask> = tasks.iter().zip(&seen).map(|(task, seen)| NewTask::of(task, seen)).collect();
        let meters: Vec<_> = seen.iter().map(|seen| Arc::clone(&seen.meter)).collect();
        let entry = Entry { serial, submitted: now, clock: Arc::clone(&self.clock), aims };
        let id = register.observer.next_query();
        let query = QueryShared::new(id, name, entry, edges, delivered, seen, checkpoints);
        let ids = register.observer.admit(Arc::clone(&query), new, now);
        let places = register.observer.places();
        register.seats.resize(places, None);
        let seat = |(task, id): (&BuiltTask, &OperatorId)| {
            let seat = Seat::new(&task.probe, (&task.name, serial), self.runs.source_grain_ns, now);
            register.seats[id.0 as usize] = Some(Arc::clone(&seat));
            seat
        };
        let seats: Vec<Arc<Seat>> = tasks.iter().zip(&ids).map(seat).collect();
        drop(register);
        query.set_tasks(ids.clone());
        let driver: Arc<dyn Driver> = Arc::<Threads>::clone(self);
        let entrance =
            Entrance { driver: &driver, pool: &self.pool, runs: self.runs, query: &query, ids: &ids, now };
        let threads = tasks.into_iter().zip(meters).enumerate().map(|(index, (task, meter))| {
            let neighbours = Neighbours::new(&task, &seats);
            let preferred_worker = task.preferred_worker.map(|preferred_worker| preferred_worker as usize);
            let mut body = TaskBody::new(task, ids[index], meter, &entrance);
            // The task gets the longest possible run, so that the operating system's time slices apply: a run
            // of Enjima's threads ends when no input is left.
            body.quantum = Quantum { records: body.run_records, made_records: body.run_records };
            let threads = Arc::clone(self);
            Seated {
                threads,
                body,
                seat: Arc::clone(&seats[index]),
                neighbours,
                preferred_worker,
                now,
                steps: 0,
            }
        });
        Ok((Arc::clone(&query), threads.collect()))
    }

    /// Frees the number of a task that has ended, and the number of its query after the last task.
    fn leave(&self, operator: OperatorId, serial: u64) {
        let mut register = self.register.lock();
        register.seats[operator.0 as usize] = None;
        register.observer.dismiss(operator, serial);
    }
}

impl Driver for Threads {
    fn submit(self: Arc<Self>, built: Built) -> Result<Arc<QueryShared>, PlanError> {
        let (query, tasks) = self.admit(built)?;
        let mut handles = Vec::with_capacity(tasks.len());
        let mut refused = None;
        for task in tasks {
            let name = task.body.name.clone();
            if refused.is_some() {
                // An earlier task of the query got no thread, so this task gets none either. Threads that
                // have started end at their next look.
                task.end();
                continue;
            }
            // The task lies in a place that the new thread and this function share. The new thread takes it
            // out when it starts, and otherwise this function does. So the task is not dropped inside the
            // call in which the system refuses the thread.
            let task = Arc::new(Mutex::new(Some(task)));
            let theirs = Arc::clone(&task);
            let live = move || {
                let task = theirs.lock().take();
                task.into_iter().for_each(Seated::live);
            };
            match system::spawn(&name, self.refused, live) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    discard(query.fail(QueryError::Cancelled));
                    let task = task.lock().take();
                    task.into_iter().for_each(Seated::end);
                    self.notify(query.tasks());
                    refused = Some(error);
                }
            }
        }
        let ended = {
            let mut register = self.register.lock();
            let ended = register.ended();
            register.handles.extend(handles);
            ended
        };
        for handle in ended {
            let _ended = handle.join();
        }
        refused.map_or(Ok(query), Err)
    }

    fn notify(&self, operators: &[OperatorId]) {
        // SeqCst: the event from outside comes before the looks at sleeping threads below. A run has the same
        // fence between its publications and its looks.
        fence(Ordering::SeqCst);
        self.register.lock().seats_of(operators).for_each(|seat| seat.wake());
    }

    fn fail_query(&self, query: &QueryShared, error: QueryError) {
        discard(query.fail(error));
        self.notify(query.tasks());
    }

    fn close(&self, reason: &dyn Fn() -> QueryError) {
        let mut unused = Vec::new();
        let mut register = self.register.lock();
        register.is_closed = true;
        register.observer.queries().for_each(|query| unused.extend(query.fail(reason())));
        fence(Ordering::SeqCst);
        register.seats.iter().flatten().for_each(|seat| seat.wake());
        drop(register);
        unused.into_iter().for_each(discard);
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn queries(&self) -> Vec<Arc<QueryShared>> {
        self.register.lock().observer.queries().cloned().collect()
    }

    fn figures(&self) -> DriverFigures {
        let register = self.register.lock();
        let seats = || register.seats.iter().flatten();
        DriverFigures {
            submitted: register.submitted,
            scheduling_ns: 0,
            relief: Relief::default(),
            asleep: seats().map(|seat| seat.parker.sleeping() as u64).sum(),
            task_threads: seats().map(|seat| seat.number.load(Ordering::Relaxed)).collect(),
        }
    }

    fn task_threads(&self) -> Option<TaskThreads> {
        let now = self.clock.now();
        let mut register = self.register.lock();
        let Register { seats, observer, .. } = &mut *register;
        let seated =
            || (0..).map(OperatorId).zip(seats.iter()).filter_map(|(id, seat)| Some((id, seat.as_ref()?)));
        for (operator, seat) in seated() {
            let (ran, watermark) = seat.last_run();
            observer.note_run(operator, seat.serial, ran, watermark);
        }
        // The operating system decides which tasks run at the moment, so each counts as not running.
        observer.renew(now, Memory::of(&self.pool), |_| false);
        observer.snapshot.round_end = now;
        let thread = |(operator, seat): (OperatorId, &Arc<Seat>)| {
            let number = Some(seat.number.load(Ordering::Relaxed)).filter(|number| *number != 0)?;
            Some(TaskThread { operator, query_serial: seat.serial, number, name: seat.name.clone() })
        };
        let threads = seated().filter_map(thread).collect();
        Some(TaskThreads { snapshot: observer.snapshot.clone(), threads })
    }

    fn join(&self) {
        let handles = std::mem::take(&mut self.register.lock().handles);
        for handle in handles {
            // If the thread died of a panic, the panic was reported where it happened.
            let _ended = handle.join();
        }
    }
}

/// The tasks to which a run of one task may give work or room, so that its thread must wake their threads.
struct Neighbours {
    upstream: Vec<Arc<Seat>>,
    downstream: Vec<Arc<Seat>>,
    /// Tasks that must be woken when this task completes an epoch or helps to merge the state of one: copies
    /// of parallel operators, and the tasks that close their epochs.
    further: Vec<Arc<Seat>>,
    /// Other tasks that deposit blocks for the same parallel task, into its containers (the unclaimed blocks
    /// of each epoch).
    peers: Vec<Arc<Seat>>,
}

impl Neighbours {
    fn new(task: &BuiltTask, seats: &[Arc<Seat>]) -> Self {
        let of = |places: &[usize]| places.iter().map(|&place| Arc::clone(&seats[place])).collect();
        Neighbours {
            upstream: of(&task.upstream),
            downstream: of(&task.downstream),
            further: of(&task.further),
            peers: of(&task.peers),
        }
    }
}

/// A task together with the thread that runs it.
struct Seated {
    threads: Arc<Threads>,
    body: Box<TaskBody>,
    seat: Arc<Seat>,
    neighbours: Neighbours,
    /// If the task is one of several copies of an operator: the number of the work queue from which it claims
    /// blocks first.
    preferred_worker: Option<usize>,
    /// The instant that the thread has read from the clock last.
    now: ProcessingTime,
    steps: u32,
}

impl Seated {
    /// Runs the task on its thread until the task has ended. If an assertion or the clock panics in the
    /// thread, the engine closes and every query fails. So no caller waits for a task whose thread has died.
    fn live(mut self) {
        cores::pin(&self.threads.cores);
        self.seat.number.store(system::thread_number(), Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            self.threads.close(&|| QueryError::WorkerDied);
        }
        self.end();
    }

    /// Drops the task, which runs code of operators, sinks and users' values. A panic there can no longer
    /// change the outcome of the query.
    fn end(self) {
        let Seated { threads, mut body, now, .. } = self;
        body.note_ended(now);
        threads.leave(body.operator, body.query.serial());
        discard(body);
    }

    /// Runs the task until its stream has ended or its query fails.
    fn work(&mut self) {
        let threads = Arc::clone(&self.threads);
        let clock = &*threads.clock;
        self.now = clock.now();
        while self.body.query.is_running() {
            let standing = self.body.look(self.now);
            if standing != Standing::Ready {
                self.body.note_state(standing.into(), self.now);
                if standing == Standing::Blocked && self.body.probe.is_held() {
                    // The task has no free blocks, and its readers hold back blocks that they must claim in
                    // this case. So the readers are woken, behind a fence like that at the end of a run.
                    fence(Ordering::SeqCst);
                    self.neighbours.downstream.iter().for_each(|seat| seat.wake_to_work(self.now));
                }
                self.sleep(clock);
                self.now = clock.now();
                continue;
            }
            self.body.note_state(TaskState::Running, self.now);
            if let Some(error) = self.step(clock) {
                match error {
                    Ended::Over => return,
                    Ended::Failed(error) => return self.threads.fail_query(&self.body.query, *error),
                }
            }
        }
    }

    /// Looks for work once more, then puts the task's thread to sleep until there may be something to do.
    fn sleep(&self, clock: &dyn Clock) {
        // If the query no longer runs, the thread must not sleep: it runs once more, to end.
        let is_running = || self.body.query.is_running();
        self.seat.rest(clock, |now| if is_running() { self.body.look(now) } else { Standing::Ready });
    }

    /// Runs the task for a quantum and wakes the threads of the tasks that have got work or room by the run.
    /// Returns how the task has ended; `None` if it has not.
    fn step(&mut self, clock: &dyn Clock) -> Option<Ended> {
        let Seated { threads, body, seat, neighbours, preferred_worker, .. } = self;
        let worker = preferred_worker.unwrap_or_else(|| cores::place_among(&threads.cores));
        body.probe.note_core(worker);
        body.probe.note_reach(&mut body.reach);
        self.steps = self.steps.wrapping_add(1);
        let started = Reading::by_wall(self.now);
        let (outcome, ended) = worker::run(body, threads.runs, clock, started, (worker, self.steps));
        let now = ended.at;
        self.now = now;
        // SeqCst: what the run has published comes before the looks at sleeping threads and positions of
        // edges below. A thread that falls asleep has such a fence before its last look. So one of the two
        // sees the other's writes.
        fence(Ordering::SeqCst);
        let changes = body.probe.changes_since(&body.reach);
        let Changes { wrote, closed, freed, gave_back } = changes;
        let Neighbours { upstream, downstream, further, peers } = neighbours;
        let concerned = [(wrote, downstream), (closed, further), (gave_back, peers), (freed, upstream)];
        for (_, seats) in concerned.into_iter().filter(|(is_concerned, _)| *is_concerned) {
            seats.iter().for_each(|seat| seat.wake_to_work(now));
        }
        match outcome {
            Outcome::Ran(StepReport { ended: true, .. }) => Some(Ended::Over),
            Outcome::Ran(StepReport { records_in, watermark, .. }) => {
                seat.note_run(watermark, now);
                let is_stuck = body.note_run(changes, records_in, now);
                is_stuck.then(|| Ended::Failed(Box::new(body.stuck_error())))
            }
            Outcome::Failed(error) => Some(Ended::Failed(error)),
        }
    }
}

/// Ways in which a task with its own thread can end.
enum Ended {
    Over,
    Failed(Box<QueryError>),
}

#[cfg(test)]
mod tests;
