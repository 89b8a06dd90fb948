//! `bench ysb`: the query, typed or in SQL, or one of its hand-written loops, from generated events.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, EventTime, Generate, Graph, Query, Record, Source, Span, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::reference::ysb::{
    YsbCount, YsbDrain, YsbInput, ysb_counts, ysb_counts_of_campaigns, ysb_counts_of_drain,
};
use thalweg_workloads::ysb::{
    Phase, YsbEvent, YsbGenerator, YsbKeys, YsbOptions, YsbPhases, event, loops, query,
};

use super::args::{Api, BenchArgs};
use super::by_hand::{self, START, Settings};
use super::offered::Offered;
use super::offered::reserve_cache;
use super::part::{Check, Part};
use super::report::{Checked, Figures};
use super::rows::{Kept, Rows, difference};
use super::windows;
use crate::values::load::ShareStep;

mod sql;

/// Number of events of all queries above which a run is only checked for lost records. It applies if the
/// reference has to take events one by one, of which it takes some 10 million a second.
const ONE_BY_ONE_MAX: u64 = 100_000_000;

/// Runs the query of YSB, or one of its hand-written loops.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    if args.api == Api::Sql {
        return sql::run(args, interrupt);
    }
    let generator = generator(args);
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, &generator)),
        None => run_engine(args, &generator, interrupt),
    }
}

fn run_engine(
    args: &BenchArgs,
    generator: &Arc<YsbGenerator>,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    part(args, &engine, generator, Offered::of_queries(args))?.run(args, &engine, interrupt)
}

/// Creates the generator of YSB's events that the options ask for.
pub fn generator(args: &BenchArgs) -> Arc<YsbGenerator> {
    let options = YsbOptions { seed: args.seed, cyclic: args.cyclic, ..YsbOptions::default() };
    Arc::new(YsbGenerator::new(options))
}

/// Returns the queries of YSB, ready to run, with the check of their results.
pub fn part(
    args: &BenchArgs,
    engine: &Engine,
    generator: &Arc<YsbGenerator>,
    offered: Vec<Offered>,
) -> Result<Part> {
    let cache = reserve_cache(engine, &**generator)?;
    let plan_one = |(name, offered): (&String, &Offered)| match (
        phased(args, generator, offered),
        of_keys(args, generator),
    ) {
        (Some(phased), _) => plan(args, name, offered, offered.splits(args, &phased)?),
        (None, Some(keys)) => plan(args, name, offered, offered.splits(args, &keys)?),
        (None, None) => plan(args, name, offered, offered.splits(args, generator)?),
    };
    let names = args.query_names();
    let planned: Result<Vec<_>> = names.iter().zip(&offered).map(plan_one).collect();
    let (graphs, kept): (Vec<_>, Vec<_>) = planned?.into_iter().unzip();
    let check = checker(args, generator, &offered, kept);
    Ok(Part { name: "ysb", args: args.clone(), graphs, offered, check, cache })
}

