//! `--late-share`: records that arrive an epoch early make no other record late and change no result, for every
//! workload.

use crate::support::Folder;

#[test]
fn early_records_change_no_result() {
    let folder = Folder::new("late_share");
    for run in [
        "ysb",
        "ysb --workers 2 --isolate",
        "ysb --window 500ms --slide 100ms",
        "ysb --rate 50k",
        "nyt",
        "nyt --rate 50k --queries 2",
        "lrb",
        "lrb-full",
        "netmon",
        "netmon --rate 50k",
        "join",
        "join --rate 50k",
    ] {
        for early in ["--late-share 40", "--late-share 5 --out-of-order 70ms", "--late-share 100"] {
            let run = format!("bench {run} {early} --seconds 0.1 --warmup 0");
            let figures = folder.json(&run);
            assert_eq!(
                (&figures["ok"], &figures["check"]),
                (&true.into(), &"oracle-equal".into()),
                "{run}: {figures}"
            );
            assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{run}: {figures}");
        }
    }
}

/// At a rate the run lasts for several whole epochs. They contain early records, and the records of the
/// epochs to which these belong.
#[test]
fn early_records_at_a_rate_over_epochs() {
    let folder = Folder::new("late_share_epochs");
    for workload in ["ysb --window 500ms", "join"] {
        let run = format!("bench {workload} --rate 20k --late-share 30 --seconds 2.5 --warmup 0");
        let figures = folder.json(&run);
        assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
        assert_eq!(figures["late"], 0, "{figures}");
    }
}

#[test]
fn what_has_no_early_records_says_so() {
    let folder = Folder::new("late_share_idle");
    let ran = folder.run("bench ysb --api loop-fused --late-share 40 --seconds 0.05 --warmup 0");
    let told = "note: --late-share has no effect on a hand-written loop, which runs without the engine\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
    folder.write("probes.csv", "1,10.0.0.1,10.0.0.2,0.25\n");
    let ran = folder.run("bench netmon --input probes.csv --late-share 40");
    let told = "note: --late-share has no effect on recorded input, which is read to its end\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
}
