//! Segments that end in a deferred operator, such as a lookup join, whose results come later. Such an
//! operator begins a task, and the operators behind it may share this task.

use std::marker::PhantomData;

use thalweg_model::{Deferred, Operator};
use thalweg_operators::Named;
use thalweg_runtime::graph::Several;
use thalweg_runtime::{EdgeKind, InputHandle, OutputPlan};

use super::{Allowed, Cut, Gathers, Isolated, Planner, Segment, join};
use crate::draft::Label;

/// A segment followed by a deferred operator, such as a lookup join, whose results come later.
pub struct Awaited<H, In, D> {
    pub(crate) head: H,
    pub(crate) operator: D,
    pub(crate) label: Label,
    pub(crate) input: PhantomData<fn(In)>,
}

impl<H, In, D> Segment<D::Out> for Awaited<H, In, D>
where
    H: Segment<In>,
    In: Send + 'static,
    D: Deferred<In> + Named + 'static,
    D::Out: Send + 'static,
{
    type BeforeState = Cut<Self>;

    fn before_state(self) -> Cut<Self> {
        Cut(self)
    }

    type Isolated = Isolated<Self>;

    fn isolate(self) -> Isolated<Self> {
        Isolated(self)
    }

    const MAY: Allowed = Allowed::NOTHING;

    const GATHERS: Gathers = Gathers::Never;

    type Instance = Several<InputHandle<D::Out>>;

    fn exchange<Q: Operator<D::Out> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = InputHandle<D::Out>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> InputHandle<D::Out> {
        planner.end_at_edge(self, kind)
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<D::Out> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let input = planner.input_of(self.head);
        let operator = planner.named(self.label, self.operator);
        let name = planner.task_name(&join(operator.name(), tail_name));
        let output = planner.one_of(output);
        planner.graph.deferred(name, input, operator, tail, output);
    }
}
