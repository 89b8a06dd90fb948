//! The kinds of events by number, and the count of each kind; nothing is random here.
//!
//! Events come in rounds, each with a fixed number of people, then auctions, then bids:
//!
//! ```text
//! event    0  1 2 3  4 5 .. 49 | 50  51 52 53  54 ..
//!          P  A A A  B B .. B  | P   A  A  A   B
//! ```
//!
//! So every id follows from the number of its event: a table of one kind has the same rows as that kind in
//! the whole stream.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Person,
    Auction,
    Bid,
}

/// The number of events of each kind in a round of Nexmark events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mix {
    people: u64,
    auctions: u64,
    bids: u64,
}

/// The events of a batch as parallel vectors: the number of each event, and the counts of people and
/// auctions up to it.
#[derive(Default)]
pub(super) struct Events {
    /// The numbers of the events in the whole stream.
    pub numbers: Vec<u64>,
    /// For each event, the number of people up to and including it.
    pub people: Vec<u64>,
    /// For each event, the number of auctions up to and including it.
    pub auctions: Vec<u64>,
}

impl Mix {
    /// Creates a mix from the numbers of events of each kind in a round, each below 2^31. Returns `None`
    /// if all of them are 0.
    pub(super) fn new(people: u32, auctions: u32, bids: u32) -> Option<Self> {
        let mix = Mix { people: people.into(), auctions: auctions.into(), bids: bids.into() };
        (mix.round() > 0).then_some(mix)
    }

    /// Returns the number of events in a round, which is a fixed sequence of people, auctions and bids that
    /// repeats.
    pub(super) fn round(&self) -> u64 {
        self.people + self.auctions + self.bids
    }

    /// Returns the number of auctions in a round, the sequence of people, auctions and bids that repeats.
    pub(super) fn auctions(&self) -> u64 {
        self.auctions
    }

    /// Returns two numbers for a kind of event in a round, the fixed sequence of people, auctions and bids
    /// that repeats: how many events of a round precede those of the kind, and how many events of the kind a
    /// round has.
    fn share(&self, kind: Kind) -> (u64, u64) {
        match kind {
            Kind::Person => (0, self.people),
            Kind::Auction => (self.people, self.auctions),
            Kind::Bid => (self.people + self.auctions, self.bids),
        }
    }

    pub(super) fn kind_of(&self, event: u64) -> Kind {
        match event % self.round() {
            place if place < self.people => Kind::Person,
            place if place < self.people + self.auctions => Kind::Auction,
            _ => Kind::Bid,
        }
    }

    /// Returns how many of the first `events` events have this kind.
    pub(super) fn count(&self, kind: Kind, events: u64) -> u64 {
        let (before, share) = self.share(kind);
        events / self.round() * share + (events % self.round()).saturating_sub(before).min(share)
    }

    /// Returns the number, in the whole stream, of the event of a kind with the index `row` among the events
    /// of that kind. Both count from 0. Without a kind the number is `row`. Returns the greatest 64-bit
    /// number if the kind has no events.
    pub(super) fn event_of(&self, kind: Option<Kind>, row: u64) -> u64 {
        let Some(kind) = kind else { return row };
        let (before, share) = self.share(kind);
        match (row.checked_div(share), row.checked_rem(share)) {
            (Some(round), Some(place)) => round.saturating_mul(self.round()).saturating_add(before + place),
            _ => u64::MAX,
        }
    }

    /// Returns the events of `count` rows of a kind, or of all kinds, from `first_row` on.
    pub(super) fn events(&self, kind: Option<Kind>, first_row: u64, count: usize) -> Events {
        let mut events = Events {
            numbers: Vec::with_capacity(count),
            people: Vec::with_capacity(count),
            auctions: Vec::with_capacity(count),
        };
        let (before, share) = kind.map_or((0, self.round()), |kind| self.share(kind));
        if share == 0 {
            return events;
        }
        let (mut round, mut place) = (first_row / share, first_row % share);
        while events.numbers.len() < count {
            // All events of a kind in one round, or as many as are still needed, are handled in one loop,
            // without a division for each.
            let run = (share - place).min((count - events.numbers.len()) as u64);
            for place in before + place..before + place + run {
                events.numbers.push(round * self.round() + place);
                events.people.push(round * self.people + (place + 1).min(self.people));
                events
                    .auctions
                    .push(round * self.auctions + (place + 1).saturating_sub(self.people).min(self.auctions));
            }
            place += run;
            if place == share {
                (round, place) = (round + 1, 0);
            }
        }
        events
    }
}

impl Events {
    /// Returns the events of this batch with the indexes `places`, in that order.
    pub(super) fn at(&self, places: &[u32]) -> Events {
        let pick = |from: &[u64]| places.iter().map(|place| from[*place as usize]).collect();
        Events { numbers: pick(&self.numbers), people: pick(&self.people), auctions: pick(&self.auctions) }
    }
}
