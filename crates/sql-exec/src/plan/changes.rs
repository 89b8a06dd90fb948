//! Kinds of changes: which operators only add rows, which update or retract rows, and which inputs each
//! operator accepts.
//!
//! [`Rule::of`] is the only place that decides this. It matches every operator and every join without a
//! wildcard, so an operator that is added later does not compile until its rule is written. All other code
//! asks it: planning refuses inputs that a rule does not accept; sinks, EXPLAIN and joins read what a rule
//! emits. In the table, "rows" stands for rows that are only added.
//!
//! | operator | accepts | emits |
//! |---|---|---|
//! | a table | | all kinds, if its format holds changes |
//! | the last row of each key of a table whose changes may come twice | all kinds | all kinds |
//! | WHERE, SELECT, grouping sets, UNION ALL | all kinds | as its inputs |
//! | UNNEST | all kinds | as its input |
//! | GROUP BY without a window | all kinds, if each aggregate can retract rows | updates; deletes if its input changes |
//! | EXCEPT ALL, INTERSECT ALL | all kinds | rows and deletes; INTERSECT ALL of rows: rows |
//! | ROW_NUMBER() <= N without a window | all kinds, unless the order is that of arrival | updates, deletes |
//! | ROW_NUMBER() = 1 by time: the first row | all kinds by event time; if the input changes, it is ranked like others | rows |
//! | ROW_NUMBER() = 1 by time: the last row | as for the first row | updates |
//! | a join without a bound in time | all kinds | inner and semi: as its inputs; others: all kinds |
//! | a temporal join | left: all kinds; right: whole updates of a table, or rows | as its left input |
//! | a lookup join | left: all kinds; right: rows | as its left input |
//! | the final rows of an input that ends | all kinds | rows |
//! | window functions | all kinds, but for those of a temporal join | as their input |
//! | OVER in the order of any columns | all kinds | updates; deletes if its input changes; rows if its input ends and it waits for that |
//! | aggregates of windows | all kinds, if each aggregate can retract rows | rows |
//! | OVER in the order of time, LIMIT, ORDER BY, ROW_NUMBER of a window, window and interval joins | rows | rows |
//!
//! Source: Flink, `FlinkChangelogModeInferenceProgram`; "Dynamic Tables" for the meaning of the kinds; `RankProcessStrategy`.

use std::borrow::Cow;

use thalweg_sql_tables::connect::gives_changes;

use super::{AggregateCall, BagKind, Counted, Join, JoinKind, JoinMethod, Node, Plan, Role, Windowing};

/// Kinds of changes that a stream may hold beside new rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Whether rows may be updated, which takes a `-U` with the old row and a `+U` with the new row.
    pub updates: bool,
    /// Whether rows may be deleted, with a `-D`.
    pub deletes: bool,
    /// Whether an update may lack its `-U` or its `+U`, because a filter tests each of the two by itself.
    /// Only temporal joins read this field, for a table below conditions. The rules of joins set it for their
    /// own output, too, although no operator reads it there yet.
    pub halves: bool,
    /// Whether a temporal join takes rows back, also behind the watermark of its left side.
    pub is_temporal: bool,
}

impl Changes {
    /// Changes of a stream whose rows are only added.
    pub const NONE: Changes = Changes { updates: false, deletes: false, halves: false, is_temporal: false };
    /// Changes of a stream whose rows may be updated and deleted.
    pub const ALL: Changes = Changes { updates: true, deletes: true, halves: false, is_temporal: false };

    /// Returns whether the rows of the stream are only added.
    pub fn is_none(self) -> bool {
        !self.updates && !self.deletes
    }

    fn and(self, other: Changes) -> Changes {
        Changes {
            updates: self.updates || other.updates,
            deletes: self.deletes || other.deletes,
            halves: self.halves || other.halves,
            is_temporal: self.is_temporal || other.is_temporal,
        }
    }
}

/// The row that deduplication keeps for each key: the first or the last one, by arrival or by a time column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Deduplication keeps the first row of a key to arrive.
    First,
    /// Deduplication keeps the last row of a key to arrive.
    Last,
    /// Deduplication keeps the row of a key with the least time in the column of this index.
    FirstBy(usize),
    /// Deduplication keeps the row of a key with the greatest time in the column of this index.
    LastBy(usize),
}

