//! Prefetching: asks the processor for memory ahead of need.

/// Lets the processor fetch the cache line in which `value` begins, without waiting. A hint: it changes no
/// result. It does nothing on processors other than x86-64, and under Miri.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction. It faults at no address, reads nothing that the program
        // can observe, and writes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
