//! Java processes on a machine that a test makes up. They answer requests for a thread dump from a text.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::dump;
use crate::fake::Machine;
use crate::threads::ThreadKey;

/// A JVM that tells its threads, until this value is dropped.
pub(crate) struct Jvm {
    process: u32,
    dump: Arc<Mutex<Vec<u8>>>,
    dumps: Arc<Mutex<usize>>,
    is_over: Arc<Mutex<bool>>,
    /// True if connections stay open without an answer.
    hangs: Arc<Mutex<bool>>,
    socket: PathBuf,
    serving: Option<JoinHandle<()>>,
}

impl Jvm {
    /// The number of a thread on the machine less that in the namespace of its process.
    pub(crate) const OUTER: u32 = 100_000;

    /// Starts a process with these arguments and the threads of a dump.
    pub(crate) fn start(machine: &Machine, process: u32, arguments: &[&str], dump: &str) -> Jvm {
        let folder = machine.processes.root().join(process.to_string());
        machine.begin(process, process, 5);
        fs::write(folder.join("cmdline"), arguments.join("\0") + "\0").unwrap();
        let status =
            format!("Name:\tjava\nUid:\t0\t0\t0\t0\nNSpid:\t{process}\t7\nSigCgt:\t0000000000000000\n");
        for file in ["status".to_owned(), format!("task/{process}/status")] {
            fs::write(folder.join(file), &status).unwrap();
        }
        fs::create_dir_all(folder.join("root/tmp")).unwrap();
        let socket = folder.join("root/tmp/.java_pid7");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut jvm = Jvm {
            process,
            dump: Arc::default(),
            dumps: Arc::default(),
            is_over: Arc::default(),
            hangs: Arc::default(),
            socket,
            serving: None,
        };
        jvm.set_dump(dump);
        for (place, thread) in (0..).zip(dump::threads(dump.as_bytes())) {
            jvm.begin(machine, thread.number, 10 + place);
        }
        let (dump, dumps, is_over) = (jvm.dump.clone(), jvm.dumps.clone(), jvm.is_over.clone());
        let hangs = jvm.hangs.clone();
        jvm.serving = Some(std::thread::spawn(move || {
            let mut unanswered = Vec::new();
            while let Ok((mut stream, _)) = listener.accept() {
                let mut request = [0; 16];
                let count = stream.read(&mut request).unwrap_or(0);
                if *is_over.lock().unwrap() {
                    return;
                }
                assert_eq!(&request[..count], b"1\0threaddump\0\0\0\0");
                *dumps.lock().unwrap() += 1;
                if *hangs.lock().unwrap() {
                    unanswered.push(stream);
                } else {
                    let _is_written = stream.write_all(&dump.lock().unwrap());
                }
            }
        }));
        jvm
    }

    /// Begins a thread with this number in the namespace.
    pub(crate) fn begin(&self, machine: &Machine, inner: u32, started: u64) {
        let outer = inner + Jvm::OUTER;
        machine.begin(self.process, outer, started);
        let folder = machine.processes.root().join(format!("{}/task/{outer}", self.process));
        fs::write(folder.join("status"), format!("NSpid:\t{outer}\t{inner}\n")).unwrap();
    }

    /// Returns the identity of the thread with this number in the namespace.
    pub(crate) fn key(&self, machine: &Machine, inner: u32) -> ThreadKey {
        machine.processes.key(self.process, inner + Jvm::OUTER).unwrap().unwrap()
    }

    /// Sets the dump, which the JVM writes in Java's form of UTF-8.
    pub(crate) fn set_dump(&self, dump: &str) {
        let mut bytes = b"0\n".to_vec();
        for character in dump.chars() {
            let mut units = [0; 2];
            match character.encode_utf16(&mut units) {
                [_] => bytes.extend(character.to_string().as_bytes()),
                pair => {
                    for unit in pair {
                        let bits = [
                            0xE0 | (*unit >> 12) as u8,
                            0x80 | (*unit >> 6 & 0x3F) as u8,
                            0x80 | (*unit & 0x3F) as u8,
                        ];
                        bytes.extend(bits);
                    }
                }
            }
        }
        *self.dump.lock().unwrap() = bytes;
    }

    /// Makes the JVM close connections without an answer.
    pub(crate) fn refuse(&self) {
        self.dump.lock().unwrap().clear();
    }

    /// Makes the JVM leave requests without an answer, and the connections open.
    pub(crate) fn hang(&self) {
        *self.hangs.lock().unwrap() = true;
    }

    /// Returns how many dumps were taken.
    pub(crate) fn dumps(&self) -> usize {
        *self.dumps.lock().unwrap()
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        *self.is_over.lock().unwrap() = true;
        if let Ok(stream) = UnixStream::connect(&self.socket) {
            let _is_closed = stream.shutdown(Shutdown::Both);
            if let Some(serving) = self.serving.take() {
                serving.join().unwrap();
            }
        }
    }
}
