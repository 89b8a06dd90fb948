//! Processes of workers on a machine that a test makes up.

use super::*;
use crate::fake::Machine;
use crate::jvm::fake::Jvm;

const DUMP: &str = include_str!("../recorded/threads-2.8.txt");

/// Looks once, and returns the numbers of the processes with their topologies.
fn look(workers: &mut Workers, topologies: &[&str], second: u64) -> Result<Vec<(u32, String)>, Unobserved> {
    look_with_notes(workers, topologies, second, &mut Notes::default())
}

fn look_with_notes(
    workers: &mut Workers,
    topologies: &[&str],
    second: u64,
    notes: &mut Notes,
) -> Result<Vec<(u32, String)>, Unobserved> {
    let deadline = Instant::now() + Duration::from_secs(9);
    workers.look(topologies.iter().copied(), (Duration::from_secs(second), deadline), notes)?;
    let topology = |worker: &Worker| worker.topology.clone().unwrap_or("any".to_owned());
    Ok(workers.found().iter().map(|worker| (worker.process.process().process, topology(worker))).collect())
}

fn found(list: &[(u32, &str)]) -> Result<Vec<(u32, String)>, Unobserved> {
    Ok(list.iter().map(|(process, topology)| (*process, (*topology).to_owned())).collect())
}

/// Workers of topologies that report are found, with the classes of both versions. The program that writes a worker's log,
/// shells, daemons, and the workers of another Storm are left alone: no dump is taken of them.
#[test]
fn workers_are_known_by_their_main_class() {
    let machine = Machine::new();
    let arguments: [&[&str]; 8] = [
        &["java", "-server", "-Dstorm.id=a-1-7", WORKERS[0], "a-1-7", "super", "16628", "6700", "w"],
        &[
            "java", "-cp", "x", LOG_WRITER, "java", "-server", WORKERS[0], "a-1-7", "super", "16628", "6700",
            "w",
        ],
        &["java", WORKERS[1], "my topology-2-7", "super", "6701", "w"],
        &["java", WORKERS[0], "other-3-7", "super", "16628", "6702", "w"],
        &["bash", "-c", "exec java org.apache.storm.daemon.worker.Worker a-1-7"],
        &["java", "org.apache.storm.daemon.supervisor.Supervisor"],
        &["java", WORKERS[0]],
        &["java", "-cp", "x", LOCAL, "program.jar"],
    ];
    let jvms: Vec<Jvm> =
        (70..).zip(arguments).map(|(number, list)| Jvm::start(&machine, number, list, DUMP)).collect();
    let mut workers = Workers::new(machine.processes.clone(), None);
    let expected = found(&[(70, "a-1-7"), (72, "my-topology-2-7"), (77, "any")]);
    assert_eq!(look(&mut workers, &["a-1-7", "my-topology-2-7"], 1), expected);
    assert_eq!(jvms.iter().map(Jvm::dumps).collect::<Vec<_>>(), [1, 0, 1, 0, 0, 0, 0, 1]);
    let worker = &workers.found()[0];
    assert!(worker.has_one_topology() && worker.may_run("a-1-7") && !worker.may_run("other-3-7"));
    assert!(!workers.found()[2].has_one_topology() && workers.found()[2].may_run("other-3-7"));
}

/// A program with Storm within it is known by its class.
#[test]
fn a_program_with_storm_within_it_is_found() {
    let machine = Machine::new();
    let _jvm = Jvm::start(&machine, 70, &["java", "-cp", "x", "org.example.Job"], DUMP);
    let mut workers = Workers::new(machine.processes.clone(), None);
    assert_eq!(look(&mut workers, &["a-1-7"], 1), found(&[]));
    let mut workers = Workers::new(machine.processes.clone(), Some("org.example.Job".to_owned()));
    assert_eq!(look(&mut workers, &["a-1-7"], 1), found(&[(70, "any")]));
}

