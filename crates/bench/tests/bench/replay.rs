//! `--trace` and `replay`: a replay repeats the requests that a run made to its policy.

use crate::support::Folder;

const RUN: &str = "bench ysb --rate 200k --workers 2 --seconds 0.1 --warmup 0";

#[test]
fn a_run_is_replayed() {
    let folder = Folder::new("replay");
    for policy in ["enjima", "klink", "cameo_llf", "streambox"] {
        let ran = folder.run(&format!("{RUN} --policy {policy} --trace calls"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("note: wrote calls: ") && ran.stderr.contains(policy), "{ran:?}");
        let again = folder.run("replay calls");
        assert_eq!(again.code, 0, "{again:?}");
        assert!(
            again.stdout.ends_with(&format!("{policy}, asked again, gives the same answers\n")),
            "{again:?}"
        );
        let other = folder.run("replay calls --policy round_robin");
        assert_eq!(other.code, 1, "{other:?}");
        assert!(other.stdout.contains("asked instead, differs\ncall "), "{other:?}");
    }
}

/// A run whose policy has parameters of its own is replayed with the same parameters, which the replay shows, and
/// differs with others.
#[test]
fn parameters_are_replayed_too() {
    let folder = Folder::new("replay_parameters");
    let ran = folder.run(&format!("{RUN} --policy klink --klink-r 5ms --trace calls"));
    assert_eq!((ran.code, ran.stderr.contains("no effect")), (0, false), "{ran:?}");
    assert!(ran.stdout.contains("\n  policy      klink: cycle_ns 5000000\n"), "{ran:?}");
    let again = folder.run("replay calls");
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.starts_with("klink: round_ns 1000000, cycle_ns 5000000, "), "{again:?}");
    assert_eq!(again.stderr, "");
    assert_eq!(folder.run("replay calls --klink-r 5ms").code, 0);
    let other = folder.run("replay calls --klink-r 120ms");
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stdout.starts_with("klink: round_ns 1000000, cycle_ns 120000000, "), "{other:?}");
    let idle = folder.run("replay calls --policy fcfs --klink-h 10");
    assert!(idle.stderr.contains("note: --klink-h has no effect on --policy fcfs\n"), "{idle:?}");
}

/// The noise of costs is drawn from a seed, so a run with noise is replayed exactly, and differs with another seed.
#[test]
fn noise_of_costs_is_replayed_too() {
    let folder = Folder::new("replay_noise");
    let ran = folder.run(&format!("{RUN} --policy cameo_llf --cost-noise 100ms --seed 7 --trace calls"));
    assert_eq!((ran.code, ran.stderr.contains("no effect")), (0, false), "{ran:?}");
    assert!(ran.stdout.contains("cost_noise_ns 100000000, noise_seed 7"), "{ran:?}");
    let again = folder.run("replay calls");
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains("cost_noise_ns 100000000, noise_seed 7"), "{again:?}");
    assert_eq!(folder.run("replay calls --noise-seed 8").code, 1);
    let idle = folder.run("replay calls --policy fcfs --cost-noise 1ms");
    assert!(idle.stderr.contains("note: --cost-noise has no effect on --policy fcfs\n"), "{idle:?}");
}

#[test]
fn what_is_no_trace_is_told() {
    let folder = Folder::new("replay_errors");
    folder.write("text", "vid,day,xway,toll\n");
    for (command, code, told) in [
        ("replay nowhere", 1, "error: nowhere cannot be read: "),
        (
            "replay text",
            1,
            "error: text cannot be read: this is no trace of calls to a policy, or of another version\n",
        ),
        ("bench ysb --trace calls --policy fcfs,enjima", 2, "error: --trace keeps one run: "),
        (
            "bench ysb --trace calls --execution threads",
            2,
            "error: --trace: without workers nobody asks a policy",
        ),
        (
            "bench ysb --trace nowhere/calls",
            2,
            "error: --trace: nowhere/calls is no file in a folder that there is\n",
        ),
    ] {
        let ran = folder.run(command);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.starts_with(told), "{ran:?}");
    }
}
