//! Tasks: the units that workers run. A task is a chain of operators with its input and output, and runs one
//! step at a time.
//!
//! ```text
//!   source -> (watermarks) -\                 /-> edge
//!                            >--- chain -----<
//!   edge   -----------------/                 \-> sink
//! ```
//!
//! A step takes pending records as slices, at most a quantum (Enjima, section 3.1.2, "variable batching"). A
//! slice is the least of the rest of the active input block, the room of the output, and the rest of the
//! quantum. A step never waits for a batch to fill. Marks (such as watermarks) pass through the chain at
//! their exact place among the records. An emission that finds no room continues in a later step ("resumable
//! emission").
//!
//! Tasks are generic inside and boxed at their border: one virtual call per step.

pub(crate) mod closing;
pub(crate) mod deferred;
pub(crate) mod gather;
mod inlet;
pub(crate) mod merge;
pub(crate) mod operator;
mod reach;
pub(crate) mod relay;
pub(crate) mod source;
pub(crate) mod tail;
mod tokens;

use std::sync::Arc;

use thalweg_memory::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use thalweg_model::{
    Clock, Counts, Entropy, EventTime, Fault, Mark, ProcessingTime, Publisher, Section, StateError,
    StateWriter,
};
use thalweg_scheduling::{Context, EpochWork, InputOrder};

pub(crate) use self::inlet::{FirstSeen, Inlet, Outlet, Position};
pub(crate) use self::reach::{Changes, Reach};
pub(crate) use self::tokens::Tokens;
use crate::arrival::{Arrival, context_of};
use crate::checkpoints::TaskCheckpoints;
use crate::meter::Meter;
use crate::state_grant::StateGrant;

/// Everything that a task is given for one step: clock, quantum, memory grant and worker.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Processing time at which the step started.
    pub(crate) now: ProcessingTime,
    /// Metadata (time of the step and scheduling context) that is stored with the output of the step.
    pub(crate) arrival: Arrival,
    pub(crate) quantum: Quantum,
    /// The memory grant from which the growth of the task's state is reserved.
    pub(crate) state_grant: &'a StateGrant,
    pub(crate) worker: usize,
    /// Nanoseconds for which a source that has caught up is not polled. See
    /// [`limits::SOURCE_GRAIN_NS`](crate::limits::SOURCE_GRAIN_NS).
    pub(crate) source_grain_ns: u64,
    /// The counters that receive the time of each operator, if this step is measured operator by operator;
    /// otherwise `None`.
    pub(crate) measured: Option<&'a Meter>,
}

/// Bound of the length of one step, in records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantum {
    /// Number of records that the step may take or, if the task is a source, put out.
    pub(crate) records: u32,
    /// Number of records that a source may make in the step, before its operators drop some of them.
    pub(crate) made_records: u32,
}

/// Result of a step: the numbers of records in and out, and the progress of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StepReport {
    /// Number of records that the step took; number of rows if a record stands for several rows.
    pub(crate) records_in: u64,
    /// Number of records that the step put out; number of rows if a record stands for several rows.
    pub(crate) records_out: u64,
    /// Number of records taken off edges, where each record may stand for several rows.
    pub(crate) taken: u64,
    /// The last watermark that the task has taken, in this step or before, as far as it is known.
    pub(crate) watermark: Option<EventTime>,
    /// True if the end of the stream has passed through the task, so that the task has ended.
    pub(crate) ended: bool,
}

/// Irregularities in the input of a source, such as records that could not be parsed, counted for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Oddities {
    /// Number of input records that could not be parsed.
    pub(crate) bad: u64,
    /// Number of records stamped too far ahead of the clock to move a watermark.
    pub(crate) ahead: u64,
    /// Number of times that the source fell silent and was left out of merged watermarks.
    pub(crate) idled: u64,
}

/// The unit that a worker runs: an operator, or a chain of operators compiled into one loop, with its inputs
/// and outputs.
pub(crate) trait Task: Send {
    /// Runs the task for one quantum of records.
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault>;

    /// Gives the task the memory grant from which its state is reserved. Called before the first step.
    fn fund(&mut self, state_grant: &Arc<StateGrant>);

    /// Lets the task's operators draw seeds for their hash tables from `entropy`. Called before the first
    /// step.
    fn seed(&mut self, entropy: &mut dyn Entropy);

    /// Returns the bytes that the task holds for state and buffers, without the blocks of edges.
    fn held_bytes(&self) -> usize;

