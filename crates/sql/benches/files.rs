//! Benchmark of reading files: the speed at which a query counts and sums the rows of a file in windows of event time.
//!
//! Workload: one file of JSON lines, of CSV and of Parquet, with the same rows of seven columns, in the order of time with
//! a disorder of 2 s. The query reads three columns, the time among them: COUNT and SUM for each of five types and each
//! window of 10 s. One worker, and two, with and without tasks that help the reader of the file.
//!
//! Unit: MB/s of the file, and millions of rows a second, median of interleaved rounds, least and greatest. The files are
//! in the page cache. For regressions, not for claims.
//!
//! `cargo bench -p thalweg-sql --bench files` takes files of about 200 MB of JSON; `-- --rows N` and `-- --rounds N` change
//! that, and `-- --only csv` takes one format. Under `cargo test` it runs once, small.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use thalweg::{Chaining, Engine, Layout, Parallel, SystemClock};
use thalweg_model::Clock;
use thalweg_sql::connect::{Division, World};
use thalweg_sql::job::{BATCH_EDGES, assemble};
use thalweg_sql::session::{Action, Session};

const FORMATS: [&str; 3] = ["json", "csv", "parquet"];
const TYPES: [&str; 5] = ["banner", "modal", "sponsored-search", "mail", "mobile"];
const COLUMNS: &str = "user_id STRING, page_id STRING, ad_type STRING, event_type STRING, amount BIGINT, \
                       event_time TIMESTAMP(3), ip_address STRING";

/// The measured runs: their names, the numbers of workers, and the numbers for which readers get help.
const MANNERS: [(&str, usize, usize); 3] =
    [("1 worker", 1, 1), ("2 workers, no helper", 2, 1), ("2 workers", 2, 2)];

/// Rows for each second of event time.
const ROWS_PER_SECOND: u64 = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let after = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let number = |name: &str, usual: u64| after(name).map_or(usual, |text| text.parse().expect("a number"));
    let rows = number("--rows", if is_bench { 1_000_000 } else { 5_000 });
    let rounds = number("--rounds", if is_bench { 5 } else { 1 });
    let only = after("--only");
    let directory = std::env::temp_dir().join(format!("thalweg-bench-files-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    make(&directory, rows);
    for format in FORMATS.into_iter().filter(|format| only.as_deref().is_none_or(|only| only == *format)) {
        let path = path_of(&directory, format);
        let megabytes = fs::metadata(&path).expect("the file is there").len() as f64 / 1e6;
        println!("{format}: {megabytes:.0} MB, {rows} rows");
        let mut speeds = MANNERS.map(|_| Vec::new());
        for _ in 0..rounds {
            for ((_, workers, helped), speeds) in MANNERS.into_iter().zip(&mut speeds) {
                let start = Instant::now();
                assert_eq!(run(&query_of(&directory, format), workers, helped), rows);
                speeds.push(megabytes / start.elapsed().as_secs_f64());
            }
        }
        for ((manner, ..), mut speeds) in MANNERS.into_iter().zip(speeds) {
            speeds.sort_by(f64::total_cmp);
            let (least, median, greatest) = (speeds[0], speeds[speeds.len() / 2], speeds[speeds.len() - 1]);
            let rows = median / megabytes * rows as f64 / 1e6;
            println!("  {manner:21} {median:6.0} MB/s ({least:.0} to {greatest:.0}), {rows:.1} M rows/s");
        }
    }
    fs::remove_dir_all(&directory).expect("the directory is still there");
}

fn path_of(directory: &Path, format: &str) -> PathBuf {
    directory.join(format!("events.{format}"))
}

fn table_of(directory: &Path, format: &str, columns: &str) -> String {
    let path = path_of(directory, format);
    format!(
        "CREATE TABLE {format}_events ({columns}) WITH ('connector' = 'filesystem', 'path' = '{}', \
         'format' = '{format}', 'thalweg.single-file' = 'true');\n",
        path.display()
    )
}

/// Writes the files of all formats: CSV by hand, and the others by SQL from it.
fn make(directory: &Path, rows: u64) {
    let mut lines = String::new();
    let mut seed = 1_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for row in 0..rows {
        let (user, page, other) = (next(), next(), next());
        let millis = (row * 1_000 / ROWS_PER_SECOND + other % 2_000) % 86_400_000;
        let (seconds, kind) = (millis / 1_000, TYPES[(other >> 16) as usize % TYPES.len()]);
        let event = ["view", "click", "purchase"][(other >> 32) as usize % 3];
        let _ = writeln!(
            lines,
            "{user:016x}-{page:016x},{page:016x}-{user:016x},{kind},{event},{},2024-01-01 {:02}:{:02}:{:02}.{:03},10.0.{}.{}",
            user % 100_000,
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60,
            millis % 1_000,
            user >> 56,
            page >> 56,
        );
    }
    fs::write(path_of(directory, "csv"), lines).expect("the file is written");
    for format in ["json", "parquet"] {
        let sql = table_of(directory, "csv", COLUMNS)
            + &table_of(directory, format, COLUMNS)
            + &format!("INSERT INTO {format}_events SELECT * FROM csv_events;");
        assert_eq!(run(&sql, 1, 1), rows);
    }
}

fn query_of(directory: &Path, format: &str) -> String {
    let columns = format!("{COLUMNS}, WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND");
    table_of(directory, format, &columns)
        + &format!(
            "CREATE TABLE gone (start_at TIMESTAMP(3), ad_type STRING, n BIGINT, total BIGINT) WITH ('connector' = 'blackhole');
             INSERT INTO gone SELECT window_start, ad_type, COUNT(*), SUM(amount)
             FROM TABLE(TUMBLE(TABLE {format}_events, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
             GROUP BY window_start, window_end, ad_type;"
        )
}

/// Runs a job to its end; returns the number of rows that it has read. As many tasks help the reader of a file as if `helped`
/// workers ran the job.
fn run(sql: &str, workers: usize, helped: usize) -> u64 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let actions = Session::new(Arc::clone(&clock)).read(sql).expect("the query is fine");
    let [Action::Run(job)] = &actions[..] else { panic!("one job") };
    let mut shown = |_: &[_], _| panic!("all rows go to a table");
    let division = Division { workers: helped, ..Division::default() };
    let world = World { clock: Arc::clone(&clock), division, ..World::default() };
    let assembled = assemble(job, &clock, &world, &mut shown).expect("the tables are there");
    let engine = Engine::builder().workers(workers as u64).edges(BATCH_EDGES).build().expect("an engine");
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    let graph = assembled.query.plan(Layout { chaining: Chaining::Default, parallel }).expect("a plan");
    engine.submit(graph).expect("it fits").wait().expect("it ends");
    assembled.tally.rows_in()
}
