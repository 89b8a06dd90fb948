//! The benchmark on timely dataflow. Workers send blocks of their parts of the buffer, and step after each.
//!
//! | variant | up to the exchange by campaign |
//! |---|---|
//! | stock | a source, filter, map and join, each an operator of timely |
//! | closure | the same in one operator |
//! | pre-aggregated | in one operator, which also counts for each worker; counts are exchanged, and not views |
//!
//! The timestamp of the dataflow is the number of the window, so the frontier closes windows.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use timely::Config;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::vec::{Filter, Map};
use timely::dataflow::operators::{Capability, InputCapability, Inspect, Operator, Probe};
use timely::dataflow::{InputHandle, StreamVec};

use crate::{BLOCK, Event, Input, Row, VIEW, WINDOW_US, campaigns};

/// A view, or a number of views: time in microseconds, campaign, count.
type Views = (i64, i64, i64);

/// Runs the variant with an operator for each step.
pub(crate) fn stock(input: Input, threads: u64) -> Result<Vec<Row>, String> {
    run(input, threads, |events| {
        let campaigns = campaigns();
        let views =
            events.filter(|event: &Event| event.event_type == VIEW).map(|event| (event.time_us, event.ad_id));
        counted(views.map(move |(time_us, ad)| (time_us, campaigns[&ad], 1)))
    })
}

/// Runs the variant with one operator for all steps before the exchange.
pub(crate) fn closure(input: Input, threads: u64) -> Result<Vec<Row>, String> {
    run(input, threads, |events| {
        let campaigns = campaigns();
        let views = events.unary(Pipeline, "views", move |_, _| {
            move |input, output| {
                input.for_each_stamp(|stamp, blocks| {
                    let mut session = output.session(&stamp);
                    for block in blocks {
                        let views = block.iter().filter(|event| event.event_type == VIEW);
                        session.give_iterator(views.map(|event| (event.time_us, campaigns[&event.ad_id], 1)));
                    }
                });
            }
        });
        counted(views)
    })
}

/// Runs the variant that counts before the exchange.
pub(crate) fn pre_aggregated(input: Input, threads: u64) -> Result<Vec<Row>, String> {
    run(input, threads, |events| {
        let campaigns = campaigns();
        let parts = events.unary_frontier(Pipeline, "parts", move |_, _| {
            let mut open = Windows::default();
            move |(input, frontier), output| {
                input.for_each_stamp(|stamp, blocks| {
                    for block in blocks {
                        let views = block.iter().filter(|event| event.event_type == VIEW);
                        open.add(&stamp, views.map(|event| (event.time_us, campaigns[&event.ad_id], 1)));
                    }
                });
                for (stamp, rows) in open.closed(|window| !frontier.less_equal(window)) {
                    let views = |(window, campaign, count)| (window * WINDOW_US, campaign, count);
                    output.session(&stamp).give_iterator(rows.map(views));
                }
            }
        });
        counted(parts)
    })
}

/// Counts of the windows that are open, by window and by campaign. All events of one stamp lie in one window.
#[derive(Default)]
struct Windows(BTreeMap<u64, (Option<Capability<u64>>, FxHashMap<i64, i64>)>);

impl Windows {
    /// Adds views to their window. One look-up of the window is enough for all views of a stamp.
    fn add(&mut self, stamp: &InputCapability<u64>, views: impl Iterator<Item = Views>) {
        let window = stamp.least().copied().unwrap_or_default();
        let (_, counts) =
            self.0.entry(window).or_insert_with(|| (stamp.retain_least(0), FxHashMap::default()));
        for (_, campaign, count) in views {
            *counts.entry(campaign).or_default() += count;
        }
    }

    /// Removes the windows that are over, and returns their rows.
    fn closed(
        &mut self,
        is_over: impl Fn(&u64) -> bool,
    ) -> impl Iterator<Item = (Capability<u64>, impl Iterator<Item = Row>)> {
        let over: Vec<u64> = self.0.keys().copied().filter(is_over).collect();
        over.into_iter().filter_map(|window| {
            let (stamp, counts) = self.0.remove(&window)?;
            let rows = counts.into_iter().map(move |(campaign, count)| (window as i64, campaign, count));
            Some((stamp?, rows))
        })
    }
}

/// Exchanges views by campaign, and adds them for each window.
fn counted<'scope>(views: StreamVec<'scope, u64, Views>) -> StreamVec<'scope, u64, Row> {
    let by_campaign = Exchange::new(|(_, campaign, _): &Views| *campaign as u64);
    views.unary_frontier(by_campaign, "count", |_, _| {
        let mut open = Windows::default();
        move |(input, frontier), output| {
            input.for_each_stamp(|stamp, blocks| {
                for block in blocks {
                    open.add(&stamp, block.iter().copied());
                }
            });
            for (stamp, rows) in open.closed(|window| !frontier.less_equal(window)) {
                output.session(&stamp).give_iterator(rows);
            }
        }
    })
}

/// Runs a dataflow on some workers, and returns the rows of all.
fn run<Q>(input: Input, threads: u64, query: Q) -> Result<Vec<Row>, String>
where
    Q: for<'scope> Fn(StreamVec<'scope, u64, Event>) -> StreamVec<'scope, u64, Row> + Send + Sync + 'static,
{
    let config = if threads == 1 { Config::thread() } else { Config::process(threads as usize) };
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let found = rows.clone();
    let workers = timely::execute(config, move |worker| {
        let (index, peers) = (worker.index() as u64, worker.peers() as u64);
        let mut source = InputHandle::new();
        let found = found.clone();
        let probe = worker.dataflow(|scope| {
            let rows = query(source.to_stream(scope));
            let keep = move |row: &Row| found.lock().expect("no worker panics with the rows").push(*row);
            rows.inspect(keep).probe().0
        });
        let mut block = Vec::with_capacity(BLOCK as usize);
        let mut send = |window: i64, block: &mut Vec<Event>| {
            source.advance_to(window as u64);
            source.send_batch(block);
        };
        let mut window = 0;
        for event in input.part(index, peers) {
            let own = event.time_us / WINDOW_US;
            if block.len() == BLOCK as usize || own != window {
                send(window, &mut block);
                worker.step();
                window = own;
                block.reserve(BLOCK as usize);
            }
            block.push(event);
        }
        send(window, &mut block);
        drop(source);
        while !probe.done() {
            worker.step();
        }
    })?;
    for worker in workers.join() {
        worker?;
    }
    let mut rows = rows.lock().map_err(|_| "a worker has panicked")?;
    Ok(mem::take(&mut *rows))
}