    /// Returns how many irregularities a source has found in its input, such as records that could not be
    /// parsed.
    fn oddities(&self) -> Oddities {
        Oddities::default()
    }

    /// Calls `each` with the name and the counts (records read, handed on and dropped) of each operator of
    /// the task.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Calls `each` with the bytes of state of each operator of the task, in the order of
    /// [`visit_counts`](Self::visit_counts).
    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize));

    /// Returns the maximum number of rows in a record, if a record stands for several rows; otherwise `None`.
    fn rows_max(&self) -> Option<u32> {
        None
    }

    /// Returns true if the results of the task arrive asynchronously.
    fn is_deferred(&self) -> bool {
        false
    }

    /// Returns the name of the operator whose code panicked, after a panic in a step; `None` if no operator's
    /// code did.
    fn faulted(&self) -> Option<&str>;

    /// Returns true if the task can take part in [checkpoints](crate::checkpoints). If it is false, the calls below are
    /// not made.
    fn takes_checkpoints(&self) -> bool {
        false
    }

    /// Tells the sink of the task that its query takes checkpoints, and returns the part of it that publishes; `None` if the
    /// task has no sink, or the sink cannot publish with checkpoints. Called before [`restore`](Self::restore).
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        None
    }

    /// Lets the task add its sections to the checkpoints of its query. Called before the first step.
    fn take_checkpoints(&mut self, _own: TaskCheckpoints) {}

    /// Writes the state of the task as it is between two steps, if no emission is unfinished.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    /// Makes the task go on from its section of a checkpoint. Called before the first step.
    fn restore(&mut self, _section: &Section) -> Result<(), StateError> {
        Ok(())
    }
}

/// Ways in which a source can be asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Stop {
    /// The source ends with a watermark of the end of time, at which every window fires.
    Drained = 1,
    /// The source ends at its last watermark, so that windows that end later never fire.
    AtWatermark = 2,
}

/// A view of a task for the scheduler and other threads that do not hold the task. Only the task writes it,
/// except for `stop` and `is_woken`, and for `reads_by_arrival`, which the engine sets before the first step.
/// Relaxed: the values are hints, exact while the task does not run, and the task's cell orders its runs.
pub(crate) struct Probe {
    /// The input edges of the task; empty for a source.
    pub(crate) inputs: Box<[Inlet]>,
    /// The output edges of the task; empty if it ends in a sink.
    pub(crate) outputs: Box<[Outlet]>,
    /// For a source: instant at which its next record is due, in ns; 0 if it makes records whenever it is
    /// polled.
    due_ns: AtomicU64,
    /// For a source: instant of its next poll, in ns; not before `due_ns`.
    poll_ns: AtomicU64,
    /// For a source: instant of its last poll, in ns; 0 before the first.
    polled_ns: AtomicU64,
    /// For a source: nanoseconds between its records, from the record due at `due_ns` on.
    spacing_ns: AtomicU64,
    /// For a source: true if it has ended, so that no record is due any more. Marks (such as watermarks) may
    /// still wait to be passed on.
    is_over: AtomicBool,
    /// For a source: the way in which a handle asked it to end, as the code of a [`Stop`]; 0 if none did.
    stop: AtomicU32,
    /// For a source: number of the checkpoint whose barrier the source was asked to put last; 0 before the first.
    barrier: AtomicU64,
    /// For a source: number of the checkpoint whose barrier the source has put last.
    put_barrier: AtomicU64,
    /// For a task with several inputs: true if this input waits at a barrier that other inputs have not seen, so that it is
    /// not read; otherwise empty.
    at_barrier: Box<[AtomicBool]>,
    /// For a task whose results arrive asynchronously: true if the task takes no more input for now.
    is_full: AtomicBool,
    /// For a task whose results arrive asynchronously: true if its waker was called since the task last
    /// looked for results. Written by any thread, which then notifies the task: see the module
    /// `task/deferred.rs`.
    is_woken: AtomicBool,
    /// For a task whose results arrive asynchronously: instant, in ns, from which it has something to emit though nothing
    /// arrives; `NO_ALARM` if there is none. Written by the worker that runs the task, before it puts the task back; read by
    /// others as a hint.
    alarm_ns: AtomicU64,
    /// True if the task has ever set an alarm, so that its instant is on the board of due times. Written and read by the
    /// worker that holds the task; it never becomes false again.
    has_alarm: AtomicBool,
    /// For a source: true if its last mark (such as a watermark) cannot be sent before an epoch is closed,
    /// because too many are open.
    awaits_epoch: AtomicBool,
    /// Instant, in ns, from which a mark (such as a watermark) or an emission of results of the task is
    /// unfinished, so that there is work without input; `SETTLED` if none is unfinished.
    unsettled_since_ns: AtomicU64,
    /// Time in ns at which the source event behind the unfinished mark (such as a watermark) or emission fell
    /// due or was read: a part of its scheduling context.
    unsettled_observed_ns: AtomicU64,
    /// Token of the unfinished mark (such as a watermark) or emission, as the instant in ns from which it is
    /// valid: the other part of its scheduling context.
    unsettled_token_ns: AtomicU64,
    /// Number of rows that the task has taken. `carriers_taken` counts the records that contained them, where
    /// a record stands for several rows. Relaxed: policies see only the ratio.
    rows_taken: AtomicU64,
    carriers_taken: AtomicU64,
    /// The tokens of a source, if its query has a rate of tokens (a token lets a record run before others).
    tokens: Option<Tokens>,
    /// For a task with several inputs: the last watermark that it has taken from each, as the bits of its
    /// microseconds; otherwise empty. Relaxed: policies only order work by it.
    input_watermarks: Box<[AtomicU64]>,
    /// For a task with several inputs: true if it reads them in the order of arrival, and not in that of their
    /// watermarks.
    reads_by_arrival: AtomicBool,
}

