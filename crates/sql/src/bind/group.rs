//! GROUP BY: copies of rows for grouping sets, aggregates per key, and aggregates per key and window, which cut the
//! windows themselves where that is possible.

use std::collections::HashMap;

use thalweg_sql_exec::plan::{AggregateCall, Column, Node, Plan, Role, WindowSpec, Windowing};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, SqlError};

type Result<T> = std::result::Result<T, SqlError>;

/// Greatest number of keys in grouping sets. The number of a grouping set has a bit for each key; the other bits of
/// its 64 count sets with the same keys.
const LEFT_OUT_KEYS_MAX: usize = 48;

/// Number of bits, above those of the keys, which count grouping sets with the same keys. There are fewer such sets in a
/// GROUP BY than the bits can count.
pub(super) const SET_BITS: usize = 63 - LEFT_OUT_KEYS_MAX;

/// Plans a copy of each row for each grouping set, with NULL in the keys that the set leaves out. The number of the
/// set is appended as a column: it has a bit for each key, the first key's bit the highest, which is 1 if the key is
/// left out. The bits above count the earlier sets with the same keys. Returns the plan and the index of that column.
/// `keys` is the number of keys, which are the first columns; keys for which `is_window` is true must be in every
/// set.
pub(super) fn expand(
    input: Plan,
    sets: &[Vec<usize>],
    keys: usize,
    is_window: &dyn Fn(usize) -> bool,
) -> Result<(Plan, usize)> {
    let mut columns = input.columns.clone();
    let grouping = columns.len();
    columns.push(Column::plain("grouping", SqlType::BigInt, false));
    for (place, column) in columns.iter_mut().enumerate().take(keys) {
        let is_left_out = sets.iter().any(|set| !set.contains(&place));
        if is_window(place) && is_left_out {
            let error =
                SqlError::new(Code::Unsupported, format!("`{}` is not in every grouping set", column.name));
            return Err(error.help("GROUP BY window_start, window_end, GROUPING SETS (..)"));
        }
        column.is_nullable |= is_left_out;
    }
    let own: Vec<usize> = (0..keys).filter(|place| !is_window(*place)).collect();
    if own.len() > LEFT_OUT_KEYS_MAX {
        let message =
            format!("grouping sets are of at most {LEFT_OUT_KEYS_MAX} keys, and these of {}", own.len());
        return Err(SqlError::new(Code::Unsupported, message));
    }
    let mut known: HashMap<i64, i64> = HashMap::new();
    let mut form = |set: &Vec<usize>| {
        let mut form = input.identity();
        let mut number = 0i64;
        for place in &own {
            number <<= 1;
            if !set.contains(place) {
                number |= 1;
                let of = form[*place].of.clone();
                let null = ScalarValue::try_from(&of.arrow()).unwrap_or(ScalarValue::Null);
                form[*place] = Typed::literal(null, of);
            }
        }
        let before = known.entry(number).or_default();
        number |= *before << own.len();
        *before += 1;
        form.push(Typed::literal(ScalarValue::Int64(Some(number)), SqlType::BigInt));
        form
    };
    let forms = sets.iter().map(&mut form).collect();
    Ok((Plan::new(columns, Node::Expand { input: Box::new(input), forms }), grouping))
}

/// Plans an aggregate per key without windows. Its columns are the keys and the results, each with its name.
pub(super) fn group(
    input: Plan,
    keys: Vec<usize>,
    calls: Vec<(AggregateCall, String)>,
    ttl_ms: Option<i64>,
) -> Plan {
    let of_keys = keys.iter().map(|place| Column { role: Role::Plain, ..input.columns[*place].clone() });
    let of_calls = calls
        .iter()
        .map(|(call, name)| Column::plain(name, call.function.result.clone(), call.function.is_nullable));
    let columns = of_keys.chain(of_calls).collect();
    let calls = calls.into_iter().map(|(call, _)| call).collect();
    Plan::new(
        columns,
        Node::Group { input: Box::new(input), keys, calls, is_retracting: false, is_final: false, ttl_ms },
    )
}

