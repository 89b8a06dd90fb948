//! Linear Road by its full rules, in the typed interface.
//!
//! ```text
//! source -> answerable -+-> reports, in order -> journeys (per car) -+-> sightings -+-> mean speed, 300 s / 60 s --+
//!                       |                                            |              +-> cars, 60 s ----------------+-> join
//!                       |                                            |                                                  |
//!                       |                                            +-> stops -> accidents (per place) -> segments     | traffic
//!                       |                                            |                                        |         |
//!                       |                                            +-> entries ---------------------> tolls (per segment)
//!                       |                                                                                |
//!                       |                       tolls <- announcements  <--------------------------------+
//!                       |                     notices <-+     |
//!                       |                                     | charges
//!                       +-> balance requests ------> balances (per car)
//!                       +-> requests for a day ----> join with the historical tolls
//! ```
//!
//! Everything runs in event time: results do not depend on the order in which records arrive, as long as that
//! is within the bound of the source's watermarks. A toll or notice is emitted when the watermark has passed
//! its report, not at the end of a minute.
//!
//! The rules are stated in [`crate::reference::lrb_full`].

use serde::{Deserialize, Serialize};
use thalweg::{
    DistinctCount, Query, Segment as StreamSegment, Sink, SlidingWindows, Source, Span, Stream, Table,
    TumblingWindows, WatermarkStrategy, WindowError,
};

use super::accidents::{Accidents, segments_before};
use super::balances::{Balance, BalanceEvent, Balances};
use super::journeys::{CarEvent, Journeys, Sighting};
use super::tolls::{Announcement, SegmentEvent, Tolls, Traffic};
use super::traffic::MeanSpeed;
use crate::lrb::report::{LrbRecord, Segment};

/// Window over which the cars of a segment are counted, 1 minute.
const MINUTE: Span = Span::from_secs(60);
/// Window over which the average speed of a segment is taken, 5 minutes.
const SPEED_SPAN: Span = Span::from_secs(300);

/// Tolls charged on days in the past, by vehicle, day and expressway.
pub type HistoricalTolls = Table<(u32, u8, u16), u32>;

/// Sinks of the four kinds of answers. Each answer is stamped with the time of its report or request.
#[derive(Clone, Copy, Debug)]
pub struct FullSinks<A, B, C, D> {
    /// Sink of the benchmark's answers of type 0: announcements to each car that enters a segment.
    pub tolls: A,
    /// Sink of the benchmark's answers of type 1: notices to cars near an accident.
    pub notices: B,
    /// Sink of the benchmark's answers of type 2: answers to balance requests.
    pub balances: C,
    /// Sink of the benchmark's answers of type 3: answers to requests for the tolls of a day in the past.
    pub dailies: D,
}

/// Notice to a car that enters a segment near an accident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Number that identifies the car that is notified.
    pub vehicle: u32,
    /// Segment in which the accident is.
    pub segment: Segment,
}

/// Answer to a request for the toll charged on a day in the past.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Daily {
    /// Number that identifies the request that is answered.
    pub query: u32,
    /// Sum of the tolls of the car on that day.
    pub toll: u32,
}