/// Stands for the time between two records of a source without a pace: it is not known whether more than one
/// record is due.
const UNKNOWN_SPACING: u64 = u64::MAX;

/// Stands for "no alarm" in place of an instant of processing time.
const NO_ALARM: u64 = ProcessingTime::NEVER.as_nanos();

/// Stands for "no unfinished mark (such as a watermark) or emission" in place of an instant of processing
/// time; later than any instant.
const SETTLED: u64 = u64::MAX;

impl Probe {
    pub(crate) fn new(inputs: Box<[Inlet]>, outputs: Box<[Outlet]>) -> Self {
        let unset = EventTime::MIN.as_micros().cast_unsigned();
        let several = if inputs.len() > 1 { inputs.len() } else { 0 };
        Probe {
            input_watermarks: (0..several).map(|_| AtomicU64::new(unset)).collect(),
            inputs,
            outputs,
            due_ns: AtomicU64::new(0),
            poll_ns: AtomicU64::new(0),
            polled_ns: AtomicU64::new(0),
            spacing_ns: AtomicU64::new(UNKNOWN_SPACING),
            is_over: AtomicBool::new(false),
            stop: AtomicU32::new(0),
            barrier: AtomicU64::new(0),
            put_barrier: AtomicU64::new(0),
            at_barrier: (0..several).map(|_| AtomicBool::new(false)).collect(),
            is_full: AtomicBool::new(false),
            is_woken: AtomicBool::new(false),
            alarm_ns: AtomicU64::new(NO_ALARM),
            has_alarm: AtomicBool::new(false),
            awaits_epoch: AtomicBool::new(false),
            unsettled_since_ns: AtomicU64::new(SETTLED),
            unsettled_observed_ns: AtomicU64::new(SETTLED),
            unsettled_token_ns: AtomicU64::new(SETTLED),
            rows_taken: AtomicU64::new(0),
            carriers_taken: AtomicU64::new(0),
            tokens: None,
            reads_by_arrival: AtomicBool::new(false),
        }
    }

    /// Sets the order in which the task reads its inputs: by arrival, or by their watermarks.
    pub(crate) fn set_input_order(&self, order: InputOrder) {
        self.reads_by_arrival.store(order == InputOrder::Arrival, Ordering::Relaxed);
    }

    /// Returns a function from the number of an input to the arrival time, in ns, by which the task chooses
    /// the next input; `None` if the task does not read its inputs in the order of arrival. See
    /// [`Inlet::arrived_ns`].
    pub(crate) fn arrivals(&self) -> Option<impl Fn(usize) -> u64> {
        let arrived_ns = |port: usize| self.inputs[port].arrived_ns();
        self.reads_by_arrival.load(Ordering::Relaxed).then_some(arrived_ns)
    }

    /// Returns this probe (the view of a source for other threads) with the tokens of the source, which let
    /// its records run before others (Cameo). `tokens` is `None` if the query has no rate of tokens.
    pub(crate) fn with_tokens(self, tokens: Option<Tokens>) -> Self {
        Probe { tokens, ..self }
    }

