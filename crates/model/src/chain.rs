//! Chains: operators that follow each other inside one task and compile to one loop.
//!
//! [`Then`] is an operator made of two; [`Piped`] is the output between them. Each knows the types of its neighbours,
//! so the compiler sees one loop from the input of the first to the output of the last.
//!
//! One or more operators of a chain may emit more than one record per record taken (rule O3 of
//! [`operator`](crate::operator)). Such an operator is handed one record at a time, and none while the rest of an
//! emission waits. So each operator keeps at most the rest of one emission, whatever is chained, and no buffer is
//! needed between two of them.

use crate::allowance::Allowance;
use crate::entropy::Entropy;
use crate::horizon::Horizon;
use crate::keys::Keys;
use crate::mark::Mark;
use crate::operator::{Counts, Flow, Input, Operator, Output, Sharing};
use crate::record::Record;
use crate::staged::{Held, Stages};
use crate::state::{StateError, StateReader, StateWriter};
use crate::weighed::Weighed;

/// Two operators of a chain, of which the second gets the results of the first.
#[derive(Debug)]
pub struct Then<A, B> {
    first: A,
    second: B,
    /// A mark (such as a watermark) that has not passed the chain yet, and the operator at which it waits;
    /// `None` if there is none.
    held_up: Option<(Place, Mark)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    First,
    Second,
}

impl<A, B> Then<A, B> {
    /// Creates a chain of the operator `first` followed by the operator `second`.
    pub fn new(first: A, second: B) -> Self {
        Then { first, second, held_up: None }
    }
}

/// An output that gives each record to `operator`, the next operator of the chain, whose results go to
/// `output`.
pub struct Piped<'a, P, In, O>
where
    P: Operator<In>,
    O: Output<P::Out>,
{
    operator: &'a mut P,
    output: &'a mut O,
    /// Number of records given to the operator one by one. Reported to the operator when this output is
    /// dropped, so that the loop counts in a register.
    handed_on: u64,
    input: std::marker::PhantomData<fn(In)>,
}

impl<'a, P, In, O> Piped<'a, P, In, O>
where
    P: Operator<In>,
    O: Output<P::Out>,
{
    /// Creates an output whose records go through `operator` to `output`.
    #[inline(always)]
    pub fn new(operator: &'a mut P, output: &'a mut O) -> Self {
        Piped { operator, output, handed_on: 0, input: std::marker::PhantomData }
    }
}

impl<P, In, O> Output<In> for Piped<'_, P, In, O>
where
    P: Operator<In>,
    O: Output<P::Out>,
{
    #[inline(always)]
    fn room(&self) -> usize {
        match (P::EXPANDS, self.output.room()) {
            (false, room) => room,
            // An operator that may emit several records per record gets one record at a time, so that its
            // unfinished emission never stems from more than one.
            (true, room) => usize::from(room > 0 && !self.operator.is_stalled()),
        }
    }

    #[inline(always)]
    fn push(&mut self, record: Record<In>) {
        self.handed_on += 1;
        self.operator.process_one(record, self.output);
    }

    #[inline(always)]
    fn push_all<I: Input<In>>(&mut self, input: &mut I) {
        self.operator.process(input, self.output);
    }
}

impl<P, In, O> Drop for Piped<'_, P, In, O>
where
    P: Operator<In>,
    O: Output<P::Out>,
{
    #[inline(always)]
    fn drop(&mut self) {
        if self.handed_on > 0 {
            self.operator.note_read(self.handed_on);
        }
    }
}

impl<A, B> Then<A, B> {
    /// Passes a mark (such as a watermark) that the first operator has processed on to the second operator.
    fn mark_second<In, O>(&mut self, mark: Mark, output: &mut O) -> Flow
    where
        A: Operator<In>,
        B: Operator<A::Out>,
        O: Output<B::Out>,
    {
        let Some(seen) = self.first.forward(mark) else {
            self.held_up = None;
            return Flow::Done;
        };
        if self.second.is_stalled() {
            // The second operator still has results to emit for records that the first operator emitted at
            // this mark. So the mark waits between the two operators.
            self.held_up = Some((Place::First, mark));
            return Flow::More;
        }
        let flow = self.second.on_mark(seen, output);
        self.held_up = if flow == Flow::More { Some((Place::Second, mark)) } else { None };
        flow
    }
}

