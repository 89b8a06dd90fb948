//! Tests of comparisons: medians, tables, and a page whose data is what was measured.

use clap::Parser;

use super::*;
use crate::bench::BenchArgs;
use crate::bench::comparison::Run;
use crate::bench::latency;
use crate::bench::observe::{Ran, Sample, Series};
use crate::bench::report::{Checked, Figures, GroupFigures, OverdueFigures};
use crate::bench::steer::{Steered, SteeredOperator};
use crate::bench::verdict::Claim;

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    args: BenchArgs,
}

fn run(label: &str, at: Option<f64>, throughput_per_s: f64) -> Run {
    let args = Options::parse_from(["bench", "ysb"]).args;
    let figures = Figures::new(&args, "typed", Checked::by_conservation());
    let latency = latency::Latency {
        mean: 900.0,
        stdev: 9.0,
        p50: 800.0,
        p90: 900.0,
        p95: 950.0,
        p99: 1_500.0,
        p999: Some(2e3),
        max: 3e3,
        count: 9,
    };
    let sample = Sample { at_s: 0.1, throughput_per_s, latency_us: Some(latency), pending: vec![3, 4] };
    let series = Series {
        tasks: vec!["source".to_owned(), "window<1>".to_owned()],
        mean_pending: vec![3.0, 4.0],
        samples: vec![sample],
        timeline: vec![Ran { worker: 1, task: 1, query: 0, from_ms: 0.5, to_ms: 0.75 }],
    };
    Run {
        label: label.to_owned(),
        at,
        repetition: 0,
        figures: Figures { throughput_per_s, ..figures },
        series,
    }
}

fn comparison(runs: Vec<Run>) -> Comparison {
    let claims = vec![Claim::of_factors("a < b".to_owned(), 2.0, vec![Some(0.5)], "b & a".to_owned())];
    let texts = ["title", "about", "thalweg bench", "2 cores; seed 1"].map(str::to_owned);
    let [title, about, command, machine] = texts;
    Comparison { title, about, command, machine, claims, axis: None, runs }
}

#[test]
fn medians_are_of_the_runs_of_a_label_at_a_place() {
    let runs = vec![
        run("a", Some(1.0), 5.0),
        run("b", Some(1.0), 70.0),
        run("a", Some(1.0), 9.0),
        run("a", Some(2.0), 1.0),
        run("a", Some(1.0), 6.0),
        run("b", Some(1.0), 80.0),
    ];
    let comparison = comparison(runs);
    let median = |label, at| comparison.median(label, Some(at), |figures| Some(figures.throughput_per_s));
    assert_eq!([median("a", 1.0), median("b", 1.0), median("a", 2.0)], [Some(6.0), Some(75.0), Some(1.0)]);
    assert_eq!(median("b", 2.0), None);
    assert_eq!(comparison.labels(), ["a", "b"]);
    assert_eq!(comparison.places(), [Some(1.0), Some(2.0)]);
}

#[test]
fn tables_have_a_row_for_each_run_and_each_look() {
    let runs = vec![run("a", None, 5.0), run("b,c", Some(0.5), 7.5)];
    let figures = tables::figures(&runs);
    let rows: Vec<&str> = figures.lines().collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[2].starts_with("\"b,c\",0.5,0,ysb,"), "{figures}");
    let columns = rows[0].split(',').count();
    assert_eq!(rows[1].split(',').count(), columns);
    let mut told = run("a", None, 5.0);
    told.figures.policy_parameters = BenchArgs::parsed("ysb --policy rr_quantum").policy_parameters();
    let figures = tables::figures(&[told]);
    assert!(figures.contains(",round_ns=1000000;quantum_ns=120000000,"), "{figures}");
    let mut steered = run("a", None, 5.0);
    let operator =
        SteeredOperator { name: "source".to_owned(), pending: 3.0, nice: -7.5, ..Default::default() };
    let steer = Steered { operators: vec![operator], ..Default::default() };
    steered.figures.steer = Some(steer);
    let queues = tables::queues(std::slice::from_ref(&steered));
    assert_eq!(queues.lines().skip(1).collect::<Vec<_>>(), ["a,,0,source,3,-7.5,0", "a,,0,window<1>,4,,"]);
    let page = page::page(&comparison(vec![steered])).unwrap();
    assert!(page.contains("<td>source</td><td>3.0</td><td>-7.5</td>"), "{page:.9999}");
    let series = tables::series(&runs);
    assert_eq!(series.lines().nth(1), Some("a,,0,0.1,5,800,1500,7"));
    assert_eq!(series.lines().count(), 3);
}

