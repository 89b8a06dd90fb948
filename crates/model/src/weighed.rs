//! Row counts of records that count as more than one: batches of rows.
//!
//! Policies count records: how many wait, what one costs, how many are made of one. A record of a typed stream counts
//! as one; a batch counts as its rows. Operators, sources and sinks of batches report totals: by
//! [`Operator::weighed`], [`Source::weighed`] and [`Sink::weighed`]. Typed streams have no cost from this.
//!
//! [`Operator::weighed`]: crate::Operator::weighed
//! [`Source::weighed`]: crate::Source::weighed
//! [`Sink::weighed`]: crate::Sink::weighed

/// Rows taken and put out so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// Rows taken; zero for a source.
    pub taken: u64,
    /// Rows put out, or written by a sink.
    pub put: u64,
    /// Greatest number of rows in one record.
    pub most: u32,
}

impl Weighed {
    /// Returns the totals of two consecutive operators as one. If one of them has single-row records, it is assumed
    /// to put out as many rows as it takes.
    pub fn chained(first: Option<Weighed>, second: Option<Weighed>) -> Option<Weighed> {
        let (begin, end) = (first.or(second)?, second.or(first)?);
        Some(Weighed { taken: begin.taken, put: end.put, most: begin.most })
    }

    /// Returns the rows taken since `before`.
    pub fn taken_since(self, before: Option<Weighed>) -> u64 {
        self.taken - before.map_or(0, |before| before.taken)
    }

    /// Returns the rows put out since `before`.
    pub fn put_since(self, before: Option<Weighed>) -> u64 {
        self.put - before.map_or(0, |before| before.put)
    }

    /// Returns a number of records that together surely have at most `rows` rows; at least one.
    pub fn records_of(self, rows: usize) -> usize {
        (rows / (self.most as usize).max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_takes_what_its_first_takes_and_puts_out_what_its_last_does() {
        let weighed = |taken, put| Some(Weighed { taken, put, most: 9 });
        assert_eq!(Weighed::chained(weighed(7, 5), weighed(5, 2)), weighed(7, 2));
        assert_eq!(Weighed::chained(None, weighed(5, 2)), weighed(5, 2));
        assert_eq!(Weighed::chained(weighed(7, 5), None), weighed(7, 5));
        assert_eq!(Weighed::chained(None, None), None);
    }
}
