//! EXPLAIN output of a plan: a text tree, a Graphviz graph, or JSON.

use std::fmt::Write;

use thalweg_sql_functions::expression::{Named, Typed};

use crate::plan::sorted_over::{Bound, Distance, RowFrame, SortedCall, SortedFunction};
use crate::plan::{
    AggregateCall, BagKind, Column, Frame, JoinKey, JoinMethod, Node, Plan, SortKey, TimeDomain, WindowSpec,
    Windowing,
};

/// One operator of the EXPLAIN output, with its inputs below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Name of the operator as EXPLAIN shows it.
    pub name: &'static str,
    /// Properties of the operator by name: `where`, `keys` and so on.
    pub details: Vec<(&'static str, String)>,
    /// Output columns of the operator, each as `name TYPE`.
    pub columns: Vec<String>,
    /// Text that says which state the operator keeps and until when; `None` if it keeps no state.
    pub state: Option<String>,
    /// Inputs of the operator, as EXPLAIN shows them.
    pub inputs: Vec<Shown>,
}

/// Converts a plan to the tree of operators that EXPLAIN shows.
pub fn shown(plan: &Plan) -> Shown {
    let inputs = plan.inputs();
    let below: Vec<Column> = inputs.first().map(|input| input.columns.clone()).unwrap_or_default();
    let name_of =
        |place: usize| below.get(place).map_or_else(|| format!("${place}"), |column| column.name.clone());
    let show = |expression: &Typed| Named(expression, name_of).to_string();
    let names = |places: &[usize]| places.iter().map(|place| name_of(*place)).collect::<Vec<_>>().join(", ");
    let order = |keys: &[SortKey]| {
        let key =
            |key: &SortKey| format!("{}{}", name_of(key.place), if key.is_descending { " DESC" } else { "" });
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    };
    let outputs = |outputs: &[Typed]| {
        let output = |(output, column): (&Typed, &Column)| {
            let value = show(output);
            if value == column.name { value } else { format!("{value} AS {}", column.name) }
        };
        outputs.iter().zip(&plan.columns).map(output).collect::<Vec<_>>().join(", ")
    };
    let shown_calls = |calls: &[AggregateCall]| {
        let call = |call: &AggregateCall| {
            let filter = call.filter.map(|place| format!(" FILTER {}", name_of(place))).unwrap_or_default();
            format!("{}({}){filter}", call.name(), names(&call.arguments))
        };
        calls.iter().map(call).collect::<Vec<_>>().join(", ")
    };
    let lived = |ttl_ms: &Option<i64>| {
        ttl_ms.map_or_else(|| "for ever".to_owned(), |ttl| format!("for {}", span(ttl)))
    };
    let until_end = |ttl_ms: &Option<i64>| match ttl_ms {
        None if plan.ends() => "until the input ends".to_owned(),
        ttl_ms => lived(ttl_ms),
    };
    let mut details: Vec<(&'static str, String)> = Vec::new();
    let mut state = None;
    let name = match &plan.node {
        Node::Scan { table, places } => {
            details.push(("table", table.name.clone()));
            let columns: Vec<&str> = places.iter().map(|place| table.columns[*place].name.as_str()).collect();
            details.push(("columns", columns.join(", ")));
            if let Some(rowtime) = &table.rowtime {
                let by = |place: usize| table.columns[place].name.clone();
                details.push(("watermark", Named(&rowtime.watermark, by).to_string()));
            }
            "Scan"
        }
        Node::Values(rows) => {
            details.push(("rows", rows.num_rows().to_string()));
            "Values"
        }
        Node::Calc { conditions, outputs: made, .. } => {
            if !conditions.is_empty() {
                let conditions: Vec<String> = match &conditions[..] {
                    [one] => vec![show(one)],
                    several => {
                        several.iter().map(|condition| format!("{:#}", Named(condition, name_of))).collect()
                    }
                };
                details.push(("where", conditions.join(" AND ")));
            }
            details.push(("select", outputs(made)));
            "Calc"
        }
        Node::Expand { forms, .. } => {
            details.push(("forms", forms.len().to_string()));
            "Expand"
        }
        Node::Unnest { value, kind, has_ordinality, .. } => {
            details.push(("of", show(value)));
            details.push(("kind", format!("{kind:?}")));
            if *has_ordinality {
                details.push(("with", "ordinality".to_owned()));
            }
            "Unnest"
        }
        Node::ByArrival { time, .. } => {
            details.push(("time", name_of(*time)));
            "ByArrival"
        }
        Node::AssignWindows { spec, time, .. } => {
            details.push(("windows", windows(spec, &name_of)));
            details.push(("time", name_of(*time)));
            if let WindowSpec::Session { .. } = **spec {
                state = Some("rows of open sessions".to_owned());
            }
            "Windows"
        }
        Node::WindowAggregate { windows: of, keys, calls, .. } => {
            let spec = match of {
                Windowing::Cut { spec, time } => {
                    details.push(("time", name_of(*time)));
                    spec
                }
                Windowing::Given { windows, start, end } => {
                    details.push(("window", names(&[*start, *end])));
                    &windows.spec
                }
            };
            details.push(("windows", windows(spec, &name_of)));
            if !keys.is_empty() {
                details.push(("keys", names(keys)));
            }
            if !calls.is_empty() {
                details.push(("calls", shown_calls(calls)));
            }
            state = Some("accumulators of open windows, by key".to_owned());
            "WindowAggregate"
        }
        Node::Union(_) => "Union",
        Node::Limit { skip, fetch, .. } => {
            details.push((
                "rows",
                if *skip == 0 { fetch.to_string() } else { format!("{fetch} behind {skip}") },
            ));
            state = Some("a count".to_owned());
            "Limit"
        }
        Node::Final { order: by, skip, fetch, .. } => {
            if !by.is_empty() {
                details.push(("by", order(by)));
            }
            match (*skip, *fetch) {
                (0, u64::MAX) => {}
                (0, fetch) => details.push(("rows", fetch.to_string())),
                (skip, u64::MAX) => details.push(("rows", format!("all behind {skip}"))),
                (skip, fetch) => details.push(("rows", format!("{fetch} behind {skip}"))),
            }
            state = Some("rows until the input ends".to_owned());
            "Final"
        }
        Node::Sort { time, keys, .. } => {
            let by: Vec<String> =
                [name_of(*time)].into_iter().chain(Some(order(keys)).filter(|by| !by.is_empty())).collect();
            details.push(("by", by.join(", ")));
            state = Some("rows that the watermark has not passed".to_owned());
            "Sort"
        }
        Node::Over { keys, time, frame, calls, ttl_ms, .. } => {
            if !keys.is_empty() {
                details.push(("keys", names(keys)));
            }
            details.push(("by", time.map_or_else(|| "arrival".to_owned(), name_of)));
            let rows = match frame {
                Frame::Rows(None) | Frame::Range(None) => "all before".to_owned(),
                Frame::Rows(Some(rows)) => format!("{rows} rows before"),
                Frame::Range(Some(millis)) => format!("{} before", span(*millis)),
            };
            details.push(("frame", rows));
            details.push(("calls", shown_calls(calls)));
            state = Some(if frame.is_bounded() {
                "rows of the frame, by key".to_owned()
            } else {
                format!("accumulators, by key, {}", lived(ttl_ms))
            });
            "Over"
        }
        Node::SortedOver { keys, order: by, calls, is_final, ttl_ms, .. } => {
            if !keys.is_empty() {
                details.push(("keys", names(keys)));
            }
            if !by.is_empty() {
                details.push(("by", order(by)));
            }
            let call = |call: &SortedCall| sorted_call(call, &names(&call.function.arguments()));
            details.push(("calls", calls.iter().map(call).collect::<Vec<_>>().join(", ")));
            state = Some(match is_final {
                true => "rows until the input ends".to_owned(),
                false => format!("rows and results, by key, {}", until_end(ttl_ms)),
            });
            "SortedOver"
        }
        Node::Group { keys, calls, is_final, ttl_ms, .. } => {
            details.push(("keys", names(keys)));
            if !calls.is_empty() {
                details.push(("calls", shown_calls(calls)));
            }
            state = Some(match is_final {
                true => "accumulators, by key, with results at the end of the input".to_owned(),
                false => format!("accumulators, by key, {}", until_end(ttl_ms)),
            });
            "Group"
        }
        Node::Bag { kind, ttl_ms, .. } => {
            state = Some(format!("the number of each row, {}", until_end(ttl_ms)));
            match kind {
                BagKind::Except => "ExceptAll",
                BagKind::Intersect => "IntersectAll",
            }
        }
        Node::Normalize { keys, ttl_ms, .. } => {
            details.push(("keys", names(keys)));
            state = Some(format!("the last row, by key, {}", until_end(ttl_ms)));
            "Normalize"
        }
        Node::Rank { keys, order: by, from, to, ttl_ms, .. } => {
            details.push(("keys", names(keys)));
            details.push(("by", order(by)));
            details.push(("ranks", format!("{from} to {to}")));
            // Of one key without a time to live, a top-N holds no more rows than are asked for.
            state = Some(match ttl_ms {
                None if keys.is_empty() => "the first rows".to_owned(),
                ttl_ms => format!("the first rows, by key, {}", until_end(ttl_ms)),
            });
            "Rank"
        }
        Node::Join { left, right, join } => {
            details.push(("kind", format!("{:?}", join.kind)));
            let side = |plan: &Plan, expression: &Typed| {
                let by = |place: usize| {
                    plan.columns.get(place).map_or_else(String::new, |column| column.name.clone())
                };
                Named(expression, by).to_string()
            };
            if !join.keys.is_empty() {
                let key = |key: &JoinKey| format!("{} = {}", side(left, &key.left), side(right, &key.right));
                details.push(("on", join.keys.iter().map(key).collect::<Vec<_>>().join(" AND ")));
            }
            let width = left.columns.len();
            if let Some(condition) = &join.condition {
                let by = |place: usize| match place.checked_sub(width) {
                    None => left.columns.get(place).map_or_else(String::new, |column| column.name.clone()),
                    Some(place) => {
                        right.columns.get(place).map_or_else(String::new, |column| column.name.clone())
                    }
                };
                details.push(("where", Named(condition, by).to_string()));
            }
            let (name, remembers) = match &join.method {
                JoinMethod::Window { .. } => ("WindowJoin", "rows of open windows"),
                JoinMethod::Interval { lower_ms, upper_ms, domain, .. } => {
                    if *domain == TimeDomain::Processing {
                        details.push(("time", "arrival".to_owned()));
                    }
                    details.push(("within", format!("{} to {}", span(*lower_ms), span(*upper_ms))));
                    ("IntervalJoin", "rows that somebody may still meet")
                }
                JoinMethod::Temporal { ttl_ms: None, .. } => {
                    ("TemporalJoin", "versions that may still be asked for, and rows that wait for theirs")
                }
                JoinMethod::Temporal { ttl_ms: Some(i64::MAX), .. } => {
                    ("TemporalJoin", "versions that may still be asked for, and all rows of the left")
                }
                JoinMethod::Temporal { ttl_ms: Some(ttl_ms), .. } => {
                    details.push(("ttl", span(*ttl_ms)));
                    let remembers = "versions that may still be asked for, rows that wait for theirs, and rows that were joined, \
                                     for the time to live";
                    ("TemporalJoin", remembers)
                }
                JoinMethod::Lookup => ("LookupJoin", "the table on the right"),
                JoinMethod::Regular { ttl_ms: [None, None] } => ("Join", "rows of both sides"),
                JoinMethod::Regular { ttl_ms: [left, right] } => {
                    let of = |ttl_ms: &Option<i64>| ttl_ms.map_or("none".to_owned(), span);
                    details.push(match left == right {
                        true => ("ttl", of(left)),
                        false => ("ttl", format!("{} left, {} right", of(left), of(right))),
                    });
                    ("Join", "rows of both sides, for the time to live")
                }
            };
            state = Some(remembers.to_owned());
            name
        }
        Node::WindowTopN { keys, order: by, from, to, .. } => {
            details.push(("keys", names(keys)));
            details.push(("by", order(by)));
            let ranks = if *to == u64::MAX { format!("{from} and on") } else { format!("{from} to {to}") };
            details.push(("ranks", ranks));
            state = Some("the first rows of open windows, by key".to_owned());
            "WindowTopN"
        }
    };
    let column = |column: &Column| {
        format!("{} {}{}", column.name, column.of, if column.is_nullable { "" } else { " NOT NULL" })
    };
    Shown {
        name,
        details,
        columns: plan.columns.iter().map(column).collect(),
        state,
        inputs: inputs.into_iter().map(shown).collect(),
    }
}

/// Returns a call of an OVER window as EXPLAIN shows it; `arguments` are the names of the columns that it reads.
fn sorted_call(call: &SortedCall, arguments: &str) -> String {
    let name = call.function.name();
    let bound = |bound: Bound| match bound {
        Bound::First => "first row".to_owned(),
        Bound::Last => "last row".to_owned(),
        Bound::Current => "row".to_owned(),
        Bound::Offset(Distance::Whole(by)) => format!("{by:+}"),
        Bound::Offset(Distance::Float(by)) => format!("{by:+}"),
    };
    match &call.function {
        SortedFunction::Aggregate { frame, .. } if *frame == RowFrame::DEFAULT => {
            format!("{name}({arguments})")
        }
        SortedFunction::Aggregate { frame, .. } => {
            let unit = if frame.is_rows { "rows" } else { "range" };
            format!("{name}({arguments}) over {unit} {} to {}", bound(frame.from), bound(frame.to))
        }
        SortedFunction::Ntile(buckets) => format!("{name}({buckets})"),
        SortedFunction::Offset { rows, .. } => format!("{name}({arguments}, {})", rows.abs()),
        _ => format!("{name}({arguments})"),
    }
}

fn span(millis: i64) -> String {
    for (unit, of) in [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)] {
        if millis != 0 && millis % of == 0 {
            return format!("{} {unit}", millis / of);
        }
    }
    format!("{millis} ms")
}

