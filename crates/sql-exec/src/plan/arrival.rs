//! Operators whose rows depend on the order in which the rows of their inputs arrive.

use super::{AggregateCall, JoinMethod, Node, WindowSpec};

impl Node {
    /// Returns whether the rows that the operator emits depend on the order in which the rows of its inputs arrive, beyond
    /// the order of their own emission and of the changes of a key that come before its last change. An example is a top-N,
    /// in which the first of several rows that are equal by the order comes first.
    pub fn depends_on_arrival(&self) -> bool {
        match self {
            Node::Scan { .. }
            | Node::Values(_)
            | Node::Calc { .. }
            | Node::Expand { .. }
            | Node::Unnest { .. }
            | Node::ByArrival { .. }
            | Node::Union(_)
            | Node::Final { .. }
            | Node::Bag { .. } => false,
            // A late row joins the session of its key that happens to be open.
            Node::AssignWindows { spec, .. } => matches!(**spec, WindowSpec::Session { .. }),
            Node::WindowAggregate { calls, .. } | Node::Group { calls, .. } => {
                calls.iter().any(AggregateCall::depends_on_order)
            }
            Node::SortedOver { is_final, .. } => !is_final,
            Node::Join { join, .. } => match join.method {
                JoinMethod::Temporal { .. } | JoinMethod::Lookup => true,
                JoinMethod::Window { .. } | JoinMethod::Interval { .. } | JoinMethod::Regular { .. } => false,
            },
            Node::Limit { .. }
            | Node::Sort { .. }
            | Node::WindowTopN { .. }
            | Node::Over { .. }
            | Node::Normalize { .. }
            | Node::Rank { .. } => true,
        }
    }
}
