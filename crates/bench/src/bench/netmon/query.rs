//! The query of `bench netmon` with its sink, and the comparison of its results with the reference.

use std::net::Ipv4Addr;

use anyhow::Result;
use thalweg::{Fault, Graph, Query, Record, Sink, Source, Windowed};
use thalweg_connectors::RowWriter;
use thalweg_workloads::netmon::{IpPair, Probe, query};
use thalweg_workloads::reference::Row;
use thalweg_workloads::reference::netmon::{NetmonRow, NetmonSums, NetmonWindow, netmon_window};

use crate::bench::args::BenchArgs;
use crate::bench::digests::{Digested, Digests};
use crate::bench::rows::{self, Kept, Rows};
use crate::bench::windows;

/// Number of result rows of a query up to which the rows themselves are kept, which then take 160 MB. If
/// there are more, they are compared with the reference by digests of windows.
const ROWS_MAX: u64 = 5_000_000;

pub fn plan<S>(
    args: &BenchArgs,
    name: &str,
    splits: impl IntoIterator<Item = S>,
) -> Result<(Graph, KeptMeans)>
where
    S: Source<Item = Probe> + 'static,
{
    let file = args.results_file(&format!("{name}.csv"))?;
    let (rows, kept_rows) = Rows::new(|record| row_of(&record.value), file, write_row)?;
    let (windows, kept_windows) = Digested::new(window_of, NetmonWindow::new, add, None, write_row)?;
    let sink = Means { rows: rows.keeping(ROWS_MAX), windows };
    let query = Query::new(name);
    query::mean_rtt_per_pair(&query, splits, args.strategy(), windows::sliding_windows(args), sink);
    let graph = args.plan(query)?;
    Ok((graph, KeptMeans { rows: kept_rows, windows: kept_windows }))
}

/// A result of netmon's query: the mean round-trip time between a pair of machines in a window.
pub type Mean = Windowed<IpPair, f64>;

/// The sink of netmon's results. It keeps result rows while there are not too many, and always a digest of
/// each window.
struct Means {
    rows: Rows<Mean, NetmonRow>,
    windows: Digested<Mean, NetmonWindow>,
}

impl Sink<Mean> for Means {
    fn write(&mut self, record: Record<Mean>) -> Result<(), Fault> {
        self.windows.write(record)?;
        self.rows.write(record)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.windows.finish()?;
        self.rows.finish()
    }
}

/// Results that the sink of netmon has kept, after the query has ended.
pub struct KeptMeans {
    rows: Kept<NetmonRow>,
    windows: Digests<NetmonWindow>,
}

impl KeptMeans {
    /// Returns whether the sink has kept rows or digests that can be compared.
    pub fn are_whole(&self) -> bool {
        self.rows.is_whole() || self.windows.is_whole()
    }

    /// Returns the first result row that differs from the reference, or the first window that differs if
    /// there were too many rows.
    pub fn difference(&self, expected: &NetmonSums) -> Option<String> {
        if self.rows.is_whole() {
            return difference(expected, self.rows.take());
        }
        let expected: Vec<NetmonWindow> =
            expected.windows().filter_map(|rows| netmon_window(&rows)).collect();
        rows::difference(&expected, &self.windows.take())
    }
}

/// Returns the first result row that differs from the expected one. Rows are compared window by window,
/// because there may be millions of them, and the reference stores the rows of windows with the same probes
/// only once.
pub fn difference(expected: &NetmonSums, mut found: Vec<NetmonRow>) -> Option<String> {
    found.sort_unstable_by_key(Row::key);
    let mut rest = &found[..];
    for window in expected.windows() {
        let last = window.last().expect("a window with a probe has a row");
        let (of_window, behind) =
            rest.split_at(rest.partition_point(|row| row.window_start_ms <= last.window_start_ms));
        if let Some(difference) = rows::difference(&window, of_window) {
            return Some(difference);
        }
        rest = behind;
    }
    rows::difference(&[], rest)
}

fn window_of(record: &Record<Mean>) -> i64 {
    row_of(&record.value).window_start_ms
}

fn add(window: &mut NetmonWindow, record: &Record<Mean>) {
    window.add(&row_of(&record.value));
}

pub fn row_of(result: &Mean) -> NetmonRow {
    NetmonRow {
        window_start_ms: result.window.start.as_micros().div_euclid(1_000),
        source: result.key.source,
        destination: result.key.destination,
        mean_rtt: result.value,
    }
}

fn write_row(record: &Record<Mean>, row: &mut RowWriter) {
    let NetmonRow { window_start_ms, source, destination, mean_rtt } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_str(&Ipv4Addr::from(source).to_string());
    row.push_str(&Ipv4Addr::from(destination).to_string());
    row.push_f64(mean_rtt);
}
