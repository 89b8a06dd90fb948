//! Column pruning: columns of a plan that nothing reads are dropped. From the outputs down, each node keeps
//! the columns that the nodes above use.

use thalweg_sql_functions::expression::{Expression, Typed};

use crate::plan::sorted_over::SortedCall;
use crate::plan::{
    AggregateCall, Column, Join, JoinKey, JoinMethod, Node, Plan, SortKey, WindowPlaces, WindowSpec,
    Windowing,
};

/// Drops the columns of a plan that nothing reads.
#[must_use]
pub fn prune(plan: Plan) -> Plan {
    let all = vec![true; plan.columns.len()];
    pruned(plan, &all).0
}

/// For each column of a plan before pruning, its index afterwards; `None` for a dropped column.
type Moves = Vec<Option<usize>>;

fn moves(wanted: &[bool]) -> Moves {
    let mut next = 0;
    let place = |is_wanted: &bool| {
        is_wanted.then(|| {
            next += 1;
            next - 1
        })
    };
    wanted.iter().map(place).collect()
}

fn at(moves: &Moves, place: usize) -> usize {
    // Pruning keeps every column that an expression reads, so the column has a new index.
    moves.get(place).copied().flatten().unwrap_or_default()
}

fn moved(expression: &Typed, moves: &Moves) -> Typed {
    let place_of = |place: usize| at(moves, place);
    expression.clone().with_columns(&place_of)
}

fn keep<T>(items: Vec<T>, wanted: &[bool]) -> Vec<T> {
    items.into_iter().zip(wanted).filter(|(_, is_wanted)| **is_wanted).map(|(item, _)| item).collect()
}

fn need(wanted: &mut [bool], expressions: &[Typed]) {
    expressions.iter().for_each(|expression| expression.columns(&mut |place| wanted[place] = true));
}

/// Prunes a plan to the wanted columns, and possibly more; returns the plan and the new index of each column.
fn pruned(plan: Plan, wanted: &[bool]) -> (Plan, Moves) {
    let Plan { columns, node, at } = plan;
    let (columns, node, moves) = pruned_node(columns, node, wanted);
    (Plan { columns, node, at }, moves)
}

