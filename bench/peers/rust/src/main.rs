//! The Yahoo streaming benchmark on timely dataflow and on renoir: `thalweg-peers VARIANT THREADS EVENTS.csv TOTAL`.
//!
//! The file has a part of the events: `user_id,page_id,ad_id,ad_type,event_type,ip`, one event a line. They are repeated until the
//! buffer has [`BUFFER`] of them, and the source goes round the buffer until it has copied TOTAL events of 56 bytes. Event number n has
//! the time n in microseconds. Views are filtered, the campaign of the ad comes from a hash table, and views are counted for each
//! campaign and [`WINDOW_US`].
//!
//! The output is one JSON object: `{"seconds":0.1,"rows":["WINDOW,CAMPAIGN,VIEWS",..]}`, with the rows in no order. Reading
//! the file is not part of the seconds.

mod on_renoir;
mod on_timely;

use std::env;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

/// Number of events in the buffer: 224 MiB, more than any cache holds.
const BUFFER: usize = 1 << 22;
/// Length of a window in microseconds.
const WINDOW_US: i64 = 10_000_000;
/// Number of consecutive events that one thread takes.
const BLOCK: u64 = 1_024;
/// The type of the events that are counted.
const VIEW: i64 = 0;

/// An event of 56 bytes.
#[derive(Clone, Copy, Debug)]
struct Event {
    time_us: i64,
    user_id: i64,
    _page_id: i64,
    ad_id: i64,
    _ad_type: i64,
    event_type: i64,
    _ip: i64,
}

const _: () = assert!(size_of::<Event>() == 56);

/// The views of a campaign in a window: window, campaign, views.
type Row = (i64, i64, i64);

/// The events that a run takes.
#[derive(Clone)]
struct Input {
    buffer: Arc<Vec<Event>>,
    total: u64,
}

impl Input {
    /// Returns the events of one thread, by rising time: each `threads`-th block.
    fn part(&self, thread: u64, threads: u64) -> impl Iterator<Item = Event> + Send + use<> {
        let Input { buffer, total } = self.clone();
        let blocks = (thread..total.div_ceil(BLOCK)).step_by(threads as usize);
        blocks
            .flat_map(move |block| block * BLOCK..total.min((block + 1) * BLOCK))
            .map(move |number| Event { time_us: number as i64, ..buffer[number as usize & (BUFFER - 1)] })
    }
}

/// Returns the campaign of each ad: ten ads have one.
fn campaigns() -> FxHashMap<i64, i64> {
    (1..=1_000).map(|ad| (ad, (ad - 1) / 10)).collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match answered(&words) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("thalweg-peers: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command line, and returns its answer.
fn answered(words: &[String]) -> Result<String, String> {
    let [variant, threads, file, total] = words else {
        return Err("usage: thalweg-peers VARIANT THREADS EVENTS.csv TOTAL".to_owned());
    };
    let number = |word: &str| {
        word.parse::<u64>().ok().filter(|&n| 0 < n).ok_or(format!("`{word}` is no number above 0"))
    };
    let (threads, total) = (number(threads)?, number(total)?);
    let run: fn(Input, u64) -> Result<Vec<Row>, String> = match variant.as_str() {
        "timely-stock" => on_timely::stock,
        "timely-closure" => on_timely::closure,
        "timely-pre" => on_timely::pre_aggregated,
        "renoir-group" => on_renoir::group_by,
        "renoir-key" => on_renoir::key_by,
        other => return Err(format!("unknown variant `{other}`")),
    };
    let input = Input { buffer: Arc::new(buffer(file)?), total };
    let begin = Instant::now();
    let rows = run(input, threads)?;
    let seconds = begin.elapsed().as_secs_f64();
    // Parts of one count that several threads have made are added.
    let mut counts: FxHashMap<(i64, i64), i64> = FxHashMap::default();
    for (window, campaign, views) in rows {
        *counts.entry((window, campaign)).or_default() += views;
    }
    let rows: Vec<String> =
        counts.iter().map(|((window, campaign), views)| format!("\"{window},{campaign},{views}\"")).collect();
    Ok(format!("{{\"seconds\":{seconds},\"rows\":[{}]}}", rows.join(",")))
}

/// Reads the events of a file, and repeats them until the buffer is full.
fn buffer(file: &str) -> Result<Vec<Event>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("could not read {file}: {error}"))?;
    let mut events = Vec::with_capacity(BUFFER);
    for (place, line) in text.lines().enumerate() {
        let mut numbers = line.split(',').map(str::parse::<i64>);
        let mut next = || match numbers.next() {
            Some(Ok(number)) => Ok(number),
            _ => Err(format!("line {} of {file} is no event: {line}", place + 1)),
        };
        events.push(Event {
            time_us: 0,
            user_id: next()?,
            _page_id: next()?,
            ad_id: next()?,
            _ad_type: next()?,
            event_type: next()?,
            _ip: next()?,
        });
    }
    let read = events.len();
    if read == 0 || !BUFFER.is_multiple_of(read) {
        return Err(format!("{file} has {read} events, which do not fill a buffer of {BUFFER}"));
    }
    while events.len() < BUFFER {
        events.extend_from_within(..read);
    }
    Ok(events)
}
