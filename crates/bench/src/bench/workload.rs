//! The workloads, and for each of them the options that it accepts, of those that not all workloads accept.

use clap::ValueEnum;
use thalweg::Span;
use thalweg_runtime::limits;
use thalweg_workloads::join;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::lrb::generator::RECORDS_PER_XWAY_S;
use thalweg_workloads::netmon;
use thalweg_workloads::nyt;
use thalweg_workloads::prose::NOMINAL_RATE_PER_S;
use thalweg_workloads::riot::{self, sensor};
use thalweg_workloads::ysb::event;
use thalweg_workloads::{distinct, grep, ipq, tenants, tweets, wordcount};

use super::nexmark::queries::{self, NexmarkQuery, QUERIES};

/// A workload that `bench` can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Workload {
    /// Yahoo's streaming benchmark: number of views of each campaign.
    Ysb,
    /// New York's taxis: trips and their mean distance per cell of the town.
    Nyt,
    /// Linear Road's short form: cars, speed, toll and accidents per mile of road and minute.
    Lrb,
    /// Linear Road by its full rules: each car is told its tolls and accidents ahead, and asks what it was charged.
    LrbFull,
    /// Number of lines that contain one of three words, and of these words in them.
    Grep,
    /// Number of times that each word occurs in lines of text.
    Wordcount,
    /// Number of different URLs that a web server was asked for.
    Distinct,
    /// Times at which the mood of tweets changes, with the most frequent words of these times.
    Tweets,
    /// Network monitoring: mean round-trip time between each pair of machines.
    Netmon,
    /// RIoTBench's ETL: readings of a city's sensors are checked, completed, annotated and published.
    Etl,
    /// RIoTBench's STATS: averages, predictions and numbers of a city's sensors, drawn as plots.
    Stats,
    /// Temporal join: pairs of records of two streams that have the same random key within half a second.
    Join,
    /// Cameo's first query: revenue of ads, in tumbling windows.
    Ipq1,
    /// Cameo's second query: revenue of ads, in sliding windows.
    Ipq2,
    /// Cameo's third query: number of events of each job and level.
    Ipq3,
    /// Cameo's fourth query: number of each job's requests that ended in an error, by a join and a count.
    Ipq4,
    /// YSB, LRB and NYT at once, with the same number of queries of each.
    Mixed,
    /// Cameo's two groups of jobs: dashboards with a latency target, beside bulk analytics.
    Tenants,
    /// Nexmark's query 0, in SQL: all bids as they come.
    NexmarkQ0,
    /// Nexmark's query 1, in SQL: prices of bids in another currency.
    NexmarkQ1,
    /// Nexmark's query 2, in SQL: bids for some auctions.
    NexmarkQ2,
    /// Nexmark's query 3, in SQL: who sells what in three states, by a join.
    NexmarkQ3,
    /// Nexmark's query 4, in SQL: the average price of each category.
    NexmarkQ4,
    /// Nexmark's query 5, in SQL: the auctions with the most bids, in sliding windows.
    NexmarkQ5,
    /// Nexmark's query 7, in SQL: the highest bid of each ten seconds.
    NexmarkQ7,
    /// Nexmark's query 8, in SQL: new people who sell at once, by a join of windows.
    NexmarkQ8,
    /// Nexmark's query 9, in SQL: the winning bid of each auction.
    NexmarkQ9,
    /// Nexmark's query 10, in SQL: all bids to files of --results, by day and minute.
    NexmarkQ10,
    /// Nexmark's query 11, in SQL: sessions of bidders.
    NexmarkQ11,
    /// Nexmark's query 12, in SQL: bids of each person in ten seconds of processing time.
    NexmarkQ12,
    /// Nexmark's query 13, in SQL: bids with a side table, by a look-up.
    NexmarkQ13,
    /// Nexmark's query 14, in SQL: kinds of hours, and letters counted.
    NexmarkQ14,
    /// Nexmark's query 15, in SQL: a report of bids for each day.
    NexmarkQ15,
    /// Nexmark's query 16, in SQL: a report of bids for each channel and day.
    NexmarkQ16,
    /// Nexmark's query 17, in SQL: prices of each auction and day.
    NexmarkQ17,
    /// Nexmark's query 18, in SQL: the last bid of each person for each auction.
    NexmarkQ18,
    /// Nexmark's query 19, in SQL: the ten highest bids of each auction.
    NexmarkQ19,
    /// Nexmark's query 20, in SQL: bids with their auctions, by a join.
    NexmarkQ20,
    /// Nexmark's query 21, in SQL: numbers of channels, by patterns.
    NexmarkQ21,
    /// Nexmark's query 22, in SQL: folders of addresses.
    NexmarkQ22,
}

