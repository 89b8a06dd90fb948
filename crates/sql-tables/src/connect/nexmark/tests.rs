//! Checks the numbers of generated Nexmark events, and that a value depends only on the seed, its field and
//! its event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int32Type, Int64Type, TimestampMillisecondType};
use thalweg_model::{ProcessingTime, SourceStatus, StateReader, StateWriter};

use crate::connect::{World, bed, bind_source, check};
use crate::error::SqlError;
use crate::scan::rows::RowSource;
use crate::table::Table;

const BIDS: &str = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING";
const AUCTIONS: &str = "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, \
                        `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING";
const PEOPLE: &str = "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, \
                      `dateTime` TIMESTAMP(3), extra STRING";

const BASE: i64 = 1_436_918_400_000;

/// Declares a Nexmark table with these columns and options.
fn table(columns: &str, options: &str) -> Arc<Table> {
    let comma = if options.is_empty() { "" } else { ", " };
    let text = format!("CREATE TABLE t ({columns}) WITH ('connector' = 'nexmark'{comma}{options})");
    Arc::new(bed::table(&text))
}

/// Declares the Nexmark table of all kinds of events.
fn whole(options: &str) -> Arc<Table> {
    table(&format!("event_type INT, person ROW<{PEOPLE}>, auction ROW<{AUCTIONS}>, bid ROW<{BIDS}>"), options)
}

fn source(table: &Table, wanted: &[usize], seed: u64) -> Box<dyn RowSource> {
    let world = World { seed, ..World::default() };
    let mut sources = bind_source(table, wanted, &world).expect("a source");
    assert_eq!(sources.len(), 1);
    sources.remove(0)
}

/// Reads all rows of a bounded table.
fn rows(table: &Table, wanted: &[usize], seed: u64, batch_rows: usize) -> RecordBatch {
    let mut source = source(table, wanted, seed);
    let mut batches = Vec::new();
    loop {
        let polled = source.poll(ProcessingTime::from_nanos(5), batch_rows).expect("rows");
        batches.extend(polled.rows.map(|rows| rows.columns));
        if polled.status == SourceStatus::Ended {
            break;
        }
    }
    let schema = batches.first().expect("a batch").schema();
    concat_batches(&schema, &batches).expect("batches of one schema")
}

fn all(table: &Table) -> RecordBatch {
    let wanted: Vec<usize> = (0..table.columns.len()).collect();
    rows(table, &wanted, 1, 4_096)
}

/// Returns the numbers in a column that has no NULL.
fn numbers(rows: &RecordBatch, name: &str) -> Vec<i64> {
    let column = rows.column_by_name(name).expect("a column");
    assert_eq!(column.null_count(), 0);
    match column.as_primitive_opt::<Int64Type>() {
        Some(column) => column.values().to_vec(),
        None => column.as_primitive::<TimestampMillisecondType>().values().to_vec(),
    }
}

fn texts<'r>(rows: &'r RecordBatch, name: &str) -> Vec<&'r str> {
    rows.column_by_name(name).expect("a column").as_string::<i32>().iter().flatten().collect()
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// Compares two shares with a tolerance of 0.5 %. That is far more than chance at these sizes, and far less
/// than the error of a wrong ratio.
fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.005
}

#[test]
fn kinds_come_in_rounds_of_one_three_and_forty_six() {
    let rows = all(&whole("'events.num' = '10025', 'thalweg.rate' = 'max'"));
    assert_eq!(rows.num_rows(), 10_025);
    let kinds = rows.column(0).as_primitive::<Int32Type>();
    for (event, kind) in kinds.values().iter().enumerate() {
        let expected = match event % 50 {
            0 => 0,
            1..=3 => 1,
            _ => 2,
        };
        assert_eq!(*kind, expected, "event {event}");
        for (place, name) in ["person", "auction", "bid"].iter().enumerate() {
            let row = rows.column_by_name(name).expect("a row");
            assert_eq!(row.is_valid(event), place == expected as usize, "{name} of event {event}");
        }
    }
    // A table of one kind has as many rows as there are events of that kind.
    let counts = |kind: &str, columns: &str| {
        let options = format!("'events.num' = '10025', 'thalweg.rate' = 'max', 'thalweg.events' = '{kind}'");
        all(&table(columns, &options)).num_rows()
    };
    assert_eq!(counts("person", PEOPLE), 201);
    assert_eq!(counts("auction", AUCTIONS), 603);
    assert_eq!(counts("bid", BIDS), 200 * 46 + 21);
}

