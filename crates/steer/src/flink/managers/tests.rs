//! Processes of TaskManagers on a machine that a test makes up.

use std::os::unix::fs::symlink;

use super::*;
use crate::fake::Machine;
use crate::jvm::fake::Jvm;

/// A thread dump of Flink 2.3 on OpenJDK 17, with characters beyond U+FFFF as in UTF-8.
pub(in crate::flink) const DUMP: &str = include_str!("../recorded/threads.txt");

/// Starts a process that is a TaskManager, listens on a port, and has the threads of a dump.
pub(in crate::flink) fn start(machine: &Machine, process: u32, port: u16, dump: &str) -> Jvm {
    let jvm = Jvm::start(machine, process, &["java", "-Xmx1g", MAIN_CLASSES[0], "-c", "conf"], dump);
    let folder = machine.processes.root().join(process.to_string());
    for made in ["net", "fd"] {
        fs::create_dir_all(folder.join(made)).unwrap();
    }
    fs::write(folder.join("net/tcp"), sockets(&[(port, "0A", 4_711)])).unwrap();
    symlink("socket:[4711]", folder.join("fd/9")).unwrap();
    symlink("/dev/null", folder.join("fd/1")).unwrap();
    jvm
}

/// Returns a list of sockets: their ports, states and numbers.
fn sockets(sockets: &[(u16, &str, u32)]) -> String {
    let head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
    let line = |(port, state, inode): &(u16, &str, u32)| {
        format!(
            "   0: 0100007F:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 1 0\n"
        )
    };
    sockets.iter().map(line).fold(head.to_owned(), |text, line| text + &line)
}

fn manager(id: &str, port: Option<u16>) -> Manager {
    Manager { id: id.to_owned(), data_port: port }
}

/// Looks once, and returns the numbers of the processes with the TaskManagers that they may be.
fn look(managers: &mut Managers, wanted: &[Manager], second: u64) -> Result<Vec<(u32, String)>, Unobserved> {
    managers.look(wanted, Duration::from_secs(second), Instant::now() + Duration::from_secs(9))?;
    let ids = |local: &Local| local.managers.iter().cloned().collect::<Vec<_>>().join(" ");
    Ok(managers.found().iter().map(|local| (local.process.process().process, ids(local))).collect())
}

fn found(list: &[(u32, &str)]) -> Result<Vec<(u32, String)>, Unobserved> {
    Ok(list.iter().map(|(process, ids)| (*process, (*ids).to_owned())).collect())
}

/// A process that listens on the port of a TaskManager is that one. Another Flink on the machine is left alone.
#[test]
fn a_process_is_known_by_its_port() {
    let machine = Machine::new();
    let jvms =
        [(70, 1_001), (71, 1_002), (72, 1_003)].map(|(process, port)| start(&machine, process, port, DUMP));
    let mut managers = Managers::new(machine.processes.clone());
    let wanted = [manager("a", Some(1_002)), manager("b", Some(1_001)), manager("c", Some(9_999))];
    assert_eq!(look(&mut managers, &wanted, 1), found(&[(70, "b"), (71, "a")]));
    assert_eq!(jvms.map(|jvm| jvm.dumps()), [1, 1, 0]);
}

/// Without a port, or without a look at the sockets of a process, a process may be any TaskManager that no other is.
#[test]
fn a_process_whose_port_is_not_seen_may_be_any() {
    let machine = Machine::new();
    let _jvms =
        [(70, 1_001), (71, 1_001), (72, 1_002)].map(|(process, port)| start(&machine, process, port, DUMP));
    for process in [70, 72] {
        fs::remove_dir_all(machine.processes.root().join(format!("{process}/fd"))).unwrap();
    }
    let wanted = [manager("a", Some(1_001)), manager("b", Some(1_002)), manager("c", None)];
    let mut managers = Managers::new(machine.processes.clone());
    assert_eq!(look(&mut managers, &wanted, 1), found(&[(70, "c"), (71, "a c"), (72, "b c")]));
}