fn checker(
    args: &BenchArgs,
    generator: &Arc<YsbGenerator>,
    offered: &[Offered],
    kept: Vec<Kept<YsbCount>>,
) -> Check {
    let (args, generator, offered) = (args.clone(), Arc::clone(generator), offered.to_vec());
    let windows = windows::reference_windows(&args);
    // Events with ads of other campaigns do not repeat, so the reference takes all of them one by one.
    let keys = of_keys(&args, &generator);
    let in_closed_form = if keys.is_some() { ONE_BY_ONE_MAX } else { u64::MAX };
    let events_max = offered.iter().map(|offered| offered.records_max(in_closed_form, ONE_BY_ONE_MAX)).min();
    Box::new(move |reports| {
        if !reports.is_comparable(events_max.unwrap_or(0)) || !kept.iter().all(Kept::is_whole) {
            return Checked::by_conservation();
        }
        Checked::by_reference(reports.first_wrong(|index, report| {
            let offered = &offered[index];
            let from_us = offered.windows_from().as_micros();
            if let Some(keys) = &keys {
                let events = offered.records(&report.made).map(|(index, event_time)| {
                    let event = input(&**keys, index, event_time);
                    YsbInput { event_time_us: event.event_time_us - from_us, ..event }
                });
                let mut counts = ysb_counts_of_campaigns(events, windows, campaigns(&args));
                counts.iter_mut().for_each(|row| row.window_start_ms += from_us / 1_000);
                return difference(&counts, &kept[index].take());
            }
            let mut counts = Counts::default();
            add_whole(&mut counts, &args, &generator, offered, &report.made);
            let (others, phased) = (offered.others(&report.made), phased(&args, &generator, offered));
            let others = others.map(|(index, event_time)| match &phased {
                None => input(&*generator, index, event_time),
                Some(phased) => input(&**phased, index, event_time),
            });
            // The reference's windows start at the Unix epoch, so event times are shifted by the start of
            // the query's windows.
            let others =
                others.map(|event| YsbInput { event_time_us: event.event_time_us - from_us, ..event });
            counts.add(ysb_counts(others, windows));
            difference(&counts.rows(from_us / 1_000), &kept[index].take())
        }))
    })
}

/// Returns the number of campaigns, by the options.
fn campaigns(args: &BenchArgs) -> u64 {
    args.keys.unwrap_or(event::CAMPAIGN_COUNT)
}

/// Returns a generator with the ads of another number of campaigns, if the options ask for one.
fn of_keys(args: &BenchArgs, generator: &Arc<YsbGenerator>) -> Option<Arc<YsbKeys>> {
    let keys = args.keys?;
    Some(Arc::new(YsbKeys::new(Arc::clone(generator), keys, args.seed, args.cyclic)))
}

/// Returns a generator for a query whose share of views changes over time, if the options ask for changes.
fn phased(args: &BenchArgs, generator: &Arc<YsbGenerator>, offered: &Offered) -> Option<Arc<YsbPhases>> {
    let steps = &args.selectivity_steps.as_ref()?.0;
    let phase = |step: &ShareStep| Phase { from: offered.start().plus(step.from), view_share: step.share };
    let phases: Vec<Phase> = steps.iter().map(phase).collect();
    Some(Arc::new(YsbPhases::new(Arc::clone(generator), &phases)))
}

fn plan<S>(
    args: &BenchArgs,
    name: &str,
    offered: &Offered,
    splits: impl IntoIterator<Item = S>,
) -> Result<(Graph, Kept<YsbCount>)>
where
    S: Source<Item = YsbEvent> + 'static,
{
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
    let query = Query::new(name);
    let windows = windows::sliding_windows(args).with_offset(offered.windows_from());
    query::views_of_campaigns(&query, splits, args.strategy(), windows, campaigns(args), sink);
    Ok((args.plan(query)?, kept))
}

/// Adds the counts of the events in the range without gaps that all splits have made. If the share of views
/// changes, the events of each share are counted apart.
fn add_whole(
    counts: &mut Counts,
    args: &BenchArgs,
    generator: &YsbGenerator,
    offered: &Offered,
    made: &[u64],
) {
    let (whole, windows) = (offered.whole(made), windows::reference_windows(args));
    let (rate_per_s, start_us) = offered.stamps_from(whole.start);
    let total = whole.end - whole.start;
    let steps = args.selectivity_steps.iter().flat_map(|steps| &steps.0);
    // Returns the number of events of the range that come before the instant `from` after the start: the time
    // from the range's first event to that instant, times the rate, rounded up.
    let first_from = |from: Span| {
        let behind_us = offered.start().plus(from).as_micros().saturating_sub(start_us).max(0);
        let index = (u128::from(behind_us.unsigned_abs()) * u128::from(rate_per_s)).div_ceil(1_000_000);
        u64::try_from(index).unwrap_or(u64::MAX).min(total)
    };
    let mut parts = vec![(0, None)];
    parts.extend(steps.map(|step| (first_from(step.from), Some(step.share))));
    let ends = parts[1..].iter().map(|part| part.0).chain([total]);
    for (&(first, view_share), end) in parts.iter().zip(ends.collect::<Vec<_>>()) {
        let period = period_from(generator, whole.start, view_share);
        // The reference's windows start at the Unix epoch, so the first event time is shifted by the start
        // of the query's windows.
        let start_us = start_us - offered.windows_from().as_micros();
        // The counts of this part are the counts from the range's first event to the end of the part, less
        // those from the first event to the beginning of the part. So all event times are computed from the
        // first event on.
        let of_first =
            |events| ysb_counts_of_drain(YsbDrain { period: &period, events, rate_per_s, start_us, windows });
        counts.add(of_first(end));
        counts.subtract(&of_first(first));
    }
}

