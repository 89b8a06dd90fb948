//! The benchmark on renoir: windows of event time for each campaign, with the stream divided by campaign or not.
//!
//! Renoir aligns the windows of a key with the first time of that key. So each source begins with an event of time 0 for each campaign,
//! which is not counted.

use std::sync::{Arc, Mutex};

use renoir::prelude::*;

use crate::{Event, Input, Row, VIEW, WINDOW_US, campaigns};

/// Number of events between two watermarks.
const WATERMARK_EVERY: u64 = 1_024;
/// The user of events that are not counted.
const NOBODY: i64 = 0;

/// Runs the variant that sends each view to the thread of its campaign.
pub(crate) fn group_by(input: Input, threads: u64) -> Result<Vec<Row>, String> {
    run(input, threads, true)
}

/// Runs the variant in which each thread counts the views of its own part. The counts are added when all is done.
pub(crate) fn key_by(input: Input, threads: u64) -> Result<Vec<Row>, String> {
    run(input, threads, false)
}

fn run(input: Input, threads: u64, is_grouped: bool) -> Result<Vec<Row>, String> {
    let config = RuntimeConfig::local(threads).map_err(|error| error.to_string())?;
    let context = StreamContext::new(config);
    let campaigns = campaigns();
    let mut since = 0;
    let views = context
        .stream_par_iter(move |thread, threads| aligning().chain(input.part(thread, threads)))
        .add_timestamps(
            |event| event.time_us,
            move |_, time_us| {
                since = (since + 1) % WATERMARK_EVERY;
                (since == 0).then_some(*time_us)
            },
        )
        .filter(|event| event.event_type == VIEW)
        .map(|event| (event.time_us, event.ad_id, i64::from(event.user_id != NOBODY)))
        .map(move |(time_us, ad, count)| (time_us, campaigns[&ad], count));
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let found = rows.clone();
    let keep = move |(campaign, (time_us, count)): (i64, (i64, i64))| {
        found.lock().expect("no thread panics with the rows").push((time_us / WINDOW_US, campaign, count));
    };
    let window = EventTimeWindow::tumbling(WINDOW_US);
    let add = |sum: &mut (i64, i64), view: &(i64, i64, i64)| *sum = (view.0, sum.1 + view.2);
    if is_grouped {
        views.group_by(|view| view.1).window(window).fold((0, 0), add).unkey().for_each(keep);
    } else {
        views.key_by(|view| view.1).window(window).fold((0, 0), add).unkey().for_each(keep);
    }
    context.execute_blocking();
    let rows = rows.lock().map_err(|_| "a thread has panicked")?;
    Ok(rows.clone())
}

/// Returns an event of time 0 for each campaign, which is not counted.
fn aligning() -> impl Iterator<Item = Event> + Send {
    (0..100).map(|campaign| Event {
        time_us: 0,
        user_id: NOBODY,
        _page_id: 0,
        ad_id: campaign * 10 + 1,
        _ad_type: 0,
        event_type: VIEW,
        _ip: 0,
    })
}
