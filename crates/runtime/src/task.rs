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
//! quantum. A step never waits for a batch to fill. Marks pass through the chain at their exact place. An
//! emission that finds no room continues in a later step ("resumable emission").
//!
//! Tasks are generic inside and boxed at their border: one virtual call per step.

pub(crate) mod closing;
pub(crate) mod deferred;
pub(crate) mod gather;
mod inlet;
pub(crate) mod merge;
pub(crate) mod operator;
pub(crate) mod relay;
pub(crate) mod source;
pub(crate) mod tail;
mod tokens;

use std::sync::Arc;

use thalweg_memory::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use thalweg_model::{Clock, Counts, Entropy, EventTime, Fault, ProcessingTime};
use thalweg_scheduling::{Context, EpochWork};

pub(crate) use self::inlet::{FirstSeen, Inlet, Outlet, Position};
pub(crate) use self::tokens::Tokens;
use crate::arrival::{Arrival, context_of};
use crate::meter::Meter;
use crate::state_grant::StateGrant;

/// Surroundings of a task in one step.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Start of the step.
    pub(crate) now: ProcessingTime,
    /// Arrival that is recorded for the output of the step.
    pub(crate) arrival: Arrival,
    pub(crate) quantum: Quantum,
    /// The grant that pays for the task's state.
    pub(crate) state_grant: &'a StateGrant,
    /// The worker that runs the step.
    pub(crate) worker: usize,
    /// See [`limits::SOURCE_GRAIN_NS`](crate::limits::SOURCE_GRAIN_NS).
    pub(crate) source_grain_ns: u64,
    /// Set in a step that measures every operator of the chain: the meter that receives the costs.
    pub(crate) measured: Option<&'a Meter>,
}

/// Length of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantum {
    /// Records that the step may take or, for a source, put out.
    pub(crate) records: u32,
    /// Records that a source may make.
    pub(crate) made_records: u32,
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StepReport {
    /// Records taken, or rows if records count for several.
    pub(crate) records_in: u64,
    /// Records put out, or rows if records count for several.
    pub(crate) records_out: u64,
    /// Records taken off edges, each of which may count for several.
    pub(crate) taken: u64,
    /// The last watermark taken, in this step or before, as far as it is known.
    pub(crate) watermark: Option<EventTime>,
    /// True if the end of the stream has passed through.
    pub(crate) ended: bool,
}

/// Irregularities that a source has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Oddities {
    /// Records that could not be parsed.
    pub(crate) bad: u64,
    /// Records stamped too far ahead of the clock to move a watermark.
    pub(crate) ahead: u64,
    /// Times that the source fell silent, and was left out of merged watermarks.
    pub(crate) idled: u64,
}

/// A schedulable instance of an operator or a chain.
pub(crate) trait Task: Send {
    /// Runs for a quantum.
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault>;

    /// Takes the grant that pays for its state, before the first step.
    fn fund(&mut self, state_grant: &Arc<StateGrant>);

    /// Draws seeds, before the first step.
    fn seed(&mut self, entropy: &mut dyn Entropy);

    /// Bytes held for state and buffers, without blocks.
    fn held_bytes(&self) -> usize;

    /// Returns the irregularities in the input of a source.
    fn oddities(&self) -> Oddities {
        Oddities::default()
    }

    /// Visits the name and the counts of each operator of the chain.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// Most rows of a record, if its records count for several.
    fn rows_max(&self) -> Option<u32> {
        None
    }

    /// Returns true if its results arrive in their own time.
    fn is_deferred(&self) -> bool {
        false
    }

    /// Returns, after a panic, the name of the operator whose code panicked, if it was an operator's.
    fn faulted(&self) -> Option<&str>;
}

/// Positions of a task's edges at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Positions of the inputs, in order.
    read: Box<[Position]>,
    /// Records and marks on all outputs.
    written: u64,
    /// Version of the epochs there and downstream.
    closed: u64,
}

/// Changes that a run has made for other tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    /// Tasks downstream have more to read.
    pub(crate) wrote: bool,
    /// An epoch was retrieved, the stream is over, or the like: that concerns the tasks that close epochs.
    pub(crate) closed: bool,
    /// Tasks that write its inputs may have been without room, and have some now.
    pub(crate) freed: bool,
    /// Other tasks that write its outputs may have been without room, and have some now.
    pub(crate) gave_back: bool,
}

