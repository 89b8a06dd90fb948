//! Sections of figures at a given rate: latency, the cost of an engine that has little to do, and whether the
//! engine keeps up with the rate.

use super::section::{Aim, Figure, Line, Section, Side, Work, Workers};
use super::speeds::drained;
use super::table::Unit;

const P50: Figure = Figure::Number("/latency_us/p50", Unit::Micros);
const P99: Figure = Figure::Number("/latency_us/p99", Unit::Micros);
const MEAN: Figure = Figure::Number("/latency_us/mean", Unit::Micros);

/// Least ratio of processed to offered records at which a run has a latency. If the engine falls behind, its
/// backlog grows as long as it runs.
const KEPT_UP_MIN: f64 = 0.99;

/// Section for the latency of every record when there is little to do, and for the CPU time that waiting
/// costs.
pub(super) fn latency() -> Section {
    let sides = [("one worker", 1), ("two workers", 2)].map(|(count, workers)| Side {
        title: format!("1,000 events/s, {count}"),
        options: format!("ysb --workers {workers} --rate 1000"),
        work: Work::AtRate,
        // The run has 20,000 records, of which 200 lie above the 99th percentile.
        seconds: 20.0,
        workers: Workers::Waiting,
        lines: vec![
            // The bounds allow for waking a thread, which takes tens of microseconds.
            Line::new(format!("{count}, p50"), P50, Aim::AtMost(60.0)),
            Line::new(format!("{count}, p99"), P99, Aim::AtMost(600.0)),
            // The bound is 5 % of a core, which a worker would use at this rate if it spun for the last 50 µs
            // before each record.
            Line::new(format!("{count}, CPU, of one core"), Figure::Cpu, Aim::AtMost(5.0)),
        ],
    });
    Section::new("YSB at 1,000 events/s, default chains", sides)
}

/// Section for the CPU time of an engine that has 20 queries and hardly any records.
pub(super) fn idle() -> Section {
    let sides = [("one worker", 1), ("two workers", 2)].map(|(count, workers)| Side {
        title: format!("20 queries at 1 event/s, {count}"),
        options: format!("ysb --workers {workers} --queries 20 --rate 1"),
        work: Work::AtRate,
        seconds: 10.0,
        workers: Workers::Idle,
        // An engine that woke up every millisecond would use more CPU time than this bound.
        lines: vec![Line::new(format!("{count}, CPU, of one core"), Figure::Cpu, Aim::AtMost(2.0))],
    });
    Section::new("20 YSB queries at 1 event/s each, default chains", sides)
}

/// Section for the latency of YSB on one worker, at shares of its highest speed.
pub(super) fn load() -> Section {
    at_shares("YSB, one worker", "ysb --workers 1", [1_000.0, 3_000.0])
}

/// Section for the latency of YSB on two workers that share its operators, at shares of its highest speed.
pub(super) fn load_two() -> Section {
    at_shares("YSB, two workers", "ysb --workers 2", [1_000.0, 2_000.0])
}

/// Section for the latency of the NYT workload on two workers, at shares of its highest speed.
pub(super) fn load_taxis() -> Section {
    at_shares("NYT, two workers", "nyt --workers 2", [1_000.0, 2_000.0])
}

/// Section for the latency at two shares of the speed that was measured in the same round, with the highest
/// p99 allowed at each. The engine is made for a latency below a millisecond at tens of millions of events a
/// second.
fn at_shares(name: &str, options: &str, p99_micros_max: [f64; 2]) -> Section {
    let loaded = [0.5, 0.8].into_iter().zip(p99_micros_max).map(|(share, p99_micros_max)| Side {
        title: format!("{name}, at {share} of its speed"),
        options: options.to_owned(),
        work: Work::AtShare(share),
        // With a latency marker every 50 ms the run has 200, of which two lie above the 99th percentile.
        seconds: 10.0,
        workers: Workers::Waiting,
        lines: vec![
            Line::new(format!("at {share}, p50"), P50, Aim::Free),
            Line::new(format!("at {share}, p99"), P99, Aim::AtMost(p99_micros_max)),
            Line::new(
                format!("at {share}, done of what was offered"),
                Figure::KeptUp,
                Aim::AtLeast(KEPT_UP_MIN),
            ),
        ],
    });
    Section::new(
        format!("{name} at a share of its speed"),
        [drained(name, options)].into_iter().chain(loaded),
    )
}