/// A shell whose script names the class is no TaskManager, and neither are other programs. All classes are known.
#[test]
fn only_the_main_class_makes_a_taskmanager() {
    let machine = Machine::new();
    let cases = [
        (70, format!("bash\0-c\0exec java {}\0", MAIN_CLASSES[0]), false),
        (71, "java\0org.apache.flink.table.gateway.SqlGateway\0".to_owned(), false),
        (72, String::new(), false),
        (73, format!("java\0{}", MAIN_CLASSES[1]), true),
        (74, format!("/usr/bin/java\0-Dé=\u{1F600}\0{}\0-D\0", MAIN_CLASSES[2]), true),
    ];
    let jvms: Vec<Jvm> = cases
        .iter()
        .map(|(process, arguments, _)| {
            let jvm = start(&machine, *process, 1_001, DUMP);
            fs::write(machine.processes.root().join(format!("{process}/cmdline")), arguments).unwrap();
            jvm
        })
        .collect();
    let mut managers = Managers::new(machine.processes.clone());
    let expected: Vec<(u32, &str)> =
        cases.iter().filter(|(_, _, is_one)| *is_one).map(|(process, ..)| (*process, "a")).collect();
    assert_eq!(look(&mut managers, &[manager("a", Some(1_001))], 1), found(&expected));
    drop(jvms);
}

/// Processes are looked for when TaskManagers change, when one has ended, and now and then while one is missing.
#[test]
fn processes_are_looked_for_when_something_changes() {
    let machine = Machine::new();
    let wanted = [manager("a", Some(1_001)), manager("b", Some(1_002))];
    let mut managers = Managers::new(machine.processes.clone());
    assert_eq!(look(&mut managers, &wanted, 1), found(&[]));
    let first = start(&machine, 70, 1_001, DUMP);
    assert_eq!(look(&mut managers, &wanted, 5), found(&[]));
    assert_eq!(look(&mut managers, &wanted, 11), found(&[(70, "a")]));
    let _second = start(&machine, 71, 1_002, DUMP);
    assert_eq!(look(&mut managers, &wanted, 12), found(&[(70, "a")]));
    assert_eq!(look(&mut managers, &wanted[1..], 13), found(&[(71, "b")]));
    assert_eq!(look(&mut managers, &wanted, 14), found(&[(70, "a"), (71, "b")]));
    drop(first);
    fs::remove_dir_all(machine.processes.root().join("70")).unwrap();
    assert_eq!(look(&mut managers, &wanted, 15), found(&[(71, "b")]));
}

/// A process that refuses a dump is an error, and one that ends while it is asked is not.
#[test]
fn a_process_that_ends_meanwhile_is_forgotten() {
    let machine = Machine::new();
    let jvm = start(&machine, 70, 1_001, DUMP);
    let wanted = [manager("a", Some(1_001))];
    let folder = machine.processes.root().join("70");
    jvm.refuse();
    let mut managers = Managers::new(machine.processes.clone());
    let refused = look(&mut managers, &wanted, 1).unwrap_err().0;
    assert!(refused.contains("run this program as user 0"), "{refused}");
    jvm.set_dump(DUMP);
    assert_eq!(look(&mut managers, &wanted, 2), found(&[(70, "a")]));
    // Its socket is gone, and it ends when it is asked for another.
    fs::remove_file(folder.join("root/tmp/.java_pid7")).unwrap();
    let status = fs::read_to_string(folder.join("status")).unwrap();
    fs::write(
        folder.join("status"),
        status.replace("SigCgt:\t0000000000000000", "SigCgt:\t0000000000000004"),
    )
    .unwrap();
    managers.quit =
        |processes, process| fs::remove_dir_all(processes.root().join(process.process.to_string()));
    jvm.begin(&machine, 9_000, 99);
    assert_eq!(look(&mut managers, &wanted, 3), found(&[]));
}

