//! Loads that change during a benchmark: the results always equal those of the reference, and the figures
//! report the load that was offered.

use serde_json::Value;

use crate::support::Folder;

/// Runs the benchmark with these options and checks that its results are right and complete.
#[track_caller]
fn right(folder: &Folder, run: &str) -> Value {
    let figures = folder.json(&format!("bench {run} --warmup 0"));
    assert_eq!(
        (&figures["ok"], &figures["check"]),
        (&true.into(), &"oracle-equal".into()),
        "{run}: {figures}"
    );
    assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{run}: {figures}");
    assert!(figures["events_in"].as_u64().unwrap() > 0, "{run}: {figures}");
    figures
}

fn number(figure: &Value) -> f64 {
    figure.as_f64().unwrap_or_else(|| panic!("{figure} is no number"))
}

#[test]
fn loads_change_no_result() {
    let folder = Folder::new("loads");
    for run in [
        "ysb --window 50ms",
        "ysb --window 50ms --workers 2 --isolate",
        "nyt",
        "lrb",
        "lrb-full",
        "netmon",
        "join",
        "distinct",
        "tweets --workers 2",
    ] {
        for load in [
            "--arrivals poisson --delay zipf:2",
            "--message-records 100 --delay uniform:30ms --deploy-within 50ms --queries 2",
        ] {
            right(&folder, &format!("{run} --rate 20k --seconds 0.15 {load}"));
        }
    }
    for run in [
        "ysb --window 50ms",
        "ysb --window 50ms --workers 2",
        "nyt --workers 2",
        "netmon",
        "join",
        "lrb",
        "lrb-full",
    ] {
        for load in
            ["--rate-steps 50ms:60k,100ms:2k", "--arrivals pareto:1.5 --skew 0.5", "--skew 1 --queries 3"]
        {
            right(&folder, &format!("{run} --rate 20k --seconds 0.15 {load}"));
        }
    }
    let all = "--arrivals poisson --rate-steps 100ms:40k --message-records 7 --delay uniform:20ms --skew 1 --queries 3 \
               --deploy-within 100ms --selectivity-steps 20ms:0.9,90ms:0 --window 20ms --slide 5ms";
    right(&folder, &format!("ysb --workers 2 --rate 20k --seconds 0.2 {all}"));
}

/// If the rate changes in steps, the offered rate in the figures is the mean over the measured time.
#[test]
fn rates_change_in_steps() {
    let folder = Folder::new("rate_steps");
    let figures = right(&folder, "ysb --rate 20k --rate-steps 100ms:100k,200ms:1k --seconds 0.4");
    // The steps offer 2,000, 10,000 and 200 records. The run lasts a little longer, until the source is
    // asked to end.
    let (offered, seconds) = (number(&figures["offered_per_s"]), number(&figures["seconds"]));
    let expected = (12_200.0 + 1_000.0 * (seconds - 0.4)) / seconds;
    assert!((offered / expected - 1.0).abs() < 1e-3, "{expected} expected: {figures}");
    assert!(figures["events_in"].as_u64().unwrap() >= 12_100, "{figures}");
    let figures = folder.json("bench ysb --rate 20k --rate-steps 100ms:100k --warmup 0.2 --seconds 0.1");
    assert_eq!(figures["offered_per_s"], 100_000, "behind the warm-up: {figures}");
}

/// Runs with the same seed have the same bursts, and each query has its own bursts.
#[test]
fn bursts_are_drawn() {
    let folder = Folder::new("bursts");
    let line = "ysb --rate 20k --arrivals pareto:1.5 --seconds 0.1";
    let offered = |options: &str| number(&right(&folder, &format!("{line} {options}"))["offered_per_s"]);
    let first = offered("");
    assert!((6_000.0..=400_000.0).contains(&first) && first != 20_000.0, "{first}/s");
    assert_eq!(offered(""), first);
    assert_ne!(offered("--seed 2"), first);
    assert_ne!(offered("--queries 2"), 2.0 * first);
}