    pub(crate) fn is_source(&self) -> bool {
        self.inputs.is_empty()
    }

    pub(crate) fn is_sink(&self) -> bool {
        self.outputs.iter().all(|outlet| matches!(outlet, Outlet::Closes(_)))
    }

    /// Sets the number by which the pool names this task when it has allocated a chunk of memory for one of
    /// the task's output edges.
    pub(crate) fn name_writer(&self, name: u32) {
        self.outputs.iter().for_each(|outlet| outlet.name_writer(name.into()));
    }

    /// Records for the input and output edges that the task runs on this worker from now on, so that blocks
    /// are reused in the order that suits its cache.
    pub(crate) fn note_core(&self, worker: usize) {
        self.inputs
            .iter()
            .filter_map(Inlet::edge)
            .for_each(|(edge, reader)| edge.note_reader_core(reader, worker));
        self.outputs.iter().filter_map(Outlet::edge).for_each(|edge| edge.note_writer_core(worker));
    }

    /// Makes the table for the positions of this task's edges, at first all at zero.
    pub(crate) fn no_reach(&self) -> Reach {
        Reach { read: vec![Position::default(); self.inputs.len()].into(), written: 0, closed: 0 }
    }

    /// Stores the present positions of the task's edges in `reach`.
    pub(crate) fn note_reach(&self, reach: &mut Reach) {
        for (inlet, read) in self.inputs.iter().zip(&mut reach.read) {
            *read = inlet.position();
        }
        (reach.written, reach.closed) = (self.written(), self.closed());
    }

    fn written(&self) -> u64 {
        self.outputs.iter().map(Outlet::written).sum()
    }

    fn closed(&self) -> u64 {
        let read: u64 = self.inputs.iter().map(Inlet::closed).sum();
        read + self.outputs.iter().map(Outlet::closed).sum::<u64>()
    }

