//! Settings of the C library's allocator, which serves everything that is not a chunk: state of operators, batches,
//! results.
//!
//! By default glibc raises the size from which a buffer gets a mapping of its own to that of the largest buffer freed so
//! far, up to 32 MiB. From then on a table of that size lies in the heap of one thread, and when it is freed while
//! something lies behind it, its pages stay with the process. So state that moves to larger and larger tables takes memory
//! that no budget counts: with two workers some 25 MiB of 256.

/// Buffers from this size on are mappings of their own, and go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const MAPPED_FROM_BYTES: i32 = 4 << 20;

/// Free bytes at the end of a heap from which they go back to the system. Fewer are kept for the next batches: a page that
/// is given back must be filled with zeros again.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const KEPT_BYTES: i32 = 16 << 20;

/// Makes the allocator give large buffers back to the system when they are freed. To be called by a program, as the first
/// thing that it does: the setting is that of the whole process.
///
/// Returns false, and changes nothing, if the process has several threads already, or if its C library is not glibc, whose
/// allocators have other rules.
pub fn give_large_buffers_back() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads != 1 {
            return false;
        }
        let set = |parameter, bytes| {
            // SAFETY: `mallopt` takes any numbers. It must not run beside other threads that allocate, and there are none:
            // the process has one thread, which is here.
            unsafe { libc::mallopt(parameter, bytes) == 1 }
        };
        set(libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES) && set(libc::M_TRIM_THRESHOLD, KEPT_BYTES)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    false
}
