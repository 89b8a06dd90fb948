//! Atomics, locks, threads and slots: std's in builds, loom's under `--cfg loom`, so that the code which is shipped
//! is the code whose interleavings are searched.
//!
//! Every other crate takes its atomics from this module. `Arc` is std's in both cases, because loom's cannot
//! hold trait objects. The code of this project needs one property of `Arc`, when an edge is dropped: the
//! last of its owners sees everything that the others did before they dropped theirs. std promises this, and
//! loom does not check it.
//!
//! Locks ignore poisoning: the data that they guard are consistent at every point where user code may panic.

use std::mem::MaybeUninit;
use std::ops::Deref;

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread,
};
#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread,
};

#[cfg(loom)]
use loom::sync as inner;
#[cfg(not(loom))]
use std::sync as inner;

pub use inner::MutexGuard;
pub use std::sync::Arc;

/// A lock that ignores poisoning: a panic while it is held does not make it unusable.
#[derive(Debug, Default)]
pub struct Mutex<T>(inner::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a lock around `value`.
    pub fn new(value: T) -> Self {
        Mutex(inner::Mutex::new(value))
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    /// Waits until the lock is free, takes it, and returns the guard that releases it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A condition variable, used with a [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(inner::Condvar);

impl Condvar {
    /// Creates a condition variable without waiters.
    pub fn new() -> Self {
        Condvar(inner::Condvar::new())
    }

    /// Releases the lock, waits for a notification, and takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Waits for a notification as [`wait`](Self::wait) does, but for `timeout` at most.
    #[cfg(not(loom))]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).unwrap_or_else(std::sync::PoisonError::into_inner).0
    }

    /// Waits for a notification as [`wait`](Self::wait) does, without a limit, because under loom no time
    /// passes.
    #[cfg(loom)]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _timeout: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        self.wait(guard)
    }

    /// Wakes one thread that waits on this condition variable.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait on this condition variable.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A value on cache lines of its own. It takes two lines, because the hardware fetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CacheAligned<T>(pub T);

impl<T> Deref for CacheAligned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Memory for one value, initialised or not, which one side writes and another side reads, as a protocol
/// allows. Under loom every access is checked against every other.
#[cfg_attr(not(loom), repr(transparent))]
pub(crate) struct Slot<T>(UnsafeInner<MaybeUninit<T>>);

#[cfg(loom)]
use loom::cell::UnsafeCell as UnsafeInner;

/// std's `UnsafeCell`, wrapped so that it has the methods of loom's.
#[cfg(not(loom))]
#[repr(transparent)]
struct UnsafeInner<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeInner<T> {
    fn new(value: T) -> Self {
        UnsafeInner(std::cell::UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<Q>(&self, f: impl FnOnce(*const T) -> Q) -> Q {
        f(self.0.get())
    }
    #[inline(always)]
    fn with_mut<Q>(&self, f: impl FnOnce(*mut T) -> Q) -> Q {
        f(self.0.get())
    }
}

impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        Slot(UnsafeInner::new(MaybeUninit::uninit()))
    }

    /// Writes a value into the slot. A value that was in the slot is forgotten, not dropped.
    ///
    /// # Safety
    /// No other party accesses the slot meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, value: T) {
        self.0.with_mut(|slot| {
            // SAFETY: the pointer comes from the cell itself, so it is valid and aligned; that no other party uses it
            // meanwhile is this function's contract.
            let slot = unsafe { &mut *slot };
            slot.write(value);
        });
    }

    /// Moves the value out of the slot, which counts as uninitialised afterwards.
    ///
    /// # Safety
    /// The slot is initialised, nobody writes it meanwhile, and the value is not used through it again.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> T {
        self.0.with(|slot| {
            // SAFETY: the pointer comes from the cell itself, so it is valid and aligned; by contract no
            // party writes the slot.
            let slot = unsafe { &*slot };
            // SAFETY: the slot is initialised and its value not used again, by the contract of this function.
            unsafe { slot.assume_init_read() }
        })
    }

    /// Calls `look` with the value in the slot.
    ///
    /// # Safety
    /// The slot is initialised, and no party writes it, or moves the value out, before `look` returns.
    #[inline(always)]
    pub(crate) unsafe fn inspect<Q>(&self, look: impl FnOnce(&T) -> Q) -> Q {
        self.0.with(|slot| {
            // SAFETY: the pointer comes from the cell itself, so it is valid and aligned; by contract no
            // party writes the slot.
            let slot = unsafe { &*slot };
            // SAFETY: the slot is initialised, by the contract of this function.
            look(unsafe { slot.assume_init_ref() })
        })
    }
}
