//! Ports: the input edges of a task, addressed one by one, whatever their number and types are.
//!
//! ```text
//!   Taken<T>           one edge, whose only reader takes values out
//!   Lent<T>            one edge of several readers, to each of which values are lent: they are cloned here
//!   Queued<T>          one queue, whose only reader takes values out
//!   United<P, Q>       the edges of P, then those of Q, all of one type
//!   Many<P>            any number of edges of one type
//!   Sided<P, Q>        the edges of P, whose values become `Either::Left`, then those of Q, `Either::Right`
//! ```
//!
//! The compiler knows all types. So the loop of a chain is compiled once for each kind of ports, and the
//! wrapping of values is part of that loop.

use std::marker::PhantomData;

use thalweg_memory::{Next, QueueNext, SharedNext};
use thalweg_model::{Either, Input, Mark, Record};

use crate::edge::{DrainInput, LentInput, QueueReader, Reader, SharedReader};

/// Result of a read from one input edge of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// The edge had records. The visitor, which is the receiver that the caller passed, was offered them.
    Values,
    /// The edge had a mark (such as a watermark) next. It counts as read from now on.
    Mark(Mark),
    /// The edge has neither a record nor a mark (such as a watermark) at the moment.
    Nothing,
}

/// A receiver of the records that are read from the input edges of a task.
pub trait Visit<T> {
    /// Takes any number of the records of `input`, which has at least one. Records that are not taken are
    /// offered again.
    fn values<I: Input<T>>(&mut self, input: &mut I);
}

/// The input edges of a task, read one at a time.
pub trait Ports<T>: Send {
    /// True if the task never has more than one input edge.
    const IS_SINGLE: bool = false;

    /// Returns the number of input edges.
    fn count(&self) -> usize;

    /// Reads the input edge with the number `port`. Gives its next records, at most `max` of them, to
    /// `visitor`, or returns its next mark (such as a watermark).
    fn next<V: Visit<T>>(&mut self, port: usize, max: usize, visitor: &mut V) -> Came;
}

/// One input edge whose records are moved out, because the edge has no other reader.
pub struct Taken<T: Send + 'static>(pub(crate) Reader<T>);

impl<T: Send + 'static> Ports<T> for Taken<T> {
    const IS_SINGLE: bool = true;

    fn count(&self) -> usize {
        1
    }

    #[inline(always)]
    fn next<V: Visit<T>>(&mut self, _port: usize, max: usize, visitor: &mut V) -> Came {
        match self.0.next(max) {
            Next::Values(run) => {
                visitor.values(&mut DrainInput { run });
                Came::Values
            }
            Next::Mark(mark) => Came::Mark(mark),
            Next::Empty => Came::Nothing,
        }
    }
}

/// One input queue whose only reader moves the records out.
pub struct Queued<T: Send + 'static>(pub(crate) QueueReader<T>);

impl<T: Send + 'static> Ports<T> for Queued<T> {
    const IS_SINGLE: bool = true;

    fn count(&self) -> usize {
        1
    }

    #[inline(always)]
    fn next<V: Visit<T>>(&mut self, _port: usize, max: usize, visitor: &mut V) -> Came {
        match self.0.next(max) {
            QueueNext::Values(run) => {
                visitor.values(&mut DrainInput { run });
                Came::Values
            }
            QueueNext::Mark(mark) => Came::Mark(mark),
            QueueNext::Empty => Came::Nothing,
        }
    }
}

/// One input edge that has other readers, too. The records that are taken are cloned.
pub struct Lent<T: Send + Sync + 'static>(pub(crate) SharedReader<T>);

impl<T: Clone + Send + Sync + 'static> Ports<T> for Lent<T> {
    const IS_SINGLE: bool = true;

    fn count(&self) -> usize {
        1
    }

    #[inline(always)]
    fn next<V: Visit<T>>(&mut self, _port: usize, max: usize, visitor: &mut V) -> Came {
        match self.0.next(max) {
            SharedNext::Values(run) => {
                visitor.values(&mut LentInput { run });
                Came::Values
            }
            SharedNext::Mark(mark) => Came::Mark(mark),
            SharedNext::Empty => Came::Nothing,
        }
    }
}

