//! The memory of the program as the system sees it: `thalweg run` and `thalweg bench` hold at most the memory budget and
//! 64 MiB, or refuse what does not fit with a stable code.
//!
//! Each case runs the real program and reads the peak of its resident size. The quick cases run in `cargo test`; all of them
//! run in `cargo xtask deep memory`, which prints one line per case.

mod cases;
mod files;
mod peak;

use peak::{Folder, Outcome};

/// Memory that the program may hold in addition to its budget.
const BESIDE_MIB: u64 = 64;

/// Runs `sql` with a budget and checks the peak of the resident size. `codes` are the allowed error codes. If
/// there are none, the run must succeed.
fn check(name: &str, budget_mib: u64, sql: &str, codes: &[&str]) {
    let folder = Folder::new(name);
    folder.write("job.sql", sql);
    check_command(
        name,
        &folder,
        budget_mib,
        &format!("run job.sql --workers 2 --memory-budget {budget_mib}MiB"),
        codes,
    );
}

fn check_command(name: &str, folder: &Folder, budget_mib: u64, line: &str, codes: &[&str]) {
    let Outcome { peak_mib, code, stderr } = folder.run(line);
    let told = stderr.lines().last().unwrap_or_default();
    let told: String = told.chars().take(300).collect();
    println!("{name}: peak {peak_mib} MiB with a budget of {budget_mib} MiB, exit code {code}: {told}");
    assert!(
        peak_mib <= budget_mib + BESIDE_MIB,
        "{name}: the peak of {peak_mib} MiB is above the budget of {budget_mib} MiB and {BESIDE_MIB} MiB: {told}"
    );
    if code != 0 {
        let is_allowed = codes.iter().any(|code| stderr.contains(code));
        assert!(code == 1 && is_allowed, "{name}: exit code {code}, allowed are {codes:?}: {stderr}");
    }
}
