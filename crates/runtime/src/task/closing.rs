//! The task that closes epochs of a parallel operator: it merges the state that the copies have
//! gathered, epoch by epoch, and emits the results.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::{Counts, Entropy, EventTime, Fault, Mark, Operator};
use thalweg_scheduling::Context;

use super::gather::{merge_pairs, merged};
use super::tail::Tail;
use super::{Probe, StepContext, StepReport, Task};
use crate::epochs::{Copies, EpochTracker, Item, Pair};
use crate::output::TaskOutput;
use crate::state_grant::StateGrant;

/// The task that closes the epochs of an operator which several workers share. It holds the merged state
/// and emits the results.
pub(crate) struct ClosingTask<T, C, E> {
    tracker: Arc<EpochTracker>,
    copies: Arc<Copies<C>>,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// The epoch whose state is being merged, and its end watermark; `None` between two merges.
    merging: Option<(u64, EventTime)>,
    /// The scheduling context of the epoch that was closed last in this step; `None` before the first one.
    of_end: Option<Context>,
    /// The two partial states of one epoch that this task is merging at the moment.
    pair: Option<Pair<C>>,
    /// True if the stream is over and its last mark, the end, has been queued for output.
    is_over: bool,
    values: PhantomData<fn() -> T>,
}

impl<T, C: Operator<T>, E> ClosingTask<T, C, E> {
    pub(crate) fn new(
        tracker: Arc<EpochTracker>,
        copies: Arc<Copies<C>>,
        chain: C,
        output: E,
        probe: Arc<Probe>,
    ) -> Self {
        let (tail, values) = (Tail::new(chain, output), PhantomData);
        ClosingTask {
            tracker,
            copies,
            tail,
            probe,
            merging: None,
            of_end: None,
            pair: None,
            is_over: false,
            values,
        }
    }

    /// Takes the next step of closing epochs. Returns `false` if no step is due, or if other tasks are
    /// merging state of the epoch.
    fn go_on(&mut self, state_grant: &StateGrant) -> bool {
        if self.merging.is_some() {
            return self.go_on_merging(state_grant);
        }
        match self.tracker.next_item() {
            None => return false,
            Some(Item::End { epoch, watermark }) => {
                if self.is_short(state_grant) {
                    return false;
                }
                let (parts, is_much) = self.copies.take(epoch);
                if is_much {
                    self.merging = Some((epoch, watermark));
                    self.copies.begin_merging(parts);
                } else {
                    parts.into_iter().for_each(|part| self.absorb(part));
                    self.close(epoch, watermark);
                }
            }
            Some(Item::Marker(marker)) => self.tail.mark(Mark::Latency(marker)),
            Some(Item::Idle) => self.tail.mark(Mark::Idle),
            Some(Item::Over) => {
                // The end of the last epoch was the last watermark of the stream. It was the end of time,
                // unless the sources were asked to end at an earlier watermark.
                self.is_over = true;
                self.tail.mark(Mark::End);
            }
        }
        true
    }

    /// Returns true if a copy was refused memory for its state. Then the query fails.
    fn is_short(&self, state_grant: &StateGrant) -> bool {
        let refusal = self.copies.refusal();
        refusal.into_iter().for_each(|exceeded| state_grant.refuse(exceeded));
        refusal.is_some()
    }

    fn go_on_merging(&mut self, state_grant: &StateGrant) -> bool {
        merge_pairs(&self.copies, &mut self.pair);
        if self.is_short(state_grant) {
            return false;
        }
        let (Some(whole), Some((epoch, watermark))) = (self.copies.end_merging(), self.merging) else {
            return false;
        };
        self.merging = None;
        self.absorb(whole);
        self.close(epoch, watermark);
        true
    }

    fn absorb(&mut self, (copy, mut chain): (usize, C)) {
        self.tail.chain.absorb(&mut chain);
        self.copies.give_back(copy, chain);
    }

    fn close(&mut self, epoch: u64, watermark: EventTime) {
        self.of_end = self.tracker.context_of(epoch).or(self.of_end);
        self.tracker.release(epoch);
        self.tail.mark(Mark::Watermark(watermark));
    }
}

impl<T, C, E> Task for ClosingTask<T, C, E>
where
    C: Operator<T>,
    E: TaskOutput<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        self.tail.output.begin(context.worker);
        let pushed_before = self.tail.output.pushed();
        let before = self.tail.weighed();
        // Results of an epoch inherit the scheduling context of its last block, as results of a window do in
        // Cameo's Algorithm 1 (line 16).
        let mut of_end = *context;
        self.of_end = None;
        while self.tail.settle(&of_end, &self.probe)? && !self.is_over && self.go_on(context.state_grant) {
            of_end.arrival.context = self.of_end.unwrap_or(context.arrival.context);
        }
        let ended = self.tail.has_ended() && self.tail.settle(context, &self.probe)?;
        self.tail.output.flush();
        let pushed = self.tail.output.pushed() - pushed_before;
        let records_out = self.tail.weighed().map_or(pushed, |now| now.put_since(before));
        Ok(StepReport { records_in: 0, records_out, taken: 0, watermark: self.tail.watermark(), ended })
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        let allowance = &state_grant.allowance();
        self.tail.chain.fund(allowance);
        self.tail.output.fund(allowance);
    }

    /// Draws no seed, because the chain got its seed before it was copied.
    fn seed(&mut self, _entropy: &mut dyn Entropy) {}

    fn held_bytes(&self) -> usize {
        self.tail.chain.state_bytes() + self.tail.output.held_bytes()
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.tail.chain.visit_counts(each);
    }

    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        self.tail.chain.visit_state_bytes(each);
    }

    fn faulted(&self) -> Option<&str> {
        self.tail.chain.faulted().or_else(|| merged(&self.pair).find_map(C::faulted))
    }
}
