//! Tasks that run an operator chain on the records of one or several edges.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_model::staged::Stages;
use thalweg_model::{
    Counts, Entropy, Fault, Input, Mark, Operator, Output, Publisher, Section, StateError, StateWriter,
};

use super::merge::Merge;
use super::tail::Tail;
use super::{Probe, StepContext, StepReport, Task};
use crate::checkpoints::TaskCheckpoints;
use crate::output::TaskOutput;
use crate::ports::{Came, Ports, Visit};
use crate::state_grant::StateGrant;

/// Takes records from edges and pushes them through an operator chain to the output.
pub(crate) struct OperatorTask<T, P, C, E> {
    ports: P,
    merge: Merge,
    /// True if the task has only one input edge, so that no watermarks or other marks of several inputs must
    /// be merged.
    is_single: bool,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// True if the end of the stream was taken from every input edge.
    is_over: bool,
    values: PhantomData<fn() -> T>,
}

impl<T, P: Ports<T>, C, E> OperatorTask<T, P, C, E> {
    /// Makes a task that reads `ports` and runs `chain`. `families` has a number for each input: inputs with
    /// the same number get their records from the same sources.
    pub(crate) fn new(ports: P, families: &[usize], chain: C, output: E, probe: Arc<Probe>) -> Self {
        assert_eq!(families.len(), ports.count(), "every port reads an edge");
        let merge = Merge::new(families);
        let is_single = ports.count() == 1;
        OperatorTask {
            ports,
            merge,
            is_single,
            tail: Tail::new(chain, output),
            probe,
            is_over: false,
            values: PhantomData,
        }
    }
}

impl<T, P, C, E> Task for OperatorTask<T, P, C, E>
where
    P: Ports<T>,
    C: Operator<T>,
    E: TaskOutput<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        match context.measured {
            Some(_) if E::IS_MEASURED => self.run::<true>(context),
            _ => self.run::<false>(context),
        }
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        let allowance = &state_grant.allowance();
        self.tail.chain.fund(allowance);
        self.tail.output.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.tail.chain.seed(entropy);
    }

    fn held_bytes(&self) -> usize {
        self.tail.chain.state_bytes() + self.tail.output.held_bytes()
    }

    fn rows_max(&self) -> Option<u32> {
        self.tail.weighed().map(|weighed| weighed.most)
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

    fn takes_checkpoints(&self) -> bool {
        true
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        self.tail.publisher()
    }

    fn take_checkpoints(&mut self, own: TaskCheckpoints) {
        self.tail.take_checkpoints(own);
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let mut head = StateWriter::default();
        self.merge.save(&mut head)?;
        self.tail.save(&head.into_bytes(), state)
    }

    fn restore(&mut self, section: &Section) -> Result<(), StateError> {
        let OperatorTask { tail, merge, .. } = self;
        tail.restore(section, |head| merge.load(head))
    }
}

