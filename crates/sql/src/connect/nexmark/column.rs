//! Columns of Nexmark: which there are, and their values for the events of a batch.
//!
//! A value follows from the seed, the field and the number of its event. So a column has the same values whichever others are
//! asked for, in a table of one kind as in the rows of the whole stream.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int32Array, Int64Array, StringBuilder, StructArray, TimestampMillisecondArray, UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;

use super::mix::{Events, Kind, Mix};
use super::schedule::Schedule;
use super::words::{CITIES, FIRST_NAMES, LAST_NAMES, STATES, Words};
use crate::connect::draw;
use crate::types::SqlType;

/// The first id of people, and of auctions.
const FIRST_ID: u64 = 1_000;

/// The first category of auctions, and how many there are.
const FIRST_CATEGORY: u64 = 10;
const CATEGORIES: u64 = 5;

/// Auctions that are bid for: so many before the last one, and so many that are yet to come.
const AUCTIONS_IN_FLIGHT: u64 = 100;
const AUCTIONS_AHEAD: u64 = 10;

/// People that bid and sell: so many before the last one, and so many that are yet to come.
const PEOPLE_ACTIVE: u64 = 1_000;
const PEOPLE_AHEAD: u64 = 10;

/// Of so many ids that follow each other one is hot: the first auction, the first seller, the second bidder.
const HOT_GROUP: u64 = 100;

/// A field of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    PersonId,
    Name,
    EmailAddress,
    CreditCard,
    City,
    State,
    PersonExtra,
    AuctionId,
    ItemName,
    Description,
    InitialBid,
    Reserve,
    Expires,
    Seller,
    Category,
    AuctionExtra,
    BidAuction,
    Bidder,
    Price,
    Channel,
    Url,
    BidExtra,
    DateTime,
}

/// The fields of a kind of event, by their names.
pub(super) fn fields_of(kind: Kind) -> &'static [(&'static str, Field)] {
    match kind {
        Kind::Person => &[
            ("id", Field::PersonId),
            ("name", Field::Name),
            ("emailAddress", Field::EmailAddress),
            ("creditCard", Field::CreditCard),
            ("city", Field::City),
            ("state", Field::State),
            ("dateTime", Field::DateTime),
            ("extra", Field::PersonExtra),
        ],
        Kind::Auction => &[
            ("id", Field::AuctionId),
            ("itemName", Field::ItemName),
            ("description", Field::Description),
            ("initialBid", Field::InitialBid),
            ("reserve", Field::Reserve),
            ("dateTime", Field::DateTime),
            ("expires", Field::Expires),
            ("seller", Field::Seller),
            ("category", Field::Category),
            ("extra", Field::AuctionExtra),
        ],
        Kind::Bid => &[
            ("auction", Field::BidAuction),
            ("bidder", Field::Bidder),
            ("price", Field::Price),
            ("channel", Field::Channel),
            ("url", Field::Url),
            ("dateTime", Field::DateTime),
            ("extra", Field::BidExtra),
        ],
    }
}

impl Field {
    /// Its type.
    pub(super) fn of(self) -> SqlType {
        match self {
            Field::DateTime | Field::Expires => SqlType::Timestamp(3),
            Field::Name | Field::EmailAddress | Field::CreditCard | Field::City | Field::State => {
                SqlType::STRING
            }
            Field::ItemName | Field::Description | Field::Channel | Field::Url => SqlType::STRING,
            Field::PersonExtra | Field::AuctionExtra | Field::BidExtra => SqlType::STRING,
            _ => SqlType::BigInt,
        }
    }

    /// About how many bytes a value takes, but for an extra.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Field::ItemName | Field::EmailAddress | Field::CreditCard | Field::Name => 20,
            Field::Description | Field::Url => 100,
            _ => 16,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) enum Column {
    /// 0 for people, 1 for auctions, 2 for bids.
    EventType,
    /// A field of the one kind that the table is of.
    Field(Field),
    /// The fields of a kind, NULL for others.
    Row {
        /// Which kind.
        kind: Kind,
        /// Its fields, in the order of the row.
        fields: Vec<Field>,
        /// Their names and types.
        of: Fields,
    },
}

/// What all values follow from.
pub(super) struct Figures {
    pub seed: u64,
    pub mix: Mix,
    pub schedule: Schedule,
    /// When the first event happens, in milliseconds.
    pub base_millis: i64,
    /// One of so many bids is not for the hot auction, and so on.
    pub hot_auctions: u64,
    pub hot_bidders: u64,
    pub hot_sellers: u64,
    /// How long the extra of a person, an auction and a bid is, on average.
    pub extra: [u64; 3],
    pub words: Words,
    pub prices: Prices,
}

impl Figures {
    /// The values of a column for the events of a batch.
    ///
    /// # Errors
    /// None that we know of: an [`ArrowError`] if arrays do not make a row.
    pub(super) fn make(&self, column: &Column, events: &Events) -> Result<ArrayRef, ArrowError> {
        match column {
            Column::EventType => {
                let values = events.numbers.iter().map(|event| self.mix.kind_of(*event) as i32);
                Ok(Arc::new(Int32Array::from_iter_values(values)))
            }
            Column::Field(field) => Ok(self.field(*field, events)),
            Column::Row { kind, fields, of } => self.row(*kind, fields, of, events),
        }
    }

