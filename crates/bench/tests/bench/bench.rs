//! `thalweg bench` from end to end: its JSON, its results, its loops, and early ends.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::figures::{HEADER, trip};
use crate::support::{Folder, Ran};

/// Names of the fields in the JSON output that scripts rely on.
const STABLE_FIELDS: &str = "workload api policy memory execution parallel ablate chain workers queries offered_per_s \
                             throughput_per_s query_throughput_per_s operator_throughput_per_s events_in results_out late bad filtered unanswered seconds latency_us output_delay_us target_delay_us \
                             result_latency_us event_latency_us overdue processing_latency_us waiting_outside_us \
                             deadlines_met \
                             success_rate slowdown queue_cv cpu_s \
                             rss_peak_bytes scheduling_share ok check";

fn assert_right(figures: &Value) {
    for field in STABLE_FIELDS.split_whitespace() {
        assert!(figures.get(field).is_some(), "{field} is missing in {figures}");
    }
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert!(figures["seconds"].as_f64().unwrap() > 0.0, "{figures}");
    assert!(figures["rss_peak_bytes"].as_u64().unwrap() > 1 << 20, "{figures}");
}

#[test]
fn recorded_trips_give_their_results() {
    let folder = Folder::new("nyt_recorded");
    let far = trip("00:01:30").replace("3.00", "4.50");
    let elsewhere = trip("00:02:59").replace("-73.985", "-73.982");
    let other_vendor = trip("00:03:00").replace("VTS", "CMT");
    let nowhere = trip("00:03:01").replace("-73.985", "0").replace("40.748", "0");
    let lines = [HEADER, &trip("00:01:00"), &far, &elsewhere, &other_vendor, &nowhere, &trip("00:03:02")];
    folder.write("trips.csv", lines.join("\n"));
    let figures = folder.json("bench nyt --input trips.csv --window 60s --results out");
    assert_right(&figures);
    assert_eq!((&figures["workload"], &figures["api"]), (&"nyt".into(), &"typed".into()));
    assert_eq!(
        (&figures["events_in"], &figures["filtered"], &figures["bad"]),
        (&6.into(), &2.into(), &0.into())
    );
    assert_eq!((&figures["offered_per_s"], &figures["latency_us"]), (&Value::Null, &Value::Null));
    assert_eq!(figures["processing_latency_us"], Value::Null);
    let mut rows: Vec<String> = folder.text("out/nyt.csv").unwrap().lines().map(str::to_owned).collect();
    rows.sort();
    // The first window begins at 00:01 of 1 January 2013; midnight is 1,356,998,400 s after 1970.
    assert_eq!(rows, ["1356998460,311,325,2,3.75", "1356998520,312,325,1,3.0", "1356998580,311,325,1,3.0"]);
    assert_eq!(folder.text("out/nyt.bad.csv"), None, "no bad lines, no file for them");

    // Columns may be separated by commas and blanks, as in the Commission's own files.
    let lines = [HEADER.replace(',', ", "), trip("00:01:00")];
    folder.write("blanks.csv", lines.join("\n"));
    let figures = folder.json("bench nyt --input blanks.csv --window 60s");
    assert_right(&figures);
    assert_eq!((&figures["events_in"], &figures["results_out"]), (&1.into(), &1.into()));
}