/// Adds Linear Road by its full rules to `query`. The operator `answerable` filters out requests that have no
/// answer: requests for a travel time, and without a `history` also requests for a day in the past.
///
/// # Errors
/// [`WindowError`]: never, since the windows here have sizes above zero.
pub fn full_rules<S, A, B, C, D>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    history: Option<HistoricalTolls>,
    sinks: FullSinks<A, B, C, D>,
) -> Result<(), WindowError>
where
    S: Source<Item = LrbRecord> + 'static,
    A: Sink<Announcement> + 'static,
    B: Sink<Notice> + 'static,
    C: Sink<Balance> + 'static,
    D: Sink<Daily> + 'static,
{
    let has_history = history.is_some();
    let answerable = move |record: &LrbRecord| match record {
        LrbRecord::Report(_) | LrbRecord::Balance { .. } => true,
        LrbRecord::Daily { .. } => has_history,
        LrbRecord::TravelTime { .. } => false,
    };
    let input = query.splits("source", splits, strategy).filter(answerable).name("answerable").share();

    let cars = input
        .branch()
        .filter_map(|record| if let LrbRecord::Report(report) = record { Some(report) } else { None })
        .in_order_by(|_| ())
        .key_by(|report| report.vehicle)
        .process(Journeys)
        .name("journeys")
        .share();
    let entries = cars.branch().filter_map(|event| match event {
        CarEvent::Entered(entry) => Some(SegmentEvent::Entered(entry)),
        CarEvent::Seen(_) | CarEvent::Stop(_) => None,
    });
    let stops = cars
        .branch()
        .filter_map(|event| if let CarEvent::Stop(change) = event { Some(change) } else { None });
    let accidents =
        stops.key_by(|change| change.place).process(Accidents).name("accidents").flat_map(|change| {
            segments_before(change.place).map(move |segment| SegmentEvent::Accident { segment, change })
        });
    let sightings = cars
        .branch()
        .filter_map(|event| if let CarEvent::Seen(sighting) = event { Some(sighting) } else { None });
    let announcements = traffic(sightings)?
        .union(accidents)
        .union(entries)
        .key_by(SegmentEvent::segment)
        .process(Tolls)
        .name("tolls")
        .share();

    announcements.branch().filter(|announcement| !announcement.entry.leaves).sink("toll sink", sinks.tolls);
    announcements
        .branch()
        .filter_map(|Announcement { entry, accident, .. }| {
            let number = accident.filter(|_| !entry.leaves)?;
            Some(Notice { vehicle: entry.vehicle, segment: Segment { number, ..entry.segment } })
        })
        .sink("notice sink", sinks.notices);

    let charges = announcements.branch().map(|Announcement { entry, toll, .. }| BalanceEvent::Entered {
        vehicle: entry.vehicle,
        nth_at_once: entry.nth_at_once,
        begins: entry.begins,
        toll: (!entry.leaves).then_some(toll),
    });
    let requests = input.branch().filter_map(|record| match record {
        LrbRecord::Balance { vehicle, query } => Some(BalanceEvent::Asked { vehicle, query }),
        LrbRecord::Report(_) | LrbRecord::Daily { .. } | LrbRecord::TravelTime { .. } => None,
    });
    charges
        .union(requests)
        .key_by(BalanceEvent::vehicle)
        .process(Balances)
        .name("balances")
        .sink("balance sink", sinks.balances);

    // Without historical tolls, requests for a day in the past were filtered out above, so the empty table
    // answers none.
    let history = history.unwrap_or_default();
    input
        .branch()
        .filter_map(|record| match record {
            LrbRecord::Daily { vehicle, query, xway, day } => Some((query, (vehicle, day, xway))),
            LrbRecord::Report(_) | LrbRecord::Balance { .. } | LrbRecord::TravelTime { .. } => None,
        })
        .join_table(history, |(_, key)| *key, |(query, _), toll| Daily { query, toll: *toll })
        .name("daily expenditures")
        .sink("daily sink", sinks.dailies);
    Ok(())
}

/// Returns the traffic of each segment up to the beginning of each minute.
fn traffic<C: StreamSegment<Sighting>>(
    sightings: Stream<Sighting, C>,
) -> Result<Stream<SegmentEvent, impl StreamSegment<SegmentEvent>>, WindowError> {
    let minutes = TumblingWindows::new(MINUTE)?;
    let sightings = sightings.share();
    let speeds = sightings
        .branch()
        .key_by(|sighting| sighting.segment)
        .sliding(SlidingWindows::of_size(SPEED_SPAN).every(MINUTE)?)
        .aggregate(MeanSpeed)
        .name("mean speeds")
        .map(|mean| (mean.key, mean.value));
    let cars = sightings
        .branch()
        .map(|sighting| (sighting.segment, sighting.vehicle))
        .key_by(|(segment, _)| *segment)
        .tumbling(minutes)
        .aggregate(thalweg::of(|(_, vehicle): &(Segment, u32)| *vehicle, DistinctCount))
        .name("cars")
        .map(|cars| (cars.key, cars.value));
    // A car that was seen in the last minute was also seen in the last five minutes, so a left join loses no
    // segment.
    let joined = speeds.key_by(|(segment, _)| *segment).join(cars.key_by(|(segment, _)| *segment));
    let traffic = joined.tumbling(minutes).left(|&(segment, lav_mph), cars| {
        let cars = cars.map_or(0, |(_, cars)| *cars);
        SegmentEvent::Traffic(Traffic { segment, lav_mph, cars })
    });
    Ok(traffic.name("traffic"))
}