/// Prunes an operator and its inputs; returns its columns, the operator, and the new index of each column.
fn pruned_node(columns: Vec<Column>, node: Node, wanted: &[bool]) -> (Vec<Column>, Node, Moves) {
    let all = |node, columns: Vec<_>| {
        let same = (0..columns.len()).map(Some).collect();
        (columns, node, same)
    };
    match node {
        Node::Scan { table, places } => {
            let node = Node::Scan { table, places: keep(places, wanted) };
            (keep(columns, wanted), node, moves(wanted))
        }
        Node::Values(batch) => all(Node::Values(batch), columns),
        Node::Calc { input, conditions, outputs } => {
            let outputs = keep(outputs, wanted);
            let mut below = vec![false; input.columns.len()];
            need(&mut below, &conditions);
            need(&mut below, &outputs);
            let (input, input_moves) = pruned(*input, &below);
            let conditions = conditions.iter().map(|condition| moved(condition, &input_moves)).collect();
            let outputs = outputs.iter().map(|output| moved(output, &input_moves)).collect();
            let node = Node::Calc { input: Box::new(input), conditions, outputs };
            (keep(columns, wanted), node, moves(wanted))
        }
        Node::Expand { input, forms } => {
            let forms: Vec<Vec<Typed>> = forms.into_iter().map(|form| keep(form, wanted)).collect();
            let mut below = vec![false; input.columns.len()];
            forms.iter().for_each(|form| need(&mut below, form));
            let (input, input_moves) = pruned(*input, &below);
            let forms = forms
                .iter()
                .map(|form| form.iter().map(|output| moved(output, &input_moves)).collect())
                .collect();
            (keep(columns, wanted), Node::Expand { input: Box::new(input), forms }, moves(wanted))
        }
        Node::Unnest { input, value, kind, kept, parts, has_ordinality } => {
            // A column that is not kept is not copied for each element. Above all this is so for the array itself.
            let (of_input, rest) = wanted.split_at(kept.len());
            let (of_parts, of_ordinality) = rest.split_at(parts.len());
            let kept = keep(kept, of_input);
            let mut below = vec![false; input.columns.len()];
            kept.iter().for_each(|place| below[*place] = true);
            need(&mut below, std::slice::from_ref(&value));
            let (input, input_moves) = pruned(*input, &below);
            let node = Node::Unnest {
                value: moved(&value, &input_moves),
                kind,
                kept: kept.iter().map(|place| at(&input_moves, *place)).collect(),
                parts: keep(parts, of_parts),
                has_ordinality: has_ordinality && of_ordinality == [true],
                input: Box::new(input),
            };
            (keep(columns, wanted), node, moves(wanted))
        }
        Node::ByArrival { input, time, spec } => {
            let mut below = wanted.to_vec();
            below[time] = true;
            let (input, moves) = pruned(*input, &below);
            let node = Node::ByArrival { input: Box::new(input), time: at(&moves, time), spec };
            let is_kept = |(_, to): &(Column, &Option<usize>)| to.is_some();
            let columns = columns.into_iter().zip(&moves).filter(is_kept).map(|(column, _)| column).collect();
            (columns, node, moves)
        }
        Node::AssignWindows { input, spec, time } => {
            let width = input.columns.len();
            let mut below = wanted[..width].to_vec();
            below[time] = true;
            if let WindowSpec::Session { keys, .. } = &*spec {
                keys.iter().for_each(|key| below[*key] = true);
            }
            let (input, input_moves) = pruned(*input, &below);
            let spec = match &*spec {
                WindowSpec::Session { gap_ms, keys } => {
                    let keys = keys.iter().map(|key| at(&input_moves, *key)).collect();
                    std::sync::Arc::new(WindowSpec::Session { gap_ms: *gap_ms, keys })
                }
                _ => spec,
            };
            let time = at(&input_moves, time);
            // In the output, the start, end and time of a window follow the columns of the input. So their
            // indexes depend on the number of input columns that are left after pruning.
            let kept = input.columns.len();
            let all_moves: Moves =
                input_moves.into_iter().chain((0..3).map(|place| Some(kept + place))).collect();
            let mut new_columns: Vec<_> = columns
                .iter()
                .take(width)
                .cloned()
                .zip(&all_moves)
                .filter(|(_, to)| to.is_some())
                .map(|(column, _)| column)
                .collect();
            new_columns.extend(columns.into_iter().skip(width));
            (new_columns, Node::AssignWindows { input: Box::new(input), spec, time }, all_moves)
        }
        Node::WindowAggregate { input, windows, keys, calls } => {
            let mut below = vec![false; input.columns.len()];
            keys.iter().for_each(|key| below[*key] = true);
            need_calls(&mut below, &calls);
            match &windows {
                Windowing::Cut { time, .. } => below[*time] = true,
                Windowing::Given { start, end, .. } => (below[*start], below[*end]) = (true, true),
            }
            let (input, moves) = pruned(*input, &below);
            let windows = match windows {
                Windowing::Cut { spec, time } => Windowing::Cut { spec, time: at(&moves, time) },
                Windowing::Given { windows, start, end } => {
                    Windowing::Given { windows, start: at(&moves, start), end: at(&moves, end) }
                }
            };
            let keys = keys.iter().map(|key| at(&moves, *key)).collect();
            let calls = moved_calls(calls, &moves);
            all(Node::WindowAggregate { input: Box::new(input), windows, keys, calls }, columns)
        }
        Node::Union(inputs) => {
            // Each input of a union may keep more columns than wanted, in its own order. A projection after
            // each input gives all of them the same columns.
            let inputs = inputs.into_iter().map(|input| narrowed(input, wanted)).collect();
            (keep(columns, wanted), Node::Union(inputs), moves(wanted))
        }
        Node::Limit { input, skip, fetch } => {
            let (input, moves) = pruned(*input, wanted);
            let columns = input.columns.clone();
            (columns, Node::Limit { input: Box::new(input), skip, fetch }, moves)
        }
        // As with a top-N, rows with equal values in all columns that are read are the same row. A part of the rows
        // keeps all columns: rows that are equal by the order are told apart by them, and each reader must get the same part.
        Node::Final { input, order, skip, fetch, is_retracting } => {
            let is_part = (skip, fetch) != (0, u64::MAX);
            let mut below: Vec<bool> = wanted.iter().map(|is_wanted| *is_wanted || is_part).collect();
            order.iter().for_each(|key| below[key.place] = true);
            keep_one(&mut below);
            let (input, moves) = pruned(*input, &below);
            let columns = input.columns.clone();
            let order = sort_keys(&order, &moves);
            let node = Node::Final { input: Box::new(input), order, skip, fetch, is_retracting };
            (columns, node, moves)
        }
        Node::Sort { input, time, keys } => {
            let mut below = wanted.to_vec();
            below[time] = true;
            keys.iter().for_each(|key| below[key.place] = true);
            let (input, moves) = pruned(*input, &below);
            let keys = sort_keys(&keys, &moves);
            let time = at(&moves, time);
            let columns = input.columns.clone();
            (columns, Node::Sort { input: Box::new(input), time, keys }, moves)
        }
        Node::Over { input, keys, time, frame, calls, ttl_ms } => {
            let width = input.columns.len();
            let mut below = wanted[..width].to_vec();
            keys.iter().for_each(|key| below[*key] = true);
            time.iter().for_each(|time| below[*time] = true);
            need_calls(&mut below, &calls);
            let (input, mut moves) = pruned(*input, &below);
            let kept = input.columns.len();
            let results = columns.len() - width;
            moves.extend((0..results).map(|place| Some(kept + place)));
            let columns = input.columns.iter().cloned().chain(columns.into_iter().skip(width)).collect();
            let node = Node::Over {
                keys: keys.iter().map(|key| at(&moves, *key)).collect(),
                time: time.map(|time| at(&moves, time)),
                frame,
                calls: moved_calls(calls, &moves),
                ttl_ms,
                input: Box::new(input),
            };
            (columns, node, moves)
        }
        // Among rows that are equal by the order, final rows go by all columns, so each reader needs all of them to get the
        // same results. Where results do not tell such rows apart, columns are dropped as for a top-N.
        Node::SortedOver { input, keys, order, calls, is_final, ttl_ms } => {
            let width = input.columns.len();
            let needs_all = is_final && calls.iter().any(|call| call.function.tells_equals_apart());
            let mut below: Vec<bool> =
                wanted[..width].iter().map(|is_wanted| *is_wanted || needs_all).collect();
            keys.iter().for_each(|key| below[*key] = true);
            order.iter().for_each(|key| below[key.place] = true);
            calls.iter().flat_map(|call| call.function.arguments()).for_each(|place| below[place] = true);
            keep_one(&mut below);
            let (input, mut moves) = pruned(*input, &below);
            let kept = input.columns.len();
            let results = columns.len() - width;
            moves.extend((0..results).map(|place| Some(kept + place)));
            let columns = input.columns.iter().cloned().chain(columns.into_iter().skip(width)).collect();
            let to = |place: usize| at(&moves, place);
            let calls = calls
                .into_iter()
                .map(|call| SortedCall { function: call.function.with_columns(&to), ..call });
            let node = Node::SortedOver {
                keys: keys.iter().map(|key| at(&moves, *key)).collect(),
                order: sort_keys(&order, &moves),
                calls: calls.collect(),
                is_final,
                ttl_ms,
                input: Box::new(input),
            };
            (columns, node, moves)
        }
        Node::Group { input, keys, calls, is_retracting, is_final, ttl_ms } => {
            let mut below = vec![false; input.columns.len()];
            keys.iter().for_each(|key| below[*key] = true);
            need_calls(&mut below, &calls);
            let (input, moves) = pruned(*input, &below);
            let node = Node::Group {
                keys: keys.iter().map(|key| at(&moves, *key)).collect(),
                calls: moved_calls(calls, &moves),
                is_retracting,
                is_final,
                ttl_ms,
                input: Box::new(input),
            };
            all(node, columns)
        }
        // Rows are told apart by all of their columns.
        Node::Bag { input, kind, ttl_ms } => {
            let below = vec![true; input.columns.len()];
            let (input, _) = pruned(*input, &below);
            all(Node::Bag { input: Box::new(input), kind, ttl_ms }, columns)
        }
        // A change of a column that nothing reads is no change, so such columns need not be kept.
        Node::Normalize { input, keys, ttl_ms } => {
            let mut below = wanted.to_vec();
            keys.iter().for_each(|key| below[*key] = true);
            let (input, moves) = pruned(*input, &below);
            let keys = keys.iter().map(|key| at(&moves, *key)).collect();
            let columns = input.columns.clone();
            (columns, Node::Normalize { input: Box::new(input), keys, ttl_ms }, moves)
        }
        // Columns that a top-N does not read can be dropped even if its input retracts rows. A retraction
        // removes an equal row, and rows with equal values in all columns read have equal ranks, so any of
        // them can be removed.
        Node::Rank { input, keys, order, function, from, to, has_rank, is_retracting, ttl_ms } => {
            let width = input.columns.len();
            let mut below = wanted[..width].to_vec();
            keys.iter().for_each(|key| below[*key] = true);
            order.iter().for_each(|key| below[key.place] = true);
            let (input, mut moves) = pruned(*input, &below);
            if has_rank {
                moves.push(Some(input.columns.len()));
            }
            let columns = moved_columns(columns, &moves);
            let node = Node::Rank {
                keys: keys.iter().map(|key| at(&moves, *key)).collect(),
                order: sort_keys(&order, &moves),
                input: Box::new(input),
                function,
                from,
                to,
                has_rank,
                is_retracting,
                ttl_ms,
            };
            (columns, node, moves)
        }
        Node::Join { left, right, join } => join_pruned(*left, *right, join, columns, wanted),
        Node::WindowTopN { input, window_end, is_local, keys, order, from, to } => {
            let width = input.columns.len();
            let mut below = wanted[..width].to_vec();
            below[window_end] = true;
            keys.iter().for_each(|key| below[*key] = true);
            order.iter().for_each(|key| below[key.place] = true);
            let (input, mut moves) = pruned(*input, &below);
            let rank = columns.last().cloned();
            moves.push(Some(input.columns.len()));
            let columns = input.columns.iter().cloned().chain(rank).collect();
            let node = Node::WindowTopN {
                window_end: at(&moves, window_end),
                is_local,
                keys: keys.iter().map(|key| at(&moves, *key)).collect(),
                order: sort_keys(&order, &moves),
                from,
                to,
                input: Box::new(input),
            };
            (columns, node, moves)
        }
    }
}