/// Kinds of changes that an operator accepts in one of its inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// The operator accepts an input with all kinds of changes.
    All,
    /// The operator accepts deletes, and updates that have both their `-U` and their `+U`.
    WholeUpdates(Refusal),
    /// The operator accepts only an input whose rows are never updated or deleted.
    Inserts(Refusal),
}

/// Text of the error for an input whose changes an operator does not accept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Part of the error text that names the operator and the inputs that it accepts.
    pub message: Cow<'static, str>,
    /// Part of the error text that says how to write the query instead.
    pub help: &'static str,
}

const LEAVE_OUT: &str = "aggregate rows that are only added, or use another function";

const AGGREGATE_THERE: &str = "aggregate or rank within windows there";

impl Accepts {
    fn inserts(message: &'static str) -> Accepts {
        Accepts::Inserts(Refusal { message: Cow::Borrowed(message), help: AGGREGATE_THERE })
    }

    /// Returns the error for an input with the given changes; `None` if the operator accepts the input.
    pub fn refusal(&self, changes: Changes) -> Option<&Refusal> {
        match self {
            Accepts::All => None,
            Accepts::WholeUpdates(refusal) => changes.halves.then_some(refusal),
            Accepts::Inserts(refusal) => (!changes.is_none()).then_some(refusal),
        }
    }
}

/// Kinds of changes that an operator accepts from its inputs, and kinds that it emits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Changes that the operator accepts, with one entry for each input.
    pub accepts: Vec<Accepts>,
    /// Changes that the operator emits, provided that each input is accepted.
    pub emits: Changes,
}

impl Rule {
    fn inserts(message: &'static str) -> Rule {
        Rule { accepts: vec![Accepts::inserts(message)], emits: Changes::NONE }
    }

    /// Returns the rule of the outermost operator of a plan, given the changes that its inputs emit.
    pub fn of(plan: &Plan, inputs: &[Changes]) -> Rule {
        let all = inputs.iter().copied().fold(Changes::NONE, Changes::and);
        let passing = |emits| Rule { accepts: vec![Accepts::All; inputs.len()], emits };
        match &plan.node {
            Node::Scan { table, .. } => {
                passing(if gives_changes(table) { Changes::ALL } else { Changes::NONE })
            }
            Node::Values(_) => passing(Changes::NONE),
            Node::Calc { conditions, .. } => {
                let halves = all.halves || (all.updates && !conditions.is_empty());
                passing(Changes { halves, ..all })
            }
            Node::Expand { .. } | Node::Union(_) => passing(all),
            // The old and the new row of an update may have different numbers of elements.
            Node::Unnest { .. } => passing(Changes { halves: all.halves || all.updates, ..all }),
            Node::ByArrival { .. } => {
                Rule::inserts("a window over processing time takes rows that are only added")
            }
            // A temporal join takes a row back at once, also behind the watermark of its left side. Its own watermark, by
            // which a window would tell whether that is too late, depends on how its inputs mix.
            Node::AssignWindows { .. } | Node::WindowAggregate { windows: Windowing::Cut { .. }, .. }
                if all.is_temporal =>
            {
                Rule::inserts("a window behind a temporal join takes rows that are only added")
            }
            // The old and the new row of an update may be in different numbers of windows.
            Node::AssignWindows { .. } => passing(Changes { halves: all.halves || all.updates, ..all }),
            Node::WindowAggregate { calls, .. } => {
                Rule { accepts: vec![calls_accept(calls, LEAVE_OUT)], emits: Changes::NONE }
            }
            Node::Normalize { .. } => Rule { accepts: vec![Accepts::All], emits: Changes::ALL },
            Node::Final { .. } => Rule { accepts: vec![Accepts::All], emits: Changes::NONE },
            Node::Limit { .. } => Rule::inserts("LIMIT takes rows that are only added"),
            Node::Sort { .. } => Rule::inserts("ORDER BY takes rows that are only added"),
            Node::WindowTopN { .. } => Rule::inserts("ROW_NUMBER of a window takes rows that are only added"),
            Node::Over { .. } => Rule::inserts("OVER takes rows that are only added"),
            Node::SortedOver { is_final: true, .. } => passing(Changes::NONE),
            // An update of the input is a row that goes and a row that comes.
            Node::SortedOver { .. } => {
                passing(Changes { updates: true, deletes: !all.is_none(), halves: false, ..all })
            }
            Node::Group { is_final: true, .. } => passing(Changes::NONE),
            Node::Group { calls, .. } => {
                let emits = Changes { updates: true, deletes: !all.is_none(), halves: false, ..all };
                Rule { accepts: vec![calls_accept(calls, "aggregate within windows there")], emits }
            }
            Node::Bag { kind, .. } => {
                let deletes = *kind == BagKind::Except || !all.is_none();
                passing(Changes { updates: false, deletes, halves: false, ..all })
            }
            Node::Rank { .. } => Rule { accepts: vec![rank_accepts(plan)], emits: rank_emits(plan, all) },
            Node::Join { join, .. } => join_rule(join, inputs, all),
        }
    }
}