#[test]
fn ids_count_from_a_thousand_and_those_bid_for_are_there_or_soon_will_be() {
    let options = "'events.num' = '500000', 'thalweg.rate' = 'max', 'thalweg.events' =";
    let people = all(&table("id BIGINT", &format!("{options} 'person'")));
    assert_eq!(numbers(&people, "id"), (1_000..11_000).collect::<Vec<i64>>());
    let auctions = all(&table("id BIGINT, seller BIGINT, category BIGINT", &format!("{options} 'auction'")));
    assert_eq!(numbers(&auctions, "id"), (1_000..31_000).collect::<Vec<i64>>());
    let categories: BTreeSet<i64> = numbers(&auctions, "category").into_iter().collect();
    assert_eq!(categories, (10..15).collect());
    for (auction, seller) in numbers(&auctions, "seller").into_iter().enumerate() {
        // Three auctions follow each person in a round, so the number of an auction gives the number of
        // people before it.
        let people = auction as i64 / 3 + 1;
        let hot = (people - 1) / 100 * 100;
        let is_active = ((people - 1_000).max(0)..people + 10).contains(&(seller - 1_000));
        assert!(is_active || seller - 1_000 == hot, "auction {auction} by {seller}");
    }
    let bids = all(&table("auction BIGINT, bidder BIGINT", &format!("{options} 'bid'")));
    let pairs = numbers(&bids, "auction").into_iter().zip(numbers(&bids, "bidder"));
    for (bid, (auction, bidder)) in pairs.enumerate() {
        let (people, auctions) = (bid as i64 / 46 + 1, (bid as i64 / 46 + 1) * 3);
        let hot = (auctions - 1) / 100 * 100;
        let is_open = ((auctions - 101).max(0)..auctions + 10).contains(&(auction - 1_000));
        assert!(is_open || auction - 1_000 == hot, "bid {bid} for {auction}");
        let hot = (people - 1) / 100 * 100 + 1;
        let is_active = ((people - 1_000).max(0)..people + 10).contains(&(bidder - 1_000));
        assert!(is_active || bidder - 1_000 == hot, "bid {bid} by {bidder}");
    }
}

#[test]
fn half_of_the_bids_are_hot_and_three_quarters_of_bidders_and_sellers() {
    // This is the share of rows whose id is the hot id of its group of 100. It is a little above the share
    // in the options, because other rows hit the hot id by chance.
    let check = |ratios: &str, expected: [f64; 3]| {
        let options = format!("'events.num' = '2000000', 'thalweg.rate' = 'max'{ratios}, 'thalweg.events' =");
        let bids = all(&table("auction BIGINT, bidder BIGINT", &format!("{options} 'bid'")));
        let auctions = all(&table("seller BIGINT", &format!("{options} 'auction'")));
        let hot = |ids: Vec<i64>, per_round: i64, rows_per_round: i64, offset: i64| {
            let count = ids.len();
            let is_hot = |(row, id): &(usize, i64)| {
                let there_are = (*row as i64 / rows_per_round + 1) * per_round;
                *id - 1_000 == (there_are - 1) / 100 * 100 + offset
            };
            share(ids.into_iter().enumerate().filter(is_hot).count(), count)
        };
        let shares = [
            hot(numbers(&bids, "auction"), 3, 46, 0),
            hot(numbers(&bids, "bidder"), 1, 46, 1),
            hot(numbers(&auctions, "seller"), 1, 3, 0),
        ];
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!(
                expected - 0.005 < share && share < expected + 0.012,
                "{shares:?} instead of {expected:?}"
            );
        }
    };
    check("", [0.5, 0.75, 0.75]);
    check(
        ", 'bid.hot-ratio.auctions' = '10', 'bid.hot-ratio.bidders' = '2', 'auction.hot-ratio.sellers' = '1'",
        [0.9, 0.5, 0.0],
    );
}

#[test]
fn prices_are_even_in_their_logarithms() {
    let bids = all(&table(
        "price BIGINT",
        "'events.num' = '500000', 'thalweg.rate' = 'max', 'thalweg.events' = 'bid'",
    ));
    let mut prices = numbers(&bids, "price");
    prices.sort_unstable();
    assert!(100 <= prices[0] && *prices.last().expect("prices") <= 100_000_000);
    for decade in 1..6 {
        let below = prices.partition_point(|price| *price < 100 * 10_i64.pow(decade));
        assert!(is_near(share(below, prices.len()), f64::from(decade) / 6.0), "{below} below 10^{decade}");
    }
    let options = "'events.num' = '5000', 'thalweg.rate' = 'max', 'thalweg.events' = 'auction'";
    let auctions = all(&table("initialBid BIGINT, reserve BIGINT", options));
    let mut firsts = numbers(&auctions, "initialBid").into_iter().zip(numbers(&auctions, "reserve"));
    assert!(firsts.all(|(first, reserve)| first + 100 <= reserve));
}