/// Returns one period of the generator's repeating events, beginning with the event at the given index, in
/// the form that the reference takes. With a `view_share`, the events are views to this share instead of the
/// generator's own.
fn period_from(generator: &YsbGenerator, index: u64, view_share: Option<f64>) -> Vec<(u64, u64)> {
    let cache = generator.cache();
    let first = (index % cache.len() as u64) as usize;
    let rotated = cache[first..].iter().chain(&cache[..first]);
    let event_type = |event: &YsbEvent| match view_share {
        None => event.event_type,
        // User ids are drawn from a million, so the share of views is compared in millionths.
        Some(share) => u64::from(event.user_id as f64 > (share * 1e6).round()),
    };
    rotated.map(|event| (event_type(event), event.ad_id)).collect()
}

fn input(generator: &impl Generate<Item = YsbEvent>, index: u64, event_time: EventTime) -> YsbInput {
    let event = generator.value(index, event_time);
    YsbInput { event_time_us: event_time.as_micros(), event_type: event.event_type, ad_id: event.ad_id }
}

/// Sums of the views of several parts of a run, by window and campaign. Several parts may have views of the
/// same window and campaign. Windows start at the Unix epoch.
#[derive(Default)]
struct Counts(BTreeMap<(i64, u64), u64>);

impl Counts {
    fn add(&mut self, rows: Vec<YsbCount>) {
        for YsbCount { window_start_ms, campaign, count } in rows {
            *self.0.entry((window_start_ms, campaign)).or_default() += count;
        }
    }

    /// Subtracts counts of views that are contained in the sums.
    fn subtract(&mut self, rows: &[YsbCount]) {
        for YsbCount { window_start_ms, campaign, count } in rows {
            let left =
                self.0.get_mut(&(*window_start_ms, *campaign)).expect("no more is taken than was added");
            *left -= count;
        }
        self.0.retain(|_, count| *count > 0);
    }

    /// Returns the counts as result rows, with the start of each window moved later by `later_ms`
    /// milliseconds.
    fn rows(&self, later_ms: i64) -> Vec<YsbCount> {
        let row = |(&(window_start_ms, campaign), &count)| YsbCount {
            window_start_ms: window_start_ms + later_ms,
            campaign,
            count,
        };
        self.0.iter().map(row).collect()
    }
}

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &YsbGenerator) -> Figures {
    let settings = Settings::of(args);
    let run = |stop| loops::run(settings.options(kind, stop, generator));
    by_hand::figures(args, kind, run, |worker| {
        let period = period_from(generator, worker.first_event as u64, None);
        let expected = ysb_counts_of_drain(YsbDrain {
            period: &period,
            events: worker.events,
            rate_per_s: settings.nominal_rate_per_s.get(),
            start_us: START.as_micros(),
            windows: event::WINDOW.as_micros().into(),
        });
        let found: Vec<YsbCount> = worker.results.iter().map(row_of).collect();
        difference(&expected, &found)
    })
}

fn row_of(result: &Windowed<u64, u64>) -> YsbCount {
    let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
    YsbCount { window_start_ms, campaign: result.key, count: result.value }
}

fn write_row(record: &Record<Windowed<u64, u64>>, row: &mut RowWriter) {
    let YsbCount { window_start_ms, campaign, count } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_u64(campaign);
    row.push_u64(count);
}