/// Returns the inputs that an aggregate with these calls accepts.
fn calls_accept(calls: &[AggregateCall], help: &'static str) -> Accepts {
    let lacking = calls.iter().find(|call| call.function.create_retractable.is_none());
    lacking.map_or(Accepts::All, |call| {
        let message = Cow::Owned(format!("{} cannot take rows back", call.name()));
        Accepts::Inserts(Refusal { message, help })
    })
}

fn rank_accepts(plan: &Plan) -> Accepts {
    let Node::Rank { input, order, .. } = &plan.node else { return Accepts::All };
    if order.iter().any(|key| input.columns[key.place].role.is_proctime()) {
        let message = Cow::Borrowed("ROW_NUMBER in the order of arrival takes rows that are only added");
        return Accepts::Inserts(Refusal { message, help: "order by a column of the rows" });
    }
    Accepts::All
}

fn rank_emits(plan: &Plan, input: Changes) -> Changes {
    let Node::Rank { from, to, has_rank, .. } = &plan.node else { return input };
    let is_retracting = !input.is_none();
    if (*from, *to) == (1, u64::MAX) {
        return Changes::NONE;
    }
    match kept_by_time(plan, is_retracting) {
        Some(Keep::First | Keep::FirstBy(_)) => Changes::NONE,
        Some(Keep::Last | Keep::LastBy(_)) => {
            Changes { updates: true, is_temporal: input.is_temporal, ..Changes::NONE }
        }
        None => {
            let has_updates = *has_rank || *from > 1 || (*to == 1 && !is_retracting);
            let deletes = is_retracting || !has_updates;
            Changes { updates: has_updates, deletes, halves: false, ..input }
        }
    }
}

fn join_rule(join: &Join, inputs: &[Changes], all: Changes) -> Rule {
    let left = inputs.first().copied().unwrap_or_default();
    let both = |message| Rule { accepts: vec![Accepts::inserts(message); 2], emits: Changes::NONE };
    match &join.method {
        JoinMethod::Window { .. } => both("a window join takes rows that are only added"),
        JoinMethod::Interval { .. } => both("an interval join takes rows that are only added"),
        JoinMethod::Temporal { counts, .. } => {
            let help = "join a table of 'format' = 'debezium-json' itself, and filter behind the join";
            let refused = |message| Refusal { message: Cow::Borrowed(message), help };
            let versions = match counts {
                Counted::All => Accepts::WholeUpdates(refused(
                    "a temporal join takes versions whose updates are whole, and a condition below it filters both halves of an update",
                )),
                Counted::InOrder => {
                    Accepts::Inserts(refused("the last row of each key takes rows that are only added"))
                }
                Counted::First => {
                    Accepts::Inserts(refused("the first row of each key takes rows that are only added"))
                }
            };
            let emits = Changes { is_temporal: !left.is_none(), ..left };
            Rule { accepts: vec![Accepts::All, versions], emits }
        }
        JoinMethod::Lookup => {
            let table = Accepts::inserts("the table of a lookup join takes rows that are only added");
            Rule { accepts: vec![Accepts::All, table], emits: left }
        }
        JoinMethod::Regular { .. } => {
            let emits = match join.kind {
                // An outer join emits a row without a match alone, padded with NULL, and retracts it when a
                // match comes.
                JoinKind::Left | JoinKind::Right | JoinKind::Full | JoinKind::Anti => {
                    Changes { halves: all.halves, is_temporal: all.is_temporal, ..Changes::ALL }
                }
                // An update may move a row to another join key. Then its `-U` or its `+U` may find no match,
                // and the join emits rows for only the other one of the two.
                JoinKind::Inner | JoinKind::Semi => Changes { halves: all.updates || all.halves, ..all },
            };
            Rule { accepts: vec![Accepts::All; 2], emits }
        }
    }
}

