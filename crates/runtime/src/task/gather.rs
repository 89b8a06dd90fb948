//! A task that runs one copy of an operator which gathers state and is shared by several workers. It claims
//! blocks and folds them into the partial state of their epoch.

use std::sync::Arc;

use thalweg_model::staged::Stages;
use thalweg_model::{Allowance, Counts, Entropy, EventTime, Fault, Flow, Mark, Operator, Output, Record};

use super::{StepContext, StepReport, Task};
use crate::epochs::{Bundle, Carrier, Containers, Copies, Gathered, Pair};
use crate::state_grant::StateGrant;

/// Claims blocks from containers, which hold the blocks of each epoch, and runs a copy of an operator chain
/// on them, which gathers state per epoch.
pub(crate) struct GatherTask<T: Send + 'static, B, C> {
    containers: Arc<Containers<T, B>>,
    copies: Arc<Copies<C>>,
    /// Number of this copy among the copies of the operator, from 0 on.
    index: usize,
    /// The chain from which new chains are copied; it takes no records itself.
    template: C,
    allowance: Allowance,
    hand: Option<InHand<C>>,
    /// The two partial states of a closed epoch that this task is merging at the moment.
    pair: Option<Pair<C>>,
    /// Counts of each operator, over all chains that this task has used.
    counts: Vec<Counts>,
    held_bytes: usize,
}

/// An operator chain that is in use, together with the state that it has gathered in one epoch.
struct InHand<C> {
    gathered: Gathered<C>,
    /// Numbers of records that each operator of the chain had read, forwarded and so on when this task took the chain.
    counts: Vec<Counts>,
    /// Number of bundles (blocks with their epochs) whose records are in the chain's state and which are not
    /// yet reported as consumed.
    consumed: u64,
}

/// Merges the states of an epoch in pairs, while two of them are not being merged by other tasks. Each pair
/// stays in `hand` while it is merged, so that a panic can be attributed to the operator whose code panicked.
pub(super) fn merge_pairs<T, C: Operator<T>>(copies: &Copies<C>, hand: &mut Option<Pair<C>>) {
    while let Some(pair) = copies.take_pair() {
        let Pair { whole: (_, whole), part: (_, part) } = hand.insert(pair);
        whole.absorb(part);
        hand.take().into_iter().for_each(|pair| copies.put_whole(pair));
    }
}

/// Returns the two operator chains whose states were being merged when a panic occurred.
pub(super) fn merged<C>(pair: &Option<Pair<C>>) -> impl Iterator<Item = &C> {
    pair.iter().flat_map(|Pair { whole: (_, whole), part: (_, part) }| [whole, part])
}

/// An output for operators that gather state: it takes no records, because such operators emit nothing before
/// a watermark.
struct Closed;

impl<T> Output<T> for Closed {
    #[inline(always)]
    fn room(&self) -> usize {
        usize::MAX
    }

    fn push(&mut self, _record: Record<T>) {
        unreachable!("an operator that merges puts out nothing but at marks");
    }
}

fn counts_of<T, C: Operator<T>>(chain: &C) -> Vec<Counts> {
    let mut all = Vec::new();
    chain.visit_counts(&mut |_, counts| all.push(counts));
    all
}

