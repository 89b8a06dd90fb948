//! Worker threads stay on the cores that were asked for, as the operating system tells it.

use thalweg_memory::sync::thread;

use super::*;

/// Returns the cores on which a thread of this process may run, in ascending order.
pub(super) fn cores_of(number: u32) -> Vec<usize> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{number}/status")).unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let span = |span: &str| {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        first.parse::<usize>().unwrap()..=last.parse::<usize>().unwrap()
    };
    list.trim().split(',').flat_map(span).collect()
}

/// Returns the cores on which each worker of an engine with this many workers may run.
fn cores_of_workers(workers: usize, pins_workers: bool) -> Vec<Vec<usize>> {
    let builder = Engine::builder().workers(workers as u64).pin_workers(pins_workers);
    let engine = builder.build().unwrap();
    let number = |worker: &Arc<AtomicU32>| loop {
        // A worker stores its number when it has chosen its core.
        match worker.load(Ordering::Relaxed) {
            0 => thread::yield_now(),
            number => break number,
        }
    };
    engine.worker_threads.iter().map(number).map(cores_of).collect()
}

/// Each worker has a core of its own, and the cores follow each other. With fewer cores than workers, or if the
/// user does not want it, the workers may run wherever the thread may that has made the engine.
#[test]
fn each_worker_stays_on_a_core_of_its_own() {
    let allowed = cores_of(system::thread_number());
    for workers in 1..=allowed.len().min(4) {
        let cores = cores_of_workers(workers, true);
        let places: Vec<usize> = cores
            .iter()
            .map(|cores| {
                assert_eq!(cores.len(), 1, "{workers} workers: {cores:?}");
                allowed.iter().position(|core| *core == cores[0]).expect("the core is allowed")
            })
            .collect();
        let follows = |pair: &[usize]| pair[1] == (pair[0] + 1) % allowed.len();
        assert!(places.windows(2).all(follows), "{workers} workers on {places:?}");
        assert_eq!(cores_of_workers(workers, false), vec![allowed.clone(); workers]);
    }
    let too_many = allowed.len() + 1;
    assert_eq!(cores_of_workers(too_many, true), vec![allowed.clone(); too_many]);
}

/// Workers stay within the cores of the thread that makes the engine.
#[test]
fn workers_stay_where_the_engine_was_made() {
    for core in cores_of(system::thread_number()).into_iter().take(4) {
        let made = thread::spawn(move || {
            cores::pin(&[core]);
            (cores_of_workers(1, true), cores_of_workers(2, true))
        });
        assert_eq!(made.join().unwrap(), (vec![vec![core]; 1], vec![vec![core]; 2]));
    }
}
