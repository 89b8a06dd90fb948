//! Sections of speeds: generators that are drained as fast as possible, each beside a ceiling that is
//! measured in the same round.
//!
//! A ceiling is the same job as a hand-written loop, with another window, on one worker, or with records in order.

use super::section::{Aim, Figure, Line, Section, Side, Work, Workers};

/// Length of a run in seconds. In 5 s some hundred million events are drained.
const SECONDS: f64 = 5.0;

const LOOP_BLOCKS: &str = "ysb --workers 1 --api loop-blocks";
const LOOP_CHAINS: &str = "ysb --workers 1 --api loop-chains";
const LOOP_FUSED: &str = "ysb --workers 1 --api loop-fused";
const SQL: &str = "ysb --workers 1 --api sql";
const LINEAR_ROAD_LOOP: &str = "lrb --workers 1 --api loop-blocks";
const TAXIS: &str = "nyt --workers 1";

/// Section for the speed of the Yahoo streaming benchmark (YSB).
pub(super) fn speeds() -> Section {
    let sides = [
        speed("hand-written, a loop per operator (`--api loop-blocks`)", LOOP_BLOCKS, Aim::Free),
        speed(
            "engine, a task per operator (`--isolate`)",
            "ysb --workers 1 --isolate",
            at_least(0.8, LOOP_BLOCKS),
        ),
        speed("hand-written, two chains (`--api loop-chains`)", LOOP_CHAINS, Aim::Free),
        speed("engine, default chains", "ysb --workers 1", at_least(0.8, LOOP_CHAINS)),
        speed("hand-written, one loop (`--api loop-fused`)", LOOP_FUSED, Aim::Free),
        speed("engine, one task (`--chain all`)", "ysb --workers 1 --chain all", beside(LOOP_FUSED)),
        speed(
            "engine, default chains, two workers, `--parallel serial`",
            "ysb --workers 2 --parallel serial",
            beside(LOOP_CHAINS),
        ),
    ];
    Section::new("YSB, M events/s", sides)
}

/// Section for the speed of YSB in SQL, over batches of columns.
pub(super) fn sql() -> Section {
    let sides = [
        speed("hand-written, a loop per operator (`--api loop-blocks`)", LOOP_BLOCKS, Aim::Free),
        speed("SQL (`--api sql`)", SQL, beside(LOOP_BLOCKS)),
        speed("SQL, two workers", "ysb --workers 2 --api sql", beside(SQL)),
    ];
    Section::new("YSB in SQL, M events/s", sides)
}

/// Section for the speed of Linear Road's short form and of the NYT workload.
pub(super) fn roads() -> Section {
    let sides = [
        speed(
            "Linear Road by hand, a loop per operator (`lrb --api loop-blocks`)",
            LINEAR_ROAD_LOOP,
            Aim::Free,
        ),
        speed("Linear Road, default chains (`lrb`)", "lrb --workers 1", at_least(0.6, LINEAR_ROAD_LOOP)),
        speed(
            "Linear Road, two workers, `--parallel serial`",
            "lrb --workers 2 --parallel serial",
            beside(LINEAR_ROAD_LOOP),
        ),
        speed("taxis, 60 s (`nyt`)", TAXIS, Aim::Free),
        speed(
            "taxis, 120 s every 30 s (`nyt --window 120s --slide 30s`)",
            "nyt --workers 1 --window 120s --slide 30s",
            beside(TAXIS),
        ),
    ];
    Section::new("Linear Road and NYT, M events/s", sides)
}

/// Section for the speed of each workload on one worker and on two workers, which share its operators. The
/// numbers are the least ratio of the speed of two workers to that of one.
pub(super) fn scaling() -> Section {
    let workloads = [
        ("ysb", 1.8),
        ("nyt", 1.8),
        ("wordcount", 1.8),
        ("netmon", 1.8),
        ("distinct", 1.8),
        ("grep", 1.8),
        ("lrb", 1.6),
        ("tweets", 1.0),
        ("join", 1.0),
    ];
    let sides = workloads.iter().flat_map(|(workload, of_one_min)| {
        let one = format!("{workload} --workers 1");
        let two = format!("{workload} --workers 2");
        [
            speed(format!("`{workload}`, one worker"), &one, Aim::Free),
            speed(format!("`{workload}`, two workers"), two, at_least(*of_one_min, &one)),
        ]
    });
    Section::new("Two workers inside one query, M records/s", sides)
}