#[test]
fn times_are_even_from_the_base_time_on() {
    let options = "'events.num' = '5000', 'first-event.rate' = '1000', 'next-event.rate' = '1000', 'thalweg.rate' = 'max'";
    let options = format!("{options}, 'thalweg.base-time' = '1969-12-31 23:59:59.5', 'thalweg.events' =");
    let bids = all(&table("`dateTime` TIMESTAMP(3)", &format!("{options} 'bid'")));
    let expected = (0..5_000).filter(|event| event % 50 >= 4).map(|event| event - 500);
    assert_eq!(numbers(&bids, "dateTime"), expected.collect::<Vec<i64>>());
    let auctions =
        all(&table("`dateTime` TIMESTAMP(3), expires TIMESTAMP(3)", &format!("{options} 'auction'")));
    let lengths: Vec<i64> = numbers(&auctions, "dateTime")
        .into_iter()
        .zip(numbers(&auctions, "expires"))
        .map(|(from, to)| to - from)
        .collect();
    // On average 100 auctions are opened within 1,666 events, and here there is one event per millisecond.
    assert!(lengths.iter().all(|length| (1..=2 * 1_666).contains(length)), "{lengths:?}");
    let mean = lengths.iter().sum::<i64>() / lengths.len() as i64;
    assert!((1_500..1_850).contains(&mean), "{mean}");
    let default = all(&table("`dateTime` TIMESTAMP(3)", "'events.num' = '1', 'thalweg.events' = 'person'"));
    assert_eq!(numbers(&default, "dateTime"), [BASE]);
}

#[test]
fn texts_are_of_the_forms_and_lengths_that_queries_ask_for() {
    let options = "'events.num' = '100000', 'thalweg.rate' = 'max', 'thalweg.events' =";
    let bids = all(&table("channel STRING, url STRING, extra STRING", &format!("{options} 'bid'")));
    let (channels, urls) = (texts(&bids, "channel"), texts(&bids, "url"));
    let mut of_channel = BTreeMap::new();
    let (mut hot, mut with_id) = (0, 0);
    for (channel, url) in channels.iter().zip(&urls) {
        assert_eq!(*of_channel.entry(channel).or_insert(url), url, "a channel has one address");
        let parts: Vec<&str> = url.split('/').collect();
        let [_, "", "www.nexmark.com", first, second, third, file] = parts[..] else { panic!("{url}") };
        assert!([first, second, third].iter().all(|part| (3..=4).contains(&part.len())), "{url}");
        assert!(file.starts_with("item.htm?query=1"), "{url}");
        if ["Google", "Facebook", "Baidu", "Apple"].contains(channel) {
            hot += 1;
            assert!(!url.contains("channel_id"), "{url}");
        } else {
            assert!(channel.starts_with("channel-"), "{channel}");
            with_id += usize::from(url.contains("&channel_id="));
        }
    }
    assert!(is_near(share(hot, channels.len()), 0.5), "{hot}");
    assert!((share(with_id, channels.len() - hot) - 0.9).abs() < 0.02, "{with_id}");
    // A bid has 100 bytes on average, which leave 68 bytes for `extra` besides the numbers and the time;
    // `extra` varies by a fifth.
    let lengths: Vec<usize> = texts(&bids, "extra").iter().map(|text| text.len()).collect();
    assert!(lengths.iter().all(|length| (54..82).contains(length)));
    assert!((share(lengths.iter().sum(), lengths.len()) - 67.5).abs() < 0.5);
    let people = all(&table(PEOPLE, &format!("{options} 'person'")));
    let states: BTreeSet<&str> = texts(&people, "state").into_iter().collect();
    assert_eq!(states, BTreeSet::from(["AZ", "CA", "ID", "OR", "WA", "WY"]));
    for card in texts(&people, "creditCard") {
        assert!(
            card.split(' ').all(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit())),
            "{card}"
        );
    }
    assert!(
        texts(&people, "emailAddress").iter().all(|email| email.contains('@') && email.ends_with(".com"))
    );
    assert!(texts(&people, "name").iter().all(|name| name.split(' ').count() == 2));
    let auctions = all(&table("description STRING, itemName STRING", &format!("{options} 'auction'")));
    assert!(texts(&auctions, "description").iter().all(|text| text.len() < 100 && text.trim() == *text));
    assert!(texts(&auctions, "itemName").iter().all(|text| text.len() < 20));
}