/// The options that a workload accepts, and their defaults.
pub struct Facts {
    /// Name of the workload in options, figures and files.
    pub name: &'static str,
    /// Windows of the workload's query; `None` if they are part of its rules and cannot be chosen.
    pub windows: Option<Windows>,
    /// Records per second of event time, unless `--rate` or `--nominal-rate` is given.
    pub nominal_rate_per_s: u64,
    /// Number of streams of the workload, which share the rate equally.
    pub streams: u64,
    /// Memory budget of edges, state and buffers, in bytes, unless `--memory-budget` is given.
    pub memory_budget_bytes: u64,
    /// Additional memory budget, in bytes, for each further split of the generator, which has a cache of its
    /// own.
    pub split_bytes: u64,
    /// Highest `--rate` of the workload, if it is lower than a generator's highest rate.
    pub rate_per_s_max: Option<u64>,
    /// Whether the workload accepts `--input`.
    pub is_recorded: bool,
    /// Whether the workload accepts `--tolls`.
    pub has_tolls: bool,
    /// Whether the workload accepts `--lexicon`.
    pub has_lexicon: bool,
    /// Whether the workload accepts `--registry`, and needs it for recorded input.
    pub has_registry: bool,
    /// Whether the workload accepts `--operator-cost`.
    pub has_operator_cost: bool,
    /// Whether the workload needs its records in their order of arrival, so that its source has one split and one
    /// worker at a time runs each operator.
    pub is_serial: bool,
    /// Largest number of chunks (units of memory allocation) of an edge. With the engine's default number, an edge
    /// holds 49,152 records.
    pub chunks_per_edge: u32,
    /// Largest number of watermarks and latency markers that wait on an edge.
    pub marks_per_edge: u32,
    /// Whether the workload accepts `--cyclic`.
    pub has_cycle: bool,
    /// Whether the workload accepts `--selectivity-steps`.
    pub has_selectivity: bool,
    /// Whether the workload's records are made for one rate, like those of Linear Road's cars, which report
    /// every 30 s.
    pub has_own_rate: bool,
    /// Number of queries that run at once, unless `--queries` is given.
    pub queries: u64,
    /// Number of which the number of queries must be a multiple; above 1 for workloads whose queries are not
    /// all alike.
    pub queries_together: u64,
    /// Whether the workload accepts `--aggressor`.
    pub has_aggressor: bool,
    /// Whether the workload accepts `--inputs`.
    pub has_inputs: bool,
    /// Kinds of hand-written loops that the workload has.
    pub loops: &'static [LoopKind],
    /// Numbers of keys that `--keys` may choose; `None` if the number of keys cannot be chosen.
    pub keys: Option<Keys>,
    /// The query of Nexmark that the workload is; `None` for other workloads. It is in SQL only.
    pub nexmark: Option<&'static NexmarkQuery>,
}

/// Numbers of keys that a workload's generator can have.
pub struct Keys {
    /// Kind of the keys, in the plural.
    pub what: &'static str,
    /// The greatest number of keys.
    pub max: u64,
    /// Additional memory budget, in bytes, for each key that is chosen, unless `--memory-budget` is given.
    pub bytes: u64,
}

