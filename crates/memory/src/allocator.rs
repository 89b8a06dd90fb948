//! Settings of the C library's memory allocator. It serves all memory that is not a chunk of an edge or block
//! pool: the state of operators, batches of rows, and results.
//!
//! By default glibc gives a buffer a memory mapping of its own if the buffer is larger than a threshold. It
//! raises this threshold to the size of the largest buffer freed so far, up to 32 MiB. From then on a hash
//! table of that size lies in the heap of one thread. If the table is freed while another buffer lies behind
//! it in the heap, its pages stay with the process. So state that moves to larger and larger hash tables
//! takes memory that no budget counts: with 2 workers, about 25 MiB at a memory budget of 256 MiB.

/// Size in bytes, inclusive, from which the C library's allocator gives a buffer a memory mapping of its own.
/// Such a buffer goes back to the operating system as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const MAPPED_FROM_BYTES: i32 = 4 << 20;

/// Number of free bytes at the end of a heap from which the C library's allocator gives them back to the
/// operating system. Fewer free bytes are kept for the next batches, because the operating system fills each
/// page with zeros before the process gets it again.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const KEPT_BYTES: i32 = 16 << 20;

/// Makes the C library's allocator give large buffers back to the operating system when they are freed. A
/// program calls this function first of all, because the setting applies to the whole process.
///
/// Returns false if the process already has several threads, or if its C library is not
/// glibc: other allocators have other rules.
pub fn give_large_buffers_back() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads != 1 {
            return false;
        }
        let set = |parameter, bytes| {
            // SAFETY: `mallopt` takes any numbers. It must not run beside other threads that allocate, and
            // there are none: the process has one thread, which runs this function.
            unsafe { libc::mallopt(parameter, bytes) == 1 }
        };
        set(libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES) && set(libc::M_TRIM_THRESHOLD, KEPT_BYTES)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    false
}
