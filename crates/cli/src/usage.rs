//! What a run has cost: CPU time and memory of the process.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of CPU time that all threads of the process have used.
pub fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The most bytes of memory that the process held at once since [`forget_rss_peak`]; 0 where the system does not
/// tell.
pub fn rss_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Lets the peak begin anew at what is held now, so that a run does not answer for the one before it. Where the
/// system does not allow it, the peak stays that of the whole process.
pub fn forget_rss_peak() {
    // 5 is the kernel's word for the peak (proc_pid_clear_refs(5)).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_time_and_memory() {
        assert!(cpu_seconds() > 0.0);
        assert!(rss_peak_bytes() > 1 << 16);
    }

    /// The peak goes down again once what was held is given back.
    #[test]
    fn a_peak_can_be_forgotten() {
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        let peak_bytes = rss_peak_bytes();
        assert!(peak_bytes == 0 || 64 << 20 <= peak_bytes, "{peak_bytes}");
        drop(held);
        forget_rss_peak();
        assert!(rss_peak_bytes() <= peak_bytes);
    }
}
