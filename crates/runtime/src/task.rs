//! Tasks: what workers run. A task is a chain of operators with its two ends, and runs a step at a time.
//!
//! ```text
//!   source -> (watermarks) -\                 /-> edge
//!                            >--- chain -----<
//!   edge   -----------------/                 \-> sink
//! ```
//!
//! A step takes what is pending, at most a quantum, as slices (Enjima, section 3.1.2, "variable batching"): the
//! least of what lies in the active input block, the room of the output and what is left of the quantum. It
//! never waits for a batch to fill. Marks are handed through the chain at their exact place; an emission that
//! finds no room is taken up in a later step ("resumable emission").
//!
//! Generic inside, boxed at the border: one virtual call per step.

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

/// The surroundings of a task in one step.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// When the step began.
    pub(crate) now: ProcessingTime,
    /// The arrival that is noted of records that the step puts out.
    pub(crate) arrival: Arrival,
    pub(crate) quantum: Quantum,
    /// The state grant that pays for the task's state.
    pub(crate) state_grant: &'a StateGrant,
    /// The worker that runs the step.
    pub(crate) worker: usize,
    /// See [`limits::SOURCE_GRAIN_NS`](crate::limits::SOURCE_GRAIN_NS).
    pub(crate) source_grain_ns: u64,
    /// In a step in which every operator of the chain is measured: where to write down what each took.
    pub(crate) measured: Option<&'a Meter>,
}

/// How long a step may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantum {
    /// Records that it may take, or put out if it is a source's.
    pub(crate) records: u32,
    /// Records that a source may make.
    pub(crate) made_records: u32,
}

/// The outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StepReport {
    /// Records taken; of records that count for several, rows.
    pub(crate) records_in: u64,
    /// Records put out; of records that count for several, rows.
    pub(crate) records_out: u64,
    /// Records taken off edges, each of which may count for several.
    pub(crate) taken: u64,
    /// The last watermark that was taken, in this step or before, as far as it is known.
    pub(crate) watermark: Option<EventTime>,
    /// True if the end of the stream has passed through.
    pub(crate) ended: bool,
}

/// Oddities that a source has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Oddities {
    /// Input that was not understood.
    pub(crate) bad: u64,
    /// Records stamped too far ahead of the clock to move a watermark.
    pub(crate) ahead: u64,
    /// Times that it fell silent, and was left out by those who wait for several inputs.
    pub(crate) idled: u64,
}

/// A schedulable instance of an operator or a chain.
pub(crate) trait Task: Send {
    /// Runs for a quantum.
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault>;

    /// Takes what its state is paid from, before the first step.
    fn fund(&mut self, state_grant: &Arc<StateGrant>);

    /// Draws seeds, before the first step.
    fn seed(&mut self, entropy: &mut dyn Entropy);

    /// Bytes held for state and buffers, beyond blocks.
    fn held_bytes(&self) -> usize;

    /// Returns what was odd about the input of a source.
    fn oddities(&self) -> Oddities {
        Oddities::default()
    }

    /// Name and counts of each operator of the chain.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts));

    /// The most rows of a record, if its records count for several.
    fn rows_max(&self) -> Option<u32> {
        None
    }

    /// Returns true if its results come in their own time.
    fn is_deferred(&self) -> bool {
        false
    }

    /// After a panic: whose code it was, if it was an operator's.
    fn faulted(&self) -> Option<&str>;
}

/// How far the edges of a task are at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Positions of the inputs, in order.
    read: Box<[Position]>,
    /// Records and marks on all outputs.
    written: u64,
    /// Version of the epochs there and further on.
    closed: u64,
}

/// Changes that a run has made for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    /// There is more to read for those behind it.
    pub(crate) wrote: bool,
    /// An epoch was retrieved, or all is over: that concerns those who close epochs, and its like.
    pub(crate) closed: bool,
    /// Tasks that write its inputs may have been without room, and have some now.
    pub(crate) freed: bool,
    /// Other tasks that write its outputs may have been without room, and have some now.
    pub(crate) gave_back: bool,
}

/// How a source ends that is asked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Stop {
    /// With a watermark of the end of time, at which every window fires.
    Drained = 1,
    /// With its last watermark, so that windows behind it never fire.
    AtWatermark = 2,
}

