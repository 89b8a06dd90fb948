//! `--parallel`: many workers within one query, from the splits of its generator on, change no result.

use serde_json::Value;

use crate::recorded::link;
use crate::support::Folder;

const WORKLOADS: [&str; 10] =
    ["ysb", "nyt", "lrb", "lrb-full", "grep", "wordcount", "distinct", "tweets", "netmon", "join"];

#[track_caller]
fn assert_right(run: &str, figures: &Value) {
    assert_eq!(
        (&figures["ok"], &figures["check"]),
        (&true.into(), &"oracle-equal".into()),
        "{run}: {figures}"
    );
    assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{run}: {figures}");
    assert!(figures["events_in"].as_u64().unwrap() > 0, "{run}: {figures}");
}

/// Runs the workload for a short time and checks its results.
#[track_caller]
fn check(folder: &Folder, run: &str) {
    // Without a rate there are a hundred thousand records in some hundredths of a second.
    let seconds = if run.contains("--rate") { 0.1 } else { 0.03 };
    let run = format!("bench {run} --seconds {seconds} --warmup 0");
    assert_right(&run, &folder.json(&run));
}

#[test]
fn workers_share_every_workload() {
    let folder = Folder::new("parallel_all");
    for workload in WORKLOADS {
        for workers in [1, 2, 3] {
            let run =
                format!("bench {workload} --parallel epochs --workers {workers} --seconds 0.03 --warmup 0");
            let figures = folder.json(&run);
            assert_right(&run, &figures);
            assert_eq!((&figures["parallel"], &figures["workers"]), (&"epochs".into(), &workers.into()));
        }
    }
}

/// With disorder and early records, all splits together make the records that one source would make,
/// also at a rate.
#[test]
fn splits_make_what_one_source_would() {
    let folder = Folder::new("parallel_disorder");
    for workload in WORKLOADS {
        for options in ["--rate 50k", "--out-of-order 30ms", "--rate 30k --out-of-order 20ms --late-share 30"]
        {
            check(&folder, &format!("{workload} --workers 2 {options}"));
        }
    }
    for options in [
        "ysb --late-share 5 --out-of-order 70ms",
        "ysb --window 500ms --slide 100ms --isolate",
        "ysb --chain all",
        "nyt --late-share 40 --isolate",
        "nyt --rate 7",
        "lrb --isolate --block-records 7",
        "lrb-full --isolate --late-share 100",
        "wordcount --isolate --watermark-step 70ms",
        "tweets --isolate --block-records 1",
        "netmon --chain all --window 300ms --slide 100ms",
        "join --isolate --late-share 40",
    ] {
        check(&folder, &format!("{options} --workers 3"));
    }
}

#[test]
fn several_queries_are_shared_each() {
    let folder = Folder::new("parallel_queries");
    for options in
        ["ysb --out-of-order 5ms", "ysb --rate 20k", "nyt --late-share 20", "tweets", "join --rate 20k"]
    {
        check(&folder, &format!("{options} --queries 3 --workers 2"));
    }
}

/// By default several workers share the operators of a query, and a single worker runs them serially.
#[test]
fn several_workers_share_unless_told_otherwise() {
    let folder = Folder::new("parallel_default");
    for (options, parallel) in [
        ("", "serial"),
        ("--workers 2", "epochs"),
        ("--workers 2 --parallel serial", "serial"),
        ("--parallel epochs", "epochs"),
    ] {
        let figures = folder.json(&format!("bench ysb --seconds 0.05 --warmup 0 {options}"));
        assert_eq!(figures["parallel"], parallel, "{options}");
    }
    let run = "bench ysb --api loop-fused --workers 2 --seconds 0.05 --warmup 0";
    assert_eq!(folder.json(run)["parallel"], Value::Null);
    let ran = folder.run(&format!("{run} --parallel epochs"));
    let told = "note: --parallel has no effect on a hand-written loop, which runs without the engine\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
    let ran = folder.run("bench ysb --workers 2 --seconds 0.05 --warmup 0");
    assert!(
        ran.stdout.starts_with("ysb (typed, chain default, epochs, 2 workers, as fast as can be)\n"),
        "{ran:?}"
    );
}

/// A recorded file is a single source, and the work behind the source is shared by several workers.
#[test]
fn recorded_input_is_shared_behind_its_source() {
    let folder = Folder::new("parallel_recorded");
    folder.write("day.txt", "A perfect day, a wonderful day.\n".repeat(5_000));
    folder.write("probes.csv", "1,10.0.0.1,10.0.0.2,0.25\n2,10.0.0.1,10.0.0.3,0.5\n");
    for run in ["grep --input day.txt", "wordcount --input day.txt --window 1ms", "netmon --input probes.csv"]
    {
        for options in ["", "--isolate --block-records 7"] {
            let run = format!("bench {run} --workers 3 {options}");
            assert_right(&run, &folder.json(&run));
        }
    }
    if !link(&folder, "weblog/apache_combined_part1.log.gz", "access.log.gz") {
        return;
    }
    let run = "bench distinct --input access.log.gz --out-of-order 1m --workers 2";
    assert_right(run, &folder.json(run));
}
