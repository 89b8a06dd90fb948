//! `thalweg bench nexmark-q0` to `nexmark-q22` from end to end.

use serde_json::Value;

use crate::support::Folder;

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"conservation".into()), "{figures}");
    assert_eq!(figures["api"], "sql");
    assert!(figures["events_in"].as_u64() > Some(0), "{figures}");
    assert_eq!(figures["late"], 0, "{figures}");
}

/// Every query is drained, on one worker and on two.
#[test]
fn every_query_is_drained() {
    let folder = Folder::new("nexmark_drained");
    for number in (0..=22).filter(|number| *number != 6) {
        let results = if number == 10 { "--results out" } else { "" };
        for workers in ["--workers 1", "--workers 2"] {
            let run = format!("bench nexmark-q{number} --seconds 0.1 --warmup 0 {workers} {results}");
            let figures = folder.json(&run);
            assert_right(&figures);
            assert_eq!(figures["workload"], format!("nexmark-q{number}"));
            assert_eq!((&figures["offered_per_s"], &figures["latency_us"]), (&Value::Null, &Value::Null));
        }
    }
    assert!(folder.path("out/nexmark-q10").is_dir(), "its rows are files, and a second run adds to them");
    folder.write("taken", "");
    let ran = folder.run("bench nexmark-q10 --seconds 0.1 --warmup 0 --results taken");
    assert!(ran.code == 1 && ran.stderr.contains("taken"), "{ran:?}");
}

/// At a rate as many events are read as are offered, of one table and of two, and latencies are measured. Event times do
/// not go by the clock, so what compares them with it is missing.
#[test]
fn at_a_rate_latencies_are_measured() {
    let folder = Folder::new("nexmark_rate");
    for (query, more) in [
        ("q0", ""),
        ("q1", "--workers 2"),
        ("q3", ""),
        ("q8", "--parallel serial --workers 2"),
        ("q12", ""),
        ("q13", ""),
    ] {
        let figures =
            folder.json(&format!("bench nexmark-{query} --seconds 0.6 --warmup 0.2 --rate 20k {more}"));
        assert_right(&figures);
        assert_eq!(figures["offered_per_s"], 20_000);
        let read_per_s = figures["throughput_per_s"].as_f64().unwrap();
        assert!((18_000.0..22_000.0).contains(&read_per_s), "{figures}");
        assert!(figures["latency_us"]["count"].as_u64() > Some(200), "{figures}");
        assert!(figures["processing_latency_us"]["mean"].as_f64() > Some(0.0), "{figures}");
        for field in ["result_latency_us", "slowdown", "success_rate"] {
            assert_eq!(figures[field], Value::Null, "{field} in {figures}");
        }
    }
}

/// Options that other workloads have work here, too.
#[test]
fn options_work() {
    let folder = Folder::new("nexmark_options");
    let run = "bench nexmark-q2 --seconds 0.15 --warmup 0";
    for more in [
        "--queries 3 --rate 10k",
        "--policy klink --nominal-rate 100k --seed 7",
        "--execution threads",
        "--chain none --memory queue",
        "--rate 5k --deploy-within 50ms --queries 2",
        "--latency-target 50ms --rate 50",
    ] {
        assert_right(&folder.json(&format!("{run} {more}")));
    }
    let ran = folder.run(&format!("{run} --repeat 2 --policy fcfs,enjima --output json"));
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 4), "{ran:?}");
    let ran = folder.run("bench nexmark-q5 --explain --workers 2");
    assert!(ran.code == 0 && ran.stdout.contains("bid"), "{ran:?}");
    let ran = folder.run(&format!("{run} --api typed --watermark-step 5ms"));
    assert!(ran.stderr.contains("--api typed has no effect on nexmark"), "{ran:?}");
    assert!(ran.stderr.contains("--watermark-step has no effect on a query in SQL"), "{ran:?}");
}