#[test]
fn processes_beyond_the_bound_are_an_error() {
    let machine = Machine::new();
    let jvms: Vec<Jvm> = (70..=134).map(|process| start(&machine, process, 1_001, "")).collect();
    let mut managers = Managers::new(machine.processes.clone());
    let refused = look(&mut managers, &[manager("a", Some(1_001))], 1).unwrap_err().0;
    assert_eq!(refused, "65 TaskManagers run here; at most 64 are steered");
    drop(jvms);
}

/// Threads are known by their numbers within the namespace, and a JVM that names threads of others names none.
#[test]
fn a_jvm_names_its_own_threads_only() {
    let machine = Machine::new();
    let dump = "\"a\" nid=0x10\n\"a\" nid=17\n\"a\" nid=17\n\"b\" nid=18\n\"b\" nid=1\n\"b\" nid=100016\n";
    let jvm = start(&machine, 70, 1_001, "");
    jvm.set_dump(dump);
    // The later thread has the smaller number.
    jvm.begin(&machine, 16, 30);
    jvm.begin(&machine, 17, 20);
    machine.begin(71, Jvm::OUTER + 18, 1);
    let mut managers = Managers::new(machine.processes.clone());
    assert_eq!(look(&mut managers, &[manager("a", Some(1_001))], 1), found(&[(70, "a")]));
    let local = &managers.found()[0];
    assert_eq!(local.named("a"), [jvm.key(&machine, 17), jvm.key(&machine, 16)]);
    assert!(local.named("b").is_empty() && local.named("").is_empty());
    assert!(local.may_be(None) && local.may_be(Some("a")) && !local.may_be(Some("b")));
}

#[test]
fn lists_of_sockets_are_read() {
    let check = |lines: &str, port| lines.lines().filter_map(|line| listener(line, port)).collect::<Vec<_>>();
    let list = sockets(&[(8_081, "0A", 5), (8_081, "01", 6), (80, "0A", 7)]);
    assert_eq!(check(&list, 8_081), ["5"]);
    let any = "0".repeat(32);
    let six = format!("   1: {any}:1F91 {any}:0000 0A 0:0 0:0 0 0 0 8 1\n");
    assert_eq!(check(&six, 8_081), ["8"]);
    for line in ["", ":", "a b:1F91 c 0A", "1: 0100007F 0 0A", "1: 0:xyz 0 0A 0 0 0 0 0 9", "1: 0:1F91 0"] {
        assert!(check(line, 8_081).is_empty(), "{line}");
    }
}

/// The arguments, the user and the signals of this process are found.
#[test]
fn own_process_is_seen() {
    let processes = Processes::default();
    let own = std::process::id();
    assert!(processes.numbers().unwrap().contains(&own));
    assert_eq!(processes.arguments(own).first().map(String::as_str), std::env::args().next().as_deref());
    assert!(processes.effective_user(own).is_some());
    // Rust's runtime has a function for SIGSEGV (11), and none for SIGQUIT.
    assert!(processes.handles(own, 11) && !processes.handles(own, 3));
    assert!(!processes.handles(own, 0) && !processes.handles(own, 65) && !processes.handles(u32::MAX, 11));
    assert!(processes.arguments(u32::MAX).is_empty() && processes.effective_user(u32::MAX).is_none());
}

#[test]
fn threads_of_actor_systems_tell_metrics_and_no_others() {
    for (name, expected) in [
        ("flink-8", true),
        ("flink-metrics-5", true),
        ("Flink-Metric-View-Updater-thread-1", true),
        ("flink-metrics-scheduler-1", true),
        ("flink-scheduler-1", true),
        ("flink-pekko.actor.default-dispatcher-4", true),
        ("flink-metrics-akka.remote.default-remote-dispatcher-6", true),
        ("flink-", false),
        ("flink-metrics-", false),
        ("flink-taskexecutor-io-thread-1", false),
        ("flink-orders (1/2)#0", false),
        ("flink-pekko.actor.default-dispatcher (1/1)#0", false),
        ("flink-snapshot-rate-limiter", false),
        ("Source: flink-8 (1/1)#0", false),
    ] {
        assert_eq!(is_telling(name), expected, "{name}");
    }
}
