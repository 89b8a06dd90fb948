//! Tests of the command line of `figures`, and of the tables that it prints of made-up figures.

use serde_json::{Value, json};

use super::section::{Aim, Side};
use super::*;

const NAMES: &str = "speeds, sql, roads, latency, idle, load, queries, scaling, ablation, modes, disorder, early, load-two, load-taxis, machine";

#[test]
fn no_name_means_every_section() {
    let sections = NAMES.split(", ").collect();
    assert_eq!(planned(&[]), Ok(Plan { sections, rounds: 5, seconds: None }));
}

#[test]
fn names_choose_sections_and_options_make_them_short() {
    let plan = planned(&["load", "--rounds", "1", "speeds", "--seconds", "0.5", "load"]);
    assert_eq!(plan, Ok(Plan { sections: vec!["speeds", "load"], rounds: 1, seconds: Some(0.5) }));
}

#[test]
fn what_is_wrong_is_told() {
    for (arguments, told) in [
        (&["moon"][..], &*format!("unknown section `moon`: choose from {NAMES}")),
        (&["--fast"], &*format!("unknown section `--fast`: choose from {NAMES}")),
        (&["--rounds"], "--rounds takes a whole number, from 1 on"),
        (&["--rounds", "0"], "--rounds takes a whole number, from 1 on"),
        (&["--seconds", "idle"], "--seconds takes a number from 0.001 to 86400"),
        (&["--seconds", "0"], "--seconds takes a number from 0.001 to 86400"),
    ] {
        assert_eq!(planned(arguments).unwrap_err(), told, "{arguments:?}");
    }
}

/// Makes up the figures of a run from its options. A drained run does 100 million events a second, and one
/// million more in each run. A run at a rate does all that is offered.
fn made_up(options: &str, runs: usize) -> Value {
    let after = |name: &str| {
        let mut words = options.split_whitespace().skip_while(|word| *word != name);
        words.nth(1).and_then(|value| value.parse::<f64>().ok())
    };
    let queries = after("--queries").unwrap_or(1.0);
    let per_s = after("--rate").map_or(100e6 + 1e6 * runs as f64, |rate| rate * queries);
    let is_loop = options.contains("--api loop");
    json!({
        "queries": queries,
        "throughput_per_s": per_s,
        "query_throughput_per_s": if is_loop { json!(null) } else { json!([0.9 * per_s / queries, 1.1 * per_s / queries]) },
        "latency_us": { "mean": if options.contains("threads") { 70.0 } else { 60.0 }, "p50": 50.0, "p99": 2_000.0 },
        "cpu_s": 0.01 * after("--workers").unwrap(),
        "seconds": 2.0,
        "scheduling_share": if is_loop { json!(null) } else { json!(0.03) },
    })
}

/// Measures by a command line with made-up figures. Returns the page of tables, and the options of every run
/// in order.
fn measured(arguments: &[&str]) -> (String, Vec<String>) {
    let mut runs = Vec::new();
    let page = page(&planned(arguments).unwrap(), &mut |options| {
        runs.push(options.to_owned());
        Ok(made_up(options, runs.len() - 1))
    });
    (page.unwrap(), runs)
}

/// Rounds follow one another, and each kind of run is made once in a round. The rate of a loaded run follows
/// from the highest speed in its own round.
#[test]
fn rounds_are_interleaved_and_loads_follow_from_the_round_s_own_speed() {
    let (_, runs) = measured(&["load", "--rounds", "2"]);
    let expected = [
        "ysb --workers 1 --rate max --seconds 5",
        "ysb --workers 1 --rate 50000000 --seconds 10",
        "ysb --workers 1 --rate 80000000 --seconds 10",
        "ysb --workers 1 --rate max --seconds 5",
        "ysb --workers 1 --rate 51500000 --seconds 10",
        "ysb --workers 1 --rate 82400000 --seconds 10",
    ];
    assert_eq!(runs, expected);
}

/// If two sections have the same run, it is made once a round, and both read its figures.
#[test]
fn a_side_runs_once_a_round() {
    let (_, runs) = measured(&["speeds", "load", "--rounds", "1", "--seconds", "1"]);
    let expected = [
        "ysb --workers 1 --api loop-blocks --rate max --seconds 1",
        "ysb --workers 1 --isolate --rate max --seconds 1",
        "ysb --workers 1 --api loop-chains --rate max --seconds 1",
        "ysb --workers 1 --rate max --seconds 1",
        "ysb --workers 1 --api loop-fused --rate max --seconds 1",
        "ysb --workers 1 --chain all --rate max --seconds 1",
        "ysb --workers 2 --parallel serial --rate max --seconds 1",
        "ysb --workers 1 --rate 51500000 --seconds 1",
        "ysb --workers 1 --rate 82400000 --seconds 1",
    ];
    assert_eq!(runs, expected);
}