/// Returns the kinds of changes that a plan emits.
pub fn changes(plan: &Plan) -> Changes {
    let inputs: Vec<Changes> = plan.inputs().into_iter().map(changes).collect();
    Rule::of(plan, &inputs).emits
}

/// Returns the row of each key that deduplication keeps; `None` if the plan is not a top-N of one row by time.
pub fn deduplication(plan: &Plan) -> Option<Keep> {
    let Node::Rank { is_retracting, .. } = &plan.node else { return None };
    kept_by_time(plan, *is_retracting)
}

fn kept_by_time(plan: &Plan, is_retracting: bool) -> Option<Keep> {
    let Node::Rank { input, order, from: 1, to: 1, has_rank: false, .. } = &plan.node else { return None };
    let ([key], false) = (&order[..], is_retracting) else { return None };
    match (&input.columns[key.place].role, key.is_descending) {
        (Role::Proctime | Role::WindowProctime, false) => Some(Keep::First),
        (Role::Proctime | Role::WindowProctime, true) => Some(Keep::Last),
        (Role::Rowtime, false) => Some(Keep::FirstBy(key.place)),
        (Role::Rowtime, true) => Some(Keep::LastBy(key.place)),
        (Role::Plain | Role::WindowStart(_) | Role::WindowEnd(_), _) => None,
    }
}

/// Returns the part of a plan whose outermost operator causes its changes of rows.
pub fn changing(plan: &Plan) -> &Plan {
    let mut cause = plan;
    // If an operator emits changes although its inputs have none, it is the cause of the changes itself.
    while !matches!(
        cause.node,
        Node::Group { is_final: false, .. } | Node::Rank { .. } | Node::Bag { .. } | Node::SortedOver { .. }
    ) && let Some(input) = cause.inputs().into_iter().find(|input| !changes(input).is_none())
    {
        cause = input;
    }
    cause
}

/// Returns the name of the operator in a plan that causes changes of rows, for error messages.
pub fn source_of_changes(plan: &Plan) -> String {
    match &changing(plan).node {
        Node::Scan { table, .. } => format!("the table `{}` of 'format' = 'debezium-json'", table.name),
        Node::Group { keys, .. } if keys.is_empty() => "an aggregate without a window".to_owned(),
        Node::Group { .. } => "GROUP BY without a window".to_owned(),
        Node::Rank { order, .. } if order.is_empty() => "LIMIT of rows that change".to_owned(),
        Node::Rank { .. } => "ROW_NUMBER without a window".to_owned(),
        Node::Bag { kind: BagKind::Except, .. } => "EXCEPT ALL".to_owned(),
        Node::Bag { kind: BagKind::Intersect, .. } => "INTERSECT ALL".to_owned(),
        Node::SortedOver { .. } => "OVER in an order other than that of time".to_owned(),
        Node::Join { join, .. } => match join.kind {
            JoinKind::Left => "a LEFT JOIN without a bound in time",
            JoinKind::Right => "a RIGHT JOIN without a bound in time",
            JoinKind::Full => "a FULL JOIN without a bound in time",
            JoinKind::Anti => "NOT IN or NOT EXISTS without a bound in time",
            JoinKind::Inner | JoinKind::Semi => "a join without a bound in time",
        }
        .to_owned(),
        Node::Values(_)
        | Node::Calc { .. }
        | Node::Expand { .. }
        | Node::Unnest { .. }
        | Node::ByArrival { .. }
        | Node::AssignWindows { .. }
        | Node::WindowAggregate { .. }
        | Node::Normalize { .. }
        | Node::Union(_)
        | Node::Final { .. }
        | Node::Limit { .. }
        | Node::Sort { .. }
        | Node::WindowTopN { .. }
        | Node::Over { .. } => "the query".to_owned(),
    }
}
