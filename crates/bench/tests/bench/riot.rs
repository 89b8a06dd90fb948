//! The workloads `etl` and `stats` from end to end: generated and recorded messages, bad lines, registries, and the cost of
//! operators.

use serde_json::Value;

use crate::recorded::link;
use crate::support::Folder;

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!(&figures["late"], &0, "{figures}");
}

fn message(sensor: &str, dust: &str, time_ms: u64) -> String {
    format!(
        r#"{{"e":[{{"u":"string","n":"source","sv":"{sensor}"}},{{"v":"6.5","u":"lon","n":"longitude"}},{{"v":"46","u":"lat","n":"latitude"}},{{"v":"8","u":"far","n":"temperature"}},{{"v":"{dust}","u":"per","n":"dust"}}],"bt":{time_ms}}}"#
    )
}

const RUNS: [&str; 7] = [
    "",
    "--isolate --workers 2 --seed 7",
    "--chain all --block-records 1",
    "--queries 2 --workers 2 --block-records 7 --policy congestion",
    "--rate 5k --queries 2 --execution threads --chain none",
    "--rate 3k --out-of-order 50ms --late-share 20",
    "--rate 2k --memory queue --operator-cost 1us",
];

#[test]
fn generated_messages_give_the_reference_s_results() {
    let folder = Folder::new("riot_generated");
    for workload in ["etl", "stats"] {
        for run in RUNS {
            let figures = folder.json(&format!("bench {workload} --seconds 0.2 --warmup 0 {run}"));
            assert_right(&figures);
            assert_eq!((&figures["parallel"], &figures["bad"]), (&"serial".into(), &0.into()), "{figures}");
            assert!(figures["results_out"].as_u64().unwrap() > 0, "{figures}");
        }
    }
}

/// At up to 10,000 messages a second each has a latency of its own.
#[test]
fn every_message_has_a_latency() {
    let folder = Folder::new("riot_latencies");
    for workload in ["etl", "stats"] {
        let run = format!("bench {workload} --rate 1000 --seconds 1 --execution threads --chain none");
        let figures = folder.json(&run);
        assert_right(&figures);
        assert!((900..=1_100).contains(&figures["latency_us"]["count"].as_u64().unwrap()), "{figures}");
    }
}

/// The second message has no valid dust, so it gets that of the first one; the third is of an unknown sensor.
#[test]
fn messages_of_a_file_are_published() {
    let folder = Folder::new("riot_file");
    let lines = [message("s1", "200", 7), message("s1", "5", 7), message("s2", "200", 7)];
    folder.write("city.csv", lines.map(|message| format!("1500,{message}\n")).concat());
    folder.write("sensors.txt", "s1:building1,solar\n");
    let figures = folder.json("bench etl --input city.csv --registry sensors.txt --results out");
    assert_right(&figures);
    assert_eq!((&figures["events_in"], &figures["results_out"]), (&3.into(), &2.into()), "{figures}");
    let text = folder.text("out/etl.csv").unwrap();
    let published: Vec<String> = text.lines().map(|line| line.replace("\"\"", "\"")).collect();
    let entries = concat!(
        r#"{"u":"string","n":"source","sv":"s1"},{"u":"lon","n":"longitude","v":"6.5"},"#,
        r#"{"u":"lat","n":"latitude","v":"46"},{"u":"far","n":"temperature","v":"8"},{"u":"per","n":"dust","v":"200"},"#,
        r#"{"u":"string","n":"location","sv":"building1"},{"u":"string","n":"type","sv":"solar"}"#
    );
    let row = |number: u64| format!(r#"{number},"{{"e":[{entries}],"bt":1500}}""#);
    assert_eq!(published, [row(0), row(1)]);

    let figures = folder.json("bench stats --input city.csv --results out");
    assert_right(&figures);
    assert_eq!((&figures["events_in"], &figures["results_out"]), (&3.into(), &0.into()), "{figures}");
}

#[test]
fn plots_of_a_file_are_summed_up() {
    let folder = Folder::new("riot_plots");
    let line = |number: u64| format!("{},{}\n", number * 1_000, message("s1", &number.to_string(), 0));
    folder.write("city.csv", (1..=100).map(line).collect::<String>());
    assert_right(&folder.json("bench stats --input city.csv --results out"));
    // One sensor was seen in each of 100 readings of either kind; an estimate of 1 by 1,024 registers is 1.0005.
    let rows = folder.text("out/stats.csv").unwrap();
    let mut starts: Vec<&str> = rows.lines().filter_map(|row| row.split(".000488").next()).collect();
    starts.sort_unstable();
    assert_eq!(starts, ["sensors,dust,0,1,1", "sensors,temperature,0,1,1"]);
}

/// Engine and reference agree on which lines are bad.
#[test]
fn bad_lines_are_counted() {
    let folder = Folder::new("riot_bad_lines");
    let good = format!("1500,{}", message("s1", "200", 7));
    let bad = [
        String::new(),
        "1500".to_owned(),
        good.replace("1500", "-1"),
        good.replace("1500", "1.5"),
        good.replace("\"bt\":7", "\"bt\":7.5"),
        good.replace("s1", &"s".repeat(32)),
        good.replace("6.5", "east"),
        good.replace("200", "inf"),
        good.replace("}]", "}"),
        format!("{good} more"),
        good.replace("\"8\"", "{}"),
    ];
    let lines: Vec<&str> = bad.iter().flat_map(|bad| [good.as_str(), bad]).chain([good.as_str()]).collect();
    folder.write("city.csv", lines.join("\n"));
    folder.write("sensors.txt", "s1:building1,solar");
    for run in ["etl --registry sensors.txt", "stats"] {
        let figures = folder.json(&format!("bench {run} --input city.csv --results out"));
        assert_right(&figures);
        assert_eq!((&figures["events_in"], &figures["bad"]), (&12.into(), &11.into()), "{figures}");
    }
    let diverted = folder.text("out/etl.bad.csv").unwrap();
    assert_eq!(diverted.lines().count(), 11);
    assert!(diverted.contains("longitude is \"\"east\"\", but must be a finite number"), "{diverted}");
    let ran = folder.run("bench stats --input city.csv --on-bad fail");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("city.csv, line 2") && ran.stderr.contains("is this a file of SenML?"),
        "{ran:?}"
    );
}

