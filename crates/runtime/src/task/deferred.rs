//! Tasks of operators with asynchronous results, such as lookups, and of the chain of operators behind
//! them.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Wake, Waker};

use thalweg_model::{
    Counts, Deferred, Emitted, Entropy, Fault, Input, Mark, Operator, Piped, ProcessingTime, Publisher,
    Section, StateError, StateWriter,
};
use thalweg_scheduling::OperatorId;

use super::merge::Merge;
use super::tail::Tail;
use super::{Probe, StepContext, StepReport, Task};
use crate::checkpoints::TaskCheckpoints;
use crate::driver::Driver;
use crate::output::TaskOutput;
use crate::ports::{Came, Ports, Visit};
use crate::state_grant::StateGrant;

/// Takes records from edges, gives them to an operator with asynchronous results, and pushes the results
/// through a chain when they arrive.
pub(crate) struct DeferredTask<T, P, D, C, E> {
    ports: P,
    merge: Merge,
    deferred: D,
    tail: Tail<C, E>,
    probe: Arc<Probe>,
    /// True if the end of the stream was taken from every input edge.
    is_over: bool,
    /// True if a barrier was taken and the operator has not emitted it yet. Until then no input is taken, so that the operator
    /// holds nothing from behind the barrier when it is saved.
    is_at_barrier: bool,
    values: PhantomData<fn() -> T>,
}

/// Wakes a task with asynchronous results from any thread, when results may have arrived.
///
/// The flag in the task's probe is set first, then the task is notified. A worker that puts the task back as
/// idle looks at the flag behind a fence, as for every event from outside the workers (see `Driver::notify`).
pub(crate) struct TaskWaker {
    probe: Arc<Probe>,
    /// The driver that runs the task, and the number of the task in that driver. Not set before the engine
    /// admits the task. A wake-up before that is not lost, because the first run of the task is still to
    /// come.
    place: OnceLock<(Weak<dyn Driver>, OperatorId)>,
}

impl TaskWaker {
    pub(crate) fn new(probe: Arc<Probe>) -> Arc<Self> {
        Arc::new(TaskWaker { probe, place: OnceLock::new() })
    }

    /// Sets the driver that runs the task, and the task's number there.
    pub(crate) fn settle(&self, driver: Weak<dyn Driver>, operator: OperatorId) {
        let is_first = self.place.set((driver, operator)).is_ok();
        assert!(is_first, "a task gets its place once");
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.probe.wake()
            && let Some((driver, operator)) = self.place.get()
            && let Some(driver) = driver.upgrade()
        {
            driver.notify(&[*operator]);
        }
    }
}

impl<T, P: Ports<T>, D: Deferred<T>, C, E> DeferredTask<T, P, D, C, E> {
    pub(crate) fn new(
        (ports, families): (P, &[usize]),
        mut deferred: D,
        chain: C,
        output: E,
        probe: Arc<Probe>,
        waker: Arc<TaskWaker>,
    ) -> Self {
        deferred.wakes_by(&Waker::from(waker));
        let merge = Merge::new(families);
        let tail = Tail::new(chain, output);
        let (is_over, is_at_barrier) = (false, false);
        DeferredTask { ports, merge, deferred, tail, probe, is_over, is_at_barrier, values: PhantomData }
    }
}

/// The receiver of the records of one input edge: gives them to an operator with asynchronous results.
struct Feed<'a, D> {
    deferred: &'a mut D,
    merge: &'a mut Merge,
    port: usize,
    taken: usize,
    announce: Option<Mark>,
}

impl<T, D: Deferred<T>> Visit<T> for Feed<'_, D> {
    fn values<I: Input<T>>(&mut self, input: &mut I) {
        if let Some(late_by) = self.merge.announce(self.port) {
            self.announce = Some(Mark::InputWatermark(late_by));
            return;
        }
        while self.deferred.room() > 0
            && let Some(record) = input.take()
        {
            self.deferred.take(record);
            self.taken += 1;
        }
    }
}

