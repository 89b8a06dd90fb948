//! Messages for wrong options and files, and their exit codes: 2 for a wrong command line, 1 for a run that
//! failed.

use crate::figures::HEADER;
use crate::support::{Folder, assert_golden, told};

#[test]
fn wrong_values() {
    let lines = [
        "bench taxi",
        "bench ysb --window 60",
        "bench ysb --window 5days",
        "bench ysb --window -5s",
        "bench ysb --window --cyclic",
        "bench ysb --rate -5k",
        "bench ysb --memory-budget -1MiB",
        "bench ysb --rate 0",
        "bench ysb --rate 2G",
        "bench ysb --nominal-rate max",
        "bench ysb --seconds 0",
        "bench ysb --seconds -1",
        "bench ysb --warmup soon",
        "bench ysb --repeat 0",
        "bench ysb --seed -1",
        "bench ysb --queries 0",
        "bench ysb --queries 4097",
        "bench ysb --queries some",
        "bench ysb --chain some",
        "bench ysb --workers 0",
        "bench ysb --workers -1",
        "bench ysb --api loop-fused --workers 100000",
        "bench ysb --block-records 0",
        "bench ysb --block-records 1048577",
        "bench ysb --chunk-blocks many",
        "bench ysb --memory-budget 1TB",
        "bench ysb --memory-budget 1KiB",
        "bench ysb --policy fastest",
        "bench ysb --execution fibres",
        "bench ysb --memory heap",
        "bench ysb --keys 0",
        "bench ysb --keys 1.5",
        "bench ysb --keys 5T",
        "bench ysb --keys many",
        "bench nexmark-q6",
        "bench nexmark-q23",
        "bench ysb --late-share some",
        "bench ysb --late-share 101",
        "bench ysb --late-share -1",
        "bench ysb --on-bad drop",
        "bench ysb --on-bad divert",
        "bench ysb --rate-steps 20k",
        "bench ysb --rate-steps 2s:5k,1s:9k",
        "bench ysb --rate-steps 2:5k",
        "bench ysb --arrivals bursts",
        "bench ysb --arrivals pareto",
        "bench ysb --arrivals pareto:1",
        "bench ysb --message-records 0",
        "bench ysb --delay 5ms",
        "bench ysb --delay uniform:2m",
        "bench ysb --delay zipf:9",
        "bench ysb --skew -1",
        "bench ysb --selectivity-steps 2s:50",
        "bench ysb --deploy-within 20",
        "bench tenants --aggressor fast",
        "bench tenants --aggressor -2x",
        "bench tenants --aggressor 0x",
        "bench tenants --aggressor 101x",
        "bench tenants --aggressor 5T",
        "bench tenants --aggressor 0",
        "bench tenants --aggressor 0.5",
    ];
    assert_golden("wrong_values.txt", &told(&Folder::new("wrong_values"), &lines));
}