    /// Returns which epochs have work that waits for the task, as policies see it.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        self.inputs.first().map_or(EpochWork::Unknown, |inlet| inlet.epoch_work(now))
    }

    /// Returns the number of open epochs with blocks that the task has not consumed.
    pub(crate) fn open_containers(&self) -> u32 {
        self.inputs.first().map_or(0, Inlet::open_containers)
    }

    /// Returns the changes for other tasks that the task has made since its positions were stored in `reach`.
    pub(crate) fn changes_since(&self, reach: &Reach) -> Changes {
        let freed = |(inlet, read): (&Inlet, &Position)| inlet.has_freed(*read);
        Changes {
            wrote: self.written() != reach.written,
            closed: self.closed() != reach.closed,
            freed: self.inputs.iter().zip(&reach.read).any(freed),
            gave_back: self.outputs.iter().any(Outlet::has_freed),
        }
    }

    /// Returns true if the task has taken anything from an input (records, a block, or marks such as
    /// watermarks) since `reach` was recorded.
    pub(crate) fn has_read(&self, reach: &Reach) -> bool {
        let has_moved = |(inlet, read): (&Inlet, &Position)| inlet.position() != *read;
        self.inputs.iter().zip(&reach.read).any(has_moved)
    }

    pub(crate) fn can_output(&self) -> bool {
        let awaits_epoch = self.awaits_epoch.load(Ordering::Relaxed);
        let has_room = |outlet: &Outlet| outlet.has_room() && !(awaits_epoch && outlet.is_full_of_epochs());
        self.outputs.iter().all(has_room)
    }

    /// Returns true if tasks that read the output of this task hold back blocks which they must claim when no
    /// free block is left.
    pub(crate) fn is_held(&self) -> bool {
        self.outputs.iter().any(Outlet::holds_blocks)
    }

    /// Returns the number of records that wait on the input edges of the task.
    pub(crate) fn pending_records(&self) -> u64 {
        self.inputs.iter().map(Inlet::pending_records).sum()
    }

    /// Returns the number of records and marks (such as watermarks) that wait for the task, at least 1 if the
    /// task has anything to do.
    pub(crate) fn pending(&self, now: ProcessingTime) -> u64 {
        let unsettled = u64::from(self.unsettled_since_ns.load(Ordering::Relaxed) != SETTLED);
        if self.is_source() {
            return unsettled + self.due_count(now);
        }
        let is_called = self.is_woken.load(Ordering::Relaxed) || self.alarm() <= now;
        let unsettled = unsettled + u64::from(is_called);
        if self.is_full.load(Ordering::Relaxed) {
            return unsettled;
        }
        self.read_inputs().map(|inlet| inlet.pending(now)).sum::<u64>() + unsettled
    }

    /// Returns the inputs that do not wait at a barrier.
    fn read_inputs(&self) -> impl Iterator<Item = &Inlet> {
        let waits =
            |port: usize| self.at_barrier.get(port).is_some_and(|waits| waits.load(Ordering::Relaxed));
        self.inputs.iter().enumerate().filter(move |(port, _)| !waits(*port)).map(|(_, inlet)| inlet)
    }

    /// Returns the number of waiting records as rows: each waiting record counts as many rows as the average
    /// record taken so far. See [`pending`](Probe::pending).
    pub(crate) fn pending_rows(&self, now: ProcessingTime) -> u64 {
        self.in_rows(self.pending(now))
    }

    /// Returns the length of the queue in front of the task at `now`, in rows: the records that wait on its
    /// input edges or, for a source, the records that are due. Marks (such as watermarks) do not count,
    /// except that latency markers which wait alone in front of a parallel task count as one record. Returns
    /// `None` if the task has no queue: a task that closes epochs takes no records, and a source that makes
    /// records on demand, or was never polled, has none that are due. A source that has caught up counts as
    /// empty up to its next poll, as for policies, and one that has ended is empty.
    pub(crate) fn queue_length(&self, now: ProcessingTime) -> Option<u64> {
        let has_queue = if self.is_source() { !self.is_on_demand() } else { !self.closes_epochs() };
        let records = || if self.is_source() { self.due_count(now) } else { self.pending_records() };
        has_queue.then(|| self.in_rows(records()))
    }

    /// Converts a number of records to rows, by the mean number of rows in the records taken so far. The
    /// number is unchanged if a record is one row. Waiting records count as one row at least, although those taken so far
    /// may have had no rows: a task that can run must not look idle to a policy.
    pub(crate) fn in_rows(&self, records: u64) -> u64 {
        match self.carriers_taken.load(Ordering::Relaxed) {
            0 => records,
            carriers => {
                let rows = self.rows_taken.load(Ordering::Relaxed);
                ((records as f64 * rows as f64 / carriers as f64).ceil() as u64).max(records.min(1))
            }
        }
    }

    /// Records how many rows a step took and in how many records, if a record stands for several rows.
    pub(crate) fn note_rows(&self, report: StepReport) {
        if report.records_in != report.taken && report.taken > 0 {
            self.rows_taken.fetch_add(report.records_in, Ordering::Relaxed);
            self.carriers_taken.fetch_add(report.taken, Ordering::Relaxed);
        }
    }

    /// Returns the number of records of a source that are due and not yet polled, as far as that is known.
    fn due_count(&self, now: ProcessingTime) -> u64 {
        if now < self.due() {
            return 0;
        }
        let due = ProcessingTime::from_nanos(self.due_ns.load(Ordering::Relaxed));
        // If the source makes records on demand, one record counts as due, because it could make any number
        // of them.
        let late_ns = if due == ProcessingTime::ZERO { 0 } else { now.nanos_since(due) };
        late_ns / self.spacing_ns.load(Ordering::Relaxed) + 1
    }

    /// Returns the time at which the oldest waiting record, mark (such as a watermark) or unfinished emission
    /// of the task arrived.
    pub(crate) fn oldest_pending(&self, now: ProcessingTime) -> ProcessingTime {
        let unsettled = ProcessingTime::from_nanos(self.unsettled_since_ns.load(Ordering::Relaxed));
        let arrived = if !self.is_source() {
            self.read_inputs().filter_map(Inlet::oldest_ns).min().unwrap_or(u64::MAX)
        } else if self.is_on_demand() {
            // Records of a source with a pace have waited since their due time. Records made on demand count
            // as waiting since the last poll.
            self.polled_ns.load(Ordering::Relaxed)
        } else {
            self.due_ns.load(Ordering::Relaxed)
        };
        ProcessingTime::from_nanos(arrived).min(self.alarm()).min(unsettled).min(now)
    }

    /// Returns the instant of a source's next poll; `ZERO` if it can be polled at once, and `NEVER` if it has
    /// ended.
    pub(crate) fn due(&self) -> ProcessingTime {
        if self.is_over.load(Ordering::Relaxed) {
            return ProcessingTime::NEVER;
        }
        if self.stop_asked().is_some() || self.barrier_asked().is_some() {
            return ProcessingTime::ZERO;
        }
        ProcessingTime::from_nanos(self.poll_ns.load(Ordering::Relaxed))
    }

    /// Returns true if the passing of time alone can make this task ready. This holds for a source, whose
    /// next record becomes due, for a copy of a parallel operator, which may claim blocks that have
    /// waited for long on other work queues, and for a task that has set an alarm.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.is_source()
            || matches!(&*self.inputs, [Inlet::Claims(..)])
            || self.has_alarm.load(Ordering::Relaxed)
    }

    /// Sets the instant from which the task has something to emit though nothing arrives;
    /// [`ProcessingTime::NEVER`] if there is none.
    pub(crate) fn set_alarm(&self, alarm: ProcessingTime) {
        if alarm != ProcessingTime::NEVER {
            self.has_alarm.store(true, Ordering::Relaxed);
        }
        self.alarm_ns.store(alarm.as_nanos(), Ordering::Relaxed);
    }

    fn alarm(&self) -> ProcessingTime {
        ProcessingTime::from_nanos(self.alarm_ns.load(Ordering::Relaxed))
    }

    /// Returns the instant at which the task has something to do if no event happens until then. Call this
    /// when the task has nothing to do at `now`.
    pub(crate) fn next_due(&self, now: ProcessingTime) -> ProcessingTime {
        if self.is_source() {
            return self.due();
        }
        let claimable = self.inputs.iter().map(|inlet| inlet.next_claimable_at(now));
        claimable.min().unwrap_or(ProcessingTime::NEVER).min(self.alarm())
    }

    /// Returns the number of bytes of the output edges that hold no unread records.
    pub(crate) fn empty_bytes(&self) -> u64 {
        self.outputs.iter().filter_map(Outlet::edge).map(|edge| edge.empty_bytes()).sum()
    }

    /// Returns true if the task is a source that makes records whenever it is polled.
    pub(crate) fn is_on_demand(&self) -> bool {
        self.is_source() && self.due() == ProcessingTime::ZERO
    }

    /// Returns true if the task closes the epochs of a parallel operator: it merges the state of the copies
    /// and emits the results, and takes no records.
    pub(crate) fn closes_epochs(&self) -> bool {
        matches!(&*self.inputs, [Inlet::Epochs(..)])
    }

    /// Returns the number of records that a source may still make with a token; `None` if there are no
    /// tokens.
    pub(crate) fn tokens_left(&self, now: ProcessingTime) -> Option<u64> {
        self.tokens.as_ref().map(|tokens| tokens.left(now)).filter(|&left| left > 0)
    }

    /// Records a poll at `now` of a source that can make more records at once.
    pub(crate) fn note_poll(&self, now: ProcessingTime) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(0, Ordering::Relaxed);
        self.poll_ns.store(0, Ordering::Relaxed);
    }

    /// Records that a source has ended: it is polled no more, and none of its records is due.
    pub(crate) fn note_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.due_ns.store(ProcessingTime::NEVER.as_nanos(), Ordering::Relaxed);
    }

    /// Records a poll at `now` of a source that has caught up. Its next record is due at `due`, and later
    /// ones come `spacing_ns` apart. The source is polled again at `due`, but not before `grain_ns` have
    /// passed.
    pub(crate) fn note_caught_up(
        &self,
        now: ProcessingTime,
        due: ProcessingTime,
        spacing_ns: Option<u64>,
        grain_ns: u64,
    ) {
        self.poll_ns.store(due.max(now.plus_nanos(grain_ns)).as_nanos(), Ordering::Relaxed);
        self.note_due(now, due, spacing_ns);
    }

    /// Records a poll at `now` of a source that is behind. Its next record has been due since `due`, and
    /// later ones come `spacing_ns` apart. The source can be polled again at once.
    pub(crate) fn note_behind(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        // A due time of 0 would mean that the source makes any number of records on demand.
        let due = due.max(ProcessingTime::from_nanos(1));
        self.poll_ns.store(due.as_nanos(), Ordering::Relaxed);
        self.note_due(now, due, spacing_ns);
    }

    fn note_due(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(due.as_nanos(), Ordering::Relaxed);
        // If all records are due at once, the time between two of them would be 0. One nanosecond is short
        // enough and avoids a division by zero.
        self.spacing_ns
            .store(spacing_ns.map_or(UNKNOWN_SPACING, |spacing| spacing.max(1)), Ordering::Relaxed);
    }

    /// Records that a mark (such as a watermark) or an emission of results is unfinished, whose time and
    /// scheduling context are in `arrival`. Nothing is unfinished if `arrival` is `None`.
    pub(crate) fn set_unsettled(&self, arrival: Option<Arrival>) {
        let before = self.unsettled_since_ns.load(Ordering::Relaxed);
        let Some(Arrival { now, context }) = arrival else {
            return self.unsettled_since_ns.store(SETTLED, Ordering::Relaxed);
        };
        if before == SETTLED {
            self.unsettled_observed_ns.store(context.observed.as_nanos(), Ordering::Relaxed);
            let token_ns = context.token.map_or(SETTLED, ProcessingTime::as_nanos);
            self.unsettled_token_ns.store(token_ns, Ordering::Relaxed);
        }
        self.unsettled_since_ns.store(now.as_nanos().min(before), Ordering::Relaxed);
    }

    /// Sets whether the last mark of the task (such as a watermark) must wait until an epoch is closed,
    /// because too many are open.
    pub(crate) fn set_awaits_epoch(&self, awaits_epoch: bool) {
        self.awaits_epoch.store(awaits_epoch, Ordering::Relaxed);
    }

    /// Returns the scheduling context of the work that the task takes next: the oldest of the input that is read
    /// next. For a source, returns the context that its next records get.
    pub(crate) fn head(&self, now: ProcessingTime) -> Context {
        if self.unsettled_since_ns.load(Ordering::Relaxed) != SETTLED {
            let token_ns = self.unsettled_token_ns.load(Ordering::Relaxed);
            return Context {
                observed: ProcessingTime::from_nanos(self.unsettled_observed_ns.load(Ordering::Relaxed)),
                token: (token_ns != SETTLED).then_some(ProcessingTime::from_nanos(token_ns)),
            };
        }
        if self.is_source() {
            let token = self.tokens.as_ref().and_then(|tokens| tokens.tag(now));
            return Context { observed: self.oldest_pending(now), token };
        }
        self.next_head(now).map_or(Context { observed: now, token: None }, |(_, head)| head)
    }

    /// Returns true if a mark (such as a watermark) or an emission of results of the task is unfinished, so
    /// that it comes before all input.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled_since_ns.load(Ordering::Relaxed) != SETTLED
    }

    /// Records a mark (such as a watermark) that a task with several inputs has taken from the input `port`.
    pub(crate) fn note_input_mark(&self, port: usize, mark: Mark) {
        if let (Mark::Watermark(watermark), Some(last)) = (mark, self.input_watermarks.get(port)) {
            last.store(watermark.as_micros().cast_unsigned(), Ordering::Relaxed);
        }
        if let (Mark::Barrier(_), Some(waits)) = (mark, self.at_barrier.get(port)) {
            waits.store(true, Ordering::Relaxed);
        }
    }

    /// Records that all inputs of a task have seen a barrier, so that all are read again.
    pub(crate) fn pass_barrier(&self) {
        self.at_barrier.iter().for_each(|waits| waits.store(false, Ordering::Relaxed));
    }

    /// Asks a source to put the barrier of the checkpoint `number`, which is above those before.
    pub(crate) fn ask_barrier(&self, number: u64) {
        self.barrier.store(number, Ordering::Relaxed);
    }

    /// Returns the number of the checkpoint whose barrier a source was asked to put and has not put; `None` if there is none.
    #[inline]
    pub(crate) fn barrier_asked(&self) -> Option<u64> {
        let asked = self.barrier.load(Ordering::Relaxed);
        (asked != self.put_barrier.load(Ordering::Relaxed)).then_some(asked)
    }

    /// Records that a source has put the barrier of the checkpoint `number`.
    pub(crate) fn note_barrier(&self, number: u64) {
        self.put_barrier.store(number, Ordering::Relaxed);
    }

    /// Returns the scheduling context of the work at the head of the input that is read next, and the last
    /// watermark of that input. It is the input that [`Merge`](merge::Merge) chooses apart from its turns: among those
    /// with waiting work the one with the lowest watermark, and of several such inputs the one whose work has the oldest
    /// source event. If inputs are read in the order of arrival, it is the one whose work came first, and of several
    /// such inputs the first of the task's inputs. Returns `None` if nothing waits.
    fn next_head(&self, now: ProcessingTime) -> Option<(EventTime, Context)> {
        let heads = self.inputs.iter().enumerate().filter_map(|(port, inlet)| {
            let last = self.input_watermarks.get(port).map(|last| last.load(Ordering::Relaxed).cast_signed());
            let watermark = last.map_or(EventTime::MIN, EventTime::from_micros);
            Some((port, (watermark, inlet.head(now)?)))
        });
        let next = match self.arrivals() {
            None => heads.min_by_key(|(_, (watermark, head))| (*watermark, head.observed)),
            Some(arrived_ns) => heads.min_by_key(|(port, _)| arrived_ns(*port)),
        };
        next.map(|(_, head)| head)
    }

    /// Returns the last watermark of the input that is read next, for a task with several inputs. It is the
    /// progress of the message that runs next (Cameo, section 4.3, p_M). Returns `None` if the task has one input,
    /// if nothing waits, or if that input has had no watermark.
    pub(crate) fn head_watermark(&self, now: ProcessingTime) -> Option<EventTime> {
        if self.input_watermarks.is_empty() {
            return None;
        }
        let (watermark, _) = self.next_head(now)?;
        Some(watermark).filter(|watermark| *watermark > EventTime::MIN)
    }

    /// Returns the scheduling context of the mark that was just taken from the input edge `port`. It is the
    /// context of the record that waits behind the mark, to within a block, or the mark's own if nothing
    /// waits. If only marks wait behind it, or if no edge is read, the context of the whole step (`of_step`)
    /// is returned, which is no later. Never inlined: marks are rare, and the callers are loops over records.
    #[cold]
    #[inline(never)]
    pub(crate) fn context_of_mark(&self, port: usize, of_step: Context) -> Context {
        self.inputs.get(port).and_then(Inlet::edge).map_or(of_step, |(edge, reader)| {
            match (edge.pending(reader), edge.pending_marks(reader)) {
                (0, 0) => context_of(edge.mark_stamp()),
                // No record waits behind the mark (such as a watermark), but further marks do. The edge keeps
                // only the stamp of the last of them, so the stamp of this mark is not known.
                (0, _) => of_step,
                _ => context_of(edge.head_stamp(reader)),
            }
        })
    }

    /// Returns the metadata (time and scheduling context) for the output of a step that begins now.
    #[inline]
    pub(crate) fn arrival(&self, now: ProcessingTime) -> Arrival {
        let mut head = self.head(now);
        if !self.input_watermarks.is_empty() {
            // A step reads all inputs of the task, and not only the one that it reads first. So its context
            // is the oldest of all inputs.
            let all = self.inputs.iter().filter_map(|inlet| inlet.head(now)).chain([head]);
            head = all.min_by_key(|head| head.observed).unwrap_or(head);
        }
        // If a source makes its records on demand, the time of their scheduling context is the moment at
        // which they are made.
        let observed = if self.is_on_demand() { now } else { head.observed };
        Arrival { now, context: Context { observed, ..head } }
    }

    /// Records that a source has made this many records, which uses up some of its tokens.
    pub(crate) fn spend_tokens(&self, now: ProcessingTime, records: u64) {
        if let Some(tokens) = &self.tokens {
            tokens.spend(now, records);
        }
    }

    /// Records whether a task with asynchronous results takes no more input for now.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Records that asynchronous results may have arrived for the task to emit. Returns `false` if this was
    /// recorded already.
    pub(crate) fn wake(&self) -> bool {
        // A caller that finds the flag set need not notify the task, because the caller that set the flag
        // does so. The task clears the flag before it looks for results.
        !self.is_woken.swap(true, Ordering::AcqRel)
    }

    /// Clears the flag that [`wake`](Self::wake) sets, before the task looks for asynchronous results.
    /// AcqRel, as in `wake`: a look that follows sees everything that was published before `wake` was called.
    pub(crate) fn take_wake(&self) {
        self.is_woken.swap(false, Ordering::AcqRel);
    }

    /// Asks a source to end, unless a handle has asked it before.
    pub(crate) fn stop(&self, stop: Stop) {
        // The first request is kept, so that sources which have seen it already and all other sources end in
        // the same way.
        let _first = self.stop.compare_exchange(0, stop as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the way in which a source was asked to end; `None` if it was not asked.
    #[inline]
    pub(crate) fn stop_asked(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Relaxed) {
            0 => None,
            code if code == Stop::Drained as u32 => Some(Stop::Drained),
            _ => Some(Stop::AtWatermark),
        }
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