/// Ways in which a source can be asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Stop {
    /// With a watermark of the end of time, at which every window fires.
    Drained = 1,
    /// With its last watermark, so that windows behind it never fire.
    AtWatermark = 2,
}

/// A view of a task for schedulers, which do not touch the task. Only the task writes it, except for `stop`
/// and `is_woken`. Relaxed: the values are hints, exact while the task does not run, and the task's cell
/// orders its runs.
pub(crate) struct Probe {
    /// The inputs; none for a source.
    pub(crate) inputs: Box<[Inlet]>,
    /// The outputs; none for a sink.
    pub(crate) outputs: Box<[Outlet]>,
    /// For a source: due time of its next record, in ns; zero for at once.
    due_ns: AtomicU64,
    /// For a source: time of its next poll, in ns; not before `due_ns`.
    poll_ns: AtomicU64,
    /// For a source: time of its last poll, in ns.
    polled_ns: AtomicU64,
    /// For a source: interval between its records from `due_ns` on, in ns.
    spacing_ns: AtomicU64,
    /// For a source: the way in which a handle asked it to end, as the code of a [`Stop`]; zero if none did.
    stop: AtomicU32,
    /// For a task whose results arrive in their own time: it takes no more input for now.
    is_full: AtomicBool,
    /// For such a task: its waker was called since it last emitted. Written by any thread, which then
    /// notifies the task: see `deferred`.
    is_woken: AtomicBool,
    /// For a source: its last mark waits until an epoch is closed.
    awaits_epoch: AtomicBool,
    /// Time, in ns, from which a mark or an emission is unfinished, so that there is work without input;
    /// `SETTLED` if there is none.
    unsettled_since_ns: AtomicU64,
    /// Context of the unfinished mark or emission: the time at which it was observed, in ns, and its token.
    unsettled_observed_ns: AtomicU64,
    unsettled_token_ns: AtomicU64,
    /// Rows taken, and the records that contained them, where records count for several. Relaxed: policies
    /// see their ratio.
    rows_taken: AtomicU64,
    carriers_taken: AtomicU64,
    /// Tokens of a source, if its query has a rate of tokens.
    tokens: Option<Tokens>,
}

/// Spacing of a source without a pace: one record may be due, as far as is known.
const UNKNOWN_SPACING: u64 = u64::MAX;

/// Later than any instant.
const SETTLED: u64 = u64::MAX;

impl Probe {
    pub(crate) fn new(inputs: Box<[Inlet]>, outputs: Box<[Outlet]>) -> Self {
        Probe {
            inputs,
            outputs,
            due_ns: AtomicU64::new(0),
            poll_ns: AtomicU64::new(0),
            polled_ns: AtomicU64::new(0),
            spacing_ns: AtomicU64::new(UNKNOWN_SPACING),
            stop: AtomicU32::new(0),
            is_full: AtomicBool::new(false),
            is_woken: AtomicBool::new(false),
            awaits_epoch: AtomicBool::new(false),
            unsettled_since_ns: AtomicU64::new(SETTLED),
            unsettled_observed_ns: AtomicU64::new(SETTLED),
            unsettled_token_ns: AtomicU64::new(SETTLED),
            rows_taken: AtomicU64::new(0),
            carriers_taken: AtomicU64::new(0),
            tokens: None,
        }
    }

    /// Gives the probe of a source its tokens.
    pub(crate) fn with_tokens(self, tokens: Option<Tokens>) -> Self {
        Probe { tokens, ..self }
    }

    pub(crate) fn is_source(&self) -> bool {
        self.inputs.is_empty()
    }

    pub(crate) fn is_sink(&self) -> bool {
        self.outputs.iter().all(|outlet| matches!(outlet, Outlet::Closes(_)))
    }

    /// Sets the name of the writer of the output edges, which the pool reports when it has made a chunk for
    /// one.
    pub(crate) fn name_writer(&self, name: u32) {
        self.outputs.iter().for_each(|outlet| outlet.name_writer(name.into()));
    }

    /// Records the worker on whose core the edges are read and written from now on.
    pub(crate) fn note_core(&self, worker: usize) {
        self.inputs
            .iter()
            .filter_map(Inlet::edge)
            .for_each(|(edge, reader)| edge.note_reader_core(reader, worker));
        self.outputs.iter().filter_map(Outlet::edge).for_each(|edge| edge.note_writer_core(worker));
    }

