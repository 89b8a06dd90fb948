use crate::batch::Batch;
use crate::bind::{Binder, declare};
use crate::catalog::{Catalog, Entry, View};
use crate::exec::calc::{Calc, batch_of, schema_of};
use crate::exec::join::{Side, operator};
use crate::exec::operator::BatchOperator;
use crate::exec::window::{AssignWindows, WindowAggregate};
use crate::formats::RowKind;
use crate::functions::Context;
use crate::plan::*;
use crate::text::script::{Statement, parse};
use arrow::array::*;
use arrow::datatypes::*;
use chrono_tz::Tz;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_model::{EventTime, VirtualClock};

enum Ev {
    B(Batch),
    W(EventTime),
}
type Tables = BTreeMap<String, Vec<Vec<Option<String>>>>;

fn csv(line: &str) -> Vec<Option<String>> {
    line.split(',').map(|f| if f == "NULL" { None } else { Some(f.to_owned()) }).collect()
}

fn apply(mut op: Box<dyn BatchOperator>, events: Vec<Ev>) -> Vec<Ev> {
    let mut out = Vec::new();
    let mut late = EventTime::MIN;
    for ev in events {
        match ev {
            Ev::B(b) => op.take(b, late).unwrap(),
            Ev::W(w) => {
                late = late.max(w);
                op.advance(w).unwrap();
            }
        }
        while let Some(b) = op.next().unwrap() {
            out.push(Ev::B(b));
        }
        out.push(Ev::W(late));
    }
    out
}

fn events(plan: &Plan, tables: &Tables, order: usize, context: &Context) -> Result<Vec<Ev>, String> {
    Ok(match &plan.node {
        Node::Scan { table, places, .. } => {
            let all: Vec<Column> =
                table.columns.iter().map(|c| Column::plain(c.name.clone(), c.of.clone(), true)).collect();
            let mut out = Vec::new();
            let mut max = i64::MIN;
            for row in &tables[&table.name] {
                let cols: Vec<ArrayRef> = row
                    .iter()
                    .zip(&all)
                    .map(|(v, c)| {
                        let s: ArrayRef = Arc::new(StringArray::from(vec![v.as_deref()]));
                        arrow::compute::cast(&s, &c.of.arrow()).unwrap()
                    })
                    .collect();
                let whole = batch_of(&schema_of(&all), cols, 1).unwrap();
                out.push(Ev::B(Batch::new(
                    batch_of(
                        &schema_of(&plan.columns),
                        places.iter().map(|p| whole.column(*p).clone()).collect(),
                        1,
                    )
                    .unwrap(),
                )));
                if let Some(rt) = &table.rowtime {
                    let w = rt.watermark.evaluate_column(&whole).unwrap();
                    let w = w.as_primitive::<TimestampMillisecondType>().value(0);
                    max = max.max(w);
                    out.push(Ev::W(EventTime::from_micros((max + 1) * 1000)));
                }
            }
            out.push(Ev::W(EventTime::MAX));
            out
        }
        Node::Calc { input, conditions, outputs } => {
            let ev = events(input, tables, order, context)?;
            apply(Box::new(Calc::new("c", conditions.clone(), vec![outputs.clone()], &plan.columns)), ev)
        }
        Node::AssignWindows { input, spec, time } => {
            let ev = events(input, tables, order, context)?;
            apply(Box::new(AssignWindows::new(spec, *time, None, &plan.columns).unwrap()), ev)
        }
        Node::WindowAggregate { input, windows, keys, calls } => {
            let ev = events(input, tables, order, context)?;
            let op = WindowAggregate::new(
                windows,
                keys.clone(),
                calls.clone(),
                None,
                &input.columns,
                &plan.columns,
                0,
            );
            apply(Box::new(op.unwrap()), ev)
        }
        Node::Join { left, right, join } => {
            let mut l = events(left, tables, order, context)?.into_iter();
            let mut r = events(right, tables, order, context)?.into_iter();
            let mut op = operator(join, &left.columns, &right.columns, &plan.columns, 1, context).unwrap();
            let mut out = Vec::new();
            let mut own = [EventTime::MIN; 2];
            let (mut passed, mut turn) = (EventTime::MIN, 0);
            let (mut l_done, mut r_done) = (false, false);
            while !(l_done && r_done) {
                turn += 1;
                let is_left = match order {
                    0 => !l_done,
                    1 => r_done,
                    _ => (turn % 2 == 0 && !l_done) || r_done,
                };
                let (side, next) = if is_left { (Side::Left, l.next()) } else { (Side::Right, r.next()) };
                match next {
                    None => {
                        if is_left {
                            l_done = true
                        } else {
                            r_done = true
                        }
                    }
                    Some(Ev::B(b)) => {
                        op.take(side, b, own[side.index()]).map_err(|e| e.message)?;
                    }
                    Some(Ev::W(w)) => {
                        own[side.index()] = own[side.index()].max(w);
                        let both = own[0].min(own[1]);
                        if both > passed {
                            passed = both;
                            op.advance(both).unwrap();
                        }
                    }
                }
                while let Some(b) = op.next().unwrap() {
                    out.push(Ev::B(b));
                }
                out.push(Ev::W(if passed == EventTime::MAX { passed } else { passed.minus(op.hold()) }));
            }
            out
        }
        other => return Err(format!("no {other:?}").chars().take(30).collect()),
    })
}

