//! `thalweg bench tenants`: both groups have the reference's results and figures of their own, under every
//! mode, policy and aggressor. Also the experiments built on it.

use serde_json::Value;

use crate::support::Folder;

/// Runs the benchmark `tenants` briefly and checks that its results are right and complete.
#[track_caller]
fn right(folder: &Folder, options: &str) -> Value {
    let figures = folder.json(&format!("bench tenants --warmup 0 {options}"));
    let told = (&figures["workload"], &figures["ok"], &figures["check"]);
    assert_eq!(told, (&"tenants".into(), &true.into(), &"oracle-equal".into()), "{options}: {figures}");
    assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{options}: {figures}");
    let names: Vec<&str> =
        figures["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sensitive", "bulk"], "{options}: {figures}");
    figures
}

/// Each group has figures of its own. A latency-sensitive job is offered one message of 1,000 events a second
/// from each of 64 sources, a bulk job 30,000 events/s from each source. Options may change the load.
#[test]
fn groups_have_figures_of_their_own() {
    let folder = Folder::new("tenants");
    let figures = right(&folder, "--seconds 0.5 --results out");
    let [sensitive, bulk] = [&figures["groups"][0], &figures["groups"][1]];
    assert_eq!(
        (&figures["queries"], &sensitive["queries"], &bulk["queries"]),
        (&12.into(), &4.into(), &8.into())
    );
    assert_eq!((&sensitive["offered_per_s"], &bulk["offered_per_s"]), (&256_000.into(), &15_360_000.into()));
    assert_eq!(figures["offered_per_s"], 15_616_000);
    assert!(figures["overdue"]["markers"].is_u64(), "{figures}");
    assert_eq!(sensitive["latency_target_us"], 800_000);
    assert_eq!(bulk["latency_target_us"], 7_200_000_000_u64);
    assert!(sensitive["latency_us"]["count"].as_u64().unwrap() > 0, "{figures}");
    for group in [sensitive, bulk] {
        assert!(group["overdue"]["markers"].is_u64(), "{figures}");
        for share in ["deadlines_met", "in_time"] {
            assert!((0.0..=1.0).contains(&group[share].as_f64().unwrap()), "{figures}");
        }
        // No window may have ended in so short a run.
        assert!(group.get("event_latency_us").is_some() && group.get("success_rate").is_some(), "{figures}");
    }
    for (file, queries) in [("sensitive", 4), ("bulk", 8)] {
        assert!((1..=queries).all(|number| folder.text(&format!("out/{file}-{number}.csv")).is_some()));
        assert_eq!(folder.text(&format!("out/{file}-{}.csv", queries + 1)), None);
    }

    let options = "--queries 3 --rate 5k --aggressor 100k --latency-target 50ms --message-records 10";
    let figures = right(&folder, &format!("--seconds 0.3 {options}"));
    let [sensitive, bulk] = [&figures["groups"][0], &figures["groups"][1]];
    assert_eq!((&sensitive["offered_per_s"], &bulk["offered_per_s"]), (&5_000.into(), &100_000.into()));
    assert_eq!((&sensitive["latency_target_us"], &sensitive["queries"]), (&50_000.into(), &1.into()));
}

/// Each job may have 64 inputs, as in Cameo. The load of each group is the same.
#[test]
fn jobs_may_have_64_inputs() {
    let folder = Folder::new("tenants_inputs");
    let options = "--inputs 64 --queries 3 --aggressor 128k --skew 0.5 --policy cameo_llf --parallel serial";
    let figures = right(&folder, &format!("--seconds 0.3 {options}"));
    let [sensitive, bulk] = [&figures["groups"][0], &figures["groups"][1]];
    assert_eq!((&sensitive["offered_per_s"], &bulk["offered_per_s"]), (&64_000.into(), &128_000.into()));
}

/// The inputs of both groups of jobs may have different delays.
#[test]
fn inputs_of_jobs_may_have_different_delays() {
    let folder = Folder::new("tenants_input_delays");
    let options = "--inputs 4 --input-delays 0s,0s,0s,100ms --queries 3 --aggressor 128k --policy cameo_llf";
    let figures = right(&folder, &format!("--seconds 0.3 {options}"));
    let [sensitive, bulk] = [&figures["groups"][0], &figures["groups"][1]];
    assert_eq!((&sensitive["offered_per_s"], &bulk["offered_per_s"]), (&64_000.into(), &128_000.into()));
}

