//! The windows of a benchmark run, as its command line options choose them.

use thalweg::{SlidingWindows, Span, TumblingWindows};
use thalweg_workloads::reference;

use super::args::BenchArgs;
use super::workload::Facts;

/// Returns the windows that the command line options ask for. The windows may overlap.
///
/// # Panics
/// If the workload's windows cannot be chosen.
pub fn sliding_windows(args: &BenchArgs) -> SlidingWindows {
    let (size, slide) = sizes(args);
    SlidingWindows::of_size(size)
        .every(slide)
        .expect("`fit` refuses windows and slides below their unit, which is above zero")
}

/// Returns the windows that the command line options ask for, for a workload whose windows do not overlap.
///
/// # Panics
/// If the workload's windows cannot be chosen.
pub fn tumbling_windows(args: &BenchArgs) -> TumblingWindows {
    let (size, _) = sizes(args);
    TumblingWindows::new(size).expect("`fit` refuses windows below their unit, which is above zero")
}

/// Returns the windows that the command line options ask for, in the form that the reference computation of
/// results takes.
pub fn reference_windows(args: &BenchArgs) -> reference::Windows {
    let (size, slide) = sizes(args);
    reference::Windows { size_us: size.as_micros(), slide_us: slide.as_micros() }
}

/// Returns the size and the slide of the windows that the command line options ask for.
pub fn sizes(args: &BenchArgs) -> (Span, Span) {
    let Facts { name, windows, .. } = args.workload().facts();
    let windows = windows.as_ref().unwrap_or_else(|| panic!("the windows of {name} cannot be chosen"));
    let size = args.window.unwrap_or(windows.size);
    // If only the size is given, the default slide may be longer. It is then cut to the size, so that windows
    // lie back to back.
    (size, args.slide.or(windows.slide).unwrap_or(size).min(size))
}
