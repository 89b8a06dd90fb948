//! Makes a test that hangs fail. The real clock bounds the wait and decides nothing else: a test that passes
//! never waits for it.

use std::fmt::Write;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time after which a test counts as hung. It is far longer than any test takes on a busy machine.
pub const HUNG_AFTER: Duration = Duration::from_secs(60);

/// Longest wait that counts at once. A virtual machine may be held up for a minute, and all of its clocks then jump; such
/// a jump counts as one of these waits, and the test goes on.
const SLICE: Duration = Duration::from_secs(1);

/// Runs `body` on a thread of its own.
///
/// # Panics
/// If `body` panics, or has not returned after [`HUNG_AFTER`].
pub fn within_bounds<Q: Send + 'static>(what: &str, body: impl FnOnce() -> Q + Send + 'static) -> Q {
    within(HUNG_AFTER, what, body)
}

/// Runs `body` on a thread of its own, with a given time limit, for tests that take longer.
///
/// # Panics
/// If `body` panics, or has not returned after `bound`. The message then lists the threads of the process.
pub fn within<Q: Send + 'static>(
    bound: Duration,
    what: &str,
    body: impl FnOnce() -> Q + Send + 'static,
) -> Q {
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        let result = body();
        // Sending fails only if the receiver is gone, and then the test has failed already.
        let _ = done.send(());
        result
    });
    let mut left = bound;
    while wait.recv_timeout(left.min(SLICE)) == Err(RecvTimeoutError::Timeout) {
        left = left.saturating_sub(SLICE);
        assert!(!left.is_zero(), "{what} has not come back after {bound:?}{}", threads());
    }
    match thread.join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Lists the threads of this process, one per line: name, state (R runs, S sleeps), and clock ticks of CPU time. A
/// thread that ran all the time is caught in a loop; if all of them sleep, one was not woken.
fn threads() -> String {
    let mut list = String::new();
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        // A thread may have ended since the folder was read.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((name, fields)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
            continue;
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [state, user, system] = [0, 11, 12].map(|place| fields.get(place).copied().unwrap_or("?"));
        // Writing to a string does not fail.
        let _ = write!(list, "\n  {name}: state {state}, {user} ticks in user mode, {system} in the kernel");
    }
    list
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{threads, within};

    #[test]
    fn a_list_of_threads_has_names_and_states() {
        let named = std::thread::Builder::new().name("a listed one".to_owned());
        let list = named.spawn(threads).unwrap().join().unwrap();
        assert!(list.contains("a listed one: state R"), "{list}");
    }

    #[test]
    #[should_panic(expected = "ticks in user mode")]
    fn a_test_that_hangs_fails_and_lists_its_threads() {
        within(Duration::from_millis(1), "a body that sleeps", || {
            std::thread::sleep(Duration::from_millis(300));
        });
    }
}