#[test]
fn every_mode_gives_the_reference_s_results() {
    let folder = Folder::new("tenants_modes");
    for memory in ["blocks", "queue", "queue-batched"] {
        for execution in ["workers", "threads"] {
            let options = format!("--queries 3 --execution {execution} --memory {memory} --workers 2");
            right(&folder, &format!("--seconds 0.1 --aggressor 1M {options}"));
        }
    }
    for policy in thalweg_scheduling::policy::names() {
        right(&folder, &format!("--queries 3 --seconds 0.05 --aggressor 1M --policy {policy}"));
    }
}

/// No load changes a result: neither a load above the capacity, nor a changing load, nor deployment at random
/// times.
#[test]
fn loads_change_no_result() {
    let folder = Folder::new("tenants_loads");
    let ran = folder
        .run("bench tenants --queries 3 --seconds 0.2 --warmup 0 --aggressor 2x --workers 2 --output json");
    let figures: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert!(ran.stderr.starts_with("note: bulk alone takes ") && ran.stderr.lines().count() == 1, "{ran:?}");
    for load in [
        "--aggressor 1M --arrivals pareto:1.5 --delay uniform:20ms",
        "--aggressor 1M --skew 1 --rate-steps 50ms:90k",
        "--deploy-within 100ms --workers 2 --isolate",
    ] {
        right(&folder, &format!("--queries 6 --seconds 0.2 {load}"));
    }
}

#[test]
fn a_nominal_rate_has_no_effect() {
    let ran = Folder::new("tenants_nominal").run("bench tenants --seconds 0.05 --warmup 0 --nominal-rate 1k");
    let told = "note: --nominal-rate has no effect on tenants, whose load comes at a rate\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
}

/// Two policies run under the same load and are compared on a page. The capacity is measured once for both.
#[test]
fn policies_are_compared_on_a_page() {
    let folder = Folder::new("tenants_page");
    let options = "--queries 3 --aggressor 0.5x --seconds 0.2 --warmup 0 --repeat 2 --output json";
    let ran = folder.run(&format!("bench tenants --policy fcfs,cameo_llf {options} --out page"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let figures: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let policies: Vec<&Value> = figures.iter().map(|figures| &figures["policy"]).collect();
    assert_eq!(policies, ["fcfs", "cameo_llf", "cameo_llf", "fcfs"], "by turns");
    assert!(figures.iter().all(|run| run["offered_per_s"] == figures[0]["offered_per_s"]), "{figures:?}");
    for file in ["index.html", "figures.csv", "groups.csv", "series.csv", "queues.csv", "comparison.json"] {
        assert!(folder.text(&format!("page/{file}")).is_some(), "{file}");
    }
    let notes: Vec<&str> = ran.stderr.lines().collect();
    assert!(notes.len() == 2 && notes[1] == "note: wrote page/index.html", "{notes:?}");
}

/// The experiments write their pages. Runs are so short that no window of the bulk jobs fires, so no claim is
/// tested, and the page says so. The table of groups has rows for four policies, two loads and two groups
/// each.
#[test]
fn the_experiments_write_their_pages() {
    for (name, title, claims) in
        [("cameo-fig8", "Fig. 8a", 7), ("cameo-fig8b", "Fig. 8b", 7), ("cameo-fig8c", "Fig. 8c", 5)]
    {
        let folder = Folder::new(name);
        let ran = folder.run(&format!("bench {name} --quick --seconds 0.2 --warmup 0.05 --out page"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stdout.matches("\npaper: ").count(), claims, "{ran:?}");
        assert_eq!(ran.stdout.matches("not tested: the longest window fires ").count(), claims, "{ran:?}");
        assert_eq!(ran.stdout.matches(" and must fire 3 times; ").count(), claims, "{ran:?}");
        let notes: Vec<&str> = ran.stderr.lines().collect();
        assert!(notes.len() == 2 && notes[0].starts_with("note: bulk alone takes "), "{ran:?}");
        let page = folder.text("page/index.html").unwrap();
        for part in [&format!("Cameo, {title}"), "Latency of each group", "<td>sensitive</td>"] {
            assert!(page.contains(part), "{part}");
        }
        let groups = folder.text("page/groups.csv").unwrap();
        assert_eq!(groups.lines().count(), 1 + 4 * 2 * 2, "{groups}");
        let comparison: Value = serde_json::from_str(&folder.text("page/comparison.json").unwrap()).unwrap();
        let runs = comparison["runs"].as_array().unwrap();
        assert!(runs.iter().all(|run| run["figures"]["ok"] == true));
        let jobs = |run: &Value| run["figures"]["groups"][0]["queries"] == 4;
        assert!(runs.iter().all(jobs), "four jobs are latency-sensitive in each");
    }
}
