//! A watch over the calls of user functions of one query: it tells which calls do not return.
//!
//! The operators of the query enter the watch ([`Watch::within`]) on the thread that runs them. Each call of a user function
//! there is noted before it begins and forgotten when it ends. A thread of the watch looks from time to time for calls that
//! are overdue, and reports them. So the watch works even if all workers are within calls that do not return. The thread
//! begins with the first call, and ends after the last operator of the query.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use thalweg_model::{Clock, ProcessingTime};

/// Nanoseconds of processing time after which a call that has not returned is reported: one second, as for tasks that are
/// stuck.
pub const OVERDUE_NS: u64 = 1_000_000_000;

/// Time between two looks of the thread of a watch.
const LOOK_EVERY: Duration = Duration::from_millis(250);

thread_local! {
    /// Watch of the query whose operator runs on this thread.
    static CURRENT: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// Watch over the calls of user functions of one query.
pub struct Watch {
    clock: Arc<dyn Clock>,
    calls: Mutex<Calls>,
    report: Box<dyn Fn(String) + Send + Sync>,
    /// Tells whether the thread of the watch was started.
    start: Once,
}

/// Calls that have begun and have not ended, at most one for each thread.
#[derive(Default)]
struct Calls {
    next: u64,
    open: BTreeMap<u64, Call>,
}

struct Call {
    function: Arc<str>,
    since: ProcessingTime,
    /// Whether the call was returned as overdue.
    is_told: bool,
}

impl Watch {
    /// Creates a watch that reads the time from a clock, and reports by a text each call that is overdue.
    pub fn new(clock: Arc<dyn Clock>, report: impl Fn(String) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Watch { clock, calls: Mutex::default(), report: Box::new(report), start: Once::new() })
    }

    /// Runs code of an operator. Calls of user functions in it are noted in the watch, if there is one.
    pub fn within<T>(watch: Option<&Arc<Watch>>, run: impl FnOnce() -> T) -> T {
        /// Guard that leaves the watch, also when the operator panics.
        struct Ending(Option<Arc<Watch>>);
        impl Drop for Ending {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let Some(watch) = watch else { return run() };
        let _ending = Ending(CURRENT.replace(Some(Arc::clone(watch))));
        run()
    }

    /// Reports each call that has not returned for [`OVERDUE_NS`], once.
    pub(super) fn look(&self) {
        let now = self.clock.now();
        let mut overdue = Vec::new();
        for call in self.calls().open.values_mut() {
            if !call.is_told && now.nanos_since(call.since) >= OVERDUE_NS {
                call.is_told = true;
                overdue.push(Arc::clone(&call.function));
            }
        }
        for function in overdue {
            (self.report)(format!(
                "a call of the user function {function} has not returned for {} s; the engine cannot end it",
                OVERDUE_NS / 1_000_000_000
            ));
        }
    }

    /// Starts the thread that looks for overdue calls, unless it was started.
    fn start(self: &Arc<Self>) {
        self.start.call_once(|| {
            let watch = Arc::downgrade(self);
            let looking = move || {
                while let Some(watch) = watch.upgrade() {
                    watch.look();
                    drop(watch);
                    std::thread::sleep(LOOK_EVERY);
                }
            };
            let started = std::thread::Builder::new().name("watch".to_owned()).spawn(looking);
            if let Err(error) = started {
                (self.report)(format!("calls of user functions are not watched: {error}"));
            }
        });
    }

    /// Returns the number of calls that were noted so far.
    #[cfg(test)]
    pub(super) fn noted(&self) -> u64 {
        self.calls().next
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a call of a user function, which the watch of this thread notes, if there is one. The calls of a function for the
/// groups of one batch may be made together, and count as one.
pub(super) fn watched<T>(function: &Arc<str>, call: impl FnOnce() -> T) -> T {
    /// Guard that forgets a call, also when the call panics.
    struct Open(Arc<Watch>, u64);
    impl Drop for Open {
        fn drop(&mut self) {
            self.0.calls().open.remove(&self.1);
        }
    }
    let Some(watch) = CURRENT.with_borrow(Clone::clone) else { return call() };
    watch.start();
    let since = watch.clock.now();
    let number = {
        let mut calls = watch.calls();
        calls.next += 1;
        let number = calls.next;
        calls.open.insert(number, Call { function: Arc::clone(function), since, is_told: false });
        number
    };
    let _open = Open(watch, number);
    call()
}