impl<T, P, D, C, E> Task for DeferredTask<T, P, D, C, E>
where
    P: Ports<T>,
    D: Deferred<T>,
    C: Operator<D::Out>,
    E: TaskOutput<C::Out>,
{
    fn step(&mut self, context: &StepContext<'_>) -> Result<StepReport, Fault> {
        let pushed_before = self.tail.output.pushed();
        let quantum = context.quantum.records as usize;
        let mut taken = 0;
        self.deferred.begin(context.now);
        self.merge.begin();
        while self.tail.settle(context, &self.probe)? {
            self.probe.take_wake();
            let emitted = {
                let mut output = self.tail.output.open(context.arrival);
                let mut piped = Piped::new(&mut self.tail.chain, &mut output);
                self.deferred.emit(&mut piped)?
            };
            self.tail.output.check()?;
            match emitted {
                Emitted::Mark(Mark::Barrier(number)) => {
                    self.is_at_barrier = false;
                    let DeferredTask { merge, deferred, tail, .. } = &mut *self;
                    tail.put_barrier(number, |head| save_head(merge, deferred, head));
                    continue;
                }
                Emitted::Mark(mark) => {
                    self.tail.mark(mark);
                    continue;
                }
                Emitted::NoRoom => {
                    // The operator has more results to emit, so the task must run again whenever there is
                    // room.
                    self.probe.wake();
                    break;
                }
                Emitted::All => {}
            }
            if self.is_over || self.is_at_barrier || self.deferred.room() == 0 || taken >= quantum {
                break;
            }
            let Some(port) = self.merge.next(self.probe.arrivals()) else { break };
            let max = self.deferred.room().min(quantum - taken);
            let DeferredTask { deferred, merge, ports, is_over, is_at_barrier, .. } = self;
            let mut feed = Feed { deferred, merge, port, taken: 0, announce: None };
            let came = ports.next(port, max, &mut feed);
            let (fed, announce) = (feed.taken, feed.announce);
            taken += fed;
            match came {
                Came::Values => announce.into_iter().for_each(|mark| self.deferred.mark(mark)),
                Came::Mark(mark) => {
                    self.probe.note_input_mark(port, mark);
                    merge.note_mark(port, mark, &mut |mark| {
                        *is_over = mark == Mark::End;
                        *is_at_barrier |= matches!(mark, Mark::Barrier(_));
                        deferred.mark(mark);
                    });
                    if *is_at_barrier {
                        self.probe.pass_barrier();
                    }
                }
                Came::Nothing => merge.note_empty(port),
            }
        }
        // An unfinished emission of the chain continues as soon as there is room, whatever waits on other
        // inputs.
        self.tail.settle(context, &self.probe)?;
        self.probe.set_full(self.deferred.room() == 0 || self.is_at_barrier);
        self.probe.set_alarm(if self.is_over { ProcessingTime::NEVER } else { self.deferred.due() });
        let ended = self.tail.has_ended() && self.tail.settle(context, &self.probe)?;
        Ok(StepReport {
            records_in: taken as u64,
            taken: taken as u64,
            records_out: self.tail.output.pushed() - pushed_before,
            watermark: self.tail.watermark(),
            ended,
        })
    }

    fn fund(&mut self, state_grant: &Arc<StateGrant>) {
        let allowance = &state_grant.allowance();
        self.deferred.fund(allowance);
        self.tail.chain.fund(allowance);
        self.tail.output.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.tail.chain.seed(entropy);
    }

    fn held_bytes(&self) -> usize {
        self.deferred.state_bytes() + self.tail.chain.state_bytes() + self.tail.output.held_bytes()
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.deferred.visit_counts(each);
        self.tail.chain.visit_counts(each);
    }

    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        let mut bytes = self.deferred.state_bytes();
        self.deferred.visit_counts(&mut |_, _| each(std::mem::take(&mut bytes)));
        self.tail.chain.visit_state_bytes(each);
    }

    fn is_deferred(&self) -> bool {
        true
    }

    fn faulted(&self) -> Option<&str> {
        self.tail.chain.faulted().or_else(|| self.deferred.faulted())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let mut head = StateWriter::default();
        save_head(&self.merge, &self.deferred, &mut head)?;
        self.tail.save(&head.into_bytes(), state)
    }

    fn restore(&mut self, section: &Section) -> Result<(), StateError> {
        let DeferredTask { tail, merge, deferred, .. } = self;
        tail.restore(section, |head| {
            merge.load(head)?;
            deferred.load(head)
        })?;
        // The operator may have something to emit though nothing arrives.
        self.probe.wake();
        Ok(())
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        self.tail.publisher()
    }

    fn take_checkpoints(&mut self, own: TaskCheckpoints) {
        self.tail.take_checkpoints(own);
    }

    fn takes_checkpoints(&self) -> bool {
        true
    }
}

fn save_head<T>(
    merge: &Merge,
    deferred: &impl Deferred<T>,
    head: &mut StateWriter,
) -> Result<(), StateError> {
    merge.save(head)?;
    deferred.save(head)
}
