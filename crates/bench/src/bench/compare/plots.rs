//! The plots of a comparison, as specifications of Vega-Lite with the data in them.

use serde::Serialize;
use serde_json::{Value, json};

use crate::bench::comparison::{Comparison, Run};
use crate::bench::observe::Ran;
use crate::bench::report::GroupFigures;

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// Largest number of timeline entries (steps of tasks that workers ran) drawn for each policy or mode: more
/// than a page shows.
const RUNS_MAX: usize = 4_000;

/// A plot of a comparison: its title, a note, and its specification for Vega-Lite.
#[derive(Serialize)]
pub struct Plot {
    title: &'static str,
    note: String,
    spec: Value,
}

#[cfg(test)]
impl Plot {
    pub fn title(&self) -> &'static str {
        self.title
    }
}

/// Returns the plot of the 99th percentile of the latency of each group of queries, against the varied
/// parameter, or by policy or mode if no parameter was varied.
fn groups(comparison: &Comparison) -> Option<Plot> {
    let value = |run: &Run| {
        let (label, at) = (run.label.clone(), run.at);
        let of_group = move |group: &GroupFigures| {
            let p99 = group.latency_us?.p99 / 1e3;
            Some(json!({ "label": label, "at": at, "group": group.name, "p99": p99, "met": group.in_time }))
        };
        run.figures.groups.iter().filter_map(of_group).collect::<Vec<_>>()
    };
    let values: Vec<Value> = comparison.runs.iter().flat_map(value).collect();
    let axis = comparison.axis.as_deref();
    let (mark, x) = match axis {
        Some(axis) => (
            json!({ "type": "line", "point": true, "tooltip": true }),
            json!({ "field": "at", "type": "quantitative", "title": axis }),
        ),
        None => (
            json!({ "type": "point", "tooltip": true }),
            json!({ "field": "label", "type": "nominal", "title": null, "sort": null }),
        ),
    };
    let scale = json!({ "type": "log" });
    let y = json!({ "field": "p99", "type": "quantitative", "aggregate": "median", "title": "ms", "scale": scale });
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": values },
        "facet": { "row": { "field": "group", "type": "nominal", "title": null, "sort": null } },
        "spec": {
            "width": 700,
            "height": 220,
            "mark": mark,
            "encoding": {
                "x": x,
                "y": y,
                "color": { "field": "label", "type": "nominal", "title": null, "sort": null },
            },
        },
    });
    let note =
        "Of the queries of each group by itself, medians of runs; from intended send to sink, by markers."
            .to_owned();
    (!values.is_empty()).then_some(Plot { title: "Latency of each group, 99th percentile", note, spec })
}

/// Returns all plots for which the runs of the comparison have data.
pub fn plots(comparison: &Comparison) -> Vec<Plot> {
    let mut plots = Vec::new();
    if comparison.axis.is_some() {
        plots.extend(along_the_axis(comparison));
    } else {
        plots.push(throughput(comparison));
        plots.extend(latency(comparison));
        plots.extend(pending(comparison));
    }
    plots.extend(groups(comparison));
    plots.extend(timeline(comparison));
    plots
}

/// Returns the plots of figures against the varied parameter: a point for each run, and the median at each
/// value as a line.
fn along_the_axis(comparison: &Comparison) -> Vec<Plot> {
    let axis = comparison.axis.as_deref().unwrap_or_default();
    let values: Vec<Value> = comparison
        .runs
        .iter()
        .map(|Run { label, at, figures, .. }| {
            json!({
                "label": label,
                "at": at,
                "throughput": figures.throughput_per_s / 1e6,
                "mean": figures.latency_us.map(|latency| latency.mean / 1e3),
                "p99": figures.latency_us.map(|latency| latency.p99 / 1e3),
                "delay": figures.output_delay_us.map(|delay| delay.mean / 1e3),
                "met": figures.deadlines_met,
            })
        })
        .collect();
    let has = |name: &str| values.iter().any(|value| !value[name].is_null());
    let line = |name: &str, title: &str, scale: &str| {
        let x = json!({ "field": "at", "type": "quantitative", "title": axis });
        let y = |aggregate: Option<&str>| {
            let scale = json!({ "type": scale });
            let mut y = json!({ "field": name, "type": "quantitative", "title": title, "scale": scale });
            if let Some(aggregate) = aggregate {
                y["aggregate"] = json!(aggregate);
            }
            y
        };
        let colour = json!({ "field": "label", "type": "nominal", "title": null, "sort": null });
        let encoded = |aggregate| json!({ "x": x, "y": y(aggregate), "color": colour });
        json!({
            "$schema": SCHEMA,
            "data": { "values": values },
            "width": 760,
            "height": 300,
            "layer": [
                { "mark": { "type": "line", "point": true }, "encoding": encoded(Some("median")) },
                { "mark": { "type": "point", "opacity": 0.35, "tooltip": true }, "encoding": encoded(None) },
            ],
        })
    };
    let note = || "Lines go through the medians; points are single runs.".to_owned();
    let mut plots =
        vec![Plot { title: "Throughput", note: note(), spec: line("throughput", "M records/s", "linear") }];
    if has("mean") {
        plots.push(Plot { title: "Mean latency", note: note(), spec: line("mean", "ms", "log") });
        plots.push(Plot { title: "Latency, 99th percentile", note: note(), spec: line("p99", "ms", "log") });
    }
    if has("delay") {
        plots.push(Plot { title: "Mean output delay", note: note(), spec: line("delay", "ms", "log") });
    }
    if has("met") {
        plots.push(Plot { title: "Deadlines met", note: note(), spec: line("met", "share", "linear") });
    }
    plots
}

