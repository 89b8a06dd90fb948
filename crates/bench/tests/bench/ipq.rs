//! `thalweg bench ipq1` to `ipq4`: the results of Cameo's queries equal those of the reference.

use serde_json::Value;

use crate::support::Folder;

const ALL: [&str; 4] = ["ipq1", "ipq2", "ipq3", "ipq4"];

#[track_caller]
fn right(folder: &Folder, run: &str) -> Value {
    let figures = folder.json(&format!("bench {run} --warmup 0"));
    let told = (&figures["ok"], &figures["check"], &figures["late"]);
    assert_eq!(told, (&true.into(), &"oracle-equal".into(), &0.into()), "{run}: {figures}");
    assert!(figures["events_in"].as_u64().unwrap() > 0, "{run}: {figures}");
    assert!(figures["results_out"].as_u64().unwrap() > 0, "{run}: {figures}");
    figures
}

#[test]
fn generated_events_give_the_reference_s_results() {
    let folder = Folder::new("ipq");
    for workload in ALL {
        for options in [
            "",
            "--window 50ms --workers 2 --nominal-rate 4M",
            "--rate 50k --queries 2 --out-of-order 7ms",
            "--rate 50k --message-records 100 --arrivals poisson --window 30ms",
            "--isolate --workers 2 --policy cameo_llf --latency-target 10ms",
            "--memory queue-batched --execution threads",
        ] {
            right(&folder, &format!("{workload} --seconds 0.1 {options}"));
        }
    }
    right(&folder, "ipq2 --seconds 0.1 --window 70ms --slide 30ms");
}

/// Several inputs, of which each is a source of its own, give the reference's results, whatever their number, the
/// load and its skew over the inputs.
#[test]
fn several_inputs_give_the_reference_s_results() {
    let folder = Folder::new("ipq_inputs");
    for workload in ["ipq1", "ipq2", "ipq3"] {
        for options in [
            "--inputs 1",
            "--inputs 3 --window 50ms --workers 2 --nominal-rate 4M",
            "--inputs 64 --workers 2 --parallel serial --policy cameo_llf",
            "--inputs 64 --rate 64k --message-records 100 --window 30ms",
            "--inputs 5 --rate 50k --queries 2 --skew 1 --window 30ms",
            "--inputs 7 --rate 50k --out-of-order 7ms --isolate",
        ] {
            right(&folder, &format!("{workload} --seconds 0.1 {options}"));
        }
    }
}

/// Inputs with different delays give the reference's results under every policy. The inputs without delay are ahead of
/// the others by as much as several windows, and of the inputs with the longest delay some records are on their way
/// when the run ends.
#[test]
fn inputs_of_different_delays_give_the_reference_s_results() {
    let folder = Folder::new("ipq_input_delays");
    let delays = "--rate 50k --inputs 3 --input-delays 0s,30ms,150ms";
    for policy in thalweg_scheduling::policy::names() {
        right(&folder, &format!("ipq1 --seconds 0.3 {delays} --window 20ms --isolate --policy {policy}"));
    }
    for workload in ["ipq1", "ipq2", "ipq3"] {
        for options in [
            "--workers 2",
            "--workers 2 --parallel epochs --isolate --queries 2",
            "--execution threads --memory queue-batched --isolate --parallel serial",
            "--delay uniform:20ms --skew 1 --policy cameo_llf",
            "--out-of-order 7ms",
            "--time-scale 10 --policy cameo_llf_merged",
        ] {
            let windows = if workload == "ipq2" { "--window 40ms --slide 20ms" } else { "--window 20ms" };
            right(&folder, &format!("{workload} --seconds 0.4 {delays} {windows} {options}"));
        }
    }
}

#[test]
fn results_are_written() {
    let folder = Folder::new("ipq_results");
    for (workload, columns) in ALL.into_iter().zip([2, 2, 4, 3]) {
        let figures = right(&folder, &format!("{workload} --rate 20k --seconds 0.2 --results out"));
        let rows = folder.text(&format!("out/{workload}.csv")).unwrap();
        assert_eq!(figures["results_out"], rows.lines().count(), "{workload}");
        let numbers = |row: &str| row.split(',').filter(|number| number.parse::<i64>().is_ok()).count();
        assert!(rows.lines().all(|row| numbers(row) == columns), "{workload}: {rows}");
    }
}
