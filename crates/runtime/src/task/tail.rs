//! The part that all kinds of tasks share: an operator chain, its output, and the marks (such as watermarks)
//! that must pass through both.

use std::collections::VecDeque;

use thalweg_model::{
    EventTime, Fault, Flow, Mark, Operator, Publisher, Section, StateError, StateReader, StateWriter, Weighed,
};

use super::{Probe, StepContext};
use crate::checkpoints::{TailCheckpoints, TaskCheckpoints};
use crate::output::TaskOutput;

/// Maximum number of marks that wait at once to pass through the chain. A source that ends queues four in
/// one step: a watermark, a latency marker, the last watermark and the end.
const MARKS_MAX: usize = 4;

/// An operator chain, its output, and the marks (such as watermarks) that wait to pass through both.
pub(crate) struct Tail<C, E> {
    pub(crate) chain: C,
    pub(crate) output: E,
    /// Marks that must still pass through the task's operators, in order.
    marks: VecDeque<Mark>,
    /// True if the chain has received the first of the waiting marks and has more results to emit for it.
    is_emitting: bool,
    /// True if an unfinished mark or emission of results is recorded in the task's probe (its view for the
    /// scheduler). The record makes the task run, so it is withdrawn as soon as everything is finished.
    is_unsettled: bool,
    watermark: EventTime,
    has_ended: bool,
    checkpoints: TailCheckpoints,
    /// True if the stream of the task had ended in the checkpoint from which the query goes on. Then the operators and the
    /// sink take nothing more, and marks pass by them.
    is_bypassed: bool,
}

impl<C, E> Tail<C, E> {
    pub(crate) fn new(chain: C, output: E) -> Self {
        Tail {
            chain,
            output,
            marks: VecDeque::with_capacity(MARKS_MAX),
            is_emitting: false,
            is_unsettled: false,
            watermark: EventTime::MIN,
            has_ended: false,
            checkpoints: TailCheckpoints::default(),
            is_bypassed: false,
        }
    }

    /// Lets the task add its sections to the checkpoints of its query.
    pub(crate) fn take_checkpoints(&mut self, own: TaskCheckpoints) {
        self.checkpoints.own = Some(own);
    }

    /// Queues a barrier. `save` writes the state of the task in front of its operators, which is kept until the barrier has
    /// passed them.
    pub(crate) fn put_barrier(
        &mut self,
        number: u64,
        save: impl FnOnce(&mut StateWriter) -> Result<(), StateError>,
    ) {
        let mut head = StateWriter::default();
        self.checkpoints.error = save(&mut head).err();
        self.checkpoints.head = head.into_bytes();
        self.mark(Mark::Barrier(number));
    }