#[test]
fn one_seed_makes_one_stream_however_it_is_read() {
    let whole = whole("'events.num' = '3001', 'thalweg.rate' = 'max'");
    let reference = rows(&whole, &[0, 1, 2, 3], 7, 4_096);
    // The rows are the same with any batch size.
    for batch_rows in [1, 7, 50, 1_000] {
        assert_eq!(rows(&whole, &[0, 1, 2, 3], 7, batch_rows), reference, "batches of {batch_rows}");
    }
    assert_ne!(rows(&whole, &[0, 1, 2, 3], 8, 4_096), reference);
    // The values are the same if only some columns are requested, in another order.
    let some = rows(&whole, &[3, 0], 7, 100);
    assert_eq!((some.column(0), some.column(1)), (reference.column(3), reference.column(0)));
    // Without requested columns there are still rows.
    assert_eq!(rows(&whole, &[], 7, 100).num_rows(), 3_001);
    // A table of one kind of events, and each of its columns alone, has the same values as the rows of that
    // kind.
    for (kind, columns, place) in [("person", PEOPLE, 1), ("auction", AUCTIONS, 2), ("bid", BIDS, 3)] {
        let options = format!("'events.num' = '3001', 'thalweg.rate' = 'max', 'thalweg.events' = '{kind}'");
        let flat = table(columns, &options);
        let places: Vec<usize> = (0..flat.columns.len()).collect();
        let nested = reference.column(place).as_struct();
        let is_there = arrow::compute::is_not_null(nested).expect("a mask");
        for column in places {
            let expected = arrow::compute::filter(nested.column(column), &is_there).expect("values");
            assert_eq!(rows(&flat, &[column], 7, 333).column(0), &expected, "{kind}, column {column}");
        }
    }
    // Fields of an event row may be omitted and declared in any order.
    let less =
        table("bid ROW<price BIGINT, auction BIGINT>", "'events.num' = '3001', 'thalweg.rate' = 'max'");
    let less = rows(&less, &[0], 7, 4_096);
    let (less, bids) = (less.column(0).as_struct(), reference.column(3).as_struct());
    assert_eq!((less.column(0), less.column(1)), (bids.column(2), bids.column(0)));
}

#[test]
fn rows_are_due_at_their_rate_and_come_at_once_when_they_are_late() {
    let table = table(
        "price BIGINT",
        "'first-event.rate' = '100', 'next-event.rate' = '100', 'thalweg.events' = 'bid'",
    );
    let mut source = source(&table, &[0], 1);
    let at = |millis: u64| ProcessingTime::from_nanos(1_000_000_000 + millis * 1_000_000);
    let mut check = |millis: u64, rows_max: usize, count: usize, status: SourceStatus| {
        let polled = source.poll(at(millis), rows_max).expect("rows");
        let rows = polled.rows.map_or(0, |rows| rows.columns.num_rows());
        assert_eq!((rows, polled.status), (count, status), "at {millis} ms");
    };
    // The schedule begins with the first bid. 45 bids follow, one every 10 ms, and then a person and three
    // auctions pass.
    check(0, 10, 1, SourceStatus::IdleUntil(at(10)));
    check(5, 10, 0, SourceStatus::IdleUntil(at(10)));
    check(20, 10, 2, SourceStatus::IdleUntil(at(30)));
    check(200, 10, 10, SourceStatus::DueSince(at(130)));
    check(200, 100, 8, SourceStatus::IdleUntil(at(210)));
    check(460, 100, 25, SourceStatus::IdleUntil(at(500)));
    check(500, 100, 1, SourceStatus::IdleUntil(at(510)));
}