/// A delay of records is part of their latency, which is measured from the time at which a message was due
/// to be sent.
#[test]
fn delays_are_latency() {
    let folder = Folder::new("delays");
    let latency = |options: &str| {
        let figures =
            right(&folder, &format!("ysb --rate 20k --message-records 100 --seconds 0.5 {options}"));
        number(&figures["latency_us"]["mean"])
    };
    // Of 100 messages in 1/5 s most wait for a message with a long delay. A busy machine may be late by
    // itself, so there are several attempts.
    let is_later = |_| latency("--delay uniform:200ms") > latency("") + 50_000.0;
    assert!((0..3).any(is_later), "a delay is no latency");
}

/// Messages that are sent evenly have regular latency markers, so it is known how many are missing. At random
/// times it is not known, and the figures do not claim that none is missing.
#[test]
fn overdue_markers_are_counted_or_unknown() {
    let folder = Folder::new("overdue_markers");
    let overdue =
        |options: &str| right(&folder, &format!("ysb --rate 1k --seconds 0.3 {options}"))["overdue"].clone();
    for regular in ["--message-records 10", "--queries 2 --skew 1"] {
        let known = overdue(regular);
        assert!(known["markers"].is_u64() && known["latency_us"]["mean"].is_f64(), "{regular}: {known}");
    }
    let unknown = overdue("--arrivals poisson");
    assert_eq!((&unknown["markers"], &unknown["latency_us"]), (&Value::Null, &Value::Null), "{unknown}");
}

#[test]
fn queries_are_skewed() {
    let folder = Folder::new("skew");
    let figures = right(&folder, "ysb --rate 20k --queries 3 --skew 1 --seconds 0.5");
    assert_eq!(figures["offered_per_s"], 60_000, "{figures}");
    let [least, most] = [0, 1].map(|index| number(&figures["query_throughput_per_s"][index]));
    assert!((2.0..4.0).contains(&(most / least)), "11,000 and 33,000 a second: {figures}");
    let ran = folder.run("bench ysb --rate 20k --skew 1 --seconds 0.05 --warmup 0");
    let told = "note: --skew has no effect on one query whose input has one split; take several --queries or --workers\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
}

/// Queries are deployed at random times, and the measurement begins when all of them are deployed. So the
/// queries deployed earlier have processed more by then.
#[test]
fn queries_are_deployed_at_random_times() {
    let folder = Folder::new("deploy");
    let figures = right(&folder, "ysb --rate 20k --queries 8 --deploy-within 1s --seconds 0.1");
    assert_eq!(figures["offered_per_s"], 160_000, "{figures}");
    assert!(number(&figures["seconds"]) >= 0.1, "{figures}");
    let events = figures["events_in"].as_u64().unwrap();
    assert!(events > 16_000, "in the tenth of a second alone, 16,000: {figures}");
}

/// The filter's selectivity changes over time: 2/3 of the events are filtered at first, then 1/10, then all.
#[test]
fn the_filter_s_selectivity_changes() {
    let folder = Folder::new("selectivity");
    for run in
        ["--rate 20k --seconds 0.6", "--nominal-rate 5M --seconds 0.2", "--seconds 0.1 --out-of-order 5ms"]
    {
        let figures =
            right(&folder, &format!("ysb --window 10ms {run} --selectivity-steps 200ms:0.9,400ms:0"));
        let [events, filtered] = ["events_in", "filtered"].map(|name| number(&figures[name]));
        assert!((0.38..=1.0).contains(&(filtered / events)), "{run}: {figures}");
    }
    let figures = right(&folder, "ysb --rate 20k --seconds 0.3 --selectivity-steps 1ms:1");
    let [events, filtered] = ["events_in", "filtered"].map(|name| number(&figures[name]));
    assert!(filtered / events < 0.05, "{figures}");
}

#[test]
fn what_has_no_load_says_so() {
    let folder = Folder::new("no_load");
    let ran = folder.run("bench ysb --api loop-fused --deploy-within 20s --seconds 0.05 --warmup 0");
    let told = "note: --deploy-within has no effect on a hand-written loop, which runs without the engine\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
    let ran = folder.run("bench lrb --rate 20k --rate-steps 10ms:40k --seconds 0.05 --warmup 0");
    let told = "note: cars of lrb report every 30 s at the --rate, and more or less often where a query has another\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
}