    /// Writes the state of the operators and of the sink, behind the state `head` of the task in front of them.
    pub(crate) fn save<T>(&self, head: &[u8], state: &mut StateWriter) -> Result<(), StateError>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        state.put(head)?;
        state.put(&self.watermark)?;
        self.chain.save(state)?;
        self.output.save(state)
    }

    /// Makes the operators and the sink go on from their section of a checkpoint. `load` reads the state of the task in front
    /// of them. If the stream of the task had ended, nothing is loaded, and marks pass by the operators.
    pub(crate) fn restore<T>(
        &mut self,
        section: &Section,
        load: impl FnOnce(&mut StateReader<'_>) -> Result<(), StateError>,
    ) -> Result<(), StateError>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        if section.has_ended {
            self.is_bypassed = true;
            self.output.note_ended();
            return Ok(());
        }
        let mut state = StateReader::new(&section.state);
        let head: Vec<u8> = state.take()?;
        let mut head = StateReader::new(&head);
        load(&mut head)?;
        head.finish()?;
        self.watermark = state.take()?;
        self.chain.load(&mut state)?;
        self.output.load(&mut state)?;
        state.finish()
    }

    /// Tells the sink that its query takes checkpoints.
    pub(crate) fn publisher<T>(&mut self) -> Option<Box<dyn Publisher>>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        self.output.publisher()
    }

    /// Adds the section of this task to the checkpoint whose barrier has passed the operators.
    fn add_section<T>(&mut self, number: u64) -> Result<(), Fault>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        let TailCheckpoints { head, error, .. } = &mut self.checkpoints;
        let (head, error) = (std::mem::take(head), error.take());
        let prepared = self.output.prepare(number, false)?;
        // The memory is paid before the state is copied.
        let bytes = head.len() + self.chain.state_bytes() + prepared.len();
        let Some(paid) = self.checkpoints.own.as_ref().map(|own| own.pay(bytes)) else { return Ok(()) };
        let mut state = StateWriter::default();
        let saved = match (error, paid) {
            (Some(error), _) => Err(error.to_string()),
            (None, Err(refused)) => Err(refused),
            (None, Ok(paid)) => {
                let saved = self.save(&head, &mut state).map_err(|error| error.to_string());
                saved.map(|()| (state.into_bytes(), paid))
            }
        };
        if let Some(own) = &self.checkpoints.own {
            own.add(number, saved, prepared);
        }
        Ok(())
    }

    /// Prepares the last output of a sink, if the query takes checkpoints and the sink publishes with them.
    fn prepare_last<T>(&mut self) -> Result<Vec<u8>, Fault>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        match &self.checkpoints.own {
            Some(own) if !self.is_bypassed => self.output.prepare(own.next_number(), true),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the numbers of rows that the operators, or else the sink, have taken and put out so far, if a
    /// record stands for several rows.
    #[inline(always)]
    pub(crate) fn weighed<T>(&self) -> Option<Weighed>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        self.chain.weighed().or_else(|| self.output.weighed())
    }

    /// Queues a mark (such as a watermark) behind all records that were pushed. May be called only while
    /// fewer than [`MARKS_MAX`] marks wait.
    pub(crate) fn mark(&mut self, mark: Mark) {
        assert!(self.marks.len() < MARKS_MAX, "marks are settled before more are taken");
        self.note_watermark(mark);
        self.marks.push_back(mark);
    }

    /// Queues a mark (such as a watermark), or passes it on at once. The chain has received the mark while
    /// the output was still open for the records before it. Its answer `flow` tells whether it has more
    /// results to emit. May be called only when no other mark waits.
    pub(crate) fn pass<T>(&mut self, mark: Mark, flow: Flow, context: &StepContext<'_>) -> Result<(), Fault>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        assert!(self.marks.is_empty(), "the marks before it are settled");
        self.note_watermark(mark);
        if flow == Flow::More {
            self.is_emitting = true;
            self.marks.push_back(mark);
            return Ok(());
        }
        match self.chain.forward(mark) {
            Some(mark) => self.output.mark(mark, context.arrival, context.clock),
            None => Ok(()),
        }
    }

    fn note_watermark(&mut self, mark: Mark) {
        if let Mark::Watermark(watermark) = mark {
            let last = self.watermark;
            assert!(watermark >= last, "watermarks never go back on an edge: {watermark:?} after {last:?}");
            self.watermark = watermark;
        }
    }

    /// Returns the last watermark that the task has taken; `None` before the first.
    pub(crate) fn watermark(&self) -> Option<EventTime> {
        (self.watermark > EventTime::MIN).then_some(self.watermark)
    }

    /// Returns true if the end of the stream has passed through, and nothing is left to do.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.has_ended
    }

    /// Passes waiting marks (such as watermarks) through the chain and continues unfinished emissions, as far
    /// as there is room now. Records may be pushed only if it returns `true`.
    #[inline]
    pub(crate) fn settle<T>(&mut self, context: &StepContext<'_>, probe: &Probe) -> Result<bool, Fault>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        let is_clear = self.marks.is_empty() && !self.chain.is_stalled() && self.output.is_ready();
        if is_clear && !self.is_unsettled {
            return Ok(true);
        }
        let settled = is_clear || self.settle_slowly(context)?;
        self.is_unsettled = !settled;
        probe.set_unsettled((!settled).then_some(context.arrival));
        probe.set_awaits_epoch(!settled && self.output.awaits_epoch());
        Ok(settled)
    }

    #[cold]
    fn settle_slowly<T>(&mut self, context: &StepContext<'_>) -> Result<bool, Fault>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        loop {
            if !self.output.is_ready() {
                return Ok(false);
            }
            let mark = self.marks.front().copied();
            if mark.is_none() && !self.chain.is_stalled() {
                return Ok(true);
            }
            let flow = if self.is_bypassed {
                Flow::Done
            } else {
                let mut output = self.output.open(context.arrival);
                match mark {
                    Some(mark) if !self.is_emitting => {
                        // An operator that makes several records of one may still have results of earlier
                        // records; they must be emitted before the mark (such as a watermark).
                        if self.chain.is_stalled() && self.chain.resume(&mut output) == Flow::More {
                            Flow::More
                        } else {
                            self.is_emitting = true;
                            self.chain.on_mark(mark, &mut output)
                        }
                    }
                    _ => self.chain.resume(&mut output),
                }
            };
            self.output.check()?;
            if flow == Flow::More {
                return Ok(false);
            }
            if matches!(mark, Some(Mark::End | Mark::Barrier(_))) && context.state_grant.has_refused() {
                // An operator that was refused memory has continued without it, so its results are wrong. If
                // the end of the stream or a barrier passed, they would be published, or wrong state would be saved. So
                // the mark is held back, and the query fails as soon as the step is over.
                return Ok(false);
            }
            if let Some(mark) = mark {
                self.is_emitting = false;
                self.marks.pop_front();
                if let Mark::Barrier(number) = mark {
                    self.add_section(number)?;
                }
                let last = if mark == Mark::End { self.prepare_last()? } else { Vec::new() };
                if let Some(mark) = self.chain.forward(mark) {
                    self.output.mark(mark, context.arrival, context.clock)?;
                }
                if mark == Mark::End {
                    self.has_ended = true;
                    if let Some(own) = &mut self.checkpoints.own {
                        own.end(last);
                    }
                }
            }
        }
    }
}
