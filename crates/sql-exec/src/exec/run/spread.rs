//! Operators of which each worker has a copy with keys of its own, and the order of rows that this must not change.
//!
//! An exchange by key keeps the order of the rows of each key and of each source, and mixes all others. So an operator whose
//! rows depend on the order of arrival is given its input unmixed: no operator below it has copies by key, unless the
//! order of these rows is not determined anyway, as behind a join.

use std::sync::Arc;

use thalweg::Stream;
use thalweg_sql_tables::batch::Batch;

use super::super::exchange::RowKeys;
use super::super::operator::{BatchOperator, ByKey, InTurn, Make, Outcome, Stage};
use super::{Assembly, Result, refused};
use crate::plan::{JoinMethod, Node, Plan, WindowSpec};

/// Whether the order in which the rows of a stream come out has a meaning for the operators that read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Rows come out in the order that their sources determine.
    Kept,
    /// Rows of several keys may come out in any order.
    Free,
}

impl Order {
    /// Returns the order that an operator needs of its inputs, if its own rows are to have the order `self`.
    pub(super) fn below(self, node: &Node) -> Order {
        match node {
            // Final rows are sorted by all columns, so the order of arrival ends here.
            Node::Final { .. } => Order::Free,
            // The keys of a window come out in no promised order, so those that are equal by the order of a top-N have none.
            Node::WindowTopN { input, .. } if is_of_windows(input) => Order::Free,
            node if node.depends_on_arrival() => Order::Kept,
            _ => self,
        }
    }

    /// Returns whether an operator whose rows are to have this order may have copies by key. `has_order` tells whether its
    /// rows have an order with one copy.
    pub(super) fn lets_spread(self, has_order: bool) -> bool {
        self == Order::Free || !has_order
    }
}

/// Returns whether the rows of a plan are those of a window aggregate, or computed from them one by one.
fn is_of_windows(plan: &Plan) -> bool {
    match &plan.node {
        Node::Calc { input, .. } => is_of_windows(input),
        node => matches!(node, Node::WindowAggregate { .. }),
    }
}

/// Returns columns of a plan by which its rows are divided among copies of an operator, if it may have copies: rows that have the
/// same values there come from one copy. `None` if nothing is known.
fn divided_by(plan: &Plan) -> Option<Vec<usize>> {
    match &plan.node {
        Node::Calc { input, outputs, .. } => {
            let divided = divided_by(input)?;
            let place_of =
                |place: &usize| outputs.iter().position(|output| output.as_column() == Some(*place));
            divided.iter().map(place_of).collect()
        }
        Node::AssignWindows { input, spec, .. } => match &**spec {
            WindowSpec::Session { keys, .. } => Some(keys.clone()),
            _ => divided_by(input),
        },
        Node::Over { keys, .. } | Node::SortedOver { keys, .. } => Some(keys.clone()),
        // Keys come first.
        Node::Group { keys, .. } => Some((0..keys.len()).collect()),
        _ => None,
    }
    .filter(|keys: &Vec<usize>| !keys.is_empty())
}

/// Returns the columns by which the rows of `input` are divided among the copies of an operator with the key columns `keys`:
/// those by which they are divided already, if these are among the keys. Then each batch goes to one copy as it is.
fn dividing_keys(input: &Plan, keys: &[usize]) -> Vec<usize> {
    match divided_by(input) {
        Some(divided) if divided.iter().all(|place| keys.contains(place)) => divided,
        _ => keys.to_vec(),
    }
}

/// Returns whether the order of the rows of a plan follows from the rows of its tables alone. Rows of a union come out as
/// they arrive, and so do those of joins that emit at once.
pub(super) fn has_order(plan: &Plan) -> bool {
    match &plan.node {
        Node::Union(_) => false,
        Node::Join { join, .. } => match join.method {
            JoinMethod::Window { .. } | JoinMethod::Temporal { .. } | JoinMethod::Lookup => {
                plan.inputs().into_iter().all(has_order)
            }
            JoinMethod::Interval { .. } | JoinMethod::Regular { .. } => false,
        },
        _ => plan.inputs().into_iter().all(has_order),
    }
}

/// Input of an operator that may have copies by key.
pub(super) struct Keyed<'p> {
    pub(super) stream: Stream<Batch>,
    /// Plan of the input.
    pub(super) input: &'p Plan,
    /// Indexes of the key columns in the input.
    pub(super) keys: &'p [usize],
    /// Order that the rows of the operator are to have.
    pub(super) order: Order,
}

impl Assembly<'_> {
    /// Creates the stream of an operator of which each worker has a copy with keys of its own, if there are keys and the
    /// order of rows allows it. `make` creates the copies.
    ///
    /// # Errors
    /// The error of `make`.
    pub(super) fn by_key(
        &self,
        name: &str,
        input: Keyed<'_>,
        make: impl Fn() -> Outcome<Box<dyn BatchOperator>> + Send + Sync + 'static,
    ) -> Result<Stream<Batch>> {
        let Keyed { stream, input, keys, order } = input;
        let make: Make<dyn BatchOperator> = Arc::new(make);
        let renewal = self.renewal(&make);
        if keys.is_empty() || !order.lets_spread(has_order(input)) {
            let stage = self.stage::<InTurn>(make().map_err(refused)?).renewed(renewal);
            return Ok(stream.process(stage).name(name).boxed());
        }
        let keys = RowKeys::of_columns(name, &dividing_keys(input, keys), &input.columns);
        let stage: Stage<ByKey> = Stage::by_key(make, keys).map_err(refused)?;
        let stage = stage.watched(self.world.watch.as_ref()).renewed(renewal);
        Ok(stream.process(stage).name(name).boxed())
    }
}