/// A view of a task for schedulers, which do not touch the task. Written by the task alone, but for `stop`. Relaxed: hints that
/// are exact while the task stands still, and its cell orders a task's runs.
pub(crate) struct Probe {
    /// The inputs; none for a source.
    pub(crate) inputs: Box<[Inlet]>,
    /// The outputs; none for a sink.
    pub(crate) outputs: Box<[Outlet]>,
    /// For a source: when its next record is due, in ns; zero for at once.
    due_ns: AtomicU64,
    /// For a source: when it is to be polled again, in ns; not before `due_ns`.
    poll_ns: AtomicU64,
    /// For a source: when it was last polled, in ns.
    polled_ns: AtomicU64,
    /// For a source: how far apart its records are due from `due_ns` on, in ns.
    spacing_ns: AtomicU64,
    /// For a source: whether it was asked to end, by a handle, and how; the code of a [`Stop`], or zero.
    stop: AtomicU32,
    /// For a task whose results come in their own time: it takes nothing more for now.
    is_full: AtomicBool,
    /// For such a task: its waker was called since it last emitted. Written by any thread, which calls the task then: see
    /// `deferred`.
    is_woken: AtomicBool,
    /// For a source: its last mark is not through before an epoch is closed.
    awaits_epoch: AtomicBool,
    /// Since when, in ns, a mark or an emission is not through, so that there is work without input; `SETTLED` if
    /// there is none.
    unsettled_since_ns: AtomicU64,
    /// The context of what is not through: when it was observed, in ns, and its token.
    unsettled_observed_ns: AtomicU64,
    unsettled_token_ns: AtomicU64,
    /// Rows taken, and the records that they were in, where records count for several. Relaxed: policies see their ratio.
    rows_taken: AtomicU64,
    carriers_taken: AtomicU64,
    /// Tokens of a source, if its query has a rate of them.
    tokens: Option<Tokens>,
}

