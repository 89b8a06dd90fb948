//! Tasks that poll a source and run an operator chain on its records.

use std::sync::Arc;

use thalweg_model::staged::{Held, Stages};
use thalweg_model::{
    Counts, Entropy, EventTime, Fault, LatencyMarker, Mark, Operator, Output, Piped, ProcessingTime,
    Publisher, Section, Source, SourceStatus, StateError, StateReader, StateWriter, Track, Watermarks,
};

use thalweg_scheduling::Context;

use super::tail::Tail;
use super::{Oddities, Probe, StepContext, StepReport, Stop, Task};
use crate::arrival::Arrival;
use crate::checkpoints::TaskCheckpoints;
use crate::edge::Watched;
use crate::firing_latency::Ingestion;
use crate::output::TaskOutput;
use crate::state_grant::StateGrant;

/// Maximum number of records that a source makes at a time in a step in which each operator is measured by
/// itself.
const HELD_RECORDS_MAX: usize = 1 << 10;

/// Polls a source and pushes its records through an operator chain to the output.
pub(crate) struct SourceTask<S, W, C, E> {
    source: S,
    tracker: W,
    silence: Silence,
    ingestion: Ingestion,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// True if the source has ended and the last marks of the stream (watermark and end) are queued.
    is_over: bool,
}

/// The time for which a source has made no record, after which it may count as idle.
struct Silence {
    /// Nanoseconds without a record after which the source counts as idle; `None` if it never does.
    idle_after_ns: Option<u64>,
    /// Time at which the source last made a record, or was first polled.
    since: Option<ProcessingTime>,
    /// Start of the step in which the source last made a record; `None` before the first.
    made_at: Option<ProcessingTime>,
    is_idle: bool,
    /// Number of times that the source became idle.
    idled: u64,
}

impl Silence {
    /// Records that the source has made a record at `now`, so that it is not idle.
    fn break_at(&mut self, now: ProcessingTime) {
        (self.since, self.made_at, self.is_idle) = (Some(now), Some(now), false);
    }

    /// Returns the instant at which the source will count as idle if it makes no record until then. Returns
    /// `None` if it never does, or is idle already.
    fn idle_at(&mut self, now: ProcessingTime) -> Option<ProcessingTime> {
        let since = *self.since.get_or_insert(now);
        self.idle_after_ns.filter(|_| !self.is_idle).map(|after_ns| since.plus_nanos(after_ns))
    }

    /// Returns true if the source has made nothing for so long that it counts as idle from now on.
    fn falls_idle(&mut self, now: ProcessingTime) -> bool {
        let falls = self.idle_at(now).is_some_and(|at| at <= now);
        self.is_idle |= falls;
        self.idled += u64::from(falls);
        falls
    }
}

impl<S: Source, W: Track<S::Item>, C, E> SourceTask<S, W, C, E> {
    pub(crate) fn new(
        source: S,
        watermarks: impl Watermarks<S::Item, Tracker = W>,
        chain: C,
        output: E,
        probe: Arc<Probe>,
        ingestion: Ingestion,
    ) -> Self {
        let idle_after = watermarks.strategy().idle_after;
        let idle_after_ns = idle_after.map(|after| u64::try_from(after.as_nanos()).unwrap_or(u64::MAX));
        SourceTask {
            source,
            tracker: watermarks.tracker(),
            silence: Silence { idle_after_ns, since: None, made_at: None, is_idle: false, idled: 0 },
            ingestion,
            tail: Tail::new(chain, output),
            probe,
            is_over: false,
        }
    }
}