impl<In, A, B> Operator<In> for Then<A, B>
where
    A: Operator<In>,
    B: Operator<A::Out>,
{
    type Out = B::Out;

    const EXPANDS: bool = A::EXPANDS || B::EXPANDS;

    const IS_FUSED: bool = true;

    const SHARING: Sharing = A::SHARING.then(B::SHARING);

    fn fork(&self) -> Self {
        Then::new(self.first.fork(), self.second.fork())
    }

    fn keys(&self) -> impl Keys<In> + use<In, A, B> {
        self.first.keys()
    }

    fn absorb(&mut self, copy: &mut Self) {
        self.first.absorb(&mut copy.first);
        self.second.absorb(&mut copy.second);
    }

    fn horizon(&self) -> Horizon {
        self.first.horizon().and(self.second.horizon())
    }

    #[inline(always)]
    fn process<I: Input<In>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O) {
        let mut piped = Piped::new(&mut self.second, output);
        if B::EXPANDS {
            // The second operator may fill the output with the results of one record, so the first gets one
            // record at a time. If the first operator may emit several records per record too, it gets none
            // before everything that it made of the last record has passed.
            while input.remaining() > 0 && piped.room() > 0 && !self.first.is_stalled() {
                if let Some(record) = input.take() {
                    self.first.process_one(record, &mut piped);
                    self.first.note_read(1);
                }
            }
        } else {
            self.first.process(input, &mut piped);
        }
    }

    /// Measures the operators one by one only if none of them may emit several records per record: otherwise
    /// records that find no room would have to wait between the operators.
    fn process_staged<I: Input<In>, O: Output<Self::Out>>(
        &mut self,
        input: &mut I,
        output: &mut O,
        stages: &mut Stages<'_>,
        place: usize,
    ) {
        if Self::EXPANDS {
            return self.process(input, output);
        }
        let mut held = Held::new(input.remaining());
        stages.measure(place, input, |input| self.first.process(input, &mut held));
        self.second.process_staged(&mut held.into_input(), output, stages, place + 1);
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<In>, output: &mut O) {
        self.first.process_one(record, &mut Piped::new(&mut self.second, output));
    }

    fn note_read(&mut self, count: u64) {
        self.first.note_read(count);
    }

    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        let flow = self.first.on_mark(mark, &mut Piped::new(&mut self.second, output));
        if flow == Flow::More {
            self.held_up = Some((Place::First, mark));
            return Flow::More;
        }
        self.mark_second::<In, O>(mark, output)
    }

    fn is_stalled(&self) -> bool {
        self.held_up.is_none() && (self.first.is_stalled() || self.second.is_stalled())
    }

    fn resume<O: Output<Self::Out>>(&mut self, output: &mut O) -> Flow {
        if let Some((Place::Second, _)) = self.held_up {
            let flow = self.second.resume(output);
            if flow == Flow::Done {
                self.held_up = None;
            }
            return flow;
        }
        if self.second.is_stalled() && self.second.resume(output) == Flow::More {
            return Flow::More;
        }
        let flow = self.first.resume(&mut Piped::new(&mut self.second, output));
        match self.held_up {
            _ if flow == Flow::More || self.second.is_stalled() => Flow::More,
            Some((_, mark)) => self.mark_second::<In, O>(mark, output),
            None => Flow::Done,
        }
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        self.first.forward(mark).and_then(|mark| self.second.forward(mark))
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.first.fund(allowance);
        self.second.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.first.seed(entropy);
        self.second.seed(entropy);
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.first.visit_counts(each);
        self.second.visit_counts(each);
    }

    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        Weighed::chained(self.first.weighed(), self.second.weighed())
    }

    fn state_bytes(&self) -> usize {
        self.first.state_bytes() + self.second.state_bytes()
    }

    fn visit_state_bytes(&self, each: &mut dyn FnMut(usize)) {
        self.first.visit_state_bytes(each);
        self.second.visit_state_bytes(each);
    }

    fn faulted(&self) -> Option<&str> {
        // The second operator runs inside the first. So a panic of its code unwinds through both, and is
        // attributed to the second.
        self.second.faulted().or_else(|| self.first.faulted())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.first.save(state)?;
        self.second.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.first.load(state)?;
        self.second.load(state)
    }
}
