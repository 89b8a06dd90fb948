//! Ad hoc.
use super::Now;
use super::calc::{Calc, batch_of, schema_of};
use super::group::{Group, GroupCalls};
use super::operator::BatchOperator;
use super::over::{Over, OverCalls};
use super::rank::{Deduplicate, TopN, Wanted};
use crate::batch::Batch;
use crate::bind::{Binder, changelog, declare};
use crate::catalog::{Catalog, Entry, Table, TableColumnKind};
use crate::functions::Context;
use crate::plan::{Column, Node, Plan};
use crate::text::script::{self, Statement};
use arrow::array::*;
use arrow::compute::cast;
use chrono_tz::Tz;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_model::{EventTime, VirtualClock};

struct Exec {
    op: Option<Box<dyn BatchOperator>>,
    inputs: Vec<Exec>,
    scan: Option<(Arc<Table>, Vec<usize>)>,
    late: EventTime,
}

fn build(plan: &Plan, now: &Now) -> Exec {
    let inputs = plan.inputs().into_iter().map(|p| build(p, now)).collect();
    let mut scan = None;
    let first = plan.inputs().first().map(|p| p.columns.clone()).unwrap_or_default();
    let op: Option<Box<dyn BatchOperator>> = match &plan.node {
        Node::Scan { table, places, conditions } => {
            assert!(conditions.is_empty());
            scan = Some((table.clone(), places.clone()));
            None
        }
        Node::Union(_) => None,
        Node::Calc { conditions, outputs, .. } => {
            Some(Box::new(Calc::new("calc", conditions.clone(), vec![outputs.clone()], &plan.columns)))
        }
        Node::Expand { forms, .. } => {
            Some(Box::new(Calc::new("expand", vec![], forms.clone(), &plan.columns)))
        }
        Node::Over { keys, time, frame, calls, ttl_ms, .. } => Some(Box::new(
            Over::new(
                OverCalls {
                    keys: keys.clone(),
                    time: *time,
                    frame: *frame,
                    calls: calls.clone(),
                    ttl_ms: *ttl_ms,
                },
                now.clone(),
                &first,
                &plan.columns,
                3,
            )
            .unwrap(),
        )),
        Node::Group { keys, calls, is_retracting, ttl_ms, .. } => Some(Box::new(
            Group::new(
                GroupCalls {
                    keys: keys.clone(),
                    calls: calls.clone(),
                    is_retracting: *is_retracting,
                    ttl_ms: ttl_ms.unwrap(),
                },
                now.clone(),
                &first,
                &plan.columns,
                3,
            )
            .unwrap(),
        )),
        Node::Rank { keys, order, from, to, has_rank, is_retracting, ttl_ms, .. } => {
            match changelog::deduplication(plan) {
                Some(keep) => Some(Box::new(
                    Deduplicate::new(
                        keep,
                        keys.clone(),
                        ttl_ms.unwrap(),
                        now.clone(),
                        &first,
                        &plan.columns,
                        3,
                    )
                    .unwrap(),
                )),
                None => Some(Box::new(
                    TopN::new(
                        Wanted {
                            keys: keys.clone(),
                            order: order.clone(),
                            from: *from,
                            to: *to,
                            has_rank: *has_rank,
                            is_retracting: *is_retracting,
                            ttl_ms: ttl_ms.unwrap(),
                        },
                        now.clone(),
                        &first,
                        &plan.columns,
                        3,
                    )
                    .unwrap(),
                )),
            }
        }
        other => panic!("no {other:?}"),
    };
    Exec { op, inputs, scan, late: EventTime::MIN }
}

enum Ev<'a> {
    Rows(&'a str, Batch),
    Mark(EventTime),
}

impl Exec {
    fn feed(&mut self, ev: &Ev) -> Vec<Batch> {
        let mut out = Vec::new();
        let mut from: Vec<Batch> = self.inputs.iter_mut().flat_map(|i| i.feed(ev)).collect();
        if let Some((table, places)) = &self.scan
            && let Ev::Rows(name, b) = ev
            && *name == table.name
        {
            let mut b = b.clone();
            b.rows = b.rows.project(places).unwrap();
            return vec![b];
        }
        let Some(op) = &mut self.op else { return from };
        for b in from.drain(..) {
            op.take(b, self.late).unwrap();
            while let Some(b) = op.next().unwrap() {
                out.push(b)
            }
        }
        if let Ev::Mark(w) = ev {
            self.late = *w;
            op.advance(*w).unwrap();
            while let Some(b) = op.next().unwrap() {
                out.push(b)
            }
        }
        out
    }
}

fn cell(c: &ArrayRef, row: usize) -> String {
    if c.is_null(row) {
        return "NULL".into();
    }
    match c.data_type() {
        arrow::datatypes::DataType::Boolean => c.as_boolean().value(row).to_string().to_uppercase(),
        arrow::datatypes::DataType::Timestamp(..) => {
            let ms = c.as_primitive::<arrow::datatypes::TimestampMillisecondType>().value(row);
            chrono::DateTime::from_timestamp_millis(ms).unwrap().format("%Y-%m-%d %H:%M:%S%.3f").to_string()
        }
        _ => arrow::util::display::array_value_to_string(c, row).unwrap(),
    }
}