#[test]
fn generated_events_give_the_reference_s_results() {
    let folder = Folder::new("ysb_generated");
    let figures = folder.json("bench ysb --seconds 0.2 --warmup 0.1 --results out");
    assert_right(&figures);
    assert_eq!((&figures["chain"], &figures["workers"]), (&"default".into(), &1.into()));
    let [of_sources, of_operators] =
        ["throughput_per_s", "operator_throughput_per_s"].map(|name| figures[name].as_f64().unwrap());
    // Each event is made by the source and read by the filter.
    assert!(0.0 < of_sources && 1.9 * of_sources < of_operators, "{figures}");
    let rows = folder.text("out/ysb.csv").unwrap().lines().count();
    assert_eq!(figures["results_out"], rows);

    let figures = folder.json("bench nyt --seconds 0.1 --warmup 0");
    assert!(figures["ok"].as_bool().unwrap(), "{figures}");

    // Records come out of order, as fast as possible or at a rate, with several windows and numbers of
    // workers.
    for run in
        ["ysb", "ysb --window 500ms --slide 100ms", "nyt", "nyt --rate 50k", "ysb --rate 50k --workers 2"]
    {
        for bound in ["7ms", "20s"] {
            let run = format!("bench {run} --out-of-order {bound} --seconds 0.1 --warmup 0");
            let figures = folder.json(&run);
            assert_right(&figures);
            assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{run}: {figures}");
        }
    }
}

#[test]
fn windows_may_slide() {
    let folder = Folder::new("slide");
    let lines = [HEADER, &trip("00:01:00"), &trip("00:01:45").replace("3.00", "4.50")];
    folder.write("trips.csv", lines.join("\n"));
    let figures = folder.json("bench nyt --input trips.csv --window 60s --slide 30s --results out");
    assert_right(&figures);
    let mut rows: Vec<String> = folder.text("out/nyt.csv").unwrap().lines().map(str::to_owned).collect();
    rows.sort();
    // The number 1,356,998,460 is the time 00:01:00 in seconds.
    let starts = ["1356998430,311,325,1,3.0", "1356998460,311,325,2,3.75", "1356998490,311,325,1,4.5"];
    assert_eq!(rows, starts);

    for (run, size, slide) in [("ysb", "10s", "2500ms"), ("ysb", "70ms", "30ms"), ("nyt", "3s", "2s")] {
        let run = format!("bench {run} --seconds 0.1 --warmup 0 --window {size} --slide {slide}");
        assert_right(&folder.json(&run));
    }
}

#[test]
fn chains_are_cut_as_asked() {
    let folder = Folder::new("chains");
    for chain in ["none", "default", "all"] {
        let figures = folder
            .json(&format!("bench ysb --seconds 0.1 --warmup 0 --chain {chain} --queries 2 --workers 2"));
        assert_right(&figures);
        assert_eq!(figures["chain"], chain);
    }
}

#[test]
fn operators_can_be_isolated() {
    let figures = Folder::new("isolate").json("bench ysb --seconds 0.1 --warmup 0 --isolate --workers 2");
    assert_right(&figures);
    assert_eq!((&figures["chain"], &figures["workers"]), (&"none".into(), &2.into()));
}

/// The figures tell the parameters of the policy by name, those that options set and those that the policy has.
#[test]
fn figures_tell_the_parameters_of_the_policy() {
    let folder = Folder::new("policy_parameters");
    let run = "bench ysb --seconds 0.05 --warmup 0 --policy";
    let parameters = |policy: &str| folder.json(&format!("{run} {policy}"))["policy_parameters"].clone();
    let klink = parameters("klink --klink-r 60ms --klink-h 100");
    assert_eq!((&klink["cycle_ns"], &klink["epochs"]), (&60_000_000.into(), &100.into()), "{klink}");
    assert_eq!(
        (&klink["memory_share"], &klink["relief"]),
        (&0.8.into(), &"largest_release".into()),
        "{klink}"
    );
    let cameo = parameters("cameo_llf");
    assert_eq!(
        (&cameo["grain_ns"], &cameo["latency_target_ns"]),
        (&1_000_000.into(), &1_000_000_000.into()),
        "{cameo}"
    );
    let enjima = parameters("enjima --round 2ms");
    assert_eq!(
        (&enjima["round_ns"], &enjima["output_cost"]),
        (&2_000_000.into(), &"path".into()),
        "{enjima}"
    );
    assert_eq!(enjima["event_threshold_records_start"], 1_000.0);
}

