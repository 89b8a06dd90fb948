//! What records count for that are more than one: batches of rows.
//!
//! Policies reason in records: how many wait, what one costs, how many come of one. A record of a typed stream is one; a batch is as
//! many as it has rows. Whoever takes or makes batches says so, as totals: an operator by [`Operator::weighed`], a source
//! by [`Source::weighed`], a sink by [`Sink::weighed`]. Nobody else pays for it.
//!
//! [`Operator::weighed`]: crate::Operator::weighed
//! [`Source::weighed`]: crate::Source::weighed
//! [`Sink::weighed`]: crate::Sink::weighed

/// What was taken and put out so far, in rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// Rows taken; none of a source.
    pub taken: u64,
    /// Rows put out, or written by a sink.
    pub put: u64,
    /// The most that one record has.
    pub most: u32,
}

impl Weighed {
    /// What two that follow each other have taken and put out as one; one of them may be of records that count as one, and
    /// passes on what it takes.
    pub fn chained(first: Option<Weighed>, second: Option<Weighed>) -> Option<Weighed> {
        let (begin, end) = (first.or(second)?, second.or(first)?);
        Some(Weighed { taken: begin.taken, put: end.put, most: begin.most })
    }

    /// Rows taken since then.
    pub fn taken_since(self, before: Option<Weighed>) -> u64 {
        self.taken - before.map_or(0, |before| before.taken)
    }

    /// Rows put out since then.
    pub fn put_since(self, before: Option<Weighed>) -> u64 {
        self.put - before.map_or(0, |before| before.put)
    }

    /// How many records surely have no more than so many rows; one at least.
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