#[test]
fn options_that_do_not_fit() {
    let lines = [
        "bench join --nominal-rate 3",
        "bench lrb --nominal-rate 1000M",
        "bench ysb --isolate --chain default",
        "bench ysb --window 1us",
        "bench nyt --window 1500ms",
        "bench nyt --window 0s",
        "bench nyt --cyclic",
        "bench nyt --api loop-blocks",
        "bench ysb --input trips.csv",
        "bench nyt --input trips.csv --rate 1000",
        "bench nyt --input trips.csv --queries 2",
        "bench ysb --api loop-fused --queries 2",
        "bench ysb --api loop-fused --rate 1000",
        "bench ysb --api loop-fused --window 5s",
        "bench ysb --api loop-fused --results out",
        "bench nyt --api sql",
        "bench ysb --api sql --rate 1000",
        "bench ysb --api sql --window 5s",
        "bench lrb --window 60s",
        "bench lrb-full --slide 30s",
        "bench ysb --slide 11s",
        "bench ysb --slide 1us",
        "bench ysb --api loop-fused --slide 5s",
        "bench nyt --slide 5s",
        "bench nyt --window 3s --slide 1500ms",
        "bench nyt --slide 0s",
        "bench lrb --cyclic",
        "bench lrb --out-of-order 2h",
        "bench nyt --tolls tolls.csv",
        "bench lrb --tolls tolls.csv",
        "bench lrb --rate 65536001",
        "bench lrb-full --rate 1000M",
        "bench lrb --input cars.csv --rate 1000",
        "bench lrb-full --input cars.csv --queries 2",
        "bench lrb --api loop-fused",
        "bench lrb-full --api loop-blocks",
        "bench lrb --api loop-blocks --rate 1000",
        "bench lrb --api loop-blocks --input cars.csv",
        "bench lrb --api loop-blocks --results out",
        "bench lrb --api loop-blocks --lrb-windows 5s/3s,6s,2s",
        "bench ysb --lrb-windows 5s/3s,6s,2s",
        "bench distinct --slide 500ms",
        "bench grep --lexicon scores.txt",
        "bench grep --window 500us",
        "bench wordcount --api loop-fused",
        "bench wordcount --api loop-blocks --slide 2s",
        "bench ysb --memory queue --workers 2 --parallel epochs",
        "bench ysb --rate-steps 2s:20k",
        "bench ysb --target-delay 5ms --arrivals poisson",
        "bench ysb --rate 20k --delay zipf:0.99 --out-of-order 5ms",
        "bench ysb --rate 20k --arrivals poisson --late-share 5",
        "bench ysb --rate 100M --arrivals pareto:2",
        "bench ysb --rate 20k --queries 80 --skew 8",
        "bench ysb --rate 20k --workers 64 --skew 8",
        "bench ysb --rate 1000M --queries 3 --skew 1",
        "bench ysb --api loop-fused --rate 20k --delay zipf:0.99",
        "bench ysb --api loop-fused --selectivity-steps 2s:0.5",
        "bench ysb --deploy-within 2h",
        "bench join --rate 20k --rate-steps 2s:20001",
        "bench nyt --selectivity-steps 2s:0.5",
        "bench nyt --input trips.csv --message-records 5",
        "bench ysb --aggressor 2x",
        "bench ipq4 --inputs 64",
        "bench ipq4 --rate 20k --input-delays 0s,5ms",
        "bench ipq1 --rate 20k --input-delays 0s,5ms",
        "bench ipq1 --rate 20k --inputs 2 --input-delays 0s,5ms,9ms",
        "bench ipq1 --inputs 2 --input-delays 0s,5ms",
        "bench ipq1 --inputs 2 --target-delay 5ms --input-delays 0s,5ms",
        "bench tenants --queries 4",
        "bench mixed --queries 2",
        "bench tenants --aggressor 7",
        "bench tenants --queries 3 --aggressor 3G",
        "bench tenants --target-delay 5ms",
        "bench tenants --out-of-order 5ms",
        "bench tenants --window 5s",
        "bench tenants --input ads.csv",
        "bench mixed --slide 5s",
        "bench mixed --cyclic",
        "bench mixed --rate 1000M",
        "bench ipq1 --slide 500ms",
        "bench ipq4 --rate 20001",
        "bench ipq2 --window 10s --slide 11s",
        "bench ipq3 --api loop-blocks",
        "bench ysb --keys 1000001",
        "bench netmon --keys 1M",
        "bench ipq2 --keys 10001",
        "bench lrb --keys 5",
        "bench nexmark-q0 --keys 5",
        "bench mixed --keys 5",
        "bench join --keys 9999",
        "bench join --rate 20k --keys 99",
        "bench ysb --api sql --keys 5",
        "bench ysb --api loop-fused --keys 5",
        "bench ysb --keys 5 --selectivity-steps 2s:0.5",
        "bench netmon --keys 5 --input probes.csv",
        "bench nexmark-q0 --api loop-blocks",
        "bench nexmark-q5 --window 5s",
        "bench nexmark-q0 --rate 20k --arrivals poisson",
        "bench nexmark-q0 --out-of-order 5ms",
        "bench nexmark-q0 --rate 20k --time-scale 2",
        "bench nexmark-q0 --target-delay 5ms",
        "bench nexmark-q0 --results out",
        "bench nexmark-q10",
        "bench nexmark-q3 --rate 200M",
        "bench nexmark-q0 --input bids.csv",
        "bench nexmark-q0 --cyclic",
        "bench nexmark-q0 --inputs 2",
    ];
    assert_golden("unfit_options.txt", &told(&Folder::new("unfit_options"), &lines));
}