/// Default size and slide of a workload's windows, for workloads that accept `--window` or `--slide`.
pub struct Windows {
    /// Size of the windows, unless `--window` is given.
    pub size: Span,
    /// Slide of the windows, unless `--slide` is given; `None` if it is equal to the size.
    pub slide: Option<Span>,
    /// Whether the windows of the workload may overlap.
    pub may_overlap: bool,
    /// Unit in which the starts of windows are written. Windows start at whole multiples of it.
    pub unit: Span,
    /// Name of the unit of window starts, in the plural.
    pub units: &'static str,
}

impl Windows {
    /// Returns windows of this size that start at whole milliseconds, back to back unless a slide is chosen.
    const fn in_millis(size: Span) -> Self {
        let (unit, units) = (Span::from_millis(1), "milliseconds");
        Windows { size, slide: None, may_overlap: true, unit, units }
    }
}

const YSB: Facts = Facts {
    name: "ysb",
    windows: Some(Windows::in_millis(event::WINDOW)),
    nominal_rate_per_s: 10_000_000,
    streams: 1,
    memory_budget_bytes: limits::MEMORY_BUDGET_BYTES.default,
    split_bytes: 0,
    rate_per_s_max: None,
    is_recorded: false,
    has_tolls: false,
    has_lexicon: false,
    has_registry: false,
    has_operator_cost: false,
    is_serial: false,
    chunks_per_edge: limits::CHUNKS_PER_EDGE.default as u32,
    marks_per_edge: limits::MARKS_PER_EDGE.default as u32,
    has_cycle: true,
    has_selectivity: true,
    has_own_rate: false,
    queries: 1,
    queries_together: 1,
    has_aggressor: false,
    has_inputs: false,
    loops: &LoopKind::ALL,
    // A campaign has ten ads, which lie in the table of the join, and a count in each open window.
    keys: Some(Keys { what: "campaigns", max: 1_000_000, bytes: 1 << 10 }),
    nexmark: None,
};

const NYT: Facts = Facts {
    name: "nyt",
    windows: Some(Windows { unit: Span::from_secs(1), units: "seconds", ..Windows::in_millis(nyt::WINDOW) }),
    is_recorded: true,
    has_cycle: false,
    has_selectivity: false,
    loops: &[],
    keys: None,
    ..YSB
};

const LRB: Facts = Facts {
    name: "lrb",
    windows: None,
    nominal_rate_per_s: 100_000,
    // An expressway has 1,000 records per second, and expressway numbers have 16 bits, so the rate has a limit.
    rate_per_s_max: Some(RECORDS_PER_XWAY_S << 16),
    has_own_rate: true,
    loops: &[LoopKind::Blocks],
    ..NYT
};

/// The full rules have fewer expressways: each has 30,000 cars on the road at any time, and the full rules
/// keep state for each of them.
const LRB_FULL: Facts =
    Facts { name: "lrb-full", nominal_rate_per_s: 5_000, has_tolls: true, loops: &[], ..LRB };

const GREP: Facts = Facts {
    name: "grep",
    windows: Some(Windows { slide: Some(grep::SLIDE), ..Windows::in_millis(grep::WINDOW) }),
    nominal_rate_per_s: NOMINAL_RATE_PER_S,
    split_bytes: 16 << 20,
    loops: &[LoopKind::Blocks],
    ..NYT
};

const WORDCOUNT: Facts = Facts { name: "wordcount", ..GREP };

const DISTINCT: Facts = Facts {
    name: "distinct",
    windows: Some(Windows { may_overlap: false, ..Windows::in_millis(distinct::WINDOW) }),
    ..GREP
};

const TWEETS: Facts = Facts { name: "tweets", has_lexicon: true, ..DISTINCT };

const _: () = assert!(
    distinct::WINDOW.as_micros() == tweets::WINDOW.as_micros()
        && grep::WINDOW.as_micros() == wordcount::WINDOW.as_micros()
        && grep::SLIDE.as_micros() == wordcount::SLIDE.as_micros()
);

