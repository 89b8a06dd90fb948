//! Row counts of records that stand for several rows, such as batches in SQL.
//!
//! Policies count records: how many wait, what one costs, how many are made of one. A record of a typed
//! stream counts as one; a batch counts as its rows. Operators, sources and sinks of batches report totals:
//! by [`Operator::weighed`], [`Source::weighed`] and [`Sink::weighed`]. In typed streams, where a record is
//! one row, these methods return `None` and cost no time.
//!
//! [`Operator::weighed`]: crate::Operator::weighed
//! [`Source::weighed`]: crate::Source::weighed
//! [`Sink::weighed`]: crate::Sink::weighed

/// Numbers of rows that an operator, source or sink has taken and put out so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// Number of rows that were taken; 0 for a source.
    pub taken: u64,
    /// Number of rows that were put out or, for a sink, written.
    pub put: u64,
    /// The greatest number of rows that one record (a batch) has had so far.
    pub most: u32,
}

impl Weighed {
    /// Returns the row counts of two consecutive operators as if they were one operator. An operator whose
    /// records are single rows is assumed to put out as many rows as it takes.
    pub fn chained(first: Option<Weighed>, second: Option<Weighed>) -> Option<Weighed> {
        let (begin, end) = (first.or(second)?, second.or(first)?);
        Some(Weighed { taken: begin.taken, put: end.put, most: begin.most })
    }

    /// Returns the number of rows taken since the earlier row counts `before`.
    pub fn taken_since(self, before: Option<Weighed>) -> u64 {
        self.taken - before.map_or(0, |before| before.taken)
    }

    /// Returns the number of rows put out since the earlier row counts `before`.
    pub fn put_since(self, before: Option<Weighed>) -> u64 {
        self.put - before.map_or(0, |before| before.put)
    }

    /// Returns a number of records that together have at most `rows` rows if none has more rows than the
    /// greatest record so far; at least 1.
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
