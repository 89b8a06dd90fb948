//! An operator chain that reads an edge.

use std::sync::Arc;

use thalweg_memory::Next;
use thalweg_model::staged::Stages;
use thalweg_model::{Counts, Entropy, Fault, Mark, Operator, Output};

use super::tail::Tail;
use super::{Probe, StepContext, StepReport, Task};
use crate::edge::{EdgeInput, Reader};
use crate::exit::Exit;

/// Takes records off an edge and pushes them through a chain.
pub(crate) struct OperatorTask<T: Send + 'static, C, E> {
    reader: Reader<T>,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// Whether the end was taken off the edge.
    is_over: bool,
}

impl<T: Send + 'static, C, E> OperatorTask<T, C, E> {
    pub(crate) fn new(reader: Reader<T>, chain: C, exit: E, probe: Arc<Probe>) -> Self {
        OperatorTask { reader, tail: Tail::new(chain, exit), probe, is_over: false }
    }
}

impl<T, C, E> Task for OperatorTask<T, C, E>
where
    T: Send + 'static,
    C: Operator<T>,
    E: Exit<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        match context.measured {
            None => self.run::<false>(context),
            Some(_) => self.run::<true>(context),
        }
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.tail.chain.seed(entropy);
    }

    fn held_bytes(&self) -> usize {
        self.tail.chain.state_bytes() + self.tail.exit.held_bytes()
    }

    fn bad_count(&self) -> u64 {
        0
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.tail.chain.visit_counts(each);
    }

    fn faulted(&self) -> Option<&str> {
        self.tail.chain.faulted()
    }
}

impl<T, C, E> OperatorTask<T, C, E>
where
    T: Send + 'static,
    C: Operator<T>,
    E: Exit<C::Out>,
{
    /// A step, its first run operator by operator if `MEASURED`; a loop of its own each, so that the one owes nothing to the other.
    fn run<const MEASURED: bool>(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        let (mut stages, mut is_measured) = (Stages::new(context.clock), false);
        let pushed_before = self.tail.exit.pushed();
        let quantum = context.quantum.records as usize;
        let mut taken = 0;
        while self.tail.settle(context, &self.probe)? && !self.is_over && taken < quantum {
            let mut output = self.tail.exit.open(context.now);
            let room = if C::EXPANDS { usize::MAX } else { output.room() };
            if output.room() == 0 {
                break;
            }
            // The least of quantum, room, and what the block holds up to the next mark.
            match self.reader.next(room.min(quantum - taken)) {
                Next::Values(run) => {
                    let mut input = EdgeInput { run };
                    let before = input.run.remaining();
                    if MEASURED && !is_measured {
                        is_measured = true;
                        self.tail.chain.process_staged(&mut input, &mut output, &mut stages, 0);
                    } else {
                        self.tail.chain.process(&mut input, &mut output);
                    }
                    taken += before - input.run.remaining();
                    drop((input, output));
                    self.tail.exit.check()?;
                }
                Next::Mark(mark) => {
                    drop(output);
                    self.is_over = mark == Mark::End;
                    self.tail.mark(mark);
                }
                Next::Empty => break,
            }
        }
        if let Some(meter) = context.measured {
            meter.note_stages(&stages);
        }
        let ended = self.tail.has_ended() && self.tail.settle(context, &self.probe)?;
        Ok(StepReport {
            records_in: taken as u64,
            records_out: self.tail.exit.pushed() - pushed_before,
            ended,
        })
    }
}