#[test]
fn loops_give_the_same_results() {
    let folder = Folder::new("loops");
    for api in ["loop-blocks", "loop-selection", "loop-chains", "loop-fused"] {
        let figures = folder.json(&format!("bench ysb --seconds 0.05 --warmup 0.01 --api {api}"));
        assert_right(&figures);
        assert_eq!((&figures["api"], &figures["policy"]), (&api.into(), &Value::Null));
        assert_eq!(figures["policy_parameters"], Value::Null);
    }
}

/// With SQL the rows equal those of the reference, also for several queries and workers.
#[test]
fn sql_gives_the_same_results() {
    let folder = Folder::new("sql");
    for more in ["", " --queries 2", " --workers 2", " --chain none --nominal-rate 100k"] {
        let figures = folder.json(&format!("bench ysb --api sql --seconds 0.3 --warmup 0.05{more}"));
        assert_right(&figures);
        assert_eq!((&figures["api"], &figures["policy"]), (&"sql".into(), &"enjima".into()));
        assert_eq!(figures["policy_parameters"]["min_quantum_records"], 1_000);
        assert!(figures["events_in"].as_u64() > Some(100_000), "rows are counted, not batches: {figures}");
    }
}

#[test]
fn at_a_rate_latency_is_measured() {
    let figures = Folder::new("rate").json("bench ysb --seconds 0.3 --warmup 0.1 --rate 20000");
    assert_right(&figures);
    assert_eq!(figures["offered_per_s"], 20_000);
    let latency = &figures["latency_us"];
    assert!(latency["count"].as_u64().unwrap() > 0, "{figures}");
    let quantiles = ["p50", "p90", "p95", "p99", "max"].map(|name| latency[name].as_f64().unwrap());
    assert!(latency.get("p999").is_none(), "there are too few: {figures}");
    assert!(0.0 < quantiles[0] && quantiles.is_sorted(), "{figures}");
    let stdev = latency["stdev"].as_f64().unwrap();
    assert!((0.0..=quantiles[4]).contains(&stdev), "{figures}");
    // Latency inside the engine begins when a record is taken in, which is not before it should have been sent.
    let inside = &figures["processing_latency_us"];
    assert!(inside["count"].as_u64().unwrap() > 0, "{figures}");
    let median = inside["p50"].as_f64().unwrap();
    assert!(0.0 < median && median <= quantiles[4], "{figures}");
}

/// The 99.9th percentile is one of thousands of markers: of each record at low rates, and one every millisecond
/// above.
#[test]
fn high_percentiles_come_of_thousands_of_markers() {
    let folder = Folder::new("p999");
    for rate in ["10k", "200k"] {
        let figures = folder.json(&format!("bench ysb --seconds 2.5 --warmup 0.1 --rate {rate} --workers 2"));
        assert_right(&figures);
        let latency = &figures["latency_us"];
        assert!(latency["count"].as_u64() >= Some(2_000), "{figures}");
        let [p99, p999, max] = ["p99", "p999", "max"].map(|name| latency[name].as_f64().unwrap());
        assert!(p99 <= p999 && p999 <= max, "{figures}");
    }
    let ran = folder.run("bench ysb --seconds 0.2 --warmup 0.1 --rate 200k");
    assert!(ran.stdout.contains(" markers; p99.9 takes 2000)"), "{ran:?}");
}

