//! Benchmark of reading JSON: the speed at which one core turns JSON lines into columns, compared with a
//! parser alone.
//!
//! Workload: lines of the Yahoo! streaming benchmark, 7 short strings each. Three of the strings are wanted,
//! and all 7, in batches of 4,096 rows. The lines come from memory, and are read by a SQL query from a file
//! on one worker.
//!
//! Ceiling: serde_json, which reads each line into a struct of borrowed strings that is dropped at once. For
//! the query, the ceiling reads the whole file first.
//!
//! Unit: MB/s of JSON, median of interleaved rounds, least and greatest. For regressions, not for claims.
//!
//! `cargo bench -p thalweg-sql --bench json`; under `cargo test` it runs once, small.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use thalweg::{Engine, SystemClock};
use thalweg_model::Clock;
use thalweg_sql::connect::World;
use thalweg_sql::job::{BATCH_EDGES, assemble};
use thalweg_sql::session::{Action, Session};
use thalweg_sql_formats::{Format, FormatColumn};
use thalweg_sql_functions::types::SqlType;

const COLUMNS: [&str; 7] =
    ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"];

/// Number of bytes that a reader takes from its file at once.
const PIECE_BYTES: usize = 1 << 20;
const ROWS_MAX: usize = 4_096;

#[derive(Deserialize)]
struct All<'a> {
    user_id: &'a str,
    page_id: &'a str,
    ad_id: &'a str,
    ad_type: &'a str,
    event_type: &'a str,
    event_time: &'a str,
    ip_address: &'a str,
}

#[derive(Deserialize)]
struct Three<'a> {
    ad_id: &'a str,
    event_type: &'a str,
    event_time: &'a str,
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (count, rounds) = if is_bench { (200_000, 11) } else { (1_000, 1) };
    let lines = lines(count);
    println!("{count} lines of {} bytes on average", lines.len() / count);
    let columns: Vec<_> = COLUMNS
        .iter()
        .map(|name| FormatColumn { name: (*name).to_owned(), of: SqlType::STRING, is_nullable: true })
        .collect();
    let json = Format::bind("json", &BTreeMap::new(), &columns).expect("json reads strings");
    let path = std::env::temp_dir().join(format!("thalweg-bench-{}.json", std::process::id()));
    std::fs::write(&path, &lines).expect("the file is written");
    let of_three = |line: Three<'_>| black_box((line.ad_id, line.event_type, line.event_time)).0.len();
    let of_all = |line: All<'_>| {
        let ids = (line.user_id, line.page_id, line.ad_id);
        let others = (line.ad_type, line.event_type, line.event_time, line.ip_address);
        black_box((ids, others)).0.0.len()
    };
    let measured: [(&str, &dyn Fn() -> usize); 8] = [
        ("columns, 3 of 7 wanted", &|| decode(&json, &[2, 4, 5], &lines)),
        ("serde_json, struct of 3", &|| parse(&lines, of_three)),
        ("columns, 7 of 7 wanted", &|| decode(&json, &[0, 1, 2, 3, 4, 5, 6], &lines)),
        ("serde_json, struct of 7", &|| parse(&lines, of_all)),
        ("SQL, file, 3 of 7 wanted", &|| query(&path, "ad_id, event_type, event_time")),
        ("serde_json, file, struct of 3", &|| {
            parse(&std::fs::read(&path).expect("the file is there"), of_three)
        }),
        ("SQL, file, 7 of 7 wanted", &|| query(&path, &COLUMNS.join(", "))),
        ("serde_json, file, struct of 7", &|| {
            parse(&std::fs::read(&path).expect("the file is there"), of_all)
        }),
    ];
    let mut speeds = vec![Vec::new(); measured.len()];
    for _ in 0..rounds {
        for ((_, run), speeds) in measured.iter().zip(&mut speeds) {
            let start = Instant::now();
            assert_eq!(black_box(run()), count);
            speeds.push(lines.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
        }
    }
    for ((name, _), mut speeds) in measured.iter().zip(speeds) {
        speeds.sort_by(f64::total_cmp);
        let (least, median, greatest) = (speeds[0], speeds[speeds.len() / 2], speeds[speeds.len() - 1]);
        println!("{name:30} {median:6.0} MB/s ({least:.0} to {greatest:.0})");
    }
    std::fs::remove_file(&path).expect("the file is still there");
}

/// Decodes JSON lines as a reader of files would, and returns the number of rows.
fn decode(json: &Format, wanted: &[usize], lines: &[u8]) -> usize {
    let mut decoder = json.decoder(wanted);
    let (mut rows, mut start, mut end) = (0, 0, 0);
    loop {
        let is_last = end == lines.len();
        let taken = decoder.take(&lines[start..end], is_last, ROWS_MAX, &mut |bad| panic!("{bad:?}"));
        start += taken.bytes;
        if taken.wants_more && !is_last {
            end = (end + PIECE_BYTES).min(lines.len());
            continue;
        }
        rows += black_box(decoder.finish()).rows.num_rows();
        if taken.wants_more {
            return rows;
        }
    }
}

/// Runs a query that reads a JSON file and drops the wanted columns; returns the number of rows read.
fn query(path: &Path, wanted: &str) -> usize {
    let columns = COLUMNS.map(|name| format!("{name} STRING")).join(", ");
    let of_wanted = wanted.split(", ").map(|name| format!("{name} STRING")).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "CREATE TABLE events ({columns}) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json');
        CREATE TABLE gone ({of_wanted}) WITH ('connector' = 'blackhole');
        INSERT INTO gone SELECT {wanted} FROM events;",
        path.display()
    );
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let actions = Session::new(Arc::clone(&clock)).read(&sql).expect("the query is fine");
    let [Action::Run(job)] = &actions[..] else { panic!("one job") };
    let mut shown = |_: &[_], _| panic!("all rows go to a table");
    let assembled = assemble(job, &clock, &World::default(), &mut shown).expect("the tables are there");
    let engine = Engine::builder().workers(1).edges(BATCH_EDGES).build().expect("an engine");
    assembled.query.submit(&engine).expect("it fits").wait().expect("it ends");
    usize::try_from(assembled.tally.rows_out()).expect("as many as lines")
}

fn parse<'a, T: Deserialize<'a>>(lines: &'a [u8], mut each: impl FnMut(T) -> usize) -> usize {
    let mut rows = 0;
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let line = serde_json::from_slice(line).expect("it is a document");
        rows += usize::from(0 < each(line));
    }
    rows
}

/// Returns JSON lines of `count` events, whose identifiers follow from their numbers.
fn lines(count: usize) -> Vec<u8> {
    let mut lines = String::new();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    };
    for row in 0..count {
        let mut identifier = || {
            let (high, low) = (next(), next());
            format!(
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                high >> 32,
                high >> 16 & 0xffff,
                high & 0xffff,
                low >> 48,
                low & 0xffff_ffff_ffff
            )
        };
        let (user, page, ad) = (identifier(), identifier(), identifier());
        let ad_type = ["banner", "modal", "sponsored-search", "mail", "mobile"][row % 5];
        let event_type = ["view", "click", "purchase"][row % 3];
        lines.push_str(&format!(
            "{{\"user_id\": \"{user}\", \"page_id\": \"{page}\", \"ad_id\": \"{ad}\", \"ad_type\": \"{ad_type}\", \
             \"event_type\": \"{event_type}\", \"event_time\": \"{}\", \"ip_address\": \"1.2.3.4\"}}\n",
            1_700_000_000_000_u64 + row as u64
        ));
    }
    lines.into_bytes()
}