    /// Makes an empty record of edge positions.
    pub(crate) fn no_reach(&self) -> Reach {
        Reach { read: vec![Position::default(); self.inputs.len()].into(), written: 0, closed: 0 }
    }

    /// Records the positions of the edges.
    pub(crate) fn note_reach(&self, reach: &mut Reach) {
        for (inlet, read) in self.inputs.iter().zip(&mut reach.read) {
            *read = inlet.position();
        }
        (reach.written, reach.closed) = (self.written(), self.closed());
    }

    /// Records and marks on all outputs; grows with either.
    fn written(&self) -> u64 {
        self.outputs.iter().map(Outlet::written).sum()
    }

    fn closed(&self) -> u64 {
        let read: u64 = self.inputs.iter().map(Inlet::closed).sum();
        read + self.outputs.iter().map(Outlet::closed).sum::<u64>()
    }

    /// Returns the waiting work, by epochs.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        self.inputs.first().map_or(EpochWork::Unknown, |inlet| inlet.epoch_work(now))
    }

    /// Returns the changes for other tasks since `reach` was recorded.
    pub(crate) fn changes_since(&self, reach: &Reach) -> Changes {
        let freed = |(inlet, read): (&Inlet, &Position)| inlet.has_freed(*read);
        Changes {
            wrote: self.written() != reach.written,
            closed: self.closed() != reach.closed,
            freed: self.inputs.iter().zip(&reach.read).any(freed),
            gave_back: self.outputs.iter().any(Outlet::has_freed),
        }
    }

    /// Returns true if a mark or a block was taken since `reach` was recorded.
    pub(crate) fn has_read(&self, reach: &Reach) -> bool {
        let has_moved = |(inlet, read): (&Inlet, &Position)| inlet.position() != *read;
        self.inputs.iter().zip(&reach.read).any(has_moved)
    }

    pub(crate) fn can_output(&self) -> bool {
        let awaits_epoch = self.awaits_epoch.load(Ordering::Relaxed);
        let has_room = |outlet: &Outlet| outlet.has_room() && !(awaits_epoch && outlet.is_full_of_epochs());
        self.outputs.iter().all(has_room)
    }

    /// Returns true if readers of its output hold back blocks that they claim when there is no room.
    pub(crate) fn is_held(&self) -> bool {
        self.outputs.iter().any(Outlet::holds_blocks)
    }

    /// Records on the input edges.
    pub(crate) fn pending_records(&self) -> u64 {
        self.inputs.iter().map(Inlet::pending_records).sum()
    }

    /// Waiting records and marks, at least one if there is anything to do.
    pub(crate) fn pending(&self, now: ProcessingTime) -> u64 {
        let unsettled = u64::from(self.unsettled_since_ns.load(Ordering::Relaxed) != SETTLED);
        if self.is_source() {
            return unsettled + self.due_count(now);
        }
        let unsettled = unsettled + u64::from(self.is_woken.load(Ordering::Relaxed));
        if self.is_full.load(Ordering::Relaxed) {
            return unsettled;
        }
        self.inputs.iter().map(|inlet| inlet.pending(now)).sum::<u64>() + unsettled
    }

    /// Returns [`pending`](Probe::pending) in rows: each waiting record counts as many rows as the average
    /// record taken.
    pub(crate) fn pending_rows(&self, now: ProcessingTime) -> u64 {
        self.in_rows(self.pending(now))
    }

    /// Converts a number of records to rows, by the mean of the records taken. The number is unchanged if
    /// each record counts once.
    pub(crate) fn in_rows(&self, records: u64) -> u64 {
        match self.carriers_taken.load(Ordering::Relaxed) {
            0 => records,
            carriers => {
                let rows = self.rows_taken.load(Ordering::Relaxed);
                (records as f64 * rows as f64 / carriers as f64).ceil() as u64
            }
        }
    }

    /// Records the rows and records taken in a step, where records count for several.
    pub(crate) fn note_rows(&self, report: StepReport) {
        if report.records_in != report.taken && report.taken > 0 {
            self.rows_taken.fetch_add(report.records_in, Ordering::Relaxed);
            self.carriers_taken.fetch_add(report.taken, Ordering::Relaxed);
        }
    }

    /// Records of a source that are due and not yet polled, as far as is known.
    fn due_count(&self, now: ProcessingTime) -> u64 {
        if now < self.due() {
            return 0;
        }
        let due = ProcessingTime::from_nanos(self.due_ns.load(Ordering::Relaxed));
        // On demand a source could make any number, of which one is sure.
        let late_ns = if due == ProcessingTime::ZERO { 0 } else { now.nanos_since(due) };
        late_ns / self.spacing_ns.load(Ordering::Relaxed) + 1
    }

    /// Returns the arrival time of the oldest waiting record, mark or rest of an emission.
    pub(crate) fn oldest_pending(&self, now: ProcessingTime) -> ProcessingTime {
        let unsettled = ProcessingTime::from_nanos(self.unsettled_since_ns.load(Ordering::Relaxed));
        let arrived = if !self.is_source() {
            self.inputs.iter().filter_map(Inlet::oldest_ns).min().unwrap_or(u64::MAX)
        } else if self.is_on_demand() {
            // Records with a due time have waited since then; those made on demand, since the last poll.
            self.polled_ns.load(Ordering::Relaxed)
        } else {
            self.due_ns.load(Ordering::Relaxed)
        };
        ProcessingTime::from_nanos(arrived).min(unsettled).min(now)
    }

    /// Returns the time of a source's next poll; `ZERO` for at once.
    pub(crate) fn due(&self) -> ProcessingTime {
        if self.stop_asked().is_some() {
            return ProcessingTime::ZERO;
        }
        ProcessingTime::from_nanos(self.poll_ns.load(Ordering::Relaxed))
    }

    /// Returns true if time alone can give it something to do: a source, whose next record becomes due, or a
    /// copy, which may claim blocks that have waited for long on other work queues.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.is_source() || matches!(&*self.inputs, [Inlet::Claims(..)])
    }

    /// Returns when it has something to do if no event happens until then. To be asked when it has nothing to
    /// do at `now`.
    pub(crate) fn next_due(&self, now: ProcessingTime) -> ProcessingTime {
        if self.is_source() {
            return self.due();
        }
        let claimable = self.inputs.iter().map(|inlet| inlet.next_claimable_at(now));
        claimable.min().unwrap_or(ProcessingTime::NEVER)
    }

    /// Bytes of the output edges that hold no unread records.
    pub(crate) fn empty_bytes(&self) -> u64 {
        self.outputs.iter().filter_map(Outlet::edge).map(|edge| edge.empty_bytes()).sum()
    }

    /// Returns true for a source that makes records whenever it is polled.
    pub(crate) fn is_on_demand(&self) -> bool {
        self.is_source() && self.due() == ProcessingTime::ZERO
    }

    /// Returns true if the task closes epochs, and so takes no records.
    pub(crate) fn closes_epochs(&self) -> bool {
        matches!(&*self.inputs, [Inlet::Epochs(..)])
    }

    /// Records that a source may still let in with a token, if there are any.
    pub(crate) fn tokens_left(&self, now: ProcessingTime) -> Option<u64> {
        self.tokens.as_ref().map(|tokens| tokens.left(now)).filter(|&left| left > 0)
    }

    /// Records a poll at `now` of a source that can make more at once.
    pub(crate) fn note_poll(&self, now: ProcessingTime) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(0, Ordering::Relaxed);
        self.poll_ns.store(0, Ordering::Relaxed);
    }

    /// Records a poll at `now` of a source whose next record is due at `due`, and later ones `spacing_ns`
    /// apart. It is polled again at `due`, but not before `grain_ns` have passed.
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

    /// Records a poll at `now` of a source whose next record has been due since `due`, and later ones
    /// `spacing_ns` apart. It can be polled again at once.
    pub(crate) fn note_behind(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        // Zero would mean that the source makes any number on demand.
        let due = due.max(ProcessingTime::from_nanos(1));
        self.poll_ns.store(due.as_nanos(), Ordering::Relaxed);
        self.note_due(now, due, spacing_ns);
    }

    fn note_due(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(due.as_nanos(), Ordering::Relaxed);
        // For records that are all due at once, one per nanosecond is enough.
        self.spacing_ns
            .store(spacing_ns.map_or(UNKNOWN_SPACING, |spacing| spacing.max(1)), Ordering::Relaxed);
    }

    /// Records the arrival of an unfinished mark or emission, or `None` if everything is finished.
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

    /// Records whether the last mark waits for an epoch to be closed.
    pub(crate) fn set_awaits_epoch(&self, awaits_epoch: bool) {
        self.awaits_epoch.store(awaits_epoch, Ordering::Relaxed);
    }

    /// Context of the oldest waiting work; for a source, the context that its next records get.
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
        let heads = self.inputs.iter().filter_map(|inlet| inlet.head(now));
        heads.min_by_key(|head| head.observed).unwrap_or(Context { observed: now, token: None })
    }

    /// Returns the context of the mark that was just taken off this port. That is the context of the record
    /// which waits behind the mark, to within a block, or the mark's own if nothing waits. It is `of_step`,
    /// which is no later, if only marks wait behind it, or if no edge is read. Never inlined: marks are rare,
    /// and the callers are loops over records.
    #[cold]
    #[inline(never)]
    pub(crate) fn context_of_mark(&self, port: usize, of_step: Context) -> Context {
        self.inputs.get(port).and_then(Inlet::edge).map_or(of_step, |(edge, reader)| {
            match (edge.pending(reader), edge.pending_marks(reader)) {
                (0, 0) => context_of(edge.mark_stamp()),
                // Of several waiting marks only the stamp of the last is kept.
                (0, _) => of_step,
                _ => context_of(edge.head_stamp(reader)),
            }
        })
    }

    /// Returns the arrival for the output of a step that begins now.
    #[inline]
    pub(crate) fn arrival(&self, now: ProcessingTime) -> Arrival {
        let head = self.head(now);
        // Records made on demand are observed when they are made.
        let observed = if self.is_on_demand() { now } else { head.observed };
        Arrival { now, context: Context { observed, ..head } }
    }

    /// Records that a source has made this many records.
    pub(crate) fn spend_tokens(&self, now: ProcessingTime, records: u64) {
        if let Some(tokens) = &self.tokens {
            tokens.spend(now, records);
        }
    }

    /// Records whether the task takes more input.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Records that there may be something to emit. Returns `false` if that was known.
    pub(crate) fn wake(&self) -> bool {
        // A caller that finds the flag set need not notify the task: the caller that set it does so. The task
        // clears the flag before it looks.
        !self.is_woken.swap(true, Ordering::AcqRel)
    }

    /// Clears the flag of [`wake`](Self::wake), before the task looks for results. AcqRel, as there: a look
    /// that follows sees everything published before the call.
    pub(crate) fn take_wake(&self) {
        self.is_woken.swap(false, Ordering::AcqRel);
    }

    /// Asks a source to end, unless it was asked before.
    pub(crate) fn stop(&self, stop: Stop) {
        // The first request is kept, so that sources which have seen it already and others end in the same
        // way.
        let _first = self.stop.compare_exchange(0, stop as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the way in which a source was asked to end, if it was.
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
mod tests {
    use super::*;

    fn at(ns: u64) -> ProcessingTime {
        ProcessingTime::from_nanos(ns)
    }

    /// Checks a source at 1,000 ns: its pending records, the time of the oldest, and whether it makes records
    /// on demand.
    fn check(note: impl FnOnce(&Probe), expected: (u64, u64, bool)) {
        let probe = Probe::new(Box::default(), Box::default());
        note(&probe);
        let now = at(1_000);
        assert_eq!(
            (probe.pending(now), probe.oldest_pending(now).as_nanos(), probe.is_on_demand()),
            expected
        );
    }

    #[test]
    fn what_a_source_is_behind_with_waits() {
        check(|probe| probe.note_poll(at(900)), (1, 900, true));
        check(|probe| probe.note_behind(at(900), at(400), Some(100)), (7, 400, false));
        check(|probe| probe.note_behind(at(900), at(0), Some(10)), (100, 1, false));
        check(|probe| probe.note_behind(at(900), at(400), None), (1, 400, false));
        check(|probe| probe.note_caught_up(at(900), at(950), Some(10), 20), (6, 950, false));
        check(|probe| probe.note_caught_up(at(900), at(1_001), Some(10), 20), (0, 1_000, false));
    }
}
