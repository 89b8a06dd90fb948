//! Own: an operator that a user has written, with the name that the query gives it.
//!
//! Input      the operator's
//! Output     the operator's
//! State      the operator's
//! Emits      when the operator does
//! Late       the operator's
//! Watermark  the operator's
//! Cost       the operator's, and two stores per call into or out of it
//!
//! ```
//! # use thalweg::{Operator, Segment, Stream};
//! # fn f<C: Segment<i64>, P: Operator<i64, Out = i64> + 'static>(numbers: Stream<i64, C>, smoothing: P) -> Stream<i64, impl Segment<i64>> {
//! numbers.process(smoothing).name("smoothing")
//! # }
//! ```
//!
//! Several workers share it if [`Sharing`] says so; by default one worker at a time runs it.
//!
//! Between the operator and its neighbours stands a flag that says whose code runs: the operator's, or the code of an
//! input or output which it has called. So a panic is blamed on the operator if and only if it came from its code.
//! The author of an operator returns `None` in [`faulted`](Operator::faulted) and needs nothing else.

use std::cell::Cell;
use std::iter;

use thalweg_model::{
    Allowance, Counts, Entropy, Flow, Horizon, Input, Keys, Mark, Operator, Output, Record, Sharing,
    StateError, StateReader, StateWriter, Weighed,
};

use crate::named::Named;

/// An operator written by a user, with the name that the query gives it.
#[derive(Debug)]
pub struct Own<P> {
    name: String,
    operator: P,
    /// Tells whether the user's code is running. After a panic it keeps the value that it had at that moment.
    is_running: Cell<bool>,
}

impl<P> Own<P> {
    /// Wraps a user's operator and calls it `name`.
    pub fn new(name: impl Into<String>, operator: P) -> Self {
        Own { name: name.into(), operator, is_running: Cell::new(false) }
    }
}

/// Runs `code` with the flag set to `is_running`, then restores the former value of the flag. The former
/// value need not be the opposite: while a panic unwinds, the operator is still told how many records it has
/// read.
#[inline(always)]
fn run<Q>(flag: &Cell<bool>, is_running: bool, code: impl FnOnce() -> Q) -> Q {
    let before = flag.replace(is_running);
    let result = code();
    flag.set(before);
    result
}

/// The input or output of a user's operator as the operator sees it. Each call to it clears the flag that
/// says that the operator's code runs.
struct Beside<'a, N> {
    neighbour: &'a mut N,
    is_running: &'a Cell<bool>,
}

impl<T, I: Input<T>> Input<T> for Beside<'_, I> {
    #[inline(always)]
    fn is_ascending(&self) -> bool {
        self.neighbour.is_ascending()
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.neighbour.remaining()
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        let flag = self.is_running;
        run(flag, false, || self.neighbour.inspect(offset, |record| run(flag, true, || look(record))))
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        let flag = self.is_running;
        let mut taken = run(flag, false, || self.neighbour.taken(count));
        iter::from_fn(move || run(flag, false, || taken.next()))
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        let flag = self.is_running;
        let mut taken = run(flag, false, || self.neighbour.taken_selected(count, selection));
        iter::from_fn(move || run(flag, false, || taken.next()))
    }
}

/// An output as the user's operator sees it. `push_all` keeps the default of the trait [`Output`]: record by
/// record, and no more records than there is room for, whatever the real output's own `push_all` would
/// accept.
impl<T, O: Output<T>> Output<T> for Beside<'_, O> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.neighbour.room()
    }

    #[inline(always)]
    fn push(&mut self, record: Record<T>) {
        debug_assert!(self.room() > 0, "an operator pushes only while output.room() is above zero (O1)");
        run(self.is_running, false, || self.neighbour.push(record));
    }

    #[inline(always)]
    fn push_if(&mut self, record: Record<T>, keep: bool) {
        debug_assert!(self.room() > 0, "an operator pushes only while output.room() is above zero (O1)");
        run(self.is_running, false, || self.neighbour.push_if(record, keep));
    }
}

impl<In, P: Operator<In>> Operator<In> for Own<P> {
    type Out = P::Out;

    const EXPANDS: bool = P::EXPANDS;

    const SHARING: Sharing = P::SHARING;

    fn fork(&self) -> Self {
        let operator = run(&self.is_running, true, || self.operator.fork());
        Own { name: self.name.clone(), operator, is_running: Cell::new(false) }
    }

    fn keys(&self) -> impl Keys<In> + use<P, In> {
        self.operator.keys()
    }

    fn absorb(&mut self, copy: &mut Self) {
        let Own { operator, is_running, .. } = self;
        run(is_running, true, || operator.absorb(&mut copy.operator));
    }

    fn horizon(&self) -> Horizon {
        run(&self.is_running, true, || self.operator.horizon())
    }

    #[inline(always)]
    fn process<I: Input<In>, O: Output<P::Out>>(&mut self, input: &mut I, output: &mut O) {
        let Own { operator, is_running, .. } = self;
        run(is_running, true, || {
            let mut input = Beside { neighbour: input, is_running };
            let given = input.remaining();
            let mut output = Beside { neighbour: output, is_running };
            operator.process(&mut input, &mut output);
            let left = input.remaining();
            assert!(
                left < given || given == 0 || operator.is_stalled() || output.room() == 0,
                "an operator with room takes a record, or says that it is stalled (O3); {left} are left of {given}"
            );
            assert!(
                P::EXPANDS || left == 0,
                "an operator that does not expand takes all records it is given (O2); {left} are left"
            );
        });
    }

    #[inline(always)]
    fn process_one<O: Output<P::Out>>(&mut self, record: Record<In>, output: &mut O) {
        let Own { operator, is_running, .. } = self;
        run(is_running, true, || {
            operator.process_one(record, &mut Beside { neighbour: output, is_running });
        });
    }

    fn note_read(&mut self, count: u64) {
        run(&self.is_running, true, || self.operator.note_read(count));
    }

    fn on_mark<O: Output<P::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        let Own { operator, is_running, .. } = self;
        run(is_running, true, || operator.on_mark(mark, &mut Beside { neighbour: output, is_running }))
    }

    fn is_stalled(&self) -> bool {
        self.operator.is_stalled()
    }

    fn resume<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        let Own { operator, is_running, .. } = self;
        run(is_running, true, || operator.resume(&mut Beside { neighbour: output, is_running }))
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        run(&self.is_running, true, || self.operator.forward(mark))
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.operator.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.operator.seed(entropy);
    }

    /// Passes the counts that the user's operator reports of its own work (see [`Counts`]) to the visitor, under
    /// the name that the query gave the operator.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        self.operator.visit_counts(&mut |_, counts| each(&self.name, counts));
    }

    fn weighed(&self) -> Option<Weighed> {
        self.operator.weighed()
    }

    fn state_bytes(&self) -> usize {
        run(&self.is_running, true, || self.operator.state_bytes())
    }

    fn faulted(&self) -> Option<&str> {
        self.is_running.get().then_some(self.name.as_str())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.operator.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.operator.load(state)
    }
}

impl<P> Named for Own<P> {
    fn name(&self) -> &str {
        &self.name
    }
    fn rename(&mut self, name: String) {
        self.name = name;
    }
}

#[cfg(test)]
mod tests;