#[track_caller]
fn check(section: &str, tables: &str) {
    assert_eq!(measured(&[section, "--rounds", "3"]).0, tables);
}

#[test]
fn the_table_of_speeds() {
    check(
        "speeds",
        "\
| YSB, M events/s | median | least..most | of its ceiling | target |
|---|---|---|---|---|
| hand-written, a loop per operator (`--api loop-blocks`) | 107 | 100..114 | - | - |
| engine, a task per operator (`--isolate`) | 108 | 101..115 | 1.01 | at least 0.80 of it |
| hand-written, two chains (`--api loop-chains`) | 109 | 102..116 | - | - |
| engine, default chains | 110 | 103..117 | 1.01 | at least 0.80 of it |
| hand-written, one loop (`--api loop-fused`) | 111 | 104..118 | - | - |
| engine, one task (`--chain all`) | 112 | 105..119 | 1.01 | - |
| engine, default chains, two workers, `--parallel serial` | 113 | 106..120 | 1.04 | - |

| choosing tasks, of the time that workers were awake | median | least..most | target |
|---|---|---|---|
| engine, a task per operator (`--isolate`) | 3.00 % | 3.00..3.00 % | at most 5.00 % |
| engine, default chains | 3.00 % | 3.00..3.00 % | at most 5.00 % |
| engine, one task (`--chain all`) | 3.00 % | 3.00..3.00 % | at most 5.00 % |
| engine, default chains, two workers, `--parallel serial` | 3.00 % | 3.00..3.00 % | at most 5.00 % |
",
    );
}

#[test]
fn the_table_of_roads() {
    let (page, runs) = measured(&["roads", "--rounds", "3"]);
    let expected = "\
| Linear Road and NYT, M events/s | median | least..most | of its ceiling | target |
|---|---|---|---|---|
| Linear Road by hand, a loop per operator (`lrb --api loop-blocks`) | 105 | 100..110 | - | - |
| Linear Road, default chains (`lrb`) | 106 | 101..111 | 1.01 | at least 0.60 of it |
| Linear Road, two workers, `--parallel serial` | 107 | 102..112 | 1.02 | - |
| taxis, 60 s (`nyt`) | 108 | 103..113 | - | - |
| taxis, 120 s every 30 s (`nyt --window 120s --slide 30s`) | 109 | 104..114 | 1.01 | - |
";
    assert!(page.starts_with(expected), "{page}");
    assert_eq!(runs[4], "nyt --workers 1 --window 120s --slide 30s --rate max --seconds 5");
}

#[test]
fn the_table_of_latencies() {
    check(
        "latency",
        "\
| YSB at 1,000 events/s, default chains | median | least..most | target |
|---|---|---|---|
| one worker, p50 | 50.0 us | 50.0..50.0 us | at most 60.0 us |
| one worker, p99 | 2000 us | 2000..2000 us | at most 600 us: missed |
| one worker, CPU, of one core | 0.50 % | 0.50..0.50 % | at most 5.00 % |
| two workers, p50 | 50.0 us | 50.0..50.0 us | at most 60.0 us |
| two workers, p99 | 2000 us | 2000..2000 us | at most 600 us: missed |
| two workers, CPU, of one core | 1.00 % | 1.00..1.00 % | at most 5.00 % |

| choosing tasks, of the time that workers were awake | median | least..most | target |
|---|---|---|---|
| 1,000 events/s, one worker | 3.00 % | 3.00..3.00 % | - |
| 1,000 events/s, two workers | 3.00 % | 3.00..3.00 % | - |
",
    );
}

/// In the table of the modes of execution, the target for an engine with workers is the median of an engine
/// with a thread per operator: workers should be no slower.
#[test]
fn the_table_of_modes() {
    let (page, runs) = measured(&["modes", "--rounds", "1"]);
    let expected = "\
| YSB, two workers, mean latency | median | least..most | target |
|---|---|---|---|
| 1000 events/s, workers | 60.0 us | 60.0..60.0 us | at most 70.0 us |
| 1000 events/s, a thread per operator | 70.0 us | 70.0..70.0 us | - |
";
    assert!(page.starts_with(expected), "{page}");
    let options =
        "ysb --workers 2 --parallel serial --isolate --rate 147000000 --execution threads --seconds 2";
    assert_eq!((runs.len(), runs[19].as_str()), (20, options));
}

