//! `bench netmon`: the query, or one of its hand-written loops, from generated probes, or from [`recorded`]
//! ones.

mod recorded;

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Fault, Generate, Graph, Query, Record, Sink, Source, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::netmon::loops::{self, LoopOptions};
use thalweg_workloads::netmon::{IpPair, NetmonGenerator, Probe, WINDOW, query};
use thalweg_workloads::reference::Row;
use thalweg_workloads::reference::netmon::{
    NetmonDrain, NetmonInput, NetmonRow, NetmonSums, NetmonWindow, netmon_window,
};

use super::args::BenchArgs;
use super::by_hand::{self, Settings};
use super::digests::{Digested, Digests};
use super::drive::drive;
use super::offered::{self, Offered};
use super::report::{Checked, Figures};
use super::rows::{self, Kept, Rows};
use super::{fit, reserve_cache};

/// Number of result rows of a query up to which the rows themselves are kept, 160 MB. If there are more, they
/// are compared with the reference by digests of windows.
const ROWS_MAX: u64 = 5_000_000;

/// Number of probes of all queries above which a run is only checked for lost records. It applies if the
/// reference has to take probes one by one, of which it takes some 4 million a second.
const ONE_BY_ONE_MAX: u64 = 20_000_000;

/// Runs the query `netmon`, or one of its hand-written loops.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    if let Some(input) = &args.input {
        return recorded::run(args, input, interrupt);
    }
    let generator = Arc::new(NetmonGenerator::new(args.seed));
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, &generator)),
        None => run_generated(args, &generator, interrupt),
    }
}

fn run_generated(
    args: &BenchArgs,
    generator: &Arc<NetmonGenerator>,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let _cache = reserve_cache(&engine, &**generator)?;
    let offered = Offered::of_queries(args);
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        planned.push(plan(args, name, offered.splits(args, generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &args.until(), interrupt)?;
    let records_max = offered.iter().map(|offered| offered.records_max(u64::MAX, ONE_BY_ONE_MAX)).min();
    let checked = if driven.is_comparable(records_max.unwrap_or(0)) && kept.iter().all(KeptMeans::are_whole) {
        let period: Vec<_> = generator.cache().iter().map(plain).collect();
        let input =
            |(index, event_time)| input_of(&Record::new(event_time, generator.value(index, event_time)));
        Checked::by_reference(driven.first_wrong(|index, report| {
            let offered = &offered[index];
            let (rate_per_s, start_us) = offered.stamps_from(0);
            let indexes = offered.whole(&report.made);
            let mut sums = NetmonSums::new(fit::reference_windows(args));
            sums.add_drain(NetmonDrain { period: &period, indexes, rate_per_s, start_us });
            sums.add(offered.others(&report.made).map(input));
            kept[index].difference(&sums)
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

fn plan<S>(args: &BenchArgs, name: &str, splits: impl IntoIterator<Item = S>) -> Result<(Graph, KeptMeans)>
where
    S: Source<Item = Probe> + 'static,
{
    let file = args.results_file(&format!("{name}.csv"))?;
    let (rows, kept_rows) = Rows::new(|record| row_of(&record.value), file, write_row)?;
    let (windows, kept_windows) = Digested::new(window_of, NetmonWindow::new, add, None, write_row)?;
    let sink = Means { rows: rows.keeping(ROWS_MAX), windows };
    let query = Query::new(name);
    query::mean_rtt_per_pair(&query, splits, args.strategy(), fit::windows(args), sink);
    let graph = args.plan(query)?;
    Ok((graph, KeptMeans { rows: kept_rows, windows: kept_windows }))
}

/// A result of netmon's query: the mean round-trip time of a pair in a window.
type Mean = Windowed<IpPair, f64>;

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
struct KeptMeans {
    rows: Kept<NetmonRow>,
    windows: Digests<NetmonWindow>,
}

impl KeptMeans {
    /// Returns whether the sink has kept rows or digests that can be compared.
    fn are_whole(&self) -> bool {
        self.rows.is_whole() || self.windows.is_whole()
    }

    /// Returns the first result row that differs from the reference, or the first window that differs if
    /// there were too many rows.
    fn difference(&self, expected: &NetmonSums) -> Option<String> {
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
fn difference(expected: &NetmonSums, mut found: Vec<NetmonRow>) -> Option<String> {
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

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &NetmonGenerator) -> Figures {
    let Settings { workers, block_records, nominal_rate_per_s } = Settings::of(args);
    let start = EventTime::EPOCH;
    let run = |stop| {
        loops::run(LoopOptions { kind, workers, block_records, stop, nominal_rate_per_s, start, generator })
    };
    let cache = generator.cache();
    by_hand::figures(args, kind, run, |worker| {
        let (behind, before) = cache.split_at(worker.first_event);
        let period: Vec<_> = before.iter().chain(behind).map(plain).collect();
        let (rate_per_s, start_us) = (nominal_rate_per_s.get(), start.as_micros());
        let mut sums = NetmonSums::new(WINDOW.as_micros());
        sums.add_drain(NetmonDrain { period: &period, indexes: 0..worker.events, rate_per_s, start_us });
        difference(&sums, worker.results.iter().map(row_of).collect())
    })
}

/// Converts a generated probe to the form that the reference takes.
fn plain(probe: &Probe) -> (u32, u32, f64) {
    (probe.pair.source, probe.pair.destination, probe.rtt)
}

fn input_of(record: &Record<Probe>) -> NetmonInput {
    let (source, destination, rtt) = plain(&record.value);
    NetmonInput { event_time_us: record.event_time.as_micros(), source, destination, rtt }
}

fn window_of(record: &Record<Mean>) -> i64 {
    row_of(&record.value).window_start_ms
}

fn add(window: &mut NetmonWindow, record: &Record<Mean>) {
    window.add(&row_of(&record.value));
}

fn row_of(result: &Mean) -> NetmonRow {
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
