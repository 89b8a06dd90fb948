//! The attach protocol with a JVM that a test plays.

use std::os::unix::net::UnixListener;
use std::sync::mpsc::channel;

use super::*;
use crate::fake::Machine;

/// Time that no test needs.
const LONGEST: Duration = Duration::from_secs(10);

fn no_signal(_: &Processes, _: ThreadKey) -> io::Result<()> {
    panic!("no signal is to be sent")
}

/// Begins process 70, which has the number `inner` in its innermost namespace, and returns it with its folder `/tmp`.
fn process(machine: &Machine, inner: u32, handles: &str) -> (ThreadKey, PathBuf) {
    let key = machine.begin(70, 70, 5);
    let folder = machine.processes.root().join("70");
    let status = format!("Name:\tjava\nUid:\t7\t1000\t7\t7\nNSpid:\t70\t{inner}\nSigCgt:\t{handles}\n");
    for file in ["status", "task/70/status"] {
        fs::write(folder.join(file), &status).unwrap();
    }
    let temporary = folder.join("root/tmp");
    fs::create_dir_all(&temporary).unwrap();
    (key, temporary)
}

/// Answers one connection as a JVM does: it takes the whole request first.
fn serve(listener: &UnixListener, answer: &[u8]) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = [0; REQUEST.len()];
    stream.read_exact(&mut request).unwrap();
    assert_eq!(request, REQUEST);
    let _is_written = stream.write_all(answer);
}

/// Asks a JVM that answers so.
fn answered(answer: &'static [u8]) -> Result<Vec<u8>, Unobserved> {
    let machine = Machine::new();
    let (key, temporary) = process(&machine, 7, "0");
    let listener = UnixListener::bind(temporary.join(".java_pid7")).unwrap();
    let jvm = thread::spawn(move || serve(&listener, answer));
    let dump = thread_dump(&machine.processes, key, LONGEST, no_signal);
    jvm.join().unwrap();
    dump
}

#[test]
fn a_dump_is_what_follows_the_code() {
    assert_eq!(answered(b"0\n\"main\" nid=1\n"), Ok(b"\n\"main\" nid=1\n".to_vec()));
    assert_eq!(answered(b"0"), Ok(Vec::new()));
}

/// A JVM that closes the connection takes this user for none of its own; one that tells a code has no dumps.
#[test]
fn a_refusal_tells_as_which_user_to_run() {
    let refused = answered(b"").unwrap_err().0;
    let expected = "the JVM of process 70 tells no threads: it closes the connection; run this program as user 1000, as \
                    the JVM runs, or as root (Java 8 takes its own user only)";
    assert_eq!(refused, expected);
    let refused = answered(b"101\nOperation threaddump not recognized!").unwrap_err().0;
    assert!(
        refused.ends_with("refuses a thread dump: 101 Operation threaddump not recognized!"),
        "{refused}"
    );
}

#[test]
fn a_dump_beyond_the_bound_is_an_error() {
    let refused = answered(vec![b'x'; DUMP_BYTES_MAX + 1].leak()).unwrap_err().0;
    assert!(refused.contains("its dump has more than 33554432 bytes"), "{refused}");
}

/// A JVM without a socket is asked for one by a file and a signal. The file is removed, and the name of both files has
/// the number within the namespace.
#[test]
fn a_socket_is_asked_for() {
    let machine = Machine::new();
    let (key, temporary) = process(&machine, 7, "0000000000000004");
    // What another process of this number has left behind.
    drop(UnixListener::bind(temporary.join(".java_pid7")).unwrap());
    let become_jvm: Quit = |processes, process| {
        let temporary = processes.root().join(process.process.to_string()).join("root/tmp");
        assert!(temporary.join(".attach_pid7").exists());
        thread::spawn(move || {
            let socket = temporary.join(".java_pid7");
            fs::remove_file(&socket).unwrap();
            serve(&UnixListener::bind(socket).unwrap(), b"0\nnew");
        });
        Ok(())
    };
    let dump = thread_dump(&machine.processes, key, LONGEST, become_jvm);
    assert_eq!(dump, Ok(b"\nnew".to_vec()));
    assert!(!temporary.join(".attach_pid7").exists());
}

/// A process that SIGQUIT would end gets none, and neither does one that has ended.
#[test]
fn no_process_is_ended() {
    let machine = Machine::new();
    for handles in ["0", "fffffffffffffffb", "x", ""] {
        let (key, _) = process(&machine, 7, handles);
        let refused = thread_dump(&machine.processes, key, LONGEST, no_signal).unwrap_err().0;
        assert!(refused.contains("it does not handle SIGQUIT"), "{refused}");
    }
    let (key, _) = process(&machine, 7, "4");
    let end: Quit = |processes, process| {
        fs::remove_dir_all(processes.root().join(process.process.to_string()).join("task"))
    };
    let refused = thread_dump(&machine.processes, key, LONGEST, end).unwrap_err().0;
    assert_eq!(refused, "the JVM of process 70 tells no threads: it has ended");
    let refused = thread_dump(&machine.processes, key, LONGEST, no_signal).unwrap_err().0;
    assert_eq!(refused, "the JVM of process 70 tells no threads: it has ended");
    let own = ThreadKey { started: 1, ..machine.begin(u32::MAX, u32::MAX, 7) };
    assert!(quit(&machine.processes, own).is_err(), "no process has this number");
}

/// A JVM that makes no socket, one that accepts no connection and one that stops in the middle of a dump take no longer
/// than they may.
#[test]
fn a_jvm_that_hangs_takes_a_bounded_time() {
    let short = Duration::from_millis(60);
    let machine = Machine::new();
    let (key, temporary) = process(&machine, 7, "4");
    let refused = thread_dump(&machine.processes, key, short, |_, _| Ok(())).unwrap_err().0;
    assert!(refused.contains("it makes no socket"), "{refused}");
    let socket = temporary.join(".java_pid7");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = connect_now(&socket) {
        waiting.push(stream);
        assert!(waiting.len() < 100_000);
    }
    assert!(thread_dump(&machine.processes, key, short, no_signal).is_err());
    drop((waiting, listener));
    fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let (go, wait) = channel::<()>();
    let jvm = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"0\n").unwrap();
        let _end = wait.recv();
    });
    let refused = thread_dump(&machine.processes, key, short, no_signal).unwrap_err().0;
    assert_eq!(refused, "the JVM of process 70 tells no threads: it does not answer in time");
    drop(go);
    jvm.join().unwrap();
}