fn need_calls(wanted: &mut [bool], calls: &[AggregateCall]) {
    for call in calls {
        call.arguments.iter().chain(&call.filter).for_each(|place| wanted[*place] = true);
    }
}

fn moved_calls(calls: Vec<AggregateCall>, moves: &Moves) -> Vec<AggregateCall> {
    let call = |call: AggregateCall| AggregateCall {
        arguments: call.arguments.iter().map(|place| at(moves, *place)).collect(),
        filter: call.filter.map(|place| at(moves, place)),
        ..call
    };
    calls.into_iter().map(call).collect()
}

/// Keeps the first column if none is wanted, because rows in state need at least one column.
fn keep_one(wanted: &mut [bool]) {
    if !wanted.contains(&true)
        && let Some(first) = wanted.first_mut()
    {
        *first = true;
    }
}

/// Prunes the inputs of a join to the columns that are wanted in its output or used by its condition or its
/// method.
fn join_pruned(
    left: Plan,
    right: Plan,
    join: Join,
    columns: Vec<Column>,
    wanted: &[bool],
) -> (Vec<Column>, Node, Moves) {
    let width = left.columns.len();
    let right_width = right.columns.len();
    let is_wanted = |place: usize| wanted.get(place).copied().unwrap_or_default();
    let mut need_left: Vec<bool> = (0..width).map(is_wanted).collect();
    let mut need_right: Vec<bool> = (width..width + right_width).map(is_wanted).collect();
    for key in &join.keys {
        key.left.columns(&mut |place| need_left[place] = true);
        key.right.columns(&mut |place| need_right[place] = true);
    }
    if let Some(condition) = &join.condition {
        condition.columns(&mut |place| match place.checked_sub(width) {
            None => need_left[place] = true,
            Some(place) => need_right[place] = true,
        });
    }
    match &join.method {
        JoinMethod::Window { left, right, .. } => {
            (need_left[left.start], need_left[left.end]) = (true, true);
            (need_right[right.start], need_right[right.end]) = (true, true);
        }
        JoinMethod::Interval { left_time, right_time, .. }
        | JoinMethod::Temporal { left_time, right_time, .. } => {
            (need_left[*left_time], need_right[*right_time]) = (true, true);
        }
        JoinMethod::Lookup => {}
        // Columns that a regular join does not read can be dropped even if its inputs retract rows. A
        // retraction removes an equal row, and rows with equal values in all columns read join alike, so any
        // of them can be removed.
        JoinMethod::Regular { .. } => {
            keep_one(&mut need_left);
            keep_one(&mut need_right);
        }
    }
    let (left, left_moves) = pruned(left, &need_left);
    let (right, right_moves) = pruned(right, &need_right);
    let new_width = left.columns.len();
    let moved_left = |places: &WindowPlaces, moves: &Moves| WindowPlaces {
        start: at(moves, places.start),
        end: at(moves, places.end),
    };
    let method = match join.method {
        JoinMethod::Window { left, right, is_local } => JoinMethod::Window {
            left: moved_left(&left, &left_moves),
            right: moved_left(&right, &right_moves),
            is_local,
        },
        JoinMethod::Interval { left_time, right_time, lower_ms, upper_ms, domain } => JoinMethod::Interval {
            left_time: at(&left_moves, left_time),
            right_time: at(&right_moves, right_time),
            lower_ms,
            upper_ms,
            domain,
        },
        JoinMethod::Temporal { left_time, right_time, counts, ttl_ms } => JoinMethod::Temporal {
            left_time: at(&left_moves, left_time),
            right_time: at(&right_moves, right_time),
            counts,
            ttl_ms,
        },
        method => method,
    };
    let key = |key: &JoinKey| JoinKey {
        left: moved(&key.left, &left_moves),
        right: moved(&key.right, &right_moves),
        is_null_equal: key.is_null_equal,
    };
    let keys = join.keys.iter().map(key).collect();
    let both: Moves = left_moves
        .iter()
        .copied()
        .chain(right_moves.iter().map(|place| place.map(|place| place + new_width)))
        .collect();
    let condition = join.condition.as_ref().map(|condition| moved(condition, &both));
    let moves: Moves = both.into_iter().take(columns.len()).collect();
    let columns = moved_columns(columns, &moves);
    let join = Join { kind: join.kind, method, keys, condition };
    (columns, Node::Join { left: Box::new(left), right: Box::new(right), join }, moves)
}

/// Returns those of `columns` that are left after pruning, which have a new index in `moves`.
fn moved_columns(columns: Vec<Column>, moves: &Moves) -> Vec<Column> {
    columns.into_iter().zip(moves).filter(|(_, to)| to.is_some()).map(|(column, _)| column).collect()
}

fn sort_keys(keys: &[SortKey], moves: &Moves) -> Vec<SortKey> {
    keys.iter().map(|key| SortKey { place: at(moves, key.place), ..*key }).collect()
}

/// Prunes a plan to exactly the wanted columns, in their order.
fn narrowed(plan: Plan, wanted: &[bool]) -> Plan {
    let names = keep(plan.columns.clone(), wanted);
    let (plan, moves) = pruned(plan, wanted);
    let places: Vec<usize> =
        (0..wanted.len()).filter(|place| wanted[*place]).map(|place| at(&moves, place)).collect();
    if places.iter().copied().eq(0..plan.columns.len()) {
        return plan;
    }
    let outputs = places
        .iter()
        .map(|place| {
            let column = &plan.columns[*place];
            Typed {
                expression: Expression::Column(*place),
                of: column.of.clone(),
                is_nullable: column.is_nullable,
            }
        })
        .collect();
    plan.project(outputs, names)
}
