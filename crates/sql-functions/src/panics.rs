//! Caught panics of libraries and of user functions, which become errors. The reader of Parquet, for example, panics over
//! a damaged file.
//!
//! The hook which prints a panic runs before the panic is caught. A program which calls [`keep_quiet`] once prints
//! nothing about panics that [`caught`] catches; the error says what is wrong. All other panics are printed as
//! before.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    /// Number of nested calls of [`caught`] that run on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs `run` and catches a panic of it.
///
/// # Errors
/// The payload of the panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    DEPTH.set(DEPTH.get() + 1);
    let ran = catch_unwind(AssertUnwindSafe(run));
    DEPTH.set(DEPTH.get() - 1);
    ran
}

/// Returns the message of a caught panic, and drops its payload. A payload that panics when it is dropped is leaked.
pub fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned());
    if let Err(again) = caught(|| drop(payload)) {
        std::mem::forget(again);
    }
    text
}

/// Installs a panic hook which prints nothing about caught panics. To be called once, at the start of the program.
pub fn keep_quiet() {
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        // A thread that is ending no longer has the counter [`DEPTH`], and no call of [`caught`] runs on it.
        if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
            before(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A panic that becomes an error is not printed; any other panic is printed.
    #[test]
    fn only_panics_that_become_errors_are_quiet() {
        const OURS: &str = "a panic of this test";
        let printed = Arc::new(Mutex::new(0_u64));
        let (count, before) = (Arc::clone(&printed), take_hook());
        set_hook(Box::new(move |panic| match panic.payload().downcast_ref::<&str>() {
            Some(&OURS) => *count.lock().unwrap() += 1,
            _ => before(panic),
        }));
        keep_quiet();
        let fails = || -> u64 { std::panic::panic_any(OURS) };
        assert!(caught(|| caught(fails).is_err() && caught(fails).is_err()).unwrap());
        assert!(caught(fails).is_err());
        assert_eq!(*printed.lock().unwrap(), 0);
        assert!(catch_unwind(fails).is_err());
        assert_eq!(*printed.lock().unwrap(), 1);
    }
}
