//! Columns of Nexmark, and their values for the events of a batch.
//!
//! A value depends only on the seed, the field and the number of its event. So a column has the same values
//! whichever other columns are requested, in a table of one kind as in the whole stream.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int32Array, Int64Array, StringBuilder, StructArray, TimestampMillisecondArray, UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;
use thalweg_sql_functions::types::SqlType;

use super::mix::{Events, Kind, Mix};
use super::schedule::Schedule;
use super::words::{CITIES, FIRST_NAMES, LAST_NAMES, STATES, Words};
use crate::connect::draw;

/// The first id of people, and the first id of auctions.
const FIRST_ID: u64 = 1_000;

/// The first category of auctions, and the number of categories.
const FIRST_CATEGORY: u64 = 10;
const CATEGORIES: u64 = 5;

/// Auctions for which bids are drawn: from 100 before the last auction to 10 after it.
const AUCTIONS_IN_FLIGHT: u64 = 100;
const AUCTIONS_AHEAD: u64 = 10;

/// People who bid and sell: from 1,000 before the last person to 10 after the last person.
const PEOPLE_ACTIVE: u64 = 1_000;
const PEOPLE_AHEAD: u64 = 10;

/// Number of consecutive ids in a group. One id of each group is hot, so that many events name it: the first
/// auction, the first seller, the second bidder.
const HOT_GROUP: u64 = 100;

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

/// Returns the fields of one kind of Nexmark event, with their names.
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
    /// Returns the SQL type of the Nexmark field.
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

    /// Returns the approximate size of a value of the field in bytes. The field `extra`, whose size is an
    /// option, is not included.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Field::ItemName | Field::EmailAddress | Field::CreditCard | Field::Name => 20,
            Field::Description | Field::Url => 100,
            _ => 16,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Column {
    /// The kind of the event as a number: 0 for people, 1 for auctions, 2 for bids.
    EventType,
    /// A field of the event, in a table with only one kind of events.
    Field(Field),
    /// A row with the fields of one kind of event; NULL for events of other kinds.
    Row {
        /// The kind of event whose fields are in the row.
        kind: Kind,
        /// The fields of the event, in the order of the row.
        fields: Vec<Field>,
        /// The names and types of the fields of the row.
        of: Fields,
    },
}

/// The parameters from which all values of Nexmark events are computed.
pub(super) struct Figures {
    pub seed: u64,
    pub mix: Mix,
    pub schedule: Schedule,
    /// The event time of the first event, in milliseconds since 1970.
    pub base_millis: i64,
    /// One in `hot_auctions` bids is for another auction than the hot auction. One in `hot_bidders` bids is
    /// by another person than the hot bidder, and one in `hot_sellers` auctions by another person than the
    /// hot seller.
    pub hot_auctions: u64,
    pub hot_bidders: u64,
    pub hot_sellers: u64,
    /// Average lengths of the field `extra` of a person, an auction and a bid.
    pub extra: [u64; 3],
    pub words: Words,
    pub prices: Prices,
}

impl Figures {
    /// Generates the values of a Nexmark column for the events of a batch.
    ///
    /// # Errors
    /// An [`ArrowError`] if arrays do not make a row; no case is known.
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

    /// Generates the rows of one kind of event: values are made only for the events of this kind, and then
    /// spread over all rows.
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
        // A field has a seed of its own, with two exceptions. The reserve price of an auction shares the seed
        // of its first bid, and the address of a channel shares the seed of the channel's name.
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
                // An auction expires, on average, after the time in which `AUCTIONS_IN_FLIGHT` more auctions
                // are opened.
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
                    // The hot bidder is the second person of the group, so that hot bidders are not the hot
                    // sellers.
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

    /// Generates the letters of the field `extra`, up to a fifth more or fewer than their average length.
    fn extras(&self, numbers: &[u64], seed: u64, kind: Kind) -> ArrayRef {
        let (least, range) = extra_lengths(self.extra[kind as usize]);
        texts(numbers, (least + range) as usize, |event| {
            let (more, bits) = draw::split(draw::at(seed, event), range);
            self.words.letters(bits, (least + more) as usize)
        })
    }
}

/// Returns the least length of the field `extra` for an average length, and the number of possible lengths
/// from it on.
pub(super) fn extra_lengths(average: u64) -> (u64, u64) {
    let fifth = (average + 2) / 5;
    (average - fifth, 2 * fifth)
}

/// Prices: `round(10^(6 u) * 100)` for `u` uniform in `[0, 1)`, in steps of 2^-24.
///
/// A power is the product of three table entries, one for each byte of `u`.
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

/// Builds a column of ids of people or auctions, one for each event. `counts` are the numbers of people or
/// auctions up to each event, from which `id` computes the id.
fn ids(counts: &[u64], id: impl Fn(u64) -> u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(counts.iter().map(|count| (FIRST_ID + id(*count)) as i64)))
}

/// Builds a column of random ids of people or auctions, one for each event: `id` draws it from the number of
/// people or auctions up to the event and from random bits.
fn drawn_ids(events: &Events, counts: &[u64], seed: u64, id: impl Fn(u64, u64) -> u64) -> ArrayRef {
    let values = events.numbers.iter().zip(counts);
    Arc::new(Int64Array::from_iter_values(
        values.map(|(event, count)| (FIRST_ID + id(*count, draw::at(seed, *event))) as i64),
    ))
}

/// Returns the first number of the group of 100 consecutive numbers that contains `count - 1`, the last of
/// `count` numbers from 0 on.
fn hot(count: u64) -> u64 {
    count.saturating_sub(1) / HOT_GROUP * HOT_GROUP
}

/// Draws one of the last 1,000 of `people` people, or one of the next 10, by the random bits `bits`. Returns
/// the number of the person, from 0 on.
fn person(people: u64, bits: u64) -> u64 {
    let active = people.min(PEOPLE_ACTIVE);
    people - active + draw::below(bits, active + PEOPLE_AHEAD)
}

/// Draws an auction by the random bits `bits`: from 100 before the last of `auctions` auctions to 10 after
/// it. Returns the number of the auction, from 0 on.
fn auction(auctions: u64, bits: u64) -> u64 {
    let last = auctions.saturating_sub(1);
    let first = last.saturating_sub(AUCTIONS_IN_FLIGHT);
    first + draw::below(bits, last - first + 1 + AUCTIONS_AHEAD)
}

/// Builds a column of texts, one for each event: `text` looks up the text of an event by its number.
fn texts<'t>(numbers: &[u64], bytes: usize, text: impl Fn(u64) -> &'t str) -> ArrayRef {
    let mut texts = StringBuilder::with_capacity(numbers.len(), numbers.len() * bytes);
    numbers.iter().for_each(|event| texts.append_value(text(*event)));
    Arc::new(texts.finish())
}

/// Builds a column of texts, one for each event: `compose` writes the text of an event by its number.
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

/// Returns the names and types of the fields of a row type.
pub(super) fn fields_of_row(of: &SqlType) -> Fields {
    match of.arrow() {
        DataType::Struct(fields) => fields,
        _ => Fields::empty(),
    }
}
