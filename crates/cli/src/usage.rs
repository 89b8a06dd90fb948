//! What a run has cost: CPU time and memory of the process.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of CPU time that all threads of the process have used.
pub fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The most bytes of memory that the process ever held at once; 0 where the system does not tell.
pub fn rss_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_time_and_memory() {
        assert!(cpu_seconds() > 0.0);
        assert!(rss_peak_bytes() > 1 << 16);
    }
}
