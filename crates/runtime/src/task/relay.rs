//! A task that runs one copy of a stateless operator chain which several workers share. It claims blocks, and
//! the records derived from a block stay in the epoch of the block.

use std::sync::Arc;

use thalweg_model::staged::Stages;
use thalweg_model::{Counts, Entropy, Fault, Flow, Operator, Output};

use super::{Probe, StepContext, StepReport, Task};
use crate::arrival::Arrival;
use crate::epochs::{Bundle, Carrier, Containers};
use crate::output::{TaskOutput, ToContainers};
use crate::state_grant::StateGrant;

/// Claims blocks from containers, which hold the blocks of each epoch, runs a copy of a stateless chain on
/// them, and deposits the results into the containers downstream.
pub(crate) struct RelayTask<T: Send + 'static, B, C, U: Send + 'static> {
    containers: Arc<Containers<T, B>>,
    /// Number of this copy among the copies of the operator chain, from 0 on.
    index: usize,
    chain: C,
    output: ToContainers<U>,
    probe: Arc<Probe>,
    /// The claimed block, with its epoch, whose records are not all taken yet; `None` if there is none.
    hand: Option<Bundle<B>>,
    /// The epoch of the bundles (blocks with their epochs) that were claimed last, and the number of those
    /// bundles that are fully read but not reported as consumed. They are reported when the records derived
    /// from them are deposited.
    consumed: (u64, u64),
}

impl<T: Send + 'static, B: Carrier<T>, C: Operator<T, Out = U>, U: Send + 'static> RelayTask<T, B, C, U> {
    pub(crate) fn new(
        containers: Arc<Containers<T, B>>,
        index: usize,
        chain: C,
        output: ToContainers<U>,
        probe: Arc<Probe>,
    ) -> Self {
        RelayTask { containers, index, chain, output, probe, hand: None, consumed: (0, 0) }
    }

    /// Deposits the filled blocks downstream, and only then reports the blocks from whose records they were
    /// derived as consumed.
    fn put_down(&mut self) {
        self.output.flush();
        let (epoch, count) = self.consumed;
        self.consumed.1 = 0;
        self.containers.tracker.consume(epoch, count);
    }

    fn run<const MEASURED: bool>(&mut self, context: &StepContext<'_>) -> StepReport {
        let mut stages = Stages::new(context.clock);
        let (quantum, pushed_before) = (context.quantum.records as usize, self.output.pushed());
        let before = self.chain.weighed();
        let (mut taken, mut rows) = (0, 0);
        self.output.begin(context.worker);
        let mut is_stuck = false;
        // Records derived from a block inherit the scheduling context of the block.
        let arrival_of = |hand: &Option<Bundle<B>>| {
            let of_hand = hand.as_ref().map_or(context.arrival.context, |bundle| bundle.context);
            Arrival { context: of_hand, ..context.arrival }
        };
        while rows < quantum {
            let mut output = self.output.open(arrival_of(&self.hand));
            // A block is claimed only if the output has room, so that the task can process the block at once.
            is_stuck =
                output.room() == 0 || self.chain.is_stalled() && self.chain.resume(&mut output) == Flow::More;
            if is_stuck {
                break;
            }
            drop(output);
            if self.hand.is_none() {
                let Some(bundle) = self.containers.claim(self.index, context.now) else { break };
                if bundle.epoch != self.consumed.0 {
                    self.put_down();
                    self.consumed.0 = bundle.epoch;
                }
                self.output.go_on_in(bundle.epoch, bundle.late_by);
                self.hand = Some(bundle);
            }
            let Some(bundle) = &mut self.hand else { break };
            if let Some(block) = &mut bundle.block {
                let count = block.count();
                let arrival = Arrival { context: bundle.context, ..context.arrival };
                let mut output = self.output.open(arrival);
                // The output may have less room than when the block was claimed, because an unfinished block
                // may have been deposited since.
                let max = if C::EXPANDS { count } else { output.room() };
                let mut input = block.input(max);
                if MEASURED && !C::EXPANDS {
                    self.chain.process_staged(&mut input, &mut output, &mut stages, 0);
                } else {
                    self.chain.process(&mut input, &mut output);
                }
                drop((input, output));
                taken += count - block.count();
                rows = self.chain.weighed().map_or(taken, |now| now.taken_since(before) as usize);
                if block.count() > 0 || self.chain.is_stalled() {
                    self.output.deposit_full();
                    continue;
                }
            }
            let Some(Bundle { block, marker, .. }) = self.hand.take() else { break };
            if let Some(block) = block {
                let is_hot = block.core() == context.worker;
                block.give_back(is_hot);
            }
            self.output.deposit_full();
            if let Some(marker) = marker {
                self.output.mark_latency(marker);
            }
            self.consumed.1 += 1;
        }
        self.put_down();
        let is_unsettled = is_stuck || self.hand.is_some();
        self.probe.set_unsettled(is_unsettled.then(|| arrival_of(&self.hand)));
        if let Some(meter) = context.measured {
            meter.note_stages(&stages);
        }
        let pushed = self.output.pushed() - pushed_before;
        StepReport {
            records_in: rows as u64,
            records_out: self.chain.weighed().map_or(pushed, |now| now.put_since(before)),
            taken: taken as u64,
            watermark: None,
            ended: self.containers.tracker.is_over(),
        }
    }
}

impl<T: Send + 'static, B: Carrier<T>, C: Operator<T, Out = U>, U: Send + 'static> Task
    for RelayTask<T, B, C, U>
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        Ok(match context.measured {
            None => self.run::<false>(context),
            Some(_) => self.run::<true>(context),
        })
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        let allowance = &state_grant.allowance();
        self.chain.fund(allowance);
    }

    fn seed(&mut self, _entropy: &mut dyn Entropy) {}

    fn held_bytes(&self) -> usize {
        self.chain.state_bytes()
    }

    fn rows_max(&self) -> Option<u32> {
        self.chain.weighed().map(|weighed| weighed.most)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.chain.visit_counts(each);
    }

    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        self.chain.visit_state_bytes(each);
    }

    fn faulted(&self) -> Option<&str> {
        self.chain.faulted()
    }
}