/// Processes are looked for when topologies change, and now and then. One that has ended is forgotten.
#[test]
fn workers_come_and_go() {
    let machine = Machine::new();
    let mut workers = Workers::new(machine.processes.clone(), None);
    assert_eq!(look(&mut workers, &["a"], 1), found(&[]));
    let first = Jvm::start(&machine, 70, &["java", WORKERS[0], "a"], DUMP);
    let second = Jvm::start(&machine, 71, &["java", WORKERS[0], "b"], DUMP);
    assert_eq!(look(&mut workers, &["a"], 2), found(&[]));
    assert_eq!(look(&mut workers, &["a", "b"], 3), found(&[(70, "a"), (71, "b")]));
    assert_eq!(look(&mut workers, &["b"], 4), found(&[(71, "b")]));
    assert_eq!(look(&mut workers, &["a", "b"], 5), found(&[(70, "a"), (71, "b")]));
    std::fs::remove_dir_all(machine.processes.root().join("71")).unwrap();
    assert_eq!(look(&mut workers, &["a", "b"], 8), found(&[(70, "a")]));
    std::fs::remove_dir_all(machine.processes.root().join("70")).unwrap();
    assert_eq!(look(&mut workers, &["a", "b"], 9), found(&[]));
    drop((first, second));
}

/// A worker that refuses a dump does not stop the others. It is noted once, it is asked again after a while, and threads of
/// it that were known before are steered on.
#[test]
fn a_worker_that_tells_no_threads_does_not_stop_the_others() {
    let machine = Machine::new();
    let (mut workers, mut notes) = (Workers::new(machine.processes.clone(), None), Notes::default());
    let silent = Jvm::start(&machine, 70, &["java", WORKERS[0], "a"], DUMP);
    let other = Jvm::start(&machine, 71, &["java", WORKERS[0], "b"], DUMP);
    let mut look = |second| {
        look_with_notes(&mut workers, &["a", "b"], second, &mut notes).unwrap();
        let threads = |worker: &Worker| worker.process.names().count();
        let known: Vec<usize> = workers.found().iter().map(threads).collect();
        ((known[0] > 0, known[1] > 0), workers.failures().count(), notes.take())
    };
    silent.refuse();
    let (known, failures, told) = look(1);
    assert_eq!((known, failures, told.len()), ((false, true), 1, 1));
    assert!(told[0].starts_with("1 of 2 workers on this machine do not tell their threads"), "{told:?}");
    assert!(told[0].contains("process 70") && told[0].contains("run this program as user 0"), "{told:?}");
    // It is asked no more than once in ten seconds, and not noted again.
    let asked = silent.dumps();
    assert_eq!(look(2), ((false, true), 1, vec![]));
    assert_eq!(silent.dumps(), asked);
    assert_eq!(look(12), ((false, true), 1, vec![]));
    assert_eq!(silent.dumps(), asked + 1);
    silent.set_dump(DUMP);
    assert_eq!(look(23), ((true, true), 0, vec![]));
    // Now its threads are known, and it refuses to tell the new one.
    silent.refuse();
    silent.begin(&machine, 9_000, 99);
    let (known, failures, told) = look(24);
    assert_eq!((known, failures, told.len()), ((true, true), 1, 1));
    assert_eq!(look(25), ((true, true), 1, vec![]));
    drop((silent, other));
}

/// A worker that answers nothing has half of the round, and the others have the rest.
#[test]
fn a_worker_that_hangs_leaves_time_for_the_others() {
    let machine = Machine::new();
    let mut workers = Workers::new(machine.processes.clone(), None);
    let hung = Jvm::start(&machine, 70, &["java", WORKERS[0], "a"], DUMP);
    let other = Jvm::start(&machine, 71, &["java", WORKERS[0], "b"], DUMP);
    hung.hang();
    let (now, deadline) = (Duration::from_secs(1), Instant::now() + Duration::from_millis(500));
    workers.look(["a", "b"].into_iter(), (now, deadline), &mut Notes::default()).unwrap();
    let known: Vec<bool> = workers.found().iter().map(|worker| worker.process.names().count() > 0).collect();
    assert_eq!((known, workers.failures().count()), (vec![false, true], 1));
    drop((hung, other));
}

#[test]
fn processes_beyond_the_bound_are_an_error() {
    let machine = Machine::new();
    let jvms: Vec<Jvm> =
        (70..=134).map(|process| Jvm::start(&machine, process, &["java", WORKERS[0], "a"], "")).collect();
    let mut workers = Workers::new(machine.processes.clone(), None);
    let refused = look(&mut workers, &["a"], 1).unwrap_err().0;
    assert_eq!(refused, "there are 65 workers on this machine; at most 64 are looked at");
    drop(jvms);
}