#[test]
fn the_table_of_the_idle_engine() {
    check(
        "idle",
        "\
| 20 YSB queries at 1 event/s each, default chains | median | least..most | target |
|---|---|---|---|
| one worker, CPU, of one core | 0.50 % | 0.50..0.50 % | at most 2.00 % |
| two workers, CPU, of one core | 1.00 % | 1.00..1.00 % | at most 2.00 % |
",
    );
}

#[test]
fn the_table_of_loads() {
    let (page, _) = measured(&["load", "--rounds", "1"]);
    let expected = "\
| YSB, one worker at a share of its speed | median | least..most | target |
|---|---|---|---|
| at 0.5, p50 | 50.0 us | 50.0..50.0 us | - |
| at 0.5, p99 | 2000 us | 2000..2000 us | at most 1000 us: missed |
| at 0.5, done of what was offered | 1.00 | 1.00..1.00 | at least 0.99 |
| at 0.8, p50 | 50.0 us | 50.0..50.0 us | - |
| at 0.8, p99 | 2000 us | 2000..2000 us | at most 3000 us |
| at 0.8, done of what was offered | 1.00 | 1.00..1.00 | at least 0.99 |
";
    assert!(page.starts_with(expected), "{page}");
}

#[test]
fn the_table_of_many_queries() {
    let (page, runs) = measured(&["queries", "--rounds", "1"]);
    let expected = "\
| YSB, M events/s, two workers, a task per operator | median | least..most | target |
|---|---|---|---|
| one query | 100 | 100..100 | - |
| eight queries, in all | 101 | 101..101 | - |
| eight queries against one | 1.01 | 1.01..1.01 | at least 0.90 |
| at 0.95 of that: done of what was offered | 1.00 | 1.00..1.00 | at least 0.99 |
| at 0.95 of that: the least of a query, in eighths of all | 0.90 | 0.90..0.90 | at least 0.90 |
| at 0.95 of that: the most of a query, in eighths of all | 1.10 | 1.10..1.10 | at most 1.10 |
";
    assert!(page.starts_with(expected), "{page}");
    let expected = [
        "ysb --workers 2 --chain none --rate max --seconds 5",
        "ysb --workers 2 --chain none --queries 8 --rate max --seconds 5",
        "ysb --workers 2 --chain none --queries 8 --rate 11993750 --seconds 5",
    ];
    assert_eq!(runs, expected);
}

/// A run that fails ends the command. A run whose results are wrong counts as failed.
#[test]
fn a_run_that_fails_ends_the_whole() {
    let plan = planned(&["idle"]).unwrap();
    let error = page(&plan, &mut |_| anyhow::bail!("not ok")).unwrap_err();
    assert_eq!(error.to_string(), "not ok");
    let error = page(&plan, &mut |_| Ok(json!({ "cpu_s": null }))).unwrap_err();
    assert_eq!(error.to_string(), "no number at /cpu_s of {\"cpu_s\":null}");
}

/// The table of the machine's stops needs no run of the program. Its figures differ from run to run, so only
/// titles are compared.
#[test]
fn the_table_of_the_machine() {
    let (page, runs) = measured(&["machine", "--rounds", "2", "--seconds", "0.001"]);
    let titles: Vec<&str> = page.lines().filter_map(|row| row.split(" | ").next()).collect();
    let expected = [
        "| stops of a thread that only looks at the clock",
        "|---|---|---|---|",
        "| the longest",
        "| longer than 1 ms, in a second",
        "| all of them, of its time",
    ];
    assert_eq!((titles, runs.len()), (expected.to_vec(), 0));
}

/// Every line is compared with a run of its own workload, and speeds are bounded by hand-written loops. A
/// ratio to the wrong line would say nothing.
#[test]
fn lines_are_compared_with_their_own_workload_and_bounds_of_speeds_with_loops() {
    for (name, make) in SECTIONS {
        let sides = make().sides;
        let workload = |options: &str| options.split(' ').next().map(str::to_owned);
        let lines = sides.iter().flat_map(|side| side.lines.iter().map(move |line| (side, &line.aim)));
        for (Side { title, options, .. }, aim) in lines {
            let Aim::OfCeiling(ceiling, bound) = aim else { continue };
            let is_of_own_workload = workload(ceiling) == workload(options);
            assert!(
                is_of_own_workload && sides.iter().any(|side| side.options == *ceiling),
                "{name}: {title}"
            );
            let needs_loop = bound.is_some() && ["speeds", "roads"].contains(&name);
            assert!(!needs_loop || ceiling.contains("--api"), "{name}: {title}");
        }
    }
}
