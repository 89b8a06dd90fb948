//! Makes a test that hangs fail. The real clock bounds the wait and decides nothing else: a test that passes
//! never waits for it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time after which a test counts as hung. It is far longer than any test takes on a busy machine.
pub const HUNG_AFTER: Duration = Duration::from_secs(60);

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
/// If `body` panics, or has not returned after `bound`.
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
    if wait.recv_timeout(bound) == Err(RecvTimeoutError::Timeout) {
        panic!("{what} has not come back after {bound:?}");
    }
    match thread.join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