#[test]
fn wrong_registries_and_options_are_refused() {
    let folder = Folder::new("riot_wrong");
    folder.write("city.csv", format!("1500,{}\n", message("s1", "200", 7)));
    folder.write("twice.txt", "s1:a,b\ns1:c,d\n");
    folder.write("lines.txt", "s1 a b\n");
    for (line, code, told) in [
        (
            "etl --input city.csv",
            2,
            "--input: etl drops messages of sensors that are not registered; add --registry FILE",
        ),
        ("etl --registry missing.txt", 1, "--registry: missing.txt cannot be read"),
        ("etl --registry twice.txt", 1, "REGISTRY_TWICE: --registry: twice.txt: sensor \"s1\" occurs twice"),
        (
            "etl --registry lines.txt",
            1,
            "REGISTRY_LINE: --registry: lines.txt: line 1 is not identifier:location,type",
        ),
        ("stats --registry twice.txt", 2, "--registry is for etl: leave it away for stats"),
        (
            "etl --parallel epochs",
            2,
            "--parallel epochs: results of etl depend on the order in which messages arrive",
        ),
        ("stats --window 5s", 2, "--window: the windows of stats are part of its rules"),
        ("ysb --operator-cost 1us", 2, "--operator-cost is for etl or stats: leave it away for ysb"),
        ("etl --operator-cost 11ms", 2, "11ms must be from 0"),
        ("etl --api loop-blocks", 2, "--api loop-blocks: etl has no hand-written loop; take typed"),
    ] {
        let ran = folder.run(&format!("bench {line}"));
        assert!(ran.code == code && ran.stderr.contains(told), "{line}: {ran:?}");
    }
}

/// Recorded messages of 521 sensors: all are published, and each kind has six plots of numbers of sensors.
#[test]
fn recorded_messages_give_the_reference_s_results() {
    let folder = Folder::new("riot_recorded");
    if !link(&folder, "riotbench/SYS_sample_data_senml.csv.gz", "city.csv.gz")
        || !link(&folder, "riotbench/city-metadata.txt.gz", "sensors.txt.gz")
    {
        return;
    }
    for (run, rows) in
        [("etl --registry sensors.txt.gz", 600), ("stats", 30), ("stats --workers 2 --isolate", 30)]
    {
        let figures = folder.json(&format!("bench {run} --input city.csv.gz"));
        assert_right(&figures);
        let counts = ["events_in", "results_out", "bad"].map(|name| figures[name].as_u64().unwrap());
        assert_eq!(counts, [600, rows, 0], "{figures}");
    }
}