impl<T: Send + 'static, B: Carrier<T>, C: Operator<T>> GatherTask<T, B, C> {
    pub(crate) fn new(
        containers: Arc<Containers<T, B>>,
        copies: Arc<Copies<C>>,
        index: usize,
        template: C,
    ) -> Self {
        let counts = counts_of(&template);
        let allowance = Allowance::default();
        GatherTask {
            containers,
            copies,
            index,
            template,
            allowance,
            hand: None,
            pair: None,
            counts,
            held_bytes: 0,
        }
    }

    fn pick_up(&mut self, epoch: u64) -> &mut InHand<C> {
        if self.hand.as_ref().is_none_or(|hand| hand.gathered.epoch != epoch) {
            self.put_down();
            let gathered = self.copies.pick_up(self.index, epoch).unwrap_or_else(|| {
                let mut chain = self.template.fork();
                chain.fund(&self.allowance);
                Gathered { epoch, chain, late_by: EventTime::MIN, bytes: 0 }
            });
            let counts = counts_of(&gathered.chain);
            self.hand = Some(InHand { gathered, counts, consumed: 0 });
        }
        self.hand.as_mut().expect("the chain of the epoch is at hand")
    }

    /// Puts the operator chain in use down, with its gathered state, and only then reports the blocks in this
    /// state as consumed.
    fn put_down(&mut self) {
        let Some(InHand { mut gathered, counts, consumed }) = self.hand.take() else {
            if self.held_bytes > 0 {
                // Other tasks may have merged operator chains of this copy since its last step, so the bytes
                // of its state are counted again.
                self.held_bytes = self.copies.held_bytes(self.index);
            }
            return;
        };
        for ((total, after), before) in self.counts.iter_mut().zip(counts_of(&gathered.chain)).zip(counts) {
            *total = total.plus(after.minus(before));
        }
        let epoch = gathered.epoch;
        gathered.bytes = gathered.chain.state_bytes();
        self.held_bytes = self.copies.put_down(self.index, gathered);
        self.containers.tracker.consume(epoch, consumed);
    }

    fn run<const MEASURED: bool>(&mut self, context: &StepContext<'_>) -> StepReport {
        let mut stages = Stages::new(context.clock);
        let quantum = context.quantum.records as usize;
        let (mut taken, mut rows) = (0, 0);
        // Merging states comes before claiming blocks, because the results of a closed epoch wait for it.
        merge_pairs(&self.copies, &mut self.pair);
        while rows < quantum
            && let Some(bundle) = self.containers.claim(self.index, context.now)
        {
            let Bundle { block, epoch, late_by, marker, .. } = bundle;
            let hand = self.pick_up(epoch);
            if let Some(mut block) = block {
                let gathered = &mut hand.gathered;
                if gathered.late_by != late_by {
                    gathered.late_by = late_by;
                    let flow = gathered.chain.on_mark(Mark::InputWatermark(late_by), &mut Closed);
                    assert!(flow == Flow::Done, "who is told what records are late by puts out nothing");
                }
                let count = block.count();
                let before = gathered.chain.weighed();
                let mut input = block.input(count);
                if MEASURED {
                    gathered.chain.process_staged(&mut input, &mut Closed, &mut stages, 0);
                } else {
                    gathered.chain.process(&mut input, &mut Closed);
                }
                drop(input);
                taken += count;
                rows += gathered.chain.weighed().map_or(count, |now| now.taken_since(before) as usize);
                let is_hot = block.core() == context.worker;
                block.give_back(is_hot);
            }
            hand.consumed += 1;
            if let Some(marker) = marker {
                self.containers.tracker.mark_latency(marker);
            }
        }
        self.put_down();
        if let Some(meter) = context.measured {
            meter.note_stages(&stages);
        }
        let ended = self.containers.tracker.is_over();
        StepReport { records_in: rows as u64, records_out: 0, taken: taken as u64, watermark: None, ended }
    }
}

impl<T: Send + 'static, B: Carrier<T>, C: Operator<T>> Task for GatherTask<T, B, C> {
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        Ok(match context.measured {
            None => self.run::<false>(context),
            Some(_) => self.run::<true>(context),
        })
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        self.allowance = state_grant.allowance();
        self.copies.add_grant(state_grant);
    }

    /// Draws no seed, because the chain was copied from a chain that had its seed already.
    fn seed(&mut self, _entropy: &mut dyn Entropy) {}

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let mut counts = self.counts.iter();
        self.template.visit_counts(&mut |name, _| each(name, counts.next().copied().unwrap_or_default()));
    }

    /// The last operator of the chain is the one that gathers state; those before it keep none.
    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        let last = self.counts.len().saturating_sub(1);
        (0..self.counts.len()).for_each(|place| each(if place == last { self.held_bytes } else { 0 }));
    }

    fn faulted(&self) -> Option<&str> {
        let at_hand = self.hand.as_ref().map(|hand| &hand.gathered.chain);
        at_hand.into_iter().chain(merged(&self.pair)).find_map(C::faulted)
    }
}