/// With another number of keys the reference gives the same results, in any order and load.
#[test]
fn keys_are_as_many_as_asked_for() {
    let folder = Folder::new("keys");
    let of_ysb = "bench ysb --seconds 0.2 --warmup 0.05 --keys";
    for more in [
        "1",
        "50k --workers 2 --nominal-rate 100k",
        "1M --memory-budget 2GiB",
        "7 --rate 50k --window 100ms --slide 20ms",
        "300 --rate 50k --out-of-order 5ms --queries 2",
        "30 --cyclic --late-share 10",
        "100 --rate 20k --window 50ms --deploy-within 100ms --queries 2",
    ] {
        assert_right(&folder.json(&format!("{of_ysb} {more}")));
    }
    for (workload, keys) in [("netmon", "100k"), ("ipq1", "10k"), ("ipq2", "3"), ("join", "20M")] {
        let run = format!("bench {workload} --keys {keys} --seconds 0.2 --warmup 0.05");
        assert_right(&folder.json(&run));
    }
    // The keys are in the results: three windows of a second or more have all of them.
    let run = "bench ysb --keys 1000 --seconds 0.3 --warmup 0 --nominal-rate 100k --window 1s --results out";
    assert_right(&folder.json(run));
    let rows = folder.text("out/ysb.csv").unwrap();
    let campaigns: std::collections::BTreeSet<&str> =
        rows.lines().filter_map(|row| row.split(',').nth(1)).collect();
    assert_eq!(campaigns.len(), 1_000, "{} campaigns", campaigns.len());
}

/// If more is offered than is taken, records wait in front of the source, and the queues are uneven.
#[test]
fn queues_are_measured() {
    let figures = Folder::new("queues").json("bench ysb --seconds 0.4 --warmup 0.1 --rate 500M");
    assert_right(&figures);
    assert!(figures["queue_cv"].as_f64().is_some_and(|cv| 0.0 < cv && cv <= 1.0), "{figures}");
}

/// At a given rate windows of 50 ms end during the measurement, so that the output delay is measured. If no
/// window ends, there is no output delay.
#[test]
fn at_a_rate_output_delay_is_measured() {
    let folder = Folder::new("output_delay");
    let figures = folder.json("bench ysb --seconds 0.5 --warmup 0.1 --rate 20000 --window 50ms");
    assert_right(&figures);
    let delay = &figures["output_delay_us"];
    let count = delay["count"].as_u64().unwrap();
    // The bound counts all windows that end until the sources have ended. A machine that is held up sees
    // fewer.
    let most = (figures["seconds"].as_f64().unwrap() + 0.1) / 0.05 + 2.0;
    assert!(1 <= count && count as f64 <= most, "{figures}");
    let quantiles = ["p50", "p90", "p95", "p99", "max"].map(|name| delay[name].as_f64().unwrap());
    assert!(0.0 < quantiles[0] && quantiles.is_sorted(), "{figures}");
    // Result latency counts from the end of a window by event time; the watermark comes a moment later.
    let since_end = &figures["result_latency_us"];
    // The two counts are read one after the other, and a window may end in between.
    assert!(since_end["count"].as_u64().unwrap().abs_diff(count) <= 1, "{figures}");
    assert!(since_end["mean"].as_f64().is_some_and(|mean| mean < 1e6), "{figures}");
    assert_eq!(figures["success_rate"], Value::Null, "there is no target: {figures}");
    // With the closings that are on their way at the end there are as many delays or more.
    let (overdue, closings) = (&figures["overdue"], figures["overdue"]["closings"].as_u64().unwrap());
    assert_eq!(overdue["output_delay_us"]["count"].as_u64().unwrap(), count + closings, "{figures}");
    assert_eq!(overdue["unmeasured_closings"], 0, "{figures}");
    assert!(figures["slowdown"].as_f64().is_some_and(|slowdown| slowdown > 0.0), "{figures}");
    let figures = folder.json("bench ysb --seconds 0.1 --warmup 0 --rate 20000 --window 10000h");
    assert_eq!((&figures["output_delay_us"], &figures["result_latency_us"]), (&Value::Null, &Value::Null));
    let drained = folder.json("bench ysb --seconds 0.1 --warmup 0 --window 1ms");
    let unknown = (&Value::Null, &Value::Null);
    assert_eq!((&drained["result_latency_us"], &drained["slowdown"]), unknown, "{drained}");
}

