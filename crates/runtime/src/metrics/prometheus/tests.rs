//! Tests of the Prometheus text. A parser in this file, which shares no code with the writer and accepts less
//! than Prometheus does, reads the text. So every reader of the format accepts it.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_model::{Counts, ProcessingTime};
use thalweg_scheduling::OperatorId;

use super::*;
use crate::aims::Aims;
use crate::latency::{Latencies, LatencySummary};
use crate::meter::TaskState;
use crate::query::EdgeCounts;
use crate::system::ProcessMetrics;

/// A metric as the parser has read it: its type, and the value of each sample by its name and labels.
#[derive(Debug, Default)]
pub(crate) struct Family {
    kind: String,
    samples: BTreeMap<(String, Vec<(String, String)>), f64>,
}

/// Reads a text of metrics by the rules of "Exposition formats" of Prometheus, and refuses what those rules
/// leave open. A metric begins with HELP and TYPE, in this order. Its samples stand together, and no sample
/// comes twice. Counters end in `_total` and are not negative. The text ends with a line end, and has no
/// timestamps, comments or empty lines, and one space between two words.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut lines = text.strip_suffix('\n').ok_or("no end of the last line")?.split('\n');
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').ok_or(format!("no help: {line}"))?;
            check_name(name, "a metric", true)?;
            unescape(words, false)?;
            let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} ")));
            let kind = kind.ok_or(format!("no type of {name}"))?;
            if !["counter", "gauge", "summary"].contains(&kind) {
                return Err(format!("{kind} is no type"));
            }
            if (kind == "counter") != name.ends_with("_total") {
                return Err(format!("{name} is called a {kind}"));
            }
            let family = Family { kind: kind.to_owned(), ..Family::default() };
            if families.insert(name.to_owned(), family).is_some() {
                return Err(format!("{name} comes twice"));
            }
            name.clone_into(&mut current);
            continue;
        }
        let name_end = line.find(['{', ' ']).ok_or(format!("no value: {line}"))?;
        let (name, rest) = line.split_at(name_end);
        check_name(name, "a metric", true)?;
        let (labels, rest) = if rest.starts_with('{') { parse_labels(rest)? } else { (Vec::new(), rest) };
        let value = rest.strip_prefix(' ').ok_or(format!("no space before the value: {line}"))?;
        let value = parse_value(value)?;
        let family = families.get_mut(&current).ok_or(format!("no family: {line}"))?;
        let has_quantile = labels.iter().any(|(name, _)| name == "quantile");
        let is_its_own = match (family.kind.as_str(), name.strip_prefix(current.as_str())) {
            ("summary", Some("")) => has_quantile,
            ("summary", Some("_sum" | "_count")) => !has_quantile,
            (_, Some("")) => !has_quantile,
            _ => false,
        };
        if !is_its_own {
            return Err(format!("not of {current}: {line}"));
        }
        if value < 0.0 && family.kind != "gauge" {
            return Err(format!("below zero: {line}"));
        }
        let mut sorted = labels;
        sorted.sort();
        if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("a label comes twice: {line}"));
        }
        if family.samples.insert((name.to_owned(), sorted), value).is_some() {
            return Err(format!("a sample comes twice: {line}"));
        }
    }
    Ok(families)
}

fn check_name(name: &str, what: &str, takes_colons: bool) -> Result<(), String> {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || takes_colons && c == ':';
    let is_named = name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    if is_named { Ok(()) } else { Err(format!("`{name}` is no name of {what}")) }
}

/// Removes the escapes from a text of the Prometheus format. `\"` is allowed only in values of labels, where
/// `has_quotes` is true.
fn unescape(text: &str, has_quotes: bool) -> Result<String, String> {
    let (mut plain, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('\\') => '\\',
                Some('n') => '\n',
                Some('"') if has_quotes => '"',
                other => return Err(format!("no escape: \\{other:?}")),
            },
            other => other,
        });
    }
    Ok(plain)
}