const NETMON: Facts = Facts {
    name: "netmon",
    windows: Some(Windows::in_millis(netmon::WINDOW)),
    nominal_rate_per_s: netmon::PROBES_PER_S,
    loops: &netmon::loops::KINDS,
    // With so many pairs each has ten probes in the generator's cache.
    keys: Some(Keys {
        what: "pairs of machines",
        max: netmon::generator::CACHE_PROBES as u64 / 10,
        bytes: 256,
    }),
    ..NYT
};

/// Records that an edge of `etl` and `stats` is to hold: observations of 10 s of messages at 2,500 messages/s.
const QUEUED_RECORDS: u64 = riot::QUEUED_S * riot::QUEUED_RATE_PER_S * sensor::KIND_COUNT as u64;

/// Marks that an edge of `etl` and `stats` is to hold in 10 s: a latency marker for each message, and a watermark every
/// millisecond.
const QUEUED_MARKS: u64 = riot::QUEUED_S * (riot::QUEUED_RATE_PER_S + 1_000);

const ETL: Facts = Facts {
    name: "etl",
    windows: None,
    nominal_rate_per_s: riot::generator::NOMINAL_RATE_PER_S,
    memory_budget_bytes: 512 << 20,
    has_registry: true,
    has_operator_cost: true,
    is_serial: true,
    chunks_per_edge: QUEUED_RECORDS.div_ceil(limits::BLOCK_RECORDS.default * limits::CHUNK_BLOCKS.default)
        as u32,
    marks_per_edge: QUEUED_MARKS as u32,
    loops: &[],
    ..GREP
};

const STATS: Facts = Facts { name: "stats", has_registry: false, ..ETL };

const JOIN: Facts = Facts {
    name: "join",
    windows: None,
    nominal_rate_per_s: 2 * join::RECORDS_PER_S,
    streams: 2,
    // The join keeps one second of either stream, and with two workers also the records by which one stream
    // is ahead of the other: 130 to 240 MiB.
    memory_budget_bytes: 512 << 20,
    has_cycle: false,
    has_selectivity: false,
    loops: &[join::loops::KIND],
    keys: Some(Keys { what: "keys", max: 1_000_000_000, bytes: 0 }),
    ..YSB
};

const IPQ1: Facts = Facts {
    name: "ipq1",
    windows: Some(Windows { may_overlap: false, ..Windows::in_millis(ipq::WINDOW) }),
    has_cycle: false,
    has_selectivity: false,
    has_inputs: true,
    loops: &[],
    // With so many campaigns each has 26 ads in the generator's cache.
    keys: Some(Keys { what: "campaigns", max: 10_000, bytes: 0 }),
    ..YSB
};

const IPQ2: Facts = Facts {
    name: "ipq2",
    windows: Some(Windows { slide: Some(ipq::SLIDE), ..Windows::in_millis(ipq::SLIDING_WINDOW) }),
    ..IPQ1
};

const IPQ3: Facts = Facts { name: "ipq3", keys: None, ..IPQ1 };

const IPQ4: Facts = Facts {
    name: "ipq4",
    nominal_rate_per_s: JOIN.nominal_rate_per_s,
    streams: 2,
    memory_budget_bytes: JOIN.memory_budget_bytes,
    has_inputs: false,
    keys: None,
    ..IPQ1
};

/// The mixed workload needs memory for three generators and for the edges of six or more queries.
const MIXED: Facts = Facts {
    name: "mixed",
    windows: None,
    // Edges of nine queries with every operator as a task of its own reserve some 600 MiB if they are queues.
    memory_budget_bytes: 1 << 30,
    // Default number of queries of the mixed workload: the least number that the paper runs.
    queries: 6,
    queries_together: 3,
    has_inputs: false,
    keys: None,
    ..IPQ1
};

const TENANTS: Facts = Facts {
    name: "tenants",
    windows: None,
    queries: tenants::JOBS,
    has_aggressor: true,
    has_inputs: true,
    ..MIXED
};