/// Section for the latency where workers share the operators, and where each operator has a thread of its
/// own. This is the second half of Enjima's ablation (SIGMOD 2025, section 5.2.5). At each rate both run by
/// turns.
///
/// The worst of few markers decides their mean, and the machine causes the worst (see [`machine`](super::machine)). The
/// medians of 25 rounds can be repeated.
pub(super) fn modes() -> Section {
    // The rates, in events per second, go up to nine tenths of the highest speed that threads reached on the
    // machine of the published figures.
    let rates = [1e3, 1e4, 1e5, 1e6, 1e7, 5e7, 8e7, 1e8, 1.25e8, 1.47e8];
    let sides = rates.into_iter().flat_map(|rate| {
        let options =
            |mode| format!("ysb --workers 2 --parallel serial --isolate --rate {rate} --execution {mode}");
        let side = |mode, who, aim| Side {
            title: format!("{rate} events/s, {mode}"),
            options: options(mode),
            work: Work::AtRate,
            // A latency marker every 50 ms makes 40 in this run. At up to 10,000 events a second, every
            // record has a marker.
            seconds: 2.0,
            workers: Workers::Idle,
            lines: vec![Line::new(format!("{rate} events/s, {who}"), MEAN, aim)],
        };
        [
            side("workers", "workers", Aim::AtMostOf(options("threads"))),
            side("threads", "a thread per operator", Aim::Free),
        ]
    });
    Section::new("YSB, two workers, mean latency", sides)
}

/// Section for the speed of eight queries together against the speed of one alone, and for the part of each
/// query at a load near the maximum. Two workers and a task per operator leave an engine the most choices.
pub(super) fn queries() -> Section {
    const ONE: &str = "ysb --workers 2 --chain none";
    const EIGHT: &str = "ysb --workers 2 --chain none --queries 8";
    let title = |queries: &str| format!("{queries}, two workers, a task per operator");
    let speed = |title| Line::new(title, Figure::Speed, Aim::Free);
    let share = |what: &str| format!("at 0.95 of that: the {what} of a query, in eighths of all");
    let one = Side { lines: vec![speed("one query")], ..drained(title("one query"), ONE) };
    let eight = Side {
        lines: vec![
            speed("eight queries, in all"),
            // Eight queries have more tasks to choose from and more data in the caches, but the same work per
            // record. So they should be nearly as fast as one.
            Line::new("eight queries against one", Figure::SpeedOf(ONE), Aim::AtLeast(0.9)),
        ],
        ..drained(title("eight queries"), EIGHT)
    };
    let hardly_enough = Side {
        work: Work::AtShare(0.95),
        lines: vec![
            Line::new("at 0.95 of that: done of what was offered", Figure::KeptUp, Aim::AtLeast(KEPT_UP_MIN)),
            Line::new(share("least"), Figure::QueryShare(0), Aim::AtLeast(0.9)),
            Line::new(share("most"), Figure::QueryShare(1), Aim::AtMost(1.1)),
        ],
        ..drained(title("eight queries at 0.95 of that"), EIGHT)
    };
    Section::new("YSB, M events/s, two workers, a task per operator", [one, eight, hardly_enough])
}

/// Section for the stops of a thread that only reads the clock.
pub(super) fn machine() -> Section {
    let line = |title, pointer, unit| Line::new(title, Figure::Number(pointer, unit), Aim::Free);
    let side = Side {
        title: "threads that look at the clock".to_owned(),
        options: String::new(),
        work: Work::Clock,
        seconds: 10.0,
        workers: Workers::Idle,
        lines: vec![
            line("the longest", "/longest_us", Unit::Micros),
            line("longer than 1 ms, in a second", "/long_per_s", Unit::Ratio),
            line("all of them, of its time", "/stopped_percent", Unit::Percent),
        ],
    };
    Section::new("stops of a thread that only looks at the clock", [side])
}