/// Parses the labels in braces at the front of `text`. Returns them with the rest of the text.
fn parse_labels(text: &str) -> Result<(Vec<(String, String)>, &str), String> {
    let (mut labels, mut rest) = (Vec::new(), &text[1..]);
    loop {
        let (name, behind) = rest.split_once("=\"").ok_or(format!("no label: {rest}"))?;
        check_name(name, "a label", false)?;
        if name.starts_with("__") {
            return Err(format!("{name} is not ours to use"));
        }
        let mut is_escaped = false;
        let end = behind.find(|letter| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        let end = end.ok_or(format!("no end of {name}"))?;
        labels.push((name.to_owned(), unescape(&behind[..end], true)?));
        rest = &behind[end + 1..];
        if let Some(behind) = rest.strip_prefix('}') {
            return Ok((labels, behind));
        }
        rest = rest.strip_prefix(',').ok_or(format!("neither comma nor brace: {rest}"))?;
    }
}

fn parse_value(text: &str) -> Result<f64, String> {
    if text == "+Inf" {
        return Ok(f64::INFINITY);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !is_plain {
        return Err(format!("`{text}` is no value"));
    }
    text.parse().map_err(|_| format!("`{text}` is no value"))
}

/// Hard names for queries and operators: a quote, a backslash before an `n`, a line end, braces, commas, and
/// letters outside ASCII.
const NAMES: [&str; 6] = ["\"", "a\\n", "two\nlines\\", "x=\"1\",y{}", "жук 水", " "];

/// Makes the metrics of an engine with two queries. In the first all names are `name`, and the second has the
/// same query name.
fn metrics(name: &str) -> EngineMetrics {
    let counts = Counts { read: 9, forwarded: 4, folded: 0, filtered: 5, late: 0 };
    let operators =
        vec![OperatorCounts { operator: name.to_owned(), task: name.to_owned(), counts, state_bytes: 64 }];
    let task = TaskMetrics {
        task: name.to_owned(),
        operator: OperatorId(0),
        is_source: false,
        is_sink: true,
        state: TaskState::Running,
        state_ns: 1_500,
        records_in: 9,
        records_out: 4,
        bad: 0,
        ahead: 0,
        idled: 0,
        steps: u64::MAX,
        busy_ns: 12_000_000_001,
        ready_ns: 0,
        blocked_ns: 500_000_000,
        idle_ns: 1,
        held_bytes: 64,
        pending: 2,
        operators,
        stages: Vec::new(),
    };
    let counts = EdgeCounts { edge: name.to_owned(), written: 11, read: 9, pending: 2, marks_dropped: 1 };
    let mut latencies = Latencies::new();
    latencies.record(2_000);
    let query = QueryMetrics {
        query: name.to_owned(),
        serial: 1,
        aims: Aims { latency_target: Some(std::time::Duration::from_millis(800)), tokens_per_s: None },
        deadlines: 5,
        deadlines_met: 4,
        state: QueryState::Running,
        at: ProcessingTime::ZERO,
        span_ns: 0,
        events_in: 11,
        results_out: 4,
        watermark: Some(EventTime::from_micros(-1_500_000)),
        latency: latencies.summary(),
        latency_sum_ns: 2_000,
        latency_count: 1,
        output_delay: None,
        output_delay_sum_ns: 3_000,
        output_delay_count: 2,
        event_latency: None,
        event_latency_sum_ns: 4_000,
        event_latency_count: 2,
        tasks: vec![task],
        edges: vec![EdgeMetrics { counts, chunks: 2, chunk_bytes: 8_192 }],
    };
    let twin = QueryMetrics { serial: 2, watermark: Some(EventTime::MAX), latency: None, ..query.clone() };
    EngineMetrics {
        at: ProcessingTime::ZERO,
        queries_submitted: 2,
        scheduling_ns: 0,
        memory_used_bytes: 1,
        memory_peak_bytes: 2,
        is_relieving_memory: true,
        memory_reliefs: 2,
        memory_relief_ns: 1_500,
        memory_limit_bytes: 3,
        workers_asleep: 0,
        workers: vec![WorkerMetrics { cpu_ns: Some(7), wait_ns: None }; 2],
        process: ProcessMetrics { cpu_ns: Some(1), ..ProcessMetrics::default() },
        queries: vec![query, twin],
    }
}

/// Any names of queries and operators are unchanged after they were written as Prometheus text and parsed
/// again, and no other part of the text changes.
#[test]
fn any_name_survives() {
    let expected = parse(&metrics("plain").prometheus()).unwrap();
    for name in NAMES {
        let families = parse(&metrics(name).prometheus()).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        for (family, plain) in &expected {
            let renamed: BTreeMap<_, _> = plain
                .samples
                .iter()
                .map(|((sample, labels), value)| {
                    let rename = |(label, value): &(String, String)| {
                        (label.clone(), if value == "plain" { name.to_owned() } else { value.clone() })
                    };
                    ((sample.clone(), labels.iter().map(rename).collect::<Vec<_>>()), *value)
                })
                .collect();
            assert_eq!(families[family].samples, renamed, "{family} of {name:?}");
        }
    }
}

#[test]
fn samples_have_the_values_of_the_figures() {
    let families = parse(&metrics("q").prometheus()).unwrap();
    let check = |name: &str, labels: &str, expected: f64| {
        let mut labels: Vec<(String, String)> = labels
            .split_whitespace()
            .map(|label| label.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        labels.sort();
        let family = name.strip_suffix("_sum").unwrap_or(name);
        let found = families[family].samples.get(&(name.to_owned(), labels.clone())).copied();
        assert_eq!(found, Some(expected), "{name} {labels:?}");
    };
    check("thalweg_memory_limit_bytes", "", 3.0);
    check("thalweg_worker_cpu_seconds_total", "worker=1", 7e-9);
    check("thalweg_query_state", "query=q serial=1 state=running", 1.0);
    check("thalweg_query_state", "query=q serial=1 state=failed", 0.0);
    check("thalweg_query_watermark_seconds", "query=q serial=1", -1.5);
    check("thalweg_query_watermark_seconds", "query=q serial=2", f64::INFINITY);
    check("thalweg_query_latency_seconds", "query=q serial=1 quantile=0.99", 2e-6);
    check("thalweg_query_latency_seconds_sum", "query=q serial=2", 2e-6);
    check("thalweg_query_output_delay_seconds_sum", "query=q serial=1", 3e-6);
    check("thalweg_query_event_latency_seconds_sum", "query=q serial=1", 4e-6);
    check("thalweg_query_latency_target_seconds", "query=q serial=1", 0.8);
    check("thalweg_query_deadlines_met_total", "query=q serial=1", 4.0);
    check("thalweg_memory_relief_seconds_total", "", 1.5e-6);
    check("thalweg_memory_relieving", "", 1.0);
    check("thalweg_task_busy_seconds_total", "query=q serial=1 task=q", 12.000_000_001);
    check("thalweg_task_running_seconds", "query=q serial=1 task=q", 1.5e-6);
    check("thalweg_operator_records_filtered_total", "query=q serial=1 task=q operator=q", 5.0);
    check("thalweg_edge_chunk_bytes", "query=q serial=2 edge=q", 8_192.0);
    assert!(families["thalweg_worker_wait_seconds_total"].samples.is_empty(), "unknown, so not there");
}

/// The test parser of the Prometheus format refuses bad texts. Without this test, a parser that accepts
/// everything would pass.
#[test]
fn the_parser_is_strict() {
    let head = "# HELP a_total b\n# TYPE a_total counter\n";
    assert!(parse(&format!("{head}a_total{{x=\"1\",y=\"\\\"\"}} 1.5\na_total 2\n")).is_ok());
    for bad in [
        "a_total 1",
        "a_total  1\n",
        "a_total x\n",
        "a_total -1\n",
        "a_total NaN\n",
        "b_total 1\n",
        "a_total{x=\"1\" } 1\n",
        "a_total{x=\"1\",} 1\n",
        "a_total{x=1} 1\n",
        "a_total{x=\"\\t\"} 1\n",
        "a_total{x=\"\"\"} 1\n",
        "a_total{x=\"\n\"} 1\n",
        "a_total{2x=\"1\"} 1\n",
        "a_total 1\na_total 2\n",
        "a_total{x=\"1\",x=\"2\"} 1\n",
        "a_total 1 1700000000\n",
        "\n",
        "# HELP a_total b\n# TYPE a_total counter\n",
        "# TYPE b gauge\n",
        "# HELP b c\n",
        "# HELP b_total c\n# TYPE b_total gauge\n",
        "# HELP b \\\"\n# TYPE b gauge\n",
    ] {
        assert!(parse(&format!("{head}{bad}")).is_err(), "{bad:?}");
    }
    assert!(parse("a 1\n").is_err());
}

#[test]
fn summaries_of_nothing_have_no_quantiles() {
    let none: Option<LatencySummary> = metrics("q").queries[1].latency;
    assert_eq!(none, None);
    let families = parse(&metrics("q").prometheus()).unwrap();
    let summary = &families["thalweg_query_latency_seconds"];
    assert_eq!((summary.kind.as_str(), summary.samples.len()), ("summary", 4 + 2 + 2));
}

/// The HELP and TYPE lines of every metric are written exactly once, even if the engine has no queries.
#[test]
fn all_metrics_are_declared_once() {
    let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), ALL.len());
    let empty = EngineMetrics { queries: Vec::new(), workers: Vec::new(), ..metrics("q") };
    let declared = parse(&empty.prometheus()).unwrap();
    assert!(declared.keys().map(String::as_str).eq(names));
}

/// The page `docs/metrics.md` equals the table of metrics in the code; `UPDATE_GOLDEN=1` rewrites the page.
#[test]
fn the_reference_shows_the_table() {
    let path = "../../docs/metrics.md";
    let page = format!("{PAGE_HEAD}{}", table());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page, "run with UPDATE_GOLDEN=1 to renew it");
}

const PAGE_HEAD: &str = "\
# Metrics

Every metric of the engine, as `EngineMetrics::prometheus` writes it in the text format of Prometheus. Generated from
the table in `crates/runtime/src/metrics/prometheus.rs`; its [module](../crates/runtime/src/metrics.rs) tells how stale
figures may be and what they cost.

`query` is the name of a query, which another may have, too; `serial` tells them apart: 1 for the first query that the
engine took, and no number comes twice. `task`, `operator` and `edge` are the names in the plan, `worker` counts from 0.
A sample that the system does not tell, or that nobody has measured yet, is not there.

Rates and shares are for the one who asks to make: the share of time in which a task was busy is
`rate(thalweg_task_busy_seconds_total[1m])`, its cost per record that by `rate(thalweg_task_records_in_total[1m])`, its
selectivity `rate(thalweg_task_records_out_total[1m])` by the same. Busy, ready, blocked and idle add up to the time
that has passed, but for the step that runs now and for choices that are timed apart, one in 64. A task that is much
busy is the one to make faster; one that is much blocked waits for such a one downstream; one that is much ready waits
for a worker.

Nothing vanishes: of an edge, written is read and pending; of an operator, read is forwarded, folded, filtered and late.

";