/// Event latency counts from the arrival of the record that closes the window, which is when it was to be
/// sent. So it is as long as the output delay and the wait of that record. Results that are overdue are
/// missed.
#[test]
fn at_a_rate_event_latency_is_measured() {
    let folder = Folder::new("event_latency");
    let line = "bench ysb --seconds 0.5 --warmup 0.1 --rate 20000 --window 50ms --latency-target";
    let figures = folder.json(&format!("{line} 1h"));
    assert_right(&figures);
    let [event, delay] = ["event_latency_us", "output_delay_us"].map(|field| &figures[field]);
    // The counts are taken one after the other, and a window may end in between.
    let [events, delays] = [event, delay].map(|latency| latency["count"].as_u64().unwrap());
    assert!(1 <= events && events.abs_diff(delays) <= 1, "{figures}");
    // A record is to be sent every 50 us, and waits until its source runs.
    assert!(0.0 < event["p50"].as_f64().unwrap(), "{figures}");
    let overdue = &figures["overdue"]["event_latency_us"];
    assert!(events <= overdue["count"].as_u64().unwrap(), "{figures}");
    assert_eq!(
        (&figures["success_rate"], &figures["deadlines_met"]),
        (&1.0.into(), &1.0.into()),
        "{figures}"
    );
    // Hardly any result is out within a microsecond of its last event.
    let figures = folder.json(&format!("{line} 1us"));
    assert!(figures["success_rate"].as_f64().unwrap() < 0.5, "{figures}");
    let drained = folder.json("bench ysb --seconds 0.1 --warmup 0 --window 1ms --latency-target 1h");
    assert_eq!((&drained["success_rate"], &drained["overdue"]), (&Value::Null, &Value::Null), "{drained}");
    assert!(drained["event_latency_us"]["count"].is_u64(), "{drained}");
}

/// Windows of 10 s fire every 100 ms if event time runs a hundred times as fast as the clock. The results equal
/// those of the reference, and none of them has a latency by the clock.
#[test]
fn event_time_may_run_faster_than_the_clock() {
    let folder = Folder::new("time_scale");
    let figures = folder.json("bench ysb --seconds 1 --warmup 0.1 --rate 20000 --time-scale 100");
    assert_right(&figures);
    for field in ["output_delay_us", "event_latency_us"] {
        assert!(figures[field]["count"].as_u64().unwrap() >= 3, "{figures}");
    }
    let unknown = (&Value::Null, &Value::Null);
    assert_eq!((&figures["result_latency_us"], &figures["slowdown"]), unknown, "{figures}");
    let overdue = &figures["overdue"];
    assert!(overdue["markers"].is_u64() && overdue["latency_us"]["mean"].is_f64(), "{figures}");
    for figure in ["results", "result_latency_us", "event_latency_us", "results_in_time"] {
        assert_eq!(overdue[figure], Value::Null, "{figures}");
    }
    for (options, told) in [
        ("--time-scale 100", "--time-scale is for records that come at a rate"),
        ("--rate 20001 --time-scale 100", "--time-scale is 100, but must divide the rate"),
        ("--rate 20000 --time-scale 100 --policy klink", "--policy klink compares event time with the clock"),
        ("--rate 20000 --time-scale 0", "`0` is no whole number from 1 to 1000"),
    ] {
        let ran = folder.run(&format!("bench ysb {options}"));
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran:?}");
    }
}

/// Windows of queries deployed at different times end at different times, and the reference takes this into
/// account.
#[test]
fn queries_that_are_deployed_at_random_are_right() {
    let folder = Folder::new("deployed");
    let options =
        "--queries 4 --deploy-within 300ms --rate 20000 --window 50ms --selectivity-steps 200ms:0.6";
    let figures = folder.json(&format!("bench ysb --seconds 0.3 --warmup 0.1 {options}"));
    assert_right(&figures);
    assert_eq!(figures["check"], "oracle-equal", "{figures}");
    let sliding = folder.json(&format!("bench ysb --seconds 0.2 --warmup 0.1 {options} --slide 20ms"));
    assert_right(&sliding);
}