fn windows(spec: &WindowSpec, name_of: &dyn Fn(usize) -> String) -> String {
    let offset = |offset: i64| if offset == 0 { String::new() } else { format!(", offset {}", span(offset)) };
    match spec {
        WindowSpec::Tumble { size_ms, offset_ms } => {
            format!("TUMBLE(size {}{})", span(*size_ms), offset(*offset_ms))
        }
        WindowSpec::Hop { size_ms, slide_ms, offset_ms } => {
            format!("HOP(slide {}, size {}{})", span(*slide_ms), span(*size_ms), offset(*offset_ms))
        }
        WindowSpec::Cumulate { size_ms, step_ms, offset_ms } => {
            format!("CUMULATE(step {}, size {}{})", span(*step_ms), span(*size_ms), offset(*offset_ms))
        }
        WindowSpec::Session { gap_ms, keys } => {
            let keys: Vec<String> = keys.iter().map(|key| name_of(*key)).collect();
            let by = if keys.is_empty() { String::new() } else { format!(", by {}", keys.join(", ")) };
            format!("SESSION(gap {}{by})", span(*gap_ms))
        }
    }
}

impl Shown {
    /// Formats the EXPLAIN output as a text tree: each operator on a line, its inputs below it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.lines(&mut text, "", "");
        text
    }

    fn lines(&self, text: &mut String, first: &str, rest: &str) {
        let details: Vec<String> =
            self.details.iter().map(|(name, value)| format!("{name}=[{value}]")).collect();
        let state = self.state.as_ref().map(|state| format!(" remembers [{state}]")).unwrap_or_default();
        // Writing to a String does not fail.
        let _ = writeln!(text, "{first}{}({}){state}", self.name, details.join(", "));
        for (place, input) in self.inputs.iter().enumerate() {
            let is_last = place + 1 == self.inputs.len();
            let (tick, line) = if is_last { ("+- ", "   ") } else { ("+- ", "|  ") };
            input.lines(text, &format!("{rest}{tick}"), &format!("{rest}{line}"));
        }
    }

    /// Appends the EXPLAIN output as nodes and edges of a Graphviz graph. `next` is the number of the next
    /// node. Returns the number of this node.
    pub fn dot(&self, next: &mut usize, text: &mut String) -> usize {
        let number = *next;
        *next += 1;
        let details: Vec<String> = self
            .details
            .iter()
            .map(|(name, value)| format!("{name}: {value}").replace('\\', "\\\\").replace('"', "\\\""))
            .collect();
        let _ = writeln!(text, "  n{number} [label=\"{}\\n{}\"];", self.name, details.join("\\n"));
        for input in &self.inputs {
            let from = input.dot(next, text);
            let _ = writeln!(text, "  n{from} -> n{number};");
        }
        number
    }

    /// Formats the EXPLAIN output as JSON.
    pub fn json(&self) -> String {
        let details: Vec<String> =
            self.details.iter().map(|(name, value)| format!("{}:{}", quoted(name), quoted(value))).collect();
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        let inputs: Vec<String> = self.inputs.iter().map(Shown::json).collect();
        let state = self.state.as_ref().map_or_else(|| "null".to_owned(), |state| quoted(state));
        format!(
            "{{\"operator\":{},\"details\":{{{}}},\"columns\":[{}],\"state\":{state},\"inputs\":[{}]}}",
            quoted(self.name),
            details.join(","),
            columns.join(","),
            inputs.join(","),
        )
    }
}

/// Formats a text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