/// Spacing of a source that sends at no pace: one record may be due, as far as can be told.
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

    /// Names the writer of the output edges, for when the pool has made a chunk for one.
    pub(crate) fn name_writer(&self, name: u32) {
        self.outputs.iter().for_each(|outlet| outlet.name_writer(name.into()));
    }

    /// Notes on which worker's core the edges are read and written from now on.
    pub(crate) fn note_core(&self, worker: usize) {
        self.inputs
            .iter()
            .filter_map(Inlet::edge)
            .for_each(|(edge, reader)| edge.note_reader_core(reader, worker));
        self.outputs.iter().filter_map(Outlet::edge).for_each(|edge| edge.note_writer_core(worker));
    }

    /// Room to note how far the edges are.
    pub(crate) fn no_reach(&self) -> Reach {
        Reach { read: vec![Position::default(); self.inputs.len()].into(), written: 0, closed: 0 }
    }

    /// Notes how far the edges are.
    pub(crate) fn note_reach(&self, reach: &mut Reach) {
        for (inlet, read) in self.inputs.iter().zip(&mut reach.read) {
            *read = inlet.position();
        }
        (reach.written, reach.closed) = (self.written(), self.closed());
    }

    /// Records and marks on all outputs; it grows with either.
    fn written(&self) -> u64 {
        self.outputs.iter().map(Outlet::written).sum()
    }

    fn closed(&self) -> u64 {
        let read: u64 = self.inputs.iter().map(Inlet::closed).sum();
        read + self.outputs.iter().map(Outlet::closed).sum::<u64>()
    }

    /// Returns what waits, by epochs.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        self.inputs.first().map_or(EpochWork::Unknown, |inlet| inlet.epoch_work(now))
    }

    /// Returns what has changed since then for others.
    pub(crate) fn changes_since(&self, reach: &Reach) -> Changes {
        let freed = |(inlet, read): (&Inlet, &Position)| inlet.has_freed(*read);
        Changes {
            wrote: self.written() != reach.written,
            closed: self.closed() != reach.closed,
            freed: self.inputs.iter().zip(&reach.read).any(freed),
            gave_back: self.outputs.iter().any(Outlet::has_freed),
        }
    }

    /// Returns true if a mark was taken, or a block, since then.
    pub(crate) fn has_read(&self, reach: &Reach) -> bool {
        let has_moved = |(inlet, read): (&Inlet, &Position)| inlet.position() != *read;
        self.inputs.iter().zip(&reach.read).any(has_moved)
    }

    pub(crate) fn can_output(&self) -> bool {
        let awaits_epoch = self.awaits_epoch.load(Ordering::Relaxed);
        let has_room = |outlet: &Outlet| outlet.has_room() && !(awaits_epoch && outlet.is_full_of_epochs());
        self.outputs.iter().all(has_room)
    }

    /// Returns true if those who read what it writes hold blocks back that they claim when there is no room.
    pub(crate) fn is_held(&self) -> bool {
        self.outputs.iter().any(Outlet::holds_blocks)
    }

    /// Records on the input edges.
    pub(crate) fn pending_records(&self) -> u64 {
        self.inputs.iter().map(Inlet::pending_records).sum()
    }

    /// Records and marks that wait, at least one if there is anything to do.
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

    /// Returns what waits, as [`pending`](Probe::pending) has it, in rows: each record counts for as many as those that were
    /// taken have on average.
    pub(crate) fn pending_rows(&self, now: ProcessingTime) -> u64 {
        self.in_rows(self.pending(now))
    }

    /// How many rows so many records have, by the mean of those that were taken; as many, where each counts for itself.
    pub(crate) fn in_rows(&self, records: u64) -> u64 {
        match self.carriers_taken.load(Ordering::Relaxed) {
            0 => records,
            carriers => {
                let rows = self.rows_taken.load(Ordering::Relaxed);
                (records as f64 * rows as f64 / carriers as f64).ceil() as u64
            }
        }
    }

    /// Takes note of what was taken in a step, where records count for several.
    pub(crate) fn note_rows(&self, report: StepReport) {
        if report.records_in != report.taken && report.taken > 0 {
            self.rows_taken.fetch_add(report.records_in, Ordering::Relaxed);
            self.carriers_taken.fetch_add(report.taken, Ordering::Relaxed);
        }
    }

    /// Records that a source has not been asked for although they are due, as far as can be told.
    fn due_count(&self, now: ProcessingTime) -> u64 {
        if now < self.due() {
            return 0;
        }
        let due = ProcessingTime::from_nanos(self.due_ns.load(Ordering::Relaxed));
        // On demand: as many as one likes, of which one is sure.
        let late_ns = if due == ProcessingTime::ZERO { 0 } else { now.nanos_since(due) };
        late_ns / self.spacing_ns.load(Ordering::Relaxed) + 1
    }

    /// Returns when the oldest of what waits came in: a record, a mark, or what is left of an emission.
    pub(crate) fn oldest_pending(&self, now: ProcessingTime) -> ProcessingTime {
        let unsettled = ProcessingTime::from_nanos(self.unsettled_since_ns.load(Ordering::Relaxed));
        let arrived = if !self.is_source() {
            self.inputs.iter().filter_map(Inlet::oldest_ns).min().unwrap_or(u64::MAX)
        } else if self.is_on_demand() {
            // What is due at a given time has waited since; what is made on demand, since the last poll.
            self.polled_ns.load(Ordering::Relaxed)
        } else {
            self.due_ns.load(Ordering::Relaxed)
        };
        ProcessingTime::from_nanos(arrived).min(unsettled).min(now)
    }

    /// Returns when a source is to be polled again; `ZERO` for at once.
    pub(crate) fn due(&self) -> ProcessingTime {
        if self.stop_asked().is_some() {
            return ProcessingTime::ZERO;
        }
        ProcessingTime::from_nanos(self.poll_ns.load(Ordering::Relaxed))
    }

    /// Returns true if time alone can give it something to do: a source, whose next record is due, or a copy, which may claim
    /// what has waited for long on others' work queues.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.is_source() || matches!(&*self.inputs, [Inlet::Claims(..)])
    }

    /// Returns when it has something to do if nothing happens until then, to be asked when it has nothing to do at `now`.
    pub(crate) fn next_due(&self, now: ProcessingTime) -> ProcessingTime {
        if self.is_source() {
            return self.due();
        }
        let claimable = self.inputs.iter().map(|inlet| inlet.next_claimable_at(now));
        claimable.min().unwrap_or(ProcessingTime::NEVER)
    }

    /// Bytes of the edges that it writes in which nothing lies that is to be read.
    pub(crate) fn empty_bytes(&self) -> u64 {
        self.outputs.iter().filter_map(Outlet::edge).map(|edge| edge.empty_bytes()).sum()
    }

    /// Returns true if it is a source that makes records whenever it is polled.
    pub(crate) fn is_on_demand(&self) -> bool {
        self.is_source() && self.due() == ProcessingTime::ZERO
    }

    /// Returns true if it closes epochs, and so takes no records.
    pub(crate) fn closes_epochs(&self) -> bool {
        matches!(&*self.inputs, [Inlet::Epochs(..)])
    }

    /// Records that a source may still let in with a token, if there are any.
    pub(crate) fn tokens_left(&self, now: ProcessingTime) -> Option<u64> {
        self.tokens.as_ref().map(|tokens| tokens.left(now)).filter(|&left| left > 0)
    }

    /// Takes note of a poll at `now` of a source that can make more at once.
    pub(crate) fn note_poll(&self, now: ProcessingTime) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(0, Ordering::Relaxed);
        self.poll_ns.store(0, Ordering::Relaxed);
    }

    /// Takes note of a poll at `now` of a source whose next record is due at `due`, and the others `spacing_ns` apart
    /// from then on: it is polled again when that is due, but not before `grain_ns` have passed.
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

    /// Takes note of a poll at `now` of a source whose next record has been due since `due`, and the others `spacing_ns` apart
    /// from then on: it can be polled again at once.
    pub(crate) fn note_behind(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        // Zero would say that it makes as many as one likes.
        let due = due.max(ProcessingTime::from_nanos(1));
        self.poll_ns.store(due.as_nanos(), Ordering::Relaxed);
        self.note_due(now, due, spacing_ns);
    }

    fn note_due(&self, now: ProcessingTime, due: ProcessingTime, spacing_ns: Option<u64>) {
        self.polled_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.due_ns.store(due.as_nanos(), Ordering::Relaxed);
        // Of records that are due all at once, one a nanosecond is enough.
        self.spacing_ns
            .store(spacing_ns.map_or(UNKNOWN_SPACING, |spacing| spacing.max(1)), Ordering::Relaxed);
    }

    /// Takes note that something is not through of which this was said, or that all is.
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

    /// Takes note of whether the last mark waits for an epoch to be closed.
    pub(crate) fn set_awaits_epoch(&self, awaits_epoch: bool) {
        self.awaits_epoch.store(awaits_epoch, Ordering::Relaxed);
    }

    /// The context of the oldest of what waits; of a source, what its next records get.
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

    /// The context of the mark that was just taken off this port: that of the record which waits behind it, to within a block,
    /// or its own if it is the last of all. `of_step`, which is no later, where only marks wait behind it, or no edge is
    /// read. Never inlined: marks are rare, and loops over records stand around it.
    #[cold]
    #[inline(never)]
    pub(crate) fn context_of_mark(&self, port: usize, of_step: Context) -> Context {
        self.inputs.get(port).and_then(Inlet::edge).map_or(of_step, |(edge, reader)| {
            match (edge.pending(reader), edge.pending_marks(reader)) {
                (0, 0) => context_of(edge.mark_stamp()),
                // Of several marks the stamp of the last is kept.
                (0, _) => of_step,
                _ => context_of(edge.head_stamp(reader)),
            }
        })
    }

    /// Returns what is said of what a step puts out that begins now.
    #[inline]
    pub(crate) fn arrival(&self, now: ProcessingTime) -> Arrival {
        let head = self.head(now);
        // What is made on demand is observed when it is made.
        let observed = if self.is_on_demand() { now } else { head.observed };
        Arrival { now, context: Context { observed, ..head } }
    }

    /// Takes note that a source has made so many records.
    pub(crate) fn spend_tokens(&self, now: ProcessingTime, records: u64) {
        if let Some(tokens) = &self.tokens {
            tokens.spend(now, records);
        }
    }

    /// Takes note of whether it takes more.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Takes note that there may be something to emit; `false` if that was known.
    pub(crate) fn wake(&self) -> bool {
        // Whoever finds it set need not call the task: somebody has set it and calls, and it is taken back by the task
        // before it looks.
        !self.is_woken.swap(true, Ordering::AcqRel)
    }

    /// Takes the note back, before it is looked what there is to emit. AcqRel, as in [`wake`](Self::wake): a look that
    /// follows sees what was made known before the call.
    pub(crate) fn take_wake(&self) {
        self.is_woken.swap(false, Ordering::AcqRel);
    }

    /// Asks a source to end, unless it was asked before.
    pub(crate) fn stop(&self, stop: Stop) {
        // The first is kept, so that sources which have looked already and others end in the same way.
        let _first = self.stop.compare_exchange(0, stop as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How a source was asked to end, if it was.
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

    /// Checks what waits of a source, since when, and whether it makes as much as one likes, at 1,000 ns.
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