/// The receiver of the records of one input edge: gives them to an operator chain. If `MEASURED` is true, the
/// chain processes them operator by operator.
struct Feed<'a, 'b, C, O, const MEASURED: bool> {
    chain: &'a mut C,
    output: &'a mut O,
    /// The merge of the marks of several inputs; `None` if the task has one input. Before the records of this
    /// input, the merge may require a mark with the watermark by which they are late.
    merge: Option<(&'a mut Merge, usize)>,
    /// Receives the time that each operator of the chain takes, if the step is measured operator by operator.
    stages: &'a mut Stages<'b>,
    taken: usize,
    announce: Option<Mark>,
}

impl<T, C: Operator<T>, O: Output<C::Out>, const MEASURED: bool> Visit<T> for Feed<'_, '_, C, O, MEASURED> {
    #[inline(always)]
    fn values<I: Input<T>>(&mut self, input: &mut I) {
        if let Some((merge, port)) = &mut self.merge
            && let Some(late_by) = merge.announce(*port)
        {
            self.announce = Some(Mark::InputWatermark(late_by));
            return;
        }
        let before = input.remaining();
        if MEASURED {
            self.chain.process_staged(input, self.output, self.stages, 0);
        } else {
            self.chain.process(input, self.output);
        }
        self.taken += before - input.remaining();
    }
}

impl<T, P, C, E> OperatorTask<T, P, C, E> {
    /// Records a mark (such as a watermark) of one of several inputs, and queues the marks that follow from it. Not compiled
    /// into the loop over records, because marks are rare.
    #[cold]
    fn note_mark(&mut self, port: usize, mark: Mark) {
        self.probe.note_input_mark(port, mark);
        let OperatorTask { merge, tail, is_over, .. } = self;
        let mut barrier = None;
        merge.note_mark(port, mark, &mut |mark| match mark {
            Mark::Barrier(number) => barrier = Some(number),
            mark => {
                *is_over = mark == Mark::End;
                tail.mark(mark);
            }
        });
        // A barrier is the last of the marks that follow from one.
        if let Some(number) = barrier {
            self.probe.pass_barrier();
            let OperatorTask { merge, tail, .. } = self;
            tail.put_barrier(number, |head| merge.save(head));
        }
    }
}

impl<T, P, C, E> OperatorTask<T, P, C, E>
where
    P: Ports<T>,
    C: Operator<T>,
    E: TaskOutput<C::Out>,
{
    /// Runs a step or, if `MEASURED` is true, one run of records operator by operator. The two variants have
    /// no loop in common, because a closure of the chain that occurs in two loops is inlined into neither.
    fn run<const MEASURED: bool>(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        let mut stages = Stages::new(context.clock);
        let pushed_before = self.tail.output.pushed();
        let quantum = context.quantum.records as usize;
        // For most types of input the compiler knows whether the task reads only one edge.
        let is_single = P::IS_SINGLE || self.is_single;
        let before = self.tail.weighed();
        // Numbers of the records taken and, if a record stands for several rows, of their rows.
        let (mut taken, mut rows) = (0, 0);
        // Results of a watermark inherit the watermark's scheduling context, as results of windows do in
        // Cameo's Algorithm 1 (line 16). Results of records inherit the context of the first of the records.
        let mut of_mark = *context;
        self.merge.begin();
        while self.tail.settle(&of_mark, &self.probe)? && !self.is_over && rows < quantum {
            of_mark.arrival = context.arrival;
            let mut output = self.tail.output.open(context.arrival);
            let room = if C::EXPANDS { usize::MAX } else { output.room() };
            if output.room() == 0 {
                break;
            }
            let port = if is_single { Some(0) } else { self.merge.next(self.probe.arrivals()) };
            let Some(port) = port else { break };
            let mut feed = Feed::<_, _, MEASURED> {
                chain: &mut self.tail.chain,
                output: &mut output,
                merge: if is_single { None } else { Some((&mut self.merge, port)) },
                stages: &mut stages,
                taken: 0,
                announce: None,
            };
            // The run has the least of three numbers of records: the rest of the quantum, the room of the
            // output, and the records of the block up to the next mark (such as a watermark).
            let limit = before.map_or(quantum - rows, |weighed| weighed.records_of(quantum - rows));
            let came = self.ports.next(port, room.min(limit), &mut feed);
            let (fed, announce) = (feed.taken, feed.announce);
            if let Came::Mark(Mark::Watermark(_)) = came {
                of_mark.arrival.context = self.probe.context_of_mark(port, context.arrival.context);
            }
            if let Came::Mark(mark @ Mark::Watermark(_)) = came
                && is_single
                && of_mark.arrival == context.arrival
            {
                // A watermark is the most frequent mark, and most watermarks make no operator emit. It passes
                // through the output while that is still open, because all records and emissions before the
                // mark are finished. The output is moved before it is borrowed, so that the loop above keeps
                // it in registers.
                let mut open = output;
                let flow = self.tail.chain.on_mark(mark, &mut open);
                drop(open);
                self.tail.output.check()?;
                self.tail.pass(mark, flow, context)?;
                continue;
            }
            drop(output);
            match came {
                Came::Values => {
                    taken += fed;
                    rows = self.tail.weighed().map_or(taken, |now| now.taken_since(before) as usize);
                    self.tail.output.check()?;
                    if let Some(announce) = announce {
                        self.tail.mark(announce);
                    }
                    if MEASURED && fed > 0 {
                        self.tail.settle(&of_mark, &self.probe)?;
                        break;
                    }
                }
                Came::Mark(Mark::Barrier(number)) if is_single => {
                    let OperatorTask { merge, tail, .. } = self;
                    tail.put_barrier(number, |head| merge.save(head));
                }
                Came::Mark(mark) if is_single => {
                    self.is_over = mark == Mark::End;
                    self.tail.mark(mark);
                }
                Came::Mark(mark) => self.note_mark(port, mark),
                Came::Nothing if is_single => break,
                Came::Nothing => self.merge.note_empty(port),
            }
        }
        if let Some(meter) = context.measured {
            meter.note_stages(&stages);
        }
        let ended = self.tail.has_ended() && self.tail.settle(&of_mark, &self.probe)?;
        let pushed = self.tail.output.pushed() - pushed_before;
        Ok(StepReport {
            records_in: rows as u64,
            records_out: self.tail.weighed().map_or(pushed, |now| now.put_since(before)),
            taken: taken as u64,
            watermark: self.tail.watermark(),
            ended,
        })
    }
}