impl<S, W, C, E> Task for SourceTask<S, W, C, E>
where
    S: Source,
    W: Track<S::Item>,
    C: Operator<S::Item>,
    E: TaskOutput<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        match context.measured {
            Some(_) if !C::EXPANDS && E::IS_MEASURED => self.run::<true>(context),
            _ => self.run::<false>(context),
        }
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        let allowance = &state_grant.allowance();
        self.source.fund(allowance);
        self.tail.chain.fund(allowance);
        self.tail.output.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.tail.chain.seed(entropy);
    }

    fn held_bytes(&self) -> usize {
        self.source.held_bytes() + self.tail.chain.state_bytes() + self.tail.output.held_bytes()
    }

    fn oddities(&self) -> Oddities {
        let (bad, ahead, idled) = (self.source.bad_count(), self.tracker.ahead_count(), self.silence.idled);
        Oddities { bad, ahead, idled }
    }

    fn rows_max(&self) -> Option<u32> {
        self.source.weighed().map(|weighed| weighed.most)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.tail.chain.visit_counts(each);
    }

    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        self.tail.chain.visit_state_bytes(each);
    }

    fn faulted(&self) -> Option<&str> {
        self.tail.chain.faulted()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let mut head = StateWriter::default();
        save_position(&self.source, &self.tracker, &self.silence, &mut head)?;
        self.tail.save(&head.into_bytes(), state)
    }

    fn restore(&mut self, section: &Section) -> Result<(), StateError> {
        let SourceTask { source, tracker, silence, tail, .. } = self;
        tail.restore(section, |head| load_position(source, tracker, silence, head))?;
        if section.has_ended {
            // The end is sent again, because the tasks behind may not have seen it.
            self.is_over = true;
            self.probe.note_over();
            self.tail.mark(Mark::End);
            let context = Context { observed: ProcessingTime::ZERO, token: None };
            self.probe.set_unsettled(Some(Arrival { now: ProcessingTime::ZERO, context }));
        }
        Ok(())
    }

    fn takes_checkpoints(&self) -> bool {
        true
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        self.tail.publisher()
    }

    fn take_checkpoints(&mut self, own: TaskCheckpoints) {
        self.tail.take_checkpoints(own);
    }
}

fn save_position<S: Source>(
    source: &S,
    tracker: &impl Track<S::Item>,
    silence: &Silence,
    head: &mut StateWriter,
) -> Result<(), StateError> {
    source.save(head)?;
    tracker.save(head)?;
    head.put(&(silence.is_idle, silence.idled))
}

fn load_position<S: Source>(
    source: &mut S,
    tracker: &mut impl Track<S::Item>,
    silence: &mut Silence,
    head: &mut StateReader<'_>,
) -> Result<(), StateError> {
    source.load(head)?;
    tracker.load(head)?;
    (silence.is_idle, silence.idled) = head.take()?;
    Ok(())
}