fn show(b: &Batch, row: usize) -> String {
    let cells: Vec<String> = b
        .rows
        .columns()
        .iter()
        .map(|c| {
            if c.is_null(row) {
                return "NULL".to_owned();
            }
            if let Some(t) = c.as_primitive_opt::<TimestampMillisecondType>() {
                return chrono::DateTime::from_timestamp_millis(t.value(row))
                    .unwrap()
                    .format("%Y-%m-%d %H:%M:%S%.3f")
                    .to_string();
            }
            let s = arrow::compute::cast(c, &DataType::Utf8).unwrap();
            s.as_string::<i32>().value(row).to_owned()
        })
        .collect();
    cells.join(",")
}

#[test]
fn corpus() {
    let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
    let mut bad = 0;
    for file in [
        "window_join",
        "interval_join",
        "temporal_join",
        "joins",
        "window_time_zones",
        "views_and_subqueries",
    ] {
        let text =
            std::fs::read_to_string(format!("/work/h/e/crates/sql/tests/queries/{file}.test.sql")).unwrap();
        let mut sections: Vec<(String, String)> = vec![("setup".into(), String::new())];
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("--- ") {
                sections.push((head.to_owned(), String::new()));
            } else {
                let s = &mut sections.last_mut().unwrap().1;
                s.push_str(line);
                s.push('\n');
            }
        }
        let mut catalog = Catalog::default();
        let mut tables = Tables::new();
        let mut ttl = None;
        let mut query: Option<(String, String)> = None;
        for (head, body) in sections {
            let (word, rest) = head.split_once(' ').unwrap_or((&head, ""));
            match word {
                "setup" => {
                    for placed in parse(&body).unwrap() {
                        let binder = Binder { catalog: &catalog, context: &context, state_ttl_ms: ttl };
                        match placed.statement {
                            Statement::CreateTable(c) => {
                                let t = declare(&binder, &c).unwrap();
                                tables.insert(t.name.clone(), Vec::new());
                                catalog.add(&c.name, Entry::Table(Arc::new(t)), false).unwrap();
                            }
                            Statement::CreateView { name, columns, query, .. } => catalog
                                .add(&name, Entry::View(Arc::new(View { columns, query })), false)
                                .unwrap(),
                            _ => {}
                        }
                    }
                }
                "input" => {
                    tables.insert(
                        rest.to_owned(),
                        body.lines().take_while(|l| !l.is_empty()).map(csv).collect(),
                    );
                }
                "set" => {
                    if rest.contains("state.ttl") {
                        ttl = Some(3_600_000)
                    }
                }
                "query" => query = Some((rest.to_owned(), body)),
                "rows" | "changelog" | "error" => {
                    let (name, sql) = query.take().unwrap();
                    let binder = Binder { catalog: &catalog, context: &context, state_ttl_ms: ttl };
                    let planned = parse(&sql).and_then(|mut s| match s.remove(0).statement {
                        Statement::Query(q) => binder.query(&q),
                        _ => panic!(),
                    });
                    let lines: Vec<&str> = body.lines().take_while(|l| !l.is_empty()).collect();
                    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
                    for line in &lines {
                        let (by, row) = if word == "changelog" {
                            (if line.starts_with('+') { 1 } else { -1 }, line[3..].to_owned())
                        } else {
                            (1, (*line).to_owned())
                        };
                        *expected.entry(row).or_default() += by;
                    }
                    expected.retain(|_, n| *n != 0);
                    match planned {
                        Err(e) => {
                            let ok =
                                word == "error" && e.to_string().contains(lines[0]) && rest == e.code.name();
                            if !ok {
                                println!("?? {file}/{name}: {} {e}", e.code.name());
                                bad += 1;
                            }
                        }
                        Ok(plan) => {
                            for order in 0..3 {
                                match events(&plan, &tables, order, &context) {
                                    Err(e) => {
                                        println!("-- {file}/{name}: {e}");
                                        break;
                                    }
                                    Ok(evs) => {
                                        let mut got: BTreeMap<String, i64> = BTreeMap::new();
                                        for ev in &evs {
                                            if let Ev::B(b) = ev {
                                                for row in 0..b.len() {
                                                    let by = if matches!(
                                                        b.kind(row),
                                                        RowKind::Insert | RowKind::UpdateAfter
                                                    ) {
                                                        1
                                                    } else {
                                                        -1
                                                    };
                                                    let n = got.entry(show(b, row)).or_default();
                                                    *n += by;
                                                    assert!(*n >= 0);
                                                }
                                            }
                                        }
                                        got.retain(|_, n| *n != 0);
                                        if got != expected {
                                            println!(
                                                "?? {file}/{name} {order}:\n  got {got:?}\n  exp {expected:?}"
                                            );
                                            bad += 1;
                                        } else if order == 0 {
                                            println!("ok {file}/{name}");
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert_eq!(bad, 0);
}