    /// Values are made for the events that have them, and then spread.
    fn row(
        &self,
        kind: Kind,
        fields: &[Field],
        of: &Fields,
        events: &Events,
    ) -> Result<ArrayRef, ArrowError> {
        let mut places = Vec::new();
        let mut spread = Vec::with_capacity(events.numbers.len());
        for (place, event) in (0_u32..).zip(&events.numbers) {
            let is_one = self.mix.kind_of(*event) == kind;
            spread.push(is_one.then_some(places.len() as u32));
            if is_one {
                places.push(place);
            }
        }
        let nulls = NullBuffer::from_iter(spread.iter().map(Option::is_some));
        let spread = UInt32Array::from(spread);
        let events = events.at(&places);
        let values = fields.iter().map(|field| take(self.field(*field, &events).as_ref(), &spread, None));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(StructArray::try_new_with_length(of.clone(), values, Some(nulls), spread.len())?))
    }

    fn field(&self, field: Field, events: &Events) -> ArrayRef {
        // Reserve prices stand on the first bids of their auctions, and addresses are those of the channels.
        let seed_of = |field: Field| draw::at(self.seed, field as u64);
        let seed = match field {
            Field::Url => seed_of(Field::Channel),
            field => seed_of(field),
        };
        let numbers = &events.numbers;
        let bits = |event: &u64| draw::at(seed, *event);
        let text =
            |value: &dyn Fn(u64) -> &'static str| texts(numbers, 12, |event| value(draw::at(seed, event)));
        match field {
            Field::PersonId => ids(&events.people, |people| people.saturating_sub(1)),
            Field::AuctionId => ids(&events.auctions, |auctions| auctions.saturating_sub(1)),
            Field::DateTime => self.times(numbers.iter().map(|event| self.schedule.millis_at(*event))),
            Field::Expires => {
                // As long as it takes until so many more auctions were opened, on average.
                let ahead = (AUCTIONS_IN_FLIGHT * self.mix.round())
                    .checked_div(self.mix.auctions())
                    .unwrap_or_default();
                self.times(numbers.iter().map(|event| {
                    let opens = self.schedule.millis_at(*event);
                    let horizon = self.schedule.millis_at(event.saturating_add(ahead)).saturating_sub(opens);
                    let length = draw::below(bits(event), horizon.max(1) as u64 * 2) as i64;
                    opens.saturating_add(1).saturating_add(length)
                }))
            }
            Field::Price | Field::InitialBid => Arc::new(Int64Array::from_iter_values(
                numbers.iter().map(|event| self.prices.at(bits(event))),
            )),
            Field::Reserve => {
                let first = seed_of(Field::InitialBid);
                let price =
                    |event: &u64| self.prices.at(draw::at(first, *event)) + self.prices.at(bits(event));
                Arc::new(Int64Array::from_iter_values(numbers.iter().map(price)))
            }
            Field::Category => {
                let category = |event: &u64| (FIRST_CATEGORY + draw::below(bits(event), CATEGORIES)) as i64;
                Arc::new(Int64Array::from_iter_values(numbers.iter().map(category)))
            }
            Field::Seller => drawn_ids(events, &events.people, seed, |people, bits| {
                match draw::split(bits, self.hot_sellers) {
                    (0, bits) => person(people, bits),
                    _ => hot(people),
                }
            }),
            Field::Bidder => drawn_ids(events, &events.people, seed, |people, bits| {
                match draw::split(bits, self.hot_bidders) {
                    (0, bits) => person(people, bits),
                    // The second of the group, so that hot bidders are not the hot sellers.
                    _ => hot(people) + 1,
                }
            }),
            Field::BidAuction => {
                drawn_ids(events, &events.auctions, seed, |auctions, bits| {
                    match draw::split(bits, self.hot_auctions) {
                        (0, bits) => auction(auctions, bits),
                        _ => hot(auctions),
                    }
                })
            }
            Field::City => text(&|bits| CITIES[draw::below(bits, CITIES.len() as u64) as usize]),
            Field::State => text(&|bits| STATES[draw::below(bits, STATES.len() as u64) as usize]),
            Field::Name => composed(numbers, 16, |event, text| {
                let (first, bits) = draw::split(draw::at(seed, event), FIRST_NAMES.len() as u64);
                let last = draw::below(bits, LAST_NAMES.len() as u64);
                text.extend([FIRST_NAMES[first as usize], " ", LAST_NAMES[last as usize]]);
            }),
            Field::EmailAddress => composed(numbers, 16, |event, text| {
                let (more, bits) = draw::split(draw::at(seed, event), 4);
                text.push_str(self.words.letters(bits, 3 + more as usize));
                let (more, bits) = draw::split(draw::at(!seed, event), 2);
                text.extend(["@", self.words.letters(bits, 3 + more as usize), ".com"]);
            }),
            Field::CreditCard => composed(numbers, 19, |event, text| {
                let mut bits = draw::at(seed, event);
                for place in 0..19 {
                    if place % 5 == 4 {
                        text.push(' ');
                    } else {
                        let (digit, rest) = draw::split(bits, 10);
                        text.push(char::from(b'0' + digit as u8));
                        bits = rest;
                    }
                }
            }),
            Field::ItemName => texts(numbers, 20, |event| self.words.spaced(draw::at(seed, event), 20)),
            Field::Description => texts(numbers, 60, |event| self.words.spaced(draw::at(seed, event), 100)),
            Field::Channel => texts(numbers, 12, |event| self.words.channel(draw::at(seed, event)).0),
            Field::Url => texts(numbers, 80, |event| self.words.channel(draw::at(seed, event)).1),
            Field::PersonExtra => self.extras(numbers, seed, Kind::Person),
            Field::AuctionExtra => self.extras(numbers, seed, Kind::Auction),
            Field::BidExtra => self.extras(numbers, seed, Kind::Bid),
        }
    }

    fn times(&self, millis: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(TimestampMillisecondArray::from_iter_values(
            millis.map(|millis| self.base_millis.saturating_add(millis)),
        ))
    }

    /// Letters up to a fifth more or less than their average.
    fn extras(&self, numbers: &[u64], seed: u64, kind: Kind) -> ArrayRef {
        let (least, range) = extra_lengths(self.extra[kind as usize]);
        texts(numbers, (least + range) as usize, |event| {
            let (more, bits) = draw::split(draw::at(seed, event), range);
            self.words.letters(bits, (least + more) as usize)
        })
    }
}

