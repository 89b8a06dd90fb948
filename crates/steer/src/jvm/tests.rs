//! Looks at the threads of a Java process that a test makes up.

use std::fs;

use super::*;
use crate::fake::Machine;
use fake::Jvm;

/// Looks once; `Err` stands for a process that does not answer.
fn look(process: &mut JavaProcess, machine: &Machine, second: u64) -> Result<bool, ()> {
    let times = (Duration::from_secs(second), Instant::now() + Duration::from_secs(9));
    process.look(&machine.processes, times, attach::quit).map_err(drop)
}

/// Begins a thread that the kernel knows by this name.
fn begin(jvm: &Jvm, machine: &Machine, number: u32, name: &str) {
    jvm.begin(machine, number, 99);
    let key = jvm.key(machine, number);
    let folder = machine.processes.root().join(format!("{}/task/{}", key.process, key.thread));
    fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
}

fn start() -> (Machine, Jvm, JavaProcess) {
    let machine = Machine::new();
    let jvm = Jvm::start(&machine, 70, &["java"], "\"a\" nid=1\n\"b\" nid=2\n");
    let process = JavaProcess::new(machine.processes.key(70, 70).unwrap().unwrap());
    (machine, jvm, process)
}

/// Threads of the virtual machine itself need no dump, and others do, once a second.
#[test]
fn a_dump_is_taken_for_threads_that_matter() {
    let (machine, jvm, mut process) = start();
    assert_eq!((look(&mut process, &machine, 1), look(&mut process, &machine, 5)), (Ok(true), Ok(false)));
    assert_eq!((process.named("a").len(), jvm.dumps()), (1, 1));
    for (place, name) in (10..).zip(["Attach Listener", "C2 CompilerThre", "GC Thread#3"]) {
        begin(&jvm, &machine, place, name);
        assert_eq!(look(&mut process, &machine, 6), Ok(false), "{name}");
    }
    assert_eq!(jvm.dumps(), 1);
    machine.end(jvm.key(&machine, 2));
    assert_eq!((look(&mut process, &machine, 7), process.named("b").len()), (Ok(true), 0));
    jvm.set_dump("\"a\" nid=1\n\"c\" nid=20\n");
    begin(&jvm, &machine, 20, "Thread-7-c");
    assert_eq!((look(&mut process, &machine, 8), process.named("c").len(), jvm.dumps()), (Ok(true), 1, 2));
    begin(&jvm, &machine, 21, "d");
    assert_eq!((look(&mut process, &machine, 8), look(&mut process, &machine, 9)), (Ok(false), Ok(true)));
}

/// A process that does not answer is an error once. Then its known threads are steered on, without those that have
/// ended, and it is asked again later.
#[test]
fn known_threads_are_steered_while_a_process_does_not_answer() {
    let (machine, jvm, mut process) = start();
    jvm.refuse();
    assert_eq!([1, 2, 3].map(|second| look(&mut process, &machine, second)), [Err(()); 3]);
    jvm.set_dump("\"a\" nid=1\n\"b\" nid=2\n");
    assert_eq!(look(&mut process, &machine, 4), Ok(true));
    jvm.refuse();
    begin(&jvm, &machine, 20, "new");
    assert_eq!((look(&mut process, &machine, 5), look(&mut process, &machine, 6)), (Err(()), Ok(false)));
    machine.end(jvm.key(&machine, 2));
    assert_eq!(look(&mut process, &machine, 14), Ok(true));
    assert_eq!((process.named("a").len(), process.named("b").len()), (1, 0));
    assert_eq!(look(&mut process, &machine, 15), Err(()));
    jvm.set_dump("\"a\" nid=1\n\"new\" nid=20\n");
    assert_eq!((look(&mut process, &machine, 25), process.named("new").len()), (Ok(true), 1));
}
