//! System calls that no library wraps: the scheduling of a thread. This is the only module of the package with unsafe
//! code.

use std::io;

use crate::setting::{Class, Setting};

/// The structure `sched_attr` of Linux, in its first version: `sched(7)`, `sched_setattr(2)`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Size of the first version of the structure, which all kernels know.
const SIZE: u32 = size_of::<Attributes>() as u32;
const _: () = assert!(SIZE == 48, "the kernel's first version has 48 bytes");

/// SCHED_FLAG_RESET_ON_FORK.
const RESET_ON_FORK: u64 = 1;

const CLASSES: [(Class, i32); 5] = [
    (Class::Other, libc::SCHED_OTHER),
    (Class::Batch, libc::SCHED_BATCH),
    (Class::Idle, libc::SCHED_IDLE),
    (Class::RoundRobin, libc::SCHED_RR),
    (Class::Fifo, libc::SCHED_FIFO),
];

/// Returns the scheduling of the thread with the number `thread`, or of the calling thread if it is 0.
///
/// # Errors
/// The error of `sched_getattr`: no such thread, or no permission. `Unsupported` if the thread has a class that
/// [`Class`] does not have, such as SCHED_DEADLINE.
pub fn setting(thread: u32) -> io::Result<Setting> {
    let mut found = Attributes::default();
    // SAFETY: `sched_getattr` takes a number, a pointer to memory of which it writes at most `SIZE` bytes, `SIZE` and
    // zero. `found` is that large, lives during the call, and any bytes are valid values of its fields.
    let code = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut found, SIZE, 0_u32) };
    if code != 0 {
        return Err(io::Error::last_os_error());
    }
    let class = CLASSES.iter().find(|(_, number)| *number as u32 == found.policy).map(|(class, _)| *class);
    let class = class.ok_or_else(|| {
        let text = format!("thread {thread} has the scheduling class {}, which is left alone", found.policy);
        io::Error::new(io::ErrorKind::Unsupported, text)
    })?;
    let (nice, priority) = if class.is_real_time() { (0, found.priority) } else { (found.nice, 0) };
    Ok(Setting { class, nice, priority, resets_on_fork: found.flags & RESET_ON_FORK != 0 })
}

/// Sets the scheduling of the thread with the number `thread`, or of the calling thread if it is 0.
///
/// # Errors
/// The error of `sched_setattr`: no such thread, no permission (CAP_SYS_NICE), or a priority that the class does not
/// have.
pub fn set(thread: u32, setting: Setting) -> io::Result<()> {
    let number = CLASSES.iter().find(|(class, _)| *class == setting.class).map_or(0, |(_, number)| *number);
    let flags = if setting.resets_on_fork { RESET_ON_FORK } else { 0 };
    let Setting { nice, priority, .. } = setting;
    let wanted =
        Attributes { size: SIZE, policy: number as u32, flags, nice, priority, ..Attributes::default() };
    // SAFETY: `sched_setattr` takes a number, a pointer to `size` bytes, which it only reads, and zero. `wanted` has that
    // size and lives during the call.
    let code = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const wanted, 0_u32) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Returns the number of the calling thread.
    fn own_number() -> u32 {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    /// Runs `act` with the number of another thread, which lives meanwhile.
    fn with_thread(act: impl FnOnce(u32)) {
        let (told, number) = channel();
        let (go, wait) = channel::<()>();
        let other = std::thread::spawn(move || {
            told.send(own_number()).unwrap();
            let _ended = wait.recv();
        });
        act(number.recv().unwrap());
        drop(go);
        other.join().unwrap();
    }

    /// A nice value is set and read on a real thread, which needs no privileges upwards.
    #[test]
    fn nice_values_are_set_on_real_threads() {
        with_thread(|thread| {
            let before = setting(thread).unwrap();
            let less_urgent = Setting::nice((before.nice + 1).min(19));
            set(thread, less_urgent).unwrap();
            assert_eq!(setting(thread).unwrap(), less_urgent);
        });
    }

    /// Real-time priorities are set on a real thread, and threads that it starts do not inherit them. Without
    /// privileges the kernel refuses, and the test says that it was skipped.
    #[test]
    fn real_time_priorities_are_set_and_not_inherited() {
        for (class, priority) in [(Class::RoundRobin, 98), (Class::Fifo, 1)] {
            with_thread(|thread| {
                let wanted = Setting::real_time(class, priority);
                match set(thread, wanted) {
                    Ok(()) => assert_eq!(setting(thread).unwrap(), wanted),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        eprintln!(
                            "skipped: real-time priorities need CAP_SYS_NICE and a budget of the group"
                        );
                    }
                    Err(error) => panic!("{error}"),
                }
            });
        }
        let child = std::thread::spawn(|| {
            set(0, Setting::real_time(Class::RoundRobin, 5)).ok()?;
            Some(std::thread::spawn(|| setting(0).unwrap()).join().unwrap())
        });
        if let Some(inherited) = child.join().unwrap() {
            assert_eq!((inherited.class, inherited.priority), (Class::Other, 0));
        }
    }

    /// A thread that does not exist is an error, and so is a priority that its class does not have, unless privileges are
    /// missing even for those that it has.
    #[test]
    fn what_does_not_exist_is_an_error() {
        let gone = setting(u32::MAX >> 1).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
        with_thread(|thread| {
            if set(thread, Setting::real_time(Class::Fifo, 1)).is_err() {
                eprintln!("skipped: real-time priorities need CAP_SYS_NICE and a budget of the group");
                return;
            }
            for impossible in [Setting::real_time(Class::RoundRobin, 0), Setting::real_time(Class::Fifo, 100)]
            {
                let refused = set(thread, impossible).unwrap_err();
                assert_eq!(refused.raw_os_error(), Some(libc::EINVAL), "{impossible:?}");
            }
        });
    }
}