/// The least length of letters of an average length, and how many lengths there are from it on.
pub(super) fn extra_lengths(average: u64) -> (u64, u64) {
    let fifth = (average + 2) / 5;
    (average - fifth, 2 * fifth)
}

/// Prices: `round(10^(6 u) * 100)` for `u` even in `[0, 1)`, in steps of 2^-24.
///
/// A power is the product of three that are looked up: a byte of `u` each.
pub(super) struct Prices([[f64; 256]; 3]);

impl Prices {
    pub(super) fn new() -> Self {
        let power = |byte: usize, unit: f64| 10_f64.powf(6.0 * byte as f64 / unit);
        Prices([256.0, 65_536.0, 16_777_216.0].map(|unit| std::array::from_fn(|byte| power(byte, unit))))
    }

    #[inline]
    fn at(&self, bits: u64) -> i64 {
        let [first, second, third, ..] = bits.to_be_bytes();
        let [firsts, seconds, thirds] = &self.0;
        let power = firsts[usize::from(first)] * seconds[usize::from(second)] * thirds[usize::from(third)];
        (power * 100.0).round() as i64
    }
}

/// Ids made of counts.
fn ids(counts: &[u64], id: impl Fn(u64) -> u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(counts.iter().map(|count| (FIRST_ID + id(*count)) as i64)))
}

/// Ids made of counts and random bits.
fn drawn_ids(events: &Events, counts: &[u64], seed: u64, id: impl Fn(u64, u64) -> u64) -> ArrayRef {
    let values = events.numbers.iter().zip(counts);
    Arc::new(Int64Array::from_iter_values(
        values.map(|(event, count)| (FIRST_ID + id(*count, draw::at(seed, *event))) as i64),
    ))
}

/// The first of the hundred that the last one is in.
fn hot(count: u64) -> u64 {
    count.saturating_sub(1) / HOT_GROUP * HOT_GROUP
}

/// Somebody who is active, or soon will be.
fn person(people: u64, bits: u64) -> u64 {
    let active = people.min(PEOPLE_ACTIVE);
    people - active + draw::below(bits, active + PEOPLE_AHEAD)
}

/// An auction that is open, or soon will be.
fn auction(auctions: u64, bits: u64) -> u64 {
    let last = auctions.saturating_sub(1);
    let first = last.saturating_sub(AUCTIONS_IN_FLIGHT);
    first + draw::below(bits, last - first + 1 + AUCTIONS_AHEAD)
}

/// Texts that are there.
fn texts<'t>(numbers: &[u64], bytes: usize, text: impl Fn(u64) -> &'t str) -> ArrayRef {
    let mut texts = StringBuilder::with_capacity(numbers.len(), numbers.len() * bytes);
    numbers.iter().for_each(|event| texts.append_value(text(*event)));
    Arc::new(texts.finish())
}

/// Texts that are put together.
fn composed(numbers: &[u64], bytes: usize, compose: impl Fn(u64, &mut String)) -> ArrayRef {
    let mut texts = StringBuilder::with_capacity(numbers.len(), numbers.len() * bytes);
    let mut text = String::new();
    for event in numbers {
        text.clear();
        compose(*event, &mut text);
        texts.append_value(&text);
    }
    Arc::new(texts.finish())
}

/// The names and types of the fields of a row.
pub(super) fn fields_of_row(of: &SqlType) -> Fields {
    match of.arrow() {
        DataType::Struct(fields) => fields,
        _ => Fields::empty(),
    }
}