impl<S, W, C, E> SourceTask<S, W, C, E>
where
    S: Source,
    W: Track<S::Item>,
    C: Operator<S::Item>,
    E: TaskOutput<C::Out>,
{
    /// Runs a step or, if `MEASURED` is true, one poll whose records are processed operator by operator. The
    /// two variants have no loop in common, because a closure of the chain that occurs in two loops is
    /// inlined into neither.
    fn run<const MEASURED: bool>(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        let mut stages = Stages::new(context.clock);
        let pushed_before = self.tail.output.pushed();
        let (pushed_max, made_max) =
            (u64::from(context.quantum.records), u64::from(context.quantum.made_records));
        // All records that a step makes get the tag (instant of validity) of the step's first token, so the
        // step makes no more records than there are tokens.
        let made_max = self.probe.tokens_left(context.now).map_or(made_max, |left| made_max.min(left));
        let (source_before, tail_before) = (self.source.weighed(), self.tail.weighed());
        // Counts the records that were taken and made, as rows if a record stands for several rows.
        let (mut taken, mut made) = (0, 0);
        self.tracker.tell_time(context.now);
        self.tail.output.begin(context.worker);
        while self.tail.settle(context, &self.probe)?
            && !self.is_over
            && made < made_max
            && self.tail.output.pushed() - pushed_before < pushed_max
        {
            let stop = self.probe.stop_asked();
            if let Some(stop) = stop
                && !self.source.has_pending()
            {
                self.source.finish()?;
                self.end(context.now, stop);
                continue;
            }
            let barrier = self.probe.barrier_asked();
            if let Some(number) = barrier
                && !self.source.has_pending()
            {
                self.probe.note_barrier(number);
                let SourceTask { source, tracker, silence, tail, .. } = &mut *self;
                tail.put_barrier(number, |head| save_position(source, tracker, silence, head));
                continue;
            }
            // A source that was asked to end, or to put a barrier, still emits the records that it has already read, and
            // reads no more.
            let reads_no_more = stop.is_some() || barrier.is_some();
            let limit = if reads_no_more { 0 } else { pushed_max.min(made_max - made) as usize };
            // Watermarks below the event time `floor` need not be set: no operator of this task, and nothing
            // downstream, does anything at them.
            let floor = self.tail.output.next_due().min(self.ingestion.next_due());
            let (polled, passed, due) = {
                let mut output = self.tail.output.open(context.arrival);
                if output.room() == 0 {
                    break;
                }
                if MEASURED {
                    // An operator that does not expand emits at most one record per record taken. So as many
                    // records are held between two operators as the output has room for.
                    let mut held = Held::new(output.room().min(HELD_RECORDS_MAX));
                    let mut watched = Watched::new(&mut self.tracker, &mut held, floor);
                    let polled = self.source.poll(context.now, limit, &mut watched)?;
                    let (passed, due) = (watched.passed, watched.due);
                    self.tail.chain.process_staged(&mut held.into_input(), &mut output, &mut stages, 0);
                    (polled, passed, due)
                } else {
                    let mut piped = Piped::new(&mut self.tail.chain, &mut output);
                    let mut watched = Watched::new(&mut self.tracker, &mut piped, floor);
                    let polled = self.source.poll(context.now, limit, &mut watched)?;
                    (polled, watched.passed, watched.due)
                }
            };
            self.tail.output.check()?;
            taken += passed;
            made = self.source.weighed().map_or(taken, |now| now.put_since(source_before));
            if passed > 0 {
                self.silence.break_at(context.now);
            } else if self.silence.falls_idle(context.now) {
                self.leave(context.now);
                self.tail.mark(Mark::Idle);
            }
            if let Some(watermark) = due {
                self.ingestion.note_watermark(watermark, context.now, || self.source.arrived());
                self.tail.mark(Mark::Watermark(watermark));
            }
            if let Some(intended) = polled.latency {
                self.tail.mark(Mark::Latency(LatencyMarker::new(intended, context.now)));
            }
            match polled.status {
                SourceStatus::Ended => self.end(context.now, Stop::Drained),
                SourceStatus::IdleUntil(due) => {
                    let idle_at = self.silence.idle_at(context.now).unwrap_or(ProcessingTime::NEVER);
                    let due = due.min(idle_at);
                    self.probe.note_caught_up(
                        context.now,
                        due,
                        self.source.spacing_ns(),
                        context.source_grain_ns,
                    );
                    self.tail.settle(context, &self.probe)?;
                    break;
                }
                status @ (SourceStatus::Ready | SourceStatus::DueSince(_)) => {
                    match status {
                        SourceStatus::DueSince(due) => {
                            self.probe.note_behind(context.now, due, self.source.spacing_ns());
                        }
                        _ => self.probe.note_poll(context.now),
                    }
                    // The source made no record although the output had room. So it waits for its own input,
                    // and not for room in this task.
                    if passed == 0 && due.is_none() && polled.latency.is_none() {
                        break;
                    }
                }
            }
            if MEASURED && passed > 0 {
                self.tail.settle(context, &self.probe)?;
                break;
            }
        }
        if let Some(meter) = context.measured {
            meter.note_stages(&stages);
        }
        let ended = self.tail.has_ended() && self.tail.settle(context, &self.probe)?;
        self.tail.output.flush();
        self.probe.spend_tokens(context.now, made);
        let records_out = match (self.tail.weighed(), source_before) {
            (Some(now), _) => now.put_since(tail_before),
            (None, Some(_)) => made,
            (None, None) => self.tail.output.pushed() - pushed_before,
        };
        Ok(StepReport { records_in: made, records_out, taken, watermark: self.tail.watermark(), ended })
    }
}

impl<S: Source, W, C, E> SourceTask<S, W, C, E> {
    /// Records that the source is silent or has ended, and when its last record arrived. If the source does
    /// not know that, the start of the step that read the record counts.
    fn leave(&mut self, now: ProcessingTime) {
        let arrived =
            |made_at: ProcessingTime| self.source.arrived().map_or(made_at, |arrived| arrived.min(made_at));
        self.ingestion.note_away(now, self.silence.made_at.map(arrived));
    }

    /// Ends a source: none of its records is due any more, and its last marks are queued. They are a watermark
    /// that fires all windows, unless the source must end at its present watermark, and the end of the stream.
    fn end(&mut self, now: ProcessingTime, stop: Stop) {
        self.is_over = true;
        self.probe.note_over();
        self.leave(now);
        if stop == Stop::Drained {
            self.tail.mark(Mark::Watermark(EventTime::MAX));
        }
        self.tail.mark(Mark::End);
    }
}