/// All historical tolls must be valid. If a line is not valid, nothing runs.
#[test]
fn wrong_tolls() {
    let folder = Folder::new("wrong_tolls");
    folder.write("cars.csv", "");
    folder.write("tolls.csv", "1,5,0,20\n");
    folder.write("text.txt", "It was a dark and stormy night, and the toll was high.\n");
    folder.write("header.csv", "vid,day,xway,toll\n1,5,0,20\n");
    folder.write("short.csv", "1,5,0,20\n2,5,0\n");
    folder.write("long.csv", "1,5,0,20\n2,5,0,21,22\n");
    folder.write("range.csv", "1,5,0,20\n2,256,0,21\n");
    folder.write("below_zero.csv", "1,5,0,-20\n");
    folder.write("twice.csv", "1,5,0,20\n2,5,0,21\n1,5,0,19\n1,5,0,20\n");
    folder.write("no.csv.gz", "this is no gzip stream");
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.write("folder/type3_daily.csv", "1,5,0,20\n");
    let lines = [
        "bench lrb-full --input cars.csv --tolls missing.csv",
        "bench lrb-full --input cars.csv --tolls folder",
        "bench lrb-full --input cars.csv --tolls text.txt",
        "bench lrb-full --input cars.csv --tolls header.csv",
        "bench lrb-full --input cars.csv --tolls short.csv",
        "bench lrb-full --input cars.csv --tolls long.csv",
        "bench lrb-full --input cars.csv --tolls range.csv",
        "bench lrb-full --input cars.csv --tolls below_zero.csv --on-bad skip",
        "bench lrb-full --input cars.csv --tolls twice.csv",
        "bench lrb-full --input cars.csv --tolls no.csv.gz",
        "bench lrb-full --seconds 0.1 --tolls twice.csv",
        "bench lrb-full --input cars.csv --tolls folder/type3_daily.csv --results folder",
        "bench lrb-full --tolls ./folder/type3_daily.csv --results folder",
        "bench lrb-full --input cars.csv --tolls tolls.csv --on-bad divert:./tolls.csv",
        "bench lrb-full --input folder/type3_daily.csv --results folder",
        "bench lrb-full --input cars.csv --results out --on-bad divert:out/type2_balance.csv",
        "bench lrb-full --input cars.csv --results out --on-bad divert:out/type2_balance.csv.inprogress",
    ];
    assert_golden("wrong_tolls.txt", &told(&folder, &lines));
}

#[test]
fn wrong_files() {
    let folder = Folder::new("wrong_files");
    let debs = "07290D3599E7A0D62097A346EFCC1FB5,E7750A37CAB07D0DFF0AF7E3573AC141,2013-01-01 00:00:00,\
                2013-01-01 00:02:00,120,0.44,-73.956528,40.716976,-73.962440,40.715008,CSH,3.50,0.50,0.50,0.00,0.00,4.50";
    folder.write("debs.csv", debs);
    folder.write("empty.csv", "");
    folder.write("no.csv.gz", "this is no gzip stream");
    folder.write("trips.csv", HEADER);
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.write("folder/nyt.csv", HEADER);
    folder.write("folder/lrb.csv", "");
    std::fs::create_dir_all(folder.path("taken/nyt.csv")).unwrap();
    let lines = [
        "bench nyt --input missing.csv",
        "bench nyt --input debs.csv",
        "bench nyt --input empty.csv",
        "bench nyt --input no.csv.gz",
        "bench nyt --input folder",
        "bench nyt --input trips.csv --on-bad divert:trips.csv",
        "bench nyt --input trips.csv --on-bad divert:./folder/../trips.csv",
        "bench nyt --input trips.csv --results out --on-bad divert:./out/nyt.csv",
        "bench nyt --input folder/nyt.csv --results ./folder",
        "bench lrb --input missing.csv",
        "bench lrb --input no.csv.gz",
        "bench lrb --input trips.csv --on-bad fail",
        "bench lrb --input folder/lrb.csv --results folder",
        "bench lrb --input trips.csv --results out --on-bad divert:out/lrb.csv",
        "bench nyt --input trips.csv --results taken",
        "bench nyt --input trips.csv --results empty.csv",
        "bench nyt --input trips.csv --results empty.csv/out",
        "bench ysb --seconds 0.1 --warmup 0 --results empty.csv",
        "bench ysb --memory-budget 1MiB",
    ];
    assert_golden("wrong_files.txt", &told(&folder, &lines));
}