/// The input edges of two inputs of one record type, which are read as a union.
pub struct United<P, Q>(pub(crate) P, pub(crate) Q);

impl<T, P: Ports<T>, Q: Ports<T>> Ports<T> for United<P, Q> {
    fn count(&self) -> usize {
        self.0.count() + self.1.count()
    }

    #[inline]
    fn next<V: Visit<T>>(&mut self, port: usize, max: usize, visitor: &mut V) -> Came {
        match port.checked_sub(self.0.count()) {
            None => self.0.next(port, max, visitor),
            Some(port) => self.1.next(port, max, visitor),
        }
    }
}

/// Any number of input edges of one record type, each read in the same way.
pub struct Many<P>(pub(crate) Vec<P>);

impl<T, P: Ports<T>> Ports<T> for Many<P> {
    fn count(&self) -> usize {
        self.0.iter().map(P::count).sum()
    }

    #[inline]
    fn next<V: Visit<T>>(&mut self, mut port: usize, max: usize, visitor: &mut V) -> Came {
        for ports in &mut self.0 {
            match port.checked_sub(ports.count()) {
                None => return ports.next(port, max, visitor),
                Some(rest) => port = rest,
            }
        }
        unreachable!("ports are asked for by number, below their count")
    }
}

/// The input edges of two inputs, whose records become the left and the right side of `Either`.
pub struct Sided<P, Q, L, R> {
    left: P,
    right: Q,
    values: PhantomData<fn() -> (L, R)>,
}

impl<P, Q, L, R> Sided<P, Q, L, R> {
    pub(crate) fn new(left: P, right: Q) -> Self {
        Sided { left, right, values: PhantomData }
    }
}

impl<L: Clone, R: Clone, P: Ports<L>, Q: Ports<R>> Ports<Either<L, R>> for Sided<P, Q, L, R> {
    fn count(&self) -> usize {
        self.left.count() + self.right.count()
    }

    #[inline]
    fn next<V: Visit<Either<L, R>>>(&mut self, port: usize, max: usize, visitor: &mut V) -> Came {
        match port.checked_sub(self.left.count()) {
            None => self.left.next(port, max, &mut Wrapping::new(visitor, Either::Left)),
            Some(port) => self.right.next(port, max, &mut Wrapping::new(visitor, Either::Right)),
        }
    }
}

/// Passes records to a visitor that expects them wrapped in another type, such as `Either`.
struct Wrapping<'a, V, U, W> {
    visitor: &'a mut V,
    wrap: W,
    value: PhantomData<fn(U)>,
}

impl<'a, V, U, W> Wrapping<'a, V, U, W> {
    fn new(visitor: &'a mut V, wrap: W) -> Self {
        Wrapping { visitor, wrap, value: PhantomData }
    }
}

impl<T: Clone, U, V: Visit<U>, W: Fn(T) -> U + Copy> Visit<T> for Wrapping<'_, V, U, W> {
    #[inline(always)]
    fn values<I: Input<T>>(&mut self, input: &mut I) {
        self.visitor.values(&mut Wrapped { input, wrap: self.wrap, value: PhantomData });
    }
}

/// An input whose values are wrapped in another type as they are taken. Wrapping consumes a value, so a
/// value that is only inspected is cloned first. Joins take their values, so they clone none.
struct Wrapped<'a, T, I, W> {
    input: &'a mut I,
    wrap: W,
    value: PhantomData<fn(T)>,
}

impl<T: Clone, U, I: Input<T>, W: Fn(T) -> U + Copy> Input<U> for Wrapped<'_, T, I, W> {
    #[inline(always)]
    fn is_ascending(&self) -> bool {
        self.input.is_ascending()
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.input.remaining()
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<U>) -> Q) -> Q {
        self.input.inspect(offset, |record| {
            look(&Record::new(record.event_time, (self.wrap)(record.value.clone())))
        })
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<U>> {
        let wrap = self.wrap;
        self.input.taken(count).map(move |record| Record::new(record.event_time, wrap(record.value)))
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<U>> {
        let wrap = self.wrap;
        self.input
            .taken_selected(count, selection)
            .map(move |record| Record::new(record.event_time, wrap(record.value)))
    }
}