fn throughput(comparison: &Comparison) -> Plot {
    let values: Vec<Value> = comparison
        .runs
        .iter()
        .map(|run| json!({ "label": run.label, "throughput": run.figures.throughput_per_s / 1e6 }))
        .collect();
    let y = json!({ "field": "label", "type": "nominal", "title": null, "sort": null });
    let x = |aggregate: Option<&str>| {
        let mut x = json!({ "field": "throughput", "type": "quantitative", "title": "M records/s" });
        if let Some(aggregate) = aggregate {
            x["aggregate"] = json!(aggregate);
        }
        x
    };
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": values },
        "width": 760,
        "height": { "step": 26 },
        "layer": [
            { "mark": { "type": "bar", "opacity": 0.6 }, "encoding": { "x": x(Some("median")), "y": y } },
            { "mark": { "type": "point", "tooltip": true, "color": "#1c2430" }, "encoding": { "x": x(None), "y": y } },
        ],
    });
    Plot { title: "Throughput", note: "Bars are medians, points single runs.".to_owned(), spec }
}

/// Returns the plot of latency percentiles over time, for the first run of each policy or mode.
fn latency(comparison: &Comparison) -> Option<Plot> {
    let mut values = Vec::new();
    for run in first_runs(comparison) {
        for sample in &run.series.samples {
            let Some(latency) = sample.latency_us else { continue };
            for (percentile, micros) in [("p50", latency.p50), ("p99", latency.p99), ("max", latency.max)] {
                let millis = micros / 1e3;
                values.push(
                    json!({ "label": run.label, "at": sample.at_s, "percentile": percentile, "ms": millis }),
                );
            }
        }
    }
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": values },
        "width": 760,
        "height": 320,
        "mark": { "type": "line", "tooltip": true },
        "encoding": {
            "x": { "field": "at", "type": "quantitative", "title": "seconds" },
            "y": { "field": "ms", "type": "quantitative", "title": "ms", "scale": { "type": "log" } },
            "color": { "field": "label", "type": "nominal", "title": null, "sort": null },
            "strokeDash": { "field": "percentile", "type": "nominal", "title": null, "sort": ["p50", "p99", "max"] },
        },
    });
    let note =
        "From intended send to sink, by markers that came in since the look before; the first run of each."
            .to_owned();
    (!values.is_empty()).then_some(Plot { title: "Latency over time", note, spec })
}

/// Returns the plot of the pending records before each task over time, for the first run of each policy or
/// mode.
fn pending(comparison: &Comparison) -> Option<Plot> {
    let mut values = Vec::new();
    for run in first_runs(comparison) {
        for sample in &run.series.samples {
            for (task, pending) in run.series.tasks.iter().zip(&sample.pending) {
                values
                    .push(json!({ "label": run.label, "at": sample.at_s, "task": task, "pending": pending }));
            }
        }
    }
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": values },
        "facet": { "row": { "field": "label", "type": "nominal", "title": null, "sort": null } },
        "spec": {
            "width": 700,
            "height": 110,
            "mark": { "type": "area", "tooltip": true, "interpolate": "step-after" },
            "encoding": {
                "x": { "field": "at", "type": "quantitative", "title": "seconds" },
                "y": { "field": "pending", "type": "quantitative", "title": "records", "stack": "zero" },
                "color": { "field": "task", "type": "nominal", "title": null, "sort": null },
            },
        },
    });
    let note =
        "Records on the edge before each task, of all queries together; the first run of each.".to_owned();
    (!values.is_empty()).then_some(Plot { title: "Pending per operator", note, spec })
}

/// Returns the timeline of the tasks that each worker ran, for the first run of each policy or mode.
fn timeline(comparison: &Comparison) -> Option<Plot> {
    let mut values = Vec::new();
    for run in first_runs(comparison) {
        let at = run.at.map_or(run.label.clone(), |at| format!("{} at {at}", run.label));
        for Ran { worker, task, query, from_ms, to_ms } in run.series.timeline.iter().take(RUNS_MAX) {
            let name = run.series.tasks.get(*task).map_or("", String::as_str);
            values.push(json!({
                "label": at, "worker": worker, "task": name, "query": query, "from": from_ms, "to": to_ms,
            }));
        }
    }
    let spec = json!({
        "$schema": SCHEMA,
        "data": { "values": values },
        "facet": { "row": { "field": "label", "type": "nominal", "title": null, "sort": null } },
        "spec": {
            "width": 900,
            "height": { "step": 22 },
            "mark": { "type": "bar", "tooltip": { "content": "data" } },
            "encoding": {
                "x": { "field": "from", "type": "quantitative", "title": "ms" },
                "x2": { "field": "to" },
                "y": { "field": "worker", "type": "nominal", "title": "worker" },
                "color": { "field": "task", "type": "nominal", "title": null, "sort": null },
            },
        },
    });
    let note = "A few milliseconds in the middle of the first run of each: what lies between two bars is choosing, or sleep.".to_owned();
    (!values.is_empty()).then_some(Plot { title: "Who ran what", note, spec })
}

/// Returns the first run of each policy or mode. If a parameter was varied, the runs with its highest value
/// are taken.
fn first_runs(comparison: &Comparison) -> impl Iterator<Item = &Run> {
    let last = comparison.places().last().copied().flatten();
    let first = move |label: &str| comparison.runs.iter().find(|run| run.label == label && run.at == last);
    comparison.labels().into_iter().filter_map(first)
}
