//! Sources of several splits: a segment that begins with all of them, and goes on from each.
//!
//! A single split is the same as a source in every respect: names, tasks and the edges between them are those of
//! [`FromSource`]. So a query with splits is written and compiled once, whatever their number.

use thalweg_model::{Operator, Sharing, Source, WatermarkStrategy, Watermarks};
use thalweg_runtime::graph::Several;
use thalweg_runtime::{EdgeKind, InputHandle, OutputPlan};

use super::{Allowed, Cut, FromSource, Gathers, Isolated, PARTITIONS_MAX, Planner, Segment};
use crate::draft::Label;

/// The beginning of a query: a source with several splits (parallel parts), before any operator is added to it.
pub struct FromSplits<S, W = WatermarkStrategy> {
    pub(crate) splits: Vec<FromSource<S, W>>,
    /// Name of a task that only unites the splits.
    pub(crate) label: Label,
}

impl<S, W> FromSplits<S, W> {
    /// Returns the source's split if it has only one; otherwise `None`.
    fn alone(&mut self) -> Option<FromSource<S, W>> {
        if self.splits.len() == 1 { self.splits.pop() } else { None }
    }
}

impl<S: Source + 'static, W: Watermarks<S::Item>> Segment<S::Item> for FromSplits<S, W> {
    type BeforeState = Cut<Self>;

    fn before_state(self) -> Cut<Self> {
        Cut(self)
    }

    type Isolated = Isolated<Self>;

    fn isolate(self) -> Isolated<Self> {
        Isolated(self)
    }

    const MAY: Allowed = Allowed { shared: true, spread: true, exchange: true };

    fn allowed(&self, _planner: &Planner) -> Allowed {
        let splits = self.splits.len();
        Allowed {
            shared: true,
            spread: (2..=PARTITIONS_MAX).contains(&splits),
            exchange: splits <= PARTITIONS_MAX,
        }
    }

    const GATHERS: Gathers = Gathers::NotYet;

    type Instance = Several<InputHandle<S::Item>>;

    fn exchange<Q: Operator<S::Item> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = Several<InputHandle<S::Item>>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> Self::Input {
        Several(self.splits.into_iter().map(|split| split.input(planner, kind)).collect())
    }

    fn fuse<P, X>(mut self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        if let Some(source) = self.alone() {
            return source.fuse(planner, tail, tail_name, output);
        }
        if matches!(P::SHARING, Sharing::Stateless) && output.kind() != EdgeKind::Ordered {
            // A stateless operator in front of containers (blocks that any worker may claim) or partitions
            // has an instance in the task of each split.
            let is_partition = output.kind() == EdgeKind::Partitions;
            for (source, number) in self.splits.into_iter().zip(0..) {
                let output = output
                    .again(&mut planner.graph)
                    .expect("containers and partitions take any number of writers");
                source.fuse(planner, tail.fork(), tail_name, output);
                if is_partition {
                    // The function for the keys of an exchange may remember records, and an edge must know
                    // whether it crosses workers. So the task of each split gets a preferred worker.
                    planner.settle(number);
                }
            }
            return;
        }
        let name = if tail_name.is_empty() { planner.name(self.label) } else { tail_name.to_owned() };
        planner.cut(self, tail, &name, output);
    }
}
