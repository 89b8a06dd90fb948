//! Which event is of which kind, and how many there are of each: numbers alone, nothing is drawn.
//!
//! Events come in rounds, each with so many people, then auctions, then bids:
//!
//! ```text
//! event    0  1 2 3  4 5 .. 49 | 50  51 52 53  54 ..
//!          P  A A A  B B .. B  | P   A  A  A   B
//! ```
//!
//! So every id follows from the number of its event: a table of one kind has the same rows as that kind of the whole stream.

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Person,
    Auction,
    Bid,
}

/// How many events of each kind there are in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mix {
    people: u64,
    auctions: u64,
    bids: u64,
}

/// The events of a batch, with what there is when each has happened: parallel columns.
#[derive(Default)]
pub(super) struct Events {
    /// Their numbers.
    pub numbers: Vec<u64>,
    /// People that there are.
    pub people: Vec<u64>,
    /// Auctions that there are.
    pub auctions: Vec<u64>,
}

impl Mix {
    /// None if there is nothing at all. The numbers are far below 2^32.
    pub(super) fn new(people: u32, auctions: u32, bids: u32) -> Option<Self> {
        let mix = Mix { people: people.into(), auctions: auctions.into(), bids: bids.into() };
        (mix.round() > 0).then_some(mix)
    }

    /// How many events a round has.
    pub(super) fn round(&self) -> u64 {
        self.people + self.auctions + self.bids
    }

    /// How many auctions a round has.
    pub(super) fn auctions(&self) -> u64 {
        self.auctions
    }

    /// Those of a kind in a round: how many events are before them, and how many they are.
    fn share(&self, kind: Kind) -> (u64, u64) {
        match kind {
            Kind::Person => (0, self.people),
            Kind::Auction => (self.people, self.auctions),
            Kind::Bid => (self.people + self.auctions, self.bids),
        }
    }

    /// The kind of an event.
    pub(super) fn kind_of(&self, event: u64) -> Kind {
        match event % self.round() {
            place if place < self.people => Kind::Person,
            place if place < self.people + self.auctions => Kind::Auction,
            _ => Kind::Bid,
        }
    }

    /// How many of the first `events` are of a kind.
    pub(super) fn count(&self, kind: Kind, events: u64) -> u64 {
        let (before, share) = self.share(kind);
        events / self.round() * share + (events % self.round()).saturating_sub(before).min(share)
    }

    /// The event that is the `row`th of its kind, counted from 0; of no kind, the `row`th of all. The last number there is if
    /// there are no such.
    pub(super) fn event_of(&self, kind: Option<Kind>, row: u64) -> u64 {
        let Some(kind) = kind else { return row };
        let (before, share) = self.share(kind);
        match (row.checked_div(share), row.checked_rem(share)) {
            (Some(round), Some(place)) => round.saturating_mul(self.round()).saturating_add(before + place),
            _ => u64::MAX,
        }
    }

    /// The events of rows of a kind, or of all, from one on.
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
            // All of a round's, or as many as are left, at once: no division is done for each.
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
    /// Those at `places`.
    pub(super) fn at(&self, places: &[u32]) -> Events {
        let pick = |from: &[u64]| places.iter().map(|place| from[*place as usize]).collect();
        Events { numbers: pick(&self.numbers), people: pick(&self.people), auctions: pick(&self.auctions) }
    }
}
