//! `--execution` and `--memory` in every combination, under every policy: the results are the same, and the
//! figures name the mode that ran.

use thalweg_scheduling::policy;

use crate::support::Folder;

const MEMORIES: [&str; 3] = ["blocks", "queue", "queue-batched"];

#[test]
fn every_mode_gives_the_reference_s_results() {
    let folder = Folder::new("modes");
    let runs = policy::names().into_iter().map(|policy| ("workers", policy)).chain([("threads", "os")]);
    for (execution, policy) in runs {
        for memory in MEMORIES {
            let policy_option = if policy == "os" { String::new() } else { format!("--policy {policy}") };
            let run =
                format!("bench ysb --chain none --execution {execution} {policy_option} --memory {memory}");
            let figures = folder.json(&format!("{run} --workers 2 --seconds 0.02 --warmup 0"));
            let told = ["execution", "policy", "memory", "check"].map(|field| figures[field].clone());
            assert_eq!(told, [execution, policy, memory, "oracle-equal"], "{figures}");
            let parallel = if memory == "blocks" { "epochs" } else { "serial" };
            assert_eq!((&figures["ok"], &figures["parallel"]), (&true.into(), &parallel.into()), "{figures}");
            let has_parameters = figures["policy_parameters"].is_object();
            assert_eq!(has_parameters, execution == "workers", "{figures}");
        }
    }
}

/// If the operating system schedules the threads, notes say that the given policy and the clock of its costs
/// have no effect.
#[test]
fn a_policy_without_workers_is_told() {
    let ran = Folder::new("modes_policy")
        .run("bench ysb --execution threads --policy chain --cost-clock cpu --seconds 0.05 --warmup 0");
    assert_eq!(ran.code, 0, "{ran:?}");
    let why = "has no effect with --execution threads, where the operating system says who runs next";
    assert_eq!(ran.stderr, format!("note: --policy {why}\nnote: --cost-clock {why}\n"));
}