#[test]
fn queries() {
    let Ok(files) = std::env::var("QUERIES") else { return };
    let mut bad = 0;
    let mut good = 0;
    for file in files.split(' ') {
        let text = std::fs::read_to_string(file).unwrap();
        let mut sections: Vec<(String, String)> = vec![("setup".into(), String::new())];
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("--- ") {
                sections.push((head.trim().into(), String::new()))
            } else {
                let last = sections.last_mut().unwrap();
                last.1.push_str(line);
                last.1.push('\n')
            }
        }
        let context = Context { zone: Tz::UTC, clock: Arc::new(VirtualClock::default()) };
        let mut catalog = Catalog::default();
        for s in script::parse(&sections[0].1).unwrap() {
            if let Statement::CreateTable(c) = &s.statement {
                let b = Binder { catalog: &catalog, context: &context, state_ttl_ms: None };
                let t = declare(&b, c).unwrap();
                catalog.add(&c.name, Entry::Table(Arc::new(t)), false).unwrap();
            }
        }
        let mut data: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        let mut ttl = None;
        let mut query: Option<(String, String)> = None;
        for (head, body) in &sections[1..] {
            if let Some(name) = head.strip_prefix("input ") {
                let rows = body
                    .lines()
                    .take_while(|l| !l.is_empty())
                    .map(|l| l.split(',').map(str::to_owned).collect())
                    .collect();
                data.insert(name.into(), rows);
            } else if head.starts_with("set ") {
                ttl = Some(3_600_000)
            } else if let Some(name) = head.strip_prefix("query ") {
                query = Some((name.into(), body.clone()))
            } else {
                let (name, q) = query.take().unwrap();
                let statements = match script::parse(&q) {
                    Ok(s) => s,
                    Err(e) => {
                        println!("{name}: parse {e}");
                        bad += 1;
                        continue;
                    }
                };
                let Statement::Query(ast) = &statements[0].statement else { continue };
                let plan = Binder { catalog: &catalog, context: &context, state_ttl_ms: ttl }.query(ast);
                let expected: Vec<&str> = body.lines().take_while(|l| !l.is_empty()).collect();
                if let Some(code) = head.strip_prefix("error ") {
                    match plan {
                        Err(e) if e.code.name() == code && e.to_string().contains(expected[0]) => good += 1,
                        Err(e) => {
                            println!("{name}: other error {} {e}", e.code.name());
                            bad += 1
                        }
                        Ok(_) => {
                            println!("{name}: no error");
                            bad += 1
                        }
                    }
                    continue;
                }
                let plan = match plan {
                    Ok(p) => p,
                    Err(e) => {
                        println!("{name}: {} {e}", e.code.name());
                        bad += 1;
                        continue;
                    }
                };
                let now = Now::new(context.clock.clone());
                let mut exec = build(&plan, &now);
                let mut out: Vec<Batch> = Vec::new();
                for (table, rows) in &data {
                    let Entry::Table(t) = catalog.get(table).unwrap() else { panic!() };
                    let columns: Vec<Column> =
                        t.columns.iter().map(|c| Column::plain(c.name.clone(), c.of.clone(), true)).collect();
                    let mut mark = EventTime::MIN;
                    for row in rows {
                        let mut cells = row.iter();
                        let arrays: Vec<ArrayRef> = t
                            .columns
                            .iter()
                            .map(|c| {
                                if matches!(c.kind, TableColumnKind::Proctime) {
                                    return new_null_array(&c.of.arrow(), 1);
                                }
                                let s = cells.next().unwrap();
                                let a: ArrayRef =
                                    Arc::new(StringArray::from(vec![(s != "NULL").then_some(s.as_str())]));
                                cast(&a, &c.of.arrow()).unwrap()
                            })
                            .collect();
                        let b = batch_of(&schema_of(&columns), arrays, 1).unwrap();
                        out.extend(exec.feed(&Ev::Rows(table, Batch::new(b.clone()))));
                        if let Some(rt) = &t.rowtime {
                            let w = rt.watermark.evaluate_column(&b).unwrap();
                            let ms = w.as_primitive::<arrow::datatypes::TimestampMillisecondType>().value(0);
                            mark = mark.max(EventTime::from_micros((ms + 1) * 1000));
                            out.extend(exec.feed(&Ev::Mark(mark)));
                        }
                    }
                }
                out.extend(exec.feed(&Ev::Mark(EventTime::MAX)));
                let mut there: Vec<String> = Vec::new();
                let mut log = Vec::new();
                for b in &out {
                    for row in 0..b.len() {
                        let s = b.rows.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>().join(",");
                        let kind = b.kind(row).to_string();
                        log.push(format!("{kind},{s}"));
                        if kind.starts_with('+') {
                            there.push(s)
                        } else {
                            let at = there
                                .iter()
                                .position(|o| *o == s)
                                .unwrap_or_else(|| panic!("{name}: {kind} {s} not there"));
                            there.remove(at);
                        }
                    }
                }
                let mut want: Vec<String> = Vec::new();
                for e in &expected {
                    if head == "changelog" {
                        let (kind, s) = e.split_once(',').unwrap();
                        if kind.starts_with('+') {
                            want.push(s.into())
                        } else {
                            let at = want.iter().position(|o| o == s).unwrap();
                            want.remove(at);
                        }
                    } else {
                        want.push((*e).into())
                    }
                }
                if head == "changelog" && log != expected {
                    println!("note {name}: the log differs\n  got  {log:?}\n  want {expected:?}")
                }
                there.sort();
                want.sort();
                if there == want {
                    good += 1
                } else {
                    println!("{name}: got {there:?}\n want {want:?}");
                    bad += 1
                }
            }
        }
    }
    println!("{good} good, {bad} bad");
    assert_eq!(bad, 0);
}