/// Plans an aggregate per key and window. If its rows come directly from a window function, the aggregate cuts the
/// windows itself, and so folds each row once.
pub(super) fn window_aggregate(
    input: Plan,
    windows: Windowing,
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    named: &[(AggregateCall, String)],
) -> Plan {
    let Windowing::Given { windows: of, .. } = &windows else {
        return input;
    };
    let of = of.clone();
    let mut columns: Vec<Column> =
        keys.iter().map(|place| Column { role: Role::Plain, ..input.columns[*place].clone() }).collect();
    for (call, name) in named {
        columns.push(Column::plain(name.clone(), call.function.result.clone(), call.function.is_nullable));
    }
    let (input, windows) = cut_here(input, windows, &keys, &calls);
    // `window_time` has the type of the input's event time, if the input still has that column.
    let own =
        input.columns.iter().find(|column| column.role == of.time_role()).map(|column| column.of.clone());
    let is_own = |own: &SqlType| matches!(own, SqlType::TimestampLtz(_)) == of.is_local;
    let time_type = own.filter(is_own).unwrap_or_else(|| of.time_type());
    let time = |name: &str, of: SqlType, role| Column { name: name.to_owned(), of, is_nullable: false, role };
    columns.push(time("window_start", SqlType::Timestamp(3), Role::WindowStart(of.clone())));
    columns.push(time("window_end", SqlType::Timestamp(3), Role::WindowEnd(of.clone())));
    columns.push(time("window_time", time_type, of.time_role()));
    Plan::new(columns, Node::WindowAggregate { input: Box::new(input), windows, keys, calls })
}

/// Removes the window function from the input of an aggregate if only the aggregate reads its columns; the aggregate
/// then cuts the windows itself.
#[allow(clippy::needless_pass_by_value, reason = "it goes on in what comes back")]
fn cut_here(input: Plan, windows: Windowing, keys: &[usize], calls: &[AggregateCall]) -> (Plan, Windowing) {
    let Plan { columns, node, at } = input;
    let given = |columns, node| (Plan { columns, node, at }, windows.clone());
    let Node::Calc { input: below, conditions, outputs } = node else { return given(columns, node) };
    let Windowing::Given { windows: of, .. } = &windows else {
        return given(columns, Node::Calc { input: below, conditions, outputs });
    };
    let time_role = of.time_role();
    let Plan { columns: below_columns, node: below_node, at: below_at } = *below;
    let Node::AssignWindows { input: source, spec, time } = below_node else {
        let input = Box::new(Plan { columns: below_columns, node: below_node, at: below_at });
        return given(columns, Node::Calc { input, conditions, outputs });
    };
    let width = source.columns.len();
    let reads_window = |expression: &Typed| {
        let mut reads = false;
        expression.columns(&mut |place| reads |= place >= width);
        reads
    };
    let used = keys
        .iter()
        .copied()
        .chain(calls.iter().flat_map(|call| call.arguments.iter().copied().chain(call.filter)));
    let is_session = matches!(*spec, WindowSpec::Session { .. });
    if is_session
        || conditions.iter().any(reads_window)
        || used.clone().any(|place| reads_window(&outputs[place]))
    {
        let input = Box::new(Plan {
            columns: below_columns,
            node: Node::AssignWindows { input: source, spec, time },
            at: below_at,
        });
        return given(columns, Node::Calc { input, conditions, outputs });
    }
    // Outputs that read window columns are replaced by the time column, so that the indexes of all other outputs
    // stay. No operator reads the replaced ones.
    let time_column = &source.columns[time];
    let by_time = || Typed::column(time, time_column.of.clone(), time_column.is_nullable);
    let mut outputs: Vec<Typed> =
        outputs.into_iter().map(|output| if reads_window(&output) { by_time() } else { output }).collect();
    let mut columns = columns;
    let time_place = outputs.len();
    outputs.push(by_time());
    columns.push(Column { role: time_role, ..time_column.clone() });
    let mut plan = *source;
    for condition in conditions {
        plan = plan.filter(condition).at(at);
    }
    (plan.project(outputs, columns), Windowing::Cut { spec, time: time_place })
}