#[test]
fn a_position_is_gone_on_from() {
    let table = whole("'events.num' = '1000'");
    let mut first = source(&table, &[0, 3], 3);
    let begin = ProcessingTime::from_nanos(0);
    first.poll(begin, 10).expect("rows");
    first.poll(begin.plus_nanos(1_000_000_000), 123).expect("rows");
    let mut state = StateWriter::default();
    first.save(&mut state).expect("a position");
    let expected =
        first.poll(begin.plus_nanos(2_000_000_000), 300).expect("rows").rows.expect("rows").columns;
    let mut second = source(&table, &[0, 3], 3);
    let bytes = state.into_bytes();
    second.load(&mut StateReader::new(&bytes)).expect("a position");
    // After a restore the schedule starts anew with the next row.
    let polled = second.poll(begin.plus_nanos(9_000_000_000), 300).expect("rows").rows.expect("rows").columns;
    assert_eq!(polled, expected.slice(0, 1));
    let polled =
        second.poll(begin.plus_nanos(19_000_000_000), 299).expect("rows").rows.expect("rows").columns;
    assert_eq!(polled, expected.slice(1, 299));
}

#[test]
fn extreme_options_make_rows_and_no_panic() {
    let most = "'first-event.rate' = '1', 'next-event.rate' = '2147483647', 'rate.shape' = 'sine', 'rate.period' = '1 d', \
                'person.proportion' = '2147483647', 'auction.proportion' = '2147483647', 'bid.proportion' = '2147483647', \
                'bid.hot-ratio.auctions' = '2147483647', 'person.avg-size' = '1 mb', 'auction.avg-size' = '0', \
                'thalweg.rate' = 'max', 'thalweg.base-time' = '9999-12-31 23:59:59.999'";
    let mut source = source(&whole(most), &[0, 1, 2, 3], 0);
    let polled = source.poll(ProcessingTime::default(), 4_096).expect("rows");
    let rows = polled.rows.expect("rows").columns;
    // Events have 1 MiB each, so a batch has only a few of them.
    assert!((1..=20).contains(&rows.num_rows()), "{}", rows.num_rows());
    let none =
        "'person.proportion' = '0', 'auction.proportion' = '0', 'events.num' = '100', 'thalweg.rate' = 'max'";
    assert_eq!(all(&whole(none)).num_rows(), 100);
    let none = table("id BIGINT", &format!("{none}, 'thalweg.events' = 'auction'"));
    let polled = self::source(&none, &[0], 0).poll(ProcessingTime::default(), 10).expect("nothing");
    assert_eq!((polled.rows.is_none(), polled.status), (true, SourceStatus::Ended));
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let wrong = |columns: &str, options: &str, words: &str| {
        let error: SqlError = match check(&table(columns, options)) {
            Err(error) => error,
            Ok(_) => panic!("{options} is taken"),
        };
        assert!(format!("{error:?}").contains(words), "{error:?} has not {words}");
    };
    let bids = "'thalweg.events' = 'bid'";
    wrong(
        "price BIGINT",
        &format!("{bids}, 'events.num' = '-1'"),
        "'-1' is not a number of events from 0 on",
    );
    wrong("price BIGINT", &format!("{bids}, 'first-event.rate' = '0'"), "'0' is not a whole number from 1");
    wrong(
        "price BIGINT",
        &format!("{bids}, 'bid.hot-ratio.auctions' = '0'"),
        "'0' is not a whole number from 1",
    );
    wrong("price BIGINT", &format!("{bids}, 'rate.shape' = 'saw'"), "'saw' is not among 'SQUARE', 'SINE'");
    wrong("price BIGINT", &format!("{bids}, 'rate.period' = '0 s'"), "must be from 1 s to 1 d");
    wrong("price BIGINT", &format!("{bids}, 'bid.avg-size' = '1 gb'"), "are too many");
    wrong("price BIGINT", &format!("{bids}, 'thalweg.base-time' = 'noon'"), "'noon' is no time");
    wrong("price BIGINT", &format!("{bids}, 'keep-alive' = 'true'"), "has no option 'keep-alive'");
    wrong("prise BIGINT", bids, "did you mean `price`?");
    wrong("price INT", bids, "`price` is INT, and the connector 'nexmark' has it as BIGINT");
    wrong("price BIGINT", "", "has no column `price` here");
    wrong("bid ROW<price INT>", "", "`bid`.`price` is INT");
    wrong("bid BIGINT", "", "`bid` is BIGINT");
    wrong("bid ROW<price BIGINT> NOT NULL", "", "is NOT NULL");
    wrong("event_type BIGINT", "", "has it as INT");
    let zero = "'person.proportion' = '0', 'auction.proportion' = '0', 'bid.proportion' = '0'";
    wrong("event_type INT", zero, "there are no events at all");
    let portable =
        |options: &str| check(&table("event_type INT", options)).expect("it is fine").is_portable();
    assert!(portable("'events.num' = '10'"));
    assert!(!portable("'thalweg.rate' = 'max'"));
}
