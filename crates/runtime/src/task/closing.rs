//! The task that closes epochs: puts together what copies have gathered, in order, and fires.

use std::sync::Arc;

use thalweg_model::{Allowance, Counts, Entropy, EventTime, Fault, Mark, Operator};

use super::tail::Tail;
use super::{Probe, StepContext, StepReport, Task};
use crate::epochs::{Copies, Item, Ledger};
use crate::exit::Exit;

/// The whole of an operator that several workers share.
pub(crate) struct ClosingTask<C, E> {
    ledger: Arc<Ledger>,
    copies: Arc<Copies<C>>,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// Whether the last marks are queued.
    is_over: bool,
}

impl<C, E> ClosingTask<C, E> {
    pub(crate) fn new(
        ledger: Arc<Ledger>,
        copies: Arc<Copies<C>>,
        chain: C,
        exit: E,
        probe: Arc<Probe>,
    ) -> Self {
        ClosingTask { ledger, copies, tail: Tail::new(chain, exit), probe, is_over: false }
    }

    fn do_next<T>(&mut self, item: Item)
    where
        C: Operator<T>,
    {
        match item {
            Item::End { epoch, watermark } => {
                for copy in 0..self.copies.count() {
                    if let Some(mut chain) = self.copies.take(copy, epoch) {
                        self.tail.chain.absorb(&mut chain);
                        self.copies.give_back(copy, chain);
                    }
                }
                self.ledger.release(epoch);
                self.tail.mark(Mark::Watermark(watermark));
            }
            Item::Marker(intended) => self.tail.mark(Mark::Latency(intended)),
            Item::Idle => self.tail.mark(Mark::Idle),
            Item::Over => {
                self.is_over = true;
                self.tail.mark(Mark::Watermark(EventTime::MAX));
                self.tail.mark(Mark::End);
            }
        }
    }
}

/// What runs the chain of a [`ClosingTask`], whose values are of type `T`.
pub(crate) struct Closing<T, C, E>(
    pub(crate) ClosingTask<C, E>,
    pub(crate) std::marker::PhantomData<fn() -> T>,
);

impl<T, C, E> Task for Closing<T, C, E>
where
    C: Operator<T>,
    E: Exit<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        let task = &mut self.0;
        task.tail.exit.begin(context.worker);
        let pushed_before = task.tail.exit.pushed();
        while task.tail.settle(context, &task.probe)?
            && !task.is_over
            && let Some(item) = task.ledger.next_item()
        {
            task.do_next(item);
        }
        let ended = task.tail.has_ended() && task.tail.settle(context, &task.probe)?;
        task.tail.exit.flush();
        Ok(StepReport { records_in: 0, records_out: task.tail.exit.pushed() - pushed_before, ended })
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.0.tail.chain.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.0.tail.chain.seed(entropy);
    }

    fn held_bytes(&self) -> usize {
        self.0.tail.chain.state_bytes() + self.0.tail.exit.held_bytes()
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.0.tail.chain.visit_counts(each);
    }

    fn faulted(&self) -> Option<&str> {
        self.0.tail.chain.faulted()
    }
}
