//! The queries of Nexmark that `bench` runs: their texts are those of `examples/nexmark`.

/// A query of Nexmark, as `examples/nexmark` has it.
#[derive(Debug)]
pub struct NexmarkQuery {
    /// Name of the workload that runs the query.
    pub name: &'static str,
    /// Text of the file with the query: its tables, its views, and one INSERT.
    pub text: &'static str,
    /// The tables of events that the query reads.
    pub tables: &'static [&'static str],
    /// Number of events of a round that the query reads. A round has [`ROUND`] events.
    pub read_per_round: u64,
}

/// Number of events in a round of Nexmark: one person, three auctions and 46 bids.
pub const ROUND: u64 = 50;

/// Events of all kinds per second of event time in the files, which is the default of the connector.
pub const EVENTS_PER_S: u64 = 10_000;

/// The greatest number of events of all kinds per second that the connector takes.
pub const EVENTS_PER_S_MAX: u64 = i32::MAX as u64;

/// The query whose rows go to files.
pub const TO_FILES: &str = "nexmark-q10";

/// The table of `nexmark-q13` that is looked up, and its rows as a file of the examples has them.
pub const SIDE_INPUT: (&str, &str) =
    ("side_input", include_str!("../../../../../examples/data/side_input.csv"));

const fn of_round(table: &str) -> u64 {
    match table.as_bytes() {
        b"person" => 1,
        b"auction" => 3,
        _ => 46,
    }
}

macro_rules! query {
    ($number:literal, $($table:literal)+) => {
        NexmarkQuery {
            name: concat!("nexmark-", $number),
            text: include_str!(concat!("../../../../../examples/nexmark/", $number, ".sql")),
            tables: &[$($table),+],
            read_per_round: 0 $(+ of_round($table))+,
        }
    };
}

/// All queries, in the order of their numbers.
pub static QUERIES: [NexmarkQuery; 22] = [
    query!("q0", "bid"),
    query!("q1", "bid"),
    query!("q2", "bid"),
    query!("q3", "person" "auction"),
    query!("q4", "auction" "bid"),
    query!("q5", "bid"),
    query!("q7", "bid"),
    query!("q8", "person" "auction"),
    query!("q9", "auction" "bid"),
    query!("q10", "bid"),
    query!("q11", "bid"),
    query!("q12", "bid"),
    query!("q13", "bid"),
    query!("q14", "bid"),
    query!("q15", "bid"),
    query!("q16", "bid"),
    query!("q17", "bid"),
    query!("q18", "bid"),
    query!("q19", "bid"),
    query!("q20", "auction" "bid"),
    query!("q21", "bid"),
    query!("q22", "bid"),
];
