//! An engine without work uses no processor: its workers sleep until they are notified, however many they
//! are. No timer wakes them while all of them sleep.
//!
//! This is one test in a process of its own, because it inspects the threads of the process. It measures by
//! the real clock.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thalweg::{Chaining, Engine, EventTime, Query, Record, WatermarkStrategy};
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::script::Script;
use thalweg_testkit::watchdog::within_bounds;

/// Time for which the threads of the engine are watched.
const WATCHED: Duration = Duration::from_millis(200);

/// Largest number of wake-ups of all workers in that time. Workers do not wake up without work, but those of
/// the start may still come in that time if the machine is busy.
const WAKE_UPS_MAX: u64 = 20;

/// Number of attempts, because on a busy machine workers may fall asleep late.
const ATTEMPTS_MAX: usize = 10;

/// Returns how often threads of the engine have gone to sleep so far.
fn sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("the test runs on Linux");
    let of_one = |folder: &Path| {
        let is_ours = fs::read_to_string(folder.join("comm")).ok()?.starts_with("thalweg");
        let status = fs::read_to_string(folder.join("status")).ok().filter(|_| is_ours)?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        Some(line.expect("the kernel tells it").trim().parse::<u64>().expect("a number"))
    };
    tasks.filter_map(|entry| of_one(&entry.expect("it can be read").path())).sum()
}

#[test]
fn an_idle_engine_does_not_tick() {
    for workers in 1..=4 {
        within_bounds("an idle engine", move || {
            let engine = Engine::builder().workers(workers).build().expect("settings lie in their range");
            // The query waits for a record which never comes.
            let query = Query::new("silent");
            let source = Script::new([Record::new(EventTime::EPOCH, 7)], &Arc::default()).then_silence();
            let sink = Gather::new(Expects::Anything, &Arc::default());
            query.source("source", source, WatermarkStrategy::ascending()).sink("sink", sink);
            let silent = engine.submit(query.plan(Chaining::None).unwrap()).expect("the budget is ample");
            let mut counts = Vec::new();
            while counts.len() < ATTEMPTS_MAX && counts.last().is_none_or(|&count| WAKE_UPS_MAX < count) {
                thread::sleep(WATCHED / 4);
                let before = sleeps();
                thread::sleep(WATCHED);
                counts.push(sleeps() - before);
            }
            let is_asleep = counts.last().is_some_and(|&count| count <= WAKE_UPS_MAX);
            assert!(is_asleep, "{workers} workers woke up {counts:?} times in {WATCHED:?}");
            silent.stop();
            silent.wait().expect("it ends");
        });
    }
}