/// If memory suffices for some queries only, the error names the first query without room, so that the user
/// sees how many fit.
#[test]
fn more_queries_than_the_memory_holds() {
    let folder = Folder::new("too_many_queries");
    let ran = folder.run("bench ysb --queries 4096 --memory-budget 64MiB");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{ran:?}");
    let start = "error: query ysb-";
    let middle = " cannot be started: BUDGET_TOO_SMALL: the first two chunks of edge `source-filter-map -> \
                  join-window-sink` do not fit: ";
    let end = "; raise the budget or run fewer queries\n";
    assert!(
        ran.stderr.starts_with(start) && ran.stderr.contains(middle) && ran.stderr.ends_with(end),
        "{ran:?}"
    );
}

/// Results cannot be written into a folder in which no user can create files, not even the superuser.
#[test]
fn a_folder_that_takes_no_results() {
    let ran = Folder::new("no_results").run("bench ysb --seconds 0.1 --warmup 0 --results /proc/self");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let start = "error: SINK_FAILED: /proc/self/ysb.csv cannot be written: ";
    let end = "; check the path, its permissions and the space left\n";
    assert!(ran.stderr.starts_with(start) && ran.stderr.ends_with(end), "{ran:?}");
}

/// An option without effect is reported once on standard error, and the run continues.
#[test]
fn options_without_effect_are_told() {
    let folder = Folder::new("no_effect");
    let run = "--seconds 0.05 --warmup 0";
    let ran = folder.run(&format!("bench ysb {run} --api loop-fused --policy fcfs --chunk-blocks 8"));
    let why = "has no effect on a hand-written loop, which runs without the engine";
    assert_eq!((ran.code, ran.stderr), (0, format!("note: --policy {why}\nnote: --chunk-blocks {why}\n")));

    let ran = folder.run(&format!("bench ysb {run} --round 2ms --klink-r 60ms"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "note: --klink-r has no effect on --policy enjima\n"));
    let ran = folder.run(&format!("bench ysb {run} --api loop-fused --cameo-grain 2ms --cost-clock cpu"));
    assert_eq!(ran.stderr, format!("note: --cameo-grain {why}\nnote: --cost-clock {why}\n"));
    let ran = folder.run(&format!("bench ysb {run} --cost-clock cpu"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));

    let ran = folder.run(&format!("bench ysb {run} --on-bad skip"));
    assert_eq!(ran.stderr, "note: --on-bad has no effect on generated input, which has no lines\n");
    let ran = folder.run("bench ysb --seconds 0.05 --warmup 0 --rate 1000 --nominal-rate 5k");
    assert!(
        ran.stderr.contains("note: --nominal-rate has no effect on generated input that comes at a --rate\n")
    );

    let ran = folder.run(&format!("bench ysb {run} --quick"));
    assert!(ran.stderr.starts_with("note: --quick has no effect on a workload:"), "{}", ran.stderr);
    let ran = folder.run(&format!("bench tenants {run} --rate max"));
    assert_eq!(ran.stderr, "note: --rate max has no effect on tenants, whose load comes at a rate\n");

    folder.write("trips.csv", HEADER);
    let ran = folder.run("bench nyt --input trips.csv --seconds 3");
    assert_eq!(ran.stderr, "note: --seconds has no effect on recorded input, which is read to its end\n");
}