/// A rate that keeps the mean delay within a second is found at once; a rate that keeps it within a microsecond
/// is never found.
#[test]
fn a_rate_is_found_by_its_output_delay() {
    let folder = Folder::new("target_delay");
    let line = "--warmup 0.05 --window 20ms --target-delay";
    let figures = folder.json(&format!("bench ysb --seconds 1 {line} 1s"));
    assert_right(&figures);
    assert_eq!(figures["target_delay_us"], 1_000_000, "{figures}");
    assert!(figures["offered_per_s"].as_u64().unwrap() > 0, "{figures}");
    assert!(figures["output_delay_us"]["mean"].as_f64().unwrap() <= 1e6, "{figures}");
    let ran = folder.run(&format!("bench ysb --seconds 0.2 {line} 1us"));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    // On a busy machine no window may close during a run.
    let is_missed = ran.stderr.contains("offered: output delay") && ran.stderr.contains("missed");
    assert!(is_missed || ran.stderr.contains("nothing was closed in 0.2 s"), "{}", ran.stderr);
    let ran = folder.run("bench ysb --seconds 0.1 --warmup 0 --window 10000h --target-delay 1s");
    assert!(ran.code == 1 && ran.stderr.contains("nothing was closed in 0.1 s"), "{}", ran.stderr);
}

/// Mechanisms that are switched off are reported and change no result. A policy that lacks such a mechanism
/// refuses to switch it off.
#[test]
fn what_is_switched_off_is_told() {
    let folder = Folder::new("ablate");
    let line = "bench ysb --seconds 0.1 --warmup 0 --window 20ms --ablate no-priority";
    let figures = folder.json(&format!("{line} --ablate in-order-epochs --policy streambox"));
    assert_right(&figures);
    assert_eq!(figures["ablate"], serde_json::json!(["in-order-epochs", "no-priority"]));
    let ran = folder.run("bench ysb --seconds 0.1 --warmup 0 --parallel serial --ablate no-locality");
    assert!(
        ran.stderr.contains("--ablate no-locality has no effect without --parallel epochs"),
        "{}",
        ran.stderr
    );
    let ran = folder.run(line);
    assert!(
        ran.code == 2 && ran.stderr.contains("--ablate no-priority is for --policy streambox"),
        "{}",
        ran.stderr
    );
}

/// The rate is meant for each query, and the figures cover all queries. Each query has its own file of
/// results, and together the files have as many rows as were counted.
#[test]
fn several_queries_run_at_once() {
    let folder = Folder::new("queries");
    let figures = folder
        .json("bench ysb --queries 3 --workers 2 --rate 20000 --seconds 0.3 --warmup 0.1 --results out");
    assert_right(&figures);
    assert_eq!((&figures["queries"], &figures["offered_per_s"]), (&3.into(), &60_000.into()));
    let number = |figure: &Value| figure.as_f64().unwrap();
    let [least, most] = [0, 1].map(|index| number(&figures["query_throughput_per_s"][index]));
    let third = number(&figures["throughput_per_s"]) / 3.0;
    // Rounding may put all three figures slightly above their mean.
    assert!(0.0 < least && least <= third * 1.001 && third <= most * 1.001, "{figures}");
    let rows = |query: u32| folder.text(&format!("out/ysb-{query}.csv")).unwrap().lines().count();
    assert_eq!(figures["results_out"], rows(1) + rows(2) + rows(3));
    assert_eq!(folder.text("out/ysb.csv"), None);

    let figures = folder.json("bench nyt --queries 2 --chain none --rate 20000 --seconds 0.1 --warmup 0");
    assert_right(&figures);
    assert_eq!((&figures["queries"], &figures["chain"]), (&2.into(), &"none".into()));
}