/// The page has the measured data. Names of operators are texts of users, and no name ends the HTML
/// element with the data.
#[test]
fn a_page_holds_what_was_measured_and_no_tag_of_others() {
    let text = page::page(&comparison(vec![run("a", None, 5e6), run("b", None, 7e6)])).unwrap();
    assert!(text.contains("a &lt; b") && text.contains(">reversed<"));
    assert!(text.contains("<td>a</td><td>5.00 M/s</td>"), "the table is there without JavaScript");
    let (_, behind) = text.split_once("<script id=\"plots-data\" type=\"application/json\">").unwrap();
    let (data, _) = behind.split_once("</script>").unwrap();
    assert!(!data.contains('<'));
    let plots: serde_json::Value = serde_json::from_str(data).unwrap();
    let titles: Vec<&str> =
        plots.as_array().unwrap().iter().map(|plot| plot["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Throughput", "Latency over time", "Pending per operator", "Who ran what"]);
    let timeline = &plots[3]["spec"]["data"]["values"];
    assert_eq!((&timeline[0]["task"], &timeline[0]["to"]), (&"window<1>".into(), &0.75.into()));
}

#[test]
fn along_an_axis_figures_are_drawn_against_it() {
    let mut comparison = comparison(vec![run("a", Some(1.0), 5.0), run("a", Some(2.0), 6.0)]);
    comparison.axis = Some("queries".to_owned());
    let titles: Vec<&str> = plots::plots(&comparison).iter().map(plots::Plot::title).collect();
    assert_eq!(titles, ["Throughput", "Who ran what"]);
    assert!(page::page(&comparison).unwrap().contains("<th>queries</th>"));
}

/// Returns what was overdue in a run whose latencies are all different.
fn overdue() -> OverdueFigures {
    let of = |p50: f64, p99: f64| {
        let [p90, p95, max] = [0.0; 3];
        Some(latency::Latency { mean: 0.0, stdev: 0.0, p50, p90, p95, p99, p999: None, max, count: 9 })
    };
    OverdueFigures {
        results: Some(6),
        markers: Some(7),
        closings: 8,
        unmeasured_closings: 9,
        output_delay_us: of(10.0, 11.0),
        result_latency_us: of(2.0, 3.0),
        event_latency_us: of(4.0, 5.0),
        latency_us: of(12.0, 13.0),
        results_in_time: Some(1.0),
    }
}

fn group(name: &'static str, throughput_per_s: f64) -> GroupFigures {
    GroupFigures {
        name,
        queries: 4,
        offered_per_s: Some(9),
        throughput_per_s,
        query_throughput_per_s: None,
        latency_us: None,
        output_delay_us: None,
        result_latency_us: None,
        event_latency_us: None,
        overdue: None,
        latency_target_us: Some(800_000),
        deadlines_met: None,
        success_rate: None,
        in_time: Some(0.25),
    }
}

/// The parameters of a policy stand on the page once, also if it ran several times. Runs without a policy have none.
#[test]
fn parameters_of_policies_stand_on_the_page() {
    let mut runs = vec![run("a", None, 5.0), run("b", None, 6.0), run("a", None, 7.0)];
    for place in [0, 2] {
        let figures = &mut runs[place].figures;
        figures.policy = Some("rr_quantum".to_owned());
        figures.policy_parameters = BenchArgs::parsed("ysb --policy rr_quantum").policy_parameters();
    }
    let page = page::page(&comparison(runs)).unwrap();
    let row = "<tr><td>a</td><td>rr_quantum</td><td>round_ns 1000000, quantum_ns 120000000</td></tr>";
    assert_eq!(page.matches(row).count(), 1);
    assert_eq!(page.matches("Parameters of policies").count(), 1);
    let page = page::page(&comparison(vec![run("b", None, 6.0)])).unwrap();
    assert!(!page.contains("Parameters of policies"));
}

/// If queries are not all alike, each group of queries has rows and a plot of its own.
#[test]
fn groups_stand_beside_the_whole() {
    let mut runs = vec![run("a", None, 5.0), run("a", None, 7.0)];
    for (run, throughput_per_s) in runs.iter_mut().zip([1.0, 4.0]) {
        run.figures.groups = vec![group("x", throughput_per_s), group("y", 9.0)];
        run.figures.groups[1].latency_us = run.series.samples[0].latency_us;
        run.figures.groups[0].overdue = Some(overdue());
    }
    let comparison = comparison(runs);
    assert_eq!(comparison.groups(), ["x", "y"]);
    let throughput = |figures: &GroupFigures| Some(figures.throughput_per_s);
    assert_eq!(comparison.median_of_group("a", None, "x", throughput), Some(2.5));
    assert_eq!(comparison.median_of_group("a", None, "z", throughput), None);
    let csv = tables::groups(&comparison.runs);
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(rows[0], "a,,0,x,4,9,1,,,,,2,3,4,5,6,800000,,0.25");
    assert_eq!((rows.len(), rows[3]), (4, "a,,1,y,4,9,9,900,800,1500,,,,,,,800000,,0.25"));
    let page = page::page(&comparison).unwrap();
    assert!(page.contains("<td>x</td>") && page.contains("Latency of each group"));
}