/// Section for operators that are run by threads or by workers, with queues or blocks between them (Enjima,
/// section 5.2.5). Every operator is a task of its own.
pub(super) fn ablation() -> Section {
    let options = |execution, memory| {
        format!("ysb --workers 2 --parallel serial --isolate --execution {execution} --memory {memory}")
    };
    let queues = options("threads", "queue");
    let batches = options("threads", "queue-batched");
    let blocks = options("workers", "blocks");
    let sides = [
        speed("threads, queue", &queues, Aim::Free),
        speed("threads, queue in batches", &batches, beside(&queues)),
        speed("threads, blocks", options("threads", "blocks"), beside(&queues)),
        speed("workers, queue", options("workers", "queue"), beside(&queues)),
        speed("workers, queue in batches", options("workers", "queue-batched"), beside(&queues)),
        speed("workers, blocks", &blocks, at_least(5.0, &queues)),
        speed("the same, of threads with queues in batches", &blocks, at_least(1.3, &batches)),
    ];
    Section::new("YSB on two cores, a task per operator, M events/s", sides)
}

/// Section for records out of order, and for watermarks 100 times as frequent as by default.
pub(super) fn disorder() -> Section {
    let sides = ["ysb", "nyt", "wordcount", "netmon", "grep"].into_iter().flat_map(|workload| {
        let two = format!("{workload} --workers 2");
        let frequent = format!("{two} --watermark-step 10us");
        let [in_order, early] = early_sides(workload, &two);
        [
            speed(format!("`{workload}`, in order"), &two, Aim::Free),
            speed(
                format!("`{workload}`, a watermark every 10 us of event time"),
                frequent,
                at_least(0.85, &two),
            ),
            in_order,
            early,
        ]
    });
    Section::new("Two workers, records out of order and watermarks often, M records/s", sides)
}

/// Section for records that come early, at a rate of event time at which an epoch is a whole number of the
/// generator's periods. The generator then reads an early record from where it would read the record that is
/// due. So only the engine causes a loss of speed.
pub(super) fn early() -> Section {
    let sides = [("ysb", 10_485_760), ("netmon", 1_000_000)].into_iter().flat_map(|(workload, rate)| {
        early_sides(workload, &format!("{workload} --workers 2 --nominal-rate {rate}"))
    });
    Section::new("Two workers, an epoch is a whole number of the generator's periods, M records/s", sides)
}

/// Returns two runs, with 0.001 % and with 40 % of the records early. The generator works in the same way for
/// both, so its cost is in both.
fn early_sides(workload: &str, options: &str) -> [Side; 2] {
    let [hardly_any, many] = ["0.001", "40"].map(|percent| format!("{options} --late-share {percent}"));
    [
        speed(format!("`{workload}`, made as if some came early"), &hardly_any, Aim::Free),
        speed(format!("`{workload}`, 40 % an epoch early"), many, at_least(0.93, &hardly_any)),
    ]
}

/// Returns a run that drains a workload, with its speed as a line of the table.
fn speed(title: impl Into<String>, options: impl Into<String>, aim: Aim) -> Side {
    let title = title.into();
    let line = Line::new(&title, Figure::Speed, aim);
    Side { lines: vec![line], ..drained(title, options) }
}

/// Returns a run that drains a workload, without a line of the table. Runs at a share of its speed refer to
/// it.
pub(super) fn drained(title: impl Into<String>, options: impl Into<String>) -> Side {
    let (title, options) = (title.into(), options.into());
    Side { title, options, work: Work::Drained, seconds: SECONDS, workers: Workers::Busy, lines: Vec::new() }
}

fn beside(options: impl Into<String>) -> Aim {
    Aim::OfCeiling(options.into(), None)
}

fn at_least(bound: f64, options: impl Into<String>) -> Aim {
    Aim::OfCeiling(options.into(), Some(bound))
}