/// Returns the options of a query of Nexmark. Its rates are of the events that it reads.
const fn nexmark(query: &'static NexmarkQuery) -> Facts {
    Facts {
        name: query.name,
        windows: None,
        nominal_rate_per_s: queries::EVENTS_PER_S * query.read_per_round / queries::ROUND,
        // Joins and ranks keep rows for an hour, as the texts say: those of a run of some seconds.
        memory_budget_bytes: 2 << 30,
        rate_per_s_max: Some(queries::EVENTS_PER_S_MAX * query.read_per_round / queries::ROUND),
        has_cycle: false,
        has_selectivity: false,
        loops: &[],
        keys: None,
        nexmark: Some(query),
        ..YSB
    }
}

static NEXMARK: [Facts; QUERIES.len()] = {
    const fn at(place: usize) -> Facts {
        nexmark(&QUERIES[place])
    }
    [
        at(0),
        at(1),
        at(2),
        at(3),
        at(4),
        at(5),
        at(6),
        at(7),
        at(8),
        at(9),
        at(10),
        at(11),
        at(12),
        at(13),
        at(14),
        at(15),
        at(16),
        at(17),
        at(18),
        at(19),
        at(20),
        at(21),
    ]
};

impl Workload {
    /// Returns the options and defaults of the workload.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Workload::Ysb => &YSB,
            Workload::Nyt => &NYT,
            Workload::Lrb => &LRB,
            Workload::LrbFull => &LRB_FULL,
            Workload::Grep => &GREP,
            Workload::Wordcount => &WORDCOUNT,
            Workload::Distinct => &DISTINCT,
            Workload::Tweets => &TWEETS,
            Workload::Netmon => &NETMON,
            Workload::Etl => &ETL,
            Workload::Stats => &STATS,
            Workload::Join => &JOIN,
            Workload::Ipq1 => &IPQ1,
            Workload::Ipq2 => &IPQ2,
            Workload::Ipq3 => &IPQ3,
            Workload::Ipq4 => &IPQ4,
            Workload::Mixed => &MIXED,
            Workload::Tenants => &TENANTS,
            Workload::NexmarkQ0 => &NEXMARK[0],
            Workload::NexmarkQ1 => &NEXMARK[1],
            Workload::NexmarkQ2 => &NEXMARK[2],
            Workload::NexmarkQ3 => &NEXMARK[3],
            Workload::NexmarkQ4 => &NEXMARK[4],
            Workload::NexmarkQ5 => &NEXMARK[5],
            Workload::NexmarkQ7 => &NEXMARK[6],
            Workload::NexmarkQ8 => &NEXMARK[7],
            Workload::NexmarkQ9 => &NEXMARK[8],
            Workload::NexmarkQ10 => &NEXMARK[9],
            Workload::NexmarkQ11 => &NEXMARK[10],
            Workload::NexmarkQ12 => &NEXMARK[11],
            Workload::NexmarkQ13 => &NEXMARK[12],
            Workload::NexmarkQ14 => &NEXMARK[13],
            Workload::NexmarkQ15 => &NEXMARK[14],
            Workload::NexmarkQ16 => &NEXMARK[15],
            Workload::NexmarkQ17 => &NEXMARK[16],
            Workload::NexmarkQ18 => &NEXMARK[17],
            Workload::NexmarkQ19 => &NEXMARK[18],
            Workload::NexmarkQ20 => &NEXMARK[19],
            Workload::NexmarkQ21 => &NEXMARK[20],
            Workload::NexmarkQ22 => &NEXMARK[21],
        }
    }

    /// Returns the names of the workloads that have some property, such as `nyt, lrb or lrb-full`.
    pub fn names_of(takes: impl Fn(&Facts) -> bool) -> String {
        let facts = Self::value_variants().iter().map(|workload| workload.facts());
        let names: Vec<&str> = facts.filter(|facts| takes(facts)).map(|facts| facts.name).collect();
        match names.split_last() {
            Some((last, first @ [_, ..])) => format!("{} or {last}", first.join(", ")),
            _ => names.concat(),
        }
    }
}
