//! Queries that users declare: what their SQL tells of a job, and Flink's REST interface does not.
//!
//! A declared query belongs to the job that reads all of its tables and writes all of its tables, by the names of the
//! job's vertices. Flink's planner names them `Source: TABLE[1] -> ..` and `.. -> TABLE[7]: Writer`, or `.. -> Sink:
//! TABLE[7]`. If several queries fit a job, the one with the most tables is taken, and of these the one whose name is
//! that of the job. If several are left, none is taken.

use std::collections::BTreeSet;

use thalweg_model::{EventTime, Horizon, Span};
use thalweg_scheduling::stream::Ahead;

use super::jobs::Job;

/// Texts between the operators in the name of a vertex.
const BETWEEN: [&str; 4] = [" -> ", "(", ", ", "]: "];

/// Parts of a sink that are operators of their own, behind the name of its table.
const SINK_PARTS: [&str; 2] = [": Writer", ": Committer"];

/// Parts of the names of Flink's operators with windows. Each emits results when a watermark reaches the end of a window.
const WINDOWED: [&str; 4] = ["WindowAggregate[", "WindowJoin[", "WindowRank[", "WindowDeduplicate["];

/// A query of SQL from which a job of Flink was made.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Name of the query, which decides between several that fit a job: that of `pipeline.name`, or the one which Flink
    /// gives to the job.
    pub name: String,
    /// Names of the tables that the query reads.
    pub reads: BTreeSet<String>,
    /// Names of the tables that the query writes. A query without any belongs to no job.
    pub writes: BTreeSet<String>,
    /// The latency target (Cameo's L); `None` if the SQL sets none.
    pub latency_target: Option<Span>,
    /// The event times at which windows of the query emit results; `None` if any instant may be one.
    pub horizon: Option<Horizon>,
}

impl Declared {
    /// Returns true if the vertices of a job read and write all tables of the query.
    fn fits(&self, job: &Job) -> bool {
        let has = |is_in: fn(&str, &str) -> bool| {
            move |table: &String| job.vertices.iter().any(|vertex| is_in(&vertex.told.name, table))
        };
        !self.writes.is_empty() && self.reads.iter().all(has(reads)) && self.writes.iter().all(has(writes))
    }

    /// Returns the event times ahead of a watermark at which the query emits results or has a deadline; `None` if any
    /// instant may be one, and if the query has no windows, so that progress is learned from each watermark.
    pub(super) fn ahead(&self, watermark: EventTime) -> Option<Ahead> {
        let horizon = self.horizon.as_ref().filter(|horizon| horizon.holds_results());
        horizon.map(|horizon| Ahead::of(horizon, watermark))
    }
}

/// Returns the place of the query from which a job was made; `None` if there is none, or if several fit as well.
pub(super) fn of_job(declared: &[Declared], job: &Job) -> Option<usize> {
    let key = |query: &Declared| (query.reads.len() + query.writes.len(), query.name == job.name);
    let fitting: Vec<_> = declared.iter().enumerate().filter(|(_, query)| query.fits(job)).collect();
    let best = fitting.iter().map(|(_, query)| key(query)).max()?;
    let mut best = fitting.iter().filter(|(_, query)| key(query) == best).map(|(place, _)| *place);
    best.next().filter(|_| best.next().is_none())
}

/// Returns true if a vertex of this name has an operator with windows.
pub(super) fn has_windows(vertex: &str) -> bool {
    WINDOWED.iter().any(|part| vertex.contains(part))
}

/// Returns true if a vertex reads a table.
fn reads(vertex: &str, table: &str) -> bool {
    around(vertex, table).any(|(before, _)| before.ends_with("Source: "))
}

/// Returns true if a vertex writes a table.
fn writes(vertex: &str, table: &str) -> bool {
    around(vertex, table).any(|(before, behind)| {
        let is_begin = before.is_empty() || BETWEEN.iter().any(|text| before.ends_with(text));
        before.ends_with("Sink: ") || (is_begin && SINK_PARTS.iter().any(|part| behind.starts_with(part)))
    })
}

/// Returns the texts before and behind each operator of a table in the name of a vertex: behind its name and its number in
/// brackets.
fn around<'a>(vertex: &'a str, table: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    vertex.match_indices(table).filter(|(_, table)| !table.is_empty()).filter_map(|(at, table)| {
        let (number, behind) = vertex[at + table.len()..].strip_prefix('[')?.split_once(']')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some((&vertex[..at], behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks whether a vertex reads a table, and whether it writes it.
    #[track_caller]
    fn check(vertex: &str, table: &str, expected: (bool, bool)) {
        assert_eq!((reads(vertex, table), writes(vertex, table)), expected, "{vertex}: {table}");
    }

    #[test]
    fn tables_are_found_in_names_of_vertices() {
        let all = "Source: bids[1] -> (Calc[2] -> tolls[3]: Writer, Calc[4] -> o \"x\" [1] <&>[5]: Writer)";
        check(all, "bids", (true, false));
        check(all, "tolls", (false, true));
        check(all, "o \"x\" [1] <&>", (false, true));
        for table in ["bid", "ids", "ll", "tolls[3]", "Calc", "x", ""] {
            check(all, table, (false, false));
        }
        check("out_t[5]: Writer", "out_t", (false, true));
        check("out_t[5]: Committer", "out_t", (false, true));
        check("GlobalWindowAggregate[5] -> Sink: out_t[6]", "out_t", (false, true));
        check("a[1]: Writer -> b[2]: Committer", "b", (false, true));
        check("Source: наме😀[12]", "наме😀", (true, false));
        check("Source: t[x]", "t", (false, false));
        check("Source: t[1", "t", (false, false));
    }

    #[test]
    fn windows_are_known_by_their_operators() {
        for vertex in [
            "Source: a[1] -> LocalWindowAggregate[2]",
            "GlobalWindowAggregate[4] -> Calc[5]",
            "WindowJoin[3]",
        ] {
            assert!(has_windows(vertex), "{vertex}");
        }
        for vertex in ["GroupAggregate[2]", "WindowTableFunction[2]", "Source: WindowAggregates[1]", ""] {
            assert!(!has_windows(vertex), "{vertex}");
        }
    }
}
