//! The common half of every task: a chain, its output, and the marks that must pass through both.

use std::collections::VecDeque;

use thalweg_model::{EventTime, Fault, Flow, Mark, Operator, Weighed};

use super::{Probe, StepContext};
use crate::output::TaskOutput;

/// Marks that may wait at once: a source that ends queues a watermark, a latency marker, the last watermark
/// and the end in one step.
const MARKS_MAX: usize = 4;

/// A chain and its output.
pub(crate) struct Tail<C, E> {
    pub(crate) chain: C,
    pub(crate) output: E,
    /// Marks that must pass through the chain, in order.
    marks: VecDeque<Mark>,
    /// True if the chain has begun with the first mark and has more to emit for it.
    is_emitting: bool,
    /// True if the probe reports an unfinished mark or emission. That report makes the task run, so it is
    /// withdrawn as soon as everything is finished.
    is_unsettled: bool,
    watermark: EventTime,
    has_ended: bool,
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
        }
    }

    /// Returns the records that its operators, or else its sink, have taken and put out so far, if records
    /// count for several.
    #[inline(always)]
    pub(crate) fn weighed<T>(&self) -> Option<Weighed>
    where
        C: Operator<T>,
        E: TaskOutput<C::Out>,
    {
        self.chain.weighed().or_else(|| self.output.weighed())
    }

    /// Queues a mark behind everything that was pushed; only while everything before it is settled.
    pub(crate) fn mark(&mut self, mark: Mark) {
        assert!(self.marks.len() < MARKS_MAX, "marks are settled before more are taken");
        self.note_watermark(mark);
        self.marks.push_back(mark);
    }

    /// Queues a mark, or passes it on at once. The chain has taken the mark while the output was still open
    /// for the records before it, and has answered `flow`. Only while nothing else waits.
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

    /// The last watermark that was taken.
    pub(crate) fn watermark(&self) -> Option<EventTime> {
        (self.watermark > EventTime::MIN).then_some(self.watermark)
    }

    /// Returns true if the end has passed through, and nothing is left to do.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.has_ended
    }

    /// Passes marks through and continues unfinished emissions, as far as there is room now. Records may be
    /// pushed only if it returns `true`.
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
            let flow = {
                let mut output = self.output.open(context.arrival);
                match mark {
                    Some(mark) if !self.is_emitting => {
                        // The rest of an expanding operator's emission comes before the mark.
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
            if mark == Some(Mark::End) && context.state_grant.has_refused() {
                // An operator that was refused memory continued without it, so its results are wrong. Behind
                // the end they would be published. The query fails as soon as the step is over.
                return Ok(false);
            }
            if let Some(mark) = mark {
                self.is_emitting = false;
                self.marks.pop_front();
                if let Some(mark) = self.chain.forward(mark) {
                    self.output.mark(mark, context.arrival, context.clock)?;
                }
                self.has_ended |= mark == Mark::End;
            }
        }
    }
}