/// With one record a second for each of 20 queries, the workers are idle most of the time.
#[test]
fn many_queries_with_next_to_nothing_to_do() {
    let figures = Folder::new("idle").json("bench ysb --queries 20 --rate 1 --seconds 1.2 --warmup 0");
    assert_right(&figures);
    assert_eq!((&figures["queries"], &figures["offered_per_s"]), (&20.into(), &20.into()));
    // The first records of all queries are due at once, and the second records one second later. There are
    // more records only if the run takes longer on a busy machine.
    let (events, seconds) = (figures["events_in"].as_u64().unwrap(), figures["seconds"].as_f64().unwrap());
    assert!(40 <= events && events as f64 <= 20.0 * (seconds + 20.0), "{figures}");
    // A worker that does not sleep would take all of the time.
    assert!(figures["cpu_s"].as_f64().unwrap() < 0.8 * seconds, "{figures}");
}

/// Each repetition of a run prints a line of its own.
#[test]
fn runs_are_repeated() {
    let ran = Folder::new("repeat").run("bench ysb --seconds 0.05 --warmup 0 --repeat 3 --output json");
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 3), "{ran:?}");
}

#[test]
fn figures_for_people() {
    let ran = Folder::new("text").run("bench ysb --seconds 0.1 --warmup 0 --rate 20000");
    let starts: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with("       "))
        .map(|line| line.split("  ").find(|word| !word.is_empty()).unwrap())
        .collect();
    let head = "ysb (typed, chain default, serial, 1 worker, 20.0 k/s offered)";
    let measures = ["throughput", "results", "latency", "inside", "cost", "check"];
    assert_eq!((starts[0], &starts[1..]), (head, measures.as_slice()), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("  check       ok (oracle-equal)\n"), "{}", ran.stdout);
}

#[test]
fn figures_of_several_queries_for_people() {
    let ran = Folder::new("text_queries").run("bench ysb --seconds 0.1 --warmup 0 --queries 2 --rate 20000");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[0], "ysb (typed, chain default, serial, 1 worker, 2 queries, 40.0 k/s offered)",
        "{}",
        ran.stdout
    );
    let per_query = lines[2];
    assert!(per_query.starts_with("  per query   ") && per_query.ends_with(" at most"), "{}", ran.stdout);
    assert!(per_query.contains("/s at least, "), "{}", ran.stdout);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
}

/// At the first Ctrl-C the run drains and reports what it has so far. The runs that would follow do not start.
#[test]
fn an_interrupt_drains_and_reports() {
    let folder = Folder::new("interrupt");
    for line in [
        "bench ysb --seconds 600 --repeat 9",
        "bench nyt --warmup 600 --rate 1000",
        "bench lrb --seconds 600",
        "bench lrb-full --seconds 600 --rate 1000",
        "bench ysb --queries 3 --deploy-within 1h --rate 1000",
    ] {
        let mut command = folder.command(&format!("{line} --output json"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        // A signal before the handler is installed ends the process, so the test first waits until the system
        // reports the handler.
        while !catches_interrupts(child.id()) {
            sleep(Duration::from_millis(5));
        }
        kill_process(pid, Signal::INT).unwrap();
        let ran = Ran::of(line, child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{ran:?}");
        let figures: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_right(&figures);
        assert_eq!(figures["interrupted"], true);
    }
}

/// Returns whether the process has a handler for SIGINT, which is signal 2.
pub fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

/// If its output is closed early, as in `thalweg bench ... | head -1`, the program ends without panic and
/// message.
#[test]
fn a_closed_pipe_ends_it_in_silence() {
    let mut command = Folder::new("closed_pipe").command("bench ysb --seconds 0.05 --warmup 0 --repeat 1000");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("ysb ("), "{first}");
    let ran = Ran::of("bench | head -1", child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (141, ""));
}
